"""What a formula makes, by declarations alone: the column that follows from its inputs, and what it means in words."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

from pydplib.errors import SchemaError
from pydplib.schema import Category, Column, Integer, Label, Number, Schema
from pydplib.schema.derived import check_formula
from pydplib.schema.formulas import (
    Calendar,
    Constant,
    Cut,
    Formula,
    FormulaStep,
    Operand,
    Operation,
    compute,
    parse_formula,
    walk,
)

STRICTEST: tuple[Label, ...] = ("public", "quasi", "sensitive", "identifier")
_TESTS = {
    "is_in": "is", "not_in": "is not", "at_least": "is at least", "at_most": "is at most", "more_than": "is more than",
    "less_than": "is less than", "is_present": "is filled in",
}  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Proposal:
    """A formula that can be read, and what follows from it.

    Args:
        formula: The formula.
        column: The column with the widest bounds that its inputs allow; none where only the owner can say.
        label: The strictest label of its inputs.
        meaning: What it is, in words.
        missing: When it is missing, in words.
        example: One value, computed from the middle of the inputs' bounds; empty for steps.
    """

    formula: Formula
    column: Column | None
    label: Label
    meaning: str
    missing: str
    example: str


def propose_column(text: str, schema: Schema) -> Proposal:
    """Read a formula and return what follows from it; no data are looked at.

    Raises:
        SchemaError: The formula cannot be read, or does not fit the table.

    Examples:
        >>> schema = Schema({"psa": Number(0, 100), "volume": Number(5, 300)}, person="id", max_rows_per_person=3)
        >>> propose_column("psa / volume", schema).column.facts
        '0 to 20'
        >>> propose_column("psa / volume", schema).meaning
        'Of each record: psa / volume'
    """
    formula = parse_formula(text)
    for name in formula.columns:
        schema.column(name)  # says what is close to it
    labels = [schema.columns[name].label for name in formula.columns] or ["quasi"]
    label = max(labels, key=STRICTEST.index)
    column = _column_of(formula, schema, label)
    titles = {name: found.title or name for name, found in schema.columns.items()}
    _check(Number(0, 1, label=label, derived=str(formula)) if column is None else column, schema)
    return Proposal(
        formula=formula,
        column=column,
        label=label,
        meaning=_meaning(formula, titles),
        missing=_missing(formula, titles),
        example=_example(formula, schema, titles),
    )


def _check(column: Column, schema: Schema) -> None:
    try:
        check_formula("this", column, schema)
    except SchemaError as error:
        raise SchemaError(str(error).replace("Column 'this'", "The column")) from None


def _column_of(formula: Formula, schema: Schema, label: Label) -> Column | None:
    root, text = formula.root, str(formula)
    if isinstance(root, FormulaStep):
        return _step_column(root, schema, label, text)
    if isinstance(root, Cut):
        edges = [str(Constant(edge)) for edge in root.edges]
        middle = [f"{low} to below {high}" for low, high in pairwise(edges)]
        values = [f"below {edges[0]}", *middle, f"{edges[-1]} and more"]
        return Category(tuple(values), ordered=True, label=label, derived=text)
    if isinstance(root, Calendar):
        ends = schema.columns[root.column].ends
        if root.part == "month" or ends is None:
            return Integer(1, 12, label=label, derived=text)
        return Integer(int(str(ends[0])[:4]), int(str(ends[1])[:4]), label=label, derived=text)
    found = _interval(root, schema)
    if found is None or not found[0] < found[1]:
        return None
    return Number(_plain(found[0]), _plain(found[1]), label=label, derived=text)


def _step_column(step: FormulaStep, schema: Schema, label: Label, text: str) -> Column | None:
    sources = [schema.columns[name] for name in step.columns]
    if step.kind in ("first", "last", "highest"):
        made: Any = replace(sources[0], derived=text, label=label, title="")  # type: ignore[type-var]
        return made  # type: ignore[no-any-return]
    if step.kind == "count_of":
        return Integer(0, schema.max_rows_per_person, unit="records", label=label, derived=text)
    bounds = [source.number_bounds for source in sources]
    if any(each is None for each in bounds):
        return None
    (low, high), *more = [each for each in bounds if each is not None]
    if step.kind == "change":
        width = high - low
        return Number(_plain(-width), _plain(width), unit=sources[0].number_unit, label=label, derived=text)
    if more:
        return Integer(int(more[0][0] - high), int(more[0][1] - low), unit="days", label=label, derived=text)
    return Integer(0, int(high - low), unit="days", label=label, derived=text)


def _interval(node: Any, schema: Schema) -> tuple[float, float] | None:
    """Return between which numbers a part of a formula lies, by the bounds of its columns; none where it has no end."""
    if isinstance(node, Constant):
        return node.value, node.value
    if isinstance(node, Operand):
        return schema.columns[node.column].number_bounds
    if isinstance(node, Calendar):
        return (1.0, 12.0) if node.part == "month" else (1900.0, 2100.0)
    assert isinstance(node, Operation)
    left, right = _interval(node.left, schema), _interval(node.right, schema)
    if left is None or right is None or (node.sign == "/" and right[0] <= 0 <= right[1]):
        return None
    if node.sign == "+":
        return left[0] + right[0], left[1] + right[1]
    if node.sign == "-":
        return left[0] - right[1], left[1] - right[0]
    corners = [a * b if node.sign == "*" else a / b for a in left for b in right]
    return min(corners), max(corners)


def _plain(number: float) -> float:
    return int(number) if float(number).is_integer() and abs(number) < 1e15 else float(f"{number:.6g}")


def _meaning(formula: Formula, titles: Mapping[str, str]) -> str:
    root = formula.root
    if not isinstance(root, FormulaStep):
        return f"Of each record: {_written(formula, titles)}"
    names = [titles[name] for name in root.columns]
    order = " and ".join(titles[name] for name in root.order)
    words = {
        "first": lambda: f"the first {names[0]}, in the order of {order}",
        "last": lambda: f"the last {names[0]}, in the order of {order}",
        "highest": lambda: f"the highest {names[0]}",
        "change": lambda: f"the last {names[0]} minus the first, in the order of {order}",
        "days_between": lambda: (
            f"the days from the first to the last {names[0]}"
            if len(names) == 1
            else f"the days from the first {names[0]} to the first {names[1]}"
        ),
        "days_to_next": lambda: f"the days from the first {names[0]} to the next later one",
        "count_of": lambda: (
            f"the number of records where {names[0]} {_TESTS[root.op]} {' or '.join(root.values)}".rstrip()
            if names
            else "the number of records"
        ),
    }
    return f"Of each patient: {words[root.kind]()}"


def _written(formula: Formula, titles: Mapping[str, str]) -> str:
    """Return a formula with the columns' words in place of their names."""

    def told(node: Any, inside: bool = True) -> str:
        if isinstance(node, Operand):
            return titles[node.column]
        if isinstance(node, Calendar):
            return f"the {node.part} of {titles[node.column]}"
        if isinstance(node, Operation):
            text = f"{told(node.left)} {node.sign} {told(node.right)}"
            return f"({text})" if inside else text
        return str(node)

    root: Any = formula.root
    if isinstance(root, Cut):
        return f"{told(root.of, False)} in {len(root.edges) + 1} classes"
    return told(root, False)


def _missing(formula: Formula, titles: Mapping[str, str]) -> str:
    root = formula.root
    if isinstance(root, FormulaStep):
        if root.kind == "count_of":
            return "Never missing: somebody without such a record counts as 0."
        return "Missing where the patient has no such value."
    names = [titles[name] for name in formula.columns]
    divides = any(isinstance(node, Operation) and node.sign == "/" for node in walk(root))
    zero = ", and where it would be divided by 0" if divides else ""
    return f"Missing where {' or '.join(names)} is missing{zero}."


def _example(formula: Formula, schema: Schema, titles: Mapping[str, str]) -> str:
    """Return one computed value, from the middle of the declared bounds: a made-up record."""
    if isinstance(formula.root, FormulaStep | Cut) or any(isinstance(node, Calendar) for node in walk(formula.root)):
        return ""
    values: dict[str, float | None] = {}
    for name in formula.columns:
        bounds = schema.columns[name].number_bounds
        if bounds is None:
            return ""
        values[name] = round((bounds[0] + bounds[1]) / 2)
    found = compute(formula, values)
    given = " and ".join(f"{titles[name]} {value:g}" for name, value in values.items())
    return "" if found is None else f"With {given}: {found:.4g}."
