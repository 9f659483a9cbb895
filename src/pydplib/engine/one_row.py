"""One row of each person as SQL: ranked by declared columns, then by every column that can be asked.

``persons`` says which row that is; here its rule is written once for all databases::

    rows    AS (normalised columns of the rows that meet where=)
    ranked  AS (the same, numbered within each person)
    bounded AS (number 1 of each person, where it meets after=)
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pydplib.engine.persons import ordering_columns
from pydplib.engine.plan import Plan

if TYPE_CHECKING:
    from pydplib.engine.sql import Compiler


def one_row_sql(compiler: Compiler, plan: Plan) -> str:
    """Return the WITH clauses whose last one, ``bounded``, holds one row of each person."""
    names, inline = compiler.names(plan), compiler.dialect.inline
    columns = ", ".join(names) or "1 AS one"
    met = f" AND {compiler.conditions(plan.after)}" if plan.after else ""
    return (
        f"WITH {compiler.reading(plan)}rows_ AS {inline} (\n{compiler.rows(plan)}\n),\n"
        f"ranked AS {inline} (SELECT {', '.join([*names, 'p'])}, "
        f"ROW_NUMBER() OVER (PARTITION BY p ORDER BY {', '.join(order_sql(compiler, plan))}) AS r FROM rows_),\n"
        f"bounded AS {inline} (SELECT {columns} FROM ranked WHERE r = 1{met})"
    )


def order_sql(compiler: Compiler, plan: Plan) -> list[str]:
    """Return what sorts a person's rows: the order columns, every column that can be asked, texts that are keys."""
    bound, schema, dialect = plan.bound, compiler.schema, compiler.dialect
    found = []
    for column in bound.order:
        name, other = compiler.name(column), schema.column(column).cell.other
        if bound.is_descending and other is not None:  # its code is the largest, and it is no largest value
            found.append(f"CASE WHEN {name} IS NULL THEN 2 WHEN {name} = {other} THEN 1 ELSE 0 END")
        found.append(dialect.ordered(_sortable(compiler, column), descending=bound.is_descending))
    ties = [column for column in ordering_columns(schema) if column not in bound.order]
    texts = [column for column in plan.columns if schema.column(column).cell.is_text]
    return [*found, *(dialect.ordered(_sortable(compiler, column)) for column in (*ties, *texts))]


def _sortable(compiler: Compiler, column: str) -> str:
    """Return a normalised value that sorts alike everywhere: some engines take -0.0 for less than 0.0."""
    cell, name = compiler.schema.column(column).cell, compiler.name(column)
    return name if cell.is_code or cell.is_text else f"{name} + {compiler.dialect.double(0.0)}"
