"""The output is the container that came in: library, type, index, name."""

from __future__ import annotations

import datetime
import subprocess
import sys
from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import pydplib as dp
from pydplib.errors import DataError
from pydplib.paper.containers import fit_dtype, open_column

DAYS = [datetime.date(2020, 1, 1), datetime.date(2021, 6, 1), datetime.date(2024, 2, 29)]
STAMPS = [datetime.datetime(2020, 1, 1, 5), datetime.datetime(2021, 6, 1), datetime.datetime(2024, 2, 29, 23, 59)]


def noisy(data, **options):
    return dp.dp_calculate(data, "mean", "high", **{"is_range": True, **options}).dp_data


@pytest.mark.parametrize("kind", [list, tuple])
@pytest.mark.parametrize(
    "values", [[61, 70, 55], [0.5, 1.5, 9.0], [True, False, True], ["n", "y", "n"], DAYS, STAMPS], ids=str
)
def test_sequences_come_back_as_they_came(kind, values) -> None:
    out = noisy(kind(values))
    assert type(out) is kind
    assert {type(v) for v in out} == {type(v) for v in values}


@pytest.mark.parametrize("dtype", [np.int64, np.int8, np.uint16, np.float64, np.float32, np.bool_])
def test_lists_of_numpy_scalars_stay_lists_of_numpy_scalars(dtype) -> None:
    out = noisy([dtype(0), dtype(1), dtype(1)])
    assert isinstance(out, list)
    assert all(isinstance(value, dtype) for value in out)


@pytest.mark.parametrize(
    "dtype", ["int8", "int16", "int64", "uint8", "uint64", "float16", "float32", "float64", "bool", "U7", "M8[s]"]
)
def test_numpy_dtype_is_kept_where_the_values_fit(dtype) -> None:
    values = np.array([0, 1, 1, 0]).astype(dtype) if dtype != "U7" else np.array(["n", "y", "n", "n"])
    if dtype == "M8[s]":
        values = np.array(STAMPS, dtype="M8[s]")
    out = noisy(values)
    assert isinstance(out, np.ndarray)
    assert out.dtype.kind == values.dtype.kind
    assert dtype == "U7" or out.dtype == values.dtype


def test_numpy_dtype_is_widened_where_noise_leaves_it() -> None:
    out = noisy(np.array([0, 1, 2, 255] * 50, dtype=np.uint8), is_range=False)
    assert out.dtype == np.int64
    assert out.min() < 0
    half = noisy(np.array([60000.0, -60000.0] * 20, dtype=np.float16), is_range=False)
    assert np.isfinite(half).all()


def test_numpy_masked_array_has_missing_values() -> None:
    data = np.ma.masked_array([61, 70, 999], mask=[False, False, True])
    with pytest.raises(DataError, match="missing"):
        noisy(data)
    assert len(noisy(data, on_missing="drop")) == 2
    text = np.ma.masked_array(np.array(["a", "b", 5], dtype=object), mask=[False, False, True])
    assert set(noisy(text, on_missing="drop")) <= {"a", "b"}


def test_numpy_object_array_comes_back_as_one() -> None:
    out = noisy(np.array(["n", "y", "n"], dtype=object))
    assert out.dtype == object


@pytest.mark.parametrize(
    "series",
    [
        pd.Series([61, 70, 55]),
        pd.Series([61, 70, None], dtype="Int64"),
        pd.Series([0.5, 1.5, None]),
        pd.Series([0.5, 1.5, None], dtype="Float32"),
        pd.Series([True, False, True]),
        pd.Series([True, False, None], dtype="boolean"),
        pd.Series(["n", "y", None]),
        pd.Series(["n", "y", None], dtype="string"),
        pd.Series(["n", "y", None], dtype=object),
        pd.Series(["n", "y", None], dtype="category"),
        pd.Series(pd.Categorical(["n", "y", None], categories=["y", "n"], ordered=True)),
        pd.Series(pd.to_datetime(STAMPS)),
        pd.Series([*DAYS[:2], None], dtype=object),
        pd.Series([1, 2, 3], dtype="int64[pyarrow]"),
    ],
    ids=lambda series: str(series.dtype),
)
def test_pandas_keeps_dtype_index_and_name(series) -> None:
    series.index, series.name = ["a", "b", "c"], "age"
    out = noisy(series, on_missing="drop")
    assert isinstance(out, pd.Series)
    assert out.name == "age"
    assert list(out.index) == list(series.index[series.notna()])
    assert out.dtype == series.dtype


def test_pandas_narrow_dtype_is_widened_not_wrapped() -> None:
    out = noisy(pd.Series([0, 1, 2, 255] * 50, dtype="uint8"), is_range=False)
    assert out.dtype == np.int64
    assert out.min() < 0


@pytest.mark.parametrize(
    "series",
    [
        pl.Series("age", [61, 70, None]),
        pl.Series("age", [61, 70, None], dtype=pl.UInt8),
        pl.Series("age", [0.5, 1.5, None], dtype=pl.Float32),
        pl.Series("age", [True, False, None]),
        pl.Series("age", ["n", "y", None]),
        pl.Series("age", ["n", "y", None], dtype=pl.Categorical),
        pl.Series("age", ["n", "y", None], dtype=pl.Enum(["y", "n"])),
        pl.Series("age", [*DAYS[:2], None]),
        pl.Series("age", [*STAMPS[:2], None]),
    ],
    ids=lambda series: str(series.dtype)[:20],
)
def test_polars_keeps_dtype_and_name(series) -> None:
    out = noisy(series, on_missing="drop")
    assert isinstance(out, pl.Series)
    assert (out.name, out.dtype, len(out)) == ("age", series.dtype, 2)


@pytest.mark.parametrize("chunked", [False, True])
@pytest.mark.parametrize(
    "array",
    [
        pa.array([61, 70, None]),
        pa.array([61, 70, None], pa.int16()),
        pa.array([0.5, 1.5, None]),
        pa.array([True, False, None]),
        pa.array(["n", "y", None]),
        pa.array(["n", "y", None]).dictionary_encode(),
        pa.array([*DAYS[:2], None]),
        pa.array([*STAMPS[:2], None]),
    ],
    ids=lambda array: str(array.type)[:20],
)
def test_pyarrow_keeps_the_type(array, chunked) -> None:
    data = pa.chunked_array([array[:1], array[1:]]) if chunked else array
    out = noisy(data, on_missing="drop")
    assert isinstance(out, pa.ChunkedArray if chunked else pa.Array)
    assert out.type == array.type
    assert len(out) == 2


@pytest.mark.parametrize(
    "empty",
    [
        [],
        (),
        np.array([]),
        pd.Series([], dtype="float64", name="x"),
        pl.Series("x", [], dtype=pl.Int8),
        pa.array([], pa.int8()),
    ],
    ids=lambda data: type(data).__module__,
)
def test_empty_containers_come_back_empty(empty) -> None:
    out = noisy(empty)
    assert type(out) is type(empty)
    assert len(out) == 0


def test_pandas_index_when_everything_is_dropped_is_empty() -> None:
    out = noisy(pd.Series([None, None], dtype="float64", index=[4, 5]), on_missing="drop")
    assert len(out) == 0


@pytest.mark.parametrize(
    "data", [[True, 1], [1.5, "a"], [DAYS[0], 1], [DAYS[0], "a"], [1 + 2j], [{}], [b"x", "y"], [[1], [2]]], ids=str
)
def test_mixed_or_unknown_kinds_are_an_error(data) -> None:
    with pytest.raises(DataError, match="one kind of value"):
        noisy(data)


@pytest.mark.parametrize(
    "data", [5, 5.0, None, "abc", b"abc", {1: 2}, {1, 2}, object()], ids=lambda data: type(data).__name__
)
def test_things_that_are_no_column_are_an_error(data) -> None:
    with pytest.raises(DataError, match="One column of values is needed"):
        noisy(data)


@pytest.mark.parametrize(
    "table", [pd.DataFrame({"a": [1]}), pl.DataFrame({"a": [1]}), pa.table({"a": [1]})], ids=lambda t: type(t).__name__
)
def test_tables_are_an_error_that_says_how_to_take_a_column(table) -> None:
    with pytest.raises(DataError, match=r"table\['age'\]"):
        noisy(table)


@pytest.mark.parametrize(
    "data",
    [
        np.array([1 + 2j]),
        np.array([(1,)], dtype=[("a", int)]),
        pl.Series([[1]]),
        pd.Series(pd.to_timedelta([1], unit="D")),
        pd.Series(pd.to_datetime(["2020-01-01"]).tz_localize("Europe/Berlin")),
        [datetime.datetime(2020, 1, 1, tzinfo=datetime.UTC)],
    ],
    ids=lambda data: str(getattr(data, "dtype", "zoned list"))[:20],
)
def test_unsupported_types_are_an_error(data) -> None:
    with pytest.raises(DataError, match="not supported"):
        noisy(data)


def test_fit_dtype_leaves_other_kinds_alone() -> None:
    assert fit_dtype(np.array([1.5]), np.dtype("int64")).dtype == np.float64


def test_open_column_of_a_range_gives_a_list_back() -> None:
    assert open_column(range(3)).restore(np.array([1, 2]), None) == [1, 2]


def test_lists_and_arrays_need_no_data_frame_library() -> None:
    script = (
        "import sys, numpy as np, pydplib as dp\n"
        "dp.dp_calculate([1, 2, 3], 'mean', 'high'); dp.dp_calculate(np.ones(3) > 0, 'count', 'low')\n"
        "loaded = {'narwhals', 'pandas', 'polars', 'pyarrow', 'plotly', 'duckdb', 'click'} & set(sys.modules)\n"
        "assert not loaded, loaded"
    )
    subprocess.run([sys.executable, "-c", script], check=True)


def test_pandas_needs_neither_polars_nor_pyarrow() -> None:
    script = (
        "import sys\nfor name in ('polars',): sys.modules[name] = None\n"
        "import pandas as pd, pydplib as dp\n"
        "out = dp.dp_calculate(pd.Series([1, 2, 3]), 'mean', 'high').dp_data\n"
        "assert isinstance(out, pd.Series)"
    )
    subprocess.run([sys.executable, "-c", script], check=True)


@pytest.mark.parametrize("data", [np.array([b"n", b"y", b"n"] * 20), [b"n", b"y", b"n"] * 20, (b"\xff", b"y") * 20])
def test_bytes_come_back_as_bytes_of_the_same_words(data) -> None:
    out = dp.dp_calculate(data, 1, 1, is_range=True, data_type="char").dp_data
    assert type(out) is type(data) and set(out) <= set(data)
    if isinstance(data, np.ndarray):
        assert out.dtype == data.dtype
    with pytest.raises(DataError, match="bytes and text"):
        open_column([b"n", "y"])


def test_decimals_of_databases_come_back_as_floats() -> None:
    values = [Decimal("0.5"), Decimal("1.5"), Decimal("9.0")]
    for data in (values, np.array(values), pd.Series(values), pl.Series(values), pa.array(values)):
        out = noisy(data)
        assert type(out) is type(data) or isinstance(out, pa.Array)
        assert all(isinstance(float(value.as_py() if isinstance(value, pa.Scalar) else value), float) for value in out)
        assert not any(isinstance(value, Decimal) for value in out)
    assert np.isnan(open_column([Decimal("sNaN"), Decimal(1)]).values).tolist() == [True, False]


@pytest.mark.filterwarnings("error")
def test_lazy_frame_is_refused_without_a_warning_of_its_library() -> None:
    with pytest.raises(DataError, match="pass one column"):
        open_column(pl.LazyFrame({"age": [61, 70]}))
