"""One foreign question: which kind it becomes, its unit, bounds and label."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from pydplib.capture.fhir import _names as names
from pydplib.capture.fhir._read import Notes, extensions_of, tail, take_computed, text_of, value_of
from pydplib.capture.model import LABELS, Kind, Option

QUESTION_TYPES: Mapping[str, Kind] = {
    "boolean": "boolean",
    "integer": "integer",
    "decimal": "decimal",
    "quantity": "decimal",
    "date": "date",
    "dateTime": "date",
    "time": "text",
    "string": "text",
    "text": "text",
    "url": "text",
    "choice": "choice",
    "coding": "choice",
    "open-choice": "choice",
}
"""FHIR's type -> our kind; the types that are not here cannot be asked."""

_ADAPTED = {
    "quantity": "asked as a decimal in one unit",
    "dateTime": "asked as a day, without the time",
    "time": "asked as a text",
    "url": "asked as a text",
}
_EXPRESSIONS = ("calculatedExpression", "initialExpression", "answerExpression", "enableWhenExpression", "variable")


@dataclass
class Built:
    """The entries of a question, and what its surroundings need to know."""

    question: dict[str, Any]
    is_open: bool
    fewest_answers: int
    most_answers: int | None


def build_question(entry: Mapping[str, Any], name: str, options: tuple[Option, ...], notes: Notes) -> Built:
    """Return the entries of the question that a foreign item becomes."""
    foreign = str(entry.get("type"))
    kind = QUESTION_TYPES[foreign]
    constraint = entry.get("answerConstraint")
    is_open = foreign == "open-choice" or constraint in ("optionsOrString", "optionsOrType")
    if constraint == "optionsOrType":
        notes.adapted(name, "answerConstraint", "answers beside the options are asked as text")
    if foreign in _ADAPTED:
        notes.adapted(name, foreign, _ADAPTED[foreign])
    if options and kind != "choice":
        notes.adapted(name, "answerOption", f"a {foreign} with options is asked as a choice")
        kind = "choice"
    if kind == "choice" and not options:
        notes.adapted(name, foreign, "no options are known; asked as a text until you add them")
        kind, is_open = "text", False
    question: dict[str, Any] = {
        "id": name,
        "kind": kind,
        "options": options,
        "required": entry.get("required") is True,
        "multiline": foreign == "text",
    }
    if "maxLength" in entry:
        length = entry["maxLength"]
        if kind == "text" and isinstance(length, int) and not isinstance(length, bool):
            question["max_length"] = max(1, min(length, 20_000))
        else:
            notes.left_out(name, "maxLength", f"a {kind} has none")
    fewest, most = _take_extensions(entry, question, notes)
    computed = take_computed(entry)
    if computed is not None:
        question |= {"computed": computed, "read_only": entry.get("readOnly") is True}
    elif entry.get("readOnly") is True:
        notes.left_out(name, "readOnly", "only computed fields are read-only; people answer it here")
    return Built(question, is_open, fewest, most)


def _take_extensions(entry: Mapping[str, Any], question: dict[str, Any], notes: Notes) -> tuple[int, int | None]:
    """Read the extensions that we know; return the fewest and the most answers, where it is said."""
    name, kind = question["id"], question["kind"]
    units: list[str] = []
    fewest: int = 0
    most: int | None = None
    for url, extension in extensions_of(entry):
        value = value_of(extension)[1]
        whole = isinstance(value, int) and not isinstance(value, bool)
        taken = True
        if url == names.MAX_OCCURS and whole and entry.get("repeats") is True:
            most = value
        elif url == names.MIN_OCCURS and whole and entry.get("repeats") is True:
            fewest = value
        elif url in (names.UNIT, names.UNIT_OPTION) and kind in ("integer", "decimal"):
            units.append(_unit(value))
        elif url in (names.MIN_VALUE, names.MAX_VALUE):
            taken = _take_bound("low" if url == names.MIN_VALUE else "high", value, question)
        elif url == names.MAX_DECIMALS and kind == "decimal" and whole and 0 <= value <= 9:
            question["decimals"] = value
        elif url == names.STEP and kind == "decimal" and isinstance(value, int | float) and value > 0:
            question["step"] = value
        elif url == names.LABEL and value in LABELS:
            question["label"] = value
        elif url in (names.SENTENCE, names.SENTENCE_NO):
            question["sentence" if url == names.SENTENCE else "sentence_no"] = text_of(value)
        elif url == names.REPORTED and isinstance(value, bool):
            question["reported"] = value
        elif url == names.ORDERED and isinstance(value, bool):
            question["ordered"] = value and kind == "choice"
        else:
            taken = url == names.COMPUTED
        if not taken:
            notes.left_out(name, tail(url), _why(url))
    if len(set(units)) == 1:
        question["unit"] = units[0]
    elif units:
        notes.left_out(name, "unit", "several units are possible. Choose one and add it.")
    return fewest, most


def _why(url: str) -> str:
    if any(url.endswith(word) for word in _EXPRESSIONS):
        return "expressions are never run; the question is asked instead, or name a function of the closed set"
    if url == names.ITEM_CONTROL:
        return "how a question looks is decided by the form"
    return "an extension of questions that is not known here, or that does not fit"


def _unit(value: object) -> str:
    if not isinstance(value, Mapping):
        return ""
    return " ".join((text_of(value.get("code")) or text_of(value.get("display"))).split())


def _take_bound(which: str, value: object, question: dict[str, Any]) -> bool:
    """Set a bound if it fits the kind; say whether it did."""
    fits: Mapping[str, Callable[[Any], bool]] = {
        "integer": lambda v: isinstance(v, int) and not isinstance(v, bool),
        "decimal": lambda v: isinstance(v, int | float) and not isinstance(v, bool),
        "date": lambda v: isinstance(v, str) and len(v) == 10,
    }
    if isinstance(value, Mapping):  # R5 allows a quantity
        value = value.get("value")
    if question["kind"] not in fits or not fits[question["kind"]](value):
        return False
    question[which] = value
    return True
