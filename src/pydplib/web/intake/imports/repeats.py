"""Whether a corrected row repeats another row of its own file: the file is searched, the template asked rarely."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator
from typing import Any

from pydplib.capture import field_name
from pydplib.web import uploads
from pydplib.web.intake.imports.columns import NUMBER
from pydplib.web.intake.imports.duplicates import Duplicates, words_for
from pydplib.web.intake.imports.rows import FileRow, Reader, split_fields
from pydplib.web.intake.models import ImportRow

_Decision: Any = ImportRow.Decision


def repeated_in_file(reader: Reader, duplicates: Duplicates, row: FileRow) -> str:
    """Return in words which other row, of those that would be taken in, is the same report; empty if none is.

    Args:
        reader: Reads the import's rows.
        duplicates: Knows what makes two rows one report.
        row: The row as it was corrected.
    """
    ((number, day, _),) = duplicates.keys_of([row])
    key = number or day
    if not key or not uploads.path_of(reader.batch.key).exists():
        return ""
    for other in _others(reader, row):
        if not other.ok:
            continue
        ((their_number, their_day, _),) = duplicates.keys_of([other])
        if (their_number or their_day) == key:
            return f"{words_for(number)} is in row {other.number} too."
    return ""


def _others(reader: Reader, row: FileRow) -> Iterator[FileRow]:
    """Yield the other rows that could be the same report, as they would be taken in: corrected ones as corrected."""
    decided = {each.number: each for each in reader.batch.problem_rows.exclude(number=row.number)}
    for each in decided.values():
        if each.decision == _Decision.FIXED:
            yield reader.evaluated(each.number, *split_fields(each.fields))
    left = {number for number, each in decided.items() if each.decision != _Decision.KEEP} | {row.number}
    if reader.batch.format == "fhir":
        yield from (other for other in reader.rows() if other.number not in left)
        return
    place, wanted = _column(reader, row)
    for number, cells in enumerate(uploads.table_rows(reader.batch.key), start=2):
        if number not in left and (place is None or _bare(cells[place]) == wanted):
            yield reader.evaluated(number, *reader.fields_of(cells))


def _column(reader: Reader, row: FileRow) -> tuple[int | None, str]:
    """Return a column in which the same report must have the same text, and that text: most rows end there."""
    mapping = list(reader.batch.mapping)
    if row.special.get(NUMBER, "").strip() and NUMBER in mapping:
        return mapping.index(NUMBER), _bare(row.special[NUMBER])
    person = field_name((reader.template.person,)) if reader.template.person else ""
    if person in mapping and person in row.fields:
        return mapping.index(person), _bare(row.fields[person])
    return None, ""


def _bare(text: str) -> str:
    return "".join(unicodedata.normalize("NFKC", text).split()).casefold()
