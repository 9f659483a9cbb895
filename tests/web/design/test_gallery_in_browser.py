"""The gallery in a real browser: under the policy, in both looks, on a phone, by keyboard and without script."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from chromium import needs_chromium, open_browser
from page_contrast import LOW_CONTRAST

pytestmark = [
    pytest.mark.browser,
    needs_chromium,
]
SHIFTS = """
window.shifted = 0;
new PerformanceObserver((list) => {
  for (const entry of list.getEntries()) if (!entry.hadRecentInput) window.shifted += entry.value;
}).observe({ type: "layout-shift", buffered: true });
"""
PAGES = ("/design", "/design/narrow", "/design/error/404")


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with open_browser() as browser:
        yield browser


class Visit:
    """A page, and what the browser complained about on it."""

    def __init__(self, browser: Any, server: str, **options: Any) -> None:
        self.context = browser.new_context(**options)
        self.context.add_init_script(SHIFTS)
        self.page = self.context.new_page()
        self.server, self.complaints, self.hosts = server, [], set()
        self.page.on("console", self._heard)
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))
        self.page.on("request", lambda request: self.hosts.add(urlsplit(request.url).hostname))

    def _heard(self, message: Any) -> None:
        if message.type in ("error", "warning") and "status of 4" not in message.text:
            self.complaints.append(message.text)

    def go(self, path: str) -> Any:
        self.page.goto(self.server + path)
        self.page.wait_for_load_state("networkidle")
        return self.page

    def __enter__(self) -> Visit:
        return self

    def __exit__(self, *exception: object) -> None:
        self.context.close()


@pytest.mark.parametrize(
    ("look", "width"),
    [
        ("light", 1280),
        ("dark", 390),
        *(pytest.param(*one, marks=pytest.mark.slow) for one in (("light", 390), ("dark", 1280))),
    ],
)
def test_pages_are_readable_calm_and_within_the_policy(
    browser: Any, gallery_server: str, look: str, width: int
) -> None:
    with Visit(browser, gallery_server, color_scheme=look, viewport={"width": width, "height": 900}) as visit:
        for path in PAGES:
            page = visit.go(path)
            assert page.evaluate(LOW_CONTRAST) == [], path
            overflow = page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
            assert overflow <= 0, path
            assert page.evaluate("window.shifted") < 0.02, path
        assert visit.complaints == []
        assert visit.hosts == {"127.0.0.1"}


FRAMED = """
() => {
  const places = [...document.querySelectorAll(".plot")];
  const drawn = places.filter((place) => place.clientWidth && place.querySelector(".main-svg"));
  return drawn.length > 0 && drawn.every((place) => {
    const frame = place.getBoundingClientRect(), svg = place.querySelector(".main-svg").getBoundingClientRect();
    return svg.bottom <= frame.bottom + 1 && svg.right <= frame.right + 1 && svg.width > frame.width - 40;
  });
}
"""


@pytest.mark.slow
def test_figures_follow_the_width_and_stay_within_their_frame(browser: Any, gallery_server: str) -> None:
    with Visit(browser, gallery_server, viewport={"width": 1280, "height": 900}) as visit:
        page = visit.go("/design")
        for width in (1280, 390, 700, 1280):
            page.set_viewport_size({"width": width, "height": 900})
            page.wait_for_timeout(400)
            assert page.evaluate(FRAMED), width
        assert visit.complaints == []


@pytest.mark.slow
def test_figure_is_drawn_in_the_look_and_again_after_the_switch(browser: Any, gallery_server: str) -> None:
    with Visit(browser, gallery_server, color_scheme="light") as visit:
        page = visit.go("/design")
        paper = page.locator(".plot .main-svg").first
        assert "rgb(255, 255, 255)" in (paper.get_attribute("style") or "")
        page.locator("[data-theme-switch]").click()
        page.locator('.plot .main-svg[style*="rgb(23, 28, 34)"]').first.wait_for()
        page.reload()
        assert page.locator("html").get_attribute("data-theme") == "dark"
        visit.go("/design/error/404")  # the choice holds on every page
        assert page.locator("html").get_attribute("data-theme") == "dark"
        assert visit.complaints == []


@pytest.mark.slow
def test_dialog_keeps_the_focus_and_gives_it_back(browser: Any, gallery_server: str) -> None:
    with Visit(browser, gallery_server) as visit:
        page = visit.go("/design")
        opener = page.locator('[data-dialog="erase"]')
        opener.focus()
        page.keyboard.press("Enter")
        dialog = page.locator("#erase")
        dialog.wait_for(state="visible")
        for _ in range(6):
            page.keyboard.press("Tab")
            assert page.evaluate("document.activeElement.closest('dialog')?.id || document.activeElement.tagName") in (
                "erase",
                "BODY",
            )
        page.keyboard.press("Escape")
        dialog.wait_for(state="hidden")
        assert page.evaluate("document.activeElement.dataset.dialog") == "erase"


def test_error_summary_has_the_focus_and_its_links_lead_to_the_controls(browser: Any, gallery_server: str) -> None:
    with Visit(browser, gallery_server) as visit:
        page = visit.go("/design")
        assert page.evaluate("document.activeElement.classList.contains('error-summary')")
        page.locator('.error-summary a[href="#bad_email"]').click()
        assert page.evaluate("document.activeElement.id") == "bad_email"
        page.locator('.error-summary a[href="#bad_role"]').click()
        assert page.evaluate("document.activeElement.name") == "role"


def test_focus_is_visible_on_every_kind_of_control(browser: Any, gallery_server: str) -> None:
    with Visit(browser, gallery_server) as visit:
        page = visit.go("/design")
        page.evaluate("document.activeElement.blur(); window.scrollTo(0, 0)")
        seen = 0
        for _ in range(60):
            page.keyboard.press("Tab")
            ring = page.evaluate(
                """(() => {
                  const at = document.activeElement;
                  if (at === document.body) return "none";
                  const key = at.closest(".pills label") || at;
                  const style = getComputedStyle(key);
                  const ringed = style.outlineStyle !== "none" && parseFloat(style.outlineWidth) >= 2;
                  return ringed ? "ring" : at.outerHTML.slice(0, 120);
                })()"""
            )
            assert ring in ("ring", "none")
            seen += ring == "ring"
        assert seen > 40


def test_phone_menu_opens_and_closes_without_script(browser: Any, gallery_server: str) -> None:
    options = {"java_script_enabled": False, "viewport": {"width": 390, "height": 800}}
    with Visit(browser, gallery_server, **options) as visit:
        page = visit.go("/design")
        menu = page.locator("#navigation")
        assert not menu.is_visible()
        page.locator(".top-menu").click()
        assert menu.is_visible()
        page.keyboard.press("Escape")
        assert not menu.is_visible()
        page.locator('[data-dialog="erase"]').click()
        assert page.locator("#erase").is_visible()
        assert page.locator("#by-age-figure table").is_visible()
        assert not page.locator("#by-age-figure .plot").is_visible()


def test_htmx_is_set_to_the_strict_policy(browser: Any, gallery_server: str) -> None:
    with Visit(browser, gallery_server) as visit:
        settings = visit.go("/design").evaluate("window.htmx.config")
        assert not settings["allowEval"] and not settings["allowScriptTags"] and not settings["includeIndicatorStyles"]
        assert settings["selfRequestsOnly"]
        assert settings["historyCacheSize"] == 0  # no page with personal data in the browser's storage
        assert visit.complaints == []


@pytest.mark.slow
def test_copy_button_copies_and_says_so(browser: Any, gallery_server: str) -> None:
    with Visit(browser, gallery_server, permissions=["clipboard-read", "clipboard-write"]) as visit:
        page = visit.go("/design")
        page.locator('[data-copy="secret"]').click()
        page.locator('[data-copy="secret"].copied').wait_for()
        assert page.evaluate("navigator.clipboard.readText()") == page.locator("#secret").inner_text()


@pytest.mark.slow
def test_printed_page_is_light_and_without_its_frame(browser: Any, gallery_server: str, tmp_path: Path) -> None:
    with Visit(browser, gallery_server, color_scheme="dark") as visit:
        page = visit.go("/design")
        page.emulate_media(media="print")
        assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
        assert page.evaluate("getComputedStyle(document.body).color") == "rgb(31, 41, 51)"
        for frame in (".top", ".side", ".foot", ".tabs", ".button.primary"):
            assert not page.locator(frame).first.is_visible(), frame


def test_low_contrast_is_found(browser: Any, gallery_server: str) -> None:
    with Visit(browser, gallery_server) as visit:
        page = visit.go("/design/narrow")
        page.evaluate("document.querySelector('h1').style.color = '#c8ccd0'")
        assert [fault["text"] for fault in page.evaluate(LOW_CONTRAST)] == ["Sign in"]
