"""Means of a column."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from pydplib.engine import ExactTable, Measure
from pydplib.noise.tap import add_laplace
from pydplib.release.grids import Room, sum_measure
from pydplib.release.statistics.noise import (
    COVERAGE,
    Expected,
    Integers,
    Noise,
    Noisy,
    combine,
    farthest,
    share_interval,
)
from pydplib.release.statistics.question import OfColumn, statistic

if TYPE_CHECKING:
    from pydplib.release.facts import Facts


@dataclass(frozen=True, slots=True, kw_only=True)
class MeanNoise(Noise):
    """Means: a ratio of two noisy sums that one person can only move together by a fixed amount.

    A row at q steps above the lower bound (of ``top`` steps in total) adds q to ``above`` and top - q to
    ``below``. Their sum is top times the number of rows, and above / (above + below) is where the mean lies
    between the bounds.

    Proof: a row adds q + (top - q) = top steps in L1, whatever q is; so the L1 sensitivity of both sums in
    all groups is exactly rows * per_row * top, and equal noise on both is epsilon-DP. Nothing is
    wasted: this is noise in the shape of what one person can do. In terms of a centred sum and a count, both have
    half the noise of an even split of epsilon. The rest is post-processing; interval: ``noise.share_interval``.

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

    def reach(self) -> tuple[float, float]:
        """Return scale and sensitivity of each sum, in the value's unit."""
        return self.unit_scale, float(self.rows) * (self.high - self.low)

    def margin(self, size: float, confidence: float = COVERAGE) -> float:
        """Return a margin that a mean of this many rows keeps, wherever it lies: scale ln(1/miss) / size."""
        worst = -math.log(1 - Fraction(str(confidence)))  # ln(20) at 95 %
        return min(self.unit_scale * worst / max(size, 1e-9), self.high - self.low)

    def expected(self, size: float) -> float:
        """Return the expected noise of a mean of this many rows in the middle of its range: 3/4 scale / size."""
        return 0.75 * self.unit_scale / max(size, 1e-9)

    def apply(self, above: Integers, below: Integers, *, confidence: float = COVERAGE) -> Noisy:
        """Return noisy means; both arrays have one entry per group."""
        noisy = add_laplace(np.stack([above, below]), self.scale, sensitivity=self.sensitivity)
        first, second = noisy.astype(np.float64)
        total = first + second
        share = np.where(total > 0, np.clip(first / np.where(total > 0, total, 1.0), 0.0, 1.0), 0.5)
        scale = float(self.scale)
        ends = [
            share_interval(a, b, scale, coverage=confidence)
            for a, b in zip(first.tolist(), second.tolist(), strict=True)
        ]
        low, high = np.array(ends, dtype=np.float64).reshape(-1, 2).T
        width = self.high - self.low
        sizes = np.maximum(total / (self.top * self.per_row), 0.0)
        lower, upper = self.low + low * width, self.low + high * width
        values = np.clip(self.low + share * width, lower, upper)
        return Noisy(
            values, low=lower, high=upper, margins=farthest(values, lower, upper), simultaneous=None, sizes=sizes
        )

    def found_rows(self, noisy: Noisy) -> tuple[float, float]:
        """Return the sum of the noisy sizes and its standard deviation."""
        assert noisy.sizes is not None
        scale = float(self.scale) / (self.per_row * self.top) * math.sqrt(2)
        return float(noisy.sizes.sum()), scale * math.sqrt(2 * max(noisy.sizes.size, 1))


def worth_little(noisy: Noisy, width: float) -> tuple[str, ...]:
    """Return a warning where noise hides answers; judged by noisy numbers and public bounds alone.

    Args:
        noisy: The answers.
        width: All that is possible.
    """
    if noisy.margins is None:
        return ()
    hidden = int(np.count_nonzero(noisy.margins > width / 4))
    if not hidden:
        return ()
    alone, verb = noisy.margins.size == 1, "is" if hidden == 1 else "are"
    which = "This answer" if alone else f"{hidden} of {noisy.margins.size} answers"
    return (
        f"{which} {verb} worth little: too few people for this epsilon. The margin is more than a quarter of all "
        f"that is possible. {'Spend more.' if alone else 'Ask for fewer groups, or spend more.'}",
    )


@statistic(
    "mean",
    aliases=("average",),
    title="Average",
    hint="The mean; of a yes/no field, the share of yes.",
    example="mean age by pirads",
    picture="points",
    about="numbers",
    takes_unknown_keys=True,
    needs_size=True,
)
@dataclass(frozen=True, repr=False)
class Mean(OfColumn):
    """The mean of a column.

    Examples:
        >>> from pydplib import Where
        >>> Mean("age", by="pirads", where=[Where("age").at_least(60)])
        Mean('age', by=['pirads'], where=[Where('age').at_least(60)])
    """

    def measures(self, facts: Facts, epsilon: Fraction) -> tuple[Measure, ...]:
        """Return the sum about the middle of the bounds, and how many values there are."""
        room = Room.of(facts.schema, facts.bound, epsilon * Fraction(2, 5))
        total = sum_measure(facts.column, self.column, room, facts.bounds, centred=True)
        return total, Measure("count", self.column)

    def noise(self, facts: Facts, epsilon: Fraction) -> MeanNoise:
        """Return the noise of both sums of all groups."""
        total = facts.measures(epsilon)[0]
        assert total.step is not None
        first, last = total.whole_bounds
        low, high = total.center + first * total.step, total.center + last * total.step
        return MeanNoise(
            rows=facts.rows, per_row=facts.bound.scale, top=last - first, low=low, high=high, epsilon=epsilon
        )

    def answer(self, facts: Facts, noise: MeanNoise, table: ExactTable, *, confidence: float = COVERAGE) -> Noisy:
        """Return noisy means."""
        first, last = table.plan.measures[0].whole_bounds
        sums, counts = table[0], table[1]
        # A row at q steps adds its weight times q - first above, and times last - q below.
        above, below = combine((1, sums), (-first, counts)), combine((last, counts), (-1, sums))
        return noise.apply(above, below, confidence=confidence)

    def expect(self, facts: Facts, noise: MeanNoise, each: float | None, *, confidence: float = COVERAGE) -> Expected:
        """Return the most that the margin of an even group can be."""
        if each is None:
            return Expected(None)
        percent = 100 * noise.expected(each) / (noise.high - noise.low)
        return Expected(noise.margin(each, confidence), noise_percent=percent)

    def span(self, facts: Facts, noise: MeanNoise, rows: float) -> float:
        """The public range of the column."""
        return noise.high - noise.low

    def band_epsilon(self, facts: Facts, target: float, each: float) -> float:
        """Return 3/4 D / (target M), M the range of an even group."""
        return 0.75 * facts.rows / (target * each)

    def notes(self, facts: Facts, noise: MeanNoise, noisy: Noisy) -> tuple[str, ...]:
        """Return a warning where noise hides a mean."""
        return worth_little(noisy, noise.high - noise.low)

    def exact(self, facts: Facts, noise: MeanNoise, table: ExactTable) -> NDArray[np.float64]:
        """Return the means."""
        total = table.plan.measures[0]
        found: NDArray[np.float64] = total.center + table[0].astype(np.float64) / table[1] * total.step
        return found
