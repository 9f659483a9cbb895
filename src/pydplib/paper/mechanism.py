"""Noise on every record: Laplace noise for numbers, exact coin flips for true/false; and how much noise is in it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pydplib.errors import CalibrationError, DataError, ParameterError
from pydplib.noise import laplace_records, tap
from pydplib.paper.codes import encode
from pydplib.paper.containers import open_column
from pydplib.paper.ranges import Range
from pydplib.paper.records import Records
from pydplib.paper.words import Kind, NoiseMetric

REACH = 2.0**40
"""How far a scale may lie from the largest value: beyond that the noise, or the value, vanishes in a float."""

MOST_FLIP_RATE = 1400
"""The largest 1 / scale of true/false: beyond it the chance of a flip lies below 1e-304, and nothing ever flips."""


def add_noise(records: Records, scale: float, fit_to: Range | None) -> NDArray[Any]:
    """Return the records with noise, fitted and rounded: codes in the order of the input.

    Proof (numbers): ``laplace_records`` makes x and x' of the same output probability up to a
    factor exp((|x - x'| + step) / scale); rounding, clipping to a public range and snapping
    look at its output only. True/false: see ``flip``.

    Args:
        records: The clamped records.
        scale: The Laplace scale b = sensitivity / epsilon.
        fit_to: The range, or None to leave the noisy values where they fall.
    """
    if records.kind == "bool":
        return flip(records.codes, scale)
    noisy = np.empty(len(records), dtype=np.float64)
    least, most = math.inf, -math.inf
    for rows, values in records.chunks():
        part = laplace_records(values, scale)
        if fit_to is None:
            if records.kind != "float":
                np.rint(part, out=part)  # half to even
        else:
            least, most = min(least, float(part.min())), max(most, float(part.max()))
        noisy[rows] = part
    if fit_to is not None:
        for rows, _ in records.chunks():
            noisy[rows] = fit_to.fit(noisy[rows], records.kind, (least, most))
    return noisy


def add_noise_at(records: Records, scales: Sequence[float], fit_to: Range | None) -> list[NDArray[Any]]:
    """Return the records with noise of several scales, made from one draw: x + b Z with the same Z for every b.

    The draw is made at the largest scale and shrunk for the others. Two of the columns together give x away.
    """
    most = max(scales)
    values = records.take(slice(None))
    noise = laplace_records(values, most) - values
    out: list[NDArray[Any]] = []
    for scale in scales:
        noisy = values + (scale / most) * noise
        if records.kind == "bool":
            out.append(noisy > 0.5)
            continue
        if fit_to is not None:
            noisy = fit_to.fit(noisy, records.kind)
        elif records.kind != "float":
            np.rint(noisy, out=noisy)
        out.append(noisy)
    return out


def flip(values: NDArray[Any], scale: float) -> NDArray[np.bool_]:
    """Return true/false values, each flipped with probability p = exp(-1/(2 scale))/2.

    That is exactly how often Laplace noise carries a 0 or a 1 across 0.5.

    Proof: Each record is flipped by itself with p < 1/2, so an output changes its probability by
    at most (1-p)/p when the record does: randomised response with epsilon ln((1-p)/p).
    """
    exponent = 1 / (2 * Fraction(scale))
    out = np.array(values, dtype=np.bool_)
    block = 1 << 20
    for start in range(0, len(out), block):
        part = out[start : start + block]
        part[:] = tap.flip_values(part.astype(np.int64), exponent)
    return out


def flip_chance(scale: float) -> float:
    """Return the probability that a true/false value flips at a Laplace scale.

    Examples:
        >>> round(flip_chance(1 / (2 * math.log(1 / 0.3))), 6)
        0.15
    """
    return math.exp(-1 / (2 * scale)) / 2


def flip_epsilon(scale: float) -> float:
    """Return the record epsilon of flipping at a Laplace scale: ln((1-p)/p), rounded up."""
    # With p = exp(-x)/2, (1-p)/p = 2 e^x - 1 = 1 + 2 (e^x - 1): no digit is lost however small x is.
    x = 1 / (2 * scale)
    epsilon = math.log1p(2 * math.expm1(x)) if x < 700 else x + math.log(2)
    return epsilon * (1 + 2.0**-46)


def check_scale(records: Records, scale: float) -> None:
    """Raise unless noise of this scale can be added to these records.

    Raises:
        CalibrationError: If the scale is zero, infinite, or drowns in (or drowns) the digits of a float.
    """
    if not (math.isfinite(scale) and scale > 0):
        raise CalibrationError("No noise can be computed: sensitivity / epsilon is zero, infinite or not a number.")
    if records.kind == "bool":
        if 1 / scale > MOST_FLIP_RATE:
            raise CalibrationError("The noise would be too small to change anything. Use a smaller epsilon.")
        return
    peak = max((abs(edge) for edge in records.extremes), default=0.0)
    if scale < peak / REACH or scale < 1e-290 or scale > 1e300:
        raise CalibrationError(
            "The noise is too small or too large for the size of the values, and would vanish in rounding. "
            "Give bounds=(low, high), or use another unit."
        )


def laplace_mechanism(data: Any, sensitivity: float, epsilon: float) -> Any:
    """Return the data with Laplace noise of scale sensitivity / epsilon on every record.

    Whole numbers are rounded half to even after the noise, true/false values are flipped as often
    as the noise would carry them across 0.5, dates move by whole days. (The paper calls
    sensitivity / epsilon the variance; it is the scale, the variance is twice its square.)

    Proof: One record x against x' is told apart with epsilon of at most
    (|x - x'| + step) epsilon / sensitivity, step < scale / 1024: epsilon-DP per record if records
    differ by at most the sensitivity. The noise is exact discrete Laplace on a grid of powers
    of two; what follows is post-processing.

    Args:
        data: A number, a list, tuple, NumPy array, pandas or Polars Series, or PyArrow array.
        sensitivity: How much one record changes the answer; positive.
        epsilon: The privacy parameter; positive, no default.

    Examples:
        >>> noisy = laplace_mechanism([61, 70, 55], sensitivity=1.0, epsilon=0.5)
        >>> len(noisy), all(isinstance(value, int) for value in noisy)
        (3, True)
    """
    scale = _scale(sensitivity, epsilon)
    single = np.isscalar(data) and not isinstance(data, str | bytes)
    column = open_column([data] if single else data)
    coded, _ = encode(column, data_type=None, on_missing="error")
    if coded.kind == "category":
        raise DataError(
            "Laplace noise needs numbers, true/false or dates; this is text. Use dp_calculate(..., is_range=True)."
        )
    records = Records(coded.codes, coded.kind)
    if not len(records):
        return column.restore(coded.decode(coded.codes), None)
    check_scale(records, scale)
    noisy = column.restore(coded.decode(add_noise(records, scale, None)), None)
    return noisy[0] if single else noisy


def _scale(sensitivity: float, epsilon: float) -> float:
    for name, value in (("sensitivity", sensitivity), ("epsilon", epsilon)):
        if not (isinstance(value, int | float | np.number) and math.isfinite(value) and value > 0):
            raise ParameterError(f"{name} must be a positive, finite number: without it raw values would leave.")
    return float(sensitivity) / float(epsilon)


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
