"""Loading: from everywhere, with errors that name the fix and never a cell."""

from __future__ import annotations

import sqlite3
import subprocess
import sys
import traceback
from contextlib import closing
from pathlib import Path

import duckdb
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import pydplib as dp
from pydplib.engine import Bound, Engine, Measure, Plan, Table, Where
from pydplib.engine.protocol import guarded
from pydplib.errors import DataError, EngineError, ParameterError, QuestionError, SchemaError

W = 2**16
CANARY = "Zaphod-Canary"
SCHEMA = dp.Schema(
    {
        "age": dp.Number(18, 100, unit="years"),
        "pirads": dp.Category([1, 2, 3]),
        "bph": dp.Flag(),
        "day": dp.Date("2017-01-01", "2018-12-31"),
    },
    person="id",
    max_rows_per_person=2,
    name="reports",
)
PLAN = Plan(
    SCHEMA,
    by=["pirads"],
    where=[Where("day").at_least("2017-06-01")],
    measures=[
        Measure("count"),
        Measure("sum", "age", low=18, high=100, step=1),
        Measure("sum", "bph", low=0, high=1, step=1),
    ],
)
CSV = f"""id,age,pirads,bph,day,name
a,61,1,y,2017-07-01,{CANARY}
a,n/a,2,n,2017-08-01,{CANARY}
b,700,3,True,2018-01-01T10:00:00,{CANARY}
c,50,seven,,2017-02-31,{CANARY}
,50,1,y,2017-07-01,{CANARY}
d,20,1,perhaps,2017-01-01,{CANARY}
"""
ANSWER = [[W, W, W, 0], [61 * W, 0, 100 * W, 0], [W, 0, W, 0]]


@pytest.fixture
def csv(tmp_path: Path) -> Path:
    path = tmp_path / "reports.csv"
    path.write_text(CSV, encoding="utf-8")
    return path


def answer(table: Table) -> list[list[int]]:
    return [values.tolist() for values in table.aggregate(PLAN).values]


def test_csv_is_read_as_declared_when_cells_are_dirty(csv: Path) -> None:
    with dp.load(csv, SCHEMA) as table:
        assert answer(table) == ANSWER


def test_every_way_in_gives_the_same_integers(csv: Path, tmp_path: Path) -> None:
    frame = pd.read_csv(csv)
    parquet = tmp_path / "reports.parquet"
    pq.write_table(pa.Table.from_pandas(frame, preserve_index=False), parquet)
    connection = duckdb.connect()
    connection.execute(f"CREATE SCHEMA ward; CREATE TABLE ward.reports AS FROM '{parquet}'")
    database = tmp_path / "reports.db"
    with closing(sqlite3.connect(database)) as lite, lite:
        frame.to_sql("reports", lite, index=False)
    toml = tmp_path / "schema.toml"
    toml.write_text(SCHEMA.to_toml(), encoding="utf-8")
    tables = {
        "pandas": dp.load(frame, SCHEMA),
        "arrow": dp.load(pa.Table.from_pandas(frame), SCHEMA),
        "polars": dp.load(pl.read_csv(csv), SCHEMA),
        "lazy polars": dp.load(pl.scan_parquet(parquet), SCHEMA),
        "parquet": dp.load(str(parquet), SCHEMA),
        "pattern": dp.load(str(tmp_path / "*.parquet"), SCHEMA),
        "relation": dp.load(connection.sql("FROM ward.reports"), SCHEMA),
        "connection": dp.load(connection, SCHEMA, table="ward.reports"),
        "sqlite": dp.load(database, SCHEMA, table="reports"),
        "schema file": dp.load(parquet, toml),
    }
    for name, table in tables.items():
        if name == "schema file":
            assert table.aggregate(Plan(table.schema, measures=[Measure("count")]))[0].tolist() == [5 * W], name
        else:
            assert answer(table) == ANSWER, name
        assert isinstance(table.engine, Engine)


def test_repr_shows_columns_and_no_cell(csv: Path) -> None:
    shown = repr(dp.load(csv, SCHEMA)) + repr(dp.load(csv, SCHEMA).engine)
    assert "age     number    18 to 100 years" in shown
    assert "person 'id', at most 2 rows each count" in shown
    assert CANARY not in shown
    assert "6" not in shown


def test_explain_is_the_statement_and_touches_no_data(csv: Path) -> None:
    table = dp.load(csv, SCHEMA)
    text = table.engine.explain(PLAN)
    assert "\n\nWITH rows_" in text
    assert table.engine._run("SELECT COUNT(*) FROM duckdb_tables() WHERE table_name LIKE 'pydplib_beyond%'") == [(0,)]  # type: ignore[attr-defined]
    assert CANARY not in text
    assert table.engine.explain(PLAN) == text
    assert "FILTER" in dp.load(pl.read_csv(csv), SCHEMA).engine.explain(PLAN)


def test_memory_limit_reaches_duckdb_or_is_refused() -> None:
    with dp.load(pa.table({"age": [1.0]}), dp.Schema({"age": dp.Number(0, 1)}), memory_limit="300MB") as table:
        limit = table.engine._run("SELECT current_setting('memory_limit')")[0][0]  # type: ignore[attr-defined]
        assert limit.endswith("MiB")
        assert float(limit.split()[0]) <= 300
    with pytest.raises(EngineError, match="memory_limit='lots'"):
        dp.load(pa.table({"age": [1.0]}), dp.Schema({"age": dp.Number(0, 1)}), memory_limit="lots")


@pytest.mark.parametrize(
    ("source", "options", "error", "words"),
    [
        ("absent.csv", {}, DataError, "no file 'absent.csv'"),
        ("absent.db", {"table": "t"}, DataError, "no file"),
        ("reports.db", {}, ParameterError, "table='reports'"),
        ("reports.docx", {}, ParameterError, "reads .csv"),
        ("oracle://host/db", {}, ParameterError, "Unknown address 'oracle://"),
        ("postgresql://127.0.0.1:1/x", {}, ParameterError, "table='reports'"),
        ("postgresql://user:secret@127.0.0.1:1/x", {"table": "t"}, EngineError, "nothing listens on port 1 "),
        ("spark://127.0.0.1:1", {}, ParameterError, "path="),
        (duckdb.connect, {}, ParameterError, "table='reports'"),
        ({"age": [1]}, {}, DataError, "cannot read a builtins.dict"),
    ],
)
def test_load_says_what_is_missing(source: object, options: dict[str, str], error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words) as caught:
        dp.load(source() if callable(source) else source, SCHEMA, **options)
    assert "secret" not in str(caught.value)


def test_columns_are_checked_by_name_and_type(csv: Path) -> None:
    frame = pd.read_csv(csv)
    for load_it in (lambda f: f, pl.from_pandas):
        with pytest.raises(SchemaError, match="Did you mean 'Age'"):
            dp.load(load_it(frame.rename(columns={"age": "Age"})), SCHEMA)
        with pytest.raises(SchemaError, match="declares column 'id'"):
            dp.load(load_it(frame.drop(columns="id")), SCHEMA)
        with pytest.raises(SchemaError, match="declared as number, but the table stores it as timestamp"):
            dp.load(load_it(frame.assign(age=pd.Timestamp("2020-01-01"))), SCHEMA)
    with pytest.raises(SchemaError, match="needs the schema"):
        dp.load(frame, {"age": "number"})  # type: ignore[arg-type]


def test_plan_of_another_schema_is_refused(csv: Path) -> None:
    other = Plan(dp.Schema({"age": dp.Number(0, 1)}), measures=[Measure("count")])
    for table in (dp.load(csv, SCHEMA), dp.load(pl.read_csv(csv), SCHEMA)):
        with pytest.raises(QuestionError, match="another schema"):
            table.aggregate(other)


def test_engine_errors_never_quote_the_engine() -> None:
    """A view of the owner that cannot cast a cell: DuckDB would quote it."""
    connection = duckdb.connect()
    connection.execute(f"CREATE TABLE raw AS SELECT 'a' AS id, '{CANARY}' AS age")
    connection.execute("CREATE VIEW reports AS SELECT id, CAST(age AS DOUBLE) AS age FROM raw")
    schema = dp.Schema({"age": dp.Number(0, 100)}, person="id", max_rows_per_person=1)
    plan = Plan(schema, measures=[Measure("sum", "age", low=0, high=100, step=1)])
    with pytest.raises(EngineError) as caught:
        dp.load(connection, schema, table="reports").aggregate(plan)
    error = caught.value
    assert CANARY not in "".join(traceback.format_exception(error))
    assert error.__context__ is None
    assert error.__cause__ is None


def test_sqlite_cells_count_by_their_own_type(tmp_path: Path) -> None:
    """SQLite lets a text into a column of numbers, and a number into a column of texts."""
    path = tmp_path / "odd.db"
    schema = dp.Schema({"age": dp.Number(0, 100), "kind": dp.Category(["y", "1"])}, person="id", max_rows_per_person=1)
    with closing(sqlite3.connect(path)) as lite, lite:
        lite.execute("CREATE TABLE t (id, age REAL, kind)")
        cells = [(1, "abc", "y"), (2, 9e999, 1), (3, b"\x00", b"y"), ("4", " 7 ", None), ("", 3, "y"), (5, None, "")]
        lite.executemany("INSERT INTO t VALUES (?, ?, ?)", cells)
    plan = Plan(schema, by={"kind": ("y", "1", "other", None)}, measures=[Measure("count"), Measure("count", "age")])
    with dp.load(path, schema, table="t") as table:
        exact = table.aggregate(plan)
    assert [v.tolist() for v in exact.values] == [[W, W, W, 2 * W], [0, W, 0, W]]


def test_parquet_nan_is_missing_when_statistics_hide_it(tmp_path: Path) -> None:
    schema = dp.Schema({"age": dp.Number(0, 100)}, person="id", max_rows_per_person=1)
    plan = Plan(schema, measures=[Measure("count", "age"), Measure("sum", "age", low=0, high=100, step=1)])
    data = pa.table({"id": list("abcd"), "age": [50.0, 60.0, float("nan"), 70.0]})
    for writer in ("pyarrow", "duckdb"):
        path = tmp_path / f"{writer}.parquet"
        if writer == "pyarrow":
            pq.write_table(data, path)
        else:
            duckdb.sql(f"COPY (FROM data) TO '{path}'")
        for source in (path, duckdb.sql(f"FROM '{path}'")):
            assert [v.tolist() for v in dp.load(source, schema).aggregate(plan).values] == [[3 * W], [180 * W]]


def test_spill_folder_is_private_and_goes_with_the_process() -> None:
    code = (
        "import os; from pydplib.engine.stores.duckdb_engine import spill_folder; folder = spill_folder();"
        "print(folder, oct(os.stat(folder).st_mode))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    folder, mode = done.stdout.split()
    assert mode.endswith("700")
    assert not Path(folder).exists()


_IN_A_NOTEBOOK = """
import sys, types
shell = types.SimpleNamespace(config={"IPKernelApp": {}})
fake = types.ModuleType("IPython")
fake.get_ipython, fake.display = (lambda: shell), types.ModuleType("IPython.display")
sys.modules |= {"IPython": fake, "IPython.display": fake.display, "ipywidgets": None}
import duckdb
try:
    duckdb.connect(":memory:").execute("SET enable_progress_bar = false")
except duckdb.InvalidInputException:
    pass  # what DuckDB says in a kernel without ipywidgets: the setting must be left alone
import pandas as pd, pydplib as dp
table = dp.load(pd.DataFrame({"age": [1.0]}), dp.Schema({"age": dp.Number(0, 9)}, name="r"))
print(table.check().rows)
"""


def test_table_loads_in_a_notebook_without_ipywidgets() -> None:
    done = subprocess.run([sys.executable, "-c", _IN_A_NOTEBOOK], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, "1\n"), done.stderr


NO_TEXTS = {
    "bytes": pl.Series([b"a", b"\xff", b""]),
    "points in time": pl.Series([0, 2**62, None], dtype=pl.Int64).cast(pl.Datetime("us")),
    "lists": pl.Series([["a"], [], None]),
    "decimals": pl.Series([0.5, 1.5, None]),
}


@pytest.mark.parametrize("kind", NO_TEXTS)
@pytest.mark.parametrize("as_arrow", [False, True])
def test_free_text_of_another_type_is_refused_by_its_type_alone(kind: str, as_arrow: bool) -> None:
    """No cell decides: a frame of clean cells of that type is refused with the same words."""
    schema = dp.Schema({"t": dp.Text()}, person="id", max_rows_per_person=1)
    bound = Bound("id", 1, mode="sample", max_groups=1, salt="s")
    plan = Plan(schema, by={"t": None}, bound=bound, measures=[Measure("count")])
    frame = pl.DataFrame({"id": ["x", "y", "z"], "t": NO_TEXTS[kind]})
    said = set()
    for rows in (frame, frame.head(1), frame.head(0)):
        table = dp.load(rows.to_arrow() if as_arrow else rows, schema)
        assert table.aggregate(Plan(schema, measures=[Measure("count")])).values[0][0] == len(rows) * 2**16
        with pytest.raises(SchemaError, match="unknown keys are texts or integers") as caught:
            table.aggregate(plan)
        said.add(str(caught.value))
    assert len(said) == 1


@pytest.mark.parametrize("as_arrow", [False, True])
def test_person_column_that_names_nobody_is_refused_at_load(as_arrow: bool) -> None:
    frame = pl.DataFrame({"id": [True, False], "age": [50.0, 60.0]})
    schema = dp.Schema({"age": dp.Number(0, 100)}, person="id", max_rows_per_person=1)
    with pytest.raises(SchemaError, match="person column 'id' must hold"):
        dp.load(frame.to_arrow() if as_arrow else frame, schema)


def test_panic_of_an_engine_keeps_its_words_inside() -> None:
    class PanicException(BaseException):
        """As Polars raises it: no Exception."""

    def panic() -> None:
        raise PanicException("the cell 4711 is out of range")

    with pytest.raises(EngineError) as caught:
        guarded("Polars", panic)
    assert "4711" not in str(caught.value) and caught.value.__context__ is None
    with pytest.raises(KeyboardInterrupt):
        guarded("Polars", lambda: (_ for _ in ()).throw(KeyboardInterrupt()))


def test_type_that_is_not_supported_is_refused_in_plain_words() -> None:
    connection = duckdb.connect()
    connection.execute("CREATE TABLE t (age TIME)")
    message = "'age' is declared as integer, but the table stores it in a type that is not supported"
    with pytest.raises(SchemaError, match=message):
        dp.load(connection, dp.Schema({"age": dp.Integer(0, 99)}), table="t")
