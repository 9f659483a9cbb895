"""Exact integer sums and counts of an array on a public grid, chunk by chunk in the processor's cache.

Every element becomes an integer by itself, clamped to public bounds; nothing about one element
depends on another. Missing elements add nothing. Sums of integers below 2^53 are exact in floating point.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

_CHUNK = 1 << 16  # elements per chunk: long enough to hide the calls, short enough for the second-level cache
_MAGNET = 1.5 * 2.0**52  # floats of this size are whole numbers: adding it rounds to the nearest one ...
_MAGNET_BITS = int(np.float64(_MAGNET).view(np.int64))  # ... and their bit patterns count up one by one


@dataclass(frozen=True, slots=True)
class Grid:
    """Public bounds on a grid of step 2^exponent: ``first`` to ``last`` steps.

    Examples:
        >>> grid = Grid.between(18.0, 100.0, exponent=0)
        >>> grid.first, grid.top, grid.low, grid.high
        (18, 82, 18.0, 100.0)
    """

    exponent: int
    first: int
    last: int

    @classmethod
    def between(cls, low: float, high: float, *, exponent: int) -> Grid:
        """Return the grid over [low, high], coarsened where floats themselves are no finer than it."""
        exponent = max(exponent, math.frexp(max(abs(low), abs(high)))[1] - 50)
        first, last = (math.floor(math.ldexp(end, -exponent) + 0.5) for end in (low, high))
        return cls(exponent, first, max(last, first + 1))

    @property
    def top(self) -> int:
        """The distance between the bounds, in steps."""
        return self.last - self.first

    @property
    def step(self) -> float:
        """The width of one step."""
        return math.ldexp(1.0, self.exponent)

    @property
    def low(self) -> float:
        """The lower bound, rounded to the grid."""
        return math.ldexp(self.first, self.exponent)

    @property
    def high(self) -> float:
        """The upper bound, rounded to the grid."""
        return math.ldexp(self.last, self.exponent)


@dataclass(frozen=True, slots=True, repr=False)
class Sums:
    """Exact and private: how many values there are, and the sums of their grid steps and of the squares."""

    count: int
    steps: int
    squares: int = 0

    def __repr__(self) -> str:
        return "Sums(exact and private)"


def grid_sums(values: NDArray[Any], grid: Grid, *, origin: int | None = None, squares: bool = False) -> Sums:
    """Return count and sums of q, the value in steps from ``origin``, rounded and clamped to the grid's bounds.

    Adding 1.5 * 2^52 steps and taking it off again rounds a float to whole steps: the adder has no digits
    for anything finer. The clamped results are whole multiples of the step, below 2^30 of them (2^19 with
    squares), so the sums of a chunk are exact.

    Args:
        values: Numbers; NaN adds nothing.
        grid: The public bounds and the step.
        origin: Where q is 0, in steps; by default the lower bound.
        squares: Whether the squares are summed, too.

    Examples:
        >>> grid = Grid.between(18.0, 100.0, exponent=0)
        >>> sums = grid_sums(np.array([18.0, 20.0, np.nan, 1e300]), grid, squares=True)
        >>> sums.count, sums.steps, sums.squares
        (3, 84, 6728)
    """
    origin = grid.first if origin is None else origin
    magnet = math.ldexp(1.5, 52 + grid.exponent)
    low, high = magnet + grid.low, magnet + grid.high
    back = magnet + math.ldexp(origin, grid.exponent)
    buffer = np.empty(min(_CHUNK, len(values)), dtype=np.float64)
    count = steps = total = 0
    with np.errstate(over="ignore", invalid="ignore"):
        for start in range(0, len(values), _CHUNK):
            chunk = values[start : start + _CHUNK]
            out = buffer[: len(chunk)]
            np.add(chunk, magnet, out=out, dtype=np.float64)
            out.clip(low, high, out=out)
            np.subtract(out, back, out=out)
            part = float(np.add.reduce(out))
            if part != part:
                out = out[~np.isnan(out)]
                part = float(np.add.reduce(out))
            count += len(out)
            steps += int(math.ldexp(part, -grid.exponent))
            if squares:
                total += int(math.ldexp(_sum_of_squares(out), -2 * grid.exponent))
    return Sums(count, steps, total)


def _sum_of_squares(numbers: NDArray[np.float64]) -> float:
    # In short pieces: from 10 000 elements on, BLAS wakes other threads, which costs far more on a busy machine.
    even = len(numbers) - len(numbers) % 8192
    pieces, rest = numbers[:even].reshape(-1, 8192), numbers[even:]
    return math.fsum((*np.vecdot(pieces, pieces).tolist(), float(np.dot(rest, rest))))


def _places(
    values: NDArray[Any], factor: float, shift: float, top: int
) -> Iterator[tuple[NDArray[np.int64], NDArray[Any]]]:
    """Give the whole number nearest to x * factor + shift, clamped to 0 .. top, and x, where there is a value."""
    buffer = np.empty(min(_CHUNK, len(values)), dtype=np.float64)
    places = np.empty(len(buffer), dtype=np.int64)
    with np.errstate(over="ignore", invalid="ignore"):
        for start in range(0, len(values), _CHUNK):
            chunk = values[start : start + _CHUNK]
            out = buffer[: len(chunk)]
            np.multiply(chunk, factor, out=out, dtype=np.float64)
            np.add(out, shift, out=out)
            np.add(out, _MAGNET, out=out)
            out.clip(_MAGNET, _MAGNET + top, out=out)
            if np.isnan(out.min()):
                there = ~np.isnan(out)
                out, chunk = out[there], chunk[there]
            place = places[: len(out)]
            np.subtract(out.view(np.int64), _MAGNET_BITS, out=place)
            yield place, chunk


def point_counts(values: NDArray[Any], points: NDArray[np.float64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return how many values lie at each of evenly spaced points, and how many between each and the next.

    Values beyond the outer points count as lying at them. Arithmetic finds the nearest point, comparisons
    decide the side, so the answer is exact whatever the rounding.

    Examples:
        >>> at, between = point_counts(np.array([1.0, 1.2, 2.0, 9.0, np.nan]), np.array([1.0, 2.0, 3.0]))
        >>> at.tolist(), between.tolist()
        ([1, 1, 1], [1, 0])
    """
    last = len(points) - 1
    factor = last / (points[-1] - points[0])
    counts = np.zeros(2 * last + 3, dtype=np.int64)  # below, at 0, between, at 1, ..., at last, above
    nearest = np.empty(min(_CHUNK, len(values)), dtype=np.float64)
    for place, chunk in _places(values, factor, -points[0] * factor, last):
        own = nearest[: len(place)]
        np.take(points, place, out=own, mode="wrap")
        np.add(place, place, out=place)
        np.add(place, chunk >= own, out=place)
        np.add(place, chunk > own, out=place)
        counts += np.bincount(place, minlength=len(counts))
    counts[1] += counts[0]
    counts[-2] += counts[-1]
    return counts[1::2], counts[2:-2:2]


def bin_counts(values: NDArray[Any], edges: NDArray[np.float64]) -> NDArray[np.int64]:
    """Return how many values lie in [e0, e1), ..., [e(k-1), ek]; values beyond the outer edges in none.

    Nearly even edges: the nearest edge is found by arithmetic and one comparison decides its
    side, so the answer is exact whatever the rounding. Uneven edges: a table of narrow cells, each with
    at most one edge inside, does the same.

    Examples:
        >>> bin_counts(np.array([20.0, 29.9, 30.0, 40.0, 41.0]), np.array([20.0, 30.0, 40.0])).tolist()
        [2, 2]
    """
    bins = len(edges) - 1
    closed = edges.copy()
    closed[-1] = np.nextafter(edges[-1], np.inf)  # the last bin includes its upper edge
    width = (edges[-1] - edges[0]) / bins
    even = bool(np.abs(edges - (edges[0] + width * np.arange(bins + 1))).max() < width / 8)
    if even:
        return _count_bins(values, 1 / width, -edges[0] / width, closed, None, bins)
    narrow = float(np.diff(edges).min()) / 2
    cells = int((edges[-1] - edges[0]) / narrow) + 2
    if cells > 1 << 16:
        return _count_sorted(values, closed, bins)
    # Cell j holds what arithmetic puts there, within a quarter of a cell: [start, start + 1.5 narrow).
    starts = edges[0] + narrow * (np.arange(cells) - 0.75)
    base = np.minimum(np.searchsorted(closed, starts, side="right"), bins)
    nearest = closed[base]
    return _count_bins(values, 1 / narrow, -edges[0] / narrow, nearest, base.astype(np.int64), bins)


def _count_bins(
    values: NDArray[Any],
    factor: float,
    shift: float,
    nearest: NDArray[np.float64],
    base: NDArray[np.int64] | None,
    bins: int,
) -> NDArray[np.int64]:
    counts = np.zeros(bins + 2, dtype=np.int64)
    edge = np.empty(min(_CHUNK, len(values)), dtype=np.float64)
    for place, chunk in _places(values, factor, shift, len(nearest) - 1):
        own = edge[: len(place)]
        np.take(nearest, place, out=own, mode="wrap")  # in range already; this mode is the fastest
        reached = chunk >= own
        below = place if base is None else base[place]
        counts += np.bincount(np.add(below, reached, out=below), minlength=bins + 2)
    return counts[1 : bins + 1]


def _count_sorted(values: NDArray[Any], edges: NDArray[np.float64], bins: int) -> NDArray[np.int64]:
    there = values[~np.isnan(values)]
    places = np.searchsorted(edges, there, side="right")
    return np.bincount(places, minlength=bins + 2)[1 : bins + 1].astype(np.int64)
