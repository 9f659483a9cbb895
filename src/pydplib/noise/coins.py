"""Exact coins, many at a time: one byte of randomness each, more only on ties.

A coin of probability p falls heads if a uniform number lies below p. One random
byte decides in 255 of 256 cases; on a tie the next 64 bits decide, and beyond that
(probability 2^-72) digits of any length.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from pydplib.errors import ParameterError
from pydplib.noise.expansion import Expansion, exp_minus, keep_probability
from pydplib.noise.randomness import Source, random_bytes, random_words, resolve

_BLOCK_BYTES = 1 << 19  # random bytes per block: large enough to hide the calls, small enough for the cache


class CoinRow:
    """A row of coins with different probabilities, tossed for many samples at once.

    Args:
        probabilities: One expansion per coin; None is a coin that always falls tails.
            The row is padded to 8, 16, 32 or 64 coins, so that a sample's coins pack
            into one machine word.

    Examples:
        >>> row = CoinRow([exp_minus(Fraction(1))])
        >>> row.toss(4).shape
        (4,)
    """

    def __init__(self, probabilities: Sequence[Expansion | None]) -> None:
        self.width = next(width for width in (8, 16, 32, 64) if width >= len(probabilities))
        self._expansions: list[Expansion | None] = [
            *probabilities,
            *[None] * (self.width - len(probabilities)),
        ]
        digits = [bytes(9) if e is None else e.digits(9) for e in self._expansions]
        self.block = _BLOCK_BYTES // self.width
        first = np.array([d[0] for d in digits], dtype=np.uint8)
        self._first = np.tile(first, self.block)
        self._next = np.array([int.from_bytes(d[1:], "big") for d in digits], dtype=np.uint64)

    def toss(self, size: int, *, source: Source | None = None) -> NDArray[np.unsignedinteger]:
        """Return one word per sample; bit j is set if coin j fell heads. At most ``block`` samples at a time."""
        random = np.empty(size * self.width, dtype=np.uint8)
        resolve(source).fill(random)
        first = self._first[: len(random)]
        heads = random < first
        ties = np.flatnonzero(random == first)
        if len(ties):
            coin = ties & (self.width - 1)
            words = random_words(len(ties), source=source)
            limit = self._next[coin]
            heads[ties] = words < limit
            for i in np.flatnonzero(words == limit):
                heads[ties[i]] = settle(self._expansions[coin[i]], int(words[i]), source)
        return np.packbits(heads, bitorder="little").view(f"<u{self.width // 8}")


def settle(expansion: Expansion | None, word: int, source: Source | None) -> bool:
    """Decide a coin whose first byte and next 64 bits tie with the probability's digits."""
    if expansion is None:
        return False
    start = (expansion.digits(1)[0] << 64) | word
    return expansion.exceeds(start, 9, lambda n: random_bytes(n, source=source))


def toss(probability: Expansion, size: int, *, source: Source | None = None) -> NDArray[np.bool_]:
    """Return ``size`` independent tosses of one coin."""
    digits = probability.digits(9)
    limit = np.uint64(int.from_bytes(digits[1:], "big"))
    out = np.empty(size, dtype=np.bool_)
    for start in range(0, size, _BLOCK_BYTES):
        heads = out[start : start + _BLOCK_BYTES]
        random = np.empty(len(heads), dtype=np.uint8)
        resolve(source).fill(random)
        np.less(random, digits[0], out=heads)
        ties = np.flatnonzero(random == digits[0])
        words = random_words(len(ties), source=source)
        heads[ties] = words < limit
        for i in np.flatnonzero(words == limit):
            heads[ties[i]] = settle(probability, int(words[i]), source)
    return out


def bernoulli_exp(x: Fraction, size: int, *, source: Source | None = None) -> NDArray[np.bool_]:
    """Return ``size`` coins that are True with probability exp(-x), exactly, for a rational x >= 0.

    Examples:
        >>> bool(bernoulli_exp(Fraction(0), 3).all())
        True
    """
    x = Fraction(x)
    if x < 0:
        raise ParameterError("bernoulli_exp needs x >= 0, so that exp(-x) is a probability.")
    if x == 0:
        return np.ones(size, dtype=np.bool_)
    return toss(exp_minus(x), size, source=source)


def bernoulli_keep(epsilon: Fraction, categories: int, size: int, *, source: Source | None = None) -> NDArray[np.bool_]:
    """Return ``size`` coins that are True with probability e^epsilon / (e^epsilon + k - 1), exactly."""
    if epsilon <= 0 or categories < 2:
        raise ParameterError("bernoulli_keep needs epsilon > 0 and at least two categories.")
    return toss(keep_probability(Fraction(epsilon), categories), size, source=source)


def bernoulli_exp_each(
    numerators: NDArray[np.int64], unit: Fraction, *, source: Source | None = None
) -> NDArray[np.bool_]:
    """Return one coin per element, True with probability exp(-unit * numerator), exactly.

    Proof: ``toss_each``; the probability in floating point is off by far less than 2^-40.

    Args:
        numerators: Non-negative integers.
        unit: A positive rational.
        source: Where random bits come from.
    """
    if unit <= 0 or (len(numerators) and int(numerators.min()) < 0):
        raise ParameterError("bernoulli_exp_each needs a positive unit and non-negative numerators.")
    chance = np.exp(-float(unit) * numerators.astype(np.float64))
    return toss_each(chance, lambda i: unit * int(numerators[i]), slack=2.0**-40, source=source)


def toss_each(
    chances: NDArray[np.float64],
    exponent_of: Callable[[int], Fraction],
    *,
    slack: float,
    source: Source | None = None,
) -> NDArray[np.bool_]:
    """Return one coin per element, True with probability exp(-exponent), exactly.

    Proof: A 53-bit uniform number is compared with the probability in floating point. Only where
    the two are nearer than ``slack`` could rounding matter, and there the exact digits decide, with
    the same 53 bits as the uniform number's first digits.

    Args:
        chances: The probabilities in floating point, each off by less than ``slack``.
        exponent_of: Gives the exact exponent of one element, which is asked for only where the float is too near.
        slack: How near is too near.
        source: Where random bits come from.
    """
    words = random_words(len(chances), source=source) >> np.uint64(11)
    uniform = words.astype(np.float64) * 2.0**-53
    out = uniform < chances
    for i in np.flatnonzero(np.abs(uniform - chances) < slack):
        exponent = exponent_of(int(i))
        if exponent == 0:
            out[i] = True
            continue
        # 53 bits are not whole bytes: three more random bits complete the seventh.
        word = (int(words[i]) << 3) | (random_bytes(1, source=source)[0] & 7)
        out[i] = exp_minus(exponent).exceeds(word, 7, lambda n: random_bytes(n, source=source))
    return out
