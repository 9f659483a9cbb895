"""What a reader of a table can tell apart is apart: null and NaN, 0.0 and -0.0, 1 and "1", spellings in a file."""

from __future__ import annotations

import datetime as dt
import decimal
import math
from pathlib import Path
from typing import Any

import numpy as np

from pydplib._duckdb_files import connect, csv_source, file_or_pattern, sql_text
from pydplib.anonymity.frames import Coded, Frame, is_csv, is_missing, open_relation
from pydplib.anonymity.resolved import Ints
from pydplib.errors import DataError


class SeenFrame(Frame):
    """A table as somebody sees it who has it before her.

    Columns are coded as in every ``Frame``; ``seen`` codes them finer, so that cells have one code only if nobody
    could tell them apart.

    Args:
        table: A table, as ``verify`` takes it. The path of a CSV file is read twice: as values, and as it stands.
        spellings: A data frame of the same rows, with columns as texts as they stand in a file.
    """

    def __init__(self, table: Any, spellings: Any = None) -> None:
        self._spellings: Frame | None = None
        if isinstance(table, SeenFrame):
            super().__init__(table.native)
            self._spellings = table._spellings
            return
        if spellings is None and isinstance(table, str | Path) and is_csv(table):
            table, spellings = _read_csv(table)
        super().__init__(table)
        if spellings is None:
            return
        self._spellings = Frame(spellings)
        if len(self._spellings) != len(self):
            raise DataError("The spellings have another number of rows than the table.")

    def seen(self, name: str) -> Coded:
        """Return one column as codes that are equal only where nobody can tell the cells apart."""
        column = self.coded(name)
        if self._spellings is not None and name in self._spellings.columns:
            return refine(column, self._spellings.coded(name).codes)
        return refine(column, _marks(self._frame[name]))


def refine(column: Coded, marks: Ints | None) -> Coded:
    """Split the codes of a column by a second code; a value may then be listed several times.

    Examples:
        >>> fine = refine(Coded("x", np.array([0, 0, 1]), ("a", "b")), np.array([0, 1, 0]))
        >>> fine.codes.tolist(), fine.values
        ([0, 1, 2], ('a', 'a', 'b'))
    """
    if marks is None or not len(marks) or not marks.any():
        return column
    width = int(marks.max()) + 1
    pairs, codes = np.unique(column.codes * width + marks, return_inverse=True)
    return Coded(column.name, codes.astype(np.int64), tuple(column.values[pair // width] for pair in pairs.tolist()))


def _marks(series: Any) -> Ints | None:
    """Return what tells cells of one value apart: kinds of missing, signs of zero, kinds of a mixed column."""
    native, implementation = series.to_native(), series.implementation
    if implementation.is_pandas():
        if native.dtype == object:
            return _kinds(native.tolist())
        if native.dtype.kind != "f":
            return None
        lost = native.isna().to_numpy()
        return _float_marks(native.to_numpy(dtype="float64", na_value=math.nan), np.asarray(lost, dtype=bool))
    if implementation.is_polars():
        if native.dtype.is_float():
            return _float_marks(native.to_numpy(), native.is_null().to_numpy())
        return _kinds(native.to_list()) if native.dtype.base_type().__name__ == "Object" else None
    if implementation.is_pyarrow():
        import pyarrow as pa

        if pa.types.is_dictionary(native.type):
            native = native.cast(native.type.value_type)
        if not pa.types.is_floating(native.type):
            return None
        return _float_marks(native.to_numpy(), native.is_null().to_numpy())
    return _kinds(series.to_list())


def _float_marks(cells: Any, lost: Any) -> Ints:
    marks = np.zeros(len(cells), dtype=np.int64)
    marks[np.isnan(cells) & ~lost] = 1
    marks[np.signbit(cells) & (cells == 0)] = 2
    return marks


def _kinds(cells: list[Any]) -> Ints:
    number: dict[Any, int] = {}
    return np.array([number.setdefault(_kind(cell), len(number)) for cell in cells], dtype=np.int64)


def _kind(cell: Any) -> Any:
    """Return what a cell shows beside its value; texts, which are most cells, show themselves."""
    if type(cell) is str:
        return None
    if is_missing(cell):
        return type(cell).__name__
    if isinstance(cell, bool | np.bool_):
        return "truth"
    if isinstance(cell, int | np.integer):
        return "whole"
    if isinstance(cell, float | np.floating):
        return "number", math.copysign(1.0, cell) < 0 and cell == 0
    if isinstance(cell, decimal.Decimal):
        return "decimal", cell.as_tuple().exponent, cell.is_signed() and not cell
    if isinstance(cell, dt.datetime):
        return type(cell).__name__, str(cell.tzinfo), cell.utcoffset()
    return type(cell).__name__


def _read_csv(path: str | Path) -> tuple[Any, Any]:
    """Return a CSV file as values and as texts, row by row the same; a quoted nothing is not a missing cell."""
    import duckdb

    connection = connect()
    values = open_relation(path, connection)
    name = file_or_pattern(path)
    try:
        sniffed = f"SELECT Delimiter FROM sniff_csv({sql_text(name)}, header=true, quote='\"', escape='\"')"  # noqa: S608
        [(separator,)] = connection.execute(sniffed).fetchall()
        options = f"header=true, all_varchar=true, allow_quoted_nulls=false, delim={sql_text(separator)}"
        texts = connection.sql(f"FROM {csv_source(name, options=options)}")
    except duckdb.Error:
        raise DataError(f"The file '{path}' cannot be read as CSV or Parquet.") from None
    if texts.columns != values.columns:
        raise DataError(
            f"The separator of '{path}' cannot be told for sure. Load the file yourself and pass the frame."
        )
    return values, texts
