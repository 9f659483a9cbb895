"""Sources that give other rows on a second reading: a person's rows are weighed as they were counted."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import polars as pl
import pytest

import pydplib as dp
from pydplib.engine import Bound, Measure, Plan, Table, Where

W = 2**16
PEOPLE, ROWS = 40, 50  # a few rows of each person in a sample of 2 %, and others in the next one
SCHEMA = dp.Schema(
    {"who": dp.Integer(0, PEOPLE - 1), "x": dp.Number(0, 1), "t": dp.Text()}, person="id", max_rows_per_person=1
)
# One key per person: the engine's own output says how much of each one counts.
COUNT = Plan(SCHEMA, by=["who"], measures=[Measure("count")])
PLANS = {
    "count": COUNT,
    "sum": Plan(SCHEMA, by=["who"], measures=[Measure("sum", "x", low=0, high=1, step=1)]),
    "cells and count": Plan(SCHEMA, by=["who"], measures=[Measure("cells", "x", edges=[0, 0.5, 1]), Measure("count")]),
    "where": Plan(SCHEMA, by=["who"], where=[Where("x").at_least(0)], measures=[Measure("count")]),
}
SAMPLES = {
    "using sample, per cent": "FROM base USING SAMPLE 2% (bernoulli)",
    "using sample, rows": "FROM base USING SAMPLE 60 ROWS",
    "tablesample": "SELECT * FROM base TABLESAMPLE reservoir(60)",
    "where random": "FROM base WHERE random() < 0.02",
    "order by random": "FROM base ORDER BY random() LIMIT 60",
    "random column": "SELECT id, who, random() * 9 - 4 AS x, t FROM base WHERE random() < 0.1",
}


def base(connection: duckdb.DuckDBPyConnection) -> None:
    connection.execute(
        f"CREATE TABLE base AS SELECT 'p' || (i // {ROWS}) AS id, CAST(i // {ROWS} AS INTEGER) AS who, "
        f"CAST(1 AS DOUBLE) AS x, 'k' || (i % 7) AS t FROM range({PEOPLE * ROWS}) r(i)"
    )


def most_of_one_person(table: Table, plan: Plan, times: int = 8) -> float:
    """Return the largest part of one person in any answer, in rows."""
    most = 0.0
    for _ in range(times):
        for values in table.aggregate(plan).values:
            most = max(most, float(np.abs(values.reshape(len(values), -1)).sum(axis=1).max()) / plan.scale)
    return most


def as_view(connection: duckdb.DuckDBPyConnection, text: str) -> Table:
    connection.execute(f"CREATE VIEW sampled AS {text}")
    return dp.load(connection, SCHEMA, table="sampled")


PLACES: dict[str, Callable[[duckdb.DuckDBPyConnection, str], Table]] = {
    "relation": lambda connection, text: dp.load(connection.sql(text), SCHEMA),
    "view": as_view,
}


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("sample", SAMPLES)
def test_largest_part_of_one_person_in_a_duckdb_sample_is_the_bound(place: str, sample: str) -> None:
    connection = duckdb.connect()
    base(connection)
    table = PLACES[place](connection, SAMPLES[sample])
    for name, plan in PLANS.items():
        assert most_of_one_person(table, plan) <= 1, name


def test_generated_column_that_draws_is_read_once() -> None:
    """DuckDB computes it with every reading: under where= each reading would find other rows."""
    connection = duckdb.connect()
    base(connection)
    connection.execute(
        "CREATE TABLE drawn (id VARCHAR, who INTEGER, t VARCHAR, x DOUBLE GENERATED ALWAYS AS (random()))"
    )
    connection.execute("INSERT INTO drawn SELECT id, who, t FROM base")
    table = dp.load(connection, SCHEMA, table="drawn")
    plan = Plan(SCHEMA, by=["who"], where=[Where("x").at_most(0.05)], measures=[Measure("count")])
    assert "pydplib_read AS MATERIALIZED" in table.engine.explain(plan)
    assert most_of_one_person(table, plan) <= 1


def test_sample_read_twice_would_be_noticed() -> None:
    """The planted fault: the same sample, taken for a table that stays as it is."""
    connection = duckdb.connect()
    base(connection)
    table = as_view(connection, SAMPLES["where random"])
    source = table.engine._compiler.source  # type: ignore[attr-defined]
    table.engine._compiler.source = type(source)(source.text, source.storages)  # type: ignore[attr-defined]
    assert most_of_one_person(table, COUNT) > 1.5


def test_sampled_unknown_keys_stay_within_rows_and_groups() -> None:
    connection = duckdb.connect()
    base(connection)
    bound = Bound("id", 1, mode="sample", max_groups=2, salt="s")
    plan = Plan(SCHEMA, by={"who": tuple(range(PEOPLE)), "t": None}, bound=bound, measures=[Measure("count")])
    table = as_view(connection, SAMPLES["where random"])
    for _ in range(5):
        exact = table.aggregate(plan)
        people = [key[0] for key in exact.keys]
        assert max(exact.values[0]) <= 1
        assert max(people.count(who) for who in people) <= 2


def test_base_tables_and_files_are_read_in_place_and_everything_else_once(tmp_path: Path) -> None:
    connection = duckdb.connect()
    base(connection)
    connection.execute(
        f"COPY base TO '{tmp_path / 'base.parquet'}'; CREATE SCHEMA ward; CREATE VIEW ward.v AS FROM main.base"
    )
    connection.execute("CREATE TABLE ward.t AS FROM base")
    frame = connection.sql("FROM base").pl()
    pinned: list[Any] = [
        dp.load(connection, SCHEMA, table="base"), dp.load(connection, SCHEMA, table="Ward.T"),
        dp.load(tmp_path / "base.parquet", SCHEMA), dp.load(connection.sql("FROM base").to_arrow_table(), SCHEMA),
    ]  # fmt: skip
    others = [dp.load(connection, SCHEMA, table="ward.v"), dp.load(connection.sql("FROM base"), SCHEMA)]
    connection.execute("CREATE VIEW ward.base AS FROM main.base")  # which of the two is meant?
    others.append(dp.load(connection, SCHEMA, table="base"))
    for tables, is_read_once in ((pinned, False), (others, True)):
        for table in tables:
            assert ("pydplib_read AS MATERIALIZED" in table.engine.explain(COUNT)) == is_read_once
            assert table.aggregate(COUNT).values[0].tolist() == [ROWS * (W // ROWS)] * PEOPLE
    assert dp.load(frame, SCHEMA).engine._is_pinned  # type: ignore[attr-defined]
    assert dp.load(pl.scan_parquet(tmp_path / "base.parquet"), SCHEMA).engine._is_pinned  # type: ignore[attr-defined]


def test_lazy_polars_frame_that_draws_is_read_once(tmp_path: Path) -> None:
    connection = duckdb.connect()
    base(connection)
    whole = connection.sql("FROM base").pl()
    draw = np.random.default_rng(5)
    frame = whole.lazy().map_batches(
        lambda rows: rows.filter(pl.Series(draw.random(rows.height) < 0.1)), schema=whole.schema
    )
    table = dp.load(frame, SCHEMA)
    assert most_of_one_person(table, COUNT) <= 1
    assert most_of_one_person(table, PLANS["cells and count"]) <= 1
    assert not table.engine._is_pinned  # type: ignore[attr-defined]


def test_persons_by_rows_of_a_sample_are_read_once_and_count_once(tmp_path: Path) -> None:
    connection = duckdb.connect()
    base(connection)
    table = as_view(connection, SAMPLES["where random"])
    plan = Plan(SCHEMA, measures=[Measure("persons", edges=[1, 2, 4, 8])])
    compiler = table.engine._compiler  # type: ignore[attr-defined]
    for text in (table.engine.explain(plan), compiler.rows_per_person(plan)):
        assert text.count("pydplib_read AS MATERIALIZED") == 1
        assert text.count("sampled") == 1
    for _ in range(5):
        (values,) = table.aggregate(plan).values
        assert 0 < values.sum() <= PEOPLE  # each person is in one class, whatever was drawn
