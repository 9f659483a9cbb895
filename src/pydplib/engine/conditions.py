"""Conditions on rows: a closed set, frozen and canonical, so that policy and budget can judge them first."""

from __future__ import annotations

import datetime as dt
import json
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias, get_args

from pydplib.errors import QuestionError, did_you_mean
from pydplib.schema import OTHER, Category, Column, Date, Flag, Integer, Number, Scalar, Schema

Operator: TypeAlias = Literal[
    "is_in", "not_in", "between", "at_least", "at_most", "more_than", "less_than", "is_missing", "is_present"
]
"""Everything a condition can ask."""

_ORDERED: dict[str, int] = {"between": 2, "at_least": 1, "at_most": 1, "more_than": 1, "less_than": 1}


@dataclass(frozen=True, slots=True)
class Condition:
    """One condition on one column; made by ``Where``. A missing value meets no condition but ``is_missing``.

    Examples:
        >>> Where("age").between(60, 70).to_dict()
        {'column': 'age', 'op': 'between', 'values': [60, 70]}
    """

    column: str
    op: Operator
    values: tuple[Scalar, ...] = ()

    def __post_init__(self) -> None:
        if not isinstance(self.column, str) or not self.column:
            raise QuestionError("A condition names its column, e.g. Where('age').at_least(60).")
        if self.op not in get_args(Operator):
            raise QuestionError(f"Unknown condition '{self.op}'.{did_you_mean(self.op, get_args(Operator))}")
        values = tuple(_plain(value) for value in self.values)
        object.__setattr__(self, "values", values)
        if self.op in ("is_in", "not_in"):
            if not values:
                raise QuestionError(f"The condition on '{self.column}' lists no value.")
        elif len(values) != _ORDERED.get(self.op, 0):
            raise QuestionError(
                f"'{self.op}' takes {_ORDERED.get(self.op, 0)} value(s); it got {len(values)} "
                f"on column '{self.column}'."
            )

    def to_dict(self) -> dict[str, Any]:
        """Return the condition as plain values."""
        return {"column": self.column, "op": self.op, "values": list(self.values)}

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Condition:
        """Build a condition from plain values, as ``to_dict`` gives them."""
        unknown = set(values) - {"column", "op", "values"}
        if unknown or not {"column", "op"} <= set(values):
            raise QuestionError("A condition has the entries column, op and values.")
        return cls(values["column"], values["op"], tuple(values.get("values", ())))

    def __str__(self) -> str:
        shown = [str(value) for value in self.values]
        words = self.op.replace("_", " ")
        if self.op == "between":
            return f"{self.column} between {shown[0]} and {shown[1]}"
        if self.op in ("is_in", "not_in") and len(shown) == 1:
            return f"{self.column} {'=' if self.op == 'is_in' else '!='} {shown[0]}"
        return f"{self.column} {words} {', '.join(shown)}".rstrip()


@dataclass(frozen=True, slots=True)
class Where:
    """The start of a condition: name a column, then say what must hold.

    Values outside the column's bounds count as the bound, unknown categories as "other".

    Examples:
        >>> print(Where("pirads").is_in([4, 5]))
        pirads is in 4, 5
        >>> print(Where("age").at_least(60))
        age at least 60
    """

    column: str

    def __lt__(self, other: object) -> Condition:
        # Python reads 18 < x < 65 as two tests and keeps the last one only, so signs cannot stand for conditions.
        raise QuestionError(
            f"Write the condition as a word: dp.Where({self.column!r}).at_least(60), at_most, more_than, less_than or "
            "between(60, 70)."
        )

    __gt__ = __le__ = __ge__ = __lt__

    def eq(self, value: Scalar | dt.date) -> Condition:
        """The value is exactly this one."""
        return Condition(self.column, "is_in", (_plain(value),))

    def ne(self, value: Scalar | dt.date) -> Condition:
        """The value is there, and is another one."""
        return Condition(self.column, "not_in", (_plain(value),))

    def is_in(self, values: Iterable[Scalar | dt.date]) -> Condition:
        """The value is one of these."""
        return Condition(self.column, "is_in", _listed(values))

    def not_in(self, values: Iterable[Scalar | dt.date]) -> Condition:
        """The value is there, and is none of these."""
        return Condition(self.column, "not_in", _listed(values))

    def between(self, low: Scalar | dt.date, high: Scalar | dt.date) -> Condition:
        """The value is at least ``low`` and at most ``high``."""
        return Condition(self.column, "between", (_plain(low), _plain(high)))

    def at_least(self, low: Scalar | dt.date) -> Condition:
        """The value is ``low`` or more."""
        return Condition(self.column, "at_least", (_plain(low),))

    def at_most(self, high: Scalar | dt.date) -> Condition:
        """The value is ``high`` or less."""
        return Condition(self.column, "at_most", (_plain(high),))

    def more_than(self, low: Scalar | dt.date) -> Condition:
        """The value is above ``low``."""
        return Condition(self.column, "more_than", (_plain(low),))

    def less_than(self, high: Scalar | dt.date) -> Condition:
        """The value is below ``high``."""
        return Condition(self.column, "less_than", (_plain(high),))

    def is_missing(self) -> Condition:
        """There is no value (null, NaN, empty text)."""
        return Condition(self.column, "is_missing")

    def is_present(self) -> Condition:
        """There is a value."""
        return Condition(self.column, "is_present")


def day_number(day: dt.date | str) -> int:
    """Return the days since 1970-01-01: the number that stands for a date in every engine.

    Examples:
        >>> day_number("1970-01-31")
        30
    """
    if isinstance(day, str):
        try:
            day = dt.date.fromisoformat(day)
        except ValueError:
            raise QuestionError("A day is written like '2017-01-31'.") from None
    if isinstance(day, dt.datetime):
        day = day.date()
    return (day - dt.date(1970, 1, 1)).days


def canonical_conditions(conditions: Iterable[Condition], schema: Schema) -> tuple[Condition, ...]:
    """Return the conditions checked against the schema, in one canonical spelling and order."""
    if isinstance(conditions, Condition):
        conditions = (conditions,)
    found = []
    for condition in conditions:
        if not isinstance(condition, Condition):
            raise QuestionError(
                f"where= takes conditions such as [Where('age').between(60, 70)]. Got {type(condition).__name__}."
            )
        found.append(_canonical(condition, schema.column(condition.column)))
    unique = {json.dumps(condition.to_dict()): condition for condition in found}
    return tuple(unique[key] for key in sorted(unique))


def _canonical(condition: Condition, column: Column) -> Condition:
    if condition.op in ("is_missing", "is_present"):
        if column.kind == "text":
            raise QuestionError(f"Column '{condition.column}' is free text: no condition can look at it.")
        return condition
    if isinstance(column, Category):
        return _canonical_category(condition, column)
    if isinstance(column, Flag):
        if condition.op not in ("is_in", "not_in") or not all(v in (True, False) for v in condition.values):
            raise QuestionError(f"Column '{condition.column}' is yes or no: use eq(True), eq(False) or is_missing().")
        flags = tuple(flag for flag in (False, True) if flag in condition.values)
        return Condition(condition.column, condition.op, flags)
    if isinstance(column, Number | Integer | Date):
        return _canonical_number(condition, column)
    raise QuestionError(f"Column '{condition.column}' is free text: no condition can look at it.")


def _canonical_category(condition: Condition, column: Category) -> Condition:
    known: list[Scalar] = list(column.values)
    if OTHER not in known:
        known.append(OTHER)
    positions = []
    for value in condition.values:
        if not any(same_scalar(value, item) for item in known):
            raise QuestionError(
                f"'{value}' is no declared value of column '{condition.column}'.{did_you_mean(value, known)}"
            )
        positions.append(next(i for i, item in enumerate(known) if same_scalar(value, item)))
    if condition.op in _ORDERED:
        positions = _ordered_positions(condition, column, positions)
        if not positions:
            raise QuestionError(f"The condition '{condition}' is met by no declared value.")
        return Condition(condition.column, "is_in", tuple(known[i] for i in positions))
    return Condition(condition.column, condition.op, tuple(known[i] for i in sorted(set(positions))))


def _ordered_positions(condition: Condition, column: Category, positions: list[int]) -> list[int]:
    values = column.values
    numeric = all(isinstance(v, int | float) and not isinstance(v, bool) for v in values)
    if not (column.ordered or numeric) or any(i >= len(values) for i in positions):
        raise QuestionError(
            f"Column '{condition.column}' has no order, so '{condition.op}' has no meaning; use is_in([...]), "
            "or declare Category([...], ordered=True)."
        )
    rank: dict[int, float] = {
        i: float(i) if column.ordered else float(v)
        for i, v in enumerate(values)  # the list's order, or size
    }
    first, last = rank[positions[0]], rank[positions[-1]]
    low = first if condition.op in ("between", "at_least", "more_than") else -math.inf
    high = last if condition.op in ("between", "at_most", "less_than") else math.inf
    open_ends = {"more_than": {first}, "less_than": {last}}.get(condition.op, set())
    return [i for i in range(len(values)) if low <= rank[i] <= high and rank[i] not in open_ends]


def _canonical_number(condition: Condition, column: Number | Integer | Date) -> Condition:
    values: list[Scalar] = []
    for value in condition.values:
        if isinstance(column, Date):
            if not isinstance(value, str):
                raise QuestionError(f"Column '{condition.column}' holds days: write them like '2017-01-31'.")
            day_number(value)
            values.append(value)
            continue
        if isinstance(value, bool | str) or not math.isfinite(value):
            raise QuestionError(f"Column '{condition.column}' holds numbers; the condition has another kind.")
        # 60 and 60.0 are one question, and must hash as one.
        values.append(int(value) if float(value).is_integer() else float(value))
    if condition.op == "between" and values[0] > values[1]:  # type: ignore[operator]
        raise QuestionError(f"between(low, high) on column '{condition.column}' needs low <= high.")
    if condition.op in ("is_in", "not_in"):
        values = sorted(set(values), key=lambda v: (isinstance(v, str), v))
    return Condition(condition.column, condition.op, tuple(values))


def same_scalar(one: Scalar | None, other: Scalar | None) -> bool:
    """Return whether two public values mean the same: 5 and 5.0 do, 5 and "5" do not, nor do 1 and True."""
    kinds = [(isinstance(v, str), isinstance(v, bool)) for v in (one, other)]
    return kinds[0] == kinds[1] and one == other


def _listed(values: Iterable[Scalar | dt.date]) -> tuple[Scalar, ...]:
    if isinstance(values, str) or not isinstance(values, Iterable):
        raise QuestionError("is_in and not_in take a list of values, e.g. is_in([4, 5]).")
    return tuple(_plain(value) for value in values)


def _plain(value: object) -> Scalar:
    """Turn dates and NumPy scalars into plain values; refuse what no column can hold."""
    if isinstance(value, dt.datetime):
        value = value.date()
    if isinstance(value, dt.date):
        return value.isoformat()
    if not isinstance(value, str | int | float | bool) and hasattr(value, "item"):
        value = value.item()
    if isinstance(value, str | int | float | bool) and value == value:
        return value
    raise QuestionError("A condition compares with texts, numbers, truth values or days, and not with NaN.")
