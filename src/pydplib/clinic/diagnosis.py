"""Diagnostic accuracy of a score: ROC curve, area under it, sensitivity, specificity and predictive values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from pydplib.clinic.accuracy import accuracy, area
from pydplib.clinic.intervals import Estimate, Floats, laplace_variance
from pydplib.clinic.question import Clinical, Result, check_yes_no, finding, key_axis, values_of
from pydplib.release.results.axes import Axis
from pydplib.release.statistics.histogram import BIN_PARTS
from pydplib.release.statistics.question import group_axes, statistic
from pydplib.schema import Schema

if TYPE_CHECKING:
    from pydplib.release.facts import Facts

MEASURES = ("sensitivity", "specificity", "positive predictive value", "negative predictive value")


@statistic(
    "roc",
    aliases=("diagnostic accuracy",),
    noun="ROC curve",
    title="How well a score finds a disease",
    hint="The ROC curve with its area, sensitivity, specificity and predictive values at every cut.",
    example="roc pirads against bph",
    picture="roc",
    about="all",
    needs_group=True,
    most_groups=1,
    api_groups=(1, 1),
    is_binned=True,
    field_label="Which score?",
    group_labels=("Which field says who is ill?", "And by?"),
    parts=BIN_PARTS,
)
@dataclass(frozen=True, repr=False, init=False)
class Roc(Clinical):
    """Sensitivity, specificity and predictive values of a score at every cut; the area under the curve is a finding.

    Proof: ``Clinical``: two histograms over the score. Intervals: ``accuracy.accuracy`` and ``accuracy.area``.

    Args:
        column: The score: ordered values, or a number in bins; high values speak for the disease.
        other: The yes/no column that says who is ill.
        edges: Public edges of the score's bins.
        bins: Instead of edges: how many bins of even width.
        where: Conditions, all of which must hold.
        per_person: Which row of each person counts.

    Examples:
        >>> Roc("pirads", "cancer")
        Roc('pirads', by=['cancer'])
    """

    wants = ("score", "yes/no")
    joint = ("against", "for")

    def axes(self, schema: Schema, groups: Mapping[str, Any]) -> tuple[Axis, ...]:
        """Return the four measures, and the cuts: positive from this level on."""
        axis = group_axes(schema, {self.column: groups[self.column]})[0]
        lows = tuple(key[0] for key in axis.keys) if axis.kind == "bins" else axis.keys
        cuts = Axis(axis.name, tuple(lows[1:]), title=f"{axis.title or axis.name} from", unit=axis.unit)
        return (Axis("measure", MEASURES, title="Measure"), cuts)

    def check_columns(self, facts: Facts) -> None:
        """Raise unless the score is ordered and the disease yes or no."""
        check_yes_no(facts, self.pairs[0][0], "The disease")
        values_of(facts, self.column)

    def result(self, facts: Facts, counts: Floats, scale: float, confidence: float) -> Result:
        """Return the four measures at every cut but the first, which calls everybody ill."""
        variance = laplace_variance(scale)
        found = accuracy(counts, variance, confidence=confidence)
        four = (found.sensitivity, found.specificity, found.positive_value, found.negative_value)
        names = Estimate.__dataclass_fields__
        shown = Estimate(*(np.stack([getattr(each, name)[1:] for each in four]) for name in names))
        under = area(counts, variance, confidence=confidence)
        return Result(shown, (finding("area under the curve", under),))

    def words(self, facts: Facts) -> tuple[str, ...]:
        """Return which value counts as ill."""
        ill = key_axis(facts, self.pairs[0][0])
        return (
            f"The disease is {ill.title or ill.name} = {ill.labels[1]}. A score is positive from the cut on. "
            "Predictive values hold where the disease is as frequent as here.",
        )
