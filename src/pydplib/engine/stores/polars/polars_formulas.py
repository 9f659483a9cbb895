"""Polars' words for ``formulas`` and ``one_row``: computed columns, and what is told of each person."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from pydplib.engine.persons import ordering_columns
from pydplib.engine.sql.one_row import step_condition
from pydplib.engine.stores.polars import polars_columns as words
from pydplib.schema import Column, Schema
from pydplib.schema.formulas import HUGE, TINY, Calendar, Constant, Cut, FormulaStep, Node, Operand

if TYPE_CHECKING:
    import polars as pl


def computed_rows(rows: pl.LazyFrame, column: str, schema: Schema, names: Mapping[str, str]) -> pl.LazyFrame:
    """Return rows with one more column, computed from normalised columns of each of them."""
    import polars as pl

    kind, name = schema.columns[column], names[column]
    formula = schema.formulas.get(column)
    root = None if formula is None else formula.root
    if root is None or isinstance(root, FormulaStep):
        return rows
    writer = _PolarsWriter(rows, schema, names, prefix=f"{name}_")
    value = writer.value(root.of if isinstance(root, Cut) else root)
    if isinstance(root, Cut):
        code = pl.lit(0, dtype=pl.Int64)
        for i, edge in enumerate(root.edges, start=1):
            code = pl.when(value >= edge).then(pl.lit(i, dtype=pl.Int64)).otherwise(code)
        final: pl.Expr = pl.when(value.is_not_null()).then(code)
    else:
        final = _bounded(value, kind)
    return writer.rows.with_columns(final.alias(name)).drop(writer.made)


def _bounded(number: pl.Expr, column: Column) -> pl.Expr:
    low, high = column.cell.limits or (-HUGE, HUGE)
    clamped = words.clamp(number, low, high)
    return (clamped + 0.5).floor() if getattr(column.cell, "whole", False) else clamped


class _PolarsWriter:
    """Computes a formula sign by sign, each as a column of its own."""

    def __init__(self, rows: pl.LazyFrame, schema: Schema, names: Mapping[str, str], prefix: str) -> None:
        self.rows, self.schema, self.names, self.prefix = rows, schema, names, prefix
        self.made: list[str] = []
        self._known: dict[Node, pl.Expr] = {}

    def value(self, node: Node) -> pl.Expr:
        """Return a part's value; each part is computed once."""
        import polars as pl

        if isinstance(node, Constant):
            return pl.lit(node.value)
        if isinstance(node, Calendar):
            return self.value(node.arithmetic)
        if node not in self._known:
            self._known[node] = self._computed(node)
        return self._known[node]

    def _computed(self, node: Node) -> pl.Expr:
        import polars as pl

        if isinstance(node, Operand):
            return self._ordinary(pl.col(self.names[node.column]).cast(pl.Float64))
        assert not isinstance(node, Constant | Calendar)
        left, right = self.value(node.left), self.value(node.right)
        if node.sign == "/":
            if isinstance(node.right, Constant):
                # By one number, Polars multiplies with its reciprocal, which is off by a bit: divide by a column of it.
                right = self._step(left * 0.0 + node.right.value)
            raw: pl.Expr = pl.when(right != 0).then(left / right)
        else:
            raw = {"+": left + right, "-": left - right, "*": left * right}[node.sign]
        found = self._ordinary(self._step(raw))
        return self._step(found.floor()) if node.whole else found

    def _ordinary(self, number: pl.Expr) -> pl.Expr:
        import polars as pl

        size = number.abs()
        return self._step(pl.when(size < TINY).then(pl.lit(0.0)).when(size <= HUGE).then(number))

    def _step(self, value: pl.Expr) -> pl.Expr:
        import polars as pl

        self.made.append(f"{self.prefix}{len(self.made)}")
        self.rows = self.rows.with_columns(value.alias(self.made[-1]))
        return pl.col(self.made[-1])


def row_order(
    schema: Schema,
    names: Mapping[str, str],
    order: Sequence[str],
    *,
    descending: bool,
    ties: Sequence[str] | None = None,
) -> tuple[list[pl.Expr], list[bool]]:
    """Return what sorts a person's rows, and which of it downwards; missing values are last in all of it."""
    import polars as pl

    keys: list[pl.Expr] = []
    downwards: list[bool] = []
    for column in dict.fromkeys([*order, *(ordering_columns(schema) if ties is None else ties)]):
        cell, value = schema.cells[column], pl.col(names[column])
        is_down = descending and column in order
        if is_down and cell.other is not None:  # its code is the largest, and it is no largest value
            keys.append(value == cell.other)
            downwards.append(False)
        # Some engines take -0.0 for less than 0.0.
        keys.append(value if cell.is_code else value + 0.0)
        downwards.append(is_down)
    return keys, downwards


def told_persons(rows: pl.LazyFrame, steps: Sequence[str], schema: Schema, names: Mapping[str, str]) -> pl.LazyFrame:
    """Return one row of each person: what is told of that person, within its bounds."""
    raw, final = [], []
    for column in steps:
        kind, formula = schema.columns[column], schema.formulas.get(column)
        if formula is None:
            continue
        value = _told(formula.step, schema, names)
        raw.append(value.alias(names[column]))
        if not kind.cell.is_code:
            import polars as pl

            final.append(_bounded(pl.col(names[column]).cast(pl.Float64), kind).alias(names[column]))
    return rows.group_by("p").agg(*raw).with_columns(*final)


def _told(step: FormulaStep, schema: Schema, names: Mapping[str, str]) -> pl.Expr:
    import polars as pl

    if step.kind == "count_of":
        met = step_condition(schema, step)
        return pl.len() if met is None else words.condition_expr(met, schema, names).fill_null(False).sum()
    cells = [pl.col(names[column]) for column in step.columns]
    if step.kind == "highest":
        other = schema.cells[step.columns[0]].other
        highest = cells[0].max()
        return highest if other is None else pl.coalesce(cells[0].filter(cells[0] != other).max(), highest)
    if step.kind == "days_between":
        return (cells[0].max() if len(cells) == 1 else cells[1].min()) - cells[0].min()
    if step.kind == "days_to_next":
        return cells[0].filter(cells[0] > cells[0].min()).min() - cells[0].min()

    def picked(*, last: bool) -> pl.Expr:
        keys, downwards = row_order(schema, names, step.order, descending=last, ties=step.columns)
        ordered = cells[0].sort_by([cells[0].is_null(), *keys], descending=[False, *downwards], nulls_last=True)
        return ordered.first()

    return picked(last=True) - picked(last=False) if step.kind == "change" else picked(last=step.kind == "last")
