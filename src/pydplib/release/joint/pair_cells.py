"""Two tables with one noise: what the noise of ``noise.pairs`` is like, and sums of it. Made of public facts alone.

In units of its scale, wide noise of this kind is V times a gamma variable: V is uniform on the moves (x, y) of equal
sums with max(|x|, |y|) <= 1, and the gamma variable has the number of cells as its shape. Only sums over some cells of
one table are needed (``PairTerm``), and the density of V's is a polynomial.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache
from typing import Any, ClassVar, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from pydplib.noise.tap import add_pair

Floats: TypeAlias = NDArray[np.float64]

_EXACT = 6  # steps of scale up to which variances are added up cell by cell
_FAR = 45.0  # scales beyond the number of cells that are added up: nothing lies further
_NODES = 16  # of the quadrature that a sum's law is replaced by


class Moments(NamedTuple):
    """Second moments of the noise of one block.

    Attributes:
        first: The variance of a cell of the first table.
        second: The variance of a cell of the second table.
        total: The variance of a block's sum, which both tables share.
    """

    first: float
    second: float
    total: float

    def matrix(self, first: int, second: int) -> Floats:
        """Return the covariance of a block's cells, those of the first table first.

        Proof: cells of a table are exchangeable, and the sums are equal. With T the variance of the sum, the covariance
        of a cell and the sum is T / a, so that of two cells of one table is (T / a - variance) / (a - 1), and that of
        cells of two tables T / (a b).
        """
        found = np.full((first + second, first + second), self.total / (first * second))
        for start, cells, variance in ((0, first, self.first), (first, second, self.second)):
            own = slice(start, start + cells)
            found[own, own] = (self.total / cells - variance) / max(cells - 1, 1)
            found[own, own][np.diag_indices(cells)] = variance
        return found


@lru_cache(maxsize=256)
def moments(scale: Fraction, first: int, second: int) -> Moments:
    """Return the second moments in squared steps.

    Up to a scale of 6 steps they are added up over the whole law, but for less than e^-45 of it. Beyond, they are those
    of the continuous law and a constant that is known from scale 6: at scale 9 this is off by about one in a million,
    and beyond by less.

    Examples:
        >>> round(moments(Fraction(10**6), 7, 7).first / 10**12, 2)
        5.64
    """
    if scale <= _EXACT:
        return added_up(float(scale), first, second)
    wide, narrow = _wide(first, second), added_up(float(_EXACT), first, second)
    pairs = zip(wide, narrow, strict=True)
    return Moments(*(much * float(scale) ** 2 + (little - much * _EXACT**2) for much, little in pairs))


def added_up(scale: float, first: int, second: int) -> Moments:
    """Return the moments of noise for two tables, added up over all that has a weight."""
    reach = math.ceil(scale * (first + second + _FAR)) + 4
    low = np.arange(reach // 2 + 1, dtype=np.float64)[None, :]
    total = np.arange(reach + 1, dtype=np.float64)[:, None]
    sums = []
    for cells in (first, second):
        number, squares = _cells_up_to(total, low, cells)
        sums.append((np.cumsum(number, axis=1), np.cumsum(squares, axis=1)))
    # max(Q, Q') = m is the difference of "both at most m" and "both at most m - 1".
    chance = np.exp(-(total + 2 * low) / scale) * (1 - math.exp(-2 / scale)) * np.where(total > 0, 2.0, 1.0)
    whole = float((chance * sums[0][0] * sums[1][0]).sum())
    one = float((chance * sums[0][1] * sums[1][0]).sum()) / whole / first
    other = float((chance * sums[0][0] * sums[1][1]).sum()) / whole / second
    return Moments(one, other, float((chance * total**2 * sums[0][0] * sums[1][0]).sum()) / whole)


def _cells_up_to(total: Floats, low: Floats, cells: int) -> tuple[Floats, Floats]:
    """Return how many vectors have a sum and negative parts (``noise.pairs``), and the sum of all their squares."""
    high = total + low
    number = np.where(low == 0, _comb(high + cells - 1, cells - 1), 0.0)
    squares = number * high * (2 * high + cells - 1) / (cells + 1)
    for k in range(1, cells):
        many = math.comb(cells, k) * _comb(low - 1, k - 1) * _comb(high + cells - k - 1, cells - k - 1)
        many = np.where(low >= k, many, 0.0)
        rest, parts = low - k, cells - k
        below = k + 2 * rest + rest * (2 * rest + k - 1) / (k + 1)
        above = high * (2 * high + parts - 1) / (parts + 1)
        number = number + many
        squares = squares + many * (below + above)
    return number, squares


def _comb(top: Floats, below: int) -> Floats:
    found = np.ones_like(top)
    for step in range(below):
        found = found * (top - step) / (step + 1)
    return found


@lru_cache(maxsize=256)
def _wide(first: int, second: int) -> Moments:
    """Return the second moments of the continuous law of scale 1."""
    free = first + second - 1
    factor = (free + 1) * (free + 2)
    one, sums, weight = _ball(first, second, 1)
    other, _, own = _ball(second, first, 1)
    return Moments(*(factor * float((w * v**2).sum()) for v, w in ((one, weight), (other, own), (sums, weight))))


@lru_cache(maxsize=256)
def _ball(first: int, second: int, some: int) -> tuple[Floats, Floats, Floats]:
    """Return points (g, t) and weights: the law of the sum of some cells of x, and of all, for V of a block.

    Proof: given g, and h = t - g for the other cells, the vectors x' of c cells with sum g and with r the smaller of
    their positive and negative parts have a density C(c + e - 1, e) |g|^(c - 1 - e) / (c - 1 - e)! in
    r^(e - 1) / (e - 1)!,
    e = 0, ..., c - 1 (e = 0: r = 0). Those of x are the product; |x| = |g| + |h| + 2 r <= 1 leaves
    r <= (1 - |g| - |h|) / 2, over which r^(e - 1) / (e - 1)! integrates to its e-th power over e!. Likewise y, with
    |t|. The density is thus a polynomial in each of three sectors, and Gauss and Legendre's points integrate it
    exactly. The other half, with g < 0, is the mirror image.
    """
    points, weights = _gauss((first + second) // 2 + 14)
    found = []
    for start, end, same in _SECTORS:
        size, part = points[:, None], start + (end - start) * points[None, :]
        g = size * part
        h = size * (1 - part) * (1.0 if same else -1.0)
        area = size * weights[:, None] * weights[None, :] * (end - start)
        y = np.zeros_like(g)
        for e in range(second):
            y = y + _piece(np.abs(g + h), second, e) * ((1 - np.abs(g + h)) / 2) ** e / math.factorial(e)
        found.append((g.ravel(), (g + h).ravel(), (area * _volume(g, h, some, first - some) * y).ravel()))
    one, all_of, weight = (np.concatenate(parts) for parts in zip(*found, strict=True))
    return one, all_of, weight / weight.sum()


@lru_cache(maxsize=256)
def _ball_of_both(first: int, second: int, some: int, others: int) -> tuple[Floats, Floats, Floats, Floats]:
    """Return points (g, g', t) and weights: as ``_ball``, with the sum g' of some cells of y as well.

    Given t, |g'| + |t - g'| <= 1 leaves three pieces of g', in each of which the density is a polynomial.
    """
    points, weights = _gauss((first + second) // 2 + 6)
    found = []
    for start, end, same in _SECTORS:
        size, part = points[:, None, None], start + (end - start) * points[None, :, None]
        g = size * part
        h = size * (1 - part) * (1.0 if same else -1.0)
        t = g + h
        area = size * weights[:, None, None] * weights[None, :, None] * (end - start)
        x = area * _volume(g, h, some, first - some)
        low, high = np.minimum(t, 0.0), np.maximum(t, 0.0)
        left = (1 - np.abs(t)) / 2
        for begin, length in ((low - left, left), (low, high - low), (high, left)):
            mine = begin + length * points[None, None, :]
            weight = x * length * weights[None, None, :] * _volume(mine, t - mine, others, second - others)
            found.append(tuple(np.broadcast_to(values, mine.shape).ravel() for values in (g, mine, t, weight)))
    one, other, all_of, weight = (np.concatenate(parts) for parts in zip(*found, strict=True))
    return one, other, all_of, weight / weight.sum()


_SECTORS = ((0.0, 1.0, True), (0.0, 0.5, False), (0.5, 1.0, False))
# g as a part of |g| + |h|, with signs equal or not; where they differ, t has another sign on either side of a half.


def _gauss(number: int) -> tuple[Floats, Floats]:
    """Return points and weights that integrate from 0 to 1."""
    points, weights = np.polynomial.legendre.leggauss(number)
    return (points + 1) / 2, weights / 2


def _volume(g: Floats, h: Floats, some: int, rest: int) -> Floats:
    """Return the volume of vectors with sums g and h of two groups of cells, and magnitudes of at most 1 together."""
    left = np.maximum(1 - np.abs(g) - np.abs(h), 0.0) / 2
    found = np.zeros_like(g + h)
    for e, f in np.ndindex(some, rest):
        both = _piece(np.abs(g), some, e) * _piece(np.abs(h), rest, f)
        found = found + both * left ** (e + f) / math.factorial(e + f)
    return found


def _piece(size: Floats, cells: int, e: int) -> Floats:
    found: Floats = math.comb(cells + e - 1, e) * size ** (cells - 1 - e) / math.factorial(cells - 1 - e)
    return found


@dataclass(frozen=True, slots=True, order=True)
class PairCells:
    """The noise of one of two tables that share it.

    Args:
        scale: Its scale, in steps.
        cells: How many cells a block has in this table.
        other: How many cells it has in the other.

    Examples:
        >>> noise = PairCells(Fraction(2**16), 7, 7)
        >>> round(noise.variance**0.5 / 2**16, 2), noise.kind
        (2.38, 'noise shaped for two tables')
    """

    scale: Fraction
    cells: int
    other: int
    kind: ClassVar[str] = "noise shaped for two tables"

    @property
    def variance(self) -> float:
        """The variance of one cell's noise."""
        return moments(self.scale, self.cells, self.other).first

    @property
    def spread(self) -> float:
        """The number that readers know this noise by: the scale of Laplace noise with the same variance."""
        return math.sqrt(self.variance / 2)

    def matrix(self) -> Floats:
        """Return the covariance of a block's cells, those of this table first, in squared steps."""
        return moments(self.scale, self.cells, self.other).matrix(self.cells, self.other)

    def add(self, cells: NDArray[Any], others: NDArray[Any], *, reach: int) -> tuple[NDArray[Any], NDArray[Any]]:
        """Return both tables with noise, a row for each block; one person's rows weigh at most ``reach`` together."""
        return add_pair(cells, others, self.scale, sensitivity=reach)


@dataclass(frozen=True, slots=True, kw_only=True)
class PairTerm:
    """Sums of one block's noise that enter a larger sum: ``weight`` times some cells, ``whole`` times the block's sum.

    Args:
        noise: The noise, seen from the table of the cells.
        some: How many cells of it, at least one and not all.
        weight: Their weight.
        whole: The weight of the block's sum.
        per_row: Steps per row.
        count: How many such blocks, independent of each other.
        others: How many cells of the other table have a weight, too; not all.
        other: Their weight.
    """

    noise: PairCells
    some: int
    weight: float
    whole: float
    per_row: int
    count: int
    others: int = 0
    other: float = 0.0

    @property
    def variance(self) -> float:
        """The variance of one of them, in squared rows."""
        noise = self.noise
        weights = np.full(noise.cells + noise.other, self.whole)
        weights[noise.cells :] = 0.0
        weights[: self.some] += self.weight
        weights[noise.cells : noise.cells + self.others] += self.other
        return float(weights @ noise.matrix() @ weights) / self.per_row**2

    @property
    def largest(self) -> float:
        """The most that one step of noise moves it, in rows."""
        mine, theirs = (self.whole, self.whole + self.weight), (0.0, self.other)
        return max(abs(one + other) for one in mine for other in theirs) / self.per_row

    def transform(self, times: Floats) -> Floats:
        """Return the characteristic function of one of them, at times in rows.

        It is that of the continuous law with the exact variance: E Re (1 - i t V)^-(a + b), V by Gaussian quadrature.
        """
        direction = _direction(self.weight, self.whole, self.other)
        points, weights = _law(self.noise.cells, self.noise.other, self.some, self.others, direction)
        shape = self.noise.cells + self.noise.other
        width = math.sqrt(self.variance / (shape * (shape + 1) * float(weights @ points**2)))
        turned = 1 / (1 - 1j * width * points[:, None] * times[None, :])
        power, left = np.ones_like(turned), shape
        while left:  # by squaring: a complex power takes ten times as long
            power = power * turned if left & 1 else power
            turned, left = turned * turned, left >> 1
        found: Floats = weights @ np.asarray(power.real, dtype=np.float64)
        return found


def pair_parts(weights: Floats, noise: PairCells, per_row: int) -> tuple[tuple[PairTerm, ...], ...]:
    """Return a weighted sum of the noise of all blocks as parts that add up to it, each of sums whose law is known.

    A block whose cells have at most two different weights in each table is one sum; further weights are parts of their
    own. Nearly all estimates have one part.

    Args:
        weights: The weight of each cell, a row for each block, those of the noise's own table first.
        noise: The noise, seen from the first table.
        per_row: Steps per row.
    """
    turned = PairCells(noise.scale, noise.other, noise.cells)
    parts: list[dict[PairTerm, int]] = []
    for row in weights.round(7):
        base, found = 0.0, []
        for values in (row[: noise.cells], row[noise.cells :]):
            levels, counts = np.unique(values, return_counts=True)
            usual = levels[int(np.argmax(counts))]
            base += float(usual)
            other = [(int(m), float(level - usual)) for level, m in zip(levels, counts, strict=True) if level != usual]
            found.append(sorted(other, key=lambda one: -abs(one[1])))
        for place in range(max([1, *map(len, found)]) if base or any(found) else 0):
            mine, theirs = (side[place] if place < len(side) else (0, 0.0) for side in found)
            whole = base if place == 0 else 0.0
            if mine[0] or not theirs[0]:
                one = PairTerm(
                    noise=noise, some=mine[0] or 1, weight=mine[1], whole=whole, per_row=per_row,
                    count=1, others=theirs[0], other=theirs[1],
                )  # fmt: skip
            else:
                one = PairTerm(noise=turned, some=theirs[0], weight=theirs[1], whole=whole, per_row=per_row, count=1)
            if place == len(parts):
                parts.append({})
            parts[place][one] = parts[place].get(one, 0) + 1
    return tuple(tuple(replace(one, count=count) for one, count in part.items()) for part in parts)


def _direction(*weights: float) -> tuple[float, ...]:
    """Return weights as a direction, in six digits: what the shape of the law depends on."""
    size = math.hypot(*weights)
    return tuple(round(weight / size, 6) for weight in weights)


@lru_cache(maxsize=4096)
def _law(cells: int, other: int, some: int, others: int, direction: tuple[float, ...]) -> tuple[Floats, Floats]:
    """Return points and weights for the magnitude of a sum of V: those of Gauss for the law of its square (Lanczos).

    Args:
        cells: Cells of a block in the table.
        other: Cells in the other one.
        some: How many of the first have a weight of their own.
        others: How many of the second.
        direction: The weights of those cells of the first, of the whole sum, and of those of the second.
    """
    weight, whole, theirs = direction
    if theirs:
        g, mine, t, chance = _ball_of_both(cells, other, some, others)
        squares = (weight * g + theirs * mine + whole * t) ** 2
    else:
        g, t, chance = _ball(cells, other, some)
        squares = (weight * g + whole * t) ** 2
    order = min(_NODES, len(squares))
    basis = np.zeros((order, len(squares)))
    diagonal, side = np.zeros(order), np.zeros(order)
    current, before, size = np.sqrt(chance), np.zeros(len(squares)), 0.0
    for step in range(order):
        basis[step] = current
        moved = squares * current - size * before
        diagonal[step] = float(current @ moved)
        moved = moved - diagonal[step] * current
        for _ in range(2):  # orthogonal to all before, rounding or not
            moved = moved - basis[: step + 1].T @ (basis[: step + 1] @ moved)
        size = float(np.linalg.norm(moved))
        side[step] = size
        if size < 1e-12 * max(float(squares.max()), 1e-300):
            diagonal, side = diagonal[: step + 1], side[: step + 1]
            break
        before, current = current, moved / size
    values, vectors = np.linalg.eigh(np.diag(diagonal) + np.diag(side[:-1], 1) + np.diag(side[:-1], -1))
    return np.sqrt(np.maximum(values, 0.0)), vectors[0] ** 2
