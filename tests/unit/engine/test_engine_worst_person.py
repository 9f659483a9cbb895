"""The worst that one person can do, on the embedded engines: beyond bounds, in many rows and groups, as nobody."""

from __future__ import annotations

import math
import sqlite3
from pathlib import Path

import polars as pl
import pyarrow as pa
import pytest

import pydplib as dp
from pydplib.engine import Bound, Measure, Plan, Table, sensitivity

SCHEMA = dp.Schema(
    {"x": dp.Number(-2, 5), "g": dp.Category(["a", "b"]), "t": dp.Text()}, person="id", max_rows_per_person=2, name="t"
)
SUM = Measure("sum", "x", low=-2, high=5, step=0.25)
UNIT = 2**16


@pytest.fixture(params=["duckdb", "polars", "sqlite"])
def place(request: pytest.FixtureRequest, tmp_path: Path):
    def put(rows: list[tuple[object, ...]]) -> Table:
        kinds = {"id": pa.string(), "x": pa.float64(), "g": pa.string(), "t": pa.string()}
        columns = {name: pa.array([row[i] for row in rows], kinds[name]) for i, name in enumerate(kinds)}
        if request.param == "duckdb":
            return dp.load(pa.table(columns), SCHEMA)
        if request.param == "polars":
            return dp.load(pl.from_arrow(pa.table(columns)), SCHEMA)
        path = tmp_path / f"{len(list(tmp_path.iterdir()))}.db"
        with sqlite3.connect(path) as db:
            db.execute("CREATE TABLE t (id TEXT, x REAL, g TEXT, t TEXT)")
            db.executemany("INSERT INTO t VALUES (?, ?, ?, ?)", rows)
        db.close()
        return dp.load(path, SCHEMA, table="t")

    return put


def only(table: Table, plan: Plan) -> list[int]:
    return [int(number) for values in table.aggregate(plan).values for number in values.ravel()]


@pytest.mark.parametrize(
    ("value", "steps"), [(1e300, 20), (math.inf, 20), (5.01, 20), (-1e300, -8), (-math.inf, -8), (-2.2, -8), (0.9, 4)]
)
def test_value_beyond_the_bounds_counts_as_the_bound(place, value, steps):
    plan = Plan(SCHEMA, measures=[SUM, Measure("count", "x")])
    with place([("p", value, "a", "u")]) as table:
        assert only(table, plan) == [steps * UNIT, UNIT]


@pytest.mark.parametrize("rows", [1, 2, 3, 5, 7, 100])
def test_weights_of_one_person_add_up_to_the_bound_and_never_beyond(place, rows):
    with place([("p", 5.0, "ab"[i % 2], f"t{i}") for i in range(rows)]) as table:
        total, in_groups = (
            only(table, Plan(SCHEMA, measures=[Measure("count")])),
            only(table, Plan(SCHEMA, by={"g": ("a", "b")}, measures=[Measure("count")])),
        )
    assert total == [rows * min(UNIT, 2 * UNIT // rows)] and sum(in_groups) == total[0] <= 2 * UNIT


def test_sample_of_one_person_keeps_to_its_rows_and_groups(place):
    bound = Bound("id", 1, mode="sample", max_groups=2, salt="s")
    plan = Plan(SCHEMA, by={"t": None}, bound=bound, measures=[Measure("count")])
    with place([("p", 5.0, "a", f"t{i % 5}") for i in range(20)]) as table:
        assert sorted(only(table, plan)) == [1, 1]
    assert (sensitivity(plan).l1, sensitivity(plan).l2_squared, sensitivity(plan).linf) == (2, 2, 1)


def test_sensitivity_of_weights_is_that_of_all_rows_of_a_person():
    plan = Plan(SCHEMA, by={"g": ("a", "b")}, measures=[SUM, Measure("count")])
    assert sensitivity(plan, 0).l1 == 2 * UNIT * 20 and sensitivity(plan, 1).l1 == 2 * UNIT
    assert sensitivity(plan).l1 == 2 * UNIT * 21


@pytest.mark.parametrize("nobody", [None, ""])
def test_rows_of_nobody_count_for_nobody(place, nobody):
    with place([(nobody, 5.0, "a", "u"), ("p", 1.0, "a", "u"), (nobody, 5.0, "b", "v")]) as table:
        assert only(table, Plan(SCHEMA, measures=[Measure("count")])) == [UNIT]
        sample = Bound("id", 1, mode="sample", max_groups=1, salt="s")
        assert only(table, Plan(SCHEMA, by={"t": None}, bound=sample, measures=[Measure("count")])) == [1]
