"""Digits of exp(-x) and its kin, against an independent computation in fractions alone."""

from __future__ import annotations

import decimal
import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pydplib.noise.expansion import Expansion, exp_interval, exp_minus, keep_probability, logistic_minus

RATIONALS = st.fractions(min_value=Fraction(1, 10**6), max_value=60, max_denominator=10**9)


@settings(max_examples=40)
@given(x=RATIONALS)
def test_exp_minus_any_rational_agrees_with_series_to_64_bytes(exact, x):
    assert exp_minus(x).digits(64) == exact.exp_digits(x, 64)


@settings(max_examples=25)
@given(x=RATIONALS)
def test_logistic_minus_any_rational_agrees_with_series_to_64_bytes(exact, x):
    assert logistic_minus(x).digits(64) == exact.logistic_digits(x, 64)


@settings(max_examples=25)
@given(x=RATIONALS, categories=st.integers(2, 100))
def test_keep_probability_any_rational_agrees_with_series_to_64_bytes(exact, x, categories):
    assert keep_probability(x, categories).digits(64) == exact.keep_digits(x, categories, 64)


def test_exp_minus_small_thread_precision_changes_nothing(exact):
    # The decimal module has a precision of its own per thread; no digit may depend on it.
    with decimal.localcontext() as context:
        context.prec = 5
        digits = exp_minus.__wrapped__(Fraction(1, 3)).digits(64)
    assert digits == exact.exp_digits(Fraction(1, 3), 64)


def test_exact_reference_planted_28_digit_rounding_is_noticed(exact):
    # The fault that an innocent minus sign once was: x rounded to 28 digits before the exponential.
    rounded = Fraction(-(-decimal.Decimal(1) / decimal.Decimal(3)))
    assert exp_minus(rounded).digits(64) != exact.exp_digits(Fraction(1, 3), 64)
    assert exp_minus(rounded).digits(11) == exact.exp_digits(Fraction(1, 3), 11)


def test_exp_minus_float_view_agrees_with_math():
    for x in (Fraction(1, 100), Fraction(1), Fraction(22, 7), Fraction(30)):
        value = int.from_bytes(exp_minus(x).digits(8), "big") / 2**64
        assert value == pytest.approx(math.exp(-x), rel=1e-6 if x > 20 else 1e-14)


def test_exp_minus_tiny_x_near_one_settles(exact):
    x = Fraction(1, 10**60)
    assert exp_minus(x).digits(40) == exact.exp_digits(x, 40)


def test_exp_minus_huge_x_is_zero_digits_and_cheap():
    assert exp_minus(Fraction(10**9)).digits(32) == bytes(32)


@pytest.mark.parametrize("epsilon", [10**3, 10**6, 10**12])
def test_keep_probability_large_epsilon_is_all_ones_and_cheap(epsilon):
    # Not a number of 10^12 digits: it is known to be below 1, so ones are all that the first digits can be.
    assert keep_probability(Fraction(epsilon), 2).digits(32) == b"\xff" * 32


@settings(max_examples=30)
@given(x=RATIONALS, precision=st.integers(20, 60))
def test_exp_interval_any_precision_contains_the_true_value(exact, x, precision):
    low, high = exp_interval(x, decimal.Context(prec=precision, Emin=-(10**15), Emax=10**15))
    true_low, true_high = exact.exp_bounds(x, 400)
    assert low <= true_low and true_high <= high


def test_digits_longer_request_keeps_the_earlier_ones():
    fresh = exp_minus.__wrapped__(Fraction(2, 7))
    first = fresh.digits(32)
    assert fresh.digits(100)[:32] == first
    assert fresh.digits(9) == first[:9]


def test_expansion_rational_number_with_endless_interval_raises():
    third = Expansion(lambda context: (Fraction(1, 2) - Fraction(1, 10**context.prec), Fraction(1, 2)))
    with pytest.raises(ArithmeticError, match="does not settle"):
        third.digits(1)


@pytest.mark.parametrize("depth", [9, 17, 33, 41, 57])
@pytest.mark.parametrize(("step", "below"), [(-1, True), (1, False)])
def test_exceeds_tie_of_any_depth_is_decided_by_the_first_differing_digit(exact, depth, step, below):
    x = Fraction(5, 13)
    digits = exact.exp_digits(x, depth + 8)
    uniform = digits[:depth] + exact.next_up(digits[depth:], step)
    script = exact.Script(uniform[9:])
    number = exp_minus.__wrapped__(x)

    def more(count):
        out = np.empty(count, dtype=np.uint8)
        script.fill(out)
        return out.tobytes()

    assert number.exceeds(int.from_bytes(uniform[:9], "big"), 9, more) is below
    assert script.left == b""
