"""Variances of a column, and the interval of a variance of which sums are known with noise."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from pydplib.engine import ExactTable, Measure
from pydplib.noise.tap import add_laplace
from pydplib.release.grids import Room, column_unit, square_measure, sum_measure
from pydplib.release.statistics.mean import worth_little
from pydplib.release.statistics.noise import (
    COVERAGE,
    Expected,
    Integers,
    Noise,
    Noisy,
    combine,
    farthest,
    find_end,
    triple_tail,
)
from pydplib.release.statistics.question import OfColumn, statistic

if TYPE_CHECKING:
    from pydplib.release.facts import Facts

_KEPT = 0.994
"""The part of what may be left outside that the test of one variance leaves; the whole then covers as it says."""

SQUARES_SHARE = Fraction(3, 5)
"""The part of epsilon for the squares (and, with them, the number of rows); the rest is for the sum."""


@dataclass(frozen=True, slots=True, kw_only=True)
class VarianceNoise(Noise):
    """Variances, from the sum of squares, its complement and the sum, about the middle of the bounds.

    Proof: a row with a square of s steps (of ``top`` in total) adds s to ``squares`` and top - s to
    ``rest``: top in L1, whatever s is. Noise of scale rows * per_row * top / (3/5 epsilon) on both
    costs 3/5 epsilon. The sum of distances from the middle moves by at most rows * per_row * half; its
    noise costs 2/5 epsilon. Together epsilon, by sequential composition. squares + rest is top times the
    number of rows; the variance is their ratio minus the squared mean, clamped to [0, R^2/4]: post-processing.
    Interval: ``variance_interval``.

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

    def reach(self) -> tuple[float, float]:
        """Return scale and sensitivity of the squares, in squared units."""
        scale = float(self.square_scale) / self.per_row * self.square_step
        return scale, float(self.rows) * self.top * self.square_step

    def expected(self, size: float) -> float:
        """Return the expected noise of the variance of this many evenly spread rows."""
        # Scales 2/3 and 1/3 of the squares' own: E|X + Y| = (a^2 + ab + b^2)/(a + b) = 7/9.
        return 7 / 9 * self._square_unit(size)

    def margin(self, size: float, confidence: float = COVERAGE) -> float:
        """Return the margin of the variance of this many evenly spread rows."""
        variance = self.most / 3
        rows = [(size * self.per_row * variance, 0.0, max(size, 1e-9) * self.per_row)]
        _, low, high = self._intervals(rows, confidence)[0]
        return max(variance - low, high - variance)

    def _square_unit(self, size: float) -> float:
        return float(self.rows / (self.epsilon * SQUARES_SHARE)) * self.most / max(size, 1e-9)

    def apply(self, squares: Integers, rest: Integers, sums: Integers, *, confidence: float = COVERAGE) -> Noisy:
        """Return noisy variances; the arrays have one entry per group."""
        moved = self.rows * self.per_row
        noisy = add_laplace(np.stack([squares, rest]), self.square_scale, sensitivity=moved * self.top)
        noisy_sum = add_laplace(sums, self.sum_scale, sensitivity=moved * self.half)
        first, second = noisy.astype(np.float64)
        size = np.maximum((first + second) / self.top, 0.0)  # in integer units of rows
        total = noisy_sum.astype(np.float64) * self.step
        rows = zip((first * self.square_step).tolist(), total.tolist(), size.tolist(), strict=True)
        variance, low, high = np.array(self._intervals(rows, confidence), dtype=np.float64).reshape(-1, 3).T
        return Noisy(
            variance,
            low=low,
            high=high,
            margins=farthest(variance, low, high),
            simultaneous=None,
            sizes=size / self.per_row,
        )

    def _intervals(
        self, rows: Iterable[tuple[float, float, float]], confidence: float
    ) -> list[tuple[float, float, float]]:
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
                confidence=confidence,
            )
            found.append((min(max(squares / size - (total / size) ** 2, low), high), low, high))
        return found

    def found_rows(self, noisy: Noisy) -> tuple[float, float]:
        """Return the sum of the noisy sizes and its standard deviation."""
        assert noisy.sizes is not None
        scale = float(self.square_scale) / (self.per_row * self.top) * math.sqrt(2)
        return float(noisy.sizes.sum()), scale * math.sqrt(2 * max(noisy.sizes.size, 1))


def variance_interval(
    squares: float,
    total: float,
    size: float,
    *,
    square_scale: float,
    sum_scale: float,
    size_scale: float,
    most: float,
    confidence: float = COVERAGE,
) -> tuple[float, float]:
    """Return the interval of a variance of which sum of squares, sum and number are known with Laplace noise.

    All about the middle of the bounds; where the squares are Z1 off, the number is (Z1 + Z2)/q off, q the largest
    square.

    Proof: at the true variance v and mean m the number s - 2 m t + (m^2 - v) n is zero, because
    sum (x - m)^2 = n v. Of the noisy s', t', n' it is A = (1 + (m^2 - v)/q) Z1 + (m^2 - v)/q Z2 - 2 m Z3, pure noise
    with the law of ``triple_tail``: were the mean known, the variances that are not ruled out at 5 % would cover with
    exactly 95 %. It is not; t' - m n' is B = Z3 - m (Z1 + Z2)/q, pure noise again. So for each v the mean is taken
    as (t' - b)/n' with b the best linear guess of B from A. What is left of B moves A by its square over n': on average
    by its variance r over n', which is put right; about that it strays by some sqrt(2) r/n', by which the noise
    is widened.

    Coverage: everything is in proportion to one row, so it depends on three numbers alone: N = n epsilon / rows per
    person, v/q and m^2/q. Computed over all of them it is never below 95 %, and at most 95.2 % from N = 100 on,
    96 % at N = 50 and 97.5 % at N = 20. It is higher only where clamping to the public limits 0 and R^2/4 is in play:
    97.5 % where the variance is one of them (noise can then lead astray on one side only), and up to 99 % at N = 10 and
    99.5 % at N = 5, where the noise is as large as all that is possible.

    Args:
        squares: s', the noisy sum of squared distances from the middle.
        total: t', the noisy sum of distances.
        size: n', the noisy number, positive.
        square_scale: The scale of the noise of the squares, in squared units.
        sum_scale: The scale of the noise of the sum.
        size_scale: The scale of Z1/q and Z2/q, in rows.
        most: The largest variance.
        confidence: How often it covers.

    Examples:
        >>> low, high = variance_interval(1e6, 0.0, 1e4, square_scale=400.0, sum_scale=50.0, size_scale=1.0, most=400.0)
        >>> 99.8 < low < 100 < high < 100.2
        True
    """
    largest = square_scale / size_scale
    half = math.sqrt(largest)
    squares, total, most = squares / largest, total / half, most / largest  # from here on, q is 1
    scale, sum_scale = size_scale, sum_scale / half
    centre = total / size

    def weigh(mean: float, variance: float) -> tuple[float, float, float, float]:
        """Return A, half its variance, half its covariance with B, and the factor of Z2 in it."""
        part = mean * mean - variance
        off = squares - 2 * mean * total + part * size
        spread = ((1 + part) ** 2 + part * part) * scale * scale + (2 * mean * sum_scale) ** 2
        shared = -mean * (2 * sum_scale * sum_scale + (1 + 2 * part) * scale * scale)
        return off, spread, shared, part

    def chance(variance: float) -> float:
        """Return how likely the noise is to stray at least as far as it would have, were this the variance."""
        limit = math.sqrt(max(1 - variance, 0.0))
        mean = min(max(centre, -limit), limit)
        off, spread, shared, _ = weigh(mean, variance)
        mean = min(max((total - shared / spread * off) / size, -limit), limit)
        off, spread, shared, part = weigh(mean, variance)
        rest = 2 * (sum_scale * sum_scale + 2 * (mean * scale) ** 2 - shared * shared / spread) / size
        wider = math.sqrt(1 + rest * rest / spread)
        scales = abs(1 + part) * scale, abs(part) * scale, abs(2 * mean) * sum_scale
        return triple_tail(abs(off + rest) / wider, scales)

    inside = min(max(squares / size - centre**2 + 2 * (sum_scale / size) ** 2, 0.0), most)
    miss = _KEPT * (1 - confidence)
    if chance(inside) < miss:  # the noise hid everything
        return 0.0, most * largest
    reach = 3 * math.hypot(scale, 2 * centre * sum_scale) / size
    low = find_end(chance, inside, 0.0, near=inside - reach, miss=miss)
    high = find_end(chance, inside, most, near=inside + reach, miss=miss)
    return low * largest, high * largest


@statistic(
    "variance",
    title="Variance",
    hint="The square of the standard deviation: how far values lie from their average.",
    example="variance age",
    picture="points",
    about="numbers",
    takes_unknown_keys=True,
    needs_size=True,
)
@dataclass(frozen=True, repr=False)
class Variance(OfColumn):
    """The variance of a column about its own mean (divided by the number of rows).

    Examples:
        >>> Variance("age")
        Variance('age')
    """

    def unit(self, facts: Facts) -> str:
        """Return the square of the column's unit."""
        unit = column_unit(facts.column)
        if not unit:
            return ""
        return f"{unit}^2" if unit.isalnum() else f"({unit})^2"

    def measures(self, facts: Facts, epsilon: Fraction) -> tuple[Measure, ...]:
        """Return squares and sum about the middle of the bounds, and how many values there are."""
        room = Room.of(facts.schema, facts.bound, epsilon * Fraction(2, 5))
        total = sum_measure(facts.column, self.column, room, facts.bounds, centred=True)
        squares = square_measure(facts.column, self.column, room, facts.bounds, center=total.center)
        return squares, total, Measure("count", self.column)

    def noise(self, facts: Facts, epsilon: Fraction) -> VarianceNoise:
        """Return the noise of squares and sums of all groups."""
        squares, total, _ = facts.measures(epsilon)
        assert squares.step is not None and total.step is not None
        first, last = total.whole_bounds
        low, high = facts.bounds
        top, half, most = squares.whole_bounds[1], max(-first, last), (high - low) ** 2 / 4
        return VarianceNoise(
            rows=facts.rows,
            per_row=facts.bound.scale,
            top=top,
            half=half,
            square_step=squares.step,
            step=total.step,
            most=most,
            epsilon=epsilon,
        )

    def answer(self, facts: Facts, noise: VarianceNoise, table: ExactTable, *, confidence: float = COVERAGE) -> Noisy:
        """Return noisy variances."""
        squares, sums, counts = table[0], table[1], table[2]
        rest = combine((noise.top, counts), (-1, squares))
        return noise.apply(squares, rest, sums, confidence=confidence)

    def expect(
        self, facts: Facts, noise: VarianceNoise, each: float | None, *, confidence: float = COVERAGE
    ) -> Expected:
        """Return the margin of an even group of evenly spread values."""
        if each is None:
            return Expected(None)
        return Expected(noise.margin(each, confidence), noise_percent=100 * noise.expected(each) / (noise.most / 3))

    def span(self, facts: Facts, noise: VarianceNoise, rows: float) -> float:
        """The largest variance within the bounds."""
        return noise.most

    def band_epsilon(self, facts: Facts, target: float, each: float) -> float:
        """Return 7/9 D / (share target M), M the variance of evenly spread values (R^2/12)."""
        return 7 / 9 * 3 * facts.rows / (float(SQUARES_SHARE) * target * each)

    def notes(self, facts: Facts, noise: VarianceNoise, noisy: Noisy) -> tuple[str, ...]:
        """Return a warning where noise hides a variance."""
        return worth_little(noisy, noise.most)

    def exact(self, facts: Facts, noise: VarianceNoise, table: ExactTable) -> NDArray[np.float64]:
        """Return the variances."""
        squares, sums, counts = table[0].astype(np.float64), table[1].astype(np.float64), table[2]
        mean = sums / counts * noise.step
        return np.asarray(squares / counts * noise.square_step - mean**2, dtype=np.float64)
