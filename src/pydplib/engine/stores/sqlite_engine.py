"""SQLite: a table in a file, opened for reading only."""

from __future__ import annotations

import re
import sqlite3
import weakref
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import quote

from pydplib.engine.bounds import fold_text
from pydplib.engine.protocol import guarded
from pydplib.engine.sql.plans import SqlSource
from pydplib.engine.sql.server_dialects import SqliteDialect
from pydplib.engine.sql.sql_engine import SqlEngine
from pydplib.errors import DataError, EngineError
from pydplib.schema import Schema
from pydplib.schema.cells import NUMBER_PATTERN

_DIALECT = SqliteDialect()
_NUMBER = re.compile(NUMBER_PATTERN)


def from_file(path: str, schema: Schema, *, table: str) -> SqlEngine:
    """Open a SQLite file and read one table or view of it."""
    if not Path(path).is_file():
        raise DataError(f"There is no file '{path}'.")
    address = f"file:{quote(str(Path(path).resolve()))}?mode=ro"
    connection = guarded("SQLite", lambda: sqlite3.connect(address, uri=True, check_same_thread=False), opening=True)

    def run(statement: str) -> Sequence[Sequence[Any]]:
        return connection.execute(statement).fetchall()

    ((encoding,),) = guarded("SQLite", lambda: run("PRAGMA encoding"), opening=True)
    for name, function in _functions(str(encoding).lower().replace("utf-16", "utf-16-")).items():
        connection.create_function(name, function.__code__.co_argcount, function, deterministic=True)
    # Temporary tables hold bounded rows: in memory, not in a file next to the data.
    guarded("SQLite", lambda: run("PRAGMA temp_store = MEMORY"), opening=True)
    text = _DIALECT.text(table)
    described = guarded("SQLite", lambda: run(f"SELECT name, type FROM pragma_table_info({text})"), opening=True)
    if not described:
        raise EngineError(f"The SQLite file has no table or view '{table}'.")
    storages = {str(name): _DIALECT.storage("") for name, _ in described}
    source = SqlSource(_DIALECT.quote(table), storages)
    dialect = SqliteDialect(mixed=[str(name) for name, kind in described if _keeps_types_apart(str(kind))])
    engine = SqlEngine("SQLite", schema, dialect=dialect, source=source, run=run, close=connection.close)
    engine.address = str(Path(path).resolve())
    weakref.finalize(engine, connection.close)  # a table that is forgotten leaves no open file
    return engine


def _keeps_types_apart(kind: str) -> bool:
    """Tell whether SQLite stores 1 and '1' as they come under a declared type: it does for BLOB, ANY and none."""
    return kind.upper() == "ANY" or "BLOB" in kind.upper() or not kind.strip()


def _functions(encoding: str) -> dict[str, Callable[..., Any]]:
    """Return the functions that the dialect calls.

    They get bytes, in the file's encoding: Python cannot hand over a text that is none, and SQLite stores any.
    """

    def text(cell: bytes | None) -> str | None:
        """Read bytes as a text; what is none, or empty, is missing."""
        try:
            return None if cell is None else cell.decode(encoding) or None
        except UnicodeDecodeError:
            return None

    def number(cell: bytes | None) -> float | None:
        """Read a text as a number; what is none is missing."""
        found = text(cell)
        return float(found) if found is not None and _NUMBER.fullmatch(found) else None

    def matches(cell: bytes | None, pattern: str) -> bool | None:
        """Ask whether a text has a form; what is no text has none."""
        found = text(cell)
        return None if found is None else re.fullmatch(pattern, found) is not None

    def fold(cell: bytes | None) -> int | None:
        """Fold a cell by its text; nothing folds to nothing."""
        found = text(cell)
        return None if cell is None else fold_text(cell if found is None else found)

    return {"pydplib_text": text, "pydplib_number": number, "pydplib_matches": matches, "pydplib_fold": fold}
