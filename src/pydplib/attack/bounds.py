"""What differential privacy allows an attacker, and what samples prove: exact bounds on success and on epsilon."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from pydplib.errors import DataError, ParameterError, shown


def share_interval(hits: int, tries: int, *, confidence: float = 0.95) -> tuple[float, float]:
    """Return the Clopper-Pearson interval of a share: it covers the true one at least with ``confidence``.

    Args:
        hits: How often it happened.
        tries: How often it was tried, at least once.
        confidence: Strictly between 0 and 1.

    Examples:
        >>> low, high = share_interval(50, 100)
        >>> round(low, 4), round(high, 4)
        (0.3983, 0.6017)
        >>> share_interval(0, 10)[0], round(share_interval(0, 10)[1], 4)
        (0.0, 0.3085)
    """
    each = (1 - _confidence(confidence)) / 2
    return share_at_least(hits, tries, chance=each), share_at_most(hits, tries, chance=each)


def share_at_least(hits: int, tries: int, *, chance: float) -> float:
    """Return the lower bound of a share that is too high only with probability ``chance``."""
    _check(hits, tries)
    if hits == 0:
        return 0.0
    return _beta_quantile(chance, hits, tries - hits + 1)


def share_at_most(hits: int, tries: int, *, chance: float) -> float:
    """Return the upper bound of a share that is too low only with probability ``chance``."""
    _check(hits, tries)
    if hits == tries:
        return 1.0
    return 1.0 - _beta_quantile(chance, tries - hits, hits + 1)


def _check(hits: int, tries: int) -> None:
    if not (tries >= 1 and 0 <= hits <= tries):
        raise ParameterError(f"A share needs 0 <= hits <= tries and at least one try. Got {hits} of {tries}.")


def _confidence(confidence: float) -> float:
    if not (isinstance(confidence, float) and 0 < confidence < 1):
        raise ParameterError(f"confidence must lie strictly between 0 and 1. Got {shown(confidence)}.")
    return confidence


def _beta_quantile(chance: float, a: float, b: float) -> float:
    """Return x with I_x(a, b) = chance, from below: the bound stays valid where the digits end."""
    low, high = 0.0, 1.0
    centre = a / (a + b)
    spread = math.sqrt(centre * (1 - centre) / (a + b + 1))
    for width in (4.0, 8.0, 16.0):  # a near bracket saves most of the bisection
        near, far = centre - width * spread, centre + width * spread
        if near > 0 and beta_cdf(near, a, b) < chance:
            low = near
            high = min(high, far) if far < 1 and beta_cdf(far, a, b) > chance else high
            break
    while high - low > 1e-12 * max(high, 1e-6):
        middle = (low + high) / 2
        if beta_cdf(middle, a, b) < chance:
            low = middle
        else:
            high = middle
    return low


def beta_cdf(x: float, a: float, b: float) -> float:
    """Return I_x(a, b), the regularised incomplete beta function.

    The continued fraction of Gauss, by Lentz's method; on the side where it converges fast.

    Examples:
        >>> round(beta_cdf(0.5, 2, 2), 12)
        0.5
    """
    if x <= 0:
        return 0.0
    if x >= 1:
        return 1.0
    log_front = math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b) + a * math.log(x) + b * math.log1p(-x)
    if x > (a + 1) / (a + b + 2):
        return 1.0 - math.exp(log_front) * _fraction(1 - x, b, a) / b
    return math.exp(log_front) * _fraction(x, a, b) / a


def _fraction(x: float, a: float, b: float) -> float:
    tiny = 1e-300
    c, d = 1.0, 1 - (a + b) * x / (a + 1)
    d = 1 / (d if abs(d) > tiny else tiny)
    value = d
    for m in range(1, 100_000):
        for numerator in (
            m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m)),
            -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1)),
        ):
            d = 1 + numerator * d
            d = 1 / (d if abs(d) > tiny else tiny)
            c = 1 + numerator / c
            c = c if abs(c) > tiny else tiny
            value *= c * d
        if abs(c * d - 1) < 1e-14:
            break
    return value


def most_success(epsilon: float, delta: float = 0.0) -> float:
    """Return how often a fair guess between two cases can be right at most: (e^epsilon + delta)/(e^epsilon + 1).

    Proof: for any event S, P(S) <= e^epsilon Q(S) + delta and 1 - Q(S) <= e^epsilon (1 - P(S)) + delta; the guess
    is right with (P(S) + 1 - Q(S))/2. Adding both, weighted, gives the bound (Wasserman and Zhou 2010; Kairouz,
    Oh, Viswanath 2015).

    Examples:
        >>> round(most_success(1.0), 4), most_success(0.0)
        (0.7311, 0.5)
    """
    if not (epsilon >= 0 and 0 <= delta <= 1):
        raise ParameterError("epsilon must be at least 0 and delta a share between 0 and 1.")
    fall = math.exp(-epsilon)
    return min(1.0, (1 + delta * fall) / (1 + fall))


def surer(epsilon: float, delta: float = 0.0) -> str:
    """Return in words how much surer a guess whether a person is in the data can get; rounded up, so never too low.

    Examples:
        >>> surer(1.0), surer(20.0)
        ('from 50 % to at most 73.2 %', 'from 50 % to more than 99.9 %')
    """
    tenths = math.ceil(1000 * most_success(epsilon, delta) - 1e-9)
    return f"from 50 % to at most {tenths / 10:g} %" if tenths < 1000 else "from 50 % to more than 99.9 %"


def most_advantage(epsilon: float, delta: float = 0.0) -> float:
    """Return the largest advantage, true positives minus false positives: (e^epsilon - 1 + 2 delta)/(e^epsilon + 1).

    Examples:
        >>> round(most_advantage(1.0), 4)
        0.4621
    """
    return 2 * most_success(epsilon, delta) - 1


def laplace_success(distance: float, scale: float) -> float:
    """Return how often one of two values is told from one Laplace-noisy release: 1 - exp(-distance / (2 scale)) / 2.

    The best rule is "the nearer of the two"; it fails where the noise carries the value over the middle.

    Examples:
        >>> laplace_success(0.0, 1.0), round(laplace_success(2.0, 1.0), 4)
        (0.5, 0.8161)
    """
    return 1 - math.exp(-abs(distance) / (2 * scale)) / 2


def epsilon_at_least(
    hits: int, tries: int, other_hits: int, other_tries: int, *, delta: float = 0.0, chance: float = 0.001
) -> float:
    """Return an epsilon that a mechanism has at least, unless a chance event of probability ``chance`` happened.

    An event came up ``hits`` times in ``tries`` runs on one data set and ``other_hits`` times in
    ``other_tries`` runs on its neighbour. Both shares are bounded by Clopper and Pearson, each with half of
    ``chance``; then epsilon >= ln((p - delta) / q).

    Examples:
        >>> round(epsilon_at_least(5000, 10_000, 1839, 10_000), 2)  # true value: 1
        0.9
        >>> epsilon_at_least(10, 100, 90, 100)
        0.0
    """
    low = share_at_least(hits, tries, chance=chance / 2)
    high = share_at_most(other_hits, other_tries, chance=chance / 2)
    return max(0.0, math.log((low - delta) / high)) if low > delta else 0.0


def js_divergence(first: NDArray[np.float64], second: NDArray[np.float64], *, bins: int = 50) -> float:
    """Return the Jensen-Shannon divergence of two samples in bits, over bins that both share.

    0: the two look alike; 1: they never overlap. An average: it does not see the rare outputs that give one
    person away, and so is no measure of privacy by itself.

    Args:
        first: Outputs on one data set.
        second: Outputs on its neighbour.
        bins: How many, of equal width over the range of both.

    Examples:
        >>> js_divergence(np.zeros(10), np.ones(10)), js_divergence(np.arange(9.0), np.arange(9.0))
        (1.0, 0.0)
    """
    one, two = (np.asarray(sample, dtype=np.float64) for sample in (first, second))
    if not (one.size and two.size and np.isfinite(one).all() and np.isfinite(two).all()):
        raise DataError("A divergence needs two samples of finite numbers.")
    low, high = min(one.min(), two.min()), max(one.max(), two.max())
    if low == high:
        return 0.0
    edges = np.linspace(low, high, bins + 1)
    p = np.histogram(one, edges)[0] / one.size
    q = np.histogram(two, edges)[0] / two.size
    middle = (p + q) / 2
    return float((_entropy_bits(middle) - (_entropy_bits(p) + _entropy_bits(q)) / 2).clip(0.0, 1.0))


def _entropy_bits(shares: NDArray[np.float64]) -> np.float64:
    seen = shares[shares > 0]
    return np.float64(-(seen * np.log2(seen)).sum())
