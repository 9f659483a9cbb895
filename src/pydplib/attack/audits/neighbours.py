"""Neighbouring data sets: the worst ones known for each mechanism, and awkward columns for everything else."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from pydplib.attack.audits.protocols import Pair
from pydplib.errors import ParameterError, import_extra
from pydplib.guarantee import Relation
from pydplib.mechanisms import CoinFlip, Exponential, Gaussian, Geometric, Laplace, PermuteAndFlip, RandomizedResponse


def mechanism_neighbours(mechanism: Any) -> list[Pair]:
    """Return the neighbours on which a mechanism of the library loses most; an empty list for others.

    Examples:
        >>> from pydplib.mechanisms import Laplace
        >>> mechanism_neighbours(Laplace(sensitivity=2, epsilon=1.0))[0].second
        2.0
    """
    if isinstance(mechanism, Laplace | Gaussian):
        return [Pair(0.0, float(mechanism.sensitivity), "the value moves from 0 by the sensitivity")]
    if isinstance(mechanism, Geometric):
        return [Pair(0, int(mechanism.sensitivity), "the count moves by the sensitivity")]
    if isinstance(mechanism, CoinFlip):
        return [Pair(False, True, "one answer changes from no to yes")]
    if isinstance(mechanism, RandomizedResponse):
        first, second = mechanism.categories[:2]
        return [Pair(first, second, "one record changes its category")]
    if isinstance(mechanism, PermuteAndFlip):
        step = float(mechanism.sensitivity)
        return [Pair([0.0, 0.0], [step, -step], "one score rises, the other falls, by the sensitivity")]
    if isinstance(mechanism, Exponential):
        # The loss comes near epsilon only for candidates that are rarely chosen: a tenth is a compromise
        # between the loss and the number of outputs that show it.
        step = float(mechanism.sensitivity)
        behind = math.log(9) * mechanism.scale
        return [Pair([-behind, 0.0], [-behind - step, step], "an unlikely candidate's score falls, the other rises")]
    return []


@dataclass(frozen=True)
class ArrayNeighbours:
    """Columns that differ in one person, chosen to be awkward: constants, extremes, outliers, almost nothing.

    Args:
        bounds: The public bounds; the audit also tries a value far outside them.
        size: People in the larger column.
        relation: ``"add_remove"`` (one person more) or ``"substitute"`` (another person).

    Examples:
        >>> pairs = list(ArrayNeighbours(bounds=(0, 1), size=5)())
        >>> len(pairs[0].first) - len(pairs[0].second)
        1
    """

    bounds: tuple[float, float]
    size: int = 20
    relation: Relation = "add_remove"

    def __post_init__(self) -> None:
        if not (self.bounds[0] < self.bounds[1] and self.size >= 2):
            raise ParameterError("Neighbours need bounds=(low, high) with low < high, and at least two people.")

    def __call__(self) -> Iterable[Pair]:
        """Return the pairs."""
        low, high = (float(bound) for bound in self.bounds)
        far = high + 1e6 * (high - low)
        middle = (low + high) / 2
        spread = np.linspace(low, high, self.size - 1)
        settings: Sequence[tuple[Any, float, str]] = (
            (np.full(self.size - 1, low), high, "all at the lower bound, one at the upper"),
            (np.full(self.size - 1, high), low, "all at the upper bound, one at the lower"),
            (np.full(self.size - 1, middle), far, "all in the middle, one far outside the bounds"),
            (spread, high, "evenly spread, one more at the upper bound"),
        )
        for others, person, words in settings:
            present = np.append(others, person)
            absent = others if self.relation == "add_remove" else np.append(others, others[0])
            yield Pair(present, absent, words)


def table_strategy(**columns: Any) -> Any:
    """Return a Hypothesis strategy of neighbouring tables: (with the person, without), as dicts of lists.

    Args:
        columns: Column name -> a Hypothesis strategy of its values. The column ``person`` is added: several
            rows may belong to one person, and all of them are removed together.

    Examples:
        >>> from hypothesis import strategies as st
        >>> strategy = table_strategy(age=st.integers(18, 100))
        >>> type(strategy).__name__.endswith("Strategy")
        True
    """
    st: Any = import_extra("hypothesis.strategies", what="Making neighbouring tables", extra="test")
    if not columns or "person" in columns:
        raise ParameterError("Name at least one column; the column 'person' is added by itself.")
    row = st.fixed_dictionaries({"person": st.integers(0, 9), **columns})

    def split(drawn: tuple[list[dict[str, Any]], int]) -> tuple[dict[str, list[Any]], dict[str, list[Any]]]:
        rows, leaving = drawn
        names = ["person", *columns]

        def columns_of(kept: list[dict[str, Any]]) -> dict[str, list[Any]]:
            return {name: [one[name] for one in kept] for name in names}

        return columns_of(rows), columns_of([one for one in rows if one["person"] != leaving])

    return st.tuples(st.lists(row, max_size=30), st.integers(0, 9)).map(split)


def column_strategy(values: Any, *, relation: Relation = "add_remove", most: int = 30) -> Any:
    """Return a Hypothesis strategy of neighbouring columns: two lists that differ in one element.

    Args:
        values: A Hypothesis strategy of one value.
        relation: ``"add_remove"`` or ``"substitute"``.
        most: Most elements.

    Examples:
        >>> from hypothesis import strategies as st
        >>> type(column_strategy(st.floats(0, 1))).__name__.endswith("Strategy")
        True
    """
    st: Any = import_extra("hypothesis.strategies", what="Making neighbouring columns", extra="test")

    def split(drawn: tuple[list[Any], int, Any]) -> tuple[list[Any], list[Any]]:
        column, place, other = drawn
        place %= len(column)
        rest = column[:place] + column[place + 1 :]
        return column, rest if relation == "add_remove" else [*column[:place], other, *column[place + 1 :]]

    return st.tuples(st.lists(values, min_size=1, max_size=most), st.integers(0, most), values).map(split)
