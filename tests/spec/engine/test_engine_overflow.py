"""Sums that could pass 64 bits are not planned; a table that is larger than declared never wraps, on any engine."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

import pydplib as dp
from pydplib.engine import Measure, Plan
from pydplib.engine.plan import WHOLE_LIMIT
from pydplib.errors import QuestionError

# The owner says two persons; there are far more.
SCHEMA = dp.Schema(
    {"x": dp.Number(-1e6, 1e6), "g": dp.Category(["few", "up", "down"])},
    person="id",
    max_rows_per_person=10_000,
    name="t",
    size=2,
)
FINE = Measure("sum", "x", low=-1e6, high=1e6, step=1e6 / (2**30 - 1))
MANY = 137_439  # rows of FINE.largest: 2^62 is passed at 65 537 of them, 2^63 at this number


def too_large() -> pa.Table:
    cells = np.repeat([1e6, 1e6, -1e6], [1000, MANY, MANY])
    groups = np.repeat(["few", "up", "down"], [1000, MANY, MANY])
    return pa.table({"id": np.arange(len(cells)) // 10_000, "x": cells, "g": pa.array(groups, pa.string())})


def test_sums_of_a_table_far_larger_than_declared_are_clamped_and_never_wrap(place, engine_name):
    table = place(too_large(), SCHEMA)
    exact = table.aggregate(Plan(SCHEMA, by={"g": ("few", "up", "down")}, measures=[FINE, Measure("count")]))
    few, up, down = exact.values[0].tolist()
    assert few == 1000 * FINE.largest * 2**16
    assert (up, down) == (WHOLE_LIMIT - 1, 1 - WHOLE_LIMIT)
    assert exact.values[1].tolist() == [1000 * 2**16, MANY * 2**16, MANY * 2**16]
    if engine_name == "spark":
        return  # the same integers go the same way from here on, and a cluster is slow
    session = dp.Session(table, recipient="me", budget=dp.PureDP(1.0))
    answer = session.release(dp.Sum("x", by={"g": ["few", "up"]}), epsilon=0.4)
    assert np.all(np.isfinite(answer.values)) and answer.values[1] > 0  # not the negative number of a wrapped sum
    if engine_name in ("duckdb", "polars"):  # one by SQL, one by Polars
        assert np.isfinite(session.release(dp.Mean("x"), epsilon=0.4).value)


def test_sum_that_could_overflow_is_refused_before_the_engine_is_asked(place):
    schema = dp.Schema({"x": dp.Number(-1e6, 1e6)}, person="id", name="t")
    with place(pa.table({"id": [1], "x": [1.0]}), schema):
        step = 1e6 / 2**15  # 2^31 rows of weight 2^16 and 2^15 steps: 2^62
        with pytest.raises(QuestionError, match="could overflow"):
            Plan(schema, measures=[Measure("sum", "x", low=-1e6, high=1e6, step=step)])
        Plan(schema, measures=[Measure("sum", "x", low=-1e6, high=1e6, step=1.01 * step)])
