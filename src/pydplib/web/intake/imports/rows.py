"""Rows of a file to answers: decimal commas, German days, yes and no in words, titles of options."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from operator import itemgetter
from typing import Any

from pydplib.capture import (
    Evaluator,
    Problem,
    Question,
    Template,
    answers_from_fields,
    field_name,
    response_from_fhir,
)
from pydplib.errors import DataError
from pydplib.tables.cells import FALSE_WORDS, TRUE_WORDS, day_text, has_decimal_comma, is_ambiguous, number_text
from pydplib.web import uploads
from pydplib.web.intake.imports.columns import DEPARTMENT, IDENTIFIER, NUMBER, targets_of
from pydplib.web.intake.imports.records import Recorder
from pydplib.web.intake.models import ImportBatch

DEPARTMENT_FIELDS = ("department", "department_code")
"""Questions that say whose report it is, in templates that have one."""
_WORDS = {**dict.fromkeys(TRUE_WORDS, "true"), **dict.fromkeys(FALSE_WORDS, "false")}


@dataclass(slots=True, kw_only=True)  # not frozen: two are made of every row
class FileRow:
    """One row as it came, and what the template says of it; its repr shows nothing of it.

    Args:
        number: As people count in their file.
        fields: Field -> text: what is shown and corrected.
        answers: Clean answers.
        problems: What is wrong.
        special: Report number, department, further identifiers.
    """

    number: int
    fields: Mapping[str, str] = field(repr=False)
    answers: Mapping[str, object] = field(repr=False)
    problems: tuple[Problem, ...] = field(repr=False)
    special: Mapping[str, str] = field(repr=False)

    @property
    def ok(self) -> bool:
        """Whether it can be taken in."""
        return not self.problems or all(problem.severity != "error" for problem in self.problems)


class Reader:
    """Reads the rows of one import.

    Args:
        batch: The import.
        template: Its template.
    """

    def __init__(self, batch: ImportBatch, template: Template) -> None:
        self.batch, self.template = batch, template
        self.recorder = Recorder(template)
        self.questions = {target.name: target.question for target in targets_of(template)}
        self.readers = {
            name: _once(_converter(question, batch.comma))
            for name, question in self.questions.items()
            if question is not None
        }
        plain = [(place, name) for place, name in enumerate(batch.mapping) if name and not name.startswith("@")]
        special = [(place, name) for place, name in enumerate(batch.mapping) if name.startswith("@")]
        self.plain, self.names = _taken([place for place, _ in plain]), [name for _, name in plain]
        # Of a row of the file, all that is read; a row that somebody corrected may hold more.
        self.known = dict.fromkeys(name for name in self.names if name in self.readers).keys()
        self.special = _taken([place for place, _ in special])
        self.elsewhere = [
            f"{IDENTIFIER}:{batch.columns[place]}" if name == IDENTIFIER else name for place, name in special
        ]
        self.replacements: dict[str, dict[str, str]] = {
            name: {old: said["new"] for old, said in values.items()}
            for name, values in batch.replacements.items()
            if name in self.readers
        }
        # Where a field's name is its question's id, texts go to the evaluator as they came.
        self.is_flat = batch.format != "fhir" and all(
            question is None or question.id == name
            for name, question in ((name, self.questions.get(name)) for name in batch.mapping)
        )
        self.evaluate = Evaluator(template, purpose="import", spellings=self.readers if self.is_flat else None)

    @cached_property
    def commas(self) -> set[str]:
        """The fields of a CSV file whose column has a decimal comma somewhere: there 1.234 may be 1234."""
        if self.batch.format != "csv" or not self.batch.comma:
            return set()
        decimals = {name for name, asked in self.questions.items() if asked is not None and asked.kind == "decimal"}
        places = {place: name for place, name in enumerate(self.batch.mapping) if name in decimals}
        found: set[str] = set()
        if places and uploads.path_of(self.batch.key).exists() and uploads.has_quotes(self.batch.key):
            for cells in uploads.table_rows(self.batch.key):
                found |= {name for place, name in places.items() if has_decimal_comma(cells[place])}
                if len(found) == len(places):
                    break
        return found

    def rows(self) -> Iterator[FileRow]:
        """Yield the rows, each evaluated."""
        if self.batch.format == "fhir":
            for number, resource in enumerate(uploads.resources(self.batch.key), start=1):
                yield erased_row(number) if resource is None else self.resource(number, resource)
            return
        for number, cells in enumerate(uploads.table_rows(self.batch.key), start=2):
            yield self.evaluated(number, *self.fields_of(cells)) if any(cells) else erased_row(number)

    def fields_of(self, cells: list[str]) -> tuple[dict[str, str], dict[str, str]]:
        """Return the fields of a row, and what goes elsewhere."""
        return dict(zip(self.names, self.plain(cells), strict=True)), dict(
            zip(self.elsewhere, self.special(cells), strict=True)
        )

    def evaluated(self, number: int, fields: Mapping[str, str], special: Mapping[str, str]) -> FileRow:
        """Evaluate the fields of a row."""
        said = self.replaced(fields) if self.replacements else fields
        if fields.keys() != self.known and not self.readers.keys() >= said.keys():
            said = {name: text for name, text in said.items() if name in self.readers}
        if self.is_flat:
            evaluation = self.evaluate(said)
        else:
            read = {name: self.readers[name](text) for name, text in said.items()}
            evaluation = self.evaluate(answers_from_fields(self.template, read))
        problems = evaluation.problems
        if self.commas:
            unclear = (self._unclear(name) for name in said if name in self.commas and is_ambiguous(said[name]))
            problems = (*unclear, *problems)
        return FileRow(number=number, fields=fields, answers=evaluation.answers, problems=problems, special=special)

    def replaced(self, fields: Mapping[str, str]) -> Mapping[str, str]:
        """Return the fields with other texts for the values that people said how to read."""
        said = dict(fields)
        for name, values in self.replacements.items():
            old = fields.get(name, "").strip() if name in fields else None
            if old is not None and old in values:
                said[name] = values[old]
        return said

    def _unclear(self, name: str) -> Problem:
        question = self.questions[name]
        assert question is not None
        message = (
            f"{question.text}: the point may stand for thousands or for decimals, and this column has decimal commas. "
            "Write 1234 or 1,234."
        )
        return Problem("ambiguous", question.id, message, (question.id,))

    def resource(self, number: int, resource: Any) -> FileRow:
        """Evaluate a FHIR response; its subject names the patient where no item does."""
        person = self.template.person
        subject = resource.get("subject")
        name = ""
        if isinstance(subject, dict):
            identifier = subject.get("identifier")
            value = identifier.get("value") if isinstance(identifier, dict) else None
            name = str(value or subject.get("reference") or "")
        items = resource.get("item")
        if person and name and isinstance(items, list) and not _answers(items, person):
            resource = {**resource, "item": [*items, {"linkId": person, "answer": [{"valueString": name}]}]}
        special = {}
        for key in ("identifier", "id"):
            found = resource.get(key)
            found = found[0] if isinstance(found, list) and found else found
            found = found.get("value") if isinstance(found, dict) else found
            if isinstance(found, str) and found.strip() and NUMBER not in special:
                special[NUMBER] = found[:200]
        try:
            read = response_from_fhir(self.template, resource)
        except RecursionError:
            raise DataError(f"Response {number} is nested too deeply.") from None
        return FileRow(
            number=number, fields=_flat(read.answers), answers=read.answers, problems=read.problems, special=special
        )


_ERASED = Problem("erased", "", "The person of this row was erased: it is left out.", ())


def erased_row(number: int) -> FileRow:
    """Return what is left of a row whose person was erased; ``erased_people`` empties its line in the file."""
    return FileRow(number=number, fields={}, answers={}, problems=(_ERASED,), special={})


def _taken(places: list[int]) -> Callable[[list[str]], tuple[str, ...]]:
    """Return what takes some cells out of a row."""
    if len(places) > 1:
        return itemgetter(*places)
    return lambda cells: tuple(cells[place] for place in places)


def split_fields(held: Mapping[str, str]) -> tuple[dict[str, str], dict[str, str]]:
    """Return what an ``ImportRow`` holds: the fields of the template, and what goes elsewhere.

    Examples:
        >>> split_fields({"age": "64", "@number": "7"})
        ({'age': '64'}, {'@number': '7'})
    """
    special = {name: text for name, text in held.items() if name.startswith("@")}
    return {name: text for name, text in held.items() if name not in special}, special


def department_of(row: FileRow, own: str) -> str:
    """Return whose report a row is: a column for that (radiologists cannot map one), the import's own, or an answer."""
    said = row.special.get(DEPARTMENT, "").strip() or own
    if said:
        return said[:80]
    for name in DEPARTMENT_FIELDS:
        if name in row.answers:
            return str(row.answers[name])[:80]
    return ""


def identifiers_of(special: Mapping[str, str]) -> dict[str, str]:
    """Return what else names the patient of a row: column -> value."""
    return {
        name.partition(":")[2][:80]: value[:400]
        for name, value in special.items()
        if name.startswith(f"{IDENTIFIER}:") and value.strip()
    }


def _answers(items: list[object], link: str, level: int = 0) -> bool:
    return level < 50 and any(
        isinstance(item, dict)
        and (
            item.get("linkId") == link
            or (isinstance(item.get("item"), list) and _answers(item["item"], link, level + 1))
        )
        for item in items
    )


def _flat(answers: Mapping[str, object], path: tuple[Any, ...] = ()) -> dict[str, str]:
    fields: dict[str, str] = {}
    for name, value in answers.items():
        if isinstance(value, list):
            for number, table in enumerate(value):
                fields |= _flat(table, (*path, name, number))
        else:
            fields[field_name((*path, name))] = str(value).lower() if isinstance(value, bool) else str(value)
    return fields


_MOST_ONCE = 20_000


def _once(convert: Callable[[str], str]) -> Callable[[str], str]:
    """Return the same function, which works out each short text once."""
    if convert is str:
        return convert
    known: dict[str, str] = {}

    def read(text: str) -> str:
        found = known.get(text)
        if found is None:
            found = convert(text)
            if len(known) < _MOST_ONCE and len(text) <= 60:
                known[text] = found
        return found

    return read


def _converter(question: Question, comma: bool) -> Callable[[str], str]:
    """Return how cells of a question's column are read; what fits no spelling stays as it is, and is refused later."""
    if question.kind == "decimal" or question.kind == "integer":
        return lambda text: number_text(text, "either" if comma else ".")
    if question.kind == "date":
        return day_text
    if question.kind == "boolean":
        return lambda text: _WORDS.get(text.strip().casefold(), text)
    if question.kind == "choice":
        by_word = {str(option.text).casefold(): str(option.value) for option in question.options}
        by_word |= {str(option.value).casefold(): str(option.value) for option in question.options}
        if {"yes", "no"} <= by_word.keys():  # in any spelling, as for questions that know nothing else
            by_word = {word: by_word["yes" if said == "true" else "no"] for word, said in _WORDS.items()} | by_word

        def choose(text: str) -> str:
            word = text.strip().casefold()
            # Spreadsheets write the whole numbers of a column with gaps as 2.0.
            return by_word.get(word) or by_word.get(word.removesuffix(".0"), text)

        return choose
    return str
