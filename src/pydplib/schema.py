"""What the owner of a table declares public: kinds, bounds, categories, labels, and who is a person.

Everything here is public by declaration. Data never choose bounds, categories or
the most rows per person; a schema is written by a human (or a report template).
"""

from __future__ import annotations

import datetime as dt
import json
import math
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from types import MappingProxyType
from typing import Any, ClassVar, Literal, TypeAlias, get_args

from pydplib._toml import toml_key, toml_value
from pydplib.errors import SchemaError, did_you_mean, shown

Label: TypeAlias = Literal["identifier", "sensitive", "quasi", "public"]
"""How much a column gives away: identifier > sensitive > quasi-identifier > public."""

Scalar: TypeAlias = str | int | float | bool
"""A public value of a category."""

OTHER = "other"
"""Where values outside the declared categories go."""


def _plain(value: Any) -> Any:
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
        object.__setattr__(column, name, _plain(getattr(column, name)))


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
        step: The public grid of quantiles and sums; by default 1/1000 of the range or finer.
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
        object.__setattr__(self, "values", tuple(_plain(value) for value in values))
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
            value = _plain(getattr(self, name))
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


@dataclass(frozen=True)
class Schema:
    """The public facts about a table.

    Args:
        person: The column that says whose row it is; None if every row is another person.
        columns: Name -> kind, with bounds or categories.
        max_rows_per_person: Most rows of one person that count; the rest weighs less.
        max_groups_per_person: Most groups one person may appear in, for questions with unknown keys.
        size: The number of persons, where the owner declares it public; None where it is private.
        name: What the table is called in reports.
        lineage: The family of tables that may share persons; budgets are counted per lineage.
            By default the name.

    Examples:
        >>> schema = Schema(person="patient_id", max_rows_per_person=3,
        ...                 columns={"age": Number(18, 100, unit="years"), "bph": Flag()})
        >>> schema.column("age").high
        100
    """

    columns: Mapping[str, Column]
    person: str | None = None
    max_rows_per_person: int = 1
    max_groups_per_person: int = 1
    size: int | None = None
    name: str = "table"
    lineage: str = field(default="")

    def __init__(
        self,
        columns: Mapping[str, Column],
        *,
        person: str | None = None,
        max_rows_per_person: int = 1,
        max_groups_per_person: int = 1,
        size: int | None = None,
        name: str = "table",
        lineage: str = "",
    ) -> None:
        if not isinstance(columns, Mapping):
            raise SchemaError(f"A schema needs its columns: Schema({{'age': Number(18, 100)}}). Got {shown(columns)}.")
        for key, value in {
            "columns": MappingProxyType(dict(columns)),
            "person": person,
            "max_rows_per_person": max_rows_per_person,
            "max_groups_per_person": max_groups_per_person,
            "size": size,
            "name": name,
            "lineage": lineage or name,
        }.items():
            object.__setattr__(self, key, _plain(value))
        self._check()

    def _check(self) -> None:
        if not self.columns:
            raise SchemaError("A schema needs at least one column.")
        for name, column in self.columns.items():
            if not isinstance(name, str) or not name:
                raise SchemaError("Column names are non-empty texts.")
            if not isinstance(column, get_args(Column)):
                raise SchemaError(
                    f"Column '{name}' needs a kind: Number(low, high), Integer(low, high), Category([...]), "
                    f"Flag(), Date(low, high) or Text(). Got {type(column).__name__}."
                )
        for key in ("name", "lineage", "person"):
            value = getattr(self, key)
            if not (isinstance(value, str) and value) and not (key == "person" and value is None):
                raise SchemaError(f"{key} must be a non-empty text. Got {shown(value)}.")
        for key in ("max_rows_per_person", "max_groups_per_person"):
            value = getattr(self, key)
            if isinstance(value, bool) or not isinstance(value, int) or value < 1:
                raise SchemaError(f"{key} must be a whole number of at least 1. Got {shown(value)}.")
        if self.person is None and self.max_rows_per_person != 1:
            raise SchemaError(
                "Without a person column every row is another person, so max_rows_per_person is 1. "
                "Name the person column: Schema(person='patient_id', ...)."
            )
        if self.size is not None and (isinstance(self.size, bool) or not isinstance(self.size, int) or self.size < 1):
            raise SchemaError(f"size is the declared public number of persons, or None. Got {shown(self.size)}.")

    def column(self, name: str) -> Column:
        """Return the declaration of a column, or raise ``SchemaError`` with a suggestion."""
        try:
            return self.columns[name]
        except KeyError:
            raise SchemaError(f"The schema has no column '{name}'.{did_you_mean(name, self.columns)}") from None

    def labelled(self, *labels: Label) -> tuple[str, ...]:
        """Return the names of the columns that carry one of ``labels``."""
        return tuple(name for name, column in self.columns.items() if column.label in labels)

    def __hash__(self) -> int:
        return hash((self.name, self.lineage, self.person, frozenset(self.columns.items())))

    def __reduce__(self) -> tuple[Any, ...]:
        return Schema.from_dict, (self.to_dict(),)  # a read-only mapping cannot be pickled as it is

    def to_dict(self) -> dict[str, Any]:
        """Return the schema as plain values, ready for JSON or TOML."""
        table: dict[str, Any] = {"name": self.name, "lineage": self.lineage}
        for key in ("person", "max_rows_per_person", "max_groups_per_person", "size"):
            if getattr(self, key) is not None:
                table[key] = getattr(self, key)
        table["columns"] = {name: _column_to_dict(column) for name, column in self.columns.items()}
        return table

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Schema:
        """Build a schema from plain values; errors name the entry that is wrong."""
        if not isinstance(values, Mapping):
            raise SchemaError(f"A schema is made of a table of entries. Got {shown(values)}.")
        values = dict(values)
        columns = values.pop("columns", None)
        if not isinstance(columns, Mapping) or not columns:
            raise SchemaError("The schema needs a table [columns.NAME] for every column.")
        known = [f.name for f in fields(cls) if f.name != "columns"]
        for key in values:
            if key not in known:
                raise SchemaError(f"Unknown entry '{key}' in the schema.{did_you_mean(key, known)}")
        return cls({name: _column_from_dict(name, entry) for name, entry in columns.items()}, **values)

    def to_json(self) -> str:
        """Return the schema as JSON text."""
        return json.dumps(self.to_dict(), indent=2, ensure_ascii=False)

    @classmethod
    def from_json(cls, text: str) -> Schema:
        """Read a schema from JSON text."""
        try:
            values = json.loads(text)
        except json.JSONDecodeError as error:
            raise SchemaError(f"The schema is not valid JSON (line {error.lineno}).") from None
        except (TypeError, RecursionError, UnicodeDecodeError):
            raise SchemaError("The schema is not valid JSON: it must be a text, and not nested without end.") from None
        if not isinstance(values, dict):
            raise SchemaError("The schema must be a JSON object.")
        return cls.from_dict(values)

    def to_toml(self) -> str:
        """Return the schema as TOML text, the form in which owners keep it."""
        table = self.to_dict()
        columns = table.pop("columns")
        lines = [f"{key} = {toml_value(value)}" for key, value in table.items()]
        for name, entry in columns.items():
            lines.append(f"\n[columns.{toml_key(name)}]")
            lines.extend(f"{key} = {toml_value(value)}" for key, value in entry.items())
        return "\n".join(lines) + "\n"

    @classmethod
    def from_toml(cls, text: str) -> Schema:
        """Read a schema from TOML text."""
        try:
            values = tomllib.loads(text)
        except tomllib.TOMLDecodeError as error:
            raise SchemaError(f"The schema is not valid TOML: {error}.") from None
        except (TypeError, AttributeError, RecursionError):
            raise SchemaError("The schema is not valid TOML: it must be a text, and not nested without end.") from None
        return cls.from_dict(values)

    @classmethod
    def load(cls, path: str | Path) -> Schema:
        """Read a schema from a ``.toml`` or ``.json`` file."""
        path = Path(path)
        try:
            text = path.read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError):
            raise SchemaError(f"The schema file '{path}' cannot be read.") from None
        return cls.from_json(text) if path.suffix == ".json" else cls.from_toml(text)


def _column_to_dict(column: Column) -> dict[str, Any]:
    entry: dict[str, Any] = {"kind": column.kind}
    for spec in fields(column):
        value = getattr(column, spec.name)
        if value is None or value == "" or (spec.name == "ordered" and not value):
            continue
        entry[spec.name] = list(value) if isinstance(value, tuple) else value
        if isinstance(value, dt.date):
            entry[spec.name] = value.isoformat()
    return entry


def _column_from_dict(name: str, entry: object) -> Column:
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
