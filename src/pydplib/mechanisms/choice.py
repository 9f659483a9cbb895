"""Choosing one of several candidates privately: the exponential mechanism and permute-and-flip."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pydplib.errors import CalibrationError, DataError, ParameterError
from pydplib.guarantee import PureDP
from pydplib.mechanisms._common import as_array, as_integers, as_numbers, check_confidence, check_margin, check_positive
from pydplib.noise.grid import grid_exponent, saturated
from pydplib.noise.tap import choose, flip_and_choose


@dataclass(frozen=True)
class _Choice:
    """Common part of the two choices: scores on a grid, the margin in scores and its inverse."""

    sensitivity: float
    epsilon: float

    _pick: ClassVar[Callable[..., int]]

    def __post_init__(self) -> None:
        check_positive("sensitivity", self.sensitivity)
        check_positive("epsilon", self.epsilon)

    @property
    def scale(self) -> float:
        """The score difference that changes the odds by the factor e: 2 sensitivity / epsilon."""
        return 2 * float(self.sensitivity) / float(self.epsilon)

    @property
    def guarantee(self) -> PureDP:
        """What a release guarantees."""
        return PureDP(float(self.epsilon))

    def margin(self, candidates: int, confidence: float = 0.95) -> float:
        """Return how far the score of the choice may lie below the best, with ``confidence``.

        P(score < best - scale (ln(k) + t)) <= exp(-t) for k candidates (McSherry and Talwar 2007).
        Rounding to the grid is counted: the scale as it is used, and one step for the two scores.
        """
        step, scale = self._grid()
        return scale / float(self.epsilon) * _log_candidates(candidates, confidence) + step

    def margin95(self, candidates: int) -> float:
        """Return the 95 % margin in scores for that many candidates."""
        return self.margin(candidates, 0.95)

    @classmethod
    def from_margin(cls, margin: float, *, sensitivity: float, candidates: int, confidence: float = 0.95) -> Self:
        """Return the choice with the smallest epsilon whose margin is at most ``margin``."""
        wanted = check_margin(margin)
        step, scale = cls(sensitivity, 1.0)._grid()
        if wanted <= step:
            raise CalibrationError("The margin is finer than the grid of the scores. Ask for a wider one.")
        return cls(sensitivity, scale * _log_candidates(candidates, confidence) / (wanted - step))

    def release(self, scores: ArrayLike) -> int:
        """Return the index of the choice; one person changes every score by at most the sensitivity."""
        steps, sensitivity = self._on_grid(scores)
        if steps.ndim != 1 or not steps.size:
            raise DataError("A choice needs a list of scores, one for each candidate.")
        unit = check_positive("epsilon", self.epsilon) / (2 * sensitivity)
        return type(self)._pick(steps, unit, sensitivity=sensitivity)

    def _on_grid(self, scores: ArrayLike) -> tuple[NDArray[np.int64], int]:
        """Return scores and sensitivity in whole steps. The type decides the grid, never the values."""
        sensitivity = check_positive("sensitivity", self.sensitivity)
        if sensitivity.denominator == 1 and _are_whole(scores):
            return as_integers(scores), int(sensitivity)
        exponent = grid_exponent(float(sensitivity))
        numbers = as_numbers(scores)
        steps = saturated(numbers.reshape(-1), exponent).reshape(numbers.shape)
        return steps, math.ceil(sensitivity / Fraction(2) ** exponent)

    def _grid(self) -> tuple[float, float]:
        """Return the step of the grid and 2 sensitivity, rounded up to it: the widest that ``_on_grid`` may use."""
        sensitivity = check_positive("sensitivity", self.sensitivity)
        step = Fraction(2) ** grid_exponent(float(sensitivity))
        return float(step), float(2 * math.ceil(sensitivity / step) * step)


def _are_whole(scores: ArrayLike) -> bool:
    """Tell whether scores are whole by type: of an array, or of every element of a list."""
    if isinstance(scores, list | tuple):
        return all(isinstance(score, int | np.integer) for score in scores)
    return as_array(scores).dtype.kind in "biu"


def _log_candidates(candidates: int, confidence: float) -> float:
    if candidates < 1:
        raise ParameterError("A choice needs at least one candidate.")
    return math.log(candidates / (1 - check_confidence(confidence)))


class Exponential(_Choice):
    """The exponential mechanism: candidate i with probability proportional to exp(epsilon score / (2 sensitivity)).

    Proof: ``noise.tap.choose`` on scores rounded to a grid, with the sensitivity rounded up. Scores far from 0
    saturate, which moves no two of them further apart.

    Args:
        sensitivity: The most that one person changes any score, positive.
        epsilon: The privacy loss, positive; there is no default.

    Examples:
        >>> Exponential(sensitivity=1, epsilon=1.0).release([0, 3, 900])
        2
    """

    _pick = staticmethod(choose)


class PermuteAndFlip(_Choice):
    """Permute-and-flip: never worse than the exponential mechanism, up to twice as good.

    Proof: ``noise.tap.flip_and_choose`` on scores rounded to a grid, with the sensitivity rounded up. Scores far
    from 0 saturate, which moves no two of them further apart.

    Args:
        sensitivity: The most that one person changes any score, positive.
        epsilon: The privacy loss, positive; there is no default.

    Examples:
        >>> PermuteAndFlip(sensitivity=1, epsilon=1.0).release([0, 3, 900])
        2
    """

    _pick = staticmethod(flip_and_choose)
