"""A price knows its whole cost, its bar, whether it can be paid, and its words; it reads back from plain values."""

from __future__ import annotations

import json

import pandas as pd
import pytest

import pydplib as dp
from pydplib.errors import ParameterError
from pydplib.release.prices import Accuracy

NEW = ("bar", "nano_epsilon_of_size", "epsilon", "delta", "margin_words", "too_noisy", "confidence", "margin")
"""What a platform of version 0.1 does not say."""
COLUMNS = {"age": dp.Number(18, 100, step=1), "city": dp.Category(["a", "b"]), "place": dp.Text(label="quasi")}


@pytest.fixture
def table():
    rows = {"id": range(900), "age": [61, 67, 70] * 300, "city": ["a", "b", "b"] * 300, "place": "x"}
    schema = dp.Schema(COLUMNS, person="id", max_rows_per_person=1, name="reports")
    with dp.load(pd.DataFrame(rows), schema) as found:
        yield found


def partner(table, **more):
    return dp.Session(table, recipient="acme", role="third_party", **more)


def test_total_includes_the_number_of_rows_exactly_and_is_never_exceeded(table):
    session = partner(table, size_epsilon=0.033333333)
    price = session.price(dp.Count(by="city"))
    assert price.at_most and (price.size_cost, price.total) == (33_333_333, 1_033_333_333)
    assert price.total_words == "at most 1.033333333" and "epsilon 0.033333333 once for the number of rows" in str(
        price
    )
    assert price.bar == (0.0, 1.033333333, 2.0)
    before = session.remaining.nano_epsilon
    session.release(dp.Count(by="city"))
    assert before - session.remaining.nano_epsilon <= price.total
    known = session.price(dp.Count())
    assert not known.at_most and known.size_cost == 0 and known.total == known.cost.nano_epsilon


@pytest.mark.parametrize(("budget", "affordable"), [(1.1, True), (1.099999999, False)])
def test_a_budget_that_pays_for_the_answer_but_not_for_the_number_of_rows_cannot_pay(table, budget, affordable):
    price = partner(table, budget=dp.PureDP(budget)).price(dp.Count())
    assert (price.epsilon, price.size_cost) == (1.0, 100_000_000)
    assert price.affordable is affordable and (price.after is not None) is affordable


def test_data_set_pays_for_a_number_of_rows_once(table):
    ledger, policy = dp.MemoryLedger(), dp.Policy(data_set_budget=1.15)
    first = dp.Session(table, recipient="bmed", role="third_party", ledger=ledger, policy=policy)
    first.buy_size()
    second = partner(table, ledger=ledger, policy=policy)
    assert second.price(dp.Count()).affordable, "1.15 - 0.1: the number is paid for by the data set already"
    third = partner(table, ledger=ledger, policy=policy, size_epsilon=0.09)
    assert not third.price(dp.Count()).affordable, "another number of rows is another release"


def test_an_answer_at_the_cap_does_not_make_a_price_by_noise_factor_free(table):
    session = partner(table)
    session.release(dp.Count(), epsilon=1.0)  # the role's cap, which is all that is known of the other price
    price = session.price(dp.Count())
    assert price.at_most and not price.free and price.total == 1_100_000_000
    assert session.release(dp.Count()).epsilon < 1.0, "another answer, and paid for"


def test_a_large_question_after_many_small_ones_says_that_it_weighs_more(table):
    session = dp.Session(table, recipient="acme", budget=dp.ApproxDP(5.0, 1e-6), policy=dp.Policy(data_set_budget=99.0))
    for number in range(80):
        session.release(dp.Count(), epsilon=0.05 + number * 1e-6)
    price = session.price(dp.Count(), epsilon=0.5)
    assert price.bar.spent < 80 * 0.05 and price.bar.asked > 0.5
    assert any("more of the budget than its own epsilon" in note for note in price.notes)
    assert not session.price(dp.Count(), epsilon=0.04).notes


def prices(table):
    session = partner(table)
    yield session.price(dp.Mean("age", by="city"))
    session.release(dp.Count(by="city"), epsilon=0.2)
    yield session.price(dp.Count(by="city"), epsilon=0.2)
    yield session.price(dp.Median("age"), margin=40, confidence=0.99)
    yield session.price(dp.Count(by={"place": None}), epsilon=0.3)
    yield session.price(dp.Mode("city"), epsilon=0.1)
    yield session.price(dp.Mean("age", where=[dp.Where("city").eq("a")]), epsilon=0.4)
    poor = dp.Session(table, recipient="poor", budget=dp.PureDP(0.1))
    yield poor.price(dp.Sum("age"), epsilon=0.5)
    narrow = dp.Session(table, recipient="narrow", budget=2.0, policy=dp.Policy(data_set_budget=0.5))
    yield narrow.price(dp.Sum("age"), epsilon=0.25)


def test_every_price_reads_back_from_its_plain_values(table):
    found = list(prices(table))
    assert any(price.free for price in found) and any(price.at_most for price in found)
    assert any(price.margin is None for price in found) and any(not price.affordable for price in found)
    assert any(price.left.is_shared for price in found)
    for price in found:
        again = dp.release.Price.from_dict(json.loads(json.dumps(price.to_dict())))
        assert again == price and str(again) == str(price) and again.to_dict() == price.to_dict()


def test_a_price_of_a_platform_of_version_0_1_is_read(table):
    for price in prices(table):
        body = price.to_dict()
        for name in (
            "bar",
            "nano_epsilon_of_size",
            "epsilon",
            "delta",
            "margin_words",
            "too_noisy",
            "confidence",
            "margin",
        ):
            del body[name]
        for left in (body["left"], body["after"] or {}):
            left.pop("is_shared", None)
        if price.confidence != 0.95:
            continue  # it knew no other
        again = dp.release.Price.from_dict(body)
        assert (again.total, again.size_cost) == (price.total, price.size_cost)
        assert (again.margin, again.affordable) == (price.margin, price.affordable)
        assert again.bar.total == price.left.limit.nano_epsilon / 1e9


def test_words_for_readers(table):
    at_most, free, *_ = list(prices(table))
    assert free.total_words == "0" and free.margin_words.startswith("In 95 of 100 such answers the noise moves")
    assert free.margin_words.endswith(" records.")
    assert "depends on how many records answer" in at_most.margin_words
    noisy = dp.Session(table, recipient="noisy", budget=1.0)
    noisy.buy_size(epsilon=0.5)
    assert noisy.price(dp.Count(), epsilon=0.001).too_noisy and not noisy.price(dp.Count(), epsilon=0.1).too_noisy
    assert noisy.price(dp.Count(), noise_factor="high").noise_words == "about 15 %"


def test_accuracy_is_one_of_three():
    with pytest.raises(ParameterError, match="Got epsilon and margin"):
        Accuracy(epsilon=0.1, margin=3.0)
    assert Accuracy(noise_factor="high", confidence=0.9).options() == {"noise_factor": "high", "confidence": 0.9}
