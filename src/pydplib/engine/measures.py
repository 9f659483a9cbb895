"""Measures: what is added up over the bounded rows, on which public grid, and how large it can be."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, Literal, TypeAlias, get_args

from pydplib.errors import QuestionError, did_you_mean
from pydplib.schema import Column

MeasureKind: TypeAlias = Literal["count", "sum", "sumsq", "cells", "persons"]
"""What can be added up."""


def number_bounds(column: Column) -> tuple[float, float]:
    """Return a column's public bounds as numbers: days for dates, 0 and 1 for flags.

    Examples:
        >>> from pydplib.schema import Date
        >>> number_bounds(Date("1970-01-02", "1970-01-11"))
        (1.0, 10.0)
    """
    bounds = column.number_bounds
    if bounds is None:
        raise QuestionError(f"A {column.kind} column has no bounds as numbers.")
    return bounds


@dataclass(frozen=True, slots=True)
class Measure:
    """One thing to add up, in integers.

    * ``count``: rows; with a column, rows that have a value there.
    * ``sum``: floor((x - center) / step + 1/2) - offset, x clamped to [low, high].
    * ``sumsq``: floor((x - center)^2 / step + 1/2) - offset; here the step is one of squares.
    * ``cells``: rows per cell. With ``step``: one cell per grid point floor(x / step + 1/2), for quantiles.
      With ``edges``: [e0, e1), ..., the last one closed; x is clamped to [low, high], by default the outer
      edges, and is in no cell beyond them.
    * ``persons``: persons by how many rows they have, before any bound; ``edges`` are the whole numbers, from 1 on, at
      which the classes begin, and the last class is open. A person is in one class, whatever the limit of rows says.

    Args:
        kind: What to add up.
        column: The column; dates count as days since 1970-01-01, flags as 0 and 1.
        low: Public lower bound.
        high: Public upper bound.
        step: The public grid.
        edges: Public edges of cells, instead of a step.
        center: Subtracted before rounding, so that one person moves a sum less.
        offset: Whole grid steps subtracted after rounding.

    Examples:
        >>> Measure("sum", "age", low=18, high=100, step=1, center=59).largest
        41
        >>> Measure("cells", "age", edges=[20, 40, 60]).cells
        2
        >>> Measure("persons", edges=[1, 2, 3, 5, 11]).cells  # 1, 2, 3 to 4, 5 to 10, more
        5
    """

    kind: MeasureKind
    column: str | None = None
    low: float | None = None
    high: float | None = None
    step: float | None = None
    edges: tuple[float, ...] | None = None
    center: float = 0.0
    offset: int = 0
    whole_bounds: tuple[int, int] = field(default=(0, 1), init=False, repr=False, compare=False)
    """The least and the largest integer that one whole row adds."""

    def __init__(
        self,
        kind: MeasureKind,
        column: str | None = None,
        *,
        low: float | None = None,
        high: float | None = None,
        step: float | None = None,
        edges: Iterable[float] | None = None,
        center: float = 0.0,
        offset: int = 0,
    ) -> None:
        grid = None if edges is None else tuple(float(edge) for edge in edges)
        if grid is not None and len(grid) >= 2 and kind != "persons":
            low = grid[0] if low is None else low
            high = grid[-1] if high is None else high
        for name, value in {
            "kind": kind,
            "column": column,
            "low": None if low is None else float(low),
            "high": None if high is None else float(high),
            "step": None if step is None else float(step),
            "edges": grid,
            "center": float(center),
            "offset": offset,
        }.items():
            object.__setattr__(self, name, value)
        self._check()
        object.__setattr__(self, "whole_bounds", self._whole_bounds())

    def _check(self) -> None:
        if self.kind not in get_args(MeasureKind):
            raise QuestionError(f"Unknown measure '{self.kind}'.{did_you_mean(self.kind, get_args(MeasureKind))}")
        if self.kind == "count":
            if any(v is not None for v in (self.low, self.high, self.step, self.edges)):
                raise QuestionError("A count has no bounds and no grid.")
            return
        if self.kind == "persons":
            self._check_classes()
            return
        if self.column is None:
            raise QuestionError(f"Measure '{self.kind}' needs a column.")
        if self.low is None or self.high is None:
            raise QuestionError(f"Measure '{self.kind}' of '{self.column}' needs public bounds low and high.")
        numbers = (self.low, self.high, self.center, *(self.edges or ()))
        if not all(math.isfinite(v) for v in numbers) or not self.low < self.high:
            raise QuestionError(f"Measure '{self.kind}' of '{self.column}' needs finite bounds, low < high.")
        if isinstance(self.offset, bool) or not isinstance(self.offset, int):
            raise QuestionError("offset is a whole number of grid steps.")
        if (self.step is None) == (self.edges is None) or (self.edges is not None and self.kind != "cells"):
            raise QuestionError(
                f"Measure '{self.kind}' of '{self.column}' needs step="
                + (" or edges=, one of the two." if self.kind == "cells" else ".")
            )
        if self.edges is not None and not (len(self.edges) >= 2 and all(a < b for a, b in pairwise(self.edges))):
            raise QuestionError("edges= needs at least two ascending public edges.")
        if self.step is not None and not (math.isfinite(self.step) and self.step > 0):
            raise QuestionError("step= must be positive.")
        if self.kind == "cells" and (self.center or self.offset):
            raise QuestionError("Cells have no center and no offset.")
        if self.step is not None and not all(abs(v) < 2**52 for v in self._unrounded_ends()):
            raise QuestionError(
                f"The grid of '{self.column}' is too fine: its bounds are 2^52 steps or more. Use a wider step."
            )

    def _check_classes(self) -> None:
        if any(v is not None for v in (self.column, self.low, self.high, self.step)) or self.center or self.offset:
            raise QuestionError("Persons are counted by their number of rows: no column, no bounds and no grid.")
        edges = self.edges or ()
        if len(edges) < 2 or edges[0] != 1 or not all(edge.is_integer() and edge < 2**31 for edge in edges):
            raise QuestionError("edges= of persons are whole numbers of rows, from 1 on, e.g. edges=[1, 2, 3, 5].")
        if not all(a < b for a, b in pairwise(edges)):
            raise QuestionError("edges= of persons ascend.")

    @property
    def factor(self) -> float:
        """What values are multiplied with before rounding: the same double on every engine."""
        if self.step is None:
            raise QuestionError("This measure has no step.")
        return 1.0 / self.step

    def _unrounded_ends(self) -> tuple[float, float]:
        """Return the least and the largest value in grid steps, before rounding, in the engines' arithmetic."""
        low, high = self.low or 0.0, self.high or 0.0
        if self.kind != "sumsq":
            return (low - self.center) * self.factor, (high - self.center) * self.factor
        ends = sorted((end - self.center) * (end - self.center) * self.factor for end in (low, high))
        return (0.0 if low <= self.center <= high else ends[0]), ends[1]

    def _whole_bounds(self) -> tuple[int, int]:
        if self.kind in ("count", "cells", "persons"):
            return 0, 1
        least, largest = (math.floor(end + 0.5) for end in self._unrounded_ends())
        return least - self.offset, largest - self.offset

    @property
    def largest(self) -> int:
        """The largest absolute value that one whole row adds: what the sensitivity is made of."""
        return max(abs(bound) for bound in self.whole_bounds)

    @property
    def first_cell(self) -> int:
        """The grid point of cell 0, for cells by step: cell i stands for (first_cell + i) * step."""
        return math.floor(self._unrounded_ends()[0] + 0.5)

    @property
    def cells(self) -> int:
        """How many integers this measure gives per key."""
        if self.kind == "persons":
            return len(self.edges or ())
        if self.kind != "cells":
            return 1
        if self.edges is not None:
            return len(self.edges) - 1
        return math.floor(self._unrounded_ends()[1] + 0.5) - self.first_cell + 1

    def to_dict(self) -> dict[str, Any]:
        """Return the measure as plain values, without what is not set."""
        values: dict[str, Any] = {"kind": self.kind}
        for name in ("column", "low", "high", "step", "center", "offset"):
            value = getattr(self, name)
            if value is not None and not (name in ("center", "offset") and value == 0):
                values[name] = value
        if self.edges is not None:
            values["edges"] = list(self.edges)
        return values
