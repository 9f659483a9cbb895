"""Answers as a FHIR QuestionnaireResponse, both ways."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from pydplib.capture.evaluation import Answers, evaluate
from pydplib.capture.fhir import _names as names
from pydplib.capture.fhir._items import find_by_coding
from pydplib.capture.fhir._names import Note, Notes, Version, extensions_of, is_table, tables, tail, text_of, value_of
from pydplib.capture.model import Group, Item, Path, Problem, Question, errors_of, shorten
from pydplib.capture.structure import MOST_LEVELS
from pydplib.capture.template import Template
from pydplib.errors import DataError, ParameterError, did_you_mean

STATUSES = ("in-progress", "completed", "amended", "entered-in-error", "stopped")


def response_to_fhir(
    template: Template,
    answers: object,
    *,
    version: Version,
    status: str = "completed",
    subject: str = "",
    authored: dt.datetime | None = None,
) -> dict[str, Any]:
    """Return answers as a FHIR QuestionnaireResponse; they are evaluated again first.

    Args:
        template: A template without linter errors.
        answers: As for ``evaluate``.
        version: ``"R4"`` or ``"R5"``.
        status: ``completed`` needs answers without errors; ``in-progress`` takes drafts.
        subject: A reference such as ``Patient/17``; empty for none.
        authored: When the answers were given, with its time zone.

    Raises:
        DataError: The answers have errors and the status says that they are complete.

    Examples:
        >>> from pydplib.capture import Question, Template
        >>> age = Question(id="age", kind="integer", title="Age", low=18, high=100)
        >>> template = Template(id="visit", version="1", title="Visit", items=(age,))
        >>> response_to_fhir(template, {"age": 64}, version="R4")["item"]
        [{'linkId': 'age', 'text': 'Age', 'answer': [{'valueInteger': 64}]}]
    """
    names.check_version(version)
    if status not in STATUSES:
        raise ParameterError(f"Unknown status '{status}'.{did_you_mean(status, STATUSES)}")
    evaluation = evaluate(template, answers, purpose="draft" if status == "in-progress" else "save")
    if evaluation.errors and status != "in-progress":
        raise DataError(
            f"The answers have {len(evaluation.errors)} errors, so they are not complete. "
            "Correct them (evaluate(...).problems lists them), or export with status='in-progress'."
        )
    if authored is not None and authored.tzinfo is None:
        raise ParameterError("authored needs a time zone, e.g. datetime.now(timezone.utc).")
    resource: dict[str, Any] = {
        "resourceType": "QuestionnaireResponse",
        "questionnaire": f"{names.canonical(template)}|{template.version}",
        "status": status,
    }
    if subject:
        resource["subject"] = {"reference": subject}
    if authored is not None:
        resource["authored"] = authored.isoformat(timespec="seconds")
    items = _write(template.items, evaluation.answers)
    if items:
        resource["item"] = items
    return resource


def _write(items: tuple[Item, ...], answers: Answers) -> list[dict[str, Any]]:
    written: list[dict[str, Any]] = []
    for item in items:
        head: dict[str, Any] = {"linkId": item.id} | ({"text": item.title} if item.title else {})
        if isinstance(item, Question):
            if item.id in answers:
                written.append(head | {"answer": [names.value_entry(item, answers[item.id])]})
            continue
        for table in answers.get(item.id, []) if item.repeats else [answers]:
            inside = _write(item.items, table)
            if inside:
                written.append(head | {"item": inside})
    return written


@dataclass(frozen=True, slots=True)
class ImportedResponse:
    """Answers read from a FHIR QuestionnaireResponse.

    Attributes:
        answers: What is visible and valid, with computed fields filled in.
        problems: What is wrong with the answers, hidden ones included; never the answers themselves.
        notes: What of the resource has no place in the answers.
        status: The response's own status.

    Examples:
        >>> ImportedResponse({"age": 64}, (), (), "completed")
        ImportedResponse(0 problems, 0 notes)
    """

    answers: Answers
    problems: tuple[Problem, ...]
    notes: tuple[Note, ...]
    status: str

    @property
    def ok(self) -> bool:
        """Whether the answers can be imported."""
        return not errors_of(self.problems)

    def __repr__(self) -> str:
        """Say how many, never what: answers are private."""
        return f"ImportedResponse({len(self.problems)} problems, {len(self.notes)} notes)"


def response_from_fhir(template: Template, resource: object) -> ImportedResponse:
    """Read a FHIR QuestionnaireResponse, R4 or R5, and evaluate it as an import.

    Responses to the foreign questionnaire that a template was imported from are understood too.

    Raises:
        DataError: It is not a QuestionnaireResponse.

    Examples:
        >>> from pydplib.capture import Question, Template
        >>> age = Question(id="age", kind="integer", title="Age", low=18, high=100)
        >>> template = Template(id="visit", version="1", title="Visit", items=(age,))
        >>> response_from_fhir(template, {"resourceType": "QuestionnaireResponse", "status": "completed",
        ...     "item": [{"linkId": "age", "answer": [{"valueInteger": 64}]}]}).answers
        {'age': 64}
    """
    if not is_table(resource) or resource.get("resourceType") != "QuestionnaireResponse":
        raise DataError("This is not a FHIR QuestionnaireResponse: its resourceType says otherwise.")
    reader = _ResponseReader(template)
    reader.check_head(resource)
    answers: Answers = {}
    reader.read(resource.get("item"), answers, (), ())
    evaluation = evaluate(template, answers, purpose="import")
    return ImportedResponse(
        evaluation.answers,
        (*reader.problems, *evaluation.problems),
        tuple(reader.notes.found),
        text_of(resource.get("status")),
    )


@dataclass
class _ResponseReader:
    """One response being read."""

    template: Template
    notes: Notes = field(default_factory=Notes)
    problems: list[Problem] = field(default_factory=list)
    depth: int = 0

    def check_head(self, resource: Mapping[str, Any]) -> None:
        """Look whose questionnaire it answers, and note what we do not keep."""
        for key in resource:
            if key not in ("resourceType", "id", "questionnaire", "status", "item"):
                self.notes.left_out("", key, "answers do not have it")
        if resource.get("modifierExtension") or resource.get("implicitRules"):
            self.problem("modifier", "", "The response has a modifier that changes its meaning.", ())
        if resource.get("status") == "entered-in-error":
            self.problem("status", "", "The response was entered in error.", ())
        address, _, version = text_of(resource.get("questionnaire")).partition("|")
        known = (names.canonical(self.template), f"Questionnaire/{self.template.id}")
        if address and address not in known:
            self.problem("questionnaire", "", "The response answers another questionnaire.", ())
        elif version and version != self.template.version:
            message = f"The response answers another version; this is version {self.template.version}."
            self.problems.append(Problem("version", "", message, severity="warning"))

    def problem(self, code: str, item: str, message: str, path: Path) -> None:
        self.problems.append(Problem(code, shorten(item), message, path))

    def read(self, entries: object, level: Answers, loops: tuple[str, ...], path: Path) -> None:
        """Read items of one level of repetition into their table."""
        if entries is not None and (not isinstance(entries, list) or len(tables(entries)) != len(entries)):
            self.problem("shape", "", "A list of items is not a list of tables.", path)
        if self.depth > 2 * MOST_LEVELS:  # a template has at most MOST_LEVELS, with answers between them
            self.problem("shape", "", "The response is nested too deep.", path)
            return
        self.depth += 1
        for entry in tables(entries):
            self.item(entry, level, loops, path)
        self.depth -= 1

    def item(self, entry: Mapping[str, Any], level: Answers, loops: tuple[str, ...], path: Path) -> None:
        link = text_of(entry.get("linkId"))
        place = self.template.index.by_id.get(link)
        name = shorten(link)
        for url, _ in extensions_of(entry):
            self.notes.left_out(name, tail(url), "answers have no extensions")
        if place is None:
            if entry.get("answer") or entry.get("item"):
                self.problem("unknown", name, f"The template has no item '{name}'.", (*path, name))
            return
        item = place.item
        if isinstance(item, Question):
            self.answers(entry, item, place.loops, level, loops, path)
        elif not item.repeats:
            self.read(entry.get("item"), level, loops, path)
        elif place.loops != loops:
            self.problem("place", item.id, f"'{name}' stands in the wrong place.", (*path, item.id))
        else:
            self.repetition(item, entry.get("item"), level, loops, path)

    def repetition(self, group: Group, entries: object, level: Answers, loops: tuple[str, ...], path: Path) -> Answers:
        found = level.setdefault(group.id, [])
        table: Answers = {}
        found.append(table)
        self.read(entries, table, (*loops, group.id), (*path, group.id, len(found) - 1))
        return table

    def answers(
        self,
        entry: Mapping[str, Any],
        question: Question,
        home: tuple[str, ...],
        level: Answers,
        loops: tuple[str, ...],
        path: Path,
    ) -> None:
        """Put the answers of a question where the template has them."""
        given = tables(entry.get("answer"))
        where: Path = (*path, question.id)
        if entry.get("answer") and (not isinstance(entry["answer"], list) or len(given) != len(entry["answer"])):
            self.problem("shape", question.id, f"{question.text}: the answer is not a list of tables.", where)
        if home == loops:
            if len(given) > 1 or (given and question.id in level):
                self.problem("several", question.id, f"{question.text} takes one answer; there are several.", where)
                return
            for answer in given:
                self.put(answer, question, level, loops, path)
        elif home[:-1] == loops and home[-1] == question.id + names.ANSWERS_SUFFIX:
            # The foreign questionnaire takes several answers; here each is a repetition of its own.
            group = self.template.item(home[-1])
            if isinstance(group, Group):
                for answer in given:
                    table = self.repetition(group, [], level, loops, path)
                    inner: Path = (*path, group.id, len(level[group.id]) - 1)
                    self.put(answer, question, table, (*loops, group.id), inner)
        elif given:
            self.problem("place", question.id, f"{question.text} stands in the wrong place.", where)

    def put(
        self, answer: Mapping[str, Any], question: Question, level: Answers, loops: tuple[str, ...], path: Path
    ) -> None:
        """Read one answer, and the items below it."""
        kind, value = value_of(answer)
        where: Path = (*path, question.id)
        if kind == "Coding" and isinstance(value, Mapping) and question.kind == "choice":
            option = find_by_coding(question, value)
            if option is None:
                self.problem("value", question.id, f"{question.text}: the code is not one of the options.", where)
            else:
                level[question.id] = option.value
        elif kind == "Coding" and isinstance(value, Mapping) and question.kind == "text":
            self.notes.adapted(question.id, "valueCoding", "its text is taken, since the options are not known")
            level[question.id] = text_of(value.get("display")) or text_of(value.get("code"))
        elif kind == "String" and question.kind == "choice" and self.has_other(question):
            level[question.id + names.OTHER_SUFFIX] = value
        elif kind == "Quantity" and isinstance(value, Mapping):
            unit = value.get("code") or value.get("unit")
            if unit and unit != question.unit:
                self.problem("unit", question.id, f"{question.text} is given in another unit.", where)
            elif value.get("comparator"):
                self.problem("value", question.id, f"{question.text}: a comparison is not a number.", where)
            else:
                level[question.id] = value.get("value")
        elif kind == "DateTime" and question.kind == "date" and isinstance(value, str):
            self.notes.adapted(question.id, "dateTime", "the time of day is left out")
            level[question.id] = value[:10]
        elif kind in ("Boolean", "Integer", "Decimal", "Date", "String", "Time", "Uri") and not isinstance(
            value, Mapping | list
        ):
            level[question.id] = value
        elif kind:
            self.problem("value", question.id, f"{question.text} is answered by another kind of value.", where)
        if "item" in answer:
            self.read(answer["item"], level, loops, path)

    def has_other(self, question: Question) -> bool:
        return question.id + names.OTHER_SUFFIX in self.template.index.by_id
