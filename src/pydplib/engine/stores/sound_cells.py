"""Cells that an engine cannot read, in frames and Parquet: each becomes missing, or "other", before anybody asks.

Text that is not UTF-8, half characters, objects that have no text, points in time beyond the engine's calendar: one
such cell in one person's row would make every question on its column fail, and the failure would tell of that person.
"""

from __future__ import annotations

import datetime as dt
import decimal
import glob
import os
from collections.abc import Iterable
from typing import Any

import numpy as np

from pydplib._duckdb_files import file_or_pattern, parquet_source, sql_name
from pydplib.schema import Schema

UNREADABLE = "\ufffd"
"""What stands in a category's column for a cell that is no text: never a declared value, so "other"."""

_TICKS = {"s": 10**6, "ms": 10**3}  # microseconds, in which DuckDB counts
_MOST_MICROSECONDS = 2**63 - 2  # the last one means infinity
_MOST_DAYS = 2**31 - 2
_MOST_BITS = 14_000  # of a whole number that Python writes out
_PLAIN = {type(None), bool, float, decimal.Decimal, dt.date, dt.datetime, dt.time}  # their texts are sound
_PLAIN_IN_FRAMES = {"NAType", "NaTType"}  # missing, in the words of pandas


def looked_at(schema: Schema, stored: Iterable[Any]) -> list[Any]:
    """Return the columns of a table that a question can look at."""
    used = {*schema.stored, schema.person}
    return [name for name in stored if name in used]


def instead(schema: Schema, name: str) -> str | None:
    """Return what stands for an unreadable cell: nothing, but in a category's column a text that no list has.

    An unreadable id is nobody's: as ``M?ller``, several people would share one bound.
    """
    column = None if name == schema.person else schema.columns.get(name)
    return UNREADABLE if column is not None and column.has_other else None


# -- Arrow -----------------------------------------------------------------------------------------


def sound_arrow(table: Any, schema: Schema) -> Any:
    """Return an Arrow table whose cells DuckDB can read; the same one if they all are."""
    import pyarrow as pa

    if isinstance(table, pa.RecordBatch):
        table = pa.Table.from_batches([table])
    for name in looked_at(schema, table.column_names):
        place = table.column_names.index(name)
        column = table.column(place)
        sound = _sound_arrow_column(column, instead(schema, name))
        if sound is not column:
            table = table.set_column(place, name, sound)
    return table


def _sound_arrow_column(column: Any, missing: str | None) -> Any:
    import pyarrow as pa

    kind = column.type
    if pa.types.is_dictionary(kind) and _is_text(kind.value_type):
        return column if _is_valid(column) else _sound_arrow_column(column.cast(kind.value_type), missing)
    if _is_text(kind):
        if _is_valid(column):
            return column
        view = getattr(pa.types, "is_string_view", lambda _: False)(kind)
        raw = column.cast(pa.binary_view() if view else pa.large_binary())
        return pa.chunked_array([pa.array([_decoded(cell, missing) for cell in raw.to_pylist()], pa.large_string())])
    if pa.types.is_timestamp(kind) and kind.unit in _TICKS:
        return _within(column, _MOST_MICROSECONDS // _TICKS[kind.unit])
    if pa.types.is_date64(kind):
        return _within(column, _MOST_DAYS * 86_400_000)
    return column


def _is_text(kind: Any) -> bool:
    import pyarrow as pa

    is_view = getattr(pa.types, "is_string_view", lambda _: False)
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind) or is_view(kind))


def _is_valid(column: Any) -> bool:
    import pyarrow as pa

    try:
        column.validate(full=True)
    except pa.ArrowInvalid:
        return False
    return True


def _within(column: Any, most: int) -> Any:
    """Return points in time without those further from 1970 than this many ticks."""
    import pyarrow as pa
    import pyarrow.compute as pc

    ticks = column.cast(pa.int64())
    beyond = pc.or_(pc.greater(ticks, most), pc.less(ticks, -most))
    if not pc.any(beyond).as_py():
        return column
    return pc.if_else(beyond, pa.scalar(None, pa.int64()), ticks).cast(column.type)


def _decoded(cell: bytes | None, missing: str | None) -> str | None:
    try:
        return None if cell is None else cell.decode("utf-8")
    except UnicodeDecodeError:
        return missing


# -- pandas ----------------------------------------------------------------------------------------


def sound_pandas(frame: Any, schema: Schema) -> Any:
    """Return a pandas frame whose cells DuckDB can read; the caller's own stays as it is."""
    changed = {}
    for name in looked_at(schema, frame.columns):
        sound = _sound_series(frame[name], instead(schema, name))
        if sound is not frame[name]:
            changed[name] = sound
    if not changed:
        return frame
    kept = frame.copy(deep=False)
    for name, series in changed.items():
        kept[name] = series
    return kept


def _sound_series(series: Any, missing: str | None) -> Any:
    import pandas as pd

    dtype = series.dtype
    unit = getattr(dtype, "unit", None) or (str(dtype)[11:-1] if str(dtype).startswith("datetime64[") else None)
    if unit in _TICKS:
        most = _MOST_MICROSECONDS // _TICKS[unit]
        ticks = series.astype("int64")  # NaT is the smallest of all
        beyond = ((ticks > most) | (ticks < -most)) & series.notna()
        return series.mask(beyond) if beyond.any() else series
    if isinstance(dtype, pd.CategoricalDtype):
        cells = list(dtype.categories)
        return series if all(_sound(cell, missing) is cell for cell in cells) else _as_objects(series, missing)
    kept = getattr(series.array, "_pa_array", None)
    if kept is not None:  # text or anything else that Arrow keeps
        import pyarrow as pa

        column = kept if isinstance(kept, pa.ChunkedArray) else pa.chunked_array([kept])
        sound = _sound_arrow_column(column, missing)
        return series if sound is column else pd.Series(sound.to_pylist(), index=series.index, dtype=object)
    if isinstance(dtype, pd.StringDtype) or getattr(dtype, "hasobject", False):
        return _as_objects(series, missing)
    return series


def _as_objects(series: Any, missing: str | None) -> Any:
    import pandas as pd

    return pd.Series([_sound(cell, missing) for cell in series], index=series.index, dtype=object)


def _sound(cell: Any, missing: str | None) -> Any:
    """Return a cell that has a text of whole characters."""
    kind = type(cell)
    if kind is str:
        if cell.isascii():
            return cell
    elif kind is int:
        return cell if cell.bit_length() < _MOST_BITS else missing
    elif kind in _PLAIN or issubclass(kind, np.number | np.bool_) or kind.__name__ in _PLAIN_IN_FRAMES:
        return cell
    try:
        text = cell if kind is str else str(cell)
        text.encode("utf-8")
    except Exception:  # whatever an object of the caller raises
        return missing
    return text


# -- Parquet ---------------------------------------------------------------------------------------


def sound_parquet(connection: Any, path: str, schema: Schema, name: str) -> None:
    """Make a table of what a Parquet file holds, its unreadable cells replaced; for files with such cells only."""
    try:
        import pyarrow.parquet as pq
    except ImportError:
        pq = None
    if pq is None or "://" in path:
        return _sound_parquet_texts(connection, path, schema, name)
    import pyarrow as pa

    files = [path] if os.path.exists(path) else sorted(glob.glob(path, recursive=True))
    parts = []
    for file in files:
        found = pq.ParquetFile(file)
        columns = looked_at(schema, found.schema_arrow.names)
        parts.append(sound_arrow(found.read(columns=columns), schema))
    connection.register(name, pa.concat_tables(parts, promote_options="permissive"))
    return None


def _sound_parquet_texts(connection: Any, path: str, schema: Schema, name: str) -> None:
    """Do the same with DuckDB alone: a text that differs by how its wrong bytes are left out was no text."""
    one, other = (
        parquet_source(file_or_pattern(path), options=f"can_have_nan=true, utf8_validation='{way}'")
        for way in ("replace", "ignore")
    )
    described = connection.execute(f"DESCRIBE SELECT * FROM {one}").fetchall()
    columns = []
    for column, kind, *_ in described:
        if column not in looked_at(schema, [column]):
            continue
        quoted = sql_name(column)
        if kind == "VARCHAR":
            bad = "NULL" if instead(schema, column) is None else f"'{UNREADABLE}'"
            columns.append(
                f"CASE WHEN a.{quoted} IS DISTINCT FROM b.{quoted} THEN {bad} ELSE a.{quoted} END AS {quoted}"
            )
        else:
            columns.append(f"a.{quoted}")
    connection.execute(
        f"CREATE TEMP TABLE {name} AS SELECT {', '.join(columns)} FROM {one} a POSITIONAL JOIN {other} b"
    )
