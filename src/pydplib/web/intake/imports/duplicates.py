"""Reports that are there already: the same number, or the same patient on the same day."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
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
        self.seen: dict[str, int] = {}

    def find(self, numbers: Sequence[int], keys: Sequence[Keys]) -> dict[int, str]:
        """Return row number -> what it repeats, in words; rows are remembered for the next call.

        Args:
            numbers: The rows' numbers.
            keys: What ``keys_of`` or ``keys_for`` returned for them.
        """
        stored = self._stored(keys)
        told = [number or day for number, day, _ in keys]
        fresh = set(told)
        if len(fresh) == len(told) and not any(stored) and "" not in fresh and self.seen.keys().isdisjoint(fresh):
            self.seen.update(zip(told, numbers, strict=True))  # most blocks: nothing is here twice
            return {}
        known, days, days_without_number = stored
        found: dict[int, str] = {}
        for row, key, (number, day, _) in zip(numbers, told, keys, strict=True):
            if not key:
                continue
            first = self.seen.setdefault(key, row)
            if first != row:
                found[row] = f"{words_for(number)} is in row {first} too."
            elif number in known or (not number and day in days):
                found[row] = f"{words_for(number)} is in the project already."
            elif day in days_without_number:
                # Written here or imported without numbers: only the day can tell.
                found[row] = "A report of the same patient and day is in the project already."
        return found

    def keys_of(self, rows: Sequence[FileRow]) -> list[Keys]:
        """Return what tells the report and the patient of each row."""
        person, day = self.template.person, self.day
        return self.keys_for(
            [row.special.get(NUMBER, "") for row in rows],
            [row.answers.get(person) if person else None for row in rows],
            [row.answers.get(day) if day else None for row in rows],
        )

    def keys_for(self, numbers: Sequence[str], people: Sequence[Any], days: Sequence[Any]) -> list[Keys]:
        """Return the same of report numbers, answers that name the patient, and days, each row by row."""
        said = [text.strip()[:400] for text in numbers]
        keyed = iter(self._keyed(report_numbers, [text for text in said if text]))
        names = iter(self._keyed(pseudonyms_of, [each for each in people if each is not None]))
        pairs = [
            (next(keyed) if text else "", next(names) if who is not None else "")
            for text, who in zip(said, people, strict=True)
        ]
        return with_days(pairs, days)

    def _keyed(self, make: Callable[[Any, list[object]], list[str]], values: list[object]) -> list[str]:
        """Return the keyed form of each value; empty for one that is blank or too long, which spoils no other."""
        try:
            return make(self.project, values)
        except DataError:
            return [""] if len(values) == 1 else [name for value in values for name in self._keyed(make, [value])]

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


def with_days(pairs: Iterable[tuple[str, str]], days: Iterable[Any]) -> list[Keys]:
    """Return the keys of rows, from their report numbers and pseudonyms, and their days."""
    return [
        (number, f"{when}{name}" if name and when is not None else "", name)
        for (number, name), when in zip(pairs, days, strict=True)
    ]


def words_for(number: str) -> str:
    """Return in words what makes another row the same report: its number, where it has one."""
    return "The same report number" if number else "A report of the same patient and day"
