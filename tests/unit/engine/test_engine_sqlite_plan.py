"""SQLite finds a person's weight by an index, not by looking at everybody for everybody."""

from __future__ import annotations

import sqlite3
from fractions import Fraction
from pathlib import Path

import pydplib as dp
from pydplib.release.prepare import prepare
from pydplib.release.resolved import resolve


def test_count_when_rows_are_weighted_searches_persons_by_an_index(tmp_path: Path) -> None:
    path = tmp_path / "reports.db"
    with sqlite3.connect(path) as db:
        db.execute("CREATE TABLE reports (id INTEGER, age REAL)")
        db.executemany("INSERT INTO reports VALUES (?, ?)", [(i, 20 + i % 60) for i in range(50)])
    schema = dp.Schema({"age": dp.Number(18, 100)}, person="id", name="reports")
    table = dp.load(path, schema, table="reports")
    query = table.engine.explain(prepare(resolve(dp.Count(), schema), Fraction(1)).plan)
    with sqlite3.connect(path) as db:
        steps = [row[3] for row in db.execute(f"EXPLAIN QUERY PLAN {query}")]
    assert any(step.startswith("SEARCH") for step in steps), steps
