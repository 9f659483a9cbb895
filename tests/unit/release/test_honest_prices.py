"""Prices and answers promise only what public facts tell: conditions, declared steps, noise that hides everything."""

from __future__ import annotations

import re

import pandas as pd
import pytest

import pydplib as dp
from pydplib.errors import CalibrationError, QuestionError

SCHEMA = dp.Schema({"age": dp.Number(18, 100, step=10), "city": dp.Category(["a", "b"])}, size=10_000, name="reports")


@pytest.fixture
def session():
    frame = pd.DataFrame({"age": [64.0] * 10_000, "city": ["a"] * 9_950 + ["b"] * 50})
    with dp.load(frame, SCHEMA) as table:
        policy = dp.Policy(rules=(), data_set_budget=9000.0)
        yield dp.Session(table, recipient="acme", budget=dp.PureDP(9000.0), policy=policy)


@pytest.mark.parametrize("kind", [dp.Mean, dp.Variance])
def test_price_under_conditions_promises_no_margin(session, kind):
    question = kind("age", where=[dp.Where("city").eq("b")])
    price = session.price(question, epsilon=0.1)
    assert price.margin95 is None and price.noise_percent is None and "how many rows answer" in str(price)
    assert session.release(question, epsilon=0.1).expected_noise is None
    with pytest.raises(CalibrationError, match="how many rows meet them"):
        session.price(question, margin=1.0)
    assert session.price(kind("age"), epsilon=0.1).margin95 is not None


def test_noise_factor_under_conditions_says_that_it_speaks_of_the_whole_table(session):
    question = dp.Mean("age", where=[dp.Where("city").eq("b")])
    assert any("whole table" in note for note in session.release(question, noise_factor="high").notes)
    assert session.price(dp.Count(where=[dp.Where("city").eq("b")]), margin=10).margin95 <= 10


@pytest.mark.parametrize(
    ("question", "truth"), [(dp.Mean("age"), 64.0), (dp.Sum("age"), 640_000.0), (dp.Variance("age"), 0.0)]
)
def test_declared_step_does_not_round_values_of_sums(session, question, truth):
    low, high = session.release(question, epsilon=300.0).interval95
    beyond = 5 * (high - low)  # noise leaves ten margins once in 1e13 runs; values rounded to tens would
    assert low - beyond <= truth <= high + beyond


def test_quantile_says_that_it_lies_on_the_grid(session):
    release = session.release(dp.Median("age"), epsilon=10.0)
    assert release.value in (60, 70) and any("public grid" in note and "10 apart" in note for note in release.notes)


def test_mean_of_too_few_people_says_that_it_is_worth_little(session):
    little = session.release(dp.Mean("age", where=[dp.Where("city").eq("b")]), epsilon=0.01)
    assert any("worth little" in note for note in little.notes)
    grouped = session.release(dp.Mean("age", by="city"), epsilon=0.2)  # "other" is empty
    assert any(
        re.search("(1 of 3 answers is|[23] of 3 answers are) worth little", note) for note in grouped.notes
    )  # "other" is empty
    assert not any("worth little" in note for note in session.release(dp.Mean("age"), epsilon=1.0).notes)


def test_mean_of_a_category_tells_how_to_count_it_in_the_shell_and_in_python(session):
    with pytest.raises(QuestionError, match=r"count by city, in Python Count\(by='city'\)"):
        session.price(dp.Mean("city"), epsilon=0.1)
