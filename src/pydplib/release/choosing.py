"""Quantiles by permute-and-flip on a public grid, with integer scores and exact sampling."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from pydplib.budget.units import exact
from pydplib.engine.plan import WHOLE_LIMIT
from pydplib.errors import ParameterError
from pydplib.noise.tap import flip_and_choose
from pydplib.release.noisy import Noisy

_BESIDE = 8
"""Rows in the gap beside a point count one part of so many less against it than rows further away.

Else all points beyond a heap of values that lies between two points would be as good as the two. More than an eighth
would blur which of two points is nearer where values lie densely.
"""

MOST_DENOMINATOR = 10_000
"""Quantiles are decimal shares with up to four digits, so that scores stay whole numbers."""


def check_quantiles(quantiles: object) -> tuple[Fraction, ...]:
    """Return shares strictly between 0 and 1 as exact fractions, ascending and different.

    Examples:
        >>> check_quantiles([0.25, 0.5])
        (Fraction(1, 4), Fraction(1, 2))
    """
    if isinstance(quantiles, int | float | Fraction):
        quantiles = [quantiles]
    try:
        shares = [exact(q, name="A quantile") for q in quantiles]  # type: ignore[attr-defined]
    except TypeError:
        raise ParameterError("quantiles is a list of shares, e.g. [0.25, 0.5, 0.75].") from None
    if not shares or not all(0 < q < 1 and q.denominator <= MOST_DENOMINATOR for q in shares):
        raise ParameterError("Quantiles are shares strictly between 0 and 1 with up to four decimals, e.g. 0.25.")
    if any(a >= b for a, b in pairwise(shares)):
        raise ParameterError("Quantiles are listed in ascending order, each once.")
    return tuple(shares)


@dataclass(frozen=True, slots=True)
class QuantileNoise:
    """Quantiles of a column: for each, permute-and-flip picks a point of the public grid.

    Never worse than the exponential mechanism, and up to twice as accurate (McKenna and Sheldon 2020).

    The score of a point c for the share q is how many rows lie between c and being a q-quantile, negative:
    -max(0, #(below c) - q n, #(above c) - (1-q) n), in whole numbers. Without ties at c this is
    -|(1-q) #(below c) - q #(above c)|; with ties, only the true quantile has the best score of 0. Where values need not
    lie on the grid, rows between c and the next point count 7/8, so that points beside a heap beat those beyond it.

    Proof: one row of weight w moves #(below c) - q n and #(above c) - (1-q) n by at most w max(q, 1-q) each (a row that
    counts 7/8 by less), and so their maximum. In every group the mechanism with
    unit u loses at most 2 u times the largest move of that group's scores (``noise.tap.flip_and_choose``), and one
    person's weights sum to at most rows * per_row over all groups; so all groups together lose at
    most 2 u rows per_row max(q, 1-q) = epsilon / k for each of the k shares, epsilon in all. Sorting a
    group's quantiles afterwards is post-processing.

    Args:
        rows: Most rows of one person.
        per_row: Integer units of one row.
        shares: The quantiles.
        points: How many points the public grid has.
        epsilon: The privacy loss of all of them together.
    """

    rows: int
    per_row: int
    shares: tuple[Fraction, ...]
    points: int
    epsilon: Fraction

    def sensitivity(self, share: Fraction) -> int:
        """How far one person moves a score, in whole units (scores are multiplied by the share's denominator)."""
        return max(share.numerator, share.denominator - share.numerator) * self.rows * self.per_row

    @property
    def each(self) -> Fraction:
        """The epsilon of one quantile."""
        return self.epsilon / len(self.shares)

    @property
    def worst(self) -> Fraction:
        """The share that one person moves most: the farthest from one half."""
        return max(self.shares, key=lambda share: max(share, 1 - share))

    def margin(self, share: Fraction) -> float:
        """How many ranks the chosen point lies off at most in 95 % of releases, by the mechanism's own bound."""
        worst = float(max(share, 1 - share)) * self.rows
        return 2 * worst / float(self.each) * math.log(self.points / 0.05)

    def scale(self, share: Fraction) -> float:
        """Ranks by which the odds of a point fall by the factor e."""
        return 2 * float(max(share, 1 - share)) * self.rows / float(self.each)

    def apply(self, cells: NDArray[np.int64], between: NDArray[np.int64] | None = None) -> Noisy:
        """Return the chosen grid points as indices: one row per group, one column per quantile.

        Args:
            cells: Rows at each grid point, one row of the array per group.
            between: Rows between each grid point and the next, where values need not lie on the grid.
        """
        groups = cells.reshape(-1, self.points)
        gaps = np.zeros((len(groups), self.points + 1), dtype=np.int64)  # before each point, and after the last
        unit = 1
        if between is not None:
            gaps[:, 1:-1] = between.reshape(len(groups), -1)
            unit = _BESIDE
        chosen = np.empty((len(groups), len(self.shares)), dtype=np.int64)
        for row, (counts, gap) in enumerate(zip(groups, gaps, strict=True)):
            upto = np.cumsum(counts + gap[:-1])
            if int(upto[-1]) * unit * MOST_DENOMINATOR >= WHOLE_LIMIT:  # more rows than 64 bits have scores for
                counts, gap, upto = counts.astype(object), gap.astype(object), upto.astype(object)
            below, above, rows = upto - counts, upto[-1] - upto, upto[-1]
            if unit > 1:
                below, above, rows = unit * below - gap[:-1], unit * above - gap[1:], unit * rows
            for column, share in enumerate(self.shares):
                part, whole = share.numerator, share.denominator
                too_high = whole * below - part * rows
                too_low = whole * above - (whole - part) * rows
                # Clipping moves two scores no further apart; so far down, no point is chosen anyway.
                scores = -np.clip(np.maximum(too_high, too_low), 0, WHOLE_LIMIT - 1).astype(np.int64)
                sensitivity = self.sensitivity(share) * unit
                chosen[row, column] = flip_and_choose(scores, self.each / (2 * sensitivity), sensitivity=sensitivity)
        margins = np.broadcast_to([self.margin(share) for share in self.shares], chosen.shape)
        return Noisy(np.sort(chosen, axis=1), margins=margins)
