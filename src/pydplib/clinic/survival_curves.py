"""Survival from noisy counts of (time bin, event or censored): Kaplan-Meier, median, restricted mean, log-rank.

Convention: whoever is censored within a bin counts as at risk through that bin, and events within a bin are spread
evenly over it. On the binned times the curve is the ordinary Kaplan-Meier curve.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pydplib.clinic.association import Test
from pydplib.clinic.intervals import (
    REPLICATES,
    Estimate,
    Floats,
    around,
    bootstrap_p,
    laplace_variance,
    noise_quantile,
    normal_quantile,
)

CONVENTION = "Censored persons count as at risk through their bin; events are spread evenly over it."


def falling(numbers: Floats) -> Floats:
    """Return the nearest sequences that never rise, by least squares (isotonic regression along the last axis).

    Examples:
        >>> falling(np.array([5.0, 6.0, 2.0, 3.0, 0.0])).tolist()
        [5.5, 5.5, 2.5, 2.5, 0.0]
    """
    flat = numbers.reshape(-1, numbers.shape[-1])
    rows, size = flat.shape
    # Blocks of one mean each, a stack of them per row; a block above the one before joins it.
    sums, lengths = np.zeros((rows, size + 1)), np.ones((rows, size + 1))
    top = np.zeros(rows, dtype=np.int64)
    sums[:, 0] = np.inf
    everyone = np.arange(rows)
    for place in range(size):
        top += 1
        sums[everyone, top], lengths[everyone, top] = flat[:, place], 1.0
        risen = everyone
        while risen.size:
            here, before = top[risen], top[risen] - 1
            mean = sums[risen, here] / lengths[risen, here]
            risen_now = mean > sums[risen, before] / lengths[risen, before]
            risen, here, before = risen[risen_now], here[risen_now], before[risen_now]
            sums[risen, before] += sums[risen, here]
            lengths[risen, before] += lengths[risen, here]
            top[risen] = before
    places = np.arange(size + 1)
    kept = (places >= 1) & (places <= top[:, None])
    means = sums[kept] / lengths[kept]
    found: Floats = np.repeat(means, lengths[kept].astype(np.int64)).reshape(numbers.shape)
    return found


@dataclass(frozen=True)
class Curve:
    """A survival curve: at the end of each bin, with numbers at risk at its start.

    Attributes:
        survival: Estimate of the share without an event, at the end of each bin.
        at_risk: Noisy numbers at risk at the start of each bin.
        events: Noisy numbers of events.
        censored: Noisy numbers of censored persons.
    """

    survival: Estimate
    at_risk: Floats
    events: Floats
    censored: Floats


def consistent(tables: Floats) -> Floats:
    """Return noisy (bin, event or censored) counts as those of people who only ever leave.

    Numbers at risk before and after the events of each bin never rise; the nearest such numbers are taken, and the last
    of them is 0. Where there is no noise, nothing changes.

    Args:
        tables: (..., bins, 2): censored and events.
    """
    order = np.stack([tables[..., 1], tables[..., 0]], axis=-1)  # events leave before those who are censored
    left = order.reshape(*order.shape[:-2], -1)
    remain = np.cumsum(left[..., ::-1], axis=-1)[..., ::-1]
    steps = np.maximum(falling(remain), 0.0)
    gone = steps - np.concatenate([steps[..., 1:], np.zeros((*steps.shape[:-1], 1))], axis=-1)
    found = gone.reshape(order.shape)
    return np.stack([found[..., 1], found[..., 0]], axis=-1)


def _parts(tables: Floats) -> tuple[Floats, Floats, Floats]:
    """Return at risk, events and survival at the end of each bin."""
    left = tables.sum(axis=-1)
    at_risk = np.cumsum(left[..., ::-1], axis=-1)[..., ::-1]
    events = tables[..., 1]
    share = np.where(at_risk > 0, events / np.where(at_risk > 0, at_risk, 1.0), 0.0)
    return at_risk, events, np.cumprod(1 - np.clip(share, 0.0, 1.0), axis=-1)


def _slopes(at_risk: Floats, events: Floats) -> tuple[Floats, Floats]:
    """Return how the log of survival at the end of each bin moves with one more event, and one more censored person.

    Both are (..., end of bin, bin of the person).
    """
    bins = at_risk.shape[-1]
    size = np.maximum(at_risk, 1.0)
    rest = np.maximum(at_risk - events, 0.5)
    gained = 1 / rest - 1 / size
    before = np.cumsum(gained, axis=-1)
    ends, places = np.arange(bins)[:, None], np.arange(bins)[None, :]
    reach = np.minimum(ends, places)
    censored = before[..., reach]
    first = np.concatenate([np.zeros((*before.shape[:-1], 1)), before], axis=-1)
    event = first[..., np.where(places <= ends, places, ends + 1)] - np.where(
        places <= ends, 1 / size[..., None, :], 0.0
    )
    return event, censored


def survival_curve(tables: Floats, variance: float, *, confidence: float = 0.95) -> Curve:
    """Return Kaplan-Meier curves of noisy counts, with pointwise intervals.

    Proof (interval): with an effective number m of persons, such that s (1 - s) / m is Greenwood's variance, and the
    noise variance v s^2 times the squared slopes of log s in all cells, the set of all s within ``reach`` standard
    deviations of the estimate is bounded by the roots of a quadratic (Rothman's interval where there is no noise).

    Args:
        tables: (..., bins, 2): censored and events.
        variance: The noise variance of one cell.
        confidence: How often each interval covers.

    Examples:
        >>> curve = survival_curve(np.array([[2.0, 3.0], [1.0, 4.0]]), 0.0)
        >>> curve.survival.value.round(3).tolist(), curve.at_risk.tolist()
        ([0.7, 0.14], [10.0, 5.0])
    """
    fitted = consistent(tables)
    at_risk, events, value = _parts(fitted)
    event, censored = _slopes(at_risk, events)
    noise = variance * value**2 * ((event**2).sum(axis=-1) + (censored**2).sum(axis=-1))
    sizes = effective_sizes(at_risk, events, value)
    ends: list[Floats] = []
    for sampled, reach in ((True, normal_quantile(confidence)), (False, noise_quantile(confidence, variance))):
        low, high = _score_ends(value, sizes if sampled else np.full_like(sizes, np.inf), noise, reach)
        ends += around(value, *_where_known(low, high, at_risk, variance, reach))
    return Curve(Estimate(value, *ends), at_risk, events, fitted[..., 0])


def _where_known(low: Floats, high: Floats, at_risk: Floats, variance: float, reach: float) -> tuple[Floats, Floats]:
    """Return intervals that reach down to 0 from the first bin on whose number at risk the noise alone could make.

    Their upper ends stay where they were: a curve never rises.
    """
    bins = at_risk.shape[-1]
    spread = reach * np.sqrt(2 * variance * np.arange(bins, 0, -1))
    lost = np.maximum.accumulate(at_risk <= spread, axis=-1)
    before = np.concatenate([np.ones((*high.shape[:-1], 1)), high[..., :-1]], axis=-1)
    first = lost & ~np.concatenate([np.zeros((*lost.shape[:-1], 1), dtype=bool), lost[..., :-1]], axis=-1)
    last = np.where(first, before, 0.0).sum(axis=-1, keepdims=True)  # the upper end of the last bin that is known
    return np.where(lost, 0.0, low), np.where(lost, last, high)


def effective_sizes(at_risk: Floats, events: Floats, value: Floats) -> Floats:
    """Return the number of persons whose share would be as uncertain as the curve is, at the end of each bin."""
    rest = np.maximum(at_risk - events, 0.5)
    greenwood = np.cumsum(np.where(at_risk > 0, events / (np.maximum(at_risk, 1.0) * rest), 0.0), axis=-1)
    safe = np.maximum(value, 1e-9)
    rothman = (1 - value) / (safe * np.maximum(greenwood, 1e-300))
    # Where nobody had an event yet, everybody who is still there counts.
    return np.clip(np.where(greenwood > 0, rothman, at_risk), 1.0, np.maximum(at_risk[..., :1], 1.0))


def _score_ends(value: Floats, sizes: Floats, noise: Floats, reach: float) -> tuple[Floats, Floats]:
    part = reach**2 / sizes
    a, b, c = 1 + part, -(2 * value + part), value**2 - reach**2 * noise
    root = np.sqrt(np.maximum(b**2 - 4 * a * c, 0.0))
    return np.clip((-b - root) / (2 * a), 0.0, 1.0), np.clip((-b + root) / (2 * a), 0.0, 1.0)


def restricted_mean(tables: Floats, edges: Floats, variance: float, *, confidence: float = 0.95) -> Estimate:
    """Return the mean time without an event up to the last edge: the area under the curve.

    Args:
        tables: (..., bins, 2): censored and events.
        edges: The edges of the bins, one more than there are bins.
        variance: The noise variance of one cell.
        confidence: How often the interval covers.

    Examples:
        >>> found = restricted_mean(np.array([[2.0, 3.0], [1.0, 4.0]]), np.array([0.0, 6.0, 12.0]), 0.0)
        >>> round(float(found.value), 2)
        7.62
    """
    at_risk, events, value = _parts(consistent(tables))
    widths = np.diff(edges)
    weights = widths / 2 + np.concatenate([widths[1:] / 2, [0.0]])  # of survival at the end of each bin
    area = widths[0] / 2 + value @ weights
    later = np.cumsum((weights * value)[..., ::-1], axis=-1)[..., ::-1]
    rest = np.maximum(at_risk - events, 0.5)
    sampling = (later**2 * np.where(at_risk > 0, events / (np.maximum(at_risk, 1.0) * rest), 0.0)).sum(axis=-1)
    event, censored = _slopes(at_risk, events)
    moved = (weights * value)[..., :, None]
    noise = variance * (((moved * event).sum(axis=-2) ** 2) + ((moved * censored).sum(axis=-2) ** 2)).sum(axis=-1)
    ends: list[Floats] = []
    for spread, reach in (
        (sampling + noise, normal_quantile(confidence)),
        (noise, noise_quantile(confidence, variance)),
    ):
        half = reach * np.sqrt(spread)
        ends += [np.maximum(area - half, 0.0), np.minimum(area + half, widths.sum())]
    return Estimate(area, *ends)


def crossing(heights: Floats, edges: Floats, level: float = 0.5) -> Floats:
    """Return when falling curves, given at the end of each bin, reach a level; infinite where they do not.

    Examples:
        >>> crossing(np.array([0.75, 0.25]), np.array([0.0, 6.0, 12.0])).tolist()
        9.0
    """
    shown = np.concatenate([np.ones((*heights.shape[:-1], 1)), heights], axis=-1)
    shown = np.minimum.accumulate(shown, axis=-1)
    below = shown <= level
    place = np.where(below.any(axis=-1), below.argmax(axis=-1), -1)
    index = np.maximum(place, 1)[..., None]
    high = np.take_along_axis(shown, index - 1, axis=-1)[..., 0]
    low = np.take_along_axis(shown, index, axis=-1)[..., 0]
    part = np.where(high > low, (high - level) / np.where(high > low, high - low, 1.0), 0.0)
    found = edges[index[..., 0] - 1] + part * (edges[index[..., 0]] - edges[index[..., 0] - 1])
    times: Floats = np.where(place < 0, np.inf, found)
    return times


def median_survival(curve: Curve, edges: Floats, *, level: float = 0.5) -> Estimate:
    """Return when half have had an event, with the times at which the curve's intervals hold one half.

    An end is infinite where the interval stays above one half to the last edge.
    """
    found = curve.survival
    ends = [crossing(end, edges, level) for end in (found.low, found.high, found.noise_low, found.noise_high)]
    return Estimate(crossing(found.value, edges, level), *ends)


def log_rank(tables: Floats, variance: float = 0.0) -> Floats:
    """Return the log-rank statistic of noisy counts; the noise of the excess of events is added to its variance.

    Args:
        tables: (..., groups, bins, 2): censored and events.
        variance: The noise variance of one cell.

    Examples:
        >>> same = np.array([[[2.0, 3.0], [1.0, 4.0]], [[2.0, 3.0], [1.0, 4.0]]])
        >>> round(float(log_rank(same)), 6)
        0.0
    """
    groups = tables.shape[-3] - 1
    at_risk = np.maximum(np.cumsum(tables.sum(axis=-1)[..., ::-1], axis=-1)[..., ::-1], 0.0)
    events = tables[..., 1]
    size, gone = at_risk.sum(axis=-2), events.sum(axis=-2)
    share = at_risk / np.where(size > 0, size, 1.0)[..., None, :]
    excess = (events - share * gone[..., None, :]).sum(axis=-1)[..., :-1]
    some = np.clip(gone, 0.0, size)
    factor = np.where(size > 1, some * (size - some) / np.maximum(size - 1, 1e-9), 0.0)
    share = share[..., :groups, :]
    spread = -np.einsum("...it,...jt,...t->...ij", share, share, factor + variance)
    own = np.einsum("...it,...t->...i", share, factor) + variance * tables.shape[-2]
    spread[..., np.arange(groups), np.arange(groups)] += own
    if groups == 1:
        below = spread[..., 0, 0]
        return np.where(below > 0, excess[..., 0] ** 2 / np.where(below > 0, below, 1.0), 0.0)
    inverse = np.linalg.pinv(spread, rcond=1e-12, hermitian=True)
    found: Floats = np.maximum(np.einsum("...i,...ij,...j->...", excess, inverse, excess), 0.0)
    return found


def no_difference(table: Floats) -> Floats:
    """Return the expected counts where all groups share one hazard: each keeps its persons and its censoring."""
    fitted = consistent(table)
    at_risk, events, _ = _parts(fitted)
    size = at_risk.sum(axis=0)
    hazard = np.where(size > 0, events.sum(axis=0) / np.where(size > 0, size, 1.0), 0.0)
    rest = at_risk - events
    lost = np.where(rest > 0, fitted[..., 0] / np.where(rest > 0, rest, 1.0), 1.0)
    found = np.zeros_like(fitted)
    there = at_risk[:, 0].copy()
    for place in range(table.shape[1]):
        found[:, place, 1] = there * hazard[place]
        found[:, place, 0] = (there - found[:, place, 1]) * np.clip(lost[:, place], 0.0, 1.0)
        there = np.maximum(there - found[:, place].sum(axis=-1), 0.0)
    return found


def log_rank_test(table: Floats, scale: float, *, replicates: int = REPLICATES, level: float = 1.0) -> Test:
    """Return the log-rank test of noisy counts, by a bootstrap that repeats sampling, noise and consistency.

    Args:
        table: (groups, bins, 2): censored and events.
        scale: The scale of their discrete Laplace noise.
        replicates: How often everything is repeated.
        level: Stop as soon as p is known to be above this level.
    """
    variance = laplace_variance(scale)
    observed = float(log_rank(table, variance))
    p = bootstrap_p(
        observed, no_difference(table), scale, lambda drawn: log_rank(drawn, variance),
        key=("log-rank", table.tolist()), replicates=replicates, level=level,
    )  # fmt: skip
    return Test(observed, table.shape[0] - 1, p)
