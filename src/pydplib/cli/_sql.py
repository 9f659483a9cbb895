"""Words between Python and DuckDB: types, names and texts."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from pydplib._duckdb_files import sql_name as identifier
from pydplib._duckdb_files import sql_text as literal
from pydplib.errors import DataError

__all__ = ["SQL_TYPES", "asked_kind", "fits", "identifier", "literal", "parquet_kind", "sql_ready"]

SQL_TYPES = {"int": "BIGINT", "float": "DOUBLE", "bool": "BOOLEAN", "date": "DATE", "text": "VARCHAR"}

_WHOLE_NUMBERS = {
    "TINYINT": 8,
    "SMALLINT": 16,
    "INTEGER": 32,
    "BIGINT": 64,
    "UTINYINT": -8,
    "USMALLINT": -16,
    "UINTEGER": -32,
    "UBIGINT": -64,
}


def asked_kind(data_type: str | None) -> str | None:
    """Return the kind that a data type of the paper asks for."""
    if data_type is None:
        return None
    return {"char": "text", "string": "text"}.get(data_type, data_type.removeprefix("numpy ").replace("integer", "int"))


def parquet_kind(sql_type: str) -> str:
    """Return the kind of values that a Parquet column holds."""
    if sql_type in _WHOLE_NUMBERS:
        return "int"
    if sql_type in ("FLOAT", "DOUBLE") or sql_type.startswith("DECIMAL"):
        return "float"
    if sql_type == "BOOLEAN":
        return "bool"
    if sql_type == "DATE" or sql_type in ("TIMESTAMP", "TIMESTAMP_S", "TIMESTAMP_MS", "TIMESTAMP_NS"):
        return "date"
    if sql_type == "VARCHAR" or sql_type.startswith("ENUM"):
        return "text"
    raise DataError(
        f"Columns of type {sql_type.split('(')[0]} are not supported. Convert it to numbers, text, true/false or dates."
    )


def fits(values: NDArray[Any], sql_type: str) -> bool:
    """Tell whether whole numbers fit a column's type; noise can need a wider one."""
    bits = _WHOLE_NUMBERS[sql_type]
    low, high = (0, 2**-bits - 1) if bits < 0 else (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1)
    return not len(values) or (low <= int(values.min()) and int(values.max()) <= high)


def sql_ready(values: NDArray[Any], keep: NDArray[np.bool_] | None) -> NDArray[Any]:
    """Return values as DuckDB takes them, with a filler at the rows that are left out."""
    if values.dtype.kind == "M":
        values = values.astype("datetime64[us]")
    if values.dtype == object and len(values) and isinstance(values[0], int):
        values = values.astype(np.float64)  # whole numbers beyond 64 bits
    if keep is None:
        return values
    full = np.empty(len(keep), dtype=values.dtype)
    full[~keep] = "" if values.dtype == object else np.zeros((), dtype=values.dtype)
    full[keep] = values
    return full
