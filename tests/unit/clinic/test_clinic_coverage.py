"""Simulated studies: intervals cover the population, tests raise few false alarms, and a wrong variance is noticed."""

from __future__ import annotations

import numpy as np
import pytest

from clinic import DESIGNS, TESTS, covered, false_alarms, stored

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


def test_the_stored_grid_keeps_what_is_promised() -> None:
    grid = stored()
    assert {entry["statistic"] for entry in grid["coverage"]} == set(DESIGNS)
    assert min(entry["least"] for entry in grid["coverage"]) >= 0.93
    for name in DESIGNS:
        rates = [entry["mean"] for entry in grid["coverage"] if entry["statistic"] == name]
        assert len(rates) == 25 and 0.94 <= np.mean(rates) <= 0.975, name
    tests = grid["tests"]
    assert len(tests) >= 50 and {entry["test"] for entry in tests} == set(TESTS)
    assert min(entry["runs"] for entry in tests) >= 5000
    assert max(entry["type_1"] for entry in tests) <= 0.065
    assert np.mean([entry["type_1"] for entry in tests]) <= 0.055
    assert np.mean([entry["type_1"] for entry in tests if entry["large"]]) >= 0.035
    assert all(abs(entry["predicted"] - entry["realised"]) <= 0.03 for entry in grid["plans"])
    assert grid["lung"]["rmse"] <= 0.022 and min(grid["lung"]["band_coverage_by_bin"]) >= 0.93


@pytest.mark.parametrize("name", [name for name in MAIN if name != "log-rank"])
def test_todays_code_gives_the_stored_rates(name: str) -> None:
    (entry,) = [e for e in stored()["tests"] if (e["test"], e["n"], e["epsilon"]) == (name, 652, 1.0)]
    found = false_alarms(name, 652, 1.0, runs=1000, seed=17)
    assert abs(found - entry["type_1"]) <= 4.9 * np.sqrt(0.05 * 0.95 * (1 / 1000 + 1 / entry["runs"]))
