"""From a FHIR Questionnaire, ours or foreign, R4 or R5, to a template and notes about what did not come over."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pydplib.capture.fhir import _names as names
from pydplib.capture.fhir._items import ItemReader, Pending, attach_conditions
from pydplib.capture.fhir._names import (
    Note,
    Notes,
    extensions_of,
    is_table,
    note_shapes,
    tables,
    tail,
    take_checks,
    text_of,
    value_of,
)
from pydplib.capture.linter import lint
from pydplib.capture.model import Problem, errors_of
from pydplib.capture.structure import MOST_LEVELS
from pydplib.capture.template import Template
from pydplib.errors import TemplateError

_KEPT = {
    "resourceType",
    "id",
    "url",
    "version",
    "name",
    "title",
    "status",
    "subjectType",
    "publisher",
    "description",
    "item",
    "extension",
    "contained",
    "modifierExtension",
}


@dataclass(frozen=True, slots=True)
class ImportedTemplate:
    """A template made from a FHIR Questionnaire.

    Attributes:
        template: The template.
        notes: Item by item what was left out or adapted; empty if everything came over as it was.
        problems: What the linter says about the result.

    Examples:
        >>> from pydplib.capture import builtin, questionnaire_to_fhir
        >>> imported = questionnaire_from_fhir(questionnaire_to_fhir(builtin("pirads-2.1"), version="R4"))
        >>> imported.ok, imported.notes, imported.template == builtin("pirads-2.1")
        (True, (), True)
    """

    template: Template
    notes: tuple[Note, ...]
    problems: tuple[Problem, ...]

    @property
    def ok(self) -> bool:
        """Whether the template can be used as it is."""
        return not errors_of(self.problems)

    @property
    def left_out(self) -> tuple[Note, ...]:
        """The notes about what is lost."""
        return tuple(note for note in self.notes if note.outcome == "left out")


def questionnaire_from_fhir(resource: object) -> ImportedTemplate:
    """Read a FHIR Questionnaire, R4 or R5, our own or a foreign one.

    Everything of the documented subset comes over as it was. The rest is adapted or left out, and
    each such piece is a note: nothing is lost in silence. Expressions are never run.

    Args:
        resource: The resource as plain values, as ``json.loads`` gives it.

    Raises:
        TemplateError: It is not a Questionnaire, or has nothing that can be asked, or a modifier that
            changes its meaning in a way that we do not know.

    Examples:
        >>> smoker = {"linkId": "smoker", "text": "Do you smoke?", "type": "boolean",
        ...           "initial": [{"valueBoolean": False}]}
        >>> imported = questionnaire_from_fhir({"resourceType": "Questionnaire", "id": "visit", "version": "1",
        ...                                     "title": "Visit", "status": "active", "item": [smoker]})
        >>> imported.template.question("smoker").kind
        'boolean'
        >>> print(imported.notes[0])
        'smoker', initial: left out: answers are never filled in beforehand
    """
    if not is_table(resource) or resource.get("resourceType") != "Questionnaire":
        got = resource.get("resourceType") if isinstance(resource, Mapping) else None
        hint = " Take the Questionnaire out of the Bundle." if got == "Bundle" else ""
        raise TemplateError(f"This is not a FHIR Questionnaire: its resourceType must be 'Questionnaire'.{hint}")
    notes = Notes()
    _check_modifiers(resource, notes)
    contained = {
        text_of(entry.get("id")): entry
        for entry in tables(resource.get("contained"))
        if entry.get("resourceType") == "ValueSet"
    }
    reader = ItemReader(notes, contained)
    items = reader.read(resource.get("item"), "", level=0)
    if not items:
        raise TemplateError("The questionnaire has no item that can be asked.")
    pending: dict[str, Pending] = reader.pending
    items = attach_conditions(items, pending, reader.names, notes)
    head = _head(resource, reader.texts, notes)
    template = Template(items=items, **head)
    return ImportedTemplate(template, tuple(notes.found), lint(template))


def _mentions(items: object, reference: str, level: int = 0) -> bool:
    """Whether some item takes its options from a value set."""
    return level <= MOST_LEVELS and any(
        item.get("answerValueSet") == reference or _mentions(item.get("item"), reference, level + 1)
        for item in tables(items)
    )


def _check_modifiers(resource: Mapping[str, Any], notes: Notes) -> None:
    """Refuse what changes the meaning of the questionnaire in a way that is not known here."""
    for extension in tables(resource.get("modifierExtension")):
        if extension.get("url") != names.CRITICAL:
            raise TemplateError(
                "The questionnaire has a modifierExtension, which changes its meaning in a way that is not known "
                "here. Remove it if it does not matter."
            )
        what = tail(text_of(value_of(extension)[1]))
        notes.left_out(
            "", what, "its author calls it critical, and it is not known here: look at the items that use it"
        )
    if resource.get("implicitRules"):
        raise TemplateError("The questionnaire has implicitRules, which are not known here. Remove them first.")


def _head(resource: Mapping[str, Any], texts: list[str], notes: Notes) -> dict[str, Any]:
    """Read the head of the questionnaire."""
    url = "".join(text_of(resource.get("url")).split()).replace("|", "%7C")
    given = text_of(resource.get("id")) or tail(url) or text_of(resource.get("name")) or "questionnaire"
    identifier = re.sub(r"[^A-Za-z0-9.\-]+", "-", given).lstrip("-.")[:64] or "questionnaire"
    if resource.get("id") != identifier:
        notes.adapted("", "id", f"'{identifier}' is the template's id")
    version = "-".join(text_of(resource.get("version")).replace("|", " ").split())
    if not version:
        notes.adapted("", "version", "there is none; it is version 1 here")
    for key, usual in (("status", "active"), ("subjectType", ["Patient"])):
        if key in resource and resource[key] != usual:
            notes.left_out("", key, "templates do not have it")
    for key in resource:
        if key not in _KEPT:
            notes.left_out("", key, "templates do not have it")
    for entry in tables(resource.get("contained")):
        name = text_of(entry.get("id"))
        if entry.get("resourceType") != "ValueSet" or not _mentions(resource.get("item"), f"#{name}"):
            notes.left_out("", f"contained #{name}", "only value sets that a question uses are taken")
    note_shapes(resource, "", notes)
    head: dict[str, Any] = {}
    for extension_url, extension in extensions_of(resource):
        value = value_of(extension)[1]
        if extension_url == names.PERSON:
            head["person"] = text_of(value)
        elif extension_url == names.MAX_REPORTS and isinstance(value, int):
            head["max_reports_per_person"] = value
        elif extension_url == names.REPORT_TITLE:
            head["report_title"] = text_of(value)
        elif extension_url != names.CHECK:
            notes.left_out("", tail(extension_url), "an extension that is not known here")
    title = text_of(resource.get("title"))
    description = "\n\n".join(text for text in (text_of(resource.get("description")), *texts) if text)
    return head | {
        "id": identifier,
        "version": version or "1",
        "title": title if title.strip() else text_of(resource.get("name")).strip() or identifier,
        "description": description,
        "url": "" if url == names.CANONICAL + identifier else url,
        "publisher": text_of(resource.get("publisher")),
        "checks": take_checks(resource),
    }
