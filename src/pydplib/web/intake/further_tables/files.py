"""Files for further tables: received like those of imports, Parquet too, and gone when they were taken in."""

from __future__ import annotations

import csv
import os
import re
from collections.abc import Callable, Iterator, Mapping
from itertools import islice
from pathlib import Path
from typing import Any

from django.core.files.uploadedfile import UploadedFile
from django.db.models import QuerySet

from pydplib.errors import DataError, looks_like_names
from pydplib.schema import COLUMN_KINDS, Storage
from pydplib.tables.cells import NUMBER_PATTERN, Decimals, day_text, number_text, truth_of
from pydplib.web import uploads
from pydplib.web.projects.models import Project
from pydplib.web.tables.models import TableUpload
from pydplib.web.uploads import MOST_COLUMNS, MOST_ROWS, MOST_UNPACKED, Received

_PARQUET = b"PAR1"


def receive(upload: UploadedFile, key: str, *, sheet: str | None = None) -> Received:
    """Bring a CSV, Excel, NDJSON or Parquet file into its plain form, a CSV that only the server reads.

    Raises:
        DataError: The file is too large, damaged or not a table.
        FullDiskError: The disk has no room for it.
    """
    start = upload.read(4)
    upload.seek(0)
    if start != _PARQUET:
        found = uploads.receive(upload, key, sheet=sheet)
        if found.format == "fhir":
            uploads.remove(key)
            raise DataError("This is a file of FHIR resources, not a table. Upload CSV, Excel (.xlsx) or Parquet.")
        return found
    if (upload.size or 0) > uploads.MOST_BYTES:
        raise DataError(
            f"The file is larger than {uploads.MOST_BYTES // 1_000_000} MB. Split it, or leave out columns."
        )
    raw = uploads.folder() / f"{key}.parquet"
    try:
        with os.fdopen(os.open(raw, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as out:
            for chunk in upload.chunks():
                out.write(chunk)
        return _plain_parquet(raw, uploads.path_of(key))
    except DataError:
        uploads.remove(key)
        raise
    finally:
        raw.unlink(missing_ok=True)


def _plain_parquet(raw: Path, plain: Path) -> Received:
    """Write a Parquet file as CSV, every cell as its text."""
    import pyarrow as pa
    import pyarrow.parquet as parquet

    try:
        schema = parquet.read_schema(raw)
        names, flat = list(schema.names), [each.name for each in schema if not pa.types.is_nested(each.type)]
        # Texts stay as their dictionary: one long text in every row is held once.
        with parquet.ParquetFile(raw, read_dictionary=flat) as file:
            facts, size = file.metadata, 0
            _check_parquet(names, facts)
            with os.fdopen(os.open(plain, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w", newline="") as out:
                writer = csv.writer(out, lineterminator="\n")
                writer.writerow(names)
                for batch in file.iter_batches(batch_size=10_000, columns=flat):
                    cells = {name: _cells(batch.column(name)) for name in flat}
                    empty = [""] * batch.num_rows
                    for row in zip(*(cells.get(name, empty) for name in names), strict=True):
                        size += sum(map(len, row))
                        if size > MOST_UNPACKED:
                            raise DataError(_UNPACKS)
                        writer.writerow(row)
            return Received("csv", facts.num_rows, tuple(names))
    except DataError:
        raise
    except (pa.ArrowException, OSError, ValueError, OverflowError, KeyError):
        # Its own words may quote a cell.
        raise DataError("The Parquet file cannot be read. Check that it is complete, or save it as CSV.") from None


_UNPACKS = "The file unpacks to far more than a table needs. Leave out columns, or save it as CSV."


def _cells(column: Any) -> list[str]:
    """Return the cells of a column as texts; a text that stands in many rows is made once."""
    coded = getattr(column, "dictionary", None)
    if coded is None:
        return [_text(cell) for cell in column.to_pylist()]
    words = [_text(cell) for cell in coded.to_pylist()]
    return ["" if place is None else words[place] for place in column.indices.to_pylist()]


def _check_parquet(names: list[str], facts: Any) -> None:
    """Refuse a Parquet file by what it says of itself, before any cell is read."""
    if not facts.num_rows:
        raise DataError("The file has names of columns, but no rows.")
    if facts.num_rows > MOST_ROWS or len(names) > MOST_COLUMNS:
        raise DataError(f"The file has more than {MOST_ROWS} rows or {MOST_COLUMNS} columns. Split it.")
    if sum(facts.row_group(place).total_byte_size for place in range(facts.num_row_groups)) > MOST_UNPACKED:
        raise DataError(_UNPACKS)
    if len({name.casefold() for name in names}) != len(names):
        raise DataError("Two columns have one name (large and small letters count as one). Rename one.")
    if not looks_like_names(names):
        raise DataError("Some names of columns are empty, too long or no text. Rename them.")


def _text(cell: object) -> str:
    """Return a cell as a file of text has it; what is no plain value is missing."""
    if cell is None or cell != cell or isinstance(cell, bytes | list | dict):
        return ""
    if isinstance(cell, bool):
        return "true" if cell else "false"
    return cell.isoformat() if hasattr(cell, "isoformat") else str(cell)


def decimals_of(upload: TableUpload) -> Decimals:
    """Return what may stand before decimals in a file."""
    return "either" if upload.comma else "."


def rows_of(upload: TableUpload, person: str, names: Mapping[str, str]) -> Iterator[tuple[int, str, dict[str, str]]]:
    """Yield the rows of a file: their number, whom they are about, and column -> cell.

    Args:
        upload: The file.
        person: The column of the file that says whose row it is.
        names: Column of the table -> column of the file.
    """
    if not uploads.path_of(upload.key).exists():
        raise DataError("The file is gone: uploads are kept for a day. Upload it again.")
    places = {name: upload.columns.index(column) for name, column in names.items()}
    who = upload.columns.index(person)
    for number, cells in enumerate(uploads.table_rows(upload.key), start=2):
        yield number, cells[who], {name: cells[place] for name, place in places.items()}


def remove_uploads(found: QuerySet[TableUpload]) -> int:
    """Delete uploads with their files; returns how many."""
    keys = list(found.values_list("key", flat=True))
    for key in keys:
        uploads.remove(key)
    found.delete()
    return len(keys)


_FEW = 30  # a text column with at most this many different values is proposed as a category
_LOOKED_AT = 5_000  # rows: a guess is a help, no more
_SAMPLES, _SAMPLED_ROWS, _LETTERS = 3, 200, 40


def guessed_kinds(upload: TableUpload) -> dict[str, str]:
    """Return column of the file -> the kind that its cells look like; free texts are left out.

    Bounds and values are the owner's to say: data never choose them.
    """
    if not uploads.path_of(upload.key).exists():
        return {}
    columns: list[set[str]] = [set() for _ in upload.columns]
    for cells in islice(uploads.table_rows(upload.key), _LOOKED_AT):
        for found, cell in zip(columns, cells, strict=False):
            if cell.strip():
                found.add(cell.strip())
    return {name: _guess(found, upload) for name, found in zip(upload.columns, columns, strict=True)}


def _guess(cells: set[str], upload: TableUpload) -> str:
    """Return the first kind that takes all cells of a column, in the order of the schema's own proposals."""
    few = len(cells) <= _FEW
    text: Storage = "text"
    storage = next((storage for storage, fits in _LOOKS if cells and all(fits(cell, upload) for cell in cells)), text)
    kinds = [(kind, shape.propose(storage, few=few)) for kind, shape in COLUMN_KINDS.items() if shape.can_be_asked]
    return next((kind for kind, lines in kinds if lines is not None), "")


def _is_number(cell: str, upload: TableUpload) -> bool:
    return re.fullmatch(NUMBER_PATTERN, number_text(cell, decimals_of(upload))) is not None


# Codes such as 01067 are texts: as a number they would lose their zeros.
_LOOKS: tuple[tuple[Storage, Callable[[str, TableUpload], bool]], ...] = (
    ("integer", lambda cell, upload: re.fullmatch(r"-?(0|[1-9][0-9]{0,17})", cell) is not None),
    ("float", lambda cell, upload: _is_number(cell, upload) and re.match(r"-?0[0-9]", cell) is None),
    ("date", lambda cell, upload: re.fullmatch(r"[0-9]{4}-[0-9]{2}-[0-9]{2}", day_text(cell)) is not None),
    ("flag", lambda cell, upload: truth_of(cell) is not None),
)


def samples_of(upload: TableUpload) -> dict[str, list[str]]:
    """Return column -> a few different cells from the top of the file, for its owner's eyes."""
    found: dict[str, list[str]] = {name: [] for name in upload.columns}
    if not uploads.path_of(upload.key).exists():
        return found
    for cells in islice(uploads.table_rows(upload.key), _SAMPLED_ROWS):
        for name, cell in zip(upload.columns, cells, strict=False):
            word = cell.strip()[:_LETTERS]
            if word and word not in found[name] and len(found[name]) < _SAMPLES:
                found[name].append(word)
    return found


def uploads_of(project: Project) -> list[TableUpload]:
    """Return the files of a project that were not taken in yet, the newest first."""
    return list(TableUpload.objects.filter(project=project).select_related("table", "by"))


def remove_upload(upload: TableUpload) -> None:
    """Delete one upload with its file."""
    remove_uploads(TableUpload.objects.filter(pk=upload.pk))


def keep_upload(**facts: object) -> TableUpload:
    """Keep what is known of a file that was received."""
    return TableUpload.objects.create(**facts)
