"""CSV into DuckDB: read once, when it is loaded, so that no question meets a cell that nobody looked at before."""

from __future__ import annotations

import glob
import os
import uuid
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from pydplib._csv_lines import ENCODINGS, LONGEST_LINE, Head, head_of, is_sound, read_head, write_pieces, write_sound
from pydplib._duckdb_files import exact_name, sql_name, sql_text
from pydplib.engine.protocol import guarded
from pydplib.engine.reading import check_present, check_unique
from pydplib.engine.sound_cells import instead
from pydplib.errors import DataError, ParameterError
from pydplib.schema import Schema


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


def csv_table(connection: Any, path: str, schema: Schema, options: CsvOptions, folder: Callable[[], str]) -> str:
    """Read a file, or a pattern of them, into a table of the connection; return the table's name.

    Args:
        connection: A private DuckDB connection.
        path: A file, or a pattern or address.
        schema: The declared columns: only they and the person column are kept, and their kinds decide how commas in
            numbers are read.
        options: What the owner says.
        folder: Returns the process's private folder, for copies of files with unsound lines; gone when this returns.
    """
    copies: list[Path] = []

    def copy() -> Path:
        copies.append(Path(folder()) / f"{uuid.uuid4().hex}.csv")
        return copies[-1]

    try:
        head, sources = _sources(connection, path, schema, options, copy)
        text = _select(head, sources, schema, options)
        name = f"pydplib_rows_{uuid.uuid4().hex}"
        guarded("DuckDB", lambda: connection.execute(f"CREATE TEMP TABLE {name} AS {text}"), opening=True)
        return name
    finally:
        for made in copies:
            with suppress(OSError):
                made.unlink(missing_ok=True)


def _sources(
    connection: Any, path: str, schema: Schema, options: CsvOptions, copy: Callable[[], Path]
) -> tuple[Head, list[str]]:
    """Return what the first line says, and the names of files all of whose lines are sound."""
    found = [path] if os.path.exists(path) else sorted(glob.glob(path, recursive=True))
    if not found and "://" not in path:
        raise DataError("No file fits the pattern.")
    first: Head | None = None
    sources = []
    for file in found or [path]:
        is_plain = bool(found) and not _is_zstd(Path(file))
        unpacked = None if is_plain else _unpacked(connection, file)
        said = {"separator": options.separator, "encoding": options.encoding}
        head = read_head(Path(file), **said) if unpacked is None else head_of(unpacked[: 2**20], **said)
        if first is None:
            check_unique(schema, head.names)
            check_present(schema, head.names)
            first = head
        elif (head.names, head.separator) != (first.names, first.separator):
            raise DataError("The files of the pattern begin with different lines. Load files of the same columns.")
        if unpacked is not None:
            sources.append(copy())
            write_pieces(
                _reader(unpacked), head, sources[-1], instead=partial(instead, schema), multiline=options.multiline
            )
        elif is_sound(Path(file), head, multiline=options.multiline):
            sources.append(Path(file))
        else:
            sources.append(copy())
            write_sound(Path(file), head, sources[-1], instead=partial(instead, schema), multiline=options.multiline)
    assert first is not None
    return first, [exact_name(source) for source in sources]


def _select(head: Head, sources: Sequence[str], schema: Schema, options: CsvOptions) -> str:
    columns = ", ".join(f"{sql_text(column)}: 'VARCHAR'" for column in _unique(head.names))
    listed = ", ".join(sql_text(source) for source in sources)
    scan = (
        # Every cell as text: types guessed from the first rows would let data choose the errors.
        f"read_csv([{listed}], auto_detect=false, header=true, columns={{{columns}}}, "
        f"delim={sql_text(head.separator)}, "
        f"quote='\"', escape='\"', comment='', skip=0, hive_partitioning=false, strict_mode=false, ignore_errors=true, "
        f"max_line_size={LONGEST_LINE}, buffer_size={2 * LONGEST_LINE})"
    )
    has_commas = options.decimal == "," or (options.decimal is None and head.separator != ",")
    kept = []
    for name in dict.fromkeys([*schema.columns, *([] if schema.person is None else [schema.person])]):
        cell, column = sql_name(name), schema.columns.get(name)
        if has_commas and column is not None and column.reads_decimal_comma:
            kept.append(f"{_point(cell, only_comma=options.decimal == ',')} AS {cell}")
        else:
            kept.append(cell)
    return f"SELECT {', '.join(kept)} FROM {scan}"


def _is_zstd(path: Path) -> bool:
    try:
        with path.open("rb") as file:
            return file.read(4) == b"\x28\xb5\x2f\xfd"
    except OSError:
        return False


def _unpacked(connection: Any, path: str) -> bytes:
    """Return the lines of a file that only DuckDB can open: an address, or one packed by Zstandard."""
    packing = ", compression='zstd'" if os.path.exists(path) else ""
    name = exact_name(path) if os.path.exists(path) else path
    # Latin-1 has a letter for every byte: nothing is lost, and nothing can be wrong.
    scan = (
        f"SELECT line FROM read_csv({sql_text(name)}, auto_detect=false, header=false, columns={{'line': 'VARCHAR'}}, "
        f"delim='\x1c\x1d\x1e\x1f', quote='', escape='', comment='', skip=0, encoding='latin-1', strict_mode=false, "
        f"ignore_errors=true, max_line_size={LONGEST_LINE}, buffer_size={2 * LONGEST_LINE}{packing})"
    )
    found: list[bytes] = []

    def read() -> None:
        rows = connection.execute(scan)
        while lines := rows.fetchmany(100_000):
            found.append("\n".join([line or "" for (line,) in lines]).encode("latin-1", "replace"))

    guarded("DuckDB", read, opening=True)
    return b"\n".join([*found, b""])


def _reader(data: bytes) -> Callable[[int], bytes]:
    at = 0

    def read(size: int) -> bytes:
        nonlocal at
        at += size
        return data[at - size : at]

    return read


def _unique(names: Sequence[str]) -> list[str]:
    """Return the names with empty and repeated ones replaced; declared names are unique by then."""
    taken = {name.casefold() for name in names}
    found: list[str] = []
    seen: set[str] = set()
    for place, name in enumerate(names):
        if not name or name.casefold() in seen:
            while (name := f"column{place}_{uuid.uuid4().hex[:8]}").casefold() in taken:
                pass
        seen.add(name.casefold())
        found.append(name)
    return found


def _point(cell: str, *, only_comma: bool) -> str:
    # By the declared kind and the file's separator, never by the value: with only commas, a point is no number.
    source = f"REPLACE({cell}, '.', '#')" if only_comma else cell
    return f"REPLACE({source}, ',', '.')"
