"""Two groups compared: difference of shares, risk ratio, odds ratio and difference of means."""

from __future__ import annotations

from typing import Literal, TypeAlias

import numpy as np

from pydplib.clinic.intervals import (
    Estimate,
    Floats,
    around,
    difference_ends,
    noise_quantile,
    normal_quantile,
    positive,
    share_ends,
)

Measure: TypeAlias = Literal["difference", "risk ratio", "odds ratio"]

MEASURES: tuple[Measure, ...] = ("difference", "risk ratio", "odds ratio")


def _log_odds(p: Floats) -> Floats:
    with np.errstate(divide="ignore"):
        return np.log(p) - np.log1p(-p)


def _log(p: Floats) -> Floats:
    with np.errstate(divide="ignore"):
        return np.log(p)


def compare_shares(
    tables: Floats, variance: float, *, measure: Measure = "difference", confidence: float = 0.95
) -> Estimate:
    """Return how the share of "yes" differs between two groups.

    Of ratios with an empty cell: cells are cut at 0 and get half a person more each; the interval may be infinite.

    Proof: each group's share has an interval by ``share_ends``; differences of shares, of their logarithms and of
    their log odds are made of the two by ``difference_ends``, since persons and noise of the groups are independent.

    Args:
        tables: (..., 2, 2): the groups, first against second; no and yes.
        variance: The noise variance of one cell.
        measure: What is compared.
        confidence: How often the interval covers.

    Examples:
        >>> found = compare_shares(np.array([[70.0, 30.0], [90.0, 10.0]]), 0.0, measure="odds ratio")
        >>> round(float(found.value), 4)
        3.8571
    """
    cells = tables if measure == "difference" else np.where(np.minimum(tables, 0) < 0, 0.0, tables)
    shown = np.maximum(tables, 0.0) if measure == "difference" else positive(cells)
    totals = shown.sum(axis=-1)
    shares = np.where(totals > 0, shown[..., 1] / np.where(totals > 0, totals, 1.0), 0.5)
    turn = {"difference": lambda p: p, "risk ratio": _log, "odds ratio": _log_odds}[measure]
    back = (lambda x: x) if measure == "difference" else np.exp
    value = turn(shares)
    gap = value[..., 0] - value[..., 1]
    ends = []
    for sampled, reach in ((True, normal_quantile(confidence)), (False, noise_quantile(confidence, variance))):
        low, high = share_ends(tables[..., 1], tables[..., 0], variance, variance, reach, sampled=sampled)
        low, high = around(shares, low, high)
        low, high = turn(low), turn(high)
        with np.errstate(invalid="ignore"):
            found = difference_ends(
                value[..., 0], value[..., 1], (low[..., 0], high[..., 0]), (low[..., 1], high[..., 1])
            )
        ends += [back(end) for end in around(gap, *found)]
    if measure == "difference":
        ends = [np.clip(end, -1.0, 1.0) for end in ends]
    return Estimate(back(gap), *ends)


def means(
    counts: Floats, middles: Floats, variance: float, *, reach: float, sampled: bool
) -> tuple[Floats, tuple[Floats, Floats], Floats]:
    """Return means of binned values, the ends of their intervals, and their standard deviations.

    Proof: at the true mean m, the sum of (middle - m) count has mean 0; its variance is n s^2 from sampling and
    v sum (middle - m)^2 from the noise: a quadratic in m, as in ``share_ends``.

    Args:
        counts: (..., bins).
        middles: The value that each bin stands for.
        variance: The noise variance of one cell.
        reach: Standard deviations.
        sampled: Whether persons are a sample.
    """
    total, sums = counts.sum(axis=-1), counts @ middles
    low_end, high_end = float(middles.min()), float(middles.max())
    # About the noisy centre, so that large values lose no digits.
    safe = np.where(total > 0, total, 1.0)
    centre = np.where(total > 0, np.clip(sums / safe, low_end, high_end), (low_end + high_end) / 2)
    away = middles - centre[..., None]
    square = (counts * away**2).sum(axis=-1)
    most = (high_end - low_end) ** 2 / 4
    spread = np.sqrt(np.clip(np.where(total > 0, square / safe, most), 0.0, most))
    size = np.maximum(total, 0.0) if sampled else np.zeros_like(total)
    first = (counts * away).sum(axis=-1)
    a = total**2 - reach**2 * variance * middles.size
    b = -2 * first * total + 2 * reach**2 * variance * away.sum(axis=-1)
    c = first**2 - reach**2 * (size * spread**2 + variance * (away**2).sum(axis=-1))
    inside = b**2 - 4 * a * c
    known = (a > 0) & (total > 0) & (inside >= 0)
    root = np.sqrt(np.where(known, inside, 0.0))
    below = np.where(known, 2 * a, 1.0)
    low = np.where(known, centre + (-b - root) / below, low_end)
    high = np.where(known, centre + (-b + root) / below, high_end)
    low, high = np.clip(low, low_end, high_end), np.clip(high, low_end, high_end)
    return centre, around(centre, low, high), spread


def compare_means(counts: Floats, middles: Floats, variance: float, *, confidence: float = 0.95) -> Estimate:
    """Return the difference of the means of two groups, from noisy counts in bins.

    Args:
        counts: (..., 2, bins): first group against second.
        middles: The value that each bin stands for.
        variance: The noise variance of one cell.
        confidence: How often the interval covers.

    Examples:
        >>> found = compare_means(np.array([[10.0, 30.0], [20.0, 20.0]]), np.array([0.0, 1.0]), 0.0)
        >>> round(float(found.value), 2)
        0.25
    """
    ends: list[Floats] = []
    for sampled, reach in ((True, normal_quantile(confidence)), (False, noise_quantile(confidence, variance))):
        centre, (low, high), _ = means(counts, middles, variance, reach=reach, sampled=sampled)
        ends += difference_ends(
            centre[..., 0], centre[..., 1], (low[..., 0], high[..., 0]), (low[..., 1], high[..., 1])
        )
    return Estimate(centre[..., 0] - centre[..., 1], *ends)


def standard_errors(
    counts: Floats, middles: Floats, variance: float, *, confidence: float = 0.95
) -> tuple[Estimate, Floats, Floats]:
    """Return means with their intervals, standard deviations (divided by n - 1) and standard errors.

    Examples:
        >>> found, deviation, error = standard_errors(np.array([50.0, 50.0]), np.array([0.0, 1.0]), 0.0)
        >>> round(float(deviation), 4), round(float(error), 5)
        (0.5025, 0.05025)
    """
    reach = normal_quantile(confidence)
    centre, ends, spread = means(counts, middles, variance, reach=reach, sampled=True)
    _, inner, _ = means(counts, middles, variance, reach=noise_quantile(confidence, variance), sampled=False)
    total = np.maximum(counts.sum(axis=-1), 1.0)
    deviation = spread * np.sqrt(total / np.maximum(total - 1, 1.0))
    return Estimate(centre, *ends, *inner), deviation, deviation / np.sqrt(total)
