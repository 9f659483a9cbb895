"""The tap: what passes is recorded, replayed and compared; nothing else changes."""

from __future__ import annotations

import math
import threading
from fractions import Fraction

import numpy as np
import pytest

from pydplib.errors import ParameterError
from pydplib.noise.tap import (
    NoiseCall,
    add_gaussian,
    add_laplace,
    check_not_seeded,
    choose,
    current_tap,
    flip_and_choose,
    flip_coins,
    respond,
)
from pydplib.noise.testing import NoiseTrace, check_neighbours, record, replay, seeded

CALLS = {
    "laplace": lambda x: add_laplace(x, Fraction(3), sensitivity=2),
    "gaussian": lambda x: add_gaussian(x, Fraction(9), sensitivity_squared=4),
    "choice": lambda x: choose(x, Fraction(1, 2), sensitivity=1),
    "flip_choice": lambda x: flip_and_choose(x, Fraction(1, 2), sensitivity=1),
    "response": lambda x: respond(x, Fraction(1), categories=5),
    "coin_flip": lambda x: flip_coins(x % 2),
}


@pytest.mark.parametrize("kind", CALLS)
def test_record_each_call_notes_parameters_input_and_output(kind):
    exact = np.array([1, 0, 3, 4])
    with record() as trace:
        output = CALLS[kind](exact)
    (passed,) = trace.passed
    assert passed.call.kind == kind
    assert passed.call.size == 4
    assert np.array_equal(passed.exact, exact % 2 if kind == "coin_flip" else exact)
    assert np.array_equal(passed.output, output)


@pytest.mark.parametrize("kind", CALLS)
def test_replay_each_call_gives_the_recorded_output_whatever_the_input(kind):
    with record() as first:
        output = CALLS[kind](np.array([1, 0, 3, 4]))
    with replay(first) as second:
        again = CALLS[kind](np.array([0, 0, 3, 4]))
    assert np.array_equal(output, again)
    check_neighbours(first, second)


@pytest.mark.parametrize("kind", CALLS)
def test_check_neighbours_values_moved_too_far_raises(kind):
    far = np.array([0, 1, 0, 1]) if kind == "coin_flip" else np.array([3, 2, 3, 4])
    with record() as first:
        CALLS[kind](np.array([1, 0, 3, 4]))
    with replay(first) as second:
        CALLS[kind](far)
    with pytest.raises(AssertionError, match="claims sensitivity"):
        check_neighbours(first, second)


def test_tap_outside_a_test_is_absent():
    assert current_tap.get() is None


def test_record_ends_with_its_block_even_after_an_error():
    with pytest.raises(ZeroDivisionError), record():
        raise ZeroDivisionError
    assert current_tap.get() is None


def test_record_other_threads_are_not_listened_to():
    with record() as trace:
        thread = threading.Thread(target=lambda: CALLS["laplace"](np.array([1])))
        thread.start()
        thread.join()
    assert trace.passed == []


def test_record_later_change_of_the_input_does_not_change_the_trace():
    exact = np.array([1, 2])
    with record() as trace:
        CALLS["laplace"](exact)
    exact[:] = 99
    assert trace.passed[0].exact.tolist() == [1, 2]


def test_replay_other_parameters_raise():
    with record() as first:
        add_laplace(np.array([1]), Fraction(3), sensitivity=2)
    with replay(first), pytest.raises(AssertionError, match="differs"):
        add_laplace(np.array([1]), Fraction(3), sensitivity=1)
    with replay(first), pytest.raises(AssertionError, match="differs"):
        add_laplace(np.array([1, 2]), Fraction(3), sensitivity=2)


def test_replay_more_calls_raise():
    with replay(NoiseTrace()), pytest.raises(AssertionError, match="more noise"):
        CALLS["laplace"](np.array([1]))


def test_check_neighbours_fewer_calls_raise():
    with record() as first:
        CALLS["laplace"](np.array([1]))
    with replay(first) as second:
        pass
    with pytest.raises(AssertionError, match="different number"):
        check_neighbours(first, second)


def test_check_neighbours_other_shape_raises():
    with record() as first:
        add_laplace(np.array([[1, 2]]), Fraction(3), sensitivity=2)
    with replay(first) as second:
        add_laplace(np.array([1, 2]), Fraction(3), sensitivity=2)
    with pytest.raises(AssertionError, match="shape"):
        check_neighbours(first, second)


def test_check_neighbours_squared_distance_counts_for_gaussian():
    def run(x):
        return add_gaussian(np.array(x), Fraction(9), sensitivity_squared=4)

    for moved, ok in (([2, 0], True), ([1, 1], True), ([2, 1], False)):
        with record() as first:
            run([0, 0])
        with replay(first) as second:
            run(moved)
        if ok:
            check_neighbours(first, second)
        else:
            with pytest.raises(AssertionError, match="moved by 5"):
                check_neighbours(first, second)


def test_trace_fingerprint_depends_on_parameters_alone():
    def trace_of(value, scale):
        with record() as trace:
            add_laplace(np.array([value]), scale, sensitivity=1)
        return trace.fingerprint()

    assert trace_of(1, Fraction(2)) == trace_of(99, Fraction(2)) != trace_of(1, Fraction(3))


@pytest.mark.parametrize(
    ("call", "epsilon"),
    [
        (NoiseCall("laplace", 1, Fraction(4), 2), 0.5),
        (NoiseCall("gaussian", 1, Fraction(4), 2), 0.25),
        (NoiseCall("choice", 1, Fraction(1, 4), 2), 1.0),
        (NoiseCall("flip_choice", 1, Fraction(1, 4), 2), 1.0),
        (NoiseCall("response", 1, Fraction(3, 2), 1, values=5), 1.5),
        (NoiseCall("coin_flip", 1, Fraction(1, 4), 1, values=2), math.log(3)),
    ],
)
def test_noise_call_epsilon_follows_from_its_parameters(call, epsilon):
    assert call.epsilon == pytest.approx(epsilon, rel=1e-15)


def test_add_laplace_and_gaussian_shape_is_kept():
    exact = np.arange(6).reshape(2, 3)
    assert add_laplace(exact, Fraction(1), sensitivity=1).shape == (2, 3)
    assert add_gaussian(exact, Fraction(1), sensitivity_squared=1).shape == (2, 3)


def test_seeded_noise_repeats_itself_and_leaves_no_tap_behind():
    from pydplib.mechanisms import CoinFlip, Exponential, Gaussian, Laplace, PermuteAndFlip, RandomizedResponse

    makers = [
        (Laplace(1, 1.0), np.zeros(50)),
        (Gaussian(1, rho=0.5), np.zeros(50)),
        (CoinFlip(), np.ones(64, dtype=bool)),
        (RandomizedResponse([0, 1, 2], 0.5), np.zeros(64, dtype=int)),
        (Exponential(1, 0.1), [0] * 1000),
        (PermuteAndFlip(1, 0.1), [0] * 1000),
    ]
    for mechanism, values in makers:
        outputs = []
        for seed in (3, 3, 4):
            with seeded(seed):
                outputs.append(np.asarray(mechanism.release(values)).tolist())
        assert outputs[0] == outputs[1] != outputs[2]
    assert current_tap.get() is None


@pytest.mark.parametrize(
    "add",
    [
        lambda exact: add_laplace(exact, Fraction(10**6), sensitivity=1),
        lambda exact: add_gaussian(exact, Fraction(10**12), sensitivity_squared=1),
    ],
    ids=["laplace", "gaussian"],
)
def test_every_cell_has_noise_of_its_own(add):
    noise = add(np.zeros((20, 5), dtype=np.int64))
    assert len(set(noise.ravel().tolist())) > 90  # a million steps wide: ten equal pairs come once in 1e20 runs


def test_seeded_noise_is_refused_where_it_is_asked_about_and_nowhere_else():
    check_not_seeded()
    with seeded(1), pytest.raises(ParameterError, match="a ledger that is kept refuses it"):
        check_not_seeded()
    check_not_seeded()
