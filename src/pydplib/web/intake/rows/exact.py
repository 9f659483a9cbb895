"""Exact counts of a project's own reports, for its owners: rows and patients, one column by another, with filters.

Nothing here is a release: the numbers are those of the live data, they are made for one page and kept nowhere. What a
column can be filtered by, and how it is cut into bins, its kind says (``pydplib.schema``).
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from statistics import mean, median
from typing import Any, cast

from django.db.models import QuerySet

from pydplib import plot
from pydplib.capture import Template, show_value, to_schema
from pydplib.plot import Figure
from pydplib.schema import Category, Column
from pydplib.web.projects.models import Project
from pydplib.web.reporting.models import Report
from pydplib.web.reporting.report_templates.versions import value_columns

MOST_FILTERS = 8
DEPARTMENT = "@department"
"""The filter by the department of a report, which is no column of a template."""

_OTHER, _NONE = "other", "no value"
_LONGEST_WORD = 30


@dataclass(frozen=True, slots=True, kw_only=True)
class ExactCondition:
    """One filter: a column, and which of its values count; its repr shows no value.

    Args:
        column: The column's name.
        low: The least value that counts, as typed; empty for none.
        high: The largest one.
        chosen: The values that count, as their words; empty for all.
        gaps: ``"without"`` leaves out rows without a value, ``"only"`` keeps only these; empty for neither.
    """

    column: str
    low: str = field(default="", repr=False)
    high: str = field(default="", repr=False)
    chosen: tuple[str, ...] = field(default=(), repr=False)
    gaps: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ExactQuestion:
    """What an owner looks at.

    Args:
        by: The column that is counted; empty for the rows alone.
        split: The column that divides each bar; empty for none.
        unit: ``"reports"`` or ``"patients"``.
        conditions: The filters; a row counts if all of them hold.
    """

    by: str = ""
    split: str = ""
    unit: str = "reports"
    conditions: tuple[ExactCondition, ...] = ()

    def to_dict(self) -> dict[str, object]:
        """Return it as plain values, for the session."""
        names = ("column", "low", "high", "chosen", "gaps")
        held = [{name: getattr(each, name) for name in names} for each in self.conditions]
        return {"by": self.by, "split": self.split, "unit": self.unit, "conditions": held}

    @classmethod
    def from_dict(cls, held: Mapping[str, Any], columns: Mapping[str, Column]) -> ExactQuestion:
        """Return a question of plain values; columns that are gone are left out."""
        conditions = [
            ExactCondition(**{**each, "chosen": tuple(each["chosen"])})
            for each in held.get("conditions", ())
            if each["column"] in columns
        ]
        by, split = (held.get(name, "") if held.get(name, "") in columns else "" for name in ("by", "split"))
        unit = "patients" if held.get("unit") == "patients" else "reports"
        return cls(by=by, split=split, unit=unit, conditions=tuple(conditions[:MOST_FILTERS]))


@dataclass(slots=True, kw_only=True)
class ExactCounts:
    """What was counted.

    Args:
        reports: Rows that fit the filters.
        patients: Their people.
        all_reports: Rows of the project.
        labels: The bars, in order.
        series: Name of a part -> one number per bar.
        missing: Name of a part -> rows without a value.
        numbers: Name of a part -> its values, where the column has an average.
    """

    reports: int = 0
    patients: int = 0
    all_reports: int = 0
    labels: list[str] = field(default_factory=list)
    series: dict[str, list[int]] = field(default_factory=dict)
    missing: dict[str, int] = field(default_factory=dict)
    numbers: dict[str, list[float]] = field(default_factory=dict)

    @property
    def summaries(self) -> list[tuple[str, int, float, float, float, float]]:
        """Per part: how many values, mean, median, least and largest."""
        return [
            (name, len(values), mean(values), median(values), min(values), max(values))
            for name, values in self.numbers.items()
            if values
        ]


def columns_for(template: Template, departments: Sequence[str] = ()) -> dict[str, Column]:
    """Return the columns that can be counted or filtered: all but free texts and identifiers."""
    schema, kept = to_schema(template, skip_unbounded=True), set(value_columns(template))
    found = {name: column for name, column in schema.columns.items() if name in kept and column.can_be_asked}
    if len(departments) > 1:
        found[DEPARTMENT] = Category(tuple(departments), title="Department")
    return found


def departments_of(project: Project, most: int = 200) -> list[str]:
    """Return the departments of a project's signed reports, in order."""
    named = _signed(project).exclude(department="").order_by("department")
    return list(named.values_list("department", flat=True).distinct()[:most])


def exact_rows(project: Project) -> Iterator[tuple[int, str, dict[str, object]]]:
    """Yield patient, department and values of every signed report of a project."""
    return _signed(project).order_by().values_list("patient_id", "department", "values").iterator(chunk_size=2000)


def _signed(project: Project) -> QuerySet[Report]:
    return Report.objects.filter(project=project, state=Report.State.SIGNED)


def bad_parts(condition: ExactCondition, column: Column) -> list[str]:
    """Return which ends of a filter the column cannot read."""
    return [
        name for name in ("low", "high") if getattr(condition, name) and _read(column, getattr(condition, name)) is None
    ]


def words_of(condition: ExactCondition, column: Column) -> str:
    """Return a filter in words.

    Examples:
        >>> from pydplib.schema import Integer
        >>> words_of(ExactCondition(column="age", low="50"), Integer(18, 100, title="Age"))
        'Age from 50'
    """
    parts = [f"from {condition.low}"] if condition.low else []
    parts += [f"to {condition.high}"] if condition.high else []
    parts += [f"is {' or '.join(condition.chosen)}"] if condition.chosen else []
    parts += {"without": ["has a value"], "only": ["has no value"]}.get(condition.gaps, [])
    return f"{column.title or condition.column} {', '.join(parts) or 'is anything'}"


def count(
    template: Template,
    rows: Iterable[tuple[int, str, Mapping[str, object]]],
    asked: ExactQuestion,
    columns: Mapping[str, Column],
) -> ExactCounts:
    """Count rows (patient, department, values) in one pass."""
    tests = [_test(each, columns[each.column]) for each in asked.conditions]
    bars = Bars.of(template, asked.by, columns) if asked.by else None
    parts = Bars.of(template, asked.split, columns) if asked.split and asked.by else None
    found, people = ExactCounts(labels=list(bars.labels) if bars else []), set[int]()
    seen = set[tuple[int, int, str]]()
    for patient, department, values in rows:
        found.all_reports += 1
        row = {**values, DEPARTMENT: department}
        if not all(test(row) for test in tests):
            continue
        found.reports += 1
        people.add(patient)
        if bars is None:
            continue
        place, part = bars.place(row), "" if parts is None else parts.label(row)
        if asked.unit == "patients":
            if (patient, place, part) in seen:
                continue
            seen.add((patient, place, part))
        if part not in found.series:
            found.series[part], found.missing[part], found.numbers[part] = [0] * len(found.labels), 0, []
        if place < 0:
            found.missing[part] += 1
            continue
        found.series[part][place] += 1
        if bars.column.has_average and asked.unit == "reports":
            found.numbers[part] += _number(row[asked.by])
    found.patients = len(people)
    _put_in_order(found, parts)
    return found


def _put_in_order(found: ExactCounts, parts: Bars | None) -> None:
    """Put parts into the order of their column, and leave out an empty "other"."""
    order = [""] if parts is None else [*parts.labels, _NONE]
    for name in ("series", "missing", "numbers"):
        held = getattr(found, name)
        setattr(found, name, {label: held[label] for label in order if label in held})
    if found.labels and found.labels[-1] == _OTHER and not any(counts[-1] for counts in found.series.values()):
        found.labels.pop()
        found.series = {name: counts[:-1] for name, counts in found.series.items()}


@dataclass(frozen=True, slots=True, kw_only=True)
class Bars:
    """How the values of a column become bars: one per listed value, or bins between the public ends.

    Args:
        name: The column's name.
        column: The column.
        labels: The bars in words.
        edges: The ends of bins as numbers; empty where values are listed.
        places: A listed value -> its bar.
    """

    name: str
    column: Column
    labels: tuple[str, ...]
    edges: tuple[float, ...] = ()
    places: Mapping[str | int | float, int] = field(default_factory=dict)

    @classmethod
    def of(cls, template: Template, name: str, columns: Mapping[str, Column]) -> Bars:
        """Return the bars of a column."""
        column = columns[name]
        bins = column.default_bins() if column.is_binned else None
        if bins is not None:
            ends = [column.write(edge) for edge in bins]
            labels = tuple(f"{low} to {high}" for low, high in pairwise(ends))
            return cls(name=name, column=column, labels=labels, edges=tuple(column.code(edge) for edge in bins))
        places = {value: place for place, value in enumerate(column.listed)}
        labels = (*value_words(template, name, column), _OTHER)
        return cls(name=name, column=column, labels=labels, places=places)

    def place(self, row: Mapping[str, object]) -> int:
        """Return the bar of a row; -1 if it has no value, or one that the column cannot read."""
        value = row.get(self.name)
        if _is_gap(value):
            return -1
        if not self.edges:
            return self.places.get(cast("str | float", value), len(self.labels) - 1)
        number = _coded(self.column, value)
        if number is None:
            return -1
        return min(max(bisect_right(self.edges, number) - 1, 0), len(self.labels) - 1)

    def label(self, row: Mapping[str, object]) -> str:
        """Return the bar of a row in words."""
        place = self.place(row)
        return _NONE if place < 0 else self.labels[place]


def value_words(template: Template, name: str, column: Column) -> list[str]:
    """Return the listed values of a column as the form says them; the value itself where that is long."""
    written = [column.write(value) for value in column.listed]
    if name == DEPARTMENT:
        return written
    words = [show_value(template.question(name), value) for value in column.listed]
    return [short if len(word) > _LONGEST_WORD else word for short, word in zip(written, words, strict=True)]


def drawing(
    template: Template, found: ExactCounts, asked: ExactQuestion, columns: Mapping[str, Column]
) -> tuple[Figure, list[str], list[list[object]]]:
    """Return the figure of counts, the heads of its table and the rows."""
    bars = Bars.of(template, asked.by, columns)
    title = bars.column.title or asked.by
    unit = getattr(bars.column, "unit", "")
    x_title = f"{title} in {unit}" if unit else title
    series = {name or asked.unit.capitalize(): counts for name, counts in found.series.items()}
    heading = f"{asked.unit.capitalize()} by {title}"
    if asked.split:
        heading += f" and {columns[asked.split].title or asked.split}"
    if bars.edges and bars.column.holds_numbers:
        figure = plot.histogram(bars.edges, series, x_title=x_title, y_title=asked.unit, title=heading)
        figure.update_layout(xaxis={"tickvals": list(bars.edges)})
    else:
        stacked = len(series) > 1
        figure = plot.bar(found.labels, series, stacked=stacked, x_title=x_title, y_title=asked.unit, title=heading)
    rows = [[label, *(counts[place] for counts in series.values())] for place, label in enumerate(found.labels)]
    if any(found.missing.values()):
        rows.append([_NONE, *found.missing.values()])
    rows.append(
        ["Total", *(sum(counts) + gap for counts, gap in zip(series.values(), found.missing.values(), strict=True))]
    )
    return figure, [title, *series], rows


def _read(column: Column, text: str) -> float | None:
    try:
        return _coded(column, column.read(text.strip().replace(",", ".")))
    except (ValueError, TypeError, OverflowError):
        return None


def _is_gap(value: object) -> bool:
    """Return whether a cell holds no plain value."""
    return value is None or value == "" or isinstance(value, list | dict)


def _coded(column: Column, value: Any) -> float | None:
    """Return a value as a number; None for what an earlier template let in and this one cannot read."""
    try:
        return column.code(value)
    except (ValueError, TypeError, OverflowError):
        return None


def _number(value: Any) -> list[float]:
    try:
        return [float(value)]
    except (ValueError, TypeError, OverflowError):
        return []


def _test(condition: ExactCondition, column: Column) -> Callable[[Mapping[str, object]], bool]:
    """Return whether a row passes a filter; an end that cannot be read does not count."""
    low, high = _read(column, condition.low), _read(column, condition.high)
    chosen = {value for value in column.listed if column.write(value) in condition.chosen}

    def holds(row: Mapping[str, object]) -> bool:
        value = row.get(condition.column)
        if _is_gap(value):
            return condition.gaps != "without" and low is None and high is None and not chosen
        if condition.gaps == "only" or (chosen and value not in chosen):
            return False
        if low is None and high is None:
            return True
        number = _coded(column, value)
        return number is not None and (low is None or number >= low) and (high is None or number <= high)

    return holds


def with_condition(asked: ExactQuestion, column: str) -> ExactQuestion:
    """Return a question with one more filter, which lets everything pass."""
    if len(asked.conditions) >= MOST_FILTERS or any(each.column == column for each in asked.conditions):
        return asked
    return replace(asked, conditions=(*asked.conditions, ExactCondition(column=column)))


def without_condition(asked: ExactQuestion, column: str) -> ExactQuestion:
    """Return a question without the filter by a column."""
    return replace(asked, conditions=tuple(each for each in asked.conditions if each.column != column))
