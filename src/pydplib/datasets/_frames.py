"""Columns of NumPy arrays and category codes to pandas, Polars, PyArrow or a plain dict."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from pydplib.errors import ParameterError, did_you_mean


@dataclass(frozen=True, slots=True)
class Coded:
    """A text column as codes into a short list of values; -1 is missing."""

    values: tuple[str, ...]
    codes: NDArray[np.int8]


@dataclass(frozen=True, slots=True)
class Nullable:
    """A column of whole numbers, some of them missing."""

    numbers: NDArray[np.int64]
    missing: NDArray[np.bool_]


ColumnData: TypeAlias = Coded | Nullable | NDArray[Any]
Columns: TypeAlias = Mapping[str, ColumnData]


def to_frame(columns: Columns, backend: str | None, note: str) -> Any:
    """Return ``columns`` as a table of ``backend``, marked with ``note``.

    None takes the first that is installed of pandas, Polars and PyArrow, and a dict of NumPy
    arrays where there is none of them.
    """
    builders: dict[str, Callable[[Columns, str], Any]] = {
        "pandas": _to_pandas,
        "polars": _to_polars,
        "pyarrow": _to_pyarrow,
        "numpy": _to_numpy,
    }
    if backend is None:
        backend = next((name for name in builders if find_spec(name) is not None), "numpy")
    if backend not in builders:
        raise ParameterError(f"Unknown backend '{backend}'.{did_you_mean(backend, builders)}")
    if backend != "numpy" and find_spec(backend) is None:
        # pydplib has no extra for data frame libraries: people bring the one they use.
        raise ParameterError(
            f"A table of {backend} was asked for, and {backend} is not installed. "
            f"Install it with: pip install {backend}; or ask for backend='numpy', a dict of arrays."
        )
    return builders[backend](columns, note)


def _to_pandas(columns: Columns, note: str) -> Any:
    pd: Any = import_module("pandas")
    table = {}
    for name, column in columns.items():
        if isinstance(column, Coded):
            values = pd.array(list(column.values), dtype="str")
            table[name] = values.take(column.codes.astype(np.intp), allow_fill=True)
        elif isinstance(column, Nullable):
            table[name] = pd.arrays.IntegerArray(column.numbers, column.missing)
        elif column.dtype.kind == "M":
            table[name] = column.astype("datetime64[s]")
        else:
            table[name] = column
    frame = pd.DataFrame(table, copy=False)
    frame.attrs.update({"synthetic": True, "note": note})
    return frame


def _to_polars(columns: Columns, note: str) -> Any:
    pl: Any = import_module("polars")
    series = []
    for name, column in columns.items():
        if isinstance(column, Coded):
            values = pl.Series(name, column.values, dtype=pl.String)
            codes = pl.Series(column.codes.astype(np.int64))
            # An index of null gathers to null.
            series.append(values.gather(codes.set(codes < 0, None)))
        elif isinstance(column, Nullable):
            numbers = pl.Series(name, column.numbers)
            series.append(numbers.set(pl.Series(column.missing), None))
        else:
            series.append(pl.Series(name, column))
    return pl.DataFrame(series)


def _to_pyarrow(columns: Columns, note: str) -> Any:
    pa: Any = import_module("pyarrow")
    arrays = []
    for column in columns.values():
        if isinstance(column, Coded):
            index = pa.array(column.codes, mask=column.codes < 0)
            arrays.append(pa.array(column.values, type=pa.string()).take(index))
        elif isinstance(column, Nullable):
            arrays.append(pa.array(column.numbers, mask=column.missing))
        else:
            arrays.append(pa.array(column))
    table = pa.table(arrays, names=list(columns))
    return table.replace_schema_metadata({"synthetic": "true", "note": note})


def _to_numpy(columns: Columns, note: str) -> dict[str, NDArray[Any]]:
    table: dict[str, NDArray[Any]] = {}
    for name, column in columns.items():
        if isinstance(column, Coded):
            # The last entry answers to code -1.
            table[name] = np.array([*column.values, None], dtype=object)[column.codes]
        elif isinstance(column, Nullable):
            table[name] = np.where(column.missing, np.nan, column.numbers)
        else:
            table[name] = column
    return table
