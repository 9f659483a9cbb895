"""Plans hold public facts only, refuse what cannot be bounded, and know their largest numbers."""

from __future__ import annotations

import json
from itertools import combinations_with_replacement, product

import polars as pl
import pyarrow as pa
import pytest

import pydplib as dp
from pydplib.engine import Bins, Bound, ExactTable, Measure, Plan, Sensitivity, Where, public_keys, sensitivity
from pydplib.errors import QuestionError, SchemaError

SCHEMA = dp.Schema(
    {
        "age": dp.Number(18, 100),
        "lesions": dp.Integer(0, 3),
        "pirads": dp.Category([1, 2, 3]),
        "day": dp.Date("2017-01-01", "2017-12-31"),
        "note": dp.Text(),
    },
    person="id",
    max_rows_per_person=3,
    name="reports",
)
COUNT = [Measure("count")]
SAMPLE = Bound("id", 1, mode="sample", max_groups=2, salt="s")


def test_plan_takes_its_bound_from_the_schema() -> None:
    plan = Plan(SCHEMA, measures=COUNT)
    assert plan.bound == Bound("id", 3)
    assert plan.scale == 2**16
    assert plan.keys == ((),)


def test_keys_are_the_product_in_public_order() -> None:
    plan = Plan(SCHEMA, by={"pirads": (3, None), "lesions": (0, 1)}, measures=COUNT)
    assert plan.keys == ((3, 0), (3, 1), (None, 0), (None, 1))
    assert public_keys(SCHEMA, "pirads") == (1, 2, 3, "other")
    assert public_keys(SCHEMA, "lesions") == (0, 1, 2, 3)


def test_plan_is_canonical_json_without_the_salt() -> None:
    conditions = [Where("pirads").is_in([2, 1]), Where("age").at_least(60)]
    one = Plan(SCHEMA, where=conditions, by=["pirads"], measures=COUNT, bound=SAMPLE)
    other = Plan(SCHEMA, where=conditions[::-1], by=["pirads"], measures=COUNT, bound=SAMPLE)
    assert one.to_json() == other.to_json()
    assert json.loads(one.to_json())["table"] == "reports"
    secret = Plan(
        SCHEMA, by=["pirads"], measures=COUNT, bound=Bound("id", 1, mode="sample", max_groups=1, salt="tell-me")
    )
    assert "tell-me" not in secret.to_json() + repr(secret.bound) + repr(secret)


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: Plan(SCHEMA, measures=[]), "at least one measure"),
        (lambda: Plan(SCHEMA, measures=["count"]), "takes Measure"),  # type: ignore[list-item]
        (lambda: Plan("reports", measures=COUNT), "declared table"),  # type: ignore[arg-type]
        (lambda: Plan(SCHEMA, measures=[Measure("count", "note")]), "free text"),
        (lambda: Plan(SCHEMA, measures=[Measure("count", "aeg")]), "Did you mean 'age'"),
        (lambda: Plan(SCHEMA, measures=[Measure("sum", "pirads", low=1, high=3, step=1)]), "needs numbers"),
        (lambda: Plan(SCHEMA, by=["age"], measures=COUNT), "Bins"),
        (lambda: Plan(SCHEMA, by={"age": (20, 30)}, measures=COUNT), "public bins"),
        (lambda: Plan(SCHEMA, by={"pirads": Bins([1, 2])}, measures=COUNT), "Bins are for numbers"),
        (lambda: Plan(SCHEMA, by={"pirads": (1, 4)}, measures=COUNT), "no public key"),
        (lambda: Plan(SCHEMA, by={"pirads": (1, True)}, measures=COUNT), "no public key"),
        (lambda: Plan(SCHEMA, by={"pirads": (1, 1)}, measures=COUNT), "twice"),
        (lambda: Plan(SCHEMA, by={"pirads": ()}, measures=COUNT), "lists no key"),
        (lambda: Plan(SCHEMA, by={"pirads": None}, measures=COUNT), "has public keys"),
        (lambda: Plan(SCHEMA, by={"note": None}, measures=COUNT), "sampling bound"),
        (lambda: Plan(SCHEMA, by={"note": ("a",)}, measures=COUNT), "free text"),
        (lambda: Plan(SCHEMA, measures=COUNT, bound=Bound(None)), "same column"),
        (lambda: Plan(SCHEMA, measures=COUNT, bound=SAMPLE), "no groups"),
        (lambda: Plan(SCHEMA, by={"age": Bins(range(19, 99)), "lesions": (0, 1)},
                      measures=[Measure("cells", "age", low=18, high=100, step=0.001)]), "cells"),
        (lambda: Bins([3, 3]), "ascending"),
        (lambda: Bins([1]), "ascending"),
        (lambda: Bound("id", 0), "at least 1"),
        (lambda: Bound("id", 1, mode="all"), "Unknown bound"),  # type: ignore[arg-type]
        (lambda: Bound("id", 1, max_groups=2), "belongs to sampling"),
        (lambda: Bound("id", 1, mode="sample"), "salt"),
        (lambda: Bound(None, 2), "another person"),
    ],
)  # fmt: skip
def test_plan_is_refused_with_a_reason(make, words: str) -> None:
    with pytest.raises((QuestionError, SchemaError), match=words):
        make()


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: Measure("mean", "age"), "Unknown measure"),  # type: ignore[arg-type]
        (lambda: Measure("sum", low=0, high=1, step=1), "needs a column"),
        (lambda: Measure("sum", "age", step=1), "public bounds"),
        (lambda: Measure("sum", "age", low=0, high=float("inf"), step=1), "finite"),
        (lambda: Measure("sum", "age", low=1, high=1, step=1), "low < high"),
        (lambda: Measure("sum", "age", low=0, high=1), "step="),
        (lambda: Measure("sum", "age", low=0, high=1, step=0), "positive"),
        (lambda: Measure("sum", "age", edges=[0, 1]), "step="),
        (lambda: Measure("cells", "age", low=0, high=1, step=1, edges=[0, 1]), "one of the two"),
        (lambda: Measure("cells", "age", edges=[1, 0]), "low < high|ascending"),
        (lambda: Measure("cells", "age", low=0, high=1, step=1, center=3), "no center"),
        (lambda: Measure("sum", "age", low=0, high=1, step=1, offset=0.5), "whole number"),  # type: ignore[arg-type]
        (lambda: Measure("sum", "age", low=0, high=1, step=1e-300), "too fine"),
        (lambda: Measure("count", "age", low=0), "no bounds"),
    ],
)
def test_measure_is_refused_with_a_reason(make, words: str) -> None:
    with pytest.raises(QuestionError, match=words):
        make()


def test_overflow_is_refused_from_public_facts() -> None:
    fine = Measure("sum", "age", low=18, high=100, step=2.0**-9)  # 51200 steps x 2^16 x 2^31 rows > 2^62
    with pytest.raises(QuestionError, match="overflow"):
        Plan(SCHEMA, measures=[fine])
    declared = dp.Schema(SCHEMA.columns, person="id", max_rows_per_person=3, size=920)
    assert Plan(declared, measures=[fine]).rows_ceiling == 2760
    with pytest.raises(QuestionError, match="overflow"):
        Plan(declared, measures=[Measure("sum", "age", low=18, high=100, step=2.0**-30)])


def test_whole_bounds_are_what_a_row_can_add() -> None:
    assert Measure("sum", "age", low=18, high=100, step=1, center=59).whole_bounds == (-41, 41)
    assert Measure("sum", "age", low=18, high=100, step=1).largest == 100
    assert Measure("sum", "age", low=-100, high=18, step=1).largest == 100
    assert Measure("sumsq", "age", low=18, high=100, step=1, center=59, offset=800).whole_bounds == (-800, 881)
    assert Measure("sumsq", "age", low=18, high=100, step=4).whole_bounds == (81, 2500)
    assert Measure("cells", "age", low=18, high=100, step=1).cells == 83
    assert Measure("cells", "age", low=18, high=100, step=1).first_cell == 18
    assert Measure("cells", "age", edges=[0, 1, 2]).whole_bounds == (0, 1)


def test_sensitivity_adds_up_over_measures_and_groups() -> None:
    total = Measure("sum", "age", low=18, high=100, step=1, center=59)
    weights = Plan(SCHEMA, by=["pirads"], measures=[Measure("count"), total])
    assert sensitivity(weights, 0) == Sensitivity(3 * 2**16, (3 * 2**16) ** 2, 3 * 2**16)
    assert sensitivity(weights, total).l1 == 41 * 3 * 2**16
    assert sensitivity(weights).l1 == 42 * 3 * 2**16
    bound = Bound("id", 5, mode="sample", max_groups=2, salt="s")
    sample = Plan(SCHEMA, by=["pirads"], bound=bound, measures=COUNT)
    assert sensitivity(sample) == Sensitivity(10, 50, 5)
    few = Plan(SCHEMA, by={"pirads": (1,)}, bound=bound, measures=COUNT)
    assert sensitivity(few) == Sensitivity(5, 25, 5)
    with pytest.raises(QuestionError):
        sensitivity(few, total)


@pytest.mark.parametrize("mode", ["weight", "sample"])
def test_sensitivity_is_what_brute_force_finds(mode: str) -> None:
    """Every person with up to three rows over a small grid: the largest found equals the declared one."""
    schema = dp.Schema({"x": dp.Integer(-1, 2), "g": dp.Category(["a", "b"])}, person="id", max_rows_per_person=2)
    bound = Bound("id", 2) if mode == "weight" else Bound("id", 1, mode="sample", max_groups=2, salt="s")
    plan = Plan(
        schema, by={"g": ("a", "b")}, bound=bound, measures=[Measure("sum", "x", low=-1, high=2, step=1, offset=1)]
    )
    cells = list(product([-1, 2, None], ["a", "b"]))
    people = [rows for size in (1, 2, 3) for rows in combinations_with_replacement(cells, size)]
    largest = [0, 0, 0]
    for rows in people:
        data = pl.DataFrame(
            {"id": ["p"] * len(rows), "x": [x for x, _ in rows], "g": [g for _, g in rows]},
            schema={"id": pl.String, "x": pl.Int64, "g": pl.String},
        )
        found = [abs(int(v)) for v in dp.load(data, schema).aggregate(plan)[0]]
        largest = [max(a, b) for a, b in zip(largest, (sum(found), sum(v * v for v in found), max(found)), strict=True)]
    limit = sensitivity(plan)
    assert largest == [limit.l1, limit.l2_squared, limit.linf]


def test_exact_table_shows_no_number() -> None:
    schema = dp.Schema({"age": dp.Number(0, 100)})
    exact = dp.load(pa.table({"age": [12345.0, 7.0]}), schema).aggregate(
        Plan(schema, measures=[Measure("count"), Measure("sum", "age", low=0, high=100, step=1)])
    )
    assert isinstance(exact, ExactTable)
    assert repr(exact) == "ExactTable(1 key, 2 measures; exact and private)"
    assert exact[Measure("count")].tolist() == [2]
