"""How much noise is in noisy data: the percentage that the paper's noise bands speak of."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pydplib.errors import DataError
from pydplib.paper.mechanism import flip_chance
from pydplib.paper.records import Records
from pydplib.paper.words import Kind, NoiseMetric


def reference(records: Records, metric: NoiseMetric) -> float:
    """Return what 100 % noise means: the mean |x| (WMAPE), or the width of the range.

    The mean |x| is zero only if all values are; then the width of the range is used.

    Raises:
        DataError: If both are zero.
    """
    if records.kind in ("bool", "category"):
        return 1.0  # a mismatch rate needs no reference
    if metric == "wmape" and records.kind != "date" and records.mean_abs > 0:
        return records.mean_abs
    low, high = records.span
    if high <= low:
        raise DataError(
            "All values are equal, so that there is no range to measure noise against and one record's value would "
            "show. Give public bounds=(low, high)."
        )
    return high - low


def noise_percent(records: Records, noisy: NDArray[Any], reference: float) -> float:
    """Return the noise in percent: 100 * mean |x' - x| / reference; mismatches for true/false and categories."""
    if records.kind == "bool":
        return 100 * float(np.mean(noisy != records.codes))
    total = 0.0
    for rows, values in records.chunks():
        total += difference(values, noisy[rows], records.kind, reference)
    return 100 * total / len(records)


def difference(values: NDArray[Any], noisy: NDArray[Any], kind: Kind, reference: float) -> float:
    """Return the sum of the differences in units of the reference; for categories, how many differ."""
    if kind == "category":
        return float(np.count_nonzero(values != noisy))
    gap = np.subtract(noisy, values)
    np.abs(gap, out=gap)
    gap /= reference
    return float(gap.sum())


def scale_for(kind: Kind, target: float, reference: float) -> float:
    """Return the Laplace scale whose expected noise is ``target * reference``: the closed form, unfitted.

    Numbers: E|Lap(b)| = b. Whole numbers and dates: E|rint Lap(b)| = 1/(2 sinh(1/(2b))). True/false: a flip
    has probability exp(-1/(2b))/2.

    Examples:
        >>> scale_for("float", 0.15, 60.0)
        9.0
    """
    amount = target * reference
    if kind == "bool":
        return 1 / (2 * math.log(1 / (2 * target)))
    if kind == "float":
        return amount
    if kind == "category":
        # Before fitting, a code moves to another where the noise passes 1/2: exp(-1/(2b)).
        return 1 / (2 * math.log(1 / target))
    return 1 / (2 * math.asinh(1 / (2 * amount))) if amount > 0 else 0.0


def expected_percent(kind: Kind, scale: float, reference: float) -> float:
    """Return the expected noise of a Laplace scale in percent, unfitted; the inverse of ``scale_for``.

    Examples:
        >>> round(expected_percent("int", scale_for("int", 0.025, 3.0), 3.0), 9)
        2.5
    """
    if kind == "bool":
        return 100 * flip_chance(scale)
    if kind in ("float", "category"):
        return 100 * scale / reference
    half = 1 / (2 * scale)
    return 100 * (1 / (2 * math.sinh(half)) if half < 700 else 0.0) / reference
