"""The paper's public helpers: ranges, Eq. 4, the Laplace mechanism and the four sensitivities."""

from __future__ import annotations

import datetime
import math

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import pydplib as dp
from pydplib import paper
from pydplib.errors import CalibrationError, DataError, ParameterError
from pydplib.paper.records import Records
from pydplib.paper.scales import extremes_of, fronts_of

DAY = datetime.date(2024, 1, 31)


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        ([52, 71, 66, 52], [52, 66, 71]),
        ([6, 7, 9, 10], [6, 7, 9, 10]),
        ([0.5, 2.5, 1.0], [0.5, 1.0, 2.5]),
        (["y", "n", "y"], ["n", "y"]),
        ([True, True], [True]),
        ([DAY, datetime.date(2020, 1, 1)], [datetime.date(2020, 1, 1), DAY]),
        (pd.Series([3, 1]), [1, 3]),
        (pd.Series(pd.Categorical(["b", "a"], categories=["c", "b", "a"], ordered=True)), ["b", "a"]),
    ],
    ids=str,
)
def test_data_range_is_the_sorted_unique_values_and_what_fitting_takes(data, expected) -> None:
    assert dp.paper.data_range(data) == expected
    if not isinstance(expected[0], bool):
        kind = {int: "int", float: "float", str: "string"}.get(type(expected[0]), "date")
        fitted = dp.paper.fit_data_to_range([0.0, 0.0, 1.0], expected, kind)
        assert fitted == [expected[0], expected[0], expected[-1]]


def test_data_range_when_empty_is_an_error() -> None:
    with pytest.raises(DataError, match="no range"):
        dp.paper.data_range([])


@pytest.mark.parametrize(
    ("data", "range_values", "data_type", "expected"),
    [
        ([0.0, 5.0, 10.0], (18, 100), "float", [18.0, 59.0, 100.0]),
        ([0.0, 5.0, 10.0], [18, 100], "float", [18.0, 59.0, 100.0]),
        ([0.0, 5.1, 10.0], (18, 100), "int", [18, 60, 100]),
        ([0.0, 5.0, 10.0], [18, 100], "int", [18, 18, 100]),
        ([0.0, 5.0, 10.0], range(1, 6), "int", [1, 3, 5]),
        ([0.0, 5.0, 10.0], range(0, 101, 50), "int", [0, 50, 100]),
        ([-1.0, 7.0], {"y", "n"} and ["n", "y"], "char", ["n", "y"]),
        ([0.0, 10.0], (datetime.date(2020, 1, 1), DAY), "date", [datetime.date(2020, 1, 1), DAY]),
        ([], (0, 1), "float", []),
    ],
    ids=str,
)
def test_fit_data_to_range_applies_eq4(data, range_values, data_type, expected) -> None:
    assert dp.paper.fit_data_to_range(data, range_values, data_type) == expected


def test_fit_data_to_range_keeps_the_container() -> None:
    out = dp.paper.fit_data_to_range(pd.Series([0.0, 4.0, 10.0], index=[7, 8, 9], name="age"), (0, 1), "float")
    assert out.index.tolist() == [7, 8, 9]
    assert out.name == "age"


@pytest.mark.parametrize("range_values", [(), "ab", 5, (0, math.inf), ("a", "b"), None], ids=str)
def test_fit_data_to_range_when_the_range_is_unusable_says_so(range_values) -> None:
    with pytest.raises(ParameterError, match="range_values"):
        dp.paper.fit_data_to_range([1.0, 2.0], range_values, "int")


@given(
    st.lists(st.floats(-1e300, 1e300), min_size=2, max_size=30),
    st.tuples(st.floats(-1e300, 1e300), st.floats(-1e300, 1e300)).map(lambda pair: tuple(sorted(pair))),
)
def test_eq4_when_anything_is_fitted_stays_in_the_range_and_in_order(data, limits) -> None:
    out = np.array(dp.paper.fit_data_to_range(data, limits, "float"))
    assert out.min() >= limits[0] and out.max() <= limits[1]
    assert (np.diff(out[np.argsort(data)]) >= 0).all()


@given(st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=30), st.lists(st.integers(-50, 50), min_size=1, unique=True))
def test_eq4_when_snapped_gives_members_only(data, members) -> None:
    assert set(dp.paper.fit_data_to_range(data, members, "int")) <= set(members)


def test_range_values_without_is_range_are_an_error() -> None:
    with pytest.raises(ParameterError, match="is_range=True"):
        dp.dp_calculate([1, 2, 3], "mean", "low", range_values=[1, 2, 3])


def test_range_values_of_text_must_be_categories() -> None:
    with pytest.raises(ParameterError, match="some of its categories"):
        dp.dp_calculate(["n", "y"], "count", "low", is_range=True, range_values=["n", "z"])


@given(st.integers(1, 400), st.floats(0.01, 100))
def test_fronts_hold_the_extremes_of_the_whole_column_for_every_scale(n, scale) -> None:
    generator = np.random.default_rng(n)
    values, noise = generator.normal(60, 9, n).round(), generator.laplace(size=n)
    from unittest import mock

    with mock.patch("pydplib.paper.scales._unit", lambda size: noise[:size]):
        fronts = fronts_of(Records(values, "float"))
    total = values + scale * noise
    assert extremes_of(fronts, scale) == pytest.approx((total.min(), total.max()))


@pytest.mark.parametrize(
    ("data", "kind"), [(5, int), (5.5, float), (np.int64(5), np.int64), (True, bool), (np.float32(2), np.float32)]
)
def test_laplace_mechanism_when_given_one_value_gives_one_back(data, kind) -> None:
    assert isinstance(dp.paper.laplace_mechanism(data, 1.0, 1.0), kind)


@pytest.mark.parametrize("wrong", [0, -1.0, math.nan, math.inf, "1", None])
def test_laplace_mechanism_when_a_parameter_is_unusable_says_so(wrong) -> None:
    with pytest.raises(ParameterError, match="raw values would leave"):
        dp.paper.laplace_mechanism([1.0], wrong, 1.0)
    with pytest.raises(ParameterError, match="raw values would leave"):
        dp.paper.laplace_mechanism([1.0], 1.0, wrong)


@pytest.mark.parametrize(("data", "error"), [(["a"], DataError), ("a", DataError), ([None], DataError)])
def test_laplace_mechanism_when_given_no_numbers_says_so(data, error) -> None:
    with pytest.raises(error):
        dp.paper.laplace_mechanism(data, 1.0, 1.0)


@pytest.mark.parametrize("epsilon", [1e-300, 1e40])
def test_laplace_mechanism_when_the_noise_would_vanish_or_drown_refuses(epsilon) -> None:
    with pytest.raises(CalibrationError):
        dp.paper.laplace_mechanism([1e10], 1e10, epsilon)


def test_laplace_mechanism_keeps_empty_and_typed_containers() -> None:
    assert dp.paper.laplace_mechanism([], 1.0, 1.0) == []
    assert dp.paper.laplace_mechanism(pd.Series([1, 2], index=[3, 4]), 1.0, 1.0).index.tolist() == [3, 4]


def test_laplace_mechanism_of_whole_numbers_has_the_discrete_distribution() -> None:
    n, scale = 400_000, 2.0
    noisy = dp.paper.laplace_mechanism(np.zeros(n, dtype=np.int64), 1.0, 1 / scale)
    p = 1 - math.exp(-0.5 / scale)
    assert abs(np.mean(noisy == 0) - p) < 6 * math.sqrt(p * (1 - p) / n) + 1e-3


def test_sensitivities_are_those_of_the_paper() -> None:
    assert paper.count_sensitivity() == 1
    assert paper.mean_sensitivity(18, 100, 920) == pytest.approx(82 / 920)
    assert paper.mean_sensitivity(100, 18, 920) == pytest.approx(82 / 920)
    assert paper.median_sensitivity(18, 100, 920) == pytest.approx(82 / 920)
    assert paper.variance_sensitivity(18, 100, 920) == pytest.approx(82**2 / 920)
    assert [paper.sensitivity(q, low=0, high=10, n=5) for q in (1, 2, 3, 4)] == [1, 2, 2, 20]


def test_mean_sensitivity_is_right_by_brute_force_and_the_median_is_not() -> None:
    """Exchange one record of every small data set on a grid: the largest change of the answer."""
    grid, n = [0.0, 1.0, 2.0], 3
    data = np.array(np.meshgrid(*[grid] * n)).reshape(n, -1).T
    change = {"mean": 0.0, "median": 0.0, "variance": 0.0}
    for row in data:
        for place in range(n):
            for value in grid:
                other = row.copy()
                other[place] = value
                change["mean"] = max(change["mean"], abs(row.mean() - other.mean()))
                change["median"] = max(change["median"], abs(np.median(row) - np.median(other)))
                change["variance"] = max(change["variance"], abs(row.var(ddof=1) - other.var(ddof=1)))
    assert change["mean"] == pytest.approx(paper.mean_sensitivity(0, 2, n))
    assert change["median"] == 2 > paper.median_sensitivity(0, 2, n)
    assert change["variance"] <= paper.variance_sensitivity(0, 2, n) + 1e-12


@pytest.mark.parametrize(
    "call", [lambda: paper.mean_sensitivity(0, math.inf, 3), lambda: paper.mean_sensitivity(0, 1, 0)]
)
def test_sensitivities_when_undefined_are_an_error(call) -> None:
    with pytest.raises((DataError, ParameterError)):
        call()


@pytest.mark.parametrize(("low", "high"), [(0, 1e200), (0, 1e-200)])
def test_variance_sensitivity_when_its_square_is_no_float_is_an_error(low, high) -> None:
    with pytest.raises(CalibrationError, match="another unit"):
        paper.variance_sensitivity(low, high, 10)
