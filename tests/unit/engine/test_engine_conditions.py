"""Conditions are closed, canonical and plain."""

from __future__ import annotations

import datetime as dt
import json

import numpy as np
import pytest

import pydplib as dp
from pydplib.engine import RowCondition, Where, day_number
from pydplib.engine.conditions import canonical_conditions
from pydplib.errors import QuestionError, SchemaError

SCHEMA = dp.Schema(
    {
        "age": dp.Number(18, 100),
        "pirads": dp.Category([1, 2, 3, 4, 5]),
        "stage": dp.Category(["low", "mid", "high"], ordered=True),
        "kind": dp.Category(["y", "n"]),
        "bph": dp.Flag(),
        "day": dp.Date("2017-01-01", "2018-12-31"),
        "note": dp.Text(),
    }
)


def canonical(*conditions: RowCondition) -> tuple[RowCondition, ...]:
    return canonical_conditions(conditions, SCHEMA)


def test_condition_is_one_question_when_spelled_differently() -> None:
    one = canonical(Where("age").between(60, 70.5), Where("pirads").is_in([5, 4, 4]))
    other = canonical(Where("pirads").is_in(np.array([4, 5])), Where("age").between(np.float64(60.0), 70.5))
    assert one == other
    assert one[0].values == (60, 70.5)
    assert canonical(Where("bph").eq(True)) == canonical(Where("bph").is_in([True, True]))


def test_condition_survives_json() -> None:
    for condition in canonical(Where("day").at_least(dt.date(2017, 5, 1)), Where("age").is_missing()):
        assert RowCondition.from_dict(json.loads(json.dumps(condition.to_dict()))) == condition


def test_order_on_categories_becomes_a_list() -> None:
    assert canonical(Where("pirads").at_least(4))[0] == RowCondition("pirads", "is_in", (4, 5))
    assert canonical(Where("pirads").less_than(3))[0].values == (1, 2)
    assert canonical(Where("pirads").between(2, 3))[0].values == (2, 3)
    assert canonical(Where("stage").more_than("low"))[0].values == ("mid", "high")
    assert canonical(Where("stage").at_most("mid"))[0].values == ("low", "mid")


def test_other_is_a_value_of_every_category() -> None:
    assert canonical(Where("kind").eq("other"))[0].values == ("other",)


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: canonical(Where("aeg").eq(3)), "Did you mean 'age'"),
        (lambda: canonical(Where("kind").eq("yes")), "no declared value"),
        (lambda: canonical(Where("kind").at_least("y")), "no order"),
        (lambda: canonical(Where("pirads").at_least("other")), "no order"),
        (lambda: canonical(Where("pirads").less_than(1)), "met by no declared value"),
        (lambda: canonical(Where("pirads").eq("4")), "no declared value"),
        (lambda: canonical(Where("bph").eq("maybe")), "yes or no"),
        (lambda: canonical(Where("age").eq("old")), "holds numbers"),
        (lambda: canonical(Where("age").eq(True)), "holds numbers"),
        (lambda: canonical(Where("age").between(70, 60)), "low <= high"),
        (lambda: canonical(Where("age").at_least(float("inf"))), "holds numbers"),
        (lambda: Where("age").eq(float("nan")), "not with NaN"),
        (lambda: canonical(Where("day").eq(2017)), "holds days"),
        (lambda: canonical(Where("day").eq("31.1.2017")), "2017-01-31"),
        (lambda: canonical(Where("note").eq("x")), "free text"),
        (lambda: canonical(Where("note").is_missing()), "free text"),
        (lambda: Where("age").is_in([]), "lists no value"),
        (lambda: Where("age").is_in("ab"), "list of values"),
        (lambda: RowCondition("age", "like", ("x",)), "Unknown condition"),  # type: ignore[arg-type]
        (lambda: RowCondition("age", "between", (1,)), "takes 2"),
        (lambda: RowCondition.from_dict({"column": "age", "op": "is_in", "sql": "1=1"}), "entries"),
        (lambda: canonical_conditions(["age > 3"], SCHEMA), "takes conditions"),  # type: ignore[list-item]
    ],
)
def test_condition_is_refused_with_a_reason(make, words: str) -> None:
    with pytest.raises((QuestionError, SchemaError), match=words):
        make()


def test_day_number_counts_from_1970() -> None:
    assert day_number(dt.datetime(1970, 1, 2, 23)) == 1
    assert day_number("1969-12-31") == -1


def test_condition_reads_as_a_sentence() -> None:
    assert str(Where("age").between(60, 70)) == "age between 60 and 70"
    assert str(Where("pirads").ne(3)) == "pirads != 3"
    assert str(Where("age").is_missing()) == "age is missing"
