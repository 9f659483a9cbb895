"""A loaded table: it knows its columns and its engine, and never shows a row."""

from __future__ import annotations

from types import TracebackType

from pydplib.engine.exact import ExactTable
from pydplib.engine.plan import Plan
from pydplib.engine.protocol import Engine
from pydplib.schema import Column, Schema


class Table:
    """Rows that stay where they are, behind a schema and an engine. Made by ``load``.

    Attributes:
        schema: The public facts.
        engine: Answers plans with exact integers; only releases may show what comes of them.
        backend: The library that the data came in (pandas, polars or pyarrow), in which releases give tables back.

    Examples:
        >>> import pandas as pd, pydplib as dp
        >>> dp.load(pd.DataFrame({"age": [61, 70]}), dp.Schema({"age": dp.Number(18, 100, unit="years")}))
        Table 'table' on DuckDB, every row another person
          age  number    18 to 100 years
    """

    __slots__ = ("backend", "engine", "schema")

    def __init__(self, schema: Schema, engine: Engine, *, backend: str | None = None) -> None:
        self.schema = schema
        self.engine = engine
        self.backend = backend

    @property
    def name(self) -> str:
        """The table's name in reports."""
        return self.schema.name

    @property
    def columns(self) -> tuple[str, ...]:
        """The declared columns."""
        return tuple(self.schema.columns)

    def aggregate(self, plan: Plan) -> ExactTable:
        """Return the exact integers of a plan. They are private: pay first, add noise, then show."""
        return self.engine.aggregate(plan)

    def close(self) -> None:
        """Close what ``load`` opened."""
        close = getattr(self.engine, "close", None)
        if close is not None:
            close()

    def __enter__(self) -> Table:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        who = "every row another person"
        if self.schema.person is not None:
            most = self.schema.max_rows_per_person
            who = f"person '{self.schema.person}', at most {most} row{'' if most == 1 else 's'} each count"
        lines = [f"Table '{self.schema.name}' on {self.engine.name}, {who}"]
        width = max(len(name) for name in self.schema.columns)
        for name, column in self.schema.columns.items():
            lines.append(f"  {name:<{width}}  {column.kind:<8}  {_facts(column)}".rstrip())
        return "\n".join(lines)


def _facts(column: Column) -> str:
    """Say a column's public facts in a few words."""
    if column.kind in ("number", "integer", "date"):
        unit = f" {column.unit}" if getattr(column, "unit", "") else ""  # type: ignore[union-attr]
        return f"{column.low} to {column.high}{unit}"  # type: ignore[union-attr]
    if column.kind == "category":
        values = [str(value) for value in column.values]  # type: ignore[union-attr]
        return ", ".join(values) if len(values) <= 8 else f"{', '.join(values[:7])}, ... ({len(values)} values)"
    return ""
