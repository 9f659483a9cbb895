"""Sums that could pass 64 bits are not planned; a table that outgrew its declared size is added up exactly."""

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


def test_sums_of_a_table_far_larger_than_declared_are_exact_and_never_wrap(place, engine_name):
    table = place(too_large(), SCHEMA)
    exact = table.aggregate(Plan(SCHEMA, by={"g": ("few", "up", "down")}, measures=[FINE, Measure("count")]))
    few, up, down = exact.values[0].tolist()
    assert few == 1000 * FINE.largest * 2**16
    assert (up, down) == (MANY * FINE.largest * 2**16, -MANY * FINE.largest * 2**16) and up > 2 * WHOLE_LIMIT
    assert exact.values[1].tolist() == [1000 * 2**16, MANY * 2**16, MANY * 2**16]
    if engine_name == "spark":
        return  # the same integers go the same way from here on, and a cluster is slow
    policy = dp.Policy(rules=(), data_set_budget=9000.0)
    session = dp.Session(table, recipient="me", budget=dp.PureDP(9000.0), policy=policy)
    answer = session.release(dp.Sum("x", by={"g": ["few", "up"]}), epsilon=100.0)
    assert abs(answer.values[1] - MANY * 1e6) < 20 * answer.margins95[0]  # noise leaves it once in 1e26 runs
    if engine_name in ("duckdb", "polars"):  # one by SQL, one by Polars
        means = session.release(dp.Mean("x", by={"g": ["up", "down"]}), epsilon=100.0)
        assert means.values == pytest.approx([1e6, -1e6], rel=0.05)  # 60 scales of the noise
        assert any("outgrew its declared size" in note for note in means.notes)


def test_sum_that_could_overflow_is_refused_before_the_engine_is_asked(place):
    schema = dp.Schema({"x": dp.Number(-1e6, 1e6)}, person="id", max_rows_per_person=1, name="t")
    with place(pa.table({"id": [1], "x": [1.0]}), schema):
        step = 1e6 / 2**15  # 2^31 rows of weight 2^16 and 2^15 steps: 2^62
        with pytest.raises(QuestionError, match="could overflow"):
            Plan(schema, measures=[Measure("sum", "x", low=-1e6, high=1e6, step=step)])
        Plan(schema, measures=[Measure("sum", "x", low=-1e6, high=1e6, step=1.01 * step)])
