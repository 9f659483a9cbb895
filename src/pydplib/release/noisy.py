"""From exact integers to noisy numbers with intervals: one small class per statistic, each with its proof.

Each class is made of public facts alone (so prices are made from it) and its ``apply`` is the only
place where exact integers go in. ``rows`` is the most rows of one person, ``per_row`` the integer units of
one whole row (2^16 where rows are weighed, 1 elsewhere): together, one person's weights are at most
rows * per_row, whichever cells and groups these rows fall into.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pydplib.engine.exact import integers
from pydplib.noise.tap import add_laplace
from pydplib.release.spread import variance_interval
from pydplib.release.tails import expected_steps, margin_steps, share_interval

Integers = NDArray[Any]
"""Exact integers, of 64 bits or Python's own (``engine.exact.integers``)."""
Floats = NDArray[np.float64]


def combine(*terms: tuple[int, Integers]) -> Integers:
    """Return the sum of factor * integers over all terms, exactly: products of 64-bit integers could wrap.

    Examples:
        >>> combine((2**40, np.array([2**40])), (-1, np.array([1]))).tolist() == [2**80 - 1]
        True
    """
    columns = [[factor * int(number) for number in numbers.ravel()] for factor, numbers in terms]
    return integers(sum(row) for row in zip(*columns, strict=True)).reshape(terms[0][1].shape)


def farthest(values: Floats, low: Floats, high: Floats) -> Floats:
    """Return the margins with which value +- margin covers the interval, however far from its middle the value is.

    Examples:
        >>> farthest(np.array([20.0]), np.array([18.0]), np.array([42.0])).tolist()
        [22.0]
    """
    return np.maximum(values - low, high - values)


@dataclass(frozen=True, slots=True)
class Noisy:
    """What comes out: noisy values, their intervals and margins, in the value's unit."""

    values: NDArray[Any]
    low: NDArray[Any] | None = None
    high: NDArray[Any] | None = None
    margins: NDArray[Any] | None = None
    simultaneous: float | None = None
    sizes: Floats | None = None
    raw: NDArray[Any] | None = None
    doubtful: NDArray[np.bool_] | None = None


@dataclass(frozen=True, slots=True)
class CountNoise:
    """Counts, histograms and tables: exact discrete Laplace noise on every cell.

    Proof: one person's weights sum to at most rows * per_row over all cells, so the L1 sensitivity of all
    cells together is that; ``noise.tap.add_laplace`` with scale sensitivity / epsilon is epsilon-DP. Negative
    counts become 0 afterwards, which is post-processing and moves no value away from the truth.

    Examples:
        >>> CountNoise(rows=1, per_row=1, cells=1, epsilon=Fraction(1)).margin
        3
    """

    rows: int
    per_row: int
    cells: int
    epsilon: Fraction

    @property
    def sensitivity(self) -> int:
        """Steps that one person moves all cells together."""
        return self.rows * self.per_row

    @property
    def scale(self) -> Fraction:
        """Scale of the noise, in steps."""
        return self.sensitivity / self.epsilon

    @property
    def margin(self) -> float:
        """The smallest margin that covers one cell with 95 %."""
        return self._in_rows(margin_steps(self.scale))

    @property
    def simultaneous(self) -> float:
        """The smallest margin that covers all cells at once with 95 %."""
        return self._in_rows(margin_steps(self.scale, cells=self.cells))

    @property
    def expected(self) -> float:
        """The expected noise of one cell, in rows."""
        return expected_steps(self.scale) / self.per_row

    def _in_rows(self, steps: int) -> float:
        return steps if self.per_row == 1 else steps / self.per_row

    def apply(self, exact: Integers) -> Noisy:
        """Return noisy counts."""
        noisy = add_laplace(exact, self.scale, sensitivity=self.sensitivity)
        shown: NDArray[Any] = noisy if self.per_row == 1 else noisy / self.per_row
        margin = self.margin
        values = np.maximum(shown, 0)
        low, high = np.maximum(shown - margin, 0), np.maximum(shown + margin, 0)
        return Noisy(values, low, high, np.full(shown.shape, margin), self.simultaneous, raw=shown)


@dataclass(frozen=True, slots=True)
class SumNoise:
    """Sums of clamped values on a grid.

    Proof: a row adds a whole number of steps of at most ``largest`` in absolute value, weighed; one
    person moves all groups together by at most rows * per_row * largest steps (L1).

    Args:
        rows: Most rows of one person.
        per_row: Integer units of one row.
        largest: The largest absolute value of one row, in steps.
        step: The width of one step, in the value's unit.
        cells: How many groups.
        epsilon: The privacy loss.
    """

    rows: int
    per_row: int
    largest: int
    step: float
    cells: int
    epsilon: Fraction

    @property
    def sensitivity(self) -> int:
        """Steps that one person moves all groups together."""
        return self.rows * self.per_row * self.largest

    @property
    def scale(self) -> Fraction:
        """Scale of the noise, in steps."""
        return self.sensitivity / self.epsilon

    @property
    def margin(self) -> float:
        """The smallest margin that covers one sum with 95 %."""
        return margin_steps(self.scale) / self.per_row * self.step

    @property
    def expected(self) -> float:
        """The expected noise of one sum."""
        return expected_steps(self.scale) / self.per_row * self.step

    def apply(self, exact: Integers) -> Noisy:
        """Return noisy sums."""
        noisy = add_laplace(exact, self.scale, sensitivity=self.sensitivity)
        values = np.asarray(noisy / self.per_row, dtype=np.float64) * self.step
        margin = self.margin
        together = margin_steps(self.scale, cells=self.cells) / self.per_row * self.step
        return Noisy(values, values - margin, values + margin, np.full(values.shape, margin), together)


@dataclass(frozen=True, slots=True)
class MeanNoise:
    """Means: a ratio of two noisy sums that one person can only move together by a fixed amount.

    A row at q steps above the lower bound (of ``top`` steps in all) adds q to ``above`` and top - q to
    ``below``. Their sum is top times the number of rows, and above / (above + below) is where the mean lies
    between the bounds.

    Proof: a row adds q + (top - q) = top steps in L1, whatever q is; so the L1 sensitivity of both sums in
    all groups is exactly rows * per_row * top, and equal noise on both is epsilon-DP. Nothing is
    wasted: this is noise in the shape of what one person can do. In terms of a centred sum and a count, both have
    half the noise of an even split of epsilon. The rest is post-processing; interval: ``tails.share_interval``.

    Args:
        rows: Most rows of one person.
        per_row: Integer units of one row.
        top: The distance between the bounds, in steps.
        low: The lower bound.
        high: The upper bound.
        epsilon: The privacy loss.
    """

    rows: int
    per_row: int
    top: int
    low: float
    high: float
    epsilon: Fraction

    @property
    def sensitivity(self) -> int:
        """Steps that one person moves all sums together."""
        return self.rows * self.per_row * self.top

    @property
    def scale(self) -> Fraction:
        """Scale of the noise, in steps."""
        return self.sensitivity / self.epsilon

    @property
    def unit_scale(self) -> float:
        """Scale of the noise of each sum, in the value's unit."""
        return float(self.rows / self.epsilon) * (self.high - self.low)

    def margin(self, size: float) -> float:
        """Return a margin that a mean of so many rows keeps, wherever it lies: ln(20) scale / size."""
        return min(self.unit_scale * math.log(20) / max(size, 1e-9), self.high - self.low)

    def expected(self, size: float) -> float:
        """Return the expected noise of a mean of so many rows in the middle of its range: 3/4 scale / size."""
        return 0.75 * self.unit_scale / max(size, 1e-9)

    def apply(self, above: Integers, below: Integers) -> Noisy:
        """Return noisy means; both arrays have one entry per group."""
        noisy = add_laplace(np.stack([above, below]), self.scale, sensitivity=self.sensitivity)
        first, second = noisy.astype(np.float64)
        total = first + second
        share = np.where(total > 0, np.clip(first / np.where(total > 0, total, 1.0), 0.0, 1.0), 0.5)
        scale = float(self.scale)
        ends = [share_interval(a, b, scale) for a, b in zip(first.tolist(), second.tolist(), strict=True)]
        low, high = np.array(ends, dtype=np.float64).reshape(-1, 2).T
        width = self.high - self.low
        sizes = np.maximum(total / (self.top * self.per_row), 0.0)
        lower, upper = self.low + low * width, self.low + high * width
        values = np.clip(self.low + share * width, lower, upper)
        return Noisy(values, lower, upper, farthest(values, lower, upper), None, sizes)


SQUARES_SHARE = Fraction(3, 5)
"""The part of epsilon for the squares (and, with them, the number of rows); the rest is for the sum."""


@dataclass(frozen=True, slots=True)
class VarianceNoise:
    """Variances, from the sum of squares, its complement and the sum, about the middle of the bounds.

    Proof: a row with a square of s steps (of ``top`` in all) adds s to ``squares`` and top - s to
    ``rest``: top in L1, whatever s is. Noise of scale rows * per_row * top / (3/5 epsilon) on both
    costs 3/5 epsilon. The sum of distances from the middle moves by at most rows * per_row * half; its
    noise costs 2/5 epsilon. Together epsilon, by sequential composition. squares + rest is top times the
    number of rows; the variance is their ratio minus the squared mean, clamped to [0, R^2/4]: post-processing.
    Interval: ``spread.variance_interval``.

    Args:
        rows: Most rows of one person.
        per_row: Integer units of one row.
        top: The largest square, in steps of squares.
        half: The largest distance from the middle, in steps.
        square_step: The width of one step of squares, in squared units.
        step: The width of one step, in units.
        most: The largest variance there can be: a quarter of the squared range.
        epsilon: The privacy loss.
    """

    rows: int
    per_row: int
    top: int
    half: int
    square_step: float
    step: float
    most: float
    epsilon: Fraction

    @property
    def square_scale(self) -> Fraction:
        """Scale of the noise of the squares, in their steps."""
        return self.rows * self.per_row * self.top / (self.epsilon * SQUARES_SHARE)

    @property
    def sum_scale(self) -> Fraction:
        """Scale of the noise of the sum, in steps."""
        return self.rows * self.per_row * self.half / (self.epsilon * (1 - SQUARES_SHARE))

    def expected(self, size: float) -> float:
        """Return the expected noise of the variance of so many evenly spread rows."""
        # Scales 2/3 and 1/3 of the squares' own: E|X + Y| = (a^2 + ab + b^2)/(a + b) = 7/9.
        return 7 / 9 * self._square_unit(size)

    def margin(self, size: float) -> float:
        """Return the 95 % margin of the variance of so many evenly spread rows."""
        variance = self.most / 3
        _, low, high = self._intervals([(size * self.per_row * variance, 0.0, max(size, 1e-9) * self.per_row)])[0]
        return max(variance - low, high - variance)

    def _square_unit(self, size: float) -> float:
        return float(self.rows / (self.epsilon * SQUARES_SHARE)) * self.most / max(size, 1e-9)

    def apply(self, squares: Integers, rest: Integers, sums: Integers) -> Noisy:
        """Return noisy variances; the arrays have one entry per group."""
        moved = self.rows * self.per_row
        noisy = add_laplace(np.stack([squares, rest]), self.square_scale, sensitivity=moved * self.top)
        noisy_sum = add_laplace(sums, self.sum_scale, sensitivity=moved * self.half)
        first, second = noisy.astype(np.float64)
        size = np.maximum((first + second) / self.top, 0.0)  # in integer units of rows
        total = noisy_sum.astype(np.float64) * self.step
        rows = zip((first * self.square_step).tolist(), total.tolist(), size.tolist(), strict=True)
        variance, low, high = np.array(self._intervals(rows), dtype=np.float64).reshape(-1, 3).T
        return Noisy(variance, low, high, farthest(variance, low, high), None, size / self.per_row)

    def _intervals(self, rows: Iterable[tuple[float, float, float]]) -> list[tuple[float, float, float]]:
        """Return variance, low and high for each noisy sum of squares, sum and number of rows, in the value's unit."""
        square_scale, sum_scale = float(self.square_scale), float(self.sum_scale)
        found = []
        for squares, total, size in rows:
            if size <= 0:
                found.append((self.most / 3, 0.0, self.most))
                continue
            low, high = variance_interval(
                squares,
                total,
                size,
                square_scale=square_scale * self.square_step,
                sum_scale=sum_scale * self.step,
                size_scale=square_scale / self.top,
                most=self.most,
            )
            found.append((min(max(squares / size - (total / size) ** 2, low), high), low, high))
        return found
