"""Tables that stay in DuckDB: every row comes out once, and what counts as one value is written as one."""

from __future__ import annotations

import duckdb
import pytest

from pydplib.anonymity import Hierarchy, KAnonymity, LDiversity, anonymize
from pydplib.anonymity.tables import relations
from pydplib.errors import DataError

BIG = 9007199254740992


@pytest.mark.parametrize(
    ("kind", "cells", "leaves"),
    [
        ("DOUBLE", ["1.0", "1.0", "'nan'", "NULL"], [1.0]),
        ("FLOAT", ["1.0", "1.0", "'nan'", "NULL"], [1.0]),
        ("DOUBLE", ["1.0", "1.0", "0.0", "-0.0"], [0.0, 1.0]),
        ("DECIMAL(20,0)", ["1", "1", f"'{BIG}'", f"'{BIG + 1}'"], [1.0, float(BIG)]),
        ("HUGEINT", ["1", "1", f"'{BIG}'", f"'{BIG + 1}'"], [1.0, float(BIG)]),
    ],
)
def test_values_that_share_a_code_come_out_once_and_alike(kind, cells, leaves):
    rows = ", ".join(f"({cell}::{kind}, '{letter}')" for cell, letter in zip(cells, "abcd", strict=True))
    table = duckdb.sql(f"FROM (VALUES {rows}) t(x, s)")
    result = anonymize(table, {"x": Hierarchy.flat(leaves)}, "s", models=[KAnonymity(2), LDiversity(2)])
    found = result.data.fetchall()
    assert sorted(s for _, s in found) == list("abcd")
    assert len({repr(x) for x, _ in found}) == 2
    assert result.certificate.rows == 4 and result.certificate.k == 2


def test_times_a_nanosecond_apart_come_out_once_and_alike():
    table = duckdb.sql(
        "FROM (VALUES ('2020-01-01 10:00:00.000000001'::TIMESTAMP_NS, 'a'), "
        "('2020-01-01 10:00:00.000000002'::TIMESTAMP_NS, 'b')) t(x, s)"
    )
    result = anonymize(table, ["x"], "s", models=[KAnonymity(2)])
    found = result.data.fetchall()
    assert len(found) == 2 and len({x for x, _ in found}) == 1


def test_small_numbers_of_a_wide_type_keep_their_type():
    table = duckdb.sql("SELECT (i // 2)::DECIMAL(18,2) AS x FROM range(6) t(i)")
    result = anonymize(table, {"x": Hierarchy.flat(range(3))}, models=[KAnonymity(2)])
    assert [str(kind) for kind in result.data.types] == ["DECIMAL(18,2)"]


def test_a_column_may_be_called_like_a_helper():
    table = duckdb.sql("SELECT i // 3 AS pydplib_row, i AS PYDPLIB_ROW_, 'a' AS n, 'b' AS m FROM range(6) t(i)")
    result = anonymize(table, ["pydplib_row", "n", "m"], insensitive=["PYDPLIB_ROW_"], models=[KAnonymity(3)])
    assert result.data.columns == ["pydplib_row", "PYDPLIB_ROW_", "n", "m"]
    assert len(result.data.fetchall()) == 6


def test_output_that_does_not_add_up_is_refused_and_removed(tmp_path, monkeypatch):
    table = duckdb.sql("SELECT i // 3 AS x FROM range(6) t(i)")
    real = relations.shuffling
    monkeypatch.setattr(relations, "shuffling", lambda *parts: f"{real(*parts)} LIMIT 5")
    target = tmp_path / "out.parquet"
    with pytest.raises(DataError, match="do not add up"):
        anonymize(table, ["x"], models=[KAnonymity(2)], output=target)
    assert list(tmp_path.iterdir()) == []
