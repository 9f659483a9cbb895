"""Populations behind a table: sizes of classes and uniqueness, estimated from the sample."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping


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


def population_uniqueness(sizes: Mapping[int, int], rows: int, fraction: float) -> dict[str, float]:
    """Return estimates of the share of the population that is unique.

    Args:
        sizes: Size of a class in the sample -> number of such classes.
        rows: Rows of the sample.
        fraction: The sampling fraction.

    Returns:
        ``zayatz`` (1991), ``pitman`` (Hoshino 2001), ``snb`` (Chen and Keller-McNulty 1998) and ``dankar``,
        the choice among them by Dankar et al. (2012).
    """
    whole = rows / fraction
    single = sizes.get(1, 0)
    if fraction >= 1.0:
        exact = single / max(rows, 1)
        return {"zayatz": exact, "pitman": exact, "snb": exact, "dankar": exact}
    found = {
        "zayatz": _zayatz(sizes, rows, fraction),
        "pitman": _pitman(sizes, rows, whole),
        "snb": _slide_negative_binomial(sizes, whole, fraction),
    }
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

    def expected(alpha: float, beta: float) -> tuple[float, float, float]:
        number = whole / (1 + alpha * (1 - beta) / beta)
        s = 1 - fraction
        left = 1 - (1 - beta) * s
        log_inner = alpha * math.log(beta / left)
        inner = math.exp(log_inner) if log_inner > -700 else 0.0
        unseen = s * inner
        once = fraction * inner * (1 + s * alpha * (1 - beta) / left)
        return number * (1 - unseen), number * once, number * math.exp(max(alpha * math.log(beta), -700))

    def alpha_for(beta: float) -> float:
        low, high = -20.0, 20.0
        for _ in range(60):
            middle = (low + high) / 2
            if expected(math.exp(middle), beta)[0] > classes:
                low = middle
            else:
                high = middle
        return math.exp((low + high) / 2)

    best, uniques = math.inf, float("nan")
    for step in range(1, 200):
        beta = step / 200
        alpha = alpha_for(beta)
        seen, once, unique = expected(alpha, beta)
        error = abs(once - single) / single + abs(seen - classes) / classes
        if error < best:
            best, uniques = error, unique
    return uniques
