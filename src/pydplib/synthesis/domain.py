"""The public domain of a synthetic table: which cells a column has, and which values a cell stands for."""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pydplib.engine import Bins
from pydplib.errors import ParameterError, QuestionError, did_you_mean
from pydplib.release.results.axes import Axis, show_key
from pydplib.release.statistics.question import even_bins, to_bins
from pydplib.schema import OTHER, Column, Schema
from pydplib.synthesis.model import Floats, Integers

REST = "missing or other"
"""The last cell of every column: nobody is dropped."""

MOST_COLUMNS = 60
"""Most columns of one synthetic table."""

MOST_VALUES = 1_000
"""Most cells of one column."""

_RELATIONS = "A relation has two or three different columns: relations=[('age', 'pirads')]."

_MOST_STEPS = 100_000  # steps of a number's grid that are listed one by one


@dataclass(frozen=True)
class Variable:
    """One column of a synthetic table: its public cells, and one more for everybody else.

    Attributes:
        name: The column.
        column: Its declaration.
        keys: Its public values, or ``Bins``.
    """

    name: str
    column: Column
    keys: tuple[Any, ...] | Bins

    @property
    def size(self) -> int:
        """How many cells it has, the one of missing and other values included."""
        return len(self.cells) + 1

    @property
    def cells(self) -> tuple[Any, ...]:
        """The cells but the last: values, or (low, high) of bins."""
        return self.keys.keys if isinstance(self.keys, Bins) else self.keys

    @property
    def is_ordered(self) -> bool:
        """Whether neighbouring cells may be measured as one group."""
        return self.column.is_ranged or bool(getattr(self.column, "ordered", False))

    @property
    def labels(self) -> tuple[str, ...]:
        """The cells in words."""
        if isinstance(self.keys, Bins):
            axis = Axis(self.name, self.cells, kind="bins", unit=self.column.bin_unit)
            return (*axis.labels, REST)
        return (*(show_key(key) for key in self.cells), REST)

    def to_dict(self) -> dict[str, Any]:
        """Return the column and its cells as plain values."""
        if isinstance(self.keys, Bins):
            return {"column": self.name, "edges": list(self.keys.edges)}
        return {"column": self.name, "keys": list(self.keys)}

    # -- values of cells ---------------------------------------------------------------------------

    @cached_property
    def grids(self) -> tuple[NDArray[Any], NDArray[np.int64], NDArray[np.int64]] | None:
        """The values of all bins one by one, with the first place and the number of each bin; None where endless."""
        if not isinstance(self.keys, Bins):
            return None
        edges, step = self.keys.numbers, self._step
        if step is None or (edges[-1] - edges[0]) / step > _MOST_STEPS:
            return None
        digits = max(0, 9 - math.floor(math.log10(step)))  # 127 steps of 0.1 are 12.7
        values: list[float] = []
        firsts: list[int] = []
        numbers: list[int] = []
        for place, (low, high) in enumerate(pairwise(edges)):
            first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
            if place < len(edges) - 2 and last * step >= high - 1e-9 * step:
                last -= 1  # [low, high), the last bin is closed
            own = [round(step * i, digits) for i in range(first, last + 1)] or [(low + high) / 2]
            firsts.append(len(values))
            numbers.append(len(own))
            values.extend(own)
        return np.array(values), np.array(firsts), np.array(numbers)

    @property
    def _step(self) -> float | None:
        if self.column.is_whole or not self.column.holds_numbers:
            return 1.0
        grid = self.column.grid
        return None if grid is None else float(grid)

    @property
    def middles(self) -> Floats:
        """The number that each cell but the last stands for in averages."""
        if not isinstance(self.keys, Bins):
            return np.array([float(key) for key in self.cells])
        edges = np.array(self.keys.numbers)
        if self.grids is None:
            halves: Floats = (edges[:-1] + edges[1:]) / 2
            return halves
        values, firsts, numbers = self.grids
        return np.array([values[f : f + n].mean() for f, n in zip(firsts, numbers, strict=True)])

    def decode(self, codes: Integers, points: Floats) -> Decoded:
        """Return the values of cells; inside a bin they are spread evenly.

        Args:
            codes: Cells.
            points: One number in [0, 1) for each.
        """
        if not isinstance(self.keys, Bins):
            return Decoded(self.name, list(self.cells), codes)
        rest = codes == len(self.cells)
        inside = np.where(rest, 0, codes)
        if self.grids is not None:
            values, firsts, numbers = self.grids
            places = firsts[inside] + np.floor(points * numbers[inside]).astype(np.int64)
            return Decoded(self.name, [self._written(v) for v in values.tolist()], np.where(rest, len(values), places))
        edges = np.array(self.keys.numbers)
        width = edges[inside + 1] - edges[inside]
        digits = max(0, 3 - math.floor(math.log10(float(np.diff(edges).min()))))
        numbers_found = np.clip(np.round(edges[inside] + points * width, digits), edges[0], edges[-1])
        return Decoded(self.name, None, rest.astype(np.int64), numbers_found)

    def _written(self, number: float) -> Any:
        if not self.column.holds_numbers:
            return dt.date(1970, 1, 1) + dt.timedelta(days=round(number))
        return int(number) if float(number).is_integer() and self._step is not None and self._step >= 1 else number


@dataclass(frozen=True)
class Decoded:
    """A column of values, held small: places in a short list, or numbers.

    Attributes:
        name: The column.
        values: The list; None for numbers.
        places: Places in the list, one beyond its end for missing; for numbers 1 where one is missing.
        numbers: The numbers.
    """

    name: str
    values: list[Any] | None
    places: Integers
    numbers: Floats | None = None

    def __len__(self) -> int:
        return len(self.places)

    def to_list(self) -> list[Any]:
        """Return the values, None where one is missing."""
        if self.values is None:
            assert self.numbers is not None
            pairs = zip(self.numbers.tolist(), self.places.tolist(), strict=True)
            return [None if missing else number for number, missing in pairs]
        known = [*self.values, None]
        return [known[place] for place in self.places.tolist()]


def variables_of(schema: Schema, columns: Iterable[str] | Mapping[str, Any] | None) -> tuple[Variable, ...]:
    """Return the columns of a synthetic table with their public cells.

    Args:
        schema: The declarations.
        columns: The columns, by default every one that can be asked and identifies nobody; as a mapping, with the edges
            or the number of bins of columns of numbers and dates.

    Raises:
        QuestionError: A column is unknown, free text, or has no public cells.
    """
    bins: Mapping[str, Any] = columns if isinstance(columns, Mapping) else {}
    if columns is None:
        names = [
            name
            for name, kind in schema.columns.items()
            if kind.can_be_asked and name != schema.person and kind.label != "identifier"
        ]
    elif isinstance(columns, str):
        raise QuestionError(f"columns= is a list of names: columns=['{columns}'].")
    elif not isinstance(columns, Iterable):
        raise QuestionError("columns= is a list of names: columns=['age', 'pirads'].")
    else:
        named = list(columns)
        if not all(isinstance(name, str) for name in named):
            raise QuestionError("columns= is a list of names: columns=['age', 'pirads'].")
        names = list(dict.fromkeys(named))
    if not names:
        raise QuestionError("A synthetic table needs at least one column that can be counted.")
    if len(names) > MOST_COLUMNS:
        raise QuestionError(f"A synthetic table has at most {MOST_COLUMNS} columns. Name fewer: columns=[...].")
    return tuple(_variable(schema, name, bins.get(name)) for name in names)


def _variable(schema: Schema, name: str, bins: Any) -> Variable:
    column = schema.column(name)
    if name == schema.person or column.label == "identifier":
        raise QuestionError(f"'{name}' identifies persons: it has no place in a synthetic table.")
    if not column.can_be_asked:
        raise QuestionError(f"Column '{name}' is free text: it has no public values to draw from.")
    if bins is not None:
        if not column.is_ranged:
            raise QuestionError(f"Bins are for numbers and dates; column '{name}' is a {column.kind}.")
        found: tuple[Any, ...] | Bins = _bins(column, name, bins)
    elif column.listed:
        found = tuple(key for key in column.listed if key != OTHER or OTHER in column.choices)
    else:
        edges = column.default_bins()
        if edges is None:
            raise QuestionError(f"Column '{name}' has no public values to draw from.")
        found = Bins(edges)
    variable = Variable(name, column, found)
    if variable.size > MOST_VALUES:
        raise QuestionError(
            f"Column '{name}' has {variable.size} cells; a synthetic table counts at most {MOST_VALUES}. Give bins: "
            f"columns={{'{name}': 10}}."
        )
    return variable


def _bins(column: Column, name: str, bins: Any) -> Bins:
    """Return bins from their number or their edges: 20 and 20.0 are one edge."""
    if isinstance(bins, Bins) or (isinstance(bins, Iterable) and not isinstance(bins, str)):
        return to_bins(bins)
    whole = isinstance(bins, int | np.integer) and not isinstance(bins, bool)
    if not whole or not 1 <= bins < MOST_VALUES:
        raise QuestionError(
            f"Column '{name}' takes a number of bins from 1 to {MOST_VALUES - 1}, or edges: columns={{'{name}': 10}}."
        )
    return even_bins(column, int(bins))


def relations_of(variables: Sequence[Variable], relations: Iterable[Iterable[str]]) -> tuple[tuple[int, ...], ...]:
    """Return declared relations as places of columns, each once, in one order."""
    places = {variable.name: place for place, variable in enumerate(variables)}
    found = []
    if isinstance(relations, str) or not isinstance(relations, Iterable):
        raise QuestionError(_RELATIONS)
    for relation in relations:
        names = list(relation) if isinstance(relation, Iterable) and not isinstance(relation, str) else [relation]
        if not all(isinstance(name, str) for name in names):
            raise QuestionError(_RELATIONS)
        for name in names:
            if name not in places:
                raise QuestionError(f"A relation names '{name}', no column of the table.{did_you_mean(name, places)}")
        columns = tuple(sorted({places[name] for name in names}))
        if not 2 <= len(columns) <= 3:
            raise QuestionError(_RELATIONS)
        cells = math.prod(variables[place].size for place in columns)
        if cells > 20_000:
            raise QuestionError(f"The relation {' x '.join(names)} has {cells} cells. Use wider bins or fewer columns.")
        found.append(columns)
    return tuple(sorted(set(found)))


def check_rows(rows: object) -> int:
    """Return a number of copies or rows.

    Raises:
        ParameterError: It is no whole number of at least 1.
    """
    if isinstance(rows, bool) or not isinstance(rows, int) or rows < 1:
        raise ParameterError("A number of copies is a whole number of at least 1.")
    return rows
