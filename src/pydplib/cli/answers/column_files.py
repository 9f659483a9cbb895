"""One column of a CSV, Excel or Parquet file, read and replaced through DuckDB; all other columns stay as they are."""

# Names and paths enter SQL through sql_name() and sql_text() only.
# ruff: noqa: S608
from __future__ import annotations

import shutil
import sys
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from pydplib._duckdb_files import sql_name, sql_text
from pydplib.errors import DataError, EngineError, ParameterError, column_hint
from pydplib.tables import CsvOptions, TableFile, Tables
from pydplib.tables.cells import NUMBER_PATTERN, Decimals, day_sql, number_sql, truth_sql

Format: TypeAlias = Literal["csv", "parquet"]
Progress: TypeAlias = Callable[[float], None]
"""Told how far a query is, in percent."""

_SQL_TYPES = {"int": "BIGINT", "float": "DOUBLE", "bool": "BOOLEAN", "date": "DATE", "text": "VARCHAR"}
_KINDS = {"whole": "int", "number": "float", "comma": "float", "flag": "bool", "text": "text"}  # all else: dates
_IN_WORDS = {"int": "a whole number", "float": "a number", "bool": "true/false (or yes/no, y/n, 1/0)"}

_WHOLE_NUMBERS = {
    "TINYINT": 8,
    "SMALLINT": 16,
    "INTEGER": 32,
    "BIGINT": 64,
    "UTINYINT": -8,
    "USMALLINT": -16,
    "UINTEGER": -32,
    "UBIGINT": -64,
}


class ColumnFiles:
    """A DuckDB connection that reads and writes single columns.

    Args:
        workspace: A private directory for whatever does not fit into memory.
        progress: Told how far a long query is.
    """

    def __init__(self, workspace: Path, progress: Progress) -> None:
        import duckdb

        self._duckdb = duckdb
        self._tables = Tables(workspace)
        self._connection = self._tables.connection
        self._progress = progress
        self._execute("SET enable_progress_bar=true")
        self._execute("SET enable_progress_bar_print=false")

    def close(self) -> None:
        """Close the connection."""
        self._tables.close()

    def open(
        self,
        path: Path,
        format: Format | None = None,
        *,
        sheet: str | None = None,
        options: CsvOptions | None = None,
    ) -> TableFile:
        """Look at a file: its format, separator and columns. A sheet of a workbook is read as CSV."""
        return self._tables.open(path, sheet=sheet, options=options, format=format)

    def read(self, table: TableFile, column: str, data_type: str | None, *, public: str | None = None) -> ColumnReading:
        """Return one column as a NumPy array of its own kind.

        Args:
            table: The file.
            column: The column's name.
            data_type: A data type of the paper, or None to find it out.
            public: The kind that public facts say, where no value may decide it: texts have no type of their own.
        """
        if column not in table.columns:
            raise ParameterError(f"The file has no column '{column}'.{column_hint(column, table.columns)}")
        cell, found = sql_name(column), table.columns[column]
        asked = _asked_kind(data_type) or public
        if table.texts is None:
            native = _parquet_kind(_native_type(table, column))
            kind = asked if native == "text" and asked is not None else native
            check = native == "text" and kind != "text"
            value = _value_sql(cell, kind, ".") if check else f"CAST({cell} AS {_SQL_TYPES[kind]})"
        else:
            kind = asked or _KINDS.get(found, "date")
            value, check = _value_sql(cell, kind, table.decimals), kind != "text"
        source = _scan(table)
        if check:
            text = f"nullif(trim({cell}), '')"
            present, read = self._run(f"SELECT count({text}), count({value}) FROM {source}", "fetchone")
            if not present and asked is None:
                kind, value = "float", _value_sql(cell, "float", table.decimals)
            if read < present:
                _refuse(kind, public)
        values = self._run(f"SELECT {value} AS value FROM {source}", "fetchnumpy")["value"]
        # No value may decide how decimals are written either, where a guarantee is claimed: semicolons go with commas.
        comma = found == "comma" if public is None else table.decimals != "." and table.separator == ";"
        return ColumnReading(values, kind, comma and kind == "float" and table.texts is not None)

    def write(
        self,
        table: TableFile,
        column: str,
        reading: ColumnReading,
        values: NDArray[Any],
        *,
        keep: NDArray[np.bool_] | None,
        output: Path,
        format: Format,
        only_column: bool,
        delimiter: str | None = None,
        packed: bool = False,
    ) -> None:
        """Write the file with one column replaced.

        Args:
            table: The file.
            column: The column that is replaced.
            reading: How it was read.
            values: The noisy values.
            keep: Which rows are written; None for all.
            output: Where to.
            format: CSV or Parquet.
            only_column: Whether all other columns are left out.
            delimiter: What separates the columns of a CSV, if not what the input has.
            packed: Whether a CSV is compressed.
        """
        released: dict[str, NDArray[Any]] = {"value": _sql_ready(values, keep)}
        if keep is not None:
            released["keep"] = keep
        self._connection.register("released", released)
        name = sql_name(column)
        value = self._value(table, column, reading, values, format)
        columns = f"{value} AS {name}" if only_column else f"source.* REPLACE ({value} AS {name})"
        query = (
            f"SELECT {columns} FROM {_scan(table)} AS source POSITIONAL JOIN released"
            f"{' WHERE released.keep' if keep is not None else ''}"
        )
        csv = f"FORMAT csv, HEADER, DELIMITER {sql_text(delimiter or table.separator)}"
        options = f"{csv}, COMPRESSION {'gzip' if packed else 'none'}" if format == "csv" else "FORMAT parquet"
        try:
            self._run(f"COPY ({query}) TO {sql_text(str(output))} ({options})")
        except DataError:
            # The file was read to its end before.
            raise EngineError("The noisy column cannot be written in this format. Try another one.") from None

    def _value(
        self, table: TableFile, column: str, reading: ColumnReading, values: NDArray[Any], format: Format
    ) -> str:
        if reading.kind == "text" or values.dtype == object or (reading.kind == "int" and values.dtype.kind == "f"):
            return "released.value"  # whole numbers beyond 64 bits too, as decimals
        if reading.comma:
            return "replace(CAST(released.value AS VARCHAR), '.', ',')"
        if table.texts is not None:
            if reading.kind == "bool" and column in table.words:
                yes, no = table.words[column]
                return f"CASE WHEN released.value THEN {sql_text(yes or 'true')} ELSE {sql_text(no or 'false')} END"
            return f"CAST(released.value AS {_SQL_TYPES[reading.kind]})"
        native = _native_type(table, column)
        if reading.kind == "int" and not _fits(values, native):
            native = "BIGINT"
        return f"CAST(released.value AS {'DOUBLE' if native.startswith('DECIMAL') else native})"

    def _run(self, sql: str, fetch: Literal["fetchall", "fetchone", "fetchnumpy"] = "fetchall") -> Any:
        """Run a long query in a thread, so that its progress can be shown and Ctrl-C is heard at once.

        Fetching is part of it: DuckDB does most of its work there.
        """
        from threading import Event, Thread

        failed: list[BaseException] = []
        found: list[Any] = []

        def work() -> None:
            try:
                found.append(self._execute(sql, fetch))
            except BaseException as error:  # re-raised below, in the thread that waits
                failed.append(error)
            finally:
                ended.set()

        # An event, not join(): a join that Ctrl-C interrupts takes the thread for ended.
        ended = Event()
        try:
            try:
                Thread(target=work, daemon=True).start()
            except RuntimeError:  # no room for a thread
                ended.set()
                raise
            while not ended.wait(0.1):
                with suppress(self._duckdb.Error):  # it is only about how far the query is
                    self._progress(self._connection.query_progress())
        except BaseException:
            # Until it has really ended: closing a connection at work would take the process down.
            while not ended.wait(0.05):
                self._connection.interrupt()
            raise
        if failed:
            raise failed[0]
        return found[0]

    def _execute(self, sql: str, fetch: str = "fetchall") -> Any:
        try:
            return getattr(self._connection.execute(sql), fetch)()
        except self._duckdb.OutOfMemoryException:
            raise EngineError("There is not enough memory (or disk) for this file.") from None
        except self._duckdb.IOException:
            raise EngineError("A file cannot be read or written. Check that its folder exists and is yours.") from None
        except self._duckdb.Error:
            raise DataError(
                "The file cannot be read to its end: some lines have more or fewer columns than the first. Correct the "
                "file first; if quoted cells reach over several lines, say so with --multiline."
            ) from None


@dataclass(frozen=True, slots=True)
class ColumnReading:
    """A column as it was read: the values, their kind, and whether decimals are written with a comma."""

    values: NDArray[Any]
    kind: str
    comma: bool

    def __repr__(self) -> str:
        return f"Reading({self.kind}, {len(self.values)} values)"


def _scan(table: TableFile) -> str:
    """Return the SQL that reads a file; a CSV is read as text, so that `007` stays `007` and `""` stays `""`."""
    return table.texts or f"({table.relation.sql_query()})"


def _native_type(table: TableFile, column: str) -> str:
    return str(table.relation.types[table.relation.columns.index(column)])


def _value_sql(cell: str, kind: str, decimals: Decimals) -> str:
    """Return the SQL of a text as a value of a kind; what is none is missing."""
    word = f"nullif(trim({cell}), '')"
    if kind == "bool":
        return truth_sql(cell)
    if kind == "date":
        return f"TRY_CAST({day_sql(word)} AS DATE)"
    if kind == "text":
        return f"CAST({word} AS VARCHAR)"
    number = f"({number_sql(word, decimals)})"
    pattern = r"[+-]?[0-9]{1,18}" if kind == "int" else NUMBER_PATTERN
    return (
        f"CASE WHEN regexp_full_match({number}, {sql_text(pattern)}) THEN TRY_CAST({number} AS {_SQL_TYPES[kind]}) END"
    )


def _refuse(kind: str, public: str | None) -> None:
    if kind == public == "bool":
        raise ParameterError(
            "A guarantee needs public facts: --bounds LOW,HIGH for numbers and dates, --categories A,B,C for text. "
            "Only true/false needs none."
        )
    hint = "--data-type says what it is" if public else "Leave --data-type out, or use string"
    raise DataError(f"Not every value of the column can be read as {_IN_WORDS.get(kind, 'a date')}. {hint}.")


def _asked_kind(data_type: str | None) -> str | None:
    """Return the kind that a data type of the paper asks for."""
    if data_type is None:
        return None
    return {"char": "text", "string": "text"}.get(data_type, data_type.removeprefix("numpy ").replace("integer", "int"))


def _parquet_kind(sql_type: str) -> str:
    """Return the kind of values that a Parquet column holds."""
    if sql_type in _WHOLE_NUMBERS:
        return "int"
    if sql_type in ("FLOAT", "DOUBLE") or sql_type.startswith("DECIMAL"):
        return "float"
    if sql_type == "BOOLEAN":
        return "bool"
    if sql_type == "DATE" or sql_type in ("TIMESTAMP", "TIMESTAMP_S", "TIMESTAMP_MS", "TIMESTAMP_NS"):
        return "date"
    if sql_type == "VARCHAR" or sql_type.startswith("ENUM"):
        return "text"
    raise DataError(
        f"Columns of type {sql_type.split('(')[0]} are not supported. Convert it to numbers, text, true/false or dates."
    )


def _fits(values: NDArray[Any], sql_type: str) -> bool:
    """Tell whether whole numbers fit a column's type; noise can need a wider one."""
    bits = _WHOLE_NUMBERS[sql_type]
    low, high = (0, 2**-bits - 1) if bits < 0 else (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1)
    return not len(values) or (low <= int(values.min()) and int(values.max()) <= high)


def _sql_ready(values: NDArray[Any], keep: NDArray[np.bool_] | None) -> NDArray[Any]:
    """Return values as DuckDB takes them, with a filler at the rows that are left out."""
    if values.dtype.kind == "M":
        values = values.astype("datetime64[us]")
    if values.dtype == object and len(values) and isinstance(values[0], int):
        values = values.astype(np.float64)  # whole numbers beyond 64 bits
    if keep is None:
        return values
    full = np.empty(len(keep), dtype=values.dtype)
    full[~keep] = "" if values.dtype == object else np.zeros((), dtype=values.dtype)
    full[keep] = values
    return full


def format_of_name(name: str) -> Format | None:
    """Return the format that a file's name says, if it says one."""
    lowered = name.lower()
    if lowered.endswith((".parquet", ".pq")):
        return "parquet"
    return "csv" if lowered.removesuffix(".gz").endswith((".csv", ".tsv", ".txt")) else None


def spool(stream: Any, path: Path) -> None:
    """Write a stream to a file: DuckDB reads a file twice, a pipe only once."""
    with path.open("wb") as file:
        shutil.copyfileobj(stream, file)


def send(path: Path) -> None:
    """Write a file to standard output."""
    if sys.stdout is None:
        raise EngineError("Standard output is closed. Say where the data go with --output.")
    with path.open("rb") as file:
        shutil.copyfileobj(file, sys.stdout.buffer)
    sys.stdout.buffer.flush()
