"""Public grids of a table's columns: steps that are fine enough for the statistic and too coarse to overflow."""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from typing import TypeAlias

from pydplib.budget.units import exact
from pydplib.engine import Condition, Measure, day_number, number_bounds
from pydplib.engine.bounding import Bound
from pydplib.engine.plan import ROWS_CEILING, WHOLE_LIMIT
from pydplib.errors import QuestionError
from pydplib.release.public import default_step
from pydplib.schema import Column, Date, Flag, Integer, Number, Schema

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


def number_column(schema: Schema, name: str, statistic: str) -> Number | Integer | Date | Flag:
    """Return a column that holds numbers, days or yes/no; raise with the next step otherwise."""
    column: Column = schema.column(name)
    if not isinstance(column, Number | Integer | Date | Flag):
        hint = f" Count it by its values: count by {name}, in Python Count(by='{name}')."
        raise QuestionError(
            f"'{statistic}' needs numbers; column '{name}' is a {column.kind}."
            + (hint if column.kind == "category" else "")
        )
    return column


def column_step(column: Column) -> Fraction | None:
    """Return the grid that the owner declared, or None where it may be as fine as there is room."""
    step = getattr(column, "step", None)
    if isinstance(column, Date | Flag):
        return Fraction(1)
    return None if step is None else exact(step)


def sum_step(column: Column) -> Fraction | None:
    """Return the grid of sums, means and variances: whole numbers for whole columns, else as fine as there is room.

    A declared ``step`` is the grid of quantiles; rounding every value to it would move a sum by more than the margin
    says.
    """
    return Fraction(1) if isinstance(column, Integer | Date | Flag) else None


def column_unit(column: Column) -> str:
    """Return the unit of a column's values."""
    return "days since 1970-01-01" if isinstance(column, Date) else getattr(column, "unit", "")


def _fit(step: Fraction | None, width: float, most: int) -> float:
    """Return the declared step, or a power of two, widened by doubling until ``width`` is at most ``most`` steps."""
    if step is None:
        return math.ldexp(1.0, math.ceil(math.log2(width / most)))
    fitted = float(step)
    while width / fitted > most - 1:
        fitted *= 2
    return fitted


def narrowed_bounds(column: Column, name: str, where: Iterable[Condition]) -> Bounds:
    """Return the public bounds of a column among the rows that meet the conditions.

    Rows "where age between 60 and 70" have ages between 60 and 70: the question says so, and a narrower range needs
    less noise.

    Examples:
        >>> narrowed_bounds(Number(18, 100), "age", [Condition("age", "between", (60, 70))])
        (60.0, 70.0)
    """
    low, high = number_bounds(column)
    for condition in where:
        if condition.column != name or condition.op not in _NARROWING:
            continue
        ends = [float(day_number(v) if isinstance(v, str) else v) for v in condition.values]
        if condition.op in ("between", "at_least", "more_than"):
            low = max(low, ends[0])
        if condition.op in ("between", "at_most", "less_than"):
            high = min(high, ends[-1])
    return (low, high) if low < high else number_bounds(column)


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


def nice_edges(column: Column) -> tuple[float | str, ...]:
    """Return public bins of a number or date column from its bounds alone: about ten, at round numbers.

    Examples:
        >>> nice_edges(Number(18, 100))
        (18, 30, 40, 50, 60, 70, 80, 90, 100)
    """
    if isinstance(column, Date):
        days = max(1, math.ceil(column.width / 12))
        found = [column.low + dt.timedelta(days=days * i) for i in range(math.ceil(column.width / days))]
        return tuple(day.isoformat() for day in (*found, column.high))
    if not isinstance(column, Number | Integer):
        raise QuestionError(f"Bins are for numbers and days; this column is a {column.kind}.")
    low, high = exact(column.low), exact(column.high)
    target = (high - low) / 12
    power = math.floor(math.log10(float(target)))
    widths = [digit * Fraction(10) ** e for e in (power, power + 1) for digit in (1, 2, 5)]
    width = min(w for w in widths if w >= target)
    if isinstance(column, Integer):
        width = Fraction(max(1, math.ceil(width)))
    first = math.floor(low / width) + 1
    inner = [i * width for i in range(first, math.ceil(high / width)) if low < i * width < high]
    # A narrow rest at an end would look like a gap in the figure: it joins its neighbour.
    inner = [edge for edge in inner if min(edge - low, high - edge) >= width / 2] or inner
    edges = [low, *inner, high]
    return tuple(int(edge) if edge.denominator == 1 else float(edge) for edge in edges)
