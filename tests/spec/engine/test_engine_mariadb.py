"""MariaDB alone: users who may only read, days that no calendar has, ids that its sorts would cut, views that draw."""

from __future__ import annotations

import uuid
from typing import Any

import pytest
from mariadb_server import connect

import pydplib as dp
from pydplib.engine import Measure, Plan
from pydplib.errors import EngineError, ParameterError, SchemaError

pytestmark = [pytest.mark.mariadb, pytest.mark.slow]
W = 2**16

AGE = dp.Schema({"age": dp.Number(0, 100)}, person="id", max_rows_per_person=1)
SUM = [Measure("sum", "age", low=0, high=100, step=1), Measure("count", "age")]


@pytest.fixture
def run(mariadb_server: Any):
    """Return a function that runs SQL as the owner."""

    def ran(*statements: str) -> None:
        with connect(mariadb_server) as connection, connection.cursor() as cursor:
            for statement in statements:
                cursor.execute(statement)

    return ran


@pytest.fixture
def make(run):
    """Return a function that creates a table by SQL and returns its name."""

    def made(columns: str, values: str, options: str = "") -> str:
        name = f"t_{uuid.uuid4().hex}"
        mode = "SET sql_mode = 'ALLOW_INVALID_DATES'"
        run(mode, f"CREATE TABLE {name} ({columns}) {options}", f"INSERT INTO {name} VALUES {values}")
        return name

    return made


def counted(table: dp.Schema, plan: Plan) -> list[list[int]]:
    return [values.tolist() for values in table.aggregate(plan).values]


def test_days_that_no_calendar_has_are_missing(make, mariadb_server: Any) -> None:
    schema = dp.Schema({"day": dp.Date("1970-01-01", "1970-01-11")}, person="id", max_rows_per_person=1)
    plan = Plan(schema, measures=[Measure("sum", "day", low=0, high=10, step=1), Measure("count", "day")])
    days = "(1, '0000-00-00'), (2, '1970-01-00'), (3, '1970-02-31'), (4, '1970-01-04'), (5, NULL), (6, '9999-12-31')"
    for kind in ("date", "datetime", "varchar(40)"):
        name = make(f"id int, day {kind}", days)
        with dp.load(mariadb_server.reader_url, schema, table=name) as table:
            assert counted(table, plan) == [[13 * W], [2 * W]], kind


def test_ids_are_told_apart_by_every_byte_in_every_bound(make, mariadb_server: Any) -> None:
    """Collations ignore case and trailing blanks, and sorts all but the first bytes: people would share one bound."""
    long = "x" * 3000
    ids = ["a", "A", "a ", "ä", "Ä", long + "1", long + "2", "y" * 250, "y" * 250 + " "]
    name = make("id longtext, age int", ", ".join(f"('{i}', 10), ('{i}', 20)" for i in ids), "CHARACTER SET utf8mb4")
    with dp.load(mariadb_server.reader_url, AGE, table=name) as table:
        assert counted(table, Plan(AGE, measures=SUM)) == [[len(ids) * 15 * W], [len(ids) * W]]
        bound = dp.engine.Bound("id", 1, mode="sample", salt="salt")
        assert counted(table, Plan(AGE, bound=bound, measures=[Measure("count")])) == [[len(ids)]]
        persons = Plan(AGE, measures=[Measure("persons", edges=[1, 2, 3, 5])])
        assert table.aggregate(persons)[0].tolist()[0][1] == len(ids)


def test_views_and_other_engines_are_read_once(make, run, mariadb_server: Any) -> None:
    """A view that draws gave other rows to the weights than to those they weigh."""
    name = make("id int, age float", ", ".join("(1, 10)" for _ in range(64)))
    view = f"v_{uuid.uuid4().hex}"
    run(f"CREATE VIEW {view} AS SELECT id, age FROM {name} WHERE RAND() < 0.2")
    for _ in range(5):
        with dp.load(mariadb_server.reader_url, AGE, table=view) as table:
            ((rows,),) = counted(table, Plan(AGE, measures=[Measure("count")]))
            assert W - 64 < rows <= W
    with pytest.raises(EngineError, match="GRANT CREATE TEMPORARY TABLES"):
        dp.load(mariadb_server.plain_url, AGE, table=view)
    drawn = make("id int, age float, u double AS (RAND()) VIRTUAL", "(1, 10, DEFAULT), (1, 20, DEFAULT)")
    other = make("id int, age float", "(1, 10), (1, 20)", "ENGINE = MyISAM")
    for copied in (drawn, other):
        with dp.load(mariadb_server.reader_url, AGE, table=copied) as table:
            assert table.engine.is_copy and counted(table, Plan(AGE, measures=SUM)) == [[15 * W], [W]]


def test_a_user_without_temporary_tables_gets_the_same_integers(make, mariadb_server: Any) -> None:
    name = make("id int, age double", "(1, 10), (1, 20), (1, 30), (1, 90), (2, 50)")
    plan = Plan(AGE, measures=[*SUM, Measure("cells", "age", edges=[0, 50, 100])])
    with (
        dp.load(mariadb_server.plain_url, AGE, table=name) as plain,
        dp.load(mariadb_server.reader_url, AGE, table=name) as table,
    ):
        assert counted(plain, plan) == counted(table, plan)
        with plain.engine.bounded(plan) as engine:
            assert "pydplib_bounded" not in engine.explain(plan)


def test_unsigned_and_fixed_numbers_are_read_whole(make, mariadb_server: Any) -> None:
    name = make(
        "id bigint unsigned, age decimal(65, 30)",
        "(18446744073709551615, '1e30'), (18446744073709551614, -5), (1, 7.5), (NULL, 3)",
    )
    with dp.load(mariadb_server.reader_url, AGE, table=name) as table:
        plan = Plan(AGE, measures=[Measure("sum", "age", low=0, high=100, step=0.5), Measure("count")])
        assert counted(table, plan) == [[215 * W], [3 * W]]


def test_what_goes_wrong_is_said_without_the_servers_words(make, run, mariadb_server: Any) -> None:
    name = make("id int, age int, secret blob", "(1, 10, 'CANARY')")
    base = mariadb_server.reader_url
    with pytest.raises(EngineError, match="shows no table or view 'nowhere'"):
        dp.load(base, AGE, table="nowhere")
    with pytest.raises(EngineError, match="refused the user or the password") as caught:
        dp.load(base.replace("only", "wrong-password"), AGE, table=name)
    assert "wrong-password" not in str(caught.value) and caught.value.__cause__ is None
    with pytest.raises(EngineError, match="nothing answers"):
        dp.load("mariadb://reader@127.0.0.1:1/hospital", AGE, table=name)
    with pytest.raises(EngineError, match="may not use the database"):
        dp.load(base.replace("/hospital", "/mysql"), AGE, table=name)
    with pytest.raises(ParameterError, match="many tables"):
        dp.load(base, AGE)
    with pytest.raises(ParameterError, match="Unknown option 'compress'"):
        dp.load(f"{base}?compress=1", AGE, table=name)
    with pytest.raises(SchemaError, match="not supported"):
        dp.load(base, dp.Schema({"secret": dp.Category(["a"])}, person="id", max_rows_per_person=1), table=name)
    with dp.load(base, AGE, table=f"hospital.{name}") as table:
        run(f"DROP TABLE {name}")
        with pytest.raises(EngineError, match="not there any more"):
            table.aggregate(Plan(AGE, measures=SUM))


def test_a_lost_session_is_opened_again_and_a_lost_copy_is_said(make, run, mariadb_server: Any) -> None:
    name = make("id int, age int", "(1, 10), (1, 20)")
    view = f"v_{uuid.uuid4().hex}"
    run(f"CREATE VIEW {view} AS SELECT * FROM {name}")

    def drop_sessions() -> None:
        with connect(mariadb_server) as connection, connection.cursor() as cursor:
            cursor.execute("SELECT id FROM information_schema.processlist WHERE user = 'reader'")
            for (number,) in cursor.fetchall():
                cursor.execute(f"KILL {number}")

    with dp.load(mariadb_server.reader_url, AGE, table=name) as table:
        drop_sessions()
        table.engine.check_ready()
        assert counted(table, Plan(AGE, measures=SUM)) == [[15 * W], [W]]
    with dp.load(mariadb_server.reader_url, AGE, table=view) as table:
        drop_sessions()
        with pytest.raises(EngineError, match="Load the table again"):
            table.engine.check_ready()
