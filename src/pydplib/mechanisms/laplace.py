"""The Laplace mechanism, for real numbers (``Laplace``) and for counts (``Geometric``)."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from pydplib.errors import ParameterError
from pydplib.guarantee import PureDP
from pydplib.mechanisms._common import (
    as_integers,
    as_numbers,
    check_confidence,
    check_margin,
    check_positive,
    check_scale,
    laplace_tail_steps,
    like_input,
    solve_epsilon,
)
from pydplib.noise.grid import from_grid, grid_exponent, saturated
from pydplib.noise.tap import add_laplace


@dataclass(frozen=True)
class Laplace:
    """Real numbers plus Laplace noise of scale sensitivity / epsilon, on a fine grid.

    The sensitivity is the most that one person can change the value, or all values of an
    array together (L1).

    Proof: Values are rounded to a grid of step g in exact arithmetic. If one person moves at
    most c coordinates by S in total, the rounded values move by at most D = ceil(S/g) + c - 1
    steps. Exact discrete Laplace noise of scale D/epsilon steps changes no probability by
    more than the factor exp(epsilon) (``noise.tap.add_laplace``); turning steps back into
    floats is post-processing. g is below a thousandth of S/c and of the scale, so the
    rounding adds less than 0.2 % to the noise. The domain is all numbers, whole ones of any
    size and infinities included: beyond 2^52 steps (at least 2^41 times the smaller of S/c
    and the scale) they saturate, which moves no two of them further apart. NaN is no number
    and is refused: decide what a missing value counts as before you release.

    Args:
        sensitivity: The most that one person changes the value, positive.
        epsilon: The privacy loss, positive; there is no default.
        max_changes: How many coordinates of an array one person can change; by default all of them.

    Examples:
        >>> mechanism = Laplace(sensitivity=1, epsilon=0.5)
        >>> 1.99 < mechanism.scale < 2.01
        True
        >>> 5.9 < mechanism.margin95 < 6.1
        True
        >>> noisy = mechanism.release(42)
        >>> print(mechanism.guarantee)
        Differentially private with epsilon 0.5: a fair guess (50 %) about one person can become at most 62.3 % right.
    """

    sensitivity: float
    epsilon: float
    max_changes: int | None = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        check_scale(check_positive("sensitivity", self.sensitivity) / check_positive("epsilon", self.epsilon))
        if self.max_changes is not None and (not isinstance(self.max_changes, int) or self.max_changes < 1):
            raise ParameterError("max_changes must be a whole number of at least 1, or None.")

    def _grid(self, size: int) -> tuple[int, int, Fraction]:
        """Return grid exponent, sensitivity in steps and scale in steps for an array of ``size``."""
        sensitivity = check_positive("sensitivity", self.sensitivity)
        epsilon = check_positive("epsilon", self.epsilon)
        changes = min(self.max_changes or size, size) or 1
        finest = float(min(sensitivity, sensitivity / epsilon))
        exponent = grid_exponent(finest) - (changes - 1).bit_length()
        steps = math.ceil(sensitivity / Fraction(2) ** exponent) + changes - 1
        return exponent, steps, steps / epsilon

    @property
    def scale(self) -> float:
        """The scale of the noise as it is drawn for one number: sensitivity / epsilon, and a trifle for the grid."""
        exponent, _, steps = self._grid(1)
        return float(steps * Fraction(2) ** exponent)

    @property
    def guarantee(self) -> PureDP:
        """What a release guarantees."""
        return PureDP(float(self.epsilon))

    def margin(self, confidence: float = 0.95) -> float:
        """Return the half-width m with which value +- m covers the exact one in ``confidence`` of all releases."""
        exponent, _, steps = self._grid(1)
        within = laplace_tail_steps(float(1 / steps), 1 - check_confidence(confidence))
        return math.ldexp(within + 0.5, exponent)  # half a step for the rounding of the input

    @property
    def margin95(self) -> float:
        """The 95 % margin of one number."""
        return self.margin(0.95)

    @classmethod
    def from_margin(cls, margin: float, *, sensitivity: float, confidence: float = 0.95) -> Laplace:
        """Return the mechanism with the smallest epsilon whose margin is at most ``margin``.

        Examples:
            >>> round(Laplace.from_margin(6, sensitivity=1).epsilon, 2)
            0.5
        """
        return cls(sensitivity, solve_epsilon(lambda e: cls(sensitivity, e).margin(confidence), margin))

    def release(self, values: ArrayLike) -> Any:
        """Return the number or the array with noise."""
        exact = as_numbers(values)
        exponent, sensitivity, scale = self._grid(exact.size)
        noisy = add_laplace(saturated(exact.reshape(-1), exponent), scale, sensitivity=sensitivity)
        return like_input(values, from_grid(noisy, exponent).reshape(exact.shape))


@dataclass(frozen=True)
class Geometric:
    """Whole numbers plus two-sided geometric noise: the Laplace mechanism for counts and integer sums.

    Proof: ``noise.tap.add_laplace`` with scale sensitivity / epsilon, no rounding anywhere
    (Ghosh, Roughgarden, Sundararajan 2009). The domain is the whole numbers of any size: from
    2^62 on they saturate, which moves no two of them further apart. Decimals and NaN are refused.

    Args:
        sensitivity: The most that one person changes the number, or all numbers together (L1); whole.
        epsilon: The privacy loss, positive; there is no default.

    Examples:
        >>> Geometric(sensitivity=1, epsilon=1.0).margin95
        3
        >>> isinstance(Geometric(sensitivity=1, epsilon=1.0).release(920), int)
        True
    """

    sensitivity: int
    epsilon: float

    def __post_init__(self) -> None:
        if check_positive("sensitivity", self.sensitivity).denominator != 1:
            raise ParameterError("Geometric needs a whole sensitivity; use Laplace for decimals.")
        check_scale(self._exact_scale)

    @property
    def _exact_scale(self) -> Fraction:
        return check_positive("sensitivity", self.sensitivity) / check_positive("epsilon", self.epsilon)

    @property
    def scale(self) -> float:
        """The scale of the noise: sensitivity / epsilon."""
        return float(self._exact_scale)

    @property
    def guarantee(self) -> PureDP:
        """What a release guarantees."""
        return PureDP(float(self.epsilon))

    def margin(self, confidence: float = 0.95) -> int:
        """Return the smallest whole m with which value +- m covers the exact one in ``confidence`` of all releases."""
        return laplace_tail_steps(float(1 / self._exact_scale), 1 - check_confidence(confidence))

    @property
    def margin95(self) -> int:
        """The 95 % margin of one number."""
        return self.margin(0.95)

    @classmethod
    def from_margin(cls, margin: float, *, sensitivity: int, confidence: float = 0.95) -> Geometric:
        """Return the mechanism with the smallest epsilon whose margin is at most ``margin``.

        Examples:
            >>> Geometric.from_margin(3, sensitivity=1).margin95
            3
        """
        if check_margin(margin) < 1:
            raise ParameterError("A margin of whole numbers is at least 1.")
        return cls(sensitivity, solve_epsilon(lambda e: cls(sensitivity, e).margin(confidence), margin))

    def release(self, values: ArrayLike) -> Any:
        """Return the whole number or the array with noise."""
        exact = as_integers(values)
        noisy = add_laplace(exact, self._exact_scale, sensitivity=int(self.sensitivity))
        return like_input(values, np.asarray(noisy, dtype=np.int64))
