"""CSV in the wild: German files, other encodings, and odd rows that never choose between answer and error."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import polars as pl
import pytest

import pydplib as dp
from pydplib.engine import Measure, Plan
from pydplib.errors import ParameterError, SchemaError

SCHEMA = dp.Schema(
    {
        "psa": dp.Number(0, 100),
        "day": dp.Date("2017-01-01", "2018-12-31"),
        "bph": dp.Flag(),
        "ort": dp.Category(["Köln", "Bonn"]),
    },
    name="befunde",
)
PLAN = Plan(
    SCHEMA,
    by=["ort"],
    measures=[
        Measure("sum", "psa", low=0, high=100, step=0.5),
        Measure("count", "day"),
        Measure("sum", "bph", low=0, high=1, step=1),
        Measure("count", "bph"),
    ],
)
LINES = ["id;psa;day;bph;ort", "1;6,5;31.12.2017;ja;Köln", "2;7;2018-01-02;Nein;Köln", "3;1,0;31.02.2017;NEIN;Bonn"]
EXPECTED = [[27, 2, 0], [2, 0, 0], [1, 0, 0], [2, 1, 0]]


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "latin-1", "utf-16"])
def test_german_file_is_read_as_declared(tmp_path: Path, encoding: str) -> None:
    path = tmp_path / "befunde.csv"
    path.write_bytes("\r\n".join([*LINES, ""]).encode(encoding))
    with dp.load(path, SCHEMA) as table:
        assert [values.tolist() for values in table.aggregate(PLAN).values] == EXPECTED


def test_german_days_and_words_count_alike_on_polars(tmp_path: Path) -> None:
    rows = [line.split(";") for line in LINES[1:]]
    frame = pl.DataFrame({
        "psa": [6.5, 7.0, 1.0], "day": [r[2] for r in rows], "bph": [r[3] for r in rows], "ort": [r[4] for r in rows]
    })  # fmt: skip
    with dp.load(frame, SCHEMA) as table:
        assert [values.tolist() for values in table.aggregate(PLAN).values] == EXPECTED


def test_options_of_the_owner_decide_before_the_head_does(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text('x,y\n"6,5",1\n7.5,1\n')
    schema = dp.Schema({"x": dp.Number(0, 100)}, name="t")
    plan = Plan(schema, measures=[Measure("sum", "x", low=0, high=100, step=0.5)])
    for decimal, total in ((None, 15), (".", 15), (",", 13)):
        with dp.load(path, schema, decimal=decimal) as table:
            assert table.aggregate(plan).values[0].tolist() == [total]
    for wrong in ({"separator": ";;"}, {"decimal": "'"}, {"encoding": "ebcdic"}):
        with pytest.raises(ParameterError):
            dp.load(path, schema, **wrong)


def test_private_copy_is_gone_when_the_table_is_closed(tmp_path: Path) -> None:
    from pydplib.engine.duckdb_engine import spill_folder

    path = tmp_path / "befunde.csv"
    path.write_bytes("\n".join([*LINES, ""]).encode("latin-1"))
    table = dp.load(path, SCHEMA)
    assert len(list(Path(spill_folder()).glob("*.csv"))) == 1
    table.close()
    assert list(Path(spill_folder()).glob("*.csv")) == []


ODD = {
    "long": b"70000,50," + b"x" * 3_000_000 + b"\n",
    "longer": b"70000,50," + b"x" * 20_000_000 + b"\n",
    "return": b"70000,50,a\rb\n",
    "quote inside": b'70000,50,a"b\n',
    "text after a quote": b'70000,50,"a"b\n',
    "open quote at the end": b'70000,50,"abc\n',
    "many cells": b"70000,50,a,b,c\n",
    "few cells": b"70000\n",
    "no UTF-8": b"70000,50,\xff\xfe\n",
    "null": b"70000,50,a\0b\n",
    "line feed in quotes": b'70000,50,"a\nb"\n',
}


@pytest.mark.parametrize("odd", ODD)
def test_odd_row_beyond_the_head_moves_the_answer_by_its_own_person_only(tmp_path: Path, odd: str) -> None:
    path = tmp_path / "a.csv"
    path.write_bytes(b"id,age,note\n" + b"".join(b"%d,50,ok\n" % i for i in range(30_000)) + ODD[odd])
    schema = dp.Schema({"age": dp.Number(0, 100), "note": dp.Category(["ok"])}, person="id", name="t")
    for by in ((), ("note",)):
        with dp.load(path, schema) as table:
            values = table.aggregate(Plan(schema, by=by, measures=[Measure("count")])).values[0]
            assert 0 <= values.sum() - 30_000 * 2**16 <= 2**16


def test_csv_with_a_declared_name_twice_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("Age,age\n1,2\n")
    with pytest.raises(SchemaError, match="several columns"):
        dp.load(path, dp.Schema({"age": dp.Number(0, 100)}, name="t"))


def test_pandas_cell_with_half_a_character_is_one_cell_of_no_known_value() -> None:
    frame = pd.DataFrame({"id": range(100), "note": pd.Series(["ok"] * 99 + ["\ud800"], dtype=object)})
    schema = dp.Schema({"note": dp.Category(["ok"])}, person="id", name="t")
    with dp.load(frame, schema) as table:
        counts = table.aggregate(Plan(schema, by=["note"], measures=[Measure("count")])).values[0]
    assert counts.tolist() == [99 * 2**16, 2**16]
    assert frame["note"].iloc[99] == "\ud800"  # the caller's frame stays as it is
