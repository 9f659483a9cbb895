"""The one place where noise meets exact values, and where tests can listen.

Every noisy release passes one of the three functions here. A test can record what
passed and replay the same outputs on a neighbouring table; the two traces show
whether the exact values moved by more than the sensitivity that was claimed.
"""

from __future__ import annotations

from collections.abc import Callable
from contextvars import ContextVar
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from pydplib.noise.coins import bernoulli_exp_each
from pydplib.noise.randomness import uniform_below
from pydplib.noise.samplers import discrete_gaussian, discrete_laplace, exponential_choice

Kind = Literal["laplace", "gaussian", "choice", "flip_choice"]


@dataclass(frozen=True, slots=True)
class NoiseCall:
    """What is asked of the noise: public parameters only.

    Attributes:
        kind: Which noise.
        size: How many values.
        scale: The scale, the variance (Gaussian) or the unit (choices).
        sensitivity: The most that one person changes: L1 (Laplace), squared L2 (Gaussian),
            largest change of one score (choices).
    """

    kind: Kind
    size: int
    scale: Fraction
    sensitivity: int

    @property
    def epsilon(self) -> float:
        """The privacy loss of this call (for Gaussian noise: rho)."""
        if self.kind == "laplace":
            return float(self.sensitivity / self.scale)
        if self.kind == "gaussian":
            return float(self.sensitivity / (2 * self.scale))
        return float(2 * self.sensitivity * self.scale)


Tap = Callable[[NoiseCall, NDArray[np.int64], Callable[[], Any]], Any]

# Set by pydplib.noise.testing only; None in every release.
_tap: ContextVar[Tap | None] = ContextVar("pydplib_noise_tap", default=None)


def _through(call: NoiseCall, exact: NDArray[np.int64], answer: Callable[[], Any]) -> Any:
    tap = _tap.get()
    return answer() if tap is None else tap(call, exact, answer)


def add_laplace(exact: NDArray[np.int64], scale: Fraction, *, sensitivity: int) -> NDArray[np.int64]:
    """Return integers plus exact discrete Laplace noise; epsilon is sensitivity / scale.

    Proof: exp(-|z|/t) changes by a factor of at most exp(d/t) when z moves by d, and the
    moves of all coordinates sum to at most the L1 sensitivity.
    """
    call = NoiseCall("laplace", exact.size, scale, sensitivity)
    return np.asarray(_through(call, exact, lambda: exact + discrete_laplace(scale, exact.size).reshape(exact.shape)))


def add_gaussian(exact: NDArray[np.int64], variance: Fraction, *, sensitivity_squared: int) -> NDArray[np.int64]:
    """Return integers plus exact discrete Gaussian noise; rho is sensitivity_squared / (2 variance).

    Proof: The discrete Gaussian has the zCDP of the continuous one for integer shifts
    (Canonne, Kamath, Steinke 2020, theorem 4); coordinates compose by adding squares.
    """
    call = NoiseCall("gaussian", exact.size, variance, sensitivity_squared)
    return np.asarray(
        _through(call, exact, lambda: exact + discrete_gaussian(variance, exact.size).reshape(exact.shape))
    )


def choose(scores: NDArray[np.int64], unit: Fraction, *, sensitivity: int) -> int:
    """Return an index by the exponential mechanism; epsilon is 2 * sensitivity * unit.

    Proof: Every weight exp(unit * score) changes by at most exp(unit * sensitivity), and so
    does their sum (McSherry and Talwar 2007).
    """
    call = NoiseCall("choice", scores.size, unit, sensitivity)
    return int(_through(call, scores, lambda: exponential_choice(scores, unit)))


def flip_and_choose(scores: NDArray[np.int64], unit: Fraction, *, sensitivity: int) -> int:
    """Return an index by permute-and-flip; epsilon is 2 * sensitivity * unit.

    Proof: In a random order, the first candidate whose coin exp(unit (score - best)) falls
    heads wins (McKenna and Sheldon 2020). Coins are independent of the order, so tossing
    all of them and picking uniformly among the heads is the same; the best is always heads.
    """

    def answer() -> int:
        heads = np.flatnonzero(bernoulli_exp_each(scores.max() - scores, unit))
        return int(heads[uniform_below(len(heads), 1)[0]])

    call = NoiseCall("flip_choice", scores.size, unit, sensitivity)
    return int(_through(call, scores, answer))
