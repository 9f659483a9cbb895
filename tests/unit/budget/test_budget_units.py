"""Whole units: what is spent is rounded up, what may be spent is rounded down."""

from __future__ import annotations

import math
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pydplib.budget.units import ATTO, NANO, ceil_units, exact, floor_units, rho_of_epsilon, show_atto, show_nano
from pydplib.errors import ParameterError


@pytest.mark.parametrize(
    ("value", "meant"),
    [
        (0.2, Fraction(1, 5)),
        (1e-9, Fraction(1, 10**9)),
        (3, Fraction(3)),
        (Fraction(1, 3), Fraction(1, 3)),
        (Decimal("0.1"), Fraction(1, 10)),
        (np.float64(0.1), Fraction(1, 10)),
        (np.int64(7), Fraction(7)),
    ],
)
def test_exact_of_a_number_is_the_decimal_it_prints_as(value: object, meant: Fraction) -> None:
    assert exact(value) == meant  # type: ignore[arg-type]


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf, "1", b"1", None, True, [1], Decimal("nan")])
def test_exact_of_what_is_no_finite_number_raises(value: object) -> None:
    with pytest.raises(ParameterError, match="epsilon must be a finite number"):
        exact(value, name="epsilon")  # type: ignore[arg-type]


@given(st.fractions(min_value=0, max_value=100), st.sampled_from([NANO, ATTO]))
def test_rounding_never_understates_a_cost_nor_overstates_a_limit(value: Fraction, unit: int) -> None:
    assert Fraction(floor_units(value, unit), unit) <= value <= Fraction(ceil_units(value, unit), unit)
    assert ceil_units(value, unit) - floor_units(value, unit) <= 1


@given(st.integers(1, 10**13), st.sampled_from([2, 8]))
def test_rho_of_epsilon_is_the_smallest_integer_not_below_the_square(nano: int, divisor: int) -> None:
    truth = Fraction(nano, NANO) ** 2 / divisor * NANO
    assert rho_of_epsilon(nano, divisor=divisor) - 1 < truth <= rho_of_epsilon(nano, divisor=divisor)


@given(st.integers(-(10**14), 10**14))
def test_show_nano_is_exact(units: int) -> None:
    assert Fraction(show_nano(units)) * NANO == units


@given(st.integers(0, ATTO))
def test_show_atto_is_exact(units: int) -> None:
    assert Fraction(show_atto(units)) * ATTO == units
