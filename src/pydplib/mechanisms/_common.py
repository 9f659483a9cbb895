"""What all mechanisms share: checks of parameters, values in and out, and solving accuracy for epsilon."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pydplib.errors import CalibrationError, DataError, ParameterError, shown

_SMALLEST, _LARGEST = Fraction(1e-300), Fraction(1e300)
_LEAST = 1e-100  # a privacy loss below this says nothing that 0 does not


def check_positive(name: str, value: object) -> Fraction:
    """Return a positive, finite number exactly, or raise ``ParameterError``."""
    if isinstance(value, bool) or not isinstance(value, int | float | Fraction | np.integer | np.floating):
        raise ParameterError(f"{name} must be a positive number; there is no default. Got {shown(value)}.")
    if isinstance(value, np.integer | np.floating):
        value = float(value) if isinstance(value, np.floating) else int(value)
    if value <= 0 or (isinstance(value, float) and not math.isfinite(value)):
        raise ParameterError(f"{name} must be a positive, finite number; there is no default. Got {shown(value)}.")
    exact = Fraction(value)
    if not _SMALLEST <= exact <= _LARGEST:
        raise ParameterError(f"{name} must lie between 1e-300 and 1e300, the numbers that can be computed with.")
    return exact


def check_scale(scale: Fraction) -> None:
    """Refuse a noise whose scale no float can hold."""
    if not _SMALLEST <= scale <= _LARGEST:
        raise ParameterError(
            "The noise, sensitivity / epsilon, is too small or too large to compute with. Use another unit."
        )


def check_confidence(confidence: float) -> float:
    """Return the confidence, which lies strictly between 0 and 1."""
    if not (isinstance(confidence, int | float | np.floating) and 0 < confidence < 1):
        raise ParameterError(f"confidence must lie strictly between 0 and 1. Got {shown(confidence)}.")
    return float(confidence)


def check_margin(margin: float) -> float:
    """Return a margin, which is positive and finite."""
    return float(check_positive("The margin", margin))


def as_array(values: ArrayLike) -> NDArray[Any]:
    """Return values as an array of whatever type; lists of unequal length are an error without their text."""
    try:
        return np.asarray(values)
    except ValueError:
        raise DataError("The values must form a list or an array with rows of equal length.") from None


_WHOLE = (1 << 62) - 1  # where whole numbers saturate: noise on top of it stays within 64 bits


def as_numbers(values: ArrayLike) -> NDArray[Any]:
    """Return numbers as an array of a NumPy type, or of Python's own numbers where a list was given.

    Nothing is rounded here: NumPy would choose one type for a whole list by its largest element, and so let one value
    decide how the others are rounded. Missing values and texts are an error without their text.
    """
    try:
        given = np.asarray(values, dtype=object) if isinstance(values, int | list | tuple) else np.asarray(values)
    except ValueError:
        raise DataError("The mechanism needs numbers: a number, a list or an array of numbers.") from None
    if given.dtype.kind == "O":
        plain = [item.item() if isinstance(item, np.generic) else item for item in given.ravel().tolist()]
        if not all(isinstance(item, int | float) for item in plain):
            raise DataError("The mechanism needs numbers: a number, a list or an array of numbers.")
        given = _packed(plain).reshape(given.shape)
        missing = any(item != item for item in plain)
    elif given.dtype.kind not in "biuf" or given.dtype.itemsize > 8:
        raise DataError("The mechanism needs numbers: a number, a list or an array of numbers.")
    else:
        missing = given.dtype.kind == "f" and bool(np.isnan(given).any())
    if missing:
        raise DataError("The values hold missing entries. Remove or replace them first.")
    return given


def _packed(numbers: list[int | float]) -> NDArray[Any]:
    """Return Python's numbers in the narrowest type that holds each of them exactly."""
    if all(isinstance(number, float) or abs(number) <= 1 << 53 for number in numbers):
        return np.array(numbers, dtype=np.float64)
    if all(isinstance(number, int) and -(1 << 63) <= number < 1 << 63 for number in numbers):
        return np.array(numbers, dtype=np.int64)
    return np.array(numbers, dtype=object)


def as_integers(values: ArrayLike) -> NDArray[np.int64]:
    """Return whole numbers as an integer array, held at +-(2^62 - 1); decimals are an error without their text.

    Clamping moves no two numbers further apart, so no number is too large.
    """
    try:
        given = as_numbers(values)
    except DataError:
        raise DataError("The mechanism needs whole numbers; use Laplace for decimals.") from None
    if given.dtype.kind in "biu":
        return np.asarray(np.clip(given, 0 if given.dtype.kind in "bu" else -_WHOLE, _WHOLE), dtype=np.int64)
    numbers = given.ravel().tolist()  # in Python's own numbers, which never overflow
    if not all(isinstance(item, int) or math.isinf(item) or item.is_integer() for item in numbers):
        raise DataError("The mechanism needs whole numbers; use Laplace for decimals.")
    held = [int(max(-_WHOLE, min(_WHOLE, item))) for item in numbers]
    return np.array(held, dtype=np.int64).reshape(given.shape)


def like_input(values: ArrayLike, result: NDArray[Any]) -> Any:
    """Return a plain number where a number came in, and an array where anything longer did."""
    return result.reshape(()).item() if np.ndim(values) == 0 else result


def laplace_tail_steps(ratio: float, tail: float) -> int:
    """Return the fewest steps m with P(|Z| > m) <= tail, for discrete Laplace noise of scale 1/ratio.

    With a = exp(-ratio), P(|Z| > m) = 2 a^(m+1) / (1 + a).
    """
    # Solved in logarithms, which keep the digits where ratio is tiny and do not overflow where it is large.
    steps = (math.log(2 / tail) - math.log1p(math.exp(-ratio))) / ratio - 1
    return max(math.ceil(steps), 0)


def solve_epsilon(margin_of: Callable[[float], float], margin: float, *, what: str = "epsilon") -> float:
    """Return the smallest parameter whose margin is at most ``margin``; margins fall as it grows."""
    margin = check_margin(margin)
    low, high = _bracket(margin_of, margin, what)
    for _ in range(80):
        middle = math.sqrt(low) * math.sqrt(high)
        try:
            wide = margin_of(middle) > margin
        except ParameterError:  # so much noise that it cannot be computed with
            wide = True
        low, high = (middle, high) if wide else (low, middle)
        if high / low < 1 + 1e-12:
            break
    return high


def _bracket(margin_of: Callable[[float], float], margin: float, what: str) -> tuple[float, float]:
    """Return a parameter whose margin is too wide (or the least that is looked at), and one whose margin will do."""
    low = high = 1.0
    if margin_of(high) > margin:
        while margin_of(high) > margin:
            low, high = high, high * 4
            if high > 4e6:
                raise CalibrationError(f"No {what} up to a million reaches a margin that small. Ask for a wider one.")
        return low, high
    factor = 4.0
    while low > _LEAST:
        low = max(high / factor, _LEAST)
        try:
            if margin_of(low) > margin:
                break
        except ParameterError:  # so much noise that it cannot be computed with
            break
        high, factor = low, factor**2
    return low, high
