"""Tags for page authors: ``{% load design %}``; every tag renders a template of ``components/``."""

from __future__ import annotations

import datetime as dt
import re
from typing import Any

from django import template
from django.forms import BaseForm, BoundField, CheckboxInput
from django.template.context import Context
from django.templatetags.static import static
from django.utils import formats
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString, mark_safe

from pydplib._version import __version__
from pydplib.policy import Power
from pydplib.web.design import navigation, sorting, values
from pydplib.web.design.badges import Badge, Tone, badge_for
from pydplib.web.design.components import component

register = template.Library()
for _tag in (
    navigation.tabs,
    navigation.breadcrumb,
    navigation.stepper,
    values.data_table,
    values.stat,
    values.key_values,
    values.timeline,
    values.progress,
    values.budget_bar,
):
    register.simple_tag(_tag)
register.simple_tag(navigation.pagination, takes_context=True)
register.simple_tag(sorting.sort_head, takes_context=True)
register.filter(values.epsilon)
register.filter(values.epsilon_left)
register.filter(values.points)
register.filter(values.points_left)
register.filter(values.short_id)


@register.filter
def can(member: Any, power: Power) -> bool:
    """Return whether a member's role has a power: ``{% if place|can:"ask" %}``."""
    return bool(member.can(power))


THEME_COOKIE = "pydplib_theme"
_PARTS = re.compile(r"(?<=_)(?!_)|(?<=[a-z])(?=[A-Z])")
_TONES = {"debug": "neutral", "info": "info", "success": "good", "warning": "warning", "error": "danger"}
_ICONS = {
    "neutral": "info",
    "info": "info",
    "good": "circle-check",
    "warning": "triangle-alert",
    "danger": "circle-alert",
}


@register.filter
def day(moment: str) -> str:
    """Return a moment as files write it (ISO) as the day that pages show; what is none stays as it is."""
    try:
        return formats.date_format(dt.datetime.fromisoformat(moment), "j F Y")
    except (TypeError, ValueError):
        return moment


@register.filter
def breakable(name: object) -> str:
    """Return a name that may break behind an underscore and between words that are written together."""
    return format_html_join(mark_safe("<wbr>"), "{}", ((part,) for part in _PARTS.split(str(name))))


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
    return component("badge", badge=shown)


@register.simple_tag
def button(label: str, variant: str = "secondary", **options: object) -> str:
    """Return a button, or a link that looks like one if ``href`` is given.

    Options: href, icon, type (submit), name, value, size (small), form, disabled, id, dialog (id of a dialog to open).
    """
    return component("button", label=label, variant=variant, **options)


@register.simple_tag
def field(bound: BoundField, label: str = "", help: str = "", unit: str = "") -> str:
    """Return one form field with label, help and error, as ``{{ form }}`` would show it; ``unit`` stands behind it."""
    if label:
        bound.label = label
    if help:
        bound.help_text = help
    if unit:
        bound.unit = unit  # type: ignore[attr-defined]  # for the template of a field
    return bound.as_field_group()


@register.simple_tag
def field_kind(bound: BoundField) -> str:
    """Return ``"check"`` for a single tick box, whose label stands behind it, and the widget's kind for all others."""
    return "check" if isinstance(bound.field.widget, CheckboxInput) else str(bound.widget_type)


@register.simple_tag
def error_summary(form: BaseForm) -> str:
    """Return the list of what is wrong with a form, linked to the fields; nothing if all is well."""
    return component("error_summary", form=form, entries=summary_entries(form))


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
    return component("alert", content=content, tone=tone, title=title, icon=icon or _ICONS.get(tone, "info"))


@register.simple_block_tag
def alert(content: str, tone: str = "info", title: str = "", icon: str = "") -> str:
    """Return a remark that must be seen: info, good, warning or danger."""
    return _alert(content, tone, title, icon)


@register.simple_block_tag
def card(content: str, title: str = "", **options: object) -> str:
    """Return a card. Options: hint, icon, href (of the title), level (of the heading, 2), id, flush (no padding)."""
    return component("card", content=content, title=title, **{"level": 2, **options})


@register.simple_block_tag
def empty_state(content: str, title: str, icon: str = "inbox") -> str:
    """Return what stands where nothing is yet: a title, a sentence, the next step."""
    return component("empty_state", content=content, title=title, icon=icon)


@register.simple_block_tag
def table(content: str, caption: str, stack: bool = False, quiet: bool = False, **options: object) -> str:
    """Return rows (``thead``, ``tbody``) as a table with caption that scrolls in itself.

    ``stack=True``: on a phone each row becomes a block; cells then carry ``data-head="Column"``.
    ``quiet=True``: the caption is for screen readers only.
    """
    return component("table", content=content, caption=caption, stack=stack, quiet=quiet, **options)


@register.simple_tag
def secret(value: str, label: str, hint: str = "", id: str = "secret") -> str:
    """Return a box for what is shown once, with a button that copies it."""
    return component("secret", value=value, label=label, hint=hint, id=id)


@register.simple_tag
def copy_button(target: str, label: str = "Copy", **options: object) -> str:
    """Return a button that copies the text (or the value) of the element with id ``target``."""
    return component("copy_button", target=target, label=label, **options)


@register.simple_block_tag(takes_context=True)
def confirm(context: Context, content: str, id: str, title: str, action: str, label: str, **options: object) -> str:
    """Return a button and the dialog that it opens: a POST form that asks before something happens.

    Options: button (words on the opening button), opener (its variant, secondary), variant (of the button in the
    dialog, danger), icon, size, word (must be typed first).
    """
    token = context.get("csrf_token", "")
    values = {"variant": "danger", "opener": "secondary", "button": label, **options}
    return component("confirm", content=content, id=id, title=title, action=action, label=label, token=token, **values)
