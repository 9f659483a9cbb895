"""An engine over any SQL database: compile, run, read the integers back into public order."""

from __future__ import annotations

import threading
import uuid
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from pydplib.engine.columns import check_storage
from pydplib.engine.dialects import Dialect
from pydplib.engine.exact import ExactTable
from pydplib.engine.plan import Bins, Key, Plan
from pydplib.engine.protocol import Engine, check_narrower, check_same_table, guarded
from pydplib.engine.sql import Compiler, Query, Source
from pydplib.errors import SchemaError, did_you_mean
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

    temporary = "CREATE TEMP TABLE {name} AS\n{select}"

    def __init__(
        self,
        name: str,
        schema: Schema,
        dialect: Dialect,
        source: Source,
        run: Run,
        *,
        close: Callable[[], None] | None = None,
    ) -> None:
        self.name = name
        self.schema = schema
        self._compiler = Compiler(dialect, schema, source)
        self._run = run
        self._close = close
        # One connection, one statement at a time: web workers share a loaded table.
        self._lock = threading.RLock()
        check_columns(schema, source, dialect)

    def __repr__(self) -> str:
        return f"<{self.name} engine, {len(self.schema.columns)} declared columns>"

    def aggregate(self, plan: Plan) -> ExactTable:
        """Return the plan's integers, one row per public key."""
        check_same_table(self.schema, plan)
        queries = self._compiler.queries(plan)
        if len(queries) > 1 and plan.bound.person is not None:
            # Bounding is the dear part: do it once for all statements of the plan.
            with self.bounded(plan) as engine:
                return engine.aggregate(plan)
        return read_table(plan, [(query, self._answer(query.text)) for query in queries])

    @contextmanager
    def bounded(self, plan: Plan) -> Iterator[Engine]:
        """Bound the plan's rows once, in a temporary table that is dropped at the end."""
        check_same_table(self.schema, plan)
        name = f"pydplib_bounded_{uuid.uuid4().hex}"
        select = self._compiler.bounded(plan)
        with self._lock:
            self._answer(self.temporary.format(name=name, select=select))
        try:
            yield BoundedEngine(self, plan, name)
        finally:
            with self._lock:
                self._answer(f"DROP TABLE {name}")

    def explain(self, plan: Plan) -> str:
        """Return the SQL of a plan, for the audit trail."""
        check_same_table(self.schema, plan)
        return ";\n\n".join(query.text for query in self._compiler.queries(plan))

    def close(self) -> None:
        """Close what ``load`` opened; a connection of the caller stays open."""
        if self._close is not None:
            self._close()

    def _answer(self, statement: str) -> Sequence[Sequence[Any]]:
        with self._lock:
            return guarded(self.name, lambda: self._run(statement))


class BoundedEngine:
    """A table whose rows are bounded already: it can only be asked narrower plans."""

    def __init__(self, engine: SqlEngine, plan: Plan, table: str) -> None:
        self.name = engine.name
        self.schema = engine.schema
        self._engine = engine
        self._plan = plan
        self._table = table

    def __repr__(self) -> str:
        return f"<{self.name} engine, bounded: {self._plan.bound!r}>"

    def aggregate(self, plan: Plan) -> ExactTable:
        """Return the integers of a narrower plan, from the rows as they were bounded."""
        return read_table(plan, [(query, self._engine._answer(query.text)) for query in self._queries(plan)])

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
        extra = [condition for condition in plan.where if condition not in self._plan.where]
        return self._engine._compiler.queries(plan, bounded_table=self._table, extra=extra)


def check_columns(schema: Schema, source: Source, dialect: Dialect) -> None:
    """Refuse a table that lacks a declared column or stores it as another kind."""
    needed = [*schema.columns, *([schema.person] if schema.person is not None else [])]
    for name in needed:
        if name not in source.storages:
            raise SchemaError(
                f"The schema declares column '{name}', but the table has none.{did_you_mean(name, source.storages)}"
            )
    for name, column in schema.columns.items():
        check_storage(name, column, source.storages[name], text_as_day=dialect.text_as_day)


def read_table(plan: Plan, answers: Sequence[tuple[Query, Sequence[Sequence[Any]]]]) -> ExactTable:
    """Put an engine's rows into public order: every public key present, zeros where nothing was found."""
    if plan.has_unknown_keys:
        return _read_unknown(plan, answers)
    values: list[NDArray[np.int64]] = [
        np.zeros((len(plan.keys), m.cells) if m.kind == "cells" else len(plan.keys), np.int64) for m in plan.measures
    ]
    for query, rows in answers:
        for row in rows:
            if query.is_cells:
                values[query.measures[0]][int(row[0]), int(row[1])] = int(row[2])
            else:
                for measure, value in zip(query.measures, row[1:], strict=True):
                    values[measure][int(row[0])] = int(value)
    return ExactTable(plan, plan.keys, tuple(values))


def _read_unknown(plan: Plan, answers: Sequence[tuple[Query, Sequence[Sequence[Any]]]]) -> ExactTable:
    """Read a table whose keys the engine found; sorted, so that no order of arrival is seen."""
    (_, rows) = answers[0]
    columns = list(plan.by.items())
    lists = [keys.keys if isinstance(keys, Bins) else keys or (None,) for _, keys in columns]
    unknown = [i for i, (_, keys) in enumerate(columns) if keys is None]
    found: list[tuple[tuple[Key, ...], list[int]]] = []
    for row in rows:
        position = int(row[0])
        key: list[Key] = [None] * len(columns)
        for i in reversed(range(len(columns))):
            if i not in unknown:
                position, digit = divmod(position, len(lists[i]))
                key[i] = lists[i][digit]
        for i, cell in zip(unknown, row[1:], strict=False):
            key[i] = cell if isinstance(cell, str) else int(cell)
        found.append((tuple(key), [int(value) for value in row[1 + len(unknown) :]]))
    found.sort(key=lambda item: [(isinstance(part, str), str(type(part)), str(part)) for part in item[0]])
    table = np.array([numbers for _, numbers in found], np.int64).reshape(len(found), len(plan.measures))
    return ExactTable(plan, tuple(key for key, _ in found), tuple(np.ascontiguousarray(column) for column in table.T))
