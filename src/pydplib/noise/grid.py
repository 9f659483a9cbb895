"""Real numbers on a grid of powers of two, so that noise is integer noise and floats never meet it.

Adding floating-point noise to a floating-point value leaves the value's fingerprint in
the low-order bits (Mironov 2012). Here a value becomes an integer number of grid steps,
the noise is an exact integer, and only their sum becomes a float again.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pydplib.errors import DataError, ParameterError
from pydplib.noise.tap import add_laplace

_FINENESS = 10  # grid steps per noise scale, as a power of two: 1024 to 2047
CHUNK = 1 << 15  # values per chunk: everything a chunk touches stays in the cache
_EXACT = 2.0**52  # below this, halves of integers are exact floats
_LAST = 1 << 52  # the same as an integer: where saturated values end


def grid_exponent(scale: float) -> int:
    """Return k such that the grid step 2^k is 1/1024 to 1/2048 of the noise scale.

    Examples:
        >>> grid_exponent(1.0)
        -10
    """
    if not (math.isfinite(scale) and scale > 0):
        raise ParameterError("The noise scale must be a positive, finite number.")
    return math.frexp(scale)[1] - 1 - _FINENESS


def to_grid(values: NDArray[np.float64], exponent: int) -> NDArray[np.int64]:
    """Return floor(x / 2^exponent + 1/2) in exact arithmetic, as integers.

    Proof: Division by a power of two is exact (or so close to 0 that it rounds to 0 either
    way). ``floor`` is exact below 2^52, and so is the remainder ``a - floor(a)``, except for a
    between -1/2 and 0, where it stays at least 1/2. So the rounding is at exact halves, always
    upwards: two values that are d steps apart become integers at most ceil(d) apart. (Adding
    0.5 in floating point is not the same: it rounds the last float below 1/2 up to 1.)

    Raises:
        DataError: If a value is not finite or too large for the grid.
    """
    with np.errstate(over="ignore", under="ignore"):
        scaled = np.ldexp(values, -exponent)
    # A value beyond 2^52 steps, an infinity or a NaN fails this comparison.
    if not (np.abs(scaled) < _EXACT).all():
        raise DataError(
            "Some values are missing, infinite or too large for the noise scale. "
            "Give bounds=(low, high) so that values are clamped, or remove such values."
        )
    low = np.floor(scaled)
    scaled -= low
    out = low.astype(np.int64)
    out += scaled >= 0.5
    return out


def saturated(values: NDArray[Any], exponent: int) -> NDArray[np.int64]:
    """Return floor(x / 2^exponent + 1/2) in exact arithmetic, held at +-2^52 steps: no value is too large.

    Proof: as ``to_grid``; whole numbers are shifted as integers, so their last digits count, too. Clamping moves no
    two values further apart. A number comes out the same whatever its type, and depends on no other.

    Args:
        values: Numbers of a NumPy type, or Python's own (an array of objects), without NaN.
        exponent: The grid's step is 2^exponent.

    Examples:
        >>> saturated(np.array([2.5, 1e300, -np.inf]), 0).tolist() == [3, 2**52, -(2**52)]
        True
    """
    kind = values.dtype.kind
    if kind == "O":
        return np.array([_saturated_one(value, exponent) for value in values], dtype=np.int64)
    if kind == "f":
        # Clamped before it is scaled: within the limits, scaling is exact and nothing overflows.
        with np.errstate(over="ignore", under="ignore"):
            scaled = np.clip(np.ldexp(values.astype(np.float64), -exponent), -_EXACT, _EXACT)
        low = np.floor(scaled)
        return np.asarray(low.astype(np.int64) + (scaled - low >= 0.5), dtype=np.int64)
    whole = values.astype(np.int64) if kind in "bi" else values
    least = 0 if kind == "u" else -1
    if exponent > 64:
        return np.zeros(whole.shape, dtype=np.int64)
    if exponent > 0:
        halved = whole >> (exponent - 1)  # floor(x / 2^e + 1/2) is floor((floor(x / 2^(e-1)) + 1) / 2)
        return np.asarray(np.clip((halved >> 1) + (halved & 1), least * _LAST, _LAST), dtype=np.int64)
    shift = min(-exponent, 52)  # from there on, every number but 0 saturates
    most = _LAST >> shift
    return np.asarray(np.clip(whole, least * most, most).astype(np.int64) << shift)


def _saturated_one(value: Any, exponent: int) -> int:
    if isinstance(value, float) and math.isinf(value):
        return _LAST if value > 0 else -_LAST
    steps = math.floor(Fraction(value) / Fraction(2) ** exponent + Fraction(1, 2))
    return max(-_LAST, min(_LAST, steps))


def from_grid(steps: NDArray[np.int64], exponent: int) -> NDArray[np.float64]:
    """Return grid steps as floats; rounding here is post-processing and costs no privacy."""
    return np.ldexp(steps.astype(np.float64), exponent)


def in_chunks(
    values: NDArray[np.float64], work: Callable[[NDArray[np.float64]], NDArray[np.float64]]
) -> NDArray[np.float64]:
    """Apply ``work`` chunk by chunk, so that temporaries stay small whatever the size."""
    flat = np.ascontiguousarray(values, dtype=np.float64).reshape(-1)
    out = np.empty(flat.shape, dtype=np.float64)
    for start in range(0, len(flat), CHUNK):
        out[start : start + CHUNK] = work(flat[start : start + CHUNK])
    return out.reshape(np.shape(values))


def laplace_records(values: NDArray[np.float64], scale: float) -> NDArray[np.float64]:
    """Return every value plus Laplace noise of the given scale, safely: the noise of paper mode.

    Each value is its own record; two inputs d apart are told apart with epsilon of at
    most (d + step) / scale, where step = 2^grid_exponent(scale) is below scale / 1024.

    Proof: Rounding to the grid keeps values d apart within d / step + 1 steps, the noise is
    exact discrete Laplace with scale / step, and what follows is post-processing.

    Examples:
        >>> laplace_records(np.array([60.0, 71.0]), scale=5.0).shape
        (2,)
    """
    exponent = grid_exponent(scale)
    steps = Fraction(scale) / Fraction(2) ** exponent

    def work(chunk: NDArray[np.float64]) -> NDArray[np.float64]:
        exact = to_grid(chunk, exponent)
        return from_grid(add_laplace(exact, steps, sensitivity=1), exponent)

    return in_chunks(values, work)
