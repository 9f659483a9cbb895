"""The paper's four sensitivities: how much one record changes the answer to a query."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from pydplib.errors import CalibrationError, DataError, ParameterError
from pydplib.paper.words import QueryType, parse_query_type


def count_sensitivity() -> float:
    """Return 1: one record more or less changes one count by one.

    Examples:
        >>> count_sensitivity()
        1.0
    """
    return 1.0


def mean_sensitivity(low: float, high: float, n: int) -> float:
    """Return |high - low| / n: right when one record is exchanged and n is public.

    Examples:
        >>> mean_sensitivity(18, 100, 820)
        0.1
    """
    return _width(low, high) / _size(n)


def median_sensitivity(low: float, high: float, n: int) -> float:
    """Return |high - low| / n, as the paper has it.

    The true global sensitivity of the median is high - low (odd n) or half of that
    (even n): one record can move it across the whole range. Paper mode keeps the
    paper's formula and claims no guarantee from it.

    Examples:
        >>> median_sensitivity(18, 100, 820)
        0.1
    """
    return _width(low, high) / _size(n)


def variance_sensitivity(low: float, high: float, n: int) -> float:
    """Return (high - low)^2 / n: right for the variance with ddof=1; slightly too large for ddof=0.

    Examples:
        >>> variance_sensitivity(0, 10, 50)
        2.0
    """
    width = _width(low, high)
    if width != 0 and not 1e-140 < width < 1e150:
        raise CalibrationError(
            "The sensitivity of the variance, (high - low)^2 / n, cannot be computed for values so close together or "
            "so far apart: its square leaves the range of a float. Use another unit, or bounds=(low, high)."
        )
    return width * width / _size(n)


def sensitivity(query_type: str | int, *, low: float, high: float, n: int) -> float:
    """Return the paper's sensitivity of a query over values in [low, high].

    Examples:
        >>> sensitivity("mean", low=18, high=100, n=820), sensitivity(1, low=18, high=100, n=820)
        (0.1, 1.0)
    """
    return _by_query(parse_query_type(query_type), low, high, n)


def smallest_group(group_sizes: int | Sequence[int] | ArrayLike, *, values: int) -> int:
    """Return the smallest of the patients per aggregate: it decides the sensitivity of them all.

    Args:
        group_sizes: One number for every aggregate, or one per aggregate.
        values: How many aggregates there are.
    """
    try:
        sizes = np.atleast_1d(np.asarray(group_sizes))
    except ValueError:  # rows of unequal length
        sizes = np.empty(0)
    if sizes.dtype.kind not in "iu" or sizes.ndim != 1 or sizes.size not in (1, values):
        raise ParameterError(
            "group_sizes are the patients behind every aggregate: one whole number for all of them, "
            "or one per aggregate, in the same order."
        )
    if int(sizes.min()) < 1:
        raise ParameterError("Every aggregate stands for at least one patient: group_sizes must be 1 or more.")
    return int(sizes.min())


def _by_query(query: QueryType, low: float, high: float, n: int) -> float:
    if query == "count":
        return count_sensitivity()
    if query == "mean":
        return mean_sensitivity(low, high, n)
    if query == "median":
        return median_sensitivity(low, high, n)
    return variance_sensitivity(low, high, n)


def _width(low: float, high: float) -> float:
    width = abs(float(high) - float(low))
    if not math.isfinite(width):
        raise DataError("The range of the values must be finite. Remove infinite values, or give bounds=(low, high).")
    return width


def _size(n: int) -> int:
    if n < 1:
        raise ParameterError("A sensitivity needs at least one record.")
    return int(n)
