"""Reports that are there already: the same number, or the same patient on the same day."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pydplib.capture import Template, columns_of
from pydplib.errors import DataError
from pydplib.web.intake.mapping import NUMBER
from pydplib.web.intake.reading import FileRow
from pydplib.web.patients.pseudonyms import pseudonyms_of, report_numbers
from pydplib.web.reporting.models import Report


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

    def __init__(self, project: Any, template: Template, batch: Any = None) -> None:
        self.project, self.template, self.batch = project, template, batch
        self.day = day_field(template)
        self.seen: dict[bytes, int] = {}  # sixteen bytes per report
        self.numbers: dict[int, str] = {}  # keyed report numbers of the rows that were looked at last

    def find(self, rows: Sequence[FileRow]) -> dict[int, str]:
        """Return row number -> what it repeats, in words; rows are remembered for the next call."""
        keys = [(row, self.number_of(row), self._day_key(row)) for row in rows]
        self.numbers = {row.number: number for row, number, _ in keys}
        numbers, days, days_without_number = self._stored(keys)
        found: dict[int, str] = {}
        for row, number, day in keys:
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

    def key_of(self, row: FileRow) -> str:
        """Return what two rows of one report have in common; empty if nothing tells."""
        return self.number_of(row) or self._day_key(row)

    def words_for(self, row: FileRow) -> str:
        """Return in words what makes another row the same report."""
        return "The same report number" if self.number_of(row) else "A report of the same patient and day"

    def number_of(self, row: FileRow) -> str:
        """Return the keyed report number of a row; empty if the file has none."""
        value = row.special.get(NUMBER, "").strip()
        return report_numbers(self.project, [value[:400]])[0] if value else ""

    def _day_key(self, row: FileRow) -> str:
        """Return day and pseudonym of a row; empty if it lacks one."""
        person = row.answers.get(self.template.person) if self.template.person else None
        day = row.answers.get(self.day) if self.day else None
        if person is None or day is None:
            return ""
        try:
            (pseudonym,) = pseudonyms_of(self.project, [person])
        except DataError:
            return ""
        return f"{day}{pseudonym}"

    def _stored(self, keys: Sequence[tuple[FileRow, str, str]]) -> tuple[set[str], set[str], set[str]]:
        """Return what the project has of these: numbers, days of patients, and such days of reports without number."""
        asked = {number for _, number, _ in keys if number}
        people = {day[_DAY:] for _, _, day in keys if day}
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
