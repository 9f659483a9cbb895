"""Numbers over time: persons by month, quarter or year, and the change in percent."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from pydplib.clinic.intervals import Estimate, Floats, laplace_variance, noise_quantile, normal_quantile
from pydplib.clinic.question import Clinical, Result, finding
from pydplib.engine import Bins
from pydplib.errors import QuestionError, did_you_mean
from pydplib.release.results.axes import Axis
from pydplib.release.results.findings import Finding
from pydplib.release.statistics.question import By, Conditions, Part, Words, group_axes, statistic
from pydplib.schema import Schema

if TYPE_CHECKING:
    from pydplib.engine import OneRow
    from pydplib.release.facts import Facts

MONTHS = {"month": 1, "quarter": 3, "year": 12}


def date_edges(first: str, last: str, every: str) -> list[str]:
    """Return the first days of all months, quarters or years from one day to another, with both ends.

    Examples:
        >>> date_edges("2018-01-15", "2018-07-01", "quarter")
        ['2018-01-15', '2018-04-01', '2018-07-01']
        >>> date_edges("9998-12-01", "9999-12-31", "year")
        ['9998-12-01', '9999-01-01', '9999-12-31']
    """
    start, end = dt.date.fromisoformat(first), dt.date.fromisoformat(last)
    step, found = MONTHS[every], [start]
    month = start.year * 12 + (start.month - 1) // step * step + step
    while month // 12 <= end.year and (day := dt.date(month // 12, month % 12 + 1, 1)) < end:
        found.append(day)
        month += step
    return [day.isoformat() for day in (*found, end)]


@statistic(
    "series",
    aliases=("over time",),
    title="How many over time",
    hint="Persons by month, quarter or year, with the change from the first to the last.",
    example="series last_modified",
    picture="points",
    about="all",
    most_groups=0,
    api_groups=(0, 0),
    field_label="Which date?",
    parts=(
        Part(
            name="every",
            kind="choice",
            label="How often?",
            form="every",
            default="quarter",
            choices={"month": "Every month", "quarter": "Every quarter", "year": "Every year"},
        ),
    ),
)
@dataclass(frozen=True, repr=False, init=False)
class Series(Clinical):
    """How many persons there are in every month, quarter or year of a date, with the change in percent.

    Proof: ``Clinical``: one date of each person counts.

    Args:
        column: The date.
        every: ``"month"``, ``"quarter"`` or ``"year"``.
        where: Conditions, all of which must hold.
        per_person: Which row of each person counts.

    Examples:
        >>> Series("last_modified", every="month")
        Series('last_modified', every='month')
    """

    wants = ("date",)
    every: Literal["month", "quarter", "year"] = "quarter"

    def __init__(
        self,
        column: str = "",
        other: None = None,
        *,
        every: Literal["month", "quarter", "year"] = "quarter",
        edges: Any = None,
        bins: Any = None,
        by: By = None,
        where: Conditions = (),
        per_person: OneRow | None = None,
        after: Conditions = (),
    ) -> None:
        object.__setattr__(self, "every", every)
        super().__init__(column, edges=None, by=by, where=where, per_person=per_person, after=after)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.every not in MONTHS:
            raise QuestionError(f"every= is month, quarter or year.{did_you_mean(self.every, MONTHS)}")

    def _own(self) -> dict[str, Any]:
        return {"of": self.column, "every": self.every}

    @classmethod
    def headline(cls, plain: Mapping[str, Any], titles: Mapping[str, str], groups: list[str]) -> str:
        """Return "How many over time, by quarter of Last modified"."""
        return f"{cls.title}, by {plain.get('every', 'quarter')} of {titles.get(plain['of'], plain['of'])}"

    @classmethod
    def read(cls, words: Words) -> Any:
        """Read a date and, after it, how often."""
        column = words.column(f"the column of '{words.first}'")
        words.take("every")
        chosen: Literal["month", "quarter", "year"] = "quarter"
        if words.take("month", "monthly"):
            chosen = "month"
        elif words.take("year", "yearly"):
            chosen = "year"
        else:
            words.take("quarter", "quarterly")
        return cls(column, every=chosen, where=words.where())

    def groups(self, schema: Schema) -> dict[str, Any]:
        """Return the months, quarters or years between the declared days."""
        column = schema.column(self.column)
        if column.ends is None or column.holds_numbers:
            raise QuestionError(f"'{self.column}' is no date with public bounds: a series is asked of a date.")
        first, last = (str(column.write(end)) for end in column.ends)
        return {self.column: Bins(date_edges(first, last, self.every))}

    def canonical(self, schema: Schema) -> dict[str, Any]:
        """Return the question without the edges, which follow from the schema."""
        return {name: value for name, value in super().canonical(schema).items() if name != "edges"}

    def axes(self, schema: Schema, groups: Mapping[str, Any]) -> tuple[Axis, ...]:
        """Return the months, quarters or years."""
        return group_axes(schema, groups)

    def unit(self, facts: Facts) -> str:
        """Persons."""
        return "persons"

    def result(self, facts: Facts, counts: Floats, scale: float, confidence: float) -> Result:
        """Return the counts and the change from the first whole period to the last one."""
        variance = laplace_variance(scale)
        values = np.maximum(counts, 0.0)
        half = normal_quantile(confidence) * np.sqrt(values + variance + 1.0)
        noise = noise_quantile(confidence, variance) * np.sqrt(variance)
        found = Estimate(values, *_cut(values, half), *_cut(values, np.full_like(values, noise)))
        told: tuple[Finding, ...] = ()
        if counts.size > 1:
            told = (finding("change from the first to the last", _change(values, half, noise), unit="%"),)
        return Result(found, told)


def _cut(values: Floats, half: Floats) -> tuple[Floats, Floats]:
    return np.maximum(values - half, 0.0), values + half


def _change(values: Floats, half: Floats, noise: float) -> Estimate:
    """Return 100 (last / first - 1), from the logarithms of both."""
    first, last = max(values[0], 0.5), max(values[-1], 0.5)
    ratio = np.log(last / first)
    ends = []
    for reach in (np.hypot(half[0] / first, half[-1] / last), np.hypot(noise / first, noise / last)):
        ends += [100 * np.expm1(ratio - reach), 100 * np.expm1(min(ratio + reach, 50.0))]
    return Estimate(*(np.asarray(number) for number in (100 * np.expm1(ratio), *ends)))
