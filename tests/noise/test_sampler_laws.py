"""Every sampler follows its law at the right scale, and not at a scale that is 30 % off or half."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

from pydplib.noise import (
    bernoulli_exp,
    bernoulli_exp_each,
    bernoulli_keep,
    discrete_gaussian,
    discrete_laplace,
    exponential_choice,
    uniform_below,
)
from pydplib.noise.testing import SeededSource

N = 200_000
LAPLACE = [
    Fraction(1, 2),
    Fraction(1),
    Fraction(5, 2),
    Fraction(50, 7),
    Fraction(4501, 3),
    Fraction(10**6),
    Fraction(2**40 + 1, 3),
]
GAUSSIAN = [Fraction(1, 4), Fraction(1), Fraction(9, 2), Fraction(100), Fraction(10**6, 3)]


@pytest.mark.parametrize("scale", LAPLACE)
def test_discrete_laplace_right_scale_is_accepted_and_wrong_scales_are_not(law, scale):
    samples = discrete_laplace(scale, N, source=SeededSource(1))
    assert law.fit(samples, law.laplace_cdf(float(scale))) > law.ALARM
    for factor in law.WRONG:
        assert law.fit(samples, law.laplace_cdf(float(scale) * factor)) < law.ALARM


@pytest.mark.parametrize("scale", [Fraction(1), Fraction(5, 2), Fraction(20)])
def test_discrete_laplace_small_scale_every_value_has_its_chance(law, scale):
    samples = discrete_laplace(scale, N, source=SeededSource(2))
    a = math.exp(-1 / scale)
    reach = int(4 * scale)
    values = np.arange(-reach, reach + 1)
    chances = (1 - a) / (1 + a) * a ** np.abs(values)
    counts = np.array([(samples == v).sum() for v in values] + [(np.abs(samples) > reach).sum()])
    assert law.fit_shares(counts, [*chances, 1 - chances.sum()]) > law.ALARM


def test_discrete_laplace_zero_counted_twice_planted_is_noticed(law):
    # The fault that rejecting minus zero prevents: 0 with twice its chance.
    scale = Fraction(5)
    samples = discrete_laplace(scale, N, source=SeededSource(3))
    rare = np.random.default_rng(0).random(N) < 0.5
    planted = np.where((np.abs(samples) == 1) & rare, 0, samples)
    assert law.fit(planted, law.laplace_cdf(5.0)) < law.ALARM
    assert law.fit(samples, law.laplace_cdf(5.0)) > law.ALARM


def test_discrete_laplace_tail_beyond_the_digits_follows_the_law(law):
    # Scale 9: magnitudes from 64 on come from the tail coin's loop.
    samples = discrete_laplace(Fraction(9), 4 * N, source=SeededSource(4))
    beyond = np.abs(samples[np.abs(samples) >= 64]) - 64
    assert len(beyond) > 300
    chances = [(1 - math.exp(-1 / 9)) * math.exp(-k / 9) for k in range(20)]
    counts = np.array([(beyond == k).sum() for k in range(20)] + [(beyond >= 20).sum()])
    assert law.fit_shares(counts, [*chances, 1 - sum(chances)]) > law.ALARM
    assert law.fit_coin(np.abs(samples) >= 64, 2 * math.exp(-64 / 9) / (1 + math.exp(-1 / 9))) > law.ALARM


def test_discrete_laplace_neighbouring_samples_are_independent(law):
    samples = np.abs(discrete_laplace(Fraction(1500), N, source=SeededSource(5)))
    middle = np.median(samples)
    above = samples > middle
    table = np.array([[(above[:-1] == i) & (above[1:] == j) for j in (0, 1)] for i in (0, 1)]).sum(axis=2)
    shares = np.outer(table.sum(axis=1), table.sum(axis=0)).ravel()
    assert law.fit_shares(table.ravel(), shares) > law.ALARM


@pytest.mark.parametrize("variance", GAUSSIAN)
def test_discrete_gaussian_right_variance_is_accepted_and_wrong_ones_are_not(law, variance):
    samples = discrete_gaussian(variance, N, source=SeededSource(6))
    assert law.fit(samples, law.gaussian_cdf(float(variance))) > law.ALARM
    for factor in law.WRONG:
        assert law.fit(samples, law.gaussian_cdf(float(variance) * factor**2)) < law.ALARM


def test_discrete_gaussian_laplace_of_the_same_variance_planted_is_noticed(law):
    samples = discrete_laplace(Fraction(100), N, source=SeededSource(7))
    assert law.fit(samples, law.gaussian_cdf(2 * 100.0**2)) < law.ALARM


@pytest.mark.parametrize("x", [Fraction(1, 100), Fraction(1, 2), Fraction(1), Fraction(4), Fraction(17, 2)])
def test_bernoulli_exp_right_chance_is_accepted_and_wrong_ones_are_not(law, x):
    heads = bernoulli_exp(x, 2_000_000, source=SeededSource(8))
    assert law.fit_coin(heads, math.exp(-x)) > law.ALARM
    assert law.fit_coin(heads, math.exp(-1.3 * x)) < law.ALARM
    assert law.fit_coin(heads, math.exp(-0.7 * x)) < law.ALARM


@pytest.mark.parametrize("categories", [2, 5, 40])
def test_bernoulli_keep_right_chance_is_accepted_and_wrong_ones_are_not(law, categories):
    heads = bernoulli_keep(Fraction(3, 2), categories, N, source=SeededSource(9))
    for factor, accepted in ((1, True), (1.3, False), (0.7, False), (0.5, False)):
        e = math.exp(1.5 * factor)
        assert (law.fit_coin(heads, e / (e + categories - 1)) > law.ALARM) is accepted


def test_bernoulli_exp_each_right_chances_are_accepted_and_wrong_ones_are_not(law):
    numerators = np.repeat([0, 1, 3, 10, 40], N // 5)
    heads = bernoulli_exp_each(numerators, Fraction(1, 9), source=SeededSource(10)).reshape(5, -1)
    assert heads[0].all()
    for row, numerator in zip(heads[1:], (1, 3, 10, 40), strict=True):
        assert law.fit_coin(row, math.exp(-numerator / 9)) > law.ALARM
        assert law.fit_coin(row, math.exp(-1.3 * numerator / 9)) < law.ALARM


def test_exponential_choice_right_unit_is_accepted_and_wrong_ones_are_not(law):
    scores, unit = np.array([0, 5, 3, 9, 9, -4]), Fraction(1, 4)
    source = SeededSource(11)
    picks = np.bincount([exponential_choice(scores, unit, source=source) for _ in range(20_000)], minlength=6)
    assert law.fit_shares(picks, np.exp(scores / 4)) > law.ALARM
    for factor in law.WRONG:
        assert law.fit_shares(picks, np.exp(factor * scores / 4)) < law.ALARM


@pytest.mark.parametrize("bound", [1, 2, 3, 5, 64, 1000])
def test_uniform_below_every_value_is_equally_likely(law, bound):
    samples = uniform_below(bound, N, source=SeededSource(12))
    assert samples.min() >= 0 and samples.max() < bound
    if bound > 1:
        assert law.fit_shares(np.bincount(samples, minlength=bound), np.ones(bound)) > law.ALARM


def test_uniform_below_planted_modulo_bias_is_noticed(law):
    # 0 .. 255 modulo 100: values below 56 come three times, the others twice.
    samples = uniform_below(256, N, source=SeededSource(13)) % 100
    assert law.fit_shares(np.bincount(samples, minlength=100), np.ones(100)) < law.ALARM


def test_uniform_below_large_bound_fills_the_whole_range(law):
    bound = 3 * 2**60
    samples = uniform_below(bound, N, source=SeededSource(14))
    assert law.fit_shares(np.bincount(samples // (bound // 30), minlength=30), np.ones(30)) > law.ALARM
