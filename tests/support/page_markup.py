"""A page as a tree of elements, for tests of its markup: labels, references, headings."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from html.parser import HTMLParser

VOID = {"area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "source", "track", "wbr"}


@dataclass
class Element:
    tag: str
    attributes: dict[str, str]
    parent: Element | None = None
    children: list[Element | str] = field(default_factory=list)

    def walk(self) -> Iterator[Element]:
        yield self
        for child in self.children:
            if isinstance(child, Element):
                yield from child.walk()

    @property
    def text(self) -> str:
        parts = [child if isinstance(child, str) else child.text for child in self.children]
        return " ".join("".join(parts).split())

    @property
    def ancestors(self) -> Iterator[Element]:
        above = self.parent
        while above is not None:
            yield above
            above = above.parent


class Page(HTMLParser):
    """Parses a page; fails on elements that are closed out of order."""

    def __init__(self, html: str) -> None:
        super().__init__(convert_charrefs=True)
        self.html = html
        self.root = Element("#page", {})
        self._open = self.root
        self.feed(html)
        assert self._open is self.root, f"<{self._open.tag}> is never closed"

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        names = [name for name, _ in attrs]
        assert len(names) == len(set(names)), f"<{tag}> has an attribute twice: {names}"
        element = Element(tag, {name: value or "" for name, value in attrs}, self._open)
        self._open.children.append(element)
        if tag not in VOID:
            self._open = element

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._open.children.append(Element(tag, {name: value or "" for name, value in attrs}, self._open))

    def handle_endtag(self, tag: str) -> None:
        assert self._open.tag == tag, f"</{tag}> closes <{self._open.tag}>"
        assert self._open.parent is not None
        self._open = self._open.parent

    def handle_data(self, data: str) -> None:
        self._open.children.append(data)

    def all(self, *tags: str) -> list[Element]:
        return [element for element in self.root.walk() if not tags or element.tag in tags]

    def by_id(self, name: str) -> Element | None:
        return next((element for element in self.all() if element.attributes.get("id") == name), None)


def unlabelled_controls(page: Page) -> list[Element]:
    """Return form controls and buttons that say to nobody what they are."""
    labels = {label.attributes.get("for"): label.text for label in page.all("label")}
    silent = []
    for control in page.all("input", "select", "textarea", "button", "progress"):
        attributes = control.attributes
        if attributes.get("type") in ("hidden", "submit"):
            continue
        wrapping = any(above.tag == "label" and above.text for above in control.ancestors)
        named = attributes.get("aria-label") or labels.get(attributes.get("id", "-")) or wrapping
        if control.tag == "button":
            named = named or control.text
        if not named:
            silent.append(control)
    return silent


def broken_references(page: Page) -> list[str]:
    """Return references to ids that are not there, and ids that are there twice."""
    ids = [element.attributes["id"] for element in page.all() if element.attributes.get("id")]
    faults = [f"id '{name}' twice" for name in sorted({name for name in ids if ids.count(name) > 1})]
    names = ("aria-describedby", "aria-labelledby", "aria-controls", "for", "popovertarget", "data-copy", "data-dialog")
    for element in page.all():
        for name in names:
            targets = element.attributes.get(name, "").split()
            faults += [f"<{element.tag} {name}> points to '{id}', not there" for id in targets if id not in ids]
        href = element.attributes.get("href", "")
        if href.startswith("#") and len(href) > 1 and href[1:] not in ids:
            faults.append(f"a link points to '{href}', which is not there")
    return faults
