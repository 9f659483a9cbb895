"""Reports: escaped, whole in themselves, with a table twin under each figure; looked at in a real browser."""

from __future__ import annotations

import base64
import gzip
import hashlib
import re

import numpy as np
import pytest
from chromium import needs_chromium, open_browser

from pydplib import plot
from pydplib.errors import ParameterError
from pydplib.report import Chart, Fact, Facts, Note, Points, Report, Section, Table, Text

EVIL = "</script><img src=x onerror=alert(1)>"


@pytest.fixture(scope="module")
def report():
    figure = plot.panels(
        {name: plot.bar(["a", EVIL], {name: [1, 2]}, y_title="n") for name in ("original", "high")},
        title=f"Title {EVIL}",
        caption=f"Caption {EVIL}",
    )
    table = Table(["group", "reports"], [["a", 1], [EVIL, 2]], caption=EVIL)
    blocks = [
        Text(EVIL, "Second."),
        Points([EVIL, (EVIL, EVIL)]),
        Note(EVIL, title=EVIL, tone="warning"),
        Facts([Fact(EVIL, EVIL, EVIL)]),
        table,
    ]
    sections = [Section(EVIL, blocks), Section("Figures", [Chart(figure, table, "Figure 1"), Chart(figure, table)])]
    return Report(EVIL, sections, lead=EVIL, kicker=EVIL, footer=EVIL)


def test_everything_that_is_given_is_escaped(report):
    page = report.to_html()
    outside = re.sub(r"<script>.*?</script>", "", page, flags=re.S)
    assert "<img" not in outside
    assert outside.count("&lt;img") >= 14


def test_page_loads_nothing_from_anywhere(report):
    page = report.to_html()
    outside = re.sub(r"<script>.*?</script>", "", page, flags=re.S)
    outside = re.sub(r'<script type="(application/json|text/plain)".*?</script>', "", outside, flags=re.S)
    links = re.findall(r'\b(?:src|href|url)\s*[=(]\s*"?([^"\s>)]*)', outside.replace("&lt;img src=x", ""))
    assert links and all(link.startswith("#") for link in links)
    assert "http" not in outside.replace("http-equiv", "")
    packed = re.findall(r'<script type="text/plain" id="pydplib-plotly">(.*?)</script>', page)
    script = gzip.decompress(base64.b64decode("".join(packed)))
    assert len(packed) == 1 and script[:200].count(b"plotly.js") == 1  # two figures, one script
    mark = base64.b64encode(hashlib.sha256(script).digest()).decode()
    assert f"sha256-{mark}" in page, "the policy knows what the page unpacks"


def test_every_figure_has_its_caption_and_its_table(report):
    page = report.to_html()
    assert page.count("<figure") == page.count("<figcaption>") == page.count('class="twin"') == 2
    assert re.findall(r'data-figure="([^"$]+)"', page) == ["figure-1", "figure-2"]
    assert 'id="figure-1"' in page and 'id="figure-2"' in page
    assert page.count("<noscript>") == 2


def test_report_without_figures_needs_no_script():
    page = Report("Plain", [Section("One", [Text("Hello.")])]).to_html()
    assert "<script" not in page and "script-src" not in page and "<nav" not in page


def test_colours_of_pages_and_figures_are_the_same():
    from importlib import resources

    css = resources.files("pydplib.report").joinpath("assets/report.css").read_text()
    for name in ("surface", "text", "muted"):
        found = re.findall(rf"--{name}: (#[0-9a-f]{{6}})", css)
        assert found == [plot.SURFACES["light"][name], plot.SURFACES["dark"][name]]


def test_numbers_are_shown_as_readers_expect():
    page = Table(["a", "b", "c"], [["x", 12345, 0.123456], ["y", np.int64(1), float("nan")]]).html()
    assert '<td class="num">12,345</td>' in page and "0.1235" in page and "–" in page
    mixed = Table(["a", "b"], [["x", 1], ["y", "many"]]).html()
    assert 'class="num"' not in mixed
    assert '<td class="num">–</td>' in Table(["a", "b"], [["x", 1], ["y", None]]).html()


def test_blocks_that_do_not_fit_are_refused(tmp_path):
    with pytest.raises(ParameterError, match="one cell per column"):
        Table(["a", "b"], [[1]])
    with pytest.raises(ParameterError, match="info, good or warning"):
        Note("x", tone="loud").html()
    (tmp_path / "file").write_text("")
    with pytest.raises(ParameterError, match="cannot be written"):
        Report("x", []).write(tmp_path / "file" / "report.html")


@pytest.mark.browser
@needs_chromium
def test_browser_draws_the_figures_asks_no_host_and_runs_no_foreign_script(report, tmp_path):
    path = report.write(tmp_path / "report.html")
    with open_browser() as browser:
        for scheme, width in (("light", 1200), ("dark", 390)):
            page = browser.new_page(color_scheme=scheme, viewport={"width": width, "height": 900})
            asked, complaints, alerts = [], [], []
            page.on("request", lambda request, asked=asked: asked.append(request.url))
            page.on("console", lambda message, found=complaints: found.append(message.text))
            page.on("pageerror", lambda error, found=complaints: found.append(str(error)))
            page.on("dialog", lambda dialog, found=alerts: (found.append(1), dialog.dismiss()))
            page.goto(path.as_uri())
            page.locator("[data-figure].is-drawn .main-svg").first.wait_for()
            assert asked == [path.as_uri()]
            assert not complaints and not alerts
            assert page.locator("[data-figure].is-drawn").count() == 2
            # No cloud button, whatever Plotly's default is.
            assert page.locator(".modebar-btn[data-title*='hare'], .modebar-btn[data-title*='loud']").count() == 0
            surface = page.locator(".main-svg").first.evaluate("svg => svg.style.background")
            assert surface.replace(" ", "") == {"light": "rgb(255,255,255)", "dark": "rgb(23,28,34)"}[scheme]
            # Nothing is wider than the screen, and panels are stacked on a phone.
            assert page.evaluate("document.documentElement.scrollWidth") <= width
            lefts = page.locator("[data-figure]").first.evaluate(
                "place => ['xaxis', 'xaxis2'].map(name => place._fullLayout[name].domain[0])"
            )
            assert (lefts[0] == lefts[1]) == (width == 390)
            page.close()


def test_tables_with_sentences_say_in_every_cell_what_it_is_for_phones():
    words = "A sentence that is long enough to need a whole line."
    stacked = Table(["how", "what <it> says"], [["one", words]]).html()
    assert '<table class="stack">' in stacked and 'data-head="what &lt;it&gt; says"' in stacked
    assert '<th scope="col" class="long">what &lt;it&gt; says</th></tr></thead>' in stacked
    assert "data-head" not in Table(["day", "visits"], [["Mon", 3]]).html()


@pytest.mark.slow
@pytest.mark.browser
@needs_chromium
def test_buttons_stand_above_the_figure_and_not_at_all_on_phones(report, tmp_path):
    path = report.write(tmp_path / "page.html")
    with open_browser() as browser:
        seen = {}
        for width in (1200, 390):
            page = browser.new_page(viewport={"width": width, "height": 900})
            page.goto(path.as_uri())
            page.locator(".plot.is-drawn").first.wait_for()
            bar, plotted = page.locator(".plot .modebar").first, page.locator(".plot .main-svg").first
            box = bar.bounding_box() if bar.is_visible() else None
            seen[width] = None if box is None else box["y"] + box["height"] - plotted.bounding_box()["y"]
    assert seen[1200] <= 4 and seen[390] is None


@pytest.mark.browser
@needs_chromium
def test_figures_wait_for_room_before_they_are_drawn(report, tmp_path):
    path = report.write(tmp_path / "report.html")
    with open_browser() as browser:
        page = browser.new_page(viewport={"width": 1, "height": 1})
        complaints: list[str] = []
        page.on("console", lambda message: complaints.append(message.text) if message.type == "error" else None)
        page.goto(path.as_uri())
        page.wait_for_function("window.Plotly !== undefined")
        assert page.locator("[data-figure].is-drawn").count() == 0
        page.set_viewport_size({"width": 900, "height": 700})
        page.locator("[data-figure].is-drawn .main-svg").first.wait_for()
        page.wait_for_function("document.querySelectorAll('[data-figure].is-drawn').length === 2")
        assert complaints == []
