"""One row of each person as SQL: ranked by declared columns, then by every column that can be asked.

``persons`` says which row that is; here its rule is written once for all databases::

    rows    AS (normalised columns of the rows that meet where=)
    ranked  AS (the same, numbered within each person)
    bounded AS (number 1 of each person, where it meets after=)

Columns that are told of each person (``first(pirads by day)``) are computed from the same rows, and joined::

    ends    AS (per person: the first and the last value of what orders the rows)
    steps   AS (one row of each person: what is told, of the rows at these ends)
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from pydplib.engine.conditions import RowCondition, canonical_conditions
from pydplib.engine.persons import ordering_columns
from pydplib.engine.plan import Plan
from pydplib.engine.sql.formulas import bounded_number
from pydplib.schema import Schema
from pydplib.schema.derived import compared_values
from pydplib.schema.formulas import FormulaStep

if TYPE_CHECKING:
    from pydplib.engine.sql.plans import Compiler


def one_row_sql(compiler: Compiler, plan: Plan) -> str:
    """Return the WITH clauses whose last one, ``bounded``, holds one row of each person."""
    inline, steps = compiler.dialect.inline, _steps_of(plan)
    names = [compiler.name(column) for column in plan.told]
    own = [compiler.name(column) for column in plan.told if column not in steps]
    columns = ", ".join(names) or "1 AS one"
    met = [compiler.conditions(plan.after)] if plan.after else []
    parts = [f"WITH {compiler.reading(plan)}rows_ AS {inline} (\n{compiler.rows(plan)}\n)"]
    if steps:
        parts += _told(compiler, plan, steps)
    origin = "steps"
    if plan.bound.rule != "any":
        texts = [column for column in plan.columns if compiler.schema.cells[column].is_text]
        order = order_sql(compiler, plan.bound.order, descending=plan.bound.is_descending, texts=texts)
        number = f"ROW_NUMBER() OVER (PARTITION BY p ORDER BY {', '.join(order)}) AS r"
        rows = "rows_"
        if compiler.dialect.finds_first:  # of most persons, one row is left to sort
            key, most = _key(compiler, plan.bound.order[0], descending=plan.bound.is_descending)
            parts.append(f"best AS (SELECT p AS q, {most}({key}) AS b FROM rows_ GROUP BY p)")
            rows = f"rows_ JOIN best ON p = q AND {_same(key, 'b')}"
        parts.append(f"ranked AS {inline} (SELECT {', '.join([*own, 'p', number])} FROM {rows})")
        origin = "ranked JOIN steps ON ranked.p = steps.p" if steps else "ranked"
        met.insert(0, "r = 1")
    where = f" WHERE {' AND '.join(met)}" if met else ""
    parts.append(f"bounded AS {inline} (SELECT {columns} FROM {origin}{where})")
    return ",\n".join(parts)


def order_sql(
    compiler: Compiler,
    order: Sequence[str],
    *,
    descending: bool,
    texts: Sequence[str] = (),
    ties: Sequence[str] | None = None,
) -> list[str]:
    """Return what sorts a person's rows: the order columns, then by default all that can be asked, then texts."""
    schema, dialect = compiler.schema, compiler.dialect
    found = []
    for column in order:
        name, other = compiler.name(column), schema.cells[column].other
        if descending and other is not None:  # its code is the largest, and it is no largest value
            found.append(f"CASE WHEN {name} IS NULL THEN 2 WHEN {name} = {other} THEN 1 ELSE 0 END")
        found.append(dialect.ordered(_sortable(compiler, column), descending=descending))
    more = [column for column in (ordering_columns(schema) if ties is None else ties) if column not in order]
    return [*found, *(dialect.ordered(_sortable(compiler, column)) for column in (*more, *texts))]


def _sortable(compiler: Compiler, column: str) -> str:
    """Return a normalised value that sorts alike everywhere: some engines take -0.0 for less than 0.0."""
    cell, name = compiler.schema.cells[column], compiler.name(column)
    return name if cell.is_code or cell.is_text else f"{name} + {compiler.dialect.double(0.0)}"


def _key(compiler: Compiler, column: str, *, descending: bool) -> tuple[str, str]:
    """Return what is compared where one column orders rows, and which of its values comes first: MIN or MAX."""
    other = compiler.schema.cells[column].other
    value = _sortable(compiler, column)
    if descending and other is not None:
        value = f"CASE WHEN {value} = {other} THEN -1 ELSE {value} END"
    return value, "MAX" if descending else "MIN"


def _same(one: str, other: str) -> str:
    """Return whether two values are the same, or both missing."""
    return f"({one} = {other} OR ({one} IS NULL AND {other} IS NULL))"


# -- what is told of each person -------------------------------------------------------------------


def _steps_of(plan: Plan) -> dict[str, FormulaStep]:
    """Return the plan's columns that are told of each person."""
    found = {}
    for name in plan.told:
        formula = plan.table.formulas.get(name)
        if formula is not None and isinstance(formula.root, FormulaStep):
            found[name] = formula.root
    return found


def step_condition(schema: Schema, step: FormulaStep) -> RowCondition | None:
    """Return the condition on the rows that a step counts; none where it counts all."""
    if not step.columns:
        return None
    column = step.columns[0]
    values = compared_values(step, schema.columns[column])
    return canonical_conditions([RowCondition(column, step.op, values)], schema)[0]  # type: ignore[arg-type]


def _told(compiler: Compiler, plan: Plan, steps: dict[str, FormulaStep]) -> list[str]:
    """Return the clauses that compute what is told of each person."""
    writer = _StepWriter(compiler)
    raw = [f"{writer.value(step)} AS {compiler.name(name)}" for name, step in steps.items()]
    final = []
    for column in steps:
        kind, name = compiler.schema.columns[column], compiler.name(column)
        is_code = kind.cell.is_code
        final.append(name if is_code else f"{bounded_number(compiler.dialect, name, kind)} AS {name}")
    inline, clauses, origin = compiler.dialect.inline, [], "rows_"
    if writer.numbers:
        numbers = ", ".join(f"{text} AS s{i}" for i, text in enumerate(writer.numbers))
        clauses.append(f"told AS {inline} (SELECT *, {numbers} FROM rows_)")
        origin = "told"
    if writer.ends:
        ends = ", ".join(f"{text} AS e{i}" for i, text in enumerate(writer.ends))
        clauses.append(f"ends AS (SELECT p AS q, {ends} FROM rows_ GROUP BY p)")
        origin = f"{origin} JOIN ends ON p = q"
    clauses.append(f"summed AS (SELECT p, {', '.join(raw)} FROM {origin} GROUP BY p)")
    clauses.append(f"steps AS {inline} (SELECT p, {', '.join(final)} FROM summed)")
    return clauses


class _StepWriter:
    """Writes steps as sums over a person's rows.

    Attributes:
        numbers: The numberings of a person's rows that they need.
        ends: The first and last values of what orders a person's rows that they need.
    """

    def __init__(self, compiler: Compiler) -> None:
        self.compiler = compiler
        self.numbers: list[str] = []
        self.ends: list[str] = []

    def value(self, step: FormulaStep) -> str:
        """Return one value of each person, before its bounds."""
        compiler, dialect = self.compiler, self.compiler.dialect
        names = [compiler.name(column) for column in step.columns]
        if step.kind == "count_of":
            met = step_condition(compiler.schema, step)
            rows = "COUNT(*)" if met is None else f"SUM(CASE WHEN {compiler.conditions([met])} THEN 1 ELSE 0 END)"
            return dialect.as_double(rows)
        if step.kind == "highest":
            other = compiler.schema.cells[step.columns[0]].other
            if other is None:
                return f"MAX({names[0]})"
            highest = f"MAX(CASE WHEN {names[0]} = {other} THEN -1 ELSE {names[0]} END)"
            return f"CASE WHEN {highest} = -1 THEN {other} ELSE {highest} END"
        if step.kind == "days_between":
            first, last = (names[0], f"MAX({names[0]})") if len(names) == 1 else (names[0], f"MIN({names[1]})")
            return f"{last} - MIN({first})"
        if step.kind == "days_to_next":
            place = self._number(f"DENSE_RANK() OVER (PARTITION BY p ORDER BY {dialect.ordered(names[0])})")
            return f"MAX(CASE WHEN {place} = 2 THEN {names[0]} END) - MIN({names[0]})"
        if step.kind == "change":
            return f"{self._picked(step, names[0], last=True)} - {self._picked(step, names[0], last=False)}"
        return self._picked(step, names[0], last=step.kind == "last")

    def _picked(self, step: FormulaStep, name: str, *, last: bool) -> str:
        """Return the first or last value that is there; of several, the smallest."""
        compiler = self.compiler
        if len(step.order) == 1:  # without any sorting
            key, most = _key(compiler, step.order[0], descending=last)
            text = f"{most}(CASE WHEN {name} IS NOT NULL THEN {key} END)"
            if text not in self.ends:
                self.ends.append(text)
            return f"MIN(CASE WHEN {_same(key, f'e{self.ends.index(text)}')} THEN {name} END)"
        order = order_sql(compiler, step.order, descending=last, ties=step.columns)
        there = f"CASE WHEN {name} IS NULL THEN 1 ELSE 0 END"
        place = self._number(f"ROW_NUMBER() OVER (PARTITION BY p ORDER BY {', '.join([there, *order])})")
        return f"MAX(CASE WHEN {place} = 1 THEN {name} END)"

    def _number(self, text: str) -> str:
        if text not in self.numbers:
            self.numbers.append(text)
        return f"s{self.numbers.index(text)}"
