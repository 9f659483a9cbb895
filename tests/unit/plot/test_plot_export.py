"""Pages and pictures: whole in themselves, no cloud button, no foreign host, clear words without a browser."""

from __future__ import annotations

import re

import kaleido
import plotly.io
import pytest
from chromium import needs_chromium

from pydplib import plot
from pydplib.errors import ParameterError


@pytest.fixture
def figure():
    return plot.bar(["</script><b>a</b>", "b"], {"low": [1, 2]}, title="Visits & <more>", caption="Made <up>.")


def test_config_cannot_bring_the_cloud_back():
    config = plot.show_config(showSendToCloud=True, plotlyServerURL="https://cloud.example", displaylogo=True)
    assert config["showSendToCloud"] is False
    assert config["plotlyServerURL"] == ""
    assert config["displaylogo"] is False


def test_show_and_notebook_views_always_pass_the_config(figure, monkeypatch):
    seen = []
    monkeypatch.setattr(plotly.io, "show", lambda shown, *args, **options: seen.append(options["config"]))
    figure.show()
    figure.show(config={"showSendToCloud": True})
    figure.show(config=None)
    figure._ipython_display_()
    monkeypatch.setattr(plotly.io.renderers, "default", "plotly_mimetype")
    bundle = figure._repr_mimebundle_()
    seen.append(bundle["application/vnd.plotly.v1+json"]["config"])
    assert len(seen) == 5
    assert all(config["showSendToCloud"] is False and config["plotlyServerURL"] == "" for config in seen)


def test_plotlys_own_html_of_our_figures_has_the_config_and_no_cdn(figure, tmp_path):
    figure.write_html(tmp_path / "page.html", include_plotlyjs=False)
    for page in (
        figure.to_html(include_plotlyjs=False),
        (tmp_path / "page.html").read_text(),
        re.sub(r"plotly\.js v[\s\S]*", "", figure._repr_html_()) + figure._repr_html_()[-3000:],
    ):
        assert '"showSendToCloud": false' in page or '"showSendToCloud":false' in page
        assert "cdn" not in page.split("plotly.js v")[0]


def test_page_is_whole_in_itself_and_escapes_what_it_is_given(figure, tmp_path):
    path = tmp_path / "new" / "page.html"
    page = plot.to_html(figure, path)
    assert path.read_text(encoding="utf-8") == page
    assert page.count("plotly.js v") == 1
    outside = re.sub(r"<script>.*?</script>", "", page, flags=re.S)
    assert "http" not in outside.replace("http-equiv", "")
    assert "<b>a</b>" not in outside and "Visits &amp; &lt;more&gt;" in outside and "Made &lt;up&gt;." in outside
    policy = re.search(r'Content-Security-Policy" content="([^"]+)"', page).group(1)
    assert policy.startswith("default-src &#x27;none&#x27;") and "connect-src" not in policy
    assert "unsafe-eval" not in policy and policy.count("sha256-") == 2


def test_words_are_drawn_into_pictures_and_copies_do_not_change_the_original(figure):
    drawn = figure.with_words(caption="word " * 80).drawn(width=600, mode="dark")
    assert drawn.layout.title.text == "Visits & <more>"
    assert drawn.layout.annotations[-1].text.count("<br>") >= 3
    assert drawn.layout.width == 600 and drawn.layout.height > figure.layout.height + 80
    assert drawn.layout.template.layout.paper_bgcolor == plot.SURFACES["dark"]["surface"]
    assert figure.words[1] == "Made <up>." and figure.layout.annotations == ()


@needs_chromium
@pytest.mark.browser
def test_pictures_are_written_offline_in_their_formats(figure, tmp_path, monkeypatch):
    real, options = kaleido.Kaleido, []

    def remember(**given):
        options.append(given)
        return real(**given)

    monkeypatch.setattr(kaleido, "Kaleido", remember)
    png, svg = plot.to_pngs([(figure, tmp_path / "a.png"), (figure, tmp_path / "deep" / "a.svg")], width=500, scale=1)
    assert png.read_bytes().startswith(b"\x89PNG")
    assert int.from_bytes(png.read_bytes()[16:20], "big") == 500
    assert svg.read_text().lstrip().startswith("<svg")
    assert len(options) == 1 and options[0]["mathjax"] is False  # one start, and no script from elsewhere


def test_without_a_browser_the_error_says_how_to_get_one(figure, tmp_path, monkeypatch):
    from kaleido.errors import ChromeNotFoundError

    def none_here(**options):
        raise ChromeNotFoundError("not found")

    monkeypatch.setattr(kaleido, "Kaleido", none_here)
    with pytest.raises(ParameterError, match=r"apt install chromium.*BROWSER_PATH"):
        plot.to_png(figure, tmp_path / "a.png")
    assert not (tmp_path / "a.png").exists()


def test_unknown_picture_format_is_refused_before_anything_is_started(figure, tmp_path):
    with pytest.raises(ParameterError, match=r"\.png, \.svg"):
        plot.to_png(figure, tmp_path / "a.gif")
    assert plot.to_pngs([]) == []


def test_page_that_cannot_be_written_is_a_clear_error(figure, tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(ParameterError, match="cannot be written"):
        plot.to_html(figure, tmp_path / "file" / "page.html")
