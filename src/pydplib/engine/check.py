"""The owner's look at a table: do its cells fit the schema, and what do limit and bounds leave out?

Everything here is exact, and so not private. It is made on request, for the owner's own screen, and enters no release,
log or error.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from pydplib._shown import Shown
from pydplib.engine.measures import Measure
from pydplib.engine.plan import Plan
from pydplib.engine.protocol import guarded
from pydplib.engine.sql.columns import beyond_sql, column_sql
from pydplib.engine.sql.dialects import Dialect
from pydplib.engine.sql.sql_engine import SqlEngine
from pydplib.engine.stores.polars import polars_columns as words
from pydplib.engine.stores.polars.polars_engine import PolarsEngine
from pydplib.errors import EngineError
from pydplib.schema import COLUMN_KINDS, OTHER, Schema, Storage, rows_words

if TYPE_CHECKING:
    from pydplib.engine.stores.polars.polars_engine import PolarsEngine

LIMITS = (1, 2, 3, 5, 10, 20, 50)
"""The limits of rows per person that a check compares."""

NOT_COVERED = (
    "A limit or a bound that you choose after looking at these numbers depends on the data, and the guarantee does not "
    "cover that choice. Choose by what is usual."
)
"""What every check says, wherever it is shown."""

Share: TypeAlias = Literal["some", "all"]
"""How many of a column's cells do not fit: a word, since a count would be an exact statistic."""


@dataclass(frozen=True, slots=True, repr=False)
class Misfit(Shown):
    """A column some of whose cells, or all, do not fit their declaration.

    Examples:
        >>> print(Misfit("age", "number", "some"))
        Column 'age': some cells cannot be read as a number. They count as missing.
    """

    column: str
    kind: str
    share: Share

    def __str__(self) -> str:
        every = self.share == "all"
        if self.kind == "person":
            text = "no row says whose it is. Nothing counts." if every else "some rows do not say whose they are."
            return f"Person column '{self.column}': {text}" + ("" if every else " They do not count.")
        words = COLUMN_KINDS[self.kind].cell_words
        if not words:
            which, all_ = ("no cell is", "All") if every else ("some cells are not", "They")
            return f"Column '{self.column}': {which} in the list of values. {all_} count as '{OTHER}'."
        if every:
            hint = "is it another kind, or written in another way?"
            return f"Column '{self.column}': no cell can be read as {words}. All count as missing: {hint}"
        return f"Column '{self.column}': some cells cannot be read as {words}. They count as missing."


@dataclass(frozen=True, repr=False, kw_only=True)
class TableCheck(Shown):
    """What an owner's look at a table found: exact numbers, for the owner's screen alone. Made by ``Table.check``.

    Attributes:
        schema: The declarations that the table was compared with.
        rows: Rows that say whose they are.
        persons: Different persons; as many as rows where the schema has no person column.
        persons_over: Persons with more rows than the limit.
        kept: Limit -> the share of rows that count in full under it, for ``LIMITS`` and the schema's own.
        below: Column -> how many values lie below its bounds.
        above: Column -> how many values lie above its bounds.
        misfits: Columns with cells that cannot be read as what is declared.
    """

    schema: Schema
    rows: int
    persons: int
    persons_over: int
    kept: Mapping[int, float]
    below: Mapping[str, int]
    above: Mapping[str, int]
    misfits: tuple[Misfit, ...] = ()

    def limit_for(self, share: float) -> int | None:
        """Return the smallest limit of ``LIMITS`` that keeps at least this share of the rows; None if none does."""
        return next((limit for limit in LIMITS if self.kept[limit] >= share), None)

    @property
    def share_beyond(self) -> float:
        """The share of rows that the schema's limit leaves out, by weight."""
        return 1 - self.kept[self.schema.max_rows_per_person]

    def lines(self) -> list[tuple[str, str]]:
        """Return the numbers as (word, sentence) pairs."""
        if not self.rows:
            nobody = "" if self.schema.person is None else " that say whose they are"
            return [("rows", f"none: the table has no rows{nobody}, so there is nothing to leave out")]
        if self.schema.person is None:
            found = [("rows", f"{_number(self.rows)}, each counts as one person")]
        else:
            limit, over = self.schema.max_rows_per_person, self.persons_over
            has = "1 person has" if over == 1 else f"{_number(over)} persons have"
            found = [
                ("rows", f"{_number(self.rows)} of {_number(self.persons)} persons"),
                ("limit", f"{rows_words(limit)} per person; {has} more, {_percent(self.share_beyond)} of rows beyond"),
            ]
            for share in (0.95, 0.99):
                best = self.limit_for(share)
                words = f"no limit up to {LIMITS[-1]}" if best is None else f"a limit of {best}"
                found.append((f"{100 * share:.0f} % kept", f"{words} keeps {100 * share:.0f} % of the rows"))
        for name in self.below:
            low, high = self.below[name], self.above[name]
            if low or high:
                found.append((name, f"{_number(low)} values below the bounds, {_number(high)} above: clamped"))
        if not any((*self.below.values(), *self.above.values())) and self.below:
            found.append(("bounds", "no value lies beyond them"))
        return found

    def __str__(self) -> str:
        lines = self.lines()
        width = max(len(word) for word, _ in lines)
        return "\n".join(
            [
                f"What limits and bounds leave out of '{self.schema.name}'. Exact: for the owner alone.",
                *(f"  {word:<{width}}  {text}" for word, text in lines),
                f"  {NOT_COVERED}",
            ]
        )

    def _repr_html_(self) -> str:
        rows = "".join(f"<tr><th>{escape(word)}</th><td>{escape(text)}</td></tr>" for word, text in self.lines())
        title = f"What limits and bounds leave out of {escape(self.schema.name)}. Exact: for the owner alone."
        return f"<div class='pydplib-check'><p>{title}</p><table>{rows}</table><p>{NOT_COVERED}</p></div>"


def _number(number: int) -> str:
    return f"{number:,}".replace(",", " ")


def _percent(share: float) -> str:
    return f"{100 * share:.1f} %"


def check_table(engine: Any) -> TableCheck:
    """Look at all rows of a table, in its engine, and return what its limit and bounds leave out."""
    if isinstance(engine, PolarsEngine):
        counts, below, above, misfits = _look_with_polars(engine)
    elif isinstance(engine, SqlEngine):
        counts, below, above, misfits = _look_with_sql(engine)
    else:
        raise EngineError(f"A table on '{engine.name}' cannot be checked. Load it with dp.load first.")
    schema: Schema = engine.schema
    rows = sum(number * persons for number, persons in counts.items())
    limits = {*LIMITS, schema.max_rows_per_person}
    kept = {limit: _kept(counts, limit) / rows if rows else 1.0 for limit in sorted(limits)}
    over = sum(persons for number, persons in counts.items() if number > schema.max_rows_per_person)
    return TableCheck(
        schema=schema,
        rows=rows,
        persons=sum(counts.values()),
        persons_over=over,
        kept=kept,
        below=below,
        above=above,
        misfits=tuple(misfits),
    )


def _kept(counts: Mapping[int, int], limit: int) -> int:
    return sum(min(number, limit) * persons for number, persons in counts.items())


_Found: TypeAlias = tuple[dict[int, int], dict[str, int], dict[str, int], list["Misfit"]]


def _look_with_sql(engine: SqlEngine) -> _Found:
    schema, compiler = engine.schema, engine._compiler
    columns: list[str] = []
    tests: list[str] = []
    for name, column in schema.stored.items():
        beyond_it = beyond_sql(compiler.dialect, compiler.dialect.quote(name), column, compiler.storage(name))
        if beyond_it is not None:
            columns.append(name)
            tests += beyond_it
    somebody = "" if schema.person is None else f" WHERE ({compiler._person(schema.person)}) IS NOT NULL"
    sums = ", ".join(["COUNT(*)", *(f"SUM(CASE WHEN {test} THEN 1 ELSE 0 END)" for test in tests)])
    ((rows, *beyond),) = engine._answer(f"SELECT {sums} FROM {compiler.source.text}{somebody}")
    numbers = [int(number or 0) for number in beyond]
    if schema.person is None:
        counts = {1: int(rows)} if rows else {}
    else:
        plan = Plan(schema, measures=[Measure("count")])
        counts = {int(number): int(persons) for number, persons in engine._answer(compiler.rows_per_person(plan))}
    below, above = dict(zip(columns, numbers[::2], strict=True)), dict(zip(columns, numbers[1::2], strict=True))
    return counts, below, above, find_misfits(engine)


def _look_with_polars(engine: PolarsEngine) -> _Found:
    import polars as pl

    schema, types = engine.schema, engine._types
    columns: list[str] = []
    sums: list[pl.Expr] = [pl.len().alias("rows")]
    for name, column in schema.stored.items():
        value, limits = words.unclamped_expr(name, column, types[name]), column.cell.limits
        if value is None or limits is None:
            continue
        columns.append(name)
        low, high = limits
        sums += [(value < low).sum().alias(f"below {name}"), (value > high).sum().alias(f"above {name}")]
    frame = engine._frame
    if schema.person is not None:
        frame = frame.filter(engine._identity(schema.person, "person column").is_not_null())
    found = guarded(engine.name, lambda: frame.select(*sums).collect().row(0, named=True))
    if schema.person is None:
        counts = {1: found["rows"]} if found["rows"] else {}
    else:
        persons = engine.rows_per_person(Plan(schema, measures=[Measure("count")]))
        counts = dict(guarded(engine.name, lambda: persons.group_by("n").agg(pl.len()).collect().rows()))
    below = {name: int(found[f"below {name}"]) for name in columns}
    return counts, below, {name: int(found[f"above {name}"]) for name in columns}, _misfits_of_polars(engine)


def _misfits_of_polars(engine: PolarsEngine) -> list[Misfit]:
    import polars as pl

    tests: dict[tuple[str, str], tuple[pl.Expr, pl.Expr]] = {}
    for name, column in engine.schema.stored.items():
        if column.fits_anything:
            continue
        value, cell = words.column_expr(name, column, engine._types[name]), pl.col(name)
        storage = words.storage_of(engine._types[name])
        given = cell.is_not_null()
        if storage == "text":
            given = given & (cell.cast(pl.String).str.strip_chars() != "")
        elif storage == "float":
            given = given & ~cell.is_nan()
        other = column.cell.other
        fits = value.is_not_null() if other is None else value != other
        tests[name, column.kind] = (given & ~fits.fill_null(value=False)).any(), (given & fits).any()
    if engine.schema.person is not None:
        somebody = engine._identity(engine.schema.person, "person column").is_not_null()
        tests[engine.schema.person, "person"] = (~somebody).any(), somebody.any()
    if not tests:
        return []
    asked = [test.alias(str(i)) for i, test in enumerate(test for pair in tests.values() for test in pair)]
    row = guarded(engine.name, lambda: engine._frame.select(*asked).collect().row(0))
    pairs = zip(tests, row[::2], row[1::2], strict=True)
    return [Misfit(name, kind, "some" if good else "all") for (name, kind), bad, good in pairs if bad]


def find_misfits(engine: SqlEngine) -> list[Misfit]:
    """Look at every cell once, in the engine, and tell which columns have cells that do not fit.

    Exact, and so not private: for the owner's own screen. Empty cells fit everywhere.

    Args:
        engine: The table, with its schema.
    """
    schema, compiler = engine.schema, engine._compiler
    dialect = compiler.dialect
    asked: list[tuple[str, str]] = []
    tests: list[tuple[str, str]] = []  # "given and does not fit", "given and fits"
    for name, column in schema.stored.items():
        if column.fits_anything:
            continue
        cell, storage = dialect.quote(name), compiler.storage(name)
        value, given = column_sql(dialect, cell, column.cell, storage), _is_given(dialect, cell, storage)
        other = column.cell.other
        fits = f"({value}) IS NOT NULL" if other is None else f"({value}) <> {other}"
        asked.append((name, column.kind))
        tests.append((f"{given} AND NOT {fits}", f"{given} AND {fits}"))
    if schema.person is not None:
        somebody = f"({compiler._person(schema.person)}) IS NOT NULL"
        asked.append((schema.person, "person"))
        tests.append((f"NOT {somebody}", somebody))
    if not tests:
        return []
    columns = ", ".join(f"MAX(CASE WHEN {test} THEN 1 ELSE 0 END)" for pair in tests for test in pair)
    (found,) = engine._answer(f"SELECT {columns} FROM {compiler.source.text}")
    misfits = []
    for (name, kind), bad, good in zip(asked, found[::2], found[1::2], strict=True):
        if bad:
            misfits.append(Misfit(name, kind, "some" if good else "all"))
    return misfits


def _is_given(dialect: Dialect, cell: str, storage: Storage) -> str:
    """Return the test that a cell holds something."""
    if storage in ("text", "dynamic"):
        return f"({cell} IS NOT NULL AND TRIM({dialect.as_text(cell)}) <> '')"
    if storage == "float":
        return f"({cell} IS NOT NULL AND NOT ({dialect.is_nan(dialect.as_double(cell))}))"
    return f"({cell} IS NOT NULL)"
