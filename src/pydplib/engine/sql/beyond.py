"""The rows of persons beyond the limit, kept inside the engine: everybody else's rows need no weighing.

The rows that meet a condition are some of a person's rows. Whoever has at most M rows in the table therefore has at
most M under every condition, and each of them weighs W. The few others, and the rows of nobody, are found once per
table and laid aside, normalised. A question then is one plain pass over all rows, which does not even read the person
column, and a small one over those laid aside, which takes back what they count too much::

    rows    AS (normalised columns of all rows that meet where=)             each with W
    aside   AS (those of them whose person is beyond the limit, or nobody)
    weights AS (per person aside: min(W, floor(M W / c)), c the person's rows under where=)
    bounded AS (rows with W, and aside once more with w - W; nobody's with -W)

Sums of integers do not depend on their order: w = W + (w - W), so the integers are those of one weight per row. That
holds on the same bytes alone: a source says by its ``stamp`` whether they are.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Collection, Hashable, Sequence
from typing import TYPE_CHECKING, Any

from pydplib.engine.bounds import WEIGHT_UNIT
from pydplib.engine.plan import Plan
from pydplib.errors import EngineError

if TYPE_CHECKING:
    from pydplib.engine.sql.plans import Compiler, Query

LARGEST_SHARE = 4
"""More than one in this many rows laid aside do not pay off: the rows are weighed instead."""

FEW = 100_000
"""This many rows are laid aside whatever their share."""

ONE_IN = 61
"""One person in this many is looked at first; if twice too many of their rows are beyond the limit, nobody else is."""


class Beyond:
    """The rows laid aside of one table, and the answers that they make cheap.

    They are as private as the table: a temporary table of the same connection, gone when that is closed.

    Args:
        compiler: Says what is run.
        stamp: Tells the source's bytes from others; None where that cannot be told now.
        run: Runs one statement.
    """

    def __init__(
        self,
        compiler: Compiler,
        stamp: Callable[[], Hashable | None],
        run: Callable[[str], Sequence[Sequence[Any]]],
    ) -> None:
        self._compiler = compiler
        self._stamp = stamp
        self._run = run
        self._name = f"pydplib_beyond_{uuid.uuid4().hex}"
        self._made_of: Hashable | None = None
        self._limit: int | None = None  # whose rows are laid aside: persons with more rows than this
        self._columns: frozenset[str] = frozenset()  # which of their columns
        self._too_many = 0  # with this limit, and so with any smaller one, too many rows are beyond it

    def queries(self, plan: Plan) -> list[Query]:
        """Return the statements that answer a plan from all rows and those laid aside."""
        return self._compiler.queries(plan, aside=self._name)

    def answers(self, plan: Plan) -> list[Sequence[Sequence[Any]]] | None:
        """Return what the statements of ``queries`` answer; None where the rows must be weighed instead.

        What a question looks at is what the rows were laid aside from: the stamp is the same before and after.
        """
        return self.run_aside([plan], lambda aside: [query.text for query in self.queries(plan)])

    def run_aside(
        self, plans: Sequence[Plan], statements: Callable[[str], Sequence[str]]
    ) -> list[Sequence[Sequence[Any]]] | None:
        """Return what statements answer that name the table of rows laid aside; None where rows must be weighed.

        Args:
            plans: The plans whose rows are weighed with it.
            statements: Makes the statements, given the name of that table.
        """
        if not all(takes(self._compiler, plan) for plan in plans):
            return None
        stamp = self._stamp()
        if stamp is None:
            return None
        try:
            if stamp != self._made_of:
                self._made_of, self._limit, self._too_many = stamp, None, 0
                self._run(f"DROP TABLE IF EXISTS {self._name}")
            if not all(self._lay_aside(plan) for plan in plans):  # what is laid aside only ever widens
                return None
            found = [self._run(statement) for statement in statements(self._name)]
        except EngineError:  # such as too little memory: the plain way says what is wrong, if anything is
            return None
        return found if self._stamp() == stamp else None

    def _lay_aside(self, plan: Plan) -> bool:
        """Lay aside the rows of persons with more rows than the plan's limit; tell whether they are.

        At first with the columns that are asked for; once that was not enough, with all of them.
        """
        limit, columns = plan.bound.max_rows, frozenset(plan.columns)
        if limit <= self._too_many:
            return False
        if self._limit is not None:
            if self._limit <= limit and columns <= self._columns:  # persons with fewer rows weigh W all the same
                return True
            limit, columns = min(limit, self._limit), frozenset(_kept(self._compiler))
        before, self._too_many = self._too_many, limit  # should anything fail, the rows are weighed from now on
        seem_few, count, are_few, copy, forget = self._statements(limit, columns)
        ((few,),) = self._run(seem_few)
        if not few:
            return False
        self._run(count)
        ((few,),) = self._run(are_few)
        if few:
            self._limit = None
            self._run(copy)
            self._limit, self._columns, self._too_many = limit, columns, before
        self._run(forget)
        return bool(few)

    def _statements(self, limit: int, columns: Collection[str]) -> tuple[str, str, str, str, str]:
        """Return what lays rows aside: try some persons, count all, see that they are few, copy their rows, forget."""
        compiler, persons = self._compiler, f"{self._name}_persons"
        source, person = compiler.source.text, compiler.person_sql()
        key, rows = f"{persons}_p", f"{persons}_n"  # names that no column of the table has
        kept = "".join(f"{compiler.column_sql(name)} AS {compiler.name(name)}, " for name in sorted(columns))
        some = (
            f"SELECT COUNT(*) AS n FROM (SELECT {person} AS p FROM {source}) named "
            f"WHERE hash(p) % {ONE_IN} = 0 AND p IS NOT NULL GROUP BY p"
        )
        return (
            f"SELECT COALESCE(SUM(n) FILTER (n > {limit}), 0) <= "
            f"GREATEST({2 * FEW // ONE_IN}, COALESCE(SUM(n), 0) * 2 // {LARGEST_SHARE}) FROM ({some}) tried",
            f"CREATE OR REPLACE TEMP TABLE {persons} AS\nSELECT p AS {key}, COUNT(*) AS {rows} "
            f"FROM (SELECT {person} AS p FROM {source}) named GROUP BY p HAVING COUNT(*) > {limit} OR p IS NULL",
            f"SELECT COALESCE(SUM({rows}), 0) <= GREATEST({FEW}, (SELECT COUNT(*) FROM {source}) // {LARGEST_SHARE}) "
            f"FROM {persons}",
            f"CREATE OR REPLACE TEMP TABLE {self._name} AS\nSELECT {kept}{person} AS p FROM {source}\n"
            f"SEMI JOIN {persons} ON {person} IS NOT DISTINCT FROM {key}",
            f"DROP TABLE {persons}",
        )

    def explain(self, plan: Plan) -> list[str]:
        """Return what a first question runs; nothing where the rows are weighed instead."""
        if not takes(self._compiler, plan):
            return []
        return [
            *self._statements(plan.bound.max_rows, plan.columns),
            *(query.text for query in self.queries(plan)),
        ]


def takes(compiler: Compiler, plan: Plan) -> bool:
    """Tell whether a plan can be answered with rows laid aside: by weights, and without free texts."""
    weighs = plan.bound.mode == "weight" and plan.bound.person is not None and plan.measures[0].kind != "persons"
    return weighs and set(plan.columns) <= set(_kept(compiler))


def _kept(compiler: Compiler) -> list[str]:
    return [name for name in compiler.schema.stored if not compiler.schema.cells[name].is_text]


def bounding_sql(compiler: Compiler, plan: Plan, aside: str) -> str:
    """Return the WITH clauses whose last one, ``bounded``, holds all rows and what is taken back from some."""
    inline, columns = compiler.dialect.inline, ", ".join(compiler.names(plan)) or "1 AS one"
    kept = compiler.narrowed(f"SELECT {', '.join([*compiler.names(plan), 'p'])} FROM {aside}", plan.where)
    return (
        f"WITH rows_ AS {inline} (\n{compiler.rows(plan, with_person=False)}\n),\n"
        f"aside AS {inline} (\n{kept}\n),\n"
        f"weights AS (SELECT p, {compiler.weight_sql(plan)} AS w FROM aside WHERE p IS NOT NULL GROUP BY p),\n"
        f"bounded AS {inline} (\n"
        f"SELECT {columns}, {compiler.dialect.as_bigint(str(WEIGHT_UNIT))} AS w FROM rows_\nUNION ALL\n"
        f"SELECT {columns}, COALESCE(w, 0) - {WEIGHT_UNIT} AS w FROM aside LEFT JOIN weights ON aside.p = weights.p\n)"
    )
