"""Exact samplers of integer noise: geometric, discrete Laplace, discrete Gaussian, exponential choice."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Callable
from decimal import Context, Decimal
from fractions import Fraction
from functools import lru_cache
from itertools import accumulate

import numpy as np
from numpy.typing import NDArray

from pydplib.errors import ParameterError
from pydplib.noise.coins import CoinRow, bernoulli_exp, bernoulli_exp_each, toss_each
from pydplib.noise.expansion import Expansion, decimal_context, exp_minus, logistic_minus
from pydplib.noise.randomness import Source, random_words, uniform_below

_MAX_SCALE = 1 << 52  # magnitudes stay far inside 64-bit integers
_MIN_VARIANCE = Fraction(1, 1 << 1000)  # a positive float, and far below any noise


def _half() -> Expansion:
    return Expansion(lambda _: (Fraction(1, 2), Fraction(1, 2)))


@lru_cache(maxsize=64)
def laplace_coins(scale: Fraction) -> tuple[CoinRow, int]:
    """Return the coins of one discrete Laplace variable and its number of magnitude bits.

    Bits 0 .. count-1 are the magnitude's low digits, bit ``count`` says whether more
    is to come, bit ``count + 1`` is the sign.
    """
    count = 1
    while (1 << count) < 7 * scale:  # P(more to come) = exp(-2^count / scale) <= e^-7
        count += 1
    if count <= 14:
        count = 6 if count <= 6 else 14  # fill the machine word: fewer distinct layouts, shorter tails
    digits = [logistic_minus((1 << j) / scale) for j in range(count)]
    return CoinRow([*digits, exp_minus((1 << count) / scale), _half()]), count


def discrete_laplace(scale: Fraction, size: int, *, source: Source | None = None) -> NDArray[np.int64]:
    """Return ``size`` integers z with P(z) proportional to exp(-|z| / scale), exactly.

    Proof: For a geometric variable G, P(G = g) = (1-a) a^g with a = exp(-1/scale), the
    binary digits are independent, digit j is 1 with probability 1/(1 + exp(2^j/scale)),
    because a^g is the product of a^(2^j) over the digits set. The digits from ``count``
    on form a geometric variable with ratio a^(2^count): its value is the number of
    heads before the first tails. A fair sign, with -0 rejected and drawn again, makes
    |z| = G two-sided: weights 1/2 (1-a) a^|z| for every z, zero included.

    Args:
        scale: The scale in units of the integers; a positive rational up to 2^52.
        size: How many.
        source: Where random bits come from; None is the generator of releases.

    Examples:
        >>> discrete_laplace(Fraction(10), 5).dtype
        dtype('int64')
    """
    scale = _check_scale("scale", scale)
    row, count = laplace_coins(scale)
    out = np.empty(size, dtype=np.int64)
    for start in range(0, size, row.block):
        fill_laplace(out[start : start + row.block], scale, row, count, source)
    return out


def geometric(scale: Fraction, size: int, *, source: Source | None = None) -> NDArray[np.int64]:
    """Return ``size`` integers g >= 0 with P(g) proportional to exp(-g / scale), exactly.

    Proof: the magnitudes of ``discrete_laplace`` before a sign is given to them.

    Examples:
        >>> bool((geometric(Fraction(3), 100) >= 0).all())
        True
    """
    scale = _check_scale("scale", scale)
    row, count = laplace_coins(scale)
    out = np.empty(size, dtype=np.int64)
    for start in range(0, size, row.block):
        _fill_magnitudes(out[start : start + row.block], scale, row, count, source)
    return out


def _fill_magnitudes(
    out: NDArray[np.int64], scale: Fraction, row: CoinRow, count: int, source: Source | None
) -> NDArray[np.unsignedinteger]:
    """Fill in geometric variables and return the coins, whose last tells a sign."""
    word = row.toss(len(out), source=source)
    np.copyto(out, word & word.dtype.type((1 << count) - 1), casting="unsafe")
    more = np.flatnonzero((word & word.dtype.type(1 << count)) != 0)
    while len(more):
        out[more] += 1 << count
        more = more[bernoulli_exp((1 << count) / scale, len(more), source=source)]
    return word


def fill_laplace(out: NDArray[np.int64], scale: Fraction, row: CoinRow, count: int, source: Source | None) -> None:
    """Fill an array with discrete Laplace noise, from the coins of its scale."""
    word = _fill_magnitudes(out, scale, row, count, source)
    negative = (word & word.dtype.type(1 << (count + 1))) != 0
    redo = np.flatnonzero(negative & (out == 0))
    flip = -negative.astype(np.int64)  # two's complement: (z ^ -1) + 1 is -z, (z ^ 0) + 0 is z
    out ^= flip
    out -= flip
    if len(redo):
        again = np.empty(len(redo), dtype=np.int64)
        fill_laplace(again, scale, row, count, source)
        out[redo] = again


def discrete_gaussian(variance: Fraction, size: int, *, source: Source | None = None) -> NDArray[np.int64]:
    """Return ``size`` integers z with P(z) proportional to exp(-z^2 / (2 variance)), exactly.

    Proof: Rejection from a discrete Laplace of integer scale t = floor(sigma) + 1: accept
    y with probability exp(-(|y| - variance/t)^2 / (2 variance)); the product of both
    weights is proportional to exp(-y^2 / (2 variance)) (Canonne, Kamath, Steinke 2020).

    Args:
        variance: sigma squared, a rational between 2^-1000 and 2^104.
        size: How many.
        source: Where random bits come from; None is the generator of releases.

    Examples:
        >>> discrete_gaussian(Fraction(4), 3).shape
        (3,)
    """
    variance = Fraction(variance)
    if variance < _MIN_VARIANCE:
        raise ParameterError("variance must be a positive number of at least 2^-1000.")
    t = math.isqrt(variance.numerator // variance.denominator) + 1
    _check_scale("the square root of the variance", Fraction(t))
    out = np.empty(size, dtype=np.int64)
    filled = 0
    while filled < size:
        wanted = size - filled
        proposal = discrete_laplace(Fraction(t), 2 * wanted + 16, source=source)
        good = proposal[gaussian_accept(proposal, variance, t, source)][:wanted]
        out[filled : filled + len(good)] = good
        filled += len(good)
    return out


def gaussian_accept(
    proposal: NDArray[np.int64], variance: Fraction, t: int, source: Source | None
) -> NDArray[np.bool_]:
    """Return which proposals are accepted: with the exact chance that makes the noise discrete Gaussian."""
    centre = variance / t
    gap = np.abs(proposal).astype(np.float64) - float(centre)
    chance = np.exp(-(gap * gap) / (2 * float(variance)))

    def exponent(i: int) -> Fraction:
        return (abs(int(proposal[i])) - centre) ** 2 / (2 * variance)

    # |y| < 2^57 is exact to 2^-53 relative; the exponent is below 2^7 wherever the chance matters, and
    # its relative error stays below 2^-45, so 2^-30 is a generous margin for the chance.
    return toss_each(chance, exponent, slack=2.0**-30, source=source)


def exponential_choice(scores: NDArray[np.int64], unit: Fraction, *, source: Source | None = None) -> int:
    """Return an index i with probability proportional to exp(unit * scores[i]), exactly.

    Proof: Inverse of the cumulative weights at one uniform number. Floating point
    decides only where the uniform number is farther from every boundary than the
    rounding errors can reach; otherwise the weights are recomputed in decimal arithmetic
    with growing precision until the uniform number's cell is certain.

    Args:
        scores: Integer utilities; larger is likelier.
        unit: A positive rational, epsilon / (2 sensitivity) for the exponential mechanism.
        source: Where random bits come from; None is the generator of releases.

    Examples:
        >>> exponential_choice(np.array([0, 1000]), Fraction(1))
        1
    """
    return int(exponential_choices(scores, unit, 1, source=source)[0])


def exponential_choices(
    scores: NDArray[np.int64], unit: Fraction, size: int, *, source: Source | None = None
) -> NDArray[np.int64]:
    """Return ``size`` independent choices, each as ``exponential_choice`` makes it.

    Examples:
        >>> exponential_choices(np.array([0, 1000]), Fraction(1), 3).tolist()
        [1, 1, 1]
    """
    gaps = _gaps(scores, unit)
    cumulative = np.cumsum(np.exp(-float(unit) * gaps.astype(np.float64)))
    words = random_words(size, source=source) >> np.uint64(11)
    targets = words.astype(np.float64) * 2.0**-53 * cumulative[-1]
    slack = (len(gaps) + 64) * 2.0**-49 * cumulative[-1]
    out = np.searchsorted(cumulative, targets, side="right").astype(np.int64)
    inside = np.minimum(out, len(gaps) - 1)
    # The first candidate's lower edge is 0: no error crosses it.
    low = np.where(out > 0, cumulative[np.maximum(inside - 1, 0)], -math.inf)
    sure = (out < len(gaps)) & (targets - low > slack) & (cumulative[inside] - targets > slack)
    for i in np.flatnonzero(~sure):
        out[i] = _settle_choice(gaps, Fraction(unit), int(words[i]), source)
    return np.asarray(out)


def flip_choices(
    scores: NDArray[np.int64], unit: Fraction, size: int, *, source: Source | None = None
) -> NDArray[np.int64]:
    """Return ``size`` independent choices by permute-and-flip.

    Proof: In a random order, the first candidate whose coin exp(unit (score - best)) falls heads wins (McKenna
    and Sheldon 2020). Coins are independent of the order, so tossing all of them and picking uniformly among
    the heads is the same; the best is always heads.

    Examples:
        >>> flip_choices(np.array([0, 1000]), Fraction(1), 3).tolist()
        [1, 1, 1]
    """
    gaps = _gaps(scores, unit)
    heads = bernoulli_exp_each(np.tile(gaps, size), unit, source=source).reshape(size, len(gaps))
    fallen = heads.sum(axis=1)
    rank = np.empty(size, dtype=np.int64)
    for count in np.unique(fallen):
        rows = np.flatnonzero(fallen == count)
        rank[rows] = uniform_below(int(count), len(rows), source=source)
    return np.asarray(np.argmax(np.cumsum(heads, axis=1) == rank[:, np.newaxis] + 1, axis=1), dtype=np.int64)


def _gaps(scores: NDArray[np.int64], unit: Fraction) -> NDArray[np.int64]:
    """Return how far each candidate lies behind the best."""
    scores = np.asarray(scores, dtype=np.int64)
    if scores.ndim != 1 or not len(scores):
        raise ParameterError("A choice needs at least one candidate.")
    if unit <= 0:
        raise ParameterError("A choice needs a positive unit.")
    return np.asarray(scores.max() - scores)


def _settle_choice(gaps: NDArray[np.int64], unit: Fraction, word: int, source: Source | None) -> int:
    """Decide in exact arithmetic which cell holds the uniform number that starts with the 53 bits of ``word``."""
    distinct, inverse = np.unique(gaps, return_inverse=True)

    def weigh(precision: int) -> tuple[list[int], int]:
        context = decimal_context(precision)
        weight = [_rounded_exp(unit * int(gap), context, precision) for gap in distinct]
        return [weight[i] for i in inverse], 10**5

    return settle_choice(weigh, word, source)


def settle_choice(weigh: Callable[[int], tuple[list[int], int]], word: int, source: Source | None) -> int:
    """Decide which candidate holds the uniform number that starts with the 53 bits of ``word``, by exact weights.

    Proof: with more digits of both, the uniform number's cell is certain in the end: sums of weights are then known
    better than the distance from the number to the next boundary.

    Args:
        weigh: Gives, for a number of decimal digits, the weights in units that fall with it, and by how many units each
            is off at most; 0 where they are exact.
        word: The first 53 bits.
        source: Where further bits come from.
    """
    bits = 53
    while True:
        weights, off = weigh(bits // 3 + 40)
        sums = list(accumulate(weights))
        total = sums[-1]
        error = len(weights) * off + 1 if off else 0
        low, high = Fraction(word, 1 << bits), Fraction(word + 1, 1 << bits)
        first = _cell(sums, low * (total - error) - error)
        last = _cell(sums, high * (total + error) + error)
        if first == last:
            return first
        word = (word << 64) | int(random_words(1, source=source)[0])
        bits += 64


def _rounded_exp(x: Fraction, context: Context, precision: int) -> int:
    """Return exp(-x) in units of 10^-precision; off by less than 10^5 units."""
    if x > 4 * precision:
        return 0
    quotient = context.divide(Decimal(x.numerator), Decimal(x.denominator))
    # Every step in this context: a minus sign, or scaleb without one, would round to the thread's own 28 digits.
    value = context.exp(quotient.copy_negate())
    return int(value.scaleb(precision, context))


def _cell(sums: list[int], target: Fraction) -> int:
    return min(bisect_right(sums, target), len(sums) - 1)


def _check_scale(name: str, scale: Fraction) -> Fraction:
    scale = Fraction(scale)
    if scale <= 0:
        raise ParameterError(f"{name} must be a positive number.")
    if scale > _MAX_SCALE:
        raise ParameterError(
            f"{name} is larger than 2^52 steps of the grid, which is too wide to compute with. "
            "Use a larger epsilon, or a coarser grid."
        )
    return scale
