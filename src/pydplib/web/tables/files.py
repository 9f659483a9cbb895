"""Files for further tables: received like those of imports, Parquet too, and gone when they were taken in."""

# Paths enter SQL through sql_text() and parquet_source() only.
# ruff: noqa: S608
from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import duckdb

from pydplib._duckdb_files import check_parquet_names, exact_name, parquet_source, sql_name, sql_text
from pydplib.engine.duckdb_engine import open_connection
from pydplib.errors import DataError
from pydplib.tables.cells import Decimals
from pydplib.web import uploads
from pydplib.web.tables.models import TableUpload
from pydplib.web.uploads import MOST_COLUMNS, MOST_ROWS, Received

_PARQUET = b"PAR1"
_MEMORY = "512MB"


def receive(upload: Any, key: str, *, sheet: str | None = None) -> Received:
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
    if upload.size > uploads.MOST_BYTES:
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
    source = parquet_source(exact_name(raw))
    try:
        with open_connection(memory_limit=_MEMORY, keep_to=(uploads.folder(),)) as connection:
            names = connection.sql(f"SELECT * FROM {source} LIMIT 0").columns
            check_parquet_names(connection, exact_name(raw))
            rows = int(connection.execute(f"SELECT count(*) FROM {source}").fetchall()[0][0])
            if not rows:
                raise DataError("The file has names of columns, but no rows.")
            if rows > MOST_ROWS or len(names) > MOST_COLUMNS:
                raise DataError(f"The file has more than {MOST_ROWS} rows or {MOST_COLUMNS} columns. Split it.")
            os.close(os.open(plain, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600))
            cells = ", ".join(f"CAST({sql_name(name)} AS VARCHAR) AS {sql_name(name)}" for name in names)
            connection.execute(
                f"COPY (SELECT {cells} FROM {source}) TO {sql_text(str(plain))} "
                "(FORMAT csv, HEADER, NULLSTR '', USE_TMP_FILE false)"
            )
            os.chmod(plain, 0o600)
    except duckdb.Error:
        raise DataError("The Parquet file cannot be read. Check that it is complete, or save it as CSV.") from None
    return Received("csv", rows, tuple(names))


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


def remove_uploads(found: Any) -> int:
    """Delete uploads with their files; returns how many."""
    keys = list(found.values_list("key", flat=True))
    for key in keys:
        uploads.remove(key)
    found.delete()
    return len(keys)
