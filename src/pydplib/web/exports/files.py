"""The files of an export: Parquet, CSV that no spreadsheet runs, and the private trace for later exports."""

from __future__ import annotations

import csv
import hashlib
import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import IO, TYPE_CHECKING

from django.conf import settings

from pydplib._csv_text import safe_cell
from pydplib.anonymity import Trace
from pydplib.errors import DataError, ParameterError
from pydplib.web.exports.models import Export

if TYPE_CHECKING:
    import pyarrow

KINDS = {"csv": "text/csv; charset=utf-8", "parquet": "application/vnd.apache.parquet"}
"""Kinds of files that may leave, with their types."""

_TRACE = "trace"
_FRESH = 600
_CHUNK = 5_000


def folder() -> Path:
    """Return the private folder of exports."""
    path = Path(settings.CONFIGURATION.home) / "exports"
    path.mkdir(parents=True, exist_ok=True, mode=0o700)
    return path


def path_of(export: Export, kind: str) -> Path:
    """Return where a file of an export lies."""
    return folder() / f"{export.file}.{kind}"


def trace_key() -> bytes:
    """Return the server's key of traces: they tell nothing without it."""
    key: bytes = settings.CONFIGURATION.key("traces")
    return key


def write(stem: str, table: pyarrow.Table, trace: Trace | None) -> dict[str, str]:
    """Write the files of an export and return the digests of those that may leave.

    Args:
        stem: The name of the files, new for every run: a worker that was taken for gone cannot overwrite them.
        table: The anonymized table (PyArrow).
        trace: The private trace, if there is one.
    """
    import pyarrow.parquet as parquet

    with _private(folder() / f"{stem}.parquet") as file:
        parquet.write_table(table, file, compression="zstd")
    with _private(folder() / f"{stem}.csv") as file:
        for part in csv_parts(table):
            file.write(part.encode())
    if trace is not None:
        trace.save(folder() / f"{stem}.{_TRACE}")
    return {kind: _digest(folder() / f"{stem}.{kind}") for kind in KINDS}


def csv_parts(table: pyarrow.Table) -> Iterator[str]:
    """Yield the table as CSV piece by piece; texts that begin like a formula are made harmless."""
    import io

    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\r\n")
    writer.writerow([safe_cell(name) for name in table.column_names])
    for batch in table.to_batches(max_chunksize=_CHUNK):
        for row in zip(*(column.to_pylist() for column in batch.columns), strict=True):
            writer.writerow([safe_cell(cell) for cell in row])
        yield out.getvalue()
        out.seek(0)
        out.truncate()
    yield out.getvalue()


def check_file(export: Export, kind: str) -> Path:
    """Return the path of a file that may leave, if it is still the one that was checked.

    Raises:
        DataError: It is gone, or was changed.
    """
    path = path_of(export, kind)
    if not export.file or not path.is_file():
        raise DataError("The file of this export is gone. Ask the owner to make it again.")
    if _digest(path) != export.sha256.get(kind):
        raise DataError("The file of this export was changed since it was checked. Ask the owner to make it again.")
    return path


def load_table(export: Export) -> object:
    """Return the anonymized table (PyArrow)."""
    import pyarrow.parquet as parquet

    return parquet.read_table(check_file(export, "parquet"))


def load_trace(export: Export) -> Trace:
    """Return the private trace of an export."""
    try:
        return Trace.load(path_of(export, _TRACE), key=trace_key())
    except (ParameterError, DataError):
        raise DataError(
            f"The private trace of the export '{export.title}' is gone or damaged, so nothing can be made that holds "
            "together with it. Restore it from a backup."
        ) from None


def remove(stem: str) -> None:
    """Delete the files of an export."""
    if stem:
        for kind in (*KINDS, _TRACE):
            (folder() / f"{stem}.{kind}").unlink(missing_ok=True)


def remove_stray_files() -> int:
    """Delete files that no export names: what a crash or a lost worker left."""
    known = set(Export.objects.exclude(file="").values_list("file", flat=True))
    gone = 0
    for path in folder().iterdir():
        if path.stem not in known and path.is_file() and time.time() - path.stat().st_mtime > _FRESH:
            path.unlink(missing_ok=True)
            gone += 1
    return gone


def _private(path: Path) -> IO[bytes]:
    return os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb")


def _digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
