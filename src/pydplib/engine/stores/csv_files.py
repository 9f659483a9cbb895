"""CSV into DuckDB: read once, when it is loaded, so that no question meets a cell that nobody looked at before."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

from pydplib._duckdb_files import sql_name
from pydplib.engine.answers import check_present, check_unique
from pydplib.engine.protocol import guarded
from pydplib.engine.stores.sound_cells import instead
from pydplib.schema import Schema
from pydplib.tables import CsvOptions, Texts, open_texts
from pydplib.tables.cells import day_sql, number_sql


def csv_table(connection: Any, path: str, schema: Schema, options: CsvOptions, folder: Callable[[], str]) -> str:
    """Read a file, or a pattern of them, into a table of the connection; return the table's name.

    Args:
        connection: A private DuckDB connection.
        path: A file, or a pattern or address.
        schema: The declared columns: only they and the person column are kept, and their kinds decide how cells are
            read.
        options: What the owner says.
        folder: Returns the process's private folder, for copies of files with unsound lines; gone when this returns.
    """
    copies: list[Path] = []

    def copy() -> Path:
        copies.append(Path(folder()) / f"{uuid.uuid4().hex}.csv")
        return copies[-1]

    def check(names: Sequence[str]) -> None:
        check_unique(schema, names)
        check_present(schema, names)

    try:
        texts = open_texts(
            connection, path, options, copy, check=check, instead=partial(instead, schema), is_strict=False
        )
        text = _select(texts, schema)
        name = f"pydplib_rows_{uuid.uuid4().hex}"
        guarded("DuckDB", lambda: connection.execute(f"CREATE TEMP TABLE {name} AS {text}"), opening=True)
        return name
    finally:
        for made in copies:
            with suppress(OSError):
                made.unlink(missing_ok=True)


def _select(texts: Texts, schema: Schema) -> str:
    kept = []
    for name in dict.fromkeys([*schema.stored, *([] if schema.person is None else [schema.person])]):
        cell = sql_name(name)
        read = _read(cell, texts, schema, name)
        kept.append(cell if read == cell else f"{read} AS {cell}")
    scan = texts.scan(_unique(texts.head.names), skips_ragged=True)
    return f"SELECT {', '.join(kept)} FROM {scan}"


def _read(cell: str, texts: Texts, schema: Schema, name: str) -> str:
    """Return the SQL of a cell in the spelling that engines read; by the declared kind, never by the value."""
    column = schema.columns.get(name)
    if column is None or name == schema.person or column.spelling == "text":
        return cell
    if column.spelling == "day":
        return day_sql(cell)
    return f"lower(trim({cell}))" if column.spelling == "truth" else number_sql(cell, texts.decimals)


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
