"""The public audit: tight mechanisms are certified, innocent ones never accused, planted faults caught."""

from __future__ import annotations

import json
import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import pydplib as dp
from pydplib.attack import (
    ArrayNeighbours,
    AtTap,
    EventTester,
    Pair,
    audit,
    column_strategy,
    faults,
    replay_neighbours,
    subjects,
    table_strategy,
)
from pydplib.attack.audits.neighbours import mechanism_neighbours
from pydplib.attack.audits.protocols import as_mechanism
from pydplib.errors import DataError, ParameterError
from pydplib.mechanisms import Exponential, Gaussian, Geometric, Laplace, PermuteAndFlip
from pydplib.noise.tap import add_laplace

ALL = {subject.name: subject for subject in subjects(1.0)}
PLANTED = {fault.name: fault for fault in faults(1.0, seed=1)}
LONG = ("unclamped", "open-size", "data-bounds")  # whole releases, drawn many times
SURE = 1 - 1e-6  # a false alarm in these tests: below one in a million


@pytest.mark.parametrize("name", [name for name, subject in ALL.items() if subject.tight])
def test_audit_certifies_nine_tenths_of_the_epsilon_of_tight_mechanisms(name):
    subject = ALL[name]
    verdict = audit(subject.mechanism, subject.claim, neighbours=subject.neighbours, seed=5)
    assert not verdict.refuted
    assert 0.9 <= verdict.tightness <= 1


@pytest.mark.parametrize("name", ALL)
def test_audit_does_not_accuse_the_innocent(name):
    subject = ALL[name]
    verdict = audit(subject.mechanism, subject.claim, neighbours=subject.neighbours, confidence=SURE)
    assert not verdict.refuted, verdict.sentence
    assert all(replayed.outcome != "differs" for replayed in verdict.replayed)


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.slow) if name in LONG else name for name in PLANTED]
)
def test_audit_catches_every_planted_fault(name):
    fault = PLANTED[name]
    verdict = audit(fault.mechanism, fault.claim, neighbours=fault.neighbours, draws=fault.draws, seed=2)
    assert verdict.refuted
    assert verdict.sentence.startswith("Refuted")


@pytest.mark.parametrize(
    ("name", "least"),
    [("half-scale", 1.5), ("float-noise", 3.0), pytest.param("unclamped", 3.0, marks=pytest.mark.slow)],
)
def test_audit_proves_faults_from_outputs_alone(name, least):
    fault = PLANTED[name]
    verdict = audit(fault.mechanism, fault.claim, neighbours=fault.neighbours, draws=fault.draws, seed=2)
    assert verdict.epsilon_at_least > least


@pytest.mark.parametrize("name", ["data-bounds", "open-size"])
def test_audit_sees_in_the_replay_that_data_choose_the_noise(name):
    fault = PLANTED[name]
    replayed = [replay_neighbours(fault.mechanism, pair) for pair in fault.neighbours()]
    assert "differs" in {one.outcome for one in replayed}
    assert any("private data decide" in one.words for one in replayed)


def test_audit_of_the_same_outputs_by_calls_and_at_the_tap_agrees():
    # The fast way (noise drawn many times) against the slow one (the whole release called for each output).
    run = lambda column: dp.count(column, epsilon=1.0)  # noqa: E731
    pair = Pair([1.0] * 5, [1.0] * 4, "one person leaves")
    slow = audit(run, dp.PureDP(1.0), neighbours=[pair], draws=4_000, confidence=SURE, seed=1)
    fast = audit(AtTap(run), dp.PureDP(1.0), neighbours=[pair], draws=4_000, confidence=SURE, seed=1)
    for verdict in (slow, fast):
        assert 0.5 < verdict.epsilon_at_least <= 1
        assert verdict.replayed[0].outcome == "agrees"


def test_audit_of_a_mean_over_awkward_columns_finds_nothing():
    run = AtTap(lambda column: dp.mean(column, bounds=(18, 100), epsilon=1.0))
    verdict = audit(run, dp.PureDP(1.0), neighbours=ArrayNeighbours(bounds=(18, 100)), draws=20_000, confidence=SURE)
    assert not verdict.refuted
    assert len(verdict.evidence) == len(verdict.replayed) == 4


def test_audit_of_a_mean_with_declared_size_holds_under_substitution():
    run = AtTap(lambda column: dp.mean(column, bounds=(0, 1), epsilon=1.0, size=20))
    neighbours = ArrayNeighbours(bounds=(0, 1), size=20, relation="substitute")
    verdict = audit(run, dp.PureDP(1.0, relation="substitute"), neighbours=neighbours, seed=1)
    assert not verdict.refuted
    assert verdict.tightness > 0.9


def test_audit_of_paper_mode_refutes_the_printed_epsilon():
    ages = np.linspace(40.0, 90.0, 51)
    result = dp.dp_calculate(ages, "mean", "high")
    neighbours = np.append(ages[1:], 40.0), np.append(ages[1:], 90.0)

    def last_record(column):
        return np.asarray(dp.dp_calculate(column, "mean", "high").dp_data)[-1]

    verdict = audit(last_record, dp.PureDP(result.epsilon), neighbours=neighbours, draws=1_500, seed=1)
    assert verdict.refuted
    assert verdict.epsilon_at_least > 5 * result.epsilon


def test_audit_judges_zcdp_and_approximate_claims_at_their_delta():
    rho = audit(Gaussian(1, rho=0.5), seed=1)
    assert not rho.refuted
    assert rho.delta in (1e-2, 1e-4)
    wrong = audit(Gaussian(1, rho=8.0), dp.guarantee.ZCDP(0.5), seed=1)
    assert wrong.refuted
    wide = audit(Gaussian(1, rho=8.0), dp.ApproxDP(1.0, 1e-2), seed=1)
    assert wide.refuted
    assert "at delta 0.01" in wide.sentence


@pytest.mark.parametrize("claim", [dp.guarantee.NoGuarantee("none"), dp.guarantee.KAnonymous(5), "epsilon 1"])
def test_audit_without_a_claim_of_differential_privacy_is_refused(claim):
    with pytest.raises(ParameterError, match="claim of differential privacy"):
        audit(Laplace(1, 1.0), claim)


def test_audit_of_a_function_without_neighbours_says_what_to_give():
    with pytest.raises(ParameterError, match="ArrayNeighbours"):
        audit(lambda column: 0.0, dp.PureDP(1.0))


def test_audit_of_something_that_cannot_be_run_is_refused():
    with pytest.raises(ParameterError, match=r"release\(\)"):
        audit(42, dp.PureDP(1.0), neighbours=(0, 1))


@pytest.mark.parametrize("confidence", [0.0, 1.0, 2.0])
def test_audit_with_an_impossible_confidence_is_refused(confidence):
    with pytest.raises(ParameterError, match="confidence"):
        audit(Laplace(1, 1.0), confidence=confidence)


def test_tester_with_too_few_outputs_is_refused():
    with pytest.raises(DataError, match="at least 20 outputs"):
        EventTester()(np.zeros(5), np.zeros(5), delta=0.0, chance=0.001)


def test_tester_is_wrong_as_rarely_as_promised():
    # 400 audits of equal distributions at 95 %: the bound may exceed 0 in at most 5 % of them.
    rng = np.random.default_rng(1)
    wrong = 0
    for _ in range(400):
        first, second = rng.integers(0, 6, 300), rng.integers(0, 6, 300)
        wrong += EventTester()(first, second, delta=0.0, chance=0.05).epsilon_at_least > 0
    assert wrong <= 20 + 4 * math.sqrt(20)


def test_tester_of_rows_finds_the_coordinate_that_moves():
    rng = np.random.default_rng(2)
    first = rng.integers(0, 2, (20_000, 3))
    second = first.copy()
    second[:, 1] = rng.random(20_000) < 0.9
    assert EventTester()(first, second, delta=0.0, chance=0.001).epsilon_at_least > 0.4


def test_verdict_is_plain_json():
    verdict = audit(Geometric(1, 1.0), draws=2_000, seed=1)
    plain = json.loads(json.dumps(verdict.to_dict()))
    assert plain["refuted"] is False
    assert plain["evidence"][0]["draws"] > 0
    assert str(verdict) == plain["sentence"]


def test_audit_with_one_seed_repeats_itself():
    runs = [audit(PermuteAndFlip(1, 1.0), draws=5_000, seed=seed).epsilon_at_least for seed in (1, 1, 2)]
    assert runs[0] == runs[1] != runs[2]


def test_neighbours_of_the_exponential_mechanism_lose_almost_all_of_epsilon():
    pair = mechanism_neighbours(Exponential(1, 1.0))[0]
    chances = [
        math.exp(scores[0] / 2) / sum(math.exp(score / 2) for score in scores) for scores in (pair.first, pair.second)
    ]
    assert math.log(chances[0] / chances[1]) > 0.9


def test_at_tap_without_a_noise_call_says_so():
    with pytest.raises(ParameterError, match="without AtTap"):
        AtTap(lambda column: 1.0).sample([1], 3)


def test_replay_of_a_function_that_draws_elsewhere_can_say_nothing():
    assert replay_neighbours(lambda x: x, Pair(1, 2)).outcome == "outside"


def test_replay_of_a_refused_neighbour_is_a_difference():
    def picky(column):
        if len(column) < 3:
            raise DataError("Too few.")
        return Geometric(1, 1.0).release(len(column))

    assert replay_neighbours(picky, Pair([1, 2, 3], [1, 2])).outcome == "differs"


def test_as_mechanism_of_a_plain_function_calls_it_for_each_output():
    calls = []
    sampled = as_mechanism(lambda data: calls.append(data) or len(calls)).sample("d", 5)
    assert sampled.tolist() == [1, 2, 3, 4, 5]


@settings(max_examples=60, deadline=None)
@given(column_strategy(st.floats(-1e6, 1e6) | st.just(math.nan)))
def test_replay_of_a_sum_on_any_neighbouring_columns_agrees(pair):
    run = lambda column: dp.sum(column, bounds=(0, 10), epsilon=1.0)  # noqa: E731
    assert replay_neighbours(run, Pair(*pair)).outcome == "agrees"


@settings(max_examples=60, deadline=None)
@given(column_strategy(st.integers(0, 5), relation="substitute"))
def test_neighbouring_columns_by_substitution_differ_in_one_place_at_most(pair):
    first, second = pair
    assert len(first) == len(second)
    assert sum(a != b for a, b in zip(first, second, strict=True)) <= 1


@settings(max_examples=60, deadline=None)
@given(table_strategy(age=st.integers(18, 100)))
def test_neighbouring_tables_differ_in_the_rows_of_one_person(pair):
    first, second = pair
    rows = [sorted(zip(table["person"], table["age"], strict=True)) for table in pair]
    gone = [row for row in rows[0] if row not in rows[1]]
    assert len({person for person, _ in gone}) <= 1
    assert not set(second["person"]) & {person for person, _ in gone}

    def counted(table):
        people = np.unique(table["person"]).size
        return add_laplace(np.array([people]), Fraction(1), sensitivity=1)

    assert replay_neighbours(counted, Pair(first, second)).outcome == "agrees"


def test_strategies_need_a_column_besides_the_person():
    with pytest.raises(ParameterError, match="at least one column"):
        table_strategy()


# -- outputs that are no numbers ----------------------------------------------------------------------------


def _refused(column):
    if len(column) < 3:
        raise DataError("Too few.")
    return dp.count(column, epsilon=1.0).value


def _sometimes_nothing(column):
    noisy = dp.count(column, epsilon=1.0)
    return math.nan if len(column) < 3 and noisy.value % 2 else 0.0


@pytest.mark.parametrize(
    "mechanism",
    [
        _refused,
        _sometimes_nothing,
        lambda column: 1 / (len(column) - 2),
        lambda column: [0.0] * len(column),
        lambda column: None if len(column) < 3 else 1.0,
        lambda column: 2**80 + len(column),
        lambda column: math.inf if len(column) < 3 else 0.0,
    ],
    ids=["refusal", "nothing now and then", "crash", "length", "none", "large", "infinite"],
)
def test_audit_sees_that_one_neighbour_is_answered_otherwise(mechanism):
    verdict = audit(mechanism, dp.PureDP(1.0), neighbours=([1.0, 2.0, 3.0], [1.0, 2.0]), draws=600, seed=1)
    assert verdict.refuted


def test_audit_of_what_refuses_everybody_says_so_and_of_a_mistake_shows_it():
    def refuses(column):
        raise DataError("Never.")

    with pytest.raises(DataError, match="no output on either"):
        audit(refuses, dp.PureDP(1.0), neighbours=([1.0], []), draws=50)
    with pytest.raises(AttributeError):
        audit(lambda column: column.nothing, dp.PureDP(1.0), neighbours=([1.0], []), draws=50)


def test_audit_of_refusals_that_do_not_depend_on_the_data_accuses_nobody():
    rng = np.random.default_rng(3)

    def now_and_then(column):
        if rng.random() < 0.3:
            raise DataError("Not today.")
        return float(rng.random())

    assert not audit(now_and_then, dp.PureDP(1.0), neighbours=([1.0, 2.0], [1.0]), draws=2_000).refuted
