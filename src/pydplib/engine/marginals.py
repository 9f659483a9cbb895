"""Several tables of counts in one scan: the marginals of the same bounded rows, each row in one cell of each.

Plans over the same rows (conditions, bound and what a chosen row must meet) are bounded once and added up together::

    read    AS (the columns that any plan looks at, from one scan of the source)
    bounded AS (normalised rows and their weights)                                     per set of rows
    placed  AS (the place of a row in every cut of a column, all other rows last)
    SELECT places, SUM(w) FROM placed GROUP BY GROUPING SETS ((x0, x1), (x0), ())

A place is never NULL, so the places that a result has tell which table it belongs to. All is one statement: every table
counts one state of the source.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from pydplib.engine.answers import whole
from pydplib.engine.exact import integers
from pydplib.engine.measures import Measure
from pydplib.engine.plan import Bins, Plan
from pydplib.errors import QuestionError

if TYPE_CHECKING:
    from pydplib.engine.sql.plans import Compiler

READ = "pydplib_read"
"""What was read once, inside a statement."""


@dataclass(frozen=True)
class Rows:
    """Plans over the same bounded rows.

    Attributes:
        places: Where the plans stand among all that were asked.
        plans: The plans.
    """

    places: tuple[int, ...]
    plans: tuple[Plan, ...]

    @property
    def has_rest(self) -> bool:
        """Whether every row is in a cell: of those that no key takes, in the last one. Not so for sampled rows."""
        return self.plans[0].bound.mode != "sample"

    @cached_property
    def outer(self) -> Plan:
        """The plan that bounds the rows, with every column that one of the tables looks at."""
        first = self.plans[0]
        if not self.has_rest:
            return first
        columns = sorted({name for plan in self.plans for name in plan.by})
        measures = [Measure("count"), *(Measure("count", name) for name in columns)]
        return Plan(first.table, measures=measures, where=first.where, bound=first.bound, after=first.after)

    @cached_property
    def cuts(self) -> tuple[tuple[str, Any], ...]:
        """The cuts of columns that tables are made of: (column, keys), each once."""
        found = {_cut(name, keys): (name, keys) for plan in self.plans for name, keys in plan.by.items()}
        return tuple(found.values()) if self.has_rest else ()

    @cached_property
    def sets(self) -> tuple[tuple[int, ...], ...]:
        """For each plan its cuts, in the order of its columns."""
        order = {_cut(name, keys): i for i, (name, keys) in enumerate(self.cuts)}
        if not self.has_rest:
            return tuple((0,) for _ in self.plans)
        return tuple(tuple(order[_cut(name, keys)] for name, keys in plan.by.items()) for plan in self.plans)

    @property
    def width(self) -> int:
        """How many places a result has."""
        return len(self.cuts) if self.has_rest else 1

    def shape(self, plan: Plan) -> tuple[int, ...]:
        """Return the cells of one table by column, those of all other rows included."""
        return tuple(size_of(keys) + self.has_rest for keys in plan.by.values())

    def read(self, results: Iterable[tuple[Sequence[int | None], int]]) -> list[NDArray[Any]]:
        """Return the table of each plan from (places, sum): zeros where nothing was found."""
        found: dict[tuple[int, ...], list[tuple[tuple[int, ...], int]]] = {}
        for places, number in results:
            there = tuple(i for i, place in enumerate(places) if place is not None)
            found.setdefault(there, []).append((tuple(int(places[i]) for i in there), number))  # type: ignore[arg-type]
        tables = []
        for plan, cuts in zip(self.plans, self.sets, strict=True):
            shape = self.shape(plan)
            cells = [0] * math.prod(shape)
            rows = found.get(tuple(sorted(cuts)), [])
            if rows:
                order = [sorted(cuts).index(cut) for cut in cuts]
                where = np.array([place for place, _ in rows], dtype=np.int64).reshape(len(rows), len(cuts))[:, order]
                wide = shape if self.has_rest else (math.prod(shape),)
                flat = np.ravel_multi_index(tuple(where.T), wide) if cuts else np.zeros(len(rows), dtype=np.int64)
                for place, (_, number) in zip(flat.tolist(), rows, strict=True):
                    cells[place] += number
            tables.append(integers(cells).reshape(shape))
        return tables


def size_of(keys: Any) -> int:
    """Return how many public keys or bins a cut has."""
    return len(keys.keys if isinstance(keys, Bins) else keys)


def _cut(name: str, keys: Any) -> tuple[Any, ...]:
    """Return what tells two cuts of columns apart."""
    if isinstance(keys, Bins):
        return (name, "bins", keys.numbers)
    return (name, "keys", tuple((type(key).__name__, key) for key in keys))


def rows_of(plans: Sequence[Plan]) -> tuple[Rows, ...]:
    """Return plans by the rows that they count; each is a table of counts over public keys.

    Raises:
        QuestionError: If one measures something else, or has unknown keys.
    """
    found: dict[Any, list[int]] = {}
    for place, plan in enumerate(plans):
        if not isinstance(plan, Plan) or plan.measures != (Measure("count"),) or plan.has_unknown_keys:
            raise QuestionError(
                "Tables in one scan are counts over public keys: Plan(..., measures=[Measure('count')])."
            )
        alone = place if plan.bound.mode == "sample" else None  # a sample of rows is one by the table's own groups
        found.setdefault((plan.where, plan.after, plan.bound, alone), []).append(place)
    return tuple(Rows(tuple(places), tuple(plans[place] for place in places)) for places in found.values())


def in_order(groups: Sequence[Rows], tables: Sequence[Sequence[NDArray[Any]]]) -> tuple[NDArray[Any], ...]:
    """Return the tables of all groups in the order in which plans were asked."""
    found: dict[int, NDArray[Any]] = {}
    for group, counted in zip(groups, tables, strict=True):
        found.update(zip(group.places, counted, strict=True))
    return tuple(found[place] for place in range(len(found)))


# -- as SQL ------------------------------------------------------------------------------------------


def columns_read(compiler: Compiler, groups: Sequence[Rows], *, with_person: bool = True) -> str:
    """Return the physical columns that any group looks at."""
    looked_at: dict[str, None] = {}
    for group in groups:
        bound = group.outer.bound
        names = [*group.outer.stored, *([bound.person] if with_person else []), bound.row_key]
        looked_at.update(dict.fromkeys(name for name in names if name is not None))
    return ", ".join(compiler.dialect.quote(name) for name in looked_at) or "1 AS one"


def tables_sql(
    compiler: Compiler, groups: Sequence[Rows], *, asides: Sequence[str | None] = (), is_read: bool = False
) -> str:
    """Return the statement that counts all tables: (group, places ..., sum).

    Args:
        compiler: Says how rows are bounded and placed; its source is scanned once.
        groups: The tables by their rows.
        asides: For each group a table of the rows of persons beyond the limit, or None: ``beyond``.
        is_read: Whether the source is a copy already that was read for this statement.
    """
    asides = asides or [None] * len(groups)
    once = len(groups) == 1 and (groups[0].outer.bound.person is None or asides[0] is not None)
    head = ""
    if not is_read and not (once and compiler.source.is_pinned):
        columns = columns_read(compiler, groups, with_person=not all(asides))
        head = f"WITH {READ} AS MATERIALIZED (SELECT {columns} FROM {compiler.source.text})\n"
        compiler = compiler.on(READ)
    width = max(group.width for group in groups)
    parts = [
        f"SELECT * FROM (\n{_group_sql(compiler, group, number, width, aside)}\n) tables_{number}"
        for number, (group, aside) in enumerate(zip(groups, asides, strict=True))
    ]
    return head + "\nUNION ALL\n".join(parts)


def _group_sql(compiler: Compiler, group: Rows, number: int, width: int, aside: str | None) -> str:
    dialect, outer = compiler.dialect, group.outer
    weight = "w" if outer.scale > 1 else "1"
    if group.has_rest:
        places = [
            f"COALESCE({compiler.key_sql({name: keys})}, {size_of(keys)}) AS x{i}"
            for i, (name, keys) in enumerate(group.cuts)
        ]
    else:
        places = ["k AS x0"]
    names = [f"x{i}" for i in range(group.width)]
    nothing = dialect.as_bigint("NULL")
    empty = [f"{nothing} AS y{i}" for i in range(group.width, width)]
    total = dialect.total("w")
    placed = f"placed AS {dialect.step}(SELECT {', '.join([*places, f'{weight} AS w'])} FROM bounded)"
    sets = sorted({tuple(sorted(cuts)) for cuts in group.sets})
    head = f"{compiler.bounding(outer, aside)},\n{placed}\n"
    if dialect.grouping_sets and sets != [()]:
        listed = ", ".join(f"({', '.join(names[i] for i in cuts)})" for cuts in sets)
        wanted = ", ".join([f"{number} AS g", *names, *empty, f"{total} AS n"])
        return f"{head}SELECT {wanted} FROM placed GROUP BY GROUPING SETS ({listed})"
    parts = []
    for cuts in sets:
        own = [f"{dialect.as_bigint(name) if i in cuts else nothing} AS y{i}" for i, name in enumerate(names)]
        grouped = f" GROUP BY {', '.join(names[i] for i in cuts)}" if cuts else ""
        parts.append(f"SELECT {', '.join([f'{number} AS g', *own, *empty, f'{total} AS n'])} FROM placed{grouped}")
    return head + "\nUNION ALL\n".join(parts)


def read_tables(groups: Sequence[Rows], rows: Sequence[Sequence[Any]]) -> tuple[NDArray[Any], ...]:
    """Return the tables, in the order in which plans were asked, from what ``tables_sql`` answers."""
    found: list[list[tuple[Sequence[Any], int]]] = [[] for _ in groups]
    for row in rows:
        group = int(row[0])
        found[group].append((row[1 : 1 + groups[group].width], whole(row[-1])))
    return in_order(groups, [group.read(results) for group, results in zip(groups, found, strict=True)])
