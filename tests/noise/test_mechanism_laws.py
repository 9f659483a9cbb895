"""Every mechanism, with the generator of releases, follows its law; at a wrong scale it would be noticed."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from scipy.stats import norm

from pydplib.mechanisms import CoinFlip, Exponential, Gaussian, Geometric, Laplace, PermuteAndFlip, RandomizedResponse
from pydplib.noise import grid_exponent, laplace_records, to_grid

N = 200_000


@pytest.mark.parametrize(("sensitivity", "epsilon"), [(1, 1.0), (0.3, 0.1), (82 / 920, 5.0), (1000, 0.01)])
def test_laplace_release_right_scale_is_accepted_and_wrong_scales_are_not(law, sensitivity, epsilon):
    # max_changes=1: every value of the array gets exactly the noise of a single number.
    mechanism = Laplace(sensitivity, epsilon, max_changes=1)
    exponent, _, scale = mechanism._grid(N)
    assert mechanism._grid(N) == Laplace(sensitivity, epsilon)._grid(1)
    noise = law.steps(mechanism.release(np.zeros(N)), exponent)
    assert law.fit(noise, law.laplace_cdf(float(scale))) > law.ALARM
    ideal = sensitivity / epsilon / 2.0**exponent
    for factor in law.WRONG:
        assert law.fit(noise, law.laplace_cdf(ideal * factor)) < law.ALARM


def test_laplace_release_array_noise_is_that_of_its_scale(law):
    mechanism = Laplace(1, 0.5)
    values = np.linspace(-5, 5, N)
    exponent, _, scale = mechanism._grid(N)
    noise = law.steps(mechanism.release(values), exponent) - to_grid(values, exponent)
    assert law.fit(noise, law.laplace_cdf(float(scale))) > law.ALARM
    assert float(scale) * 2.0**exponent == pytest.approx(2, rel=2e-3)
    for factor in law.WRONG:
        assert law.fit(noise, law.laplace_cdf(float(scale) * factor)) < law.ALARM


@pytest.mark.parametrize(("sensitivity", "epsilon"), [(1, 1.0), (3, 0.5), (1, 0.01), (2, 7.0)])
def test_geometric_release_right_scale_is_accepted_and_wrong_scales_are_not(law, sensitivity, epsilon):
    noise = Geometric(sensitivity, epsilon).release(np.full(N, 920)) - 920
    assert law.fit(noise, law.laplace_cdf(sensitivity / epsilon)) > law.ALARM
    for factor in law.WRONG:
        assert law.fit(noise, law.laplace_cdf(sensitivity / epsilon * factor)) < law.ALARM


@pytest.mark.parametrize(
    "mechanism", [Gaussian(1, rho=0.5), Gaussian(2.5, rho=0.02), Gaussian(1, epsilon=1.0, delta=1e-6)]
)
def test_gaussian_release_right_scale_is_accepted_and_wrong_scales_are_not(law, mechanism):
    exponent, _, variance = mechanism._grid(N)
    noise = law.steps(mechanism.release(np.zeros(N)), exponent)
    sigma = math.sqrt(variance)
    # A million steps wide: the normal law is that of the discrete Gaussian to nine digits.
    assert law.fit(noise, lambda k: norm.cdf((k + 0.5) / sigma)) > law.ALARM
    for factor in law.WRONG:
        assert law.fit(noise, lambda k, f=factor: norm.cdf((k + 0.5) / (f * sigma))) < law.ALARM
    assert sigma * 2.0**exponent == pytest.approx(mechanism.scale, rel=3e-3)


SCORES = np.array([0, 4, 2, 7, 7, -3])


def test_exponential_release_right_epsilon_is_accepted_and_wrong_ones_are_not(law):
    mechanism = Exponential(2, 1.5)
    picks = np.bincount([mechanism.release(SCORES) for _ in range(15_000)], minlength=6)
    for factor, accepted in ((1, True), (0.5, False), (0.7, False), (1.3, False), (2, False)):
        assert (law.fit_shares(picks, np.exp(factor * 1.5 / 4 * SCORES)) > law.ALARM) is accepted


def test_permute_and_flip_release_right_epsilon_is_accepted_and_wrong_ones_are_not(law):
    mechanism = PermuteAndFlip(2, 1.5)
    picks = np.bincount([mechanism.release(SCORES) for _ in range(15_000)], minlength=6)
    for factor, accepted in ((1, True), (0.5, False), (0.7, False), (1.3, False), (2, False)):
        assert (law.fit_shares(picks, law.flip_chances(SCORES, factor * 1.5 / 4)) > law.ALARM) is accepted
    assert law.fit_shares(picks, np.exp(1.5 / 4 * SCORES)) < law.ALARM  # not the exponential mechanism


@pytest.mark.parametrize("categories", [2, 5])
def test_randomized_response_right_epsilon_is_accepted_and_wrong_ones_are_not(law, categories):
    counts = np.bincount(
        RandomizedResponse(range(categories), 1.2).release_codes(np.ones(N, dtype=np.int64)), minlength=categories
    )
    for factor, accepted in ((1, True), (0.5, False), (0.7, False), (1.3, False), (2, False)):
        chances = np.ones(categories)
        chances[1] = math.exp(1.2 * factor)
        assert (law.fit_shares(counts, chances) > law.ALARM) is accepted


def test_coin_flip_truth_is_told_three_times_in_four(law):
    for truth in (True, False):
        told = CoinFlip().release(np.full(N, truth)) == truth
        assert law.fit_coin(told, 0.75) > law.ALARM
        for wrong in (0.5, 0.7, 0.8):
            assert law.fit_coin(told, wrong) < law.ALARM


@pytest.mark.parametrize("scale", [0.3, 5.0, 1e6])
def test_laplace_records_right_scale_is_accepted_and_wrong_scales_are_not(law, scale):
    exponent = grid_exponent(scale)
    noise = law.steps(laplace_records(np.zeros(N), scale), exponent)
    steps = float(Fraction(scale) / Fraction(2) ** exponent)
    assert law.fit(noise, law.laplace_cdf(steps)) > law.ALARM
    for factor in law.WRONG:
        assert law.fit(noise, law.laplace_cdf(steps * factor)) < law.ALARM


def test_laplace_records_planted_half_scale_is_noticed(law):
    exponent = grid_exponent(5.0)
    noise = law.steps(laplace_records(np.zeros(N), 2.5), exponent - 1) // 2
    assert law.fit(noise, law.laplace_cdf(5.0 / 2.0**exponent)) < law.ALARM
