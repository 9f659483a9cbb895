"""A plan as SQL: one text for all databases, with a dialect's words filled in.

The shape, by weights::

    rows    AS (normalised columns of the rows that meet where=)
    weights AS (per person: min(W, floor(M W / c)), c the person's rows)
    bounded AS (rows joined with their weight)
    SELECT key, SUM(weight), SUM(weight * value), ... GROUP BY key

No sort and no window: two readings of the source and two hash tables. A source that may give other rows
on a second reading is read once, into ``pydplib_read``: otherwise the weights would be of other rows than
those they weigh. The sampling bound ranks rows by a keyed hash instead, one row of each person by declared columns
(``one_row``). Where the bytes stay as they are, only the
rows of persons beyond the limit are weighed: see ``beyond``.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from pydplib.engine.answers import column_names
from pydplib.engine.bounds import WEIGHT_UNIT
from pydplib.engine.conditions import AnyOf, RowCondition
from pydplib.engine.marginals import READ
from pydplib.engine.measures import Measure, number_bounds
from pydplib.engine.plan import Bins, Keys, Plan
from pydplib.engine.sql.beyond import bounding_sql
from pydplib.engine.sql.columns import check_keys, column_sql
from pydplib.engine.sql.dialects import Dialect
from pydplib.engine.sql.formulas import with_computed
from pydplib.engine.sql.one_row import one_row_sql
from pydplib.engine.sql.samples import sampling_sql
from pydplib.errors import SchemaError, column_hint
from pydplib.schema import Scalar, Schema, Storage
from pydplib.schema.cells import Cell


@dataclass(frozen=True, slots=True)
class Query:
    """One statement and how to read its rows: the key columns, then one integer per measure (or the cell first)."""

    text: str
    measures: tuple[int, ...]
    is_cells: bool


@dataclass(frozen=True, slots=True)
class SqlSource:
    """Where the rows are: the text behind FROM, and how each physical column is stored.

    Attributes:
        text: What stands behind FROM.
        storages: Column -> how it is stored.
        is_pinned: Whether two readings within a statement give the same rows, as a base table or a file does. A view,
            a relation or a sample need not: it is read once, before anything is computed from it.
        stamp: Tells the bytes that questions meet now from any others, or says None where it cannot; none for a
            source that may change unnoticed between two statements, such as a table of a database.
    """

    text: str
    storages: Mapping[str, Storage]
    is_pinned: bool = True
    stamp: Callable[[], Hashable | None] | None = None


class Compiler:
    """Turns plans on one source into SQL of one dialect."""

    def __init__(self, dialect: Dialect, schema: Schema, source: SqlSource) -> None:
        self.dialect = dialect
        self.schema = schema
        self.source = source
        self._columns = column_names(schema)
        self._written: dict[str, str] = {}
        self._last: tuple[tuple[Any, ...], list[Query]] | None = None

    def on(self, text: str) -> Compiler:
        """Return the compiler for a copy of the source's columns that stays as it is."""
        return Compiler(self.dialect, self.schema, replace(self.source, text=text, is_pinned=True))

    # -- the two public texts ------------------------------------------------------------------

    def bounded(self, plan: Plan) -> str:
        """Return the SELECT whose rows are bounded: normalised columns, weight, groups."""
        return f"{self.bounding(plan)}\nSELECT * FROM bounded"

    def queries(
        self, plan: Plan, *, outer: Plan | None = None, bounded_table: str | None = None, aside: str | None = None
    ) -> list[Query]:
        """Return the statements that answer a plan, from its source or from a bounded table.

        Args:
            plan: The plan.
            outer: The wider plan whose bounded rows are asked; by default the plan itself.
            bounded_table: A table made by ``bounded(outer)``; then nothing is bounded again.
            aside: A table of the rows of persons beyond the limit; then only they are weighed.
        """
        asked, last = (plan, outer, bounded_table, aside), self._last
        # A plan is explained, then answered: the same statements.
        if last is None or any(one is not other for one, other in zip(last[0], asked, strict=True)):
            self._last = last = (asked, self._queries(*asked))
        return last[1]

    def _queries(self, plan: Plan, outer: Plan | None, bounded_table: str | None, aside: str | None) -> list[Query]:
        if plan.measures[0].kind == "persons":
            return [Query(self._persons_by_rows(plan), (0,), True)]
        head = self.bounding(outer or plan, aside) if bounded_table is None else ""
        extra = [condition for condition in plan.where if condition not in (outer or plan).where]
        extra += [condition for condition in plan.after if condition not in (outer or plan).after]
        origin = bounded_table or "bounded"
        if extra:
            origin = f"(SELECT * FROM {origin} WHERE {self.conditions(extra)}) narrowed"
        sampled = plan.bound.mode == "sample"
        key = "k" if sampled else self.key_sql(plan.by)
        unknown = [f"u{i}" for i, keys in enumerate(plan.by.values()) if keys is None]
        if unknown and not sampled:
            origin = self._named(plan, origin)
        weight = "w" if plan.scale > 1 else "1"
        groups = ["k", *unknown]
        scalars = [i for i, measure in enumerate(plan.measures) if measure.kind != "cells"]
        found = []
        if scalars:
            columns = [f"{self.value_sql(plan.measures[i])} AS v{i}" for i in scalars]
            sums = [self._sum(plan.measures[i], f"v{i}") for i in scalars]
            inner = self._select([f"{key} AS k" if not sampled else "k", *unknown, f"{weight} AS w", *columns], origin)
            found.append(Query(self._grouped(head, inner, groups, sums), tuple(scalars), False))
        for i, measure in enumerate(plan.measures):
            if measure.kind == "cells":
                inner = self._select(
                    [f"{key} AS k" if not sampled else "k", f"{weight} AS w", f"{self.cell_sql(measure)} AS cell"],
                    origin,
                )
                text = self._grouped(head, inner, ["k", "cell"], [self.dialect.total("w")])
                found.append(Query(text, (i,), True))
        return found

    def _persons_by_rows(self, plan: Plan) -> str:
        """Return the statement that counts persons by their number of rows: nobody's rows are weighed or left out."""
        classes = list(enumerate(plan.measures[0].edges or ()))[:0:-1]
        place = " ".join(f"WHEN COUNT(*) >= {int(edge)} THEN {i}" for i, edge in classes)
        return (
            f"WITH {self.reading(plan)}rows_ AS {self.dialect.inline} (\n{self.rows(plan)}\n)\n"
            f"SELECT 0 AS k, cell, COUNT(*) FROM (SELECT CASE {place} ELSE 0 END AS cell FROM rows_ GROUP BY p) "
            "persons\nGROUP BY cell"
        )

    def rows_per_person(self, plan: Plan) -> str:
        """Return the statement that counts persons by their exact number of rows; for the owner's own check."""
        return (
            f"WITH {self.reading(plan)}rows_ AS {self.dialect.inline} (\n{self.rows(plan)}\n)\n"
            "SELECT n, COUNT(*) FROM (SELECT COUNT(*) AS n FROM rows_ GROUP BY p) persons\nGROUP BY n"
        )

    # -- rows and weights ------------------------------------------------------------------

    def bounding(self, plan: Plan, aside: str | None = None) -> str:
        """Return the WITH clauses whose last one, ``bounded``, holds normalised rows and what each weighs."""
        if plan.bound.mode == "sample":
            return sampling_sql(self, plan)
        if plan.bound.mode == "row":
            return one_row_sql(self, plan)
        if aside is not None:
            return bounding_sql(self, plan, aside)
        rows = f"WITH {self.reading(plan)}rows_ AS {self.dialect.inline} (\n{self.rows(plan)}\n)"
        columns = ", ".join(self.names(plan)) or "1 AS one"
        if plan.bound.person is None:
            return f"{rows},\nbounded AS {self.dialect.inline} (SELECT {columns} FROM rows_)"
        return (
            f"{rows},\nweights AS (SELECT p, {self.weight_sql(plan)} AS w FROM rows_ GROUP BY p),\n"
            f"bounded AS {self.dialect.inline} (SELECT {columns}, w "
            "FROM rows_ JOIN weights ON rows_.p = weights.p)"
        )

    def weight_sql(self, plan: Plan) -> str:
        """Return what each row of a person weighs, among that person's rows."""
        most = plan.bound.max_rows
        share = self.dialect.divide(str(most * WEIGHT_UNIT), "COUNT(*)")
        return f"CASE WHEN COUNT(*) <= {most} THEN {WEIGHT_UNIT} ELSE {share} END"

    def reading(self, plan: Plan) -> str:
        """Return the clause that reads the plan's columns once, where a second reading could give other rows."""
        if self.source.is_pinned:
            return ""
        looked_at = dict.fromkeys([*plan.stored, plan.bound.person, plan.bound.row_key])
        columns = ", ".join(self.dialect.quote(name) for name in looked_at if name is not None)
        return f"{READ} AS MATERIALIZED (SELECT {columns or '1 AS one'} FROM {self.source.text}),\n"

    def rows(self, plan: Plan, *, with_person: bool = True) -> str:
        """Return the rows that a plan looks at: normalised columns, person, row key; nobody's rows too without."""
        columns = [f"{self.column_sql(name)} AS {self.name(name)}" for name in plan.stored]
        person = plan.bound.person if with_person else None
        if person is not None:
            columns.append(f"{self._person(person)} AS p")
        if plan.bound.row_key is not None:
            columns.append(f"{self._row_key(plan.bound.row_key)} AS rk")
        origin = self.source.text if self.source.is_pinned else READ
        text = f"SELECT {', '.join(columns) or '1 AS one'} FROM {origin}"
        text = with_computed(self.dialect, text, plan.read, self.schema, self._columns)
        # A null person would have no weight, or a bound of its own.
        return self.narrowed(text, plan.where, *(["p IS NOT NULL"] if person is not None else []))

    def narrowed(self, text: str, where: Sequence[RowCondition], *more: str) -> str:
        """Return the rows of a SELECT of normalised columns that meet all conditions."""
        kept = [*more, *([self.conditions(where)] if where else [])]
        return f"SELECT * FROM ({text}) normalised WHERE {' AND '.join(kept)}" if kept else text

    # -- columns ---------------------------------------------------------------------------------

    def name(self, column: str) -> str:
        """Return the name of a normalised column: the position in the schema, never the owner's spelling."""
        return self._columns[column]

    def names(self, plan: Plan) -> list[str]:
        """Return the names of the normalised columns that a plan looks at."""
        return [self.name(column) for column in plan.columns]

    def storage(self, column: str) -> Storage:
        """Return how a physical column is stored."""
        if column not in self.source.storages:
            raise SchemaError(f"The table has no column '{column}'.{column_hint(column, self.source.storages)}")
        return self.source.storages[column]

    def person_storage(self, column: str) -> Storage:
        """Return how the person column is stored; it must hold numbers or texts."""
        storage = self.storage(column)
        if storage not in ("integer", "text", "float", "decimal", "dynamic"):
            raise SchemaError(f"The person column '{column}' must hold numbers or texts, not {storage}.")
        return storage

    def column_sql(self, column: str) -> str:
        """Return a normalised column; it is written once for all statements."""
        if column not in self._written:
            self._written[column] = self._write(column, self.schema.cells[column])
        return self._written[column]

    def _write(self, column: str, cell: Cell) -> str:
        storage, name = self.storage(column), self.dialect.quote(column)
        if cell.is_text:
            check_keys(column, storage)
            return self.dialect.id_text(name)
        return column_sql(self.dialect, name, cell, storage)

    def person_sql(self) -> str:
        """Return the normalised person of a table that has one; NULL for nobody."""
        return self._person(self.schema.person or "")

    def _person(self, column: str) -> str:
        cell, storage = self.dialect.quote(column), self.storage(column)
        self.person_storage(column)
        if storage == "text":
            return self.dialect.id_text(cell)
        if storage == "decimal":
            return self.dialect.id_decimal(cell)
        if storage == "dynamic":
            return self.dialect.person(column)
        if storage == "float":  # pandas keeps ids with gaps as floats; NaN is nobody, -0.0 is 0.0
            number = self.dialect.as_double(cell)
            return f"CASE WHEN {self.dialect.is_nan(number)} THEN NULL ELSE {number} + {self.dialect.double(0.0)} END"
        return cell

    def _row_key(self, column: str) -> str:
        cell = self.dialect.quote(column)
        storage = self.storage(column)
        if storage == "float":
            return self._person(column)
        if storage not in ("integer", "text", "dynamic"):
            raise SchemaError(f"The row key '{column}' must hold integers or texts, not {storage}.")
        return self.dialect.as_text(cell) if storage == "text" else cell

    # -- conditions, keys, values ----------------------------------------------------------------

    def conditions(self, conditions: Sequence[RowCondition]) -> str:
        """Return whether a row of normalised columns meets all conditions."""
        return " AND ".join(f"({self._condition(condition)})" for condition in conditions)

    def _condition(self, condition: RowCondition) -> str:
        if isinstance(condition, AnyOf):
            return " OR ".join(f"({self._condition(part)})" for part in condition.parts)
        cell = self.name(condition.column)
        if condition.op == "is_missing":
            return f"{cell} IS NULL"
        if condition.op == "is_present":
            return f"{cell} IS NOT NULL"
        literals = self._literals(condition.values, condition.column)
        if condition.op in ("is_in", "not_in"):
            return f"{cell} {'NOT ' if condition.op == 'not_in' else ''}IN ({', '.join(literals)})"
        if condition.op == "between":
            return f"{cell} >= {literals[0]} AND {cell} <= {literals[1]}"
        sign = {"at_least": ">=", "at_most": "<=", "more_than": ">", "less_than": "<"}[condition.op]
        return f"{cell} {sign} {literals[0]}"

    def _literals(self, values: Iterable[Scalar], column: str) -> list[str]:
        write = str if self.schema.cells[column].is_code else self.dialect.double
        code = self.schema.columns[column].code
        return [write(code(value)) for value in values]

    def key_sql(self, by: Mapping[str, Keys]) -> str:
        """Return the number of a row's public key in public order; NULL if it has none."""
        code = "0"
        for column, keys in by.items():
            if keys is None:
                continue
            size = len(keys.keys if isinstance(keys, Bins) else keys)
            position = self._position(column, keys)
            code = position if code == "0" else f"({code}) * {size} + ({position})"
        return code

    def _position(self, column: str, keys: Keys) -> str:
        cell, kind = self.name(column), self.schema.columns[column]
        if isinstance(keys, Bins):
            return self._cells_between(cell, keys.numbers)
        listed: list[Any] = [key for key in keys or () if key is not None]
        positions = [position for position, key in enumerate(keys or ()) if key is not None]
        codes = [kind.code(key) for key in listed]
        numbers = [int(code) for code in codes]
        first, steps = numbers[0] if numbers else 0, range(len(numbers))
        if numbers == [first + i for i in steps] and positions == list(steps):
            # Neighbouring codes in public order need no chain of comparisons.
            is_code = self.schema.cells[column].is_code
            low, high = (str(code) if is_code else self.dialect.double(code) for code in (codes[0], codes[-1]))
            whole = cell if is_code else self.dialect.as_whole(cell)
            chosen = f"WHEN {cell} >= {low} AND {cell} <= {high} THEN {whole} - ({first})"
        else:
            pairs = zip(self._literals(listed, column), positions, strict=True)
            chosen = " ".join(f"WHEN {cell} = {literal} THEN {i}" for literal, i in pairs)
        if len(listed) < len(keys or ()):
            chosen += f" WHEN {cell} IS NULL THEN {(keys or ()).index(None)}"
        return f"CASE {chosen} END"

    def _cells_between(self, number: str, edges: Sequence[float]) -> str:
        """Return the position of a number among edges: a tree of comparisons, exact on every engine."""

        def tree(first: int, last: int) -> str:
            if first == last:
                return str(first)
            middle = (first + last + 1) // 2
            return (
                f"CASE WHEN {number} < {self.dialect.double(edges[middle])} "
                f"THEN {tree(first, middle - 1)} ELSE {tree(middle, last)} END"
            )

        low, high = self.dialect.double(edges[0]), self.dialect.double(edges[-1])
        return f"CASE WHEN {number} >= {low} AND {number} <= {high} THEN {tree(0, len(edges) - 2)} END"

    def _number(self, measure: Measure) -> str:
        column = measure.column or ""
        cell = self.name(column)
        if self.schema.cells[column].is_code:
            cell = self.dialect.as_double(cell)
        low, high = measure.low, measure.high
        if low is None or high is None or (low, high) == number_bounds(self.schema.columns[column]):
            return cell
        least, most = self.dialect.double(low), self.dialect.double(high)
        return f"(CASE WHEN {cell} < {least} THEN {least} WHEN {cell} > {most} THEN {most} ELSE {cell} END)"

    def value_sql(self, measure: Measure) -> str:
        """Return the integer that one row adds to a measure; NULL where it has no value."""
        if measure.kind == "count":
            return "1" if measure.column is None else f"CASE WHEN {self.name(measure.column)} IS NOT NULL THEN 1 END"
        number = self._number(measure)
        if measure.center:
            number = f"({number} - {self.dialect.double(measure.center)})"
        if measure.kind == "sumsq":
            number = self.dialect.factor(number)
            number = f"({number} * {number})"
        whole = self._rounded(number, measure)
        return whole if measure.offset == 0 else f"({whole} - ({measure.offset}))"

    def cell_sql(self, measure: Measure) -> str:
        """Return the cell of a row, counted from 0; NULL where it has none."""
        number = self._number(measure)
        if measure.edges is not None:
            return self._cells_between(number, measure.edges)
        return f"{self._rounded(number, measure)} - ({measure.first_cell})"

    def _rounded(self, number: str, measure: Measure) -> str:
        # floor(x s + 1/2): ROUND differs between engines in how it treats halves.
        factor = ""
        if measure.factor != 1.0:
            number = self.dialect.factor(number, least=max(1e-150, min(1e300, 1e-300 / measure.factor)))
            factor = f" * {self.dialect.double(measure.factor)}"
        return self.dialect.as_whole(f"({number}{factor} + {self.dialect.double(0.5)})")

    # -- pieces of text --------------------------------------------------------------------------

    def _sum(self, measure: Measure, value: str) -> str:
        if measure.kind == "count":
            return self.dialect.total("w" if measure.column is None else f"CASE WHEN {value} IS NOT NULL THEN w END")
        return self.dialect.wide_total(f"w * {value}")

    def _select(self, columns: Sequence[str], origin: str) -> str:
        return f"SELECT {', '.join(columns)} FROM {origin}"

    def _named(self, plan: Plan, origin: str) -> str:
        """Return rows with their unknown keys; a row that has none of them is in no group."""
        keys = {f"u{i}": self.name(name) for i, (name, keys) in enumerate(plan.by.items()) if keys is None}
        named = ", ".join(f"{name} AS {key}" for key, name in keys.items())
        present = " AND ".join(f"{name} IS NOT NULL" for name in keys.values())
        return f"(SELECT *, {named} FROM {origin} WHERE {present}) keyed"

    def _grouped(self, head: str, inner: str, groups: Sequence[str], sums: Sequence[str]) -> str:
        # No WHERE k IS NOT NULL: optimisers would evaluate the key twice. The reader drops that group.
        return (
            f"{head}\nSELECT {', '.join([*groups, *sums])}\nFROM ({inner}) measured\nGROUP BY {', '.join(groups)}"
        ).strip()
