"""Which row of each person counts: said by frozen values, with one spelling, and never worth more than one row."""

from __future__ import annotations

from itertools import chain, combinations, product

import numpy as np
import polars as pl
import pytest

import pydplib as dp
from pydplib.engine import Bound, Measure, OneRow, Plan, Where, sensitivity
from pydplib.errors import QuestionError
from pydplib.release.facts import Facts

SCHEMA = dp.Schema(
    {"day": dp.Date("2018-01-01", "2018-12-31"), "x": dp.Number(-2, 5), "g": dp.Category(["a", "b"]), "t": dp.Text()},
    person="id",
    max_rows_per_person=2,
)


def test_person_says_which_row_counts() -> None:
    person = dp.Person("id")
    assert person.first_row(order="day") == OneRow("first", ("day",), "id")
    assert person.last_row(order=["day", "x"]).order == ("day", "x")
    assert repr(person.highest_row("x")) == "Person('id').highest_row('x')"
    assert [str(rule) for rule in (person.first_row(order="day"), person.highest_row(["x", "g"]))] == [
        "first by day",
        "highest x, g",
    ]


def test_the_largest_day_is_the_last_and_any_other_largest_value_the_highest() -> None:
    last, highest = dp.Person().last_row(order="day"), dp.Person("id").highest_row("day")
    assert last.canonical(SCHEMA) == highest.canonical(SCHEMA) == OneRow("last", ("day",))
    assert dp.Person().last_row(order="x").canonical(SCHEMA) == OneRow("highest", ("x",))


@pytest.mark.parametrize(
    ("rule", "message"),
    [
        (lambda: dp.Person("other").first_row(order="day"), "They must be the same column"),
        (lambda: dp.Person().first_row(order="t"), "cannot order a person's rows"),
        (lambda: dp.Person().first_row(order="dya"), "no column 'dya'.*'day'"),
        (lambda: dp.Person().first_row(order=[]), "one or more columns"),
        (lambda: dp.Person().first_row(order=["x", "x"]), "each once"),
        (lambda: OneRow("newest", ("day",)), "Unknown rule 'newest'"),
        (lambda: OneRow.from_dict({"rule": "first"}), "entries rule"),
    ],
)
def test_wrong_rules_are_refused_with_the_next_step(rule, message) -> None:
    with pytest.raises((QuestionError, dp.errors.SchemaError), match=message):
        rule().bound(SCHEMA)


def test_without_a_person_column_there_is_no_row_to_choose() -> None:
    with pytest.raises(QuestionError, match="Without a person column"):
        dp.Person().first_row(order="x").bound(dp.Schema({"x": dp.Number(0, 1)}))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"max_rows": 2, "rule": "first", "order": ("x",)}, "max_rows is 1"),
        ({"order": ("x",)}, "needs its rule"),
        ({"rule": "first"}, "needs its order"),
        ({"rule": "first", "order": ("x",), "salt": "s"}, "belongs to sampling"),
        ({"mode": "weight", "rule": "first"}, "belong to one row"),
    ],
)
def test_bound_of_one_row_is_checked(options, message) -> None:
    with pytest.raises(QuestionError, match=message):
        Bound("id", **{"mode": "row", **options})


def test_conditions_after_need_one_row() -> None:
    with pytest.raises(QuestionError, match="per_person="):
        Plan(SCHEMA, measures=[Measure("count")], after=[Where("x").at_least(1)])
    with pytest.raises(QuestionError, match="per_person="):
        Facts.of(dp.Count(after=[Where("x").at_least(1)]), SCHEMA)


CELLS = [*product([None, "2018-03-01", "2018-07-01"], [-2.0, 5.0], ["a", "b"])]


def frame(rows) -> pl.DataFrame:
    kinds = {"id": pl.String, "day": pl.String, "x": pl.Float64, "g": pl.String, "t": pl.String}
    return pl.DataFrame([(*row, "t") for row in rows], schema=kinds, orient="row")


@pytest.mark.parametrize("rule", ["first", "highest"])
def test_sensitivity_is_the_most_that_any_person_does_by_brute_force(rule) -> None:
    """Every set of up to two rows of one person, next to others: the largest movement is the sensitivity."""
    measures = [Measure("count"), Measure("sum", "x", low=-2, high=5, step=0.5)]
    plan = Plan(SCHEMA, by=["g"], measures=measures, bound=Bound("id", 1, mode="row", rule=rule, order=("day", "g")))
    others = [("q", *CELLS[3]), ("q", *CELLS[9]), ("r", *CELLS[0])]
    before = [v.astype(object) for v in dp.load(frame(others), SCHEMA).aggregate(plan).values]
    worst = np.zeros(3, dtype=object)
    for own in chain(combinations(CELLS, 1), combinations(CELLS, 2)):
        table = dp.load(frame([*others, *(("p", *cells) for cells in own)]), SCHEMA)
        moved = np.concatenate([abs(v - w) for v, w in zip(table.aggregate(plan).values, before, strict=True)])
        worst = np.maximum(worst, [sum(moved), sum(moved**2), max(moved)])
    limit = sensitivity(plan)
    assert (limit.l1, limit.l2_squared, limit.linf) == (1 + 10, 1 + 100, 10)
    assert worst.tolist() == [limit.l1, limit.l2_squared, limit.linf]


def test_conditions_on_the_chosen_row_choose_no_other_row() -> None:
    rows = [("p", "2018-03-01", -2.0, "a"), ("p", "2018-07-01", 5.0, "a"), ("q", "2018-03-01", 5.0, "b")]
    bound = Bound("id", 1, mode="row", rule="first", order=("day",))
    plan = Plan(SCHEMA, measures=[Measure("count")], bound=bound, after=[Where("x").at_least(1)])
    assert dp.load(frame(rows), SCHEMA).aggregate(plan)[0].tolist() == [1]
