"""The words of FHIR that we read and write, and pieces of foreign FHIR, with a note for each that is left out."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, Literal, TypeAlias, TypeGuard

from pydplib.capture.model import Check, Code, Computed, Option, Question, shorten
from pydplib.capture.template import Template
from pydplib.capture.values import is_clean_text
from pydplib.errors import ParameterError

Version: TypeAlias = Literal["R4", "R5"]

OWN = "https://pydplib.example/fhir/StructureDefinition/"
"""Home of our own extensions: what FHIR has no place for."""

CANONICAL = "https://pydplib.example/fhir/Questionnaire/"
"""The canonical address of a template without one of its own is this and its id."""

CORE = "http://hl7.org/fhir/StructureDefinition/"
UNIT = CORE + "questionnaire-unit"
UNIT_OPTION = CORE + "questionnaire-unitOption"
MIN_VALUE = CORE + "minValue"
MAX_VALUE = CORE + "maxValue"
MAX_DECIMALS = CORE + "maxDecimalPlaces"
MIN_OCCURS = CORE + "questionnaire-minOccurs"
MAX_OCCURS = CORE + "questionnaire-maxOccurs"
ITEM_CONTROL = CORE + "questionnaire-itemControl"
ITEM_CONTROL_SYSTEM = "http://hl7.org/fhir/questionnaire-item-control"
CRITICAL = "http://hl7.org/fhir/uv/sdc/StructureDefinition/sdc-rendering-criticalExtension"
UCUM = "http://unitsofmeasure.org"

LABEL = OWN + "privacy-label"
SENTENCE = OWN + "sentence"
SENTENCE_NO = OWN + "sentence-no"
REPORTED = OWN + "reported"
ORDERED = OWN + "ordered"
COMPUTED = OWN + "computed"
CHECK = OWN + "check"
OPTION_VALUE = OWN + "option-value"
OPTION_HELP = OWN + "option-help"
PERSON = OWN + "person"
MAX_REPORTS = OWN + "max-reports-per-person"
REPORT_TITLE = OWN + "report-title"
STEP = OWN + "step"

CORE_EXTENSIONS = (UNIT, UNIT_OPTION, MIN_VALUE, MAX_VALUE, MAX_DECIMALS, MIN_OCCURS, MAX_OCCURS, ITEM_CONTROL)
OWN_EXTENSIONS = (
    LABEL,
    SENTENCE,
    SENTENCE_NO,
    REPORTED,
    ORDERED,
    COMPUTED,
    CHECK,
    OPTION_VALUE,
    OPTION_HELP,
    PERSON,
    MAX_REPORTS,
    REPORT_TITLE,
    STEP,
)

OTHER_SUFFIX = ".other"
"""An open choice becomes a choice and a text question with this ending."""

ANSWERS_SUFFIX = ".answers"
"""A question with several answers becomes a repeating group with this ending around it."""

DETAILS_SUFFIX = ".details"
"""Questions below a question become a group with this ending, shown once the question is answered."""

VALUE_KEYS: Mapping[str, str] = MappingProxyType(
    {"integer": "Integer", "decimal": "Decimal", "boolean": "Boolean", "date": "Date", "text": "String"}
)
"""Kind -> the ending of ``value...`` and ``answer...`` entries; a choice is a ``Coding``."""


def check_version(version: str) -> None:
    """Refuse a version that we do not write."""
    if version not in ("R4", "R5"):
        raise ParameterError(f"version must be 'R4' or 'R5'. Got '{version}'.")


def item_type(question: Question, version: Version) -> str:
    """Return FHIR's word for the kind of a question.

    Examples:
        >>> choice = Question(id="zone", kind="choice", options=(Option("PZ"),))
        >>> item_type(choice, "R4"), item_type(choice, "R5")
        ('choice', 'coding')
    """
    if question.kind == "choice":
        return "choice" if version == "R4" else "coding"
    if question.kind == "text":
        return "text" if question.multiline else "string"
    return question.kind


def coding(option: Option, *, display: bool = True) -> dict[str, Any]:
    """Return an option as a FHIR Coding."""
    entry: dict[str, Any] = {}
    if option.system:
        entry["system"] = option.system
    entry["code"] = option.code or str(option.value)
    if display and option.title:
        entry["display"] = option.title
    return entry


def value_entry(question: Question, value: Any, prefix: str = "value") -> dict[str, Any]:
    """Return an answer as FHIR's ``value[x]`` (or ``answer[x]``)."""
    if question.kind == "choice":
        option = next(option for option in question.options if option.value == value)
        return {f"{prefix}Coding": coding(option, display=prefix == "value")}
    return {prefix + VALUE_KEYS[question.kind]: value}


def canonical(template: Template) -> str:
    """Return the canonical address of a template."""
    return template.url or CANONICAL + template.id


@dataclass(frozen=True, slots=True)
class Note:
    """Something of a foreign resource that did not come over as it was.

    Attributes:
        item: The item's linkId; empty for the head of the resource.
        what: Which entry or extension.
        outcome: ``left out``, or ``adapted``: brought over in another form.
        reason: Why, and what to do.

    Examples:
        >>> print(Note("3.1", "time", "adapted", "asked as a text, since there is no kind for it"))
        '3.1', time: adapted: asked as a text, since there is no kind for it
    """

    item: str
    what: str
    outcome: Literal["left out", "adapted"]
    reason: str

    def __str__(self) -> str:
        """Say the note in one line."""
        name = f"'{self.item}'" if self.item else "questionnaire"
        return f"{name}, {self.what}: {self.outcome}: {self.reason}"


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
    return tuple(Check(*take_call(extension)) for url, extension in extensions_of(entry) if url == CHECK)


def take_computed(entry: Mapping[str, Any]) -> Computed | None:
    """Read our own extension for a computed field."""
    for url, extension in extensions_of(entry):
        if url == COMPUTED:
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
        if url == ITEM_CONTROL:
            concept = extension.get("valueCodeableConcept")
            codings = tables(concept.get("coding")) if isinstance(concept, Mapping) else []
            return any(coding.get("code") == "help" for coding in codings)
    return False


def tail(url: str) -> str:
    """Return the last word of an address, for notes."""
    return url.rstrip("/").rsplit("/", 1)[-1] or "extension"
