"""Arrays of people in, where no element can make the computation fail; and exact integer sums on a public grid."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pydplib.errors import ParameterError


def as_values(values: Any) -> NDArray[Any]:
    """Return a one-dimensional array of numbers; whatever is no number is missing (NaN).

    Lists, NumPy arrays, and the columns of pandas, Polars and PyArrow are understood. A text
    that spells a number is that number. The outcome for one element never depends on another, and no
    element raises an error: an error that only some person's value causes would tell of that person.

    Raises:
        ParameterError: If ``values`` is not a column at all, or its declared type is text or time (public by its type).

    Examples:
        >>> as_values([61, None, "67.5", "n/a"]).tolist()
        [61.0, nan, 67.5, nan]
    """
    if _is_text(values):
        raise ParameterError(
            "This column's type is text, not numbers. Convert it first (in pandas: pd.to_numeric(column, "
            "errors='coerce')), or count it by its values with a table: dp.Count(by=...)."
        )
    array = to_array(values)
    if array.dtype.kind in "biuf":
        return array
    if array.dtype.kind in "mM":
        raise ParameterError("Dates and durations are not numbers. Use a table with a Date column, or give days.")
    return np.fromiter((_number(item) for item in array.tolist()), dtype=np.float64, count=len(array))


def _is_text(values: Any) -> bool:
    """Tell whether a column's declared type is text, or categories of texts; a list declares none."""
    declared = getattr(values, "dtype", None) or getattr(values, "type", None)
    if isinstance(declared, np.dtype):
        return declared.kind in "USTa"
    inner = getattr(getattr(declared, "categories", None), "dtype", None)  # pandas' categories
    words = str(declared if inner is None else inner).lower()
    return words.startswith(("str", "utf8", "large_string", "categorical", "enum", "dictionary<values=string"))


def to_array(values: Any) -> NDArray[Any]:
    """Return a column as a one-dimensional NumPy array, objects where its elements are mixed."""
    if isinstance(values, str | bytes | dict) or np.isscalar(values) or values is None:
        raise ParameterError(
            f"A column of values is needed: a list, an array or a data frame's column. Got {type(values).__name__}."
        )
    if isinstance(values, np.ma.MaskedArray):
        values = _unmasked(values)
    if not isinstance(values, np.ndarray | list | tuple):
        for method in ("to_numpy", "__array__"):
            if hasattr(values, method):
                values = _to_numpy(values) if method == "to_numpy" else np.asarray(values)
                break
        else:
            values = list(values)
    if isinstance(values, np.ndarray):
        array = values
    else:
        plain = all(type(item) in (int, float, bool) and -(2**53) < item < 2**53 for item in values)
        array = np.array(values, dtype=np.float64) if plain else _objects(values)
    if array.ndim != 1:
        raise ParameterError(f"One column of values is needed; this has {array.ndim} dimensions.")
    return array


def _to_numpy(values: Any) -> NDArray[Any]:
    if type(values).__module__.partition(".")[0] == "pyarrow":  # by default it refuses where an element is missing
        return np.asarray(values.to_numpy(zero_copy_only=False))
    return np.asarray(values.to_numpy())


def _unmasked(values: np.ma.MaskedArray[Any, Any]) -> NDArray[Any]:
    """Return an array in which what was masked is missing, whether anything is masked or not: the type is public."""
    hidden, plain = np.ma.getmaskarray(values), np.array(values.data)
    if plain.dtype.kind in "biuf":
        # Whole numbers beyond 2^53 lose their last digits, which no noise leaves anyway.
        plain = plain.astype(np.float64)
    elif plain.dtype.kind not in "mM":
        plain = plain.astype(object)
    kind = plain.dtype.kind
    plain[hidden] = np.array("NaT", plain.dtype) if kind in "mM" else np.nan if kind == "f" else None
    return plain


def is_missing(array: NDArray[Any]) -> NDArray[np.bool_]:
    """Return which elements are missing: None, NaN, not-a-time, pandas' NA, empty text."""
    if array.dtype.kind == "f":
        return np.asarray(np.isnan(array), dtype=np.bool_)
    if array.dtype.kind in "biu":
        return np.zeros(array.shape, dtype=np.bool_)
    if array.dtype.kind in "mM":
        return np.asarray(np.isnat(array), dtype=np.bool_)
    return np.fromiter((is_nothing(item) for item in array.tolist()), dtype=np.bool_, count=len(array))


def _objects(values: Any) -> NDArray[Any]:
    array = np.empty(len(values), dtype=object)
    array[:] = list(values)
    return array


def _number(item: Any) -> float:
    try:
        if isinstance(item, complex):
            return item.real if item.imag == 0 else math.nan
        return float(item)
    except OverflowError:  # a whole number beyond every float: clamped like any other large value
        return math.inf if item > 0 else -math.inf
    except Exception:  # whatever the element is, it is no number
        return math.nan


def is_nothing(item: Any) -> bool:
    """Tell whether one element is missing: None, NaN, not-a-time, pandas' NA, empty text. Never raises.

    Examples:
        >>> [is_nothing(item) for item in (None, float("nan"), " ", False, 0, "a")]
        [True, True, True, False, False, False]
    """
    if item is None or (isinstance(item, str) and not item.strip()):
        return True
    if isinstance(item, bool | np.bool_):
        return False
    try:
        differs = item != item
        return differs is item or bool(differs)  # NA compared with itself is NA, which is neither true nor false
    except Exception:
        return False


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
