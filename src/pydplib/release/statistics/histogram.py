"""Histograms: how many rows lie in each public bin of a column, or have each of its values."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from pydplib.engine import Bins, RowCondition
from pydplib.errors import QuestionError
from pydplib.release.grids import number_column
from pydplib.release.statistics.count import Counting
from pydplib.release.statistics.question import (
    MOST_BINS,
    OfColumn,
    Part,
    Question,
    even_bins,
    fill_keys,
    one_spelling,
    statistic,
    to_bins,
)
from pydplib.schema import Schema

BIN_PARTS = (
    Part(name="edges", kind="edges", default=None),
    Part(name="bins", kind="whole", default=None),
)
"""How a column is cut: public edges, or a number of bins of even width."""


@dataclass(frozen=True, repr=False)
class Binned(OfColumn):
    """A question that cuts its own column into public bins, or takes its declared values one by one."""

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
            object.__setattr__(self, "edges", to_bins(self.edges).edges)
        if self.column in dict(self.pairs):
            name = type(self).__name__
            raise QuestionError(f"{name}('{self.column}') counts '{self.column}' already; leave it out of by=.")

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
        """Return the groups with the question's own bins as the last axis."""
        own: Any = ... if self.edges is None else Bins(self.edges)
        if self.bins is not None:
            own = even_bins(number_column(schema, self.column, "bins"), int(self.bins))
        return super().groups(schema) | {self.column: fill_keys(schema, self.column, own)}

    @classmethod
    def from_form(
        cls,
        *,
        column: str | None,
        groups: Mapping[str, Any],
        edges: Mapping[str, Bins],
        where: Iterable[RowCondition],
        own: Mapping[str, Any],
    ) -> Question:
        """Build the question with the bins that were typed in."""
        name = column or ""
        return cls(name, edges[name].edges if name in edges else None, by=groups, where=where)


@statistic(
    "histogram",
    title="Distribution",
    hint="How many records in each bin or with each value.",
    example="histogram age",
    picture="bars",
    about="all",
    is_count=True,
    is_binned=True,
    number_hint="'histogram age' has round edges within the declared bounds. Others are asked in Python: "
    "dp.Histogram('age', edges=[...]).",
    parts=BIN_PARTS,
)
@dataclass(frozen=True, repr=False)
class Histogram(Counting, Binned):
    """How many rows lie in each public bin of a column, or have each of its values.

    Proof: ``CountNoise`` over all cells.

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
