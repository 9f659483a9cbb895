"""Populations behind a table: sizes of classes and uniqueness, estimated from the sample."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping

import numpy as np

from pydplib.anonymity.tables.columns import Floats


def sample_threshold(k: int, fraction: float, significance: float, *, truncated: bool) -> int:
    """Return the class size in the sample that speaks for at least k people in the population.

    A group of fewer than k people shows at least this many in the sample with a chance of at most
    ``significance`` (Poisson with mean k times the fraction; given that it shows at all, where truncated).
    Never more than k, since k in the sample are k in the population.

    Examples:
        >>> sample_threshold(10, 0.05, 0.05, truncated=True)
        3
    """
    mean = k * fraction
    term = math.exp(-mean)
    tail = 1.0 - term
    scale = -math.expm1(-mean) if truncated else 1.0
    size = 1
    while size < k and tail > significance * scale:
        term *= mean / size
        tail -= term
        size += 1
    return size


def population_uniqueness(
    sizes: Mapping[int, int], rows: int, fraction: float, estimator: str | None = None
) -> dict[str, float]:
    """Return estimates of the share of the population that is unique.

    Args:
        sizes: Size of a class in the sample -> number of such classes.
        rows: Rows of the sample.
        fraction: The sampling fraction.
        estimator: The one that is asked for: others are left out where they are not needed.

    Returns:
        The estimates by these names: ``zayatz``, ``pitman``, ``snb``, and ``dankar``, the choice among them.
    """
    whole = rows / fraction
    single = sizes.get(1, 0)
    if fraction >= 1.0:
        exact = single / max(rows, 1)
        return {"zayatz": exact, "pitman": exact, "snb": exact, "dankar": exact}
    found: dict[str, float] = {}
    wanted = {"pitman"} if fraction <= 0.1 and estimator == "dankar" else {"zayatz", "snb"}
    wanted = wanted if estimator == "dankar" else {"zayatz", "pitman", "snb"} if estimator is None else {estimator}
    if "pitman" in wanted:
        found["pitman"] = _pitman(sizes, rows, whole)
        if estimator == "dankar" and not math.isfinite(found["pitman"]):
            wanted |= {"zayatz", "snb"}
    if "zayatz" in wanted:
        found["zayatz"] = _zayatz(sizes, rows, fraction)
    if "snb" in wanted:
        found["snb"] = _slide_negative_binomial(sizes, whole, fraction)
    share = {name: min(max(value / whole, 0.0), 1.0) for name, value in found.items() if math.isfinite(value)}
    if single == 0:
        share["dankar"] = 0.0
    elif fraction <= 0.1 and "pitman" in share:
        share["dankar"] = share["pitman"]
    else:
        share["dankar"] = min((share[name] for name in ("zayatz", "snb") if name in share), default=0.0)
    return share


def _zayatz(sizes: Mapping[int, int], rows: int, fraction: float) -> float:
    """Bayes: the chance that a class of one in the sample is a class of one in the population."""
    classes = sum(sizes.values())
    single = sizes.get(1, 0)
    if single == 0:
        return 0.0
    whole = round(rows / fraction)

    def seen_once(size: int) -> float:
        # Hypergeometric chance that exactly one of ``size`` people is among the rows drawn.
        if rows - 1 > whole - size:
            return 0.0
        log = math.log(size) + _log_choose(whole - size, rows - 1) - _log_choose(whole, rows)
        return math.exp(log)

    weight = sum(count / classes * seen_once(size) for size, count in sizes.items())
    chance = single / classes * seen_once(1) / weight if weight > 0 else 0.0
    return single * chance / fraction


def _log_choose(n: int, k: int) -> float:
    return math.lgamma(n + 1) - math.lgamma(k + 1) - math.lgamma(n - k + 1)


def _pitman(sizes: Mapping[int, int], rows: int, whole: float) -> float:
    """Maximum likelihood of Pitman's sampling formula, then its expected number of uniques."""
    classes = sum(sizes.values())
    if classes == rows or sizes.get(1, 0) == 0:
        return float("nan") if classes == rows else 0.0

    def likelihood(alpha: float, theta: float) -> float:
        out = (classes - 1) * math.log(alpha)
        out += math.lgamma(theta / alpha + classes) - math.lgamma(theta / alpha + 1)
        out -= math.lgamma(theta + rows) - math.lgamma(theta + 1)
        base = math.lgamma(1 - alpha)
        return out + sum(count * (math.lgamma(size - alpha) - base) for size, count in sizes.items())

    def best_theta(alpha: float) -> tuple[float, float]:
        return _golden(lambda log: likelihood(alpha, math.exp(log)), math.log(1e-3), math.log(1e9))

    at, _ = _golden(lambda alpha: best_theta(alpha)[1], 1e-4, 1 - 1e-4)
    theta = math.exp(best_theta(at)[0])
    return math.exp(math.lgamma(theta + 1) - math.lgamma(theta + at) + at * math.log(whole))


def _golden(function: Callable[[float], float], low: float, high: float) -> tuple[float, float]:
    """Return place and height of a maximum by golden-section search."""
    ratio = (math.sqrt(5) - 1) / 2
    a, b = high - ratio * (high - low), low + ratio * (high - low)
    fa, fb = function(a), function(b)
    for _ in range(40):
        if fa < fb:
            low, a, fa = a, b, fb
            b = low + ratio * (high - low)
            fb = function(b)
        else:
            high, b, fb = b, a, fa
            a = high - ratio * (high - low)
            fa = function(a)
    middle = (low + high) / 2
    return middle, function(middle)


def _slide_negative_binomial(sizes: Mapping[int, int], whole: float, fraction: float) -> float:
    """Class sizes are 1 plus negative binomial; match the classes and the uniques seen in the sample."""
    classes, single = sum(sizes.values()), sizes.get(1, 0)
    if single == 0:
        return 0.0

    # All slopes at once: for each, the shape with which the sample has as many classes as it has.
    beta = np.arange(1, 200) / 200
    s = 1 - fraction
    left = 1 - (1 - beta) * s

    def expected(alpha: Floats) -> tuple[Floats, Floats, Floats]:
        number = whole / (1 + alpha * (1 - beta) / beta)
        inner = np.exp(np.maximum(alpha * np.log(beta / left), -745.0))
        once = fraction * inner * (1 + s * alpha * (1 - beta) / left)
        return number * (1 - s * inner), number * once, number * np.exp(np.maximum(alpha * np.log(beta), -700.0))

    low, high = np.full(len(beta), -20.0), np.full(len(beta), 20.0)
    for _ in range(60):
        middle = (low + high) / 2
        more = expected(np.exp(middle))[0] > classes
        low, high = np.where(more, middle, low), np.where(more, high, middle)
    seen, once, unique = expected(np.exp((low + high) / 2))
    error = np.abs(once - single) / single + np.abs(seen - classes) / classes
    return float(unique[int(error.argmin())])
