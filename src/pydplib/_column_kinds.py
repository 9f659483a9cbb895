"""The kinds of columns that an owner can declare, as values that check themselves and go through files."""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields
from types import MappingProxyType
from typing import Any, ClassVar, Literal, TypeAlias, get_args

from pydplib.errors import SchemaError, did_you_mean, shown

Label: TypeAlias = Literal["identifier", "sensitive", "quasi", "public"]
"""How much a column gives away: identifier > sensitive > quasi-identifier > public."""

Scalar: TypeAlias = str | int | float | bool
"""A public value of a category."""

OTHER = "other"
"""Where values outside the declared categories go."""


def plain_value(value: Any) -> Any:
    """Return a NumPy scalar as the Python value it is, which files can hold; anything else unchanged."""
    return value.item() if type(value).__module__ == "numpy" and getattr(value, "ndim", None) == 0 else value


def _is_finite(value: object) -> bool:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    try:
        return math.isfinite(value)
    except OverflowError:  # a whole number beyond all floats
        return False


def _set_plain(column: object, *names: str) -> None:
    for name in names:
        object.__setattr__(column, name, plain_value(getattr(column, name)))


def _check_words(column: object, *names: str) -> None:
    for name in names:
        if not isinstance(getattr(column, name), str):
            raise SchemaError(f"{name} must be a text.")


def _check_label(label: str) -> None:
    if label not in get_args(Label):
        raise SchemaError(f"Unknown label {shown(label)}.{did_you_mean(shown(label), get_args(Label))}")


def _check_bounds(kind: str, low: object, high: object) -> None:
    for name, value in (("low", low), ("high", high)):
        if not _is_finite(value):
            raise SchemaError(
                f"{kind} needs finite public bounds, {kind}(low, high); {name} is {shown(value)}. "
                "Bounds come from what is medically possible, never from the data."
            )
    if not low < high:  # type: ignore[operator]
        raise SchemaError(f"{kind} needs low < high. Got low={shown(low)}, high={shown(high)}.")
    if not _is_finite(high - low):  # type: ignore[operator]
        raise SchemaError(f"{kind}'s bounds are too far apart to compute with. Choose what is really possible.")


@dataclass(frozen=True, slots=True)
class Number:
    """A real number between two public bounds; values outside are clamped.

    Args:
        low: Smallest possible value.
        high: Largest possible value.
        unit: Unit for tables and axes, e.g. ``"years"``.
        step: The public grid of quantiles; by default 1/1000 of the range or finer.
        label: How much the column gives away.
        title: The column's name for readers.

    Examples:
        >>> Number(18, 100, unit="years").width
        82
    """

    kind: ClassVar[str] = "number"
    low: float
    high: float
    unit: str = ""
    step: float | None = None
    label: Label = "quasi"
    title: str = ""

    def __post_init__(self) -> None:
        _set_plain(self, "low", "high", "step")
        _check_bounds("Number", self.low, self.high)
        if self.step is not None and not (_is_finite(self.step) and 0 < self.step <= self.high - self.low):
            raise SchemaError("Number's step must be positive and no wider than the bounds.")
        _check_words(self, "unit", "title")
        _check_label(self.label)

    @property
    def width(self) -> float:
        """The distance between the bounds."""
        return self.high - self.low


@dataclass(frozen=True, slots=True)
class Integer:
    """A whole number between two public bounds; values outside are clamped.

    Examples:
        >>> Integer(0, 10).width
        10
    """

    kind: ClassVar[str] = "integer"
    low: int
    high: int
    unit: str = ""
    label: Label = "quasi"
    title: str = ""

    def __post_init__(self) -> None:
        _set_plain(self, "low", "high")
        _check_bounds("Integer", self.low, self.high)
        if int(self.low) != self.low or int(self.high) != self.high:
            raise SchemaError("Integer needs whole bounds; use Number for decimals.")
        object.__setattr__(self, "low", int(self.low))
        object.__setattr__(self, "high", int(self.high))
        _check_words(self, "unit", "title")
        _check_label(self.label)

    @property
    def width(self) -> int:
        """The distance between the bounds."""
        return self.high - self.low

    @property
    def step(self) -> int:
        """The grid of whole numbers."""
        return 1


@dataclass(frozen=True, slots=True)
class Category:
    """One of a public list of values; anything else counts as "other".

    Args:
        values: The possible values, in the order in which figures show them.
        ordered: Whether the order carries meaning (PI-RADS 1 to 5 does).
        label: How much the column gives away.
        title: The column's name for readers.

    Examples:
        >>> Category([1, 2, 3, 4, 5]).values
        (1, 2, 3, 4, 5)
    """

    kind: ClassVar[str] = "category"
    values: tuple[Scalar, ...]
    ordered: bool = False
    label: Label = "quasi"
    title: str = ""

    def __init__(
        self, values: Iterable[Scalar], ordered: bool = False, label: Label = "quasi", title: str = ""
    ) -> None:
        if isinstance(values, str | bytes) or not isinstance(values, Iterable):
            raise SchemaError("Category needs a list of its public values, e.g. Category(['y', 'n']).")
        object.__setattr__(self, "values", tuple(plain_value(value) for value in values))
        object.__setattr__(self, "ordered", ordered)
        object.__setattr__(self, "label", label)
        object.__setattr__(self, "title", title)
        if not self.values:
            raise SchemaError("Category needs its public values, e.g. Category(['y', 'n']).")
        for value in self.values:
            if not isinstance(value, str | int | float | bool) or value != value:
                raise SchemaError("A category's values are texts, numbers or truth values, and not missing.")
        if len({(isinstance(value, str), value) for value in self.values}) != len(self.values):
            raise SchemaError("A category lists each value once.")
        if not isinstance(self.ordered, bool):
            raise SchemaError("ordered must be true or false.")
        _check_words(self, "title")
        _check_label(self.label)


@dataclass(frozen=True, slots=True)
class Flag:
    """Yes or no.

    Examples:
        >>> Flag().values
        (False, True)
    """

    kind: ClassVar[str] = "flag"
    label: Label = "quasi"
    title: str = ""

    def __post_init__(self) -> None:
        _check_words(self, "title")
        _check_label(self.label)

    @property
    def values(self) -> tuple[bool, bool]:
        """The two values."""
        return (False, True)


@dataclass(frozen=True, slots=True)
class Date:
    """A day between two public days; days outside are clamped.

    Examples:
        >>> Date("2017-01-01", "2018-12-31").width
        729
    """

    kind: ClassVar[str] = "date"
    low: dt.date
    high: dt.date
    label: Label = "quasi"
    title: str = ""

    def __post_init__(self) -> None:
        for name in ("low", "high"):
            value = plain_value(getattr(self, name))
            if isinstance(value, str):
                try:
                    value = dt.date.fromisoformat(value)
                except ValueError:
                    raise SchemaError(f"Date's {name} must be a day such as '2017-01-01'.") from None
            elif isinstance(value, dt.datetime):
                value = value.date()
            if not isinstance(value, dt.date):
                raise SchemaError("Date needs public bounds, Date('2017-01-01', '2018-12-31').")
            object.__setattr__(self, name, value)
        if not self.low < self.high:
            raise SchemaError("Date needs low < high.")
        _check_words(self, "title")
        _check_label(self.label)

    @property
    def width(self) -> int:
        """The number of days between the bounds."""
        return (self.high - self.low).days


@dataclass(frozen=True, slots=True)
class Text:
    """Free text or a name: can be dropped or replaced by a pseudonym, never released.

    Examples:
        >>> Text().label
        'identifier'
    """

    kind: ClassVar[str] = "text"
    label: Label = "identifier"
    title: str = ""

    def __post_init__(self) -> None:
        _check_words(self, "title")
        _check_label(self.label)


Column: TypeAlias = Number | Integer | Category | Flag | Date | Text
"""Any kind of column."""

COLUMN_KINDS: Mapping[str, type[Column]] = MappingProxyType(
    {kind.kind: kind for kind in (Number, Integer, Category, Flag, Date, Text)}
)
"""The word of a kind in files -> its class."""


def column_to_dict(column: Column) -> dict[str, Any]:
    """Return a column's declaration as plain values, without what is not said."""
    entry: dict[str, Any] = {"kind": column.kind}
    for spec in fields(column):
        value = getattr(column, spec.name)
        if value is None or value == "" or (spec.name == "ordered" and not value):
            continue
        entry[spec.name] = list(value) if isinstance(value, tuple) else value
        if isinstance(value, dt.date):
            entry[spec.name] = value.isoformat()
    return entry


def column_from_dict(name: str, entry: object) -> Column:
    """Build a column from plain values; errors name the column and the entry that is wrong."""
    if not isinstance(entry, Mapping):
        raise SchemaError(f"Column '{name}' must be a table with a kind, e.g. kind = \"number\".")
    values = dict(entry)
    kind = values.pop("kind", None)
    if kind is None:
        raise SchemaError(f"Column '{name}' needs a kind.{did_you_mean('', COLUMN_KINDS)}")
    if not isinstance(kind, str) or kind not in COLUMN_KINDS:
        raise SchemaError(
            f"Column '{name}' has the unknown kind {shown(kind)}.{did_you_mean(shown(kind), COLUMN_KINDS)}"
        )
    cls = COLUMN_KINDS[kind]
    known = [spec.name for spec in fields(cls)]
    for key in values:
        if key not in known:
            raise SchemaError(f"Column '{name}' has the unknown entry '{key}'.{did_you_mean(key, known)}")
    needed = {
        "number": ("low", "high"),
        "integer": ("low", "high"),
        "date": ("low", "high"),
        "category": ("values",),
    }
    for key in needed.get(kind, ()):
        if values.get(key) in (None, "", []):
            raise SchemaError(
                f"Column '{name}' still needs '{key}'. Fill in what is possible in the real world; "
                "data never choose bounds or categories."
            )
    try:
        return cls(**values)
    except SchemaError as error:
        raise SchemaError(f"Column '{name}': {error}") from None
