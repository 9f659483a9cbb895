"""Public grids of a table's columns: steps that are fine enough for the statistic and too coarse to overflow."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from typing import TypeAlias

from pydplib.budget.units import exact
from pydplib.engine import Measure, RowCondition, number_bounds
from pydplib.engine.bounds import Bound
from pydplib.engine.plan import ROWS_CEILING, WHOLE_LIMIT
from pydplib.errors import QuestionError
from pydplib.release.public import default_step
from pydplib.schema import Column, Scalar, Schema

Bounds: TypeAlias = tuple[float, float]
"""Public (low, high)."""

_MOST_SCALE = 2**51  # the samplers' largest scale, halved
_NARROWING = ("between", "at_least", "at_most", "more_than", "less_than")


@dataclass(frozen=True, slots=True)
class Room:
    """How large integers may grow, from public facts: what one row may add, and one person at a given epsilon."""

    largest: int
    top: int

    @classmethod
    def of(cls, schema: Schema, bound: Bound, epsilon: Fraction) -> Room:
        """Return the room of a table under a bound."""
        rows = bound.max_rows * (bound.max_groups or 1)
        ceiling = ROWS_CEILING if schema.size is None else schema.size * rows
        largest = min(2**30 - 1, (WHOLE_LIMIT - 1) // (ceiling * bound.scale))
        top = int(_MOST_SCALE * epsilon / (rows * bound.scale))
        if min(largest, top) < 2:
            raise QuestionError("The table is too large, or epsilon too small, for sums of whole numbers.")
        return cls(largest, top)


def number_column(schema: Schema, name: str, statistic: str) -> Column:
    """Return a column that holds numbers, days or yes/no; raise with the next step otherwise."""
    column: Column = schema.column(name)
    if column.number_bounds is None:
        hint = f" Count it by its values: count by {name}, in Python Count(by='{name}')."
        raise QuestionError(
            f"'{statistic}' needs numbers; column '{name}' is a {column.kind}." + (hint if column.choices else "")
        )
    return column


def column_step(column: Column) -> Fraction | None:
    """Return the grid that the owner declared, or None where it may be as fine as there is room."""
    return None if column.grid is None else exact(column.grid)


def sum_step(column: Column) -> Fraction | None:
    """Return the grid of sums, means and variances: whole numbers for whole columns, else as fine as there is room.

    A declared ``step`` is the grid of quantiles; rounding every value to it would move a sum by more than the margin
    says.
    """
    return Fraction(1) if column.is_whole else None


def column_unit(column: Column) -> str:
    """Return the unit of a column's values."""
    return column.number_unit


def _fit(step: Fraction | None, width: float, most: int) -> float:
    """Return the declared step, or a power of two, widened by doubling until ``width`` is at most ``most`` steps."""
    if step is None:
        return math.ldexp(1.0, math.ceil(math.log2(width / most)))
    fitted = float(step)
    while width / fitted > most - 1:
        fitted *= 2
    return fitted


def narrowed_bounds(column: Column, name: str, where: Iterable[RowCondition]) -> Bounds:
    """Return the public bounds of a column among the rows that meet the conditions.

    Rows "where age between 60 and 70" have ages between 60 and 70: the question says so, and a narrower range needs
    less noise.

    Examples:
        >>> from pydplib.schema import Number
        >>> narrowed_bounds(Number(18, 100), "age", [RowCondition("age", "between", (60, 70))])
        (60.0, 70.0)
    """
    low, high = whole = column.number_bounds or number_bounds(column)
    for condition in where:
        if condition.column != name or condition.op not in _NARROWING:
            continue
        ends = [column.code(value) for value in condition.values]
        if condition.op in ("between", "at_least", "more_than"):
            low = max(low, ends[0])
        if condition.op in ("between", "at_most", "less_than"):
            high = min(high, ends[-1])
    return (low, high) if low < high else whole


def sum_measure(column: Column, name: str, room: Room, bounds: Bounds, *, centred: bool) -> Measure:
    """Return the measure of a sum: about the middle of the bounds for means, about zero for sums."""
    low, high = bounds
    if not centred:
        step = _fit(sum_step(column), max(abs(low), abs(high)), min(room.largest, room.top))
        return Measure("sum", name, low=low, high=high, step=step)
    step = _fit(sum_step(column), (high - low) / 2, min(room.largest, room.top // 2))
    center = low + step * math.floor((high - low) / (2 * step))
    return Measure("sum", name, low=low, high=high, step=step, center=center)


def square_measure(column: Column, name: str, room: Room, bounds: Bounds, *, center: float) -> Measure:
    """Return the measure of the squared distances from ``center``."""
    low, high = bounds
    step = sum_step(column)
    widest = max(center - low, high - center) ** 2
    return Measure(
        "sumsq", name, low=low, high=high, center=center,
        step=_fit(None if step is None else step * step, widest, min(room.largest, room.top)),
    )  # fmt: skip


def cells_measure(column: Column, name: str, bounds: Bounds) -> Measure:
    """Return the measure of a quantile: rows per point of the public grid."""
    low, high = bounds
    step = column_step(column) or default_step(exact(high) - exact(low))
    return Measure("cells", name, low=low, high=high, step=float(step))


def nice_edges(column: Column) -> tuple[Scalar, ...]:
    """Return public bins of a number or date column from its bounds alone: about ten, at round numbers.

    Examples:
        >>> from pydplib.schema import Number
        >>> nice_edges(Number(18, 100))
        (18, 30, 40, 50, 60, 70, 80, 90, 100)
    """
    edges = column.default_bins()
    if edges is None:
        raise QuestionError(f"Bins are for numbers and days; this column is a {column.kind}.")
    return edges
