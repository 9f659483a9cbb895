"""Tables in and out: integer codes from any data frame, frames back in their library, and what a reader tells apart."""

from __future__ import annotations

import datetime as dt
import decimal
import math
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from pydplib.anonymity.tables.columns import Ints
from pydplib.errors import DataError, ParameterError, column_hint, import_extra
from pydplib.tables import TableFile, open_relation, open_tables


@dataclass(frozen=True, eq=False)
class ColumnCodes:
    """One column as integers: ``values[codes[i]]`` is row i's value; ``None`` stands for missing."""

    name: str
    codes: Ints
    values: tuple[Any, ...]

    def __repr__(self) -> str:
        return f"Coded({self.name!r}, {len(self.codes)} rows)"


class Frame:
    """A table in memory behind one small interface. Its repr shows columns, never rows."""

    def __init__(self, table: Any) -> None:
        import narwhals as nw

        if isinstance(table, Mapping):
            raise DataError("A table is a data frame (pandas, Polars, PyArrow), a DuckDB relation or a path.")
        if isinstance(table, Frame):
            table = table.native
        self._frame: Any
        try:
            self._frame = nw.from_native(table, eager_only=True)
        except nw.exceptions.DuplicateError:
            raise DataError("The table has two columns of the same name. Rename one of them.") from None
        except TypeError:
            lazy = _collected(table)
            if lazy is None:
                raise DataError(
                    "The table must be a data frame (pandas, Polars, PyArrow), a DuckDB relation or a path. "
                    f"Got {type(table).__name__}."
                ) from None
            self._frame = lazy
        self.native: Any = self._frame.to_native()
        names = list(self._frame.columns)
        if len(set(names)) != len(names):
            raise DataError("The table has two columns of the same name. Rename one of them.")

    def __len__(self) -> int:
        return int(self._frame.shape[0])

    @property
    def columns(self) -> list[str]:
        """The names of the columns."""
        return list(self._frame.columns)

    def __repr__(self) -> str:
        return f"Frame(columns={self.columns})"

    def check_columns(self, names: Sequence[str], what: str) -> None:
        """Raise ``ParameterError`` with a suggestion for a name that the table does not have."""
        check_names(self.columns, names, what)

    def coded(self, name: str) -> ColumnCodes:
        """Return one column as integer codes."""
        return encode(name, self._frame[name])

    def take(self, name: str, rows: Ints, coded: ColumnCodes | None = None) -> Any:
        """Return the values of one column at ``rows``, as a column of the same library and kind.

        With its codes at hand every value is read from one row: cells that count as one value (null and NaN, 1 and
        1.0, 0.0 and -0.0) then also look alike. It is fast, too: reading a million rows in random order is slow,
        reading a few again and again is not. Categories that no released row has are dropped.
        """
        column = self._frame[name]
        if coded is None:
            return used_categories(column[rows])
        one = np.zeros(len(coded.values), dtype=np.int64)
        one[coded.codes] = np.arange(len(coded.codes))
        if len(coded.values) * 8 > len(rows):
            return used_categories(column[one[coded.codes[rows]]])
        return used_categories(column[one][coded.codes[rows]])

    def column_of(self, name: str, labels: Sequence[Any], ids: Ints) -> Any:
        """Return a new column ``labels[ids]`` in the library of this frame."""
        return make_column(name, labels, ids, self._frame.implementation)

    def build(self, columns: Sequence[tuple[str, Any]]) -> Any:
        """Return a frame of the same library from finished columns, without any earlier index."""
        import narwhals as nw

        series = [nw.maybe_reset_index(column).alias(name) for name, column in columns]
        if not series:
            raise DataError("No column would be left in the output.")
        native = series[0].to_frame().with_columns(*series[1:]).to_native()
        if getattr(native, "attrs", None):
            native.attrs = {}  # pandas hands on remarks of the input, whatever they say
        return native


def with_labels(table: Any) -> Any:
    """Return a table in which the row labels of a pandas frame are columns, unless they only count its rows.

    A frame that is written to a file takes its labels along: names, or places in the table that it was made from.

    Examples:
        >>> import pandas as pd
        >>> with_labels(pd.DataFrame({"age": [61, 70]}, index=["Ada", "Bob"])).columns.tolist()
        ['index', 'age']
    """
    pandas = sys.modules.get("pandas")
    if pandas is None or not isinstance(table, pandas.DataFrame):
        return table
    labels = table.index
    if labels.nlevels == 1 and labels.name is None and labels.equals(pandas.RangeIndex(len(table))):
        return table
    names: list[str] = []
    for level, name in enumerate(labels.names):
        base = str(name) if name is not None else "index" if labels.nlevels == 1 else f"level_{level}"
        while base in names or base in table.columns:
            base += "_"
        names.append(base)
    return table.reset_index(names=names)


def check_names(columns: Sequence[str], names: Sequence[str], what: str) -> None:
    """Raise ``ParameterError`` with a suggestion for a name that is not among a table's columns."""
    for name in names:
        if name not in columns:
            raise ParameterError(f"The table has no column '{name}' ({what}).{column_hint(name, columns)}")


def _collected(table: Any) -> Any:
    """Load a path, DuckDB relation or lazy frame into memory; None if it is none of these."""
    import narwhals as nw

    if isinstance(table, str | Path):
        table = open_relation(table)
    try:
        lazy = nw.from_native(table)
    except TypeError:
        return None
    if isinstance(lazy, nw.LazyFrame):
        for backend in ("polars", "pyarrow", "pandas"):
            try:
                return lazy.collect(backend)
            except ImportError:
                continue
            except Exception:
                if backend == "pandas":
                    raise DataError(
                        "The table cannot be loaded: a column has a type that no data frame holds."
                    ) from None
                continue
        import_extra("pyarrow", what="Loading a relation into memory", extra="tables")
    return None


def encode(name: str, series: Any) -> ColumnCodes:
    """Turn a column into codes; missing (null, NaN, NaT) is one value of its own."""
    implementation = series.implementation
    native = series.to_native()
    try:
        if implementation.is_pandas():
            codes, values = _encode_pandas(native)
        elif implementation.is_pyarrow():
            codes, values = _encode_pyarrow(native)
        elif implementation.is_polars():
            codes, values = _encode_polars(native)
        else:
            codes, values = encode_objects(series.to_list())
    except (TypeError, NotImplementedError):  # Arrow says the latter of structs
        raise DataError(
            f"Column '{name}' holds values that cannot be compared (lists or other objects). Use texts or numbers."
        ) from None
    return join_missing(name, codes, values)


def _encode_pandas(native: Any) -> tuple[Ints, list[Any]]:
    import pandas as pd

    dtype = native.dtype
    if isinstance(dtype, pd.CategoricalDtype):
        return _used_only(native.cat.codes.to_numpy().astype(np.int64), dtype.categories.tolist())
    if dtype.kind == "O" and dtype.name == "object":
        return encode_objects(native.tolist())
    codes, values = pd.factorize(native)
    return codes.astype(np.int64, copy=False), values.tolist()


def _encode_pyarrow(native: Any) -> tuple[Ints, list[Any]]:
    import pyarrow as pa

    whole = native.combine_chunks() if isinstance(native, pa.ChunkedArray) else native
    if isinstance(whole, pa.ChunkedArray):
        whole = pa.concat_arrays(whole.chunks) if whole.num_chunks else pa.array([], native.type)
    given = pa.types.is_dictionary(whole.type)
    if not given:
        whole = whole.dictionary_encode()
    codes = whole.indices.fill_null(-1).to_numpy(zero_copy_only=False).astype(np.int64)
    values = whole.dictionary.to_pylist()
    return _used_only(codes, values) if given else (codes, values)


def _encode_polars(native: Any) -> tuple[Ints, list[Any]]:
    import polars as pl

    if native.dtype == pl.Object:
        return encode_objects(native.to_list())
    values = native.drop_nulls().unique(maintain_order=True)
    if not len(values):
        return np.full(len(native), -1, dtype=np.int64), []
    table = pl.DataFrame({"v": values, "i": np.arange(len(values))})
    joined = pl.DataFrame({"v": native}).join(table, on="v", how="left", maintain_order="left")
    return joined["i"].fill_null(-1).to_numpy().astype(np.int64), values.to_list()


def encode_objects(cells: Sequence[Any]) -> tuple[Ints, list[Any]]:
    """Return codes and distinct values of cells of any kinds; a missing one has the code -1."""
    number: dict[Any, int] = {}
    values: list[Any] = []
    codes = np.empty(len(cells), dtype=np.int64)
    for row, cell in enumerate(cells):
        if is_missing(cell):
            codes[row] = -1
            continue
        # Kinds are kept apart: 1, True and "1" are three values.
        key = (type(cell) is bool, cell)
        at = number.get(key)
        if at is None:
            at = number[key] = len(values)
            values.append(cell)
        codes[row] = at
    return codes, values


def is_missing(cell: Any) -> bool:
    """Return whether a cell is missing: None, NaN, NaT or pandas' NA.

    Examples:
        >>> is_missing(None), is_missing(float("nan")), is_missing("")
        (True, True, False)
    """
    if cell is None:
        return True
    try:
        return not bool(cell == cell)
    except (TypeError, ValueError):
        return True


def join_missing(name: str, codes: Ints, values: Sequence[Any]) -> ColumnCodes:
    """Give all missing cells one code, the last, with the value None."""
    lost = np.array([is_missing(value) for value in values], dtype=bool)
    if lost.any():
        renumber = np.full(len(values) + 1, -1, dtype=np.int64)
        renumber[:-1][~lost] = np.arange(int((~lost).sum()))
        codes = renumber[codes]
        values = [value for value, gone in zip(values, lost, strict=True) if not gone]
    if len(codes) and codes.min() < 0:
        codes = np.where(codes < 0, len(values), codes)
        values = [*values, None]
    return ColumnCodes(name, codes, tuple(values))


def _used_only(codes: Ints, values: Sequence[Any]) -> tuple[Ints, list[Any]]:
    """Drop categories that no row has: they are not values of the table."""
    used = np.bincount(codes[codes >= 0], minlength=len(values)) > 0
    renumber = np.append(np.cumsum(used) - 1, -1)
    return renumber[codes], [value for value, kept in zip(values, used, strict=True) if kept]


def used_categories(series: Any) -> Any:
    """Drop what a column's dictionary lists but no row has: it would give away values of rows left out."""
    import narwhals as nw

    native = series.to_native()
    if series.implementation.is_pandas():
        if native.dtype.name == "category":
            return nw.from_native(native.cat.remove_unused_categories(), series_only=True)
        kind = getattr(native.dtype, "pyarrow_dtype", None)
        if kind is not None and hasattr(kind, "index_type"):
            import pandas as pd

            whole = _used_dictionary(native.array.__arrow_array__())
            return nw.from_native(pd.Series(whole, dtype=native.dtype, name=native.name), series_only=True)
    elif series.implementation.is_pyarrow() and hasattr(native.type, "index_type"):
        import pyarrow as pa

        return nw.from_native(pa.chunked_array([_used_dictionary(native)]), series_only=True)
    elif series.implementation.is_polars() and native.dtype.base_type().__name__ in ("Categorical", "Enum"):
        import polars as pl

        if isinstance(native.dtype, pl.Enum):
            present = set(native.unique().drop_nulls().cast(pl.String).to_list())
            kept = [value for value in native.dtype.categories.to_list() if value in present]
            return nw.from_native(native.cast(pl.String).cast(pl.Enum(kept)), series_only=True)
        return nw.from_native(native.cast(pl.String), series_only=True)
    return series


def _used_dictionary(native: Any) -> Any:
    import pyarrow as pa

    whole = native.combine_chunks() if isinstance(native, pa.ChunkedArray) else native
    if isinstance(whole, pa.ChunkedArray):
        whole = pa.concat_arrays(whole.unify_dictionaries().chunks) if whole.num_chunks else pa.array([], native.type)
    codes = whole.indices.fill_null(-1).to_numpy(zero_copy_only=False).astype(np.int64)
    used = np.bincount(codes[codes >= 0], minlength=len(whole.dictionary)) > 0
    renumber = np.append(np.cumsum(used) - 1, -1)
    indices = pa.array(renumber[codes], mask=codes < 0).cast(whole.type.index_type)
    values = whole.dictionary.take(pa.array(np.flatnonzero(used)))
    return pa.DictionaryArray.from_arrays(indices, values, ordered=whole.type.ordered)


def make_column(name: str, labels: Sequence[Any], ids: Ints, implementation: Any) -> Any:
    """Return the column ``labels[ids]``; labels of mixed kinds become texts."""
    import narwhals as nw

    kinds = {type(label) for label in labels if label is not None}
    if len(kinds) > 1:
        labels, kinds = [None if label is None else str(label) for label in labels], {str}
    if not len(labels):
        labels, ids = [None], np.zeros(0, dtype=np.int64)
    dtype = nw.String() if kinds <= {str} else None
    return nw.new_series(name, list(labels), dtype, backend=implementation)[ids]


class SeenFrame(Frame):
    """A table as somebody sees it who has it before her.

    Columns are coded as in every ``Frame``; ``seen`` codes them finer, so that cells have one code only if nobody
    could tell them apart.

    Args:
        table: A table, as ``verify`` takes it. The path of a CSV file or a sheet is read twice: as values, and as it
            stands.
        spellings: A data frame of the same rows, with columns as texts as they stand in a file.
    """

    def __init__(self, table: Any, spellings: Any = None) -> None:
        self._spellings: Frame | None = None
        if isinstance(table, SeenFrame):
            super().__init__(table.native)
            self._spellings = table._spellings
            return
        if spellings is None and isinstance(table, str | Path):
            with open_tables() as tables:
                file = tables.open(table)
                table, spellings = file.frame(), file.spelled(list(file.columns))
        super().__init__(table)
        if spellings is None:
            return
        self._spellings = Frame(spellings)
        if len(self._spellings) != len(self):
            raise DataError("The spellings have another number of rows than the table.")

    @classmethod
    def of_file(cls, table: TableFile, apart: Sequence[str]) -> SeenFrame:
        """Load an open file; cells of ``apart`` are alike only if they are written alike."""
        return cls(table.frame(), table.spelled(apart))

    def seen(self, name: str) -> ColumnCodes:
        """Return one column as codes that are equal only where nobody can tell the cells apart."""
        column = self.coded(name)
        if self._spellings is not None and name in self._spellings.columns:
            return refine(column, self._spellings.coded(name).codes)
        return refine(column, _marks(self._frame[name]))


def refine(column: ColumnCodes, marks: Ints | None) -> ColumnCodes:
    """Split the codes of a column by a second code; a value may then be listed several times.

    Examples:
        >>> fine = refine(ColumnCodes("x", np.array([0, 0, 1]), ("a", "b")), np.array([0, 1, 0]))
        >>> fine.codes.tolist(), fine.values
        ([0, 1, 2], ('a', 'a', 'b'))
    """
    if marks is None or not len(marks) or not marks.any():
        return column
    width = int(marks.max()) + 1
    pairs, codes = np.unique(column.codes * width + marks, return_inverse=True)
    return ColumnCodes(
        column.name, codes.astype(np.int64), tuple(column.values[pair // width] for pair in pairs.tolist())
    )


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
    """Return what a cell shows next to its value; texts, which are most cells, show themselves."""
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
