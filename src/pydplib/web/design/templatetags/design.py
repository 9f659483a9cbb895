"""Tags for page authors: ``{% load design %}``; every tag renders a template of ``components/``."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from django import template
from django.core.paginator import Page
from django.forms import BaseForm, BoundField, CheckboxInput
from django.template.context import Context
from django.template.loader import render_to_string
from django.templatetags.static import static
from django.utils.html import format_html
from django.utils.safestring import SafeString, mark_safe

from pydplib._version import __version__
from pydplib.web.design.badges import Badge, Tone, badge_for

register = template.Library()

THEME_COOKIE = "pydplib_theme"
_TONES = {"debug": "neutral", "info": "info", "success": "good", "warning": "warning", "error": "danger"}
_ICONS = {
    "neutral": "info",
    "info": "info",
    "good": "circle-check",
    "warning": "triangle-alert",
    "danger": "circle-alert",
}


def _component(name: str, /, **values: Any) -> SafeString:
    return render_to_string(f"components/{name}.html", values)


@register.simple_tag
def version() -> str:
    """Return the version of pydplib."""
    return __version__


@register.simple_tag(takes_context=True)
def theme_attribute(context: Context) -> str:
    """Return `` data-theme="..."`` when the reader chose a look, so that the first paint is right."""
    request = context.get("request")
    chosen = request.COOKIES.get(THEME_COOKIE, "") if request is not None else ""
    return format_html(' data-theme="{}"', chosen) if chosen in ("light", "dark") else ""


@register.simple_tag
def icon(name: str | None, size: str = "", label: str = "", **attributes: str) -> str:
    """Return an icon of the sheet; silent for screen readers unless it has a ``label``."""
    if not name:
        return ""
    classes = " ".join(word for word in ("icon", size, attributes.get("class", "")) if word)
    meaning = format_html('role="img" aria-label="{}"', label) if label else mark_safe('aria-hidden="true"')
    return format_html(
        '<svg class="{}" {} focusable="false"><use href="{}#{}"></use></svg>',
        classes,
        meaning,
        static("pydplib/icons.svg"),
        name,
    )


@register.simple_tag
def badge(word: object, text: str = "", tone: Tone | None = None, icon: str | None = None) -> str:
    """Return the badge of a role, a label or a state; other words are shown as they are."""
    if word is None or word == "":
        return ""
    shown: Badge = badge_for(word, text=text, tone=tone, icon=icon)
    return _component("badge", badge=shown)


@register.simple_tag
def button(label: str, variant: str = "secondary", **options: Any) -> str:
    """Return a button, or a link that looks like one if ``href`` is given.

    Options: href, icon, type (submit), name, value, size (small), form, disabled, id, dialog (id of a dialog to open).
    """
    return _component("button", label=label, variant=variant, **options)


@register.simple_tag
def field(bound: BoundField, label: str = "", help: str = "") -> str:
    """Return one form field with label, help and error, as ``{{ form }}`` would show it."""
    if label:
        bound.label = label
    if help:
        bound.help_text = help
    return bound.as_field_group()


@register.simple_tag
def field_kind(bound: BoundField) -> str:
    """Return ``"check"`` for a single tick box, whose label stands behind it, and the widget's kind for all others."""
    return "check" if isinstance(bound.field.widget, CheckboxInput) else str(bound.widget_type)


@register.simple_tag
def error_summary(form: BaseForm) -> str:
    """Return the list of what is wrong with a form, linked to the fields; nothing if all is well."""
    return _component("error_summary", form=form, entries=summary_entries(form))


def summary_entries(form: BaseForm) -> list[dict[str, str]]:
    """Return address, label and message of every error of a form, in the order of its fields."""
    entries = [{"target": "", "label": "", "message": str(text)} for text in form.non_field_errors()]
    for bound in form:
        for text in bound.errors:
            # A group of choices has no control of the field's own id: its box is focused instead.
            target = "" if bound.is_hidden else (bound.id_for_label or bound.auto_id)
            entries.append({"target": target, "label": str(bound.label), "message": str(text)})
    return entries


@register.simple_tag
def message_alert(message: Any) -> str:
    """Return one of Django's messages as an alert."""
    level = getattr(message, "level_tag", "") or "info"
    return _alert(
        str(message) if not isinstance(message.message, SafeString) else message.message, _TONES.get(level, "info")
    )


def _alert(content: str, tone: str, title: str = "", icon: str = "") -> str:
    return _component("alert", content=content, tone=tone, title=title, icon=icon or _ICONS.get(tone, "info"))


@register.simple_block_tag
def alert(content: str, tone: str = "info", title: str = "", icon: str = "") -> str:
    """Return a remark that must be seen: info, good, warning or danger."""
    return _alert(content, tone, title, icon)


@register.simple_block_tag
def card(content: str, title: str = "", **options: Any) -> str:
    """Return a card. Options: hint, icon, href (of the title), level (of the heading, 2), id, flush (no padding)."""
    return _component("card", content=content, title=title, **{"level": 2, **options})


@register.simple_block_tag
def empty_state(content: str, title: str, icon: str = "inbox") -> str:
    """Return what stands where nothing is yet: a title, a sentence, the next step."""
    return _component("empty_state", content=content, title=title, icon=icon)


@register.simple_block_tag
def table(content: str, caption: str, stack: bool = False, quiet: bool = False, **options: Any) -> str:
    """Return rows (``thead``, ``tbody``) as a table with caption that scrolls in itself.

    ``stack=True``: on a phone each row becomes a block; cells then carry ``data-head="Column"``.
    ``quiet=True``: the caption is for screen readers only.
    """
    return _component("table", content=content, caption=caption, stack=stack, quiet=quiet, **options)


@register.simple_tag
def data_table(columns: Sequence[Any], rows: Iterable[Sequence[Any]], caption: str, **options: Any) -> str:
    """Return a whole table from values; numbers stand right. Columns are texts or (text, "num")."""
    return _component("data_table", caption=caption, **table_cells(columns, rows), **options)


def table_cells(columns: Sequence[Any], rows: Iterable[Sequence[Any]]) -> dict[str, Any]:
    """Return heads and cells for ``data_table``: numbers are marked ``num``, words that must not break ``short``."""
    listed = [list(row) for row in rows]
    heads = []
    for place, column in enumerate(columns):
        name, kind = column if isinstance(column, (tuple, list)) else (column, "")
        values = [row[place] for row in listed if row[place] not in (None, "")]
        numeric = bool(values) and all(isinstance(v, (int, float)) and not isinstance(v, bool) for v in values)
        longest = max((len(str(value)) for value in values), default=0)
        fitting = "num" if numeric else "short" if longest <= 20 else "long" if longest > 60 else ""
        heads.append({"name": name, "kind": kind or fitting})
    return {"heads": heads, "rows": [list(zip(heads, row, strict=True)) for row in listed]}


@register.simple_tag
def stat(name: str, value: Any, hint: str = "", tone: str = "", icon: str = "") -> str:
    """Return one number with its name, to stand in ``<dl class="stats">``."""
    return _component("stat", name=name, value=value, hint=hint, tone=tone, icon=icon)


@register.simple_tag
def key_values(items: Mapping[str, Any] | Iterable[tuple[str, Any]]) -> str:
    """Return names and values below each other."""
    return _component("key_values", items=items.items() if isinstance(items, Mapping) else items)


@register.simple_tag
def tabs(items: Sequence[Mapping[str, Any]], label: str) -> str:
    """Return links as tabs. Each: label, url, active, and if wanted count and icon."""
    return _component("tabs", items=items, label=label)


@register.simple_tag
def breadcrumb(items: Sequence[tuple[str, str]]) -> str:
    """Return the way to this page: (label, url) pairs; the last may have no url."""
    return _component("breadcrumb", items=items)


@register.simple_tag
def stepper(steps: Sequence[Any], current: int, label: str = "Steps") -> str:
    """Return numbered steps, the ``current`` one (from 1) marked; a step is a text or (text, url)."""
    shown = []
    for number, step in enumerate(steps, start=1):
        text, url = step if isinstance(step, (tuple, list)) else (step, "")
        state = "done" if number < current else "current" if number == current else "ahead"
        shown.append({"number": number, "text": text, "url": url if state == "done" else "", "state": state})
    return _component("stepper", steps=shown, label=label, current=current)


@register.simple_tag
def timeline(events: Iterable[Mapping[str, Any]]) -> str:
    """Return a history. Each event: title, when, and if wanted who, text, icon, tone, url."""
    return _component("timeline", events=events)


@register.simple_tag
def progress(value: float | None, label: str, maximum: float = 100, **options: Any) -> str:
    """Return a progress bar; ``value=None`` is one whose end is not known. Options: hint, tone, quiet."""
    return _component("progress", value=value, label=label, maximum=maximum, **options)


@register.simple_tag
def budget_bar(spent: float, asked: float, total: float, unit: str = "", words: str = "this question") -> str:
    """Return a bar of a budget: what is spent, what a question would cost, what is left after it."""
    left = total - spent - asked

    def percent(part: float) -> str:
        return f"{max(0.0, min(100.0, 100 * part / total)) if total else 0:.2f}"

    return _component(
        "budget_bar",
        spent=_number(spent),
        asked=_number(asked) if asked else "",
        left=_number(max(left, 0)),
        total=_number(total),
        too_much=left < 0,
        spent_percent=percent(spent),
        asked_percent=percent(min(asked, total - spent)),
        asked_words=words,
        unit=unit,
    )


def _number(value: float) -> str:
    return f"{value:.6f}".rstrip("0").rstrip(".")


@register.simple_tag
def secret(value: str, label: str, hint: str = "", id: str = "secret") -> str:
    """Return a box for what is shown once, with a button that copies it."""
    return _component("secret", value=value, label=label, hint=hint, id=id)


@register.simple_tag
def copy_button(target: str, label: str = "Copy", **options: Any) -> str:
    """Return a button that copies the text (or the value) of the element with id ``target``."""
    return _component("copy_button", target=target, label=label, **options)


@register.simple_block_tag(takes_context=True)
def confirm(context: Context, content: str, id: str, title: str, action: str, label: str, **options: Any) -> str:
    """Return a button and the dialog that it opens: a POST form that asks before something happens.

    Options: button (words on the opening button), opener (its variant, secondary), variant (of the button in the
    dialog, danger), icon, size, word (must be typed first).
    """
    token = context.get("csrf_token", "")
    values = {"variant": "danger", "opener": "secondary", "button": label, **options}
    return _component("confirm", content=content, id=id, title=title, action=action, label=label, token=token, **values)


@register.simple_block_tag
def dialog(content: str, id: str, title: str) -> str:
    """Return a dialog; ``{% button "Open" dialog="its-id" %}`` opens it, without script too."""
    return _component("dialog", content=content, id=id, title=title)


@register.simple_tag(takes_context=True)
def pagination(context: Context, page: Page[Any], name: str = "page", label: str = "Pages") -> str:
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
    return _component("pagination", page=page, links=links, before=before, after=after, label=label)
