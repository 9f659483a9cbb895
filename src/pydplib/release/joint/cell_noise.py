"""The noise of a measured table's cells: discrete Laplace or discrete Gaussian, and what sums of it are like.

Everything is in steps: whole units of a cell, 2^16 to a row where rows are weighed. Made of public facts alone; only
``add`` meets exact cells.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from statistics import NormalDist
from typing import Any, ClassVar, TypeAlias

import numpy as np
from numpy.typing import NDArray

from pydplib.noise.tap import add_gaussian, add_laplace
from pydplib.release.statistics.noise import margin_steps

Floats: TypeAlias = NDArray[np.float64]

_SMALL = 64.0  # standard deviations in steps below which tails are added up cell by cell


@dataclass(frozen=True, slots=True, order=True)
class LaplaceCells:
    """Discrete Laplace noise on every cell of a table.

    Args:
        scale: Its scale, in steps.

    Examples:
        >>> LaplaceCells(Fraction(1)).tail_steps(0.05), round(LaplaceCells(Fraction(10)).variance)
        (3, 200)
    """

    scale: Fraction
    kind: ClassVar[str] = "discrete Laplace"

    @property
    def variance(self) -> float:
        """The variance of one cell's noise: 1 / (2 sinh^2(1 / 2 scale))."""
        return 0.5 / math.sinh(min(0.5 / float(self.scale), 300.0)) ** 2

    @property
    def spread(self) -> float:
        """The number that readers know this noise by: its scale."""
        return float(self.scale)

    def tail_steps(self, miss: float) -> int:
        """Return the fewest steps that the noise passes with a chance of at most ``miss``."""
        return margin_steps(self.scale, coverage=1 - miss)

    def log_transform(self, times: Floats) -> Floats:
        """Return the logarithm of the characteristic function, 1 / (1 + (sin(t / 2) / sinh(1 / 2 scale))^2)."""
        found: Floats = -np.log1p((np.sin(times / 2) / math.sinh(min(0.5 / float(self.scale), 300.0))) ** 2)
        return found

    def add(self, cells: NDArray[Any], *, reach: int) -> NDArray[Any]:
        """Return cells with noise; one person moves all of them together by at most ``reach`` (L1)."""
        return add_laplace(cells, self.scale, sensitivity=reach)


@dataclass(frozen=True, slots=True, order=True)
class GaussianCells:
    """Discrete Gaussian noise on every cell of a table.

    Args:
        sigma_squared: Its parameter, in squared steps: the probability of n is proportional to
            exp(-n^2 / (2 sigma_squared)).

    Examples:
        >>> noise = GaussianCells(Fraction(100))
        >>> noise.tail_steps(0.05), round(noise.variance, 6), np.exp(noise.log_transform(np.array([0.1]))).round(4)
        (20, 100.0, array([0.6065]))
    """

    sigma_squared: Fraction
    kind: ClassVar[str] = "discrete Gaussian"

    @property
    def spread(self) -> float:
        """The number that readers know this noise by: sigma."""
        return math.sqrt(self.sigma_squared)

    @property
    def variance(self) -> float:
        """The variance of one cell's noise; hardly below sigma_squared unless that is below 1."""
        if self.spread > _SMALL:
            return float(self.sigma_squared)
        chances = _chances(self.sigma_squared)
        return float(2 * (chances[1:] * np.arange(1, len(chances)) ** 2.0).sum())

    def tail_steps(self, miss: float) -> int:
        """Return the fewest steps that the noise passes with a chance of at most ``miss``; one more where it is wide.

        Proof: its weights fall, and they add up to at least sigma sqrt(2 pi) (Poisson's sum), so the tail beyond m is
        at most that of the normal distribution: ceil(sigma z) suffices. Narrow noise is added up.
        """
        if self.spread > _SMALL:
            return math.ceil(self.spread * -NormalDist().inv_cdf(miss / 2) * (1 + 1e-12))
        chances = _chances(self.sigma_squared)
        beyond = 2 * (chances.sum() - np.cumsum(chances))  # of passing 0, 1, 2 ... steps
        return int(np.argmax(beyond <= miss * (1 - 1e-9)))

    def log_transform(self, times: Floats) -> Floats:
        """Return the logarithm of the characteristic function: by Poisson's sum of Gaussians 2 pi apart."""
        if self.spread < 1.0:
            chances = _chances(self.sigma_squared)
            steps = np.arange(1, len(chances))
            values = chances[0] + 2 * (chances[1:, None] * np.cos(steps[:, None] * times[None, :])).sum(axis=0)
            narrow: Floats = np.log(np.maximum(values, 1e-300))
            return narrow
        apart = times - 2 * math.pi * np.round(times / (2 * math.pi))  # to the nearest of them
        half = float(self.sigma_squared) / 2
        near = -half * apart**2
        # The two next ones count where sigma is small: at the middle between them, as much as the nearest.
        next_ones = np.exp(-half * ((2 * math.pi - np.abs(apart)) ** 2 - apart**2))
        found: Floats = near + np.log1p(next_ones) - math.log1p(2 * math.exp(-min(half * (2 * math.pi) ** 2, 700.0)))
        return found

    def add(self, cells: NDArray[Any], *, reach: int) -> NDArray[Any]:
        """Return cells with noise; one person moves them by at most ``reach`` (L2, which is at most L1)."""
        return add_gaussian(cells, self.sigma_squared, sensitivity_squared=reach**2)


CellNoise: TypeAlias = LaplaceCells | GaussianCells
"""The noise of one table."""


@lru_cache(maxsize=256)
def _chances(sigma_squared: Fraction) -> Floats:
    """Return the probabilities of 0, 1, 2 ... steps of narrow discrete Gaussian noise."""
    far = math.ceil(40 * max(math.sqrt(sigma_squared), 0.3))
    weights = np.exp(-(np.arange(far + 1) ** 2.0) / (2 * float(sigma_squared)))
    found: Floats = weights / (weights[0] + 2 * weights[1:].sum())
    found.setflags(write=False)
    return found
