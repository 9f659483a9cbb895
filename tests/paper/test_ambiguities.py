"""Every line of the paper that is unclear, and how it is resolved here: one test (or more) for each."""

from __future__ import annotations

import datetime
import inspect
import math

import numpy as np
import pytest

import pydplib as dp
from pydplib.errors import CalibrationError, DataError, ParameterError
from pydplib.guarantee import LocalDP
from pydplib.paper import default_epsilons
from pydplib.paper.mechanism import expected_percent, flip_chance, scale_for
from pydplib.paper.scales import search_epsilon


def test_01_noise_of_numbers_is_wmape_after_rounding(ages) -> None:
    result = dp.dp_calculate(ages, "mean", "medium", realised=True)
    expected = 100 * np.abs(result.dp_data - ages).sum() / np.abs(ages).sum()
    assert result.drawn_percent == pytest.approx(expected)
    with_zero = np.append(ages, 0)  # MAPE would be infinite
    assert dp.dp_calculate(with_zero, "mean", "medium").noise_percent == pytest.approx(7.5)


def test_01_noise_metric_range_is_offered(ages) -> None:
    result = dp.dp_calculate(ages.astype(float), "mean", "medium", noise_metric="range", realised=True)
    assert result.noise_metric == "range"
    assert result.scale == pytest.approx(0.075 * np.ptp(ages))
    expected = 100 * np.abs(result.dp_data - ages).mean() / np.ptp(ages)
    assert result.drawn_percent == pytest.approx(expected)


@pytest.mark.parametrize("kind", ["bool", "text"])
def test_02_noise_of_bool_and_category_is_the_mismatch_rate(kind) -> None:
    generator = np.random.default_rng(2)
    data = generator.random(500) < 0.3 if kind == "bool" else generator.choice(["a", "b", "c"], 500)
    result = dp.dp_calculate(data, "count", "high", is_range=True, realised=True)
    assert result.noise_metric == "mismatch"
    assert result.drawn_percent == pytest.approx(100 * np.mean(result.dp_data != data))


def test_03_when_all_values_are_zero_noise_is_percent_of_the_public_range() -> None:
    result = dp.dp_calculate(np.zeros(1000), "mean", "high", bounds=(0, 10))
    assert result.noise_metric == "range"
    assert result.scale == pytest.approx(1.5)


def test_03_when_the_range_is_zero_too_it_is_a_clear_error() -> None:
    with pytest.raises(DataError, match="public bounds"):
        dp.dp_calculate([0.0] * 10, "mean", "high")
    with pytest.raises(DataError, match="public bounds"):
        dp.paper.binary_search_epsilon(
            default_epsilons(), [0.0] * 10, "high", is_bool=False, is_range=False, sensitivity=1.0
        )


def test_04_epsilons_are_strictly_ascending(ages) -> None:
    with pytest.raises(ParameterError, match="strictly ascending"):
        dp.dp_calculate(ages, "mean", "high", selector="search", epsilons=[1.0, 0.1])


def test_05_default_epsilons_are_even_ratios_and_may_be_replaced(ages) -> None:
    epsilons = default_epsilons()
    assert len(epsilons) == 1101
    assert (epsilons[0], epsilons[-1]) == (1e-8, 1e3)
    assert np.allclose(epsilons[1:] / epsilons[:-1], 10**0.01)
    own = np.geomspace(1e-4, 1.0, 300)
    assert dp.dp_calculate(ages, "mean", "high", selector="search", epsilons=own).epsilon in own


def test_06_the_search_leaves_the_probe_out_so_that_it_ends() -> None:
    found = search_epsilon(default_epsilons(), (10.0, 20.0), lambda epsilon: 50.0)
    assert found.epsilon == 0.0
    assert found.probes == 11


def test_07_not_found_is_zero_for_the_helper_and_an_error_for_dp_calculate(ages) -> None:
    options = {"is_bool": False, "is_range": False, "sensitivity": 1.0}
    assert dp.paper.binary_search_epsilon([1e6], ages, "high", **options) == 0.0
    with pytest.raises(CalibrationError, match="the noise it saw went from"):
        dp.dp_calculate(ages, "mean", "high", selector="search", epsilons=[1e6])


@pytest.mark.parametrize("edge", [5.0, 10.0])
def test_08_bands_are_closed_and_the_first_probe_inside_wins(edge) -> None:
    assert search_epsilon(np.array([1.0]), (5.0, 10.0), lambda epsilon: edge).epsilon == 1.0


def test_08_the_low_band_accepts_no_noise_in_the_search_but_never_in_closed_form(ages) -> None:
    searched = dp.dp_calculate(ages, "mean", "low", selector="search")
    assert searched.noise_percent < 0.5
    assert any("almost no noise" in note for note in searched.notes)
    closed = [dp.dp_calculate(ages, "mean", "low") for _ in range(2)]
    assert closed[0].epsilon == closed[1].epsilon
    assert closed[0].noise_percent == pytest.approx(2.5)
    assert inspect.signature(dp.dp_calculate).parameters["selector"].default == "closed_form"


def test_09_with_three_records_the_search_is_often_outside_the_band_in_the_long_run() -> None:
    generator = np.random.default_rng(9)
    outside = 0
    for _ in range(100):
        data = generator.normal(65.0, 9.0, 3)
        sensitivity = np.ptp(data) / 3
        epsilon = dp.paper.binary_search_epsilon(
            default_epsilons(), data, "medium", is_bool=False, is_range=False, sensitivity=sensitivity
        )
        outside += not (epsilon and 5 <= 100 * sensitivity / epsilon / data.mean() <= 10)
    assert 3 <= outside <= 45  # a fifth on average; P(Binomial(100, .2) outside) < 1e-7


def test_09_with_920_records_it_is_not(ages) -> None:
    results = [dp.dp_calculate(ages, "mean", "medium", selector="search") for _ in range(10)]
    assert all(result.in_band for result in results)


def test_09_a_result_outside_the_band_says_so() -> None:
    data = [55.0, 66.0, 71.0]
    for _ in range(200):
        result = dp.dp_calculate(data, "mean", "medium", selector="search")
        assert result.in_band != any("outside the band in the long run" in note for note in result.notes)
        if not result.in_band:
            return
    raise AssertionError("200 searches with three records never left the band: the chance is below 1e-9")


def test_10_the_noise_returned_is_the_expected_one(ages) -> None:
    results = [dp.dp_calculate(ages, "mean", "high") for _ in range(3)]
    assert all(result.noise_percent == pytest.approx(15.0) for result in results)
    for result in results:
        drawn = 100 * np.abs(result.dp_data - ages).sum() / ages.sum()
        assert result.drawn_percent == pytest.approx(drawn)
        for text in (repr(result), result._repr_html_(), str(result.to_dict()), result.noise_words()):
            assert str(result.drawn_percent) not in text and "in this draw" not in text and "this draw:" not in text
    asked = dp.dp_calculate(ages, "mean", "high", realised=True)
    assert asked.to_dict()["drawn_percent"] == asked.drawn_percent != asked.noise_percent
    assert "this draw" in repr(asked)
    assert any("do not hand it on" in note for note in asked.notes)
    assert dp.dp_calculate(ages, "mean", record_epsilon=2, bounds=(18, 100)).drawn_percent is None


def test_10_the_words_call_the_noise_an_average(ages) -> None:
    result = dp.dp_calculate(ages, "mean", "medium")
    assert result.noise_words() == "about 7.5 % on average"
    assert result.noise_words(drawn=True).startswith("about 7.5 % on average, ")
    assert result.noise_words(drawn=True).endswith(" % in this draw")
    assert "about 7.5 % of the typical value on average" in repr(result)
    fitted = dp.dp_calculate(ages, "mean", "medium", is_range=True)
    assert any("average over many draws" in note for note in fitted.notes)


def test_11_a_and_b_are_those_of_the_data_or_public_bounds_with_clamping(ages) -> None:
    assert dp.dp_calculate(ages, "mean", "high").sensitivity == pytest.approx(np.ptp(ages) / 920)
    bounded = dp.dp_calculate(ages, "mean", "high", bounds=(18, 100))
    assert bounded.sensitivity == pytest.approx(82 / 920)
    clamped = dp.dp_calculate([1000.0, 0.0], "mean", "low", bounds=(40, 60))
    assert clamped.scale == pytest.approx(0.025 * 50)


def test_12_counts_need_no_n_and_other_aggregates_need_group_sizes() -> None:
    counts, means = [12, 40, 7], [61.2, 66.0, 70.1]
    assert dp.dp_calculate(counts, "count", "high", aggregated=True).sensitivity == 1
    for query in ("mean", "median", "variance"):
        with pytest.raises(ParameterError, match="group_sizes"):
            dp.dp_calculate(means, query, "high", aggregated=True)
    result = dp.dp_calculate(means, "mean", "high", group_sizes=[100, 400, 50], bounds=(18, 100))
    assert result.sensitivity == pytest.approx(82 / 50)  # the smallest group decides
    assert result.record_epsilon == pytest.approx(result.epsilon)
    assert dp.dp_calculate(means, "mean", "high", group_sizes=50, bounds=(18, 100)).sensitivity == pytest.approx(1.64)


def test_12_bounds_of_patients_do_not_clamp_a_variance() -> None:
    result = dp.dp_calculate([70.0, 81.0, 64.0], "variance", "low", group_sizes=100, bounds=(18, 100))
    assert result.sensitivity == pytest.approx(82**2 / 100)
    assert result.scale == pytest.approx(0.025 * np.mean([70, 81, 64]))


def test_12_aggregates_without_bounds_say_that_the_sensitivity_is_too_small() -> None:
    result = dp.dp_calculate([61.2, 66.0, 70.1], "mean", "high", group_sizes=50)
    assert any("too small" in note for note in result.notes)


@pytest.mark.parametrize("wrong", [[1, 2], [0, 1, 2], [1.5, 2.0, 3.0], "many", -3])
def test_12_wrong_group_sizes_are_refused(wrong) -> None:
    with pytest.raises(ParameterError):
        dp.dp_calculate([61.2, 66.0, 70.1], "mean", "high", group_sizes=wrong)


@pytest.mark.parametrize("query", ["count", "mean", "median", "variance"])
@pytest.mark.parametrize("data", [[7], [7.5, 7.5, 7.5], [datetime.date(2024, 1, 31)] * 3])
@pytest.mark.parametrize("fit", [False, True])
def test_13_constant_data_and_single_records_are_an_error(query, data, fit) -> None:
    with pytest.raises(DataError, match="the raw value would leave"):
        dp.dp_calculate(data, query, "high", is_range=fit)


@pytest.mark.parametrize("data", [[7], [7.5, 7.5, 7.5]])
def test_13_unless_public_bounds_are_given_and_then_epsilon_does_not_show_the_value(data) -> None:
    result = dp.dp_calculate(data, "mean", "high", bounds=(0, 10))
    assert result.noise_metric == "range"
    assert result.epsilon == dp.dp_calculate([2 for _ in data], "mean", "high", bounds=(0, 10)).epsilon or isinstance(
        data[0], float
    )
    assert result.noise_percent == pytest.approx(15.0)


def test_13_one_category_is_an_error_and_a_public_list_helps() -> None:
    with pytest.raises(DataError, match="categories"):
        dp.dp_calculate(["n"] * 5, "count", "high", is_range=True)
    result = dp.dp_calculate(["n"] * 5, "count", "high", categories=["n", "y"], selector="public")
    assert isinstance(result.guarantee, LocalDP)


def test_13_true_false_brings_its_own_range() -> None:
    assert dp.dp_calculate([True], "mean", "high").sensitivity == 1


@pytest.mark.parametrize("query", ["count", "mean", "median", "variance"])
def test_14_no_records_give_an_empty_result(query) -> None:
    result = dp.dp_calculate([], query, "high")
    assert result.dp_data == []
    assert math.isnan(result.epsilon) and math.isnan(result.sensitivity) and math.isnan(result.noise_percent)
    assert "no records" in result.guarantee.sentence
    assert "no data" in repr(result)


@pytest.mark.parametrize("gap", [None, math.nan, np.float64("nan")])
def test_15_missing_values_are_an_error_or_dropped_never_noised(gap) -> None:
    data = [61.0, gap, 70.0, 55.5]
    with pytest.raises(DataError, match="missing"):
        dp.dp_calculate(data, "mean", "low")
    assert len(dp.dp_calculate(data, "mean", "low", on_missing="drop").dp_data) == 3
    with pytest.raises(DataError, match="text only"):
        dp.dp_calculate(data, "mean", "low", on_missing="category")


@pytest.mark.parametrize("gap", [None, "", "  ", math.nan])
def test_15_missing_text_can_be_a_category(gap) -> None:
    data = ["y", "n", gap, "y"] * 50
    with pytest.raises(DataError, match="missing"):
        dp.dp_calculate(data, "count", "low", is_range=True)
    result = dp.dp_calculate(data, "count", "low", is_range=True, on_missing="category")
    assert len(result.dp_data) == 200
    assert set(result.dp_data) <= {"y", "n", None, ""}


@pytest.mark.parametrize("on_missing", ["error", "drop", "category"])
@pytest.mark.parametrize("infinite", [math.inf, -math.inf])
def test_15_infinity_is_an_error(on_missing, infinite) -> None:
    with pytest.raises(DataError, match="infinite"):
        dp.dp_calculate([1.0, infinite, 3.0], "mean", "low", on_missing=on_missing)


def test_16_sensitivity_over_epsilon_is_the_scale_and_the_variance_twice_its_square() -> None:
    noisy = dp.paper.laplace_mechanism(np.zeros(200_000), sensitivity=3.0, epsilon=0.5)
    assert np.abs(noisy).mean() == pytest.approx(6.0, rel=0.02)
    assert noisy.var() == pytest.approx(2 * 6.0**2, rel=0.04)  # standard error 0.5 %
    assert noisy.var() != pytest.approx(6.0, rel=0.5)


@pytest.mark.parametrize("target", [0.025, 0.075, 0.15])
@pytest.mark.parametrize("mean", [0.4, 3.0, 65.0])
def test_17_whole_numbers_have_their_own_closed_form(target, mean) -> None:
    scale = scale_for("int", target, mean)
    wanted = target * mean
    exact = 2 * sum(
        z * (math.exp(-(z - 0.5) / scale) - math.exp(-(z + 0.5) / scale)) / 2 for z in range(1, 60 + int(60 * scale))
    )
    assert exact == pytest.approx(wanted, rel=1e-6)
    assert expected_percent("int", scale, mean) == pytest.approx(100 * target)


def test_17_rounding_is_half_to_even(monkeypatch) -> None:
    from pydplib.paper import mechanism

    monkeypatch.setattr(mechanism, "laplace_records", lambda values, scale: values + 0.5)
    assert dp.paper.laplace_mechanism([1, 2, 3, 4], 1.0, 1.0) == [2, 2, 4, 4]


def test_18_whole_numbers_and_categories_snap_to_members_ties_to_the_lower() -> None:
    assert dp.paper.fit_data_to_range([0.0, 1.5, 3.0], [6, 7, 8, 9], "int") == [6, 7, 9]
    assert dp.paper.fit_data_to_range([0.0, 5.0, 10.0], [10, 20, 90], "int") == [10, 20, 90]
    assert dp.paper.fit_data_to_range([0.0, 0.5, 1.0], ["a", "b"], "string") == ["a", "a", "b"]
    for options in ({}, {"range_values": [1, 3, 5, 9]}):
        result = dp.dp_calculate([1, 1, 3, 5, 5, 9] * 30, "mean", "high", is_range=True, **options)
        assert set(result.dp_data) <= {1, 3, 5, 9}


def test_18_values_that_do_not_occur_never_come_out() -> None:
    gleason = [6, 7, 9, 10] * 100
    result = dp.dp_calculate(gleason, "count", "high", is_range=True)
    assert set(result.dp_data) <= {6, 7, 9, 10}
    bounded = dp.dp_calculate(gleason, "count", "high", is_range=True, bounds=(6, 10))
    assert 8 in bounded.dp_data  # the caller says that it may


@pytest.mark.parametrize(("data_type", "expected"), [("int", [18, 18]), ("float", [18.0, 18.0])])
def test_19_eq4_of_constant_data_is_the_lowest_value(data_type, expected) -> None:
    assert dp.paper.fit_data_to_range([7.7, 7.7], (18, 100), data_type) == expected


@pytest.mark.parametrize("selector", ["closed_form", "search"])
def test_20_categories_without_a_range_are_an_error(selector) -> None:
    with pytest.raises(DataError, match="is_range=True"):
        dp.dp_calculate(["n", "y"], "count", "low", selector=selector)
    with pytest.raises(DataError, match="is_range=True"):
        dp.paper.binary_search_epsilon(
            default_epsilons(), ["n", "y"], "low", is_bool=False, is_range=False, sensitivity=1.0
        )


def test_21_categories_are_coded_in_the_order_given_else_sorted_with_an_exact_round_trip() -> None:
    from pydplib.paper.codes import encode
    from pydplib.paper.containers import open_column

    data = ["chr", "n", "y", "n"]
    for categories, expected in [(None, [0, 1, 2, 1]), (["y", "n", "chr"], [2, 1, 0, 1])]:
        coded, _ = encode(open_column(data), data_type=None, on_missing="error", categories=categories)
        assert coded.codes.tolist() == expected
        assert coded.decode(coded.codes).tolist() == data


def test_21_unknown_categories_are_an_error() -> None:
    with pytest.raises(DataError, match="not among the 2 categories"):
        dp.dp_calculate(["n", "y", "z"], "count", "low", is_range=True, categories=["n", "y"])


@pytest.mark.parametrize(("factor", "p"), [("low", 0.025), ("medium", 0.075), ("high", 0.15)])
@pytest.mark.parametrize("query", ["count", "mean"])
def test_22_flip_probability_and_epsilon_of_true_false(factor, p, query) -> None:
    data = [True, False, False, True, True] * 20
    result = dp.dp_calculate(data, query, factor, is_range=True)
    assert result.epsilon == pytest.approx(2 * result.sensitivity * math.log(1 / (2 * p)))
    assert flip_chance(result.scale) == pytest.approx(p)
    assert math.exp(-result.epsilon / (2 * result.sensitivity)) / 2 == pytest.approx(p)
    assert set(map(type, result.dp_data)) == {bool}


def test_22_true_iff_above_one_half() -> None:
    assert dp.paper.fit_data_to_range([0.5, 0.5000001, -3.0, 9.0], [False, True], "bool") == [False, True, False, True]


def test_23_is_bool_follows_the_data_type() -> None:
    assert dp.dp_calculate([0, 1, 1, 0], "count", "high", data_type="bool").noise_metric == "mismatch"
    assert dp.dp_calculate([0, 1, 1, 0], "count", "high").noise_metric == "wmape"
    for data_type in ("char", "string"):
        with pytest.raises(DataError, match="Text needs"):
            dp.dp_calculate(["a", "b"], "count", "high", data_type=data_type)


def test_24_the_order_of_the_input_is_kept_and_said(ages) -> None:
    spread = np.arange(200) * 1000.0
    result = dp.dp_calculate(spread, "mean", "low", noise_metric="wmape")
    assert np.corrcoef(spread, result.dp_data)[0, 1] > 0.9
    assert "in the order of the input" in repr(result)


def test_int_string_columns_are_read_as_int_where_every_value_parses() -> None:
    assert dp.dp_calculate(["1", "2", " 3", "+4"], "mean", "low").data_type == "int"
    assert dp.dp_calculate([1, "2", 3], "mean", "low").data_type == "int"
    mixed = dp.dp_calculate([1, "2", "multiple", 3] * 20, "count", "low", is_range=True)
    assert mixed.data_type == "string"
    assert set(mixed.dp_data) <= {1, "2", "multiple", 3}


def test_dates_are_coded_as_days_and_measured_against_the_range() -> None:
    first = datetime.date(2015, 1, 1)
    data = [first + datetime.timedelta(days=7 * i) for i in range(300)]
    result = dp.dp_calculate(data, "mean", "medium")
    assert result.data_type == "date"
    assert result.scale == pytest.approx(0.075 * 7 * 299, rel=1e-3)
    assert all(type(day) is datetime.date for day in result.dp_data)
    assert result.noise_metric == "range"


def test_defaults_of_dp_calculate_are_those_promised() -> None:
    parameters = inspect.signature(dp.dp_calculate).parameters
    defaults = {
        "is_range": False,
        "data_type": None,
        "selector": "closed_form",
        "noise_metric": "wmape",
        "on_missing": "error",
        "bounds": None,
        "repetitions": 5,
    }
    assert {name: parameters[name].default for name in defaults} == defaults
    assert all(parameters[name].kind is inspect.Parameter.KEYWORD_ONLY for name in defaults)
    assert list(parameters)[:3] == ["input_data", "query_type", "noise_factor"]


@pytest.mark.parametrize(("number", "word"), [(1, "count"), (1, "histogram"), (2, "average"), (3, "median")])
def test_query_types_are_numbers_or_words(ages, number, word) -> None:
    assert dp.dp_calculate(ages, number, 1).sensitivity == dp.dp_calculate(ages, word, "medium").sensitivity


@pytest.mark.parametrize(("role", "factor"), [("owner", "low"), ("collaborator", "medium"), ("third party", "high")])
def test_roles_stand_for_noise_factors(ages, role, factor) -> None:
    assert dp.dp_calculate(ages, "mean", role=role).noise_band == dp.dp_calculate(ages, "mean", factor).noise_band
