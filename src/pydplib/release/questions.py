"""Questions: frozen values that touch no data, so that policy and budget can judge them first."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal, TypeAlias, cast

import numpy as np

from pydplib.engine import Bins, Condition, public_keys
from pydplib.engine.conditions import canonical_conditions
from pydplib.errors import QuestionError, did_you_mean
from pydplib.release.choosing import check_quantiles
from pydplib.release.grids import nice_edges, number_column
from pydplib.schema import Column, Schema

By: TypeAlias = str | Iterable[str] | Mapping[str, Any] | None
"""Groups: a column, several, or column -> its public keys (a list, ``Bins``, None for unknown keys)."""

Conditions: TypeAlias = Condition | Iterable[Condition]
"""One condition or several, all of which must hold."""

MOST_BINS = 10_000
"""The most bins of one histogram."""


@dataclass(frozen=True)
class Question:
    """What all questions share: groups and conditions. Use ``Count``, ``Mean`` and the others."""

    ask: ClassVar[str] = ""
    by: By = field(default=(), kw_only=True)
    where: Conditions = field(default=(), kw_only=True)

    def __post_init__(self) -> None:
        object.__setattr__(self, "by", _groups(self.by))
        listed = self.where if isinstance(self.where, Iterable) else (self.where,)
        where = tuple(listed)
        if not all(isinstance(condition, Condition) for condition in where):
            raise QuestionError("where= takes conditions such as [dp.Where('age').between(60, 70)].")
        object.__setattr__(self, "where", where)

    @property
    def pairs(self) -> tuple[tuple[str, Any], ...]:
        """The groups as (column, keys); ``...`` stands for what the schema declares, None for unknown keys."""
        return cast(tuple[tuple[str, Any], ...], self.by)

    @property
    def conditions(self) -> tuple[Condition, ...]:
        """The conditions, all of which must hold."""
        return cast(tuple[Condition, ...], self.where)

    @property
    def measured(self) -> tuple[str, ...]:
        """The columns whose values the answer speaks of, besides the groups."""
        column = getattr(self, "column", None)
        return () if column is None else (column,)

    @property
    def fields(self) -> frozenset[str]:
        """All columns that the answer speaks of."""
        return frozenset(self.measured) | {name for name, _ in self.pairs}

    @property
    def filters(self) -> frozenset[str]:
        """All columns that the conditions look at."""
        return frozenset(condition.column for condition in self.conditions)

    def _own(self) -> dict[str, Any]:
        """Return what only this kind of question has, as plain values."""
        return {} if not self.measured else {"of": self.measured[0]}

    def to_dict(self) -> dict[str, Any]:
        """Return the question as plain values."""
        plain: dict[str, Any] = {"ask": self.ask, **self._own()}
        if self.by:
            plain["by"] = [_group_dict(name, keys) for name, keys in self.pairs]
        if self.where:
            plain["where"] = [condition.to_dict() for condition in self.conditions]
        return plain

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Question:
        """Build any question from plain values, as ``to_dict`` gives them.

        Examples:
            >>> Question.from_dict({"ask": "mean", "of": "age"})
            Mean('age')
        """
        plain = dict(values)
        kind = plain.pop("ask", None)
        if kind not in QUESTIONS:
            raise QuestionError(f"Unknown question '{kind}'.{did_you_mean(kind, QUESTIONS)}")
        by = {entry["column"]: _group_from(entry) for entry in plain.pop("by", ())}
        where = [Condition.from_dict(entry) for entry in plain.pop("where", ())]
        target = QUESTIONS[kind]
        of = plain.pop("of", None)
        if of is not None:
            plain["of" if target is Count else "column"] = of
        try:
            return target(**plain, by=by, where=where)
        except TypeError:
            raise QuestionError(f"The question '{kind}' has an unknown or a missing part.") from None

    def canonical(self, schema: Schema) -> dict[str, Any]:
        """Return the question against a schema, in the one spelling that all of its spellings share."""
        plain: dict[str, Any] = {"ask": self.ask, **self._own()}
        groups = self.groups(schema)
        if groups:
            plain["by"] = [_group_dict(name, keys) for name, keys in groups.items()]
        where = canonical_conditions(self.conditions, schema)
        if where:
            plain["where"] = [condition.to_dict() for condition in where]
        return plain

    def groups(self, schema: Schema) -> dict[str, Any]:
        """Return column -> public keys, ``Bins``, or None, with the schema's values filled in."""
        return {name: _fill(schema, name, keys) for name, keys in self.pairs}

    def __repr__(self) -> str:
        parts = [repr(name) for name in self.measured]
        parts += [f"{key}={value!r}" for key, value in self._own().items() if key != "of"]
        if self.by:
            named = dict(self.pairs)
            plain = all(keys is ... for keys in named.values())
            parts.append(f"by={list(named) if plain else named!r}")
        if self.where:
            parts.append("where=[" + ", ".join(str(condition) for condition in self.conditions) + "]")
        return f"{type(self).__name__}({', '.join(parts)})"


@dataclass(frozen=True, repr=False)
class Count(Question):
    """How many rows, or how many persons.

    Args:
        of: ``"rows"`` or ``"persons"``. A person counts once; in groups, in the group of one of that person's rows.
        by: Groups: a column, several, or column -> public keys, ``Bins([...])``, or None for unknown keys.
        where: Conditions, all of which must hold.

    Examples:
        >>> Count(of="persons", by="pirads")
        Count(of='persons', by=['pirads'])
    """

    ask: ClassVar[str] = "count"
    of: Literal["rows", "persons"] = "rows"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.of not in ("rows", "persons"):
            raise QuestionError(f"Count counts rows or persons.{did_you_mean(self.of, ('rows', 'persons'))}")

    def _own(self) -> dict[str, Any]:
        return {"of": self.of}

    def __repr__(self) -> str:
        inner = super().__repr__().removeprefix("Count(").removesuffix(")")
        shown = f"of={self.of!r}" if self.of != "rows" else ""
        return f"Count({', '.join(part for part in (shown, inner) if part)})"


@dataclass(frozen=True, repr=False)
class _OfColumn(Question):
    """A question about the values of one column."""

    column: str = ""

    def __post_init__(self) -> None:
        super().__post_init__()
        if not isinstance(self.column, str) or not self.column:
            raise QuestionError(f"{type(self).__name__} needs its column, e.g. {type(self).__name__}('age').")


@dataclass(frozen=True, repr=False)
class Sum(_OfColumn):
    """The sum of a column.

    Examples:
        >>> Sum("lesions", by="year")
        Sum('lesions', by=['year'])
    """

    ask: ClassVar[str] = "sum"


@dataclass(frozen=True, repr=False)
class Mean(_OfColumn):
    """The mean of a column.

    Examples:
        >>> from pydplib import Where
        >>> Mean("age", by="pirads", where=[Where("age").at_least(60)])
        Mean('age', by=['pirads'], where=[age at least 60])
    """

    ask: ClassVar[str] = "mean"


@dataclass(frozen=True, repr=False)
class Variance(_OfColumn):
    """The variance of a column about its own mean (divided by the number of rows).

    Examples:
        >>> Variance("age")
        Variance('age')
    """

    ask: ClassVar[str] = "variance"


@dataclass(frozen=True, repr=False)
class Median(_OfColumn):
    """The median of a column, on its public grid.

    Examples:
        >>> Median("age", by="pirads")
        Median('age', by=['pirads'])
    """

    ask: ClassVar[str] = "median"


@dataclass(frozen=True, repr=False)
class Quantiles(_OfColumn):
    """Several quantiles of a column, on its public grid; epsilon is for all of them together.

    Examples:
        >>> Quantiles("age", [0.25, 0.5, 0.75])
        Quantiles('age', quantiles=[0.25, 0.5, 0.75])
    """

    ask: ClassVar[str] = "quantiles"
    quantiles: tuple[float, ...] = (0.25, 0.5, 0.75)

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "quantiles", tuple(float(share) for share in check_quantiles(self.quantiles)))

    def _own(self) -> dict[str, Any]:
        return {"of": self.column, "quantiles": list(self.quantiles)}


@dataclass(frozen=True, repr=False)
class Histogram(_OfColumn):
    """How many rows lie in each public bin of a column, or have each of its values.

    Args:
        column: A number or date (bins), or a category or yes/no column (its values).
        edges: Public edges of the bins; by default about ten round ones within the declared bounds.
        bins: Instead of edges: how many bins of even width to make of the declared bounds, or the edges themselves.
        by: Further groups: a histogram for each.
        where: Conditions, all of which must hold.

    Examples:
        >>> Histogram("age", edges=[20, 40, 60, 80])
        Histogram('age', edges=[20, 40, 60, 80])
        >>> Histogram("age", bins=10)
        Histogram('age', bins=10)
    """

    ask: ClassVar[str] = "histogram"
    edges: tuple[Any, ...] | None = None
    bins: Any = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.edges is not None and self.bins is not None:
            raise QuestionError("Give edges=[20, 40, 60] or bins=10, not both.")
        if isinstance(self.bins, Iterable) and not isinstance(self.bins, str):
            object.__setattr__(self, "edges", self.bins)
            object.__setattr__(self, "bins", None)
        whole = isinstance(self.bins, int | np.integer) and not isinstance(self.bins, bool)
        if self.bins is not None and not (whole and 1 <= self.bins <= MOST_BINS):
            raise QuestionError(f"bins= is a number of bins from 1 to {MOST_BINS}, or give edges=[20, 40, 60].")
        if self.edges is not None:
            object.__setattr__(self, "edges", _bins(self.edges).edges)
        if self.column in dict(self.pairs):
            raise QuestionError(f"Histogram('{self.column}') counts '{self.column}' already; leave it out of by=.")

    def _own(self) -> dict[str, Any]:
        own: dict[str, Any] = {"of": self.column}
        if self.bins is not None:
            return own | {"bins": int(self.bins)}
        return own if self.edges is None else own | {"edges": list(self.edges)}

    def canonical(self, schema: Schema) -> dict[str, Any]:
        """Return the question with its edges filled in."""
        plain = super().canonical(schema)
        bins = self.groups(schema)[self.column]
        plain["by"] = [entry for entry in plain["by"] if entry["column"] != self.column]
        if not plain["by"]:  # its own bins are said by its edges
            del plain["by"]
        plain.pop("bins", None)  # said by the edges that they make
        if isinstance(bins, Bins):
            plain["edges"] = [one_spelling(edge) for edge in bins.edges]
        return plain

    def groups(self, schema: Schema) -> dict[str, Any]:
        """Return the groups with the histogram's own bins as the last axis."""
        own: Any = ... if self.edges is None else Bins(self.edges)
        if self.bins is not None:
            own = even_bins(number_column(schema, self.column, "bins"), int(self.bins))
        return super().groups(schema) | {self.column: _fill(schema, self.column, own)}


@dataclass(frozen=True, repr=False)
class Crosstab(Question):
    """How many rows have each combination of two (or more) columns: the table behind an x-versus-y figure.

    Args:
        columns: The columns, at least two; numbers and dates by bins.
        bins: Column -> public edges; by default about ten round ones within the declared bounds.
        where: Conditions, all of which must hold.

    Examples:
        >>> Crosstab("age", "pirads", bins={"age": [40, 60, 80]})
        Crosstab('age', 'pirads')
    """

    ask: ClassVar[str] = "crosstab"
    columns: tuple[str, ...] = ()

    def __init__(
        self,
        *columns: str,
        bins: Mapping[str, Iterable[Any]] | None = None,
        by: By = None,
        where: Conditions = (),
    ) -> None:
        given = dict(bins or {})
        named = _groups(by)
        names = columns or tuple(name for name, _ in named)
        known = dict(named)
        if len(names) < 2 or len(set(names)) != len(names):
            raise QuestionError("Crosstab needs at least two different columns, e.g. Crosstab('age', 'pirads').")
        for name in given:
            if name not in names:
                raise QuestionError(f"bins= names '{name}', no column of this table.{did_you_mean(name, names)}")
        groups = {name: _bins(given[name]) if name in given else known.get(name, ...) for name in names}
        object.__setattr__(self, "columns", tuple(names))
        object.__setattr__(self, "by", tuple(groups.items()))
        object.__setattr__(self, "where", where)
        self.__post_init__()

    @property
    def measured(self) -> tuple[str, ...]:
        """None besides the groups."""
        return ()

    def __repr__(self) -> str:
        where = f", where={[str(condition) for condition in self.conditions]}" if self.where else ""
        return f"Crosstab({', '.join(repr(name) for name in self.columns)}{where})"


QUESTIONS: dict[str, type[Question]] = {
    kind.ask: kind for kind in (Count, Sum, Mean, Variance, Median, Quantiles, Histogram, Crosstab)
}
"""The word of a question -> its class."""


def _groups(by: Any) -> tuple[tuple[str, Any], ...]:
    """Return groups as (column, keys) pairs; ``...`` stands for what the schema declares."""
    if by is None or (isinstance(by, tuple) and not by):
        return ()
    if isinstance(by, str):
        return ((by, ...),)
    if isinstance(by, Mapping):
        pairs = list(by.items())
    elif not isinstance(by, Iterable):
        raise QuestionError("by= takes column names, each once, e.g. by='pirads' or by=['pirads', 'bph'].")
    else:
        pairs = [entry if isinstance(entry, tuple) and len(entry) == 2 else (entry, ...) for entry in by]
    names = [name for name, _ in pairs]
    if not all(isinstance(name, str) and name for name in names) or len(set(names)) != len(names):
        raise QuestionError("by= takes column names, each once, e.g. by='pirads' or by=['pirads', 'bph'].")
    return tuple((name, _plain_keys(name, keys)) for name, keys in pairs)


def _plain_keys(name: str, keys: Any) -> Any:
    if keys is ... or keys is None:
        return keys
    if isinstance(keys, Bins):
        return _bins(keys)
    if isinstance(keys, str) or not isinstance(keys, Iterable):
        raise QuestionError(f"The public keys of '{name}' are a list, Bins([...]), or None where they are unknown.")
    return tuple(plain_scalar(key) for key in keys)


def plain_scalar(value: Any) -> Any:
    """Return NumPy's scalars as Python's.

    Examples:
        >>> import numpy as np
        >>> plain_scalar(np.float64(20.0)), plain_scalar("a")
        (20.0, 'a')
    """
    return value.item() if isinstance(value, np.generic) and not isinstance(value, np.datetime64) else value


def one_spelling(value: Any) -> Any:
    """Return a whole number as int, however it is written: 20 and 20.0 are one key, and one question.

    Examples:
        >>> one_spelling(20.0), one_spelling(True), one_spelling(0.5)
        (20, True, 0.5)
    """
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _bins(edges: Any) -> Bins:
    """Return bins of edges in a list, an array, or bins already."""
    found = edges.edges if isinstance(edges, Bins) else edges
    if isinstance(found, str) or not isinstance(found, Iterable):
        raise QuestionError("Edges are a list of numbers or days in ascending order, e.g. edges=[20, 40, 60].")
    return Bins(one_spelling(plain_scalar(edge)) for edge in found)


def even_bins(column: Column, count: int) -> Bins:
    """Return bins of even width over a column's declared bounds; days are cut at midnight.

    Examples:
        >>> from pydplib.schema import Number
        >>> even_bins(Number(0, 100), 4).edges
        (0, 25, 50, 75, 100)
    """
    return Bins(column.even_bins(count))


def _fill(schema: Schema, name: str, keys: Any) -> Any:
    """Return a group's keys with the schema's declaration filled in."""
    column = schema.column(name)
    if keys is not ...:
        return keys
    if not column.can_be_asked:
        raise QuestionError(
            f"Column '{name}' is free text: its values are not public. Declare it as a Category, or ask for "
            f"unknown keys (by={{'{name}': None}}, in the shell by {name} --delta 1e-7); they need a budget with delta."
        )
    if column.is_binned:
        return Bins(nice_edges(number_column(schema, name, "by")))
    return public_keys(schema, name)


def _group_dict(name: str, keys: Any) -> dict[str, Any]:
    entry: dict[str, Any] = {"column": name}
    if isinstance(keys, Bins):
        entry["edges"] = [one_spelling(edge) for edge in keys.edges]
    elif keys is None:
        entry["unknown"] = True
    elif keys is not ...:
        entry["keys"] = [one_spelling(key) for key in keys]
    return entry


def _group_from(entry: Mapping[str, Any]) -> Any:
    if entry.get("unknown"):
        return None
    if "edges" in entry:
        return Bins(entry["edges"])
    return tuple(entry["keys"]) if "keys" in entry else ...
