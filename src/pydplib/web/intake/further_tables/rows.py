"""Rows of a further table: cells read by its schema, people matched by pseudonym, all of them written or none."""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from django.db.models import Count
from django.utils import timezone

from pydplib.errors import DataError
from pydplib.schema import Column, Schema
from pydplib.tables.cells import Decimals, day_text, number_text
from pydplib.web.auditlog.log import recorded
from pydplib.web.patients.inserts import CHUNK, chunks, insert_many
from pydplib.web.patients.models import Patient
from pydplib.web.patients.pseudonyms import LONGEST, pseudonyms_of
from pydplib.web.people.models import User
from pydplib.web.projects.changes import new_data_version
from pydplib.web.projects.models import Project
from pydplib.web.tables.models import PersonRow, PersonTable

_MOST = 1e15


@dataclass(slots=True, kw_only=True)
class Matched:
    """What became of the rows of a file; for the owner's screen.

    Attributes:
        rows: How many the file has.
        known: How many are about patients of the project.
        patients: How many patients these are.
        unknown: How many name somebody whom the project does not know.
        nameless: How many name nobody.
        unread: Column -> cells that cannot be read as what is declared; they count as missing.
        over: How many patients have more rows than the limit.
    """

    rows: int = 0
    known: int = 0
    patients: int = 0
    unknown: int = 0
    nameless: int = 0
    unread: Counter[str] = field(default_factory=Counter)
    over: int = 0

    @property
    def left_out(self) -> int:
        """How many rows are not taken in."""
        return self.unknown + self.nameless


def read_cell(column: Column, text: str, decimals: Decimals = ".") -> object:
    """Return the value of a cell of a file, as JSON keeps it; None where it is blank.

    Raises:
        ValueError: The cell is nothing that the column declares.

    Examples:
        >>> from pydplib.schema import Category, Date, Flag, Number
        >>> read_cell(Number(0, 100), "6,1", "either"), read_cell(Date("2017-01-01", "2018-12-31"), "1.2.2017")
        (6.1, '2017-02-01')
        >>> read_cell(Category([1, 2]), "2"), read_cell(Flag(), "ja"), read_cell(Flag(), " ") is None
        (2, True, True)
    """
    word = text.strip()
    if not word:
        return None
    spelling = column.spelling
    if spelling == "number":
        word = number_text(word, decimals)
    elif spelling == "day":
        word = day_text(word)
    if column.spelled_values:
        return _listed(column, word)
    value = column.read(word)
    if not isinstance(value, str) and not (math.isfinite(value) and abs(value) <= _MOST):
        raise ValueError
    return value


def _listed(column: Column, word: str) -> object:
    """Return the declared value that is written so: to the letter, whatever the case, or as the same number."""
    for value in column.choices:
        if str(value) == word:
            return value
    for value in column.choices:
        if str(value).casefold() == word.casefold():
            return value
    if column.spelling == "number":
        number = float(word)
        for value in column.choices:
            if float(value) == number:
                return value
    raise ValueError


class Matcher:
    """Reads the rows of a file and finds whose they are.

    Args:
        project: The project whose patients the rows may be about.
        schema: The further table as declared, with its person column as the file calls it.
        decimals: What may stand before decimals.
    """

    def __init__(self, project: Project, schema: Schema, decimals: Decimals = ".") -> None:
        self.project, self.schema, self.decimals = project, schema, decimals
        self.found = Matched()
        self.unknown_rows: list[int] = []
        self._rows_of: Counter[int] = Counter()

    def match(
        self, rows: Iterable[tuple[int, str, Mapping[str, str]]]
    ) -> Iterator[list[tuple[int, dict[str, object]]]]:
        """Yield chunks of patient and values, for rows of known patients; counts what is left out on the way.

        Args:
            rows: Number of the row, the person as the file names them, and column -> cell.
        """
        for part in chunks(rows, CHUNK):
            named = [row for row in part if 0 < len(row[1].strip()) <= LONGEST]
            self.found.rows += len(part)
            self.found.nameless += len(part) - len(named)
            pseudonyms = pseudonyms_of(self.project, [row[1] for row in named])
            known = dict(
                Patient.objects.filter(project=self.project, pseudonym__in=set(pseudonyms)).values_list(
                    "pseudonym", "pk"
                )
            )
            taken = []
            for (number, _, cells), pseudonym in zip(named, pseudonyms, strict=True):
                patient = known.get(pseudonym)
                if patient is None:
                    self.found.unknown += 1
                    self.unknown_rows.append(number)
                    continue
                self._rows_of[patient] += 1
                taken.append((patient, self.values_of(cells)))
            self.found.known += len(taken)
            yield taken
        self.found.patients = len(self._rows_of)
        limit = self.schema.max_rows_per_person
        self.found.over = sum(count > limit for count in self._rows_of.values())

    def values_of(self, cells: Mapping[str, str]) -> dict[str, object]:
        """Return the values of one row; a cell that cannot be read is missing, and changes no other."""
        values: dict[str, object] = {}
        for name, column in self.schema.columns.items():
            if name == self.schema.person:
                continue
            try:
                value = read_cell(column, cells.get(name, ""), self.decimals)
            except (ValueError, OverflowError):
                self.found.unread[name] += 1
                continue
            if value is not None:
                values[name] = value
        return values


def write_rows(
    table: PersonTable,
    rows: Iterable[tuple[int, str, Mapping[str, str]]],
    *,
    actor: User,
    decimals: Decimals = ".",
    again: bool = False,
) -> Matched:
    """Take rows into a further table, in place of those that it had: all of them, or none.

    Args:
        table: The table; it may be new.
        rows: Number of the row, the person as the file names them, and column -> cell.
        actor: The owner.
        decimals: What may stand before decimals.
        again: Whether the table had rows before.

    Raises:
        DataError: No row is about a patient of the project.
    """
    project = table.project
    matcher = Matcher(project, table.schema, decimals)
    with recorded(actor, project=project) as log:
        Project.objects.select_for_update().get(pk=project.pk)  # no snapshot is made of half a table
        if table._state.adding:
            table.save()
        PersonRow.objects.filter(table=table).delete()
        for part in matcher.match(rows):
            insert_many(
                PersonRow, ("table", "patient", "values"), [(table.pk, who, json.dumps(what)) for who, what in part]
            )
        found = matcher.found
        if not found.known:
            raise DataError("No row is about a patient of this project, so nothing was imported. Check the column.")
        PersonTable.objects.filter(pk=table.pk).update(
            changed=timezone.now(), declared=table.declared, title=table.title
        )
        number = new_data_version(project)
        log.add(
            "table.replace" if again else "table.add",
            table.key,
            table=table.name,
            rows=found.known,
            left_out=found.left_out,
            data_version=number,
        )
    return found


def remove_table(table: PersonTable, *, actor: User) -> None:
    """Delete a further table and its rows. Published snapshots keep what they pinned until a new one is published."""
    project = table.project
    with recorded(actor, project=project) as log:
        Project.objects.select_for_update().get(pk=project.pk)
        rows = table.rows.count()
        key, name = table.key, table.name
        table.delete()
        number = new_data_version(project)
        log.add("table.remove", key, table=name, rows=rows, data_version=number)


def counts_of(project: Project) -> dict[int, tuple[int, int]]:
    """Return further table -> its rows and patients; for the owner's screen."""
    counted = PersonTable.objects.filter(project=project).annotate(
        total=Count("rows"), people=Count("rows__patient", distinct=True)
    )
    return {pk: (total, people) for pk, total, people in counted.values_list("pk", "total", "people")}
