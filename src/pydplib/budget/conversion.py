"""The tight zCDP conversion of ``pydplib.guarantee`` in whole units, rounded so that no loss is understated."""

from __future__ import annotations

import math
from fractions import Fraction
from functools import lru_cache

from pydplib.budget.units import ATTO, NANO, ceil_units
from pydplib.guarantee import zcdp_epsilon, zcdp_tilt


def zcdp_nano_epsilon(nano_rho: int, atto_delta: int) -> int:
    """Return the epsilon of rho-zCDP at delta in whole units: nano-rho and atto-delta in, nano-epsilon out, rounded up.

    Examples:
        >>> zcdp_nano_epsilon(25_920_000, 10**12) / 1e9 < 1.04
        True
    """
    return ceil_units(Fraction(zcdp_epsilon(*_floats(nano_rho, atto_delta))), NANO)


@lru_cache(maxsize=1024)
def micro_order(nano_rho: int, atto_delta: int) -> int:
    """Return the order at which ``zcdp_nano_epsilon`` converts, in millionths, rounded down; 0 for nothing.

    Examples:
        >>> micro_order(83_441_717, 5 * 10**11) // 10**6
        12
    """
    if nano_rho <= 0 or atto_delta <= 0:
        return 0
    return math.floor((1 + Fraction(zcdp_tilt(*_floats(nano_rho, atto_delta)))) * 10**6)


def _floats(nano_rho: int, atto_delta: int) -> tuple[float, float]:
    """Return rho and delta, rounded towards more loss, so that the floats never understate the integers."""
    rho = math.nextafter(nano_rho / NANO, math.inf) if nano_rho else 0.0
    return rho, math.nextafter(atto_delta / ATTO, 0.0)


@lru_cache(maxsize=1024)
def most_nano_rho(nano_epsilon: int, atto_delta: int) -> int:
    """Return the largest nano-rho whose conversion stays within ``nano_epsilon`` at ``atto_delta``.

    An account of type ``ApproxDP`` is a zCDP filter with this bound: fixed at opening, so valid
    when questions are chosen after seeing earlier answers (Whitehouse et al. 2023).

    Examples:
        >>> most = most_nano_rho(1_030_000_000, 10**12)
        >>> zcdp_nano_epsilon(most, 10**12) <= 1_030_000_000 < zcdp_nano_epsilon(most + 1000, 10**12)
        True
    """
    if nano_epsilon <= 0 or atto_delta <= 0:
        return 0
    low, high = 0, nano_epsilon  # rho <= epsilon wherever the conversion holds at delta < 1/2 or so ...
    while zcdp_nano_epsilon(high, atto_delta) <= nano_epsilon:
        high *= 2  # ... and where it does not (delta near 1), the search widens by itself
    while high - low > 1:
        middle = (low + high) // 2
        if zcdp_nano_epsilon(middle, atto_delta) <= nano_epsilon:
            low = middle
        else:
            high = middle
    return low
