"""The interval of a variance of which the sum of squares, the sum and the number of rows are known with noise."""

from __future__ import annotations

import math

from pydplib.release.tails import find_end, triple_tail

_MISS = 0.0497
"""What the test of one variance leaves outside; with it the whole covers at least 95 % (see ``variance_interval``)."""


def variance_interval(
    squares: float,
    total: float,
    size: float,
    *,
    square_scale: float,
    sum_scale: float,
    size_scale: float,
    most: float,
) -> tuple[float, float]:
    """Return the 95 % interval of a variance of which sum of squares, sum and number are known with Laplace noise.

    All about the middle of the bounds; where the squares are Z1 off, the number is (Z1 + Z2)/q off, q the largest
    square.

    Proof: at the true variance v and mean m the number s - 2 m t + (m^2 - v) n is zero, because
    sum (x - m)^2 = n v. Of the noisy s', t', n' it is A = (1 + (m^2 - v)/q) Z1 + (m^2 - v)/q Z2 - 2 m Z3, pure noise
    with the law of ``triple_tail``: were the mean known, the variances that are not ruled out at 5 % would cover with
    exactly 95 %. It is not; t' - m n' is B = Z3 - m (Z1 + Z2)/q, pure noise again. So for each v the mean is taken
    as (t' - b)/n' with b the best linear guess of B from A. What is left of B moves A by its square over n': on average
    by its variance r over n', which is put right; about that it strays by some sqrt(2) r/n', by which the noise
    is widened.

    Coverage: everything is in proportion to one row, so it depends on three numbers alone: N = n epsilon / rows per
    person, v/q and m^2/q. Computed over all of them it is never below 95 %, and at most 95.2 % from N = 100 on,
    96 % at N = 50 and 97.5 % at N = 20. It is higher only where clamping to the public limits 0 and R^2/4 is in play:
    97.5 % where the variance is one of them (noise can then lead astray on one side only), and up to 99 % at N = 10 and
    99.5 % at N = 5, where the noise is as large as all that is possible.

    Args:
        squares: s', the noisy sum of squared distances from the middle.
        total: t', the noisy sum of distances.
        size: n', the noisy number, positive.
        square_scale: The scale of the noise of the squares, in squared units.
        sum_scale: The scale of the noise of the sum.
        size_scale: The scale of Z1/q and Z2/q, in rows.
        most: The largest variance.

    Examples:
        >>> low, high = variance_interval(1e6, 0.0, 1e4, square_scale=400.0, sum_scale=50.0, size_scale=1.0, most=400.0)
        >>> 99.8 < low < 100 < high < 100.2
        True
    """
    largest = square_scale / size_scale
    half = math.sqrt(largest)
    squares, total, most = squares / largest, total / half, most / largest  # from here on, q is 1
    scale, sum_scale = size_scale, sum_scale / half
    centre = total / size

    def weigh(mean: float, variance: float) -> tuple[float, float, float, float]:
        """Return A, half its variance, half its covariance with B, and the factor of Z2 in it."""
        part = mean * mean - variance
        off = squares - 2 * mean * total + part * size
        spread = ((1 + part) ** 2 + part * part) * scale * scale + (2 * mean * sum_scale) ** 2
        shared = -mean * (2 * sum_scale * sum_scale + (1 + 2 * part) * scale * scale)
        return off, spread, shared, part

    def chance(variance: float) -> float:
        """Return how likely the noise is to stray at least as far as it would have, were this the variance."""
        limit = math.sqrt(max(1 - variance, 0.0))
        mean = min(max(centre, -limit), limit)
        off, spread, shared, _ = weigh(mean, variance)
        mean = min(max((total - shared / spread * off) / size, -limit), limit)
        off, spread, shared, part = weigh(mean, variance)
        rest = 2 * (sum_scale * sum_scale + 2 * (mean * scale) ** 2 - shared * shared / spread) / size
        wider = math.sqrt(1 + rest * rest / spread)
        scales = abs(1 + part) * scale, abs(part) * scale, abs(2 * mean) * sum_scale
        return triple_tail(abs(off + rest) / wider, scales)

    inside = min(max(squares / size - centre**2 + 2 * (sum_scale / size) ** 2, 0.0), most)
    if chance(inside) < _MISS:  # the noise hid everything
        return 0.0, most * largest
    reach = 3 * math.hypot(scale, 2 * centre * sum_scale) / size
    low = find_end(chance, inside, 0.0, near=inside - reach, miss=_MISS)
    high = find_end(chance, inside, most, near=inside + reach, miss=_MISS)
    return low * largest, high * largest
