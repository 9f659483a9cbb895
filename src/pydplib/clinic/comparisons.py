"""Groups compared: differences of means and shares, risk ratios, odds ratios, and standard errors."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from pydplib.clinic.contrasts import Measure, compare_means, compare_shares, standard_errors
from pydplib.clinic.intervals import Estimate, Floats, laplace_variance
from pydplib.clinic.question import Clinical, Result, check_yes_no, finding, key_axis, values_of
from pydplib.errors import QuestionError
from pydplib.release.grids import column_unit
from pydplib.release.results.axes import Axis
from pydplib.release.results.findings import COMPARED_WITH
from pydplib.release.statistics.histogram import BIN_PARTS
from pydplib.release.statistics.question import (
    By,
    Conditions,
    Part,
    Question,
    Words,
    group_axes,
    one_spelling,
    plain_scalar,
    statistic,
)
from pydplib.schema import Schema

if TYPE_CHECKING:
    from pydplib.engine import OneRow
    from pydplib.release.facts import Facts


def _starts(axis: Axis) -> list[Any]:
    """Return what groups are called: values, or lower ends of bins."""
    return [key[0] if axis.kind == "bins" else key for key in axis.keys]


REFERENCE = Part(
    name="reference",
    kind="key",
    label="Compared with which group?",
    form="reference",
    word="against",
    default=None,
    help="The first group if nothing is chosen.",
)
"""The group that all others are compared with."""


@dataclass(frozen=True, repr=False, init=False)
class Compared(Clinical):
    """Every group against one of them: the reference, by default the first one that the schema declares."""

    reference: Any = None

    def __init__(
        self,
        column: str = "",
        other: str | None = None,
        *,
        reference: Any = None,
        edges: Any = None,
        bins: Any = None,
        by: By = None,
        where: Conditions = (),
        per_person: OneRow | None = None,
        after: Conditions = (),
    ) -> None:
        object.__setattr__(self, "reference", None if reference is None else plain_scalar(reference))
        super().__init__(column, other, edges=edges, bins=bins, by=by, where=where, per_person=per_person, after=after)

    @property
    def group(self) -> str:
        """The column whose groups are compared."""
        return self.pairs[0][0]

    def _own(self) -> dict[str, Any]:
        own = super()._own()
        return own if self.reference is None else own | {"reference": one_spelling(self.reference)}

    def canonical(self, schema: Schema) -> dict[str, Any]:
        """Return the question; a reference that is the first group anyway is not said."""
        plain = super().canonical(schema)
        plain.pop("reference", None)
        if self.reference is None:
            return plain
        axis = group_axes(schema, {self.group: self.groups(schema)[self.group]})[0]
        place = self._place(axis)
        return plain | {"reference": one_spelling(_starts(axis)[place])} if place else plain

    @classmethod
    def read(cls, words: Words) -> Question:
        """Read outcome and group, after "against" the reference, and conditions."""
        column = words.column(f"the column of '{words.first}'", hint=cls.number_hint)
        groups = words.by()
        if len(groups) != 1:
            words.fail(f"'{cls.ask}' reads: {cls.example}.")
        reference = words.value(next(iter(groups))) if words.take("against") else None
        return cls(column, by=groups, reference=reference, where=words.where())

    def to_form(self) -> tuple[list[tuple[str, Any]], list[str]]:
        """Return the fields of a form, the reference as text."""
        fields, groups = super().to_form()
        said = "" if self.reference is None else str(one_spelling(self.reference))
        return [(name, said if name == "reference" else value) for name, value in fields], groups

    def _place(self, axis: Axis) -> int:
        """Return the place of the reference among the groups; of a bin, its lower end is said."""
        if self.reference is None:
            return 0
        starts = _starts(axis)
        for place, start in enumerate(starts):
            if start == self.reference or str(one_spelling(start)) == str(one_spelling(self.reference)):
                return place
        listed = ", ".join(str(start) for start in starts[:10])
        raise QuestionError(f"'{self.group}' has no group '{self.reference}' to compare with. Its groups: {listed}.")

    def axes(self, schema: Schema, groups: Mapping[str, Any]) -> tuple[Axis, ...]:
        """Return the groups but the reference, each compared with it."""
        axis = group_axes(schema, {self.group: groups[self.group]})[0]
        if len(axis.keys) < 2:
            raise QuestionError(f"'{self.group}' has one group only: there is nothing to compare.")
        place = self._place(axis)
        return (
            Axis(
                axis.name,
                (*axis.keys[:place], *axis.keys[place + 1 :]),
                kind=axis.kind,
                title=axis.title,
                unit=axis.unit,
            ),
        )

    def words(self, facts: Facts) -> tuple[str, ...]:
        """Return which group the others are compared with."""
        axis = key_axis(facts, self.group)
        return (f"{COMPARED_WITH} {axis.title or axis.name} = {axis.labels[self._place(axis)]}.",)

    def _pairs_of(self, facts: Facts, counts: Floats) -> Floats:
        """Return the counts of every group next to those of the reference."""
        place = self._place(key_axis(facts, self.group))
        others = np.delete(counts, place, axis=0)
        return np.stack([others, np.broadcast_to(counts[place], others.shape)], axis=1)


_SHARED: dict[str, Any] = {
    "picture": "forest", "about": "all", "needs_group": True, "most_groups": 1, "api_groups": (1, 1),
    "is_binned": True, "parts": (*BIN_PARTS, REFERENCE),
}  # fmt: skip


@dataclass(frozen=True, repr=False, init=False)
class SharesCompared(Compared):
    """The share of a yes/no outcome in every group, against the reference."""

    wants = ("yes/no",)
    measure: ClassVar[Measure] = "difference"

    def check_columns(self, facts: Facts) -> None:
        """Raise unless the outcome has two values."""
        check_yes_no(facts, self.column, "The outcome")

    def result(self, facts: Facts, counts: Floats, scale: float, confidence: float) -> Result:
        """Return every group against the reference."""
        pairs, variance = self._pairs_of(facts, counts), laplace_variance(scale)
        found = compare_shares(pairs, variance, measure=self.measure, confidence=confidence)
        return Result(found, sizes=pairs[:, 0].sum(axis=-1))

    def words(self, facts: Facts) -> tuple[str, ...]:
        """Return which value counts as yes."""
        outcome = key_axis(facts, self.column)
        cells = "" if self.measure == "difference" else " Empty cells are cut at 0 and get half a person each."
        return (
            *super().words(facts),
            f"Shares are those of {outcome.title or outcome.name} = {outcome.labels[1]}.{cells}",
        )


@statistic(
    "difference",
    aliases=("difference of means", "difference of proportions"),
    title="Difference between groups",
    hint="How far the average, or the share of yes, of each group lies from one group's.",
    example="difference of age by bph",
    **_SHARED,
)
@dataclass(frozen=True, repr=False, init=False)
class Difference(Compared):
    """The difference of means (of numbers) or of shares (of yes/no) between each group and the reference.

    Proof: ``Clinical``. Intervals for the population: ``contrasts.compare_shares`` and ``contrasts.compare_means``.

    Args:
        column: The outcome: a number, cut into bins, or a yes/no column.
        by: The column of the groups.
        reference: The group that the others are compared with; the first one by default. Of bins, the lower end.
        edges: Public edges of the bins of a number.
        bins: Instead of edges: how many bins of even width.
        where: Conditions, all of which must hold.
        per_person: Which row of each person counts.

    Examples:
        >>> Difference("age", by="bph", bins=10)
        Difference('age', bins=10, by=['bph'])
    """

    wants = ("outcome",)

    def _is_share(self, facts: Facts) -> bool:
        return len(facts.groups[self.column]) == 2 if isinstance(facts.groups[self.column], tuple) else False

    def check_columns(self, facts: Facts) -> None:
        """Raise unless the outcome is a number or has two values."""
        if not self._is_share(facts):
            values_of(facts, self.column)

    def unit(self, facts: Facts) -> str:
        """Return the outcome's unit; shares have none."""
        return "" if self._is_share(facts) else column_unit(facts.schema.column(self.column))

    def result(self, facts: Facts, counts: Floats, scale: float, confidence: float) -> Result:
        """Return every group against the reference."""
        pairs, variance = self._pairs_of(facts, counts), laplace_variance(scale)
        sizes = pairs[:, 0].sum(axis=-1)
        if self._is_share(facts):
            return Result(compare_shares(pairs, variance, confidence=confidence), sizes=sizes)
        found = compare_means(pairs, values_of(facts, self.column), variance, confidence=confidence)
        return Result(found, sizes=sizes)

    def words(self, facts: Facts) -> tuple[str, ...]:
        """Return how values are counted."""
        binned = not self._is_share(facts) and not isinstance(facts.groups[self.column], tuple)
        return (*super().words(facts), *binning_words(facts, self.column)) if binned else super().words(facts)


@statistic(
    "risk ratio",
    aliases=("relative risk",),
    title="Risk ratio",
    hint="How many times as often the outcome happens in each group as in one of them.",
    example="risk ratio of recurrence by arm",
    **_SHARED,
)
@dataclass(frozen=True, repr=False, init=False)
class RiskRatio(SharesCompared):
    """The ratio of the shares of a yes/no outcome: each group against the reference.

    Proof: ``Clinical``. Interval for the population: ``contrasts.compare_shares``.

    Args:
        column: The outcome.
        by: The column of the groups.
        reference: The group that the others are compared with; the first one by default. Of bins, the lower end.
        where: Conditions, all of which must hold.
        per_person: Which row of each person counts.

    Examples:
        >>> RiskRatio("recurrence", by="arm")
        RiskRatio('recurrence', by=['arm'])
    """

    measure: ClassVar[Measure] = "risk ratio"


@statistic(
    "odds ratio",
    title="Odds ratio",
    hint="How many times as large the odds of the outcome are in each group as in one of them.",
    example="odds ratio of bph by prostatitis",
    **_SHARED,
)
@dataclass(frozen=True, repr=False, init=False)
class OddsRatio(SharesCompared):
    """The ratio of the odds of a yes/no outcome: each group against the reference.

    Proof: ``Clinical``. Interval for the population: ``contrasts.compare_shares``.

    Args:
        column: The outcome.
        by: The column of the groups.
        reference: The group that the others are compared with; the first one by default. Of bins, the lower end.
        where: Conditions, all of which must hold.
        per_person: Which row of each person counts.

    Examples:
        >>> OddsRatio("recurrence", by="arm")
        OddsRatio('recurrence', by=['arm'])
    """

    measure: ClassVar[Measure] = "odds ratio"


@statistic(
    "standard error",
    aliases=("mean with standard error",),
    title="Average with its standard error",
    hint="The average of a sample of persons, and how far it may lie from the population's.",
    example="standard error of age by bph",
    picture="points",
    about="all",
    is_binned=True,
    most_groups=1,
    api_groups=(0, 1),
    parts=BIN_PARTS,
)
@dataclass(frozen=True, repr=False, init=False)
class StandardError(Clinical):
    """Means of a number in bins, with standard deviation and standard error of each group.

    Proof: ``Clinical``. Interval for the population: ``contrasts.standard_errors``.

    Args:
        column: The number.
        by: Groups: a mean for each.
        edges: Public edges of the bins.
        bins: Instead of edges: how many bins of even width.
        where: Conditions, all of which must hold.
        per_person: Which row of each person counts.

    Examples:
        >>> StandardError("age", by="bph", bins=10)
        StandardError('age', bins=10, by=['bph'])
    """

    wants = ("score",)

    def axes(self, schema: Schema, groups: Mapping[str, Any]) -> tuple[Axis, ...]:
        """Return the groups."""
        return group_axes(schema, {name: keys for name, keys in groups.items() if name != self.column})

    def unit(self, facts: Facts) -> str:
        """Return the column's unit."""
        return column_unit(facts.schema.column(self.column))

    def check_columns(self, facts: Facts) -> None:
        """Raise unless the column holds numbers."""
        values_of(facts, self.column)

    def result(self, facts: Facts, counts: Floats, scale: float, confidence: float) -> Result:
        """Return the mean of each group."""
        middles, variance = values_of(facts, self.column), laplace_variance(scale)
        rows = counts.reshape(-1, middles.size)
        found, deviation, error = standard_errors(rows, middles, variance, confidence=confidence)
        labels = facts.axes[0].labels if facts.axes else ("",)
        unit = self.unit(facts)
        told = []
        for place, label in enumerate(labels):
            for name, numbers in (("standard deviation", deviation), ("standard error", error)):
                told.append(finding(name, _alone(numbers), place, unit=unit, group=label))
        return Result(found, tuple(told), sizes=rows.sum(axis=-1))

    def words(self, facts: Facts) -> tuple[str, ...]:
        """Return how values are counted."""
        return binning_words(facts, self.column)


def _alone(numbers: Floats) -> Estimate:
    nothing = np.full_like(numbers, np.nan)
    return Estimate(numbers, nothing, nothing, nothing, nothing)


def binning_words(facts: Facts, name: str) -> tuple[str, ...]:
    """Return that values stand for the middle of their bin, and how far that may shift a mean at most."""
    axis = key_axis(facts, name)
    if axis.kind != "bins":
        return ()
    wide = max(float(high) - float(low) for low, high in axis.keys)
    unit = f" {axis.unit}" if axis.unit else ""
    return (
        f"Every value of {name} counts as the middle of its bin; that shifts a mean by at most {wide / 2:g}{unit}, "
        "and usually far less. It is not in the intervals.",
    )
