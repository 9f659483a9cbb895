"""An engine over any SQL database: compile, run, read the integers back into public order."""

from __future__ import annotations

import threading
import uuid
from collections.abc import Callable, Hashable, Iterator, Sequence
from contextlib import contextmanager
from copy import copy
from typing import Any, TypeAlias

from numpy.typing import NDArray

from pydplib.engine.answers import EngineAnswer, check_present, read_table
from pydplib.engine.exact import ExactTable
from pydplib.engine.marginals import Rows, read_tables, rows_of, tables_sql
from pydplib.engine.plan import Plan
from pydplib.engine.protocol import Engine, check_narrower, check_same_table, guarded
from pydplib.engine.sql.beyond import Beyond, takes
from pydplib.engine.sql.columns import check_storages
from pydplib.engine.sql.dialects import Dialect
from pydplib.engine.sql.plans import Compiler, Query, SqlSource
from pydplib.errors import QuestionError
from pydplib.schema import Schema

Run: TypeAlias = Callable[[str], Sequence[Sequence[Any]]]
"""Runs one statement and returns its rows (of integers and keys, never of data)."""


class SqlEngine:
    """A table in an SQL database.

    Args:
        name: How messages call the engine.
        schema: The declared table.
        dialect: The database's words.
        source: Where the rows are.
        run: Runs one statement.
        close: Called by ``close``.
    """

    def __init__(
        self,
        name: str,
        schema: Schema,
        *,
        dialect: Dialect,
        source: SqlSource,
        run: Run,
        close: Callable[[], None] | None = None,
    ) -> None:
        self.name = name
        self.schema = schema
        self._compiler = Compiler(dialect, schema, source)
        self._dialect = dialect
        self._run = run
        self._opener: SqlEngine | None = None
        self.address: Hashable | None = None  # tells one database from another; set by whoever opened it
        self._close = close
        # One connection, one statement at a time: web workers share a loaded table.
        self._lock = threading.RLock()
        check_present(schema, source.storages)
        check_storages(schema, source.storages, text_as_day=dialect.text_as_day)
        if schema.person is not None:
            self._compiler.person_storage(schema.person)
        # Where the bytes stay as they are, only persons beyond the limit are weighed.
        self._beyond = None
        if source.stamp is not None and source.is_pinned and schema.person is not None:
            self._beyond = Beyond(self._compiler, source.stamp, lambda statement: guarded(name, lambda: run(statement)))

    def __repr__(self) -> str:
        return f"<{self.name} engine, {len(self.schema.columns)} declared columns>"

    @property
    def compiler(self) -> Compiler:
        """Says what is run."""
        return self._compiler

    def over(self, schema: Schema, source: SqlSource) -> SqlEngine:
        """Return an engine over another source of the same database, by the same connection, which stays this one's."""
        engine = copy(self)
        SqlEngine.__init__(engine, self.name, schema, dialect=self._dialect, source=source, run=self._run)
        engine.address, engine._lock = self.address, self._lock
        engine._opener = self  # which closes the connection when it is forgotten
        return engine

    def aggregate(self, plan: Plan) -> ExactTable:
        """Return the plan's integers, one row per public key."""
        check_same_table(self.schema, plan)
        if self._beyond is not None:
            with self._lock:
                found = self._beyond.answers(plan)
            if found is not None:
                queries = self._beyond.queries(plan)
                answers = [EngineAnswer(rows, q.measures, q.is_cells) for rows, q in zip(found, queries, strict=True)]
                return guarded(self.name, lambda: read_table(plan, answers))
        return self._weighed(plan)

    def _weighed(self, plan: Plan) -> ExactTable:
        """Return the same integers with every row weighed: for sources that may change, and to compare with."""
        queries = self._compiler.queries(plan)
        if len(queries) > 1 and plan.bound.person is not None:
            # Bounding is the dear part: do it once for all statements of the plan.
            with self.bounded(plan) as engine:
                return engine.aggregate(plan)
        answers = [self._read(query) for query in queries]
        return guarded(self.name, lambda: read_table(plan, answers))

    def copy_to(self, statement: str, where: str) -> None:
        """Copy what a SELECT gives to where the database can put it."""
        self._answer(f"COPY ({statement}) {where}")

    def tables(self, plans: Sequence[Plan]) -> tuple[NDArray[Any], ...]:
        """Return several tables of counts by one statement that scans the source once."""
        for plan in plans:
            check_same_table(self.schema, plan)
        groups = rows_of(plans)
        if not groups:
            return ()
        rows = self._tables_aside(groups)
        if rows is None:
            rows = self._tables_rows(groups)
        return guarded(self.name, lambda: read_tables(groups, rows))

    def _tables_rows(self, groups: Sequence[Rows]) -> Sequence[Sequence[Any]]:
        """Return what ``tables_sql`` answers with every row weighed."""
        return self._answer(tables_sql(self._compiler, groups))

    def _tables_aside(self, groups: Sequence[Rows]) -> Sequence[Sequence[Any]] | None:
        """Return what the statement answers where only persons beyond the limit are weighed; None where all are."""
        if self._beyond is None:
            return None
        taken = [takes(self._compiler, group.outer) for group in groups]
        if not any(taken):
            return None

        def statements(aside: str) -> list[str]:
            return [tables_sql(self._compiler, groups, asides=[aside if known else None for known in taken])]

        with self._lock:
            found = self._beyond.run_aside(
                [group.outer for group, known in zip(groups, taken, strict=True) if known], statements
            )
        return None if found is None else found[0]

    @contextmanager
    def bounded(self, plan: Plan) -> Iterator[Engine]:
        """Bound the plan's rows once, in a temporary table that is dropped at the end."""
        check_same_table(self.schema, plan)
        name = f"pydplib_bounded_{uuid.uuid4().hex}"
        self._answer(f"CREATE TEMPORARY TABLE {name} AS\n{self._compiler.bounded(plan)}")
        try:
            yield BoundedEngine(self, plan, name)
        finally:
            self._answer(f"DROP TABLE {name}")

    def check_ready(self) -> None:
        """Raise ``EngineError`` unless the declared columns can be read now. No row is read: the answer is empty."""
        names = dict.fromkeys([*self.schema.stored, *([self.schema.person] if self.schema.person else [])])
        listed = ", ".join(self._compiler.dialect.quote(name) for name in names)
        with self._lock:
            statement = f"SELECT {listed} FROM {self._compiler.source.text} LIMIT 0"
            guarded(self.name, lambda: self._run(statement), opening=True)

    def explain(self, plan: Plan) -> str:
        """Return the SQL of a plan, for the audit trail.

        Rows that were laid aside by an earlier question are not laid aside again; where they are too many, or the file
        has changed meanwhile, every row is weighed instead, with the same integers.
        """
        check_same_table(self.schema, plan)
        if self._beyond is not None and (statements := self._beyond.explain(plan)):
            return ";\n\n".join(statements)
        return ";\n\n".join(query.text for query in self._compiler.queries(plan))

    def close(self) -> None:
        """Close what ``load`` opened; a connection of the caller stays open."""
        if self._close is not None:
            self._close()

    def _read(self, query: Query) -> EngineAnswer:
        return EngineAnswer(self._answer(query.text), query.measures, query.is_cells)

    def _answer(self, statement: str) -> Sequence[Sequence[Any]]:
        with self._lock:
            return guarded(self.name, lambda: self._run(statement))


class BoundedEngine:
    """A table whose rows are bounded already: it can only be asked narrower plans.

    Args:
        engine: Where the rows are.
        plan: The plan that bounded them.
        table: The temporary table; None where each question bounds the rows again, in the same way.
    """

    def __init__(self, engine: SqlEngine, plan: Plan, table: str | None) -> None:
        self.name = engine.name
        self.schema = engine.schema
        self._engine = engine
        self._plan = plan
        self._table = table

    def __repr__(self) -> str:
        return f"<{self.name} engine, bounded: {self._plan.bound!r}>"

    def aggregate(self, plan: Plan) -> ExactTable:
        """Return the integers of a narrower plan, from the rows as they were bounded."""
        answers = [self._engine._read(query) for query in self._queries(plan)]
        return guarded(self.name, lambda: read_table(plan, answers))

    def tables(self, plans: Sequence[Plan]) -> tuple[NDArray[Any], ...]:
        """Refuse: a table whose rows are bounded is asked one plan at a time."""
        raise QuestionError("Several tables are counted from the table itself: table.tables(plans).")

    @contextmanager
    def bounded(self, plan: Plan) -> Iterator[Engine]:
        """Return this table: it is bounded already."""
        self._queries(plan)
        yield self

    def explain(self, plan: Plan) -> str:
        """Return the SQL of a plan on the bounded table."""
        return ";\n\n".join(query.text for query in self._queries(plan))

    def _queries(self, plan: Plan) -> list[Query]:
        check_same_table(self.schema, plan)
        check_narrower(self._plan, plan)
        return self._engine._compiler.queries(plan, outer=self._plan, bounded_table=self._table)
