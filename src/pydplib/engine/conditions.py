"""Conditions on rows: a closed set, frozen and canonical, so that policy and budget can judge them first."""

from __future__ import annotations

import datetime as dt
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, get_args

from pydplib.errors import QuestionError, did_you_mean
from pydplib.schema import ORDER_OPERATORS, Column, Operator, Scalar, Schema
from pydplib.schema import day_number as day_number
from pydplib.schema import same_scalar as same_scalar


@dataclass(frozen=True, slots=True)
class RowCondition:
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
        elif len(values) != ORDER_OPERATORS.get(self.op, 0):
            raise QuestionError(
                f"'{self.op}' takes {ORDER_OPERATORS.get(self.op, 0)} value(s); it got {len(values)} "
                f"on column '{self.column}'."
            )

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that it looks at."""
        return (self.column,)

    def __or__(self, other: object) -> AnyOf:
        """Return the condition that this one or another one holds."""
        return AnyOf(self, other)  # type: ignore[arg-type]

    def to_dict(self) -> dict[str, Any]:
        """Return the condition as plain values."""
        return {"column": self.column, "op": self.op, "values": list(self.values)}

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> RowCondition:
        """Build a condition from plain values, as ``to_dict`` gives them."""
        if isinstance(values, Mapping) and set(values) == {"any_of"} and isinstance(values["any_of"], list | tuple):
            return AnyOf(*(RowCondition.from_dict(entry) for entry in values["any_of"]))
        unknown = set(values) - {"column", "op", "values"}
        if unknown or not {"column", "op"} <= set(values):
            raise QuestionError("A condition has the entries column, op and values.")
        return cls(values["column"], values["op"], tuple(values.get("values", ())))

    def __repr__(self) -> str:
        listed = repr(list(self.values)) if self.op in ("is_in", "not_in") else ", ".join(map(repr, self.values))
        return f"Where({self.column!r}).{self.op}({listed})"

    def __str__(self) -> str:
        shown = [str(value) for value in self.values]
        words = self.op.replace("_", " ")
        if self.op == "between":
            return f"{self.column} between {shown[0]} and {shown[1]}"
        if self.op in ("is_in", "not_in") and len(shown) == 1:
            return f"{self.column} {'=' if self.op == 'is_in' else '!='} {shown[0]}"
        return f"{self.column} {words} {', '.join(shown)}".rstrip()


@dataclass(frozen=True, slots=True, init=False, repr=False)
class AnyOf(RowCondition):
    """At least one of several conditions holds; written with ``|``.

    Examples:
        >>> either = Where("pirads").eq(5) | Where("psa").at_least(20)
        >>> print(either)
        (pirads = 5 or psa at least 20)
        >>> either.columns
        ('pirads', 'psa')
    """

    parts: tuple[RowCondition, ...] = ()

    def __init__(self, *parts: RowCondition) -> None:
        flat: list[RowCondition] = []
        for part in parts:
            if not isinstance(part, RowCondition):
                raise QuestionError(
                    "'or' joins two conditions: dp.Where('pirads').eq(5) | dp.Where('psa').at_least(20)."
                )
            flat += part.parts if isinstance(part, AnyOf) else (part,)
        if len(flat) < 2:
            raise QuestionError("'or' joins at least two conditions.")
        for name, value in {"column": "", "op": "is_present", "values": (), "parts": tuple(flat)}.items():
            object.__setattr__(self, name, value)

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that its parts look at."""
        return tuple(dict.fromkeys(part.column for part in self.parts))

    def to_dict(self) -> dict[str, Any]:
        """Return the condition as plain values."""
        return {"any_of": [part.to_dict() for part in self.parts]}

    def __repr__(self) -> str:
        return " | ".join(map(repr, self.parts))

    def __str__(self) -> str:
        return f"({' or '.join(map(str, self.parts))})"


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

    def __lt__(self, other: object) -> RowCondition:
        # Python reads 18 < x < 65 as two tests and keeps the last one only, so signs cannot stand for conditions.
        raise QuestionError(
            f"Write the condition as a word: dp.Where({self.column!r}).at_least(60), at_most, more_than, less_than or "
            "between(60, 70)."
        )

    __gt__ = __le__ = __ge__ = __lt__

    def eq(self, value: Scalar | dt.date) -> RowCondition:
        """The value is exactly this one."""
        return RowCondition(self.column, "is_in", (_plain(value),))

    def ne(self, value: Scalar | dt.date) -> RowCondition:
        """The value is there, and is another one."""
        return RowCondition(self.column, "not_in", (_plain(value),))

    def is_in(self, values: Iterable[Scalar | dt.date]) -> RowCondition:
        """The value is one of these."""
        return RowCondition(self.column, "is_in", _listed(values))

    def not_in(self, values: Iterable[Scalar | dt.date]) -> RowCondition:
        """The value is there, and is none of these."""
        return RowCondition(self.column, "not_in", _listed(values))

    def between(self, low: Scalar | dt.date, high: Scalar | dt.date) -> RowCondition:
        """The value is at least ``low`` and at most ``high``."""
        return RowCondition(self.column, "between", (_plain(low), _plain(high)))

    def at_least(self, low: Scalar | dt.date) -> RowCondition:
        """The value is ``low`` or more."""
        return RowCondition(self.column, "at_least", (_plain(low),))

    def at_most(self, high: Scalar | dt.date) -> RowCondition:
        """The value is ``high`` or less."""
        return RowCondition(self.column, "at_most", (_plain(high),))

    def more_than(self, low: Scalar | dt.date) -> RowCondition:
        """The value is above ``low``."""
        return RowCondition(self.column, "more_than", (_plain(low),))

    def less_than(self, high: Scalar | dt.date) -> RowCondition:
        """The value is below ``high``."""
        return RowCondition(self.column, "less_than", (_plain(high),))

    def is_missing(self) -> RowCondition:
        """There is no value (null, NaN, empty text)."""
        return RowCondition(self.column, "is_missing")

    def is_present(self) -> RowCondition:
        """There is a value."""
        return RowCondition(self.column, "is_present")


def canonical_conditions(conditions: Iterable[RowCondition], schema: Schema) -> tuple[RowCondition, ...]:
    """Return the conditions checked against the schema, in one canonical spelling and order."""
    if isinstance(conditions, RowCondition):
        conditions = (conditions,)
    found = []
    for condition in conditions:
        if not isinstance(condition, RowCondition):
            raise QuestionError(
                f"where= takes conditions such as [Where('age').between(60, 70)]. Got {type(condition).__name__}."
            )
        found.append(_any_canonical(condition, schema) if isinstance(condition, AnyOf) else _alone(condition, schema))
    return _sorted(found)


def _sorted(conditions: Iterable[RowCondition]) -> tuple[RowCondition, ...]:
    unique = {json.dumps(condition.to_dict()): condition for condition in conditions}
    return tuple(unique[key] for key in sorted(unique))


def _alone(condition: RowCondition, schema: Schema) -> RowCondition:
    return _canonical(condition, schema.column(condition.column))


def _any_canonical(condition: AnyOf, schema: Schema) -> RowCondition:
    """Return "or" in its one spelling: lists of one column as one list, each part once, in one order."""
    listed: dict[str, tuple[Scalar, ...]] = {}
    others: list[RowCondition] = []
    for part in (_alone(part, schema) for part in condition.parts):
        if part.op == "is_in":
            listed[part.column] = (*listed.get(part.column, ()), *part.values)
        else:
            others.append(part)
    lists = [_alone(RowCondition(column, "is_in", values), schema) for column, values in listed.items()]
    found = _sorted([*lists, *others])
    return AnyOf(*found) if len(found) > 1 else found[0]


def _canonical(condition: RowCondition, column: Column) -> RowCondition:
    op, values = column.canonical(condition.column, condition.op, condition.values)
    if op in ("is_in", "not_in") and not values:
        raise QuestionError(f"The condition '{condition}' is met by no declared value.")
    return RowCondition(condition.column, op, values)


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
