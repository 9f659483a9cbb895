"""Populations behind a table: sizes of classes and uniqueness, estimated from the sample."""

from __future__ import annotations

import math


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
