"""Quantiles of a column: chosen by permute-and-flip on a public grid, or read off one noisy table of counts."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any, ClassVar, TypeAlias

import numpy as np
from numpy.typing import NDArray

from pydplib.budget.units import exact
from pydplib.engine import Bins, ExactTable, Measure, RowCondition
from pydplib.engine.plan import WHOLE_LIMIT
from pydplib.noise.tap import add_laplace, flip_and_choose
from pydplib.release.grids import cells_measure
from pydplib.release.group_quantiles import Reaches, noise_reach, read_quantiles, two_sided
from pydplib.release.public import MOST_DENOMINATOR, check_quantiles, tidy
from pydplib.release.results.axes import Axis
from pydplib.release.statistics.histogram import Histogram
from pydplib.release.statistics.noise import COVERAGE, Expected, MarginUnit, Noise, Noisy, farthest
from pydplib.release.statistics.question import OfColumn, Part, Question, statistic

if TYPE_CHECKING:
    from pydplib.release.facts import Facts

BOX = (0.05, 0.25, 0.5, 0.75, 0.95)
"""The five numbers of a box: nine tenths of the records lie between the whiskers."""

_BESIDE = 8
"""Rows in the gap next to a point count one part of this many less against it than rows further away.

Else all points beyond a heap of values that lies between two points would be as good as the two. More than an eighth
would blur which of two points is nearer where values lie densely.
"""

_PLANNED = 100
"""The rows of a group that bins are planned for, where the declared size does not ask for finer ones."""

_WHOLE = 200
"""The rows that bins are planned for where there are no groups and no size is declared."""


@dataclass(frozen=True, slots=True, kw_only=True)
class QuantileNoise(Noise):
    """Quantiles of a column: for each, permute-and-flip picks a point of the public grid.

    Never worse than the exponential mechanism, and up to twice as accurate (McKenna and Sheldon 2020).

    The score of a point c for the share q is how many rows lie between c and being a q-quantile, negative:
    -max(0, #(below c) - q n, #(above c) - (1-q) n), in whole numbers. Without ties at c this is
    -|(1-q) #(below c) - q #(above c)|; with ties, only the true quantile has the best score of 0. Where values need not
    lie on the grid, rows between c and the next point count 7/8, so that points next to a heap beat those beyond it.

    Proof: one row of weight w moves #(below c) - q n and #(above c) - (1-q) n by at most w max(q, 1-q) each (a row that
    counts 7/8 by less), and so their maximum. In every group the mechanism with
    unit u loses at most 2 u times the largest move of that group's scores (``noise.tap.flip_and_choose``), and one
    person's weights sum to at most rows * per_row over all groups; so all groups together lose at
    most 2 u rows per_row max(q, 1-q) = epsilon / k for each of the k shares, epsilon in total. Sorting a
    group's quantiles afterwards is post-processing.

    Args:
        rows: Most rows of one person.
        per_row: Integer units of one row.
        shares: The quantiles.
        points: How many points the public grid has.
        epsilon: The privacy loss of all of them together.
    """

    mechanism: ClassVar[str] = "permute-and-flip"
    # Pure: its privacy loss is not known to be narrow enough for a smaller rho than epsilon^2/2.
    ledger_word: ClassVar[str] = "permute_and_flip"
    margin_unit: ClassVar[MarginUnit] = "ranks"

    rows: int
    per_row: int
    shares: tuple[Fraction, ...]
    points: int
    epsilon: Fraction

    def sensitivity(self, share: Fraction) -> int:
        """How far one person moves a score, in whole units (scores are multiplied by the share's denominator)."""
        return max(share.numerator, share.denominator - share.numerator) * self.rows * self.per_row

    @property
    def each(self) -> Fraction:
        """The epsilon of one quantile."""
        return self.epsilon / len(self.shares)

    @property
    def worst(self) -> Fraction:
        """The share that one person moves most: the farthest from one half."""
        return max(self.shares, key=lambda share: max(share, 1 - share))

    def margin(self, share: Fraction, confidence: float = COVERAGE) -> float:
        """How many ranks the chosen point lies off at most with this confidence, by the mechanism's own bound."""
        worst = float(max(share, 1 - share)) * self.rows
        return 2 * worst / float(self.each) * math.log(self.points / float(1 - Fraction(str(confidence))))

    def scale(self, share: Fraction) -> float:
        """Ranks by which the odds of a point fall by the factor e."""
        return 2 * float(max(share, 1 - share)) * self.rows / float(self.each)

    def reach(self) -> tuple[float, float]:
        """Return scale and sensitivity of the farthest quantile, in ranks."""
        return self.scale(self.worst), float(max(self.worst, 1 - self.worst)) * float(self.rows)

    def expected(self, share: Fraction) -> float:
        """How many ranks a quantile lies off on average, about."""
        return self.scale(share)

    def apply(
        self,
        cells: NDArray[np.int64],
        between: NDArray[np.int64] | None = None,
        *,
        confidence: float = COVERAGE,
    ) -> Noisy:
        """Return the chosen grid points as indices: one row per group, one column per quantile.

        Args:
            cells: Rows at each grid point, one row of the array per group.
            between: Rows between each grid point and the next, where values need not lie on the grid.
            confidence: How often the margins cover.
        """
        groups = cells.reshape(-1, self.points)
        gaps = np.zeros((len(groups), self.points + 1), dtype=np.int64)  # before each point, and after the last
        unit = 1
        if between is not None:
            gaps[:, 1:-1] = between.reshape(len(groups), -1)
            unit = _BESIDE
        chosen = np.empty((len(groups), len(self.shares)), dtype=np.int64)
        for row, (counts, gap) in enumerate(zip(groups, gaps, strict=True)):
            upto = np.cumsum(counts + gap[:-1])
            if int(upto[-1]) * unit * MOST_DENOMINATOR >= WHOLE_LIMIT:  # more rows than 64 bits have scores for
                counts, gap, upto = counts.astype(object), gap.astype(object), upto.astype(object)
            below, above, rows = upto - counts, upto[-1] - upto, upto[-1]
            if unit > 1:
                below, above, rows = unit * below - gap[:-1], unit * above - gap[1:], unit * rows
            for column, share in enumerate(self.shares):
                part, whole = share.numerator, share.denominator
                too_high = whole * below - part * rows
                too_low = whole * above - (whole - part) * rows
                # Clipping moves two scores no further apart; so far down, no point is chosen anyway.
                scores = -np.clip(np.maximum(too_high, too_low), 0, WHOLE_LIMIT - 1).astype(np.int64)
                sensitivity = self.sensitivity(share) * unit
                chosen[row, column] = flip_and_choose(scores, self.each / (2 * sensitivity), sensitivity=sensitivity)
        margins = np.broadcast_to([self.margin(share, confidence) for share in self.shares], chosen.shape)
        return Noisy(np.sort(chosen, axis=1), margins=margins)


@dataclass(frozen=True, slots=True, kw_only=True)
class BinnedQuantileNoise(Noise):
    """Quantiles of groups, read off one noisy table: rows per group and bin of ``width`` neighbouring grid points.

    All quantiles of all groups share one table, so that each gets the whole epsilon.

    Proof: one person's weights sum to at most rows * per_row over all cells and groups; so does their part in the
    bins, which are sums of cells. ``noise.tap.add_laplace`` with scale rows * per_row / epsilon is epsilon-DP, and
    ``read_quantiles`` is post-processing.

    Args:
        rows: Most rows of one person.
        per_row: Integer units of one row.
        shares: The quantiles.
        points: How many points the public grid has.
        width: How many of them are one bin.
        epsilon: The privacy loss of the whole table.

    Examples:
        >>> noise = BinnedQuantileNoise(rows=3, per_row=1, shares=(Fraction(1, 2),), points=83, width=10,
        ...     epsilon=Fraction(1))
        >>> noise.bins, round(noise.margin(Fraction(1, 2)), 1)
        (9, 12.6)
    """

    rows: int
    per_row: int
    shares: tuple[Fraction, ...]
    points: int
    width: int
    epsilon: Fraction

    @property
    def sensitivity(self) -> int:
        """Steps that one person moves all cells together."""
        return self.rows * self.per_row

    @property
    def scale(self) -> Fraction:
        """Scale of the noise of one count, in steps."""
        return self.sensitivity / self.epsilon

    @property
    def unit_scale(self) -> float:
        """Scale of the noise of one count, in rows."""
        return float(self.rows / self.epsilon)

    @property
    def bins(self) -> int:
        """How many bins a group has."""
        return -(-self.points // self.width)

    @property
    def worst(self) -> Fraction:
        """The share whose rank the noise moves most: the nearest to one half."""
        return min(self.shares, key=lambda share: abs(share - Fraction(1, 2)))

    def reach(self) -> tuple[float, float]:
        """Return scale and sensitivity of one count, in rows."""
        return self.unit_scale, float(self.rows)

    def margin(self, share: Fraction, confidence: float = COVERAGE) -> float:
        """How many ranks the noise moves a quantile at most with this confidence, where rows are evenly spread."""
        below = float(share) * self.bins
        numbers = np.array(below), np.array(self.bins - below)
        return float(noise_reach(numbers, (1 - float(share), float(share)), self.unit_scale, two_sided(confidence)))

    def expected(self, share: Fraction) -> float:
        """How many ranks the noise moves a quantile on average: sqrt(2 / pi) standard deviations."""
        spread = math.sqrt(2 * self.bins * float(share * (1 - share)))
        return math.sqrt(2 / math.pi) * spread * self.unit_scale

    def apply(self, cells: NDArray[np.int64], *, confidence: float = COVERAGE) -> Noisy:
        """Return places on the grid: one row per group, one column per quantile; intervals likewise.

        Args:
            cells: Rows at each grid point, one row of the array per group.
            confidence: How often the intervals cover.
        """
        exact = np.add.reduceat(cells.reshape(-1, self.points), self.starts[:-1], axis=1)
        noisy = add_laplace(exact, self.scale, sensitivity=self.sensitivity).astype(np.float64) / self.per_row
        return self.read(noisy, self.unit_scale, confidence=confidence)

    @property
    def starts(self) -> NDArray[np.int64]:
        """The first point of every bin, and the end of the last."""
        return np.append(np.arange(0, self.points, self.width), self.points)

    def read(
        self, noisy: NDArray[np.float64], scale: float, *, confidence: float = COVERAGE, reaches: Reaches | None = None
    ) -> Noisy:
        """Return places on the grid from noisy counts: a function of these and of public facts.

        Args:
            noisy: Rows per group and bin, as the noise left them.
            scale: The scale of the noise of one count.
            confidence: How often the intervals cover.
            reaches: How far noise reaches, where that is not told by the scale: counts that were made to agree.
        """
        # A bin holds its points: its edges lie half a point outside.
        found = read_quantiles(
            noisy,
            self.starts - 0.5,
            [float(share) for share in self.shares],
            scale,
            confidence=confidence,
            reaches=reaches,
        )
        low, high = np.ceil(found.low), np.floor(found.high)
        first, last = np.ceil(found.population[0]).ravel().tolist(), np.floor(found.population[1]).ravel().tolist()
        values = np.clip(np.rint(found.values), low, high)
        sizes = np.repeat(np.maximum(found.rows, 0.0), len(self.shares))
        margins = farthest(values, low, high)
        return Noisy(
            values,
            low=low,
            high=high,
            margins=margins,
            sizes=sizes,
            doubtful=found.doubtful,
            population=(first, last),
        )

    def found_rows(self, noisy: Noisy) -> tuple[float, float] | None:
        """Return the sum of the noisy sizes and its standard deviation."""
        if noisy.sizes is None:
            return None
        counts = noisy.sizes[:: len(self.shares)]  # one for each quantile of a group
        return float(counts.sum()), self.unit_scale * math.sqrt(self.bins) * math.sqrt(2 * max(counts.size, 1))


def choose_quantile_noise(
    choice: QuantileNoise, *, groups: int, size: float | None
) -> QuantileNoise | BinnedQuantileNoise:
    """Return what is expected to tell the quantiles of groups better: choosing each, or reading all off one table.

    Decided by public facts alone: the grid, the shares, the number of groups and the declared size (where none is
    declared, groups of a hundred rows); at epsilon 1, so that a question is answered in one way at any price. What is
    compared is how far a quantile of a group may lie off, in grid points: the ranks that noise moves it, at the
    density of rows spread over half of the range; and, for a table, half a bin. Groups are seldom even, and bins that
    suit the average group are too narrow for the small ones, so bins are planned for a third of the average group,
    but for no fewer than a hundred rows where the average group has them. A table also tells how large each group is,
    and has intervals in the column's unit: choosing each must be twice as good.

    Args:
        choice: Permute-and-flip for the same question.
        groups: How many groups there are.
        size: The declared number of rows.
    """
    even = _PLANNED if size is None else max(float(size) / groups, 1.0)
    rows = max(even / 3, min(even, _PLANNED))
    table, least = _best_table(choice, rows)
    one = replace(choice, epsilon=Fraction(1))
    return choice if 2 * one.margin(one.worst) * _apart(choice, rows) <= least else table


def _apart(choice: QuantileNoise, rows: float) -> float:
    """Return the grid points between two ranks, for rows spread over half of the range."""
    return choice.points / 2 / rows


def _best_table(choice: QuantileNoise, rows: float) -> tuple[BinnedQuantileNoise, float]:
    """Return the table whose quantiles lie off least at epsilon 1, and how far: in grid points, of a group of ``rows``.

    Args:
        choice: Permute-and-flip for the same question.
        rows: The rows of a group that bins are planned for.

    Examples:
        >>> one = QuantileNoise(rows=1, per_row=1, shares=(Fraction(1, 2),), points=83, epsilon=Fraction(1))
        >>> [_best_table(one, rows)[0].width for rows in (20, 100, 652)]
        [7, 3, 1]
    """
    one = BinnedQuantileNoise(
        rows=choice.rows,
        per_row=choice.per_row,
        shares=choice.shares,
        points=choice.points,
        width=choice.points,
        epsilon=Fraction(1),
    )
    best, least = one.width, math.inf
    for bins in sorted({*range(4, 41), *(round(40 * 1.25**step) for step in range(1, 25))}):
        width = -(-choice.points // bins)
        table = replace(one, width=width)
        off = table.margin(table.worst) * _apart(choice, rows) + (width / 2 if width > 1 else 0)
        if off < least:
            best, least = width, off
        if width == 1:
            break
    return replace(one, width=best, epsilon=choice.epsilon), least


QuantilesNoise: TypeAlias = QuantileNoise | BinnedQuantileNoise
"""What tells quantiles: chosen each, or read off one table."""


class OfRanks(OfColumn):
    """What medians and quantiles share: rows per point of the public grid of a column."""

    @property
    def shares(self) -> tuple[Fraction, ...]:
        """The quantiles that are asked."""
        raise NotImplementedError

    def check(self, facts: Facts) -> None:
        """Raise where the grid is too fine for the engine."""
        facts.plan(self.measures(facts, Fraction(1)))

    def values_per_group(self) -> int:
        """One for each share."""
        return len(self.shares)

    def measures(self, facts: Facts, epsilon: Fraction) -> tuple[Measure, ...]:
        """Return the number of rows at each point of the grid."""
        return (cells_measure(facts.column, self.column, facts.bounds),)

    def noise(self, facts: Facts, epsilon: Fraction) -> QuantilesNoise:
        """Return permute-and-flip; for groups, one table where public facts say that it is more accurate.

        Where the question says which row of each person counts, always one table: only that has intervals for the
        population.
        """
        (cells,) = facts.measures(epsilon)
        choice = QuantileNoise(
            rows=facts.rows, per_row=facts.bound.scale, shares=self.shares, points=cells.cells, epsilon=epsilon
        )
        size = None if self.is_narrowed else facts.schema.size
        if facts.groups:
            return choose_quantile_noise(choice, groups=facts.cells, size=size)
        return choice if self.per_person is None else _best_table(choice, max(float(size or _WHOLE), 1.0))[0]

    def answer(self, facts: Facts, noise: QuantilesNoise, table: ExactTable, *, confidence: float = COVERAGE) -> Noisy:
        """Return grid points."""
        return self._on_grid(facts, table.plan.measures[0], noise.apply(table[0], confidence=confidence))

    def table(self, facts: Facts) -> Question | None:
        """Return the table of groups and bins, where public facts say that it tells quantiles more accurately."""
        noise = self.noise(facts, Fraction(1))
        (measure,) = self.measures(facts, Fraction(1))
        if not isinstance(noise, BinnedQuantileNoise) or facts.has_unknown_keys or not facts.column.holds_numbers:
            return None
        step = exact(measure.step)  # type: ignore[arg-type]
        edges = [float((measure.first_cell + int(start) - Fraction(1, 2)) * step) for start in noise.starts]
        table = Histogram(self.column, edges=tuple(edges), by=dict(facts.groups), where=self.conditions)
        return table.of_persons(self.per_person, self.conditions_after)

    def read_counts(
        self, facts: Facts, counts: NDArray[np.float64], scale: float, reaches: Reaches, *, confidence: float
    ) -> tuple[Noisy, tuple[str, ...]]:
        """Return the quantiles that the counts of ``table`` tell, and how they were found.

        Args:
            facts: The question against its schema.
            counts: Noisy rows per group and bin.
            scale: The scale of the noise of one count, in rows.
            reaches: How far noise reaches in what the intervals are made of.
            confidence: How often intervals cover.
        """
        noise = self.noise(facts, Fraction(1))
        assert isinstance(noise, BinnedQuantileNoise)
        (measure,) = self.measures(facts, Fraction(1))
        found = self._on_grid(facts, measure, noise.read(counts, scale, confidence=confidence, reaches=reaches))
        return found, self.notes(facts, noise, found)

    def _on_grid(self, facts: Facts, measure: Measure, noisy: Noisy) -> Noisy:
        """Return places on the grid as points; intervals for the population where each row is another person's."""
        values = self._points(facts, measure, noisy.values)
        if noisy.low is None or noisy.high is None:
            return replace(noisy, values=values)
        low, high = (self._points(facts, measure, ends) for ends in (noisy.low, noisy.high))
        population = None
        if noisy.population is not None and facts.is_one_row_each:
            first, last = (self._points(facts, measure, np.asarray(ends)) for ends in noisy.population)
            population = (first.tolist(), last.tolist())
        return replace(
            noisy, values=values, low=low, high=high, margins=farthest(values, low, high), population=population
        )

    def _points(self, facts: Facts, measure: Measure, places: NDArray[Any]) -> NDArray[Any]:
        """Return grid points for places on the grid, within the bounds."""
        assert measure.step is not None
        low, high = facts.bounds
        step = exact(measure.step)
        grid = [tidy((measure.first_cell + int(place)) * step) for place in places.ravel()]
        return np.array([min(max(point, low), high) if point < low or point > high else point for point in grid])

    def expect(
        self, facts: Facts, noise: QuantilesNoise, each: float | None, *, confidence: float = COVERAGE
    ) -> Expected:
        """Return the margin in ranks."""
        percent = None if each is None else 100 * noise.expected(noise.worst) / each
        return Expected(noise.margin(noise.worst, confidence), "ranks", percent)

    def span(self, facts: Facts, noise: QuantilesNoise, rows: float) -> float:
        """The ranks of the group."""
        return rows

    def band_epsilon(self, facts: Facts, target: float, each: float) -> float:
        """Return the epsilon whose scale in ranks is ``target`` times an even group."""
        noise = self.noise(facts, Fraction(1))
        if isinstance(noise, BinnedQuantileNoise):
            return noise.expected(noise.worst) / (target * each)
        worst = max(float(max(share, 1 - share)) for share in self.shares)
        return 2 * worst * facts.rows * len(self.shares) / (target * each)

    def notes(self, facts: Facts, noise: QuantilesNoise, noisy: Noisy) -> tuple[str, ...]:
        """Return how the answer was found."""
        (measure,) = self.measures(facts, noise.epsilon)
        assert measure.step is not None
        if isinstance(noise, QuantileNoise):
            grid = f"The answer is a point of the public grid, whose points lie {measure.step:g} apart."
            empty = "A group without rows gets a point at random: count the groups to know which ones are empty."
            return (grid, empty) if facts.groups else (grid,)
        wide = f"each {noise.width * measure.step:g} {facts.column.width_unit}".strip() + " wide"
        wide = wide if noise.width > 1 else "one for each point of the public grid"
        why = (
            f"bins per group, {wide}: public facts (grid, number of groups, declared size) say that this is more "
            "accurate here than choosing every quantile by itself"
            if facts.groups
            else f"bins, {wide}, which tells intervals in the unit of the values and for the population"
        )
        return (
            f"Read off one noisy table with {noise.bins} {why}. Values count as evenly spread within a bin; intervals "
            "end at the edges of bins and hold in any case.",
        )

    def exact(self, facts: Facts, noise: QuantilesNoise, table: ExactTable) -> NDArray[np.float64]:
        """Return the smallest grid point that has at least the share of the records at or below it."""
        measure = table.plan.measures[0]
        assert measure.step is not None
        groups = table[0].reshape(-1, noise.points)
        points = (measure.first_cell + np.arange(noise.points)) * measure.step
        found = np.full((len(groups), len(self.shares)), np.nan)
        for row, counts in enumerate(groups):
            upto = np.cumsum(counts)
            if upto[-1] == 0:
                continue
            for column, share in enumerate(self.shares):
                found[row, column] = points[int(np.searchsorted(upto * share.denominator, share.numerator * upto[-1]))]
        return found


@statistic(
    "quantiles",
    title="Box plot",
    hint="Median, quartiles and the middle nine tenths.",
    example="quantiles age by pirads",
    picture="boxes",
    about="numbers",
    number_hint="'quantiles age' asks for the quarters (0.25, 0.5, 0.75). Other shares are asked in Python: "
    "dp.Quantiles('age', [0.1, 0.9]).",
    parts=(Part(name="quantiles", kind="shares"),),
)
@dataclass(frozen=True, repr=False)
class Quantiles(OfRanks):
    """Several quantiles of a column, on its public grid; epsilon is for all of them together.

    Examples:
        >>> Quantiles("age", [0.25, 0.5, 0.75])
        Quantiles('age', quantiles=[0.25, 0.5, 0.75])
    """

    quantiles: tuple[float, ...] = (0.25, 0.5, 0.75)

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "quantiles", tuple(float(share) for share in check_quantiles(self.quantiles)))

    @property
    def shares(self) -> tuple[Fraction, ...]:
        """The quantiles, exactly."""
        return check_quantiles(self.quantiles)

    @classmethod
    def from_form(
        cls,
        *,
        column: str | None,
        groups: Mapping[str, Any],
        edges: Mapping[str, Bins],
        where: Iterable[RowCondition],
        own: Mapping[str, Any],
    ) -> Question:
        """Build the question of a box plot: five quantiles."""
        return cls(column or "", BOX, by=groups, where=where)

    def answer_axes(self, axes: tuple[Axis, ...]) -> tuple[Axis, ...]:
        """Return the groups and, last, the quantiles."""
        return (*axes, Axis("quantile", self.quantiles, kind="quantile"))
