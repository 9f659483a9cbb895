"""PostgreSQL alone: roles that may only read, values that no double holds, servers that go away."""

from __future__ import annotations

import uuid
from typing import Any

import psycopg
import pytest

import pydplib as dp
from pydplib.engine import Measure, Plan, Where
from pydplib.errors import EngineError, SchemaError

pytestmark = pytest.mark.postgres
W = 2**16


@pytest.fixture
def make(postgres_server: Any):
    """Return a function that creates a table by SQL and returns its name."""

    def made(columns: str, values: str) -> str:
        name = f"t_{uuid.uuid4().hex}"
        with psycopg.connect(postgres_server.url, autocommit=True) as connection:
            connection.execute(f"CREATE TABLE {name} ({columns})")
            connection.execute(f"INSERT INTO {name} VALUES {values}")
        return name

    return made


AGE = dp.Schema({"age": dp.Number(0, 100)}, person="id", max_rows_per_person=1)
SUM = [Measure("sum", "age", low=0, high=100, step=1), Measure("count", "age")]


def test_numeric_beyond_a_double_is_clamped_not_an_error(make, postgres_server: Any) -> None:
    name = make("id int, age numeric", "(1, '1e400'), (2, '-1e400'), (3, 'NaN'), (4, '1e-400'), (5, 7), (6, NULL)")
    with dp.load(f"{postgres_server.url}?table={name}", AGE) as table:
        exact = table.aggregate(Plan(AGE, measures=SUM))
    assert [v.tolist() for v in exact.values] == [[107 * W], [4 * W]]


def test_text_numbers_beyond_a_double_are_missing_not_an_error(make, postgres_server: Any) -> None:
    name = make("id int, age text", "(1, '1e999'), (2, '12'), (3, 'twelve'), (4, '')")
    with dp.load(postgres_server.url, AGE, table=name) as table:
        assert [v.tolist() for v in table.aggregate(Plan(AGE, measures=SUM)).values] == [[12 * W], [W]]


def test_infinite_days_are_clamped(make, postgres_server: Any) -> None:
    schema = dp.Schema({"day": dp.Date("1970-01-01", "1970-01-11")}, person="id", max_rows_per_person=1)
    name = make("id int, day timestamp", "(1, 'infinity'), (2, '-infinity'), (3, '1970-01-04 23:59'), (4, NULL)")
    plan = Plan(schema, measures=[Measure("sum", "day", low=0, high=10, step=1), Measure("count", "day")])
    with dp.load(postgres_server.url, schema, table=name) as table:
        assert [v.tolist() for v in table.aggregate(plan).values] == [[13 * W], [3 * W]]


def test_days_stored_as_text_are_refused_with_the_way_out(make, postgres_server: Any) -> None:
    schema = dp.Schema({"day": dp.Date("1970-01-01", "1970-01-11")}, person="id", max_rows_per_person=1)
    name = make("id int, day text", "(1, '1970-02-31')")
    with pytest.raises(SchemaError, match="view that casts"):
        dp.load(postgres_server.url, schema, table=name)


def test_enums_domains_and_views_are_read(make, postgres_server: Any) -> None:
    schema = dp.Schema({"kind": dp.Category(["y", "n"])}, person="id", max_rows_per_person=1)
    with psycopg.connect(postgres_server.url, autocommit=True) as connection:
        suffix = uuid.uuid4().hex
        connection.execute(f"CREATE TYPE kind_{suffix} AS ENUM ('y', 'n', 'z')")
        connection.execute(f"CREATE DOMAIN person_{suffix} AS uuid")
        name = make(f"id person_{suffix}, kind kind_{suffix}", f"('{uuid.uuid4()}', 'y'), ('{uuid.uuid4()}', 'z')")
        connection.execute(f"CREATE VIEW v_{suffix} AS SELECT * FROM {name}")
    with dp.load(postgres_server.reader_url, schema, table=f"public.v_{suffix}") as table:
        assert table.aggregate(Plan(schema, by=["kind"], measures=[Measure("count")]))[0].tolist() == [W, 0, W]


def test_a_role_without_temporary_tables_gets_the_same_integers(make, postgres_server: Any) -> None:
    """A role may be forbidden to write anything at all; then the rows are bounded with each question."""
    name = make("id int, age float8", "(1, 10), (1, 20), (1, 30), (1, 90), (2, 50)")
    plan = Plan(AGE, measures=[*SUM, Measure("cells", "age", edges=[0, 50, 100])])
    narrow = Plan(AGE, where=[Where("age").at_least(60)], measures=[Measure("count")])
    found = []
    for url in (postgres_server.url, f"{postgres_server.reader_url}?options=-c%20default_transaction_read_only%3Don"):
        with dp.load(url, AGE, table=name) as table, table.engine.bounded(plan) as engine:
            found.append([v.tolist() for v in (*engine.aggregate(plan).values, *engine.aggregate(narrow).values)])
            temporary = "pydplib_bounded" in engine.explain(narrow)
            assert temporary == (url == postgres_server.url)
    assert found[0] == found[1]
    assert found[0][-1] == [W // 4]


@pytest.mark.parametrize("options", ["", "?options=-c%20default_transaction_read_only%3Don"])
def test_questions_to_a_bounded_table_read_one_state_of_it(make, postgres_server: Any, options: str) -> None:
    """Tables that are measured together are subtracted from each other: rows that arrive meanwhile must not count."""
    name = make("id int, age float8", "(1, 10), (2, 50)")
    plan = Plan(AGE, measures=SUM)
    with dp.load(f"{postgres_server.reader_url}{options}", AGE, table=name) as table:
        with table.engine.bounded(plan) as engine, psycopg.connect(postgres_server.url, autocommit=True) as other:
            before = [v.tolist() for v in engine.aggregate(plan).values]
            other.execute(f"INSERT INTO {name} VALUES (3, 70)")
            assert [v.tolist() for v in engine.aggregate(plan).values] == before
        assert table.aggregate(plan)[1].tolist() == [3 * W]  # the next question sees the new state


def test_reader_role_cannot_change_anything(make, postgres_server: Any) -> None:
    name = make("id int, age float8", "(1, 10)")
    with dp.load(postgres_server.reader_url, AGE, table=name) as table, pytest.raises(EngineError):
        table.engine._answer(f"DELETE FROM {name}")  # type: ignore[attr-defined]


def test_errors_carry_neither_cells_nor_passwords(make, postgres_server: Any) -> None:
    name = make("id int, age float8", "(1, 10)")
    with dp.load(postgres_server.url, AGE, table=name) as table:
        with psycopg.connect(postgres_server.url, autocommit=True) as connection:
            connection.execute(f"ALTER TABLE {name} RENAME COLUMN age TO canary_age")
        with pytest.raises(EngineError) as caught:
            table.aggregate(Plan(AGE, measures=SUM))
    assert "canary" not in str(caught.value)
    assert caught.value.__cause__ is None
    assert caught.value.__context__ is None
    wrong = f"postgresql://nobody:canary-password@127.0.0.1:{postgres_server.port}/no_such"
    with pytest.raises(EngineError) as caught:
        dp.load(wrong, AGE, table=name)
    assert "canary" not in str(caught.value)


def test_a_lost_connection_is_opened_again(make, postgres_server: Any) -> None:
    name = make("id int, age float8", "(1, 10)")
    with dp.load(postgres_server.reader_url, AGE, table=name) as table:
        with psycopg.connect(postgres_server.url, autocommit=True) as connection:
            connection.execute("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = 'reader'")
        with pytest.raises(EngineError):
            table.aggregate(Plan(AGE, measures=SUM))
        assert table.aggregate(Plan(AGE, measures=SUM))[0].tolist() == [10 * W]


def test_unknown_table_is_said_without_a_guess_at_data(postgres_server: Any) -> None:
    with pytest.raises(EngineError, match="no table or view 'absent'"):
        dp.load(postgres_server.url, AGE, table="absent")


def test_each_kind_of_connection_failure_is_named_without_the_servers_words(make, postgres_server: Any) -> None:
    name = make("id int, age float8", "(1, 10)")
    port = postgres_server.port
    database = postgres_server.url.rsplit("/", 1)[1].split("?")[0]
    failures = {
        "postgresql://canary-user@no-such-host.invalid/x": "host name 'no-such-host.invalid' is unknown",
        "postgresql://canary-user@127.0.0.1:1/x": "nothing listens on port 1",
        f"postgresql://canary-user@127.0.0.1:{port}/{database}": "knows no such role",
        postgres_server.url.rsplit("/", 1)[0] + "/canary-database": "has no such database",
    }
    for url, words in failures.items():
        with pytest.raises(EngineError) as caught:
            dp.load(url, AGE, table=name)
        assert words in str(caught.value), url
        assert "canary" not in str(caught.value) and "FATAL" not in str(caught.value)
        assert caught.value.__cause__ is None and caught.value.__context__ is None


def test_missing_right_to_read_is_told_at_load_and_before_the_debit(make, postgres_server: Any) -> None:
    name = make("id int, age float8", "(1, 10)")
    schema = dp.Schema({"age": dp.Number(0, 100)}, person="id", max_rows_per_person=1, name="rights")
    with psycopg.connect(postgres_server.url, autocommit=True) as connection:
        with dp.load(postgres_server.reader_url, schema, table=name) as table:
            session = dp.Session(table, recipient="acme", budget=1.0)
            connection.execute(f"REVOKE SELECT ON {name} FROM reader")
            with pytest.raises(EngineError, match=r"may not read it: GRANT SELECT .* Nothing was spent"):
                session.release(dp.Count(), epsilon=0.5)
            assert session.remaining.epsilon == 1.0
            connection.execute(f"GRANT SELECT (id, age) ON {name} TO reader")  # by columns is enough
            session.release(dp.Count(), epsilon=0.5)
        connection.execute(f"REVOKE SELECT (id, age) ON {name} FROM reader")
        with pytest.raises(EngineError, match="GRANT SELECT"):
            dp.load(postgres_server.reader_url, schema, table=name)


def test_session_that_was_lost_is_opened_again_before_anything_is_paid(make, postgres_server: Any) -> None:
    name = make("id int, age float8", "(1, 10)")
    schema = dp.Schema({"age": dp.Number(0, 100)}, person="id", max_rows_per_person=1, name="lost")
    with dp.load(postgres_server.reader_url, schema, table=name) as table:
        with psycopg.connect(postgres_server.url, autocommit=True) as connection:
            connection.execute("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = 'reader'")
        assert dp.Session(table, recipient="acme", budget=1.0).release(dp.Count(), epsilon=0.5).margin95


@pytest.mark.parametrize(
    "text",
    [
        "SELECT * FROM {name} TABLESAMPLE BERNOULLI (2)",
        "SELECT * FROM {name} TABLESAMPLE SYSTEM (20)",
        "SELECT * FROM {name} WHERE random() < 0.02",
        "SELECT * FROM {name} ORDER BY random() LIMIT 60",
    ],
)
def test_largest_part_of_one_person_in_a_sampled_view_is_the_bound(postgres_server: Any, text: str) -> None:
    schema = dp.Schema({"who": dp.Integer(0, 39)}, person="id", max_rows_per_person=1)
    plan = Plan(schema, by=["who"], measures=[Measure("count")])
    name = f"t_{uuid.uuid4().hex}"
    with psycopg.connect(postgres_server.url, autocommit=True) as connection:
        rows = "SELECT 'p' || (i / 50) AS id, i / 50 AS who FROM generate_series(0, 1999) AS s(i)"
        connection.execute(f"CREATE TABLE {name} AS {rows}")
        connection.execute(f"CREATE VIEW v_{name} AS {text.format(name=name)}")
    with dp.load(postgres_server.url, schema, table=f"v_{name}") as table:
        assert "pydplib_read" in table.engine.explain(plan)
        assert max(int(table.aggregate(plan).values[0].max()) for _ in range(12)) <= W
    with dp.load(postgres_server.url, schema, table=name) as table:
        assert "pydplib_read" not in table.engine.explain(plan)
    with psycopg.connect(postgres_server.url, autocommit=True) as connection:
        connection.execute(f"ALTER TABLE {name} ENABLE ROW LEVEL SECURITY")  # a policy may draw as well
    with dp.load(postgres_server.url, schema, table=name) as table:
        assert "pydplib_read" in table.engine.explain(plan)
