"""Record and replay on every engine: one person's rows, whatever they hold, never cost more than epsilon."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from neighbours import CHOSEN, QUESTIONS, UNKNOWN, Pairs, gather, losses, unbounded

import pydplib as dp
from pydplib.engine import ExactTable, Measure
from pydplib.release.facts import Facts, Purchase
from pydplib.release.joint.measured import Workload

ENGINES = [
    "duckdb", "polars", "sqlite", pytest.param("postgres", marks=pytest.mark.postgres),
    pytest.param("spark", marks=pytest.mark.spark),
    pytest.param("mariadb", marks=[pytest.mark.mariadb, pytest.mark.slow]),
]  # fmt: skip
on_every_engine = pytest.mark.parametrize("engine_name", ENGINES, indirect=True, scope="session")

# A cluster takes half a second per question: by weights, of persons, of cells, of unknown keys, of one row per person.
FEW = [QUESTIONS[7], QUESTIONS[3], QUESTIONS[14], UNKNOWN[3], QUESTIONS[21]]


def prepared_of(question: Any, schema: dp.Schema) -> Purchase:
    resolved = Facts.of(question, schema)
    return resolved.at(1.0, 1e-6 if resolved.has_unknown_keys else None)


def check_all(place: Any, count: int) -> None:
    pairs = Pairs(gather(count))
    tables = place(pairs.smaller, pairs.schema), place(pairs.larger, pairs.schema)
    for question in [*QUESTIONS, *UNKNOWN]:
        prepared = prepared_of(question, pairs.schema)
        found = pairs.ask(prepared.plan, *tables)
        worst = max(losses(prepared, found))
        assert worst <= 1.0 + 1e-9, question
        assert worst > 0.15, question  # the check has something to find
        if prepared.keys is not None:
            check_new_keys(prepared, found)


def check_new_keys(prepared: Purchase, pairs: list[tuple[ExactTable, ExactTable]]) -> None:
    """One person makes few keys appear, each with few rows: what delta was computed for."""
    assert prepared.keys is not None
    place = prepared.plan.measures.index(Measure("count"))
    most = 0
    for few, many in pairs:
        new = [int(n) for key, n in zip(many.keys, many.values[place], strict=True) if key not in few.keys]
        assert len(new) <= prepared.keys.groups and max(new, default=0) <= prepared.keys.rows
        assert set(few.keys) <= set(many.keys)
        most = max(most, len(new))
    assert most == prepared.keys.groups


# Spark's takes long: it is replayed on many more neighbours below.
@pytest.mark.parametrize("engine_name", ENGINES[:-1], indirect=True, scope="session")
def test_replay_of_every_question_on_made_neighbours_stays_within_epsilon(place):
    check_all(place, 40)


@pytest.mark.slow
@on_every_engine
def test_replay_of_every_question_on_many_more_neighbours_stays_within_epsilon(place):
    check_all(place, 250)


@on_every_engine
def test_neighbours_asked_together_give_the_integers_of_neighbours_asked_alone(place, engine_name):
    pairs = Pairs(CHOSEN)
    together, which = place(pairs.larger, pairs.schema), 4
    compared = 0
    alone = place(pairs.larger.filter(np.array(pairs.larger["example"]) == which), pairs.schema)
    for question in FEW if engine_name == "spark" else [*QUESTIONS, *UNKNOWN]:
        plan = prepared_of(question, pairs.schema).plan
        one, other = alone.aggregate(plan), pairs.split(together.aggregate(pairs.plan(plan)), plan)[which]
        if plan.bound.mode != "sample":  # a sample may choose other rows where there is one more key
            assert one.keys == other.keys
            assert [v.tolist() for v in one.values] == [v.tolist() for v in other.values], question
            compared += sum(int(np.count_nonzero(v)) for v in one.values)
    assert compared


@on_every_engine
def test_replay_finds_a_plan_without_bounds(place, engine_name):
    """The planted fault: the engine lets a person do a thousand times what the noise was made for."""
    pairs = Pairs(gather(5))
    tables = place(pairs.smaller, pairs.schema), place(pairs.larger, pairs.schema)
    for question in FEW if engine_name == "spark" else [*QUESTIONS, *UNKNOWN]:
        prepared = prepared_of(question, pairs.schema)
        assert np.isinf(max(losses(prepared, pairs.ask(unbounded(prepared.plan), *tables)))), question


@on_every_engine
def test_tables_measured_together_count_every_row_once_and_one_person_costs_epsilon(place, engine_name):
    pairs = Pairs(CHOSEN if engine_name == "spark" else gather(12))
    asked = [
        dp.Crosstab("age", "pirads", bins={"age": [18, 40, 60, 100]}),
        dp.Histogram("age", edges=[18, 60, 100], by="bph"),
        dp.Count(by="pirads", where=[dp.Where("psa").is_present()]),
    ]
    everywhere = asked if engine_name == "spark" else [*asked, dp.Count(of="persons", by="bph"), dp.Count()]
    measurement = Workload.of(everywhere, pairs.schema).at(1.0)
    smaller, larger = (measurement.count(place(data, pairs.schema)) for data in (pairs.smaller, pairs.larger))
    with dp.load(pairs.larger, pairs.schema) as table:
        assert [cells.tolist() for cells in larger] == [cells.tolist() for cells in measurement.count(table)]
    for cells in (smaller, larger):
        assert min(int(count) for table in cells for count in table) >= 0
        assert np.abs(measurement.workload.relations @ np.concatenate(cells).astype(float)).max() < 1e-6
    # One person of each example joins: together they move the tables by at most as many claims.
    for block, few, many in zip(measurement.workload.blocks, smaller, larger, strict=True):
        assert 0 < sum(np.abs(few.astype(object) - many.astype(object))) <= pairs.count * block.reach
