"""Sums of a column."""

from __future__ import annotations

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
    expected_steps,
    margin_steps,
)
from pydplib.release.statistics.question import OfColumn, statistic

if TYPE_CHECKING:
    from pydplib.release.facts import Facts


@dataclass(frozen=True, slots=True, kw_only=True)
class SumNoise(Noise):
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

    def reach(self) -> tuple[float, float]:
        """Return scale and sensitivity in the value's unit."""
        return float(self.scale) / self.per_row * self.step, float(self.rows) * self.largest * self.step

    def margin(self, confidence: float = COVERAGE) -> float:
        """Return the smallest margin that covers one sum with this confidence."""
        return margin_steps(self.scale, coverage=confidence) / self.per_row * self.step

    @property
    def expected(self) -> float:
        """The expected noise of one sum."""
        return expected_steps(self.scale) / self.per_row * self.step

    def apply(self, exact: Integers, *, confidence: float = COVERAGE) -> Noisy:
        """Return noisy sums."""
        noisy = add_laplace(exact, self.scale, sensitivity=self.sensitivity)
        values = np.asarray(noisy / self.per_row, dtype=np.float64) * self.step
        margin = self.margin(confidence)
        together = margin_steps(self.scale, cells=self.cells, coverage=confidence) / self.per_row * self.step
        return Noisy(
            values,
            low=values - margin,
            high=values + margin,
            margins=np.full(values.shape, margin),
            simultaneous=together,
        )


@statistic(
    "sum",
    title="Sum",
    hint="All values together.",
    example="sum lesions by year",
    picture="bars",
    about="numbers",
    takes_unknown_keys=True,
)
@dataclass(frozen=True, repr=False)
class Sum(OfColumn):
    """The sum of a column.

    Examples:
        >>> Sum("lesions", by="year")
        Sum('lesions', by=['year'])
    """

    def measures(self, facts: Facts, epsilon: Fraction) -> tuple[Measure, ...]:
        """Return the sum of clamped values, about zero."""
        room = Room.of(facts.schema, facts.bound, epsilon * Fraction(2, 5))
        return (sum_measure(facts.column, self.column, room, facts.bounds, centred=False),)

    def noise(self, facts: Facts, epsilon: Fraction) -> SumNoise:
        """Return the noise of all sums together."""
        (total,) = facts.measures(epsilon)
        assert total.step is not None
        return SumNoise(
            rows=facts.rows,
            per_row=facts.bound.scale,
            largest=total.largest,
            step=total.step,
            cells=facts.cells,
            epsilon=epsilon,
        )

    def answer(self, facts: Facts, noise: SumNoise, table: ExactTable, *, confidence: float = COVERAGE) -> Noisy:
        """Return noisy sums."""
        return noise.apply(table[0], confidence=confidence)

    def expect(self, facts: Facts, noise: SumNoise, each: float | None, *, confidence: float = COVERAGE) -> Expected:
        """Return the margin of a sum, which is exact."""
        percent = None if each is None else 100 * noise.expected / (each * noise.largest * noise.step)
        return Expected(noise.margin(confidence), noise_percent=percent)

    def span(self, facts: Facts, noise: SumNoise, rows: float) -> float:
        """Rows of the largest value."""
        return rows * noise.largest * noise.step

    def band_epsilon(self, facts: Facts, target: float, each: float) -> float:
        """Return D / (target M), M an even group of the largest value."""
        return facts.rows / (target * each)

    def exact(self, facts: Facts, noise: SumNoise, table: ExactTable) -> NDArray[np.float64]:
        """Return the sums."""
        return np.asarray(table[0] / noise.per_row * noise.step, dtype=np.float64)
