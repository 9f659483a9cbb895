"""The permitted answers of a foreign question: its own options, or those of a value set inside the resource."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pydplib.capture.fhir import _names as names
from pydplib.capture.fhir._read import Notes, extensions_of, tables, tail, text_of, value_of
from pydplib.capture.model import Option
from pydplib.capture.values import BIGGEST_INTEGER


def take_options(
    entry: Mapping[str, Any], item: str, contained: Mapping[str, Mapping[str, Any]], notes: Notes
) -> tuple[Option, ...]:
    """Return the options of an item; each piece that does not come over is noted."""
    options: list[Option] = []
    given = entry.get("answerOption", [])
    for answer in tables(given):
        option = _option(answer, item, notes)
        if option is not None:
            options.append(option)
    if "answerValueSet" in entry:
        options += _value_set(entry["answerValueSet"], item, contained, notes)
    return _unique(options, item, notes)


def _option(answer: Mapping[str, Any], item: str, notes: Notes) -> Option | None:
    kind, value = value_of(answer)
    system = code = title = ""
    stored: str | int | None = None
    if kind == "Coding" and isinstance(value, Mapping):
        system, title = "".join(text_of(value.get("system")).split()), text_of(value.get("display"))
        for key in value:
            if key not in ("system", "code", "display"):
                notes.left_out(item, f"answerOption.{key}", "only system, code and display are kept")
        code = " ".join(text_of(value.get("code")).split())
        stored = code or " ".join(title.split())
    elif kind == "Integer" and isinstance(value, int) and not isinstance(value, bool) and abs(value) <= BIGGEST_INTEGER:
        stored = value
    elif kind in ("String", "Date", "Time"):
        stored = " ".join(text_of(value).split())
    if stored is None or stored == "":
        notes.left_out(item, f"answerOption.value{kind}", "an option needs a code, a text or a whole number")
        return None
    extra: dict[str, Any] = {}
    for url, extension in extensions_of(answer):
        inner = value_of(extension)[1]
        if url == names.OPTION_VALUE and isinstance(inner, str | int):
            stored = inner
        elif url in (names.OPTION_HELP, names.SENTENCE):
            extra["help" if url == names.OPTION_HELP else "sentence"] = text_of(inner)
        else:
            notes.left_out(item, tail(url), "an extension of options that is not known here")
    for key in answer:
        if key not in ("id", "extension") and not key.startswith("value"):
            reason = "answers are never filled in beforehand" if key == "initialSelected" else "not known here"
            notes.left_out(item, f"answerOption.{key}", reason)
    return Option(stored, title, system=system, code=code, **extra)


def _value_set(reference: object, item: str, contained: Mapping[str, Mapping[str, Any]], notes: Notes) -> list[Option]:
    value_set = contained.get(reference[1:]) if isinstance(reference, str) and reference.startswith("#") else None
    if value_set is None:
        notes.left_out(
            item, "answerValueSet", "the value set is not inside the questionnaire. Add its values as options."
        )
        return []
    options = []
    compose, expansion = value_set.get("compose"), value_set.get("expansion")
    if isinstance(expansion, Mapping):
        found = [(entry, entry.get("system")) for entry in tables(expansion.get("contains"))]
    else:
        includes = tables(compose.get("include")) if isinstance(compose, Mapping) else []
        found = [(entry, include.get("system")) for include in includes for entry in tables(include.get("concept"))]
        rules = [key for include in includes for key in include if key not in ("system", "version", "concept")]
        if rules or (isinstance(compose, Mapping) and "exclude" in compose):
            notes.left_out(item, "answerValueSet", "only values that the value set lists one by one are taken")
    for entry, system in found:
        code, title = " ".join(text_of(entry.get("code")).split()), text_of(entry.get("display")).strip()
        for key in entry:
            if key not in ("system", "code", "display"):
                notes.left_out(item, f"answerValueSet, {key}", "only system, code and display are kept")
        if code:
            options.append(Option(code, title, system="".join(text_of(system).split())))
    notes.adapted(item, "answerValueSet", f"the {len(options)} values of the value set became options")
    return options


def _unique(options: list[Option], item: str, notes: Notes) -> tuple[Option, ...]:
    """Give each option a value of its own; if some are texts, all are."""
    if len({isinstance(option.value, str) for option in options}) > 1:
        notes.adapted(item, "answerOption", "numbers and texts are mixed; all values became texts")
        options = [_with_value(option, str(option.value)) for option in options]
    seen: set[str | int] = set()
    result = []
    for option in options:
        value, number = option.value, 2
        while value in seen and isinstance(option.value, str):
            value, number = f"{option.value}-{number}", number + 1
        if value in seen:
            notes.left_out(item, "answerOption", "an option that was listed before")
            continue
        if value != option.value:
            notes.adapted(item, "answerOption", "options with the same code got a number to tell them apart")
            option = _with_value(option, value)
        seen.add(value)
        result.append(option)
    return tuple(result)


def _with_value(option: Option, value: str | int) -> Option:
    code = option.code or str(option.value)
    return Option(value, option.title, option.help, option.sentence, option.system, code)
