"""Polars' words for the same rules as ``columns`` and ``sql``: cells to values, values to keys and integers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pydplib.engine.conditions import AnyOf, RowCondition
from pydplib.engine.measures import Measure, number_bounds
from pydplib.engine.plan import Bins, Keys
from pydplib.engine.sql.columns import check_keys
from pydplib.schema import Column, Schema
from pydplib.schema.cells import (
    DAY_PATTERN,
    DOTTED_DAY_PATTERN,
    NUMBER_PATTERN,
    CodeCell,
    DayCell,
    NumberCell,
    PartsCell,
    Storage,
    TextCell,
)

if TYPE_CHECKING:
    import polars as pl


def storage_of(dtype: Any) -> Storage:
    """Say how a Polars type is stored."""
    import polars as pl

    if dtype in (pl.UInt64, pl.Int128):  # wider than the 64 signed bits of the sums
        return "decimal"
    if dtype.is_integer():
        return "integer"
    if dtype.is_float():
        return "float"
    if dtype.is_decimal():
        return "decimal"
    if dtype in (pl.String, pl.Categorical, pl.Enum, pl.Null):
        return "text"
    if dtype == pl.Boolean:
        return "flag"
    if dtype == pl.Date:
        return "date"
    if dtype == pl.Datetime:
        return "timestamp"
    return "unsupported"


def column_expr(name: str, column: Column, dtype: Any) -> pl.Expr:
    """Return a column's value: double for numbers and days, code for categories and flags, else text."""
    return column.cell.written_by(_PolarsClamped(name, dtype))


def unclamped_expr(name: str, column: Column, dtype: Any) -> pl.Expr | None:
    """Return a number or day as it stands in the table, null where there is none; None where nothing is clamped."""
    return column.cell.written_by(_PolarsRaw(name, dtype))


@dataclass(frozen=True, slots=True)
class _PolarsRaw:
    """A stored cell, and what it says before any bound."""

    name: str
    dtype: Any

    @property
    def cell(self) -> pl.Expr:
        """The cell."""
        import polars as pl

        return pl.col(self.name)

    def write_number(self, cell: NumberCell) -> pl.Expr:
        """Return the number."""
        return _number(self.cell, storage_of(self.dtype)).fill_nan(None)

    def write_day(self, cell: DayCell) -> pl.Expr:
        """Return the days since 1970."""
        return _day(self.cell, self.dtype).fill_nan(None)

    def write_parts(self, cell: PartsCell) -> pl.Expr:
        """Return the weighted sum of the numbers in a text."""
        import polars as pl

        text, total = self.cell.cast(pl.String), pl.lit(0.0)
        for first, letters, factor in cell.parts:
            total = total + _number(text.str.slice(first - 1, letters), "text") * float(factor)
        return pl.when(text.str.contains(cell.pattern)).then(total)

    def write_code(self, cell: CodeCell) -> pl.Expr | None:
        """Return nothing: a list has no bounds."""
        return None

    def write_text(self, cell: TextCell) -> pl.Expr | None:
        """Return nothing: a text has no bounds."""
        return None


@dataclass(frozen=True, slots=True)
class _PolarsClamped:
    """Values as questions use them."""

    name: str
    dtype: Any

    def write_number(self, cell: NumberCell) -> pl.Expr:
        """Return the clamped number."""
        clamped = clamp(_PolarsRaw(self.name, self.dtype).write_number(cell), *cell.limits)
        return (clamped + 0.5).floor() if cell.whole else clamped

    def write_day(self, cell: DayCell) -> pl.Expr:
        """Return the clamped day as a number."""
        return clamp(_PolarsRaw(self.name, self.dtype).write_day(cell), *cell.limits)

    def write_parts(self, cell: PartsCell) -> pl.Expr:
        """Return the clamped sum."""
        return clamp(_PolarsRaw(self.name, self.dtype).write_parts(cell), *cell.limits)

    def write_code(self, cell: CodeCell) -> pl.Expr:
        """Return the code."""
        import polars as pl

        return _coded(pl.col(self.name), storage_of(self.dtype), cell)

    def write_text(self, cell: TextCell) -> pl.Expr:
        """Return the text."""
        import polars as pl

        check_keys(self.name, storage_of(self.dtype))
        return text_expr(pl.col(self.name))


def text_expr(cell: pl.Expr) -> pl.Expr:
    """Return a cell as text; empty text is missing."""
    import polars as pl

    text = cell.cast(pl.String)
    return pl.when(text != "").then(text)


def clamp(number: pl.Expr, low: float, high: float) -> pl.Expr:
    """Return a number clamped; missing stays missing."""
    import polars as pl

    return pl.when(number < low).then(pl.lit(low)).when(number > high).then(pl.lit(high)).otherwise(number)


def _number(cell: pl.Expr, storage: Storage) -> pl.Expr:
    import polars as pl

    if storage != "text":
        return cell.cast(pl.Float64)
    text = cell.cast(pl.String)
    plain = text.str.strip_chars(" ").str.strip_chars_start("+")
    return pl.when(text.str.contains(NUMBER_PATTERN)).then(plain).cast(pl.Float64, strict=False)


def _day(cell: pl.Expr, dtype: Any) -> pl.Expr:
    import polars as pl

    storage = storage_of(dtype)
    if storage == "text":
        text = cell.cast(pl.String)
        iso = pl.when(text.str.contains(DAY_PATTERN)).then(text.str.slice(0, 10))
        dotted = pl.when(text.str.contains(DOTTED_DAY_PATTERN)).then(text)
        cell = pl.coalesce(iso.str.to_date("%Y-%m-%d", strict=False), dotted.str.to_date("%d.%m.%Y", strict=False))
    elif storage == "timestamp":
        zone = getattr(dtype, "time_zone", None)
        cell = (cell.dt.convert_time_zone("UTC") if zone else cell).dt.date()
    return cell.cast(pl.Int32).cast(pl.Float64)


def _coded(cell: pl.Expr, storage: Storage, coded: CodeCell) -> pl.Expr:
    import polars as pl

    choices: dict[Any, int] = {}
    for choice in coded.choices:
        single = choice.flag if storage == "flag" else choice.number
        forms: Sequence[Any] = choice.texts if storage == "text" else [single]
        for form in forms:
            if form is not None:
                choices.setdefault(form, choice.code)
    if storage in ("text", "flag"):
        subject = text_expr(cell) if storage == "text" else cell
    else:
        subject = cell.cast(pl.Float64).fill_nan(None)
    found: pl.Expr = pl.when(subject.is_not_null()).then(pl.lit(coded.other, dtype=pl.Int64))
    for form, code in choices.items():
        found = pl.when(subject == pl.lit(form)).then(pl.lit(code, dtype=pl.Int64)).otherwise(found)
    return found


def condition_expr(condition: RowCondition, schema: Schema, names: Mapping[str, str]) -> pl.Expr:
    """Return whether a row meets a condition on its normalised columns."""
    import polars as pl

    if isinstance(condition, AnyOf):
        # What is neither met nor not met, because a value is missing, is not met: otherwise "or" could be neither too.
        return pl.any_horizontal(*(condition_expr(part, schema, names).fill_null(False) for part in condition.parts))
    cell, kind = pl.col(names[condition.column]), schema.columns[condition.column]
    if condition.op == "is_missing":
        return cell.is_null()
    if condition.op == "is_present":
        return cell.is_not_null()
    values = [kind.code(value) for value in condition.values]
    if condition.op in ("is_in", "not_in"):
        met = pl.any_horizontal(*(cell == value for value in values))
        return (met if condition.op == "is_in" else ~met) & cell.is_not_null()
    if condition.op == "between":
        return (cell >= values[0]) & (cell <= values[1])
    if condition.op == "at_least":
        return cell >= values[0]
    if condition.op == "at_most":
        return cell <= values[0]
    return cell > values[0] if condition.op == "more_than" else cell < values[0]


def key_expr(by: Mapping[str, Keys], schema: Schema, names: Mapping[str, str]) -> pl.Expr:
    """Return the number of a row's public key in public order; null if it has none."""
    import polars as pl

    code = pl.lit(0, dtype=pl.Int64)
    for column, keys in by.items():
        if keys is None:
            continue
        cell, kind = pl.col(names[column]), schema.columns[column]
        if isinstance(keys, Bins):
            position, size = cells_between(cell, keys.numbers), len(keys.keys)
        else:
            size = len(keys)
            position = pl.lit(None, dtype=pl.Int64)
            listed: Sequence[Any] = keys
            for i, key in enumerate(listed):
                met = cell.is_null() if key is None else cell == kind.code(key)
                position = pl.when(met).then(pl.lit(i, dtype=pl.Int64)).otherwise(position)
        code = code * size + position
    return code


def cells_between(number: pl.Expr, edges: Sequence[float]) -> pl.Expr:
    """Return the position of a number among edges; null outside them."""
    import polars as pl

    def tree(first: int, last: int) -> pl.Expr:
        if first == last:
            return pl.lit(first, dtype=pl.Int64)
        middle = (first + last + 1) // 2
        return pl.when(number < edges[middle]).then(tree(first, middle - 1)).otherwise(tree(middle, last))

    inside = (number >= edges[0]) & (number <= edges[-1])
    return pl.when(inside).then(tree(0, len(edges) - 2))


def _measured(measure: Measure, schema: Schema, name: str) -> pl.Expr:
    import polars as pl

    cell = pl.col(name).cast(pl.Float64)
    low, high = measure.low, measure.high
    if low is None or high is None or (low, high) == number_bounds(schema.columns[measure.column or ""]):
        return cell
    return clamp(cell, low, high)


def value_expr(measure: Measure, schema: Schema, name: str) -> pl.Expr:
    """Return the integer that one row adds to a measure; null where it has no value."""
    import polars as pl

    if measure.kind == "count":
        return pl.when(pl.col(name).is_not_null()).then(pl.lit(1, dtype=pl.Int64))
    number = _measured(measure, schema, name) - measure.center
    if measure.kind == "sumsq":
        number = number * number
    return (number * measure.factor + 0.5).floor().cast(pl.Int64) - measure.offset


def cell_expr(measure: Measure, schema: Schema, name: str) -> pl.Expr:
    """Return the cell of a row, counted from 0; null where it has none."""
    import polars as pl

    number = _measured(measure, schema, name)
    if measure.edges is not None:
        return cells_between(number, measure.edges)
    return (number * measure.factor + 0.5).floor().cast(pl.Int64) - measure.first_cell
