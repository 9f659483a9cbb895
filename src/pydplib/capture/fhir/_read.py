"""Reading pieces of foreign FHIR: entries of any shape, with a note for each that does not come over."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, TypeGuard

from pydplib.capture.fhir import _names as names
from pydplib.capture.fhir._names import Note
from pydplib.capture.model import Check, Code, Computed
from pydplib.capture.problems import shorten
from pydplib.capture.values import is_clean_text


@dataclass
class Notes:
    """The notes of one import, in the order in which they were made."""

    found: list[Note] = field(default_factory=list)

    def left_out(self, item: str, what: str, reason: str) -> None:
        """Note what is lost."""
        self._add(item, what, "left out", reason)

    def adapted(self, item: str, what: str, reason: str) -> None:
        """Note what came over in another form."""
        self._add(item, what, "adapted", reason)

    def _add(self, item: str, what: str, outcome: Literal["left out", "adapted"], reason: str) -> None:
        note = Note(shorten(item), shorten(what), outcome, reason)
        if note not in self.found:
            self.found.append(note)


def tables(value: object) -> list[Mapping[str, Any]]:
    """Return the tables of a list; anything else is skipped, and ``note_shapes`` says so."""
    return [each for each in value if is_table(each)] if isinstance(value, list) else []


def is_table(value: object) -> TypeGuard[Mapping[str, Any]]:
    """Whether a value is a JSON object: a table with texts as keys."""
    return isinstance(value, Mapping) and all(isinstance(key, str) for key in value)


def text_of(value: object) -> str:
    """Return a text without control characters; empty for anything else."""
    if not isinstance(value, str):
        return ""
    text = value.replace("\r\n", "\n").replace("\r", "\n")
    return text if is_clean_text(text) else "".join(c for c in text if is_clean_text(c))


def value_of(entry: Mapping[str, Any], prefix: str = "value") -> tuple[str, Any]:
    """Return the ``value[x]`` of an entry: its ending and what it holds; empty if there is none."""
    for key, value in entry.items():
        if key.startswith(prefix) and len(key) > len(prefix) and key[len(prefix)].isupper():
            return key[len(prefix) :], value
    return "", None


_LISTS = ("extension", "code", "enableWhen", "answerOption", "item", "contained", "modifierExtension")
_TEXTS = ("id", "linkId", "text", "prefix", "url", "version", "name", "title", "publisher", "description")
_FLAGS = ("required", "repeats", "readOnly")


def note_shapes(entry: Mapping[str, Any], item: str, notes: Notes) -> None:
    """Note the entries of an item, or of the head, that do not have the shape that FHIR says."""
    for key, value in entry.items():
        if key in _LISTS and (not isinstance(value, list) or len(tables(value)) != len(value)):
            notes.left_out(item, key, "not a list of tables")
        elif key in _FLAGS and not isinstance(value, bool):
            notes.left_out(item, key, "not true or false")
        elif key in _TEXTS and not isinstance(value, str):
            notes.left_out(item, key, "not a text")
        elif key in _TEXTS and not is_clean_text(value.replace("\r", "")):
            notes.adapted(item, key, "characters that are not text were removed")


def extensions_of(entry: Mapping[str, Any]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Go through the extensions of an entry: address and content."""
    for extension in tables(entry.get("extension")):
        yield str(extension.get("url", "")), extension


def take_call(extension: Mapping[str, Any]) -> tuple[str, tuple[str, ...]]:
    """Read a function and its inputs from our own extension."""
    function, inputs = "", []
    for url, inner in extensions_of(extension):
        if url == "function":
            function = text_of(inner.get("valueString"))
        elif url == "input":
            inputs.append(text_of(inner.get("valueString")))
    return function, tuple(inputs)


def take_checks(entry: Mapping[str, Any]) -> tuple[Check, ...]:
    """Read our own extensions for checks."""
    return tuple(Check(*take_call(extension)) for url, extension in extensions_of(entry) if url == names.CHECK)


def take_computed(entry: Mapping[str, Any]) -> Computed | None:
    """Read our own extension for a computed field."""
    for url, extension in extensions_of(entry):
        if url == names.COMPUTED:
            return Computed(*take_call(extension))
    return None


def take_codes(entry: Mapping[str, Any], item: str, notes: Notes) -> tuple[Code, ...]:
    """Read the codes of an item."""
    codes = []
    for coding in tables(entry.get("code")):
        if not text_of(coding.get("code")):
            notes.left_out(item, "code", "a code without its code")
            continue
        for key in coding:
            if key not in ("system", "code", "display"):
                notes.left_out(item, f"code.{key}", "only system, code and display are kept")
        system, code = "".join(text_of(coding.get("system")).split()), " ".join(text_of(coding["code"]).split())
        codes.append(Code(system, code, text_of(coding.get("display"))))
    return tuple(codes)


def is_help(entry: Mapping[str, Any]) -> bool:
    """Whether a display item is marked as help."""
    for url, extension in extensions_of(entry):
        if url == names.ITEM_CONTROL:
            concept = extension.get("valueCodeableConcept")
            codings = tables(concept.get("coding")) if isinstance(concept, Mapping) else []
            return any(coding.get("code") == "help" for coding in codings)
    return False


def tail(url: str) -> str:
    """Return the last word of an address, for notes."""
    return url.rstrip("/").rsplit("/", 1)[-1] or "extension"
