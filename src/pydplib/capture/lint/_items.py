"""Rules about single items: ids, kinds, options, bounds, repetition, labels."""

from __future__ import annotations

import datetime as dt
import math
import re
from collections import Counter
from collections.abc import Iterator

from pydplib.capture.model import Group, Question, Template
from pydplib.capture.problems import Problem, shorten
from pydplib.capture.values import BIGGEST_DECIMAL, BIGGEST_INTEGER, MOST_CHARACTERS
from pydplib.errors import did_you_mean

_TEMPLATE_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9.\-]{0,63}")
_CODE = re.compile(r"\S+( \S+)*")  # FHIR's codes: single blanks inside, none at the ends
_ADDRESS = re.compile(r"[^\s|]*")
MOST_REPEATS = 1000


def lint_items(template: Template) -> Iterator[Problem]:
    """Look at each item by itself, and at the head of the template."""
    yield from _lint_head(template)
    for name in dict.fromkeys(template.index.duplicates):
        yield Problem("unique-id", name, f"The id '{shorten(name)}' is used more than once. Rename all but one item.")
    for place in template.index.places:
        item = place.item
        if not item.id or item.id != item.id.strip() or len(item.id) > 200 or set(item.id) & set("{}[]\n\t"):
            yield Problem(
                "id",
                item.id,
                f"The id '{shorten(item.id)}' must be a text of 1 to 200 characters without braces, brackets or "
                "blanks at the ends.",
            )
        if any(not _CODE.fullmatch(code.code) or not _ADDRESS.fullmatch(code.system) for code in item.codes):
            yield Problem(
                "code", item.id, f"Item '{shorten(item.id)}' has a code or system with blanks, or without code."
            )
        if isinstance(item, Group):
            yield from _lint_group(item)
        else:
            yield from _lint_question(item)


def _lint_head(template: Template) -> Iterator[Problem]:
    if not _TEMPLATE_ID.fullmatch(template.id):
        yield Problem("head", "", f"The template's id '{shorten(template.id)}' may have letters, digits, '-' and '.'.")
    if not template.version or not _ADDRESS.fullmatch(template.version):
        yield Problem("head", "", 'The template needs a version without blanks and "|", e.g. version = "1".')
    if not template.title.strip():
        yield Problem("head", "", "The template has no title. Add one: it heads the form and the report.")
    if not _ADDRESS.fullmatch(template.url):
        yield Problem("head", "", 'The url of the template has blanks or "|". Remove them.')
    if not template.items:
        yield Problem("empty", "", "The template has no items. Add a question.")
    if template.max_reports_per_person < 1:
        yield Problem("head", "", "max_reports_per_person must be at least 1.")
    if template.person:
        place = template.index.by_id.get(template.person)
        if place is None or isinstance(place.item, Group):
            hint = did_you_mean(template.person, [question.id for _, question in template.index.questions()])
            yield Problem("person", "", f"person names '{shorten(template.person)}', which is no question.{hint}")
        elif place.loops or place.item.enable_when or any(parent.enable_when for parent in place.parents):
            yield Problem(
                "person", place.item.id, f"Item '{place.item.id}' says whose report it is: ask it once and always."
            )
        elif not place.item.required:
            yield Problem("person", place.item.id, f"Item '{place.item.id}' says whose report it is: make it required.")
    elif template.max_reports_per_person != 1:
        yield Problem(
            "person", "", "max_reports_per_person needs person: name the question that says whose report it is."
        )


def _lint_group(group: Group) -> Iterator[Problem]:
    where = f"Group '{shorten(group.id)}'"
    if not group.items:
        yield Problem("empty", group.id, f"{where} has no items. Add a question or remove the group.")
    if group.repeats:
        if group.max_repeats is None:
            yield Problem(
                "repetitions",
                group.id,
                f"{where} repeats without a limit. Add max_repeats: it is public and bounds"
                " what one report can contribute.",
            )
        elif not 1 <= group.max_repeats <= MOST_REPEATS or not 0 <= group.min_repeats <= group.max_repeats:
            yield Problem("repetitions", group.id, f"{where} needs 0 <= min_repeats <= max_repeats <= {MOST_REPEATS}.")
    elif group.min_repeats or group.max_repeats is not None:
        yield Problem("repetitions", group.id, f"{where} has limits of repetition. Add repeats = true or remove them.")


def _lint_question(question: Question) -> Iterator[Problem]:
    where = f"Item '{shorten(question.id)}'"
    yield from _lint_options(question, where)
    yield from _lint_bounds(question, where)
    kind = question.kind
    if question.unit and kind not in ("integer", "decimal"):
        yield Problem("unit", question.id, f"{where} is a {kind}: only numbers have a unit. Remove it.")
    elif question.unit and not _CODE.fullmatch(question.unit):
        yield Problem("unit", question.id, f"{where} has a unit with blanks at its ends or in a row. Write it as UCUM.")
    if question.decimals is not None and not (kind == "decimal" and 0 <= question.decimals <= 9):
        yield Problem("decimals", question.id, f"{where}: decimals is a number from 0 to 9, for decimals only.")
    if question.step is not None and not (kind == "decimal" and 0 < question.step <= _width(question)):
        yield Problem("step", question.id, f"{where}: step is positive, at most the range, for decimals only.")
    if question.max_length is not None and not (kind == "text" and 1 <= question.max_length <= MOST_CHARACTERS):
        yield Problem(
            "max-length", question.id, f"{where}: max_length is a number from 1 to {MOST_CHARACTERS}, for texts only."
        )
    if question.multiline and kind != "text":
        yield Problem("multiline", question.id, f"{where} is a {kind}: only texts have several lines.")
    if question.sentence_no and kind != "boolean":
        yield Problem("sentence", question.id, f"{where} is a {kind}: sentence_no is for yes/no questions.")
    if kind == "text" and question.label != "identifier":
        yield Problem(
            "label",
            question.id,
            f"{where} is a free text labelled '{question.label}', but people write names into texts. "
            "Label it 'identifier', or make it a choice.",
            severity="warning",
        )
    if not question.title:
        yield Problem("title", question.id, f"{where} has no title, so forms show its id. Add one.", severity="warning")


def _lint_options(question: Question, where: str) -> Iterator[Problem]:
    if question.kind != "choice":
        if question.options:
            yield Problem("options", question.id, f"{where} is a {question.kind}: only a choice has options.")
        if question.ordered:
            yield Problem("options", question.id, f"{where} is a {question.kind}: only a choice is ordered or not.")
        return
    if not question.options:
        yield Problem("options", question.id, f"{where} is a choice without options. Add the permitted answers.")
    for value, times in Counter(str(option.value) for option in question.options).items():
        if times > 1:
            yield Problem("options", question.id, f"{where} lists the option '{shorten(value)}' {times} times.")
    if len({isinstance(option.value, str) for option in question.options}) > 1:
        yield Problem(
            "options",
            question.id,
            f"{where} mixes texts and numbers as option values. Make all of them texts, e.g. '3' next to 'X'.",
        )
    for option in question.options:
        if isinstance(option.value, int) and abs(option.value) > BIGGEST_INTEGER:
            yield Problem("options", question.id, f"{where} has an option beyond {BIGGEST_INTEGER}.")
        words = (option.code or str(option.value), str(option.value))
        if not all(_CODE.fullmatch(word) for word in words) or not _ADDRESS.fullmatch(option.system):
            yield Problem(
                "options",
                question.id,
                f"{where} has an option whose value, code or system is empty or has blanks at its ends or in a row. "
                "Use short values and put the words into the title.",
            )


def _width(question: Question) -> float:
    low, high = question.low, question.high
    return high - low if isinstance(low, int | float) and isinstance(high, int | float) else math.inf


def _lint_bounds(question: Question, where: str) -> Iterator[Problem]:
    low, high, kind = question.low, question.high, question.kind
    if kind not in ("integer", "decimal", "date"):
        if low is not None or high is not None:
            yield Problem("bounds", question.id, f"{where} is a {kind}: only numbers and days have bounds.")
        return
    broken = False
    for name, bound in (("low", low), ("high", high)):
        if bound is not None and not _fits(kind, bound):
            broken = True
            example = {"integer": "18", "decimal": "0.5", "date": '"2017-01-01"'}[kind]
            yield Problem("bounds", question.id, f"{where}: {name} must be a {kind} such as {example}.")
    if not broken and low is not None and high is not None and not low < high:  # type: ignore[operator]
        yield Problem("bounds", question.id, f"{where} needs low < high. Swap or widen them.")
    if low is None or high is None:
        yield Problem(
            "bounds",
            question.id,
            f"{where} has no bounds, so nothing can be released about it. Add low and high: what is possible in "
            "the real world, never what the data show.",
            severity="warning",
        )


def _fits(kind: str, bound: object) -> bool:
    if kind == "date":
        try:
            return isinstance(bound, str) and dt.date.fromisoformat(bound).isoformat() == bound
        except ValueError:
            return False
    if isinstance(bound, bool) or not isinstance(bound, int | float) or not math.isfinite(bound):
        return False
    if kind == "integer":
        return isinstance(bound, int) and abs(bound) <= BIGGEST_INTEGER
    return abs(bound) <= BIGGEST_DECIMAL
