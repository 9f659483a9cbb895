"""RandomizedResponse and CoinFlip: kinds of values, probabilities, debiasing, margins, refusals."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pydplib.errors import CalibrationError, DataError, ParameterError
from pydplib.guarantee import LocalDP
from pydplib.mechanisms import CoinFlip, RandomizedResponse
from pydplib.noise.testing import record

SURE = 1000.0  # an epsilon at which values are practically always kept


def test_randomized_response_kinds_of_values_come_back_as_they_came():
    mechanism = RandomizedResponse(["y", "n"], SURE)
    assert mechanism.release("y") == "y"
    assert mechanism.release(np.str_("n")) == "n"
    assert mechanism.release(["y", "n", "y"]) == ["y", "n", "y"]
    assert mechanism.release(("y",)) == ["y"]
    assert mechanism.release([]) == []
    array = mechanism.release(np.array([["y", "n"], ["n", "n"]]))
    assert array.tolist() == [["y", "n"], ["n", "n"]]
    assert mechanism.release(np.array("y")) == "y"


def test_randomized_response_numbers_and_flags_keep_their_type():
    numbers = RandomizedResponse([1, 2, 3, 4, 5], SURE)
    assert numbers.release(np.int64(3)) == 3
    assert numbers.release(np.array([1, 5])).dtype.kind == "i"
    flags = RandomizedResponse(epsilon=SURE)
    assert flags.release(True) is True
    assert flags.release(np.array([True, False])).dtype == np.bool_


def test_randomized_response_mixed_categories_stay_mixed():
    mechanism = RandomizedResponse([1, 2, "other"], SURE)
    released = mechanism.release(np.array([1, "other"], dtype=object))
    assert released.tolist() == [1, "other"]
    assert mechanism.release(np.array([1, 2])).tolist() == [1, 2]


@pytest.mark.parametrize("values", [["canary-71"], "canary-71", [None], [float("nan")], [["y"], ["x"]], [{}]])
def test_randomized_response_unknown_value_raises_without_quoting_it(values):
    with pytest.raises(DataError) as caught:
        RandomizedResponse(["y", "n"], 1.0).release(values)
    assert "canary" not in str(caught.value)
    assert caught.value.__suppress_context__  # nor in the traceback: a KeyError would show it


@pytest.mark.parametrize("codes", [[2], [-1], [0, 5], [0.5], [[0, 1]]])
def test_randomized_response_code_out_of_range_raises(codes):
    # Kept as it is, such a code could come from one record only: no finite epsilon.
    with pytest.raises(DataError, match="codes"):
        RandomizedResponse(["y", "n"], 1.0).release_codes(np.array(codes))


@pytest.mark.parametrize("categories", [[], ["a"], ["a", "a"], [1, True], [1, 1.0]])
def test_randomized_response_bad_categories_raise(categories):
    with pytest.raises(ParameterError, match="two different"):
        RandomizedResponse(categories, 1.0)


@pytest.mark.parametrize("epsilon", [None, 0, -1, math.nan, math.inf, "1"])
def test_randomized_response_bad_epsilon_raises(epsilon):
    with pytest.raises(ParameterError, match="no default"):
        RandomizedResponse(["y", "n"], epsilon)


def test_randomized_response_probabilities_fit_the_spec():
    # Flip shares 2.5, 7.5 and 15 % of a yes/no value cost epsilon 3.66, 2.51 and 1.73.
    for flip, epsilon in ((0.025, 3.66), (0.075, 2.51), (0.15, 1.73)):
        mechanism = RandomizedResponse.from_flip_probability(flip)
        assert round(mechanism.epsilon, 2) == epsilon
        assert mechanism.flip_probability == pytest.approx(flip, rel=1e-12)
        assert mechanism.scale == mechanism.flip_probability


@given(flip=st.floats(1e-6, 0.79))
def test_randomized_response_from_flip_probability_is_the_inverse_for_five(flip):
    mechanism = RandomizedResponse.from_flip_probability(flip, [1, 2, 3, 4, 5])
    assert mechanism.flip_probability == pytest.approx(flip, rel=1e-9)


@pytest.mark.parametrize(("flip", "categories"), [(0, "ab"), (0.5, "ab"), (0.8, "abcde"), (math.nan, "ab"), (0.1, "a")])
def test_randomized_response_from_flip_probability_out_of_range_raises(flip, categories):
    with pytest.raises(ParameterError):
        RandomizedResponse.from_flip_probability(flip, list(categories))


@given(shares=st.lists(st.floats(0.01, 1), min_size=2, max_size=6), epsilon=st.floats(1e-8, 20))
def test_randomized_response_debias_undoes_the_expected_noise(shares, epsilon):
    true = np.array(shares) / sum(shares)
    mechanism = RandomizedResponse(range(len(true)), epsilon)
    keep, hit = 1 - mechanism.flip_probability, mechanism.flip_probability / (len(true) - 1)
    expected = true * keep + (1 - true) * hit
    assert mechanism.debias(expected) == pytest.approx(true, abs=1e-13 / epsilon + 1e-9)


def test_randomized_response_guarantee_is_local():
    assert RandomizedResponse(["y", "n"], 1.5).guarantee == LocalDP(1.5)
    assert CoinFlip().guarantee == LocalDP(math.log(3))


def test_randomized_response_release_passes_the_tap_with_its_epsilon():
    with record() as trace:
        RandomizedResponse(["a", "b", "c"], 1.5).release(["a", "c"])
    (passed,) = trace.passed
    assert (passed.call.kind, passed.call.values, passed.call.epsilon) == ("response", 3, 1.5)
    assert passed.exact.tolist() == [0, 2]


def test_coin_flip_kinds_of_values_come_back_as_they_came():
    assert type(CoinFlip().release(True)) is bool
    assert type(CoinFlip().release(0)) is bool
    for array in ([True, False], np.array([[1, 0]]), np.array([1, 0], dtype=np.uint8)):
        assert CoinFlip().release(array).shape == np.shape(array)
        assert CoinFlip().release(array).dtype == np.bool_


@pytest.mark.parametrize("values", [2, [0, 1, 2], "yes", None, [None], 0.5, [True, None]])
def test_coin_flip_anything_but_yes_and_no_raises(values):
    with pytest.raises(DataError, match="yes/no"):
        CoinFlip().release(values)


def test_coin_flip_every_fall_of_two_coins_tells_the_truth_three_times_in_four(monkeypatch):
    from pydplib.noise import tap

    monkeypatch.setattr(tap, "random_bytes", lambda n, source=None: bytes(range(n)))
    assert CoinFlip().release([True] * 4).tolist() == [False, True, True, True]
    assert CoinFlip().release([False] * 4).tolist() == [False, False, True, False]


def test_coin_flip_debias_undoes_the_expected_noise():
    for share in (0.0, 0.3, 1.0):
        assert CoinFlip().debias(0.75 * share + 0.25 * (1 - share)) == pytest.approx(share)


@given(margin=st.floats(0.01, 0.5), records=st.integers(100, 10**6))
def test_randomized_response_from_margin_is_the_inverse(margin, records):
    if RandomizedResponse(epsilon=700.0).margin95(records) > margin * 0.999:
        with pytest.raises(CalibrationError):
            RandomizedResponse.from_margin(margin * 0.99, records=records)
        return
    mechanism = RandomizedResponse.from_margin(margin, records=records)
    assert mechanism.margin95(records) == pytest.approx(margin, rel=1e-6)


def test_coin_flip_from_margin_reached_or_refused():
    assert CoinFlip.from_margin(CoinFlip().margin95(920), records=920) == CoinFlip()
    with pytest.raises(CalibrationError, match="RandomizedResponse"):
        CoinFlip.from_margin(CoinFlip().margin95(920) * 0.99, records=920)
    with pytest.raises(ParameterError):
        CoinFlip.from_margin(0, records=920)


@pytest.mark.parametrize("confidence", [0.0, 1.0, 2.0, math.nan])
def test_response_margin_bad_arguments_raise(confidence):
    for mechanism in (RandomizedResponse(epsilon=1.0), CoinFlip()):
        with pytest.raises(ParameterError, match="confidence"):
            mechanism.margin(10, confidence)
        with pytest.raises(ParameterError, match="record"):
            mechanism.margin(0)


def test_randomized_response_tiny_epsilon_margin_is_finite():
    assert math.isfinite(RandomizedResponse(epsilon=1e-17).margin95(100))
