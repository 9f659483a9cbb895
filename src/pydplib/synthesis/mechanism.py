"""Select, measure, fit: the part of synthesis that looks at data, and pays for every look.

Everything that depends on data passes ``pydplib.noise.tap`` as integers: tables of counts with discrete noise, and
choices by the exponential mechanism among integer scores. What is decided in between (totals, groups of values, gate,
penalties, number of rounds) is made of public facts and of what came out of the tap before.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from itertools import combinations
from typing import Protocol

import numpy as np

from pydplib.noise.tap import add_gaussian, add_laplace, choose
from pydplib.synthesis.model import FittedModel, Floats, Integers, NoisyTable, combine, fit_model
from pydplib.synthesis.rules import MOST_COUNTED
from pydplib.synthesis.tree import Columns, tree_cells

CELLS_CAP = 60_000
"""Most cells of all cliques of a model together."""

GATE = 0.1
"""Expected mean total variation of the one-way tables beyond which the rest of the budget goes to them.

Checked on trees of random columns and on other seeds of the cohort than those that are reported (``benchmarks/
synthetic.py``, lines "gate"): 0.07 is quiet where relations already pay. 0.15 gains a little more where relations are
strong, and was not taken: with weak ones it costs, and never being worse than independent columns comes first.
"""

NOISE_WEIGHT = 1.5
"""How much of a candidate's expected noise its score loses."""

LIKELY = 0.3
"""A candidate whose noise alone is beyond this share of everybody's rows is not worth a look."""

FIRST_SHARE, LAST_SHARE = Fraction(3, 20), Fraction(3, 5)
"""The part of the budget of the one-way tables: on large tables, and at most, on small ones."""

COLUMN_GOAL = 0.02
"""The expected mean total variation of one-way tables at which they get no more than ``FIRST_SHARE``."""

DECLARED_SHARE = Fraction(1, 2)
"""The part of the budget of declared relations together where others are searched for: they come first."""

STRONG = 180.0
"""Persons per standard deviation of a table with the whole budget beyond which a search is careless with choices."""

MOST_MERGED = 0.7
"""The largest factor of ``Settings.merge``: values are merged up to that many times the root of persons and noise."""

_ROOT_STEPS = 10**12  # steps of the rational that is just below a square root


class Counter(Protocol):
    """Exact counts of a table of people over public domains. Private: only the mechanism below may ask."""

    @property
    def shape(self) -> tuple[int, ...]:
        """Cells by column."""
        ...

    def counts(self, columns: Columns) -> Integers:
        """Return the counts of all combinations of some columns, in units of ``Unit.scale``."""
        ...

    def prepare(self, tables: Sequence[Columns]) -> None:
        """Count several tables at once, where that is cheaper than one by one."""
        ...

    def cells(self, columns: Columns) -> int:
        """Return how many cells have to be counted for a table: a public fact."""
        ...

    def merged(self, groups: Sequence[Integers]) -> Counter:
        """Return a counter of groups of values: ``groups[column][value]`` is the group of a value."""
        ...


@dataclass(frozen=True)
class Unit:
    """What one person can change.

    Attributes:
        scale: Units of a count per person: 1 with one row per person, 2^16 with weights.
        reach: The most that one person moves all cells of one table together, in these units (L1, and so L2).
    """

    scale: int = 1
    reach: int = 1


@dataclass
class Spending:
    """A budget that is spent in parts, each checked before the tap is opened.

    Proof: each call is rho_i-zCDP, or epsilon_i-DP where ``pure``, given everything before it; parts are fixed before
    the call and never sum to more than ``total``. Composition with parameters chosen on the way (a filter) then gives
    ``total`` for the whole (Rogers et al. 2016 for epsilon; Feldman and Zrnic 2021, Whitehouse et al. 2023 for rho).

    Attributes:
        total: Rho, or epsilon where ``pure``.
        pure: Whether everything is discrete Laplace noise and pure epsilon.
        unit: What one person can change.
        spent: The sum of the parts so far.
    """

    total: Fraction
    pure: bool
    unit: Unit = field(default_factory=Unit)
    spent: Fraction = Fraction(0)

    def _pay(self, part: Fraction) -> None:
        if part <= 0 or self.spent + part > self.total:
            raise AssertionError("a synthesis may not spend more than it was given")
        self.spent += part

    @property
    def left(self) -> Fraction:
        """What has not been spent."""
        return self.total - self.spent

    def noise(self, part: Fraction) -> Fraction:
        """Return the parameter of the noise of one table: its variance, or its scale where pure; in units."""
        reach = self.unit.reach
        return reach / part if self.pure else Fraction(reach * reach) / (2 * part)

    def variance(self, part: Fraction) -> float:
        """Return the variance of one noisy cell, in persons."""
        noise = self.noise(part)
        found = 2 * float(noise) ** 2 if self.pure else float(noise)
        return found / self.unit.scale**2

    def measure(self, exact: Integers, part: Fraction) -> Floats:
        """Return a table with noise, in persons.

        Proof: one person moves the cells of the table by at most ``unit.reach`` together. Laplace: scale reach / part,
        so part-DP. Gaussian: the L2 norm is at most the L1 norm, variance reach^2 / (2 part), so part-zCDP.
        """
        self._pay(part)
        reach = self.unit.reach
        if self.pure:
            noisy = add_laplace(exact, self.noise(part), sensitivity=reach)
        else:
            noisy = add_gaussian(exact, self.noise(part), sensitivity_squared=reach * reach)
        return np.asarray(noisy, dtype=np.float64) / self.unit.scale

    def choose(self, scores: Integers, part: Fraction) -> int:
        """Return one candidate by the exponential mechanism.

        Proof: one person moves each score by at most ``unit.reach``. With unit = epsilon / (2 reach) the choice is
        epsilon-DP and epsilon^2/8-zCDP (Cesar and Rogers 2021); epsilon is the part itself, or the rational just below
        sqrt(8 part).
        """
        self._pay(part)
        reach = self.unit.reach
        epsilon = part if self.pure else root_below(8 * part)
        return choose(scores, epsilon / (2 * reach), sensitivity=reach)


def root_below(value: Fraction) -> Fraction:
    """Return a rational number of at most the square root, within 1e-12.

    Examples:
        >>> root_below(Fraction(2)) ** 2 <= 2
        True
    """
    steps = value * _ROOT_STEPS * _ROOT_STEPS
    return Fraction(math.isqrt(steps.numerator // steps.denominator), _ROOT_STEPS)


@dataclass(frozen=True, kw_only=True)
class Settings:
    """What shapes a synthesis, all of it public; by default from the budget and the noisy number of persons.

    Attributes:
        find: Whether relations are searched for at all, beyond the declared ones.
        rounds: Most relations that are chosen.
        merge: How coarse values are merged: groups of at least merge * sqrt(persons * sigma) persons; 0 for not at all.
        choice: The part of a round that the choice costs; the measurement gets the rest.
        stops: How often stopping stands among the candidates, per candidate, beyond the one time it always does.
        gate: See ``GATE``.
        cells_cap: See ``CELLS_CAP``.
        iterations: Most steps of a fit.
        last_iterations: Most steps of the last fit.
    """

    find: bool = True
    rounds: int | None = None
    merge: float | None = None
    choice: Fraction | None = None
    stops: Fraction | None = None
    gate: float = GATE
    cells_cap: int = CELLS_CAP
    iterations: int = 50
    last_iterations: int = 200

    def at(self, signal: float, width: int, *, pure: bool) -> Settings:
        """Return the settings with everything filled in.

        Args:
            signal: Noisy persons per standard deviation of one table that gets the whole budget.
            width: The number of columns.
            pure: Whether parts of the budget add up by themselves, not by their squares: each round costs more then.
        """
        wanted = 1.9 * math.log2(max(2.0, signal)) - 7
        rounds = max(3, min(16, round(wanted / 2 if pure else wanted), math.comb(width, 2)))
        weak = signal < STRONG
        return replace(
            self,
            rounds=rounds if self.rounds is None else self.rounds,
            merge=(0.5 if weak else MOST_MERGED) if self.merge is None else self.merge,
            choice=(Fraction(1, 5) if weak else Fraction(1, 10)) if self.choice is None else self.choice,
            stops=(Fraction(1, 20) if weak else Fraction(0)) if self.stops is None else self.stops,
        )


@dataclass(frozen=True, kw_only=True)
class Measured:
    """Everything that a synthesis learnt, and the model that it made of it.

    Attributes:
        one_ways: The noisy count of every value of every column.
        groups: Column -> the group of each value, as far as relations were measured on groups.
        relations: The noisy tables of relations, over groups.
        declared: How many of them were declared; the rest was found.
        candidates: The number of relations that any choice was made from.
        total: The noisy number of persons.
        model: The fitted model, over groups.
        quiet: Why no relation was searched for, or the search ended; empty where it did not end early.
    """

    one_ways: tuple[NoisyTable, ...]
    groups: tuple[Integers, ...]
    relations: tuple[NoisyTable, ...]
    declared: int
    candidates: int
    total: float
    model: FittedModel
    quiet: str = ""


Progress = Callable[[str, int, int], None]


def measure(
    counter: Counter,
    spending: Spending,
    *,
    ordered: Sequence[bool],
    listed: Sequence[bool] | None = None,
    relations: Iterable[Columns] = (),
    settings: Settings | None = None,
    possible: Mapping[Columns, Floats] | None = None,
    progress: Progress | None = None,
) -> Measured:
    """Select and measure tables of counts and fit a model to them.

    Proof: data enter through ``Spending.measure`` and ``Spending.choose`` only. A table of counts moves by at most
    ``unit.reach`` (L1) when one person is added or removed, because everybody is in one cell of every table, or with
    rows whose weights, fixed before any table, sum to the reach. The score of a candidate is the L1 distance between
    its exact counts and whole numbers made of earlier outputs, minus whole numbers made of earlier outputs: by the
    triangle inequality it moves by at most the reach. Stopping is a candidate with the constant score 0. The rest is
    post-processing; see ``Spending`` for the sum.

    Args:
        counter: The exact counts.
        spending: The budget; all of it is spent, whatever is found.
        ordered: Whether the values of each column have an order, so that neighbours may be merged.
        listed: Whether the values of each column are named one by one: declared relations keep every such value, while
            neighbouring bins of numbers may be merged there, too. By default all are.
        relations: Declared relations: always measured.
        settings: What else shapes the result.
        possible: Combinations that can be (1) and cannot be (0), which the counter keeps as well; columns of rules are
            never merged.
        progress: Called with what is being done, the step and the number of steps.
    """
    settings = Settings() if settings is None else settings
    run = _Run(
        counter=counter,
        spending=spending,
        ordered=tuple(ordered),
        settings=settings,
        tell=progress or (lambda what, step, steps: None),
    )
    run.listed = tuple(listed) if listed is not None else (True,) * len(run.ordered)
    return run.measure([tuple(sorted(r)) for r in relations], possible or {})


def share_without_search(width: int, declared: Sequence[Columns]) -> Fraction:
    """Return the part of the columns where nothing is searched for: half of an equal share for those left out."""
    if not declared:
        return Fraction(1)
    alone = width - len({column for columns in declared for column in columns})
    return max(Fraction(1, 20), Fraction(alone, 2 * (alone + len(declared))))


def share_in_search(distance: float) -> Fraction:
    """Return the part of the columns in a search, given their expected distance at ``FIRST_SHARE``."""
    wanted = FIRST_SHARE * Fraction(distance / COLUMN_GOAL) ** 2
    return max(FIRST_SHARE, min(LAST_SHARE, wanted.limit_denominator(1000)))


@dataclass(kw_only=True)
class _Run:
    counter: Counter
    spending: Spending
    ordered: tuple[bool, ...]
    settings: Settings
    tell: Progress
    one_ways: list[NoisyTable] = field(default_factory=list)
    listed: tuple[bool, ...] = ()

    def measure(self, declared: list[Columns], possible: Mapping[Columns, Floats]) -> Measured:
        spending, shape = self.spending, self.counter.shape
        searching = self.settings.find and len(shape) > 1
        self.tell("columns", 0, 1)
        # What was declared comes first: columns and search share what it leaves.
        first = DECLARED_SHARE if searching and declared else Fraction(0)
        rest = spending.total * (1 - first)
        share = FIRST_SHARE if searching else share_without_search(len(shape), declared)
        self._measure_columns(rest * share)
        total = self._total()
        signal = total / math.sqrt(spending.variance(rest))
        self.settings = settings = self.settings.at(signal, len(shape), pure=spending.pure)
        pairs = math.comb(len(shape), 2) - sum(len(columns) == 2 for columns in declared)
        rounds, quiet = (min(settings.rounds or 0, pairs), "") if searching else (0, "")
        if searching:
            # Topped up on small tables: two measurements are worth one with the sum of their budgets.
            wanted = self._column_share(total)
            if wanted > share:
                self._measure_columns(rest * (wanted - share))
                total = self._total()
            if self._expected_distance(total) > settings.gate:
                rounds, quiet = 0, "gate"
        steps = rounds + len(declared)
        groups = [np.arange(size) for size in shape]
        # Without a search, the declared relations share all that the columns left.
        each = (spending.total * first if rounds else spending.left) / max(1, len(declared))
        if steps:
            part = (spending.left - each * len(declared)) / rounds * (1 - (settings.choice or 0)) if rounds else each
            named = [tuple(c for c in columns if self.listed[c]) for columns in declared]
            sigmas = [math.sqrt(spending.variance(part))] * len(shape)
            for column in {column for columns in declared for column in columns}:
                sigmas[column] = math.sqrt(spending.variance(each))
            groups = self._groups(sigmas, total, [*possible, *named])
        elif spending.left > 0:
            self._measure_columns(spending.left)
            total = self._total()
        counter = self.counter.merged(groups) if steps else self.counter
        counter.prepare(declared)
        found: list[NoisyTable] = []
        for place, columns in enumerate(declared):
            self.tell("declared relations", place, steps)
            found.append(self._measure_relation(counter, columns, each))
        total = self._total(found)
        model = self._fit(groups, found, total, None, possible, settings.last_iterations if not rounds else None)
        candidates: set[Columns] = set()
        for turn in range(rounds):
            self.tell("relations", len(declared) + turn, steps)
            part = spending.left / (rounds - turn)
            pay = part * (settings.choice or 0)
            # The model may grow as the budget is spent: the first choices cannot take all of its cells.
            cap = int(settings.cells_cap * min(1.0, 2 * (turn + 1) / rounds))
            open_ones = self._candidates(counter.shape, found, possible, part - pay, total, cap)
            open_ones = [columns for columns in open_ones if counter.cells(columns) <= MOST_COUNTED]
            counter.prepare(open_ones)
            candidates.update(open_ones)
            chosen = self._choose(counter, model, open_ones, pay, part - pay, total)
            if chosen is None:
                quiet = "stop"
                break
            found.append(self._measure_relation(counter, chosen, part - pay))
            last = turn == rounds - 1
            model = self._fit(groups, found, total, model, possible, settings.last_iterations if last else None)
        if spending.left > 0:
            self._measure_columns(spending.left)
            total = self._total(found)
            model = self._fit(groups, found, total, model, possible, settings.last_iterations)
        self.tell("done", steps, steps)
        return Measured(
            one_ways=tuple(self.one_ways),
            groups=tuple(groups),
            relations=tuple(found),
            declared=len(declared),
            candidates=len(candidates),
            total=total,
            model=model,
            quiet=quiet,
        )

    # -- columns by themselves -----------------------------------------------------------------------

    def _measure_columns(self, part: Fraction) -> None:
        width = len(self.counter.shape)
        self.counter.prepare([(column,) for column in range(width)])
        for column in range(width):
            noisy = self.spending.measure(self.counter.counts((column,)), part / width)
            self.one_ways.append(NoisyTable((column,), noisy, self.spending.variance(part / width)))
        self.one_ways = combine(self.one_ways)

    def _total(self, relations: Sequence[NoisyTable] = ()) -> float:
        """Return the number of persons by all noisy tables: the sum of few cells tells more than the sum of many."""
        tables = [*self.one_ways, *relations]
        weights = [1 / (table.variance * table.counts.size) for table in tables]
        sums = [float(table.counts.sum()) for table in tables]
        return max(1.0, sum(w * s for w, s in zip(weights, sums, strict=True)) / sum(weights))

    def _expected_distance(self, total: float) -> float:
        """Return the expected mean total variation of the noisy columns."""
        spread = [math.sqrt(2 / math.pi * t.variance) * t.counts.size / (2 * total) for t in self.one_ways]
        return sum(spread) / len(spread)

    def _column_share(self, total: float) -> Fraction:
        """Return the part of the budget that brings the columns to their goal, within bounds."""
        return share_in_search(self._expected_distance(total))

    # -- groups of values ----------------------------------------------------------------------------

    def _groups(self, sigmas: Sequence[float], total: float, whole: Iterable[Columns]) -> list[Integers]:
        """Return the group of each value; some columns keep every one, and so do those that are too noisy to tell."""
        kept = {column for columns in whole for column in columns}
        found = []
        for table, ordered, sigma in zip(self.one_ways, self.ordered, sigmas, strict=True):
            column = table.columns[0]
            least = (self.settings.merge or 0.0) * math.sqrt(total * sigma)
            if column in kept or table.counts.size <= 2 or least <= math.sqrt(table.variance):
                found.append(np.arange(table.counts.size))
            else:
                found.append(merge_values(table.counts, least, ordered=ordered))
        return found

    # -- relations -----------------------------------------------------------------------------------

    def _candidates(
        self,
        shape: Sequence[int],
        found: Sequence[NoisyTable],
        possible: Mapping[Columns, Floats],
        part: Fraction,
        total: float,
        cap: int,
    ) -> list[Columns]:
        """Return the pairs and triples that could be worth their noise and keep the model small."""
        noise = NOISE_WEIGHT * math.sqrt(2 / math.pi * self.spending.variance(part))
        known = [set(table.columns) for table in found]
        base = [*(table.columns for table in found), *possible]
        open_ones = []
        for size in (2, 3):
            for columns in combinations(range(len(shape)), size):
                cells = math.prod(shape[c] for c in columns)
                if noise * cells >= 2 * total * LIKELY or any(set(columns) <= one for one in known):
                    continue
                if cells > cap or tree_cells(shape, [*base, columns]) > cap:
                    continue
                open_ones.append(columns)
        return open_ones

    def _choose(
        self,
        counter: Counter,
        model: FittedModel,
        candidates: Sequence[Columns],
        pay: Fraction,
        part: Fraction,
        total: float,
    ) -> Columns | None:
        scale = self.spending.unit.scale
        noise = NOISE_WEIGHT * math.sqrt(2 / math.pi * self.spending.variance(part))
        stops = 1 + int((self.settings.stops or 0) * len(candidates))
        scores = [0] * stops  # stopping: a constant, paid like any choice
        for columns in candidates:
            expected = total * model.probabilities(columns)
            whole = np.rint(scale * expected).astype(np.int64)
            sampling = np.minimum(np.sqrt(2 / math.pi * expected), 2 * expected).sum()
            penalty = math.ceil(scale * (noise * expected.size + float(sampling)))
            scores.append(int(np.abs(counter.counts(columns) - whole).sum()) - penalty)
        place = self.spending.choose(np.array(scores, dtype=np.int64), pay)
        return None if place < stops else candidates[place - stops]

    def _measure_relation(self, counter: Counter, columns: Columns, part: Fraction) -> NoisyTable:
        noisy = self.spending.measure(counter.counts(columns), part)
        return NoisyTable(columns, noisy, self.spending.variance(part))

    def _fit(
        self,
        groups: Sequence[Integers],
        found: Sequence[NoisyTable],
        total: float,
        start: FittedModel | None,
        possible: Mapping[Columns, Floats],
        iterations: int | None,
    ) -> FittedModel:
        merged = [merge_table(table, groups) for table in self.one_ways]
        shape = [int(group.max()) + 1 for group in groups]
        steps = self.settings.iterations if iterations is None else iterations
        return fit_model(shape, [*merged, *found], total, start=start, possible=possible, iterations=steps)


def merge_values(counts: Floats, least: float, *, ordered: bool) -> Integers:
    """Return the group of each value, so that groups have about ``least`` persons.

    Neighbours are merged where values have an order; elsewhere all rare values become one group.

    Examples:
        >>> merge_values(np.array([5.0, 3, 20, 1, 2]), 8, ordered=True).tolist()
        [0, 0, 1, 1, 1]
        >>> merge_values(np.array([5.0, 30, 20, 1, 2]), 8, ordered=False).tolist()
        [0, 1, 2, 0, 0]
    """
    found = np.zeros(counts.size, dtype=np.int64)
    if ordered:
        group, held = 0, 0.0
        for place, count in enumerate(counts):
            found[place] = group
            held += max(0.0, float(count))
            if held >= least:
                group, held = group + 1, 0.0
        if held > 0 or found[-1] == group:
            found[found == group] = max(0, group - 1) if held < least else group
    else:
        rare = counts < least
        if rare.sum() < 2 or rare.all():
            rare = np.zeros(counts.size, dtype=bool) if rare.sum() < 2 else rare
        names = np.where(rare, -1, np.arange(counts.size))
        found = np.unique(names, return_inverse=True)[1].astype(np.int64)
    first: dict[int, int] = {}
    return np.array([first.setdefault(int(g), len(first)) for g in found], dtype=np.int64)


def merge_table(table: NoisyTable, groups: Sequence[Integers]) -> NoisyTable:
    """Return a one-way table over groups; its variance is that of the average group."""
    (column,) = table.columns
    size = int(groups[column].max()) + 1
    counts: Floats = np.bincount(groups[column], weights=table.counts, minlength=size)  # type: ignore[assignment]
    return NoisyTable(table.columns, counts, table.variance * table.counts.size / size)
