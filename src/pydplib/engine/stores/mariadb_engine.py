"""MariaDB, where many hospitals' registries are: a user who may only read suffices for tables."""

from __future__ import annotations

import re
import uuid
import weakref
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any
from urllib.parse import parse_qsl, unquote, urlsplit

from pydplib.engine.marginals import READ, Rows, columns_read, tables_sql
from pydplib.engine.plan import Plan
from pydplib.engine.protocol import Engine, check_same_table, guarded
from pydplib.engine.sql.plans import SqlSource
from pydplib.engine.sql.server_dialects import MariaDBDialect
from pydplib.engine.sql.sql_engine import BoundedEngine, Run, SqlEngine
from pydplib.errors import EngineError, ParameterError, import_extra
from pydplib.schema import Schema

_DIALECT = MariaDBDialect()

SETTINGS = (
    "SET NAMES utf8mb4",
    "SET SESSION time_zone = '+00:00', max_sort_length = 1024, sql_select_limit = DEFAULT, sql_mode = "
    "'ANSI_QUOTES,PIPES_AS_CONCAT,NO_BACKSLASH_ESCAPES,NO_ZERO_DATE,NO_ZERO_IN_DATE,NO_UNSIGNED_SUBTRACTION'",
)
"""What the dialect relies on, in a session of our own."""

_TYPES = """
SELECT c.COLUMN_NAME, c.COLUMN_TYPE,
       t.TABLE_TYPE = 'BASE TABLE' AND t.ENGINE = 'InnoDB' AND COALESCE(c.GENERATION_EXPRESSION, '') = ''
FROM information_schema.COLUMNS c
JOIN information_schema.TABLES t ON t.TABLE_SCHEMA = c.TABLE_SCHEMA AND t.TABLE_NAME = c.TABLE_NAME
WHERE c.TABLE_SCHEMA = {database} AND c.TABLE_NAME = {table} ORDER BY c.ORDINAL_POSITION
"""

KINDS = {
    1040: "the server takes no more connections",
    1044: "the user may not use the database",
    1045: "the server refused the user or the password",
    1049: "the server has no such database",
    1142: "the user may not read it: GRANT SELECT on the table",
    1143: "the user may not read all declared columns: GRANT SELECT on the table",
    1146: "the table is not there any more",
    2002: "nothing answers at this address",
    2003: "nothing answers at this address",
    2006: "the connection broke",
    2013: "the connection broke",
}
"""Kinds of failure by number: a kind holds no data, the server's own words may."""

_BROKEN = (0, 2006, 2013, 2055)


class _MariaConnection:
    """One session, opened again if the server went away. Its address, with the password, is never shown."""

    def __init__(self, **where: Any) -> None:
        self._where = where
        self._session: Any = None
        self.holds_copy = False

    def run(self, statement: str) -> Sequence[Sequence[Any]]:
        pymysql = import_extra("pymysql", what="Reading from MariaDB", extra="mariadb")
        number = None
        if self._session is None or not self._session.open:
            if self.holds_copy:
                raise EngineError(
                    "The connection to MariaDB was lost, and with it the rows that were read once. Load the table "
                    "again."
                )
            try:
                self._session = pymysql.connect(
                    **self._where, charset="utf8mb4", autocommit=True, program_name="pydplib"
                )
                for setting in SETTINGS:
                    self._session.query(setting)
            except pymysql.MySQLError as error:
                self._session, number = None, number_of(error)
            if self._session is None:  # after the handler has ended: no context carries the server's words
                raise EngineError(
                    f"MariaDB could not be reached: {KINDS.get(number or 0, 'the reason is not known')}. Its own "
                    "message is withheld, because it may quote a password."
                )
        try:
            with self._session.cursor() as cursor:
                cursor.execute(statement)
                return cursor.fetchall() if cursor.description is not None else []
        except pymysql.MySQLError as error:
            number = number_of(error)
        if number in _BROKEN:
            self.close()
        if number in KINDS:
            raise EngineError(
                f"MariaDB could not read the table: {KINDS[number]}. Its own message is withheld, because it may "
                "quote data."
            )
        raise RuntimeError  # what is left may tell of the data: the guard makes it a sentence

    def close(self) -> None:
        if self._session is not None and self._session.open:
            self._session.close()
        self._session = None


def number_of(error: Exception) -> int:
    """Return the number of a driver's error; 0 where it has none."""
    first = error.args[0] if error.args else 0
    return first if isinstance(first, int) else 0


class MariaDBEngine(SqlEngine):
    """A table or view in MariaDB.

    Attributes:
        is_copy: Whether the rows were read once, into a temporary table of the session.
    """

    is_copy = False

    @contextmanager
    def bounded(self, plan: Plan) -> Iterator[Engine]:
        """Bound once in a temporary table; where the user may not make one, bound again with each question."""
        check_same_table(self.schema, plan)
        if _may_make_temporary(self._run):
            with super().bounded(plan) as engine:
                yield engine
            return
        with self._lock:  # one state for all questions: nobody else uses the session meanwhile
            self._answer("START TRANSACTION WITH CONSISTENT SNAPSHOT, READ ONLY")
            try:
                yield BoundedEngine(self, plan, None)
            finally:
                self._answer("ROLLBACK")

    def _tables_rows(self, groups: Sequence[Rows]) -> Sequence[Sequence[Any]]:
        """Return what all tables answer, of a copy of the columns or, where none may be made, of one state.

        MariaDB computes a step as often as a statement mentions it, so a step cannot be that copy.
        """
        with self._lock:
            if not _may_make_temporary(self._run):
                self._answer("START TRANSACTION WITH CONSISTENT SNAPSHOT, READ ONLY")
                try:
                    return self._answer(tables_sql(self._compiler, groups, is_read=True))
                finally:
                    self._answer("ROLLBACK")
            name = f"{READ}_{uuid.uuid4().hex}"
            self._answer(
                f"CREATE TEMPORARY TABLE {name} AS SELECT {columns_read(self._compiler, groups)} "
                f"FROM {self._compiler.source.text}"
            )
            try:
                return self._answer(tables_sql(self._compiler.on(name), groups, is_read=True))
            finally:
                self._answer(f"DROP TEMPORARY TABLE {name}")

    def check_ready(self) -> None:
        """Raise unless the user may read the declared columns now; a session that was lost is opened again first."""
        try:
            super().check_ready()
        except EngineError:
            super().check_ready()


def _may_make_temporary(run: Run) -> bool:
    name = f"pydplib_probe_{uuid.uuid4().hex}"
    try:
        run(f"CREATE TEMPORARY TABLE {name} (one INT)")
        run(f"DROP TEMPORARY TABLE {name}")
    except Exception:  # refused, or gone: the questions themselves say why
        return False
    return True


def from_url(url: str, schema: Schema, *, table: str | None = None) -> MariaDBEngine:
    """Open ``mariadb://user@host/database`` and read one table or view of it.

    ``?ssl_ca=FILE`` asks for a verified, encrypted connection; ``?unix_socket=PATH`` for a local one.
    """
    parts = urlsplit(url)
    options = dict(parse_qsl(parts.query))
    table = table or options.pop("table", None)
    options.pop("table", None)
    if not table:
        raise ParameterError(
            "A MariaDB database holds many tables. Say which one: table='reports' (command line: --table reports)."
        )
    where: dict[str, Any] = {"host": parts.hostname or "localhost", "port": parts.port or 3306}
    where |= {"user": unquote(parts.username or ""), "password": unquote(parts.password or "")}
    database = unquote(parts.path.lstrip("/"))
    if "." in table:
        database, table = table.split(".", 1)
    if not database:
        raise ParameterError("Say which database: mariadb://user@host/database.")
    where["database"] = unquote(parts.path.lstrip("/")) or database
    if (authority := options.pop("ssl_ca", None)) is not None:
        where["ssl"] = {"ca": authority, "check_hostname": True}
    if (socket := options.pop("unix_socket", None)) is not None:
        where["unix_socket"] = socket
    if options:
        raise ParameterError(
            f"Unknown option '{next(iter(options))}'. A MariaDB address takes table, ssl_ca and unix_socket."
        )
    import_extra("pymysql", what="Reading from MariaDB", extra="mariadb")
    connection = _MariaConnection(**where)
    try:
        engine = read_table(connection.run, schema, database, table, close=connection.close)
    except BaseException:
        connection.close()
        raise
    connection.holds_copy = engine.is_copy
    if not engine.is_copy:  # which another session does not see
        engine.address = repr(sorted(where.items(), key=str))
    weakref.finalize(engine, connection.close)  # a table that is forgotten leaves no open session
    return engine


def read_table(
    run: Run, schema: Schema, database: str, table: str, *, close: Callable[[], None] | None = None
) -> MariaDBEngine:
    """Read a table or view of a session whose settings are ``SETTINGS``."""
    check_server(run)
    described = guarded(
        "MariaDB",
        lambda: run(_TYPES.format(database=_DIALECT.text(database), table=_DIALECT.text(table))),
        opening=True,
    )
    if not described:
        raise EngineError(
            f"The MariaDB database shows no table or view '{table}' to this user. Check the name and GRANT SELECT."
        )
    name = f"{_DIALECT.quote(database)}.{_DIALECT.quote(table)}"
    storages = {str(column): _DIALECT.storage(str(kind)) for column, kind, _ in described}
    engine = make_engine(
        run, schema, name, storages, is_pinned=all(is_base for _, _, is_base in described), close=close
    )
    engine.check_ready()
    return engine


def make_engine(
    run: Run,
    schema: Schema,
    source: str,
    storages: dict[str, Any],
    *,
    is_pinned: bool,
    close: Callable[[], None] | None = None,
) -> MariaDBEngine:
    """Return the engine over what stands behind FROM; what is no table of InnoDB is read once, now.

    MariaDB computes a step of a statement as often as it is mentioned: a view could give other rows to the weights than
    to those they weigh.
    """
    if not is_pinned:
        used = {*schema.stored, schema.person}
        kept = ", ".join(_DIALECT.quote(column) for column in storages if column in used)
        if kept:
            copy = f"pydplib_read_{uuid.uuid4().hex}"
            statement = f"CREATE TEMPORARY TABLE {copy} AS SELECT {kept} FROM {source}"
            if not _may_make_temporary(run):
                raise EngineError(
                    "A view of MariaDB, or a table of another engine than InnoDB, is read once, into a temporary "
                    "table, which this user may not make. GRANT CREATE TEMPORARY TABLES on the database."
                )
            guarded("MariaDB", lambda: run(statement), opening=True)
            source = copy
    engine = MariaDBEngine(
        "MariaDB", schema, dialect=_DIALECT, source=SqlSource(source, storages), run=run, close=close
    )
    engine.is_copy = not is_pinned
    return engine


def check_server(run: Run) -> None:
    """Raise unless the server is a MariaDB that knows the words of the dialect."""
    ((version,),) = guarded("MariaDB", lambda: run("SELECT VERSION()"), opening=True)
    found = re.match(r"(?:5\.5\.5-)?(\d+)\.(\d+)", str(version))
    if "mariadb" not in str(version).lower() or found is None or (int(found[1]), int(found[2])) < (10, 5):
        raise EngineError(
            f"pydplib reads MariaDB 10.5 or later. This server says '{str(version)[:40]}'. Export the table to "
            "Parquet, and load that."
        )
