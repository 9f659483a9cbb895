"""Tags that show ways: tabs, where one is, steps, further pages."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from django.core.paginator import Page
from django.template.context import Context

from pydplib.web.design.components import component


def tabs(items: Sequence[Mapping[str, object]], label: str) -> str:
    """Return links as tabs. Each: label, url, active, and if wanted count and icon."""
    return component("tabs", items=items, label=label)


def breadcrumb(items: Sequence[tuple[str, str]]) -> str:
    """Return the way to this page: (label, url) pairs; the last may have no url."""
    return component("breadcrumb", items=items)


def stepper(steps: Sequence[object], current: int, label: str = "Steps") -> str:
    """Return numbered steps, the ``current`` one (from 1) marked; a step is a text or (text, url)."""
    shown = []
    for number, step in enumerate(steps, start=1):
        text, url = step if isinstance(step, (tuple, list)) else (step, "")
        state = "done" if number < current else "current" if number == current else "ahead"
        shown.append({"number": number, "text": text, "url": url if state == "done" else "", "state": state})
    return component("stepper", steps=shown, label=label, current=current)


def pagination(context: Context, page: Page[object], name: str = "page", label: str = "Pages") -> str:
    """Return links to the other pages of a list; the rest of the query string stays."""
    request = context.get("request")
    query = request.GET.copy() if request is not None else None

    def address(number: int) -> str:
        if query is None:
            return f"?{name}={number}"
        query[name] = str(number)
        return f"?{query.urlencode()}"

    links = [
        {"number": number, "url": address(number), "current": number == page.number}
        if isinstance(number, int)
        else {"gap": True}
        for number in page.paginator.get_elided_page_range(page.number, on_each_side=1, on_ends=1)
    ]
    before = address(page.previous_page_number()) if page.has_previous() else ""
    after = address(page.next_page_number()) if page.has_next() else ""
    return component("pagination", page=page, links=links, before=before, after=after, label=label)
