"""SQLite finds a person's weight by an index, not by looking at everybody for everybody."""

from __future__ import annotations

import sqlite3
from fractions import Fraction
from pathlib import Path

import pydplib as dp
from pydplib.release.facts import Facts


def test_count_when_rows_are_weighted_searches_persons_by_an_index(tmp_path: Path) -> None:
    path = tmp_path / "reports.db"
    with sqlite3.connect(path) as db:
        db.execute("CREATE TABLE reports (id INTEGER, age REAL)")
        db.executemany("INSERT INTO reports VALUES (?, ?)", [(i, 20 + i % 60) for i in range(50)])
    schema = dp.Schema({"age": dp.Number(18, 100)}, person="id", max_rows_per_person=1, name="reports")
    table = dp.load(path, schema, table="reports")
    query = table.engine.explain(Facts.of(dp.Count(), schema).at(Fraction(1)).plan)
    with sqlite3.connect(path) as db:
        db.create_function("pydplib_text", 1, lambda cell: cell)  # the engine's own
        steps = [row[3] for row in db.execute(f"EXPLAIN QUERY PLAN {query}")]
    assert any(step.startswith("SEARCH") for step in steps), steps


def test_keyed_sample_on_sqlite_has_every_step_materialized() -> None:
    """Inlined, each step would compute the cells of the one before once per mention."""
    from pydplib.engine import Bound, Measure, Plan
    from pydplib.engine.sql.plans import Compiler, SqlSource
    from pydplib.engine.sql.server_dialects import SqliteDialect

    schema = dp.Schema({"city": dp.Text()}, person="id", max_rows_per_person=1, max_groups_per_person=1)
    bound = Bound("id", 1, mode="sample", max_groups=1, salt="s")
    plan = Plan(schema, by={"city": None}, bound=bound, measures=[Measure("count")])
    source = SqlSource("t", {"id": "dynamic", "city": "dynamic"})
    (query,) = Compiler(SqliteDialect(), schema, source).queries(plan)
    for step in ("rows_", "keyed", "folded", "mixed", "hashed"):
        assert f"{step} AS MATERIALIZED (" in query.text
