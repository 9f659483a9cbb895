"""Free-text reports on their way into the queue: a CSV file with one text per row, or a single text."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from dataclasses import dataclass, field

from pydplib._names import person_column
from pydplib.capture.values import is_clean_text
from pydplib.errors import DataError
from pydplib.tables.lines import decode_lines

MOST_BYTES = 20_000_000
MOST_TEXTS = 10_000
MOST_CHARACTERS = 40_000
PATIENT_COLUMNS = ("patient_id", "anonym_id", "id")
TEXT_COLUMNS = ("text", "report", "report_text", "befund")
DEPARTMENT_COLUMNS = ("department", "department_code", "requestradiologydepartmentcode")


@dataclass(frozen=True, slots=True)
class NewText:
    """A text before it is stored; its repr shows nothing of it."""

    identifier: str = field(repr=False)
    text: str = field(repr=False)
    department: str = ""


def read_texts(data: bytes) -> list[NewText]:
    r"""Read a CSV file: a column that names the patient, one with the text, and if wanted the department.

    Comma, semicolon or tab; each line is UTF-8, or Windows-1252 as older systems write it.

    Raises:
        DataError: The file cannot be used; the message names the row and the rule, never what stands there.

    Examples:
        >>> read_texts(b"patient;text\nA 17;No lesion.\n")
        [NewText(department='')]
    """
    if len(data) > MOST_BYTES:
        raise DataError(f"The file has more than {MOST_BYTES // 1_000_000} MB. Split it.")
    text = decode(data)
    head = text.split("\n", 1)[0]
    delimiter = max(",;\t", key=head.count)
    csv.field_size_limit(MOST_CHARACTERS * 4)
    rows = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
    try:
        names = [name.strip().strip("\ufeff").lower() for name in next(rows, [])]
        patient = _column(names, (person_column(names) or "patient", *PATIENT_COLUMNS), "names the patient")
        body = _column(names, TEXT_COLUMNS, "holds the text")
        department = next((names.index(name) for name in DEPARTMENT_COLUMNS if name in names), None)
        found = []
        for number, row in enumerate(rows, start=2):
            if not any(cell.strip() for cell in row):
                continue
            if len(row) != len(names):
                raise DataError(f"Row {number} has {len(row)} columns, the first one {len(names)}. Quote the texts.")
            where = row[department] if department is not None else ""
            found.append(check_text(row[patient], row[body], where, where=f"Row {number}"))
            if len(found) > MOST_TEXTS:
                raise DataError(f"The file has more than {MOST_TEXTS} texts. Split it.")
    except csv.Error:
        raise DataError("The file is not a CSV that can be read: a quote is open, or a text is too long.") from None
    if not found:
        raise DataError("The file has no texts: below the first row there is nothing.")
    return found


def check_text(identifier: str, text: str, department: str, *, where: str = "The text") -> NewText:
    """Return one text, cleaned, or raise ``DataError``."""
    body = text.replace("\r\n", "\n").replace("\r", "\n").strip()
    if not identifier.strip():
        raise DataError(f"{where} does not say whose report it is. The patient is needed to count people, not reports.")
    if not body:
        raise DataError(f"{where} is empty.")
    if len(body) > MOST_CHARACTERS:
        raise DataError(f"{where} has more than {MOST_CHARACTERS} characters.")
    if not is_clean_text(body):
        raise DataError(f"{where} has characters that are not text.")
    return NewText(identifier.strip(), body, department.strip()[:80])


def decode(data: bytes) -> str:
    """Return the bytes of a file as text, each line as UTF-8 or else as Windows-1252."""
    return decode_lines(data).removeprefix("\ufeff")


def _column(names: Sequence[str], known: Sequence[str], what: str) -> int:
    for name in known:
        if name in names:
            return names.index(name)
    raise DataError(f"No column of the first row {what}. Call it one of: {', '.join(known)}.")
