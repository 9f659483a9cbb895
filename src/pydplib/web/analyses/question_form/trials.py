"""Try before you pay: a question on a table that nobody's data are in, with the very noise that would be paid for.

The table is made up from the public schema, or is a synthetic one that the organisation has bought. Nothing is read
from a snapshot, nothing is entered in the ledger, and nothing is stored.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from hashlib import shake_256

import numpy as np
import pyarrow

from pydplib.engine.load import load
from pydplib.errors import PydplibError, QuestionError
from pydplib.release import Question, Release
from pydplib.release.facts import Facts
from pydplib.schema import Column, Schema
from pydplib.web import hooks
from pydplib.web.people.models import User
from pydplib.web.projects.models import Member, Project

USUAL_ROWS = 1_000
MOST_ROWS = 20_000
_POINTS = 64


@dataclass(frozen=True, slots=True)
class TrialTable:
    """A table to try questions on.

    Attributes:
        key: How an address names it; empty for the made-up one.
        title: What it is called.
        columns: Name -> cells; none for the made-up one.
    """

    key: str
    title: str
    columns: Mapping[str, Sequence[object]] | None = None


MADE_UP = TrialTable("", "Made-up data")


def tables_for(project: Project, user: User, place: Member, question: Question) -> list[TrialTable]:
    """Return the tables that a question can be tried on: the made-up one, and what the organisation has bought."""
    names = sorted(question.fields | question.filters)
    return [MADE_UP, *(table for found in hooks.trial_tables(project, user, place, names) for table in found)]


def try_out(
    question: Question, schema: Schema, epsilon: float, *, size: float | None, table: TrialTable = MADE_UP
) -> Release:
    """Return the answer to a question from a table that is not the project's; nothing is paid.

    Args:
        question: What is asked.
        schema: The public schema of what would be asked.
        epsilon: What it would cost.
        size: The number of rows as far as the organisation knows it.
        table: What is asked instead.

    Raises:
        QuestionError: The question cannot be tried on this table.
    """
    facts = Facts.of(question, schema)
    if facts.has_unknown_keys:
        raise QuestionError("A question with unknown keys cannot be tried: nothing public says which there are.")
    known, rows = (schema, _made_up(schema, size)) if table.columns is None else _of_bought(schema, table.columns)
    try:
        purchase = Facts.of(question, known).at(Fraction(str(epsilon)))
        with load(pyarrow.table(rows), known) as loaded:
            return purchase.answer(purchase.count(loaded))
    except PydplibError:
        raise QuestionError("This question cannot be tried on this table: it needs more than the table has.") from None


def _of_bought(schema: Schema, columns: Mapping[str, Sequence[object]]) -> tuple[Schema, dict[str, list[object]]]:
    """Return the schema of a synthetic table, one row each person, and its rows."""
    kept = {name: column for name, column in schema.columns.items() if name in columns}
    plain = Schema(kept, name=schema.name, lineage="trial")
    return plain, {name: list(columns[name]) for name in kept}


def _made_up(schema: Schema, size: float | None) -> dict[str, list[object]]:
    """Return rows of nobody: middle values more often than those at the ends. Public facts alone are used."""
    count = min(MOST_ROWS, max(1, round(USUAL_ROWS if size is None else size)))
    rows: dict[str, list[object]] = {}
    for name, column in schema.stored.items():
        # From a hash, so that the table is the same every time: what changes from one try to the next is the noise.
        spread = np.frombuffer(shake_256(name.encode()).digest(4 * count), dtype="<u4") / 2**32
        if name == schema.person:
            each = math.ceil(count / max(1, (1 + schema.max_rows_per_person) / 2))
            rows[name] = [f"P{one}" for one in (spread * each).astype(int)]
            continue
        values = _values(column)
        if values:
            middle = np.where(spread < 0.5, np.sqrt(spread / 2), 1 - np.sqrt((1 - spread) / 2))
            places = np.minimum((middle * len(values)).astype(int), len(values) - 1)
            rows[name] = [values[place] for place in places]
        else:
            rows[name] = [""] * count
    return rows


def _values(column: Column) -> Sequence[object]:
    """Return values that a column may have, from its public facts."""
    if column.choices:
        return list(column.choices)
    if not column.is_binned:
        return []
    return list(dict.fromkeys(column.even_bins(_POINTS)))[:-1]
