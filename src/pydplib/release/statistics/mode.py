"""Modes: the most frequent value of a column, chosen among its public values."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from pydplib.engine import ExactTable, Measure
from pydplib.engine.plan import WHOLE_LIMIT
from pydplib.noise.tap import flip_and_choose
from pydplib.release.results.axes import Axis
from pydplib.release.statistics.histogram import BIN_PARTS, Binned
from pydplib.release.statistics.noise import COVERAGE, Expected, Integers, MarginUnit, Noise, Noisy
from pydplib.release.statistics.question import group_axes, statistic
from pydplib.schema import OTHER, Schema

if TYPE_CHECKING:
    from pydplib.release.facts import Facts


@dataclass(frozen=True, slots=True)
class ModeNoise(Noise):
    """The most frequent value of each group: permute-and-flip over the public values, with counts as scores.

    Proof: a person who is added adds weight to some counts and takes none away, because a person's weights depend on
    that person's rows alone: the scores are monotone. In each group a choice with unit u then loses at most u times
    the largest move of that group's counts (``noise.tap.flip_and_choose``), half of what scores that move both ways
    lose. One person's weights sum to at most rows * per_row over all values and groups, and so do these largest moves:
    with u = epsilon / (rows per_row) all groups together lose at most epsilon. This holds for one person added or
    removed, which is what sessions protect; where one is exchanged for another, counts move both ways and epsilon
    would double.

    Why permute-and-flip: with the same u, which both may use here, its expected error is never above that of the
    exponential mechanism, and at most that of the largest of noisy counts (McKenna and Sheldon 2020). Its zCDP cost is
    that of any pure mechanism, epsilon^2/2.

    Proof (margin): a value that is g rows behind the best is chosen only if its exponential noise exceeds the best
    one's by u g, with probability exp(-u g)/2. Any of the k - 1 others, at least g behind: at most (k-1)/2 exp(-u g).

    Args:
        rows: Most rows of one person.
        per_row: Integer units of one row.
        values: How many public values there are to choose from.
        epsilon: The privacy loss of all groups together.

    Examples:
        >>> noise = ModeNoise(1, 1, 5, Fraction(1))
        >>> round(noise.margin(), 1), noise.apply(np.array([[9, 0, 90, 8, 7]])).values.tolist()
        (3.7, [2])
    """

    mechanism: ClassVar[str] = "permute-and-flip"
    ledger_word: ClassVar[str] = "permute_and_flip"
    margin_unit: ClassVar[MarginUnit] = "rows"

    rows: int
    per_row: int
    values: int
    epsilon: Fraction

    @property
    def sensitivity(self) -> int:
        """Units that one person moves a count, at most."""
        return self.rows * self.per_row

    @property
    def unit(self) -> Fraction:
        """How much one unit of a count weighs in the choice."""
        return self.epsilon / self.sensitivity

    def reach(self) -> tuple[float, float]:
        """Return the rows by which the odds of a value fall by the factor e, and the most that one person moves."""
        return float(self.rows / self.epsilon), float(self.rows)

    def margin(self, confidence: float = COVERAGE) -> float:
        """Return how many rows the chosen value is behind the most frequent one, at most, with this confidence."""
        miss = float(1 - Fraction(str(confidence)))
        return max(0.0, self.reach()[0] * math.log(max(self.values - 1, 1e-9) / (2 * miss)))

    def apply(self, counts: Integers, *, confidence: float = COVERAGE) -> Noisy:
        """Return the places of the chosen values; ``counts`` has a row per group and a column per value."""
        # Clipping moves two counts no further apart, and none of them the other way.
        scores = np.clip(counts.reshape(-1, self.values), 0, WHOLE_LIMIT - 1).astype(np.int64)
        chosen = [flip_and_choose(row, self.unit, sensitivity=self.sensitivity, monotone=True) for row in scores]
        return Noisy(np.array(chosen, dtype=np.int64), margins=np.full(len(chosen), self.margin(confidence)))


@statistic(
    "mode",
    aliases=("most frequent",),
    title="Most frequent value",
    hint="The value, or the bin, that most records have.",
    example="mode pirads by bph",
    picture="choices",
    about="all",
    is_binned=True,
    parts=BIN_PARTS,
)
@dataclass(frozen=True, repr=False)
class Mode(Binned):
    """The most frequent value of a column: one of its declared values, or of its public bins.

    Values that nobody declared are never chosen. A group without rows gets a value at random.

    Args:
        column: A category, a yes/no column or a short whole number (its values), or a number or date (bins).
        edges: Public edges of the bins; by default about ten round ones within the declared bounds.
        bins: Instead of edges: how many bins of even width to make of the declared bounds.
        by: Groups: a mode for each.
        where: Conditions, all of which must hold.

    Examples:
        >>> Mode("pirads", by="bph")
        Mode('pirads', by=['bph'])
        >>> Mode("age", edges=[20, 40, 60, 80])
        Mode('age', edges=[20, 40, 60, 80])
    """

    def groups(self, schema: Schema) -> dict[str, Any]:
        """Return the groups and, last, the values to choose from."""
        groups = super().groups(schema)
        own = groups[self.column]
        if isinstance(own, tuple) and OTHER not in getattr(schema.column(self.column), "values", ()):
            groups[self.column] = tuple(key for key in own if key != OTHER)
        return groups

    def axes(self, schema: Schema, groups: Mapping[str, Any]) -> tuple[Axis, ...]:
        """Return the groups without the values to choose from."""
        return group_axes(schema, {name: keys for name, keys in groups.items() if name != self.column})

    def choices(self, facts: Facts) -> Axis:
        """Return the values to choose from."""
        return group_axes(facts.schema, {self.column: facts.groups[self.column]})[0]

    def unit(self, facts: Facts) -> str:
        """Return the unit of bins; values have none."""
        return self.choices(facts).unit

    def measures(self, facts: Facts, epsilon: Fraction) -> tuple[Measure, ...]:
        """Return the number of rows with each value, or of their weights."""
        return (Measure("count"),)

    def noise(self, facts: Facts, epsilon: Fraction) -> ModeNoise:
        """Return the choice among all values, in all groups."""
        return ModeNoise(facts.rows, facts.bound.scale, len(self.choices(facts).keys), epsilon)

    def answer(self, facts: Facts, noise: ModeNoise, table: ExactTable, *, confidence: float = COVERAGE) -> Noisy:
        """Return the chosen values."""
        return noise.apply(table[0], confidence=confidence)

    def expect(self, facts: Facts, noise: ModeNoise, each: float | None, *, confidence: float = COVERAGE) -> Expected:
        """Return the margin in rows, which holds for any table."""
        percent = None if each is None else 100 * noise.reach()[0] / each
        return Expected(noise.margin(confidence), "rows", percent)

    def span(self, facts: Facts, noise: ModeNoise, rows: float) -> float:
        """The rows of the group."""
        return rows

    def band_epsilon(self, facts: Facts, target: float, each: float) -> float:
        """Return the epsilon whose scale in rows is ``target`` times an even group."""
        return facts.rows / (target * each)

    def notes(self, facts: Facts, noise: ModeNoise, noisy: Noisy) -> tuple[str, ...]:
        """Return what the margin leaves open."""
        if not facts.axes:
            return ()
        return ("A group without rows gets a value at random: count the groups to know which ones are empty.",)

    def exact(self, facts: Facts, noise: ModeNoise, table: ExactTable) -> NDArray[np.float64]:
        """Return the place of the most frequent value, the first of several; NaN for a group without rows."""
        counts = table[0].reshape(-1, noise.values)
        found = counts.argmax(axis=1).astype(np.float64)
        return np.where(counts.sum(axis=1) > 0, found, np.nan)
