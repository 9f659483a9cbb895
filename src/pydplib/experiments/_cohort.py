"""Columns of any table as NumPy arrays, and the groups in which the figures show them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pydplib.errors import DataError, column_hint

LEVELS = ("low", "medium", "high")
AGE_BOUNDS = (18, 100)
SCORES = (1, 2, 3, 4, 5)
AGE_GROUPS = ("< 50", "50–59", "60–69", "70–79", "80 +")
AGE_MIDDLES = (45, 55, 65, 75, 85)
FEWEST = 10
"""Groups with fewer reports are not drawn: a box or a variance of so few says little."""
_AGE_EDGES = (50, 60, 70, 80)


def read_columns(data: Any, *names: str) -> dict[str, NDArray[Any]]:
    """Return the named columns without the rows in which one of them is missing.

    Args:
        data: A pandas, Polars or PyArrow table, or a dict of arrays.
        names: The columns.

    Raises:
        DataError: The table has no such column.
    """
    if isinstance(data, Mapping):
        known: Any = data
        columns = {name: np.asarray(data[name]) for name in names if name in data}
        missing = {name: _is_missing(column) for name, column in columns.items()}
    else:
        import narwhals as nw

        frame = nw.from_native(data, eager_only=True)
        known = frame.columns
        columns, missing = {}, {}
        for name in names:
            if name in known:
                series = frame[name]
                missing[name] = series.is_null().to_numpy().astype(bool)
                # Nullable whole numbers turn into decimals here, and back below.
                columns[name] = series.to_numpy()
                missing[name] |= _is_missing(columns[name])
    for name in names:
        if name not in columns:
            raise DataError(f"The figure needs the column '{name}'.{column_hint(name, known)}")
    keep = ~np.logical_or.reduce(list(missing.values()))
    return {name: column[keep] for name, column in columns.items()}


def _is_missing(column: NDArray[Any]) -> NDArray[np.bool_]:
    if column.dtype.kind == "f":
        gaps: NDArray[np.bool_] = np.isnan(column)
        return gaps
    if column.dtype.kind == "O":
        return np.array([value is None or value is not value or value != value for value in column], dtype=bool)
    return np.zeros(column.shape, dtype=bool)


def whole(column: NDArray[Any]) -> NDArray[np.int64]:
    """Return a column without missing values as whole numbers."""
    return column.astype(np.int64)


def age_group(ages: NDArray[Any]) -> NDArray[np.int64]:
    """Return the position of each age in ``AGE_GROUPS``; the outer groups are open."""
    return np.searchsorted(_AGE_EDGES, ages, side="right")


def clip_ages(ages: Any) -> NDArray[np.int64]:
    """Return noisy ages within the public bounds: post-processing, so that no axis shows an age of -1."""
    within: NDArray[np.int64] = np.clip(np.asarray(ages), *AGE_BOUNDS).astype(np.int64)
    return within


def count_table(rows: NDArray[Any], columns: NDArray[Any], shape: tuple[int, int]) -> NDArray[np.int64]:
    """Count pairs of positions in a table of ``shape``."""
    flat = np.bincount(rows.astype(np.int64) * shape[1] + columns.astype(np.int64), minlength=shape[0] * shape[1])
    return flat.reshape(shape)
