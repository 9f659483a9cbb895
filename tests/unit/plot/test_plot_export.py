"""Pages and pictures: whole in themselves, no cloud button, no foreign host, clear words without a browser."""

from __future__ import annotations

import html
import io
import re

import kaleido
import numpy as np
import pandas as pd
import plotly.io
import pytest
from chromium import needs_chromium

import pydplib as dp
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
    monkeypatch.setattr(plotly.io.renderers, "default", "browser")
    figure.show()
    figure.show(config={"showSendToCloud": True})
    figure.show(config=None)
    figure._ipython_display_()
    monkeypatch.setattr(plotly.io.renderers, "default", "plotly_mimetype")
    bundle = figure._repr_mimebundle_()
    seen.append(bundle["application/vnd.plotly.v1+json"]["config"])
    assert len(seen) == 5
    assert all(config["showSendToCloud"] is False and config["plotlyServerURL"] == "" for config in seen)


@pytest.mark.parametrize("renderer", ["plotly_mimetype", "plotly_mimetype+notebook", "vscode"])
def test_notebook_bundle_has_a_page_that_works_offline(figure, monkeypatch, renderer):
    monkeypatch.setattr(plotly.io.renderers, "default", renderer)
    with pytest.raises(NotImplementedError):  # IPython then asks for the bundle
        figure._ipython_display_()
    bundle = figure._repr_mimebundle_()
    assert bundle["text/html"].startswith("<iframe srcdoc=")
    page = html.unescape(re.search(r'srcdoc="([^"]*)"', bundle["text/html"]).group(1))
    assert page == plot.to_html(figure)  # whole in itself: the test of pages says so
    assert bundle["application/vnd.plotly.v1+json"]["layout"]["title"]["text"] == "Visits & <more>"
    assert bundle["text/plain"] == repr(figure) == "Figure: Visits & <more>\n  Made <up>."


def test_plotlys_own_html_of_our_figures_has_the_config_and_no_cdn(figure, tmp_path):
    figure.write_html(tmp_path / "page.html", include_plotlyjs=False)
    for page in (figure.to_html(include_plotlyjs=False), (tmp_path / "page.html").read_text()):
        assert '"showSendToCloud": false' in page or '"showSendToCloud":false' in page
        assert "cdn" not in page.split("plotly.js v")[0]


GUARANTEE, BARS = "Differentially private with epsilon 1", "Error bars: how far the noise may have moved a number"


@pytest.fixture(scope="module")
def released():
    """A figure of a release of a table with several rows per person."""
    frame = pd.DataFrame({"id": np.arange(600) // 2, "sex": ["f", "m"] * 300, "age": np.linspace(40, 80, 600)})
    columns = {"sex": dp.Category(["f", "m"]), "age": dp.Number(18, 100, unit="years")}
    schema = dp.Schema(columns, person="id", max_rows_per_person=2)
    session = dp.Session(dp.load(frame, schema), recipient="partner", budget=dp.PureDP(4))
    return session.release(dp.Mean("age", by="sex"), epsilon=1).plot()


def test_written_pages_have_title_guarantee_error_bars_and_what_was_counted(released, tmp_path):
    buffer = io.StringIO()
    released.write_html(buffer)
    released.write_html(tmp_path / "page.html")
    released.write_html(str(tmp_path / "bare.html"), include_plotlyjs=False, full_html=False)
    bare = (tmp_path / "bare.html").read_text().replace("\\u003cbr\\u003e", " ").replace("<br>", " ")
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert page == buffer.getvalue() == released.to_html() == plot.to_html(released)
    assert "<h1>Mean of age by sex</h1>" in page and f"<p>{GUARANTEE}" in page and f"<p>{BARS}" in page
    for text in (page, bare):
        for words in ("Mean of age by sex", GUARANTEE, BARS, "at most 2 rows per person count in full"):
            assert words in text
        assert "the margin does not include the shift" in text


def test_written_pictures_are_drawn_from_a_layout_with_the_words(released, tmp_path, monkeypatch):
    given = []

    class Browser:
        def __init__(self, **options):
            assert options["mathjax"] is False

        async def __aenter__(self):
            return self

        async def __aexit__(self, *error):
            return None

        async def calc_fig(self, spec, opts):
            given.append((spec, opts))
            return b"picture"

    monkeypatch.setattr(kaleido, "Kaleido", Browser)
    released.write_image(tmp_path / "a.png")
    released.write_image(io.BytesIO(), "svg", width=500, mode="dark")
    assert released.to_image("jpg", height=600) == b"picture" == (tmp_path / "a.png").read_bytes()
    plot.to_png(released, tmp_path / "b.pdf")
    assert [opts["format"] for _, opts in given] == ["png", "svg", "jpeg", "pdf"]
    assert given[2][1]["height"] == given[2][0]["layout"]["height"] == 600
    for spec, _ in given:
        drawn = " ".join(note["text"].replace("<br>", " ") for note in spec["layout"]["annotations"])
        assert spec["layout"]["title"]["text"] == "Mean of age by sex"
        assert GUARANTEE in drawn and BARS in drawn and "at most 2 rows per person count in full" in drawn
    with pytest.raises(ParameterError, match="A picture is png"):
        released.to_image("gif")


def test_own_title_replaces_the_first_one_everywhere(released):
    named = plot.Figure(released).update_layout(title="Ages of our patients")
    page = named.to_html()
    assert "<h1>Ages of our patients</h1>" in page and "Mean of age by sex</h1>" not in page
    assert named.drawn().layout.title.text == "Ages of our patients"
    assert named.drawn().drawn() == named.drawn()  # words are drawn once
    assert named.with_words(title="Others").words[0] == "Others"


@needs_chromium
@pytest.mark.browser
def test_svg_has_the_words_as_text(released, tmp_path):
    released.write_image(tmp_path / "a.svg")
    text = re.sub(r"<[^>]+>", " ", (tmp_path / "a.svg").read_text())
    assert GUARANTEE in text and BARS in text


def test_page_is_whole_in_itself_and_escapes_what_it_is_given(figure, tmp_path):
    path = tmp_path / "new" / "page.html"
    page = plot.to_html(figure, path)
    assert path.read_text(encoding="utf-8") == page
    assert page.count('id="pydplib-plotly"') == 1
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
