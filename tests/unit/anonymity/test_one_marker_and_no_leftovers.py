"""What counts as one value looks like one value in the output, and nothing of rows left out stays behind."""

from __future__ import annotations

import datetime as dt
import io

import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from pydplib.anonymity import Hierarchy, KAnonymity, anonymize

NAN = float("nan")


def _spellings(table, name):
    cells = table.column(name).to_pylist() if isinstance(table, pa.Table) else list(table[name])
    return {repr(cell) for cell in cells}


@pytest.mark.parametrize(
    "table",
    [
        pl.DataFrame({"x": [None, NAN, 1.0, 1.0]}, strict=False),
        pa.table({"x": pa.array([None, NAN, 1.0, 1.0], from_pandas=False)}),
        pd.DataFrame({"x": pd.Series([None, NAN, 1.0, 1.0], dtype=object)}),
        pd.DataFrame({"x": pd.Series([None, NAN, 1.0, 1.0], dtype=object)}).assign(y=0),
    ],
    ids=["polars", "pyarrow", "pandas", "pandas-two"],
)
def test_null_and_nan_of_one_class_are_written_as_one_marker(table):
    result = anonymize(table, {"x": Hierarchy.flat([1.0])}, models=[KAnonymity(2)])
    assert result.levels == {"x": 0}
    assert len(_spellings(result.data, "x")) == 2


def test_equal_numbers_of_other_spelling_are_written_alike():
    table = pd.DataFrame({"x": pd.Series([1, 1.0, 0.0, -0.0], dtype=object)})
    result = anonymize(table, {"x": Hierarchy.flat([0, 1])}, models=[KAnonymity(2)])
    assert len(_spellings(result.data, "x")) == 2


def test_a_sensitive_null_and_nan_are_written_as_one_marker():
    table = pl.DataFrame({"x": [1, 1, 1, 1], "s": [None, NAN, 1.0, 2.0]}, strict=False)
    assert len(_spellings(anonymize(table, {"x": Hierarchy.flat([1])}, "s", models=[KAnonymity(2)]).data, "s")) == 3


CELLS = {"q": ["a"] * 6 + ["SECRET-7"], "s": ["u", "v"] * 3 + ["HIDDEN-8"]}
WORDS = {"models": [KAnonymity(3)], "suppression": 0.2}
FLAT = {"q": Hierarchy.from_rows([["a", "a"], ["SECRET-7", "SECRET-7"]])}


def _arrow(ordered):
    whole = pa.table({name: pa.array(cells).dictionary_encode() for name, cells in CELLS.items()})
    if not ordered:
        return whole
    column = whole["q"].combine_chunks()
    fixed = pa.DictionaryArray.from_arrays(column.indices.cast("int8"), column.dictionary, ordered=True)
    return whole.set_column(0, "q", fixed)


@pytest.mark.parametrize(
    "table",
    [
        pd.DataFrame(CELLS).astype("category"),
        pd.DataFrame({n: pd.Series(c, dtype=pd.ArrowDtype(pa.dictionary(pa.int32(), pa.string())))
                      for n, c in CELLS.items()}),
        _arrow(False),
        _arrow(True),
        pl.DataFrame(CELLS, schema_overrides={"q": pl.Enum(["a", "SECRET-7"]), "s": pl.Categorical}),
    ],
    ids=["pandas", "pandas-arrow", "pyarrow", "pyarrow-ordered", "polars"],
)  # fmt: skip
@pytest.mark.parametrize("role", ["sensitive", "insensitive"])
def test_values_of_suppressed_rows_leave_the_dictionary(table, role):
    result = anonymize(table, FLAT, **{role: ["s"]}, **WORDS)
    assert result.suppressed.rows == 1
    data = result.data
    file = io.BytesIO()
    if isinstance(data, pa.Table):
        pq.write_table(data, file)
        assert {c.as_py() for name in ("q", "s") for c in data[name].combine_chunks().dictionary} == {"a", "u", "v"}
    elif isinstance(data, pl.DataFrame):
        data.write_parquet(file)
        assert "SECRET-7" not in repr(data.schema)
    else:
        data.to_parquet(file)
    assert not [word for word in (b"SECRET-7", b"HIDDEN-8") if word in file.getvalue()]


def test_remarks_of_the_input_frame_are_left_behind():
    table = pd.DataFrame({"q": ["a"] * 4, "s": list("uvuv")})
    table.attrs["source"] = "ward 7"
    result = anonymize(table, ["q"], "s", models=[KAnonymity(2)])
    assert result.data.attrs == {} and result.data["s"].attrs == {}
    assert table.attrs == {"source": "ward 7"}


def test_days_stay_days():
    table = pd.DataFrame({"q": [dt.date(2020, 1, 1)] * 4})
    assert set(anonymize(table, ["q"], models=[KAnonymity(2)]).data["q"]) == {dt.date(2020, 1, 1)}
