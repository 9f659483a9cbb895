"""PostgreSQL, where the hospital's data already are: a read-only role suffices."""

from __future__ import annotations

import re
import socket
import weakref
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any
from urllib.parse import parse_qsl, quote, urlencode, urlsplit, urlunsplit

from pydplib.engine.plan import Plan
from pydplib.engine.protocol import Engine, check_same_table, guarded
from pydplib.engine.sql.plans import SqlSource
from pydplib.engine.sql.server_dialects import PostgresDialect
from pydplib.engine.sql.sql_engine import BoundedEngine, Run, SqlEngine
from pydplib.errors import EngineError, ParameterError, import_extra
from pydplib.schema import Schema
from pydplib.schema.cells import Storage

_DIALECT = PostgresDialect()

_TYPES = """
SELECT a.attname, CASE WHEN t.typtype = 'e' THEN 'text'
       ELSE format_type(COALESCE(NULLIF(t.typbasetype, 0), a.atttypid), NULL) END,
       c.relkind IN ('r', 'p', 'm') AND NOT c.relrowsecurity
FROM pg_attribute a JOIN pg_type t ON t.oid = a.atttypid JOIN pg_class c ON c.oid = a.attrelid
WHERE a.attrelid = to_regclass({table}) AND a.attnum > 0 AND NOT a.attisdropped
"""

MAY_MAKE_TEMPORARY = """
SELECT has_database_privilege(current_database(), 'TEMPORARY')
       AND current_setting('transaction_read_only') = 'off' AND NOT pg_is_in_recovery()
"""


_CLASSES = {
    "28": "the server refused the role or its password",
    "3D": "the server has no such database",
    "42501": "the role may not read it: GRANT SELECT on the table, and USAGE on its schema",
    "42P01": "the table is not there any more",
    "53300": "the server takes no more connections",
    "57P": "the server is shutting down or starting",
    "08": "the connection broke",
}
"""Kinds of failure by SQLSTATE, or its first characters: a kind holds no data, the server's own words may."""

_FATAL = (
    (r'role ".*" does not exist', "the server knows no such role"),
    (r'database ".*" does not exist', "the server has no such database"),
    (r"password authentication failed|no password supplied", "the server refused the role or its password"),
    (r"no pg_hba.conf entry|permission denied for database", "the server does not let this role in from here"),
    (r"too many (clients|connections)", "the server takes no more connections"),
    (r"starting up|shutting down", "the server is shutting down or starting"),
)
"""Before a role is known there is no SQLSTATE to read, so the words are compared, and never passed on."""


def _kind_of(error: Exception) -> str:
    """Return what kind of failure the server reported; empty where it cannot be told."""
    state = str(getattr(error, "sqlstate", None) or "")
    for start, words in _CLASSES.items():
        if state.startswith(start):
            return words
    text = str(error)
    return next((words for pattern, words in _FATAL if re.search(pattern, text)), "")


def _unreachable(url: str) -> str:
    """Return why no connection comes about, as far as the network tells: name, port, silence."""
    parts = urlsplit(url)
    host = parts.hostname
    if not host or host.startswith("/"):
        return ""
    port = parts.port or 5432
    try:
        addresses = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError):
        return f"the host name '{host}' is unknown (DNS)"
    for address in addresses:
        try:
            with socket.socket(address[0], socket.SOCK_STREAM) as probe:
                probe.settimeout(3)
                probe.connect(address[4])
                return ""
        except ConnectionRefusedError:
            found = f"nothing listens on port {port} of '{host}' (connection refused)"
        except OSError:
            found = f"'{host}' does not answer on port {port}"
    return found


class _Connection:
    """One session, opened again if the server went away. Its address, with the password, is never shown."""

    def __init__(self, url: str) -> None:
        self._url = url
        self._session: Any = None

    def run(self, statement: str) -> Sequence[Sequence[Any]]:
        if self._session is None or self._session.closed:
            psycopg = import_extra("psycopg", what="Reading from PostgreSQL", extra="postgres")
            kind = ""
            try:
                self._session = psycopg.connect(self._url, autocommit=True, application_name="pydplib")
                self._session.execute("SET timezone = 'UTC'")
            except psycopg.Error as error:
                self._session, kind = None, _kind_of(error) or _unreachable(self._url) or "the reason is not known"
            if self._session is None:  # after the handler has ended: no context carries the server's words
                raise EngineError(
                    f"PostgreSQL could not be reached: {kind}. Its own message is withheld, because it may quote a "
                    "password."
                )
        return fetched(self._session, statement)

    def close(self) -> None:
        if self._session is not None:
            self._session.close()


def fetched(session: Any, statement: str) -> Sequence[Sequence[Any]]:
    """Run a statement and return its rows; the server's own words stay inside."""
    psycopg = import_extra("psycopg", what="Reading from PostgreSQL", extra="postgres")
    kind = ""
    try:
        cursor = session.execute(statement)
        return cursor.fetchall() if cursor.description is not None else []
    except psycopg.Error as error:
        kind = _kind_of(error)
    if kind:
        raise EngineError(
            f"PostgreSQL could not read the table: {kind}. Its own message is withheld, because it may quote data."
        )
    raise RuntimeError  # what is left may tell of the data: the guard makes it a sentence


class PostgresEngine(SqlEngine):
    """A table or view in PostgreSQL."""

    @contextmanager
    def bounded(self, plan: Plan) -> Iterator[Engine]:
        """Bound once in a temporary table; where the role may not make one, bound again with each question."""
        check_same_table(self.schema, plan)
        if self._answer(MAY_MAKE_TEMPORARY)[0][0]:
            with super().bounded(plan) as engine:
                yield engine
            return
        with self._lock:  # one state for all questions: nobody else uses the session meanwhile
            self._answer("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")
            try:
                yield BoundedEngine(self, plan, None)
            finally:
                self._answer("ROLLBACK")

    def check_ready(self) -> None:
        """Raise unless the role may read the declared columns now; a session that was lost is opened again first."""
        try:
            super().check_ready()
        except EngineError:
            super().check_ready()


def from_url(url: str, schema: Schema, *, table: str | None = None) -> PostgresEngine:
    """Open ``postgresql://user@host/database`` and read one table or view of it."""
    parts = urlsplit(url)
    options = dict(parse_qsl(parts.query))
    table = table or options.pop("table", None)
    options.pop("table", None)
    if not table:
        raise ParameterError(
            "A PostgreSQL database holds many tables. Say which one: table='reports' (command line: --table reports)."
        )
    address = urlunsplit(parts._replace(query=urlencode(options, quote_via=quote)))
    import_extra("psycopg", what="Reading from PostgreSQL", extra="postgres")
    connection = _Connection(address)
    source = describe(connection.run, table.split("."))
    engine = PostgresEngine(
        "PostgreSQL", schema, dialect=_DIALECT, source=source, run=connection.run, close=connection.close
    )
    engine.address = address
    try:
        engine.check_ready()  # the catalog shows tables that the role may not read
    except BaseException:
        connection.close()
        raise
    weakref.finalize(engine, connection.close)  # a table that is forgotten leaves no open session
    return engine


def describe(run: Run, parts: Sequence[str]) -> SqlSource:
    """Return a table or view by the parts of its name, with how its columns are stored."""
    name = ".".join(_DIALECT.quote(part) for part in parts)
    described = guarded("PostgreSQL", lambda: run(_TYPES.format(table=_DIALECT.text(name))), opening=True)
    if not described:
        raise EngineError(
            f"The PostgreSQL database shows no table or view '{'.'.join(parts)}' to this role. Check the name "
            "(schema.table) and GRANT SELECT."
        )
    storages = {str(column): storage(str(kind)) for column, kind, _ in described}
    return SqlSource(name, storages, is_pinned=all(is_base for _, _, is_base in described))


def storage(kind: str) -> Storage:
    """Say how a type of PostgreSQL is stored."""
    return _DIALECT.storage(kind.replace(" without time zone", ""))
