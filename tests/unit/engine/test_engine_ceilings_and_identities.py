"""Sums beyond 64 bits are exact; one person is one person; one name is one column."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import duckdb
import pandas as pd
import pyarrow as pa
import pytest

import pydplib as dp
from pydplib.engine import Measure, Plan
from pydplib.engine.answers import whole
from pydplib.engine.plan import WHOLE_LIMIT
from pydplib.engine.sql.server_dialects import SqliteDialect
from pydplib.errors import SchemaError


@pytest.mark.parametrize("cells", [[2**62] * 4, [-(2**62)] * 4, [2**40, -1, -(2**33) - 5], []])
def test_sqlite_sums_in_two_halves_without_an_error(cells: list[int]) -> None:
    with closing(sqlite3.connect(":memory:")) as db:
        db.execute("CREATE TABLE t (v INTEGER)")
        db.executemany("INSERT INTO t VALUES (?)", [(cell,) for cell in cells])
        (total,) = db.execute(f"SELECT {SqliteDialect().wide_total('1 * v')} FROM t").fetchone()
    assert whole(total) == whole(sum(cells))


def test_sums_of_any_size_are_read_as_they_are() -> None:
    for total in (0, WHOLE_LIMIT - 3, WHOLE_LIMIT + 5, 2**64, -(2**63), -(2**90)):
        assert whole(total) == total


def _count_of(path: Path, kind: str, ids: list[Any]) -> int:
    with closing(sqlite3.connect(path)) as db:
        db.execute(f"CREATE TABLE t (id {kind}, x REAL)")
        db.executemany("INSERT INTO t VALUES (?, 1.0)", [(i,) for i in ids])
        db.commit()
    schema = dp.Schema({"x": dp.Number(0, 2)}, person="id", max_rows_per_person=1, name="t")
    with dp.load(path, schema, table="t") as table:
        return int(table.aggregate(Plan(schema, measures=[Measure("count")])).values[0][0])


@pytest.mark.parametrize("kind", ["", "BLOB", "TEXT", "INTEGER", "NUMERIC"])
def test_sqlite_person_stored_in_two_types_is_one_person(tmp_path: Path, kind: str) -> None:
    assert _count_of(tmp_path / "a.db", kind, [1, "1"]) == 2**16
    assert _count_of(tmp_path / "b.db", kind, [1, "1", "2", 2]) == 2 * 2**16


def test_sqlite_person_without_a_type_as_whole_real_is_the_same_person(tmp_path: Path) -> None:
    assert _count_of(tmp_path / "a.db", "", [1, 1.0, "1", None, ""]) // 2**14 == 3  # 3 x floor(2^16 / 3)


def test_sqlite_person_in_a_strict_any_column_is_one_person(tmp_path: Path) -> None:
    assert _count_of(tmp_path / "a.db", "ANY", [1, "1"]) == 2**16


@pytest.mark.parametrize("names", [("age", "age"), ("Age", "age")])
def test_frame_with_one_declared_name_twice_is_refused(names: tuple[str, str]) -> None:
    schema = dp.Schema({"age": dp.Number(0, 100)}, name="t")
    table = pa.table([[1.0], [2.0]], names=list(names))
    frame = pd.DataFrame([[1.0, 2.0]], columns=list(names))
    for source in (table, frame):
        with pytest.raises(SchemaError, match="several columns for 'age'"):
            dp.load(source, schema)


def test_frame_with_another_name_twice_is_loaded() -> None:
    schema = dp.Schema({"age": dp.Number(0, 100)}, name="t")
    frame = pd.DataFrame([[1.0, 2.0, 3.0]], columns=["age", "note", "Note"])
    with dp.load(frame, schema) as table:
        assert int(table.aggregate(Plan(schema, measures=[Measure("count")])).values[0][0]) == 1
    with dp.load(duckdb.sql("SELECT 5.0 AS age"), schema) as table:
        assert table.columns == ("age",)


def test_sqlite_day_that_is_not_in_the_calendar_is_missing_as_elsewhere(tmp_path: Path) -> None:
    days = ["2018-02-28", "2018-02-29", "2018-02-31", "2016-02-29", "31.04.2018", "30.04.2018", "2018-13-01"]
    with closing(sqlite3.connect(tmp_path / "a.db")) as db:
        db.execute("CREATE TABLE t (day TEXT)")
        db.executemany("INSERT INTO t VALUES (?)", [(day,) for day in days])
        db.commit()
    schema = dp.Schema({"day": dp.Date("2016-01-01", "2018-12-31")}, name="t")
    plan = Plan(schema, measures=[Measure("count", "day"), Measure("sum", "day", low=0, high=20_000, step=1)])
    with dp.load(tmp_path / "a.db", schema, table="t") as lite, dp.load(pa.table({"day": days}), schema) as duck:
        found, expected = lite.aggregate(plan), duck.aggregate(plan)
    assert [v.tolist() for v in found.values] == [v.tolist() for v in expected.values]
    assert found[0].tolist() == [3]
