"""Tables as people keep them: CSV of any separator, decimal comma and encoding, Excel sheets, Parquet."""

# Names and paths enter SQL through identifier() and literal() only.
# ruff: noqa: S608
from __future__ import annotations

import os
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, TypeAlias

import click

from pydplib._duckdb_files import check_parquet_names, csv_source, exact_name, parquet_source
from pydplib._table_text import encoding_of, header_of, sheet_to_csv, write_utf8
from pydplib.cli._progress import waiting
from pydplib.cli._sql import identifier, literal
from pydplib.errors import DataError, MissingExtraError, ParameterError, PydplibError, column_hint, import_extra

Format: TypeAlias = Literal["csv", "parquet", "excel"]
Kind: TypeAlias = Literal["whole", "number", "comma", "date", "german date", "time", "text"]

# Codes such as 01067 are texts: as a number they would lose their zeros.
_PATTERNS: dict[Kind, str] = {
    "whole": r"-?(0|[1-9][0-9]{0,17})",
    "number": r"-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?",
    "comma": r"-?((0|[1-9][0-9]*)|[1-9][0-9]{0,2}(\.[0-9]{3})+)(,[0-9]+)?",
    "date": r"[0-9]{4}-[0-9]{2}-[0-9]{2}",
    "german date": r"[0-9]{1,2}\.[0-9]{1,2}\.[0-9]{4}",
    "time": r"[0-9]{4}-[0-9]{2}-[0-9]{2}[ T][0-9]{2}:[0-9]{2}(:[0-9]{2}(\.[0-9]+)?)?",
}
_CASTS: dict[Kind, str] = {
    "whole": "TRY_CAST({} AS BIGINT)",
    "number": "TRY_CAST({} AS DOUBLE)",
    "comma": "TRY_CAST(replace(replace({}, '.', ''), ',', '.') AS DOUBLE)",
    "date": "TRY_CAST({} AS DATE)",
    "german date": "CAST(try_strptime({}, '%d.%m.%Y') AS DATE)",
    "time": "TRY_CAST({} AS TIMESTAMP)",
}


def input_file(name: str) -> str:
    """Return a file to read: the name itself, or for ``-`` a private copy of standard input, gone with the command."""
    if name != "-":
        if Path(name).is_dir():
            raise DataError(f"'{name}' is a folder. Name a file in it.")
        return name
    stream = sys.stdin.buffer
    start = stream.read(4)
    if not start:
        raise DataError("Standard input is empty: there is no table to read.")
    suffix = ".parquet" if start == b"PAR1" else ".xlsx" if start == b"PK\x03\x04" else ".csv"
    folder = tempfile.TemporaryDirectory(prefix="pydplib-")  # readable by its owner alone
    click.get_current_context().find_root().call_on_close(folder.cleanup)
    path = Path(folder.name) / f"stdin{suffix}"
    with path.open("wb") as copy:
        copy.write(start)
        shutil.copyfileobj(stream, copy)
    return str(path)


class InputFile(click.Path):
    """A file that a command reads: a missing one ends with the same code in every command, ``-`` is standard input.

    Args:
        reads_dash: False where the command reads standard input by itself.
        path_type: What the command gets: a ``Path``, or a text.
    """

    name = "file"

    def __init__(self, *, reads_dash: bool = True, path_type: type[Path] | type[str] = Path) -> None:
        super().__init__(dir_okay=False, path_type=path_type)
        self._reads_dash = reads_dash

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return the path of a file that is there."""
        given = os.fspath(value)
        if given == "-" and not self._reads_dash:
            return self.coerce_path_result(given)
        path = input_file(given)
        if not Path(path).exists():
            raise DataError(f"There is no file '{value}'. Check its name.")
        return super().convert(path, param, ctx)


@dataclass(frozen=True)
class TableFile:
    """An open table: a DuckDB relation with typed columns, and how the file writes them. Its repr shows no rows.

    Attributes:
        path: The file.
        format: How it is kept.
        relation: The rows, still in the file.
        columns: Name -> kind of its values.
        separator: What separates the columns of a CSV.
        cells: Returns a relation with some columns as they stand in the file; None for Parquet, which has no spellings.
    """

    path: Path
    format: Format
    relation: Any
    columns: dict[str, Kind]
    separator: str = ","
    cells: Callable[[Sequence[str]], Any] | None = None

    def __repr__(self) -> str:
        return f"TableFile({self.path.name!r}, {len(self.columns)} columns)"

    @property
    def commas(self) -> frozenset[str]:
        """The columns that are written with a decimal comma."""
        return frozenset(name for name, kind in self.columns.items() if kind == "comma")

    def check(self, names: Sequence[str], what: str) -> None:
        """Raise ``ParameterError`` with a suggestion for a name that the table does not have."""
        for name in names:
            if name not in self.columns:
                raise ParameterError(f"The table has no column '{name}' ({what}).{column_hint(name, self.columns)}")

    def rows(self) -> int:
        """Return the number of rows."""
        with engine_errors(self.format):
            return int(self.relation.count("*").fetchall()[0][0])

    def frame(self, names: Sequence[str] | None = None) -> Any:
        """Load columns (by default all) into a data frame of a library that is installed."""
        return self._load(self.relation if names is None else self.relation.project(", ".join(map(identifier, names))))

    def seen(self, names: Sequence[str], apart: Sequence[str]) -> Any:
        """Load columns for somebody who looks at the file: cells of ``apart`` are alike only if they are written so."""
        from pydplib.anonymity.spellings import SeenFrame

        return SeenFrame(self.frame(names), None if self.cells is None else self._load(self.cells(apart)))

    def _load(self, wanted: Any) -> Any:
        with waiting(f"Reading {self.path.name}"), engine_errors(self.format):
            for library, load in (("pyarrow", "to_arrow_table"), ("polars", "pl"), ("pandas", "df")):
                try:
                    import_extra(library, what="", extra="all")
                except MissingExtraError:
                    continue
                return getattr(wanted, load)()
        raise ParameterError("Loading a table needs PyArrow, Polars or pandas. Install one: pip install pyarrow")


class Tables:
    """Opens tables through one DuckDB connection.

    Args:
        workspace: A private folder for copies in UTF-8 and for whatever does not fit into memory.
    """

    def __init__(self, workspace: Path) -> None:
        import duckdb

        self.workspace = workspace
        self.connection = duckdb.connect()
        self.connection.execute(f"SET temp_directory={literal(str(workspace / 'spill'))}")
        self._copies = 0

    def close(self) -> None:
        """Close the connection."""
        self.connection.close()

    def open(self, path: Path, *, sheet: str | None = None) -> TableFile:
        """Look at a file: how it is written, which columns it has, and what they hold.

        Args:
            path: A CSV (also ``.gz``), Excel or Parquet file.
            sheet: The sheet of a workbook that has several.
        """
        with waiting(f"Reading {path.name}"):
            return self._open(path, sheet)

    def _open(self, path: Path, sheet: str | None) -> TableFile:
        kind = _format_of(path)
        if sheet is not None and kind != "excel":
            raise ParameterError(f"--sheet is for Excel files; '{path.name}' is none.")
        if kind == "parquet":
            with engine_errors(kind):
                check_parquet_names(self.connection, exact_name(path))
                relation = self.connection.sql(f"FROM {parquet_source(exact_name(path))}")
                types = zip(relation.columns, map(str, relation.types), strict=True)
                return TableFile(path, kind, relation, {name: _parquet_kind(word) for name, word in types})
        text, separator = path, ","
        if kind == "excel":
            text = self._copy()
            sheet_to_csv(path, sheet, text)
        else:
            encoding = encoding_of(path)
            if encoding != "utf-8":
                text = self._copy()
                write_utf8(path, encoding, text)
        header, separator = header_of(text, "," if kind == "excel" else None)
        scan = _scan(text, len(header), separator)
        with engine_errors(kind):
            kinds = self._kinds(scan, len(header), comma=kind == "csv" and separator != ",")
            selected = ", ".join(f"{_cast(f'c{i}', kinds[i])} AS {identifier(name)}" for i, name in enumerate(header))
            relation = self.connection.sql(f"SELECT {selected} FROM {scan}")

        def cells(names: Sequence[str]) -> Any:
            source = scan
            if kind == "excel":
                copy = self._copy()
                sheet_to_csv(path, sheet, copy, apart=True)
                source = _scan(copy, len(header), separator)
            shown = ", ".join(f"c{header.index(name)} AS {identifier(name)}" for name in names)
            return self.connection.sql(f"SELECT {shown} FROM {source}")

        return TableFile(path, kind, relation, dict(zip(header, kinds, strict=True)), separator, cells)

    def _copy(self) -> Path:
        self._copies += 1
        return self.workspace / f"table{self._copies}.csv"

    def _kinds(self, scan: str, columns: int, *, comma: bool) -> list[Kind]:
        """Find out in one pass what every column holds: the first kind that fits all of its values."""
        counts = []
        for i in range(columns):
            cell = f"nullif(trim(c{i}), '')"
            counts.append(f"count({cell})")
            counts.append(f"count(*) FILTER (contains({cell}, ','))")
            for kind, pattern in _PATTERNS.items():
                good = f"regexp_full_match({cell}, {literal(pattern)}) AND {_CASTS[kind].format(cell)} IS NOT NULL"
                counts.append(f"count(*) FILTER ({good})")
        # fetchall, not fetchone: a connection with an unfinished result takes no other work.
        (found,) = self.connection.execute(f"SELECT {', '.join(counts)} FROM {scan}").fetchall()
        width = 2 + len(_PATTERNS)
        out: list[Kind] = []
        for i in range(columns):
            present, with_comma, *fitting = found[i * width : (i + 1) * width]
            fitting_all: list[Kind] = [kind for kind, n in zip(_PATTERNS, fitting, strict=True) if n == present]
            # A comma is a decimal comma only where it does not separate columns, and where there is one.
            possible = [kind for kind in fitting_all if kind != "comma" or (comma and with_comma)]
            out.append(possible[0] if present and possible else "text")
        return out


@contextmanager
def open_tables() -> Iterator[Tables]:
    """Yield a ``Tables`` with a private folder that disappears afterwards; Ctrl-C ends a query of DuckDB's too."""
    with tempfile.TemporaryDirectory(prefix="pydplib-") as folder:
        tables = Tables(Path(folder))
        try:
            yield tables
        except RuntimeError as error:
            # DuckDB's way of passing on Ctrl-C.
            if not isinstance(error, PydplibError) and "interrupt" in str(error).lower():
                raise KeyboardInterrupt from None
            raise
        finally:
            tables.close()


@contextmanager
def engine_errors(kind: Format) -> Iterator[None]:
    """Turn DuckDB's errors, which quote lines of the file, into sentences that do not."""
    import duckdb

    try:
        yield
    except duckdb.OutOfMemoryException:
        raise DataError("There is not enough memory (or disk) for this file.") from None
    except duckdb.InterruptException:
        raise KeyboardInterrupt from None
    except duckdb.Error:
        if kind == "parquet":
            raise DataError("The file cannot be read as Parquet. Check that it is complete.") from None
        raise DataError(
            "The file cannot be read to its end: some lines have more or fewer columns than the first, or a quote is "
            "not closed. Correct the file first."
        ) from None


def _scan(path: Path, columns: int, separator: str) -> str:
    """Return the SQL that reads a CSV as texts; a quoted nothing is a text, not a missing cell."""
    listed = ", ".join(f"'c{i}': 'VARCHAR'" for i in range(columns))
    return csv_source(
        exact_name(path),
        options=f"auto_detect=false, header=true, columns={{{listed}}}, delim={literal(separator)}, "
        "allow_quoted_nulls=false, max_line_size=20000000",
    )


def _cast(name: str, kind: Kind) -> str:
    cell = f"nullif(trim({name}), '')"
    # Texts keep their spaces, numbers and dates do not need them.
    return f"CASE WHEN {cell} IS NULL THEN NULL ELSE {name} END" if kind == "text" else _CASTS[kind].format(cell)


def _format_of(path: Path) -> Format:
    try:
        with path.open("rb") as file:
            start = file.read(8)
    except OSError:
        raise DataError(f"The file '{path.name}' cannot be read. Check its name and rights.") from None
    if not start:
        raise DataError(f"The file '{path.name}' is empty: not even a line with the names of the columns.")
    if start[:4] == b"PAR1":
        return "parquet"
    if start[:4] == b"PK\x03\x04":
        return "excel"
    named = {".parquet": "Parquet", ".pq": "Parquet", ".xlsx": "an Excel file"}.get(path.suffix.lower())
    if named is not None:
        raise DataError(f"'{path.name}' cannot be read as {named}. Check that it is complete.")
    if start == b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1":
        raise DataError(f"'{path.name}' is in Excel's old format. Save it as .xlsx or CSV first.")
    return "csv"


def _parquet_kind(sql_type: str) -> Kind:
    if "INT" in sql_type and "INTERVAL" not in sql_type:
        return "whole"
    if sql_type in ("FLOAT", "DOUBLE") or sql_type.startswith("DECIMAL"):
        return "number"
    if sql_type == "DATE":
        return "date"
    return "time" if sql_type.startswith("TIMESTAMP") else "text"
