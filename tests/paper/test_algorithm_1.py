"""Algorithm 1 ends on every input, in at most log2 probes, and never hands out raw data."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import pydplib as dp
from pydplib.errors import CalibrationError, ParameterError, PydplibError
from pydplib.paper.scales import default_epsilons, search_epsilon

FINITE = st.floats(allow_nan=False, allow_infinity=False, width=64)
EPSILONS = st.lists(st.floats(1e-9, 1e9), min_size=1, max_size=40, unique=True).map(sorted)


def outcome(function, *arguments, **options):
    """Return the result, or the error that was raised on purpose; any other error fails the test."""
    try:
        return function(*arguments, **options)
    except PydplibError as error:
        return error


def is_clear(error: PydplibError) -> bool:
    return str(error).endswith((".", "?")) and len(str(error)) > 40


@given(
    epsilons=EPSILONS,
    percents=st.lists(st.floats(allow_nan=True, allow_infinity=True), min_size=1, max_size=40),
    band=st.sampled_from([(0.0, 5.0), (5.0, 10.0), (10.0, 20.0), (7.0, 7.0)]),
)
def test_search_when_the_measure_is_anything_at_all_ends_within_log2_probes(epsilons, percents, band) -> None:
    asked = []

    def measure(epsilon: float) -> float:
        asked.append(epsilon)
        return percents[len(asked) % len(percents)]

    found = search_epsilon(np.array(epsilons), band, measure)
    assert found.probes == len(asked) <= len(epsilons).bit_length()
    assert len(set(asked)) == len(asked)
    assert found.epsilon == 0.0 or found.epsilon in epsilons


@given(
    data=st.one_of(
        st.lists(FINITE, max_size=12),
        st.lists(st.integers(-(10**30), 10**30), max_size=12),
        st.lists(st.booleans(), max_size=12),
        st.lists(st.sampled_from(["a", "b", "", "acute on chronic"]), max_size=12),
    ),
    epsilons=EPSILONS,
    factor=st.sampled_from(["low", "medium", "high"]),
    is_range=st.booleans(),
    sensitivity=st.floats(1e-12, 1e12),
)
@example(data=[0.0, 1e300, -1e300], epsilons=[1e-9, 1.0, 1e9], factor="high", is_range=True, sensitivity=1e12)
@example(data=[5e-324], epsilons=[1.0], factor="medium", is_range=False, sensitivity=1.0)
@example(data=[3, 3, 3], epsilons=[1e-9], factor="high", is_range=True, sensitivity=1.0)
@settings(max_examples=150)
def test_binary_search_when_given_anything_ends_with_an_epsilon_or_a_clear_error(
    data, epsilons, factor, is_range, sensitivity
) -> None:
    is_bool = bool(data) and all(isinstance(value, bool) for value in data)
    found = outcome(
        dp.paper.binary_search_epsilon,
        epsilons,
        data,
        factor,
        is_bool=is_bool,
        is_range=is_range,
        sensitivity=sensitivity,
    )
    assert is_clear(found) if isinstance(found, PydplibError) else (found == 0.0 or found in epsilons)


@given(
    data=st.one_of(st.lists(FINITE, max_size=8), st.lists(st.integers(), max_size=8), st.lists(st.booleans())),
    query=st.sampled_from([1, 2, 3, 4]),
    factor=st.sampled_from([0, 1, 2]),
    is_range=st.booleans(),
    selector=st.sampled_from(["closed_form", "search"]),
)
@settings(max_examples=250)
def test_dp_calculate_when_given_anything_ends_with_data_or_a_clear_error(
    data, query, factor, is_range, selector
) -> None:
    result = outcome(dp.dp_calculate, data, query, factor, is_range=is_range, selector=selector)
    if isinstance(result, PydplibError):
        assert is_clear(result)
        return
    assert len(result.dp_data) == len(data)
    if data:
        assert result.epsilon > 0 and result.scale > 0 and math.isfinite(result.scale)
        assert all(math.isfinite(value) for value in result.dp_data)


def test_binary_search_when_the_band_is_unreachable_returns_zero(ages) -> None:
    options = {"is_bool": False, "is_range": False, "sensitivity": 0.05}
    assert dp.paper.binary_search_epsilon([100.0, 1000.0], ages, "high", **options) == 0.0
    assert dp.paper.binary_search_epsilon([1e-8, 1e-7], ages, "high", **options) == 0.0


def test_binary_search_when_the_band_is_given_in_percent_finds_it(ages) -> None:
    sensitivity = 54 / 920
    epsilon = dp.paper.binary_search_epsilon(
        default_epsilons(), ages, (29.0, 31.0), is_bool=False, is_range=False, sensitivity=sensitivity
    )
    assert 100 * sensitivity / epsilon / ages.mean() == pytest.approx(30, rel=0.12)


def test_dp_calculate_when_the_search_finds_nothing_names_the_noise_it_saw(ages) -> None:
    with pytest.raises(CalibrationError, match=r"between 10 and 20 %; the noise it saw went from 1 to 2 %"):
        dp.dp_calculate(ages, "mean", "high", selector="search", epsilons=[0.05, 0.1])


@pytest.mark.parametrize("epsilons", [[], [0.0, 1.0], [-1.0], [2.0, 1.0], [1.0, 1.0], [[1.0]], [math.nan], [math.inf]])
def test_binary_search_when_epsilons_are_unusable_says_so(ages, epsilons) -> None:
    with pytest.raises(ParameterError, match="epsilons"):
        dp.paper.binary_search_epsilon(epsilons, ages, "low", is_bool=False, is_range=False, sensitivity=1.0)


@pytest.mark.parametrize(
    "wrong",
    [
        {"sensitivity": 0.0},
        {"sensitivity": -1.0},
        {"sensitivity": math.nan},
        {"repetitions": 0},
        {"noise_level": (20, 10)},
        {"noise_level": (1, 2, 3)},
        {"noise_level": "loud"},
        {"noise_metric": "mape"},
    ],
)
def test_binary_search_when_an_argument_is_wrong_says_so(ages, wrong) -> None:
    options = {"noise_level": "high", "is_bool": False, "is_range": False, "sensitivity": 1.0, **wrong}
    with pytest.raises(ParameterError):
        dp.paper.binary_search_epsilon(default_epsilons(), ages, **options)


def test_search_when_repetitions_are_asked_averages_over_that_many(ages, monkeypatch) -> None:
    from pydplib.paper import scales

    calls = []
    honest = scales.add_noise
    monkeypatch.setattr(scales, "add_noise", lambda *a: (calls.append(1), honest(*a))[1])
    scales.binary_search_epsilon([1.0], ages, "high", is_bool=False, is_range=False, sensitivity=1.0, repetitions=7)
    assert len(calls) == 7
