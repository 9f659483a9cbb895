"""The grid: rounding in exact arithmetic, so that values d steps apart stay within ceil(d)."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from pydplib.errors import DataError, ParameterError
from pydplib.noise.grid import CHUNK, from_grid, grid_exponent, in_chunks, laplace_records, saturated, to_grid
from pydplib.noise.testing import record

EXPONENTS = st.integers(-60, 60)
# Floats of all sizes, and those next to the halves of the grid, where rounding can go wrong.
NEAR_HALVES = st.builds(lambda k, ulps: _nudge(k + 0.5, ulps), st.integers(-(2**40), 2**40), st.integers(-2, 2))
STEPS = st.one_of(
    NEAR_HALVES,
    st.floats(-(2.0**51), 2.0**51, allow_nan=False, allow_subnormal=True),
    st.floats(-2, 2, allow_nan=False, allow_subnormal=True),
    st.sampled_from(
        [0.5, -0.5, math.nextafter(0.5, 0), math.nextafter(-0.5, 0), math.nextafter(-0.5, -1), 5e-324, -5e-324]
    ),
)


def _nudge(value: float, ulps: int) -> float:
    for _ in range(abs(ulps)):
        value = math.nextafter(value, math.inf if ulps > 0 else -math.inf)
    return value


def _exact_step(value: float, exponent: int) -> int:
    return math.floor(Fraction(value) / Fraction(2) ** exponent + Fraction(1, 2))


def _careless(values: np.ndarray, exponent: int) -> np.ndarray:
    """The planted fault: adding 0.5 in floating point."""
    return np.floor(np.ldexp(values, -exponent) + 0.5).astype(np.int64)


@settings(max_examples=300)
@given(steps=STEPS, exponent=EXPONENTS)
def test_to_grid_any_float_equals_the_exact_floor(steps, exponent):
    value = math.ldexp(steps, exponent)
    assert to_grid(np.array([value]), exponent).tolist() == [_exact_step(value, exponent)]


@settings(max_examples=300)
@given(a=STEPS, b=STEPS, exponent=EXPONENTS)
def test_to_grid_values_d_apart_stay_within_ceil_d(a, b, exponent):
    x, y = math.ldexp(a, exponent), math.ldexp(b, exponent)
    distance = abs(Fraction(x) - Fraction(y)) / Fraction(2) ** exponent
    q = to_grid(np.array([x, y]), exponent)
    assert abs(int(q[0]) - int(q[1])) <= math.ceil(distance)


@settings(max_examples=300)
@given(a=NEAR_HALVES, gap=st.integers(0, 3), ulps=st.integers(-2, 0))
def test_to_grid_values_just_under_whole_steps_apart_stay_within(a, gap, ulps):
    b = _nudge(a + gap, ulps)
    assume(abs(b) < 2.0**52)
    distance = abs(Fraction(a) - Fraction(b))
    q = to_grid(np.array([a, b]), 0)
    assert abs(int(q[0]) - int(q[1])) <= math.ceil(distance)


def test_to_grid_planted_float_addition_is_not_the_exact_floor():
    last_below_half = math.nextafter(0.5, 0)
    assert _careless(np.array([last_below_half]), 0).tolist() == [1]
    assert to_grid(np.array([last_below_half]), 0).tolist() == [0] == [_exact_step(last_below_half, 0)]


def test_to_grid_planted_decimal_step_breaks_the_sensitivity():
    # Dividing by a step that is no power of two rounds: 0.15 and 0.25 are at most 0.1 apart and land two steps apart.
    x, y, step = 0.15, 0.25, 0.1
    assert Fraction(y) - Fraction(x) <= Fraction(step)
    assert math.floor(y / step + 0.5) - math.floor(x / step + 0.5) == 2
    assert np.ptp(to_grid(np.array([x, y]), -3)) <= math.ceil((Fraction(y) - Fraction(x)) * 8)


def test_to_grid_small_grid_brute_force_largest_move_is_exactly_ceil_d():
    # Every pair of multiples of 1/8 step in [-4, 4]: the bound holds, and is reached for every distance.
    points = np.arange(-32, 33) / 8
    q = to_grid(points, 0)
    for eighths in range(33):
        moves = np.abs(q[eighths:] - q[: len(q) - eighths])
        assert moves.max() == math.ceil(eighths / 8)


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf, 2.0**52, -(2.0**52), 1e300])
def test_to_grid_unusable_value_raises_without_quoting_it(bad):
    with pytest.raises(DataError) as caught:
        to_grid(np.array([1.0, bad]), 0)
    assert repr(bad) not in str(caught.value).replace("infinite", "")
    assert "bounds=(low, high)" in str(caught.value)


def test_to_grid_overflowing_division_raises_without_a_warning():
    with np.errstate(all="raise"), pytest.raises(DataError):
        to_grid(np.array([1e300]), -1000)


def test_to_grid_underflowing_value_is_zero():
    assert to_grid(np.array([5e-324, -5e-324, -0.0]), 60).tolist() == [0, 0, 0]


@given(scale=st.floats(1e-300, 1e300))
def test_grid_exponent_step_is_between_a_1024th_and_a_2048th(scale):
    step = Fraction(2) ** grid_exponent(scale)
    assert step <= Fraction(scale) / 1024 and Fraction(scale) < 2048 * step


@pytest.mark.parametrize("scale", [0.0, -1.0, math.nan, math.inf])
def test_grid_exponent_bad_scale_raises(scale):
    with pytest.raises(ParameterError, match="scale"):
        grid_exponent(scale)


@given(steps=st.lists(st.integers(-(2**53), 2**53), max_size=5), exponent=EXPONENTS)
def test_from_grid_then_to_grid_round_trips(steps, exponent):
    small = [s for s in steps if abs(s) < 2**52]
    values = from_grid(np.array(small, dtype=np.int64), exponent)
    assert to_grid(values, exponent).tolist() == small


def test_in_chunks_shape_and_order_are_kept():
    values = np.arange(2 * CHUNK + 5, dtype=np.float64)[::-1].reshape(1, -1)
    seen = []

    def work(chunk):
        seen.append(len(chunk))
        return chunk * 2

    assert np.array_equal(in_chunks(values, work), values * 2)
    assert seen == [CHUNK, CHUNK, 5]


def test_laplace_records_output_lies_on_the_grid_and_passes_the_tap():
    values = np.linspace(18, 100, 3 * CHUNK + 1)
    with record() as trace:
        noisy = laplace_records(values, scale=5.0)
    exponent = grid_exponent(5.0)
    on_grid = np.ldexp(noisy, -exponent)
    assert np.array_equal(on_grid, np.floor(on_grid))
    assert [p.call.size for p in trace.passed] == [CHUNK, CHUNK, CHUNK, 1]
    assert {p.call.scale for p in trace.passed} == {Fraction(5) / Fraction(2) ** exponent}
    exact = np.concatenate([p.exact for p in trace.passed])
    assert np.array_equal(exact, to_grid(values, exponent))
    assert not np.array_equal(noisy, values)


def test_laplace_records_input_is_left_alone():
    values = np.array([1.0, 2.0])
    laplace_records(values, scale=1.0)
    assert values.tolist() == [1.0, 2.0]


def test_laplace_records_empty_and_scalar_shapes_are_kept():
    assert laplace_records(np.array([]), 1.0).shape == (0,)
    assert laplace_records(np.array(3.0), 1.0).shape == ()


@given(
    number=st.integers(-(2**64), 2**64) | st.integers(-9, 9) | st.integers(-(2**54), 2**54),
    exponent=st.integers(-70, 70),
)
def test_saturated_grid_is_the_exact_floor_in_every_type(number, exponent):
    expected = math.floor(Fraction(number) / Fraction(2) ** exponent + Fraction(1, 2))
    expected = max(-(2**52), min(2**52, expected))
    arrays = [np.array([number], dtype=object)]
    if -(2**63) <= number < 2**63:
        arrays.append(np.array([number], dtype=np.int64))
    if 0 <= number < 2**64:
        arrays.append(np.array([number], dtype=np.uint64))
    if float(number) == number:
        arrays.append(np.array([number], dtype=np.float64))
    if -128 <= number < 128:
        arrays.append(np.array([number], dtype=np.int8))
    for array in arrays:
        assert saturated(array, exponent).tolist() == [expected]


@given(number=st.floats(allow_nan=False), exponent=st.integers(-1100, 1000))
def test_saturated_grid_of_any_float_is_the_exact_floor(number, exponent):
    if math.isinf(number):
        expected = 2**52 if number > 0 else -(2**52)
    else:
        exact = math.floor(Fraction(number) / Fraction(2) ** exponent + Fraction(1, 2))
        expected = max(-(2**52), min(2**52, exact))
    with np.errstate(all="raise"):
        assert saturated(np.array([number]), exponent).tolist() == [expected]
