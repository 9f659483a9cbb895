"""What noisy tables say about the population: draws of probabilities that know the noise and the sampling.

A draw starts from the *noisy* table, never from the fitted model, which has already spent the noise. Per cell, the
exact count x given the noisy one y has weights Gamma(x + a) / x! times the probability of the noise y - x, on whole
numbers; given x, the rate of the cell is Gamma(x + a). Probabilities are the rates divided by their sum. Jeffreys's a =
1/2 adds little to wide tables with many empty cells; a flat a = 1 serves the four cells of an odds ratio, where the
logarithm of a rate that may be 0 has no end below.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from pydplib.errors import ParameterError
from pydplib.noise.randomness import Source
from pydplib.noise.samplers import discrete_gaussian, discrete_laplace
from pydplib.release.statistics.noise import check_confidence
from pydplib.synthesis.draws import uniforms
from pydplib.synthesis.model import FittedModel, Floats, NoisyTable, lift, sum_to
from pydplib.synthesis.tree import Columns, JunctionTree

WINDOW = 8.0
"""Standard deviations of noise to each side in which an exact count is looked for."""

_MOST_WINDOW = 4_001

_ONE_BELOW = 0.5 * math.erfc(math.sqrt(0.5))  # the share of a normal distribution one standard deviation below its mean


def draw_rates(
    table: NoisyTable, draws: int, *, pure: bool, flat: bool = False, source: Source | None = None
) -> Floats:
    """Return rates of all cells from their posterior: one table per draw, the draws on the first axis.

    Args:
        table: The noisy table.
        draws: How many.
        pure: Whether the noise is discrete Laplace, and not Gaussian.
        flat: Whether every rate is as likely as any other before looking; by default Jeffreys's prior.
        source: Where random bits come from.
    """
    counts = draw_counts(table, draws, pure=pure, flat=flat, source=source)
    return draw_gamma(counts + (1.0 if flat else 0.5), source=source)


def draw_counts(
    table: NoisyTable, draws: int, *, pure: bool, flat: bool = False, source: Source | None = None
) -> Floats:
    """Return exact counts of all cells as they may have been, given the noisy ones."""
    sigma = math.sqrt(table.variance)
    noisy = np.rint(table.counts.ravel())
    reach = max(2, math.ceil(WINDOW * sigma))
    step = max(1, math.ceil((2 * reach + 1) / _MOST_WINDOW))  # wide noise: every second, third ... whole number will do
    offsets = np.arange(-reach, reach + 1, step, dtype=np.float64)
    low = np.maximum(noisy, reach)  # a window that begins at 0 where noise has pushed the cell below
    out = np.empty((draws, noisy.size))
    for begin in range(0, noisy.size, 256):
        part = slice(begin, begin + 256)
        exact = low[part, None] + offsets
        gap = noisy[part, None] - exact
        with np.errstate(divide="ignore"):
            logs = -np.abs(gap) * math.sqrt(2) / sigma if pure else -gap * gap / (2 * table.variance)
            prior = 0.0 if flat else _log_prior(np.maximum(exact, 0))
            logs = np.where(exact >= 0, logs + prior, -np.inf)
        weights = np.exp(logs - logs.max(axis=1, keepdims=True))
        sums = np.cumsum(weights, axis=1)
        sums /= sums[:, -1:]
        points = uniforms(draws * exact.shape[0], source).reshape(draws, -1)
        for cell in range(exact.shape[0]):
            places = np.searchsorted(sums[cell], points[:, cell], side="right")
            out[:, begin + cell] = exact[cell, np.minimum(places, exact.shape[1] - 1)]
    return out.reshape(draws, *table.counts.shape)


def draw_linear(table: NoisyTable, draws: int, *, source: Source | None = None) -> Floats:
    """Return counts of all cells with noise and sampling once more, for sums and averages of many cells.

    Unlike ``draw_rates`` they may be negative: cut at 0, many empty cells together would look like people.
    """
    variance = table.variance + np.maximum(table.counts, 0)
    normal = draw_normal(draws * table.counts.size, source=source).reshape(draws, *table.counts.shape)
    found: Floats = table.counts + np.sqrt(variance) * normal
    return found


def _log_prior(counts: Floats) -> Floats:
    """Return log Gamma(x + 1/2) - log x!, by its asymptotic series beyond small counts."""
    small = np.array([math.lgamma(x + 0.5) - math.lgamma(x + 1) for x in range(16)])
    big = np.maximum(counts, 1.0)
    series = -0.5 * np.log(big) - 1 / (8 * big)
    return np.where(counts < 16, small[np.minimum(counts, 15).astype(np.int64)], series)


def draw_normal(size: int, *, source: Source | None = None) -> Floats:
    """Return standard normal numbers (Box and Muller 1958). For post-processing only: these are floats."""
    half = (size + 1) // 2
    radius = np.sqrt(-2 * np.log1p(-uniforms(half, source)))
    angle = 2 * math.pi * uniforms(half, source)
    return np.concatenate([radius * np.cos(angle), radius * np.sin(angle)])[:size]


def draw_gamma(shape: Floats, *, source: Source | None = None) -> Floats:
    """Return Gamma numbers with scale 1 (Marsaglia and Tsang 2000). For post-processing only."""
    flat = shape.ravel()
    boosted = np.where(flat < 1, flat + 1, flat)
    d = boosted - 1 / 3
    c = 1 / np.sqrt(9 * d)
    out = np.empty(flat.size)
    left = np.arange(flat.size)
    while left.size:
        x = draw_normal(left.size, source=source)
        v = (1 + c[left] * x) ** 3
        u = 1 - uniforms(left.size, source)
        with np.errstate(invalid="ignore", divide="ignore"):
            good = (v > 0) & (np.log(u) < 0.5 * x * x + d[left] * (1 - v + np.log(np.where(v > 0, v, 1))))
        out[left[good]] = d[left[good]] * v[good]
        left = left[~good]
    small = np.flatnonzero(flat < 1)
    if small.size:
        out[small] *= (1 - uniforms(small.size, source)) ** (1 / flat[small])
    return out.reshape(shape.shape)


# -- intervals -----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class PopulationEstimate:
    """A number about the population with its interval.

    Attributes:
        value: The median of the draws, or the mean of the copies.
        low: The lower end.
        high: The upper end.
        p_value: How often a number at least this far from "no relation" comes up by chance; None where none is asked.
    """

    value: float
    low: float
    high: float
    p_value: float | None = None


def interval_of(draws: Floats, *, confidence: float, null: float | None = None) -> PopulationEstimate:
    """Return the interval of one number from many draws of it.

    To each side of the median it reaches as far as a normal distribution with the spread of that side: the middle 68 %
    of the draws decide. Where noise is as large as a cell, the logarithm of its rate has a long tail on one side; the
    standard deviation of all draws would carry that tail to both sides, and intervals would cover 99 % and more.

    Args:
        draws: A few hundred draws.
        confidence: How often the interval covers.
        null: Where there would be no relation; with it, a p-value comes along.
    """
    m = len(draws)
    low, centre, high = (float(q) for q in np.quantile(draws, [_ONE_BELOW, 0.5, 1 - _ONE_BELOW]))
    wider = math.sqrt(1 + 1 / m)
    below, above = (centre - low) * wider, (high - centre) * wider
    reach = student_quantile(0.5 + confidence / 2, m - 1)
    p_value = None
    if null is not None:
        spread = below if null < centre else above
        p_value = 1.0 if spread == 0 else 2 * (1 - student_cdf(abs(centre - null) / spread, m - 1))
    return PopulationEstimate(centre, centre - reach * below, centre + reach * above, p_value)


def combine_copies(
    estimates: Sequence[float], variances: Sequence[float], *, confidence: float = 0.95, null: float = 0.0
) -> PopulationEstimate:
    """Return one estimate from the analyses of several copies of a synthetic table, by Rubin's rules.

    The estimate is the mean; its variance T = (1 + 1/m) b - v, with b the variance between the copies and v the mean of
    the variances that the software reports, and v in its place where T is not positive. A difference of two estimates
    is known less well than either: Student's quantile has (m - 1) (1 - v / ((1 + 1/m) b))^2 degrees of freedom, at
    least 2 (Raghunathan, Reiter and Rubin 2003). With m - 1 of them, tests of nothing alarm up to twice as often as
    they say.

    Args:
        estimates: What each copy gave, on a scale on which it is about normal: a mean, the logarithm of an odds ratio.
        variances: The squared standard error that the software reports for each.
        confidence: How often the interval covers.
        null: Where there would be no relation, for the p-value.

    Examples:
        >>> found = combine_copies([0.9, 1.3, 1.1, 1.0, 1.2], [0.01] * 5)
        >>> round(found.value, 2), found.low < 1.1 < found.high, found.p_value < 0.05
        (1.1, True, True)
    """
    m = len(estimates)
    if m < 2 or len(variances) != m:
        raise ParameterError("Combining takes at least two copies: one estimate and one variance of each.")
    own = float(np.mean(variances))
    between = (1 + 1 / m) * float(np.var(np.asarray(estimates, dtype=np.float64), ddof=1))
    total = between - own
    spread = math.sqrt(total if total > 0 else own)
    freedom = max(2.0, (m - 1) * (total / between) ** 2) if total > 0 else m - 1.0
    centre, reach = float(np.mean(estimates)), student_quantile(0.5 + check_confidence(confidence) / 2, freedom)
    p_value = 1.0 if spread == 0 else 2 * (1 - student_cdf(abs(centre - null) / spread, freedom))
    return PopulationEstimate(centre, centre - reach * spread, centre + reach * spread, p_value)


def student_cdf(t: float, freedom: float) -> float:
    """Return the distribution function of Student's t (Hill 1970: a normal deviate with the same probability).

    Examples:
        >>> round(student_cdf(2.093, 19), 4)
        0.975
    """
    a = freedom - 0.5
    b = 48 * a * a
    z = math.sqrt(max(0.0, a * math.log1p(t * t / freedom)))
    z3, z5, z7 = z**3, z**5, z**7
    u = z + (z3 + 3 * z) / b - (4 * z7 + 33 * z5 + 240 * z3 + 855 * z) / (10 * b * (b + 0.8 * z**4 + 100))
    return 0.5 * math.erfc(-math.copysign(u, t) / math.sqrt(2))


def student_quantile(share: float, freedom: float) -> float:
    """Return the quantile of Student's t.

    Examples:
        >>> round(student_quantile(0.975, 19), 3)
        2.093
    """
    low, high = -1e3, 1e3
    for _ in range(100):
        middle = (low + high) / 2
        low, high = (middle, high) if student_cdf(middle, freedom) < share else (low, middle)
    return (low + high) / 2


# -- independence ----------------------------------------------------------------------------------------


def independence_p_value(table: NoisyTable, *, pure: bool, repeats: int = 999, source: Source | None = None) -> float:
    """Return the p-value of independence of the two columns of a noisy table.

    A parametric bootstrap that repeats everything: sampling, noise, margins, statistic. p = (1 + hits) / (repeats + 1).
    """
    statistic, margins, total = _distance_from_independence(table.counts[None], table.variance)
    rows, columns = margins
    chance = np.outer(rows[0], columns[0]).ravel()
    sampled = _multinomials(max(1, round(float(total[0]))), chance, repeats, source)
    scale = math.sqrt(table.variance)
    if pure:
        noise = discrete_laplace(Fraction(max(scale / math.sqrt(2), 1e-3)), sampled.size, source=source)
    else:
        noise = discrete_gaussian(Fraction(max(table.variance, 1e-6)), sampled.size, source=source)
    again = (sampled + noise.reshape(sampled.shape)).reshape(repeats, *table.counts.shape)
    hits = int((_distance_from_independence(again, table.variance)[0] >= statistic[0]).sum())
    return (1 + hits) / (repeats + 1)


def _distance_from_independence(counts: Floats, variance: float) -> tuple[Floats, tuple[Floats, Floats], Floats]:
    """Return sum (y - e)^2 / (e + variance) of many tables, and the margins and totals they were made of."""
    rows = np.maximum(counts.sum(axis=2), 0) + 1e-9
    columns = np.maximum(counts.sum(axis=1), 0) + 1e-9
    total = np.maximum(counts.sum(axis=(1, 2)), 1.0)
    rows, columns = rows / rows.sum(axis=1, keepdims=True), columns / columns.sum(axis=1, keepdims=True)
    expected = total[:, None, None] * rows[:, :, None] * columns[:, None, :]
    return ((counts - expected) ** 2 / (expected + variance)).sum(axis=(1, 2)), (rows, columns), total


def _multinomials(total: int, chance: Floats, repeats: int, source: Source | None) -> Floats:
    """Return counts of ``total`` persons in cells, ``repeats`` times; beyond 5,000 persons by the normal limit."""
    if total <= 5_000:
        sums = np.cumsum(chance)
        out = np.empty((repeats, chance.size))
        for i in range(repeats):
            places = np.searchsorted(sums, uniforms(total, source) * sums[-1], side="right")
            out[i] = np.bincount(np.minimum(places, chance.size - 1), minlength=chance.size)
        return out
    normal = draw_normal(repeats * chance.size, source=source).reshape(repeats, -1)
    root = np.sqrt(chance)
    spread = normal * root - np.outer((normal * root).sum(axis=1), chance)
    return np.maximum(np.rint(total * chance + math.sqrt(total) * spread), 0)


# -- whole copies ------------------------------------------------------------------------------------------


def draw_model(
    shape: Sequence[int],
    one_ways: Sequence[NoisyTable],
    relations: Sequence[NoisyTable],
    *,
    pure: bool,
    possible: Mapping[Columns, Floats] | None = None,
    source: Source | None = None,
    sweeps: int = 20,
) -> FittedModel:
    """Return the model of one copy: a draw of the population's probabilities.

    Every relation keeps the association of its own draw. The shares of a column come from one draw only, that of the
    most precise table that holds it, so that no table counts twice; the other draws are raked to them, which leaves
    their odds ratios as they are. A few sweeps of proportional fitting over the tree join everything. Combinations that
    cannot be have no share in any draw.
    """
    possible = {} if possible is None else possible
    held_by = [*(t.columns for t in one_ways), *(t.columns for t in relations), *possible]
    tree = JunctionTree.of(shape, held_by)
    bare = FittedModel(tree, {}, possible)
    drawn = {}
    for table in relations:
        rates = draw_rates(table, 1, pure=pure, source=source)[0]
        if possible:
            rates = np.where(bare.probabilities(table.columns) > 0, rates, 0.0)
        drawn[table.columns] = rates / rates.sum()
    shares: dict[int, Floats] = {}
    for column, table in enumerate(one_ways):
        holding = [t for t in relations if column in t.columns]
        best = min(holding, key=lambda t: t.variance * t.counts.size, default=None)
        if best is not None and best.variance * best.counts.size <= 4 * table.variance * table.counts.size:
            share = np.asarray(sum_to(drawn[best.columns], best.columns, (column,)))
        else:
            share = draw_rates(table, 1, pure=pure, source=source)[0]
        shares[column] = share / share.sum()
    aims: dict[Columns, Floats] = {(column,): share for column, share in shares.items()}
    for columns, table_drawn in drawn.items():
        aims[columns] = _raked(table_drawn, columns, shares)
    weights = {columns: np.zeros(aim.shape) for columns, aim in aims.items()}
    weights |= {(column,): np.log(share + 1e-12) for column, share in shares.items()}
    model = FittedModel(tree, weights, possible)
    wide = [columns for columns in aims if len(columns) > 1 or possible]
    for _ in range(sweeps if len(wide) > 1 or possible else 1):
        worst = 0.0
        for columns in wide:
            held, aim = model.probabilities(columns), aims[columns]
            worst = max(worst, float(np.abs(held - aim).sum()))
            weights[columns] = weights[columns] + np.where(held > 0, np.log((aim + 1e-15) / (held + 1e-15)), 0.0)
            model = FittedModel(tree, weights, possible)
        if worst < 1e-3:
            break
    return model


def _raked(table: Floats, columns: Columns, shares: dict[int, Floats], sweeps: int = 30) -> Floats:
    """Return a table with the given margins and the odds ratios that it had."""
    for _ in range(sweeps):
        worst = 0.0
        for column in columns:
            held = np.asarray(sum_to(table, columns, (column,)))
            factor = (shares[column] + 1e-15) / (held + 1e-15)
            worst = max(worst, float(np.abs(held - shares[column]).sum()))
            table = table * lift(factor, (column,), columns)
        if worst < 1e-6:
            break
    return table
