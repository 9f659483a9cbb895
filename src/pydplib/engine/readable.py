"""Do the cells fit their declarations? For the owner alone: a word per column, never a cell or a count."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

from pydplib.engine.columns import category_code, column_sql
from pydplib.engine.dialects import Dialect, Storage
from pydplib.engine.sqlengine import SqlEngine
from pydplib.schema import OTHER, Category, Text

Share: TypeAlias = Literal["some", "all"]
"""How many of a column's cells do not fit: a word, since a count would be an exact statistic."""

_WORDS = {
    "number": "a number",
    "integer": "a number",
    "date": "a day (2018-12-31 or 31.12.2018)",
    "flag": "yes or no (true/false, ja/nein, 1/0)",
}


@dataclass(frozen=True, slots=True)
class Misfit:
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
        if self.kind == "category":
            which, all_ = ("no cell is", "All") if every else ("some cells are not", "They")
            return f"Column '{self.column}': {which} in the list of values. {all_} count as '{OTHER}'."
        words = _WORDS[self.kind]
        if every:
            hint = "is it another kind, or written in another way?"
            return f"Column '{self.column}': no cell can be read as {words}. All count as missing: {hint}"
        return f"Column '{self.column}': some cells cannot be read as {words}. They count as missing."


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
    for name, column in schema.columns.items():
        if isinstance(column, Text):
            continue
        cell, storage = dialect.quote(name), compiler.storage(name)
        value, given = column_sql(dialect, cell, column, storage), _is_given(dialect, cell, storage)
        if isinstance(column, Category):
            if OTHER in column.values:
                continue
            fits = f"({value}) <> {category_code(column)[OTHER]}"
        else:
            fits = f"({value}) IS NOT NULL"
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
