"""Guarantees: plain sentences that never promise more than the numbers behind them."""

from __future__ import annotations

import dataclasses
import math
import re
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pydplib.errors import ParameterError
from pydplib.guarantee import ZCDP, ApproxDP, Guarantee, KAnonymous, LocalDP, NoGuarantee, PureDP, zcdp_epsilon

EPSILONS = st.floats(1e-12, 1e6)
WITH_EPSILON = [PureDP, LocalDP, lambda e: ApproxDP(e, 1e-6)]


def _number_after(word: str, sentence: str) -> float:
    return float(re.search(rf"{word} ([0-9.e+-]+?)[:,. ](?![0-9])", sentence).group(1))


@pytest.mark.parametrize("cls", WITH_EPSILON, ids=["pure", "local", "approx"])
@given(epsilon=EPSILONS)
def test_sentence_epsilon_is_never_understated(cls, epsilon):
    said = _number_after("epsilon", cls(epsilon).sentence)
    assert epsilon * (1 - 1e-12) <= said <= epsilon * 1.0011 + 1e-300


@given(epsilon=st.floats(1e-12, 50))
def test_sentence_chance_of_a_right_guess_is_never_understated(epsilon):
    sentence = PureDP(epsilon).sentence
    true = 100 / (1 + math.exp(-epsilon))
    if "practically no bound" in sentence:
        assert epsilon > 11
        return
    said = float(re.search(r"at most ([0-9.]+) %", sentence).group(1))
    assert true <= said + 1e-9
    assert said < 100
    assert said - true <= 0.1 + 1e-9


@given(delta=st.floats(1e-300, 0.5))
def test_sentence_delta_is_never_understated(delta):
    sentence = ApproxDP(1.0, delta).sentence
    said = _number_after("delta", sentence)
    assert delta * (1 - 1e-12) <= said <= delta * 1.0011


@given(rho=st.floats(1e-9, 1e3))
def test_sentence_rho_and_its_epsilon_are_never_understated(rho):
    sentence = ZCDP(rho).sentence
    assert _number_after("rho", sentence) >= rho * (1 - 1e-12)
    assert _number_after("epsilon", sentence) >= zcdp_epsilon(rho, 1e-6) * (1 - 1e-12)


@pytest.mark.parametrize(
    ("guarantee", "sentence"),
    [
        (
            PureDP(1.0),
            "Differentially private with epsilon 1: a fair guess (50 %) about one person can become at most "
            "73.2 % right.",
        ),
        (
            PureDP(0.1 + 0.2),
            "Differentially private with epsilon 0.3: a fair guess (50 %) about one person can become at most "
            "57.5 % right.",
        ),
        (
            PureDP(1.00001, unit="record"),
            "Differentially private per record with epsilon 1.001: a fair guess (50 %) about one person can become "
            "at most 73.2 % right.",
        ),
        (
            LocalDP(12345.6),
            "Every record by itself is private with epsilon 12346: practically no bound on what can be learnt about "
            "one person.",
        ),
        (NoGuarantee("the range was taken from the data."), "No privacy guarantee: the range was taken from the data."),
    ],
)
def test_sentence_reads_as_it_should(guarantee, sentence):
    assert guarantee.sentence == str(guarantee) == sentence


def test_sentence_k_anonymity_lists_further_models_and_says_what_it_is_not():
    sentence = KAnonymous(5, ("3-diversity (distinct) of diagnosis",)).sentence
    assert sentence.startswith("5-anonymity, 3-diversity (distinct) of diagnosis: nobody can be narrowed down")
    assert "not differential privacy" in sentence


@pytest.mark.parametrize("cls", WITH_EPSILON, ids=["pure", "local", "approx"])
@pytest.mark.parametrize("epsilon", [0, -1, math.nan, math.inf, None, "1", True, [1.0], Fraction(1, 2)])
def test_guarantee_bad_epsilon_raises(cls, epsilon):
    with pytest.raises(ParameterError, match="no default"):
        cls(epsilon)


@pytest.mark.parametrize("delta", [0, 1, -0.1, 2, math.nan, None, "1e-6", [1e-6]])
def test_approx_dp_bad_delta_raises(delta):
    with pytest.raises(ParameterError, match="delta"):
        ApproxDP(1.0, delta)


@pytest.mark.parametrize("k", [0, -1, 2.5, "5", None])
def test_k_anonymous_bad_k_raises(k):
    with pytest.raises(ParameterError, match="whole number"):
        KAnonymous(k)


@pytest.mark.parametrize("reason", ["", "  "])
def test_no_guarantee_without_a_reason_raises(reason):
    with pytest.raises(ParameterError, match="reason"):
        NoGuarantee(reason)


def test_guarantees_are_frozen_hashable_values_of_one_closed_union():
    values = [PureDP(1.0), ApproxDP(1.0, 1e-6), ZCDP(0.5), LocalDP(1.0), KAnonymous(5), NoGuarantee("x")]
    assert {type(v) for v in values} == set(Guarantee.__args__)
    assert len(set(values)) == len(values)
    for value in values:
        assert isinstance(value, Guarantee)
        with pytest.raises(dataclasses.FrozenInstanceError):
            setattr(value, dataclasses.fields(value)[0].name, "no")


def test_guarantees_relations_are_those_of_their_kind():
    assert PureDP(1.0).relation == "add_remove" and PureDP(1.0).unit == "person"
    assert LocalDP(1.0).relation == "local" and LocalDP(1.0).unit == "record"


@pytest.mark.parametrize(("rho", "delta"), [(-1, 0.1), (math.nan, 0.1), (math.inf, 0.1), (1, 0), (1, 1), (1, math.nan)])
def test_zcdp_epsilon_bad_parameters_raise(rho, delta):
    with pytest.raises(ParameterError):
        zcdp_epsilon(rho, delta)


@given(rho=st.floats(1e-12, 1e6), delta=st.floats(1e-300, 0.99))
def test_zcdp_epsilon_is_finite_and_grows_with_rho(rho, delta):
    epsilon = zcdp_epsilon(rho, delta)
    assert 0 <= epsilon < math.inf
    assert zcdp_epsilon(rho * 1.01, delta) >= epsilon
    # Never better than the trivial bound, never worse than the simple one rho + 2 sqrt(rho ln(1/delta)).
    assert epsilon <= (rho + 2 * math.sqrt(rho * math.log(1 / delta))) * (1 + 1e-9)


def test_zcdp_epsilon_of_nothing_is_nothing():
    assert zcdp_epsilon(0.0, 1e-6) == 0.0


@pytest.mark.parametrize(("rho", "delta"), [(1e-310, 5e-324), (1e-320, 1e-310), (5e-324, 5e-324), (1e-300, 1e-300)])
def test_zcdp_epsilon_of_the_smallest_numbers_is_a_bound_not_nothing(rho, delta):
    # Every alpha gives a valid bound; the best is a little below 2 sqrt(rho ln(1/delta)) + rho.
    assert 0 < zcdp_epsilon(rho, delta) <= 2.01 * math.sqrt(rho) * math.sqrt(-math.log(delta))


@pytest.mark.parametrize("kind", [PureDP, ZCDP, LocalDP, lambda value, **more: ApproxDP(value, 1e-6, **more)])
def test_unit_is_a_known_word_and_part_of_the_sentence(kind):
    for word in ("patient", None, 5, ["person"]):
        with pytest.raises(ParameterError, match="unit is one of"):
            kind(0.5, unit=word)
        with pytest.raises(ParameterError, match="relation is one of"):
            kind(0.5, relation=word)
    assert " record" in kind(0.5, unit="record").sentence


@pytest.mark.parametrize("kind", [PureDP, ZCDP, LocalDP])
def test_numbers_beyond_every_float_are_refused(kind):
    with pytest.raises(ParameterError):
        kind(10**400)
