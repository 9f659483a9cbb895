"""Two tables of the same persons as one, on every engine: the same integers, and no person beyond the bound."""

from __future__ import annotations

import datetime as dt
import math
import sqlite3
from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hostile_rows import SCHEMA, as_table, make_rows
from reference_engine import reference

import pydplib as dp
from pydplib.engine import Bound, ExactTable, Measure, Plan, Where, sensitivity
from pydplib.engine.joins import Joined
from pydplib.errors import DataError, SchemaError
from pydplib.noise.testing import check_neighbours, record, replay
from pydplib.release.facts import Facts

ONE = dp.Schema(dict(SCHEMA.columns), person="id", max_rows_per_person=2, name="reports", lineage="study", size=1000)
TWO = dp.Schema(
    {
        "day": dp.Date("2017-01-01", "2018-12-31"),
        "psa": dp.Number(0, 50),
        "arm": dp.Category(["a", "b"]),
        "psa_change": dp.Number(-20, 20, derived="change(psa by psa, arm)"),
    },
    person="patient",
    max_rows_per_person=3,
    name="visits",
    lineage="study",
)
MORE = {
    "ratio": dp.Number(0, 10, derived="psa / (age + 30)"),
    "delay": dp.Integer(-400, 400, derived="days_between(day, visits_day)"),
    "change": dp.Number(-30, 30, derived="change(psa by visits_day)"),
    "score": dp.Category([1, 2, 3], derived="first(pirads by day)"),
}
TYPES = {"patient": pa.string(), "day": pa.date32(), "psa": pa.float64(), "arm": pa.string()}


def visits(seed: int, size: int) -> dict[str, list[Any]]:
    random = np.random.default_rng(seed)

    def choose(values: list[Any]) -> list[Any]:
        return [values[i] for i in random.integers(0, len(values), size)]

    days = [None, dt.date(1900, 1, 1), dt.date(2017, 3, 1), dt.date(2018, 3, 1), dt.date(2500, 1, 1)]
    return {
        "patient": choose([None, "", "é", *[f"p{i}" for i in range(30)]]),
        "day": choose(days),
        "psa": choose([None, math.nan, math.inf, -1e300, 5e-324, 4.0, 6.5, 12.25, 49.0]),
        "arm": choose([None, "a", "b", "zzz", ""]),
    }


def as_visits(rows: dict[str, list[Any]]) -> pa.Table:
    return pa.table({name: pa.array(cells, TYPES[name]) for name, cells in rows.items()})


def joined_rows(one: pa.Table, two: pa.Table, keep: str) -> pa.Table:
    """Join in plain loops."""
    found = []
    empty = {"visits_day": None, "psa": None, "arm": None}
    for first in one.to_pylist():
        met = [row for row in two.to_pylist() if first["id"] and row["patient"] == first["id"]]
        others = [{"visits_day": row["day"], "psa": row["psa"], "arm": row["arm"]} for row in met]
        found += [{**first, **other} for other in others or ([empty] if keep == "all" else [])]
    kinds = {**{f.name: f.type for f in one.schema}, "visits_day": pa.date32(), "psa": pa.float64(), "arm": pa.string()}
    return pa.Table.from_pylist(found, schema=pa.schema(kinds))


@pytest.fixture
def place_two(place, engine_name, tmp_path) -> Callable[[pa.Table, pa.Table], tuple[dp.engine.Table, dp.engine.Table]]:
    """Put two tables where an engine can join them: for SQLite, into one file."""

    def put(one: pa.Table, two: pa.Table) -> tuple[dp.engine.Table, dp.engine.Table]:
        if engine_name != "sqlite":
            return place(one, ONE), place(two, TWO)
        path = tmp_path / f"{len(list(tmp_path.iterdir()))}.db"
        db = sqlite3.connect(path)
        for name, data in (("reports", one), ("visits", two)):
            kinds = {"int64": "INTEGER", "double": "REAL", "bool": "INTEGER"}
            listed = ", ".join(f'"{f.name}" {kinds.get(str(f.type), "TEXT")}' for f in data.schema)
            db.execute(f"CREATE TABLE {name} ({listed})")
            cells = [tuple(str(c) if hasattr(c, "isoformat") else c for c in row.values()) for row in data.to_pylist()]
            db.executemany(f"INSERT INTO {name} VALUES ({', '.join('?' * data.num_columns)})", cells)
        db.commit()
        db.close()
        return dp.load(path, ONE, table="reports"), dp.load(path, TWO, table="visits")

    return put


def row(rule: str, *order: str) -> Bound:
    return Bound("id", 1, mode="row", rule=rule, order=order)


def plans(schema: dp.Schema) -> dict[str, Plan]:
    psa = [Measure("count"), Measure("sum", "psa", low=0, high=50, step=0.25)]
    change = [Measure("count", "change"), Measure("sum", "change", low=-30, high=30, step=0.25)]
    asked: dict[str, dict[str, Any]] = {
        "weights": {"measures": psa, "by": {"pirads": (1, 2, 3, "other", None)}},
        "weights of both": {"measures": psa, "by": ["arm", "bph"], "where": [Where("age").at_least(20)]},
        "a computed column of both": {"measures": [Measure("sum", "ratio", low=0, high=10, step=0.001)]},
        "one row": {"measures": psa, "by": ["pirads"], "bound": row("last", "visits_day", "day")},
        "change by score": {"measures": change, "by": {"score": (1, 2, 3, "other", None)}, "bound": row("any")},
        "days between": {"measures": [Measure("cells", "delay", edges=[-400, -100, 0, 100, 400])], "bound": row("any")},
        "step of the other table": {
            "measures": [Measure("sum", "psa_change", low=-20, high=20, step=0.25)], "by": ["arm"],
            "bound": row("first", "day"), "after": [Where("delay").at_least(0) | Where("psa").is_missing()]},
    }  # fmt: skip
    return {name: Plan(schema, **options) for name, options in asked.items()}


def integers(exact: ExactTable) -> list[Any]:
    return [values.tolist() for values in exact.values]


@pytest.mark.parametrize("keep", ["both", "all"])
def test_joined_tables_have_the_same_integers_on_every_engine(place_two, engine_name, keep) -> None:
    one, two = as_table(make_rows(21, 120)), as_visits(visits(22, 90))
    first, second = place_two(one, two)
    table = first.join(second, keep=keep, columns=MORE)
    data = joined_rows(one, two, keep)
    for name, plan in plans(table.schema).items():
        exact = table.aggregate(plan)
        keys, values = reference(data, plan)
        assert exact.keys == keys, name
        assert integers(exact) == values, name
        assert any(np.any(value) for value in exact.values), name
    first.close(), second.close()


HIM = {
    "id": ["intruder"] * 10, "report": [1] * 10, "age": [1e300, -1e300, math.nan, math.inf, None, *[100.0] * 5],
    "lesions": [3] * 10, "pirads": [1, 2, 3, 9, None] * 2, "bph": [True, False] * 5,
    "day": [dt.date(2018, 1, 1)] * 10, "site": ["north"] * 10,
}  # fmt: skip
HIS = {
    "patient": ["intruder"] * 10, "day": [dt.date(2018, 1, 1 + i) for i in range(10)],
    "psa": [1e300, 50.0, math.nan, math.inf, None, 0.0, 5e-324, 50.0, 50.0, 50.0],
    "arm": ["a", "b", "zzz", "", None] * 2,
}  # fmt: skip


def neighbours(place_two, his: int) -> tuple[dp.engine.Table, dp.engine.Table]:
    """Return the joined table without a person, and with one who has 10 rows in one table and some in the other."""
    rows, seen = make_rows(23, 60), visits(24, 50)
    without = place_two(as_table(rows), as_visits(seen))
    more = as_table({name: [*rows[name], *HIM[name]] for name in rows})
    second = as_visits({name: [*seen[name], *HIS[name][:his]] for name in seen})
    added = place_two(more, second)
    return tuple(a.join(b, columns=MORE) for a, b in (without, added))  # type: ignore[return-value]


@pytest.mark.parametrize("his", [1, 10])
def test_a_person_with_rows_in_both_tables_stays_within_the_bound(place_two, engine_name, his) -> None:
    """The bound is asserted on the engine's own output: a join multiplies rows, and no person's share."""
    smaller, larger = neighbours(place_two, his)
    for name, plan in plans(smaller.schema).items():
        before, after = smaller.aggregate(plan), larger.aggregate(plan)
        moved = np.concatenate(
            [
                np.abs(a.astype(object) - b.astype(object)).ravel()
                for a, b in zip(after.values, before.values, strict=True)
            ]
        )
        limit = sensitivity(plan)
        assert sum(moved) <= limit.l1, name
        assert sum(moved) or his == 1, name  # one value is no change
        assert sum(moved**2) <= limit.l2_squared, name


QUESTIONS = [
    dp.Count(by="arm"),
    dp.Mean("psa", by="bph", where=[dp.Where("age").at_least(20) | dp.Where("arm").eq("a")]),
    dp.Mean("change"),
    dp.Count(by="score", where=[dp.Where("delay").at_least(-400)]),
    dp.Median("ratio", per_person=dp.Person().last_row(order="visits_day")),
    dp.Sum("psa_change", by="score", after=[dp.Where("change").is_present()]),
]


def test_replay_over_neighbours_of_joined_tables_stays_within_epsilon(place_two, engine_name) -> None:
    smaller, larger = neighbours(place_two, 10)
    for question in QUESTIONS[::2] if engine_name == "spark" else QUESTIONS:
        bought = Facts.of(question, smaller.schema).at(1.0)
        with record() as first:
            bought.answer(smaller.aggregate(bought.plan))
        with replay(first) as second:
            bought.answer(larger.aggregate(bought.plan))
        check_neighbours(first, second)


def test_replay_finds_a_join_whose_rows_are_not_bounded(place_two, engine_name) -> None:
    """The planted fault: a hundred joined rows of one person, each in full."""
    smaller, larger = neighbours(place_two, 10)
    bought = Facts.of(dp.Count(by="arm"), smaller.schema).at(1.0)
    plan = Plan(smaller.schema, by=bought.plan.by, measures=bought.plan.measures, bound=Bound("id", 1000))
    with record() as first:
        bought.answer(smaller.aggregate(plan))
    with replay(first) as second:
        bought.answer(larger.aggregate(plan))
    with pytest.raises(AssertionError, match="sensitivity"):
        check_neighbours(first, second)


def test_tables_of_two_budgets_places_or_kinds_of_person_are_not_joined() -> None:
    other = dp.Schema(dict(TWO.columns), person="patient", max_rows_per_person=3, name="visits")
    with pytest.raises(SchemaError, match="two budgets"):
        Joined.of(ONE, other)
    with pytest.raises(SchemaError, match="person column"):
        Joined.of(ONE, dp.Schema({"psa": dp.Number(0, 1)}, lineage="study"))
    with pytest.raises(SchemaError, match="computed columns"):
        Joined.of(ONE, TWO, columns={"new": dp.Number(0, 1)})
    import polars as pl

    one, two = as_table(make_rows(1, 20)), as_visits(visits(2, 20))
    with dp.load(one, ONE) as first, dp.load(pl.from_arrow(two), TWO) as second:
        with pytest.raises(DataError, match="the same place"):
            first.join(second)
        with pytest.raises(SchemaError, match="takes another table"):
            first.join(two)
    numbered = two.set_column(0, "patient", pa.array(range(20)))
    with dp.load(one, ONE) as first, dp.load(numbered, TWO) as second, pytest.raises(SchemaError, match="stored as"):
        first.join(second)
