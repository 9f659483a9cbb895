"""A partner's first question on the demonstration, in a real browser: useful, with its margin shown before."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest
from chromium import needs_chromium, open_browser
from served import Served, serving

pytestmark = [pytest.mark.browser, needs_chromium]
QUARTER = (100 - 18) / 4
"""Of the public range of ages, in years."""


@pytest.fixture(scope="module")
def shown(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A demonstration whose budget the tests of this file spend."""
    with serving(tmp_path_factory.mktemp("first") / "home", "--demo") as served:
        yield served


@pytest.fixture(scope="module")
def visit(shown: Served) -> Iterator[Any]:
    """Return a function that opens the third party's home at a width; the sign-in link works once."""
    with open_browser() as browser:
        first = browser.new_context()
        first.new_page().goto(shown.base + shown.links()["Third party"])
        state = first.storage_state()

        def enter(width: int) -> Any:
            page = browser.new_context(storage_state=state, viewport={"width": width, "height": 844}).new_page()
            page.heard = []
            page.on("console", lambda said: page.heard.append(said.text) if said.type in ("error", "warning") else 0)
            page.on("pageerror", lambda error: page.heard.append(str(error)))
            page.goto(shown.base + "/")
            return page

        yield enter


def _margin(text: str) -> float:
    """Return the widest margin of words such as "± 5.2 to 15 years"."""
    found = re.search(r"± ([\d.]+)(?: to ([\d.]+))? years", text)
    assert found, text
    return float(found[2] or found[1])


@pytest.mark.parametrize(("width", "group", "title"), [(1280, "pirads", "PI-RADS score"), (390, "bph", "BPH")])
def test_a_first_question_ends_in_a_useful_answer_within_six_clicks(
    visit: Any, width: int, group: str, title: str
) -> None:
    page = visit(width)
    page.get_by_role("link", name="Ask for statistics").first.click()  # 1
    page.get_by_role("link", name="New analysis").first.click()  # 2
    page.get_by_label("Average", exact=True).check()  # 3
    page.locator("#price").get_by_text("Still to fill in").wait_for()
    page.select_option("#id_field", "age")  # 4
    page.locator("#price").get_by_text("Average of Age").wait_for()
    page.select_option("#id_by1", group)  # 5
    page.locator("#price").get_by_text(f"Average of Age by {title}").wait_for()
    said = page.locator("#precision-said").inner_text()
    promised = _margin(said)
    assert promised <= QUARTER and "Useful" in said and "of 100 points" in said
    assert page.locator(".lights li").count() >= 2 and page.locator(".lights .badge.danger").count() == 0
    page.get_by_role("button", name="Ask and pay").click()  # 6
    page.wait_for_url(re.compile(r"/analyses/[0-9a-f]{16}$"))
    assert page.get_by_text("too noisy to use").count() == 0
    rows = [row.inner_text() for row in page.locator("details.twin tbody tr").all()]
    margins = [_margin(f"{found[0]} years") for row in rows[:-1] if (found := re.search(r"± [\d.]+", row))]
    assert margins and max(margins) <= QUARTER, "the rest, which is empty, is the last row"
    over = page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
    assert over <= 0 and page.heard == []


@pytest.mark.parametrize("width", [1280, 390])
def test_a_useless_question_is_flagged_before_paying_and_a_better_one_is_a_click_away(visit: Any, width: int) -> None:
    page = visit(width)
    page.goto(page.url + "analyses/new?kind=mean&field=age&by1=therapy")
    slider = page.locator("#id_precision")
    slider.focus()
    slider.press("Home")
    page.locator("#precision-said .badge", has_text="Not useful").wait_for()  # at once, from the page itself
    page.locator("#worth").get_by_text("This answer would not be useful").wait_for()
    page.locator("#price").get_by_text("Not useful").wait_for()
    better = page.locator(".proposals a")
    assert better.count() >= 1
    better.last.click()
    page.locator("#price").get_by_text("Average of Age").wait_for()
    assert page.get_by_text("This answer would not be useful").count() == 0
    assert _margin(page.locator("#precision-said").inner_text()) <= QUARTER
    over = page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
    assert over <= 0 and page.heard == []
