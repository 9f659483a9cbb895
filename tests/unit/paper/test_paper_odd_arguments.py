"""Odd arguments to paper mode: clear errors of our own, no quoted values, no exhausted memory, no broken dates."""

from __future__ import annotations

import datetime

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from pydplib import dp_calculate
from pydplib.errors import DataError, ParameterError
from pydplib.paper import binary_search_epsilon, fit_data_to_range, laplace_mechanism

AGES = [50 + i % 30 for i in range(100)]
FAR = [datetime.date(9990, 1, 1), datetime.date(1, 1, 2)] * 100
FIRST, LAST = datetime.date(1, 1, 1), datetime.date(9999, 12, 31)


@pytest.mark.parametrize("epsilons", [[1, 2, "CANARY"], [[1], [1, 2]], "CANARY", object(), [10**400]])
def test_epsilons_that_are_no_numbers_are_refused_unquoted(epsilons) -> None:
    with pytest.raises(ParameterError) as caught:
        dp_calculate(AGES, "mean", "low", selector="search", epsilons=epsilons)
    assert "CANARY" not in str(caught.value)


@pytest.mark.parametrize("categories", [5, [["a"], ["b"]], "ab", ["a"], ["a", "a"], object()])
def test_categories_that_are_no_list_of_values_are_refused(categories) -> None:
    with pytest.raises(ParameterError, match="categories="):
        dp_calculate(["a", "b"], "count", "low", is_range=True, categories=categories)


@pytest.mark.parametrize("sizes", [[[1], [1, 2]], "CANARY", [1.5, 2], [0, 1], [1, 2, 3]])
def test_group_sizes_that_do_not_fit_are_refused(sizes) -> None:
    with pytest.raises(ParameterError):
        dp_calculate([1.0, 2.0], "mean", "low", group_sizes=sizes)


@pytest.mark.parametrize("switch", ["is_range", "aggregated", "realised"])
@pytest.mark.parametrize("value", ["no", 1, None])
def test_switches_are_true_or_false(switch, value) -> None:
    with pytest.raises(ParameterError, match=f"{switch} must be True or False"):
        dp_calculate(AGES, "count", "low", **{switch: value})


def test_switches_of_the_search_are_true_or_false() -> None:
    with pytest.raises(ParameterError, match="is_range must be"):
        binary_search_epsilon([1.0], AGES, "low", is_bool=False, is_range="no", sensitivity=1)


@pytest.mark.parametrize("values", [range(0, 10**12, 2), range(10**12, 0, -3), range(0, 10**30, 7)])
def test_range_of_too_many_members_is_refused_before_it_is_made(values) -> None:
    with pytest.raises(ParameterError, match="at most 1,000,000"):
        dp_calculate(AGES, "mean", "low", is_range=True, range_values=values)
    for kind in ("int", "string"):
        with pytest.raises(ParameterError, match="at most 1,000,000"):
            fit_data_to_range([1, 2, 3], values, kind)
    assert len(fit_data_to_range([1, 2, 3], range(0, 2_000_000, 2), "int")) == 3


def test_text_that_says_nan_is_not_called_infinite() -> None:
    with pytest.raises(DataError, match="NaN"):
        dp_calculate(["nan", "3", "4"], "mean", "low", data_type="float")


@pytest.mark.parametrize("dtype", [pl.Int128, pl.UInt128])
def test_whole_numbers_of_128_bits_come_back_as_such(dtype) -> None:
    result = dp_calculate(pl.Series("age", [*AGES, None], dtype=dtype), "mean", "low", on_missing="drop")
    assert result.dp_data.dtype in (dtype, pl.Int64)
    assert len(result.dp_data) == len(AGES)


@pytest.mark.parametrize("wrap", [list, pl.Series, pa.array, lambda v: np.array(v, object), pd.Series])
def test_noisy_dates_stay_within_the_calendar(wrap) -> None:
    result = dp_calculate(wrap(FAR), "mean", "high")
    days = result.dp_data.to_pylist() if hasattr(result.dp_data, "to_pylist") else list(result.dp_data)
    assert {type(day) for day in days} == {datetime.date}
    assert min(days) == FIRST and max(days) == LAST


def test_noisy_moments_stay_within_the_calendar() -> None:
    moments = [datetime.datetime(9990, 1, 1), datetime.datetime(1, 1, 2)] * 50
    assert {type(v) for v in dp_calculate(moments, "mean", "high").dp_data} == {datetime.datetime}
    assert FIRST <= laplace_mechanism([LAST], 1e7, 0.1)[0] <= LAST


def test_noisy_dates_beyond_nanoseconds_are_not_wrapped_around() -> None:
    early = np.array(["2262-01-01", "1700-01-01"] * 100, dtype="datetime64[ns]")
    noisy = dp_calculate(early, "mean", "high").dp_data.astype("datetime64[D]")
    shift = np.abs((noisy - early.astype("datetime64[D]")).astype(int))
    assert shift.mean() == pytest.approx(0.15 * 365.25 * 562, rel=0.6)
    assert (noisy > np.datetime64("2262-04-12")).any()
