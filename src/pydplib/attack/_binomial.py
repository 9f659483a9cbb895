"""Exact confidence bounds of a share, without SciPy: Clopper and Pearson by the incomplete beta function."""

from __future__ import annotations

import math

from pydplib.errors import ParameterError, shown


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
