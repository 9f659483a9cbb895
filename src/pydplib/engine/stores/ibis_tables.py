"""Tables that Ibis opened, where the database behind it runs our SQL: DuckDB, PostgreSQL and MariaDB.

A table of the database is read as it lies there. An expression (a filter, a join, a computed column) is no table: it
could give other rows on a second reading, so it is read once before a person's rows are weighed.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from pydplib.engine.plan import Plan
from pydplib.engine.protocol import Engine, check_same_table, guarded
from pydplib.engine.sql.plans import SqlSource
from pydplib.engine.sql.server_dialects import MariaDBDialect, PostgresDialect
from pydplib.engine.sql.sql_engine import BoundedEngine, SqlEngine
from pydplib.engine.stores import duckdb_engine, mariadb_engine, postgres_engine
from pydplib.errors import DataError, EngineError, import_extra
from pydplib.schema import Schema

_ALIAS = "pydplib_ibis"


def from_table(table: Any, schema: Schema) -> SqlEngine:
    """Read an Ibis table or table expression on its own connection, which stays the caller's."""
    import_extra("ibis", what="Reading an Ibis table", extra="ibis")
    from ibis.expr import operations

    if type(table).__name__ not in ("Table", "CachedTable"):
        raise DataError("load() takes a whole Ibis table; this is a column or a value of one.")
    operation = table.op()
    if operation.find(operations.InMemoryTable):
        raise DataError("This Ibis table holds rows of Python's memory. Load the frame itself: load(frame, schema).")
    if operation.find(operations.UnboundTable):
        raise DataError("This Ibis table has no connection. Take it from one: connection.table('reports').")
    backend = guarded("Ibis", table.get_backend, opening=True)
    opener = _OPENERS.get(backend.name)
    if opener is None:
        raise DataError(
            f"This Ibis table is on {backend.name}, and pydplib's SQL runs on DuckDB, PostgreSQL and MariaDB. Load a "
            "file or a frame of it instead."
        )
    if isinstance(operation, operations.DatabaseTable):
        space = operation.namespace
        parts = [part for part in (space.catalog, space.database, operation.name) if part is not None]
        return opener(backend, schema, parts, None)
    return opener(backend, schema, [], guarded("Ibis", lambda: str(backend.compile(table)), opening=True))


# -- DuckDB ----------------------------------------------------------------------------------------


def _on_duckdb(backend: Any, schema: Schema, parts: Sequence[str], text: str | None) -> SqlEngine:
    if text is None:
        return duckdb_engine.from_parts(backend.con, schema, parts)
    return duckdb_engine.from_query(backend.con, schema, f"({text}) {_ALIAS}")


# -- PostgreSQL ------------------------------------------------------------------------------------


class _CallersSession:
    """The caller's session of PostgreSQL: each statement in a transaction, at UTC, which ends with it."""

    def __init__(self, session: Any) -> None:
        self._session = session

    def run(self, statement: str) -> Sequence[Sequence[Any]]:
        with self._session.transaction():
            self._session.execute("SET LOCAL timezone = 'UTC'")
            return postgres_engine.fetched(self._session, statement)

    @contextmanager
    def one_state(self) -> Iterator[None]:
        """Let all statements inside see the same rows."""
        with self._session.transaction():
            self._session.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY")
            yield


class _IbisPostgresEngine(SqlEngine):
    """A table or an expression on the caller's session."""

    session: _CallersSession

    @contextmanager
    def bounded(self, plan: Plan) -> Iterator[Engine]:
        """Bound once in a temporary table; where the role may not make one, bound again with each question."""
        check_same_table(self.schema, plan)
        if self._answer(postgres_engine.MAY_MAKE_TEMPORARY)[0][0]:
            with super().bounded(plan) as engine:
                yield engine
            return
        with self._lock, self.session.one_state():
            yield BoundedEngine(self, plan, None)


def _on_postgres(backend: Any, schema: Schema, parts: Sequence[str], text: str | None) -> SqlEngine:
    dialect, session = PostgresDialect(), _CallersSession(backend.con)
    if text is None:
        source = postgres_engine.describe(session.run, parts[-2:])
    else:
        found = guarded("PostgreSQL", lambda: _described(backend.con, text), opening=True)
        storages = {name: postgres_engine.storage(kind) for name, kind in found.items()}
        source = SqlSource(f"({text}) {_ALIAS}", storages, is_pinned=False)
    engine = _IbisPostgresEngine("PostgreSQL", schema, dialect=dialect, source=source, run=session.run)
    engine.session = session
    engine.check_ready()
    return engine


def _described(session: Any, text: str) -> Mapping[str, str]:
    """Return column -> type of a statement; nothing of it is run."""
    with session.transaction():
        columns = session.execute(f"SELECT * FROM ({text}) {_ALIAS} LIMIT 0").description
        kinds = session.execute(
            "SELECT CASE WHEN t.typtype = 'e' THEN 'text' "
            "ELSE format_type(COALESCE(NULLIF(t.typbasetype, 0), t.oid), NULL) END "
            "FROM unnest(%s::oid[]) WITH ORDINALITY o(oid, place) JOIN pg_type t ON t.oid = o.oid ORDER BY place",
            [[column.type_code for column in columns]],
        ).fetchall()
    return {str(column.name): str(kind) for column, (kind,) in zip(columns, kinds, strict=True)}


# -- MariaDB ---------------------------------------------------------------------------------------


_SETTINGS = (
    "character_set_client", "character_set_connection", "character_set_results", "collation_connection", "time_zone",
    "max_sort_length", "sql_select_limit", "sql_mode",
)  # fmt: skip


def _on_mariadb(backend: Any, schema: Schema, parts: Sequence[str], text: str | None) -> SqlEngine:
    session, dialect = backend.con, MariaDBDialect()

    def plainly(statement: str) -> Sequence[Sequence[Any]]:
        """Run a statement in the caller's own settings."""
        number = 0
        try:
            cursor = session.cursor()
            try:
                cursor.execute(statement)
                return cursor.fetchall() if cursor.description is not None else []
            finally:
                cursor.close()
        except Exception as error:
            number = mariadb_engine.number_of(error)
        words = mariadb_engine.KINDS.get(number)
        if words is None:
            raise RuntimeError  # what is left may tell of the data: the guard makes it a sentence
        raise EngineError(f"MariaDB could not read the table: {words}. Its own message may quote data.")

    def run(statement: str) -> Sequence[Sequence[Any]]:
        """Run a statement in the dialect's settings, and put back the caller's."""
        (found,) = plainly("SELECT " + ", ".join(f"CAST(@@SESSION.{name} AS CHAR)" for name in _SETTINGS))
        for setting in mariadb_engine.SETTINGS:
            plainly(setting)
        try:
            return plainly(statement)
        finally:
            numbers = ("max_sort_length", "sql_select_limit")
            plainly("SET SESSION " + ", ".join(
                f"{name} = {value if name in numbers else dialect.text(str(value))}"
                for name, value in zip(_SETTINGS, found, strict=True)
            ))  # fmt: skip

    if text is None:
        ((database,),) = guarded("MariaDB", lambda: plainly("SELECT DATABASE()"), opening=True)
        return mariadb_engine.read_table(run, schema, parts[-2] if len(parts) > 1 else str(database), parts[-1])
    mariadb_engine.check_server(run)
    copy = f"pydplib_ibis_{uuid.uuid4().hex}"
    # In the caller's settings, for which Ibis wrote it: quotes and bars may mean something else in ours.
    guarded("MariaDB", lambda: plainly(f"CREATE TEMPORARY TABLE {copy} AS {text}"), opening=True)
    described = guarded("MariaDB", lambda: plainly(f"SHOW COLUMNS FROM {copy}"), opening=True)
    storages = {str(row[0]): dialect.storage(_text(row[1])) for row in described}

    def close() -> None:
        guarded("MariaDB", lambda: plainly(f"DROP TEMPORARY TABLE IF EXISTS {copy}"))

    engine = mariadb_engine.make_engine(run, schema, copy, storages, is_pinned=True, close=close)
    engine.is_copy = True
    return engine


def _text(value: Any) -> str:
    return value.decode("utf-8") if isinstance(value, bytes) else str(value)


_OPENERS: Mapping[str, Callable[[Any, Schema, Sequence[str], str | None], SqlEngine]] = {
    "duckdb": _on_duckdb,
    "postgres": _on_postgres,
    "mysql": _on_mariadb,
}
