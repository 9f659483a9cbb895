"""Any one-dimensional container in, the same container out: lists, NumPy, pandas, Polars, PyArrow."""

from __future__ import annotations

import datetime
import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import KW_ONLY, dataclass, replace
from decimal import Decimal
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from pydplib.errors import DataError

Family: TypeAlias = Literal["bool", "int", "float", "text", "date"]
Mask: TypeAlias = NDArray[np.bool_]
Restore: TypeAlias = Callable[[NDArray[Any], "Mask | None"], Any]
"""Makes the user's kind of container from new values; the mask says which input rows they belong to."""

DAY = np.dtype("datetime64[D]")


@dataclass(frozen=True, slots=True)
class OpenColumn:
    """One column, opened: a clean array, where values are missing, and the way back.

    Attributes:
        values: One-dimensional; object dtype for text (and for whole numbers beyond 64 bits).
        family: What kind of values they are.
        missing: True where a value is missing, or None if none is.
        restore: The way back to the container that came in.
        from_numpy: Whether the values are NumPy's own types.
        categories: The order that an ordered categorical column brings along.
        typed: Whether the container's own dtype says the family, and not the values in it.
    """

    values: NDArray[Any]
    family: Family
    missing: Mask | None
    restore: Restore
    _: KW_ONLY
    from_numpy: bool = False
    categories: tuple[Any, ...] | None = None
    typed: bool = False

    def __repr__(self) -> str:
        # The values are private: a traceback with local variables must not show them.
        return f"Column({self.family}, {len(self.values)} values)"


def open_column(data: object, *, public: bool = False) -> OpenColumn:
    """Open a list, tuple, NumPy array, pandas or Polars Series, pandas array or Index, or PyArrow array.

    Args:
        data: The column.
        public: Whether values without a dtype come back as plain numbers, texts and dates, whichever types the
            single values had.

    Examples:
        >>> column = open_column((61, 70))
        >>> column.family, column.restore(np.array([60, 72]), None)
        ('int', (60, 72))
    """
    if isinstance(data, np.ndarray):
        return _from_numpy(data, public)
    if isinstance(data, str | bytes | dict | set | frozenset) or np.isscalar(data) or data is None:
        raise DataError(
            f"One column of values is needed: a list, an array or a series. Got {type(data).__name__}; "
            "put a single value into a list."
        )
    if isinstance(data, Sequence) and type(data).__module__.partition(".")[0] not in ("polars", "pyarrow"):
        return from_sequence(list(data), _restore_sequence(data, public), public=public)
    return open_series(data, public=public)


def _family_of(kind: type) -> str:
    if kind is type(None) or kind.__name__ in ("NAType", "NaTType"):
        return "missing"
    if issubclass(kind, bool | np.bool_):
        return "bool"
    if issubclass(kind, int | np.integer):
        return "int"
    if issubclass(kind, float | np.floating | Decimal):
        return "float"
    if issubclass(kind, str):
        return "text"
    if issubclass(kind, datetime.date | np.datetime64):
        return "date"
    return kind.__name__


def from_sequence(data: list[Any], restore: Restore, *, public: bool = False) -> OpenColumn:
    """Open Python objects of any one kind; if ``public``, moments come back as days like every other date."""
    kinds = set(map(type, data))
    families = {_family_of(kind) for kind in kinds}
    if families - {"missing"} == {"bytes"}:  # char
        data = [_text(v) if isinstance(v, bytes) else v for v in data]
        families.discard("bytes")
        families.add("text")
        restore = _as_bytes(restore)
    if any(issubclass(kind, Decimal) for kind in kinds):  # they come back as floats
        data = [_float(v) if isinstance(v, Decimal) else v for v in data]
    missing: Mask | None = None
    if "missing" in families:
        families.discard("missing")
        gaps = tuple(kind for kind in kinds if _family_of(kind) == "missing")
        missing = np.fromiter((isinstance(v, gaps) for v in data), dtype=np.bool_, count=len(data))
    if "float" in families and not families <= {"int", "float"}:
        # Many tools write a gap in text, dates or true/false as NaN.
        numbers = np.fromiter((_family_of(type(v)) == "float" for v in data), dtype=np.bool_, count=len(data))
        if all(v != v for v, number in zip(data, numbers.tolist(), strict=True) if number):
            families.discard("float")
            missing = either(missing, numbers)
    family = _one_family(families)
    from_numpy = bool(kinds) and all(issubclass(kind, np.generic) for kind in kinds)
    values = _typed(data, family, missing)
    if family == "date":
        missing = either(missing, np.isnat(values))
        if not public and any(issubclass(kind, datetime.datetime) for kind in kinds):
            return OpenColumn(values, family, missing, _as_stamps(restore), from_numpy=from_numpy)
    return OpenColumn(values, family, missing, restore, from_numpy=from_numpy)


def _text(value: bytes) -> str:
    """Return bytes as text; bytes that are no text survive the way there and back."""
    return value.decode("utf-8", "surrogateescape")


def _as_bytes(restore: Restore) -> Restore:
    """Give back bytes to whoever handed in bytes."""

    def restored(values: NDArray[Any], keep: Mask | None) -> Any:
        out = np.empty(len(values), dtype=object)
        out[:] = [str(value).encode("utf-8", "surrogateescape") for value in values]
        return restore(out, keep)

    return restored


def _float(value: Decimal) -> float:
    return float("nan") if value.is_nan() else float(value)  # a signalling NaN is no float


def _as_stamps(restore: Restore) -> Restore:
    """Give back moments (at midnight) to whoever handed in moments."""
    return lambda values, keep: restore(values.astype("datetime64[us]"), keep)


def _one_family(families: set[str]) -> Family:
    """Return the one family of a column. Whole numbers mix with decimals and with text, nothing else mixes."""
    for family in ("bool", "int", "float", "text", "date"):
        if families == {family}:
            return family
    if not families:
        return "float"
    if families == {"int", "float"}:
        return "float"
    if families == {"int", "text"}:
        return "text"
    known = {"bool": "true/false", "int": "numbers", "float": "numbers", "text": "text", "date": "dates"}
    named = sorted({known.get(family, family) for family in families})
    raise DataError(
        f"A column must hold one kind of value: numbers, text, true/false or dates. Got {' and '.join(named)}. "
        "Convert the values to one kind first."
    )


def _typed(data: list[Any], family: Family, missing: Mask | None) -> NDArray[Any]:
    filler = {"bool": False, "int": 0, "float": 0.0, "text": "", "date": np.datetime64("NaT", "D")}[family]
    filled = data if missing is None else [filler if gap else v for v, gap in zip(data, missing.tolist(), strict=True)]
    if family == "bool":
        return np.array(filled, dtype=np.bool_)
    if family == "float":
        return _floats(filled)
    if family == "int":
        try:
            return np.array(filled, dtype=np.int64)
        except OverflowError:
            _floats(filled)  # refuses what no float can hold
    if family == "date":
        return np.array([_day(v) for v in filled], dtype=DAY)
    out = np.empty(len(filled), dtype=object)
    out[:] = filled
    return out


def _floats(values: Iterable[Any]) -> NDArray[np.float64]:
    try:
        return np.array(values, dtype=np.float64)
    except OverflowError:
        raise DataError("Some whole numbers are too large to compute with. Use another unit.") from None


def _day(value: Any) -> Any:
    if isinstance(value, datetime.datetime):
        if value.tzinfo is not None:
            raise DataError(
                "Dates with a time zone are not supported, since their day depends on it. Turn them into dates first."
            )
        return np.datetime64(value.date(), "D")
    return np.datetime64(value, "D")


def _restore_sequence(data: Sequence[Any], public: bool) -> Restore:
    first = data[0] if len(data) and not public else None
    scalar = first.dtype if isinstance(first, np.generic) else None  # a list of NumPy numbers stays one

    def restore(values: NDArray[Any], keep: Mask | None) -> Any:
        listed: list[Any] = values.tolist() if scalar is None else list(fit_dtype(values, scalar))
        return tuple(listed) if isinstance(data, tuple) else listed

    return restore


def _from_numpy(data: NDArray[Any], public: bool) -> OpenColumn:
    if data.ndim != 1:
        raise DataError(f"One column of values is needed. Got an array of {data.ndim} dimensions; pass one column.")
    mask = np.ma.getmaskarray(data) if isinstance(data, np.ma.MaskedArray) else None
    missing = mask if mask is not None and bool(mask.any()) else None
    plain = np.ma.getdata(data) if mask is not None else data

    def restore(values: NDArray[Any], keep: Mask | None) -> Any:
        return fit_dtype(values, plain.dtype)

    kind = plain.dtype.kind
    if kind == "b":
        return OpenColumn(plain, "bool", missing, restore, from_numpy=True, typed=True)
    if kind in "iu":
        return OpenColumn(plain, "int", missing, restore, from_numpy=True, typed=True)
    if kind == "f":
        return OpenColumn(plain, "float", missing, restore, from_numpy=True, typed=True)
    if kind == "U":
        return OpenColumn(plain.astype(object), "text", missing, restore, typed=True)
    if kind == "S":  # char
        texts = np.empty(len(plain), dtype=object)
        texts[:] = [_text(value) for value in plain.tolist()]
        return OpenColumn(texts, "text", missing, _as_bytes(restore), typed=True)
    if kind == "M":
        days = plain.astype(DAY)
        return OpenColumn(days, "date", either(missing, np.isnat(days)), restore, typed=True)
    if kind == "O":
        values: list[Any] = plain.tolist()
        if missing is not None:
            values = [None if gap else v for v, gap in zip(values, missing.tolist(), strict=True)]
        column = from_sequence(values, restore, public=public)
        return OpenColumn(
            column.values, column.family, either(missing, column.missing), column.restore, from_numpy=column.from_numpy
        )
    raise DataError(
        f"NumPy arrays of dtype {plain.dtype} are not supported. Use numbers, true/false, text or datetime64."
    )


def either(first: Mask | None, second: Mask | None) -> Mask | None:
    """Return where either mask is set, or None if neither is anywhere."""
    out = first if second is None else second if first is None else first | second
    return out if out is not None and bool(out.any()) else None


def fit_dtype(values: NDArray[Any], dtype: np.dtype[Any]) -> NDArray[Any]:
    """Return values in the dtype that came in, where they fit; noise can need a wider one.

    Examples:
        >>> fit_dtype(np.array([-3, 200]), np.dtype("uint8")).dtype
        dtype('int64')
    """
    if values.dtype.kind == "i" and dtype.kind in "iu":
        info = np.iinfo(dtype)
        fits = not len(values) or (int(values.min()) >= info.min and int(values.max()) <= info.max)
        return values.astype(dtype, copy=False) if fits else values
    if values.dtype == object and dtype.kind in "iu":  # whole numbers beyond 64 bits, signed
        info = np.iinfo(dtype)
        fits = all(info.min <= value <= info.max for value in values)
        return values.astype(dtype) if fits else values
    if values.dtype.kind == dtype.kind and dtype.kind in "fM":
        try:
            with np.errstate(over="ignore"):
                narrow = values.astype(dtype, copy=False)
        except OverflowError:  # NumPy from 2.5 says so of dates; older ones wrap around
            return values
        # A half-precision column may be too narrow for its noise, and one of nanoseconds ends in the year 2262.
        if dtype.kind == "M":
            return narrow if bool((narrow.astype(values.dtype) == values).all()) else values
        return narrow if bool(np.isfinite(narrow).all()) else values
    if dtype.kind == "U" and values.dtype == object:
        return np.array([str(v) for v in values], dtype=np.str_)
    if dtype.kind == "S" and values.dtype == object:
        return np.array(values.tolist(), dtype=np.bytes_)
    if dtype.kind == "O":
        out = np.empty(len(values), dtype=object)
        out[:] = values.tolist()
        return out
    return values


def open_series(data: Any, *, public: bool = False) -> OpenColumn:
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


def _open_pandas(data: Any, pandas: Any, public: bool) -> OpenColumn:
    """Open what pandas hands out besides a Series: the array behind one (``.values``, ``.array``), or an index."""
    if isinstance(data, pandas.MultiIndex):
        raise DataError("One column of values is needed. Got an index of several levels; pass one level of it.")
    column = open_series(pandas.Series(data), public=public)

    def restore(values: NDArray[Any], keep: Mask | None) -> Any:
        out = column.restore(values, keep)
        return pandas.Index(out, name=data.name) if isinstance(data, pandas.Index) else out.array

    return replace(column, restore=restore)


def _open_series(series: Any, nw: Any, public: bool, restore: Restore) -> OpenColumn:
    dtype = series.dtype
    nulls = np.asarray(series.is_null().to_numpy(), dtype=np.bool_)
    missing = nulls if bool(nulls.any()) else None
    if dtype == nw.Boolean:
        values = np.asarray(series.fill_null(False).to_numpy() if missing is not None else series.to_numpy())
        return OpenColumn(values.astype(np.bool_, copy=False), "bool", missing, restore, from_numpy=True, typed=True)
    if dtype in (nw.Int128, nw.UInt128):  # NumPy has no such type
        column = from_sequence(series.to_list(), restore)
        return replace(column, missing=either(missing, column.missing), typed=True)
    if dtype.is_integer():
        values = np.asarray(series.fill_null(0).to_numpy() if missing is not None else series.to_numpy())
        return OpenColumn(values, "int", missing, restore, from_numpy=True, typed=True)
    if dtype.is_float():
        values = np.asarray(series.fill_null(0.0).to_numpy() if missing is not None else series.to_numpy())
        return OpenColumn(values, "float", missing, restore, from_numpy=True, typed=True)
    if isinstance(dtype, nw.Datetime) and dtype.time_zone is not None:
        raise DataError(
            "Dates with a time zone are not supported, since their day depends on it. Turn them into dates first."
        )
    if dtype in (nw.Date, nw.Datetime):
        stamps = np.asarray(series.to_numpy())
        if stamps.dtype.kind == "M":
            return OpenColumn(stamps.astype(DAY), "date", missing, restore, typed=True)
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
