"""Rules about texts: clean characters, and sentence patterns whose placeholders exist."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from typing import Any

from pydplib.capture.model import Item, Template
from pydplib.capture.patterns import PatternError, parse_pattern
from pydplib.capture.problems import Problem, shorten
from pydplib.capture.structure import Index, Place
from pydplib.capture.values import MOST_CHARACTERS, is_clean_text
from pydplib.errors import did_you_mean

OWN_PLACEHOLDERS = ("value", "unit", "title", "number")


def lint_texts(template: Template) -> Iterator[Problem]:
    """Look at every text of the template."""
    if not all(_is_fit(text) for text in _texts_of(template, skip="items")):
        yield Problem("text", "", f"A text of the template has control characters or more than {MOST_CHARACTERS}.")
    for place in template.index.places:
        item = place.item
        if not all(_is_fit(text) for text in _texts_of(item, skip="items")):
            yield Problem(
                "text", item.id, f"Item '{shorten(item.id)}' has a text with control characters or too many letters."
            )
        for pattern in _patterns_of(item):
            yield from _lint_pattern(template.index, place, pattern)


def _is_fit(text: str) -> bool:
    return is_clean_text(text) and len(text) <= MOST_CHARACTERS


def _texts_of(value: Any, skip: str = "") -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, tuple):
        for each in value:
            yield from _texts_of(each)
    elif is_dataclass(value):
        for field in fields(value):
            if field.name != skip:
                yield from _texts_of(getattr(value, field.name))


def _patterns_of(item: Item) -> list[str]:
    options = getattr(item, "options", ())
    found = [item.sentence, getattr(item, "sentence_no", ""), *(option.sentence for option in options)]
    return [pattern for pattern in found if pattern]


def _lint_pattern(index: Index, place: Place, pattern: str) -> Iterator[Problem]:
    where = f"The sentence of '{shorten(place.item.id)}'"
    try:
        parts = parse_pattern(pattern)
    except PatternError as error:
        yield Problem("sentence", place.item.id, f"{where} {error}")
        return
    is_group = place.item.kind == "group"
    for name in (name for part in parts for name in part.placeholders):
        if name in OWN_PLACEHOLDERS:
            if is_group and name in ("value", "unit"):
                yield Problem("sentence", place.item.id, f"{where} uses {{{name}}}, but a group has none.")
            continue
        target = index.by_id.get(name)
        if target is None or target.item.kind == "group":
            hint = did_you_mean(name, [*OWN_PLACEHOLDERS, *(question.id for _, question in index.questions())])
            yield Problem("sentence", place.item.id, f"{where} uses {{{shorten(name)}}}, which is no question.{hint}")
        elif index.is_repeated_for(name, place.inner_loops):
            yield Problem(
                "sentence",
                place.item.id,
                f"{where} uses {{{shorten(name)}}}, which is answered once per '{target.loops[-1]}'. "
                "Use a computed field over all repetitions.",
            )
