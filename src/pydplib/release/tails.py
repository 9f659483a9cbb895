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
    largest = max(scales)
    if largest <= 0:
        return 1.0 if distance <= 0 else 0.0
    x = distance / largest
    apart = sorted(scale / largest for scale in scales)
    for i in (1, 2):
        apart[i] = max(apart[i], apart[i - 1] + 1e-5)
    squares = [(scale if scale > 0 else 1e-7) ** 2 for scale in apart]
    total = 0.0
    for i, own in enumerate(squares):
        weight = 1.0
        for j, other in enumerate(squares):
            if i != j:
                weight *= own / (own - other)
        total += weight * math.exp(-x / math.sqrt(own))
    return total


def triple_quantile(scales: Sequence[float], *, coverage: float = COVERAGE) -> float:
    """Return the distance that a sum of three independent Laplace variables stays within with ``coverage``.

    Examples:
        >>> round(triple_quantile([1.0, 0.0, 0.0]), 2)
        3.0
    """
    low, high = 0.0, max(scales) * (8 - math.log(1 - coverage))
    for _ in range(44):
        middle = (low + high) / 2
        if triple_tail(middle, scales) > 1 - coverage:
            low = middle
        else:
            high = middle
    return high


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

    def covers(share: float) -> bool:
        return pair_tail(abs((1 - share) * above - share * below), (1 - share) * scale, share * scale) >= miss

    reach = 8 * scale / total  # beyond the quantile of any mixture wherever the size is not lost in the noise
    ends = []
    for border, near in ((0.0, max(0.0, centre - reach)), (1.0, min(1.0, centre + reach))):
        inside, outside = centre, border if covers(near) else near
        if covers(border):
            inside = border
        else:
            for _ in range(34):
                middle = (inside + outside) / 2
                if covers(middle):
                    inside = middle
                else:
                    outside = middle
        ends.append(inside)
    return ends[0], ends[1]


MEAN_MISS = 0.01
"""The part of the 5 % that a variance's interval keeps for a mean that lies further off than it allows for."""


def variance_interval(
    squares: float,
    total: float,
    size: float,
    *,
    square_scale: float,
    sum_scale: float,
    size_scale: float,
    half: float,
    most: float,
) -> tuple[float, float]:
    """Return the interval of a variance of which sum of squares, sum and number are known with Laplace noise.

    All about the middle of the bounds; the number is (Z1 + Z2) off where the squares are Z1 off, in their units.

    Proof: at the true variance v and mean m the number s - 2 m t + (m^2 - v) n is zero, because
    sum (x - m)^2 = n v. Of the noisy s', t', n' it is the pure noise (1 + (m^2 - v)/q) Z1 + (m^2 - v)/q Z2 - 2 m Z3 (q:
    the largest square), whose tail ``triple_tail`` gives. The mean is not known; but t' - m n' is the pure noise
    Z3 - m (Z1 + Z2)/q, so with all but ``MEAN_MISS`` m is among those that do not rule this out, which lie between
    known ends. The variances v that some such m does not rule out at 5 % - ``MEAN_MISS`` therefore contain the true one
    with at least 95 %. For n' > 0 the number over n' is w(m) - v with w(m) = s'/n' - (t'/n')^2 + (m - t'/n')^2, least
    at the m nearest to t'/n' and largest at an end; scales are taken at their largest over m, and a larger scale only
    widens. On each side the distance is linear and the scales convex in v, so one bisection finds the end.

    Args:
        squares: s', the noisy sum of squared distances from the middle.
        total: t', the noisy sum of distances.
        size: n', the noisy number, positive.
        square_scale: The scale of the noise of the squares, in squared units.
        sum_scale: The scale of the noise of the sum.
        size_scale: The scale of Z1 and Z2 in rows.
        half: The largest distance from the middle.
        most: The largest variance.

    Examples:
        >>> low, high = variance_interval(1e6, 0.0, 1e4, square_scale=400.0, sum_scale=50.0, size_scale=1.0, half=20.0,
        ...                               most=400.0)
        >>> 99.7 < low < 100 < high < 100.3
        True
    """
    centre = total / size
    first, last = _mean_ends(total, size, sum_scale, size_scale, half)
    nearest = min(max(centre, first), last)
    base = squares / size - centre**2
    least, largest = base + (nearest - centre) ** 2, base + max(first - centre, last - centre, key=abs) ** 2
    smallest_square = 0.0 if first <= 0 <= last else min(first**2, last**2)
    ends = (smallest_square, max(first**2, last**2))
    slope = 2 * max(abs(first), abs(last)) * sum_scale
    miss = 1 - COVERAGE - MEAN_MISS

    def covers(variance: float) -> bool:
        distance = size * max(least - variance, variance - largest)
        moved = [(end - variance) * size_scale for end in ends]
        scales = [max(abs(square_scale + part) for part in moved), max(abs(part) for part in moved), slope]
        return distance <= 0 or triple_tail(distance, scales) >= miss

    inside = min(max(least, 0.0), most)
    if not covers(inside):  # the noise hid everything
        return 0.0, most
    return _farthest(covers, inside, 0.0), _farthest(covers, inside, most)


def _mean_ends(total: float, size: float, sum_scale: float, size_scale: float, half: float) -> tuple[float, float]:
    """Return between which ends the mean lies with all but ``MEAN_MISS`` (see ``variance_interval``)."""

    def covers(mean: float) -> bool:
        part = abs(mean) * size_scale
        return triple_tail(abs(total - mean * size), [sum_scale, part, part]) >= MEAN_MISS

    inside = min(max(total / size, -half), half)
    if not covers(inside):
        return -half, half
    return _farthest(covers, inside, -half), _farthest(covers, inside, half)


def _farthest(covers: Callable[[float], bool], inside: float, border: float) -> float:
    """Return where ``covers`` ends on the way from ``inside`` to ``border``, or the border."""
    if covers(border):
        return border
    near, far = inside, border
    for _ in range(36):
        middle = (near + far) / 2
        near, far = (middle, far) if covers(middle) else (near, middle)
    return far
