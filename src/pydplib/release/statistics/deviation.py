"""Standard deviations of a column: the square root of a noisy variance."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from pydplib.engine import ExactTable
from pydplib.release.grids import column_unit
from pydplib.release.statistics.mean import worth_little
from pydplib.release.statistics.noise import COVERAGE, Expected, Integers, Noisy, farthest
from pydplib.release.statistics.question import statistic
from pydplib.release.statistics.variance import Variance, VarianceNoise

if TYPE_CHECKING:
    from pydplib.release.facts import Facts


@dataclass(frozen=True, slots=True, kw_only=True)
class DeviationNoise(VarianceNoise):
    """Standard deviations, from noisy variances.

    Proof (privacy): the square root of what ``VarianceNoise`` releases is post-processing.
    Proof (coverage): the root rises with the variance, so it lies between the roots of an interval's ends exactly when
    the variance lies in the interval: the same confidence.

    Examples:
        >>> noise = DeviationNoise(rows=1, per_row=1, top=100, half=10, square_step=1.0, step=1.0, most=100.0,
        ...     epsilon=Fraction(1))
        >>> noise.apply(np.array([25_000_000]), np.array([75_000_000]), np.array([0])).values.round(2).tolist()
        [5.0]
    """

    def reach(self) -> tuple[float, float]:
        """Return the roots of the squares' scale and sensitivity: in the value's unit."""
        scale, moved = VarianceNoise.reach(self)
        return math.sqrt(scale), math.sqrt(moved)

    def expected(self, size: float) -> float:
        """Return the expected noise of the deviation of this many evenly spread rows: half of the variance's, over it.

        sqrt(v + z) is about sqrt(v) + z / (2 sqrt(v)).
        """
        return VarianceNoise.expected(self, size) / (2 * math.sqrt(self.most / 3))

    def margin(self, size: float, confidence: float = COVERAGE) -> float:
        """Return the most that the margin of a deviation of this many rows can be.

        |sqrt(a) - sqrt(b)| is at most sqrt(|a - b|), and that much where values hardly differ.
        """
        return min(math.sqrt(VarianceNoise.margin(self, size, confidence)), math.sqrt(self.most))

    def apply(self, squares: Integers, rest: Integers, sums: Integers, *, confidence: float = COVERAGE) -> Noisy:
        """Return noisy deviations; the arrays have one entry per group."""
        noisy = VarianceNoise.apply(self, squares, rest, sums, confidence=confidence)
        assert noisy.low is not None and noisy.high is not None
        values, low, high = np.sqrt(noisy.values), np.sqrt(noisy.low), np.sqrt(noisy.high)
        return replace(noisy, values=values, low=low, high=high, margins=farthest(values, low, high))


@statistic(
    "deviation",
    aliases=("sd", "std", "standard deviation"),
    noun="standard deviation",
    title="Standard deviation",
    hint="How far values lie from their average, in their own unit.",
    example="standard deviation age by pirads",
    picture="points",
    about="numbers",
    takes_unknown_keys=True,
    needs_size=True,
)
@dataclass(frozen=True, repr=False)
class StandardDeviation(Variance):
    """The standard deviation of a column about its own mean (the root of the variance, divided by the number of rows).

    Examples:
        >>> StandardDeviation("age", by="pirads")
        StandardDeviation('age', by=['pirads'])
    """

    def unit(self, facts: Facts) -> str:
        """Return the column's unit."""
        return column_unit(facts.column)

    def noise(self, facts: Facts, epsilon: Fraction) -> DeviationNoise:
        """Return the noise of squares and sums of all groups."""
        made = super().noise(facts, epsilon)
        return DeviationNoise(**{name: getattr(made, name) for name in VarianceNoise.__dataclass_fields__})

    def expect(
        self, facts: Facts, noise: VarianceNoise, each: float | None, *, confidence: float = COVERAGE
    ) -> Expected:
        """Return the most that the margin of an even group can be."""
        if each is None:
            return Expected(None)
        percent = 100 * noise.expected(each) / math.sqrt(noise.most / 3)
        return Expected(noise.margin(each, confidence), noise_percent=percent)

    def span(self, facts: Facts, noise: VarianceNoise, rows: float) -> float:
        """The largest deviation within the bounds."""
        return math.sqrt(noise.most)

    def band_epsilon(self, facts: Facts, target: float, each: float) -> float:
        """Return half of the variance's: a root moves by half of the percentage."""
        return super().band_epsilon(facts, target, each) / 2

    def notes(self, facts: Facts, noise: VarianceNoise, noisy: Noisy) -> tuple[str, ...]:
        """Return a warning where noise hides a deviation."""
        return worth_little(noisy, math.sqrt(noise.most))

    def exact(self, facts: Facts, noise: VarianceNoise, table: ExactTable) -> NDArray[np.float64]:
        """Return the deviations."""
        found: NDArray[np.float64] = np.sqrt(np.maximum(super().exact(facts, noise, table), 0.0))
        return found
