"""PostgreSQL, where the hospital's data already are: a read-only role suffices."""

from __future__ import annotations

import weakref
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any
from urllib.parse import parse_qsl, quote, urlencode, urlsplit, urlunsplit

from pydplib.engine.plan import Plan
from pydplib.engine.protocol import Engine, check_same_table, guarded
from pydplib.engine.server_dialects import PostgresDialect
from pydplib.engine.sql import Source
from pydplib.engine.sqlengine import BoundedEngine, SqlEngine
from pydplib.errors import EngineError, ParameterError, import_extra
from pydplib.schema import Schema

_DIALECT = PostgresDialect()

_TYPES = """
SELECT a.attname, CASE WHEN t.typtype = 'e' THEN 'text'
       ELSE format_type(COALESCE(NULLIF(t.typbasetype, 0), a.atttypid), NULL) END
FROM pg_attribute a JOIN pg_type t ON t.oid = a.atttypid
WHERE a.attrelid = to_regclass({table}) AND a.attnum > 0 AND NOT a.attisdropped
"""

_MAY_MAKE_TEMPORARY = """
SELECT has_database_privilege(current_database(), 'TEMPORARY')
       AND current_setting('transaction_read_only') = 'off' AND NOT pg_is_in_recovery()
"""


class _Connection:
    """One session, opened again if the server went away. Its address, with the password, is never shown."""

    def __init__(self, url: str) -> None:
        self._url = url
        self._session: Any = None

    def run(self, statement: str) -> Sequence[Sequence[Any]]:
        if self._session is None or self._session.closed:
            psycopg = import_extra("psycopg", what="Reading from PostgreSQL", extra="postgres")
            self._session = psycopg.connect(self._url, autocommit=True, application_name="pydplib")
            self._session.execute("SET timezone = 'UTC'")
        cursor = self._session.execute(statement)
        return cursor.fetchall() if cursor.description is not None else []

    def close(self) -> None:
        if self._session is not None:
            self._session.close()


class PostgresEngine(SqlEngine):
    """A table or view in PostgreSQL."""

    @contextmanager
    def bounded(self, plan: Plan) -> Iterator[Engine]:
        """Bound once in a temporary table; where the role may not make one, bound again with each question."""
        check_same_table(self.schema, plan)
        if self._answer(_MAY_MAKE_TEMPORARY)[0][0]:
            with super().bounded(plan) as engine:
                yield engine
        else:
            yield BoundedEngine(self, plan, None)


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
    name = ".".join(_DIALECT.quote(part) for part in table.split("."))
    described = guarded("PostgreSQL", lambda: connection.run(_TYPES.format(table=_DIALECT.text(name))), opening=True)
    if not described:
        raise EngineError(
            f"The PostgreSQL database shows no table or view '{table}' to this role. Check the name (schema.table) "
            "and GRANT SELECT."
        )
    storages = {
        str(column): _DIALECT.storage(str(kind).replace(" without time zone", "")) for column, kind in described
    }
    source = Source(name, storages)
    engine = PostgresEngine("PostgreSQL", schema, _DIALECT, source, connection.run, close=connection.close)
    weakref.finalize(engine, connection.close)  # a table that is forgotten leaves no open session
    return engine
