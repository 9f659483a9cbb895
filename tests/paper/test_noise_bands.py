"""The closed form lands in the middle of the band, for every query type, factor and kind of value."""

from __future__ import annotations

import math

import numpy as np
import pytest

import pydplib as dp
from pydplib.paper import NOISE_FACTORS, mechanism, scales
from pydplib.paper.ranges import Range
from pydplib.paper.records import Records
from pydplib.policy import parse_noise_factor

QUERIES = ("count", "mean", "median", "variance")
FACTORS = ("low", "medium", "high")


def wmape(noisy, original) -> float:
    noisy, original = np.asarray(noisy, dtype=float), np.asarray(original, dtype=float)
    return float(100 * np.abs(noisy - original).sum() / np.abs(original).sum())


def mean_noise(data, factor: str, draws: int, **options) -> float:
    """Return the mean realised noise: with 920 records, 40 draws have a relative standard error of 0.55 %."""
    return float(np.mean([wmape(dp.dp_calculate(data, "mean", factor, **options).dp_data, data) for _ in range(draws)]))


@pytest.mark.parametrize("factor", FACTORS)
@pytest.mark.parametrize("query", QUERIES)
@pytest.mark.parametrize("column", ["ages", "psa"])
def test_closed_form_when_unfitted_expects_the_middle_of_the_band(column, query, factor, request) -> None:
    data = request.getfixturevalue(column)
    result = dp.dp_calculate(data, query, factor)
    assert result.noise_percent == pytest.approx(100 * NOISE_FACTORS[factor].target, rel=1e-9)
    assert result.in_band
    # One draw of 920 records: relative standard deviation 3.3 % (more for whole numbers at low noise); 8 of them.
    assert wmape(result.dp_data, data) == pytest.approx(result.noise_percent, rel=0.35)


@pytest.mark.parametrize("factor", FACTORS)
@pytest.mark.parametrize("column", ["ages", "psa"])
def test_closed_form_when_drawn_often_realises_what_it_expects(column, factor, request) -> None:
    data = request.getfixturevalue(column)
    # 6 standard errors: false alarm below 1e-8.
    assert mean_noise(data, factor, 40) == pytest.approx(100 * NOISE_FACTORS[factor].target, rel=0.035)


def test_mid_band_check_when_the_scale_is_a_tenth_too_small_fails(psa, monkeypatch) -> None:
    honest = mechanism.laplace_records
    monkeypatch.setattr(mechanism, "laplace_records", lambda values, scale: honest(values, 0.9 * scale))
    assert mean_noise(psa, "high", 40) != pytest.approx(15.0, rel=0.035)


@pytest.mark.parametrize("query", QUERIES)
def test_query_type_changes_the_epsilon_and_not_the_scale(ages, query) -> None:
    result = dp.dp_calculate(ages, query, "high")
    assert result.scale == dp.dp_calculate(ages, "mean", "high").scale
    assert result.epsilon == pytest.approx(result.sensitivity / result.scale)


@pytest.mark.parametrize("factor", FACTORS)
@pytest.mark.parametrize("query", QUERIES)
@pytest.mark.parametrize("column", ["ages", "psa"])
def test_eq4_when_fitted_lies_in_the_band_or_says_so(column, query, factor, request) -> None:
    data = request.getfixturevalue(column)
    result = dp.dp_calculate(data, query, factor, is_range=True)
    band = NOISE_FACTORS[factor]
    assert result.in_band
    middle_met = result.noise_percent == pytest.approx(100 * band.target, rel=0.02)
    assert middle_met or any("cannot be reached" in note for note in result.notes)


@pytest.mark.parametrize("factor", FACTORS)
@pytest.mark.parametrize("column", ["ages", "psa"])
def test_eq4_when_drawn_often_realises_what_it_expects(column, factor, request) -> None:
    data = request.getfixturevalue(column)
    results = [dp.dp_calculate(data, "mean", factor, is_range=True) for _ in range(30)]
    expected = np.mean([result.noise_percent for result in results])
    # The extremes of a draw move all its values: one draw has a relative deviation of up to 40 %, 30 draws 7.3 %.
    assert np.mean([wmape(result.dp_data, data) for result in results]) == pytest.approx(expected, rel=0.4)


def test_eq4_when_the_middle_is_out_of_reach_takes_the_smallest_scale_in_the_band_and_says_so(ages) -> None:
    result = dp.dp_calculate(ages, "mean", "high", is_range=True)
    assert 10.0 <= result.noise_percent < 10.4
    assert result.scale < 45  # the largest attainable noise has a scale of 80 and more years
    assert any("smallest noise inside the band" in note for note in result.notes)


@pytest.mark.parametrize("bounded", [False, True])
def test_fitted_when_a_record_has_an_epsilon_below_one_says_how_little_is_left(bounded) -> None:
    data = np.random.default_rng(3).integers(60, 71, 920).astype(float)
    options = {"range_values": (60, 70), "noise_metric": "range"} if bounded else {"noise_metric": "range"}
    result = dp.dp_calculate(data, "mean", "high", is_range=True, **options)
    assert (result.record_epsilon < 1) == any("little but" in note for note in result.notes)
    drowned = dp.dp_calculate(data, "mean", "high", is_range=True)
    assert drowned.record_epsilon < 1
    assert any("little but the smallest and the largest value" in note for note in drowned.notes)


def test_fitted_when_the_low_band_is_out_of_reach_still_has_noise() -> None:
    years = np.random.default_rng(5).integers(2015, 2022, 400)
    result = dp.dp_calculate(years, "mean", "low", is_range=True)
    medium = dp.dp_calculate(years, "mean", "medium", is_range=True)
    assert result.in_band and any("half of the largest attainable" in note for note in result.notes)
    # Low noise leaves something of the column, and is less than medium.
    assert 0.4 < result.noise_percent / medium.noise_percent < 0.65
    assert result.scale < medium.scale / 2


def test_eq4_when_the_whole_band_is_out_of_reach_gives_the_nearest_and_says_so() -> None:
    years = np.random.default_rng(5).integers(2015, 2022, 400)
    result = dp.dp_calculate(years, "mean", "high", is_range=True)
    assert result.in_band is False
    assert result.noise_percent < 1
    assert any("The band 10 to 20 % cannot be reached" in note for note in result.notes)
    assert "OUTSIDE" in repr(result)


def test_declared_range_when_wider_than_the_data_costs_no_extra_noise(ages) -> None:
    narrow = dp.dp_calculate(ages, "mean", "high")
    wide = dp.dp_calculate(ages, "mean", "high", is_range=True, bounds=(0, 1000))
    assert wide.scale == pytest.approx(narrow.scale, rel=0.05)
    assert wide.noise_percent == pytest.approx(15.0, rel=0.02)
    assert wide.dp_data.mean() == pytest.approx(ages.mean(), abs=5)  # Eq. 4 would stretch them to a mean of 400


@pytest.mark.parametrize("n", [20_001, 40_000])
def test_eq4_when_sampled_foresees_the_noise_of_the_whole_column(n) -> None:
    data = np.random.default_rng(7).normal(65.0, 8.5, n)
    result = dp.dp_calculate(data, "mean", "medium", is_range=True)
    assert result.noise_percent == pytest.approx(7.5, rel=0.02)
    draws = [dp.dp_calculate(data, "mean", "medium", is_range=True) for _ in range(10)]
    # One draw deviates by a quarter, ten of them by 8 %.
    assert np.mean([wmape(r.dp_data, data) for r in draws]) == pytest.approx(7.5, rel=0.45)


def test_eq4_when_one_record_outside_the_sample_is_extreme_takes_it_into_account(monkeypatch) -> None:
    data = np.random.default_rng(7).normal(65.0, 8.5, 60_000)
    records = Records(data, "float")
    fit_to = Range(*records.extremes)

    def one_spike(size: int) -> np.ndarray:
        unit = np.zeros(size)
        unit[1 : size // 50_000 + 1] = 100.0  # row 1 is not in the strided sample of every third row
        return unit

    monkeypatch.setattr(scales, "_unit", one_spike)
    noise = scales.FittedNoise(records, fit_to, records.mean_abs)
    assert noise.percent(1.0) > 20  # the spike shrinks everything else to the lower end
    noise._fronts = []  # planted fault: the extremes of the sample stand for the whole column
    assert noise.percent(1.0) < 8


@pytest.mark.parametrize("factor", FACTORS)
def test_booleans_when_noisy_flip_as_often_as_the_band_says(factor) -> None:
    data = np.arange(200_000) % 3 == 0
    result = dp.dp_calculate(data, "count", factor, is_range=True)
    target = NOISE_FACTORS[factor].target
    assert result.noise_percent == pytest.approx(100 * target)
    error = math.sqrt(target * (1 - target) / len(data))
    assert abs(np.mean(result.dp_data != data) - target) < 6 * error


@pytest.mark.parametrize("factor", FACTORS)
def test_categories_when_fitted_change_as_often_as_the_band_says(factor) -> None:
    data = np.random.default_rng(1).choice(["n", "y", "chr", "acute"], 2000, p=[0.6, 0.2, 0.1, 0.1])
    results = [dp.dp_calculate(data, "count", factor, is_range=True) for _ in range(10)]
    assert all(result.in_band for result in results)
    realised = 100 * np.mean([np.mean(result.dp_data != data) for result in results])
    band = parse_noise_factor(factor)
    assert 0.3 * 100 * band.target < realised < band.high + 4


@pytest.mark.parametrize("selector", ["closed_form", "search"])
@pytest.mark.parametrize("factor", FACTORS)
@pytest.mark.parametrize("fitted_too", [False, True])
def test_closed_form_and_algorithm_1_agree_on_the_band(ages, selector, factor, fitted_too) -> None:
    assert dp.dp_calculate(ages, "mean", factor, selector=selector, is_range=fitted_too).in_band


@pytest.mark.parametrize("query", ["mean", "median", "variance"])
@pytest.mark.parametrize("selector", ["closed_form", "search"])
def test_new_extreme_record_changes_the_sensitivity_and_the_noise_stays_in_band(ages, query, selector) -> None:
    before = dp.dp_calculate(ages, query, "medium", selector=selector)
    after = dp.dp_calculate(np.append(ages, 119), query, "medium", selector=selector)
    assert after.sensitivity > 1.3 * before.sensitivity
    assert before.in_band and after.in_band


def test_new_extreme_record_when_bounds_are_public_changes_nothing_but_n(ages) -> None:
    before = dp.dp_calculate(ages, "mean", "medium", bounds=(18, 100))
    after = dp.dp_calculate(np.append(ages, 119), "mean", "medium", bounds=(18, 100))
    assert after.sensitivity == pytest.approx(before.sensitivity * 920 / 921)
