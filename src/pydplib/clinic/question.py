"""Clinical questions: one joint table of noisy counts, one row per person, and everything else computed from it."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import TYPE_CHECKING, Any, ClassVar, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from pydplib.clinic.intervals import Estimate, Floats, laplace_variance, plain
from pydplib.engine import Bins, Bound, ExactTable, Measure, OneRow, RowCondition
from pydplib.errors import QuestionError
from pydplib.release.results.axes import Axis
from pydplib.release.results.findings import Finding
from pydplib.release.statistics.count import CountNoise
from pydplib.release.statistics.histogram import Binned
from pydplib.release.statistics.noise import COVERAGE, Expected, Noisy, farthest
from pydplib.release.statistics.question import By, Conditions, Question, Words, group_axes, public_salt, to_groups
from pydplib.schema import OTHER, Column, Schema

if TYPE_CHECKING:
    from pydplib.release.facts import Facts

_WORTH = 3.0  # times the noise of all cells together: fewer persons than that say nothing

Wanted: TypeAlias = Literal["any", "yes/no", "score", "outcome", "time", "date"]
"""What a column must be: of two values, of numbers (values or bins), either of these, a time in bins, a date."""

LEFT_OUT = "Persons with a missing or undeclared value in one of these columns are left out."


@dataclass(frozen=True)
class Result:
    """What a clinical question computes from noisy counts: the estimate of each value, and what else it finds."""

    estimate: Estimate
    findings: tuple[Finding, ...] = ()
    sizes: Floats | None = None
    notes: tuple[str, ...] = field(default=())


class PersonCounts(Question):
    """What questions about persons share: noisy counts of one row of each, and estimates that follow from them.

    Proof: every person is in at most one cell of each table that is counted, because one row of each counts;
    ``CountNoise`` for that many tables on all cells is epsilon-DP, and everything else is computed from noisy counts
    and public facts.

    Where a person has several rows, ``per_person=`` says which one counts; without it, a keyed hash picks one.
    """

    fewer: ClassVar[str] = "fewer or wider bins, fewer groups"

    def bound(self, schema: Schema, groups: Mapping[str, Any]) -> Bound:
        """Return one row of each person."""
        if schema.person is None:
            return Bound.from_schema(schema)
        return Bound(schema.person, 1, mode="sample", salt=public_salt(schema))

    def _who_counts(self, facts: Facts) -> tuple[str, bool]:
        if facts.bound.person is None or self.per_person is not None or facts.schema.max_rows_per_person == 1:
            return ("one row per person counts", False) if facts.bound.mode == "sample" else super()._who_counts(facts)
        return "one row of each person counts, picked by a public rule", True

    def axes(self, schema: Schema, groups: Mapping[str, Any]) -> tuple[Axis, ...]:
        """Return the axes of the answer."""
        return ()

    def unit(self, facts: Facts) -> str:
        """Return the unit of the values."""
        return ""

    def shape(self, facts: Facts) -> tuple[int, ...]:
        """Return the shape of the table that is measured."""
        return tuple(len(keys.keys if isinstance(keys, Bins) else keys) for keys in facts.groups.values())

    def check(self, facts: Facts) -> None:
        """Raise where a column does not fit; by public facts alone."""
        self.check_columns(facts)

    def check_columns(self, facts: Facts) -> None:
        """Raise ``QuestionError`` where a column does not fit."""

    # -- noise -----------------------------------------------------------------------------------

    def measures(self, facts: Facts, epsilon: Fraction) -> tuple[Measure, ...]:
        """Return the number of persons in each cell."""
        return (Measure("count"),)

    def noise(self, facts: Facts, epsilon: Fraction) -> CountNoise:
        """Return the noise of all cells together; refuse where public facts say that it would hide the answer."""
        made = CountNoise(self.tables * facts.rows, facts.bound.scale, math.prod(self.shape(facts)), epsilon)
        size = facts.schema.size
        if size is not None and not self.is_narrowed:
            self._check_worth(facts, made, float(size))
        return made

    def least_persons(self, facts: Facts) -> float:
        """Return the persons that the question needs at least, in standard deviations of one cell's noise."""
        return _WORTH * math.sqrt(self.largest(facts))

    @property
    def tables(self) -> int:
        """How many tables are counted: one person is in one cell of each."""
        return 1

    def largest(self, facts: Facts) -> int:
        """Return the cells of the largest table."""
        return math.prod(self.shape(facts))

    def _check_worth(self, facts: Facts, noise: CountNoise, size: float) -> None:
        found = self._hidden(facts, noise, size)
        if found:
            raise QuestionError(f"{found[0]} Nothing was spent. {found[1]}")

    def _hidden(self, facts: Facts, noise: CountNoise, size: float) -> tuple[str, str] | None:
        """Return that the noise would hide the answer about this many persons, and the way out; else none."""
        spread, needed = math.sqrt(laplace_variance(noise.reach()[0])), self.least_persons(facts)
        if size >= needed * spread:
            return None
        cells = self.largest(facts)
        enough = math.sqrt(2) * noise.rows * needed / max(size, 1.0)
        return (
            f"The noise would hide this answer: {cells} cells of about {max(size, 0.0) / cells:.1f} persons each, and "
            f"noise of about {spread:.1f} persons in each.",
            f"Take {self.fewer}, or an epsilon of at least {enough:.2g}.",
        )

    def warnings(self, facts: Facts, noise: CountNoise, size: float | None) -> tuple[str, ...]:
        """Return that the noise would hide the answer, or below how many persons it would, where nobody knows.

        The number of rows is at least that of persons, and no more than the limit of rows times that.
        """
        spread = math.sqrt(laplace_variance(noise.reach()[0]))
        least = math.ceil(self.least_persons(facts) * spread)
        if size is not None and not self.is_narrowed:
            hidden = self._hidden(facts, noise, size)
            if hidden or size >= least * facts.schema.max_rows_per_person:
                return (" ".join(hidden),) if hidden else ()
        who = "meet the conditions" if self.is_narrowed else "there are"
        return (
            f"How many persons {who} is not public. With fewer than about {least}, noise of about {spread:.1f} persons "
            f"in each of {self.largest(facts)} cells hides the answer. If that may be, count the persons first, or "
            f"take {self.fewer} or a larger epsilon.",
        )

    def result(self, facts: Facts, counts: Floats, scale: float, confidence: float) -> Result:
        """Return what follows from noisy counts.

        Args:
            facts: The question against the schema.
            counts: Noisy persons per cell, in the shape of the table.
            scale: The scale of their discrete Laplace noise; 0 for exact counts.
            confidence: How often intervals cover.
        """
        raise NotImplementedError

    def answer(self, facts: Facts, noise: CountNoise, table: ExactTable, *, confidence: float = COVERAGE) -> Noisy:
        """Return the estimates of noisy counts, with both intervals."""
        raw = noise.apply(table[0], confidence=confidence).raw
        assert raw is not None
        counts = np.asarray(raw, dtype=np.float64).reshape(self.shape(facts))
        found = self.result(facts, counts, noise.reach()[0], confidence)
        best = found.estimate
        values = np.atleast_1d(np.asarray(best.value, dtype=np.float64))
        low, high = (np.atleast_1d(np.asarray(end, dtype=np.float64)) for end in (best.noise_low, best.noise_high))
        # Statistics of tests have no interval (NaN); ends that the noise hides are infinite.
        known = bool(np.isfinite(low).all() and np.isfinite(high).all())
        population = tuple([plain(end) for end in np.atleast_1d(ends).ravel()] for ends in (best.low, best.high))
        return Noisy(
            values,
            low=low if known else None,
            high=high if known else None,
            margins=farthest(values, low, high) if known else None,
            sizes=found.sizes,
            population=None if np.isnan(best.low).all() else (population[0], population[1]),
            findings=found.findings,
            counts=counts,
        )

    def expect(self, facts: Facts, noise: CountNoise, each: float | None, *, confidence: float = COVERAGE) -> Expected:
        """Return the expected noise of a cell in percent of the persons in it, where these are known."""
        if each is None:
            return Expected(None)
        persons = each * facts.cells / self.largest(facts)
        return Expected(None, noise_percent=100 * noise.expected / persons)

    def band_epsilon(self, facts: Facts, target: float, each: float) -> float:
        """Return the epsilon at which a cell's expected noise is ``target`` times its persons."""
        grid = 1 / facts.bound.scale
        persons = each * facts.cells / self.largest(facts)
        return self.tables * facts.rows / grid * math.asinh(grid / (target * persons))

    def notes(self, facts: Facts, noise: CountNoise, noisy: Noisy) -> tuple[str, ...]:
        """Return what a reader must know."""
        tests = sum(found.p is not None for found in noisy.findings)
        found = [*self.words(facts), LEFT_OUT]
        if noisy.low is None and noisy.population is not None:
            found.append("The noise alone could hide some of these numbers: there is no interval of the noise.")
        if tests > 1:
            found.append(f"{tests} tests: of many, some look significant by chance; correct them (dp.clinic.holm).")
        return tuple(found)

    def words(self, facts: Facts) -> tuple[str, ...]:
        """Return what a reader must know about the method."""
        return ()

    def exact(self, facts: Facts, noise: CountNoise, table: ExactTable) -> NDArray[np.float64]:
        """Return the estimate of exact counts: for the owner's own eyes."""
        counts = np.asarray(table[0] / noise.per_row, dtype=np.float64).reshape(self.shape(facts))
        return np.atleast_1d(np.asarray(self.result(facts, counts, 0.0, COVERAGE).estimate.value, dtype=np.float64))


@dataclass(frozen=True, repr=False, init=False)
class Clinical(PersonCounts, Binned):
    """What clinical questions share: a column, what it is compared with, groups, and one row of each person.

    Proof: ``PersonCounts``, with one table.
    """

    wants: ClassVar[tuple[Wanted, ...]] = ()

    @classmethod
    def fits(cls, column: Column, place: int = 0) -> bool:
        """Return whether a form offers a column: only what ``check_columns`` lets through."""
        wanted = cls.wants[place] if place < len(cls.wants) else "any"
        return super().fits(column, place) and _FITTING[wanted](column)

    def __init__(
        self,
        column: str = "",
        other: str | None = None,
        *,
        edges: Any = None,
        bins: Any = None,
        by: By = None,
        where: Conditions = (),
        per_person: OneRow | None = None,
        after: Conditions = (),
    ) -> None:
        groups = dict(to_groups(by))
        if other is not None:
            groups = {other: groups.pop(other, ...), **groups}
        for name, value in (
            ("column", column), ("edges", edges), ("bins", bins), ("by", tuple(groups.items())), ("where", where),
            ("per_person", per_person), ("after", after),
        ):  # fmt: skip
            object.__setattr__(self, name, value)
        self.__post_init__()

    def __post_init__(self) -> None:
        super().__post_init__()
        if len(self.pairs) < self.api_groups[0]:
            raise QuestionError(f"A question of this kind reads: {self.example}.")
        if len(self.pairs) > self.api_groups[1]:
            raise QuestionError(f"{type(self).__name__} takes at most {self.api_groups[1]} columns besides its own.")

    @classmethod
    def read(cls, words: Words) -> Question:
        """Read a column, what it is compared with, groups and conditions."""
        column = words.column(f"the column of '{words.first}'", hint=cls.number_hint)
        other = words.column(f"a column after '{cls.joint[0]}'") if cls.joint and words.take(*cls.joint) else None
        own: dict[str, Any] = {}
        for part in cls.parts:
            if part.word and words.take(part.word):
                own[part.name] = words.number(f"a number after '{part.word}'")
        groups = words.by()
        if len(groups) + (other is not None) < cls.api_groups[0]:
            words.fail(f"'{cls.ask}' reads: {cls.example}.")
        return cls(column, other, by=groups, where=words.where(), **own)

    @classmethod
    def headline(cls, plain: Mapping[str, Any], titles: Mapping[str, str], groups: list[str]) -> str:
        """Return "Survival of Months until Recurrence by Arm"."""
        words = f"{cls.noun[:1].upper()}{cls.noun[1:]} of {titles.get(plain['of'], plain['of'])}"
        if cls.joint and groups:
            words, groups = f"{words} {cls.joint[0]} {groups[0]}", groups[1:]
        return words + (" by " + " and ".join(groups) if groups else "")

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
        """Build the question from the fields of a form."""
        name = column or ""
        cut = edges[name].edges if name in edges else None
        return cls(name, edges=cut, by=groups, where=where, **own)

    def groups(self, schema: Schema) -> dict[str, Any]:
        """Return the columns of the table with their public keys: groups first, the question's own column last."""
        found = super().groups(schema)
        return {name: declared_keys(schema, name, keys) for name, keys in found.items()}


def _is_yes_no(column: Column) -> bool:
    return not column.is_binned and len(column.listed) == 2


def _is_score(column: Column) -> bool:
    try:
        return column.is_ranged or bool([float(value) for value in column.listed])
    except (TypeError, ValueError):
        return False


_FITTING: dict[Wanted, Callable[[Column], bool]] = {
    "any": lambda column: True,
    "yes/no": _is_yes_no,
    "score": _is_score,
    "outcome": lambda column: _is_yes_no(column) or _is_score(column),
    "time": lambda column: column.is_binned and column.holds_numbers and column.ends is not None,
    "date": lambda column: column.ends is not None and not column.holds_numbers,
}


def declared_keys(schema: Schema, name: str, keys: Any) -> Any:
    """Return keys without "other", unless somebody declared it."""
    if not isinstance(keys, tuple) or OTHER in getattr(schema.column(name), "values", ()):
        return keys
    return tuple(key for key in keys if key != OTHER)


def key_axis(facts: Facts, name: str) -> Axis:
    """Return the axis of one column of the table."""
    return group_axes(facts.schema, {name: facts.groups[name]})[0]


def values_of(facts: Facts, name: str) -> Floats:
    """Return the number that each key of a column stands for: values, 0 and 1, the middles of bins.

    Raises:
        QuestionError: If its values are no numbers.
    """
    return key_values(facts.schema, name, facts.groups[name])


def key_values(schema: Schema, name: str, keys: Any) -> Floats:
    """Return the number that each of these keys of a column stands for."""
    column = schema.column(name)
    if isinstance(keys, Bins):
        edges = np.asarray(keys.numbers)
        upper = edges[1:] - (1.0 if column.is_whole else 0.0)
        upper[-1] = edges[-1]
        return (edges[:-1] + upper) / 2
    try:
        return np.array([float(key) for key in keys])
    except (TypeError, ValueError):
        raise QuestionError(f"The values of '{name}' are no numbers, so they have no order to count on.") from None


def check_yes_no(facts: Facts, name: str, wanted: str) -> None:
    """Raise unless a column has two values: no and yes, or two that are declared."""
    keys = facts.groups[name]
    if isinstance(keys, Bins) or len(keys) != 2:
        raise QuestionError(f"{wanted} is a yes/no column, or one of two values. '{name}' is none: choose another one.")


def finding(name: str, found: Estimate, place: Any = (), **more: Any) -> Finding:
    """Return one estimate as a finding; ends that are infinite are left out."""
    numbers: dict[str, Any] = {
        spec: plain(np.asarray(getattr(found, spec))[place]) for spec in Estimate.__dataclass_fields__
    }
    return Finding(name, **numbers, **more)
