"""Laplace and Geometric: the sensitivity they claim on the grid, shapes, margins, inverse, refusals."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from pydplib.errors import CalibrationError, DataError, ParameterError
from pydplib.guarantee import PureDP
from pydplib.mechanisms import Geometric, Laplace
from pydplib.noise.grid import to_grid
from pydplib.noise.testing import record

VALUES = st.floats(-1e6, 1e6, allow_nan=False, allow_subnormal=False)
EPSILONS = st.floats(0.01, 50)


def _l1(a, b) -> Fraction:
    return sum((abs(Fraction(x) - Fraction(y)) for x, y in zip(a, b, strict=True)), Fraction(0))


@settings(max_examples=300)
@given(data=st.data(), size=st.integers(1, 6), epsilon=EPSILONS)
def test_laplace_grid_values_within_the_sensitivity_move_at_most_its_steps(helpers, data, size, epsilon):
    # The sensitivity is set to the exact distance of two arrays, rounded up to a float: the worst it may be.
    first = data.draw(st.lists(VALUES, min_size=size, max_size=size))
    kind = data.draw(st.sampled_from(["far", "near", "ulps"]))
    if kind == "far":
        second = data.draw(st.lists(VALUES, min_size=size, max_size=size))
    elif kind == "near":
        second = [x + data.draw(st.floats(-2, 2)) for x in first]
    else:
        second = [math.nextafter(x + data.draw(st.sampled_from([-1.0, 0.0, 0.5, 1.0])), math.inf) for x in first]
    distance = _l1(first, second)
    assume(distance > Fraction(1, 1000))
    changed = sum(x != y for x, y in zip(first, second, strict=True))
    for max_changes in (None, changed):
        mechanism = Laplace(helpers.float_at_least(distance), epsilon, max_changes=max_changes)
        exponent, steps, scale = mechanism._grid(size)
        a, b = to_grid(np.array(first), exponent), to_grid(np.array(second), exponent)
        assert int(np.abs(a - b).sum()) <= steps
        assert steps / scale == Fraction(epsilon)  # exactly the epsilon that is promised


@settings(max_examples=200)
@given(x=VALUES, epsilon=EPSILONS, halves=st.integers(0, 3000), ulps=st.integers(-2, 2))
def test_laplace_grid_scalars_next_to_the_grids_halves_move_at_most_its_steps(helpers, x, epsilon, halves, ulps):
    exponent, _, _ = Laplace(1.0, epsilon)._grid(1)
    a = math.ldexp(round(math.ldexp(x, -exponent)) + 0.5, exponent)
    b = a + math.ldexp(halves / 2, exponent)
    for _ in range(abs(ulps)):
        b = math.nextafter(b, math.copysign(math.inf, ulps))
    distance = abs(Fraction(a) - Fraction(b))
    assume(distance > Fraction(1, 100))
    mechanism = Laplace(helpers.float_at_least(distance), epsilon)
    exponent, steps, _ = mechanism._grid(1)
    q = to_grid(np.array([a, b]), exponent)
    assert abs(int(q[0]) - int(q[1])) <= steps


def test_laplace_grid_planted_sensitivity_without_the_extra_steps_is_too_small():
    # Two coordinates move by half the sensitivity each, across a half of the grid each: one step more than S/g.
    mechanism = Laplace(1.0, 1.0)
    exponent, steps, _ = mechanism._grid(2)
    g = math.ldexp(1.0, exponent)
    first, second = [0.4 * g, 0.4 * g], [0.4 * g + 0.25 * g, 0.4 * g + 1 - 0.25 * g]
    assert _l1(first, second) == pytest.approx(1.0)
    moved = int(np.abs(to_grid(np.array(first), exponent) - to_grid(np.array(second), exponent)).sum())
    planted = math.ceil(1 / Fraction(2) ** exponent)  # forgets the c - 1
    assert planted < moved <= steps


def test_laplace_sensitivity_brute_force_small_grid_is_reached():
    # All pairs of arrays of two values on a fine lattice: the claim ceil(S/g) + c - 1 is the true maximum.
    points = np.arange(-8, 9) / 4  # quarters of a step
    q = to_grid(points, 0)
    for quarters in range(1, 13):
        worst = 0
        for first in range(quarters + 1):
            moves = [
                max(abs(int(q[i]) - int(q[i + d])) for i in range(len(points) - d)) for d in (first, quarters - first)
            ]
            worst = max(worst, sum(moves))
        assert worst <= math.ceil(quarters / 4) + 1
        if quarters % 4 != 1:  # reached wherever both parts can be fractional
            assert worst == math.ceil(quarters / 4) + 1


@given(
    sensitivity=st.floats(1e-6, 1e6),
    epsilon=EPSILONS,
    size=st.sampled_from([1, 2, 3, 100, 10**6]),
)
def test_laplace_scale_any_size_is_at_most_a_fifth_of_a_percent_above_ideal(sensitivity, epsilon, size):
    exponent, steps, scale = Laplace(sensitivity, epsilon)._grid(size)
    ideal = Fraction(sensitivity) / Fraction(epsilon)
    drawn = scale * Fraction(2) ** exponent
    assert ideal <= drawn <= ideal * Fraction(1002, 1000)
    assert steps >= 1024


@pytest.mark.parametrize("values", [42, 42.0, np.float32(4), np.int16(3), True, [1, 2], (1.5,), np.ones((2, 3)), []])
def test_laplace_release_shape_follows_the_input(values):
    noisy = Laplace(1, 1.0).release(values)
    if np.ndim(values) == 0:
        assert type(noisy) is float
    else:
        assert noisy.shape == np.shape(values)
        assert noisy.dtype == np.float64


def test_laplace_release_lies_on_the_grid_and_claims_its_epsilon():
    mechanism = Laplace(0.3, 0.7)
    with record() as trace:
        noisy = mechanism.release(np.linspace(0, 9, 50))
    call = trace.passed[0].call
    assert call.epsilon == pytest.approx(0.7, rel=1e-15)
    steps = np.ldexp(noisy, -mechanism._grid(50)[0])
    assert np.array_equal(steps, np.floor(steps))


def test_laplace_release_same_value_twice_differs():
    mechanism = Laplace(1, 0.001)
    assert mechanism.release(0) != mechanism.release(0)


@pytest.mark.parametrize(
    "values", ["71", None, [None], [1, "a"], float("nan"), [1.0, float("nan")], {"age": 71}, 1j, [[1], [2, 3]]]
)
def test_laplace_release_unusable_values_raise_without_quoting_them(values):
    with pytest.raises(DataError) as caught:
        Laplace(1, 1.0).release(values)
    assert "71" not in str(caught.value)


def _steps(mechanism, value):
    """Return the exact steps that meet the noise, in units of the value."""
    with record() as trace:
        mechanism.release(value)
    return int(trace.passed[0].exact[0]) * Fraction(2) ** mechanism._grid(1)[0]


@pytest.mark.parametrize(
    "value", [2.0**41, 2.0**42, 1e300, math.inf, 2**63, 10**400, np.float32(3e38), np.uint64(2**64 - 1)]
)
def test_laplace_large_values_saturate_and_none_is_refused(value):
    most = Fraction(2) ** (52 + Laplace(1, 1.0)._grid(1)[0])
    assert _steps(Laplace(1, 1.0), value) == min(most, 2**41 if value == 2.0**41 else most)
    if not isinstance(value, np.unsignedinteger):
        assert _steps(Laplace(1, 1.0), -value) == -_steps(Laplace(1, 1.0), value)
    assert abs(float(Laplace(1, 1.0).release(value)) - float(most)) < 100 or value == 2.0**41


@pytest.mark.parametrize("sensitivity", [2**20, 1, 0.3])
@given(value=st.integers(-(2**70), 2**70), moved=st.integers(0, 2**20))
def test_laplace_whole_numbers_of_any_size_move_within_the_sensitivity(sensitivity, value, moved):
    mechanism = Laplace(sensitivity, 1.0)
    apart = min(moved, math.floor(sensitivity))  # near 2^60 neighbouring floats are 256 apart: nothing is rounded
    exponent, steps, _ = mechanism._grid(1)
    first, second = _steps(mechanism, value), _steps(mechanism, value + apart)
    assert 0 <= second - first <= steps * Fraction(2) ** exponent


@given(
    values=st.lists(st.integers(-(2**66), 2**66) | st.floats(allow_nan=False), min_size=1, max_size=4),
    other=st.integers(-(2**66), 2**66) | st.floats(allow_nan=False),
)
def test_laplace_one_element_never_changes_how_the_others_are_read(values, other):
    mechanism = Laplace(1, 1.0, max_changes=1)
    with record() as alone:
        mechanism.release([*values, 1])
    with record() as beside:
        mechanism.release([*values, other])
    assert alone.passed[0].exact[:-1].tolist() == beside.passed[0].exact[:-1].tolist()


def test_laplace_release_extended_precision_is_refused():
    if np.dtype(np.longdouble).itemsize == 8:
        pytest.skip("this machine has no extended floats")
    with pytest.raises(DataError, match="needs numbers"):
        Laplace(1, 1.0).release(np.longdouble("1.1"))


@pytest.mark.parametrize("cls", [Laplace, Geometric])
@pytest.mark.parametrize(
    ("sensitivity", "epsilon"),
    [
        (0, 1),
        (-1, 1),
        (1, 0),
        (1, -2),
        (1, math.inf),
        (1, math.nan),
        (math.inf, 1),
        ("1", 1),
        (1, None),
        (True, 1),
        (1, True),
    ],
)
def test_laplace_and_geometric_bad_parameters_raise(cls, sensitivity, epsilon):
    with pytest.raises(ParameterError, match="no default"):
        cls(sensitivity, epsilon)


@pytest.mark.parametrize("max_changes", [0, -1, 1.5, "2"])
def test_laplace_bad_max_changes_raises(max_changes):
    with pytest.raises(ParameterError, match="max_changes"):
        Laplace(1, 1.0, max_changes=max_changes)


def test_laplace_no_epsilon_is_a_type_error():
    with pytest.raises(TypeError):
        Laplace(1)  # type: ignore[call-arg]


def test_geometric_decimal_sensitivity_raises():
    with pytest.raises(ParameterError, match="use Laplace"):
        Geometric(1.5, 1.0)


@pytest.mark.parametrize("values", [920, np.int8(3), 5.0, True, [1, 2], np.ones((2, 3)), np.uint64(7), []])
def test_geometric_release_is_whole_and_shaped_like_the_input(values):
    noisy = Geometric(1, 1.0).release(values)
    if np.ndim(values) == 0:
        assert type(noisy) is int
    else:
        assert noisy.dtype == np.int64 and noisy.shape == np.shape(values)


@pytest.mark.parametrize("value", [2**62, -(2**62), 2**64, 10**400, math.inf, -math.inf, np.uint64(2**63), 1e300])
def test_geometric_large_values_saturate_and_none_is_refused(value):
    with np.errstate(all="raise"):
        noisy = Geometric(1, 1.0).release(value)
    assert abs(noisy - (2**62 - 1) * (1 if value > 0 else -1)) < 100


@pytest.mark.parametrize("values", [0.5, [1, 2.5], math.nan, "3", None, [None]])
def test_geometric_release_unusable_values_raise_without_warning(values):
    with np.errstate(all="raise"), pytest.raises(DataError, match="whole numbers"):
        Geometric(1, 1.0).release(values)


def test_geometric_exact_scale_is_the_rational_of_its_parameters():
    assert Geometric(3, 0.1)._exact_scale == Fraction(3) / Fraction(0.1)
    with record() as trace:
        Geometric(3, 0.1).release([1, 2])
    assert trace.passed[0].call.scale == Fraction(3) / Fraction(0.1)
    assert trace.passed[0].call.sensitivity == 3


@pytest.mark.parametrize("mechanism", [Laplace(1, 0.5), Geometric(2, 0.5)])
def test_guarantee_is_the_epsilon_that_was_asked_for(mechanism):
    assert mechanism.guarantee == PureDP(0.5)


@pytest.mark.parametrize("epsilon", [1e-6, 0.1, 1.0, 30.0, 1000.0, 1e5])
def test_geometric_margin_any_epsilon_is_finite(epsilon):
    assert Geometric(1, epsilon).margin95 >= 0


@given(margin=st.floats(0.01, 1e5), sensitivity=st.floats(0.01, 100), confidence=st.sampled_from([0.5, 0.95, 0.999]))
def test_laplace_from_margin_is_the_inverse(margin, sensitivity, confidence):
    mechanism = Laplace.from_margin(margin, sensitivity=sensitivity, confidence=confidence)
    assert mechanism.margin(confidence) <= margin
    # One part in two hundred less privacy loss, and the margin is missed.
    assert Laplace(sensitivity, mechanism.epsilon * 0.995).margin(confidence) > margin * 0.999


@given(margin=st.integers(1, 10**5), sensitivity=st.integers(1, 50), confidence=st.sampled_from([0.5, 0.95, 0.999]))
def test_geometric_from_margin_is_the_inverse(margin, sensitivity, confidence):
    mechanism = Geometric.from_margin(margin, sensitivity=sensitivity, confidence=confidence)
    assert mechanism.margin(confidence) <= margin
    assert Geometric(sensitivity, mechanism.epsilon * (1 - 1e-9)).margin(confidence) == margin + 1


@pytest.mark.parametrize("margin", [0, -1, math.nan, math.inf])
def test_from_margin_bad_margin_raises(margin):
    with pytest.raises(ParameterError, match="margin"):
        Laplace.from_margin(margin, sensitivity=1)
    with pytest.raises(ParameterError, match="margin"):
        Geometric.from_margin(margin, sensitivity=1)


def test_from_margin_out_of_reach_raises_with_the_next_step():
    with pytest.raises(CalibrationError, match="wider"):
        Laplace.from_margin(1e-9, sensitivity=1)


@pytest.mark.parametrize("confidence", [0, 1, -0.1, 1.5, math.nan])
def test_margin_bad_confidence_raises(confidence):
    for mechanism in (Laplace(1, 1.0), Geometric(1, 1.0)):
        with pytest.raises(ParameterError, match="confidence"):
            mechanism.margin(confidence)
