"""CSV by its head: separator, names and encoding are decided once, so that no later row decides about errors."""

from __future__ import annotations

import codecs
import csv
import glob
import io
import os
import uuid
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from pydplib._duckdb_files import file_or_pattern, sql_text
from pydplib._table_text import guess_separator, open_bytes
from pydplib.engine.reading import check_unique
from pydplib.errors import DataError, ParameterError
from pydplib.schema import Category, Integer, Number, Schema

_HEAD = 2**20
_LINE = 2**24  # longer lines are left out, each by itself
_ENCODINGS = {"utf-8": "utf-8", "utf8": "utf-8", "latin-1": "cp1252", "iso-8859-1": "cp1252", "cp1252": "cp1252",
              "windows-1252": "cp1252", "utf-16": "utf-16"}  # fmt: skip


@dataclass(frozen=True, slots=True)
class CsvOptions:
    """What the owner says of a CSV file; what is None is read from its head.

    Args:
        separator: What stands between cells.
        decimal: ``"."`` or ``","``; by default both, but the point alone where the comma separates cells.
        encoding: ``"utf-8"``, ``"latin-1"`` (read as Windows-1252) or ``"utf-16"``.
    """

    separator: str | None = None
    decimal: str | None = None
    encoding: str | None = None

    def __post_init__(self) -> None:
        if self.separator is not None and (len(self.separator) != 1 or self.separator in '"\r\n'):
            raise ParameterError("separator= is one character, e.g. ';'.")
        if self.decimal not in (None, ".", ","):
            raise ParameterError("decimal= is '.' or ','.")
        if self.encoding is not None and self.encoding.lower() not in _ENCODINGS:
            raise ParameterError(f"Unknown encoding '{self.encoding}'. Known are utf-8, latin-1, cp1252 and utf-16.")


def csv_table(path: str, schema: Schema, options: CsvOptions, folder: Callable[[], str]) -> tuple[str, str | None]:
    """Return the SQL that reads a file tolerantly, and the private copy to remove at the end, if one was made.

    Args:
        path: A file, or a pattern or address.
        schema: The declared columns: their kinds decide how commas in numbers are read.
        options: What the owner says.
        folder: Returns the process's private folder for a copy in UTF-8.
    """
    first = path if os.path.exists(path) else next(iter(sorted(glob.glob(path, recursive=True))), None)
    if first is None or not _is_plain(Path(first)):
        # Addresses and other packings: DuckDB reads the head itself.
        return _scan(path, "header=true, all_varchar=true", options.separator), None
    head = _head(Path(first))
    encoding = _ENCODINGS[options.encoding.lower()] if options.encoding else _encoding_of(head)
    copy: str | None = None
    name = path
    if encoding != "utf-8":
        if first != path:
            raise DataError("A pattern of files must be in UTF-8. Save them as UTF-8, or load one file at a time.")
        name = copy = _copied(Path(first), encoding, folder())
    # A cut head may end inside a letter; only its first line is read.
    text = head.decode(encoding, errors="replace").removeprefix("\ufeff")
    separator, names = _first_line(text, options.separator)
    check_unique(schema, names)
    names = _unique(names)
    columns = ", ".join(f"{sql_text(column)}: 'VARCHAR'" for column in names)
    scan = _scan(name, f"auto_detect=false, header=true, columns={{{columns}}}", separator)
    has_commas = options.decimal == "," or (options.decimal is None and separator != ",")
    numbers = [column for column in names if has_commas and _is_numeric(schema, column)]
    if not numbers:
        return scan, copy
    changed = ", ".join(f"{_point(_quoted(n), only_comma=options.decimal == ',')} AS {_quoted(n)}" for n in numbers)
    return f"(SELECT * REPLACE ({changed}) FROM {scan})", copy


def _scan(name: str, options: str, separator: str | None) -> str:
    said = "" if separator is None else f", delim={sql_text(separator)}"
    return (
        f"read_csv({sql_text(file_or_pattern(name))}, {options}{said}, quote='\"', escape='\"', comment='', skip=0, "
        f"hive_partitioning=false, strict_mode=false, ignore_errors=true, max_line_size={_LINE}, "
        f"buffer_size={2 * _LINE})"
    )


def _is_plain(path: Path) -> bool:
    with path.open("rb") as file:
        return file.read(4) != b"\x28\xb5\x2f\xfd"  # Zstandard, which Python cannot open


def _head(path: Path) -> bytes:
    try:
        with open_bytes(path) as file:
            return file.read(_HEAD)
    except (OSError, EOFError):
        raise DataError("The file cannot be read. Check that it is complete and that you may read it.") from None


def _encoding_of(head: bytes) -> str:
    if head[:2] in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE):
        return "utf-16"
    try:
        codecs.getincrementaldecoder("utf-8")().decode(head)
    except UnicodeDecodeError:
        return "cp1252"
    return "utf-8"


def _copied(path: Path, encoding: str, folder: str) -> str:
    """Write a private copy in UTF-8; what is no letter of the encoding becomes a replacement sign."""
    target = Path(folder) / f"{uuid.uuid4().hex}.csv"
    decoder = codecs.getincrementaldecoder(encoding)("replace")
    handle = os.open(target, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600)
    with os.fdopen(handle, "w", encoding="utf-8", errors="replace", newline="") as out, open_bytes(path) as file:
        while chunk := file.read(_HEAD):
            out.write(decoder.decode(chunk))
        out.write(decoder.decode(b"", final=True))
    return str(target)


def _first_line(text: str, separator: str | None) -> tuple[str, list[str]]:
    line = text.splitlines()[0] if text else ""
    if not line.strip():
        raise DataError("The first line is empty. It must have the names of the columns.")
    separator = separator or guess_separator(line)
    try:
        return separator, [name.strip() for name in next(csv.reader(io.StringIO(text), delimiter=separator))]
    except (csv.Error, StopIteration):
        raise DataError("The first line cannot be read as names of columns.") from None


def _unique(names: list[str]) -> list[str]:
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


def _is_numeric(schema: Schema, name: str) -> bool:
    kind = schema.columns.get(name)
    if isinstance(kind, Category):
        return all(isinstance(value, int | float) for value in kind.values)
    return isinstance(kind, Number | Integer)


def _point(cell: str, *, only_comma: bool) -> str:
    # By the declared kind and the file's separator, never by the value: with only commas, a point is no number.
    source = f"REPLACE({cell}, '.', '#')" if only_comma else cell
    return f"REPLACE({source}, ',', '.')"


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'
