"""The Gaussian mechanism, calibrated in zCDP or in (epsilon, delta)."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from statistics import NormalDist
from typing import Any

from numpy.typing import ArrayLike

from pydplib.errors import ParameterError
from pydplib.guarantee import ZCDP, ApproxDP, zcdp_epsilon
from pydplib.mechanisms._common import as_numbers, check_confidence, check_positive, like_input, solve_epsilon
from pydplib.noise.grid import from_grid, grid_exponent, saturated
from pydplib.noise.tap import add_gaussian


@dataclass(frozen=True)
class Gaussian:
    """Real numbers plus Gaussian noise, on a fine grid; better than Laplace for long vectors.

    Give ``rho`` (zero-concentrated DP), or ``epsilon`` and ``delta``.

    Proof: Rounding to a grid of step g moves d coordinates that are S apart (L2) to at most
    S/g + sqrt(d) steps apart; exact discrete Gaussian noise of variance D^2 / (2 rho) gives
    rho-zCDP (``noise.tap.add_gaussian``). (epsilon, delta) is met by the largest rho whose
    tight conversion stays below epsilon (``guarantee.zcdp_epsilon``). The domain is all
    numbers, infinities included: beyond 2^52 steps they saturate, which moves no two of them
    further apart. NaN is no number and is refused.

    Args:
        sensitivity: The most that one person changes the value, or an array in L2, positive.
        rho: The zCDP parameter.
        epsilon: With ``delta``, instead of rho.
        delta: The chance that epsilon may fail.

    Examples:
        >>> round(Gaussian(sensitivity=1, rho=0.5).scale, 2)
        1.0
        >>> print(Gaussian(sensitivity=1, epsilon=1.0, delta=1e-6).guarantee)
        Differentially private with epsilon 1 and delta 1e-06: a fair guess (50 %) about one person can become \
at most 73.2 % right, but for a chance of 1e-06.
    """

    sensitivity: float
    rho: float | None = field(default=None, kw_only=True)
    epsilon: float | None = field(default=None, kw_only=True)
    delta: float | None = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        check_positive("sensitivity", self.sensitivity)
        if (self.rho is None) == (self.epsilon is None and self.delta is None):
            raise ParameterError("Gaussian needs either rho=, or epsilon= and delta=; there is no default.")
        if self.rho is not None:
            check_positive("rho", self.rho)
        else:
            if self.epsilon is None or self.delta is None:
                raise ParameterError("Gaussian needs epsilon= and delta= together.")
            ApproxDP(float(check_positive("epsilon", self.epsilon)), self.delta)

    @cached_property
    def _rho(self) -> Fraction:
        if self.rho is not None:
            return check_positive("rho", self.rho)
        assert self.epsilon is not None and self.delta is not None
        low, high = 0.0, float(self.epsilon) + 1.0
        while zcdp_epsilon(high, self.delta) <= self.epsilon:
            high *= 2
        for _ in range(200):
            middle = (low + high) / 2
            if middle in (low, high):
                break
            if zcdp_epsilon(middle, self.delta) <= self.epsilon:
                low = middle
            else:
                high = middle
        return check_positive("rho", low)

    def _grid(self, size: int) -> tuple[int, int, Fraction]:
        """Return grid exponent, squared sensitivity in steps and variance in steps."""
        sensitivity = check_positive("sensitivity", self.sensitivity)
        finest = min(float(sensitivity), float(sensitivity) / math.sqrt(2 * float(self._rho)))
        root = math.isqrt(max(size, 1) - 1) + 1  # at least sqrt(size)
        exponent = grid_exponent(finest) - (root - 1).bit_length()
        steps = math.ceil(sensitivity / Fraction(2) ** exponent) + (root if size > 1 else 0)
        return exponent, steps * steps, steps * steps / (2 * self._rho)

    @property
    def scale(self) -> float:
        """The standard deviation of the noise of one number."""
        exponent, _, variance = self._grid(1)
        return math.sqrt(variance) * math.ldexp(1.0, exponent)

    @property
    def guarantee(self) -> ZCDP | ApproxDP:
        """What a release guarantees."""
        if self.rho is not None:
            return ZCDP(float(self.rho))
        assert self.epsilon is not None and self.delta is not None
        return ApproxDP(float(self.epsilon), self.delta)

    def margin(self, confidence: float = 0.95) -> float:
        """Return the half-width m with which value +- m covers the exact one in ``confidence`` of all releases.

        The grid is at least a thousand steps per standard deviation, so the discrete tail is
        that of the normal distribution one step further out; that step is added.
        """
        exponent, _, _ = self._grid(1)
        quantile = -NormalDist().inv_cdf((1 - check_confidence(confidence)) / 2)
        return quantile * self.scale + math.ldexp(1.5, exponent)

    @property
    def margin95(self) -> float:
        """The 95 % margin of one number."""
        return self.margin(0.95)

    @classmethod
    def from_margin(
        cls, margin: float, *, sensitivity: float, delta: float | None = None, confidence: float = 0.95
    ) -> Gaussian:
        """Return the mechanism with the smallest rho (or, with ``delta``, epsilon) whose margin is at most ``margin``.

        Examples:
            >>> round(Gaussian.from_margin(1.96, sensitivity=1).rho, 2)
            0.5
        """
        if delta is None:
            found = solve_epsilon(lambda r: cls(sensitivity, rho=r).margin(confidence), margin, what="rho")
            return cls(sensitivity, rho=found)
        epsilon = solve_epsilon(lambda e: cls(sensitivity, epsilon=e, delta=delta).margin(confidence), margin)
        return cls(sensitivity, epsilon=epsilon, delta=delta)

    def release(self, values: ArrayLike) -> Any:
        """Return the number or the array with noise."""
        exact = as_numbers(values)
        exponent, squared, variance = self._grid(exact.size)
        noisy = add_gaussian(saturated(exact.reshape(-1), exponent), variance, sensitivity_squared=squared)
        return like_input(values, from_grid(noisy, exponent).reshape(exact.shape))
