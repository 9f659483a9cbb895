r"""One JSON object per line (``.ndjson``, ``.jsonl``): a line is a row, written as CSV and read by the same rules.

No line decides how another one is read: each is parsed by itself, and what is no JSON object is nobody's row. A flat
object's keys are its columns; a number keeps the spelling that it has in the file, ``true`` and ``false`` are words,
``null`` and everything nested is missing.

Four resources of FHIR (R4 and R5), as a bulk export writes them, become flat by the paths of ``FHIR_COLUMNS``. Each
line says by its own ``resourceType`` which it is.
"""

from __future__ import annotations

import csv
import json
import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias

from pydplib.errors import DataError
from pydplib.tables.lines import LONGEST_LINE, Instead, decode_lines, read_lines

MOST_COLUMNS = 10_000
_ENDINGS = (".ndjson", ".jsonl")

Cells: TypeAlias = dict[str, Any]
"""Column -> a cell: a text, a ``Token``, or something nested."""


class Token(str):
    """A number, or true or false, as it stands in the file: in JSON, 1 is not "1"."""

    __slots__ = ()


FHIR_COLUMNS: Mapping[str, Mapping[str, tuple[str, ...]]] = {
    "Patient": {
        "patient_id": ("id",),
        "gender": ("gender",),
        "birth_date": ("birthDate",),
        "deceased": ("deceasedBoolean",),
        "deceased_date": ("deceasedDateTime",),
        "postal_code": ("address.postalCode",),
        "state": ("address.state",),
        "country": ("address.country",),
    },
    "Observation": {
        "observation_id": ("id",),
        "patient_id": ("subject.reference",),
        "encounter_id": ("encounter.reference",),
        "status": ("status",),
        "category": ("category.coding.code",),
        "code": ("code.coding.code",),
        "code_system": ("code.coding.system",),
        "effective_date": ("effectiveDateTime", "effectiveInstant", "effectivePeriod.start"),
        "value": (
            "valueQuantity.value", "valueInteger", "valueBoolean", "valueCodeableConcept.coding.code", "valueString",
            "valueDateTime",
        ),
        "unit": ("valueQuantity.code", "valueQuantity.unit"),
    },
    "Condition": {
        "condition_id": ("id",),
        "patient_id": ("subject.reference",),
        "encounter_id": ("encounter.reference",),
        "clinical_status": ("clinicalStatus.coding.code",),
        "verification_status": ("verificationStatus.coding.code",),
        "category": ("category.coding.code",),
        "code": ("code.coding.code",),
        "code_system": ("code.coding.system",),
        "onset_date": ("onsetDateTime", "onsetPeriod.start"),
        "abatement_date": ("abatementDateTime", "abatementPeriod.start"),
        "recorded_date": ("recordedDate",),
    },
    "Encounter": {
        "encounter_id": ("id",),
        "patient_id": ("subject.reference",),
        "status": ("status",),
        "class": ("class.code", "class.coding.code"),
        "type": ("type.coding.code",),
        "start_date": ("period.start", "actualPeriod.start"),
        "end_date": ("period.end", "actualPeriod.end"),
    },
}  # fmt: skip
"""Resource -> column -> the paths that fill it, the first that is there; of a list the first entry counts.

``Patient/17`` is ``17``, so that it joins with the patient's own ``id``; an address of another server stays whole,
because its 17 is somebody else. A subject that is no patient is nobody's.
"""

_REFERENCE = re.compile(r"(?:urn:uuid:(?P<uuid>.+)|(?P<kind>[A-Za-z]+)/(?P<id>[^/]+)(?:/_history/[^/]*)?)")


def is_ndjson(path: str | Path) -> bool:
    """Tell whether a file is one of JSON lines, by its name alone: the first line is somebody's.

    Examples:
        >>> is_ndjson("Patient.ndjson"), is_ndjson("reports.jsonl.gz"), is_ndjson("reports.csv")
        (True, True, False)
    """
    name = str(path).lower()
    return name.removesuffix(".gz").removesuffix(".zst").endswith(_ENDINGS)


def ndjson_to_csv(
    lines: Callable[[], Iterable[bytes]],
    copy: Path,
    *,
    columns: Sequence[str] | None = None,
    instead: Instead | None = None,
    is_strict: bool = True,
    apart: bool = False,
    most_columns: int = MOST_COLUMNS,
) -> tuple[str, ...]:
    """Write JSON lines as CSV in UTF-8 with commas, every cell in quotes; return the columns.

    Args:
        lines: Returns the lines; called twice where the columns are not given.
        copy: The file to write, readable by nobody else; it must not exist yet.
        columns: The columns to write; by default all keys, in the order in which they first occur. Where a schema
            declares the columns, no row has a say in them.
        instead: Column -> what stands for a cell that is no text; None leaves it empty.
        is_strict: Whether a line that is no JSON object is an error. Otherwise it is left out, by itself.
        apart: Whether texts get a mark: who opens the file can tell 1 from "1".
        most_columns: How many columns there may be.
    """
    if columns is None:
        found: dict[str, None] = {}
        spellings: dict[str, str] = {}
        for cells in _rows(lines(), is_strict=is_strict):
            for name in cells:
                if name in found or not name or not _is_text(name):
                    continue
                other = spellings.setdefault(name.casefold(), name)
                if other == name:
                    found[name] = None
                elif is_strict:
                    raise DataError(
                        f"Two keys of the file are '{other[:60]}' and '{name[:60]}' (large and small letters count as "
                        "one). Rename one."
                    )
            if len(found) > most_columns:
                raise DataError(f"The lines have more than {most_columns} different keys. Is it one table?")
        columns = tuple(found)
        if not columns:
            raise DataError("The file has no line with a JSON object.")
    handle = os.open(copy, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600)
    with os.fdopen(handle, "w", encoding="utf-8", newline="") as out:
        writer = csv.writer(out, quoting=csv.QUOTE_ALL, lineterminator="\n")
        writer.writerow(columns)
        for cells in _rows(lines(), is_strict=is_strict):
            writer.writerow([_text(cells.get(name), name, instead, apart=apart) for name in columns])
    return tuple(columns)


def file_lines(path: Path) -> Callable[[], Iterator[bytes]]:
    """Return a function that reads the lines of a file, unpacked where its name ends with ``.gz``."""
    return lambda: read_lines(path, is_packed=path.suffix.lower() == ".gz")


def _rows(lines: Iterable[bytes], *, is_strict: bool) -> Iterator[Cells]:
    for line in lines:
        if not line.strip():
            continue
        cells = row_of(line)
        if cells is not None:
            yield cells
        elif is_strict:
            raise DataError(
                "A line of the file is no JSON object. Each line must be one, from { to }; correct or delete it."
            )


def row_of(line: bytes) -> Cells | None:
    r"""Return the cells of one line; None if it is no JSON object.

    Examples:
        >>> row_of(b'{"id": "a", "age": 61.50, "bph": true, "note": null}')
        {'id': 'a', 'age': '61.50', 'bph': 'true', 'note': None}
        >>> row_of(b'{"resourceType": "Patient", "id": "17", "gender": "male"}')
        {'patient_id': '17', 'gender': 'male'}
        >>> row_of(b'{"id": ') is None
        True
    """
    if len(line) > LONGEST_LINE:
        return None
    try:
        found = json.loads(
            decode_lines(line).removeprefix("\ufeff"), parse_float=Token, parse_int=Token, parse_constant=_missing
        )
    except (ValueError, RecursionError):
        return None
    if not isinstance(found, dict):
        return None
    kind = found.get("resourceType")
    paths = FHIR_COLUMNS.get(kind) if isinstance(kind, str) else None
    if paths is None:
        return {name.strip(): _plain(value) for name, value in found.items()}
    flat = ((name, _first(found, tried)) for name, tried in paths.items())
    return {name: value for name, value in flat if value is not None}


def _missing(word: str) -> None:
    """Take NaN and Infinity, which are no JSON, for missing."""


def _plain(value: Any) -> str | None:
    """Return a value that a cell can hold: a text, or a number, true or false as they are written."""
    if isinstance(value, bool):
        return Token("true" if value else "false")
    return value if isinstance(value, str) else None


def _first(resource: Mapping[str, Any], paths: Sequence[str]) -> str | None:
    for path in paths:
        value: Any = resource
        for step in path.split("."):
            if isinstance(value, list):
                value = value[0] if value else None
            value = value.get(step) if isinstance(value, dict) else None
        if isinstance(value, list):
            value = value[0] if value else None
        found = _plain(value)
        if found is not None:
            return _referenced(found, path) if path.endswith(".reference") else found
    return None


def _referenced(text: str, path: str) -> str | None:
    """Return the id that a reference names; None where a subject is no patient."""
    found = _REFERENCE.fullmatch(text)
    if found is None:  # an address, or a part of this resource
        return text if path != "subject.reference" or "/Patient/" in text else None
    if found["uuid"]:
        return found["uuid"]
    return found["id"] if path != "subject.reference" or found["kind"] == "Patient" else None


def _text(cell: Any, name: str, instead: Instead | None, *, apart: bool) -> str:
    if cell is None:
        return ""
    if not _is_text(cell):
        return ("" if instead is None else instead(name)) or ""
    if apart:
        return str(cell) if isinstance(cell, Token) else f"'{cell}"
    return str(cell)


def _is_text(cell: str) -> bool:
    """Tell whether a text has whole characters only: JSON can write half ones."""
    return cell.isascii() or not any("\ud800" <= sign <= "\udfff" for sign in cell)
