"""Hypothesis makes neighbours: all rows of one person added. No engine moves further than the plan says."""

from __future__ import annotations

import math
import sqlite3
import tempfile
from pathlib import Path

import numpy as np
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import pydplib as dp
from pydplib.engine import Bins, Bound, Measure, Plan, Table, Where, sensitivity

SCHEMA = dp.Schema(
    {"x": dp.Number(-2, 5), "g": dp.Category(["a", "b"]), "t": dp.Text()}, person="id", max_rows_per_person=2
)
NUMBERS = st.one_of(
    st.none(), st.floats(-10, 10), st.sampled_from([math.nan, math.inf, -math.inf, 1e300, -1e300, 0.5, -0.5, 5.0])
)
ROWS = st.tuples(NUMBERS, st.sampled_from(["a", "b", "zzz", "", None]), st.sampled_from(["u", "v", "w", None]))
OTHERS = st.lists(st.tuples(st.sampled_from(["p", "q", "", None]), ROWS), max_size=8)
SUM = Measure("sum", "x", low=-2, high=5, step=0.25, center=1)
PLANS = [
    Plan(SCHEMA, by={"g": ("a", "b", "other", None)}, measures=[Measure("count"), Measure("count", "x"), SUM]),
    Plan(SCHEMA, where=[Where("x").at_most(4)], measures=[Measure("sumsq", "x", low=-2, high=5, step=0.5, offset=9)]),
    Plan(SCHEMA, by={"x": Bins([-2, 0, 5])}, bound=Bound("id", 1), measures=[Measure("cells", "x", edges=[-2, 1, 5])]),
    Plan(
        SCHEMA, by=["g"], bound=Bound("id", 1, mode="sample", max_groups=2, salt="s"), measures=[SUM, Measure("count")]
    ),
    Plan(SCHEMA, bound=Bound("id", 3, mode="sample", salt="s"), measures=[SUM]),
    Plan(
        SCHEMA, by={"t": None}, bound=Bound("id", 1, mode="sample", max_groups=2, salt="s"), measures=[Measure("count")]
    ),
    Plan(
        SCHEMA,
        by=["g"],
        bound=Bound("id", 1, mode="row", rule="highest", order=("g", "x")),
        measures=[Measure("count"), SUM],
        after=[Where("x").at_most(4)],
    ),
    Plan(
        SCHEMA,
        by={"t": None},
        where=[Where("x").is_present()],
        bound=Bound("id", 1, mode="row", rule="first", order=("x",)),
        measures=[SUM, Measure("count")],
    ),
]


def place(engine: str, rows: list[tuple[object, ...]], folder: str) -> Table:
    columns = {
        "id": pa.array([row[0] for row in rows], pa.string()),
        "x": pa.array([row[1][0] for row in rows], pa.float64()),
        "g": pa.array([row[1][1] for row in rows], pa.string()),
        "t": pa.array([row[1][2] for row in rows], pa.string()),
    }
    data = pa.table(columns)
    if engine == "polars":
        return dp.load(pl.from_arrow(data), SCHEMA)
    if engine == "duckdb":
        return dp.load(data, SCHEMA)
    path = Path(folder) / f"{len(list(Path(folder).iterdir()))}.db"
    lite = sqlite3.connect(path)
    lite.execute("CREATE TABLE t (id TEXT, x REAL, g TEXT, t TEXT)")
    lite.executemany("INSERT INTO t VALUES (?, ?, ?, ?)", [tuple(row.values()) for row in data.to_pylist()])
    lite.commit()
    lite.close()
    return dp.load(path, SCHEMA, table="t")


def movement(one: Table, other: Table, plan: Plan) -> list[int]:
    before, after = one.aggregate(plan), other.aggregate(plan)
    found: dict[object, int] = {}
    for sign, exact in ((1, after), (-1, before)):
        for position, values in enumerate(exact.values):
            for key, value in zip(exact.keys, values, strict=True):
                for cell, number in enumerate(np.atleast_1d(value)):
                    found[position, key, cell] = found.get((position, key, cell), 0) + sign * int(number)
    return [abs(number) for number in found.values()]


@pytest.mark.parametrize("engine", ["duckdb", "polars", "sqlite"])
def test_neighbours_differ_by_at_most_the_sensitivity(engine: str) -> None:
    with tempfile.TemporaryDirectory() as folder:

        @settings(max_examples=12)
        @given(others=OTHERS, his=st.lists(ROWS, min_size=1, max_size=6))
        def check(others: list[tuple[object, ...]], his: list[tuple[object, ...]]) -> None:
            with (
                place(engine, others, folder) as without,
                place(engine, [*others, *(("him", row) for row in his)], folder) as with_him,
            ):
                for plan in PLANS:
                    moved, limit = movement(without, with_him, plan), sensitivity(plan)
                    assert sum(moved) <= limit.l1
                    assert sum(m * m for m in moved) <= limit.l2_squared
                    assert max(moved, default=0) <= limit.linf

        check()


def test_a_missing_bound_would_be_caught() -> None:
    """The twin: measured against a bound of one row, a plan that lets five through must fail."""
    rows: list[tuple[object, ...]] = [("him", (5.0, "a", "u"))] * 5
    loose = Plan(SCHEMA, bound=Bound("id", 5), measures=[Measure("count")])
    tight = Plan(SCHEMA, bound=Bound("id", 1), measures=[Measure("count")])
    moved = movement(place("duckdb", [], ""), place("duckdb", rows, ""), loose)
    assert sum(moved) > sensitivity(tight).l1
