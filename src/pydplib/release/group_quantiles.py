"""Medians and quartiles of groups, read off one noisy table of counts, with intervals in the column's own unit."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import NormalDist
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pydplib.errors import ParameterError
from pydplib.release.postprocess import counts_by_group, interpolated
from pydplib.release.public import check_quantiles
from pydplib.release.statistics.noise import COVERAGE

if TYPE_CHECKING:
    from pydplib.release.results.release import Release

Floats = NDArray[np.float64]

QUARTILES = (0.25, 0.5, 0.75)
_SIDE = 1.959964  # leaves 2.5 % beyond it on one side
_ALONE = 1.644854  # leaves 5 %: a group that noise makes more often than this is doubtful


@dataclass(frozen=True, slots=True, kw_only=True)
class QuantileReading:
    """Quantiles of groups as one noisy table tells them; arrays of groups by shares, in the column's unit.

    Attributes:
        values: The quantiles; values within a bin count as evenly spread, and a bin in which all groups together
            have no more rows than noise makes counts as empty.
        low: Lower ends of the 95 % intervals: edges of bins.
        high: Upper ends of the 95 % intervals.
        population: Ends of the intervals for the population, if every row is another person's: edges of bins.
        rows: The noisy number of rows of each group.
        doubtful: Groups as small as noise alone makes them in more than one of twenty tables.
    """

    values: Floats
    low: Floats
    high: Floats
    population: tuple[Floats, Floats]
    rows: Floats
    doubtful: NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Reaches:
    """How far noise reaches in counts that are not independent.

    Attributes:
        ranks: For each group, share and edge: what D(k) of ``read_quantiles`` keeps, two-sided.
        rows: For each group: what noise alone makes of an empty one in nineteen of twenty tables.
    """

    ranks: Floats
    rows: Floats


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupQuantiles:
    """The quantiles of one group, from a released table.

    Attributes:
        group: The group, in words.
        shares: The shares that were read.
        values: The quantiles, in the unit of the binned column.
        low: Lower ends of the 95 % intervals.
        high: Upper ends of the 95 % intervals.
        rows: The noisy number of rows.
        doubtful: Whether noise alone makes a group of this size in more than one of twenty tables.
        population: Lower and upper ends of the intervals for the population (sampling and noise); None where several
            rows of one person may count.
    """

    group: str
    shares: tuple[float, ...]
    values: tuple[float, ...]
    low: tuple[float, ...]
    high: tuple[float, ...]
    rows: float
    doubtful: bool
    population: tuple[tuple[float, ...], tuple[float, ...]] | None = None


def two_sided(confidence: float) -> float:
    """Return how many standard deviations a normal variable stays within, with this confidence, on both sides."""
    return _SIDE if confidence == COVERAGE else NormalDist().inv_cdf((1 + confidence) / 2)


def read_quantiles(
    counts: ArrayLike,
    edges: ArrayLike,
    shares: Sequence[float],
    scale: float,
    *,
    confidence: float = COVERAGE,
    reaches: Reaches | None = None,
) -> QuantileReading:
    """Return quantiles of groups with intervals from counts with equal, independent Laplace noise.

    Proof (privacy): a function of noisy counts and public edges, so post-processing.
    Proof (coverage): let D(k) be the rows below edge k minus q times all rows. The group's own q-quantile lies in
    bin j, where D(j) < 0 <= D(j+1) in the exact table. The noisy D(k) differs by a sum of k noises of weight 1-q and
    m-k of weight -q, which stays above -w(k) and below w(k) in 97.5 % of tables each. The lower end is the last edge
    up to which every noisy D(k) < -w(k): it passes the quantile only if D(j+1) < -w(j+1), in at most 2.5 % of tables.
    The upper end likewise. Nothing is assumed about where in a bin the rows lie. w is the standard deviation times the
    normal quantile, corrected for the fourth moment (Cornish and Fisher).
    Proof (population): let every row be another person's, drawn by chance, and let the population's q-quantile lie in
    bin j. At edge j+1 at least the share q of the population lies below, so that D(j+1), given the number of rows n,
    is at least a binomial number of n and q minus q n, which ``sampling_reach`` bounds, plus the same noise. Both are
    independent: the two reaches add by their squares. n is the noisy number; where noise makes it wrong by much, the
    noise's own reach is far the larger one. Edge j likewise.

    Args:
        counts: Noisy counts as the noise left them, negative ones too: a row per group, a column per bin.
        edges: Public edges of the bins, one more than there are bins.
        shares: The quantiles, e.g. (0.25, 0.5, 0.75).
        scale: The scale of the noise of one count; 0 for exact counts.
        confidence: How often an interval covers; the proof is for 95 %.
        reaches: w and the reach of a whole group, where they are not those of equal, independent noise: counts that
            were made to agree with other tables.

    Examples:
        >>> found = read_quantiles([[10.0, 40.0, 10.0]], [50, 60, 70, 80], [0.5], 1.0)
        >>> found.values.tolist(), found.low.tolist(), found.high.tolist()
        ([[65.0]], [[60.0]], [[70.0]])
    """
    cells = np.atleast_2d(np.asarray(counts, dtype=np.float64))
    ends = np.asarray(edges, dtype=np.float64)
    bins = cells.shape[1]
    if len(ends) != bins + 1:
        raise ParameterError(f"{bins} bins have {bins + 1} edges. Got {len(ends)}.")
    below = np.concatenate([np.zeros((len(cells), 1)), np.cumsum(cells, axis=1)], axis=1)
    rows = below[:, -1]
    seen = _without_empty_bins(cells, scale)
    values = np.array([interpolated(line, ends, shares) for line in seen]).reshape(len(cells), len(shares))
    low, high, first, last = (np.empty_like(values) for _ in range(4))
    before = np.arange(bins + 1)
    for column, share in enumerate(shares):
        weights = (before, bins - before), (1 - share, share)
        reach = noise_reach(*weights, scale, two_sided(confidence)) if reaches is None else reaches.ranks[:, column, :]
        distance = below - share * rows[:, None]
        low[:, column], high[:, column] = _ends_of(distance, (reach, reach), ends)
        sampling = [side[:, None] for side in sampling_reach(rows, share, two_sided(confidence))]
        wide = np.hypot(reach, sampling[0]), np.hypot(reach, sampling[1])
        first[:, column], last[:, column] = _ends_of(distance, wide, ends)
    # A table without rows, or with noise for rows, tells nothing: the middle, and all that is possible.
    values = np.where(np.isnan(values), (ends[0] + ends[-1]) / 2, values)
    doubtful = rows <= (
        noise_reach((np.array(bins), np.array(0)), (1.0, 0.0), scale, _ALONE) if reaches is None else reaches.rows
    )
    return QuantileReading(
        values=np.clip(values, low, high),
        low=low,
        high=high,
        population=(first, last),
        rows=rows,
        doubtful=np.atleast_1d(doubtful) & (scale > 0),
    )


def _ends_of(distance: Floats, reach: tuple[Any, Any], ends: Floats) -> tuple[Floats, Floats]:
    """Return the edges around all bins that the distances D(k) do not rule out: beyond ``reach`` below and above."""
    bins = len(ends) - 1
    not_below, not_above = distance >= -reach[0], distance <= reach[1]
    first = np.where(not_below.any(axis=1), not_below.argmax(axis=1), bins)
    last = np.where(not_above.any(axis=1), bins - not_above[:, ::-1].argmax(axis=1), 0)
    return ends[np.maximum(first - 1, 0)], ends[np.minimum(last + 1, bins)]


def sampling_reach(rows: Floats, share: float, normal: float) -> tuple[Floats, Floats]:
    """Return how far sampling moves the rows below a quantile, down and up: quantiles of a centred binomial number.

    The standard deviation sqrt(n q (1-q)) times the normal quantile; the longer tail is corrected for the third moment
    (Cornish and Fisher), the shorter one is left as it is.

    Args:
        rows: The noisy number of rows of each group; below 0, none.
        share: The quantile q.
        normal: That of a normal variable.

    Examples:
        >>> [round(float(side), 2) for side in sampling_reach(np.array(100.0), 0.1, 1.96)]
        [5.88, 6.26]
    """
    even = normal * np.sqrt(np.maximum(rows, 0.0) * share * (1 - share))
    skew = (normal**2 - 1) / 6 * (1 - 2 * share)
    return even + max(-skew, 0.0), even + max(skew, 0.0)


def _without_empty_bins(cells: Floats, scale: float) -> Floats:
    """Return counts in which bins that the noise alone could have filled are 0; as they are if these add up to more.

    One group's noise in many empty bins outweighs a small group. All groups together tell which bins are empty.
    """
    groups, bins = cells.shape
    none = np.zeros(())
    together = cells.sum(axis=0)
    empty = together <= noise_reach((np.array(groups), none), (1.0, 0.0), scale, _ALONE)
    number = int(empty.sum())
    if number == bins or together[empty].sum() > noise_reach(
        (np.array(groups * number), none), (1.0, 0.0), scale, _ALONE
    ):
        return cells
    return np.where(empty, 0.0, cells)


def noise_reach(numbers: Any, weights: tuple[float, float], scale: float, normal: float) -> Floats:
    """Return the quantile of a sum of Laplace noises: this many of each weight; ``normal`` is that of a normal one."""
    squares = sum(number * weight**2 for number, weight in zip(numbers, weights, strict=True))
    fourth = sum(number * weight**4 for number, weight in zip(numbers, weights, strict=True))
    excess = 3 * fourth / np.maximum(squares, 1e-100) ** 2  # a Laplace variable has an excess of 3
    found: Floats = np.sqrt(2 * squares) * scale * (normal + (normal**3 - 3 * normal) / 24 * excess)
    return found


def group_quantiles(release: Release, shares: Sequence[float] = QUARTILES) -> tuple[GroupQuantiles, ...]:
    """Return medians and quartiles per group from one released table of counts; costs no privacy.

    Proof: ``read_quantiles`` of the table's noisy counts.

    Args:
        release: A crosstab of a binned number and one or more other columns, or a histogram with groups.
        shares: The quantiles to read.

    Examples:
        >>> import pydplib as dp
        >>> table = dp.histogram([61, 67, 70] * 300, edges=[50, 60, 70, 80], epsilon=1.0)
        >>> (whole,) = group_quantiles(table)
        >>> whole.low[1] <= 67 <= whole.high[1], whole.doubtful
        (True, False)
    """
    wanted = tuple(float(share) for share in check_quantiles(shares))
    counts, axis, labels = counts_by_group(release)
    edges = [axis.keys[0][0], *(key[1] for key in axis.keys)]
    # Sigma is the standard deviation; a Laplace variable of scale b has sqrt(2) b, and the heavier tails.
    scale = float(release.scale) / (2**0.5 if release.mechanism.startswith("discrete Gaussian") else 1.0)
    found = read_quantiles(counts, edges, wanted, scale)
    return tuple(
        GroupQuantiles(
            group=label,
            shares=wanted,
            values=tuple(found.values[row].tolist()),
            low=tuple(found.low[row].tolist()),
            high=tuple(found.high[row].tolist()),
            rows=float(found.rows[row]),
            doubtful=bool(found.doubtful[row]),
            population=(tuple(found.population[0][row].tolist()), tuple(found.population[1][row].tolist()))
            if release.persons
            else None,
        )
        for row, label in enumerate(labels)
    )
