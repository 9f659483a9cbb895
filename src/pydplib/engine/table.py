"""A loaded table: it knows its columns and its engine, and never shows a row."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import TracebackType
from typing import TYPE_CHECKING, Any

from numpy.typing import NDArray

from pydplib._shown import Shown
from pydplib.engine.check import TableCheck, check_table
from pydplib.engine.exact import ExactTable
from pydplib.engine.joins import join_engines
from pydplib.engine.plan import Plan
from pydplib.engine.protocol import Engine
from pydplib.errors import EngineError, SchemaError
from pydplib.schema import Column, Schema

if TYPE_CHECKING:
    from pydplib.engine.joins import Keep


class Table(Shown):
    """Rows that stay where they are, behind a schema and an engine. Made by ``load``.

    Attributes:
        schema: The public facts.
        engine: Answers plans with exact integers; only releases may show what comes of them.
        backend: The library that the data came in (pandas, polars or pyarrow), in which releases give tables back.

    Examples:
        >>> import pandas as pd, pydplib as dp
        >>> dp.load(pd.DataFrame({"age": [61, 70]}), dp.Schema({"age": dp.Number(18, 100, unit="years")}))
        Table 'table' on DuckDB, one row per person
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

    def join(
        self,
        other: Table,
        *,
        keep: Keep = "both",
        max_rows_per_person: int | None = None,
        columns: Mapping[str, Column] | None = None,
        name: str | None = None,
    ) -> Table:
        """Return this table and another one of the same persons as one table, joined on the person.

        Every row of one meets every row of the other that is about the same person: somebody with 3 reports and 4
        visits has 12 joined rows. The limit counts joined rows. Columns that both tables have get the other table's
        name in front. Both tables must live in one place; files and frames are copied into one private DuckDB.

        Args:
            other: The other table. Both schemas have one ``lineage``, so that all questions spend one budget.
            keep: ``"both"``: persons that both tables have; ``"all"``: all of this table, with missing values where the
                other one has no row.
            max_rows_per_person: Most joined rows of a person that count in full; by default the product of both limits.
            columns: Computed columns of the joined table, e.g. ``{"delay": Integer(0, 365,
                derived="days_between(reported, visited)")}``.
            name: What the joined table is called; by default both names.

        Examples:
            >>> import pandas as pd, pydplib as dp
            >>> study = {"person": "id", "max_rows_per_person": 2, "lineage": "study"}
            >>> scores = pd.DataFrame({"id": [1, 2], "pirads": [4, 2]})
            >>> visits = pd.DataFrame({"id": [1, 1, 2], "psa": [6.1, 7.5, 2.0]})
            >>> one = dp.load(scores, dp.Schema({"pirads": dp.Category([1, 2, 3, 4, 5])}, name="scores", **study))
            >>> two = dp.load(visits, dp.Schema({"psa": dp.Number(0, 50)}, name="visits", **study))
            >>> one.join(two)
            Table 'scores_visits' on DuckDB, person 'id', at most 4 rows each count in full
              pirads  category  1, 2, 3, 4, 5
              psa     number    0 to 50
        """
        if not isinstance(other, Table):
            raise SchemaError("join() takes another table: dp.load(...).join(dp.load(...)).")
        schema, engine = join_engines(
            self.engine, other.engine, keep=keep, max_rows_per_person=max_rows_per_person, columns=columns, name=name
        )
        return Table(schema, engine, backend=self.backend)

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
