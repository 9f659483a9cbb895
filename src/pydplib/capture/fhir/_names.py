"""The words of FHIR that we read and write: extensions, kinds, and which version spells them how."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Literal, TypeAlias

from pydplib.capture.model import Option, Question, Template
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
