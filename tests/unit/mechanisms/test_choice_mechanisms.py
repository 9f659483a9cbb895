"""Exponential and PermuteAndFlip: scores on the grid, exact probabilities behind the margin, refusals."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from flip_law import flip_chances
from hypothesis import given
from hypothesis import strategies as st

from pydplib.errors import CalibrationError, DataError, ParameterError
from pydplib.guarantee import PureDP
from pydplib.mechanisms import Exponential, PermuteAndFlip
from pydplib.noise.testing import record

BOTH = pytest.mark.parametrize("cls", [Exponential, PermuteAndFlip])


@BOTH
@given(
    scores=st.lists(st.floats(-1e4, 1e4), min_size=1, max_size=6),
    sensitivity=st.floats(0.01, 100),
    moves=st.lists(st.floats(-1, 1), min_size=6, max_size=6),
    epsilon=st.floats(0.01, 10),
)
def test_choice_scores_within_the_sensitivity_move_at_most_its_steps(cls, scores, sensitivity, moves, epsilon):
    mechanism = cls(sensitivity, epsilon)
    moved = [s + m * sensitivity for s, m in zip(scores, moves, strict=False)]
    distances = [abs(Fraction(a) - Fraction(b)) for a, b in zip(scores, moved, strict=True)]
    if max(distances) > Fraction(sensitivity):  # float addition rounded it beyond the sensitivity
        return
    (a, steps), (b, same) = mechanism._on_grid(scores), mechanism._on_grid(moved)
    assert steps == same
    assert int(np.abs(a - b).max()) <= steps
    with record() as trace:
        mechanism.release(scores)
    assert trace.passed[0].call.epsilon == pytest.approx(epsilon, rel=1e-15)


@BOTH
def test_choice_whole_scores_with_whole_sensitivity_are_not_rounded(cls):
    with record() as trace:
        cls(3, 1.0).release([5, -7, 2**61])
    (passed,) = trace.passed
    assert passed.exact.tolist() == [5, -7, 2**61]
    assert passed.call.sensitivity == 3 and passed.call.scale == Fraction(1, 6)


@BOTH
def test_choice_whole_scores_with_decimal_sensitivity_go_on_the_grid(cls):
    with record() as trace:
        cls(0.5, 1.0).release([5, 7])
    assert trace.passed[0].call.sensitivity == 1024


@BOTH
def test_choice_clear_winner_is_chosen(cls):
    assert cls(1, 1.0).release([0, 3, 900]) == 2
    assert type(cls(1, 1.0).release(np.array([0.0, 3.0, 900.0]))) is int


@BOTH
@pytest.mark.parametrize(
    "scores", [[0, 10**400], [0.0, math.inf], [-math.inf, 0], np.array([0, 2**63], dtype=np.uint64)]
)
def test_choice_scores_of_any_size_are_answered(cls, scores):
    assert cls(1, 1.0).release(scores) == 1 and cls(0.5, 1.0).release(scores) == 1


@BOTH
@pytest.mark.parametrize("scores", [[], 5, [[1, 2]], ["a"], [math.nan], None])
def test_choice_unusable_scores_raise(cls, scores):
    with pytest.raises(DataError):
        cls(1, 1.0).release(scores)


@BOTH
@pytest.mark.parametrize(("sensitivity", "epsilon"), [(0, 1), (1, 0), (1, None), (math.nan, 1), (1, math.inf)])
def test_choice_bad_parameters_raise(cls, sensitivity, epsilon):
    with pytest.raises(ParameterError):
        cls(sensitivity, epsilon)


@BOTH
def test_choice_guarantee_and_scale(cls):
    assert cls(2, 0.5).guarantee == PureDP(0.5)
    assert cls(2, 0.5).scale == 8


def _chance_below(mechanism, steps: np.ndarray, least: float) -> float:
    """P(the chosen score is below ``least``), in steps, computed: exponential mechanism or permute-and-flip."""
    _, sensitivity = mechanism._on_grid(np.zeros(1))
    weights = np.exp(mechanism.epsilon / (2 * sensitivity) * (steps - steps.max()))
    chances = weights / weights.sum() if isinstance(mechanism, Exponential) else flip_chances(weights)
    assert chances.sum() == pytest.approx(1)
    return float(chances[steps < least].sum())


@BOTH
@pytest.mark.parametrize("candidates", [1, 2, 10, 100])
@pytest.mark.parametrize("confidence", [0.5, 0.95, 0.9999])
@pytest.mark.parametrize("sensitivity", [1.0, 0.7])
def test_choice_margin_worst_scores_stay_within_the_confidence(cls, candidates, confidence, sensitivity):
    # One best, all others just below the margin: computed exactly on the mechanism's own grid.
    mechanism = cls(sensitivity, 1.0)
    margin = mechanism.margin(candidates, confidence)
    scores = np.full(candidates, -math.nextafter(margin, math.inf))
    scores[0] = 0.0
    steps, _ = mechanism._on_grid(scores)
    failing = _chance_below(mechanism, steps.astype(float), -0.5)
    assert failing <= 1 - confidence


def test_choice_margin_planted_half_margin_is_missed():
    mechanism = Exponential(1.0, 1.0)
    scores = np.full(100, -mechanism.margin(100) / 2)
    scores[0] = 0.0
    steps, _ = mechanism._on_grid(scores)
    assert _chance_below(mechanism, steps.astype(float), -0.5) > 0.05


@BOTH
@given(margin=st.floats(0.05, 1e4), sensitivity=st.floats(0.01, 10), candidates=st.integers(1, 10**6))
def test_choice_from_margin_is_the_inverse(cls, margin, sensitivity, candidates):
    mechanism = cls.from_margin(margin, sensitivity=sensitivity, candidates=candidates)
    assert mechanism.margin95(candidates) == pytest.approx(margin, rel=1e-9)


@BOTH
def test_choice_margin_bad_arguments_raise(cls):
    with pytest.raises(ParameterError, match="candidate"):
        cls(1, 1.0).margin(0)
    with pytest.raises(ParameterError, match="confidence"):
        cls(1, 1.0).margin(3, 1.0)
    with pytest.raises(ParameterError, match="margin"):
        cls.from_margin(0, sensitivity=1, candidates=3)
    with pytest.raises(CalibrationError, match="wider"):
        cls.from_margin(1e-5, sensitivity=1, candidates=3)
