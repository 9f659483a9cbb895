"""Time to an event: the survival curve of every group, medians, restricted means and the log-rank test."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from pydplib.clinic.intervals import Floats, laplace_variance
from pydplib.clinic.question import Clinical, Result, check_yes_no, finding, key_axis
from pydplib.clinic.relations import BOOTSTRAP, tested
from pydplib.clinic.survival_curves import (
    CONVENTION,
    log_rank_test,
    median_survival,
    restricted_mean,
    survival_curve,
)
from pydplib.engine import Bins
from pydplib.errors import QuestionError
from pydplib.release.results.axes import Axis
from pydplib.release.statistics.histogram import BIN_PARTS
from pydplib.release.statistics.question import group_axes, statistic
from pydplib.schema import Schema

if TYPE_CHECKING:
    from pydplib.release.facts import Facts


@statistic(
    "survival",
    aliases=("kaplan-meier",),
    title="Time to an event",
    hint="A Kaplan-Meier curve per group, with medians and the log-rank test.",
    example="survival months until recurrence by arm",
    picture="curves",
    about="all",
    needs_group=True,
    most_groups=2,
    api_groups=(1, 2),
    is_binned=True,
    field_label="Time to the event or the last contact",
    group_labels=("Which field says that the event happened?", "By which group?"),
    parts=BIN_PARTS,
)
@dataclass(frozen=True, repr=False, init=False)
class Survival(Clinical):
    """Kaplan-Meier curves: the share without an event at the end of each bin of time, per group.

    Findings: median survival and restricted mean of every group, and the log-rank test where there are several.
    ``sizes`` are the numbers at risk at the start of each bin. The last edge is the public horizon: whoever is followed
    for longer counts as censored there.

    Proof: ``Clinical``: everybody is in one cell (time bin, event or censored, group). Bands:
    ``survival_curves.survival_curve``.

    Args:
        column: The time to the event or to the last contact: a number.
        other: The yes/no column that says whether the event happened.
        by: Groups: a curve for each.
        edges: Public edges of the bins of time; the last is the horizon.
        bins: Instead of edges: how many bins of even width, over the declared bounds.
        where: Conditions, all of which must hold.
        per_person: Which row of each person counts.

    Examples:
        >>> Survival("months", "recurrence", by="arm", bins=12)
        Survival('months', bins=12, by=['recurrence', 'arm'])
    """

    wants = ("time", "yes/no")
    joint = ("until", "to")

    @property
    def event(self) -> str:
        """The column that says whether the event happened."""
        return self.pairs[0][0]

    def groups(self, schema: Schema) -> dict[str, Any]:
        """Return event, groups and times; one more bin holds those who are followed beyond the horizon."""
        found = super().groups(schema)
        times = found[self.column]
        if not isinstance(times, Bins):
            raise QuestionError(f"Times are cut into bins: give edges= or bins= for '{self.column}'.")
        column = schema.column(self.column)
        if not column.holds_numbers or column.ends is None:
            raise QuestionError(f"'{self.column}' is no number with public bounds: it cannot be a time to an event.")
        last = column.ends[1]
        if times.numbers[-1] < float(last):
            found[self.column] = Bins([*times.edges, last])
        return found

    def canonical(self, schema: Schema) -> dict[str, Any]:
        """Return the question with its own edges, without the bin beyond the horizon."""
        return super().canonical(schema) | {"edges": list(self._edges(schema))}

    def _edges(self, schema: Schema) -> tuple[Any, ...]:
        times = Clinical.groups(self, schema)[self.column]
        return tuple(int(edge) if float(edge).is_integer() else edge for edge in times.edges)

    def axes(self, schema: Schema, groups: Mapping[str, Any]) -> tuple[Axis, ...]:
        """Return the groups, then the bins of time."""
        shown = {name: keys for name, keys in groups.items() if name not in (self.event, self.column)}
        return group_axes(schema, shown | {self.column: Bins(self._edges(schema))})

    def check_columns(self, facts: Facts) -> None:
        """Raise unless the event has two values."""
        check_yes_no(facts, self.event, "The event")

    def result(self, facts: Facts, counts: Floats, scale: float, confidence: float) -> Result:
        """Return the curve of every group."""
        edges = np.asarray(Bins(self._edges(facts.schema)).numbers)
        bins = edges.size - 1
        tables = np.moveaxis(counts.reshape(2, -1, counts.shape[-1]), 0, -1)  # groups, bins, censored and events
        if tables.shape[1] > bins:  # beyond the horizon nobody is known to have had an event
            tables = tables.copy()
            tables[:, bins, 0] += tables[:, bins, 1]
            tables[:, bins, 1] = 0.0
        variance = laplace_variance(scale)
        curve = survival_curve(tables, variance, confidence=confidence)
        shown = type(curve.survival)(
            *(getattr(curve.survival, name)[:, :bins] for name in curve.survival.__dataclass_fields__)
        )
        cut = type(curve)(shown, curve.at_risk, curve.events, curve.censored)
        medians = median_survival(cut, edges)
        areas = restricted_mean(_until(tables, bins), edges, variance, confidence=confidence)
        axis = key_axis(facts, self.column)
        labels = facts.axes[0].labels if len(facts.axes) > 1 else ("",)
        told = []
        for place, label in enumerate(labels):
            told.append(finding("median survival", medians, place, unit=axis.unit, group=label))
            name = f"restricted mean up to {edges[-1]:g}"
            told.append(finding(name, areas, place, unit=axis.unit, group=label))
        if len(labels) > 1:
            told.append(tested("log-rank test", log_rank_test(tables, scale)))
        return Result(shown, tuple(told), sizes=np.maximum(curve.at_risk[:, :bins], 0.0))

    def words(self, facts: Facts) -> tuple[str, ...]:
        """Return the convention, and what the curve cannot show."""
        wide = key_axis(facts, self.column)
        several = (BOOTSTRAP,) if len(facts.axes) > 1 else ()
        first, second = self._edges(facts.schema)[:2]
        width = float(Bins([first, second]).numbers[1] - Bins([first, second]).numbers[0])
        unit = f" {wide.unit}" if wide.unit else ""
        return (
            CONVENTION,
            f"Times are known to the bin ({width:g}{unit}): what happens within one is not in the intervals.",
            *several,
        )


def _until(tables: Floats, bins: int) -> Floats:
    """Return tables that end at the horizon: those beyond it are censored in the last bin."""
    if tables.shape[1] == bins:
        return tables
    found = tables[:, :bins].copy()
    found[:, -1, 0] += tables[:, bins].sum(axis=-1)
    return found
