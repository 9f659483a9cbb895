"""The same numbers from elsewhere: OpenDP's accuracies and privacy maps, and delta computed from the densities."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from scipy import optimize, stats

from pydplib.guarantee import ZCDP, zcdp_epsilon
from pydplib.mechanisms import Gaussian, Geometric, Laplace


@pytest.fixture(scope="module")
def opendp():
    import opendp.prelude as dp

    dp.enable_features("contrib")
    return dp


@pytest.mark.parametrize("epsilon", [0.05, 0.3, 1.0, 2.5, 8.0])
@pytest.mark.parametrize("alpha", [0.5, 0.05, 0.001])
def test_geometric_margin_agrees_with_opendp(opendp, epsilon, alpha):
    # OpenDP gives the a with P(|Z| >= a) = alpha; ours is the last whole number before it.
    accuracy = opendp.discrete_laplacian_scale_to_accuracy(scale=1 / epsilon, alpha=alpha)
    assert Geometric(1, epsilon).margin(1 - alpha) == max(math.ceil(accuracy) - 1, 0)


@pytest.mark.parametrize("epsilon", [0.05, 1.0, 8.0])
@pytest.mark.parametrize("alpha", [0.5, 0.05, 0.001])
def test_laplace_margin_agrees_with_opendp(opendp, epsilon, alpha):
    accuracy = opendp.laplacian_scale_to_accuracy(scale=1 / epsilon, alpha=alpha)
    assert Laplace(1, epsilon).margin(1 - alpha) == pytest.approx(accuracy, rel=3e-3)


@pytest.mark.parametrize("rho", [0.02, 0.5, 3.0])
@pytest.mark.parametrize("alpha", [0.5, 0.05, 0.001])
def test_gaussian_margin_agrees_with_opendp(opendp, rho, alpha):
    mechanism = Gaussian(1, rho=rho)
    accuracy = opendp.gaussian_scale_to_accuracy(scale=mechanism.scale, alpha=alpha)
    assert mechanism.margin(1 - alpha) == pytest.approx(accuracy, rel=4e-3)


@pytest.mark.parametrize(("sensitivity", "epsilon"), [(1, 1.0), (3, 0.25), (2, 4.0)])
def test_geometric_scale_opendp_maps_it_back_to_epsilon(opendp, sensitivity, epsilon):
    space = opendp.atom_domain(T=int), opendp.absolute_distance(T=int)
    measurement = opendp.m.make_laplace(*space, scale=Geometric(sensitivity, epsilon).scale)
    assert measurement.map(sensitivity) == pytest.approx(epsilon, rel=1e-12)


@pytest.mark.parametrize("rho", [0.02, 0.5, 3.0])
def test_gaussian_scale_opendp_maps_it_back_to_rho(opendp, rho):
    space = opendp.atom_domain(T=float, nan=False), opendp.absolute_distance(T=float)
    measurement = opendp.m.make_gaussian(*space, scale=Gaussian(1.0, rho=rho).scale)
    assert measurement.map(1.0) == pytest.approx(rho, rel=3e-3)
    assert measurement.map(1.0) <= rho * (1 + 1e-9)  # the grid adds noise, never takes any


@pytest.mark.parametrize("rho", [0.001, 0.02, 0.5, 3.0])
@pytest.mark.parametrize("delta", [1e-9, 1e-6, 1e-2])
def test_zcdp_epsilon_agrees_with_opendp(opendp, rho, delta):
    space = opendp.atom_domain(T=int), opendp.absolute_distance(T=int)
    gaussian = opendp.m.make_gaussian(*space, scale=1 / math.sqrt(2 * rho))
    theirs = opendp.c.make_zCDP_to_approxDP(gaussian).map(1).epsilon(delta)
    assert zcdp_epsilon(rho, delta) == pytest.approx(theirs, rel=1e-6)
    assert ZCDP(rho).epsilon(delta) == zcdp_epsilon(rho, delta)


@pytest.mark.parametrize("rho", [1e-6, 0.01, 0.5, 20.0])
@pytest.mark.parametrize("delta", [1e-15, 1e-6, 0.1])
def test_zcdp_epsilon_is_the_least_over_all_orders(rho, delta):
    # A plain minimiser on the same bound, order by order.
    def bound(log_t):
        t = math.exp(log_t)
        return rho * (1 + t) + math.log(t / (1 + t)) + (math.log(1 / delta) - math.log1p(t)) / t

    least = optimize.minimize_scalar(bound, bounds=(-20, 40), method="bounded", options={"xatol": 1e-12}).fun
    assert zcdp_epsilon(rho, delta) == pytest.approx(max(least, 0.0), rel=1e-7, abs=1e-9)


def _analytic_delta(sigma: float, epsilon: float) -> float:
    """delta(epsilon) of the Gaussian mechanism of sensitivity 1 (Balle and Wang 2018, theorem 8)."""
    return float(
        stats.norm.cdf(1 / (2 * sigma) - epsilon * sigma)
        - math.exp(epsilon) * stats.norm.cdf(-1 / (2 * sigma) - epsilon * sigma)
    )


def _discrete_delta(variance: Fraction, steps: int, epsilon: float) -> float:
    """delta(epsilon) between a discrete Gaussian and itself ``steps`` further, summed over all outputs."""
    sigma = math.sqrt(variance)
    reach = math.ceil(40 * sigma) + steps
    z = np.arange(-reach, reach + 1, dtype=np.float64)
    p = np.exp(-(z**2) / (2 * float(variance)))
    q = np.exp(-((z - steps) ** 2) / (2 * float(variance)))
    return float(np.maximum(q - math.exp(epsilon) * p, 0).sum() / p.sum())


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 4.0])
@pytest.mark.parametrize("delta", [1e-9, 1e-6, 1e-3])
def test_gaussian_epsilon_delta_true_delta_is_below_the_claim(epsilon, delta):
    mechanism = Gaussian(1.0, epsilon=epsilon, delta=delta)
    _, squared, variance = mechanism._grid(1)
    true = _discrete_delta(variance, math.isqrt(squared), epsilon)
    assert true <= delta
    assert true == pytest.approx(_analytic_delta(mechanism.scale, epsilon), rel=5e-2, abs=1e-14)


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 4.0])
def test_gaussian_planted_half_scale_true_delta_is_above_the_claim(epsilon):
    _, squared, variance = Gaussian(1.0, epsilon=epsilon, delta=1e-6)._grid(1)
    assert _discrete_delta(variance / 4, math.isqrt(squared), epsilon) > 1e-6


@pytest.mark.parametrize("alpha", [1.5, 2.0, 8.0, 40.0])
def test_gaussian_renyi_divergence_stays_below_rho_alpha(alpha):
    # zCDP by its definition, summed over all outputs of the discrete Gaussian on its grid.
    mechanism = Gaussian(1.0, rho=0.3)
    _, squared, variance = mechanism._grid(1)
    steps = math.isqrt(squared)
    sigma = math.sqrt(variance)
    reach = math.ceil((40 + 3 * alpha) * sigma)
    z = np.arange(-reach, reach + 1, dtype=np.float64)
    log_p = -((z - steps) ** 2) / (2 * float(variance))
    log_q = -(z**2) / (2 * float(variance))
    log_total = np.logaddexp.reduce(log_q)
    log_total_p = np.logaddexp.reduce(log_p)
    renyi = (np.logaddexp.reduce(alpha * (log_p - log_total_p) + (1 - alpha) * (log_q - log_total))) / (alpha - 1)
    assert renyi <= 0.3 * alpha * (1 + 1e-9)
    assert renyi == pytest.approx(0.3 * alpha, rel=1e-6)
