"""How accurate releases are where the specification promises a number: n = 920, epsilon 1, bounds 18 to 100."""

from __future__ import annotations

import numpy as np
import pytest

import pydplib as dp
from pydplib import datasets

AGES = np.floor(datasets.pirads(920, backend="numpy")["age"])  # completed years
BOUNDS = (18, 100)


def test_median_of_920_ages_is_off_by_at_most_a_tenth_of_a_year_on_average():
    found = [dp.median(AGES, bounds=BOUNDS, epsilon=1.0, step=1).value for _ in range(300)]
    assert np.mean(np.abs(np.array(found) - np.median(AGES))) <= 0.1


def test_mean_of_920_ages_has_an_rmse_of_at_most_eleven_hundredths():
    errors = np.array([dp.mean(AGES, bounds=BOUNDS, epsilon=1.0).value for _ in range(1500)]) - AGES.mean()
    assert np.sqrt(np.mean(errors**2)) <= 0.11


def test_mean_at_a_third_of_epsilon_misses_the_promise():
    errors = np.array([dp.mean(AGES, bounds=BOUNDS, epsilon=0.33).value for _ in range(300)]) - AGES.mean()
    assert np.sqrt(np.mean(errors**2)) > 0.11


@pytest.mark.parametrize("ask", [dp.mean, dp.variance])
def test_estimates_are_not_visibly_biased(ask):
    truth = {dp.mean: AGES.mean(), dp.variance: AGES.var()}[ask]
    found = np.array([ask(AGES, bounds=BOUNDS, epsilon=1.0).value for _ in range(600)])
    assert abs(found.mean() - truth) < 6 * found.std() / np.sqrt(len(found)) + 1e-3
