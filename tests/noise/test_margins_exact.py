"""Margins: the stated one covers, one step less does not. Computed in decimals, not sampled."""

from __future__ import annotations

import math
from decimal import Context, Decimal
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pydplib.mechanisms import Gaussian, Geometric, Laplace
from pydplib.mechanisms._common import laplace_tail_steps

DIGITS = Context(prec=60)


def _outside(scale: Fraction, steps: int) -> Decimal:
    """P(|Z| > steps) = 2 a^(steps + 1) / (1 + a), to 60 digits."""
    if steps < 0:
        return Decimal(1)
    ratio = DIGITS.divide(Decimal(scale.denominator), Decimal(scale.numerator))
    a = DIGITS.exp(ratio.copy_negate())
    power = DIGITS.exp(DIGITS.multiply(ratio, Decimal(steps + 1)).copy_negate())
    return DIGITS.divide(DIGITS.multiply(2, power), DIGITS.add(1, a))


EPSILONS = st.floats(1e-4, 20)
CONFIDENCES = st.one_of(st.sampled_from([0.5, 0.9, 0.95, 0.99, 0.999999]), st.floats(0.01, 0.9999))


@settings(max_examples=200)
@given(sensitivity=st.integers(1, 100), epsilon=EPSILONS, confidence=CONFIDENCES)
def test_geometric_margin_covers_and_one_less_does_not(sensitivity, epsilon, confidence):
    mechanism = Geometric(sensitivity, epsilon)
    margin = mechanism.margin(confidence)
    tail = Decimal(1) - Decimal(confidence)
    assert _outside(mechanism._exact_scale, margin) <= tail * (1 + Decimal("1e-14"))
    if margin:
        assert _outside(mechanism._exact_scale, margin - 1) > tail * (1 - Decimal("1e-14"))


@settings(max_examples=200)
@given(sensitivity=st.floats(0.01, 100), epsilon=EPSILONS, confidence=CONFIDENCES)
def test_laplace_margin_covers_the_rounding_too_and_one_less_does_not(sensitivity, epsilon, confidence):
    mechanism = Laplace(sensitivity, epsilon)
    exponent, _, scale = mechanism._grid(1)
    steps = Fraction(mechanism.margin(confidence)) / Fraction(2) ** exponent - Fraction(1, 2)
    assert steps.denominator == 1
    tail = Decimal(1) - Decimal(confidence)
    assert _outside(scale, int(steps)) <= tail * (1 + Decimal("1e-11"))
    if steps > 0:
        assert _outside(scale, int(steps) - 1) > tail * (1 - Decimal("1e-11"))


def test_margin95_orientation_values():
    # A count at epsilon 1: +-3. The continuous Laplace would say b ln 20 = 2.9957 b.
    assert Geometric(1, 1.0).margin95 == 3
    assert Geometric(3, 1.0).margin95 == 9
    assert Laplace(1, 1.0).margin95 == pytest.approx(math.log(20), rel=2e-3)


@pytest.mark.parametrize("ratio", [1e-12, 1e-6, 0.1, 1.0, 50.0, 1e4])
@pytest.mark.parametrize("tail", [1e-12, 0.05, 0.5, 0.99])
def test_laplace_tail_steps_extremes_agree_with_decimals(ratio, tail):
    steps = laplace_tail_steps(ratio, tail)
    scale = 1 / Fraction(ratio)
    # Sixteen digits of the logarithm: off by at most a hair of probability.
    assert _outside(scale, steps) <= Decimal(tail) * (1 + Decimal("1e-12"))
    if steps:
        assert _outside(scale, steps - 1) > Decimal(tail) * (1 - Decimal("1e-12"))


def test_laplace_tail_steps_planted_continuous_formula_is_off_by_one():
    # ceil(ln(1/tail) / ratio), the continuous quantile: one step too many at epsilon 1.
    continuous = math.ceil(math.log(1 / 0.05) / 0.4)
    assert continuous != laplace_tail_steps(0.4, 0.05)
    assert _outside(Fraction(5, 2), continuous - 1) <= Decimal("0.05")


@pytest.mark.parametrize(
    "mechanism",
    [Gaussian(1, rho=0.5), Gaussian(0.7, rho=3.3), Gaussian(5, rho=0.1), Gaussian(1, epsilon=1.0, delta=1e-6)],
)
@pytest.mark.parametrize("confidence", [0.1, 0.5, 0.95, 0.999])
def test_gaussian_margin_covers_and_is_within_three_steps_of_the_least(mechanism, confidence):
    exponent, _, variance = mechanism._grid(1)
    reach = math.ceil(12 * math.sqrt(variance))
    weights = np.exp(-(np.arange(1, reach + 1, dtype=np.float64) ** 2) / (2 * float(variance)))
    inside = (1 + 2 * np.concatenate(([0.0], np.cumsum(weights)))) / (1 + 2 * math.fsum(weights))  # P(|Z| <= k)
    steps = math.floor(mechanism.margin(confidence) / 2.0**exponent - 0.5)
    least = int(np.searchsorted(inside, confidence))
    assert least <= steps <= least + 3
    assert inside[steps] >= confidence > inside[least - 1]


@pytest.mark.parametrize("margin", [1, 2, 3, 10, 1000])
@pytest.mark.parametrize("sensitivity", [1, 4])
def test_geometric_from_margin_least_epsilon_computed_exactly(margin, sensitivity):
    mechanism = Geometric.from_margin(margin, sensitivity=sensitivity)
    assert _outside(mechanism._exact_scale, margin) <= Decimal("0.05") * (1 + Decimal("1e-9"))
    smaller = Geometric(sensitivity, mechanism.epsilon * (1 - 1e-6))
    assert _outside(smaller._exact_scale, margin) > Decimal("0.05")
