"""A question against a schema: checked, canonical, bounded. Public facts alone; no epsilon yet, and no data."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from pydplib.budget.keys import canonical_json, sha256_hex
from pydplib.engine import Bins, Bound, Measure, Plan
from pydplib.engine.conditions import canonical_conditions
from pydplib.errors import QuestionError
from pydplib.release.axes import Axis
from pydplib.release.choosing import check_quantiles
from pydplib.release.grids import cells_measure, column_unit, narrowed_bounds, number_column
from pydplib.release.limits import RowsPerPerson
from pydplib.release.questions import Count, Crosstab, Histogram, Median, Quantiles, Question
from pydplib.schema import Column, Schema

COUNTS = (Count, Histogram, Crosstab, RowsPerPerson)
"""The questions whose answer is a number of rows or persons per cell."""


@dataclass(frozen=True)
class Resolved:
    """A question with everything public filled in.

    Attributes:
        question: The question.
        schema: The table's public facts.
        canonical: The question in the one spelling that all of its spellings share.
        groups: Column -> public keys, ``Bins``, or None for unknown keys.
        bound: How one person's contribution is bounded.
        axes: The axes of the answer; empty where the keys are unknown.
    """

    question: Question
    schema: Schema
    canonical: dict[str, Any]
    groups: dict[str, Any]
    bound: Bound
    axes: tuple[Axis, ...]

    @property
    def is_count(self) -> bool:
        """Whether rows or persons are counted."""
        return isinstance(self.question, COUNTS)

    @property
    def has_unknown_keys(self) -> bool:
        """Whether a group's keys are unknown."""
        return any(keys is None for keys in self.groups.values())

    @property
    def rows(self) -> int:
        """The most rows of one person that count, over all groups."""
        return self.bound.max_rows * (self.bound.max_groups or 1)

    @property
    def cells(self) -> int:
        """How many groups (cells, for counts) the answer has; 1 where they are unknown."""
        found = 1
        for axis in self.axes:
            found *= len(axis.keys)
        return found

    @property
    def column(self) -> Column:
        """The column that is measured."""
        return number_column(self.schema, self.question.measured[0], self.question.ask)

    @property
    def bounds(self) -> tuple[float, float]:
        """The public bounds of the measured column, narrowed by the conditions on it."""
        where = canonical_conditions(self.question.conditions, self.schema)
        return narrowed_bounds(self.column, self.question.measured[0], where)

    @property
    def unit(self) -> str:
        """The unit of the answer's values."""
        if self.is_count:
            by_persons = isinstance(self.question, RowsPerPerson) or getattr(self.question, "of", "") == "persons"
            return "persons" if by_persons else "rows"
        unit = column_unit(self.column)
        if not unit or self.question.ask != "variance":
            return unit
        return f"{unit}^2" if unit.isalnum() else f"({unit})^2"

    @property
    def shares(self) -> tuple[Fraction, ...]:
        """The quantiles that are asked; one half for a median, none for anything else."""
        if isinstance(self.question, Quantiles):
            return check_quantiles(self.question.quantiles)
        return (Fraction(1, 2),) if isinstance(self.question, Median) else ()

    @property
    def fingerprint(self) -> str:
        """A hash of the declarations that the answer depends on: another bound is another question."""
        used = sorted(self.question.fields | self.question.filters)
        declared = self.schema.to_dict()
        facts = {
            "table": self.schema.name,
            "columns": {name: declared["columns"][name] for name in used},
            "bound": self.bound.to_dict(),
        }
        return sha256_hex(canonical_json(facts))

    def plan(self, measures: list[Measure]) -> Plan:
        """Return the engine's plan of these measures."""
        return Plan(self.schema, measures=measures, where=self.question.conditions, by=self.groups, bound=self.bound)


def resolve(question: Question, schema: Schema) -> Resolved:
    """Check a question against a schema and fill in what the schema declares.

    Raises:
        QuestionError: If it does not fit; the message names the column and the next step.

    Examples:
        >>> from pydplib.release.questions import Mean
        >>> from pydplib.schema import Flag, Number
        >>> found = resolve(Mean("age", by="bph"), Schema({"age": Number(18, 100), "bph": Flag()}))
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
    if not isinstance(question, COUNTS) and question.measured[0] in groups:
        name = question.measured[0]
        raise QuestionError(
            f"'{question.ask} of {name} by {name}' measures a column within its own groups. Ask how it is spread: "
            f"histogram {name}, in Python Histogram('{name}')."
        )
    if not isinstance(question, COUNTS):
        number_column(schema, question.measured[0], question.ask)
    if isinstance(question, RowsPerPerson):
        canonical = question.canonical(schema)
        return Resolved(question, schema, canonical, {}, Bound(schema.person), (question.axis(schema),))
    resolved = Resolved(
        question, schema, question.canonical(schema), groups, _bound(question, schema, groups), _axes(schema, groups)
    )
    if resolved.has_unknown_keys:
        _check_unknown(resolved)
    resolved.plan([Measure("count")])  # the engine's own checks of keys, conditions and sizes
    if resolved.shares:
        resolved.plan([cells_measure(resolved.column, question.measured[0], resolved.bounds)])
    return resolved


def _bound(question: Question, schema: Schema, groups: dict[str, Any]) -> Bound:
    persons = isinstance(question, Count) and question.of == "persons"
    rows = 1 if persons else schema.max_rows_per_person
    # A public salt is enough: which of a person's rows is taken depends on nobody else's.
    salt = f"pydplib {schema.lineage}"
    if any(keys is None for keys in groups.values()):
        if schema.person is None:
            raise QuestionError(
                "Unknown keys need the person column: Schema(person='patient_id', ...), so that one person cannot "
                "make many of them appear."
            )
        return Bound(schema.person, rows, mode="sample", max_groups=schema.max_groups_per_person, salt=salt)
    if persons and schema.person is not None:
        return Bound(schema.person, 1, mode="sample", salt=salt)
    return Bound.from_schema(schema)


def _check_unknown(resolved: Resolved) -> None:
    kind = type(resolved.question).__name__
    name = next(name for name, keys in resolved.groups.items() if keys is None)
    if kind not in ("Count", "Sum", "Mean", "Variance"):
        raise QuestionError(
            f"{kind} needs public keys. Of unknown keys only Count, Sum, Mean and Variance are asked: the others count "
            "into many cells per key, and nobody knows how many keys there are before they are paid for. First ask "
            f"Count(by={{'{name}': None}}), then declare '{name}' as a Category of the keys that it shows."
        )
    if len(resolved.groups) > 1:
        raise QuestionError(f"Unknown keys are asked of one column at a time: by={{'{name}': None}}.")


def _axes(schema: Schema, groups: dict[str, Any]) -> tuple[Axis, ...]:
    axes = []
    for name, keys in groups.items():
        if keys is None:
            return ()
        column = schema.column(name)
        title = column.title or name
        if isinstance(keys, Bins):
            axes.append(Axis(name, keys.keys, kind="bins", title=title, unit=column.bin_unit))
        else:
            axes.append(Axis(name, tuple(keys), title=title))
    return tuple(axes)
