"""The gallery's markup: every control says what it is, every reference leads somewhere, every piece is shown."""

from __future__ import annotations

from pathlib import Path

import pytest
from page_markup import Page, broken_references, unlabelled_controls

import pydplib.web.design

TEMPLATES = Path(pydplib.web.design.__file__).parent / "templates"
COMPONENTS = sorted(path.stem for path in (TEMPLATES / "components").glob("*.html"))


def test_every_control_has_a_name(gallery: Page) -> None:
    assert unlabelled_controls(gallery) == []


def test_every_reference_leads_somewhere_and_every_id_is_unique(gallery: Page) -> None:
    assert broken_references(gallery) == []


def test_headings_start_with_one_h1_and_skip_no_level(gallery: Page) -> None:
    levels = [int(element.tag[1]) for element in gallery.all("h1", "h2", "h3", "h4")]
    inside = [
        int(element.tag[1])
        for element in gallery.all("h1", "h2", "h3", "h4")
        if not any(above.tag == "dialog" for above in element.ancestors)
    ]
    assert levels.count(1) == 1
    assert inside[0] == 1


def test_tables_have_captions_and_heads_with_a_scope(gallery: Page) -> None:
    tables = gallery.all("table")
    assert tables
    for table in tables:
        inner = list(table.walk())
        assert [element for element in inner if element.tag == "caption" and element.text]
        assert all(element.attributes.get("scope") for element in inner if element.tag == "th")
        assert any(above.attributes.get("tabindex") == "0" for above in table.ancestors)  # scrolls by keyboard


def test_icons_are_silent_or_named(gallery: Page) -> None:
    icons = gallery.all("svg")
    assert all(icon.attributes.get("aria-hidden") == "true" or icon.attributes.get("aria-label") for icon in icons)


def test_links_and_buttons_say_where_they_lead(gallery: Page) -> None:
    for element in gallery.all("a", "button"):
        assert element.text or element.attributes.get("aria-label"), element.attributes


def test_page_has_landmarks_and_a_way_around_the_navigation(gallery: Page) -> None:
    for tag in ("header", "main", "footer"):
        assert len(gallery.all(tag)) == 1
    navigations = [element.attributes.get("aria-label") for element in gallery.all("nav")]
    assert all(navigations) and len(navigations) == len(set(navigations))
    first = next(element for element in gallery.all("a"))
    assert first.attributes["href"] == "#main"


@pytest.mark.parametrize("name", COMPONENTS)
def test_every_component_is_shown_in_the_gallery(name: str) -> None:
    shown = (TEMPLATES / "design" / "gallery.html").read_text("utf-8")
    others = "".join(path.read_text("utf-8") for path in TEMPLATES.rglob("*.html") if path.name != "gallery.html")
    by_form = {"field", "error_summary"}  # what {{ form }} shows
    used = f"{{% {name} " in shown or f"{{% {name} %}}" in shown or name in by_form
    assert used or f"components/{name}.html" in others or f"{{% {name} " in others


def test_unlabelled_control_and_broken_reference_are_found() -> None:
    page = Page(
        '<p id="a"></p><p id="a"></p><input type="text"><label for="b">B</label><a href="#c">x</a><button></button>'
    )
    assert [element.tag for element in unlabelled_controls(page)] == ["input", "button"]
    assert len(broken_references(page)) == 3


@pytest.mark.parametrize("status", [400, 403, 404, 500])
def test_error_page_says_what_to_do_and_nothing_else(status: int) -> None:
    from django.template.loader import render_to_string

    page = Page(render_to_string(f"{status}.html"))
    assert len(page.all("h1")) == 1
    assert [link.attributes["href"] for link in page.all("a") if "button" in link.attributes.get("class", "")] == ["/"]
    assert "Traceback" not in page.html and "Exception" not in page.html
