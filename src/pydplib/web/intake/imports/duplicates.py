"""Reports that are there already: the same number, or the same patient on the same day."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

from pydplib.capture import Template, columns_of
from pydplib.errors import DataError
from pydplib.web.intake.imports.columns import NUMBER
from pydplib.web.intake.imports.rows import FileRow
from pydplib.web.intake.models import ImportBatch
from pydplib.web.patients.pseudonyms import pseudonyms_of, report_numbers
from pydplib.web.projects.models import Project
from pydplib.web.reporting.models import Report

Keys: TypeAlias = tuple[str, str, str]
"""Of a row: the keyed report number, day and pseudonym, and the pseudonym; empty where it has none."""


def day_field(template: Template) -> str:
    """Return the question that says the day of a report: the first day of the template; empty if it has none."""
    return next((question.id for question in columns_of(template) if question.kind == "date"), "")


class Duplicates:
    """Finds rows that are in the file twice or in the project already.

    Args:
        project: The project.
        template: Its template.
        batch: The import at hand; its own staged reports are not duplicates of itself.
    """

    def __init__(self, project: Project, template: Template, batch: ImportBatch | None = None) -> None:
        self.project, self.template, self.batch = project, template, batch
        self.day = day_field(template)
        self.seen: dict[bytes, int] = {}  # sixteen bytes per report

    def find(self, rows: Sequence[FileRow], keys: Sequence[Keys] | None = None) -> dict[int, str]:
        """Return row number -> what it repeats, in words; rows are remembered for the next call.

        Args:
            rows: The rows.
            keys: What ``keys_of`` returned for them, if that was asked already.
        """
        keys = self.keys_of(rows) if keys is None else keys
        numbers, days, days_without_number = self._stored(keys)
        found: dict[int, str] = {}
        for row, (number, day, _) in zip(rows, keys, strict=True):
            key = number or day
            if not key:
                continue
            first = self.seen.setdefault(_short(key), row.number)
            if first != row.number:
                found[row.number] = f"{self.words_for(row)} is in row {first} too."
            elif number in numbers or (not number and day in days):
                found[row.number] = f"{self.words_for(row)} is in the project already."
            elif day in days_without_number:
                # Written here or imported without numbers: only the day can tell.
                found[row.number] = "A report of the same patient and day is in the project already."
        return found

    def keys_of(self, rows: Sequence[FileRow]) -> list[Keys]:
        """Return what tells the report and the patient of each row."""
        person, day = self.template.person, self.day
        said = [row.special.get(NUMBER, "").strip()[:400] for row in rows]
        people = [row.answers.get(person) if person else None for row in rows]
        numbers = iter(self._keyed(report_numbers, [text for text in said if text]))
        names = iter(self._keyed(pseudonyms_of, [each for each in people if each is not None]))
        keys: list[Keys] = []
        for row, text, who in zip(rows, said, people, strict=True):
            number, name = next(numbers) if text else "", next(names) if who is not None else ""
            when = row.answers.get(day) if day and name else None
            keys.append((number, "" if when is None else f"{when}{name}", name))
        return keys

    def _keyed(self, make: Callable[[Any, list[object]], list[str]], values: list[object]) -> list[str]:
        """Return the keyed form of each value; empty for one that is blank or too long, which spoils no other."""
        try:
            return make(self.project, values)
        except DataError:
            return [""] if len(values) == 1 else [name for value in values for name in self._keyed(make, [value])]

    def key_of(self, row: FileRow) -> str:
        """Return what two rows of one report have in common; empty if nothing tells."""
        ((number, day, _),) = self.keys_of([row])
        return number or day

    def words_for(self, row: FileRow) -> str:
        """Return in words what makes another row the same report."""
        return "The same report number" if self.number_of(row) else "A report of the same patient and day"

    def number_of(self, row: FileRow) -> str:
        """Return the keyed report number of a row; empty if the file has none."""
        return self.keys_of([row])[0][0]

    def _stored(self, keys: Sequence[Keys]) -> tuple[set[str], set[str], set[str]]:
        """Return what the project has of these: numbers, days of patients, and such days of reports without number."""
        asked = {number for number, _, _ in keys if number}
        people = {day[_DAY:] for _, day, _ in keys if day}
        reports = Report.objects.filter(project=self.project, state=Report.State.SIGNED)
        if not reports.exists():  # a first import: there is nothing to repeat
            return set(), set(), set()
        numbers = set(reports.filter(number_hash__in=asked).values_list("number_hash", flat=True)) if asked else set()
        days: set[str] = set()
        without: set[str] = set()
        if people:
            held = reports.filter(patient__pseudonym__in=people)
            columns = held.values_list("patient__pseudonym", "number_hash", "values")
            for pseudonym, number, values in columns.iterator(chunk_size=2000):
                key = f"{values.get(self.day)}{pseudonym}"
                days.add(key)
                if not number:
                    without.add(key)
        return numbers, days, without


_DAY = len("2018-01-01")


def _short(key: str) -> bytes:
    """Return a key in few bytes: hundreds of thousands of them are held at once."""
    return bytes.fromhex(key) if len(key) == 32 else key[:_DAY].encode() + bytes.fromhex(key[_DAY:])
