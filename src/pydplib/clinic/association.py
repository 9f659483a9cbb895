"""Two columns against each other: chi-squared tests of independence and of trend, and correlation."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

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


@dataclass(frozen=True)
class Test:
    """A test: its statistic, its degrees of freedom (0 where there are none) and its p-value."""

    statistic: float
    freedom: int
    p: float


def expected_cells(tables: Floats) -> Floats:
    """Return the cells of tables without an effect: from their noisy margins, cut at 0."""
    rows = np.maximum(tables.sum(axis=-1), 0.0)
    columns = np.maximum(tables.sum(axis=-2), 0.0)
    total = rows.sum(axis=-1)
    other = columns.sum(axis=-1)
    scale = np.where((total > 0) & (other > 0), other, 1.0)
    found: Floats = rows[..., :, None] * columns[..., None, :] / scale[..., None, None]
    return found


def chi_squared(tables: Floats, variance: float = 0.0) -> Floats:
    """Return Pearson's statistic of noisy tables, each cell divided by its expected persons and its noise variance.

    Without noise it is Pearson's own. Cells in which neither persons nor noise are expected count nothing.

    Examples:
        >>> round(float(chi_squared(np.array([[10.0, 20.0], [20.0, 10.0]]))), 4)
        6.6667
    """
    expected = expected_cells(tables)
    weight = expected + variance
    parts = np.where(weight > 0, (tables - expected) ** 2 / np.where(weight > 0, weight, 1.0), 0.0)
    found: Floats = parts.sum(axis=(-1, -2))
    return found


def independence_test(table: Floats, scale: float, *, replicates: int = REPLICATES, level: float = 1.0) -> Test:
    """Return the chi-squared test of independence of a noisy table, by a bootstrap that repeats sampling and noise.

    Args:
        table: Noisy counts, rows by columns.
        scale: The scale of their discrete Laplace noise.
        replicates: How often everything is repeated.
        level: Stop as soon as p is known to be above this level.

    Examples:
        >>> independence_test(np.array([[40.0, 10.0], [10.0, 40.0]]), 1.0).p
        0.001
    """
    variance = laplace_variance(scale)
    observed = float(chi_squared(table, variance))
    p = bootstrap_p(
        observed, expected_cells(table), scale, lambda drawn: chi_squared(drawn, variance),
        key=("chi-squared", table.tolist()), replicates=replicates, level=level,
    )  # fmt: skip
    rows, columns = table.shape
    return Test(observed, (rows - 1) * (columns - 1), p)


def trend(tables: Floats, scores: Floats, variance: float = 0.0) -> Floats:
    """Return Cochran and Armitage's statistic z^2: whether the share of "yes" rises or falls with the score.

    Args:
        tables: (..., 2, levels): no and yes.
        scores: One number per level.
        variance: The noise variance of one cell.

    Examples:
        >>> round(float(trend(np.array([[10.0, 8.0, 5.0], [2.0, 4.0, 9.0]]), np.arange(3.0))), 3)
        6.234
    """
    sizes = tables.sum(axis=-2)
    total = sizes.sum(axis=-1)
    safe = np.where(total > 0, total, 1.0)
    share = np.clip(tables[..., 1, :].sum(axis=-1) / safe, 0.0, 1.0)
    middle = (sizes @ scores) / safe
    away = scores - middle[..., None]
    moved = (tables[..., 1, :] * away).sum(axis=-1)  # away from the mean score, so the share drops out
    spread = np.maximum((sizes * away**2).sum(axis=-1), 0.0)
    noise = variance * ((1 - share) ** 2 + share**2) * (away**2).sum(axis=-1)
    below = share * (1 - share) * spread + noise
    return np.where((below > 0) & (total > 0), moved**2 / np.where(below > 0, below, 1.0), 0.0)


def trend_test(
    table: Floats, scores: Floats, scale: float, *, replicates: int = REPLICATES, level: float = 1.0
) -> Test:
    """Return the test for a trend of a noisy table, by a bootstrap that repeats sampling and noise.

    Examples:
        >>> trend_test(np.array([[40.0, 30.0, 5.0], [5.0, 20.0, 40.0]]), np.arange(3.0), 1.0).p
        0.001
    """
    variance = laplace_variance(scale)
    observed = float(trend(table, scores, variance))
    p = bootstrap_p(
        observed, expected_cells(table), scale, lambda drawn: trend(drawn, scores, variance),
        key=("trend", table.tolist(), scores.tolist()), replicates=replicates, level=level,
    )  # fmt: skip
    return Test(observed, 1, p)


def correlation(
    tables: Floats, first: Floats, second: Floats, variance: float, *, confidence: float = 0.95
) -> Estimate:
    """Return Pearson's correlation of binned values, with both intervals.

    Proof: a person with standardised values u and v moves r by (u v - r (u^2 + v^2) / 2) / n to first order. The
    squares of this sum up over persons to the sampling variance, and over cells, times v, to the noise variance;
    Fisher's atanh divides both by (1 - r^2)^2.

    Args:
        tables: (..., bins of the first, bins of the second).
        first: The values of its bins.
        second: The values of its bins.
        variance: The noise variance of one cell.
        confidence: How often the interval covers.

    Examples:
        >>> found = correlation(np.array([[40.0, 10.0], [10.0, 40.0]]), np.arange(2.0), np.arange(2.0), 0.0)
        >>> round(float(found.value), 3)
        0.6
    """
    total = tables.sum(axis=(-1, -2))
    safe = np.where(total > 0, total, 1.0)
    rows, columns = tables.sum(axis=-1), tables.sum(axis=-2)
    x = first - ((rows @ first) / safe)[..., None]
    y = second - ((columns @ second) / safe)[..., None]
    wide = (rows * x**2).sum(axis=-1) / safe
    high = (columns * y**2).sum(axis=-1) / safe
    both = np.einsum("...ij,...i,...j->...", tables, x, y) / safe
    known = (total > 0) & (wide > 0) & (high > 0)
    deviations = np.sqrt(np.where(known, wide * high, 1.0))
    value = np.clip(np.where(known, both / deviations, 0.0), -0.999999999999, 0.999999999999)
    u = x / np.sqrt(np.where(known, wide, 1.0))[..., None]
    v = y / np.sqrt(np.where(known, high, 1.0))[..., None]
    moves = u[..., :, None] * v[..., None, :]
    moves = moves - value[..., None, None] / 2 * (u[..., :, None] ** 2 + v[..., None, :] ** 2)
    sampling = np.maximum((np.maximum(tables, 0.0) * moves**2).sum(axis=(-1, -2)), 0.0) / safe**2
    noise = variance * (moves**2).sum(axis=(-1, -2)) / safe**2
    ends: list[Floats] = []
    for spread, reach in (
        (sampling + noise, normal_quantile(confidence)),
        (noise, noise_quantile(confidence, variance)),
    ):
        half = reach * np.sqrt(spread) / (1 - value**2)
        low, top = np.tanh(np.arctanh(value) - half), np.tanh(np.arctanh(value) + half)
        ends += around(value, np.where(known, low, -1.0), np.where(known, top, 1.0))
    return Estimate(value, *ends)
