"""Two tables of the same persons as one: every row of one with every row of the other that is about the same person.

The joined rows are bounded like those of any table: per person, over all joined rows, whatever the two tables hold. So
the plan alone gives the sensitivity, and nothing about the other table has to be known. Nobody's rows join nobody's.
"""

from __future__ import annotations

import weakref
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from pydplib.engine.protocol import Engine, guarded
from pydplib.engine.sql.plans import SqlSource
from pydplib.engine.sql.sql_engine import SqlEngine
from pydplib.engine.stores import duckdb_engine
from pydplib.engine.stores.polars.polars_engine import PolarsEngine
from pydplib.errors import DataError, SchemaError, did_you_mean
from pydplib.schema import Column, Schema, Storage

if TYPE_CHECKING:
    from pydplib.engine.stores.polars.polars_engine import PolarsEngine

Keep: TypeAlias = Literal["both", "all"]
"""Whose rows stay: persons of both tables, or all of the first one, with missing values where the other has none."""

_KEY = "pydplib_person"


@dataclass(frozen=True)
class Joined:
    """What two tables are as one, by declarations alone.

    Attributes:
        schema: The joined table's public facts.
        renamed: Column of the other table -> its name in the joined one.
        keep: Whose rows stay.
    """

    schema: Schema
    renamed: Mapping[str, str]
    keep: Keep

    @classmethod
    def of(
        cls,
        left: Schema,
        right: Schema,
        *,
        keep: Keep = "both",
        max_rows_per_person: int | None = None,
        columns: Mapping[str, Column] | None = None,
        name: str | None = None,
    ) -> Joined:
        """Check that two tables can be one, and return its schema.

        Examples:
            >>> from pydplib.schema import Date, Number
            >>> def table(name):
            ...     columns = {"day": Date("2018-01-01", "2018-12-31"), f"{name}_value": Number(0, 9)}
            ...     return Schema(columns, person="id", max_rows_per_person=2, name=name, lineage="study")
            >>> made = Joined.of(table("reports"), table("visits"))
            >>> list(made.schema.columns), made.schema.max_rows_per_person
            (['day', 'reports_value', 'visits_day', 'visits_value'], 4)
        """
        if keep not in ("both", "all"):
            raise SchemaError(f"keep= is 'both' or 'all'.{did_you_mean(keep, ('both', 'all'))}")
        if left.person is None or right.person is None:
            raise SchemaError("Tables are joined on the person: both schemas need their person column.")
        if left.lineage != right.lineage:
            raise SchemaError(
                f"'{left.name}' and '{right.name}' have two budgets (lineages '{left.lineage}' and '{right.lineage}'), "
                "and a question about both spends both. Declare one lineage= for all tables of the same persons."
            )
        taken = {*left.columns, left.person}
        stored = [each for each in right.stored if each != right.person]
        renamed = {each: f"{right.name}_{each}" if each in taken else each for each in stored}
        for each, new in renamed.items():
            if new in taken or list(renamed.values()).count(new) > 1:
                raise SchemaError(f"Both tables have a column '{each}', and '{new}' is taken too. Rename one of them.")
        made: dict[str, Column] = {**left.columns, **{new: right.columns[each] for each, new in renamed.items()}}
        for each, column in right.columns.items():
            if column.formula is None:
                continue
            if each in made or any(renamed.get(operand) != operand for operand in column.formula.columns):
                raise SchemaError(
                    f"Column '{each}' of '{right.name}' is computed from columns that both tables have. Leave it "
                    "out, and declare it again: join(..., columns={...})."
                )
            made[each] = column
        for each, column in (columns or {}).items():
            if each in made or column.formula is None:
                raise SchemaError(f"columns= adds computed columns with new names; '{each}' is none.")
            made[each] = column
        limit = max_rows_per_person or left.max_rows_per_person * right.max_rows_per_person
        schema = Schema(
            made,
            person=left.person,
            max_rows_per_person=limit,
            max_groups_per_person=left.max_groups_per_person,
            size=left.size,
            name=name or f"{left.name}_{right.name}",
            lineage=left.lineage,
        )
        return cls(schema, renamed, keep)

    def engine(self, left: Engine, right: Engine) -> Engine:
        """Return the engine of the joined rows; both tables must live in one place."""
        if isinstance(left, PolarsEngine) and isinstance(right, PolarsEngine):
            return self._in_polars(left, right)
        if not isinstance(left, SqlEngine) or not isinstance(right, SqlEngine) or left.name != right.name:
            raise DataError(
                f"One table is on {left.name}, the other on {right.name}. Load both from the same place: two files or "
                "frames, two tables of one database, or two DataFrames of one Spark session."
            )
        one, other = (engine.compiler.person_storage(engine.schema.person or "") for engine in (left, right))
        if one != other:
            raise SchemaError(f"The person columns are stored as {one} and as {other}; a join needs the same.")
        if left.name == "DuckDB":
            return self._in_duckdb(left, right)
        if left.address is None or left.address != right.address:
            raise DataError(f"The tables are in two {left.name} databases. A join needs both in one.")
        text, storages = self._source(left, right)
        pinned = left.compiler.source.is_pinned and right.compiler.source.is_pinned
        return left.over(self.schema, SqlSource(text, storages, is_pinned=pinned))

    def _columns(self, left: SqlEngine | PolarsEngine) -> list[str]:
        """Return the columns of the first table that are kept, the person among them."""
        return list(dict.fromkeys([*left.schema.stored, left.schema.person or ""]))

    def _source(self, left: SqlEngine, right: SqlEngine) -> tuple[str, dict[str, Storage]]:
        """Return what stands behind FROM: both tables with their normalised persons, joined on them."""
        quote = left.compiler.dialect.quote
        own = self._columns(left)
        storages = {name: left.compiler.storage(name) for name in own}
        storages |= {new: right.compiler.storage(name) for name, new in self.renamed.items()}
        first = ", ".join([f"{left.compiler.person_sql()} AS {_KEY}", *map(quote, own)])
        named = [f"{quote(name)} AS {quote(new)}" for name, new in self.renamed.items()]
        second = ", ".join([f"{right.compiler.person_sql()} AS {_KEY}", *named])
        how = "JOIN" if self.keep == "both" else "LEFT JOIN"
        chosen = ", ".join(
            [*(f"one.{quote(name)}" for name in own), *(f"two.{quote(new)}" for new in self.renamed.values())]
        )
        text = (
            f"(SELECT {chosen} FROM (SELECT {first} FROM {left.compiler.source.text}) one "
            f"{how} (SELECT {second} FROM {right.compiler.source.text}) two ON one.{_KEY} = two.{_KEY}) joined"
        )
        return text, storages

    def _in_duckdb(self, left: SqlEngine, right: SqlEngine) -> SqlEngine:
        """Copy both tables' declared columns into one private DuckDB, where nothing changes them any more."""
        connection = duckdb_engine.open_connection(None)
        folder = Path(duckdb_engine.spill_folder())
        try:
            for engine, name in ((left, "pydplib_one"), (right, "pydplib_two")):
                compiler, schema = engine.compiler, engine.schema
                quote = compiler.dialect.quote
                # As text: files know no whole numbers of 128 bits, and two persons must stay two.
                person = f"CAST({compiler.person_sql()} AS VARCHAR) AS {quote(schema.person or '')}"
                kept = ", ".join([person, *(quote(each) for each in schema.stored if each != schema.person)])
                duckdb_engine.copy_rows(engine, f"SELECT {kept} FROM {compiler.source.text}", folder, connection, name)
            one, two = (
                duckdb_engine.from_private(connection, engine.schema, table=name)
                for engine, name in ((left, "pydplib_one"), (right, "pydplib_two"))
            )
            text, _ = self._source(one, two)
            made = duckdb_engine.from_private(connection, self.schema, table=text, close=connection.close)
        except BaseException:
            connection.close()
            raise
        weakref.finalize(made, connection.close)
        return made

    def _in_polars(self, left: PolarsEngine, right: PolarsEngine) -> PolarsEngine:
        import polars as pl

        kinds = {engine.person_storage for engine in (left, right)}
        if len(kinds) > 1:
            raise SchemaError(
                f"The person columns are stored as {' and as '.join(sorted(kinds))}; a join needs the same."
            )
        own = self._columns(left)
        one = left.frame.select(left.person_expr().alias(_KEY), *own)
        two = right.frame.select(
            right.person_expr().alias(_KEY), *(pl.col(name).alias(new) for name, new in self.renamed.items())
        )
        joined = one.join(two, on=_KEY, how="inner" if self.keep == "both" else "left").drop(_KEY)
        return guarded("Polars", lambda: PolarsEngine(joined, self.schema, is_pinned=False), opening=True)


def join_engines(left: Engine, right: Engine, **options: Any) -> tuple[Schema, Engine]:
    """Return the schema and the engine of two tables as one; see ``Table.join``."""
    made = Joined.of(left.schema, right.schema, **options)
    return made.schema, made.engine(left, right)
