"""Whom simulated attacks are about: people of the published snapshot, or made-up ones with the same fields."""

# Names and paths enter SQL through sql_name() and sql_text() only.
# ruff: noqa: S608
from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from pydplib._duckdb_files import exact_name, sql_text
from pydplib.errors import DataError, PolicyError
from pydplib.schema import Category, Flag, Schema
from pydplib.web.exports.running import sql_name
from pydplib.web.intake import snapshots

MADE_UP = 600
MOST_PEOPLE = 2_000
MOST_ATTRIBUTES = 120


def attributes_of(schema: Schema) -> list[tuple[str, Any]]:
    """Return yes/no attributes by the public schema: one per declared value of every field but the person's."""
    found: list[tuple[str, Any]] = []
    for name, column in schema.columns.items():
        if name != schema.person and isinstance(column, Category | Flag):
            values = column.values if isinstance(column, Category) else (True,)
            found += [(name, value) for value in values]
    return found[:MOST_ATTRIBUTES]


def made_up(schema: Schema, *, seed: int) -> NDArray[np.bool_]:
    """Return people x attributes of nobody: every declared value equally likely. Public facts alone are used."""
    rng = np.random.default_rng(seed)
    columns: dict[str, NDArray[np.int64]] = {}
    out = []
    for name, value in attributes_of(schema):
        column = schema.columns[name]
        values = list(column.values)  # type: ignore[union-attr]
        drawn = columns.setdefault(name, rng.integers(len(values), size=MADE_UP))
        out.append(drawn == values.index(value))
    return np.array(out, dtype=bool).T.reshape(MADE_UP, -1)


def published(project: Any, *, seed: int) -> NDArray[np.bool_]:
    """Return people x attributes of the published snapshot, one row per person, in random order.

    Raises:
        PolicyError: Nothing is published.
        DataError: The file is gone or was changed.
    """
    import duckdb

    snapshot = snapshots.published_snapshot(project)
    if snapshot is None:
        raise PolicyError("Nothing is published yet: attack made-up people instead.")
    with snapshots.load_snapshot(snapshot):  # checks that the file is the one that was pinned
        pass
    schema = Schema.from_json(snapshot.schema)
    person = sql_name(str(schema.person))
    source = f"read_parquet({sql_text(exact_name(snapshots.folder() / snapshot.file))}, file_row_number = true)"
    asked = attributes_of(schema)
    names = ", ".join(
        f"coalesce(CAST({sql_name(name)} AS VARCHAR) = {sql_text(_text(value))}, false)" for name, value in asked
    )
    query = (
        f"SELECT {names} FROM {source} "
        f"QUALIFY row_number() OVER (PARTITION BY {person} ORDER BY file_row_number DESC) = 1"
    )
    try:
        with duckdb.connect() as connection:
            found = connection.execute(query).fetchall()
    except duckdb.Error:
        raise DataError("The published snapshot cannot be read.") from None
    if len(found) < 20:
        raise DataError("The published snapshot holds too few people for an attack that says anything.")
    people = np.array(found, dtype=bool)
    return people[np.random.default_rng(seed).permutation(len(people))[:MOST_PEOPLE]]


def _text(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
