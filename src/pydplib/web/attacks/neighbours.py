"""Whom simulated attacks are about: people of the published snapshot, or made-up ones with the same fields."""

# Names and values enter SQL through sql_name() and sql_text() only.
from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from pydplib._duckdb_files import sql_name, sql_text
from pydplib.errors import DataError, PolicyError
from pydplib.schema import Schema
from pydplib.web.intake.pinned import select_rows
from pydplib.web.intake.snapshots import published_snapshot
from pydplib.web.projects.models import Project

MADE_UP = 600
MOST_PEOPLE = 2_000
MOST_ATTRIBUTES = 120


def attributes_of(schema: Schema) -> list[tuple[str, object]]:
    """Return yes/no attributes by the public schema: one per declared value of every field but the person's."""
    found: list[tuple[str, object]] = []
    for name, column in schema.stored.items():
        if name != schema.person:
            found += [(name, value) for value in column.choices if value is not False]  # of yes or no, yes
    return found[:MOST_ATTRIBUTES]


def made_up(schema: Schema, *, seed: int) -> NDArray[np.bool_]:
    """Return people x attributes of nobody: every declared value equally likely. Public facts alone are used."""
    rng = np.random.default_rng(seed)
    columns: dict[str, NDArray[np.int64]] = {}
    out = []
    for name, value in attributes_of(schema):
        values = schema.columns[name].choices
        drawn = columns.setdefault(name, rng.integers(len(values), size=MADE_UP))
        out.append(drawn == values.index(value))
    return np.array(out, dtype=bool).T.reshape(MADE_UP, -1)


def published(project: Project, *, seed: int) -> NDArray[np.bool_]:
    """Return people x attributes of the published snapshot, one row per person, in random order.

    Raises:
        PolicyError: Nothing is published.
        DataError: The file is gone or was changed.
    """
    snapshot = published_snapshot(project)
    if snapshot is None:
        raise PolicyError("Nothing is published yet: attack made-up people instead.")
    schema = Schema.from_json(snapshot.schema)
    selected = (
        f"coalesce(CAST({sql_name(name)} AS VARCHAR) = {sql_text(_text(value))}, false) AS a{place}"
        for place, (name, value) in enumerate(attributes_of(schema))
    )
    found = select_rows(snapshot, selected, latest_of=schema.person)
    if found.num_rows < 20:
        raise DataError("The published snapshot holds too few people for an attack that says anything.")
    people = np.column_stack([column.to_numpy() for column in found.columns]).astype(bool)
    return people[np.random.default_rng(seed).permutation(len(people))[:MOST_PEOPLE]]


def _text(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
