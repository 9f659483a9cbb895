"""Columns computed of each row and of each person: the same integers on every engine, hostile cells included."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hostile_rows import SCHEMA, as_table, make_rows
from reference_engine import reference

import pydplib as dp
from pydplib.engine import Bound, ExactTable, Measure, Plan, Where

COMPUTED = dp.Schema(
    {
        **SCHEMA.columns,
        "volume": dp.Number(-1e6, 1e6),
        "ratio": dp.Number(-50, 50, derived="age / volume"),
        "mixed": dp.Number(-1e9, 1e9, derived="(age + 2 * volume) * (age - lesions) / 3 - -0.1"),
        "deep": dp.Number(-1, 1, derived="volume / (age * volume * volume - age)"),
        "whole": dp.Integer(-10, 40, derived="age / 3"),
        "month": dp.Integer(1, 12, derived="month(day)"),
        "year": dp.Integer(2017, 2018, derived="year(day)"),
        "band": dp.Category(["young", "middle", "old"], derived="cut(age + bph, 20, 60.5)"),
        "first_score": dp.Category([1, 2, 3], derived="first(pirads by day)"),
        "last_age": dp.Number(0, 90, derived="last(age by day, lesions)"),
        "top": dp.Category([1, 2, 3], derived="highest(pirads)"),
        "oldest": dp.Number(-20, 80, derived="highest(age)"),
        "change": dp.Number(-60, 60, derived=dp.Person().change("age", order="day")),
        "span": dp.Integer(0, 400, derived=dp.Person().days_between("day")),
        "next": dp.Number(0, 500, derived=dp.Person().days_to_next("day")),
        "scored": dp.Integer(0, 5, derived=dp.Person().count_of("pirads", [2, 3])),
        "rows": dp.Integer(0, 6, derived="count_of()"),
        "aged": dp.Integer(0, 9, derived="count_of(age >= 40)"),
        "entered": dp.Date("2017-02-01", "2018-06-30", derived="first(day by day)"),
        "ever": dp.Flag(derived="highest(bph)"),
    },
    person="id",
    max_rows_per_person=2,
    size=1000,
)
ODD = [
    0.0,
    -0.0,
    5e-324,
    -5e-324,
    1e-310,
    1e-101,
    -1e-99,
    1e-3,
    2.5,
    -7.0,
    1e5,
    1e300,
    -1e300,
    math.inf,
    math.nan,
    None,
]


def hostile(seed: int, size: int) -> pa.Table:
    """Return the hostile table with a divisor that is zero, tiny, huge, infinite or missing."""
    random = np.random.default_rng(seed)
    volume = pa.array([ODD[i] for i in random.integers(0, len(ODD), size)], pa.float64())
    return as_table(make_rows(seed, size)).append_column("volume", volume)


def total(column: str, low: float, high: float, step: float = 0.125) -> list[Measure]:
    return [Measure("count", column), Measure("sum", column, low=low, high=high, step=step)]


def row(rule: str, *order: str) -> Bound:
    return Bound("id", 1, mode="row", rule=rule, order=order)


ANY = row("any")
QUESTIONS: dict[str, dict[str, Any]] = {
    "a ratio, weighed": {"measures": total("ratio", -50, 50)},
    "a ratio by bands": {"measures": total("ratio", -50, 50), "by": ["band"]},
    "arithmetic": {"measures": total("mixed", -1e9, 1e9, 100.0), "where": [Where("whole").at_least(3)]},
    "a divisor near zero": {"measures": total("deep", -1, 1, 2**-20), "where": [Where("ratio").is_present()]},
    "months": {"measures": [Measure("count")], "by": {"month": tuple(range(1, 13))}},
    "years and bands": {"measures": [Measure("count")], "by": ["year", "band"]},
    "or over computed columns": {
        "measures": [Measure("count")], "where": [Where("band").eq("old") | Where("month").is_in([1, 7])]},
    "the highest ratio's row": {
        "measures": total("age", -20, 100), "by": ["pirads"], "bound": row("highest", "ratio")},
    "first score": {"measures": [Measure("count")], "by": {"first_score": (1, 2, 3, "other", None)}, "bound": ANY},
    "last age": {"measures": total("last_age", 0, 90), "by": ["top"], "bound": ANY},
    "highest": {"measures": total("oldest", -20, 80), "by": {"ever": (True, False, None)}, "bound": ANY},
    "change": {"measures": total("change", -60, 60), "bound": ANY},
    "change of those who were scored": {
        "measures": total("change", -60, 60), "after": [Where("scored").at_least(1)], "bound": ANY},
    "days": {"measures": [*total("span", 0, 400, 1), *total("next", 0, 500, 1)], "bound": ANY},
    "days after a condition on rows": {
        "measures": total("span", 0, 400, 1), "where": [Where("age").is_present()], "bound": ANY},
    "counts": {"measures": [Measure("cells", "rows", low=0, high=6, step=1)], "by": {"aged": tuple(range(10))},
               "bound": ANY},
    "day of entry": {"measures": [Measure("count")], "by": {"entered": dp.Bins(["2017-02-01", "2018-01-01",
                     "2018-06-30"])}, "bound": ANY},
    "steps and a row": {"measures": total("change", -60, 60), "by": {"pirads": (1, 2, 3, "other", None)},
                        "bound": row("last", "day")},
    "steps, a row and conditions": {
        "measures": [*total("age", -20, 100), Measure("count", "next")], "by": ["band"], "bound": row("first", "day"),
        "where": [Where("lesions").at_most(2)], "after": [Where("scored").at_most(2) | Where("pirads").is_missing()]},
    "unknown keys of a row with steps": {
        "measures": [Measure("count"), Measure("sum", "change", low=-60, high=60, step=1)], "by": {"site": None},
        "bound": row("highest", "pirads")},
}  # fmt: skip


def integers(exact: ExactTable) -> list[object]:
    return [values.tolist() for values in exact.values]


def plan_of(name: str) -> Plan:
    return Plan(COMPUTED, **QUESTIONS[name])


def test_twenty_questions_have_the_same_integers_on_every_engine(place, engine_name) -> None:
    data = hostile(11, 160)
    table = place(data, COMPUTED)
    assert len(QUESTIONS) == 20
    for name in QUESTIONS:
        plan = plan_of(name)
        exact = table.aggregate(plan)
        keys, values = reference(data, plan)
        assert exact.keys == keys, name
        assert integers(exact) == values, name
        assert any(np.any(value) for value in exact.values), name


def test_order_of_rows_and_their_copies_change_nothing(place, engine_name) -> None:
    data = hostile(12, 90)
    shuffled = data.take(pa.array(np.random.default_rng(1).permutation(data.num_rows)))
    table, other = place(data, COMPUTED), place(shuffled, COMPUTED)
    for name in list(QUESTIONS)[:: 7 if engine_name == "spark" else 1]:
        assert integers(table.aggregate(plan_of(name))) == integers(other.aggregate(plan_of(name))), name


@pytest.mark.parametrize("formula", ["age / volume", "(age + 2 * volume) * (age - lesions) / 3 - -0.1"])
def test_arithmetic_is_that_of_doubles_to_the_last_bit(place, formula) -> None:
    """Results are compared with NumPy's by edges that lie at them: one bit more or less is another cell."""
    random = np.random.default_rng(5)
    ages, volumes = random.uniform(-20, 100, 300), random.uniform(0.5, 3, 300)
    rows = {"id": [f"p{i}" for i in range(300)], "age": ages, "volume": volumes, "lesions": random.integers(0, 4, 300)}
    data = pa.table({name: pa.array(cells) for name, cells in rows.items()})
    a, v, k = (np.asarray(rows[name], dtype=float) for name in ("age", "volume", "lesions"))
    exact = a / v if formula == "age / volume" else (a + 2 * v) * (a - k) / 3 - -0.1
    chosen = float(exact[17])
    schema = dp.Schema(
        {"age": dp.Number(-20, 100), "volume": dp.Number(-1e6, 1e6), "lesions": dp.Integer(0, 3),
         "found": dp.Number(-1e4, 1e4, derived=formula)}, person="id", max_rows_per_person=1,
    )  # fmt: skip
    table = place(data, schema)
    below, above = math.nextafter(chosen, -math.inf), math.nextafter(chosen, math.inf)
    asked = Plan(schema, measures=[Measure("count")], where=[Where("found").between(chosen, chosen)])
    assert int(table.aggregate(asked)[0][0]) == 2**16 * int(np.sum(exact == chosen))
    edges = sorted({-1e4, below, chosen, above, 1e4, *map(float, np.sort(exact)[::29])})
    binned = Plan(schema, measures=[Measure("cells", "found", edges=edges)])
    expected = np.histogram(exact, bins=edges)[0] * 2**16
    assert table.aggregate(binned)[0][0].tolist() == expected.tolist()
