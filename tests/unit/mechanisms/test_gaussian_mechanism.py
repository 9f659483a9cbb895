"""Gaussian: calibration in rho and in (epsilon, delta), the claimed L2 sensitivity, margins, refusals."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from pydplib.errors import DataError, ParameterError
from pydplib.guarantee import ZCDP, ApproxDP, zcdp_epsilon
from pydplib.mechanisms import Gaussian
from pydplib.noise.grid import to_grid
from pydplib.noise.testing import record

VALUES = st.floats(-1e5, 1e5, allow_nan=False, allow_subnormal=False)


@settings(max_examples=200)
@given(data=st.data(), size=st.integers(1, 6), rho=st.floats(1e-4, 50))
def test_gaussian_grid_values_within_the_sensitivity_move_at_most_its_steps(helpers, data, size, rho):
    first = data.draw(st.lists(VALUES, min_size=size, max_size=size))
    if data.draw(st.booleans()):
        second = data.draw(st.lists(VALUES, min_size=size, max_size=size))
    else:
        second = [x + data.draw(st.floats(-2, 2)) for x in first]
    squared = sum((Fraction(x) - Fraction(y)) ** 2 for x, y in zip(first, second, strict=True))
    assume(squared > Fraction(1, 10**6))
    sensitivity = math.nextafter(math.sqrt(squared), math.inf)
    while Fraction(sensitivity) ** 2 < squared:
        sensitivity = math.nextafter(sensitivity, math.inf)
    exponent, steps_squared, variance = Gaussian(sensitivity, rho=rho)._grid(size)
    a, b = to_grid(np.array(first), exponent), to_grid(np.array(second), exponent)
    assert int(((a - b) ** 2).sum()) <= steps_squared
    assert steps_squared / (2 * variance) == Fraction(rho)


@given(sensitivity=st.floats(1e-3, 1e3), rho=st.floats(1e-4, 50), size=st.sampled_from([1, 2, 9, 100, 10**6]))
def test_gaussian_scale_any_size_is_close_to_ideal(sensitivity, rho, size):
    exponent, _, variance = Gaussian(sensitivity, rho=rho)._grid(size)
    drawn = math.sqrt(variance) * 2.0**exponent
    ideal = sensitivity / math.sqrt(2 * rho)
    assert ideal * (1 - 1e-12) <= drawn <= ideal * 1.003


@pytest.mark.parametrize("epsilon", [0.01, 0.5, 1.0, 8.0, 50.0])
@pytest.mark.parametrize("delta", [1e-12, 1e-6, 1e-2, 0.4])
def test_gaussian_epsilon_delta_is_met_by_the_largest_rho(epsilon, delta):
    rho = float(Gaussian(1, epsilon=epsilon, delta=delta)._rho)
    assert zcdp_epsilon(rho, delta) <= epsilon
    assert zcdp_epsilon(rho * (1 + 1e-9), delta) > epsilon


def test_gaussian_guarantee_is_what_was_asked_for():
    assert Gaussian(1, rho=0.5).guarantee == ZCDP(0.5)
    assert Gaussian(1, epsilon=1.0, delta=1e-6).guarantee == ApproxDP(1.0, 1e-6)


@pytest.mark.parametrize(
    "arguments",
    [
        {},
        {"rho": 1.0, "epsilon": 1.0, "delta": 1e-6},
        {"rho": 1.0, "delta": 1e-6},
        {"epsilon": 1.0},
        {"delta": 1e-6},
        {"rho": 0},
        {"rho": math.nan},
        {"rho": -1},
        {"rho": "1"},
        {"epsilon": 0, "delta": 1e-6},
        {"epsilon": 1.0, "delta": 0},
        {"epsilon": 1.0, "delta": 1},
        {"epsilon": 1.0, "delta": math.nan},
    ],
)
def test_gaussian_bad_parameters_raise(arguments):
    with pytest.raises(ParameterError):
        Gaussian(1, **arguments)


def test_gaussian_privacy_parameters_are_keyword_only():
    with pytest.raises(TypeError):
        Gaussian(1, 0.5)  # type: ignore[misc]


@pytest.mark.parametrize("values", [3, 3.5, [1, 2], np.zeros((2, 2)), []])
def test_gaussian_release_shape_follows_the_input(values):
    noisy = Gaussian(1, rho=0.5).release(values)
    assert (type(noisy) is float) if np.ndim(values) == 0 else (noisy.shape == np.shape(values))


@pytest.mark.parametrize("value", [2**60, 1e300, math.inf, -math.inf, 10**400])
def test_gaussian_large_values_saturate_and_none_is_refused(value):
    mechanism = Gaussian(1, rho=0.5)
    most = math.ldexp(1.0, 52 + mechanism._grid(1)[0])
    assert abs(mechanism.release(value) - (most if value > 0 else -most)) < 100


@pytest.mark.parametrize("values", ["x", None, [math.nan], [[1], [2, 3]]])
def test_gaussian_release_unusable_values_raise(values):
    with pytest.raises(DataError):
        Gaussian(1, rho=0.5).release(values)


def test_gaussian_release_claims_its_rho():
    with record() as trace:
        Gaussian(0.3, rho=0.7).release(np.zeros(10))
    assert trace.passed[0].call.epsilon == pytest.approx(0.7, rel=1e-15)


@settings(max_examples=40)
@given(margin=st.floats(0.05, 1e4), delta=st.sampled_from([None, 1e-6]), confidence=st.sampled_from([0.5, 0.95, 0.999]))
def test_gaussian_from_margin_is_the_inverse(margin, delta, confidence):
    mechanism = Gaussian.from_margin(margin, sensitivity=1, delta=delta, confidence=confidence)
    assert mechanism.margin(confidence) <= margin
    if delta is None:
        less = Gaussian(1, rho=mechanism.rho * 0.99)
    else:
        less = Gaussian(1, epsilon=mechanism.epsilon * 0.99, delta=delta)
    assert less.margin(confidence) > margin * 0.999


def test_gaussian_margin_extreme_confidence_is_finite():
    assert 8 < Gaussian(1, rho=0.5).margin(1 - 2**-53) < 9
