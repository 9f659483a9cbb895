"""What is shown covers: margins reach the far end of an interval, and variances cover at any size."""

from __future__ import annotations

import math
import re
from fractions import Fraction

import numpy as np
import pytest

import pydplib as dp
from pydplib.release.statistics.mean import MeanNoise
from pydplib.release.statistics.noise import find_end
from pydplib.release.statistics.variance import VarianceNoise

HALF, TIMES = 1 << 12, 2000
STEP = 41 / HALF
LEAST = 0.95 - 5 * math.sqrt(0.05 * 0.95 / TIMES)  # a false alarm in less than one of a million runs


def _variances(values: list[float]) -> tuple[VarianceNoise, float, list[np.ndarray]]:
    steps = np.round((np.array(values) - 59) / STEP).astype(np.int64)
    squares, total, count = int((steps**2).sum()), int(steps.sum()), len(steps)
    noise = VarianceNoise(
        rows=1, per_row=1, top=HALF**2, half=HALF, square_step=STEP**2, step=STEP, most=41.0**2, epsilon=Fraction(1)
    )
    truth = (squares / count - (total / count) ** 2) * STEP**2
    sums = (squares, HALF**2 * count - squares, total)
    return noise, truth, [np.full(TIMES, number, dtype=np.int64) for number in sums]


@pytest.mark.parametrize("values", [[98] * 12, [20] * 15, [18] * 13 + [100] * 2, list(range(18, 100, 2)) * 30], ids=str)
def test_variance_interval_and_margin_cover_at_any_size(values):
    noise, truth, sums = _variances(values)
    found = noise.apply(*sums)
    assert np.mean((found.low <= truth + 1e-9) & (truth <= found.high + 1e-9)) > LEAST
    assert np.mean(np.abs(found.values - truth) <= found.margins + 1e-9) > LEAST


def test_variance_interval_of_half_the_noise_does_not_cover():
    noise, truth, sums = _variances(list(range(18, 100, 2)) * 30)
    found = noise.apply(*sums)
    middle, half = (found.low + found.high) / 2, (found.high - found.low) / 4
    assert np.mean(np.abs(middle - truth) <= half) < LEAST


def test_variance_interval_of_many_rows_is_not_wider_than_its_price_says():
    noise, _, sums = _variances(list(range(18, 101)) * 100)
    assert np.median(noise.apply(*sums).margins) == pytest.approx(noise.margin(8300), rel=0.1)


@pytest.mark.parametrize("bounds", [(0, 1e-150), (0, 1e150)])
def test_variance_of_bounds_whose_square_is_no_number_is_refused(bounds):
    with pytest.raises(dp.errors.ParameterError, match="sensible distance"):
        dp.variance([1, 2, 3], bounds=bounds, epsilon=1.0)


@pytest.mark.parametrize("near", [-5.0, 0.0, 0.5, 2.99, 3.0, 20.0, 1e9])
def test_end_of_an_interval_is_found_from_any_guess_and_lies_outside_by_a_hair(near):
    end = find_end(lambda x: math.exp(-x), 0.0, 1e6, near=near)
    assert math.log(20) < end < math.log(20) + 4e-4


def test_end_of_an_interval_that_reaches_the_border_is_the_border():
    assert find_end(lambda x: 0.06, 0.5, 1.0, near=0.7) == 1.0


def test_mean_margin_reaches_the_far_end_of_a_clamped_interval():
    noise = MeanNoise(rows=1, per_row=1, top=82, low=18.0, high=100.0, epsilon=Fraction(1))
    above, below = (np.full(TIMES, number, dtype=np.int64) for number in (82 * 3, 0))
    found = noise.apply(above, below)
    assert np.mean(np.abs(found.values - 100.0) <= found.margins + 1e-9) > LEAST
    assert np.all(found.values - found.margins <= found.low + 1e-9)
    assert np.all(found.values + found.margins >= found.high - 1e-9)


def test_margin_of_a_mean_with_public_size_covers_at_a_bound():
    for _ in range(20):
        release = dp.mean([100] * 3, bounds=(18, 100), epsilon=0.5, size=3)
        low, high = release.interval95
        assert release.margin95 == pytest.approx(max(release.value - low, high - release.value))


def _mean_at_a_bound() -> dp.Release:
    return dp.Release(
        question={"ask": "mean", "of": "age"},
        values=(98.7,),
        guarantee=dp.PureDP(1.0),
        cost=dp.budget.Cost.pure(1, mechanism="laplace"),
        mechanism="discrete Laplace",
        scale=1.0,
        sensitivity=1.0,
        low=(40.04,),
        high=(100.0,),
        margins=(58.66,),
        unit="years",
    )


def test_words_of_a_clamped_interval_tell_its_ends():
    assert str(_mean_at_a_bound()).splitlines()[0] == "mean of age: 99 years (40 to 100)"


def test_words_with_a_margin_still_cover_after_rounding():
    for _ in range(50):
        release = dp.sum([0.1] * 50, bounds=(0, 1), epsilon=0.7)
        value, margin = re.search(r"(-?[\d.]+) ± ([\d.]+)", str(release)).groups()
        assert float(value) - float(margin) <= release.low95[0] + 1e-9
        assert float(value) + float(margin) >= release.high95[0] - 1e-9


def test_figure_draws_the_interval_and_not_beyond_the_bounds():
    error = _mean_at_a_bound().plot().data[0].error_y
    assert error.array[0] == pytest.approx(1.3) and error.arrayminus[0] == pytest.approx(58.66)
