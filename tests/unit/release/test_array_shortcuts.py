"""The one-liners on arrays: what counts, what is refused, and exact integers before the noise."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import pydplib as dp
from pydplib.errors import ParameterError
from pydplib.noise.testing import record
from pydplib.release.array_values import Grid, as_values, bin_counts, grid_sums, point_counts
from pydplib.release.public import default_step

AGES = [61, 67, 70] * 300


def exact(ask) -> list[int]:
    with record() as trace:
        ask()
    return [int(number) for passed in trace.passed for number in passed.exact.ravel()]


def test_count_leaves_out_what_is_missing():
    assert exact(lambda: dp.count([1, None, float("nan"), "x", ""], epsilon=1.0)) == [2]
    assert exact(lambda: dp.count(np.array([1.0, np.nan]), epsilon=1.0)) == [1]
    assert exact(lambda: dp.count(np.array(["2020-01-01", "NaT"], dtype="datetime64[D]"), epsilon=1.0)) == [1]


def test_mean_clamps_wild_values_and_leaves_out_missing_ones():
    wild = [18.0, 1e300, float("inf"), -float("inf"), -1e300, float("nan"), None, "n/a", 10**400, "59"]
    with record() as trace:
        dp.mean(wild, bounds=(18, 100), epsilon=1.0)
    above, below = (int(n) for n in trace.passed[0].exact.ravel())
    top = trace.passed[0].call.sensitivity
    assert (above + below) / top == 7  # seven values are there
    assert above / top == pytest.approx((0 + 1 + 1 + 0 + 0 + 1 + 0.5), abs=1e-6)


@pytest.mark.parametrize("dtype", [np.float32, np.int32, np.uint8, np.bool_, np.float16, np.int64])
def test_mean_of_any_number_type_is_the_same_as_of_floats(dtype):
    values = np.array([0, 1, 1, 1, 0, 1], dtype=dtype)
    assert exact(lambda: dp.mean(values, bounds=(0, 1), epsilon=1.0)) == exact(
        lambda: dp.mean(values.astype(float), bounds=(0, 1), epsilon=1.0)
    )


@pytest.mark.parametrize("library", ["pandas", "polars", "pyarrow"])
def test_columns_of_data_frames_are_understood(library):
    if library == "pandas":
        import pandas as pd

        column = pd.Series(AGES)
    elif library == "polars":
        import polars as pl

        column = pl.Series(AGES)
    else:
        import pyarrow as pa

        column = pa.chunked_array([AGES[:10], AGES[10:]])
    assert exact(lambda: dp.median(column, bounds=(18, 100), epsilon=1.0)) == exact(
        lambda: dp.median(AGES, bounds=(18, 100), epsilon=1.0)
    )


@given(st.lists(st.one_of(st.none(), st.floats(), st.integers(), st.text(), st.booleans(), st.complex_numbers())))
def test_no_element_makes_a_shortcut_fail(values):
    dp.count(values, epsilon=1.0)
    dp.sum(values, bounds=(0, 1), epsilon=1.0)
    dp.mean(values, bounds=(0, 1), epsilon=1.0)
    dp.variance(values, bounds=(0, 1), epsilon=1.0)
    dp.median(values, bounds=(0, 1), epsilon=1.0, step=0.5)
    dp.histogram(values, edges=[0, 1], epsilon=1.0)


@given(st.lists(st.floats(-200, 200), max_size=200))
def test_grid_sums_are_those_of_python_integers(values):
    grid = Grid.between(18.0, 100.0, exponent=-3)
    steps = [min(max(round(Fraction(v) * 8), grid.first), grid.last) - grid.first for v in values]  # half to even
    sums = grid_sums(np.array(values, dtype=float), grid, squares=True)
    assert (sums.count, sums.steps, sums.squares) == (len(values), sum(steps), sum(s * s for s in steps))
    assert repr(sums) == "Sums(exact and private)"


@given(
    st.lists(st.floats(-60, 60), max_size=60),
    st.one_of(
        st.lists(st.integers(-50, 50), min_size=2, max_size=20, unique=True),
        st.lists(st.floats(-5, 5, width=32), min_size=2, max_size=20, unique=True),
        st.integers(1, 60).map(lambda k: np.linspace(-7, 5.3, k + 1).tolist()),
    ),
)
def test_bin_counts_are_numpys_own_at_every_edge(values, edges):
    limits = np.array(sorted(map(float, edges)))
    every = np.array([*values, *limits, *np.nextafter(limits, -np.inf), *np.nextafter(limits, np.inf)])
    assert bin_counts(every, limits).tolist() == np.histogram(every, limits)[0].tolist()


def test_bin_counts_of_very_uneven_edges_are_numpys_own():
    edges = np.array([0.0, 1e-9, 1.0, 1e6])
    x = np.random.default_rng(1).uniform(-1, 2, 10_000)
    assert bin_counts(x, edges).tolist() == np.histogram(x, edges)[0].tolist()


@given(st.lists(st.one_of(st.floats(-3, 8), st.integers(-3, 8).map(float)), max_size=60), st.integers(1, 40))
def test_point_counts_split_values_at_and_between_the_points(values, count):
    points = np.linspace(0.1, 5.3, count + 1)
    every = np.array([*values, *points, *np.nextafter(points, -np.inf), *np.nextafter(points, np.inf)])
    clamped = np.clip(every, points[0], points[-1])
    at, between = point_counts(every, points)
    assert at.tolist() == [int((clamped == p).sum()) for p in points]
    assert between.tolist() == [int(((clamped > a) & (clamped < b)).sum()) for a, b in pairwise(points)]


def test_chunks_do_not_change_the_counts():
    x = np.random.default_rng(2).uniform(0, 100, 70_001)
    x[::1000] = np.nan
    grid = Grid.between(0.0, 100.0, exponent=-10)
    whole, parts = grid_sums(x, grid), [grid_sums(x[i : i + 999], grid) for i in range(0, len(x), 999)]
    assert (whole.count, whole.steps) == (sum(p.count for p in parts), sum(p.steps for p in parts))
    at, between = point_counts(x, np.arange(101.0))
    assert at.sum() + between.sum() == whole.count


def test_bounds_far_from_zero_do_not_spoil_the_mean():
    values = [1e9 + 0.25, 1e9 + 0.75]
    release = dp.mean(values * 500_000, bounds=(1e9, 1e9 + 1), epsilon=10.0)
    assert release.value == pytest.approx(1e9 + 0.5, abs=1e-3)


def test_median_of_ties_is_the_tied_value():
    assert dp.median(AGES, bounds=(18, 100), epsilon=5.0, step=1).value == 67
    assert dp.quantiles(AGES, [0.2, 0.5, 0.8], bounds=(18, 100), epsilon=9.0, step=1).value.tolist() == [61, 67, 70]


@pytest.mark.parametrize("value", [0.05, 63.24, 99.97])
def test_quantiles_of_one_value_off_the_grid_are_the_points_next_to_it(value):
    found = dp.quantiles([value] * 9000, [0.05, 0.5, 0.95], bounds=(0, 100), epsilon=3.0).value
    assert np.abs(np.asarray(found) - value).max() <= 0.1


def test_quantiles_whose_step_does_not_divide_the_range_stay_within_the_bounds():
    found = [dp.median([1.0] * 900, bounds=(0, 1), epsilon=5.0, step=0.4).value for _ in range(60)]
    assert set(found) == {0.8, 1}  # not 1.2; both points next to the value are equally likely


def test_histogram_of_values_beyond_the_edges_counts_none_of_them():
    assert exact(lambda: dp.histogram([1, 5, 20, 30, 31], edges=[10, 20, 30], epsilon=1.0)) == [0, 2]


def test_epsilon_is_spent_exactly_as_it_is_written():
    with record() as trace:
        dp.mean(AGES, bounds=(18, 100), epsilon=0.2)
    call = trace.passed[0].call
    assert Fraction(call.sensitivity) / call.scale == Fraction(1, 5)


@pytest.mark.parametrize("epsilon", [0, -1, float("nan"), float("inf"), None, "1", True, 1e-9, 1e9])
def test_epsilon_that_is_no_sensible_number_is_refused(epsilon):
    with pytest.raises(ParameterError, match="epsilon"):
        dp.count([1], epsilon=epsilon)


def test_epsilon_and_bounds_have_no_default():
    with pytest.raises(TypeError):
        dp.count([1])
    with pytest.raises(TypeError):
        dp.mean([1], epsilon=1.0)
    with pytest.raises(TypeError):
        dp.histogram([1], epsilon=1.0)


@pytest.mark.parametrize("bounds", [(1, 1), (2, 1), (0, float("inf")), (0,), None, "ab", (0, float("nan"))])
def test_bounds_that_are_no_interval_are_refused(bounds):
    with pytest.raises(ParameterError):
        dp.mean([1], bounds=bounds, epsilon=1.0)


@pytest.mark.parametrize("values", ["text", 7, None, {"a": 1}, np.zeros((2, 2))])
def test_what_is_no_column_is_refused_by_its_type(values):
    with pytest.raises(ParameterError):
        dp.mean(values, bounds=(0, 1), epsilon=1.0)


def test_quantiles_are_ascending_shares():
    for shares in ([], [0.5, 0.5], [0.9, 0.1], [0.0], [1.0], [0.123456]):
        with pytest.raises(ParameterError):
            dp.quantiles([1], shares, bounds=(0, 1), epsilon=1.0)


def test_public_size_changes_the_relation_and_must_be_the_length():
    release = dp.mean(AGES, bounds=(18, 100), epsilon=1.0, size=900)
    assert release.relation == "substitute" and release.guarantee.relation == "substitute"
    assert release.scale == pytest.approx(82 / 900, rel=1e-3)
    assert dp.variance(AGES, bounds=(18, 100), epsilon=1.0, size=900).scale == pytest.approx(
        82**2 * 899 / 900**2, rel=1e-3
    )
    with pytest.raises(ParameterError, match="another length"):
        dp.mean(AGES, bounds=(18, 100), epsilon=1.0, size=901)


def test_default_step_cuts_the_range_into_a_thousand_or_more():
    for width in (Fraction(82), Fraction(1), Fraction(7, 3), Fraction(10**6)):
        assert 1000 <= width / default_step(width) <= 2500


def test_tiny_and_huge_epsilon_work():
    for epsilon in (1e-6, 1e4):
        assert 18 <= dp.mean(AGES, bounds=(18, 100), epsilon=epsilon).value <= 100
        assert 0 <= dp.variance(AGES, bounds=(18, 100), epsilon=epsilon).value <= 41**2
        dp.sum(AGES, bounds=(0, 1e6), epsilon=epsilon)
    assert dp.mean(AGES, bounds=(18, 100), epsilon=1e4).value == pytest.approx(66, abs=0.01)
    assert dp.variance(AGES, bounds=(18, 100), epsilon=1e4).value == pytest.approx(14, abs=0.1)


def test_empty_arrays_are_answered_like_any_other():
    assert dp.count([], epsilon=1.0).value >= 0
    assert 0 <= dp.mean([], bounds=(0, 1), epsilon=1.0).value <= 1
    assert dp.median([], bounds=(0, 1), epsilon=1.0, step=0.5).value in (0, 0.5, 1)
    assert math.isfinite(dp.variance([], bounds=(0, 1), epsilon=1.0).value)


def test_as_values_reads_numbers_from_text_and_nothing_else():
    assert np.isnan(as_values(["a", None, object()])).all()
    assert as_values(["1e3", " 7 "]).tolist() == [1000.0, 7.0]


def test_masked_elements_are_missing():
    from pydplib.release.array_values import as_values, is_missing, to_array

    masked = np.ma.array([50.0, 60.0, 70.0], mask=[0, 0, 1])
    assert np.isnan(as_values(masked)).tolist() == [False, False, True]
    for values in (masked, masked.astype(int), masked.astype(object), np.ma.array(["a", "b", "c"], mask=[0, 0, 1])):
        assert is_missing(to_array(values)).tolist() == [False, False, True]
    days = np.ma.array(np.array(["2017-01-01"] * 3, dtype="datetime64[D]"), mask=[0, 0, 1])
    assert is_missing(to_array(days)).tolist() == [False, False, True]
    assert dp.count(masked, epsilon=1000.0).value == 2


def _columns_with_one_missing():
    import polars as pl
    import pyarrow as pa

    texts, flags, wholes, decimals = ["a", None, "b"], [True, None, False], [1, None, 3], [1.5, None, 2.5]
    days = pd.to_datetime(["2020-01-01", None, "2020-01-03"])
    yield from (pd.Series(texts, dtype=dtype) for dtype in ("object", "str", "string", "category"))
    yield from (pd.Series(texts, dtype=pd.StringDtype(kind)) for kind in ("python", "pyarrow"))
    yield from (pd.Series(flags, dtype=dtype) for dtype in ("object", "boolean"))
    yield from (pd.Series(wholes, dtype=dtype) for dtype in ("Int8", "Int64", "UInt16", "Float32", "float64"))
    arrow = [(texts, pa.string()), (texts, pa.large_string()), (flags, pa.bool_()), (wholes, pa.int64())]
    arrow += [(decimals, pa.float64()), (wholes, pa.decimal128(5, 1)), ([days[0].date(), None], pa.date32())]
    for values, kind in arrow:
        yield pd.Series(pa.array(values, kind), dtype=pd.ArrowDtype(kind))
        yield pa.array(values, kind)
        yield pa.chunked_array([pa.array(values, kind)])
    yield pd.Series(days)
    yield pd.Series(days).dt.to_period("D")
    yield from (pl.Series(values) for values in (texts, flags, wholes, decimals))
    yield pl.Series(texts, dtype=pl.Categorical)


@pytest.mark.parametrize("column", list(_columns_with_one_missing()), ids=lambda column: type(column).__name__)
def test_count_of_any_column_type_leaves_out_what_is_missing(column):
    with record() as trace:
        dp.count(column, epsilon=1.0)
    assert trace.passed[0].exact.tolist() == [len(column) - 1]
