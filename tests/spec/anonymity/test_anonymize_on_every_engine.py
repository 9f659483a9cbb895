"""A small table in, its anonymized form out: the same on pandas, Polars, PyArrow, DuckDB and Parquet files."""

from __future__ import annotations

import datetime as dt
from collections import Counter
from pathlib import Path

import duckdb
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from pydplib.anonymity import (
    Dates,
    Hierarchy,
    Intervals,
    KAnonymity,
    LDiversity,
    Masking,
    Pseudonym,
    TCloseness,
    anonymize,
)
from pydplib.errors import DataError, ParameterError

ROWS = [
    # name, age, zip, sex, visit, ill
    ("n1", 31, "81667", "f", dt.date(2020, 1, 5), "flu"),
    ("n2", 33, "81675", "f", dt.date(2020, 1, 9), "burn"),
    ("n3", 38, "81669", "f", dt.date(2020, 1, 30), "gout"),
    ("n4", 36, "81675", None, dt.date(2020, 2, 5), "flu"),
    ("n5", 52, "81925", None, dt.date(2020, 2, 7), "flu"),
    ("n6", 55, "81927", None, dt.date(2020, 2, 8), "burn"),
    ("n7", 59, "81931", "m", dt.date(2020, 3, 1), "burn"),
    ("n8", 53, "81925", "m", dt.date(2020, 3, 2), "gout"),
    ("n9", 54, "81925", "m", dt.date(2020, 3, 3), 'it\'s "quoted"'),
]
NAMES = ["name", "age", "zip", "sex", "visit", "ill"]
TREES = {
    "age": Intervals(0, 99, [10, 50]),
    "zip": Masking(5),
    "sex": Hierarchy.flat(["f", "m"]),
    "visit": Dates("2020-01-01", "2020-12-31"),
}


def columns():
    return {name: [row[i] for row in ROWS] for i, name in enumerate(NAMES)}


def as_pandas(folder: Path):
    return pd.DataFrame(columns())


def as_polars(folder: Path):
    return pl.DataFrame(columns())


def as_pyarrow(folder: Path):
    return pa.table(columns())


def as_relation(folder: Path):
    connection = duckdb.connect()
    connection.register("seen", pa.table(columns()))
    return connection.sql("SELECT * FROM seen")


def as_parquet(folder: Path):
    path = folder / "it's a table.parquet"
    pl.DataFrame(columns()).write_parquet(path)
    return path


ENGINES = [as_pandas, as_polars, as_pyarrow, as_relation, as_parquet]


def cells(data) -> Counter:
    if isinstance(data, pa.Table):
        rows = [tuple(row.values()) for row in data.to_pylist()]
    elif isinstance(data, pd.DataFrame):
        rows = list(data.itertuples(index=False, name=None))
    elif isinstance(data, pl.DataFrame):
        rows = data.rows()
    else:
        rows = data.fetchall()
    return Counter(tuple(None if cell is None or cell != cell else str(cell)[:10] for cell in row) for row in rows)


@pytest.fixture(params=ENGINES, ids=lambda make: make.__name__.removeprefix("as_"))
def table(request, tmp_path):
    return request.param(tmp_path)


def test_optimal_generalization_is_the_same_everywhere(table):
    result = anonymize(table, TREES, "ill", models=[KAnonymity(3), LDiversity(2)], identifiers=["name"])
    # Worked out by hand: month and sex alone already make three classes of three.
    assert result.levels == {"age": 3, "zip": 3, "sex": 0, "visit": 1}
    assert cells(result.data) == Counter(
        [
            ("*", "81***", "f", "2020-01", "flu"),
            ("*", "81***", "f", "2020-01", "burn"),
            ("*", "81***", "f", "2020-01", "gout"),
            ("*", "81***", None, "2020-02", "flu"),
            ("*", "81***", None, "2020-02", "flu"),
            ("*", "81***", None, "2020-02", "burn"),
            ("*", "81***", "m", "2020-03", "burn"),
            ("*", "81***", "m", "2020-03", "gout"),
            ("*", "81***", "m", "2020-03", "it's \"quot"),
        ]
    )
    assert result.certificate.holds
    assert result.certificate.k == 3
    assert result.dropped == ("name",)


def test_suppression_is_the_same_everywhere(table):
    result = anonymize(table, TREES, "ill", models=[KAnonymity(3)], suppression=0.34)
    expected = anonymize(pd.DataFrame(columns()), TREES, "ill", models=[KAnonymity(3)], suppression=0.34)
    assert result.levels == expected.levels
    assert result.suppressed == expected.suppressed
    assert result.loss.granularity == pytest.approx(expected.loss.granularity, abs=1e-12)
    assert result.risk.before == expected.risk.before
    assert result.risk.after == expected.risk.after
    assert cells(result.data) == cells(expected.data)


@pytest.mark.parametrize("method", ["local", "cells", "mondrian"])
def test_other_methods_are_the_same_everywhere(table, method):
    words = {"models": [KAnonymity(2), TCloseness(0.8)], "method": method, "suppression": 0.3}
    result = anonymize(table, TREES, "ill", **words)
    expected = anonymize(pd.DataFrame(columns()), TREES, "ill", **words)
    assert result.loss.granularity == pytest.approx(expected.loss.granularity, abs=1e-12)
    assert cells(result.data) == cells(expected.data)
    assert [s.value for s in result.certificate.statements] == pytest.approx(
        [s.value for s in expected.certificate.statements], abs=1e-12
    )


def test_fresh_pseudonyms_are_made_everywhere(table):
    result = anonymize(table, TREES, "ill", models=[KAnonymity(3)], identifiers={"name": Pseudonym(prefix="X")})
    names = [row[0] for row in cells(result.data).elements()]
    assert len(set(names)) == len(ROWS)
    assert all(name.startswith("X") for name in names)


def test_engine_writes_parquet_and_refuses_what_it_cannot_do(tmp_path):
    target = tmp_path / "out.parquet"
    result = anonymize(as_parquet(tmp_path), TREES, "ill", models=[KAnonymity(3)], output=target)
    assert cells(pl.read_parquet(target)) == cells(result.data)
    relation = as_relation(tmp_path)
    for words in (
        {"identifiers": {"name": Pseudonym(key=b"0" * 32, consistent=True)}},
        {"previous": [result]},
    ):
        with pytest.raises(ParameterError, match="DuckDB"):
            anonymize(relation, TREES, "ill", models=[KAnonymity(3)], **words)
    with pytest.raises(ParameterError, match="Did you mean 'age'"):
        anonymize(relation, ["agge"], models=[KAnonymity(3)])
    with pytest.raises(DataError, match="There is no file"):
        anonymize(tmp_path / "absent.parquet", ["age"], models=[KAnonymity(3)])


def test_order_of_the_engines_output_differs_between_runs(tmp_path):
    connection = duckdb.connect()
    relation = connection.sql("SELECT (range % 2)::INT AS q, range AS s FROM range(300)")
    runs = [
        [row[1] for row in anonymize(relation, ["q"], "s", models=[KAnonymity(2)]).data.fetchall()] for _ in range(2)
    ]
    assert sorted(runs[0]) == sorted(runs[1]) == list(range(300))
    assert runs[0] != runs[1]
    assert runs[0] != sorted(runs[0])
