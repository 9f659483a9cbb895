"""Workbooks, names that are there twice, and cells that do not fit, on the way from a file to an answer."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import pydplib as dp
from pydplib.cli import main
from pydplib.errors import DataError, ParameterError, SchemaError

SCHEMA = """name = "reports"
person = "id"
max_rows_per_person = 1
[columns.age]
kind = "number"
low = 18
high = 100
[columns.pirads]
kind = "category"
values = [1, 2, 3]
[columns.seen]
kind = "date"
low = "2018-01-01"
high = "2018-12-31"
"""


@pytest.fixture
def call(capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("schema.toml").write_text(SCHEMA)

    def run(*args: str) -> tuple[int, str, str]:
        with pytest.raises(SystemExit) as done:
            main(list(args))
        captured = capsys.readouterr()
        return int(done.value.code or 0), captured.out, captured.err

    return run


def write_book(path: Path, rows: list[list[object]], *more: str) -> Path:
    openpyxl = pytest.importorskip("openpyxl")
    book = openpyxl.Workbook()
    book.active.title = "reports"
    for row in rows:
        book.active.append(row)
    for name in more:
        book.create_sheet(name).append(["x"])
    book.save(path)
    return path


def rows(count: int = 60) -> list[list[object]]:
    import datetime as dt

    head: list[object] = ["id", "age", "pirads", "seen", "note"]
    return [head, *([f"p{i}", 40.5 + i % 9, 1 + i % 3, dt.date(2018, 1, 1 + i % 28), f"w{i}"] for i in range(count))]


def test_workbook_goes_the_whole_way_from_schema_to_release(call, tmp_path):
    write_book(tmp_path / "reports.xlsx", rows(), "notes")
    code, _, err = call("schema", "init", "reports.xlsx", "-o", "draft.toml")
    assert code == 11 and "several sheets. Choose one with --sheet: reports, notes" in err
    code, out, _ = call("schema", "init", "reports.xlsx", "--sheet", "reports", "-o", "draft.toml")
    assert code == 0 and "pydplib schema check draft.toml reports.xlsx --sheet reports" in out
    assert 'kind = "number"' in Path("draft.toml").read_text() and 'kind = "date"' in Path("draft.toml").read_text()
    code, out, err = call("schema", "check", "schema.toml", "reports.xlsx", "--sheet", "reports")
    assert code == 0 and "Table 'reports' on DuckDB" in out and err == ""
    ask = ["--schema", "schema.toml", "-q", "mean age by pirads", "--epsilon", "0.5", "--recipient", "acme",
           "--ledger", "ledger.db", "--sheet", "reports", "--json"]  # fmt: skip
    assert json.loads(call("price", "reports.xlsx", *ask)[1])["epsilon"] == 0.5
    code, out, _ = call("release", "reports.xlsx", *ask)
    assert code == 0 and len(json.loads(out)["values"]) == 4
    code, _, err = call("release", "reports.xlsx", *ask[:-3], "--json")
    assert code == 11 and "table= (in the shell --sheet)" in err


def test_workbook_holds_the_same_integers_as_a_csv_and_its_copy_goes(tmp_path):
    from pydplib.engine import Measure, Plan
    from pydplib.engine.stores.duckdb_engine import spill_folder

    schema = dp.Schema.load(_schema(tmp_path))
    book = write_book(tmp_path / "a.xlsx", rows())
    text = "\n".join(",".join(map(str, row)) for row in rows())
    (tmp_path / "a.csv").write_text(text + "\n")
    plan = Plan(schema, by=["pirads"], measures=[Measure("sum", "age", low=18, high=100, step=0.5), Measure("count")])
    with dp.load(book, schema) as one, dp.load(tmp_path / "a.csv", schema) as other:
        first, second = one.aggregate(plan), other.aggregate(plan)
        assert [v.tolist() for v in first.values] == [v.tolist() for v in second.values]
        assert list(Path(spill_folder()).glob("*.csv")) == []
    before = len(list(Path(spill_folder()).glob("*.csv")))
    with pytest.raises(SchemaError):
        dp.load(book, dp.Schema({"nobody": dp.Flag()}))
    assert len(list(Path(spill_folder()).glob("*.csv"))) == before


def _schema(folder: Path) -> Path:
    path = folder / "schema.toml"
    path.write_text(SCHEMA)
    return path


def test_old_and_broken_workbooks_are_refused_in_words(tmp_path):
    (tmp_path / "a.xlsx").write_bytes(b"PK\x03\x04CANARY")
    with pytest.raises(DataError, match="cannot be read as an Excel file") as caught:
        dp.load(tmp_path / "a.xlsx", _schema(tmp_path))
    assert "CANARY" not in str(caught.value)
    with pytest.raises(ParameterError, match=r"Save it as \.xlsx first"):
        dp.load(tmp_path / "a.xls", _schema(tmp_path))


@pytest.mark.parametrize("names", [["id", "age", "age"], ["id", "age", "AGE"]])
def test_name_that_is_there_twice_in_parquet_is_refused(call, tmp_path, names):
    pq.write_table(pa.table([["p"], [1.0], [2.0]], names=names), tmp_path / "twice.parquet")
    schema = dp.Schema({"age": dp.Number(0, 10)}, person="id", max_rows_per_person=1)
    with pytest.raises(SchemaError, match="several columns for 'age'"):
        dp.load(tmp_path / "twice.parquet", schema)
    with pytest.raises(SchemaError, match="several columns for 'age'"):
        dp.load(tmp_path / "*.parquet", schema)
    code, _, err = call("schema", "init", "twice.parquet")
    assert code == 10 and f"Two columns are named '{names[2]}'" in err
    code, _, err = call("risk", "twice.parquet", "--quasi", "age")
    assert code == 10 and f"Two columns are named '{names[2]}'" in err
    Path("twice.csv").write_text(",".join(names) + "\np,1,2\n")
    code, _, err = call("schema", "init", "twice.csv")
    assert code == 10 and f"Two columns are named '{names[2]}'" in err


def test_name_that_is_twice_inside_another_column_is_no_matter(tmp_path):
    inner = pa.array([{"age": 1, "id": [1, 2]}])
    pq.write_table(pa.table({"age": [5.0], "nested": inner, "last": [1]}), tmp_path / "a.parquet")
    with dp.load(tmp_path / "a.parquet", dp.Schema({"age": dp.Number(0, 10), "last": dp.Flag()})) as table:
        assert table.columns == ("age", "last")


def test_schema_check_warns_of_cells_that_do_not_fit_and_shows_none(call):
    text = "id,age,pirads,seen\np,sixty-CANARY,1,2018-02-01\n,61,9,2018-02-31\nq,,2,\n"
    Path("reports.csv").write_text(text)
    code, out, err = call("schema", "check", "schema.toml", "reports.csv")
    assert code == 0 and "The schema is complete" in out
    assert err.splitlines() == [
        "Warning: Column 'age': some cells cannot be read as a number. They count as missing.",
        "Warning: Column 'pirads': some cells are not in the list of values. They count as 'other'.",
        "Warning: Column 'seen': some cells cannot be read as a day (2018-12-31 or 31.12.2018). They count as missing.",
        "Warning: Person column 'id': some rows do not say whose they are. They do not count.",
    ]


def test_schema_check_names_all_columns_that_are_missing(call):
    Path("reports.csv").write_text("ID,Age,pirads\np,61,1\n")
    code, _, err = call("schema", "check", "schema.toml", "reports.csv")
    assert code == 12 and "declares 3 columns that the table does not have" in err
    assert "'age' Did you mean 'Age'?" in err and "'seen'\n" in err and "'id' Did you mean 'ID'?" in err
