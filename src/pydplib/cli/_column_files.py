"""One column of a CSV, Excel or Parquet file, read and replaced through DuckDB; all other columns stay as they are."""

# Names and paths enter SQL through identifier() and literal() only.
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

from pydplib._csv_lines import lines_as_rows
from pydplib._duckdb_files import check_parquet_names, csv_source, exact_name, parquet_source
from pydplib._table_text import is_packed, sheet_to_csv
from pydplib.cli._csv_header import read_header
from pydplib.cli._sql import SQL_TYPES, asked_kind, fits, identifier, literal, parquet_kind, sql_ready
from pydplib.errors import DataError, EngineError, ParameterError, column_hint

Format: TypeAlias = Literal["csv", "parquet"]
Progress: TypeAlias = Callable[[float], None]
"""Told how far a query is, in percent."""

_BLANK_TO_NULL = "nullif(trim({}), '')"
_IS_TRUE = (
    "CASE WHEN lower(trim({0})) IN ('true', 'yes', 'y', '1') THEN true "
    "WHEN lower(trim({0})) IN ('false', 'no', 'n', '0') THEN false END"
)
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
        """The SQL that reads the file; a CSV is read as text, so that `007` stays `007` and `""` stays `""`."""
        name = exact_name(self.path)
        if self.format == "parquet":
            return parquet_source(name)
        # By places, since DuckDB would trim the names.
        places = ", ".join(f"'c{i}': 'VARCHAR'" for i in range(len(self.columns)))
        packed = ", compression='gzip'" if is_packed(self.path) else ""
        source = csv_source(
            name,
            options=f"auto_detect=false, header=true, columns={{{places}}}, delim={literal(self.delimiter)}, "
            f"allow_quoted_nulls=false, max_line_size=20000000{packed}",
        )
        named = ", ".join(f"c{i} AS {identifier(name)}" for i, name in enumerate(self.columns))
        return f"(SELECT {named} FROM {source})"


class ColumnFiles:
    """A DuckDB connection that reads and writes single columns.

    Args:
        workspace: A private directory for whatever does not fit into memory.
        progress: Told how far a long query is.
    """

    def __init__(self, workspace: Path, progress: Progress) -> None:
        import duckdb

        self._duckdb = duckdb
        self._workspace = workspace
        self._connection = duckdb.connect()
        self._progress = progress
        self._execute(f"SET temp_directory={literal(str(workspace / 'spill'))}")
        self._execute("SET enable_progress_bar=true")
        self._execute("SET enable_progress_bar_print=false")

    def close(self) -> None:
        """Close the connection."""
        self._connection.close()

    def open(
        self, path: Path, format: Format | None = None, *, sheet: str | None = None, multiline: bool = False
    ) -> Table:
        """Look at a file: its format, separator and columns. A sheet of a workbook is read as CSV."""
        if format is None and _is_workbook(path):
            copy = self._workspace / "sheet.csv"
            sheet_to_csv(path, sheet, copy)
            path, format, multiline = copy, "csv", True
        elif sheet is not None:
            raise ParameterError("--sheet is for Excel files; this file is none.")
        kind = format or _guess(path)
        if kind == "csv":
            path = lines_as_rows(path, self._workspace / "utf-8.csv", multiline=multiline)
            names, delimiter = read_header(path)
            table = Table(path, kind, delimiter, dict.fromkeys(names, "VARCHAR"))
            self._fetch(f"SELECT * FROM {table.scan} LIMIT 0", kind)
            return table
        described = self._fetch(f"DESCRIBE SELECT * FROM {Table(path, kind, ',', {}).scan}", kind)
        check_parquet_names(self._connection, exact_name(path))
        return Table(path, kind, ",", {row[0]: row[1] for row in described})

    def read(self, table: Table, column: str, data_type: str | None, *, public: str | None = None) -> Reading:
        """Return one column as a NumPy array of its own kind.

        Args:
            table: The file.
            column: The column's name.
            data_type: A data type of the paper, or None to find it out.
            public: The kind that public facts say, where no value may decide it: texts have no type of their own.
        """
        if column not in table.columns:
            raise ParameterError(f"The file has no column '{column}'.{column_hint(column, table.columns)}")
        name = identifier(column)
        kind, comma = self._kind(table, column, data_type, public)
        if table.format == "csv" or kind != "text":
            text = f"replace({name}, ',', '.')" if comma else name
            cell = _BLANK_TO_NULL.format(text) if table.format == "csv" else name
            of_words = kind == "bool" and table.format == "csv"
            name = f"({_IS_TRUE.format(cell)})" if of_words else f"CAST({cell} AS {SQL_TYPES[kind]})"
        values = self._run(f"SELECT {name} AS value FROM {table.scan}", "fetchnumpy")["value"]
        return Reading(values, kind, comma)

    def _kind(self, table: Table, column: str, data_type: str | None, public: str | None) -> tuple[str, bool]:
        if table.format == "parquet":
            found = parquet_kind(table.columns[column])
            return (asked_kind(data_type) or found) if found == "text" else found, False
        name = identifier(column)
        text = _BLANK_TO_NULL.format(name)
        present, whole, number, flag, date, comma, flag_words, either = self._run(
            f"SELECT count({text}), "
            f"count(*) FILTER (regexp_full_match({text}, '{_WHOLE}')), "
            f"count(TRY_CAST({text} AS DOUBLE)), "
            f"count(*) FILTER (lower({text}) IN ('true', 'false')), "
            f"count(*) FILTER (regexp_full_match({text}, '{_DATE}') AND TRY_CAST({text} AS DATE) IS NOT NULL), "
            f"count(*) FILTER (regexp_full_match({text}, '{_COMMA}')), "
            f"count({_IS_TRUE.format(text)}), "
            f"count(TRY_CAST(replace({text}, ',', '.') AS DOUBLE)) FROM {table.scan}",
            "fetchone",
        )
        counts = {"int": whole, "float": number, "bool": flag, "date": date}
        # A decimal comma is looked for only where columns are not separated by commas themselves.
        has_comma = table.delimiter != "," and comma == present and number < present
        asked = asked_kind(data_type) or public
        if asked == "text":
            return "text", False
        if public is not None and asked == "float":
            # No value may decide how decimals are written either: semicolons go with commas.
            has_comma = table.delimiter == ";"
            counts["float"] = either if has_comma else number
        if asked is not None:
            counts["bool"] = flag_words
            if counts[asked] < present and not (asked == "float" and has_comma and public is None):
                if asked == public == "bool":
                    raise ParameterError(
                        "A guarantee needs public facts: --bounds LOW,HIGH for numbers and dates, --categories A,B,C "
                        "for text. Only true/false needs none."
                    )
                words = {"int": "a whole number", "float": "a number", "bool": "true/false (or yes/no, y/n, 1/0)"}
                hint = "--data-type says what it is" if public else "Leave --data-type out, or use string"
                raise DataError(f"Not every value of the column can be read as {words.get(asked, 'a date')}. {hint}.")
            return asked, has_comma and asked == "float"
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
        csv = f"FORMAT csv, HEADER, DELIMITER {literal(delimiter or table.delimiter)}"
        options = f"{csv}, COMPRESSION {'gzip' if packed else 'none'}" if format == "csv" else "FORMAT parquet"
        try:
            self._run(f"COPY ({query}) TO {literal(str(output))} ({options})")
        except DataError:
            # The file was read to its end before.
            raise EngineError("The noisy column cannot be written in this format. Try another one.") from None

    def _value(self, table: Table, column: str, reading: Reading, values: NDArray[Any], format: Format) -> str:
        if reading.kind == "text" or values.dtype == object or (reading.kind == "int" and values.dtype.kind == "f"):
            return "released.value"  # whole numbers beyond 64 bits too, as decimals
        if reading.comma:
            return "replace(CAST(released.value AS VARCHAR), '.', ',')"
        if table.format == "csv":
            return f"CAST(released.value AS {SQL_TYPES[reading.kind]})"
        native = table.columns[column]
        if reading.kind == "int" and not fits(values, native):
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

    def _fetch(self, sql: str, kind: Format) -> list[tuple[Any, ...]]:
        try:
            return self._connection.execute(sql).fetchall()
        except self._duckdb.Error:
            # DuckDB quotes the line that it could not read, so its own words are not repeated.
            raise DataError(
                f"The file cannot be read as {'CSV' if kind == 'csv' else 'Parquet'}. Check that it is one, complete, "
                "in UTF-8 and with the names of the columns in its first line; --format says which format it has."
            ) from None

    def _execute(self, sql: str, fetch: str = "fetchall") -> Any:
        try:
            return getattr(self._connection.execute(sql), fetch)()
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


def _guess(path: Path) -> Format:
    with path.open("rb") as file:
        return "parquet" if file.read(4) == b"PAR1" else "csv"


def _is_workbook(path: Path) -> bool:
    with path.open("rb") as file:
        return file.read(4) == b"PK\x03\x04"


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
