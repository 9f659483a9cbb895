"""A synthetic table: rows of nobody, drawn from a model of noisy tables, with what may be concluded from them."""

from __future__ import annotations

import csv
import importlib.util
import json
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from pydplib._csv_text import safe_cell
from pydplib._shown import Shown
from pydplib.budget.costs import Cost
from pydplib.budget.keys import canonical_json
from pydplib.engine import Bins
from pydplib.errors import DataError, ParameterError, QuestionError, did_you_mean
from pydplib.guarantee import ApproxDP, Guarantee, PureDP, guarantee_dict, read_guarantee
from pydplib.noise.randomness import StoredSource
from pydplib.release.results.frames import BACKENDS, build_frame
from pydplib.release.results.stored import costs_as_said
from pydplib.release.statistics.count import Counting
from pydplib.release.statistics.mean import Mean
from pydplib.release.statistics.noise import COVERAGE, check_confidence
from pydplib.release.statistics.question import Question
from pydplib.schema.columns.base import column_from_dict
from pydplib.synthesis.domain import REST, Decoded, Variable, check_rows
from pydplib.synthesis.draws import draw_codes, expand_codes, uniforms, whole_weights
from pydplib.synthesis.mechanism import merge_table
from pydplib.synthesis.model import Floats, Integers, NoisyTable, sum_to
from pydplib.synthesis.posterior import (
    draw_linear,
    draw_model,
    draw_rates,
    independence_p_value,
    interval_of,
    student_quantile,
)
from pydplib.synthesis.rules import CellRule, possible_cells
from pydplib.synthesis.tree import Columns, JunctionTree

FORMAT = "pydplib-synthetic/1"
"""The first word of a stored synthetic table: readers refuse what they do not know."""

MECHANISM = "synthetic_table"
"""What the ledger calls it."""

NOT_MEASURED = "this relation was not measured"
"""What a figure of columns says whose relation no table was bought for."""

EXPLORATORY = "found, exploratory: its interval does not cover after selection"
"""What goes with a relation that the search has chosen."""

DRAWS = 1_000
"""Draws of the population's probabilities behind an interval."""

_PURPOSES = ("rows", "values", "intervals")


@dataclass(frozen=True)
class Relation:
    """A relation that was measured.

    Attributes:
        columns: The columns.
        found: Whether the search has chosen it; False where it was declared before the purchase.
        cells: How many cells were measured.
        margin: The noise moved one cell by at most this many persons in 95 % of all tables.
    """

    columns: tuple[str, ...]
    found: bool
    cells: int
    margin: float

    def __str__(self) -> str:
        kind = "found, exploratory" if self.found else "declared"
        return f"{' x '.join(self.columns)}: {self.cells} cells, ± {self.margin:.0f} persons each ({kind})"


@dataclass(frozen=True)
class Margin:
    """How far the noise moves a figure that is drawn from a synthetic table.

    Attributes:
        value: The margin of one count, in persons; None where the relation was not measured.
        words: The same in words.
        found: Whether the search has chosen the relation.
    """

    value: float | None
    words: str
    found: bool = False

    @property
    def is_measured(self) -> bool:
        """Whether the figure shows a relation that was measured, or one column."""
        return self.value is not None

    def __str__(self) -> str:
        return self.words


@dataclass(frozen=True, repr=False, kw_only=True)
class PopulationIntervals(Shown):
    """Intervals for the population: sampling and noise together.

    Attributes:
        cells: What each interval is about, one entry per column of the question.
        values: The centres.
        low: The lower ends.
        high: The upper ends.
        confidence: How often one of them covers.
        unit: What the numbers are.
        p_values: For a test, the chance of a result at least as far from "no relation"; None elsewhere.
        note: What else to know.
    """

    cells: tuple[tuple[str, ...], ...]
    values: tuple[float, ...]
    low: tuple[float, ...]
    high: tuple[float, ...]
    confidence: float
    unit: str
    names: tuple[str, ...] = ()
    p_values: tuple[float, ...] | None = None
    note: str = ""

    def columns(self) -> dict[str, list[Any]]:
        """Return the intervals as columns."""
        often = f"{100 * self.confidence:g}"
        found: dict[str, list[Any]] = {
            name: [cell[place] for cell in self.cells] for place, name in enumerate(self.names)
        }
        found |= {"value": list(self.values), f"low{often}": list(self.low), f"high{often}": list(self.high)}
        return found if self.p_values is None else found | {"p": list(self.p_values)}

    def to_frame(self, *, backend: str | None = None) -> Any:
        """Return the intervals as a data frame."""
        return build_frame(self.columns(), backend)

    def __str__(self) -> str:
        lines = [
            f"  {', '.join(cell) or 'all'}: {value:.4g} ({low:.4g} to {high:.4g}) {self.unit}".rstrip()
            for cell, value, low, high in zip(self.cells, self.values, self.low, self.high, strict=True)
        ]
        if self.p_values is not None:
            lines = [f"{line}, p = {p:.3g}" for line, p in zip(lines, self.p_values, strict=True)]
        head = f"{100 * self.confidence:g} % intervals for the population"
        return "\n".join([head, *lines, *([f"  note: {self.note}"] if self.note else [])])


@dataclass(frozen=True, repr=False, kw_only=True)
class SyntheticTable(Shown):
    """Rows that belong to nobody and show what was measured, with the measurements themselves. Made by ``synthesize``.

    Everything in it follows from noisy numbers: it may be stored, sent, plotted in any software. The same purchase
    gives the same rows.

    Attributes:
        question: What was asked, as plain values.
        variables: The columns and their public cells.
        one_ways: The noisy counts of every column.
        groups: Column -> the group of each value in which relations were measured.
        relations: The noisy tables of relations, the declared ones first.
        declared: How many of them were declared before the purchase.
        candidates: How many relations the search chose from.
        total: The noisy number of persons.
        cliques: The model: columns and whole-number weights.
        seed: What the rows were drawn with, as hexadecimal digits; chosen by nobody.
        pure: Whether the noise is discrete Laplace, and not Gaussian.
        guarantee: What is guaranteed about one person.
        cost: What was paid.
        counted: What one row stands for.
        one_row: Whether everybody counts with one row, so that intervals for the population are valid.
        notes: What else a reader must know.
        key: The name of the release in the ledger.
        rules: Combinations that cannot be: no row has one.

    Examples:
        >>> import pandas as pd, pydplib as dp
        >>> schema = dp.Schema({"age": dp.Number(18, 100, step=1), "bph": dp.Flag()}, name="reports")
        >>> rows = pd.DataFrame({"age": [61, 67, 70] * 300, "bph": [True, False, False] * 300})
        >>> table = dp.synthesize(rows, schema, relations=[("age", "bph")], epsilon=2.0)
        >>> list(table.to_frame().columns), abs(len(table) - 900) < 60
        (['age', 'bph'], True)
        >>> str(table.margin(dp.Crosstab("age", "bph")))[:2]
        '± '
    """

    question: Mapping[str, Any]
    variables: tuple[Variable, ...]
    one_ways: tuple[NoisyTable, ...]
    groups: tuple[Integers, ...]
    relations: tuple[NoisyTable, ...]
    declared: int
    candidates: int
    total: float
    cliques: tuple[tuple[Columns, Integers], ...]
    seed: str
    pure: bool
    guarantee: Guarantee
    cost: Cost
    counted: str = ""
    one_row: bool = True
    notes: tuple[str, ...] = ()
    key: str | None = None
    remarks: tuple[str, ...] = field(default=(), compare=False)
    entry: int | None = field(default=None, compare=False)
    backend: str | None = field(default=None, compare=False)
    mechanism: str = MECHANISM
    rules: tuple[CellRule, ...] = ()

    # -- rows ----------------------------------------------------------------------------------------

    def __len__(self) -> int:
        return max(1, round(self.total))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, SyntheticTable) and self.to_json() == other.to_json()

    def __hash__(self) -> int:
        return hash((self.key, self.seed))

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of the columns."""
        return tuple(variable.name for variable in self.variables)

    @property
    def epsilon(self) -> float:
        """The privacy loss."""
        return float(getattr(self.guarantee, "epsilon", math.inf))

    @property
    def delta(self) -> float:
        """The chance that the guarantee fails; 0 for a pure one."""
        return float(getattr(self.guarantee, "delta", 0.0))

    def _source(self, purpose: str) -> StoredSource:
        return StoredSource(bytes.fromhex(self.seed), purpose)

    @cached_property
    def tree(self) -> JunctionTree:
        """The cliques of the model."""
        shape = [int(group.max()) + 1 for group in self.groups]
        return JunctionTree.of(shape, [columns for columns, _ in self.cliques])

    @cached_property
    def codes(self) -> Integers:
        """The rows as places of cells, one line per column."""
        source = self._source("rows")
        weights = dict(self.cliques)
        drawn = draw_codes(self.tree, [weights[clique] for clique in self.tree.cliques], len(self), source=source)
        return expand_codes(drawn, self.groups, self.one_ways, source=source)

    def decoded(self) -> list[Decoded]:
        """Return the rows as columns of values."""
        return self._decode(self.codes, self._source("values"))

    def _decode(self, codes: Integers, source: StoredSource) -> list[Decoded]:
        return [
            variable.decode(own, uniforms(len(own), source))
            for variable, own in zip(self.variables, codes, strict=True)
        ]

    def to_frame(self, *, backend: str | None = None) -> Any:
        """Return the rows as a data frame: an ordinary table for any software.

        Args:
            backend: ``"pandas"``, ``"polars"`` or ``"pyarrow"``; by default the library the data came in, or the first
                of them that is installed.
        """
        return frame_of(self.decoded(), backend or self.backend)

    def to_csv(self, path: str | Path) -> None:
        """Write the rows as a CSV file with commas; missing values are empty."""
        with Path(path).open("w", encoding="utf-8", newline="") as file:
            writer = csv.writer(file)
            writer.writerow([_plain_text(name) for name in self.columns])
            writer.writerows(zip(*(_written(column) for column in self.decoded()), strict=True))

    def to_parquet(self, path: str | Path) -> None:
        """Write the rows as a Parquet file, by Polars or PyArrow."""
        for name in ("pyarrow", "polars"):
            if importlib.util.find_spec(name):
                break
        else:
            raise ParameterError("A Parquet file needs pyarrow or polars: pip install pyarrow. Or write CSV: to_csv.")
        frame = self.to_frame(backend=name)
        if name == "polars":
            frame.write_parquet(str(path))
            return
        from pyarrow import parquet

        parquet.write_table(frame, str(path), compression="zstd")

    # -- what may be concluded -------------------------------------------------------------------------

    @property
    def measured(self) -> tuple[Relation, ...]:
        """The relations that were measured: figures of other columns show none."""
        return tuple(
            Relation(
                tuple(self.columns[c] for c in table.columns),
                place >= self.declared,
                int(table.counts.size),
                _margin(table.variance, 1, COVERAGE),
            )
            for place, table in enumerate(self.relations)
        )

    @property
    def merged(self) -> dict[str, list[list[str]]]:
        """Column -> the groups of values in which relations were measured; inside a group the column decides."""
        found = {}
        for variable, group in zip(self.variables, self.groups, strict=True):
            if int(group.max()) + 1 < len(group):
                labels = variable.labels
                members = [[labels[v] for v in np.flatnonzero(group == g)] for g in range(int(group.max()) + 1)]
                found[variable.name] = [names for names in members if len(names) > 1]
        return found

    @property
    def fidelity(self) -> dict[str, float]:
        """The expected total variation by noise: of the columns on average, and of every measured relation."""
        columns = [expected_distance(self._best_column(place), self.total) for place in range(len(self.one_ways))]
        found = {"columns": sum(columns) / len(columns)}
        for relation, table in zip(self.measured, self.relations, strict=True):
            found[" x ".join(relation.columns)] = expected_distance(table, self.total)
        return found

    def margin(self, question: Question | Iterable[str], *, confidence: float = COVERAGE) -> Margin:
        """Return how far noise moves one count of a figure, or that the figure's relation was not measured.

        Args:
            question: A question, or the columns of a figure.
            confidence: How often the margin covers.
        """
        columns = self._places(_columns_of(question))
        check_confidence(confidence)
        if len(columns) == 1:
            margin = _margin(self._best_column(columns[0]).variance, 1, confidence)
            return Margin(margin, f"± {margin:.0f} persons in each cell ({100 * confidence:g} %)")
        held = self._relation(columns)
        if held is None:
            names = " x ".join(self.columns[c] for c in columns)
            return Margin(None, f"{names}: {NOT_MEASURED}; the figure shows what the other tables imply")
        table, found = held
        others = math.prod(size for c, size in zip(table.columns, table.counts.shape, strict=True) if c not in columns)
        margin = _margin(table.variance, others, confidence)
        words = f"± {margin:.0f} persons in each cell ({100 * confidence:g} %)"
        coarse = [self.columns[c] for c in columns if self.columns[c] in self.merged]
        if coarse:
            words += f"; measured in groups of values of {' and '.join(coarse)}"
        return Margin(margin, words + ("; found, exploratory" if found else ""), found)

    def interval(self, question: Question, *, confidence: float = COVERAGE) -> PopulationIntervals:
        """Return intervals for the population: shares of persons for counts, averages for ``Mean``.

        From draws of the population's probabilities given the noisy table of the relation: ``posterior.interval_of``.

        Args:
            question: ``Count``, ``Histogram``, ``Crosstab`` or ``Mean``, without conditions.
            confidence: How often each interval covers.

        Raises:
            QuestionError: The relation was not measured, or rows are not persons.
        """
        check_confidence(confidence)
        names = _columns_of(question)
        table, note = self._population_table(names)
        if isinstance(question, Mean):
            return self._mean_intervals(question, table, note, confidence)
        if not isinstance(question, Counting):
            raise QuestionError("interval takes Count, Histogram, Crosstab and Mean. Use the copies for the rest.")
        places = tuple(sorted(self._places(names)))
        shares = self._shares(_collapsed(table, places))
        labels = [self._labels(c, table) for c in places]
        flat = shares.reshape(len(shares), -1)
        logits = np.log(np.maximum(flat, 1e-12)) - np.log(np.maximum(1 - flat, 1e-12))
        found = [interval_of(logits[:, i], confidence=confidence) for i in range(flat.shape[1])]
        cells = [tuple(labels[a][i] for a, i in enumerate(index)) for index in np.ndindex(*shares.shape[1:])]
        back = [(_share(e.value), _share(e.low), _share(e.high)) for e in found]
        values, low, high = zip(*back, strict=True)
        named = tuple(self.columns[c] for c in places)
        return PopulationIntervals(
            cells=tuple(cells),
            values=values,
            low=low,
            high=high,
            confidence=confidence,
            unit="share of persons",
            names=named,
            note=note,
        )

    def odds_ratio(self, one: str, other: str, *, confidence: float = COVERAGE) -> PopulationIntervals:
        """Return the odds ratio of two columns with two values each, with its interval and p-value.

        The p-value of a relation that the search has found is multiplied by the number of candidates (Bonferroni).
        """
        check_confidence(confidence)
        table, note = self._population_table((one, other))
        places = self._places((one, other))
        if len(table.columns) != 2 or any(len(self.variables[c].cells) != 2 for c in places):
            raise QuestionError("An odds ratio needs a measured relation of two columns with two values each.")
        rates = self._rates(table, flat=True)[:, :2, :2]
        logs = np.log(rates[:, 1, 1]) + np.log(rates[:, 0, 0]) - np.log(rates[:, 0, 1]) - np.log(rates[:, 1, 0])
        found = interval_of(logs, confidence=confidence, null=0.0)
        p = min(1.0, (found.p_value or 0.0) * self._factor(table))
        cell = (f"{one} and {other}",)
        return PopulationIntervals(
            cells=(cell,),
            values=(math.exp(found.value),),
            low=(math.exp(found.low),),
            high=(math.exp(found.high),),
            confidence=confidence,
            unit="odds ratio",
            names=("columns",),
            p_values=(p,),
            note=note,
        )

    def test(self, one: str, other: str) -> float:
        """Return the p-value of "these two columns have nothing to do with each other".

        Two values each: from the odds ratio's draws. More: a bootstrap that repeats sampling and noise. For a relation
        that the search has found, times the number of candidates (Bonferroni), at most 1.
        """
        table, _ = self._population_table((one, other))
        places = tuple(sorted(self._places((one, other))))
        if len(places) != 2:
            raise QuestionError("A test is about two different columns.")
        if len(table.columns) == 2 and all(len(self.variables[c].cells) == 2 for c in places):
            p_values = self.odds_ratio(one, other).p_values
            assert p_values is not None
            return p_values[0]
        counts = sum_to(table.counts, table.columns, places)
        merged = table.counts.size // counts.size
        named = NoisyTable(
            places, counts[self._named(places[0]), :][:, self._named(places[1])], table.variance * merged
        )
        p = independence_p_value(named, pure=self.pure, source=self._source(f"test {places}"))
        return min(1.0, p * self._factor(table))

    def copies(self, m: int = 20, *, backend: str | None = None) -> list[Any]:
        """Return several tables, each from another draw of the population's probabilities: for multiple imputation.

        Analyse each, then combine with ``pydplib.synthesis.combine_copies``: the estimate is the mean, the variance T =
        (1 + 1/m) b - v with b the variance between copies and v the mean of the variances that your software reports (v
        alone where T <= 0), with few degrees of freedom. More copies add no information about patients. Holds for
        declared relations.

        Args:
            m: How many.
            backend: The library of the frames.
        """
        merged = [merge_table(table, self.groups) for table in self.one_ways]
        shape = [int(group.max()) + 1 for group in self.groups]
        possible = possible_cells(self.rules)
        frames = []
        for number in range(check_rows(m)):
            source = self._source(f"copy {number}")
            model = draw_model(shape, merged, self.relations, pure=self.pure, possible=possible, source=source)
            codes = draw_codes(model.tree, whole_weights(model), len(self), source=source, spread=False)
            codes = expand_codes(codes, self.groups, self.one_ways, source=source, spread=False)
            frames.append(frame_of(self._decode(codes, source), backend or self.backend))
        return frames

    def _mean_intervals(self, question: Mean, table: NoisyTable, note: str, confidence: float) -> PopulationIntervals:
        (place,) = self._places((question.column,))
        variable = self.variables[place]
        if not variable.column.holds_numbers:
            raise QuestionError(f"An average needs numbers; column '{question.column}' is a {variable.column.kind}.")
        kept = self._places(_columns_of(question))
        drawn = draw_linear(_collapsed(table, kept), DRAWS, source=self._source(f"means {kept}"))
        drawn = np.moveaxis(drawn, 1 + kept.index(place), -1)
        middles = self._middles(place, table)
        known = drawn[..., : len(middles)]
        sums = known.sum(axis=-1)
        low, high = variable.column.number_bounds or (-math.inf, math.inf)
        # Sums that noise has made nothing, or less, say nothing: anything between the bounds may be the average.
        means = np.where(sums > 0, (known * middles).sum(axis=-1) / np.where(sums > 0, sums, 1.0), (low + high) / 2)
        flat = means.reshape(len(means), -1)
        found = [interval_of(flat[:, i], confidence=confidence) for i in range(flat.shape[1])]
        labels = [self._labels(c, table) for c in kept if c != place]
        cells = [tuple(labels[a][i] for a, i in enumerate(index)) for index in np.ndindex(*means.shape[1:])]
        return PopulationIntervals(
            cells=tuple(cells),
            values=tuple(e.value for e in found),
            low=tuple(max(low, e.low) for e in found),
            high=tuple(min(high, e.high) for e in found),
            confidence=confidence,
            unit=variable.column.number_unit,
            names=tuple(self.columns[c] for c in kept if c != place),
            note=note,
        )

    def _middles(self, place: int, table: NoisyTable) -> Floats:
        middles, group = self.variables[place].middles, self.groups[place]
        if len(table.columns) == 1 or int(group.max()) + 1 == len(group):
            return middles
        weights = np.maximum(self.one_ways[place].counts[:-1], 1e-9)
        size = int(group[:-1].max()) + 1
        sums = np.bincount(group[:-1], weights=weights * middles, minlength=size)
        found: Floats = sums / np.bincount(group[:-1], weights=weights, minlength=size)
        return found

    def _population_table(self, names: Sequence[str]) -> tuple[NoisyTable, str]:
        if not self.one_row:
            raise QuestionError(
                "Intervals and tests for the population need one row per person; this table counts rows with weights, "
                "and rows of one person are not independent. Synthesize with of='persons'."
            )
        columns = self._places(names)
        if len(columns) == 1:
            return self._best_column(columns[0]), ""
        held = self._relation(columns)
        if held is None:
            raise QuestionError(
                f"{' x '.join(self.columns[c] for c in columns)}: {NOT_MEASURED}. Declare it before the purchase: "
                f"synthesize(..., relations=[{tuple(self.columns[c] for c in columns)}])."
            )
        return held[0], EXPLORATORY if held[1] else ""

    def _best_column(self, column: int) -> NoisyTable:
        """Return the table that tells most about one column: its own, or the sums of a declared relation.

        A relation that was measured in groups of the column's values says nothing about single values.
        """
        own, group = self.one_ways[column], self.groups[column]
        if int(group.max()) + 1 < len(group):
            return own
        sums = [
            NoisyTable((column,), np.asarray(sum_to(t.counts, t.columns, (column,))), t.variance * others)
            for t in self.relations[: self.declared]
            if column in t.columns
            for others in [t.counts.size // t.counts.shape[t.columns.index(column)]]
        ]
        return min([own, *sums], key=lambda table: table.variance)

    def _relation(self, columns: Columns) -> tuple[NoisyTable, bool] | None:
        """Return the most precise measured table that holds columns, declared ones first."""
        wanted = set(columns)
        fits = [(place, t) for place, t in enumerate(self.relations) if wanted <= set(t.columns)]
        if not fits:
            return None
        place, table = min(fits, key=lambda f: (f[0] >= self.declared, f[1].variance * f[1].counts.size))
        return table, place >= self.declared

    def _factor(self, table: NoisyTable) -> int:
        """Return by what a p-value is multiplied: the number of candidates where the search has chosen."""
        known = next(place for place, one in enumerate(self.relations) if one is table)
        return 1 if known < self.declared else max(1, self.candidates)

    def _rates(self, table: NoisyTable, *, flat: bool = False) -> Floats:
        source = self._source(f"intervals {table.columns} {table.variance:.6g}")
        return draw_rates(table, DRAWS, pure=self.pure, flat=flat, source=source)

    def _shares(self, table: NoisyTable) -> Floats:
        """Return draws of each cell's share, against the sum of all others: small cells add no bias to each other."""
        rest = NoisyTable(table.columns, table.counts.sum() - table.counts, table.variance * (table.counts.size - 1))
        rates, others = self._rates(table), self._rates(rest)
        found: Floats = rates / (rates + others)
        return found

    def _labels(self, column: int, table: NoisyTable) -> list[str]:
        labels, group = self.variables[column].labels, self.groups[column]
        if len(table.columns) == 1:
            return list(labels)
        return [", ".join(labels[v] for v in np.flatnonzero(group == g)) for g in range(int(group.max()) + 1)]

    def _named(self, column: int) -> Integers:
        """Return the groups of a column without the one of missing and other values, where it stands alone."""
        group = self.groups[column]
        rest = group[-1]
        alone = int((group == rest).sum()) == 1
        return np.array([g for g in range(int(group.max()) + 1) if not (alone and g == rest)])

    def _places(self, names: Iterable[str]) -> Columns:
        known = {name: place for place, name in enumerate(self.columns)}
        for name in names:
            if name not in known:
                raise QuestionError(f"The synthetic table has no column '{name}'.{did_you_mean(name, known)}")
        found = tuple(sorted({known[name] for name in names}))
        if not found:
            raise QuestionError("The question names no column of the synthetic table.")
        return found

    # -- words and files -----------------------------------------------------------------------------

    def __str__(self) -> str:
        found = [
            f"Synthetic table: {len(self)} rows of nobody, {len(self.columns)} columns",
            f"  cost       {self.guarantee.sentence}",
        ]
        if self.counted:
            found.append(f"  counts     {self.counted}")
        found.append(f"  columns    expected distance {100 * self.fidelity['columns']:.1f} % (total variation)")
        if not self.measured:
            found.append("  relations  none: the columns are independent of each other in this table")
        found += [f"  relation   {relation}" for relation in self.measured]
        found += [f"  note       {note}" for note in (*self.notes, *self.remarks)]
        return "\n".join(found)

    def to_dict(self) -> dict[str, Any]:
        """Return the table as plain values, ready for JSON: measurements and model; rows follow from them."""
        rules = {"impossible": [rule.to_dict(self.columns) for rule in self.rules]} if self.rules else {}
        return rules | {
            "format": FORMAT,
            "question": json.loads(canonical_json(dict(self.question))),
            "columns": [v.to_dict() | {"declared": v.column.to_dict()} for v in self.variables],
            "one_ways": [_table_dict(table) for table in self.one_ways],
            "groups": [group.tolist() for group in self.groups],
            "relations": [_table_dict(table) for table in self.relations],
            "declared": self.declared,
            "candidates": self.candidates,
            "total": self.total,
            "cliques": [{"columns": list(c), "weights": w.ravel().tolist()} for c, w in self.cliques],
            "seed": self.seed,
            "pure": self.pure,
            "guarantee": guarantee_dict(self.guarantee),
            "cost": self.cost.to_dict(),
            "counted": self.counted,
            "one_row": self.one_row,
            "notes": list(self.notes),
            "key": self.key,
        }

    def to_json(self) -> str:
        """Return the table as JSON text: the same text for the same table."""
        return json.dumps(self.to_dict(), sort_keys=True, ensure_ascii=False, allow_nan=False)

    @classmethod
    def from_json(cls, text: str | bytes) -> SyntheticTable:
        """Read a table from JSON text."""
        try:
            values = json.loads(text)
            if values["format"] != FORMAT:
                raise ValueError
            variables = tuple(
                Variable(
                    entry["column"],
                    column_from_dict(entry["column"], entry["declared"]),
                    Bins(entry["edges"]) if "edges" in entry else tuple(entry["keys"]),
                )
                for entry in values["columns"]
            )
            sizes = [variable.size for variable in variables]
            groups = tuple(np.array(group, dtype=np.int64) for group in values["groups"])
            if [len(group) for group in groups] != sizes:
                raise ValueError
            shape = [int(group.max()) + 1 for group in groups]
            guarantee = read_guarantee(values["guarantee"])
            cost = Cost.from_dict(values["cost"])
            pure, total = bool(values["pure"]), float(values["total"])
            if not isinstance(guarantee, PureDP if pure else ApproxDP) or not costs_as_said(guarantee, cost):
                raise ValueError
            one_ways = tuple(_read_table(plain, sizes) for plain in values["one_ways"])
            if [table.columns for table in one_ways] != [(c,) for c in range(len(sizes))] or not 1 <= total < math.inf:
                raise ValueError
            found = cls(
                question=dict(values["question"]),
                variables=variables,
                one_ways=one_ways,
                groups=groups,
                relations=tuple(_read_table(plain, shape) for plain in values["relations"]),
                declared=int(values["declared"]),
                candidates=int(values["candidates"]),
                total=total,
                cliques=tuple(
                    (
                        tuple(plain["columns"]),
                        np.array(plain["weights"], dtype=np.int64).reshape([shape[c] for c in plain["columns"]]),
                    )
                    for plain in values["cliques"]
                ),
                seed=bytes.fromhex(values["seed"]).hex(),
                pure=pure,
                guarantee=guarantee,
                cost=cost,
                counted=str(values["counted"]),
                one_row=bool(values["one_row"]),
                notes=tuple(str(note) for note in values["notes"]),
                key=values["key"],
                rules=tuple(CellRule.from_dict(plain, variables) for plain in values.get("impossible", ())),
            )
            if {*found.tree.cliques} != {columns for columns, _ in found.cliques}:
                raise ValueError
            return found
        except (KeyError, TypeError, ValueError, AttributeError, IndexError, RecursionError):
            raise DataError(f"This is no stored synthetic table ('{FORMAT}'). Use what to_json gave.") from None


def expected_distance(table: NoisyTable, total: float) -> float:
    """Return the expected total variation that noise alone causes: sqrt(2/pi) sigma cells / (2 n), at most 1."""
    return min(1.0, math.sqrt(2 / math.pi * table.variance) * table.counts.size / (2 * total))


def frame_of(columns: Sequence[Decoded], backend: str | None) -> Any:
    """Return columns as a data frame of a library."""
    if backend is not None and backend not in BACKENDS:
        raise ParameterError(f"Unknown backend '{backend}'.{did_you_mean(backend, BACKENDS)}")
    chosen = backend or next((name for name in BACKENDS if importlib.util.find_spec(name)), None)
    if chosen is None or importlib.util.find_spec(chosen) is None:
        return build_frame({}, backend)  # says what is missing
    if chosen == "pandas":
        import pandas

        return pandas.DataFrame({column.name: _pandas(column) for column in columns})
    if chosen == "polars":
        import polars

        found = {}
        for column in columns:
            if column.values is None:
                gone = column.places.astype(bool)
                found[column.name] = polars.Series([*column.numbers]).set(polars.Series(gone), None)  # type: ignore[misc]
            else:
                found[column.name] = polars.Series([*column.values, None], strict=False).gather(column.places)
        return polars.DataFrame(found)
    import pyarrow

    arrays = {}
    for column in columns:
        if column.values is None:
            arrays[column.name] = pyarrow.array(column.numbers, mask=column.places.astype(bool))
        else:
            arrays[column.name] = pyarrow.array([*column.values, None]).take(pyarrow.array(column.places))
    return pyarrow.table(arrays)


def _pandas(column: Decoded) -> Any:
    import pandas

    if column.values is None:
        assert column.numbers is not None
        return np.where(column.places.astype(bool), np.nan, column.numbers)
    kinds = {type(value) for value in column.values}
    dtype: Any = {bool: "boolean", int: "Int64", float: "Float64"}.get(next(iter(kinds)), object)
    if len(kinds) > 1:
        dtype = "Float64" if kinds <= {int, float} else object
    known = pandas.array([*column.values, None], dtype=dtype)
    return known.take(column.places)


def _written(column: Decoded) -> list[Any]:
    """Return a column as cells of a CSV file: a text that a spreadsheet would run as a formula is no such text."""
    if column.values is None:
        return ["" if value is None else value for value in column.to_list()]
    known = [_plain_text(value) for value in column.values] + [""]
    return [known[place] for place in column.places.tolist()]


def _plain_text(value: Any) -> Any:
    if isinstance(value, bool):
        return "true" if value else "false"
    return safe_cell(value)


def _columns_of(question: Question | Iterable[str]) -> tuple[str, ...]:
    if isinstance(question, Question):
        if question.is_narrowed:
            raise QuestionError("Conditions are not part of margins and intervals: ask for the whole table of counts.")
        if question.per_person is not None:
            raise QuestionError("Which row of each person counts was said in the purchase: leave out per_person=.")
        return tuple(sorted(question.fields))
    names = (question,) if isinstance(question, str) else tuple(question) if isinstance(question, Iterable) else ()
    if not all(isinstance(name, str) for name in names):
        raise QuestionError("A figure is a question, or the names of its columns: ['age', 'pirads'].")
    return names


def _margin(variance: float, cells: int, confidence: float) -> float:
    """Return the margin of a sum of cells, one person of rounding included."""
    return student_quantile(0.5 + confidence / 2, 10**6) * math.sqrt(variance * cells) + 1


def _collapsed(table: NoisyTable, places: Columns) -> NoisyTable:
    """Return a table summed over every column but some."""
    counts = np.asarray(sum_to(table.counts, table.columns, places))
    return NoisyTable(places, counts, table.variance * (table.counts.size // counts.size))


def _share(logit: float) -> float:
    return 1 / (1 + math.exp(-max(-700.0, min(700.0, logit))))


def _table_dict(table: NoisyTable) -> dict[str, Any]:
    return {"columns": list(table.columns), "counts": table.counts.ravel().tolist(), "variance": table.variance}


def _read_table(plain: Mapping[str, Any], sizes: Sequence[int]) -> NoisyTable:
    columns = tuple(int(c) for c in plain["columns"])
    counts = np.array(plain["counts"], dtype=np.float64).reshape([sizes[c] for c in columns])
    variance = float(plain["variance"])
    if not (variance > 0 and np.isfinite(counts).all()):
        raise ValueError
    return NoisyTable(columns, counts, variance)


__all__ = ["NOT_MEASURED", "REST", "Margin", "PopulationIntervals", "Relation", "SyntheticTable"]
