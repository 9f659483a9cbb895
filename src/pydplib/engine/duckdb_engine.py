"""DuckDB, the embedded default: CSV, Parquet, Excel sheets, pandas, PyArrow, relations and connections."""

from __future__ import annotations

import atexit
import os
import shutil
import tempfile
import uuid
import weakref
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

from pydplib._duckdb_files import file_or_pattern, parquet_names, parquet_source
from pydplib._table_text import sheet_to_csv
from pydplib.engine.csv_files import CsvOptions, csv_table
from pydplib.engine.dialects import Dialect, ForeignDuckDBDialect
from pydplib.engine.protocol import guarded
from pydplib.engine.reading import check_unique
from pydplib.engine.sql import Source
from pydplib.engine.sqlengine import SqlEngine
from pydplib.errors import EngineError
from pydplib.schema import Schema

_DIALECT = Dialect()
_FOREIGN = ForeignDuckDBDialect()


@cache
def spill_folder() -> str:
    """Return the process's own folder for what does not fit into memory; gone when the process ends."""
    folder, owner = tempfile.mkdtemp(prefix="pydplib-duckdb-"), os.getpid()

    def remove() -> None:
        if os.getpid() == owner:  # a forked child must not take it away
            shutil.rmtree(folder, ignore_errors=True)

    atexit.register(remove)
    return folder


def open_connection(memory_limit: str | None) -> Any:
    """Open a private in-memory DuckDB that spills to a directory of its own, readable by nobody else."""
    import duckdb

    config: dict[str, Any] = {
        "temp_directory": str(Path(spill_folder()) / uuid.uuid4().hex),
        # Object columns as text: a type guessed from the first rows would let data choose the errors.
        "pandas_analyze_sample": 0,
    }
    if memory_limit is not None:
        config["memory_limit"] = memory_limit
    try:
        connection = duckdb.connect(":memory:", config=config)
    except Exception:
        connection = None
    if connection is None:
        raise EngineError(f"DuckDB could not start with memory_limit={memory_limit!r}. Write it like '4GB'.")
    connection.execute("SET TimeZone = 'UTC'")
    return connection


def from_file(
    path: str,
    schema: Schema,
    *,
    memory_limit: str | None = None,
    options: CsvOptions | None = None,
    sheet: str | None = None,
) -> SqlEngine:
    """Read a CSV or Parquet file (or, where no file has that very name, a pattern of them) where it lies.

    A sheet of a workbook is copied to a private CSV file, which is gone when the engine is closed.
    """
    copy: str | None = None
    is_parquet = Path(path).suffix.lower() in (".parquet", ".pq")
    if is_parquet:
        # Parquet statistics know no NaN; without this, DuckDB leaves out the test for it.
        source = parquet_source(file_or_pattern(path), options="can_have_nan=true")
    elif Path(path).suffix.lower() == ".xlsx":
        copy = str(Path(spill_folder()) / f"{uuid.uuid4().hex}.csv")
        try:
            sheet_to_csv(Path(path), sheet, Path(copy), said_by="table= (in the shell --sheet)")
            said = replace(options or CsvOptions(), separator=",", encoding="utf-8")
            source, _ = csv_table(copy, schema, said, spill_folder)
        except BaseException:
            Path(copy).unlink(missing_ok=True)
            raise
    else:
        # Every cell as text: types guessed from the first rows would let data choose the errors.
        source, copy = csv_table(path, schema, options or CsvOptions(), spill_folder)
    connection = open_connection(memory_limit)

    def close() -> None:
        connection.close()
        if copy is not None:
            Path(copy).unlink(missing_ok=True)

    try:
        if is_parquet:
            names = guarded("DuckDB", lambda: parquet_names(connection, file_or_pattern(path)), opening=True)
            for found in names:
                check_unique(schema, found)
        engine = _engine(connection.execute, source, schema, close=close)
    except BaseException:
        close()
        raise
    weakref.finalize(engine, close)  # a table that is forgotten leaves no copy
    return engine


def from_frame(frame: Any, schema: Schema, *, memory_limit: str | None = None) -> SqlEngine:
    """Read a pandas frame or an Arrow table in place."""
    names = getattr(frame, "column_names", None)
    check_unique(schema, frame.columns if names is None else names)
    if names is None:
        frame = guarded("DuckDB", lambda: _with_sound_texts(frame, schema), opening=True)
    connection = open_connection(memory_limit)
    guarded("DuckDB", lambda: connection.register("pydplib_frame", frame), opening=True)
    return _engine(connection.execute, "pydplib_frame", schema, close=connection.close)


def _with_sound_texts(frame: Any, schema: Schema) -> Any:
    """Return a pandas frame whose object columns hold no half characters: one such cell would stop every question."""
    used = {*schema.columns, schema.person}
    objects = [name for name in frame.columns if name in used and frame[name].dtype == object]
    if not objects:
        return frame
    kept = frame.copy(deep=False)
    for name in objects:
        kept[name] = type(frame[name])([_sound(cell) for cell in frame[name]], index=frame.index, dtype=object)
    return kept


def _sound(cell: Any) -> Any:
    if not isinstance(cell, str) or cell.isascii():
        return cell
    return cell.encode("utf-8", "replace").decode("utf-8")


def from_connection(connection: Any, schema: Schema, *, table: str) -> SqlEngine:
    """Read a table of an open DuckDB connection, which stays the caller's."""
    name = ".".join(_DIALECT.quote(part) for part in table.split("."))
    return _engine(connection.execute, name, schema, dialect=_FOREIGN)


def from_relation(relation: Any, schema: Schema) -> SqlEngine:
    """Read a DuckDB relation, on its own connection."""
    check_unique(schema, relation.columns)

    def run(statement: str) -> Any:
        return relation.query("pydplib_relation", statement)

    return _engine(run, "pydplib_relation", schema, dialect=_FOREIGN)


def _engine(
    execute: Callable[[str], Any],
    source: str,
    schema: Schema,
    *,
    close: Callable[[], None] | None = None,
    dialect: Dialect = _DIALECT,
) -> SqlEngine:
    def run(statement: str) -> Sequence[Sequence[Any]]:
        answer = execute(statement)
        return [] if answer is None else answer.fetchall()

    described = guarded("DuckDB", lambda: run(f"DESCRIBE SELECT * FROM {source}"), opening=True)
    storages = {str(row[0]): _DIALECT.storage(str(row[1])) for row in described}
    return SqlEngine("DuckDB", schema, dialect, Source(source, storages), run, close=close)
