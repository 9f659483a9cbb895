"""Servers and engines for the spec tests: each is started once, by the tests themselves."""

from __future__ import annotations

import math
import os
import sqlite3
import sys
import uuid
from collections.abc import Callable, Iterator
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import pydplib as dp
from pydplib.engine import Table

ENGINES = ["duckdb", "parquet", "relation", "pandas", "polars", "sqlite", "postgres", "spark", "mariadb"]
MARKS = {
    "postgres": pytest.mark.postgres,
    "spark": pytest.mark.spark,
    "mariadb": [pytest.mark.mariadb, pytest.mark.slow],
}
PARAMS = [pytest.param(name, marks=MARKS.get(name, ())) for name in ENGINES]

Place = Callable[[pa.Table, dp.Schema], Table]


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[Any]:
    from postgres_server import HOW_TO_INSTALL, find_programs, run_postgres

    if find_programs() is None:
        pytest.skip(HOW_TO_INSTALL)
    with run_postgres() as server:
        yield server


@pytest.fixture(scope="session")
def mariadb_server() -> Iterator[Any]:
    from mariadb_server import HOW_TO_INSTALL, find_programs, run_mariadb

    if find_programs() is None:
        pytest.skip(HOW_TO_INSTALL)
    with run_mariadb() as server:
        yield server


@pytest.fixture(scope="session")
def spark_cluster() -> Iterator[Any]:
    from spark_cluster import HOW_TO_INSTALL, is_available, run_cluster

    if not is_available():
        pytest.skip(HOW_TO_INSTALL)
    with run_cluster() as cluster:
        yield cluster


@pytest.fixture(scope="session")
def spark_session(spark_cluster: Any) -> Iterator[Any]:
    from spark_cluster import run_session

    with run_session(spark_cluster) as session:
        yield session


@pytest.fixture(scope="session", params=PARAMS)
def engine_name(request: pytest.FixtureRequest) -> str:
    """Run the test on every engine."""
    name: str = request.param
    return name


@pytest.fixture
def place(
    engine_name: str, request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Place]:
    """Return a function that puts an Arrow table where the engine lives and loads it from there."""
    opened: list[Table] = []
    put = _places(engine_name, request, tmp_path_factory)

    def placed(data: pa.Table, schema: dp.Schema) -> Table:
        table = put(data, schema)
        opened.append(table)
        return table

    yield placed
    for table in opened:
        table.close()


def _places(engine: str, request: pytest.FixtureRequest, folders: pytest.TempPathFactory) -> Place:
    if engine == "duckdb":
        return lambda data, schema: dp.load(data, schema)
    if engine == "pandas":
        return lambda data, schema: dp.load(data.to_pandas(), schema)
    if engine == "polars":
        import polars as pl

        return lambda data, schema: dp.load(pl.from_arrow(data), schema)
    if engine == "spark":
        return _spark_place(request.getfixturevalue("spark_session"), request.getfixturevalue("spark_cluster").folder)
    folder = folders.mktemp(engine)
    if engine in ("parquet", "relation"):

        def put_parquet(data: pa.Table, schema: dp.Schema) -> Table:
            path = folder / f"{uuid.uuid4().hex}.parquet"
            pq.write_table(data, path)
            os.utime(path, (1e9, 1e9))  # one that was written just now is not yet known to stay as it is
            # A relation of the caller, who knows nothing of NaN and statistics.
            return dp.load(path if engine == "parquet" else duckdb.sql(f"FROM '{path}'"), schema)

        return put_parquet
    if engine == "sqlite":
        return lambda data, schema: _put_sqlite(folder / f"{uuid.uuid4().hex}.db", data, schema)
    if engine == "mariadb":
        server = request.getfixturevalue("mariadb_server")
        return lambda data, schema: _put_mariadb(server, data, schema)
    server = request.getfixturevalue("postgres_server")
    return lambda data, schema: _put_postgres(server, data, schema)


def _spark_place(session: Any, folder: Any) -> Place:
    def put(data: pa.Table, schema: dp.Schema) -> Table:
        if data.num_rows < 10_000:
            return dp.load(session.createDataFrame(data), schema)
        path = folder / f"{uuid.uuid4().hex}.parquet"  # a frame of the driver is sent again with every question
        pq.write_table(data, path)
        return dp.load(session.read.parquet(str(path)), schema)

    return put


def _sql_type(kind: pa.DataType, names: dict[str, str]) -> str:
    for test, name in (
        (pa.types.is_boolean, "flag"), (pa.types.is_integer, "integer"), (pa.types.is_floating, "float"),
        (pa.types.is_date, "date"), (pa.types.is_timestamp, "timestamp"),
    ):  # fmt: skip
        if test(kind):
            return names[name]
    return "text"


def _put_sqlite(path: Any, data: pa.Table, schema: dp.Schema) -> Table:
    names = {"flag": "INTEGER", "integer": "INTEGER", "float": "REAL", "date": "TEXT", "timestamp": "TEXT"}
    kinds = {field.name: _sql_type(field.type, names) for field in data.schema}
    quoted = ['"' + name.replace('"', '""') + '"' for name in kinds]
    connection = sqlite3.connect(path)
    columns = ", ".join(f"{name} {kind}" for name, kind in zip(quoted, kinds.values(), strict=True))
    connection.execute(f"CREATE TABLE reports ({columns})")
    rows = [
        tuple(str(cell) if hasattr(cell, "isoformat") else cell for cell in row.values()) for row in data.to_pylist()
    ]
    connection.executemany(f"INSERT INTO reports VALUES ({', '.join('?' * len(kinds))})", rows)
    connection.commit()
    connection.close()
    return dp.load(path, schema, table="reports")


def _put_postgres(server: Any, data: pa.Table, schema: dp.Schema) -> Table:
    import psycopg
    from psycopg import sql

    names = {"flag": "boolean", "integer": "bigint", "float": "float8", "date": "date", "timestamp": "timestamp"}
    kinds = {field.name: _sql_type(field.type, names) for field in data.schema}
    table = f"reports_{uuid.uuid4().hex}"
    columns = sql.SQL(", ").join(
        sql.SQL("{} {}").format(sql.Identifier(name), sql.SQL(kind)) for name, kind in kinds.items()
    )
    with psycopg.connect(server.url, autocommit=True) as connection:
        connection.execute(sql.SQL("CREATE TABLE {} ({})").format(sql.Identifier(table), columns))
        with connection.cursor().copy(sql.SQL("COPY {} FROM STDIN").format(sql.Identifier(table))) as copy:
            for row in data.to_pylist():
                copy.write_row(tuple(row.values()))
    return dp.load(server.reader_url, schema, table=table)


def _put_mariadb(server: Any, data: pa.Table, schema: dp.Schema) -> Table:
    from mariadb_server import connect

    names = {"flag": "BOOLEAN", "integer": "BIGINT", "float": "DOUBLE", "date": "DATE", "timestamp": "DATETIME(6)"}
    kinds = {
        field.name: _sql_type(field.type, names).replace("text", "LONGTEXT CHARACTER SET utf8mb4")
        for field in data.schema
    }
    table = f"reports_{uuid.uuid4().hex}"
    columns = ", ".join("`" + name.replace("`", "``") + f"` {kind}" for name, kind in kinds.items())
    connection = connect(server)
    with connection, connection.cursor() as cursor:
        cursor.execute(f"CREATE TABLE {table} ({columns})")
        rows = [tuple(_kept_by_mariadb(cell) for cell in row.values()) for row in data.to_pylist()]
        if rows:
            cursor.executemany(f"INSERT INTO {table} VALUES ({', '.join(['%s'] * len(kinds))})", rows)
    return dp.load(server.reader_url, schema, table=table)


def _kept_by_mariadb(cell: Any) -> Any:
    """Return a cell as MariaDB can keep it: no NaN, and the largest double for an infinite one."""
    if isinstance(cell, float) and not math.isfinite(cell):
        return None if math.isnan(cell) else math.copysign(sys.float_info.max, cell)
    return cell
