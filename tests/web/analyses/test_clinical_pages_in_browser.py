"""Table 1 and survival in a real browser: chosen by clicks, priced, paid, shown as a journal would, and copied."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from asking_server import seed, serving
from chromium import needs_chromium, open_browser
from web_home import make_web_home

pytestmark = [pytest.mark.browser, needs_chromium]


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory, _database: None) -> Iterator[Any]:
    with make_web_home(tmp_path_factory.mktemp("clinical") / "home") as home:
        world = seed(home, budget=5.0, data_set=10)
        with serving(home) as (port, _):
            yield world, f"http://127.0.0.1:{port}"


@pytest.fixture(scope="module")
def page(served: Any) -> Iterator[Any]:
    world, base = served
    with open_browser() as browser:
        context = browser.new_context(permissions=["clipboard-read", "clipboard-write"])
        context.add_cookies([{"name": "session", "value": world["sessions"]["tara"], "url": base}])
        page = context.new_page()
        page.heard = []
        page.on("console", lambda said: page.heard.append(said.text) if said.type in ("error", "warning") else None)
        page.on("pageerror", lambda error: page.heard.append(str(error)))
        yield page


def _settled(page: Any) -> None:
    """Wait until the form has followed the last choice: it is exchanged for the server's."""
    page.wait_for_timeout(100)
    page.wait_for_load_state("networkidle")


def _pay(page: Any) -> None:
    page.get_by_text("Set it another way").click()
    page.get_by_label("A privacy loss that I set").check()
    _settled(page)
    page.locator("#id_epsilon").fill("0.5")
    page.locator("#price").get_by_text("Ask and pay").wait_for()
    page.get_by_role("button", name="Ask and pay").click()
    page.get_by_text("Paid and answered").wait_for()


def test_table_one_is_a_table_and_is_copied_as_one(served: Any, page: Any) -> None:
    _, base = served
    page.goto(base + "/analyses/ask/table-one")
    assert page.locator("h1").inner_text() == "Table 1"
    for name in ("Age", "Prostatitis"):
        page.get_by_label(name, exact=True).check()
        _settled(page)
    page.select_option("#id_by1", label="BPH")
    _settled(page)
    _pay(page)
    rows = page.locator("table.printed tr")
    assert rows.count() > 6 and page.locator("table.printed th", has_text="mean (SD)").count() == 1
    assert page.locator("table.printed thead").inner_text().count("n ≈") == 2
    page.get_by_role("button", name="Copy for Word").click()
    page.get_by_text("Copied. Paste it").wait_for()
    assert page.heard == []
    copied = page.evaluate(
        "async () => (await (await (await navigator.clipboard.read())[0].getType('text/html')).text())"
    )
    page.heard.clear()  # reading HTML back is what the page's own rules complain about
    assert "<table" in copied and "mean (SD)" in copied and "Holm" in copied
    with page.expect_download() as saved:
        page.get_by_role("link", name="Table for Word (HTML)").click()
    assert "<table style=" in saved.value.path().read_text(encoding="utf-8")
    assert page.heard == []


def test_survival_has_curves_and_numbers_at_risk(served: Any, page: Any) -> None:
    _, base = served
    page.goto(base + "/analyses/ask/survival")
    assert page.get_by_label("Average", exact=True).count() == 0  # only what the page is for
    page.select_option("#id_field", label="Age")
    _settled(page)
    page.get_by_text("Set it another way").click()
    page.select_option("#id_by1", label="BPH")
    page.locator("#id_bins_age").wait_for()
    _settled(page)
    assert page.locator("details.other-ways").get_attribute("open") is not None, "what was opened stays open"
    page.get_by_text("Set it another way").click()
    _pay(page)
    drawing = page.locator(".plot svg.main-svg").first
    drawing.wait_for()
    assert "Numbers at risk" in page.locator(".plot").first.inner_text()
    assert page.get_by_text("median survival").count() >= 1
    assert page.heard == []
