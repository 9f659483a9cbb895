"""Computed columns as SQL: each sign of a formula is one step, so that no cell is written twice.

``pydplib.schema.formulas`` says what a formula means. A database that fails on division by 0, overflow or underflow
never meets any: what could be one is missing, or 0, before.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from pydplib.engine.sql.columns import clamped_sql
from pydplib.engine.sql.dialects import Dialect
from pydplib.schema import Column, Schema
from pydplib.schema.formulas import HUGE, TINY, Calendar, Constant, Cut, FormulaStep, Node, Operand

_MOST_CLAUSES = 50
"""MariaDB takes at most 64 clauses behind one WITH."""


def with_computed(dialect: Dialect, text: str, columns: Sequence[str], schema: Schema, names: Mapping[str, str]) -> str:
    """Return a SELECT with more columns, computed from normalised columns of each of its rows.

    Args:
        dialect: The database's words.
        text: The SELECT of normalised columns.
        columns: Columns; of those that are computed of each row, one is added.
        schema: The table.
        names: Column -> its name inside the engine.
    """
    made = [step for column in columns for step in _computed(dialect, column, schema, names)]
    for some in batched(made, _MOST_CLAUSES):
        clauses, origin = [f"n0 AS {dialect.apart}({text}{dialect.apart_end})"], "n0"
        for place, (name, expression) in enumerate(some, start=1):
            more = f"SELECT *, {expression} AS {name} FROM {origin}{dialect.apart_end}"
            clauses.append(f"n{place} AS {dialect.apart}({more})")
            origin = f"n{place}"
        text = f"WITH {', '.join(clauses)} SELECT * FROM {origin}"
    return text


def batched(steps: Sequence[tuple[str, str]], most: int) -> Iterator[Sequence[tuple[str, str]]]:
    """Return steps in parts of at most ``most``."""
    for first in range(0, len(steps), most):
        yield steps[first : first + most]


def _computed(dialect: Dialect, column: str, schema: Schema, names: Mapping[str, str]) -> list[tuple[str, str]]:
    """Return the steps of one column: (name, expression), the column itself last."""
    kind, name = schema.columns[column], names[column]
    formula = schema.formulas.get(column)
    root = None if formula is None else formula.root
    if root is None or isinstance(root, FormulaStep):
        return []
    writer = _SqlWriter(dialect, schema, names, prefix=f"{name}_")
    value = writer.value(root.of if isinstance(root, Cut) else root)
    final = _cut(dialect, value, root) if isinstance(root, Cut) else bounded_number(dialect, value, kind)
    return [*writer.steps, (name, final)]


def bounded_number(dialect: Dialect, number: str, column: Column) -> str:
    """Return a computed number as its column declares it: clamped, whole if it is; it is never NaN."""
    low, high = column.cell.limits or (-HUGE, HUGE)
    clamped = clamped_sql(dialect, number, low, high, "integer")
    if not getattr(column.cell, "whole", False):
        return clamped
    return dialect.as_double(dialect.as_whole(f"({clamped} + {dialect.double(0.5)})"))


def _cut(dialect: Dialect, number: str, cut: Cut) -> str:
    below = " ".join(f"WHEN {number} < {dialect.double(edge)} THEN {i}" for i, edge in enumerate(cut.edges))
    return f"CASE WHEN {number} IS NULL THEN NULL {below} ELSE {len(cut.edges)} END"


class _SqlWriter:
    """Writes a formula as steps: (name, expression) each of columns and earlier steps."""

    def __init__(self, dialect: Dialect, schema: Schema, names: Mapping[str, str], prefix: str) -> None:
        self.dialect, self.schema, self.names, self.prefix = dialect, schema, names, prefix
        self.steps: list[tuple[str, str]] = []
        self._known: dict[Node, str] = {}
        self._wholes: dict[Node, str] = {}

    def value(self, node: Node) -> str:
        """Return the name, or the literal, of a part's value; each part is computed once."""
        if isinstance(node, Constant):
            return self.dialect.double(node.value)
        if isinstance(node, Calendar):
            return self._whole(node.arithmetic)
        if node not in self._known:
            self._known[node] = self._computed(node)
        return self._known[node]

    def _computed(self, node: Node) -> str:
        dialect = self.dialect
        if isinstance(node, Operand):
            cell = self.names[node.column]
            return self._ordinary(dialect.as_double(cell) if self.schema.cells[node.column].is_code else cell)
        assert not isinstance(node, Constant | Calendar)
        left, right = self.value(node.left), self.value(node.right)
        raw = f"{left} {node.sign} {right}"
        if node.sign == "/" and not isinstance(node.right, Constant):
            raw = f"CASE WHEN {right} = {dialect.double(0.0)} THEN NULL ELSE {raw} END"
        found = self._ordinary(self._step(raw))
        return self._step(dialect.as_double(dialect.as_whole(found))) if node.whole else found

    def _whole(self, node: Node) -> str:
        """Return a part of a calendar: whole numbers of days and years, far from every limit of doubles."""
        if isinstance(node, Operand):
            return self.names[node.column]
        if isinstance(node, Constant):
            return self.dialect.double(node.value)
        assert not isinstance(node, Calendar)
        if node not in self._wholes:
            raw = f"({self._whole(node.left)} {node.sign} {self._whole(node.right)})"
            found = self.dialect.as_double(self.dialect.as_whole(raw)) if node.whole else raw
            self._wholes[node] = self._step(found)
        return self._wholes[node]

    def _ordinary(self, number: str) -> str:
        """Return a number that is neither too large to compute with nor too small."""
        tiny, huge, zero = (self.dialect.double(value) for value in (TINY, HUGE, 0.0))
        return self._step(
            f"CASE WHEN ABS({number}) < {tiny} THEN {zero} WHEN ABS({number}) > {huge} THEN NULL ELSE {number} END"
        )

    def _step(self, expression: str) -> str:
        self.steps.append((f"{self.prefix}{len(self.steps)}", expression))
        return self.steps[-1][0]
