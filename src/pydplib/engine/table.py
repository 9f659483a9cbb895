"""A loaded table: it knows its columns and its engine, and never shows a row."""

from __future__ import annotations

from collections.abc import Sequence
from types import TracebackType
from typing import Any

from numpy.typing import NDArray

from pydplib._shown import Shown
from pydplib.engine.check import TableCheck, check_table
from pydplib.engine.exact import ExactTable
from pydplib.engine.plan import Plan
from pydplib.engine.protocol import Engine
from pydplib.errors import EngineError
from pydplib.schema import Schema


class Table(Shown):
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

    __slots__ = ("_closed", "backend", "engine", "schema")

    def __init__(self, schema: Schema, engine: Engine, *, backend: str | None = None) -> None:
        self.schema = schema
        self.engine = engine
        self.backend = backend
        self._closed = False

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

    def tables(self, plans: Sequence[Plan]) -> tuple[NDArray[Any], ...]:
        """Return the exact cells of several tables of counts, from one scan. Private: pay first, add noise, then show.

        Args:
            plans: Counts over public keys. Each table has a last cell in every column for all other rows.
        """
        return self.engine.tables(plans)

    def check(self) -> TableCheck:
        """Look at the rows for the owner: who has more rows than the limit, and which values lie beyond the bounds.

        The numbers are exact, and so not private: they are for the owner's own screen. A limit or a bound that is
        chosen after looking at them depends on the data, and no guarantee covers that choice. Nothing of it enters a
        release, a log or an error.

        Examples:
            >>> import pandas as pd, pydplib as dp
            >>> rows = pd.DataFrame({"id": [1, 1, 1, 2], "age": [61, 62, 140, 70]})
            >>> schema = dp.Schema({"age": dp.Number(18, 100)}, person="id", max_rows_per_person=2)
            >>> found = dp.load(rows, schema).check()
            >>> found.persons_over, found.above["age"], found.limit_for(0.95)
            (1, 1, 3)
        """
        self.check_ready()
        return check_table(self.engine)

    def check_ready(self) -> None:
        """Raise ``EngineError`` where a question cannot be answered, as far as that can be told without reading data.

        A table that was closed, a connection that is gone, a missing right to read: asked before anything is paid.
        """
        if self._closed:
            raise EngineError("This table was closed. Load it again: dp.load(...).")
        check = getattr(self.engine, "check_ready", None)
        if check is not None:
            check()

    def close(self) -> None:
        """Close what ``load`` opened; the table answers no more questions."""
        self._closed = True
        close = getattr(self.engine, "close", None)
        if close is not None:
            close()

    def __enter__(self) -> Table:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __str__(self) -> str:
        return self.schema.described(f"Table '{self.schema.name}' on {self.engine.name}")
