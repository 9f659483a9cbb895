"""Tables in files: CSV of any separator, decimal comma and encoding, JSON lines, Excel sheets, Parquet. One reader."""

# Names, texts and paths enter SQL through sql_name() and sql_text() only.
# ruff: noqa: S608
from __future__ import annotations

import glob
import os
import tempfile
import uuid
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal, TypeAlias

from pydplib._duckdb_files import (
    check_parquet_names,
    connect,
    exact_name,
    file_or_pattern,
    has_pattern,
    parquet_source,
    sql_name,
    sql_text,
)
from pydplib.errors import DataError, MissingExtraError, ParameterError, PydplibError, column_hint, import_extra
from pydplib.tables.cells import Decimals, Kind, decimals_of, kinds_found, kinds_sql, truth_sql, value_sql
from pydplib.tables.lines import (
    ENCODINGS,
    LONGEST_LINE,
    FileHead,
    Instead,
    check_head,
    is_packed,
    is_sound,
    lines_as_rows,
    private_file,
    read_head,
    unpack,
    write_sound,
)
from pydplib.tables.ndjson import file_lines, is_ndjson, ndjson_to_csv
from pydplib.tables.sheets import sheet_to_csv

Format: TypeAlias = Literal["csv", "parquet", "excel", "ndjson"]
Steps: TypeAlias = Callable[[str], AbstractContextManager[Any]]
"""Told what takes a while, as in ``with steps("Reading reports.csv")``."""


@dataclass(frozen=True, slots=True)
class CsvOptions:
    """What the owner says of a CSV file; what is None is read from its first line.

    Args:
        separator: What stands between cells.
        decimal: ``"."`` or ``","``; by default both, but the point alone where the comma separates cells.
        encoding: ``"utf-8"``, ``"latin-1"`` (read as Windows-1252) or ``"utf-16"``; by default each line is read as
            UTF-8 and, if it is none, as Windows-1252. UTF-16 is known by the file's first two bytes.
        multiline: Whether a quoted cell may reach over several lines. By default a line is a row.
    """

    separator: str | None = None
    decimal: str | None = None
    encoding: str | None = None
    multiline: bool = False

    def __post_init__(self) -> None:
        if self.separator is not None and (len(self.separator) != 1 or self.separator in '"\r\n'):
            raise ParameterError("separator= is one character, e.g. ';'.")
        if self.decimal not in (None, ".", ","):
            raise ParameterError("decimal= is '.' or ','.")
        if self.encoding is not None and self.encoding.lower() not in ENCODINGS:
            raise ParameterError(f"Unknown encoding '{self.encoding}'. Known are utf-8, latin-1, cp1252 and utf-16.")
        if not isinstance(self.multiline, bool):
            raise ParameterError("multiline= is True or False.")


# -- Text with sound lines ----------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Texts:
    """A CSV file, or several with the same first line, in which every line is sound.

    Attributes:
        head: What the first line says.
        paths: Where they are; copies of files that had unsound lines.
        decimals: What may stand before decimals.
    """

    head: FileHead
    paths: tuple[Path, ...]
    decimals: Decimals

    def scan(self, columns: Sequence[str], *, skips_ragged: bool = False) -> str:
        """Return the SQL that reads all cells as texts.

        Args:
            columns: What the columns are called in the SQL.
            skips_ragged: Whether rows with too few or too many cells are left out or cut, instead of an error.
        """
        listed = ", ".join(sql_text(exact_name(path)) for path in self.paths)
        typed = ", ".join(f"{sql_text(column)}: 'VARCHAR'" for column in columns)
        ragged = "strict_mode=false, ignore_errors=true" if skips_ragged else "allow_quoted_nulls=false"
        # Every cell as text: types guessed from the first rows would let data choose the errors.
        return (
            f"read_csv([{listed}], auto_detect=false, header=true, columns={{{typed}}}, "
            f"delim={sql_text(self.head.separator)}, quote='\"', escape='\"', comment='', skip=0, "
            f"hive_partitioning=false, {ragged}, max_line_size={LONGEST_LINE}, buffer_size={2 * LONGEST_LINE})"
        )


def open_texts(
    connection: Any,
    path: str | Path,
    options: CsvOptions,
    copy: Callable[[], Path],
    *,
    check: Callable[[Sequence[str]], None] = check_head,
    instead: Instead | None = None,
    is_strict: bool = True,
) -> Texts:
    """Look at a CSV file, or a pattern of them, and copy what has unsound lines.

    Args:
        connection: A DuckDB connection, for addresses, which only DuckDB can open.
        path: A file, packed or not, a pattern, or an address.
        options: What the owner says.
        copy: Returns where a copy may be written.
        check: Looks at the names of the columns before anything else is read.
        instead: Column -> what stands for a cell that is no text.
        is_strict: Whether a line that opens a quote and does not close it is an error. Otherwise the quote ends with
            its line, and a row with too few cells is left out.
    """
    found = [str(path)] if os.path.exists(path) else sorted(glob.glob(str(path), recursive=True))
    if not found and "://" not in str(path):
        raise DataError("No file fits the pattern." if has_pattern(path) else f"There is no file '{path}'.")
    first: FileHead | None = None
    texts: list[Path] = []
    said = {"separator": options.separator, "encoding": options.encoding}
    for file in found or [str(path)]:
        place = Path(file) if found else _fetched(connection, file, copy())
        if _is_zstd(place):
            place = _unpack_zstd(place, copy())
        elif _is_misnamed(place):
            place = unpack(place, copy())
        head = read_head(place, **said)
        if first is None:
            check(head.names)
            first = head
        elif (head.names, head.separator) != (first.names, first.separator):
            raise DataError("The files of the pattern begin with different lines. Load files of the same columns.")
        if is_strict:
            texts.append(lines_as_rows(place, head, copy, multiline=options.multiline))
        elif is_sound(place, head, multiline=options.multiline):
            texts.append(place)
        else:
            texts.append(copy())
            write_sound(place, head, texts[-1], instead=instead, multiline=options.multiline)
    assert first is not None
    return Texts(first, tuple(texts), decimals_of(first.separator, options.decimal))


def open_sheet(path: Path, sheet: str | None, copy: Path, *, said_by: str = "--sheet") -> CsvOptions:
    """Write a sheet as CSV, and return how that is read: its quotes are closed, and a cell may hold several lines."""
    sheet_to_csv(path, sheet, copy, said_by=said_by, halves=True)
    return CsvOptions(separator=",", encoding="utf-8", multiline=True)


def open_ndjson(
    connection: Any,
    path: str | Path,
    copy: Path,
    *,
    columns: Sequence[str] | None = None,
    instead: Instead | None = None,
    is_strict: bool = True,
    apart: bool = False,
) -> CsvOptions:
    """Write a file of JSON lines, or a pattern of them, as CSV, and return how that is read.

    Args:
        connection: A DuckDB connection, for files that only DuckDB can open: addresses, and Zstandard.
        path: A file, packed or not, a pattern, or an address.
        copy: Where to write; nothing must be there yet.
        columns: The declared columns; by default all keys of all lines.
        instead: Column -> what stands for a cell that is no text.
        is_strict: Whether a line that is no JSON object is an error. Otherwise it is left out.
        apart: Whether texts get a mark, so that 1 is not "1".
    """
    found = [str(path)] if os.path.exists(path) else sorted(glob.glob(str(path), recursive=True))
    if not found and "://" not in str(path):
        raise DataError("No file fits the pattern." if has_pattern(path) else f"There is no file '{path}'.")

    passing: list[Path] = []

    def passed(ending: str) -> Path:
        passing.append(copy.with_name(f"{copy.stem}-{len(passing)}{ending}"))
        return passing[-1]

    try:
        places = []
        for file in found or [str(path)]:
            # Packed or not by its name, never by its first bytes: the first line is somebody's.
            ending = "".join(Path(file).suffixes[-2:])
            place = Path(file) if found else _fetched(connection, file, passed(ending))
            places.append(_unpack_zstd(place, passed(".ndjson")) if ending.lower().endswith(".zst") else place)

        def lines() -> Iterator[bytes]:
            for place in places:
                yield from file_lines(place)()

        ndjson_to_csv(lines, copy, columns=columns, instead=instead, is_strict=is_strict, apart=apart)
    finally:
        for place in passing:
            place.unlink(missing_ok=True)
    return CsvOptions(separator=",", encoding="utf-8", multiline=True)


def _is_zstd(path: Path) -> bool:
    try:
        with path.open("rb") as file:
            return file.read(4) == b"\x28\xb5\x2f\xfd"
    except OSError:
        return False


def _is_misnamed(path: Path) -> bool:
    """Tell whether a file's name says another packing than its first bytes: DuckDB goes by the name."""
    try:
        return path.suffix != ".gz" if is_packed(path) else path.suffix.lower() in (".gz", ".zst")
    except OSError:
        return False


def _unpack_zstd(path: Path, target: Path) -> Path:
    """Write a private copy of a file that Zstandard packed, unpacked; return where it is."""
    arrow = import_extra("pyarrow", what="Reading a file that Zstandard packed", extra="tables")
    failed = False
    try:
        with arrow.input_stream(str(path), compression="zstd") as file, private_file(target) as out:
            while piece := file.read(2**20):
                out.write(piece)
    except (OSError, ValueError):  # its text may quote the file
        failed = True
    if failed:
        raise DataError("The file cannot be read. Check that it is complete and that you may read it.")
    return target


def _fetched(connection: Any, address: str, target: Path) -> Path:
    """Write a private copy of what is at an address, byte by byte as it is there; return where it is."""
    found: list[tuple[bytes]] = []
    with suppress(Exception):  # its text may quote the file
        found = connection.execute(f"SELECT content FROM read_blob({sql_text(address)})").fetchall()
    if len(found) != 1:
        raise DataError("The file cannot be read. Check that it is complete and that you may read it.")
    with private_file(target) as out:
        out.write(found[0][0])
    return target


# -- Tables with typed columns ------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class TableFile:
    """An open table: a DuckDB relation with typed columns, and how the file writes them. Its repr shows no rows.

    Attributes:
        path: The file.
        format: How it is kept.
        relation: The rows, still in the file.
        columns: Name -> kind of its values.
        separator: What separates the columns of a CSV.
        words: Column of yes and no -> its words for true and false, each in one spelling.
        texts: The SQL that reads a CSV or a sheet as it stands, by the columns' own names; None for Parquet.
        cells: Returns a relation with some columns as they stand in the file; None for Parquet, which has no spellings.
        steps: Told what takes a while.
    """

    path: Path
    format: Format
    relation: Any
    columns: dict[str, Kind]
    separator: str = ","
    decimals: Decimals = "."
    words: dict[str, tuple[str | None, str | None]] = field(default_factory=dict)
    texts: str | None = None
    cells: Callable[[Sequence[str]], Any] | None = None
    steps: Steps = nullcontext

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
        return self._load(self.relation if names is None else self.relation.project(", ".join(map(sql_name, names))))

    def spelled(self, names: Sequence[str]) -> Any:
        """Load columns as they stand in the file; None for Parquet, which has no spellings."""
        return None if self.cells is None else self._load(self.cells(names))

    def _load(self, wanted: Any) -> Any:
        with self.steps(f"Reading {self.path.name}"), engine_errors(self.format):
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
        workspace: A private folder for copies of files with unsound lines and for what does not fit into memory.
        connection: A connection of the caller's; by default a new one.
        options: What the owner says of CSV files, unless ``open`` is told otherwise.
        steps: Told what takes a while.
    """

    def __init__(
        self,
        workspace: Path,
        connection: Any = None,
        *,
        options: CsvOptions | None = None,
        steps: Steps = nullcontext,
    ) -> None:

        self.workspace, self.options, self._steps = workspace, options or CsvOptions(), steps
        self.connection = connection
        if connection is None:
            self.connection = connect({"temp_directory": str(workspace / "spill")})

    def close(self) -> None:
        """Close the connection."""
        self.connection.close()

    def open(
        self,
        path: str | Path,
        *,
        sheet: str | None = None,
        options: CsvOptions | None = None,
        format: Format | None = None,
        skips_ragged: bool = False,
    ) -> TableFile:
        """Look at a file: how it is written, which columns it has, and what they hold.

        Args:
            path: A CSV file or one of JSON lines (packed too), an Excel or Parquet file, or a pattern of them.
            sheet: The sheet of a workbook that has several.
            options: What the owner says of a CSV file.
            format: ``"csv"`` or ``"parquet"``, whatever the file's first bytes say.
            skips_ragged: Whether rows with too few or too many cells are left out or cut, as ``load`` does, instead of
                an error.
        """
        path = Path(path)
        with self._steps(f"Reading {path.name}"):
            return self._open(path, sheet, options, format, skips_ragged)

    def _open(
        self, path: Path, sheet: str | None, options: CsvOptions | None, format: Format | None, skips_ragged: bool
    ) -> TableFile:
        kind: Format = format or format_of(path)
        if sheet is not None and kind != "excel":
            raise ParameterError(f"--sheet is for Excel files; '{path.name}' is not one.")
        if kind == "parquet":
            with engine_errors(kind):
                name = file_or_pattern(path)
                check_parquet_names(self.connection, name)
                relation = self.connection.sql(f"FROM {parquet_source(name)}")
                types = zip(relation.columns, map(str, relation.types), strict=True)
                kinds = {name: _parquet_kind(word) for name, word in types}
                return TableFile(path=path, format=kind, relation=relation, columns=kinds, steps=self._steps)
        said, source = options or self.options, path
        if kind == "excel":
            source = self._copy()
            said = replace(open_sheet(path, sheet, source), decimal=said.decimal)
        elif kind == "ndjson":
            source = self._copy()
            found = open_ndjson(self.connection, path, source, is_strict=not skips_ragged)
            said = replace(found, decimal=said.decimal)
        texts = open_texts(self.connection, source, said, self._copy, is_strict=not skips_ragged)
        return self._typed(path, kind, texts, sheet, skips_ragged)

    def _typed(self, path: Path, kind: Format, texts: Texts, sheet: str | None, skips_ragged: bool) -> TableFile:
        names = texts.head.names
        places = [f"c{place}" for place in range(len(names))]
        scan = texts.scan(places, skips_ragged=skips_ragged)
        named = dict(zip(names, places, strict=True))
        with engine_errors(kind):
            # fetchall, not fetchone: a connection with an unfinished result takes no other work.
            [counts] = self.connection.execute(f"SELECT {kinds_sql(places, texts.decimals)} FROM {scan}").fetchall()
            columns = dict(zip(names, kinds_found(counts, texts.decimals), strict=True))
            words = self._words(scan, {name: named[name] for name, found in columns.items() if found == "flag"})
            values = {name: value_sql(named[name], found, texts.decimals) for name, found in columns.items()}
            values |= {name: _one_spelling(named[name], spelled) for name, spelled in words.items()}
            selected = ", ".join(f"{value} AS {sql_name(name)}" for name, value in values.items())
            relation = self.connection.sql(f"SELECT {selected} FROM {scan}")
        shown = ", ".join(f"{place} AS {sql_name(name)}" for name, place in named.items())

        def cells(wanted: Sequence[str]) -> Any:
            source = scan
            if kind == "excel":
                copy = self._copy()
                sheet_to_csv(path, sheet, copy, apart=True)
                source = replace(texts, paths=(copy,)).scan(places)
            elif kind == "ndjson":
                copy = self._copy()
                open_ndjson(self.connection, path, copy, is_strict=not skips_ragged, apart=True)
                source = replace(texts, paths=(copy,)).scan(places)
            return self.connection.sql(
                f"SELECT {', '.join(f'{named[name]} AS {sql_name(name)}' for name in wanted)} FROM {source}"
            )

        return TableFile(
            path=path, format=kind, relation=relation, columns=columns, separator=texts.head.separator,
            decimals=texts.decimals, words=words,
            texts=f"(SELECT {shown} FROM {scan})", cells=cells, steps=self._steps,
        )  # fmt: skip

    def _words(self, scan: str, flags: dict[str, str]) -> dict[str, tuple[str | None, str | None]]:
        """Return the words for true and false of every column of yes and no."""
        if not flags:
            return {}
        truths = [(place, sign) for place in flags.values() for sign in ("", "NOT ")]
        wanted = ", ".join(f"min(trim({place})) FILTER ({sign}({truth_sql(place)}))" for place, sign in truths)
        [found] = self.connection.execute(f"SELECT {wanted} FROM {scan}").fetchall()
        return {name: (found[2 * i], found[2 * i + 1]) for i, name in enumerate(flags)}

    def _copy(self) -> Path:
        return self.workspace / f"{uuid.uuid4().hex}.csv"


@contextmanager
def open_tables(options: CsvOptions | None = None, *, steps: Steps = nullcontext) -> Iterator[Tables]:
    """Yield a ``Tables`` with a private folder that disappears afterwards; Ctrl-C ends a query of DuckDB's too."""
    with tempfile.TemporaryDirectory(prefix="pydplib-") as folder:
        tables = Tables(Path(folder), options=options, steps=steps)
        try:
            yield tables
        except RuntimeError as error:
            # DuckDB's way of passing on Ctrl-C.
            if not isinstance(error, PydplibError) and "interrupt" in str(error).lower():
                raise KeyboardInterrupt from None
            raise
        finally:
            tables.close()


def open_relation(path: str | Path, connection: Any = None) -> Any:
    """Open a CSV, NDJSON, Excel or Parquet file, or a pattern of them, as a DuckDB relation with typed columns.

    Rows stay in the file; of a file with unsound lines, and of a sheet, they are read into the connection.
    """
    connection = connection or connect()
    with tempfile.TemporaryDirectory(prefix="pydplib-") as folder:
        table = Tables(Path(folder), connection).open(path)
        if not any(Path(folder).iterdir()):
            return table.relation
        name = f"pydplib_rows_{uuid.uuid4().hex}"
        with engine_errors(table.format):
            table.relation.create(name)
        return connection.table(name)


@contextmanager
def engine_errors(kind: str) -> Iterator[None]:
    """Turn DuckDB's errors, which quote lines of the file, into sentences that do not."""
    import duckdb

    try:
        yield
    except duckdb.OutOfMemoryException:
        raise DataError("There is not enough memory (or disk) for this file.") from None
    except duckdb.InterruptException:
        raise KeyboardInterrupt from None
    except RuntimeError as error:
        if not isinstance(error, PydplibError) and "interrupt" in str(error).lower():
            raise KeyboardInterrupt from None  # DuckDB's way of passing on Ctrl-C
        raise
    except duckdb.Error:
        if kind == "parquet":
            raise DataError("The file cannot be read as Parquet. Check that it is complete.") from None
        raise DataError(
            "The file cannot be read to its end: some lines have more or fewer columns than the first. Correct the "
            "file first; if quoted cells reach over several lines, say so with --multiline (multiline=True)."
        ) from None


def format_of(path: Path) -> Format:
    """Return how a file is kept, by its first bytes; JSON lines, patterns and addresses by their name."""
    if is_ndjson(path) and (path.exists() or has_pattern(path) or "://" in str(path)):
        return "ndjson"
    if not path.exists():
        if has_pattern(path) or "://" in str(path):
            return "parquet" if path.suffix.lower() in (".parquet", ".pq") else "csv"
        raise DataError(f"There is no file '{path.name}'. Check its name.")
    start = b""
    with suppress(OSError), path.open("rb") as file:
        start = file.read(8)
        if not start:
            raise DataError(f"The file '{path.name}' is empty: not even a line with the names of the columns.")
    if not start:
        raise DataError(f"The file '{path.name}' cannot be read. Check its name and rights.")
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


def _one_spelling(cell: str, words: tuple[str | None, str | None]) -> str:
    yes, no = ("NULL" if word is None else sql_text(word) for word in words)
    truth = truth_sql(cell)
    return f"CASE WHEN {truth} THEN {yes} WHEN NOT ({truth}) THEN {no} END"


def _parquet_kind(sql_type: str) -> Kind:
    if "INT" in sql_type and "INTERVAL" not in sql_type:
        return "whole"
    if sql_type in ("FLOAT", "DOUBLE") or sql_type.startswith("DECIMAL"):
        return "number"
    if sql_type == "BOOLEAN":
        return "flag"
    if sql_type == "DATE":
        return "date"
    return "time" if sql_type.startswith("TIMESTAMP") else "text"
