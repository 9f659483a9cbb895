"""One row of each person: which one, said with public facts alone.

The row is a function of that person's own rows under ``where=``: ordered by the declared columns, then by every other
column that can be asked. One rule for ties and missing values, on every engine:

* a row whose order column is missing comes last, whatever the direction; so does "other" of a category, before missing;
* rows that are equal so far are ordered by all columns that can be asked, as the schema lists them, each ascending and
  with missing values last;
* rows that are equal in all of them are equal for every question.

Neither the place of a row nor anybody else's rows can change the choice.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal, TypeAlias, get_args

from pydplib.engine.bounds import Bound
from pydplib.errors import QuestionError, did_you_mean
from pydplib.schema import Schema
from pydplib.schema.formulas import FormulaStep

Rule: TypeAlias = Literal["first", "last", "highest"]
"""Which row of a person counts: ``last`` and ``highest`` both take the largest values."""

_EXAMPLE = "per_person=dp.Person('patient_id').first_row(order='day')"


@dataclass(frozen=True, slots=True)
class OneRow:
    """Which row of each person counts; made by ``Person``.

    Args:
        rule: ``first`` takes the smallest values of the order columns, ``last`` and ``highest`` the largest.
        order: The columns that order a person's rows.
        person: The person column; None for the one that the schema names.

    Examples:
        >>> print(OneRow("first", ("day",)), "|", OneRow("highest", ("pirads",)))
        first by day | highest pirads
    """

    rule: Rule
    order: tuple[str, ...]
    person: str | None = None

    def __post_init__(self) -> None:
        if self.rule not in get_args(Rule):
            raise QuestionError(
                f"Unknown rule '{self.rule}' for a person's row.{did_you_mean(self.rule, get_args(Rule))}"
            )
        order: Any = self.order
        named = (order,) if isinstance(order, str) else tuple(order) if isinstance(order, Iterable) else ()
        if not named or not all(isinstance(name, str) and name for name in named) or len(set(named)) != len(named):
            raise QuestionError(f"The order of a person's rows is one or more columns, each once: {_EXAMPLE}.")
        object.__setattr__(self, "order", named)
        if self.person is not None and (not isinstance(self.person, str) or not self.person):
            raise QuestionError(f"A person is named by a column: {_EXAMPLE}.")

    def canonical(self, schema: Schema) -> OneRow:
        """Return the rule in its one spelling: the largest day is the last one, any other largest value the highest.

        Raises:
            QuestionError: If the schema names no person, or another one, or a column has no order.
        """
        if schema.person is None:
            raise QuestionError(
                "Without a person column every row is another person, so each person's one row counts already. Leave "
                "out per_person=, or name the person column: Schema(person='patient_id', ...)."
            )
        if self.person not in (None, schema.person):
            raise QuestionError(
                f"per_person= takes one row of each '{self.person}', but the schema says that a person is "
                f"'{schema.person}'. They must be the same column."
            )
        for name in self.order:
            if not can_order(schema, name):
                raise QuestionError(f"Column '{name}' cannot order a person's rows. Use a date, a number or a score.")
        if self.rule == "first":
            return replace(self, person=None)
        is_day = schema.column(self.order[0]).widget == "date"
        return replace(self, rule="last" if is_day else "highest", person=None)

    def bound(self, schema: Schema) -> Bound:
        """Return the bound: exactly one row of each person counts, in full."""
        one = self.canonical(schema)
        return Bound(schema.person, 1, mode="row", rule=one.rule, order=one.order)

    def to_dict(self) -> dict[str, Any]:
        """Return the rule as plain values."""
        plain: dict[str, Any] = {"rule": self.rule, "order": list(self.order)}
        return plain if self.person is None else plain | {"person": self.person}

    @classmethod
    def from_dict(cls, values: Any) -> OneRow:
        """Build a rule from plain values, as ``to_dict`` gives them."""
        if not isinstance(values, Mapping) or not {"rule", "order"} <= set(values) <= {"rule", "order", "person"}:
            raise QuestionError(
                "per_person has the entries rule (first, last or highest), order and, if at all, person."
            )
        return cls(values["rule"], values["order"], values.get("person"))

    def __repr__(self) -> str:
        listed = ", ".join(map(repr, self.order))
        order = listed if len(self.order) == 1 else f"[{listed}]"
        person = "" if self.person is None else repr(self.person)
        return f"Person({person}).{self.rule}_row({'' if self.rule == 'highest' else 'order='}{order})"

    def __str__(self) -> str:
        return f"{self.rule} {'' if self.rule == 'highest' else 'by '}{', '.join(self.order)}"


@dataclass(frozen=True, slots=True)
class Person:
    """The start of a rule about each person: name the person column, then say which row counts.

    Args:
        column: The schema's person column; it may be left out.

    Examples:
        >>> Person("patient_id").first_row(order="last_modified")
        Person('patient_id').first_row(order='last_modified')
        >>> Person().highest_row("pirads")
        Person().highest_row('pirads')
    """

    column: str | None = None

    def first_row(self, *, order: str | Iterable[str]) -> OneRow:
        """The row with the smallest values of the order columns, such as the earliest day."""
        return OneRow("first", _named(order), self.column)

    def last_row(self, *, order: str | Iterable[str]) -> OneRow:
        """The row with the largest values of the order columns, such as the latest day."""
        return OneRow("last", _named(order), self.column)

    def highest_row(self, order: str | Iterable[str]) -> OneRow:
        """The row with the largest value, such as the highest score."""
        return OneRow("highest", _named(order), self.column)

    # -- values of each person, for columns: dp.Number(-20, 20, derived=dp.Person().change("psa", order="day")) --------

    def first(self, column: str, *, order: str | Iterable[str]) -> FormulaStep:
        """The first value that is there."""
        return FormulaStep("first", (column,), _named(order))

    def last(self, column: str, *, order: str | Iterable[str]) -> FormulaStep:
        """The last value that is there."""
        return FormulaStep("last", (column,), _named(order))

    def highest(self, column: str) -> FormulaStep:
        """The highest value; of a category, the last in declared order; "other" where there is nothing else."""
        return FormulaStep("highest", (column,))

    def change(self, column: str, *, order: str | Iterable[str]) -> FormulaStep:
        """The last number minus the first; 0 where there is one, missing where there is none."""
        return FormulaStep("change", (column,), _named(order))

    def days_between(self, start: str, end: str | None = None) -> FormulaStep:
        """The days from the first to the last day of a column, or from the first of one to the first of another."""
        return FormulaStep("days_between", (start,) if end is None else (start, end))

    def days_to_next(self, column: str) -> FormulaStep:
        """The days from the first day to the next later one; missing where there is none."""
        return FormulaStep("days_to_next", (column,))

    def count_of(
        self,
        column: str | None = None,
        values: Iterable[Any] | None = None,
        *,
        at_least: Any = None,
        at_most: Any = None,
    ) -> FormulaStep:
        """The number of rows: all, those with a value, with one of these values, or with at least or at most this one.

        Examples:
            >>> print(Person().count_of("pirads", [4, 5]), Person().count_of("psa", at_least=10), Person().count_of())
            count_of(pirads in 4, 5) count_of(psa >= 10) count_of()
        """
        given = [(op, value) for op, value in (("at_least", at_least), ("at_most", at_most)) if value is not None]
        if len(given) + (values is not None) > 1 or (column is None and (given or values is not None)):
            raise QuestionError("count_of takes a column and one condition: count_of('pirads', [4, 5]).")
        if column is None:
            return FormulaStep("count_of")
        if values is not None:
            return FormulaStep("count_of", (column,), op="is_in", values=tuple(str(value) for value in values))
        op, texts = (given[0][0], (str(given[0][1]),)) if given else ("is_present", ())
        return FormulaStep("count_of", (column,), op=op, values=texts)


def _named(order: Any) -> tuple[str, ...]:
    return (order,) if isinstance(order, str) else tuple(order) if isinstance(order, Iterable) else ()


def ordering_columns(schema: Schema) -> tuple[str, ...]:
    """Return the columns that settle which row counts where the order columns do not: all that can be asked.

    Examples:
        >>> from pydplib.schema import Number, Text
        >>> ordering_columns(Schema({"age": Number(0, 9), "note": Text()}))
        ('age',)
    """
    return tuple(name for name, kind in schema.stored.items() if kind.can_be_asked and name != schema.person)


def orderable_columns(schema: Schema) -> tuple[str, ...]:
    """Return the columns that can order a person's rows: their values differ between them, and can be asked.

    Examples:
        >>> from pydplib.schema import Number, Text
        >>> orderable_columns(Schema({"age": Number(0, 9), "note": Text()}))
        ('age',)
    """
    unfit = {schema.person, *schema.steps}
    return tuple(name for name, kind in schema.columns.items() if kind.can_be_asked and name not in unfit)


def can_order(schema: Schema, name: str) -> bool:
    """Return whether a column is one of ``orderable_columns``; raise ``SchemaError`` if there is no such column."""
    schema.column(name)
    return name in orderable_columns(schema)
