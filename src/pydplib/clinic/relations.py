"""Columns related: chi-squared tests, trend, correlation, logistic regression."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from pydplib.clinic.association import Test, correlation, independence_test, trend_test
from pydplib.clinic.comparisons import binning_words
from pydplib.clinic.intervals import Estimate, Floats, laplace_variance
from pydplib.clinic.question import Clinical, Result, check_yes_no, finding, key_axis, values_of
from pydplib.clinic.regression import design, logistic
from pydplib.errors import QuestionError
from pydplib.release.results.axes import Axis
from pydplib.release.results.findings import Finding
from pydplib.release.statistics.histogram import BIN_PARTS
from pydplib.release.statistics.question import group_axes, statistic
from pydplib.schema import Schema

if TYPE_CHECKING:
    from pydplib.release.facts import Facts

BOOTSTRAP = (
    "The p-value comes from a bootstrap of 999 tables without an effect, each with sampling and the same noise again."
)

_PAIR: dict[str, Any] = {
    "picture": "points", "about": "all", "needs_group": True, "most_groups": 1, "api_groups": (1, 1),
    "is_binned": True, "parts": BIN_PARTS,
}  # fmt: skip


def tested(name: str, test: Test) -> Finding:
    """Return a test as a finding."""
    words = f"{test.freedom} degrees of freedom" if test.freedom != 1 else "1 degree of freedom"
    return Finding(name, test.statistic, p=test.p, words=words)


def _nothing(value: float) -> Estimate:
    number, unknown = np.array([value]), np.array([np.nan])
    return Estimate(number, unknown, unknown, unknown, unknown)


@statistic(
    "association",
    aliases=("chi-squared", "chi squared"),
    title="Are two fields related?",
    hint="A chi-squared test of independence that knows the noise.",
    example="association of bph and prostatitis",
    group_labels=("With which field?", "And by?"),
    **_PAIR,
)
@dataclass(frozen=True, repr=False, init=False)
class Association(Clinical):
    """The chi-squared test of independence of two columns, with a p-value that holds in spite of the noise.

    Proof: ``Clinical``. Test: ``association.independence_test``.

    Args:
        column: The first column.
        other: The second one.
        edges: Public edges of the bins of the first column.
        by: Instead of ``other``: the second column with its keys or bins.
        where: Conditions, all of which must hold.
        per_person: Which row of each person counts.

    Examples:
        >>> Association("bph", "prostatitis")
        Association('bph', by=['prostatitis'])
    """

    joint = ("and", "with", ",")

    def result(self, facts: Facts, counts: Floats, scale: float, confidence: float) -> Result:
        """Return the test."""
        test = independence_test(counts, scale)
        return Result(_nothing(test.statistic), (tested("chi-squared test", test),))

    def words(self, facts: Facts) -> tuple[str, ...]:
        """Return how the p-value is made."""
        return (BOOTSTRAP,)


@statistic(
    "trend",
    aliases=("trend test",),
    title="Does a share rise with a score?",
    hint="The test of Cochran and Armitage for a trend of yes over an ordered field.",
    example="trend of bph by pirads",
    group_labels=("Over which ordered field?", "And by?"),
    **_PAIR,
)
@dataclass(frozen=True, repr=False, init=False)
class Trend(Clinical):
    """The test for a trend of a yes/no outcome over an ordered column.

    Proof: ``Clinical``. Test: ``association.trend_test``.

    Args:
        column: The outcome.
        by: The ordered column: numbers, or bins of one.
        where: Conditions, all of which must hold.
        per_person: Which row of each person counts.

    Examples:
        >>> Trend("bph", by="pirads")
        Trend('bph', by=['pirads'])
    """

    wants = ("yes/no", "score")
    joint = ("over",)

    def check_columns(self, facts: Facts) -> None:
        """Raise unless the outcome has two values and the other column numbers."""
        check_yes_no(facts, self.column, "The outcome")
        values_of(facts, self.pairs[0][0])

    def result(self, facts: Facts, counts: Floats, scale: float, confidence: float) -> Result:
        """Return the test."""
        test = trend_test(counts.T, values_of(facts, self.pairs[0][0]), scale)
        return Result(_nothing(test.statistic), (tested("test for trend", test),))

    def words(self, facts: Facts) -> tuple[str, ...]:
        """Return how the p-value is made."""
        return (BOOTSTRAP,)


@statistic(
    "correlation",
    title="Correlation",
    hint="How closely two numbers go together, from -1 to 1.",
    example="correlation of age and psa",
    group_labels=("With which field?", "And by?"),
    **_PAIR,
)
@dataclass(frozen=True, repr=False, init=False)
class Correlation(Clinical):
    """Pearson's correlation of two numbers, from a table of their bins.

    Proof: ``Clinical``. Interval for the population: ``association.correlation``.

    Args:
        column: The first number.
        other: The second one.
        edges: Public edges of the first one's bins.
        bins: Instead of edges: how many bins of even width.
        by: Instead of ``other``: the second column with its bins, e.g. ``{"psa": dp.Bins([0, 4, 10, 20, 50])}``.
        where: Conditions, all of which must hold.
        per_person: Which row of each person counts.

    Examples:
        >>> Correlation("age", "psa", bins=6)
        Correlation('age', bins=6, by=['psa'])
    """

    wants = ("score", "score")
    joint = ("and", "with", ",")

    def check_columns(self, facts: Facts) -> None:
        """Raise unless both columns hold numbers."""
        for name in facts.groups:
            values_of(facts, name)

    def result(self, facts: Facts, counts: Floats, scale: float, confidence: float) -> Result:
        """Return the correlation."""
        first, second = (values_of(facts, name) for name in facts.groups)
        found = correlation(counts, first, second, laplace_variance(scale), confidence=confidence)
        return Result(found)

    def words(self, facts: Facts) -> tuple[str, ...]:
        """Return how values are counted."""
        return tuple(word for name in facts.groups for word in binning_words(facts, name)[:1])[:1] and (
            "Values count as the middles of their bins; wide bins draw a correlation towards 0.",
        )


@statistic(
    "logistic",
    aliases=("logistic regression",),
    noun="logistic regression",
    title="Logistic regression",
    hint="Odds ratios of a yes/no outcome, each covariate adjusted for the others.",
    example="logistic recurrence by arm",
    picture="forest",
    about="all",
    needs_group=True,
    most_groups=2,
    api_groups=(1, 3),
    is_binned=False,
    group_labels=("First covariate", "Second covariate"),
    parts=BIN_PARTS,
)
@dataclass(frozen=True, repr=False, init=False)
class Logistic(Clinical):
    """Logistic regression of a yes/no outcome on categories: odds ratios against the first level of each covariate.

    Proof: ``Clinical``. Intervals for the population: ``regression.logistic``.

    Args:
        column: The outcome.
        by: One to three covariates: categories, yes/no, or bins of a number.
        where: Conditions, all of which must hold.
        per_person: Which row of each person counts.

    Examples:
        >>> Logistic("recurrence", by=["arm", "pirads"])
        Logistic('recurrence', by=['arm', 'pirads'])
    """

    wants = ("yes/no",)
    joint = ("on",)

    def axes(self, schema: Schema, groups: Mapping[str, Any]) -> tuple[Axis, ...]:
        """Return one term per level but the first of each covariate."""
        terms = []
        for axis in group_axes(schema, {name: keys for name, keys in groups.items() if name != self.column}):
            if len(axis.keys) < 2:
                raise QuestionError(f"'{axis.name}' has one level only: leave it out.")
            first = axis.labels[0]
            terms += [f"{axis.title or axis.name}: {label} against {first}" for label in axis.labels[1:]]
        return (Axis("term", tuple(terms), title="Odds ratio"),)

    def check_columns(self, facts: Facts) -> None:
        """Raise unless the outcome has two values."""
        check_yes_no(facts, self.column, "The outcome")

    def least_persons(self, facts: Facts) -> float:
        """Return two standard deviations of the noise for every combination of covariates."""
        return 2.0 * math.prod(self.shape(facts)[:-1])

    def result(self, facts: Facts, counts: Floats, scale: float, confidence: float) -> Result:
        """Return the odds ratios; the intercept is a finding."""
        rows = design(counts.shape[:-1])
        fit = logistic(counts.reshape(-1, 2), rows, laplace_variance(scale), confidence=confidence)
        found = fit.coefficients
        with np.errstate(over="ignore"):
            odds = Estimate(*(np.exp(getattr(found, name)[1:]) for name in found.__dataclass_fields__))
        return Result(odds, (finding("intercept", found, 0, words="log odds of the first levels"),))

    def words(self, facts: Facts) -> tuple[str, ...]:
        """Return which value counts as yes, and what to do where nothing was found."""
        outcome = key_axis(facts, self.column)
        yes = f"{outcome.title or outcome.name} = {outcome.labels[1]}"
        return (f"Odds are those of {yes}. Where the noise allows no fit, intervals have no ends.",)
