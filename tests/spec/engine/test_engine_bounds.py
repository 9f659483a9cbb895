"""One person moves the integers of every engine by at most what the plan says; the engine's own output is asked."""

from __future__ import annotations

import datetime as dt
import math

import numpy as np
import pyarrow as pa
import pytest
from hostile_rows import SCHEMA, TYPES, as_table, make_rows
from reference_engine import reference

import pydplib as dp
from pydplib.engine import Bins, Bound, ExactTable, Measure, Plan, Where, sensitivity
from pydplib.errors import QuestionError

SUM = Measure("sum", "age", low=-20, high=100, step=0.25, center=40)
SUMSQ = Measure("sumsq", "age", low=-20, high=100, step=2, center=40, offset=900)
PLANS = {
    "weights, no groups": Plan(SCHEMA, measures=[Measure("count"), Measure("count", "age"), SUM, SUMSQ]),
    "weights, groups and cells": Plan(
        SCHEMA,
        by={"pirads": (3, 1, "other", None), "bph": (True, False)},
        where=[Where("day").at_least("2017-02-01"), Where("age").is_present()],
        measures=[Measure("count"), SUM, Measure("cells", "age", edges=[-20, 0, 33.3, 50, 100])],
    ),
    "weights, one row, bins": Plan(
        SCHEMA,
        by={"age": Bins([-20, 10, 50, 100])},
        where=[Where("pirads").ne(2), Where("lesions").at_most(2)],
        bound=Bound("id", 1),
        measures=[Measure("count"), Measure("sum", "lesions", low=0, high=3, step=1)],
    ),
    "sample, groups": Plan(
        SCHEMA,
        by=["pirads"],
        bound=Bound("id", 2, mode="sample", max_groups=2, row_key="report", salt="salt"),
        measures=[Measure("count"), SUM],
    ),
    "sample, no row key": Plan(
        SCHEMA, by=["bph"], bound=Bound("id", 3, mode="sample", salt="pepper"), measures=[Measure("count"), SUM]
    ),
    "sample, unknown and public keys": Plan(
        SCHEMA,
        by={"lesions": None, "bph": (True, None)},
        bound=Bound("id", 2, mode="sample", max_groups=3, row_key="report", salt="salt"),
        measures=[Measure("count"), SUM],
    ),
    "one row, highest": Plan(
        SCHEMA,
        by=["pirads"],
        bound=Bound("id", 1, mode="row", rule="highest", order=("pirads",)),
        measures=[Measure("count"), SUM, Measure("cells", "age", edges=[-20, 0, 50, 100])],
    ),
    "one row, last, where and after": Plan(
        SCHEMA,
        by={"bph": (True, False, None)},
        where=[Where("lesions").at_most(2)],
        after=[Where("pirads").is_in([1, 2, 3]), Where("age").is_present()],
        bound=Bound("id", 1, mode="row", rule="last", order=("day", "lesions")),
        measures=[Measure("count"), SUM, SUMSQ],
    ),
    "one row, first, unknown and public keys": Plan(
        SCHEMA,
        by={"site": None, "bph": (True, False, None)},
        bound=Bound("id", 1, mode="row", rule="first", order=("age",)),
        measures=[Measure("count"), SUM],
    ),
    "persons by rows": Plan(SCHEMA, measures=[Measure("persons", edges=[1, 2, 3, 5, 11])]),
    "persons by rows, where": Plan(
        SCHEMA, where=[Where("age").at_least(40)], measures=[Measure("persons", edges=[1, 3, 7])]
    ),
    "sample, unknown keys": Plan(
        SCHEMA,
        by={"site": None},
        bound=Bound("id", 1, mode="sample", max_groups=2, salt="salt"),
        measures=[Measure("count")],
    ),
}
HOSTILE = {
    "id": ["intruder"] * 12,
    "report": [None] * 6 + [1, 1, 2, 3, 4, 5],
    "age": [1e300, -1e300, math.nan, math.inf, None, 100.0, 100.0, 100.0, 100.0, -20.0, -20.0, 40.0],
    "lesions": [3, 2, 1] * 4,
    "pirads": [1, 2, 3, 9, None, 1, 2, 3, 9, 1, 2, 3],
    "bph": [True, False, None] * 4,
    "day": [dt.date(2018, 1, 1)] * 12,
    "site": ["north", "south", "east", "west", None, ""] * 2,
}


def distance(one: ExactTable, other: ExactTable) -> tuple[int, int, int]:
    """Return the L1, squared L2 and largest distance of two answers, key by key."""
    parts = []
    for first, second in zip(one.values, other.values, strict=True):
        found: dict[object, np.ndarray] = {}
        for key, value in zip(one.keys, first, strict=True):
            found[key] = np.atleast_1d(value).astype(object)
        for key, value in zip(other.keys, second, strict=True):
            found[key] = found.get(key, 0) - np.atleast_1d(value).astype(object)
        parts += [int(abs(x)) for difference in found.values() for x in difference]
    return sum(parts), sum(x * x for x in parts), max(parts)


def test_engine_matches_plain_loops_when_table_is_hostile(place) -> None:
    data = as_table(make_rows(1, 240))
    table = place(data, SCHEMA)
    for name, plan in PLANS.items():
        exact = table.aggregate(plan)
        keys, values = reference(data, plan)
        assert exact.keys == keys, name
        assert [v.tolist() for v in exact.values] == values, name


def test_one_person_moves_the_answer_by_at_most_the_sensitivity(place) -> None:
    rows = make_rows(2, 60)
    without = place(as_table(rows), SCHEMA)
    with_him = place(as_table({name: rows[name] + HOSTILE[name] for name in rows}), SCHEMA)
    for name, plan in PLANS.items():
        l1, l2_squared, linf = distance(with_him.aggregate(plan), without.aggregate(plan))
        limit = sensitivity(plan)
        assert 0 < l1 <= limit.l1, name
        assert l2_squared <= limit.l2_squared, name
        assert linf <= limit.linf, name


def test_the_bound_is_reached_when_all_rows_are_extreme(place) -> None:
    """A twin with power: were the bound one unit smaller, this person would break it."""
    rows = {name: [cells[5]] * 4 for name, cells in HOSTILE.items()}
    plan = Plan(SCHEMA, measures=[Measure("count"), SUM])
    exact = place(as_table(rows), SCHEMA).aggregate(plan)
    assert exact[0].tolist() == [sensitivity(plan, 0).l1]
    assert exact[1].tolist() == [sensitivity(plan, 1).l1]


def test_bounded_table_keeps_its_weights_when_narrowed(place) -> None:
    rows = {"id": ["a"] * 4, "age": [10.0, 20.0, 30.0, 40.0], "pirads": [1, 1, 2, 2]}
    data = pa.table({name: pa.array(cells, TYPES[name]) for name, cells in rows.items()})
    schema = dp.Schema({"age": dp.Number(0, 100), "pirads": dp.Category([1, 2])}, person="id", max_rows_per_person=1)
    wide = Plan(schema, by=["pirads"], measures=[Measure("sum", "age", low=0, high=100, step=1)])
    one = 2**16 // 4
    with place(data, schema).engine.bounded(wide) as engine:
        assert engine.aggregate(wide)[0].tolist() == [30 * one, 70 * one, 0]
        narrow = Plan(schema, where=[Where("age").at_least(35)], measures=[Measure("count")])
        assert engine.aggregate(narrow)[0].tolist() == [one]  # not 2**16: his other rows took their share
        cells = Plan(schema, measures=[Measure("cells", "age", edges=[0, 25, 100])])
        assert engine.aggregate(cells)[0].tolist() == [[2 * one, 2 * one]]
        assert "pydplib_bounded" in engine.explain(cells) or engine.name == "Polars"
        with pytest.raises(QuestionError, match="same bound"):
            engine.aggregate(Plan(schema, bound=Bound("id", 2), measures=[Measure("count")]))


def test_narrowing_is_refused_when_it_would_widen(place) -> None:
    data = pa.table({"id": ["a"], "age": [10.0]})
    schema = dp.Schema({"age": dp.Number(0, 100)}, person="id", max_rows_per_person=1)
    plan = Plan(schema, where=[Where("age").at_least(5)], measures=[Measure("count")])
    with (
        place(data, schema).engine.bounded(plan) as engine,
        pytest.raises(QuestionError, match="only be narrowed"),
    ):
        engine.aggregate(Plan(schema, measures=[Measure("count")]))
