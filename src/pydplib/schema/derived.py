"""Whether a formula fits the columns that it looks at and the column that it makes: by declarations alone."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pydplib.errors import QuestionError, SchemaError, did_you_mean
from pydplib.schema.cells import DayCell, Scalar
from pydplib.schema.columns.base import Column
from pydplib.schema.formulas import HUGE, Calendar, Cut, Formula, FormulaStep, walk

if TYPE_CHECKING:
    from pydplib.schema.table import Schema

_STRICT = ("public", "quasi", "sensitive", "identifier")


def check_formula(name: str, column: Column, schema: Schema) -> None:
    """Raise ``SchemaError`` where a column cannot be computed as it says.

    Args:
        name: The column's name, for messages.
        column: The declaration, with a formula.
        schema: The table.
    """
    formula = column.formula
    assert formula is not None
    for operand in formula.columns:
        _check_operand(name, operand, column, schema)
    if isinstance(formula.root, FormulaStep):
        _check_step(name, column, formula.root, schema)
    else:
        _check_row(name, column, formula, schema)


def _check_operand(name: str, operand: str, column: Column, schema: Schema) -> None:
    if operand not in schema.columns:
        others = [other for other, kind in schema.columns.items() if kind.formula is None]
        raise SchemaError(f"Column '{name}' is computed from '{operand}', no column.{did_you_mean(operand, others)}")
    found = schema.columns[operand]
    if found.formula is not None:
        raise SchemaError(f"Column '{name}' is computed from '{operand}', which is computed itself. Write it out.")
    if operand == schema.person or not found.can_be_asked:
        raise SchemaError(f"Column '{name}' cannot be computed from '{operand}': free text and persons have no value.")
    if _STRICT.index(column.label) < _STRICT.index(found.label):
        raise SchemaError(
            f"Column '{name}' is computed from '{operand}', which is {found.label}: give it label='{found.label}' too."
        )


def _check_row(name: str, column: Column, formula: Formula, schema: Schema) -> None:
    for operand in formula.columns:
        bounds = schema.columns[operand].number_bounds
        if bounds is None:
            raise SchemaError(f"Column '{name}' computes with '{operand}', which holds no numbers.")
        if max(abs(end) for end in bounds) > HUGE:
            raise SchemaError(f"Column '{name}' computes with '{operand}', whose bounds are too large to compute with.")
    root = formula.root
    if isinstance(root, Cut):
        if not column.cell.is_code or column.cell.other is None or len(column.choices) != len(root.edges) + 1:
            raise SchemaError(
                f"Column '{name}' is cut into {len(root.edges) + 1} parts: declare a Category with as many values."
            )
        root = root.of
    elif not column.holds_numbers:
        raise SchemaError(f"Column '{name}' is computed as a number: declare it as Number(low, high) or Integer.")
    if isinstance(root, FormulaStep):
        return
    for node in walk(root):
        if isinstance(node, Calendar) and not isinstance(schema.columns[node.column].cell, DayCell):
            raise SchemaError(f"Column '{name}' takes the {node.part} of '{node.column}', which holds no days.")


def _check_step(name: str, column: Column, step: FormulaStep, schema: Schema) -> None:
    if schema.person is None:
        raise SchemaError(f"Column '{name}' is computed for each person: name the person column, Schema(person=...).")
    sources = [schema.columns[source] for source in step.columns]
    if step.kind in ("first", "last", "highest"):
        (source,) = sources
        is_same = type(column.cell) is type(source.cell)
        if not is_same or (column.cell.is_code and (column.choices, column.kind) != (source.choices, source.kind)):
            raise SchemaError(f"Column '{name}' takes values of '{step.columns[0]}': declare the same kind and values.")
        return
    if not column.holds_numbers:
        raise SchemaError(f"Column '{name}' is computed as a number: declare it as Number(low, high) or Integer.")
    if step.kind == "change" and not sources[0].holds_numbers:
        raise SchemaError(f"Column '{name}' is the change of '{step.columns[0]}', which holds no numbers.")
    if step.kind.startswith("days") and not all(isinstance(source.cell, DayCell) for source in sources):
        raise SchemaError(f"Column '{name}' counts days, but {' or '.join(step.columns)} holds none.")
    if step.kind == "count_of" and sources:
        try:
            sources[0].canonical(step.columns[0], step.op, compared_values(step, sources[0]))  # type: ignore[arg-type]
        except QuestionError as error:
            raise SchemaError(f"Column '{name}' cannot count '{step}': {error}") from None


def compared_values(step: FormulaStep, column: Column) -> tuple[Scalar, ...]:
    """Return what a count compares with, as the column has it.

    Raises:
        QuestionError: If a value cannot be read.
    """
    found: list[Scalar] = []
    for text in step.values:
        spelled = [value for value in column.spelled_values if column.write(value) == text or str(value) == text]
        if not spelled and column.spelled_values:
            raise QuestionError(f"'{text}' is no declared value.{did_you_mean(text, column.spelled_values)}")
        try:
            found.append(spelled[0] if spelled else column.read(text))
        except ValueError:
            raise QuestionError(f"the column {column.unreadable(text)}") from None
    return tuple(found)
