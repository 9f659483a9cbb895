"""The zCDP conversion against two independent implementations: equal to 1e-9, and never on the unsafe side."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pydplib.budget.conversion import most_nano_rho, zcdp_epsilon, zcdp_nano_epsilon
from pydplib.errors import ParameterError

GRID = [(rho, delta) for rho in (1e-6, 1e-3, 0.02592, 0.5, 2.5, 50.0) for delta in (1e-12, 1e-6, 1e-2)]


@pytest.mark.parametrize(("rho", "delta"), GRID)
def test_conversion_agrees_with_opendp_and_is_never_below_it(rho: float, delta: float) -> None:
    import opendp.prelude as odp

    odp.enable_features("contrib")
    gaussian = odp.m.make_gaussian(odp.atom_domain(T=float, nan=False), odp.absolute_distance(T=float), scale=1.0)
    step = math.sqrt(2 * rho)
    true_rho = gaussian.map(step)
    theirs = odp.c.make_zCDP_to_approxDP(gaussian).map(step).epsilon(delta)
    assert theirs <= zcdp_epsilon(true_rho, delta) <= theirs + 1e-9


@pytest.mark.parametrize(("rho", "delta"), GRID)
def test_conversion_agrees_with_dp_accounting(rho: float, delta: float) -> None:
    from dp_accounting.rdp.rdp_privacy_accountant import compute_epsilon
    from scipy.optimize import minimize_scalar

    def at(log_t: float) -> float:
        order = 1 + math.exp(log_t)
        return float(compute_epsilon([order], [rho * order], delta)[0])

    best = math.log(min(math.sqrt(-math.log(delta) / rho), math.expm1(-math.log(delta))))
    found = minimize_scalar(at, bounds=(best - 4, best + 0.1), method="bounded", options={"xatol": 1e-9})
    assert zcdp_epsilon(rho, delta) == pytest.approx(found.fun, abs=1e-9)


def test_conversion_bounds_what_dp_accounting_finds_for_a_thousand_small_laplace_questions() -> None:
    import dp_accounting
    from dp_accounting.rdp import RdpAccountant

    accountant = RdpAccountant()
    accountant.compose(dp_accounting.LaplaceDpEvent(1 / 0.0072), 1000)
    tighter = accountant.get_epsilon(1e-6)
    assert tighter <= zcdp_epsilon(1000 * 0.0072**2 / 2, 1e-6) <= tighter + 0.02


@pytest.mark.parametrize(
    ("times", "epsilon", "basic", "zcdp"), [(1000, Fraction("0.0072"), 7.2, 1.03), (5, Fraction(1), 5.0, 13.4)]
)
def test_conversion_gives_the_documented_totals(times: int, epsilon: Fraction, basic: float, zcdp: float) -> None:
    assert float(times * epsilon) == basic
    assert zcdp_epsilon(float(times * epsilon**2 / 2), 1e-6) == pytest.approx(zcdp, abs=0.03)


@given(st.floats(1e-9, 1e4), st.floats(1e-15, 0.5), st.floats(0.5, 2))
@settings(max_examples=200, deadline=None)
def test_conversion_is_no_larger_than_the_formula_at_any_order(rho: float, delta: float, factor: float) -> None:
    t = factor * math.sqrt(-math.log(delta) / rho)
    at = rho * (1 + t) - math.log1p(1 / t) + (-math.log(delta) - math.log1p(t)) / t
    assert zcdp_epsilon(rho, delta) <= max(0.0, at) * (1 + 1e-9) + 1e-9


@given(st.integers(1, 10**12), st.integers(10**3, 10**17))
@settings(max_examples=100, deadline=None)
def test_conversion_in_units_grows_with_rho_and_falls_with_delta(nano_rho: int, atto_delta: int) -> None:
    here = zcdp_nano_epsilon(nano_rho, atto_delta)
    assert here >= zcdp_epsilon(nano_rho / 1e9, atto_delta / 1e18) * 1e9 - 1e-3 * here * 1e-9
    assert zcdp_nano_epsilon(nano_rho * 2, atto_delta) >= here >= zcdp_nano_epsilon(nano_rho, 2 * atto_delta)


@given(st.integers(1, 10**13), st.integers(1, 10**18 - 1))
@settings(max_examples=60, deadline=None)
def test_most_rho_is_within_the_limit_and_nearly_the_most(nano_epsilon: int, atto_delta: int) -> None:
    most = most_nano_rho(nano_epsilon, atto_delta)
    assert zcdp_nano_epsilon(most, atto_delta) <= nano_epsilon
    assert zcdp_nano_epsilon(most + 1 + most // 10**6, atto_delta) >= nano_epsilon


def test_conversion_of_nothing_is_nothing() -> None:
    assert zcdp_epsilon(0.0, 1e-6) == 0.0
    assert zcdp_nano_epsilon(0, 10**12) == 0
    assert most_nano_rho(10**9, 0) == 0


@pytest.mark.parametrize(("rho", "delta"), [(-1.0, 0.1), (math.nan, 0.1), (math.inf, 0.1), (1.0, 0.0), (1.0, 1.0)])
def test_conversion_of_impossible_values_raises(rho: float, delta: float) -> None:
    with pytest.raises(ParameterError):
        zcdp_epsilon(rho, delta)
