"""Asking in a real browser: the price follows every choice, the figure is drawn, nothing complains, no foreign host."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from asking_server import seed, serving, sums
from chromium import needs_chromium, open_browser
from web_home import make_web_home

pytestmark = [
    pytest.mark.browser,
    needs_chromium,
]


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory, _database: None) -> Iterator[Any]:
    with make_web_home(tmp_path_factory.mktemp("asking") / "home") as home:
        world = seed(home, budget=2.0, data_set=10)
        with serving(home) as (port, _):
            yield home, world, f"http://127.0.0.1:{port}"


@pytest.fixture
def open_page(served: Any) -> Iterator[Any]:
    """Return a function that opens a page as somebody, and notes what the browser says and where it goes."""
    _, world, base = served
    with open_browser() as browser:

        def enter(name: str | None, **options: Any) -> Any:
            context = browser.new_context(**options)
            if name:
                context.add_cookies([{"name": "session", "value": world["sessions"][name], "url": base}])
            page = context.new_page()
            page.heard, page.hosts = [], set()
            page.on("console", lambda said: page.heard.append(said.text) if said.type in ("error", "warning") else 0)
            page.on("pageerror", lambda error: page.heard.append(str(error)))
            page.on(
                "request", lambda request: page.hosts.add(urlsplit(request.url).hostname or "127.0.0.1")
            )  # or blob:
            return page

        yield enter


def test_price_follows_every_choice_and_the_answer_is_drawn(served: Any, open_page: Any, tmp_path: Path) -> None:
    home, _, base = served
    page = open_page("tara")
    page.goto(base + "/analyses/new")
    price = page.locator("#price")
    page.get_by_label("Average", exact=True).check()
    price.get_by_text("Still to fill in").wait_for()
    page.select_option("#id_field", "age")
    page.select_option("#id_where1", "pirads")
    price.get_by_text("Values").wait_for()
    assert page.locator("#id_field").input_value() == "age", "two choices in a row: both count"
    page.get_by_label("4", exact=True).check()
    page.get_by_text("Set it another way").click()
    page.get_by_label("A privacy loss that I set").check()
    page.locator("#id_epsilon").fill("0.25")
    price.get_by_text("Average of Age, where PI-RADS score is 4").wait_for()
    price.get_by_text("87 of 100 points left after").wait_for()
    assert sums(home)["debits"] == 0, "nothing was paid by looking"
    page.get_by_label("Distribution").check()
    price.get_by_text("Distribution of Age").wait_for()
    page.locator("#id_bins_age").fill("40, 60, 80")
    assert price.locator("button").is_disabled(), "the price of the old bins cannot be paid any more"
    page.get_by_role("button", name="Ask and pay").click()
    page.wait_for_url(re.compile(r"/analyses/[0-9a-f]{16}$"))
    page.locator("[data-figure=analysis] .bars path").first.wait_for(state="attached")
    assert page.locator("[data-figure=analysis] .errorbar").count() == 2
    assert page.locator("details.twin tbody tr").count() == 2
    page.evaluate(
        "() => { const save = Plotly.downloadImage; window.saved = [];"
        " Plotly.downloadImage = (spec, size) => { saved.push(spec.layout); return save(spec, size); } }"
    )
    for button in (
        page.get_by_role("button", name="Picture (PNG)"),
        page.locator("[data-figure=analysis] .modebar-btn[data-title^='Save as a picture']"),  # instead of Plotly's own
    ):
        with page.expect_download() as download:
            button.dispatch_event("click")
        download.value.save_as(tmp_path / "picture.png")
        assert (tmp_path / "picture.png").read_bytes().startswith(b"\x89PNG")
    for layout in page.evaluate("saved"):
        drawn = layout["annotations"][-1]["text"].replace("<br>", " ")
        assert layout["title"]["text"].startswith("Distribution of Age")
        assert "Differentially private" in drawn and "Error bars: how far the noise may have moved" in drawn
    assert page.locator("[data-figure=analysis] .modebar-btn[data-title*='ownload']").count() == 0
    assert page.heard == [] and page.hosts == {"127.0.0.1"}


@pytest.mark.parametrize(
    ("look", "width"),
    [
        ("light", 1280),
        ("dark", 390),
        *(pytest.param(*one, marks=pytest.mark.slow) for one in (("light", 390), ("dark", 1280))),
    ],
)
def test_pages_fit_the_screen_and_draw_without_a_complaint(served: Any, open_page: Any, width: int, look: str) -> None:
    _, _, base = served
    page = open_page("olivia", viewport={"width": width, "height": 900}, color_scheme=look)
    asked = "kind=crosstab&field=age&by1=pirads&bins_age=40,60,80&accuracy=epsilon&epsilon=0.5"
    page.goto(f"{base}/analyses/new?{asked}")
    page.get_by_role("button", name=re.compile("Ask and pay|Show the answer")).click()
    page.wait_for_url(re.compile(r"/analyses/[0-9a-f]{16}$"))
    page.locator("[data-figure=analysis] .heatmaplayer").first.wait_for(state="attached")
    here = page.url
    page.get_by_role("button", name="Show the original").click()
    page.get_by_text("With the original").wait_for()
    for address in (here, f"{base}/analyses", f"{base}/budget", f"{base}/receipts", f"{base}/analyses/new?{asked}"):
        page.goto(address)
        over = page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
        assert over <= 0, f"{address} is {over} pixels wider than the screen"
    assert page.heard == [] and page.hosts == {"127.0.0.1"}


def test_without_script_the_price_takes_a_round_trip_and_the_numbers_are_a_table(served: Any, open_page: Any) -> None:
    _, _, base = served
    page = open_page("rita", java_script_enabled=False)
    page.goto(base + "/analyses/new")
    page.get_by_label("How many", exact=True).check()
    page.select_option("#id_where1", "bph")
    page.get_by_text("Set it another way").click()
    page.get_by_label("A privacy loss that I set").check()
    page.get_by_role("button", name="Show the price").click()
    page.get_by_label("yes", exact=True).check()
    page.fill("#id_epsilon", "0.1")
    page.get_by_role("button", name="Show the price").click()
    assert page.locator("#price").get_by_text("How many records, where BPH is yes").is_visible()
    page.get_by_role("button", name="Ask and pay").click()
    assert page.locator("details.twin td").first.is_visible()
    assert not page.get_by_text("Picture (PNG)").is_visible()
    page.goto(base + "/receipts")
    assert page.get_by_role("button", name="Verify").is_visible()
