"""Columns of pandas, Polars and PyArrow, opened through narwhals and given back in their own library."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pydplib.errors import DataError
from pydplib.paper.containers import DAY, Column, Family, Mask, Restore, either, from_sequence


def open_series(data: Any, *, public: bool = False) -> Column:
    """Open a series through narwhals; the native library is already loaded, since its object was handed in.

    Args:
        data: The series.
        public: Whether a column of objects comes back in a type that its values have no part in.
    """
    import narwhals as nw

    pandas = sys.modules.get("pandas")
    if pandas is not None and isinstance(data, pandas.Index | pandas.api.extensions.ExtensionArray):
        return _open_pandas(data, pandas, public)
    arrow = sys.modules.get("pyarrow")
    native, unchunk = data, False
    if arrow is not None and isinstance(data, arrow.Array):
        native, unchunk = arrow.chunked_array([data]), True
    try:
        series = nw.from_native(native, series_only=True)
    except TypeError:
        hint = "pass one column, e.g. table['age']" if hasattr(type(data), "columns") else "use a list, array or series"
        raise DataError(f"One column of values is needed. Got {type(data).__name__}; {hint}.") from None
    if series.dtype == nw.Decimal:  # noise has more digits than the column: it comes back as floats
        series = series.cast(nw.Float64)

    def restore(values: NDArray[Any], keep: Mask | None) -> Any:
        out = _rebuild(series, values, opened.family if opened.typed or not public else None, keep, nw)
        return out.combine_chunks() if unchunk else out

    opened = _open_series(series, nw, public, restore)
    return opened


def _open_pandas(data: Any, pandas: Any, public: bool) -> Column:
    """Open what pandas hands out besides a Series: the array behind one (``.values``, ``.array``), or an index."""
    if isinstance(data, pandas.MultiIndex):
        raise DataError("One column of values is needed. Got an index of several levels; pass one level of it.")
    column = open_series(pandas.Series(data), public=public)

    def restore(values: NDArray[Any], keep: Mask | None) -> Any:
        out = column.restore(values, keep)
        return pandas.Index(out, name=data.name) if isinstance(data, pandas.Index) else out.array

    return replace(column, restore=restore)


def _open_series(series: Any, nw: Any, public: bool, restore: Restore) -> Column:
    dtype = series.dtype
    nulls = np.asarray(series.is_null().to_numpy(), dtype=np.bool_)
    missing = nulls if bool(nulls.any()) else None
    if dtype == nw.Boolean:
        values = np.asarray(series.fill_null(False).to_numpy() if missing is not None else series.to_numpy())
        return Column(values.astype(np.bool_, copy=False), "bool", missing, restore, from_numpy=True, typed=True)
    if dtype in (nw.Int128, nw.UInt128):  # NumPy has no such type
        column = from_sequence(series.to_list(), restore)
        return replace(column, missing=either(missing, column.missing), typed=True)
    if dtype.is_integer():
        values = np.asarray(series.fill_null(0).to_numpy() if missing is not None else series.to_numpy())
        return Column(values, "int", missing, restore, from_numpy=True, typed=True)
    if dtype.is_float():
        values = np.asarray(series.fill_null(0.0).to_numpy() if missing is not None else series.to_numpy())
        return Column(values, "float", missing, restore, from_numpy=True, typed=True)
    if isinstance(dtype, nw.Datetime) and dtype.time_zone is not None:
        raise DataError(
            "Dates with a time zone are not supported, since their day depends on it. Turn them into dates first."
        )
    if dtype in (nw.Date, nw.Datetime):
        stamps = np.asarray(series.to_numpy())
        if stamps.dtype.kind == "M":
            return Column(stamps.astype(DAY), "date", missing, restore, typed=True)
    if dtype in (nw.String, nw.Categorical, nw.Enum, nw.Date, nw.Datetime, nw.Object, nw.Unknown):
        listed: list[Any] = series.to_list()
        if missing is not None:
            listed = [None if gap else v for v, gap in zip(listed, missing.tolist(), strict=True)]
        column = from_sequence(listed, restore, public=public)
        # pandas' object columns say nothing; narwhals guesses from their values.
        typed = dtype not in (nw.Object, nw.Unknown) and getattr(series.to_native(), "dtype", None) != np.dtype(object)
        if dtype == nw.String and column.family != "text":  # nothing but gaps
            column = replace(column, values=np.full(len(listed), "", dtype=object), family="text")
        return replace(
            column,
            missing=either(missing, column.missing),
            categories=tuple(dtype.categories) if isinstance(dtype, nw.Enum) else None,
            typed=typed,
        )
    raise DataError(
        f"Columns of type {dtype} are not supported. Convert them to numbers, text, true/false or dates first."
    )


def _rebuild(series: Any, values: NDArray[Any], family: Family | None, keep: Mask | None, nw: Any) -> Any:
    """Return values in the library, type, name and index of ``series``, as far as they fit (family None: no type)."""
    native = series.to_native()
    same = _family_of_array(values) == family
    listed: Any = values.tolist() if values.dtype == object or values.dtype.kind == "M" else values
    if nw.dependencies.is_pandas_series(native):
        index = native.index if keep is None else native.index[keep]
        out = type(native)(listed, index=index, name=native.name, dtype=object if not len(values) else None)
        return _cast(lambda: _astype_pandas(out, native.dtype), out) if same or not len(values) else out
    if nw.dependencies.is_polars_series(native):
        out = type(native)(native.name, listed)
        return _cast(lambda: out.cast(native.dtype), out) if same or not len(values) else out
    if series.implementation.is_pyarrow():
        arrow = sys.modules["pyarrow"]
        out = arrow.chunked_array([arrow.array(listed)])
        if not (same or not len(values)):
            return out
        cast = _cast(lambda: out.cast(native.type), None)  # stamps need a cast, dictionaries the type from the start
        return cast or _cast(lambda: arrow.chunked_array([arrow.array(listed, type=native.type)]), out)
    return nw.new_series(series.name, listed, backend=series.implementation).to_native()


def _astype_pandas(series: Any, dtype: Any) -> Any:
    out = series.astype(dtype)
    if series.dtype.kind == "i" and not bool((out == series).all()):
        raise OverflowError  # pandas wraps around silently
    return out


def _cast(attempt: Callable[[], Any], fallback: Any) -> Any:
    """Keep the column's own type where the noisy values fit it; -3 does not fit an unsigned column."""
    try:
        return attempt()
    except Exception:  # each library has its own exception for a value that does not fit
        return fallback


def _family_of_array(values: NDArray[Any]) -> Family:
    families: dict[str, Family] = {"b": "bool", "i": "int", "u": "int", "f": "float", "M": "date"}
    return families.get(values.dtype.kind, "text")
