"""Reports that are there already: the same number, or the same patient on the same day."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from pydplib.capture import Template, columns_of
from pydplib.errors import DataError
from pydplib.web.intake.mapping import NUMBER
from pydplib.web.intake.pseudonyms import pseudonyms_of, report_numbers
from pydplib.web.intake.reading import FileRow
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

    def find(self, rows: Sequence[FileRow]) -> dict[int, str]:
        """Return row number -> what it repeats, in words; rows are remembered for the next call."""
        keys = self._keys(rows)
        stored = self._stored([key for _, key in keys])
        found: dict[int, str] = {}
        for row, key in keys:
            digest = bytes.fromhex(key[-32:]) + key[:-32].encode() if len(key) > 32 else bytes.fromhex(key)
            first = self.seen.setdefault(digest, row.number)
            what = "The same report number" if len(key) == 32 else "A report of the same patient and day"
            if first != row.number:
                found[row.number] = f"{what} is in row {first} too."
            elif key in stored:
                found[row.number] = f"{what} is in the project already."
        return found

    def number_of(self, row: FileRow) -> str:
        """Return the keyed report number of a row; empty if the file has none."""
        value = row.special.get(NUMBER, "").strip()
        return report_numbers(self.project, [value[:400]])[0] if value else ""

    def _keys(self, rows: Iterable[FileRow]) -> list[tuple[FileRow, str]]:
        """Return what makes each row unique: the keyed report number, or day and pseudonym; nothing for others."""
        found: list[tuple[FileRow, str]] = []
        for row in rows:
            person = row.answers.get(self.template.person) if self.template.person else None
            day = row.answers.get(self.day) if self.day else None
            if number := self.number_of(row):
                found.append((row, number))
            elif person is not None and day is not None:
                try:
                    (pseudonym,) = pseudonyms_of(self.project, [person])
                except DataError:
                    continue
                found.append((row, f"{day}{pseudonym}"))
        return found

    def _stored(self, keys: Sequence[str]) -> set[str]:
        numbers = {key for key in keys if len(key) == 32}
        people = {key[-32:] for key in keys if len(key) > 32}
        reports = Report.objects.filter(project=self.project, state=Report.State.SIGNED)
        found: set[str] = set()
        if numbers:
            found |= set(reports.filter(number_hash__in=numbers).values_list("number_hash", flat=True))
        if people:
            held = reports.filter(patient__pseudonym__in=people).values_list("patient__pseudonym", "values")
            found |= {f"{values.get(self.day)}{pseudonym}" for pseudonym, values in held.iterator(chunk_size=2000)}
        return found
