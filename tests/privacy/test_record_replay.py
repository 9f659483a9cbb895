"""Record and replay: neighbours made by Hypothesis pass the same noise calls and move by at most the sensitivity."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pydplib.mechanisms import CoinFlip, Exponential, Gaussian, Geometric, Laplace, PermuteAndFlip, RandomizedResponse
from pydplib.noise.testing import check_neighbours, record, replay

LOW, HIGH = 18.0, 100.0
# Ages as they come: also impossible ones, which clamping must handle.
AGES = st.lists(st.one_of(st.floats(-1e3, 1e3), st.integers(0, 120)), max_size=12)
AGE = st.one_of(st.floats(-1e9, 1e9), st.integers(-(10**6), 10**6))


def _clamp(ages):
    return [min(max(float(a), LOW), HIGH) for a in ages]


def _histogram(ages):
    return np.histogram(_clamp(ages), bins=[18, 40, 60, 80, 100.5])[0]


def count(ages):
    return Geometric(1, 1.0).release(len(ages))


def total(ages):
    # Whole thousandths, so that float addition cannot move a sum by more than a person's share.
    return Laplace(HIGH, 0.5).release(sum(round(a * 1000) for a in _clamp(ages)) / 1000)


def histogram(ages):
    return Geometric(1, 1.0).release(_histogram(ages))


def histogram_as_decimals(ages):
    return Laplace(1, 1.0, max_changes=1).release(_histogram(ages))


def histogram_gaussian(ages):
    return Gaussian(1, rho=0.5).release(_histogram(ages))


def _rank_scores(ages):
    clamped = _clamp(ages)
    return [-abs(sum(a < c for a in clamped) - sum(a > c for a in clamped)) for c in range(18, 101, 5)]


def median(ages):
    return Exponential(1, 1.0).release(_rank_scores(ages))


def median_by_flips(ages):
    return PermuteAndFlip(1, 1.0).release(_rank_scores(ages))


def two_questions(ages):
    return count(ages), total(ages)


ADD_REMOVE = [
    count,
    total,
    histogram,
    histogram_as_decimals,
    histogram_gaussian,
    median,
    median_by_flips,
    two_questions,
]


def _run_both(question, first, second):
    with record() as one:
        answer = question(first)
    with replay(one) as two:
        again = question(second)
    assert repr(again) == repr(answer)
    check_neighbours(one, two)


@pytest.mark.parametrize("question", ADD_REMOVE, ids=lambda q: q.__name__)
@settings(max_examples=60)
@given(ages=AGES, new=AGE, where=st.integers(0, 12))
def test_replay_one_person_more_stays_within_every_claim(question, ages, new, where):
    _run_both(question, ages, [*ages[:where], new, *ages[where:]])


@settings(max_examples=60)
@given(answers=st.lists(st.sampled_from(["y", "n", "other"]), min_size=1, max_size=8), data=st.data())
def test_replay_one_answer_exchanged_stays_within_randomised_response(answers, data):
    where = data.draw(st.integers(0, len(answers) - 1))
    changed = [*answers[:where], data.draw(st.sampled_from(["y", "n", "other"])), *answers[where + 1 :]]
    _run_both(RandomizedResponse(["y", "n", "other"], 1.0).release, answers, changed)


@settings(max_examples=60)
@given(answers=st.lists(st.booleans(), min_size=1, max_size=8), data=st.data())
def test_replay_one_answer_exchanged_stays_within_the_coin_flip(answers, data):
    where = data.draw(st.integers(0, len(answers) - 1))
    _run_both(CoinFlip().release, answers, [*answers[:where], not answers[where], *answers[where + 1 :]])


@settings(max_examples=60)
@given(values=st.lists(st.floats(0, 1), min_size=1, max_size=8), data=st.data())
def test_replay_array_moved_by_the_sensitivity_in_all_coordinates_stays_within(values, data):
    moves = [data.draw(st.floats(0, 1)) for _ in values]
    whole = math.fsum(moves) or 1.0
    second = [v + m / whole * 0.999999 for v, m in zip(values, moves, strict=True)]
    _run_both(Laplace(1, 1.0).release, values, second)
    root = math.sqrt(math.fsum(m * m for m in moves)) or 1.0
    second = [v + m / root * 0.999999 for v, m in zip(values, moves, strict=True)]
    _run_both(Gaussian(1, rho=0.5).release, values, second)


# --- planted faults: each question below breaks its claim, and the replay must say so ---


def unclamped_total(ages):
    return Laplace(HIGH, 0.5).release(float(sum(ages)))


def bounds_from_the_data(ages):
    return Laplace(max(ages) - min(ages) + 1.0, 0.5).release(sum(ages))


def epsilon_from_the_data(ages):
    return Geometric(1, 1.0 + len(ages) / 100).release(len(ages))


def histogram_of_twos(ages):
    return Geometric(1, 1.0).release(_histogram(ages) * 2)


def keys_from_the_data(ages):
    return Geometric(1, 1.0).release(np.unique(_clamp(ages), return_counts=True)[1])


def second_question_where_many(ages):
    return count(ages), (total(ages) if len(ages) > 3 else None)


def mean_by_the_exact_count(ages):
    return Laplace(HIGH - LOW, 0.5).release(sum(_clamp(ages)) / len(ages) * len(ages) + 3 * HIGH * len(ages))


@pytest.mark.parametrize(
    ("question", "second"),
    [
        (unclamped_total, [60, 61, 62, 1e6]),
        (bounds_from_the_data, [60, 61, 62, 99]),
        (epsilon_from_the_data, [60, 61, 62, 63]),
        (histogram_of_twos, [60, 61, 62, 63]),
        (keys_from_the_data, [60, 61, 62, 63]),
        (second_question_where_many, [60, 61, 62, 63]),
        (mean_by_the_exact_count, [60, 61, 62, 63]),
    ],
    ids=lambda v: getattr(v, "__name__", ""),
)
def test_replay_planted_fault_is_caught(question, second):
    with pytest.raises(AssertionError):
        _run_both(question, [60, 61, 62], second)


def test_replay_hypothesis_finds_a_planted_fault_by_itself():
    @settings(max_examples=200, database=None)
    @given(ages=AGES, new=AGE)
    def search(ages, new):
        _run_both(unclamped_total, ages, [*ages, new])

    with pytest.raises(AssertionError):
        search()
