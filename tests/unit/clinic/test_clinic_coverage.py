"""Simulated studies: intervals cover the population, tests raise few false alarms, and a wrong variance is noticed."""

from __future__ import annotations

import pytest

from clinic import DESIGNS, TESTS, covered, false_alarms

CORNERS = [(200, 0.3), (652, 1.0), (5000, 3.0)]
LEAST, MOST = 0.91, 0.085
MAIN = [name for name in TESTS if "," not in name]  # the others are of populations that are harder, and slow


@pytest.mark.parametrize("name", sorted(DESIGNS))
@pytest.mark.parametrize(("size", "epsilon"), CORNERS)
def test_intervals_cover_the_population(name: str, size: int, epsilon: float) -> None:
    rates, noise_rates = covered(name, size, epsilon, runs=1000, seed=11)
    assert rates.min() >= LEAST, (name, size, epsilon, rates)
    assert noise_rates.min() >= LEAST, (name, size, epsilon, noise_rates)


@pytest.mark.parametrize("name", sorted(DESIGNS))
def test_a_planted_wrong_variance_is_noticed(name: str) -> None:
    rates, _ = covered(name, 200, 0.3, runs=1000, seed=12, planted=0.0)  # as if there were no noise
    assert rates.min() < LEAST, (name, rates)


@pytest.mark.parametrize("name", [*MAIN, *(pytest.param(n, marks=pytest.mark.slow) for n in TESTS if n not in MAIN)])
@pytest.mark.parametrize(("size", "epsilon"), CORNERS)
def test_tests_raise_few_false_alarms(name: str, size: int, epsilon: float) -> None:
    assert false_alarms(name, size, epsilon, runs=1000, seed=13) <= MOST


@pytest.mark.parametrize("name", MAIN)
def test_a_test_without_the_noise_raises_too_many(name: str) -> None:
    assert false_alarms(name, 200, 0.3, runs=300, seed=14, planted=0.0) > MOST


def test_powers_are_real() -> None:
    assert false_alarms("chi-squared", 652, 1.0, runs=300, seed=15, effect=True) > 0.8
