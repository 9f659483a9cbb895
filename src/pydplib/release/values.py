"""Arrays of people in: one element is what is protected, and no element can make the computation fail."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pydplib.errors import ParameterError


def as_values(values: Any) -> NDArray[Any]:
    """Return a one-dimensional array of numbers; whatever is no number is missing (NaN).

    Lists, NumPy arrays, and the columns of pandas, Polars and PyArrow are understood. A text
    that spells a number is that number. The outcome for one element never depends on another, and no
    element raises an error: an error that only some person's value causes would tell of that person.

    Raises:
        ParameterError: If ``values`` is not a column at all, or its declared type is text or time (public by its type).

    Examples:
        >>> as_values([61, None, "67.5", "n/a"]).tolist()
        [61.0, nan, 67.5, nan]
    """
    if _is_text(values):
        raise ParameterError(
            "This column's type is text, not numbers. Convert it first (in pandas: pd.to_numeric(column, "
            "errors='coerce')), or count it by its values with a table: dp.Count(by=...)."
        )
    array = to_array(values)
    if array.dtype.kind in "biuf":
        return array
    if array.dtype.kind in "mM":
        raise ParameterError("Dates and durations are not numbers. Use a table with a Date column, or give days.")
    return np.fromiter((_number(item) for item in array.tolist()), dtype=np.float64, count=len(array))


def _is_text(values: Any) -> bool:
    """Tell whether a column's declared type is text, or categories of texts; a list declares none."""
    declared = getattr(values, "dtype", None) or getattr(values, "type", None)
    if isinstance(declared, np.dtype):
        return declared.kind in "USTa"
    inner = getattr(getattr(declared, "categories", None), "dtype", None)  # pandas' categories
    words = str(declared if inner is None else inner).lower()
    return words.startswith(("str", "utf8", "large_string", "categorical", "enum", "dictionary<values=string"))


def to_array(values: Any) -> NDArray[Any]:
    """Return a column as a one-dimensional NumPy array, objects where its elements are mixed."""
    if isinstance(values, str | bytes | dict) or np.isscalar(values) or values is None:
        raise ParameterError(
            f"A column of values is needed: a list, an array or a data frame's column. Got {type(values).__name__}."
        )
    if isinstance(values, np.ma.MaskedArray):
        values = _unmasked(values)
    if not isinstance(values, np.ndarray | list | tuple):
        for method in ("to_numpy", "__array__"):
            if hasattr(values, method):
                values = _to_numpy(values) if method == "to_numpy" else np.asarray(values)
                break
        else:
            values = list(values)
    if isinstance(values, np.ndarray):
        array = values
    else:
        plain = all(type(item) in (int, float, bool) and -(2**53) < item < 2**53 for item in values)
        array = np.array(values, dtype=np.float64) if plain else _objects(values)
    if array.ndim != 1:
        raise ParameterError(f"One column of values is needed; this has {array.ndim} dimensions.")
    return array


def _to_numpy(values: Any) -> NDArray[Any]:
    if type(values).__module__.partition(".")[0] == "pyarrow":  # by default it refuses where an element is missing
        return np.asarray(values.to_numpy(zero_copy_only=False))
    return np.asarray(values.to_numpy())


def _unmasked(values: np.ma.MaskedArray[Any, Any]) -> NDArray[Any]:
    """Return an array in which what was masked is missing, whether anything is masked or not: the type is public."""
    hidden, plain = np.ma.getmaskarray(values), np.array(values.data)
    if plain.dtype.kind in "biuf":
        # Whole numbers beyond 2^53 lose their last digits, which no noise leaves anyway.
        plain = plain.astype(np.float64)
    elif plain.dtype.kind not in "mM":
        plain = plain.astype(object)
    kind = plain.dtype.kind
    plain[hidden] = np.array("NaT", plain.dtype) if kind in "mM" else np.nan if kind == "f" else None
    return plain


def is_missing(array: NDArray[Any]) -> NDArray[np.bool_]:
    """Return which elements are missing: None, NaN, not-a-time, pandas' NA, empty text."""
    if array.dtype.kind == "f":
        return np.asarray(np.isnan(array), dtype=np.bool_)
    if array.dtype.kind in "biu":
        return np.zeros(array.shape, dtype=np.bool_)
    if array.dtype.kind in "mM":
        return np.asarray(np.isnat(array), dtype=np.bool_)
    return np.fromiter((is_nothing(item) for item in array.tolist()), dtype=np.bool_, count=len(array))


def _objects(values: Any) -> NDArray[Any]:
    array = np.empty(len(values), dtype=object)
    array[:] = list(values)
    return array


def _number(item: Any) -> float:
    try:
        if isinstance(item, complex):
            return item.real if item.imag == 0 else math.nan
        return float(item)
    except OverflowError:  # a whole number beyond every float: clamped like any other large value
        return math.inf if item > 0 else -math.inf
    except Exception:  # whatever the element is, it is no number
        return math.nan


def is_nothing(item: Any) -> bool:
    """Tell whether one element is missing: None, NaN, not-a-time, pandas' NA, empty text. Never raises.

    Examples:
        >>> [is_nothing(item) for item in (None, float("nan"), " ", False, 0, "a")]
        [True, True, True, False, False, False]
    """
    if item is None or (isinstance(item, str) and not item.strip()):
        return True
    if isinstance(item, bool | np.bool_):
        return False
    try:
        differs = item != item
        return differs is item or bool(differs)  # NA compared with itself is NA, which is neither true nor false
    except Exception:
        return False
