"""Columns of any table as NumPy arrays, and the groups in which the figures show them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pydplib.errors import DataError, column_hint

QUERIES = ("count", "mean", "median", "variance")
"""The four query types of the paper."""
AGE_BOUNDS = (18, 100)
SCORES = (1, 2, 3, 4, 5)
SCORE_LABELS = [f"PI-RADS {score}" for score in SCORES]
AGE_GROUPS = ("< 50", "50–59", "60–69", "70–79", "80 +")
AGE_MIDDLES = (45, 55, 65, 75, 85)
FEWEST = 10
"""Groups with fewer reports are not drawn: a box or a variance of so few says little."""
MOVED = f"Ages beyond {AGE_BOUNDS[0]} to {AGE_BOUNDS[1]} are drawn at these bounds."
_AGE_EDGES = (50, 60, 70, 80)


def read_columns(data: Any, *names: str) -> dict[str, NDArray[Any]]:
    """Return the named columns without the rows in which one of them is missing.

    Args:
        data: A pandas, Polars or PyArrow table, or a dict of arrays.
        names: The columns.

    Raises:
        DataError: The table has no such column, or is no table.
    """
    if isinstance(data, Mapping):
        known: Any = data
        columns = {name: _one_column(data[name]) for name in names if name in data}
        missing = {name: _is_missing(column) for name, column in columns.items()}
    else:
        import narwhals as nw

        try:
            frame = nw.from_native(data, eager_only=True)
        except TypeError:
            raise DataError(
                "The figures are drawn from a table: a pandas, Polars or PyArrow one, or a dict of columns. "
                f"Got {type(data).__name__}."
            ) from None
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
    if len({column.shape for column in columns.values()}) != 1:
        raise DataError("The columns of a table must be equally long.")
    keep = ~np.logical_or.reduce(list(missing.values()))
    return {name: column[keep] for name, column in columns.items()}


def _is_missing(column: NDArray[Any]) -> NDArray[np.bool_]:
    if column.dtype.kind == "f":
        gaps: NDArray[np.bool_] = np.isnan(column)
        return gaps
    if column.dtype.kind == "O":
        return np.array([value is None or value is not value or value != value for value in column], dtype=bool)
    return np.zeros(column.shape, dtype=bool)


def _one_column(values: Any) -> NDArray[Any]:
    try:
        column = np.asarray(values)
    except ValueError:
        column = np.zeros((0, 0))
    if column.ndim != 1:
        raise DataError("Every column of a table is a plain list of values.")
    return column


def _numbers(column: NDArray[Any], name: str) -> NDArray[np.float64]:
    """Return numbers, or say that a column holds none; what it holds is never quoted."""
    if column.dtype.kind == "O" and all(isinstance(value, int | float | np.number) for value in column):
        column = column.astype(np.float64)
    if column.dtype.kind not in "biuf" or not np.isfinite(column).all():
        raise DataError(f"The column '{name}' must hold finite numbers; it holds others. Correct it first.")
    return column.astype(np.float64)


def read_ages(columns: Mapping[str, NDArray[Any]]) -> tuple[NDArray[np.int64], bool]:
    """Return completed years of age within ``AGE_BOUNDS``, and whether one had to be moved there."""
    ages = np.floor(_numbers(columns["age"], "age"))
    low, high = AGE_BOUNDS
    moved = bool(((ages < low) | (ages > high)).any())
    return np.clip(ages, low, high).astype(np.int64), moved


def read_decimal_ages(columns: Mapping[str, NDArray[Any]]) -> tuple[NDArray[np.float64], bool]:
    """Return ages as decimals within ``AGE_BOUNDS``, and whether one had to be moved there."""
    ages = _numbers(columns["age"], "age")
    low, high = AGE_BOUNDS
    moved = bool(((ages < low) | (ages > high)).any())
    return np.clip(ages, low, high), moved


def read_scores(columns: Mapping[str, NDArray[Any]]) -> NDArray[np.int64]:
    """Return PI-RADS scores; whatever is not 1, 2, 3, 4 or 5 is an error, never another score."""
    scores = _numbers(columns["pirads"], "pirads")
    if not np.isin(scores, SCORES).all():
        raise DataError("The column 'pirads' must hold the scores 1 to 5; it holds others. Correct or remove them.")
    return scores.astype(np.int64)


def read_flags(column: NDArray[Any], name: str) -> NDArray[np.bool_]:
    """Return true/false values, or 0 and 1 as such; of words, "yes" is true and every other answer false."""
    if column.dtype.kind in "OU" and all(isinstance(value, str) for value in column):
        return np.asarray(column == "yes", dtype=np.bool_)
    if column.dtype.kind == "O" and all(isinstance(value, bool | np.bool_) for value in column):
        return column.astype(np.bool_)
    numbers = _numbers(column, name)
    if not np.isin(numbers, (0, 1)).all():
        raise DataError(f"The column '{name}' must hold true and false (or 1 and 0); it holds others.")
    return numbers.astype(np.bool_)


def age_group(ages: NDArray[Any]) -> NDArray[np.int64]:
    """Return the position of each age in ``AGE_GROUPS``; the outer groups are open."""
    return np.searchsorted(_AGE_EDGES, ages, side="right")


def clip_ages(ages: Any) -> NDArray[np.int64]:
    """Return noisy ages within the public bounds: post-processing, so that no axis shows an age of -1."""
    within: NDArray[np.int64] = np.clip(np.asarray(ages), *AGE_BOUNDS).astype(np.int64)
    return within


def count_table(rows: NDArray[Any], columns: NDArray[Any], shape: tuple[int, int]) -> NDArray[np.int64]:
    """Count pairs of positions in a table of ``shape``."""
    sides = ((rows, shape[0]), (columns, shape[1]))
    if rows.size and not all(places.min() >= 0 and places.max() < side for places, side in sides):
        raise DataError("A value lies beyond the axes of the figure.")
    flat = np.bincount(rows.astype(np.int64) * shape[1] + columns.astype(np.int64), minlength=shape[0] * shape[1])
    return flat.reshape(shape)
