"""One column of a CSV or Parquet file, read and replaced through DuckDB; all other columns stay as they are."""

# Names and paths enter SQL through identifier() and literal() only.
# ruff: noqa: S608
from __future__ import annotations

import gzip
import os
import re
import secrets
import shutil
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from pydplib._duckdb_files import csv_source, exact_name, parquet_source
from pydplib.cli._sql import SQL_TYPES, asked_kind, fits, identifier, literal, parquet_kind, sql_ready
from pydplib.errors import DataError, EngineError, ParameterError, column_hint

Format: TypeAlias = Literal["csv", "parquet"]
Progress: TypeAlias = Callable[[float], None]
"""Told how far a query is, in percent."""

_BLANK_TO_NULL = "nullif(trim({}), '')"
_WHOLE = r"\s*[+-]?[0-9]{1,18}\s*"
_COMMA = r"\s*[+-]?[0-9]+(,[0-9]+)?\s*"
_DATE = r"\s*[0-9]{4}-[0-9]{2}-[0-9]{2}\s*"


@dataclass(frozen=True, slots=True)
class Table:
    """A file that was looked at: how to read it, and which columns it has.

    Attributes:
        path: Where it is.
        format: CSV or Parquet.
        delimiter: What separates the columns of a CSV.
        columns: Name -> type in DuckDB's words; text for everything in a CSV.
    """

    path: Path
    format: Format
    delimiter: str
    columns: dict[str, str]

    @property
    def scan(self) -> str:
        """The SQL that reads the file; a CSV is read as text, so that `007` stays `007`."""
        name = exact_name(self.path)
        if self.format == "parquet":
            return parquet_source(name)
        return csv_source(name, options=f"all_varchar=true, header=true, delim={literal(self.delimiter)}")


class ColumnFiles:
    """A DuckDB connection that reads and writes single columns.

    Args:
        workspace: A private directory for whatever does not fit into memory.
        progress: Told how far a long query is.
    """

    def __init__(self, workspace: Path, progress: Progress) -> None:
        import duckdb

        self._duckdb = duckdb
        self._connection = duckdb.connect()
        self._progress = progress
        self._execute(f"SET temp_directory={literal(str(workspace / 'spill'))}")
        self._execute("SET enable_progress_bar=true")
        self._execute("SET enable_progress_bar_print=false")

    def close(self) -> None:
        """Close the connection."""
        self._connection.close()

    def open(self, path: Path, format: Format | None = None) -> Table:
        """Look at a file: its format, separator and columns."""
        kind = format or _guess(path)
        delimiter = ","
        if kind == "csv":
            if path.stat().st_size == 0:
                raise DataError("The file is empty: not even a line with the names of the columns.")
            delimiter = _delimiter(path)
        table = Table(path, kind, delimiter, {})
        described = self._fetch(f"DESCRIBE SELECT * FROM {table.scan}", kind)
        return Table(path, kind, delimiter, {row[0]: row[1] for row in described})

    def read(self, table: Table, column: str, data_type: str | None) -> Reading:
        """Return one column as a NumPy array of its own kind.

        Args:
            table: The file.
            column: The column's name.
            data_type: A data type of the paper, or None to find it out.
        """
        if column not in table.columns:
            raise ParameterError(f"The file has no column '{column}'.{column_hint(column, table.columns)}")
        name = identifier(column)
        kind, comma = self._kind(table, column, data_type)
        if table.format == "csv" or kind != "text":
            text = f"replace({name}, ',', '.')" if comma else name
            name = f"CAST({_BLANK_TO_NULL.format(text) if table.format == 'csv' else name} AS {SQL_TYPES[kind]})"
        values = self._run(f"SELECT {name} AS value FROM {table.scan}").fetchnumpy()["value"]
        return Reading(values, kind, comma)

    def _kind(self, table: Table, column: str, data_type: str | None) -> tuple[str, bool]:
        if table.format == "parquet":
            found = parquet_kind(table.columns[column])
            return (asked_kind(data_type) or found) if found == "text" else found, False
        name = identifier(column)
        text = _BLANK_TO_NULL.format(name)
        present, whole, number, flag, date, comma = self._run(
            f"SELECT count({text}), "
            f"count(*) FILTER (regexp_full_match({text}, '{_WHOLE}')), "
            f"count(TRY_CAST({text} AS DOUBLE)), "
            f"count(*) FILTER (lower(trim({text})) IN ('true', 'false')), "
            f"count(*) FILTER (regexp_full_match({text}, '{_DATE}') AND TRY_CAST({text} AS DATE) IS NOT NULL), "
            f"count(*) FILTER (regexp_full_match({text}, '{_COMMA}')) FROM {table.scan}"
        ).fetchone()
        counts = {"int": whole, "float": number, "bool": flag, "date": date}
        # A decimal comma is looked for only where columns are not separated by commas themselves.
        has_comma = table.delimiter != "," and comma == present and number < present
        asked = asked_kind(data_type)
        if asked == "text":
            return "text", False
        if asked is not None:
            if counts[asked] < present and not (asked == "float" and has_comma):
                raise DataError(
                    f"Not every value of the column can be read as {asked}. Leave --data-type out, or use string."
                )
            return asked, has_comma
        if has_comma:
            return "float", True
        return next((kind for kind, count in counts.items() if count == present), "text") if present else "float", False

    def write(
        self,
        table: Table,
        column: str,
        reading: Reading,
        values: NDArray[Any],
        *,
        keep: NDArray[np.bool_] | None,
        output: Path,
        format: Format,
        only_column: bool,
    ) -> None:
        """Write the file with one column replaced; the output appears whole, or not at all."""
        released: dict[str, NDArray[Any]] = {"value": sql_ready(values, keep)}
        if keep is not None:
            released["keep"] = keep
        self._connection.register("released", released)
        name = identifier(column)
        value = self._value(table, column, reading, values, format)
        columns = f"{value} AS {name}" if only_column else f"source.* REPLACE ({value} AS {name})"
        query = (
            f"SELECT {columns} FROM {table.scan} AS source POSITIONAL JOIN released"
            f"{' WHERE released.keep' if keep is not None else ''}"
        )
        options = f"FORMAT csv, HEADER, DELIMITER {literal(table.delimiter)}" if format == "csv" else "FORMAT parquet"
        partial = output.with_name(f".{output.name}.{secrets.token_hex(6)}.part")
        try:
            self._run(f"COPY ({query}) TO {literal(str(partial))} ({options})")
            os.replace(partial, output)
        except OSError as error:
            raise EngineError(f"The output cannot be written: {error.strerror}.") from None
        finally:
            partial.unlink(missing_ok=True)

    def _value(self, table: Table, column: str, reading: Reading, values: NDArray[Any], format: Format) -> str:
        if reading.kind == "text":
            return "released.value"
        if reading.comma:
            return "replace(CAST(released.value AS VARCHAR), '.', ',')"
        if table.format == "csv":
            return f"CAST(released.value AS {SQL_TYPES[reading.kind]})"
        native = table.columns[column]
        if reading.kind == "int" and not fits(values, native):
            native = "BIGINT"
        return f"CAST(released.value AS {'DOUBLE' if native.startswith('DECIMAL') else native})"

    def _run(self, sql: str) -> Any:
        """Run a long query in a thread, so that its progress can be shown."""
        from threading import Thread

        failed: list[BaseException] = []

        def work() -> None:
            try:
                self._execute(sql)
            except BaseException as error:  # re-raised below, in the thread that waits
                failed.append(error)

        thread = Thread(target=work, daemon=True)
        thread.start()
        try:
            while thread.is_alive():
                thread.join(0.1)
                self._progress(self._connection.query_progress())
        except BaseException:
            self._connection.interrupt()
            thread.join()
            raise
        if failed:
            raise failed[0]
        return self._connection

    def _fetch(self, sql: str, kind: Format) -> list[tuple[Any, ...]]:
        try:
            return self._connection.execute(sql).fetchall()
        except self._duckdb.Error:
            # DuckDB quotes the line that it could not read, so its own words are not repeated.
            raise DataError(
                f"The file cannot be read as {'CSV' if kind == 'csv' else 'Parquet'}. Check that it is one, complete, "
                "in UTF-8 and with the names of the columns in its first line; --format says which format it has."
            ) from None

    def _execute(self, sql: str) -> None:
        try:
            self._connection.execute(sql)
        except self._duckdb.OutOfMemoryException:
            raise EngineError("There is not enough memory (or disk) for this file.") from None
        except self._duckdb.IOException:
            raise EngineError("A file cannot be read or written. Check that its folder exists and is yours.") from None
        except self._duckdb.Error:
            raise DataError(
                "The file cannot be read to its end: some lines have more or fewer columns than the first, a quote is "
                "not closed, or the text is not UTF-8. Correct the file first."
            ) from None


@dataclass(frozen=True, slots=True)
class Reading:
    """A column as it was read: the values, their kind, and whether decimals are written with a comma."""

    values: NDArray[Any]
    kind: str
    comma: bool

    def __repr__(self) -> str:
        return f"Reading({self.kind}, {len(self.values)} values)"


def _delimiter(path: Path) -> str:
    """Return what separates the columns: whichever of , ; tab | the first line has most of, outside quotes."""
    opener = gzip.open if path.name.lower().endswith(".gz") else open
    try:
        with opener(path, "rb") as file:
            line = re.sub(rb'"[^"]*"', b"", file.readline(2**20))
    except OSError:
        raise DataError("The file cannot be read. Check that it is complete and not damaged.") from None
    return max(",;\t|", key=lambda mark: line.count(mark.encode()))


def _guess(path: Path) -> Format:
    with path.open("rb") as file:
        return "parquet" if file.read(4) == b"PAR1" else "csv"


def format_of_name(name: str) -> Format | None:
    """Return the format that a file's name says, if it says one."""
    lowered = name.lower()
    if lowered.endswith((".parquet", ".pq")):
        return "parquet"
    return "csv" if lowered.endswith((".csv", ".tsv", ".txt", ".csv.gz")) else None


def spool(stream: Any, path: Path) -> None:
    """Write a stream to a file: DuckDB reads a file twice, a pipe only once."""
    with path.open("wb") as file:
        shutil.copyfileobj(stream, file)


def send(path: Path) -> None:
    """Write a file to standard output."""
    with path.open("rb") as file:
        shutil.copyfileobj(file, sys.stdout.buffer)
    sys.stdout.buffer.flush()
