"""DuckDB, the embedded default: CSV, JSON lines, Parquet, Excel sheets, pandas, PyArrow, relations and connections."""

from __future__ import annotations

import atexit
import os
import shutil
import tempfile
import time
import uuid
import weakref
from collections.abc import Callable, Hashable, Sequence
from dataclasses import replace
from functools import cache, partial
from pathlib import Path
from typing import Any

from pydplib._duckdb_files import connect, file_or_pattern, parquet_names, parquet_source, sql_text
from pydplib.engine.answers import check_unique
from pydplib.engine.protocol import guarded
from pydplib.engine.sql.dialects import Dialect, ForeignDuckDBDialect
from pydplib.engine.sql.plans import SqlSource
from pydplib.engine.sql.sql_engine import SqlEngine
from pydplib.engine.stores.csv_files import csv_table
from pydplib.engine.stores.sound_cells import instead, sound_arrow, sound_pandas, sound_parquet
from pydplib.errors import EngineError, PydplibError
from pydplib.schema import Schema
from pydplib.tables import CsvOptions
from pydplib.tables.files import open_ndjson, open_sheet
from pydplib.tables.ndjson import is_ndjson

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


def open_connection(memory_limit: str | None, *, keep_to: Sequence[str | Path] | None = None) -> Any:
    """Open a private in-memory DuckDB that spills to a directory of its own, readable by nobody else.

    Args:
        memory_limit: Such as ``"4GB"``; beyond it, it works on disk.
        keep_to: The only folders whose files it may touch, for good; none for no such limit.
    """
    config: dict[str, Any] = {
        "temp_directory": str(Path(spill_folder()) / uuid.uuid4().hex),
        # Object columns as text: a type guessed from the first rows would let data choose the errors.
        "pandas_analyze_sample": 0,
    }
    if memory_limit is not None:
        config["memory_limit"] = memory_limit
    try:
        return connect(config, setup=("SET TimeZone = 'UTC'",), keep_to=keep_to)
    except PydplibError:
        raise
    except Exception:  # noqa: S110 - its words may quote a path
        pass
    raise EngineError(f"DuckDB could not start with memory_limit={memory_limit!r}. Write it like '4GB'.")


def from_file(
    path: str,
    schema: Schema,
    *,
    memory_limit: str | None = None,
    options: CsvOptions | None = None,
    sheet: str | None = None,
    keep_to: Sequence[str | Path] | None = None,
) -> SqlEngine:
    """Read a CSV, NDJSON, Excel or Parquet file (or, where no file has that very name, a pattern of them).

    Parquet is read where it lies. Everything else is read once, now, into DuckDB's private memory.
    """
    connection = open_connection(memory_limit, keep_to=keep_to)
    execute: Callable[[str], Any] = connection.execute
    stamp: Callable[[], Hashable | None] = _unchanging
    try:
        if Path(path).suffix.lower() in (".parquet", ".pq"):
            pattern = file_or_pattern(path)
            names = guarded("DuckDB", lambda: parquet_names(connection, pattern), opening=True)
            # Parquet statistics know no NaN; without this, DuckDB leaves out the test for it.
            source = parquet_source(pattern, options="can_have_nan=true")
            for found in names:
                check_unique(schema, found)
            execute, stamp = _tolerant(connection, source, path, pattern, schema)
        elif Path(path).suffix.lower() == ".xlsx":
            source = _sheet(connection, Path(path), sheet, schema, options or CsvOptions())
        elif is_ndjson(path):
            source = _ndjson(connection, path, schema, options or CsvOptions())
        else:
            source = csv_table(connection, path, schema, options or CsvOptions(), spill_folder)
        engine = _engine(execute, source, schema, close=connection.close, is_pinned="://" not in path, stamp=stamp)
    except BaseException:
        connection.close()
        raise
    weakref.finalize(engine, connection.close)
    return engine


def _unchanging() -> Hashable:
    """Return the stamp of what nobody can change: a table of a private connection."""
    return "unchanging"


_RACE = 2.0  # seconds: a file that was written later than this ago may be written again with the same time


def file_stamp(connection: Any, pattern: str) -> Hashable | None:
    """Tell the bytes of all files of a pattern from any others; None where that cannot be told now.

    A second change within one tick of the file system's clock leaves the time as it is: a file that was written just
    now has no stamp yet.
    """
    if "://" in pattern:
        return None
    try:
        found = connection.execute(f"SELECT file FROM glob({sql_text(pattern)}) ORDER BY file").fetchall()
        files = [(file, os.stat(file)) for (file,) in found]
    except Exception:  # no longer there, or unreadable: the question itself says so
        return None
    if not files or max(facts.st_mtime for _, facts in files) > time.time() - _RACE:
        return None
    return tuple((f, s.st_dev, s.st_ino, s.st_size, s.st_mtime_ns, s.st_ctime_ns) for f, s in files)


def _tolerant(
    connection: Any, source: str, path: str, pattern: str, schema: Schema
) -> tuple[Callable[[str], Any], Callable[[], Hashable | None]]:
    """Return how statements run on Parquet: where it lies or, once a cell was found that DuckDB cannot read, on a copy.

    DuckDB checks texts and converts points in time while it reads, so one such cell fails every statement that meets
    it. Few files have any: the copy, in which they are missing or "other", is made when a statement fails.

    Returns:
        What runs a statement, and the stamp of what it reads.
    """
    copy: list[str] = []

    def execute(statement: str) -> Any:
        if not copy:
            try:
                return connection.execute(statement)
            except Exception:  # noqa: S110 - its text may quote the cell
                pass
            name = f"pydplib_sound_{uuid.uuid4().hex}"
            sound_parquet(connection, path, schema, name)
            copy.append(name)
        return connection.execute(statement.replace(source, copy[0]))

    return execute, lambda: copy[0] if copy else file_stamp(connection, pattern)


def _sheet(connection: Any, path: Path, sheet: str | None, schema: Schema, options: CsvOptions) -> str:
    copy = Path(spill_folder()) / f"{uuid.uuid4().hex}.csv"
    try:
        said = open_sheet(path, sheet, copy, said_by="table= (in the shell --sheet)")
        return csv_table(connection, str(copy), schema, replace(said, decimal=options.decimal), spill_folder)
    finally:
        copy.unlink(missing_ok=True)


def _ndjson(connection: Any, path: str, schema: Schema, options: CsvOptions) -> str:
    """Read JSON lines into a table: the declared columns alone, so that no row decides which columns there are."""
    copy = Path(spill_folder()) / f"{uuid.uuid4().hex}.csv"
    columns = [*dict.fromkeys([*schema.stored, *([] if schema.person is None else [schema.person])])]
    try:
        said = open_ndjson(connection, path, copy, columns=columns, instead=partial(instead, schema), is_strict=False)
        return csv_table(connection, str(copy), schema, replace(said, decimal=options.decimal), spill_folder)
    finally:
        copy.unlink(missing_ok=True)


def from_frame(frame: Any, schema: Schema, *, memory_limit: str | None = None) -> SqlEngine:
    """Read a pandas frame or an Arrow table in place.

    From pandas 3 on, a shallow copy keeps its cells when the caller writes into the frame; Arrow's never change.
    """
    names = getattr(frame, "column_names", None)
    check_unique(schema, frame.columns if names is None else names)
    sound = sound_pandas if names is None else sound_arrow
    frame = guarded("DuckDB", lambda: sound(frame, schema), opening=True)
    connection = open_connection(memory_limit)
    guarded("DuckDB", lambda: connection.register("pydplib_frame", frame), opening=True)
    # No stamp: whoever holds the memory below a frame can write into it between two questions.
    return _engine(connection.execute, "pydplib_frame", schema, close=connection.close)


def from_connection(connection: Any, schema: Schema, *, table: str) -> SqlEngine:
    """Read a table of an open DuckDB connection, which stays the caller's."""
    return from_parts(connection, schema, table.split("."))


def from_parts(connection: Any, schema: Schema, parts: Sequence[str]) -> SqlEngine:
    """Read a table of an open DuckDB connection by the parts of its name."""
    name = ".".join(_DIALECT.quote(part) for part in parts)
    is_pinned = guarded("DuckDB", lambda: _is_base_table(connection, parts), opening=True)
    return _engine(connection.execute, name, schema, dialect=_FOREIGN, is_pinned=is_pinned)


def from_private(connection: Any, schema: Schema, *, table: str, close: Callable[[], None] | None = None) -> SqlEngine:
    """Read a table, or a SELECT in brackets, of a private connection, in which nothing changes any more."""
    return _engine(connection.execute, table, schema, close=close, stamp=_unchanging)


def copy_rows(engine: SqlEngine, statement: str, folder: Path, connection: Any, name: str) -> None:
    """Copy what a SELECT of one DuckDB gives into a table of another one, by a private file that is gone afterwards."""
    path = folder / f"{uuid.uuid4().hex}.parquet"
    try:
        engine.copy_to(statement, f"TO {sql_text(str(path))} (FORMAT parquet)")
        path.chmod(0o600)
        source = parquet_source(str(path), options="can_have_nan=true")
        guarded("DuckDB", lambda: connection.execute(f"CREATE TABLE {name} AS SELECT * FROM {source}"), opening=True)
    finally:
        path.unlink(missing_ok=True)


def from_query(connection: Any, schema: Schema, query: str) -> SqlEngine:
    """Read what a query of the caller gives, on the caller's connection: once in every statement."""
    return _engine(connection.execute, query, schema, dialect=_FOREIGN, is_pinned=False)


def _is_base_table(connection: Any, parts: Sequence[str]) -> bool:
    """Tell whether a name means one table that DuckDB itself keeps: no view, variable or table of another server.

    A generated column is computed when it is read, and may draw: such a table is no better than a view.
    """
    names = ("database_name", "schema_name", "table_name")[-len(parts) :]
    chosen = " AND ".join(
        f"LOWER({name}) = LOWER({_DIALECT.text(part)})" for name, part in zip(names, parts, strict=True)
    )
    views = chosen.replace("LOWER(table_name)", "LOWER(view_name)")
    own = "SELECT database_name FROM duckdb_databases() WHERE type = 'duckdb'"
    stored = f"database_name IN ({own}) AND NOT CONTAINS(UPPER(sql), 'GENERATED ALWAYS')"
    (found,) = connection.execute(
        f"SELECT (SELECT COUNT(*) FROM duckdb_tables() WHERE {chosen}), (SELECT COUNT(*) FROM duckdb_tables() "
        f"WHERE {chosen} AND {stored}), (SELECT COUNT(*) FROM duckdb_views() WHERE {views})"
    ).fetchall()
    return bool(found == (1, 1, 0))


def from_relation(relation: Any, schema: Schema) -> SqlEngine:
    """Read a DuckDB relation, on its own connection."""
    check_unique(schema, relation.columns)

    def run(statement: str) -> Any:
        return relation.query("pydplib_relation", statement)

    return _engine(run, "pydplib_relation", schema, dialect=_FOREIGN, is_pinned=False)


def _engine(
    execute: Callable[[str], Any],
    source: str,
    schema: Schema,
    *,
    close: Callable[[], None] | None = None,
    dialect: Dialect = _DIALECT,
    is_pinned: bool = True,
    stamp: Callable[[], Hashable | None] | None = None,
) -> SqlEngine:
    def run(statement: str) -> Sequence[Sequence[Any]]:
        answer = execute(statement)
        return [] if answer is None else answer.fetchall()

    described = guarded("DuckDB", lambda: run(f"DESCRIBE SELECT * FROM {source}"), opening=True)
    storages = {str(row[0]): _DIALECT.storage(str(row[1])) for row in described}
    return SqlEngine(
        "DuckDB", schema, dialect=dialect, source=SqlSource(source, storages, is_pinned, stamp), run=run, close=close
    )
