"""Tables that Ibis opened: the same integers as from the database itself, and expressions are read once."""

from __future__ import annotations

import sys
import uuid
from typing import Any

import pyarrow as pa
import pytest

import pydplib as dp
from pydplib.engine import Measure, Plan, Where
from pydplib.errors import DataError, EngineError, SchemaError

ibis = pytest.importorskip("ibis")
W = 2**16

SCHEMA = dp.Schema(
    {
        "age": dp.Number(18, 100), "pirads": dp.Category([1, 2, 3, 4, 5]), "day": dp.Date("2017-01-01", "2018-12-31"),
        "note": dp.Category(["a", "b"]),
    },
    person="id", max_rows_per_person=2,
)  # fmt: skip
PLANS = [
    Plan(SCHEMA, by=["pirads"], measures=[Measure("count"), Measure("sum", "age", low=18, high=100, step=1)]),
    Plan(
        SCHEMA,
        by=["note"],
        where=[Where("age").at_least(50)],
        measures=[Measure("cells", "day", edges=[0, 17500, 20000])],
    ),
]


@pytest.fixture(scope="module")
def rows() -> pa.Table:
    frame = dp.datasets.pirads(n=300, seed=5, backend="pyarrow")
    notes = ["a", "b", "A", None, "a "] * 60
    return pa.table(
        {
            "id": frame["patient_id"], "age": frame["age"], "pirads": frame["pirads"], "day": frame["last_modified"],
            "note": pa.array(notes), "unused": pa.array(["CANARY"] * 300),
        }
    )  # fmt: skip


def _duckdb(request: pytest.FixtureRequest, rows: pa.Table) -> Any:
    connection = ibis.duckdb.connect()
    connection.con.register("given", rows)
    connection.raw_sql("CREATE TABLE reports AS SELECT * FROM given")
    return connection.table("reports")


def _postgres(request: pytest.FixtureRequest, rows: pa.Table) -> Any:
    import psycopg

    server, name = request.getfixturevalue("postgres_server"), f"reports_{uuid.uuid4().hex}"
    with psycopg.connect(server.url, autocommit=True) as session:
        session.execute(f"CREATE TABLE {name} (id int, age float8, pirads int, day date, note text, unused text)")
        with session.cursor().copy(f"COPY {name} FROM STDIN") as copy:
            for row in rows.to_pylist():
                copy.write_row(tuple(row.values()))
    connection = ibis.postgres.connect(host="127.0.0.1", port=server.port, user="postgres", database="postgres")
    connection.con.execute("SET timezone = 'Asia/Tokyo'")
    request.addfinalizer(connection.disconnect)
    return connection.table(name)


def _mariadb(request: pytest.FixtureRequest, rows: pa.Table) -> Any:
    import mariadb_server

    server, name = request.getfixturevalue("mariadb_server"), f"reports_{uuid.uuid4().hex}"
    with mariadb_server.connect(server) as session, session.cursor() as cursor:
        cursor.execute(f"CREATE TABLE {name} (id int, age double, pirads int, day date, note text, unused text)")
        cursor.executemany(
            f"INSERT INTO {name} VALUES (%s, %s, %s, %s, %s, %s)", [tuple(r.values()) for r in rows.to_pylist()]
        )
    if "MySQLdb" not in sys.modules:  # the driver that Ibis asks for needs a compiler; this one has the same interface
        import pymysql

        pymysql.install_as_MySQLdb()
    connection = ibis.mysql.connect(
        host="127.0.0.1", port=server.port, user="owner", password="open", database="hospital"
    )
    request.addfinalizer(connection.disconnect)
    return connection.table(name)


OPENERS = {"duckdb": _duckdb, "postgres": _postgres, "mariadb": _mariadb}
BACKENDS = [
    "duckdb", pytest.param("postgres", marks=pytest.mark.postgres),
    pytest.param("mariadb", marks=[pytest.mark.mariadb, pytest.mark.slow]),
]  # fmt: skip


@pytest.fixture(params=BACKENDS)
def opened(request: pytest.FixtureRequest, rows: pa.Table) -> Any:
    return OPENERS[request.param](request, rows)


def counted(table: Any, plan: Plan) -> list[Any]:
    return [values.tolist() for values in table.aggregate(plan).values]


def test_tables_and_expressions_of_ibis_give_the_integers_of_the_frame(opened: Any, rows: pa.Table) -> None:
    old = opened.filter(opened.age >= 65).mutate(age=opened.age + 1)
    kept = rows.filter(pa.compute.greater_equal(rows["age"], 65))
    older = kept.set_column(1, "age", pa.compute.add(kept["age"], 1))
    for source, same in ((opened, rows), (old, older)):
        with dp.load(source, SCHEMA) as table, dp.load(same, SCHEMA) as reference:
            for plan in PLANS:
                assert counted(table, plan) == counted(reference, plan)
                with table.engine.bounded(plan) as engine:
                    assert [v.tolist() for v in engine.aggregate(plan).values] == counted(reference, plan)
    assert int(opened.count().execute()) == 300  # the caller's connection works as before


def test_expressions_that_draw_are_read_once(opened: Any) -> None:
    """Weights of other rows than those they weigh would let one person count several times."""
    one = opened.mutate(id=ibis.literal(1))
    drawn = one.filter(ibis.random() < 0.1)
    for _ in range(5):
        with dp.load(drawn, SCHEMA) as table:
            (rows,) = counted(table, Plan(SCHEMA, measures=[Measure("count")]))
            assert 2 * W - 300 < rows[0] <= 2 * W


@pytest.mark.parametrize("opened", BACKENDS[1:], indirect=True)
def test_settings_of_the_callers_session_stay_as_they_were(opened: Any) -> None:
    backend = opened.get_backend()
    asked = {"postgres": "SHOW timezone", "mysql": "SELECT @@sql_mode, @@time_zone, @@collation_connection"}

    def settings() -> Any:
        cursor = backend.con.cursor()
        cursor.execute(asked[backend.name])
        return cursor.fetchall()

    before = settings()
    with dp.load(opened, SCHEMA) as table:
        counted(table, PLANS[0])
    assert settings() == before


def test_what_is_no_table_of_a_known_database_is_refused_with_the_way_out(opened: Any) -> None:
    with pytest.raises(DataError, match="a column or a value"):
        dp.load(opened.age, SCHEMA)
    with pytest.raises(SchemaError, match="declares column 'age'"):
        dp.load(opened.drop("age"), SCHEMA)


def test_tables_in_memory_without_connection_and_on_other_databases_are_refused(tmp_path: Any) -> None:
    with pytest.raises(DataError, match="Load the frame itself"):
        dp.load(ibis.memtable({"age": [1]}), SCHEMA)
    with pytest.raises(DataError, match="has no connection"):
        dp.load(ibis.table({"age": "int"}, name="t"), SCHEMA)
    polars = ibis.polars.connect({"t": __import__("polars").DataFrame({"age": [1]})})
    with pytest.raises(DataError, match="is on polars, and pydplib's SQL runs on DuckDB, PostgreSQL and MariaDB"):
        dp.load(polars.table("t"), SCHEMA)


def test_a_dropped_table_is_said_without_the_databases_words(rows: pa.Table, request: pytest.FixtureRequest) -> None:
    opened = _duckdb(request, rows)
    with dp.load(opened, SCHEMA) as table:
        opened.get_backend().raw_sql("DROP TABLE reports")
        with pytest.raises(EngineError) as caught:
            counted(table, PLANS[0])
    assert "CANARY" not in str(caught.value) and caught.value.__context__ is None
