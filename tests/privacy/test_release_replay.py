"""Record and replay: one person's rows or element never cost more than the epsilon that is claimed.

Every question on made neighbours, on every engine: ``tests/spec/release/test_neighbours_on_every_engine.py``.
"""

from __future__ import annotations

from decimal import Decimal, localcontext
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from neighbours import OTHERS, PERSON, WILD, Person, arrow, loss_between, lost, schema_of

import pydplib as dp
from pydplib.noise.testing import check_neighbours, record, replay
from pydplib.release.facts import Facts
from pydplib.release.unknown import KeyNoise

SCHEMA = schema_of()


def put(people: list[Person]) -> dp.engine.Table:
    return dp.load(arrow(people), SCHEMA)


def run(question: Any, smaller: dp.engine.Table, larger: dp.engine.Table, epsilon: float = 1.0) -> float:
    prepared = Facts.of(question, SCHEMA).at(epsilon)
    return loss_between(prepared, smaller.aggregate(prepared.plan), larger.aggregate(prepared.plan))


@settings(max_examples=3)
@given(others=OTHERS, person=PERSON)
def test_replay_of_the_worst_person_comes_near_epsilon(others, person):
    # Two rows at the upper bound: the loss is the whole epsilon.
    worst = [{**person[0], "age": 100.0, "pirads": 1}] * 2
    with put(others) as smaller, put([*others, worst]) as larger:
        assert run(dp.Mean("age"), smaller, larger) == pytest.approx(1.0)
        assert run(dp.Count(), smaller, larger) == pytest.approx(1.0)


def test_replay_with_a_bound_that_is_not_enforced_is_caught(monkeypatch):
    monkeypatch.setattr(Facts, "rows", property(lambda self: 1))  # claims one row where two count
    row = {"age": 70.0, "psa": 4.0, "lesions": 1, "pirads": 2, "bph": True, "day": None, "city": "Oslo"}
    with put([]) as smaller, put([[row, row]]) as larger, pytest.raises(AssertionError, match="claims sensitivity"):
        run(dp.Count(by="pirads"), smaller, larger)


@settings(max_examples=300)
@given(
    groups=st.integers(1, 9),
    rows=st.integers(1, 20),
    epsilon=st.fractions(Fraction(1, 1000), 20, max_denominator=1000),
    delta=st.fractions(Fraction(1, 10**18), Fraction(999, 1000)),
)
def test_unknown_keys_threshold_is_the_smallest_that_keeps_delta(groups, rows, epsilon, delta):
    noise = KeyNoise(groups, rows, epsilon, delta)
    with localcontext(prec=200):
        a = (Decimal(-noise.scale.denominator) / Decimal(noise.scale.numerator)).exp()
        most = Decimal(delta.numerator) / Decimal(delta.denominator)

        def shown(threshold: int) -> Decimal:  # P(rows + Z > threshold), for all of one person's keys together
            return groups * a ** (threshold + 1 - rows) / (1 + a)

        assert shown(noise.threshold) <= most
        assert noise.threshold == rows - 1 or shown(noise.threshold - 1) > most


ARRAYS = {
    "count": lambda x: dp.count(x, epsilon=1.0),
    "sum": lambda x: dp.sum(x, bounds=(-3, 10), epsilon=1.0),
    "mean": lambda x: dp.mean(x, bounds=(18, 100), epsilon=1.0),
    "variance": lambda x: dp.variance(x, bounds=(18, 100), epsilon=1.0),
    "median": lambda x: dp.median(x, bounds=(18, 100), epsilon=1.0, step=1),
    "quantiles": lambda x: dp.quantiles(x, [0.25, 0.75], bounds=(18, 100), epsilon=1.0),
    "histogram": lambda x: dp.histogram(x, edges=[18, 40, 60.5, 100], epsilon=1.0),
}
ELEMENT = st.one_of(st.none(), WILD, st.floats(-50, 150), st.integers(-(10**400), 10**400), st.text(max_size=3))


@pytest.mark.parametrize("name", ARRAYS)
@settings(max_examples=40)
@given(others=st.lists(ELEMENT, max_size=12), element=ELEMENT)
def test_replay_of_array_shortcuts_with_one_more_element_stays_within_epsilon(name, others, element):
    with record() as one:
        ARRAYS[name](others)
    with replay(one) as two:
        ARRAYS[name]([*others, element])
    check_neighbours(one, two)
    assert lost(one, two) <= 1.0 + 1e-9


@pytest.mark.parametrize("name", ["mean", "variance"])
@settings(max_examples=40)
@given(others=st.lists(ELEMENT, min_size=1, max_size=12), pair=st.tuples(ELEMENT, ELEMENT))
def test_replay_with_public_size_and_one_element_exchanged_stays_within_epsilon(name, others, pair):
    ask = {"mean": dp.mean, "variance": dp.variance}[name]
    size = len(others) + 1
    with record() as one:
        ask([*others, pair[0]], bounds=(18, 100), epsilon=1.0, size=size)
    with replay(one) as two:
        ask([*others, pair[1]], bounds=(18, 100), epsilon=1.0, size=size)
    check_neighbours(one, two)
    assert lost(one, two) <= 1.0 + 1e-9


@settings(max_examples=40)
@given(others=st.lists(ELEMENT, max_size=8), pair=st.tuples(ELEMENT, ELEMENT))
def test_replay_of_records_with_one_exchanged_stays_within_epsilon(others, pair):
    from pydplib.release.records import release_records

    with record() as one:
        release_records([*others, pair[0]], dp.Number(18, 100), epsilon=1.0)
    with replay(one) as two:
        release_records([*others, pair[1]], dp.Number(18, 100), epsilon=1.0)
    check_neighbours(one, two)
    assert lost(one, two) <= 1.0 + 1e-9
