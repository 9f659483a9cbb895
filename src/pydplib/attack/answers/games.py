"""The game behind several attacks: two worlds, one output; which world was it?"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Coding = Callable[[NDArray[np.generic]], Integers]
_FEW = 400  # different values up to which each is a cell of its own
_BINS = 64


@dataclass(frozen=True, slots=True)
class Played:
    """How a game went: right decisions out of this many, and in each world."""

    hits: int
    tries: int
    first_right: float
    second_right: float


def play(first: Floats, second: Floats) -> Played:
    """Return how often the world is guessed right: outputs of the first world against outputs of the second.

    The attacker learns the two distributions on the first half of each sample (he can simulate both worlds at
    home) and decides for the likelier world on the second half.

    Examples:
        >>> play(np.zeros(100), np.ones(100)).hits
        100
    """
    half_one, half_two = len(first) // 2, len(second) // 2
    code = cells(first[:half_one], second[:half_two])
    size = 1 + int(max(code(first).max(), code(second).max()))
    one = np.bincount(code(first[:half_one]), minlength=size) / max(half_one, 1)
    two = np.bincount(code(second[:half_two]), minlength=size) / max(half_two, 1)
    says_one = one > two
    tie = one == two  # nothing learnt: half of these cells are right by chance; the even ones say "first"
    says_one[tie] = np.arange(size)[tie] % 2 == 0
    right_one = says_one[code(first[half_one:])]
    right_two = ~says_one[code(second[half_two:])]
    hits = int(right_one.sum() + right_two.sum())
    return Played(hits, len(right_one) + len(right_two), float(right_one.mean()), float(right_two.mean()))


def cells(first: NDArray[np.generic], second: NDArray[np.generic]) -> Coding:
    """Return a function that sorts outputs into cells: each value its own if there are few, else bins of equal mass."""
    pooled = np.concatenate([first, second])
    values = np.unique(pooled)
    if len(values) <= _FEW:
        return lambda outputs: _places(values, outputs)
    real = pooled.astype(np.float64)
    edges = np.unique(np.quantile(real[~np.isnan(real)], np.linspace(0, 1, _BINS + 1)[1:-1]))
    return lambda outputs: _bins(edges, np.asarray(outputs, dtype=np.float64))


def _bins(edges: Floats, outputs: Floats) -> Integers:
    """Return the bin of each output; one of its own for what is not a number: refused or suppressed."""
    place = np.searchsorted(edges, outputs, side="right")
    return np.where(np.isnan(outputs), len(edges) + 1, place).astype(np.int64)


def _places(values: NDArray[np.generic], outputs: NDArray[np.generic]) -> Integers:
    """Return the position of each output among the values; one more for what was not seen before."""
    place = np.minimum(np.searchsorted(values, outputs), len(values) - 1)
    same = values[place] == outputs
    if values.dtype.kind == "f" and outputs.dtype.kind == "f":
        same |= np.isnan(values[place].astype(np.float64)) & np.isnan(outputs.astype(np.float64))
    return np.where(same, place, len(values)).astype(np.int64)
