"""Values to numbers and back: every data type of the paper as codes that noise can be added to."""

from __future__ import annotations

import datetime
import re
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pydplib.errors import DataError, ParameterError
from pydplib.paper.categories import check_categories, encode_categories
from pydplib.paper.coded import Coded, check_finite
from pydplib.paper.containers import Column, Mask, either
from pydplib.paper.words import Kind, OnMissing, kind_of

_EXACT = 2**53
"""A float holds every whole number up to this."""

_DECIMAL = re.compile(r"[+-]?([0-9]{1,30}(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]{1,3})?")
_WHOLE = re.compile(r"[+-]?[0-9]{1,18}")


def encode(
    column: Column,
    *,
    data_type: str | None,
    on_missing: OnMissing,
    categories: Sequence[Any] | None = None,
    public: bool = False,
    origin: int | None = None,
) -> tuple[Coded, Mask | None]:
    """Return a column as numbers, and which rows were kept (None: all of them).

    Args:
        column: The opened column.
        data_type: A parsed data type, or None to infer it.
        on_missing: What to do with missing values.
        categories: All categories in their order; else the sorted unique values.
        public: Whether no single value may make it fail: infinite ones stay, to be clamped; whole numbers are
            rounded; values of no category become "other" if that is one of them, else a category at random.
        origin: What large whole numbers are counted from; by default the smallest of them, where it must be.

    Raises:
        DataError: If values are missing, infinite, too large or not of the data type.
    """
    if categories is not None:
        categories = check_categories(categories)
    missing = missing_values(column)
    kept = column.values
    keep: Mask | None = None
    if missing is not None:
        if on_missing == "error":
            raise DataError(
                "Some values are missing. They are never noised silently: use on_missing='drop' to leave those "
                "records out, or (for text) on_missing='category' to make 'missing' a category of its own."
            )
        if on_missing == "drop":
            keep = ~missing
            kept, missing = column.values[keep], None
    name = data_type or _infer(column, kept, missing, categories)
    kind = kind_of(name)
    if missing is not None and kind != "category":
        raise DataError(
            "on_missing='category' makes 'missing' a category of its own, so it works for text only. "
            "Use on_missing='drop' for numbers, dates and true/false."
        )
    if kind == "category":
        members = encode_categories(
            column,
            kept,
            missing,
            name=name,
            categories=categories,
            with_missing=on_missing == "category",
            public=public,
        )
        return members, keep
    if categories is not None:
        raise ParameterError(f"categories= describe text; the data type here is {name}. Use bounds=(low, high).")
    if public and kind == "int" and column.family == "float":
        kept = np.rint(kept)
    codes = _CODERS[kind](column, kept)
    if kind == "int" and origin is None and not public:
        origin = _origin(codes)
    if kind == "int" and codes.dtype.kind not in "f" and origin:
        codes, counted = _count_from(origin, codes), origin
    else:
        codes, counted = codes.astype(np.float64) if codes.dtype.kind in "Ou" else codes, 0
    if codes.dtype.kind == "f":
        check_finite(codes, infinite=public)
    return Coded(codes, name, kind, origin=counted), keep


def _origin(codes: NDArray[Any]) -> int | None:
    """Return the smallest of whole numbers that a float cannot tell apart, but could if they were counted from it."""
    if codes.dtype.kind == "f" or not len(codes):
        return None
    low, high = int(codes.min()), int(codes.max())
    return low if max(abs(low), abs(high)) > _EXACT > high - low else None


def _count_from(origin: int, codes: NDArray[Any]) -> NDArray[Any]:
    if codes.dtype.kind == "O" or abs(origin) >= 2**62:
        return np.array([float(int(code) - origin) for code in codes.tolist()], dtype=np.float64)
    return codes.astype(np.int64) - origin


def missing_values(column: Column) -> Mask | None:
    """Return where values are missing: None, NaN, not-a-time, and text without a letter in it."""
    missing = column.missing
    if column.family == "float":
        gaps = np.isnan(column.values)
    elif column.family == "text":
        blank = {v for v in set(column.values.tolist()) if isinstance(v, str) and not v.strip()}
        if not blank:
            return missing
        gaps = np.fromiter((v in blank for v in column.values), dtype=np.bool_, count=len(column.values))
    else:
        return missing
    return either(missing, gaps)


def _infer(column: Column, values: NDArray[Any], missing: Mask | None, categories: Sequence[Any] | None) -> str:
    if categories is not None:
        return "char" if all(len(str(member)) == 1 for member in categories) else "string"
    if column.family == "text":
        present = values if missing is None else values[~missing]
        unique = set(present.tolist())
        if unique and all(isinstance(v, int) or _WHOLE.fullmatch(v.strip()) for v in unique):
            return "int"
        if unique and all(isinstance(v, int) or _DECIMAL.fullmatch(v.strip()) for v in unique):
            return "float"
        return "char" if unique and all(len(str(v)) == 1 for v in unique) else "string"
    if column.family == "date":
        return "date"
    if not column.from_numpy:
        return column.family
    return {"bool": "numpy bool", "int": "numpy integer", "float": "numpy float"}[column.family]


def public_type(column: Column, *, bounds: tuple[Any, Any] | None, categories: Sequence[Any] | None) -> str | None:
    """Return the data type by public facts alone, or None where the column's own dtype says it.

    A list with one decimal in it, or text that happens to be whole numbers, would let one record choose the type
    of everybody's output.
    """
    if categories is not None or (column.typed and column.family != "text"):
        return None  # of declared categories and of dtypes no value decides
    if column.family == "text":
        if not isinstance(bounds, Sequence):
            return "string"
        return "date" if any(isinstance(edge, str | datetime.date | np.datetime64) for edge in bounds) else "float"
    return "float" if column.family in ("int", "float") else column.family


def _parse_text(values: NDArray[Any], what: str, parse: Callable[[str], Any]) -> list[Any]:
    """Return parsed values; each distinct text is parsed once."""
    try:
        table = {v: parse(str(v).strip()) for v in set(values.tolist())}
    except (ValueError, OverflowError):
        raise DataError(
            f"Not every text can be read as {what}. Correct the values, or use data_type='string'."
        ) from None
    return [table[v] for v in values]


def _code_int(column: Column, values: NDArray[Any]) -> NDArray[Any]:
    if column.family == "text":
        return np.array(_parse_text(values, "a whole number", _parse_whole), dtype=np.int64)
    if column.family == "int":
        return values
    if column.family == "float":
        if bool((np.rint(values) == values).all()):  # infinite ones are found later
            return values.astype(np.float64, copy=False)
        raise DataError("data_type='int' needs whole numbers; some values have decimals. Use data_type='float'.")
    raise _mismatch("int", column)


def _parse_whole(text: str) -> int:
    if not _WHOLE.fullmatch(text):
        raise ValueError
    return int(text)


def _code_float(column: Column, values: NDArray[Any]) -> NDArray[Any]:
    if column.family == "text":
        return np.array(_parse_text(values, "a number", float), dtype=np.float64)
    if column.family in ("float", "int"):
        return values.astype(np.float64, copy=False)
    raise _mismatch("float", column)


def _code_bool(column: Column, values: NDArray[Any]) -> NDArray[Any]:
    if column.family == "bool":
        return values
    if column.family in ("int", "float"):
        if bool(((values == 0) | (values == 1)).all()):
            return values.astype(np.bool_)
        raise DataError("data_type='bool' needs true/false or 0/1; some values are neither.")
    raise _mismatch("bool", column)


def _code_date(column: Column, values: NDArray[Any]) -> NDArray[Any]:
    if column.family == "text":
        parsed = _parse_text(values, "a date like 2024-01-31", lambda text: np.datetime64(text, "D"))
        values = np.array(parsed, dtype="datetime64[D]")
    elif column.family != "date":
        raise _mismatch("date", column)
    return values.astype("datetime64[D]").astype(np.int64)


def _mismatch(data_type: str, column: Column) -> DataError:
    family = {"bool": "true/false", "int": "whole numbers", "float": "numbers", "text": "text", "date": "dates"}
    return DataError(
        f"data_type='{data_type}' was asked for, but the values are {family[column.family]}. "
        "Leave data_type out to have it inferred, or convert the values."
    )


_CODERS: dict[Kind, Callable[[Column, NDArray[Any]], NDArray[Any]]] = {
    "int": _code_int,
    "float": _code_float,
    "bool": _code_bool,
    "date": _code_date,
}
