"""How far exact noise strays: the smallest margins of one Laplace variable, of several at once, and of ratios."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from fractions import Fraction

from pydplib.mechanisms._common import laplace_tail_steps

COVERAGE = 0.95
"""What a margin promises: it covers in at least this share of all releases."""


def margin_steps(scale: Fraction, *, cells: int = 1, coverage: float = COVERAGE) -> int:
    """Return the fewest steps m with which all of ``cells`` discrete Laplace variables stay within m.

    Proof: with a = exp(-1/scale), one variable is beyond m with probability 2 a^(m+1)/(1+a). The
    variables are independent, so all stay within with the power of its complement; m is the least for
    which that is at least ``coverage``.

    Examples:
        >>> margin_steps(Fraction(1)), margin_steps(Fraction(1), cells=5)
        (3, 4)
    """
    tail = -math.expm1(math.log(coverage) / cells)
    return laplace_tail_steps(float(1 / scale), tail)


def expected_steps(scale: Fraction) -> float:
    """Return E|Z| of discrete Laplace noise, 1/sinh(1/scale), in steps.

    Examples:
        >>> round(expected_steps(Fraction(1)), 3)
        0.851
    """
    ratio = float(1 / scale)
    return 0.0 if ratio > 700 else 1 / math.sinh(ratio)


def pair_tail(distance: float, one: float, other: float) -> float:
    """Return P(|X + Y| > distance), X and Y independent Laplace variables of scales ``one`` and ``other``.

    Proof: partial fractions of 1/((1 + a^2 w^2)(1 + b^2 w^2)) give the tail
    (a^2 exp(-x/a) - b^2 exp(-x/b)) / (a^2 - b^2), and (1 + x/2a) exp(-x/a) where the scales meet.

    Examples:
        >>> round(pair_tail(3.0, 1.0, 0.0), 4), round(pair_tail(4.11, 1.0, 1.0), 3)
        (0.0498, 0.05)
    """
    large, small = (one, other) if one >= other else (other, one)
    if large <= 0:
        return 1.0 if distance <= 0 else 0.0
    x, ratio = distance / large, small / large
    if ratio > 1 - 1e-5:
        return (1 + x / 2) * math.exp(-x)
    if ratio < 1e-9:
        return math.exp(-x)
    square = ratio * ratio
    return (math.exp(-x) - square * math.exp(-x / ratio)) / (1 - square)


def triple_tail(distance: float, scales: Sequence[float]) -> float:
    """Return P(|X + Y + Z| > distance) for three independent Laplace variables.

    Proof: partial fractions again, with weights s^4 / prod(s^2 - other^2). Scales that coincide are moved apart by
    a hundred-thousandth, which changes nothing visible.

    Examples:
        >>> round(triple_tail(4.97, [1.0, 1.0, 1.0]), 3), round(triple_tail(3.0, [1.0, 0.0, 0.0]), 3)
        (0.05, 0.05)
    """
    small, middle, large = sorted(scales)
    if large <= 0:
        return 1.0 if distance <= 0 else 0.0
    x, small = distance / large, max(small / large, 1e-7)
    middle = max(middle / large, small + 1e-5)
    large = max(1.0, middle + 1e-5)
    a, b, c = small * small, middle * middle, large * large
    return (
        c * c / ((c - a) * (c - b)) * math.exp(-x / large)
        - b * b / ((b - a) * (c - b)) * math.exp(-x / middle)
        + a * a / ((b - a) * (c - a)) * math.exp(-x / small)
    )


def share_interval(above: float, below: float, scale: float, *, coverage: float = COVERAGE) -> tuple[float, float]:
    """Return the interval of a share p = a / (a + b) of which a and b are known with equal Laplace noise.

    Proof: at the true p the number (1-p) a' - p b' is the pure noise (1-p) Z1 - p Z2, because
    (1-p) a = p b. The set of all p at which it lies within the noise's own quantile therefore contains the
    true one with probability ``coverage``, exactly. On each side of a' / (a' + b') the distance is linear
    and the quantile convex in p, so one bisection finds the set's end (its hull where noise hides the size).

    Args:
        above: a', the noisy sum of distances from the lower bound.
        below: b', the noisy sum of distances from the upper bound.
        scale: The scale of both noises, in the same units.
        coverage: What the interval promises.

    Examples:
        >>> low, high = share_interval(5e5, 5e5, 100.0)
        >>> 0.4995 < low < 0.5 < high < 0.5005
        True
    """
    total = above + below
    if total <= 0:
        return 0.0, 1.0
    centre = min(max(above / total, 0.0), 1.0)
    miss = 1 - coverage

    def chance(share: float) -> float:
        return pair_tail(abs((1 - share) * above - share * below), (1 - share) * scale, share * scale)

    reach = 3 * scale / total  # beyond the quantile of any mixture wherever the size is not lost in the noise
    low = find_end(chance, centre, 0.0, near=centre - reach, miss=miss)
    return low, find_end(chance, centre, 1.0, near=centre + reach, miss=miss)


_HAIR = 3e-4  # of the logarithm of what is left outside: 5 % become at least 4.9985 %


def find_end(
    chance: Callable[[float], float], inside: float, border: float, *, near: float, miss: float = 1 - COVERAGE
) -> float:
    """Return where ``chance`` falls below ``miss`` on the way from ``inside`` to ``border``, or the border.

    The logarithm of a tail is nearly a straight line, so a line through the last two points finds the end in a
    handful of steps; a bracket holds them. What is returned lies outside by a hair: an interval made of it is never
    too short.

    Args:
        chance: A tail that falls on the way.
        inside: Where it is at least ``miss``.
        border: The public limit.
        near: A guess at the end.
        miss: What may be left outside.

    Examples:
        >>> round(find_end(lambda x: math.exp(-x), 0.0, 100.0, near=2.0), 3)
        2.996
    """
    level = math.log(miss)

    def excess(point: float) -> float:
        return math.log(max(chance(point), 1e-300)) - level

    if inside == border or excess(border) >= 0:
        return border
    close, far = inside, border
    before, height = inside, excess(inside)
    point = near
    for _ in range(60):
        if not min(close, far) < point < max(close, far):
            point = (close + far) / 2
        found = excess(point)
        if -_HAIR <= found < 0:
            return point
        close, far = (point, far) if found >= 0 else (close, point)
        slope = (found - height) / (point - before) if point != before else 0.0
        before, height = point, found
        point = point - (found + _HAIR / 2) / slope if slope else far
    return far
