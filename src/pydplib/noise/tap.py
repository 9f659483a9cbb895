"""The one place where noise meets exact values, and where tests can listen.

Every noisy release passes one of the functions here. A test can record what
passed and replay the same outputs on a neighbouring table; the two traces show
whether the exact values moved by more than the sensitivity that was claimed.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from contextvars import ContextVar
from dataclasses import KW_ONLY, dataclass
from fractions import Fraction
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from pydplib.errors import ParameterError
from pydplib.noise.coins import bernoulli_exp, bernoulli_keep
from pydplib.noise.pairs import pair_noise
from pydplib.noise.randomness import Source, random_bytes, uniform_below
from pydplib.noise.samplers import (
    discrete_gaussian,
    discrete_laplace,
    exponential_choice,
    flip_choices,
)

Kind = Literal["laplace", "gaussian", "pair", "choice", "flip_choice", "response", "coin_flip", "flip"]


@dataclass(frozen=True, slots=True)
class NoiseCall:
    """What is asked of the noise: public parameters only.

    Attributes:
        kind: Which noise.
        size: How many values.
        scale: The scale, the variance (Gaussian), the unit (choices), epsilon (responses), the
            chance of a flip (coin flip) or x of a chance of exp(-x)/2 (flip).
        sensitivity: The most that one person changes: L1 (Laplace), squared L2 (Gaussian), ``pair_distance`` (pairs),
            largest change of one score (choices), records (responses, flips).
        values: How many values an answer can take (responses, flips); 0 where any integer can come out.
        monotone: Of choices: whether one person moves all scores in the same direction, such as counts.
        first: Of pairs of tables: how many cells of each block are those of the first table.
    """

    kind: Kind
    size: int
    scale: Fraction
    sensitivity: int
    _: KW_ONLY
    values: int = 0
    monotone: bool = False
    first: int = 0

    @property
    def epsilon(self) -> float:
        """The privacy loss of this call (for Gaussian noise: rho)."""
        if self.kind in ("laplace", "pair"):
            return float(self.sensitivity / self.scale)
        if self.kind == "gaussian":
            return float(self.sensitivity / (2 * self.scale))
        if self.kind == "response":
            return float(self.scale)
        if self.kind == "coin_flip":
            return math.log(3)
        if self.kind == "flip":
            return math.log1p(2 * math.expm1(float(self.scale)))  # ln((1-p)/p)
        return float((1 if self.monotone else 2) * self.sensitivity * self.scale)


# What draws the answer; only a tap names another source than that of releases.
Answer = Callable[[Source | None], Any]
Tap = Callable[[NoiseCall, NDArray[np.int64], Answer], Any]

# Set by pydplib.noise.testing only; None in every release.
current_tap: ContextVar[Tap | None] = ContextVar("pydplib_noise_tap", default=None)
_seeded: ContextVar[bool] = ContextVar("pydplib_noise_seeded", default=False)


def check_not_seeded() -> None:
    """Refuse where noise is repeatable. Ledgers that are kept call this: what they record is a real release.

    Raises:
        ParameterError: Inside ``pydplib.noise.testing.seeded``.
    """
    if _seeded.get():
        raise ParameterError(
            "Seeded noise is for experiments and attacks on data of nobody; a ledger that is kept refuses it. "
            "Use a MemoryLedger there, or leave the seed out."
        )


def _through(call: NoiseCall, exact: NDArray[np.int64], answer: Answer) -> Any:
    tap = current_tap.get()
    return answer(None) if tap is None else tap(call, exact, answer)


def add_laplace(exact: NDArray[np.int64], scale: Fraction, *, sensitivity: int) -> NDArray[np.int64]:
    """Return integers plus exact discrete Laplace noise; epsilon is sensitivity / scale.

    Proof: exp(-|z|/t) changes by a factor of at most exp(d/t) when z moves by d, and the
    moves of all coordinates sum to at most the L1 sensitivity.
    """

    def answer(source: Source | None) -> NDArray[np.int64]:
        return exact + discrete_laplace(scale, exact.size, source=source).reshape(exact.shape)

    return np.asarray(_through(NoiseCall("laplace", exact.size, scale, sensitivity), exact, answer))


def add_gaussian(exact: NDArray[np.int64], variance: Fraction, *, sensitivity_squared: int) -> NDArray[np.int64]:
    """Return integers plus exact discrete Gaussian noise; rho is sensitivity_squared / (2 variance).

    Proof: The discrete Gaussian has the zCDP of the continuous one for integer shifts
    (Canonne, Kamath, Steinke 2020, theorem 4); coordinates compose by adding squares.
    """

    def answer(source: Source | None) -> NDArray[np.int64]:
        return exact + discrete_gaussian(variance, exact.size, source=source).reshape(exact.shape)

    return np.asarray(_through(NoiseCall("gaussian", exact.size, variance, sensitivity_squared), exact, answer))


def add_pair(
    first: NDArray[np.int64], second: NDArray[np.int64], scale: Fraction, *, sensitivity: int
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return two tables plus one exact noise that is shaped for both; epsilon is sensitivity / scale.

    Proof: rows are blocks. A row of the data is in one cell of each table, both in the same block, so what one person
    changes is a sum of moves that add the same weight to a cell of the first and to one of the second. The noise has
    P(x, y) proportional to exp(-N / scale) on all moves with equal sums in every block, N = sum over blocks of
    max(|x|, |y|). N is a norm, and that of one such move is its weight: what one person changes has an N of at most
    the sum of weights, which is the sensitivity, and the probability of any outcome changes by a factor of at most
    exp(sensitivity / scale).

    Args:
        first: Whole numbers, a row for each block.
        second: The same of the other table; in every block, its exact cells have the same sum as those of the first.
        scale: The scale in steps.
        sensitivity: The most that one person's rows weigh together, in steps.
    """
    both, blocks, cells = np.concatenate([first, second], axis=1), len(first), first.shape[1]

    def answer(source: Source | None) -> NDArray[np.int64]:
        noise = pair_noise(scale, blocks, cells, second.shape[1], source=source)
        return np.asarray(both + np.concatenate(noise, axis=1))

    noisy = np.asarray(_through(NoiseCall("pair", both.size, scale, sensitivity, first=cells), both, answer))
    return noisy[:, :cells], noisy[:, cells:]


def choose(scores: NDArray[np.int64], unit: Fraction, *, sensitivity: int) -> int:
    """Return an index by the exponential mechanism; epsilon is 2 * sensitivity * unit.

    Proof: Every weight exp(unit * score) changes by at most exp(unit * sensitivity), and so
    does their sum (McSherry and Talwar 2007).
    """
    call = NoiseCall("choice", scores.size, unit, sensitivity)
    return int(_through(call, scores, lambda source: exponential_choice(scores, unit, source=source)))


def flip_and_choose(scores: NDArray[np.int64], unit: Fraction, *, sensitivity: int, monotone: bool = False) -> int:
    """Return an index by permute-and-flip; epsilon is 2 * sensitivity * unit, half of it for monotone scores.

    Proof: ``samplers.flip_choices`` is permute-and-flip (McKenna and Sheldon 2020). It picks r as the largest of
    score + E does, E exponential with rate ``unit`` (Ding et al. 2021): r wins if E_r is at least
    t = max over the others of (score + E) - score_r, with probability min(1, exp(-unit t)). Where each score moves by
    up to d, t moves by up to 2 d; where all move in the same direction (``monotone``), by up to d only: of the two
    parts of t, both grow or both fall.

    Args:
        scores: Whole numbers, the larger the better.
        unit: How much a score counts.
        sensitivity: The most that one person moves a score.
        monotone: Whether one person, added, moves no score down (or none up): counts of rows. Not so where one
            person is exchanged for another.
    """
    call = NoiseCall("flip_choice", scores.size, unit, sensitivity, monotone=monotone)
    return int(_through(call, scores, lambda source: int(flip_choices(scores, unit, 1, source=source)[0])))


def respond(codes: NDArray[np.int64], epsilon: Fraction, *, categories: int) -> NDArray[np.int64]:
    """Return codes 0 .. k-1, each kept with probability e^epsilon / (e^epsilon + k - 1), else another at random.

    Proof: For any output v, the chance is p = e^epsilon / (e^epsilon + k - 1) if the true code
    is v and (1 - p) / (k - 1) = p / e^epsilon otherwise: the ratio is e^epsilon for each record.
    """

    def answer(source: Source | None) -> NDArray[np.int64]:
        keep = bernoulli_keep(epsilon, categories, codes.size, source=source)
        shift = 1 + uniform_below(categories - 1, codes.size, source=source)  # never back to the same value
        return np.where(keep, codes, (codes + shift) % categories)

    call = NoiseCall("response", codes.size, epsilon, 1, values=categories)
    return np.asarray(_through(call, codes, answer))


def flip_coins(truth: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return answers 0 or 1 after two fair coins each: heads, the truth; tails, what the second coin says.

    Proof: P(1 | 1) = 3/4 and P(1 | 0) = 1/4, so the ratio is 3 for each record: epsilon is ln 3.
    """

    def answer(source: Source | None) -> NDArray[np.int64]:
        coins = np.frombuffer(random_bytes(truth.size, source=source), dtype=np.uint8)
        return np.where(coins & 1, truth, (coins >> 1) & 1)

    call = NoiseCall("coin_flip", truth.size, Fraction(1, 4), 1, values=2)
    return np.asarray(_through(call, truth, answer))


def flip_values(truth: NDArray[np.int64], exponent: Fraction) -> NDArray[np.int64]:
    """Return answers 0 or 1, each flipped with probability p = exp(-exponent)/2.

    Proof: p < 1/2, and each record is flipped by itself: the ratio is (1 - p)/p for each record.
    """

    def answer(source: Source | None) -> NDArray[np.int64]:
        often = bernoulli_exp(exponent, truth.size, source=source)
        return np.where(often & (uniform_below(2, truth.size, source=source) == 1), 1 - truth, truth)

    return np.asarray(_through(NoiseCall("flip", truth.size, exponent, 1, values=2), truth, answer))
