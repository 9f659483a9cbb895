"""Binary expansions of irrational probabilities, to as many digits as anyone asks for.

A coin with probability p is exact if a uniform number's digits are compared with
p's until they differ. p's digits come from ``decimal``, whose exponential is
correctly rounded, with an interval around every result: digits are given out only
once both ends of the interval agree on them.
"""

from __future__ import annotations

from collections.abc import Callable
from decimal import Context, Decimal
from fractions import Fraction
from functools import lru_cache

_FIRST_BYTES = 32  # 256 binary digits; ties beyond that have probability 2^-256 and are computed on demand
_MAX_PRECISION = 10**6


class Expansion:
    """The binary digits of a number in (0, 1), as bytes, extended on demand.

    Args:
        interval: Gives a lower and an upper bound of the number, computed with
            that many decimal digits; the bounds close in as the precision grows.
    """

    __slots__ = ("_digits", "_interval")

    def __init__(self, interval: Callable[[Context], tuple[Fraction, Fraction]]) -> None:
        self._interval = interval
        self._digits = b""

    def digits(self, count: int = _FIRST_BYTES) -> bytes:
        """Return the first ``count`` bytes of the expansion (at least 32 are computed)."""
        if len(self._digits) < count:
            self._digits = self._compute(max(count, _FIRST_BYTES))
        return self._digits[:count]

    def _compute(self, count: int) -> bytes:
        precision = 3 * count + 30
        while precision <= _MAX_PRECISION:
            low, high = self._interval(decimal_context(precision))
            first = (low.numerator << (8 * count)) // low.denominator
            # The number is below 1, so its first digits are at most all ones, however wide the interval still is.
            last = min((high.numerator << (8 * count)) // high.denominator, (1 << (8 * count)) - 1)
            if first == last:
                return first.to_bytes(count, "big")
            precision *= 2
        raise ArithmeticError("the expansion does not settle; the number may be rational")

    def exceeds(self, word: int, count: int, more: Callable[[int], bytes]) -> bool:
        """Tell whether a uniform number that starts with ``word`` (``count`` bytes) lies below this number.

        Args:
            word: The first digits of the uniform number.
            count: How many bytes they are.
            more: Gives further random bytes of the uniform number.
        """
        while True:
            mine = int.from_bytes(self.digits(count), "big")
            if word != mine:
                return word < mine
            word = (word << 64) | int.from_bytes(more(8), "big")
            count += 8


def decimal_context(precision: int) -> Context:
    """Return the rules of decimal arithmetic with this many digits, and exponents that never run out."""
    return Context(prec=precision, Emin=-(10**15), Emax=10**15)


def exp_interval(x: Fraction, context: Context) -> tuple[Fraction, Fraction]:
    """Return bounds of exp(-x) for a rational x >= 0.

    Proof: x is rounded to q decimal digits, a relative error of at most 10^(1-q), so
    the exponent is off by at most e = x 10^(1-q) and the result by a factor within
    1 +- 2e (for e < 1/2); the exponential itself is correctly rounded, off by another
    factor within 1 +- 10^(1-q). Both are covered by 1 +- (2 x + 2) 10^(1-q) + squares,
    for which a factor of 4 is generous.
    """
    if x > 4 * context.prec:  # exp(-x) < 10^-prec, and its digits would fill the memory
        return Fraction(0), Fraction(1, 10**context.prec)
    rounded = context.divide(Decimal(x.numerator), Decimal(x.denominator))
    # copy_negate, not a minus sign: the operator would round to the thread's own 28 digits.
    value = Fraction(context.exp(rounded.copy_negate()))
    slack = 4 * (x + 1) / Fraction(10) ** (context.prec - 1)
    return value * (1 - slack), value * (1 + slack)


@lru_cache(maxsize=4096)
def exp_minus(x: Fraction) -> Expansion:
    """Return the expansion of exp(-x), for a rational x > 0."""
    return Expansion(lambda context: exp_interval(x, context))


@lru_cache(maxsize=4096)
def logistic_minus(x: Fraction) -> Expansion:
    """Return the expansion of 1 / (1 + exp(x)) = exp(-x) / (1 + exp(-x)), for a rational x > 0."""

    def interval(context: Context) -> tuple[Fraction, Fraction]:
        low, high = exp_interval(x, context)
        return low / (1 + low), high / (1 + high)  # increasing in exp(-x)

    return Expansion(interval)


@lru_cache(maxsize=4096)
def keep_probability(epsilon: Fraction, categories: int) -> Expansion:
    """Return the expansion of e^epsilon / (e^epsilon + k - 1), for a rational epsilon > 0 and k >= 2."""

    def interval(context: Context) -> tuple[Fraction, Fraction]:
        low, high = exp_interval(epsilon, context)
        return 1 / (1 + (categories - 1) * high), 1 / (1 + (categories - 1) * low)

    return Expansion(interval)
