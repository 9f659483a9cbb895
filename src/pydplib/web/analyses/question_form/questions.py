"""Questions in plain words: what forms, dashboards and API calls may ask, as ``pydplib.release`` knows it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Any

from pydplib.engine import Bins, OneRow, RowCondition
from pydplib.engine.conditions import AnyOf
from pydplib.errors import QuestionError, did_you_mean
from pydplib.release import Question
from pydplib.release.results.axes import show_key
from pydplib.release.statistics import STATISTICS, offered_statistics
from pydplib.release.statistics.count import UNITS as UNITS
from pydplib.release.statistics.question import Part
from pydplib.schema import ORDER_OPERATORS, Column, Operator, Schema

MOST_EDGES = 201
MOST_NUMBER = 1e15
MOST_CONDITIONS = 3
MOST_CELLS = 10_000
"""The most cells of one answer: more would be no statistic, and slow for everybody else."""


OPERATORS: Mapping[str, str] = MappingProxyType(
    {
        "is_in": "is one of",
        "not_in": "is none of",
        "between": "is between",
        "at_least": "is at least",
        "at_most": "is at most",
        "more_than": "is more than",
        "less_than": "is less than",
        "is_present": "is filled in",
        "is_missing": "is missing",
    }
)
"""Conditions in words; the set is closed."""


def operators_for(column: Column) -> tuple[Operator, ...]:
    """Return the conditions that a column takes.

    Examples:
        >>> from pydplib.schema import Flag
        >>> operators_for(Flag())
        ('is_in', 'not_in', 'is_present', 'is_missing')
    """
    return column.operators


def kind_choices() -> list[tuple[str, str]]:
    """Return the statistics that can be asked as (word, title), in the order of the form.

    Examples:
        >>> kind_choices()[:2]
        [('count', 'How many'), ('mean', 'Average')]
    """
    return [(ask, kind.title) for ask, kind in offered_statistics().items()]


def own_parts(kind: type[Question]) -> list[Part]:
    """Return what a form asks for one statistic alone."""
    return [part for part in kind.parts if part.form]


def edges_text(edges: Iterable[object]) -> str:
    """Return edges as a form shows them.

    Examples:
        >>> edges_text((18, 20.5, 30))
        '18, 20.5, 30'
    """
    return ", ".join(show_key(edge) for edge in edges)


def parse_edges(text: str, column: Column) -> Bins:
    """Read bins: numbers or days in ascending order, with commas, semicolons or blanks between.

    Examples:
        >>> from pydplib.schema import Number
        >>> parse_edges("20, 30 40", Number(18, 100)).edges
        (20, 30, 40)
    """
    parts = [part for part in re.split(r"[;\s]+|,\s*", text.strip()) if part]
    if not 2 <= len(parts) <= MOST_EDGES:
        raise QuestionError(f"Give the edges of the bins, from 2 to {MOST_EDGES} of them, with commas between.")
    return Bins(parse_value(part, column) for part in parts)


def parse_value(text: str, column: Column) -> object:
    """Read a number or a day as a column has it.

    Examples:
        >>> from pydplib.schema import Date, Number
        >>> parse_value("60", Number(18, 100)), parse_value("2018-01-31", Date("2017-01-01", "2018-12-31"))
        (60, '2018-01-31')
    """
    try:
        value = column.read(text.strip())
    except ValueError:
        raise QuestionError(column.hint) from None
    if not isinstance(value, str) and abs(value) > MOST_NUMBER:
        raise QuestionError(column.hint)
    return value


def values_of(column: Column) -> list[tuple[str, object, str]]:
    """Return the public values of a category or yes/no column: a name for forms, the value, and its words.

    Examples:
        >>> from pydplib.schema import Flag
        >>> values_of(Flag())
        [('0', False, 'no'), ('1', True, 'yes')]
    """
    return [(str(place), value, column.write(value)) for place, value in enumerate(column.choices)]


def make_condition(name: str, column: Column, operator: str, values: Sequence[Any]) -> RowCondition:
    """Return one condition; the operator must be one that the column takes."""
    if operator not in operators_for(column):
        raise QuestionError(f"Unknown condition.{did_you_mean(operator, operators_for(column))}")
    if operator in ("is_in", "not_in") and not values:
        raise QuestionError("Choose at least one value.")
    if operator in ORDER_OPERATORS and len(values) != ORDER_OPERATORS[operator]:
        raise QuestionError("Give both ends." if operator == "between" else "Give the value.")
    if operator == "between" and column.code(values[0]) > column.code(values[1]):
        raise QuestionError("The first number must not be above the second.")
    return RowCondition(name, operator, tuple(values))


def build_question(
    kind: str,
    *,
    field: str | None = None,
    by: Sequence[str] = (),
    bins: Mapping[str, Bins] | None = None,
    where: Sequence[RowCondition] = (),
    own: Mapping[str, object] | None = None,
    any_of: bool = False,
    per_person: OneRow | None = None,
    after: Sequence[RowCondition] = (),
) -> Question:
    """Return a question of ``pydplib.release`` from the parts of the form.

    Args:
        kind: The word of a statistic.
        field: What it is about; none for ``count``.
        by: Up to two groups; for ``crosstab`` the first is what the field is set against.
        bins: Column -> public bins, where they are not the default ones.
        where: Conditions, all of which must hold.
        own: What only this statistic asks for, e.g. ``{"of": "persons"}`` for ``count``.
        any_of: Whether one of the conditions is enough.
        per_person: Which one record of each person counts.
        after: Conditions on that record.

    Raises:
        QuestionError: In plain words, if the parts do not fit together.

    Examples:
        >>> build_question("mean", field="age", by=["pirads"])
        Mean('age', by=['pirads'])
        >>> build_question("count", own={"of": "persons"})
        Count(of='persons')
    """
    shape = STATISTICS.get(kind)
    if shape is None or not shape.offered:
        raise QuestionError(f"Unknown question.{did_you_mean(kind, offered_statistics())}")
    edges = dict(bins or {})
    if shape.about is not None and not field:
        raise QuestionError("Choose the field that the question is about.")
    if len(by) > shape.most_groups or len(where) > MOST_CONDITIONS:
        raise QuestionError(f"At most {shape.most_groups} groups and {MOST_CONDITIONS} conditions.")
    if len({*by, field}) != len(by) + 1:
        raise QuestionError("Each field can be chosen once.")
    given = dict(own or {})
    missing = [part.label for part in shape.parts if part.form and part.required and part.name not in given]
    if missing:
        raise QuestionError(f"This question needs more than this form asks: {missing[0]}")
    groups = {name: edges.get(name, ...) for name in by}
    conditions = [AnyOf(*where)] if any_of and len(where) > 1 else where
    question: Question = shape.from_form(column=field, groups=groups, edges=edges, where=conditions, own=given)
    return question.of_persons(per_person, after) if per_person is not None or after else question


def check_cells(question: Question, schema: Schema) -> None:
    """Raise ``QuestionError`` for a question whose answer would have more cells than a platform gives.

    Examples:
        >>> from pydplib.schema import Number
        >>> from pydplib.release import Crosstab, Histogram
        >>> check_cells(Histogram("age", range(18, 101)), Schema({"age": Number(18, 100)}))
        >>> fine = dict.fromkeys("ab", range(200))
        >>> check_cells(Crosstab("a", "b", bins=fine), Schema(dict.fromkeys("ab", Number(0, 199))))
        Traceback (most recent call last):
        ...
        pydplib.errors.QuestionError: The answer would have 39601 cells; at most 10000 are given. Use wider bins.
    """
    cells = question.values_per_group()
    for keys in question.groups(schema).values():
        cells *= len(keys.edges) - 1 if isinstance(keys, Bins) else len(keys or (None,))
    if cells > MOST_CELLS:
        raise QuestionError(f"The answer would have {cells} cells; at most {MOST_CELLS} are given. Use wider bins.")


def params_of(question: Question, columns: Mapping[str, Column]) -> list[tuple[str, str]]:
    """Return a question as the fields of the form, so that an address can open the form filled in."""
    own, groups = question.to_form()
    found = [("kind", question.ask), *((name, show_key(value)) for name, value in own)]
    found += [(f"by{place}", name) for place, name in enumerate(groups, start=1)]
    for name, keys in question.cut_columns:
        if isinstance(keys, Bins):
            found.append((f"bins_{name}", edges_text(keys.edges)))
    if getattr(question, "edges", None):
        found.append((f"bins_{question.measured[0]}", edges_text(question.edges)))  # type: ignore[attr-defined]
    conditions: Sequence[RowCondition] = question.conditions
    if len(conditions) == 1 and isinstance(conditions[0], AnyOf):
        conditions = conditions[0].parts
        found.append(("match", "any"))
    for place, condition in enumerate(conditions, start=1):
        found += _condition_params(str(place), condition, columns)
    if question.per_person is not None:
        found += [("rule", question.per_person.rule), ("order", question.per_person.order[0])]
    for condition in question.conditions_after[:1]:
        found += _condition_params(AFTER, condition, columns)
    return found


AFTER = "_after"
"""What the fields of the condition on each person's one record end with."""


def _condition_params(place: str, condition: RowCondition, columns: Mapping[str, Column]) -> list[tuple[str, str]]:
    """Return one condition as the fields of the form."""
    if isinstance(condition, AnyOf):  # next to other conditions: the form has no fields for that
        return []
    found = [(f"where{place}", condition.column), (f"op{place}", condition.op)]
    listed = values_of(columns[condition.column]) if condition.column in columns else []
    if listed:
        return found + [(f"values{place}", name) for name, value, _ in listed if value in condition.values]
    return found + [(f"{end}{place}", str(v)) for end, v in zip(("low", "high"), condition.values, strict=False)]


def title_of(question: Mapping[str, Any], titles: Mapping[str, str]) -> str:
    """Return a question's plain values as a reader's sentence; ``titles`` names the fields.

    Examples:
        >>> title_of({"ask": "mean", "of": "age", "by": [{"column": "pirads"}]}, {"age": "Age"})
        'Average of Age by pirads'
    """
    ask = str(question.get("ask", ""))
    if ask == "tables":
        return f"{len(question['questions'])} tables together: " + "; ".join(
            title_of(one, titles) for one in question["questions"]
        )
    if ask == "rows_per_person":
        return "How many people have how many records"
    if ask == "synthesize":
        names = [entry["column"] for entry in question["columns"]]
        return f"Synthetic table of {', '.join(titles.get(name, name) for name in names)}"
    groups = [titles.get(entry["column"], entry["column"]) for entry in question.get("by", ())]
    if ask in STATISTICS:
        words = STATISTICS[ask].headline(question, titles, groups)
    else:
        words = f"{ask.capitalize()} of {titles.get(question.get('of', ''), question.get('of', ''))}"
        words += " by " + " and ".join(groups) if groups else ""
    where = [condition_words(RowCondition.from_dict(entry), titles) for entry in question.get("where", ())]
    words = f"{words}, where {' and '.join(where)}" if where else words
    if question.get("per_person"):
        words += f", {rule_words(OneRow.from_dict(question['per_person']), titles)}"
    after = [condition_words(RowCondition.from_dict(entry), titles) for entry in question.get("after", ())]
    return f"{words}, if {' and '.join(after)}" if after else words


def rule_words(rule: OneRow, titles: Mapping[str, str]) -> str:
    """Return which record of each person counts, as a reader's words.

    Examples:
        >>> rule_words(OneRow("highest", ("pirads",)), {"pirads": "Score"})
        'the record of each person with the highest Score'
    """
    order = " and ".join(titles.get(name, name) for name in rule.order)
    if rule.rule == "highest":
        return f"the record of each person with the highest {order}"
    return f"the {rule.rule} record of each person by {order}"


def condition_words(condition: RowCondition, titles: Mapping[str, str]) -> str:
    """Return a condition as a reader's words.

    Examples:
        >>> condition_words(RowCondition("age", "between", (60, 70)), {"age": "Age"})
        'Age is between 60 and 70'
    """
    if isinstance(condition, AnyOf):
        return f"({' or '.join(condition_words(part, titles) for part in condition.parts)})"
    shown = [show_key(value) for value in condition.values]
    between = " and " if condition.op == "between" else " or "
    words = f"{titles.get(condition.column, condition.column)} {OPERATORS[condition.op]} {between.join(shown)}"
    if condition.op in ("is_in", "not_in") and len(shown) == 1:
        words = words.replace("is one of", "is").replace("is none of", "is not")
    return words.strip()
