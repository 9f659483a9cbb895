"""A third party buys a synthetic table in a real browser: a few clicks, a CSV file, a receipt that verifies."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from asking_server import seed, serving, sums
from chromium import needs_chromium, open_browser
from web_home import make_web_home

pytestmark = [pytest.mark.browser, needs_chromium]


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory, _database: None) -> Iterator[Any]:
    with make_web_home(tmp_path_factory.mktemp("synthetic") / "home") as home:
        world = seed(home, budget=2.0, data_set=10)
        with serving(home) as (port, _):
            yield home, world, f"http://127.0.0.1:{port}"


def test_a_third_party_buys_a_table_downloads_it_and_verifies_the_receipt(served: Any, tmp_path: Path) -> None:
    home, world, base = served
    with open_browser() as browser:
        context = browser.new_context(accept_downloads=True)
        context.add_cookies([{"name": "session", "value": world["sessions"]["tara"], "url": base}])
        page = context.new_page()
        heard: list[str] = []
        page.on("console", lambda said: heard.append(said.text) if said.type in ("error", "warning") else None)
        page.on("pageerror", lambda error: heard.append(str(error)))
        page.goto(base + "/synthetic")
        page.get_by_role("link", name="New synthetic table").first.click()
        for column in ("age", "pirads"):
            page.locator(f"input[name=columns][value={column}]").check()
        page.locator("#id_relation1_one").select_option("age")
        page.locator("#id_relation1_other").select_option("pirads")
        page.locator("#id_epsilon").fill("0.5")
        page.get_by_role("button", name="Show price and accuracy").click()
        price = page.locator("#price")
        price.get_by_text("Left afterwards").wait_for()
        assert sums(home)["debits"] == 0, "nothing was paid by looking"
        price.get_by_role("button", name="Buy the table").click()
        page.wait_for_url(re.compile(r"/synthetic/[0-9a-f]{16}$"))
        page.get_by_role("button", name="Rows (CSV)").wait_for(timeout=60_000)
        assert basics(page) == []
        with page.expect_download() as started:
            page.get_by_role("button", name="Rows (CSV)").click()
        table = csv.DictReader(io.StringIO(Path(started.value.path()).read_text(encoding="utf-8")))
        assert set(table.fieldnames or ()) == {"age", "pirads"}
        assert all(row["pirads"] in {"", "1", "2", "3", "4", "5"} for row in table)
        with page.expect_download() as started:
            page.get_by_role("link", name="Receipt", exact=True).click()
        receipt = Path(started.value.path()).read_text(encoding="utf-8")
        page.locator("[data-figure=synthetic-figure-5]").scroll_into_view_if_needed()  # figures are drawn when seen
        page.locator("[data-figure=synthetic-figure-5] .bars path").first.wait_for(state="attached")
        page.locator("#id_column").select_option("age")
        page.locator("#id_by").select_option("pirads")
        page.get_by_role("button", name="Answer").click()
        page.get_by_text("95 % interval").first.wait_for()
        assert heard == []
        page.goto(base + "/receipts")
        page.locator("textarea").fill(receipt)
        page.get_by_role("button", name=re.compile("Verify")).click()
        page.get_by_text(re.compile("genuine|signed here|Signed by", re.I)).first.wait_for()
    assert sums(home)["debits"] == 1


def basics(page: Any) -> list[str]:
    """Return what a screen reader would miss: fields without labels, buttons without names, headings that jump."""
    found: list[str] = page.evaluate(
        """() => {
          const missing = [];
          for (const field of document.querySelectorAll('main input:not([type=hidden]), main select, main textarea'))
            if (!field.labels.length && !field.getAttribute('aria-label')) missing.push(`no label: ${field.name}`);
          for (const button of document.querySelectorAll('main button'))
            if (!(button.textContent.trim() || button.getAttribute('aria-label'))) missing.push('unnamed button');
          let level = 1;
          for (const heading of document.querySelectorAll('main h1, main h2, main h3, main h4')) {
            const own = Number(heading.tagName[1]);
            if (own > level + 1) missing.push(`heading jumps to h${own}: ${heading.textContent.trim()}`);
            level = own;
          }
          return missing;
        }"""
    )
    return found
