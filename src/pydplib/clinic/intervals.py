"""What every estimate of noisy counts shares: quantiles, score intervals that know the noise, repeated sampling, Holm.

A *noisy count* is a number of persons, each in exactly one cell, plus noise of a known variance. Functions take arrays
whose last axes are the cells; leading axes are independent tables, so that thousands are computed at once. Everything
here is post-processing of noisy counts and public facts: it costs no privacy.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from statistics import NormalDist
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from pydplib.errors import ParameterError

Floats: TypeAlias = NDArray[np.float64]

REPLICATES = 999
"""How often a test repeats sampling and noise: the smallest p-value is 1 in a thousand."""

_PART = 111  # replicates at a time, each part with random numbers of its own

_STEP = 1e-12
_MANY = 10_000.0


@dataclass(frozen=True)
class Estimate:
    """An estimate, its interval for the population (sampling and noise), and the interval of the noise alone.

    Ends may be infinite: the noise can hide a number altogether. ``low`` and ``high`` are NaN where no interval for the
    population can be had.
    """

    value: Floats
    low: Floats
    high: Floats
    noise_low: Floats
    noise_high: Floats


def normal_quantile(confidence: float) -> float:
    """Return how many standard deviations a two-sided normal interval reaches.

    Examples:
        >>> round(normal_quantile(0.95), 3)
        1.96
    """
    return NormalDist().inv_cdf((1 + confidence) / 2)


def noise_quantile(confidence: float, variance: float) -> float:
    """Return how many standard deviations an interval of the noise alone reaches: those of a single Laplace variable.

    Sums of several have lighter tails, down to the normal ones: the interval covers at least as often. Integer noise
    moves by whole steps, for which a quarter of a step is added.

    Examples:
        >>> round(noise_quantile(0.95, 200.0), 3), round(noise_quantile(0.95, 0.2), 3)
        (2.136, 2.677)
    """
    laplace = max(normal_quantile(confidence), -math.log(1 - confidence) / math.sqrt(2))
    return laplace + (min(0.25 / math.sqrt(variance), 1.0) if variance > 0 else 0.0)


def laplace_variance(scale: float) -> float:
    """Return the variance of discrete Laplace noise of this scale, in steps: 2a / (1 - a)^2, a = exp(-1/scale).

    Examples:
        >>> round(laplace_variance(1.0), 3), laplace_variance(0.001)
        (1.841, 0.0)
    """
    if scale <= 0:
        return 0.0
    left = math.exp(-1 / scale) if 1 / scale < 700 else 0.0
    return 2 * left / (1 - left) ** 2


def positive(cells: Floats) -> Floats:
    """Return cells of a table of ratios: cut at 0, and half a person more in each where one of a table is empty.

    Examples:
        >>> positive(np.array([10.0, 5.0])).tolist(), positive(np.array([10.0, -3.0])).tolist()
        ([10.0, 5.0], [10.5, 0.5])
    """
    cut = np.maximum(cells, 0.0)
    empty = (cut <= 0).any(axis=tuple(range(-1, -1 - min(cut.ndim, 2), -1)), keepdims=True)
    return np.where(empty, cut + 0.5, cut)


def share_ends(
    yes: Floats, no: Floats, yes_variance: float | Floats, no_variance: float | Floats, reach: float, *, sampled: bool
) -> tuple[Floats, Floats]:
    """Return the interval of a share p = yes / (yes + no) of noisy counts.

    Proof: (1 - p) yes - p no has mean 0 at the true p, and variance n p (1 - p) from sampling plus
    (1 - p)^2 v + p^2 w from the noise. The set of all p at which it lies within ``reach`` standard deviations is
    bounded by the roots of a quadratic (Wilson's interval where there is no noise). Where the noise hides the size, it
    is everything from 0 to 1.

    Args:
        yes: Noisy numbers with the property.
        no: Noisy numbers without it.
        yes_variance: The noise variance of ``yes``.
        no_variance: The noise variance of ``no``.
        reach: Standard deviations.
        sampled: Whether persons are a sample of a population; otherwise only the noise counts.
    """
    total = yes + no
    size = np.maximum(total, 0.0) if sampled else np.zeros_like(np.asarray(total, dtype=float))
    square = reach**2
    a = total**2 + square * (size - yes_variance - no_variance)
    b = -2 * yes * total - square * (size - 2 * np.asarray(yes_variance))
    c = yes**2 - square * np.asarray(yes_variance)
    inside = b**2 - 4 * a * c
    known = (a > 0) & (total > 0) & (inside >= 0)
    root = np.sqrt(np.where(known, inside, 0.0))
    below = np.where(known, 2 * a, 1.0)
    low = np.where(known, (-b - root) / below, 0.0)
    high = np.where(known, (-b + root) / below, 1.0)
    return np.clip(low, 0.0, 1.0), np.clip(high, 0.0, 1.0)


def share(
    yes: Floats,
    no: Floats,
    variance: float | Floats = 0.0,
    other_variance: float | Floats | None = None,
    *,
    confidence: float = 0.95,
) -> Estimate:
    """Return a share of noisy counts with both intervals.

    Examples:
        >>> found = share(np.array(60.0), np.array(140.0), 2.0)
        >>> round(float(found.value), 2), round(float(found.low), 3), round(float(found.high), 3)
        (0.3, 0.24, 0.368)
    """
    other = variance if other_variance is None else other_variance
    reach = normal_quantile(confidence)
    noises = [float(part) for side in (variance, other) for part in np.ravel(side) if part > 0]
    finest = noise_quantile(confidence, min(noises, default=0.0))
    cut, rest = np.maximum(yes, 0.0), np.maximum(no, 0.0)
    value = np.where(cut + rest > 0, cut / np.where(cut + rest > 0, cut + rest, 1.0), 0.5)
    low, high = share_ends(yes, no, variance, other, reach, sampled=True)
    inner, outer = share_ends(yes, no, variance, other, finest, sampled=False)
    return Estimate(value, *around(value, low, high), *around(value, inner, outer))


def around(value: Floats, low: Floats, high: Floats) -> tuple[Floats, Floats]:
    """Return an interval that holds the value that is shown."""
    return np.minimum(low, value), np.maximum(high, value)


def difference_ends(
    first: Floats, second: Floats, ends: tuple[Floats, Floats], other_ends: tuple[Floats, Floats]
) -> tuple[Floats, Floats]:
    """Return the interval of first - second from the two intervals, by squares of their distances.

    Proof: near each end, the distance of an estimate from its own interval's end stands for the standard deviation
    there (the method of variance estimates recovery); independent ones add their squares.
    """
    gap = first - second
    low = gap - np.hypot(first - ends[0], other_ends[1] - second)
    high = gap + np.hypot(ends[1] - first, second - other_ends[0])
    return low, high


def uniforms(key: object, count: int) -> Floats:
    """Return ``count`` numbers between 0 and 1 that follow from a public key alone.

    Tests repeat sampling and noise with them. They touch no private number: the key is made of noisy counts, so that
    whoever holds a release computes the same p-value again. They are not the noise of any release.

    Examples:
        >>> uniforms("a", 2).tolist() == uniforms("a", 2).tolist()
        True
    """
    stream = hashlib.shake_256(repr(key).encode()).digest(8 * count)
    words = np.frombuffer(stream, dtype=np.uint64) >> np.uint64(11)
    return (words.astype(np.float64) + 0.5) * 2.0**-53


@dataclass(frozen=True)
class PoissonCells:
    """The laws of Poisson counts, one per cell, ready to be drawn from by inversion.

    Attributes:
        means: The mean of every cell.
        starts: The smallest number that a cell's law holds.
        steps: Of all cells in one row that rises: the cell's place, plus the chance of each number or a smaller one.
    """

    means: Floats
    starts: Floats
    steps: Floats

    @classmethod
    def of(cls, means: Floats) -> PoissonCells:
        """Return the laws of cells with these means; cut where they hold all but 1e-12."""
        flat = np.maximum(means, 0.0).ravel()
        small = np.minimum(flat, _MANY)
        reach = 10 * np.sqrt(small) + 12
        starts = np.maximum(np.floor(small - reach), 0.0)
        width = int(np.ceil(small + reach - starts).max()) + 1
        numbers = starts[:, None] + np.arange(width, dtype=np.float64)
        logs = numbers * np.log(np.maximum(small, 1e-300))[:, None] - small[:, None]
        below = np.cumsum(np.exp(logs - _log_factorials(numbers.astype(np.int64))), axis=1)
        return cls(flat, starts, (below / below[:, -1:] + np.arange(flat.size)[:, None]).ravel())

    def draw(self, chances: Floats) -> Floats:
        """Return one count per chance; ``chances`` has one more leading axis than the cells: the replicates."""
        picked = chances.reshape(chances.shape[0], -1)
        places = np.arange(self.means.size)
        width = self.steps.size // self.means.size
        found: Floats = np.searchsorted(self.steps, picked + places) - places * width + self.starts
        for place in np.flatnonzero(self.means > _MANY).tolist():  # hardly distinguishable from the normal law
            mean = float(self.means[place])
            found[:, place] = np.maximum(np.round(mean + math.sqrt(mean) * normal_draws(picked[:, place])), 0.0)
        return found.reshape(chances.shape)


@lru_cache(maxsize=1)
def _normal_table() -> tuple[Floats, Floats]:
    points = np.linspace(-8.5, 8.5, 6801)
    return np.array([math.erfc(-point / math.sqrt(2)) / 2 for point in points.tolist()]), points


def normal_draws(chances: Floats) -> Floats:
    """Return standard normal numbers by inversion of uniform ones.

    Examples:
        >>> normal_draws(np.array([0.5, 0.975])).round(3).tolist()
        [0.0, 1.96]
    """
    below, points = _normal_table()
    found: Floats = np.interp(chances, below, points)
    return found


@lru_cache(maxsize=1)
def _factorials(most: int) -> Floats:
    return np.concatenate([[0.0], np.cumsum(np.log(np.arange(1.0, most + 1)))])


def _log_factorials(numbers: NDArray[np.int64]) -> Floats:
    found: Floats = _factorials(1 << max(int(numbers.max()), 4096).bit_length())[numbers]
    return found


def laplace_draws(scale: float, chances: Floats) -> Floats:
    """Return discrete Laplace noise by inversion of uniform numbers."""
    if scale <= 0 or 1 / scale > 700:
        return np.zeros_like(chances)
    rate = math.exp(-1 / scale)
    # P(Z <= -m) = a^m / (1 + a) for m >= 0, and the other side by symmetry.
    side = np.minimum(chances, 1 - chances)
    inner = np.log(np.maximum(side * (1 + rate), _STEP * _STEP)) / math.log(rate)
    size = np.maximum(np.floor(inner), 0.0)
    size = np.where(side * (1 + rate) > rate, 0.0, size)
    return np.where(chances < 0.5, -size, size)


def bootstrap_p(
    observed: float,
    means: Floats,
    scale: float,
    statistic: Callable[[Floats], Floats],
    *,
    key: object,
    replicates: int = REPLICATES,
    level: float = 1.0,
) -> float:
    """Return (1 + hits) / (B + 1): how often tables without an effect are as extreme as the one that was measured.

    Each replicate repeats everything that was done to the real table: persons are sampled again (Poisson, since the
    number of persons is not public), the same integer noise is added, and the same estimate is made of it.

    Args:
        observed: The statistic of the measured table.
        means: Expected persons per cell where there is no effect.
        scale: The scale of the discrete Laplace noise, in persons.
        statistic: Noisy tables, with one more leading axis -> their statistics.
        key: Public facts and noisy counts that the repetition follows from.
        replicates: B.
        level: Where only "p is above this level" matters: the repetition stops as soon as that is certain, and some
            number above the level is returned.
    """
    if replicates < REPLICATES:
        raise ParameterError(f"A test repeats the table at least {REPLICATES} times.")
    cells, hits = PoissonCells.of(means), 0
    for start in range(0, replicates, _PART):
        shape = (min(_PART, replicates - start), *means.shape)
        chances = uniforms(("bootstrap", key, shape, start), 2 * int(np.prod(shape))).reshape(2, *shape)
        found = statistic(cells.draw(chances[0]) + laplace_draws(scale, chances[1]))
        hits += int(np.count_nonzero(found >= observed - 1e-9 * abs(observed)))
        if (1 + hits) / (replicates + 1) > level:
            break
    return float((1 + hits) / (replicates + 1))


def holm(values: Sequence[float]) -> list[float]:
    """Return p-values corrected by Holm's method: all tests of one purchase, whether shown or not.

    The smallest is multiplied by the number of tests, the next by one fewer, and none falls below one before it. The
    chance that any true "no effect" is called one stays below the level, however the tests depend on each other.

    Examples:
        >>> holm([0.01, 0.04, 0.03])
        [0.03, 0.06, 0.06]
    """
    order = sorted(range(len(values)), key=lambda place: values[place])
    found, before = [0.0] * len(values), 0.0
    for rank, place in enumerate(order):
        before = max(before, min(1.0, round(values[place] * (len(values) - rank), 15)))
        found[place] = before
    return found


def plain(number: Any) -> float | None:
    """Return a number for JSON: None where it is infinite or unknown."""
    value = float(number)
    return value if math.isfinite(value) else None
