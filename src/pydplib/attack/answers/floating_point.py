"""Floating point: the low-order bits of a noisy number still show which number it was (Mironov 2012)."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pydplib.attack._arguments import at_least
from pydplib.attack.result import AttackResult
from pydplib.errors import ParameterError
from pydplib.noise.testing import seeded

_FEWEST = 10  # sightings in one world, none in the other, before a pattern of bits counts as certain


def floating_point(
    mechanism: Any,
    *,
    pair: tuple[float, float] = (0.0, 1.0),
    draws: int = 100_000,
    name: str = "",
    seed: int | None = None,
) -> AttackResult:
    """Tell two true values apart by the last digits of the noisy number, where ordinary noise hides nothing.

    In plain words: a computer rounds every decimal number, and how it rounds depends on the size of what was
    added. A sum 1 + noise is always a multiple of 2^-53; noise alone often is not. So whoever sees a released
    number that is no multiple of 2^-53 knows for certain that the true value was not 1, whatever
    epsilon was promised. Noise in whole steps of a grid, as pydplib draws it, leaves no such trace.

    The patterns (the position of the last binary digit) are learnt on one half of the draws; a verdict is
    spoken only for patterns that were seen in one world alone, and is judged on the other half.

    Args:
        mechanism: Anything with ``release(array)``, or a function from an array to noisy numbers.
        pair: The two true values.
        draws: Releases of each; half to learn, half to judge.
        name: What is attacked, in words.
        seed: For a repeatable run, where the noise is drawn by this library.

    Examples:
        >>> from pydplib.attack import floating_point
        >>> from pydplib.mechanisms import Laplace
        >>> rng = np.random.default_rng(6)
        >>> naive = floating_point(lambda x: x + rng.laplace(0, 1, x.shape), draws=20_000)
        >>> 0.2 < naive.exposed < 0.35
        True
        >>> floating_point(Laplace(sensitivity=1, epsilon=1.0, max_changes=1), draws=20_000).exposed
        0.0
    """
    at_least("draws", draws, 4)
    release: Callable[[NDArray[np.float64]], Any] = getattr(mechanism, "release", mechanism)
    if not callable(release):
        raise ParameterError("floating_point needs a mechanism with release(), or a function of an array.")
    with nullcontext() if seed is None else seeded(seed):
        first, second = (last_digit(np.asarray(release(np.full(draws, float(value))))) for value in pair)
    half = draws // 2
    low = int(min(first.min(), second.min()))
    size = int(max(first.max(), second.max())) - low + 1
    one = np.bincount(first[:half] - low, minlength=size)
    two = np.bincount(second[:half] - low, minlength=size)
    only_one, only_two = (one >= _FEWEST) & (two == 0), (two >= _FEWEST) & (one == 0)
    tested = (first[half:] - low, second[half:] - low)
    speaks = [float((only_one | only_two)[bits].mean()) for bits in tested]
    right = int(only_one[tested[0]].sum() + only_two[tested[1]].sum())
    wrong = int(only_two[tested[0]].sum() + only_one[tested[1]].sum())
    tries = len(tested[0]) + len(tested[1])
    # Where the bits say nothing he tosses a coin.
    coin = np.random.default_rng(seed).binomial(tries - right - wrong, 0.5)
    result = AttackResult.of_tries(
        "floating point",
        target=name or type(mechanism).__name__,
        hits=right + int(coin),
        tries=tries,
        baseline=0.5,
        exposed=max(speaks),
        sentence="",
        details={
            "certain_first": speaks[0],
            "certain_second": speaks[1],
            "wrong_verdicts": wrong,
            "verdicts": right + wrong,
        },
    )
    return replace(result, sentence=_sentence(result))


def last_digit(values: NDArray[Any]) -> NDArray[np.int64]:
    """Return the exponent of the last binary digit of each number: x is an odd multiple of 2^that.

    0 gives 1100, and what is no finite number 1101.

    Examples:
        >>> last_digit(np.array([1.0, 0.75, 6.0, 0.0, np.inf])).tolist()
        [0, -2, 1, 1100, 1101]
    """
    numbers = values.astype(np.float64)
    finite = np.isfinite(numbers)
    mantissa, exponent = np.frexp(np.abs(np.where(finite, numbers, 0.0)))
    whole = np.ldexp(mantissa, 53).astype(np.int64)  # exact: a float has 53 binary digits
    lowest = whole & -whole
    place = np.frexp(np.where(lowest > 0, lowest, 1).astype(np.float64))[1] - 1
    return np.where(whole != 0, exponent.astype(np.int64) - 53 + place, np.where(finite, 1100, 1101))


def _sentence(result: AttackResult) -> str:
    if result.exposed == 0:
        return "The low-order bits tell nothing."
    return (
        f"The low-order bits alone name the true value for certain in {result.exposed:.0%} of the releases "
        "of one of the two values, whatever epsilon is claimed."
    )
