"""Exact integer noise for two tables that share an axis: everybody is in one cell of each, in the same block.

A block is what the two tables have in common, such as an age group; it has ``a`` cells in the first table and ``b`` in
the second. One person moves one cell of each by the same amount, so the noise (x, y) of a block only has to hide moves
with sum(x) = sum(y). Its law is P(x, y) proportional to exp(-max(|x|, |y|) / scale), with |x| the sum of magnitudes:
the K-norm mechanism (Hardt and Talwar 2010) for such moves.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from functools import lru_cache
from itertools import product
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from pydplib.errors import ParameterError
from pydplib.noise.expansion import decimal_context
from pydplib.noise.randomness import Source, permutations, random_words, uniform_below, uniform_below_each
from pydplib.noise.samplers import geometric, settle_choice

Integers: TypeAlias = NDArray[np.int64]

MOST_CELLS = 32
"""Most cells of a block, those of both tables together: beyond it, the table of weights takes long."""

_MAX_SCALE = 1 << 40  # magnitudes and their binomial coefficients stay far inside what is counted with
_SLACK = 2.0**-40  # how near floating point is too near to a boundary

# How the negative parts Q and Q' of x and y depend on two free numbers u and v >= 0, for a sum t >= 0. Together the
# rows cover all pairs (Q, Q') once. (Q without u and v, Q' likewise, does Q have u, v, does Q' have u, v)
CASES = (
    (0, 0, (0, 0), (0, 0)),  # Q = Q' = 0
    (1, 0, (0, 1), (0, 0)),  # Q = 1 + v, Q' = 0
    (0, 1, (0, 0), (0, 1)),  # Q = 0, Q' = 1 + v
    (1, 1, (1, 0), (1, 0)),  # Q = Q' = 1 + u
    (2, 1, (1, 1), (1, 0)),  # Q = 2 + u + v, Q' = 1 + u
    (1, 2, (1, 0), (1, 1)),  # Q = 1 + u, Q' = 2 + u + v
)


def pair_noise(
    scale: Fraction, blocks: int, first: int, second: int, *, source: Source | None = None
) -> tuple[Integers, Integers]:
    """Return the noise of two tables by block: P(x, y) proportional to exp(-max(|x|, |y|) / scale), exactly.

    Blocks are independent; in each, sum(x) = sum(y).

    Proof: let t = sum(x) >= 0 (a fair sign, with minus and t = 0 drawn again, gives the other half). With Q the sum of
    the negative parts of x, and Q' that of y, |x| = t + 2 Q and the larger norm is t + 2 max(Q, Q'). The number of x
    with k negative cells is C(a, k) C(Q - 1, k - 1) C(t + Q + a - k - 1, a - k - 1): which cells, how Q is made up of k
    positive parts, how t + Q is made up of the others. In each of ``CASES`` the number of pairs (x, y) is therefore a
    polynomial in t, u and v that is a sum of c C(t, i) C(u, j) C(v, l) with whole c >= 0 (Vandermonde). With
    z = exp(-1 / scale), the sum over t of C(t, i) z^t is z^i / (1 - z)^(i + 1), and t - i is then a sum of i + 1
    geometric variables; likewise u and v with z^2. So: choose (case, i, j, l) by these weights, draw t, u and v, choose
    k by its number of x, then cells and parts uniformly. All choices are exact (``settle_choice``,
    ``uniform_below_each``).

    Args:
        scale: The scale in steps; a positive rational up to 2^40.
        blocks: How many blocks.
        first: Cells of the first table in each block.
        second: Cells of the second table in each block.
        source: Where random bits come from; None is the generator of releases.

    Examples:
        >>> x, y = pair_noise(Fraction(5), 4, 2, 3)
        >>> x.shape, y.shape, bool((x.sum(axis=1) == y.sum(axis=1)).all())
        ((4, 2), (4, 3), True)
    """
    scale = Fraction(scale)
    if not 0 < scale <= _MAX_SCALE:
        raise ParameterError("scale must be a positive number of at most 2^40 steps.")
    if min(first, second) < 1 or first + second > MOST_CELLS:
        raise ParameterError(f"A block has at least one cell in each table, and at most {MOST_CELLS} together.")
    total, lows = _draw_sums(scale, blocks, first, second, source)
    minus = uniform_below(2, blocks, source=source) == 1
    redo = np.flatnonzero(minus & (total == 0))
    minus[redo] = False
    x = _draw_cells(total, lows[0], first, source)
    y = _draw_cells(total, lows[1], second, source)
    sign = np.where(minus, -1, 1)[:, None]
    x, y = x * sign, y * sign
    if len(redo):
        x[redo], y[redo] = pair_noise(scale, len(redo), first, second, source=source)
    return x, y


# -- how far the blocks move: t, Q and Q' ----------------------------------------------------------


@dataclass(frozen=True)
class _Terms:
    """The terms c C(t, i) C(u, j) C(v, l) of all cases.

    Attributes:
        case: The place in ``CASES``.
        powers: i, j and l of each term.
        factors: c of each term.
    """

    case: Integers
    powers: Integers
    factors: tuple[int, ...]


def number_of(cells: int, total: int, low: int) -> int:
    """Return how many vectors of this many whole numbers have a sum of ``total`` >= 0 and negative parts of ``low``.

    Examples:
        >>> number_of(2, 1, 1), number_of(3, 0, 0)  # (2, -1) and (-1, 2); nothing but zeros
        (2, 1)
    """
    return sum(numbers_of(cells, total, low))


def numbers_of(cells: int, total: int, low: int) -> list[int]:
    """Return ``number_of`` by the number of negative cells: 0, 1, ..., cells - 1."""
    if low == 0:
        return [math.comb(total + cells - 1, cells - 1)] + [0] * (cells - 1)
    return [0] + [
        math.comb(cells, k) * math.comb(low - 1, k - 1) * math.comb(total + low + cells - k - 1, cells - k - 1)
        for k in range(1, cells)
    ]


@lru_cache(maxsize=64)
def terms_of(first: int, second: int) -> _Terms:
    """Return the terms of blocks of this many cells: by differences, as Newton's basis has them."""
    case: list[int] = []
    powers: list[tuple[int, ...]] = []
    factors: list[int] = []
    reach = first + second - 1  # one more than any degree
    for place, (low, other, q, r) in enumerate(CASES):
        sizes = (reach, reach if q[0] or r[0] else 1, reach if q[1] or r[1] else 1)
        values: NDArray[Any] = np.empty(sizes, dtype=object)
        for t, u, v in product(*map(range, sizes)):
            values[t, u, v] = 0
            if t + u + v < reach:  # differences of higher order are 0, and these need no more
                mine = number_of(first, t, low + q[0] * u + q[1] * v)
                values[t, u, v] = mine and mine * number_of(second, t, other + r[0] * u + r[1] * v)
        for axis, size in enumerate(sizes):
            moved = np.moveaxis(values, axis, 0)
            for order in range(1, size):
                moved[order:] = moved[order:] - moved[order - 1 : -1]
        for at in product(*map(range, sizes)):
            if sum(at) < reach and values[at]:
                case.append(place)
                powers.append(at)
                factors.append(int(values[at]))
    return _Terms(np.array(case), np.array(powers).reshape(-1, 3), tuple(factors))


def weights_of(scale: Fraction, first: int, second: int, precision: int) -> list[int]:
    """Return the weights of all terms as whole numbers, the largest about 10^precision; each off by less than 10^5.

    Proof: all are products of at most 3 (a + b) + 6 <= 102 numbers. With 60 + 2 log10(scale) digits more than are
    wanted, z = exp(-1 / scale) and 1 - z (at least 1 / (2 scale), or 1/2) have relative errors below
    10^-(precision + 40), and so has the product to within a factor of 1000.
    """
    digits = precision + 60 + 2 * len(str(scale.numerator // scale.denominator))
    context = decimal_context(digits)
    z = context.exp(context.divide(Decimal(scale.denominator), Decimal(scale.numerator)).copy_negate())
    bases = [z, context.multiply(z, z)]
    sums = []  # z^i / (1 - z)^(i + 1) for t, and with z^2 for u and v
    for base in bases:
        rest = context.subtract(Decimal(1), base)
        row = [context.divide(Decimal(1), rest)]
        step = context.divide(base, rest)
        for _ in range(first + second):
            row.append(context.multiply(row[-1], step))
        sums.append(row)
    terms = terms_of(first, second)
    found = []
    for place, (i, j, k), factor in zip(terms.case.tolist(), terms.powers.tolist(), terms.factors, strict=True):
        low, other, q, r = CASES[place]
        weight = context.multiply(Decimal(factor), sums[0][i])
        if q[0] or r[0]:
            weight = context.multiply(weight, sums[1][j])
        if q[1] or r[1]:
            weight = context.multiply(weight, sums[1][k])
        for _ in range(max(low, other)):
            weight = context.multiply(weight, bases[1])
        found.append(weight)
    most = max(found)
    return [int(context.divide(weight, most).scaleb(precision, context)) for weight in found]


@lru_cache(maxsize=256)
def chances_of(scale: Fraction, first: int, second: int) -> NDArray[np.float64]:
    """Return the cumulative chances of all terms, each off by far less than 2^-45."""
    weights = weights_of(scale, first, second, 40)
    total, so_far, found = sum(weights), 0, []
    for weight in weights:
        so_far += weight
        found.append(so_far / total)
    return np.array(found)


def _choose(
    cumulative: NDArray[np.float64], size: int, exactly: Callable[[int, int], int], source: Source | None
) -> Integers:
    """Return a choice for each sample by cumulative chances, a row for each or one for all; exact near boundaries.

    Args:
        cumulative: Chances up to and with each candidate, off by less than ``_SLACK``.
        size: How many samples.
        exactly: Decides the choice of one sample by the first 53 bits of its uniform number.
        source: Where random bits come from.
    """
    words = random_words(size, source=source) >> np.uint64(11)
    uniform = words.astype(np.float64) * 2.0**-53
    if cumulative.ndim == 1:
        out = np.searchsorted(cumulative, uniform, side="right")
        near = np.minimum(
            np.abs(cumulative[np.minimum(out, len(cumulative) - 1)] - uniform),
            np.where(out > 0, np.abs(uniform - cumulative[np.maximum(out - 1, 0)]), 1.0),
        )
        near = np.where(out >= len(cumulative), 0.0, near)
    else:
        out = (cumulative <= uniform[:, None]).sum(axis=1)
        near = np.abs(cumulative - uniform[:, None]).min(axis=1)
    out = out.astype(np.int64)
    for i in np.flatnonzero(near < _SLACK):
        out[i] = exactly(int(i), int(words[i]))
    return out


def _draw_sums(
    scale: Fraction, size: int, first: int, second: int, source: Source | None
) -> tuple[Integers, tuple[Integers, Integers]]:
    """Return t >= 0, Q and Q' of every block."""
    terms = terms_of(first, second)

    def exactly(_: int, word: int) -> int:
        error = 10**5
        return settle_choice(lambda precision: (weights_of(scale, first, second, precision), error), word, source)

    chosen = _choose(chances_of(scale, first, second), size, exactly, source)
    free = [_draw_free(terms.powers[chosen, axis], scale / (2 if axis else 1), source) for axis in range(3)]
    lows = []
    for side in (0, 1):
        start = np.array([case[side] for case in CASES])[terms.case[chosen]]
        has = np.array([case[2 + side] for case in CASES])[terms.case[chosen]]
        lows.append(np.asarray(start + has[:, 0] * free[1] + has[:, 1] * free[2], dtype=np.int64))
    return free[0], (lows[0], lows[1])


def _draw_free(powers: Integers, scale: Fraction, source: Source | None) -> Integers:
    """Return numbers n with P(n) proportional to C(n, i) exp(-n / scale): i and a sum of i + 1 geometric ones."""
    many = powers + 1
    drawn = geometric(scale, int(many.sum()), source=source)
    ends = np.cumsum(many)
    sums = np.concatenate([[0], np.cumsum(drawn)])
    return np.asarray(powers + sums[ends] - sums[ends - many], dtype=np.int64)


# -- which cells -----------------------------------------------------------------------------------


def _draw_cells(total: Integers, low: Integers, cells: int, source: Source | None) -> Integers:
    """Return for each block whole numbers of a given sum and sum of negative parts, uniformly."""
    blocks = len(total)
    negative = _draw_negative(total, low, cells, source)
    below = draw_parts(low - negative, negative, cells, source)
    above = draw_parts(total + low, cells - negative, cells, source)
    place = np.arange(cells)[None, :]
    # The first cells are negative, with one more than their part; the others follow.
    above = np.take_along_axis(above, np.maximum(place - negative[:, None], 0), axis=1)
    ordered = np.where(place < negative[:, None], -1 - below, above)
    found = np.empty((blocks, cells), dtype=np.int64)
    np.put_along_axis(found, permutations(blocks, cells, source=source), ordered, axis=1)
    return found


def _draw_negative(total: Integers, low: Integers, cells: int, source: Source | None) -> Integers:
    """Return how many cells are negative, by the number of vectors for each."""
    if cells == 1:
        return np.zeros(len(total), dtype=np.int64)
    weights = np.zeros((len(total), cells))
    weights[:, 0] = low == 0
    high = (total + low).astype(np.float64)
    for k in range(1, cells):
        weights[:, k] = (
            math.comb(cells, k) * _comb(low.astype(np.float64) - 1, k - 1) * _comb(high + cells - k - 1, cells - k - 1)
        )
    cumulative = np.cumsum(weights, axis=1)

    def exactly(i: int, word: int) -> int:
        numbers = numbers_of(cells, int(total[i]), int(low[i]))
        return settle_choice(lambda _: (numbers, 0), word, source)

    out = _choose(cumulative[:, :-1] / cumulative[:, -1:], len(total), exactly, source)
    return np.asarray(np.where(low == 0, 0, np.maximum(out, low > 0)), dtype=np.int64)


def _comb(top: NDArray[np.float64], below: int) -> NDArray[np.float64]:
    """Return binomial coefficients of whole numbers, with relative errors of about ``below`` roundings."""
    found = np.ones_like(top)
    for step in range(below):
        found = found * np.maximum(top - step, 0.0) / (step + 1)
    return found


def draw_parts(whole: Integers, parts: Integers, most: int, source: Source | None) -> Integers:
    """Return numbers >= 0 of a given sum, this many for each row, uniformly; the columns that follow are 0.

    Proof: n = whole is made up of r parts in as many ways as r - 1 bars can be placed among n + r - 1 places: the parts
    are the gaps. Floyd's algorithm chooses the places uniformly: for j = n, n + 1, ..., n + r - 2 take a uniform place
    of 0, ..., j, or j itself where that is taken.
    """
    bars = np.maximum(parts - 1, 0)
    far = np.iinfo(np.int64).max
    places = np.full((len(whole), max(most - 1, 1)), far, dtype=np.int64)
    for step in range(int(bars.max(initial=0))):
        rows = np.flatnonzero(bars > step)
        last = whole[rows] + step
        drawn = uniform_below_each(last + 1, source=source)
        taken = (places[rows] == drawn[:, None]).any(axis=1)
        places[rows, step] = np.where(taken, last, drawn)
    places.sort(axis=1)
    ends = np.where(places == far, (whole + bars)[:, None], places)
    edges = np.concatenate([np.full((len(whole), 1), -1), ends, (whole + bars)[:, None]], axis=1)
    gaps = np.maximum(np.diff(edges, axis=1) - 1, 0)
    return np.asarray(np.where(np.arange(gaps.shape[1])[None, :] < parts[:, None], gaps, 0)[:, :most])
