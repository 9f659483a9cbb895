"""A question against a schema, and at a price: everything public about a release, made before any data are touched.

``Facts`` goes with a question from the first check to the answer. ``Facts.at`` adds the privacy loss and gives the
``Purchase``: what the engine counts, which noise is added, what the ledger is charged.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pydplib.budget.costs import Cost
from pydplib.budget.keys import canonical_json, sha256_hex
from pydplib.budget.units import exact
from pydplib.engine import Bound, ExactTable, Measure, Plan, Table
from pydplib.errors import ParameterError, QuestionError
from pydplib.guarantee import ApproxDP, PureDP
from pydplib.release.grids import narrowed_bounds, number_column
from pydplib.release.public import check_epsilon
from pydplib.release.results.axes import Axis
from pydplib.release.results.findings import BOUNDED
from pydplib.release.results.release import Release
from pydplib.release.statistics.noise import COVERAGE, Expected, Noise, Noisy, check_confidence
from pydplib.release.statistics.question import Question, offered_statistics
from pydplib.release.unknown import KEYS_SHARE, KeyNoise
from pydplib.schema import Column, Schema

_SURE = 5.0  # standard deviations beyond which noise alone explains no difference


@dataclass(frozen=True, kw_only=True)
class Facts:
    """A question with everything public filled in; no epsilon yet, and no data.

    Attributes:
        question: The question.
        schema: The table's public facts.
        canonical: The question in the one spelling that all of its spellings share.
        groups: Column -> public keys, ``Bins``, or None for unknown keys.
        bound: How one person's contribution is bounded.
        axes: The axes of the answer's groups; empty where the keys are unknown.
        number: The column whose numbers are measured, where any are.
    """

    question: Question
    schema: Schema
    canonical: dict[str, Any]
    groups: dict[str, Any]
    bound: Bound
    axes: tuple[Axis, ...]
    number: Column | None = None
    _measured: dict[str, Any] = field(default_factory=dict, init=False, repr=False, compare=False)
    _last: dict[str, Purchase] = field(default_factory=dict, init=False, repr=False, compare=False)

    @classmethod
    def of(cls, question: Question, schema: Schema) -> Facts:
        """Check a question against a schema and fill in what the schema declares.

        Raises:
            QuestionError: If it does not fit; the message names the column and the next step.

        Examples:
            >>> from pydplib.release import Mean
            >>> from pydplib.schema import Flag, Number
            >>> found = Facts.of(Mean("age", by="bph"), Schema({"age": Number(18, 100), "bph": Flag()}))
            >>> found.cells, found.canonical["by"]
            (2, [{'column': 'bph', 'keys': [False, True]}])
        """
        if not isinstance(question, Question) or not question.ask:
            raise QuestionError(
                f"A question is Count(), Mean('age'), Histogram('age') and the like. Got {type(question).__name__}."
            )
        for name in sorted(question.fields | question.filters):
            column = schema.column(name)
            if not column.can_be_asked and name not in dict(question.pairs):
                raise QuestionError(f"Column '{name}' is free text: no statistic can measure it.")
            if name == schema.person:
                raise QuestionError(f"'{name}' is the person column: no statistic can measure it.")
        groups = question.groups(schema)
        number = _measured_column(question, schema, groups) if question.about == "numbers" else None
        canonical = question.canonical(schema)
        bound = question.row_bound(schema) or question.bound(schema, groups)
        facts = cls(
            question=question,
            schema=schema,
            canonical=canonical,
            groups=groups,
            bound=bound,
            axes=question.axes(schema, groups),
            number=number,
        )
        if facts.has_unknown_keys:
            _check_unknown(facts)
        _ = facts.counted  # the engine's own checks of keys, conditions and sizes
        question.check(facts)
        return facts

    @cached_property
    def counted(self) -> Plan:
        """The engine's plan of the rows themselves, per group."""
        where, after = self.question.split_conditions(self.schema)
        return Plan(
            self.schema, measures=[Measure("count")], where=where, by=self.groups, bound=self.bound, after=after
        )

    @cached_property
    def has_unknown_keys(self) -> bool:
        """Whether a group's keys are unknown."""
        return any(keys is None for keys in self.groups.values())

    @property
    def rows(self) -> int:
        """The most rows of one person that count, over all groups."""
        return self.bound.max_rows * (self.bound.max_groups or 1)

    @property
    def is_one_row_each(self) -> bool:
        """Whether every row that counts is another person's: only then can a table stand for a population."""
        return self.bound.person is None or self.bound.max_rows == 1

    @property
    def cells(self) -> int:
        """How many groups (cells, for counts) the answer has; 1 where they are unknown."""
        found = 1
        for axis in self.axes:
            found *= len(axis.keys)
        return found

    @cached_property
    def column(self) -> Column:
        """The column that is measured."""
        return self.number or number_column(self.schema, self.question.measured[0], self.question.ask)

    @cached_property
    def bounds(self) -> tuple[float, float]:
        """The public bounds of the measured column, narrowed by the conditions on it."""
        return narrowed_bounds(self.column, self.question.measured[0], (*self.counted.where, *self.counted.after))

    @cached_property
    def unit(self) -> str:
        """The unit of the answer's values."""
        return self.question.unit(self)

    @cached_property
    def fingerprint(self) -> str:
        """A hash of the declarations that the answer depends on: another bound is another question."""
        used = self.question.fields | self.question.filters
        read, bound = self.counted.read_with(self.question.measured), self.bound.to_dict()
        facts = {"table": self.schema.name, "columns": self.schema.declared(sorted(used | read)), "bound": bound}
        return sha256_hex(canonical_json(facts))

    def plan(self, measures: Iterable[Measure], *, by: Mapping[str, Any] | None = None) -> Plan:
        """Return the engine's plan of these measures; by the question's groups, or by others."""
        if by is None:
            return self.counted.measuring(measures)
        whole = self.counted
        return Plan(self.schema, measures=measures, where=whole.where, by=by, bound=self.bound, after=whole.after)

    def measures(self, epsilon: Fraction) -> tuple[Measure, ...]:
        """Return what the engine counts at a privacy loss; the plan and the noise are made of the same."""
        if self._measured.get("at") != epsilon:
            self._measured.update(at=epsilon, found=self.question.measures(self, epsilon))
        found: tuple[Measure, ...] = self._measured["found"]
        return found

    def even_group(self, size: float | None) -> float | None:
        """Return the rows of an even group, where the size is known and no condition leaves rows out."""
        return None if size is None or self.question.is_narrowed else max(size, 1.0) / self.cells

    def at(self, epsilon: Any, delta: Any = None, *, confidence: float = COVERAGE) -> Purchase:
        """Return the question with its plan, noise and cost at a given privacy loss.

        Args:
            epsilon: The privacy loss of the whole answer.
            delta: For unknown keys only: the chance that a key of one person alone is shown.
            confidence: How often margins and intervals cover.
        """
        last = self._last.get("at")
        same = last is not None and isinstance(epsilon, Fraction) and last.epsilon == epsilon
        if last is None or not same or (last.delta, last.confidence) != (delta or 0, confidence):
            last = self._last["at"] = self._purchase(epsilon, delta, confidence)
        return last

    def _purchase(self, epsilon: Any, delta: Any, confidence: float) -> Purchase:
        loss, sure = check_epsilon(epsilon), check_confidence(confidence)
        if not self.has_unknown_keys:
            plan, noise = self._noise(loss)
            return Purchase(
                facts=self,
                epsilon=loss,
                delta=Fraction(0),
                plan=plan,
                noise=noise,
                cost=noise.cost(loss),
                confidence=sure,
            )
        chance = exact(delta, name="delta") if delta is not None else None
        if chance is None or not 0 < chance < 1:
            raise ParameterError(
                "Unknown keys need delta: the chance that a key of one person alone is shown, e.g. 1e-7."
            )
        share = Fraction(1) if self.question.is_count else KEYS_SHARE
        plan, noise = self._noise(loss if self.question.is_count else loss * (1 - share))
        keys = KeyNoise(self.bound.max_groups or 1, self.bound.max_rows, loss * share, chance)
        cost = Cost.approximate(loss, delta=chance, mechanism="unknown_keys")
        return Purchase(
            facts=self, epsilon=loss, delta=chance, plan=plan, noise=noise, cost=cost, keys=keys, confidence=sure
        )

    def _noise(self, epsilon: Fraction) -> tuple[Plan, Noise]:
        """Return what the engine counts and the noise of it; the keys need the number of rows as well."""
        measures = self.measures(epsilon)
        extra = (Measure("count"),) if self.has_unknown_keys and not self.question.is_count else ()
        return self.plan((*measures, *extra)), self.question.noise(self, epsilon)


def _measured_column(question: Question, schema: Schema, groups: dict[str, Any]) -> Column:
    name = question.measured[0]
    if name in groups:
        raise QuestionError(
            f"'{question.ask} of {name} by {name}' measures a column within its own groups. Ask how it is spread: "
            f"histogram {name}, in Python Histogram('{name}')."
        )
    return number_column(schema, name, question.ask)


def _check_unknown(facts: Facts) -> None:
    name = next(name for name, keys in facts.groups.items() if keys is None)
    if not facts.question.takes_unknown_keys:
        fit = [kind.__name__ for kind in offered_statistics().values() if kind.takes_unknown_keys]
        raise QuestionError(
            f"{type(facts.question).__name__} needs public keys. Of unknown keys only {', '.join(fit[:-1])} and "
            f"{fit[-1]} are asked: the others count "
            "into many cells per key, and nobody knows how many keys there are before they are paid for. First ask "
            f"Count(by={{'{name}': None}}), then declare '{name}' as a Category of the keys that it shows."
        )
    if len(facts.groups) > 1:
        raise QuestionError(f"Unknown keys are asked of one column at a time: by={{'{name}': None}}.")


@dataclass(frozen=True, kw_only=True)
class Purchase:
    """Everything about a release but the data.

    Attributes:
        facts: The question against the schema.
        epsilon: The privacy loss, exactly.
        delta: The chance that it may fail; 0 but for unknown keys.
        plan: What the engine will be asked.
        noise: What will be added.
        cost: What will be debited.
        keys: How unknown keys are chosen, if they are unknown.
        confidence: How often margins and intervals cover.
    """

    facts: Facts
    epsilon: Fraction
    delta: Fraction
    plan: Plan
    noise: Noise
    cost: Cost
    keys: KeyNoise | None = None
    confidence: float = COVERAGE

    @property
    def question(self) -> Question:
        """The question."""
        return self.facts.question

    @cached_property
    def guarantee(self) -> PureDP | ApproxDP:
        """What the release will guarantee."""
        if self.delta:
            return ApproxDP(float(self.epsilon), float(self.delta))
        return PureDP(float(self.epsilon))

    @cached_property
    def parameters(self) -> dict[str, Any]:
        """What else decides the answer, for the key of the release."""
        noise = self.noise.to_dict()
        parameters = {"declared": self.facts.fingerprint, "noise": noise, "version": 1}
        # 95 % is what every key has meant since the first: it is not written down.
        return parameters if self.confidence == COVERAGE else parameters | {"confidence": str(self.confidence)}

    @cached_property
    def plans(self) -> tuple[Plan, ...]:
        """What the engine will be asked: the plan, or the tables of counts that the answer is made of."""
        return self.question.plans(self.facts, self.plan)

    def count(self, table: Table) -> ExactTable:
        """Return an engine's exact integers: those of the plan, or of all tables one after the other.

        Private: only ever called after the debit, or for the owner's own eyes.
        """
        plans = self.plans
        if plans == (self.plan,):
            return table.aggregate(self.plan)
        cells = np.concatenate([counted.ravel() for counted in table.tables(plans)])
        return ExactTable(self.plan, (), (cells,))

    def expect(self, size: float | None) -> Expected:
        """Return the margin that the release will have, as far as public facts tell.

        Margins of counts, sums and ranks are exact. Those of means and variances are for an even group of
        size / groups rows: at most, for means; for evenly spread values, for variances. Under conditions nobody knows
        how many rows meet them, so nothing that depends on that number is promised.

        Args:
            size: The declared or bought number of rows.
        """
        each = self.facts.even_group(size)
        return self.question.expect(self.facts, self.noise, each, confidence=self.confidence)

    def answer(self, table: ExactTable) -> Release:
        """Return the release of an engine's exact integers. Only ever called after the debit.

        Proof: the statistic's noise (``release.statistics``, ``release.unknown``) is applied to integers whose
        sensitivity the plan's bound fixes (``engine.sensitivity``); everything after it, and everything else in the
        release, follows from noisy numbers and public facts.
        """
        facts, question, axes = self.facts, self.question, self.facts.axes
        if self.keys is not None:
            table, axes = self.keys.apply(table, facts)
        if self.keys is not None and question.is_count:
            noisy = self.keys.counted(table, confidence=self.confidence)
        else:
            noisy = question.answer(facts, self.noise, table, confidence=self.confidence)
        notes = (
            *self._key_words(),
            *question.notes(facts, self.noise, noisy),
            *_doubts(noisy, axes),
            *self._outgrown(noisy),
        )
        scale, moved = self.noise.reach()
        axes = question.answer_axes(axes)
        values: NDArray[Any] = noisy.values.ravel()
        return Release(
            question=facts.canonical,
            values=values,  # type: ignore[arg-type]
            guarantee=self.guarantee,
            cost=self.cost,
            mechanism=self.noise.mechanism,
            scale=scale,
            sensitivity=moved,
            axes=axes,
            low=_row(noisy.low),
            high=_row(noisy.high),
            margins=_row(noisy.margins),
            simultaneous=noisy.simultaneous if axes else None,
            margin_unit=self.noise.margin_unit,
            sizes=_row(noisy.sizes),
            doubtful=_doubtful(noisy, values.size),
            confidence=self.confidence,
            noisy=_row(noisy.raw) if axes else None,
            unit=facts.unit,
            choices=question.choices(facts),
            counted=question.counted(facts),
            notes=notes,
            persons=self.facts.is_one_row_each,
            bounds=self._bounds(),
            population_low=None if noisy.population is None else tuple(noisy.population[0]),
            population_high=None if noisy.population is None else tuple(noisy.population[1]),
            findings=noisy.findings,
            counts=None if noisy.counts is None else tuple(noisy.counts.ravel().tolist()),
        )

    def _bounds(self) -> tuple[float, float] | None:
        """Return the public bounds of the values, where an interval for the population needs them."""
        if self.question.ask not in BOUNDED:
            return None
        low, high = self.facts.bounds
        return float(low), float(high)

    def _key_words(self) -> tuple[str, ...]:
        if self.keys is None:
            return ()
        return (
            f"Groups are shown where the noisy count exceeds {self.keys.threshold}; smaller ones stay hidden, and "
            "margins near that number are too narrow.",
        )

    def _outgrown(self, noisy: Noisy) -> tuple[str, ...]:
        """Return a note where there are more rows than the schema declares; judged by the noisy numbers alone."""
        declared = self.facts.schema.size
        rows = self.noise.found_rows(noisy)
        if declared is None or rows is None:
            return ()
        found, spread = rows
        most = declared * self.facts.rows
        if found <= most + _SURE * spread:  # noise alone gets this far once in a thousand releases
            return ()
        persons = "1 person" if declared == 1 else f"{declared} persons"
        counted = "persons" if self.question.is_count and self.facts.unit == "persons" else "rows"
        return (
            f"The schema declares {persons}, but there are about {found:.0f} {counted}: the table outgrew its "
            "declared size. The answer holds; prices and expected margins made from that size do not. Correct size= "
            "in the schema.",
        )


def _doubts(noisy: Noisy, axes: tuple[Axis, ...]) -> tuple[str, ...]:
    """Return which groups the noise alone could have made, judged by noisy numbers alone."""
    if noisy.doubtful is None or not noisy.doubtful.any():
        return ()
    if not axes:
        return ("Noise alone could have made as many rows as these; do not rely on the answer.",)
    labels = [", ".join(parts) for parts in product(*(axis.labels for axis in axes))]
    names = [label for label, doubt in zip(labels, noisy.doubtful.tolist(), strict=True) if doubt]
    return (f"Noise alone could have made these groups; do not rely on them: {'; '.join(names)}.",)


def _doubtful(noisy: Noisy, values: int) -> Any:
    """Return 1 for every value of a group that noise alone could have made, else 0; None where there is no such group.

    Args:
        noisy: What the noise left.
        values: How many values the release has: several for each group where several quantiles were asked.
    """
    if noisy.doubtful is None or not noisy.doubtful.any():
        return None
    return np.repeat(noisy.doubtful.ravel().astype(int), values // noisy.doubtful.size)


def _row(numbers: NDArray[Any] | None) -> Any:
    return None if numbers is None else numbers.ravel()
