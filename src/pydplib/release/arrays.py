"""One-liners on arrays: one element of the list is protected. No ledger: what is released is the caller's to add up.

Bounds, edges and epsilon are public and required; data never choose them. Missing elements (None, NaN, text
that is no number) add nothing, values beyond the bounds count as the bound.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from itertools import pairwise
from typing import Any

import numpy as np

from pydplib.budget.costs import Cost
from pydplib.budget.units import exact
from pydplib.engine.exact import integers
from pydplib.errors import ParameterError
from pydplib.guarantee import PureDP, Relation
from pydplib.noise.tap import add_laplace
from pydplib.release.array_values import Grid, as_values, bin_counts, grid_sums, is_missing, point_counts, to_array
from pydplib.release.public import (
    check_bounds,
    check_edges,
    check_epsilon,
    check_quantiles,
    check_step,
    grid_points,
    tidy,
)
from pydplib.release.results.axes import Axis, show_key
from pydplib.release.results.release import Release
from pydplib.release.statistics.count import CountNoise
from pydplib.release.statistics.mean import MeanNoise
from pydplib.release.statistics.noise import MarginUnit, Noisy, farthest, margin_steps
from pydplib.release.statistics.quantiles import QuantileNoise
from pydplib.release.statistics.question import SHIFT
from pydplib.release.statistics.sum import SumNoise
from pydplib.release.statistics.variance import VarianceNoise

_FINE = 30  # binary digits of the grid of sums and means: far finer than any noise
_FINE_SQUARES = 19  # and of variances, so that sums of squares stay exact


def count(values: Any, *, epsilon: float) -> Release:
    """Return how many elements are not missing, with noise.

    Proof: one person is one element, so the count moves by 1; ``CountNoise``.

    Args:
        values: A list, an array or a data frame's column.
        epsilon: The privacy loss; there is no default.

    Examples:
        >>> import pydplib as dp
        >>> release = dp.count(range(920), epsilon=1.0)
        >>> isinstance(release.value, int), release.margin95
        (True, 3)
    """
    noise = CountNoise(1, 1, 1, check_epsilon(epsilon))
    array = to_array(values)
    there = len(array) - int(np.count_nonzero(is_missing(array)))
    noisy = noise.apply(np.array([there], dtype=np.int64))
    return _release("count", {}, noisy, noise.epsilon, scale=float(noise.scale), sensitivity=1.0)


def sum(values: Any, *, bounds: tuple[float, float], epsilon: float) -> Release:
    """Return the sum of the values, each clamped to the bounds, with noise.

    Proof: one element adds at most max(|low|, |high|); ``SumNoise`` on a grid of at least 2^-30 of that.

    Args:
        values: A list, an array or a data frame's column.
        bounds: Public (low, high).
        epsilon: The privacy loss; there is no default.

    Examples:
        >>> import pydplib as dp
        >>> release = dp.sum([1, 2, 3], bounds=(0, 10), epsilon=1.0)
        >>> 29 < release.margin95 < 31
        True
    """
    low, high = check_bounds(bounds)
    loss = check_epsilon(epsilon)
    grid = Grid.between(low, high, exponent=_exponent(max(abs(low), abs(high)), loss, _FINE))
    noise = SumNoise(
        rows=1, per_row=1, largest=max(abs(grid.first), abs(grid.last)), step=grid.step, cells=1, epsilon=loss
    )
    sums = grid_sums(as_values(values), grid, origin=0)
    noisy = noise.apply(integers([sums.steps]))
    scale = float(noise.scale) * noise.step
    return _release(
        "sum", {"bounds": [low, high]}, noisy, loss, scale=scale, sensitivity=noise.sensitivity * noise.step
    )


def mean(values: Any, *, bounds: tuple[float, float], epsilon: float, size: int | None = None) -> Release:
    """Return the mean of the values, each clamped to the bounds, with noise.

    Proof: ``MeanNoise`` with one row per person. With ``size`` the number of elements is declared public and
    one person is exchanged for another: the sum moves by at most high - low and is divided by
    the declared number (missing elements count as the middle of the bounds).

    Args:
        values: A list, an array or a data frame's column.
        bounds: Public (low, high).
        epsilon: The privacy loss; there is no default.
        size: The number of elements, where it is public: another neighbouring relation (substitution).

    Examples:
        >>> import pydplib as dp
        >>> release = dp.mean([61, 67, 70] * 300, bounds=(18, 100), epsilon=1.0)
        >>> low, high = release.interval95
        >>> bool(low <= release.value <= high)
        True
    """
    low, high = check_bounds(bounds)
    loss = check_epsilon(epsilon)
    grid = Grid.between(low, high, exponent=_exponent(high - low, loss, _FINE))
    top = grid.top
    array = as_values(values)
    _check_size(size, len(array))
    sums = grid_sums(array, grid)
    asked = {"bounds": [low, high]}
    if size is not None:
        # Missing ones in the middle: half of `top` each, in half-steps so that it stays whole.
        steps = 2 * sums.steps + (size - sums.count) * top
        step = grid.step / 2 / size
        fixed = _fixed(steps, Fraction(2 * top), loss, step, grid.low, (low, high))
        scale = float(2 * top / loss) * step
        return _release(
            "mean", asked | {"size": size}, fixed, loss, scale=scale, sensitivity=2 * top * step, relation="substitute"
        )
    noise = MeanNoise(rows=1, per_row=1, top=top, low=grid.low, high=grid.high, epsilon=loss)
    noisy = noise.apply(integers([sums.steps]), integers([top * sums.count - sums.steps]))
    return _release("mean", asked, noisy, loss, scale=noise.unit_scale, sensitivity=high - low)


def variance(values: Any, *, bounds: tuple[float, float], epsilon: float, size: int | None = None) -> Release:
    """Return the variance of the values about their own mean (divided by n), each clamped to the bounds, with noise.

    Proof: ``VarianceNoise`` with one row per person. With ``size``: n sum(q^2) - (sum q)^2 is a whole
    number that moves by at most (n-1) top^2 when one of n values in 0 .. top is exchanged; dividing it by a
    public power of two and rounding down keeps moves within the quotient, rounded up.

    The interval covers in 95 % of all releases, and more often only where it meets the public limits 0 and
    (high - low)^2 / 4: few people, a small epsilon, or a variance near a limit
    (``statistics.variance.variance_interval``).

    Args:
        values: A list, an array or a data frame's column.
        bounds: Public (low, high).
        epsilon: The privacy loss; there is no default.
        size: The number of elements, where it is public: another neighbouring relation (substitution).

    Examples:
        >>> import pydplib as dp
        >>> 0 <= dp.variance([61, 67, 70] * 300, bounds=(18, 100), epsilon=1.0).value <= 82**2 / 4
        True
    """
    low, high = check_bounds(bounds, squared=True)
    loss = check_epsilon(epsilon)
    grid = Grid.between(low, high, exponent=_exponent(high - low, loss, _FINE_SQUARES, squared=True))
    most = (high - low) ** 2 / 4
    array = as_values(values)
    _check_size(size, len(array))
    half = (grid.top + 1) // 2
    sums = grid_sums(array, grid, origin=grid.first + half, squares=True)  # from the middle: -half to half
    asked = {"bounds": [low, high]}
    if size is not None:
        if size < 2:
            raise ParameterError("A variance needs at least two elements.")
        # Missing ones lie in the middle and add nothing.
        whole = size * sums.squares - sums.steps**2
        sensitivity = Fraction(grid.top**2 * (size - 1))
        step = grid.step**2 / size**2
        fixed = _fixed(whole, sensitivity, loss, step, 0.0, (0.0, most))
        moved = float(sensitivity) * step
        return _release(
            "variance", asked | {"size": size}, fixed, loss, scale=moved / float(loss), sensitivity=moved,
            relation="substitute",
        )  # fmt: skip
    noise = VarianceNoise(
        rows=1, per_row=1, top=half**2, half=half, square_step=grid.step**2, step=grid.step, most=most, epsilon=loss
    )
    rest = half**2 * sums.count - sums.squares
    noisy = noise.apply(integers([sums.squares]), integers([rest]), integers([sums.steps]))
    scale = float(noise.square_scale) * noise.square_step
    return _release("variance", asked, noisy, loss, scale=scale, sensitivity=most)


def median(values: Any, *, bounds: tuple[float, float], epsilon: float, step: float | None = None) -> Release:
    """Return the median, one of the grid points low, low + step, ..., high.

    Proof: ``QuantileNoise`` with one row per person.

    Args:
        values: A list, an array or a data frame's column.
        bounds: Public (low, high).
        epsilon: The privacy loss; there is no default.
        step: The public grid; by default 1/1000 of the range or finer.

    Examples:
        >>> import pydplib as dp
        >>> dp.median([61, 67, 70] * 300, bounds=(18, 100), epsilon=1.0, step=1).value
        67
    """
    return _quantiles("median", values, (Fraction(1, 2),), bounds, epsilon, step)


def quantiles(
    values: Any,
    quantiles: Iterable[float],
    *,
    bounds: tuple[float, float],
    epsilon: float,
    step: float | None = None,
) -> Release:
    """Return several quantiles, each one of the grid points low, low + step, ..., high; epsilon is for all of them.

    Proof: ``QuantileNoise`` with one row per person.

    Args:
        values: A list, an array or a data frame's column.
        quantiles: Shares strictly between 0 and 1, ascending.
        bounds: Public (low, high).
        epsilon: The privacy loss of all of them together; there is no default.
        step: The public grid; by default 1/1000 of the range or finer.

    Examples:
        >>> import pydplib as dp
        >>> dp.quantiles([61, 67, 70] * 900, [0.25, 0.75], bounds=(18, 100), epsilon=1.0, step=1).value.tolist()
        [61, 70]
    """
    return _quantiles("quantiles", values, check_quantiles(quantiles), bounds, epsilon, step)


def histogram(values: Any, *, edges: Sequence[float], epsilon: float) -> Release:
    """Return how many values lie in each bin [e0, e1), ..., the last one closed, with noise.

    Values beyond the outer edges are in no bin.

    Proof: one person is one element and is in one bin at most, so the L1 sensitivity is 1; ``CountNoise``.

    Args:
        values: A list, an array or a data frame's column.
        edges: Public, ascending.
        epsilon: The privacy loss; there is no default.

    Examples:
        >>> import pydplib as dp
        >>> dp.histogram([61, 67, 70] * 300, edges=[50, 60, 70, 80], epsilon=1.0).value.shape
        (3,)
    """
    limits = check_edges(edges)
    noise = CountNoise(1, 1, len(limits) - 1, check_epsilon(epsilon))
    noisy = noise.apply(bin_counts(as_values(values), np.array(limits, dtype=np.float64)))
    axis = Axis("", tuple(pairwise(limits)), kind="bins")
    scale = float(noise.scale)
    return _release(
        "histogram", {"edges": list(limits)}, noisy, noise.epsilon, scale=scale, sensitivity=1.0, axes=(axis,)
    )


def _quantiles(
    ask: str,
    values: Any,
    shares: tuple[Fraction, ...],
    bounds: tuple[float, float],
    epsilon: float,
    step: float | None,
) -> Release:
    low, high = check_bounds(bounds)
    width = check_step(step, low, high)
    points = math.floor((exact(high) - exact(low)) / width + Fraction(1, 2)) + 1
    noise = QuantileNoise(rows=1, per_row=1, shares=shares, points=points, epsilon=check_epsilon(epsilon))
    at, between = point_counts(as_values(values), grid_points(exact(low), width, points))
    noisy = noise.apply(at, between)
    assert noisy.margins is not None
    # A step that does not divide the range ends beyond it; what comes out never does.
    found = [tidy(min(exact(low) + int(place) * width, exact(high))) for place in noisy.values[0]]
    chosen = Noisy(np.array(found), margins=noisy.margins[0])
    asked: dict[str, Any] = {"bounds": [low, high], "step": tidy(width)}
    axes: tuple[Axis, ...] = ()
    if ask == "quantiles":
        asked["quantiles"] = [float(share) for share in shares]
        axes = (Axis("quantile", tuple(float(share) for share in shares), kind="quantile"),)
    worst = noise.worst
    return _release(
        ask, asked, chosen, noise.epsilon, scale=noise.scale(worst), sensitivity=float(max(worst, 1 - worst)),
        axes=axes, mechanism="permute-and-flip", margin_unit="ranks",
    )  # fmt: skip


def _fixed(
    whole: int, sensitivity: Fraction, loss: Fraction, step: float, origin: float, bounds: tuple[float, float]
) -> Noisy:
    """Return origin + step * (whole + noise), clamped, for a whole number of any size.

    Proof: floor(whole / d) moves by at most ceil(sensitivity / d) when whole moves by the sensitivity; d is a
    public power of two that leaves at least 2^24 steps, and noise of that over epsilon is epsilon-DP.
    """
    divisor = 1 << max(0, int(sensitivity).bit_length() - 24)
    moved = math.ceil(sensitivity / divisor)
    noisy = add_laplace(integers([whole // divisor]), moved / loss, sensitivity=moved)
    value = origin + noisy.astype(np.float64) * (step * divisor)
    margin = (margin_steps(moved / loss) + (1 if divisor > 1 else 0)) * step * divisor
    clamped = [np.clip(end, *bounds) for end in (value, value - margin, value + margin)]
    return Noisy(clamped[0], low=clamped[1], high=clamped[2], margins=farthest(clamped[0], clamped[1], clamped[2]))


def _release(
    ask: str,
    asked: Mapping[str, Any],
    noisy: Noisy,
    epsilon: Fraction,
    *,
    scale: float,
    sensitivity: float,
    axes: tuple[Axis, ...] = (),
    mechanism: str = "discrete Laplace",
    margin_unit: MarginUnit = "value",
    relation: Relation = "add_remove",
) -> Release:
    word = "permute_and_flip" if mechanism == "permute-and-flip" else "laplace"
    cost = Cost.pure(epsilon, mechanism=word, relation=relation)
    return Release(
        question={"ask": ask, "of": "array", **asked},
        values=_row(noisy.values),
        guarantee=PureDP(float(epsilon), relation=relation),
        cost=cost,
        mechanism=mechanism,
        scale=scale,
        sensitivity=float(sensitivity),
        axes=axes,
        low=None if noisy.low is None else _row(noisy.low),
        high=None if noisy.high is None else _row(noisy.high),
        margins=None if noisy.margins is None else _row(noisy.margins),
        simultaneous=noisy.simultaneous if axes else None,
        margin_unit=margin_unit,
        sizes=None if noisy.sizes is None else _row(noisy.sizes),
        noisy=_row(noisy.raw) if axes and noisy.raw is not None else None,
        counted=_counted(ask, asked),
    )


def _counted(ask: str, asked: Mapping[str, Any]) -> str:
    if ask == "count":
        return "each element that is not missing counts once."
    if ask == "histogram":
        return "each element counts once; values beyond the outer edges are in no bin."
    low, high = (show_key(end) for end in asked["bounds"])
    missing = "missing ones count as the middle; " if "size" in asked and ask == "mean" else ""
    dash = " to " if low.startswith("-") else "-"
    return f"each element counts once; {missing}values are clamped to {low}{dash}{high}; {SHIFT}."


def _row(numbers: Any) -> tuple[float, ...]:
    return tuple(np.asarray(numbers).ravel().tolist())


def _check_size(size: int | None, found: int) -> None:
    if size is None:
        return
    if isinstance(size, bool) or not isinstance(size, int | np.integer) or size < 1:
        raise ParameterError("size is the declared public number of elements, or None.")
    if size != found:
        raise ParameterError(f"size declares the number of elements public: {size}. The array has another length.")


def _exponent(width: float, epsilon: Fraction, fine: int, *, squared: bool = False) -> int:
    """Return k: the grid 2^k cuts ``width`` into about 2^fine steps, fewer where the noise is huge anyway."""
    room = 50 + math.floor(math.log2(float(epsilon)))
    return math.frexp(width)[1] - min(fine, room // 2 if squared else room)
