"""Cells that no table should hold: every question is answered, and nobody else's integers change, on every engine."""

from __future__ import annotations

import datetime as dt
import json
import re
import sqlite3
import uuid
from collections.abc import Callable, Sequence
from functools import cache, partial
from pathlib import Path
from typing import Any

import duckdb
import hostile_cells as hostile
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hostile_cells import ASKED, Cell, schema_of
from neighbours import losses

import pydplib as dp
from pydplib.engine import ExactTable, Plan, Table, Where
from pydplib.errors import EngineError
from pydplib.release.facts import Facts, Purchase

Load = Callable[[pa.Table, dp.Schema, Path], Table]
Reference = Callable[[Plan], dict[Any, list[list[int]]]]


def prepared_of(question: Any, schema: dp.Schema) -> Purchase:
    resolved = Facts.of(question, schema)
    return resolved.at(1.0, 1e-6 if resolved.has_unknown_keys else None)


@cache
def plan_of(number: int, count: int) -> Plan:
    """Return the plan of a question, by its number, for each of all examples."""
    schema = schema_of(count)
    return all_at_once(prepared_of(ASKED[number], schema).plan, schema, count)


def all_at_once(plan: Plan, schema: dp.Schema, count: int) -> Plan:
    """Return the plan of all examples."""
    by = {"example": tuple(range(count)), **plan.by}
    return Plan(schema, where=plan.where, by=by, bound=plan.bound, measures=plan.measures)


def integers(table: Table, plan: Plan) -> dict[Any, list[list[int]]]:
    exact = table.aggregate(plan)
    return {key: [np.atleast_1d(values[i]).tolist() for values in exact.values] for i, key in enumerate(exact.keys)}


def check_alike(table: Table, reference: Reference, count: int, questions: Sequence[Any] = ASKED) -> None:
    """Every question gives the integers of the clean table that holds what each cell must count as."""
    assert table.schema == schema_of(count)
    for question in questions:
        plan = plan_of(ASKED.index(question), count)
        found, expected = integers(table, plan), reference(plan)
        wrong = sorted({key[0] for key in {*found, *expected} if found.get(key) != expected.get(key)})
        assert not wrong, (str(question), wrong)


# -- texts -----------------------------------------------------------------------------------------


def _pandas(data: pa.Table, dtype: Any) -> pd.DataFrame:
    """Return a frame of texts; bytes that are no text as half characters, or as they are where Arrow keeps them."""
    frame = {}
    for name in data.column_names:
        raw = data[name].cast(pa.large_binary()).to_pylist()
        texts = [None if cell is None else cell.decode("utf-8", "surrogateescape") for cell in raw]
        frame[name] = pd.Series(texts, dtype=dtype)
    return pd.DataFrame(frame)


def _arrow_backed(data: pa.Table) -> pd.DataFrame:
    return pd.DataFrame({n: pd.Series(pd.arrays.ArrowExtensionArray(data[n])) for n in data.column_names})


def _load_csv(data: pa.Table, schema: dp.Schema, folder: Path) -> Table:
    return dp.load(hostile.write_csv(folder / "a.csv", data), schema, encoding="utf-8")


def _load_sqlite(data: pa.Table, schema: dp.Schema, folder: Path) -> Table:
    return dp.load(hostile.write_sqlite(folder / "a.db", data), schema, table="t")


def _load_blobs(data: pa.Table, schema: dp.Schema, folder: Path) -> Table:
    return dp.load(hostile.write_sqlite(folder / "b.db", data, blobs=True), schema, table="t")


def _load_duckdb(data: pa.Table, schema: dp.Schema, folder: Path) -> Table:
    connection = duckdb.connect()
    connection.execute("CREATE TABLE t AS FROM data")
    return dp.load(connection, schema, table="t")


def _load_excel(data: pa.Table, schema: dp.Schema, folder: Path) -> Table:
    import openpyxl

    book = openpyxl.Workbook(write_only=True)
    sheet = book.create_sheet("t")
    sheet.append(data.column_names)
    for row in data.to_pylist():
        sheet.append(list(row.values()))
    book.save(folder / "a.xlsx")
    return dp.load(folder / "a.xlsx", schema)


def _load_ndjson(data: pa.Table, schema: dp.Schema, folder: Path) -> Table:
    lines = [json.dumps(row) for row in data.to_pylist()]
    (folder / "a.ndjson").write_text("\n".join(lines) + "\n", encoding="utf-8")
    return dp.load(folder / "a.ndjson", schema)


ANY_BYTES: dict[str, Load] = {
    "csv": _load_csv,
    "parquet": lambda data, schema, folder: dp.load(hostile.write_parquet(folder / "a.parquet", data), schema),
    "arrow": lambda data, schema, folder: dp.load(data, schema),
    "arrow dictionary": lambda data, schema, folder: dp.load(_dictionaries(data), schema),
    "pandas object": lambda data, schema, folder: dp.load(_pandas(data, object), schema),
    "pandas str": lambda data, schema, folder: dp.load(
        _pandas(data, pd.StringDtype("python", na_value=np.nan)), schema
    ),
    "pandas string": lambda data, schema, folder: dp.load(_pandas(data, pd.StringDtype("python")), schema),
    "pandas arrow": lambda data, schema, folder: dp.load(_arrow_backed(data), schema),
    "sqlite": _load_sqlite,
    "sqlite blobs": _load_blobs,
}
ONLY_TEXT: dict[str, Load] = {
    "polars": lambda data, schema, folder: dp.load(pl.from_arrow(data), schema),
    "polars categorical": lambda data, schema, folder: dp.load(pl.from_arrow(data).with_columns(
        pl.all().cast(pl.Categorical)), schema),
    "pandas category": lambda data, schema, folder: dp.load(_pandas(data, object).astype("category"), schema),
    "duckdb": _load_duckdb,
    "excel": _load_excel,
    "ndjson": _load_ndjson,
}  # fmt: skip


def _dictionaries(data: pa.Table) -> pa.Table:
    """Return the table with every column as a dictionary, whose values Arrow does not look at either."""
    columns = {}
    for name in data.column_names:
        raw = data[name].combine_chunks().cast(pa.large_binary()).dictionary_encode()
        raw = raw.combine_chunks() if isinstance(raw, pa.ChunkedArray) else raw
        values = hostile.arrow_text(raw.dictionary.to_pylist())
        columns[name] = pa.DictionaryArray.from_arrays(raw.indices, values)
    return pa.table(columns)


def storable(engine: str, cells: Sequence[Cell]) -> list[Cell]:
    """Return the cells that an engine can hold at all."""
    found = list(cells)
    if engine not in ANY_BYTES:
        found = [cell for cell in found if cell.is_text]
    if engine == "csv":  # where a line is a row
        found = [cell for cell in found if not (cell.is_text and re.search("[\r\n]", cell.stored))]
    if engine == "excel":
        found = [c for c in found if len(c.stored) < 32_000 and not re.search("[\0\r\n]", c.stored)]
    if engine == "mariadb":  # which shows the beginning of longer keys, and a digest
        found = [cell for cell in found if cell.column != "city" or len(cell.stored) <= 250]
    if engine == "postgres":
        found = [cell for cell in found if "\0" not in cell.stored and cell.column != "day"]
    return found


def remembered(data: pa.Table, schema: dp.Schema) -> Reference:
    """Return the integers of a clean table by plan, each asked once."""
    table = dp.load(data, schema)
    known: dict[str, Any] = {}

    def ask(plan: Plan) -> dict[Any, list[list[int]]]:
        key = repr(plan.to_dict())
        if key not in known:
            known[key] = integers(table, plan)
        return known[key]

    return ask


@cache
def text_reference(cells: tuple[Cell, ...]) -> Reference:
    return remembered(hostile.text_table(cells, expected=True), schema_of(len(cells)))


def test_there_are_more_than_sixty_cells() -> None:
    cells = [*hostile.text_cells(), *hostile.number_cells(), *hostile.object_cells()]
    assert len(cells) > 60 and len({cell.name for cell in cells}) == len(cells)


def test_few_questions_look_at_every_column() -> None:
    looked_at = {name for question in hostile.FEW for name in plan_of(ASKED.index(question), 1).columns}
    assert looked_at >= set(hostile.COLUMNS)


HOW_MANY = [pytest.param(False, id="few"), pytest.param(True, marks=pytest.mark.slow, id="every question")]
"""All cells in one table, always; asked a few questions that look at all of them, or every question there is."""


@pytest.mark.parametrize("every", HOW_MANY)
@pytest.mark.parametrize("engine", [*ANY_BYTES, *ONLY_TEXT])
def test_odd_texts_count_as_missing_or_other_on_every_engine(engine: str, every: bool, tmp_path: Path) -> None:
    cells = tuple(storable(engine, hostile.text_cells()))
    schema = schema_of(len(cells))
    loads = {**ANY_BYTES, **ONLY_TEXT}
    with loads[engine](hostile.text_table(cells), schema, tmp_path) as table:
        asked = hostile.asked([*loads].index(engine), every=every)
        check_alike(table, text_reference(cells), len(cells), asked)


# -- numbers, points in time, objects --------------------------------------------------------------

TYPED: dict[str, Load] = {
    "parquet": ANY_BYTES["parquet"],
    "arrow": ANY_BYTES["arrow"],
    "pandas": lambda data, schema, folder: dp.load(data.to_pandas(), schema),
    "polars": ONLY_TEXT["polars"],
    "duckdb": _load_duckdb,
}


@cache
def typed_reference(cells: tuple[Cell, ...]) -> Reference:
    return remembered(hostile.typed_table(cells, expected=True), schema_of(len(cells)))


@pytest.mark.parametrize("engine_name", ["duckdb", "parquet", "pandas", "polars", "sqlite", pytest.param(
    "postgres", marks=pytest.mark.postgres), pytest.param("spark", marks=[pytest.mark.spark, pytest.mark.slow]),
    pytest.param("mariadb", marks=[pytest.mark.mariadb, pytest.mark.slow])],
    indirect=True, scope="session")  # fmt: skip
@pytest.mark.parametrize("every", HOW_MANY)
def test_odd_numbers_count_as_the_bound_on_every_engine(place, engine_name: str, every: bool) -> None:
    if engine_name == "spark" and every:
        pytest.skip("Covered by the others: a question takes Spark seconds.")
    cells = tuple(hostile.number_cells())
    table = place(hostile.typed_table(cells), schema_of(len(cells)))
    check_alike(table, typed_reference(cells), len(cells), hostile.asked(len(engine_name), every=every))


NO_SECONDS = {("parquet", "s"), ("polars", "s")}


@pytest.mark.parametrize("engine", TYPED)
@pytest.mark.parametrize("unit", ["s", "ms", "us", "ns"])
@pytest.mark.parametrize("zone", [None, "UTC"])
def test_points_in_time_beyond_the_calendar_are_missing(
    engine: str, unit: str, zone: str | None, tmp_path: Path
) -> None:
    cells = tuple(hostile.moment_cells(unit))
    if (engine, unit) in NO_SECONDS or (zone and unit in ("s", "ms") and engine == "duckdb"):
        cells = tuple(cell for cell in cells if cell.expected is not None)  # kept in a finer unit, which ends sooner
    assert len(cells) >= 2
    schema = schema_of(len(cells))
    questions = [q for q in ASKED if "day" in str(q)]
    assert len(questions) >= 2
    with TYPED[engine](hostile.moment_table(cells, unit, zone), schema, tmp_path) as table:
        check_alike(table, typed_reference(cells), len(cells), questions)


@pytest.mark.parametrize("engine", [engine for engine in TYPED if engine != "pandas"])  # which has no days of its own
def test_first_and_last_day_of_the_calendar_count_as_the_bound(engine: str, tmp_path: Path) -> None:
    """The last one is infinity to DuckDB, which cannot count days up to it."""
    days = [2**31 - 1, 2**31 - 2, -(2**31), -(2**31) + 1]
    cells = tuple(Cell(f"day {d}", "day", None, dt.date(2018, 12, 31) if d > 0 else dt.date(2018, 1, 1)) for d in days)
    data, schema = hostile.typed_table(cells), schema_of(len(cells))
    numbers = data["day"].cast(pa.int32()).to_pylist()
    for day, place in zip(days, [i for i, p in enumerate(data["part"].to_pylist()) if p == "odd"], strict=True):
        numbers[place] = day
    column = pa.array(numbers, pa.int32()).cast(pa.date32())
    with TYPED[engine](data.set_column(data.column_names.index("day"), "day", column), schema, tmp_path) as table:
        check_alike(table, typed_reference(cells), len(cells), [q for q in ASKED if "day" in str(q)])


def test_objects_of_pandas_without_a_text_are_missing_or_other() -> None:
    cells = tuple(hostile.object_cells())
    frame = hostile.object_frame(cells)
    with dp.load(frame, schema_of(len(cells))) as table:
        reference = remembered(hostile.text_table(cells, expected=True), schema_of(len(cells)))
        check_alike(table, reference, len(cells))
    assert isinstance(
        frame["age"][4 + 5 * [c.name for c in cells].index("object without a text in age")], hostile.Silent
    )


@pytest.mark.postgres
@pytest.mark.parametrize("every", HOW_MANY)
def test_odd_texts_count_as_missing_or_other_on_postgres(postgres_server: Any, every: bool) -> None:
    import psycopg

    cells = tuple(storable("postgres", hostile.text_cells()))
    schema, name = schema_of(len(cells)), f"t_{uuid.uuid4().hex}"
    data = hostile.text_table(cells)
    kinds = ", ".join(f"{column} {'date' if column == 'day' else 'text'}" for column in data.column_names)
    with psycopg.connect(postgres_server.url, autocommit=True) as connection:
        connection.execute(f"CREATE TABLE {name} ({kinds})")
        with connection.cursor() as cursor:
            marks = ", ".join(["%s"] * len(data.column_names))
            cursor.executemany(f"INSERT INTO {name} VALUES ({marks})", [tuple(r.values()) for r in data.to_pylist()])
    with dp.load(postgres_server.url, schema, table=name) as table:
        check_alike(table, text_reference(cells), len(cells), hostile.asked(20, every=every))


@pytest.mark.slow
@pytest.mark.mariadb
def test_odd_texts_count_as_missing_or_other_on_mariadb(mariadb_server: Any) -> None:
    from mariadb_server import connect

    cells = tuple(storable("mariadb", hostile.text_cells()))
    assert len(cells) > 40
    schema, name = schema_of(len(cells)), f"t_{uuid.uuid4().hex}"
    data = hostile.text_table(cells)
    kinds = ", ".join(f"{column} LONGTEXT" for column in data.column_names)
    with connect(mariadb_server) as connection, connection.cursor() as cursor:
        cursor.execute(f"CREATE TABLE {name} ({kinds}) CHARACTER SET utf8mb4")
        marks = ", ".join(["%s"] * len(data.column_names))
        cursor.executemany(f"INSERT INTO {name} VALUES ({marks})", [tuple(r.values()) for r in data.to_pylist()])
    with dp.load(mariadb_server.reader_url, schema, table=name) as table:
        check_alike(table, text_reference(cells), len(cells), hostile.asked(22, every=True))


@pytest.mark.slow
@pytest.mark.spark
def test_odd_texts_count_as_missing_or_other_on_spark(spark_session: Any, spark_cluster: Any) -> None:
    cells = tuple(hostile.text_cells())
    schema = schema_of(len(cells))
    path = hostile.write_parquet(spark_cluster.folder / f"{uuid.uuid4().hex}.parquet", hostile.text_table(cells))
    with dp.load(spark_session.read.parquet(str(path)), schema) as table:
        check_alike(table, text_reference(cells), len(cells), hostile.asked(21))


# -- nobody else, and no more than the claim -------------------------------------------------------


def split(exact: ExactTable, plan: Plan, count: int) -> list[ExactTable]:
    examples = np.array([key[0] for key in exact.keys], dtype=np.int64)
    found = []
    for i in range(count):
        rows = np.flatnonzero(examples == i)
        keys = tuple(exact.keys[row][1:] for row in rows)
        found.append(ExactTable(plan, keys, tuple(values[rows] for values in exact.values)))
    return found


def check_replay(data: pa.Table, without: pa.Table, count: int, load: Load, folder: Path, asked: Sequence[Any]) -> None:
    """Nothing of the clean people moves, and what moves is within the claim."""
    schema = schema_of(count)
    with load(data, schema, folder) as table, dp.load(without, schema) as clean:
        for question in asked:
            prepared = prepared_of(question, schema)
            plan = all_at_once(prepared.plan, schema, count)
            one, other = (split(t.aggregate(plan), prepared.plan, count) for t in (clean, table))
            assert max(losses(prepared, list(zip(one, other, strict=True)))) <= 1.0 + 1e-9, str(question)
            others = Plan(schema, where=[*plan.where, Where("part").eq("clean")], by=plan.by, bound=plan.bound,
                          measures=plan.measures)  # fmt: skip
            assert integers(table, others) == integers(clean, others), str(question)


@pytest.mark.parametrize("step", [pytest.param(7, id="few"), pytest.param(1, marks=pytest.mark.slow, id="every cell")])
def test_replay_of_every_question_with_an_odd_text_stays_within_epsilon(step: int, tmp_path: Path) -> None:
    cells = hostile.text_cells()[::step]
    data, without = hostile.text_table(cells), hostile.text_table(cells, odd=False)
    check_replay(data, without, len(cells), ANY_BYTES["sqlite"], tmp_path, ASKED)


@pytest.mark.parametrize("step", [pytest.param(4, id="few"), pytest.param(1, marks=pytest.mark.slow, id="every cell")])
def test_replay_of_every_question_with_an_odd_number_stays_within_epsilon(step: int, tmp_path: Path) -> None:
    cells = hostile.number_cells()[::step]
    data, without = hostile.typed_table(cells), hostile.typed_table(cells, odd=False)
    check_replay(data, without, len(cells), TYPED["parquet"], tmp_path, ASKED)


EMBEDDED = ["csv", "parquet", "arrow", "pandas str", "sqlite", "polars", "duckdb"]


def _load_typed_sqlite(data: pa.Table, schema: dp.Schema, folder: Path) -> Table:
    return dp.load(hostile.write_typed_sqlite(folder / "n.db", data), schema, table="t")


NUMBERS_IN = {**TYPED, "sqlite": _load_typed_sqlite}


Integers = dict[Any, list[list[int]]]
EXPECTED: dict[str, dict[int, Integers]] = {}
"""What a clean table with one example answers to each question; many cells must count as the same."""


@cache
def plan_alone(number: int) -> Plan:
    """Return the plan of a question, by its number, as it is when somebody asks it."""
    return prepared_of(ASKED[number], schema_of(1)).plan


@cache
def read_by(number: int) -> frozenset[str]:
    """Return the columns that a question's statement names."""
    with dp.load(hostile.text_table([], odd=False), schema_of(1)) as empty:
        statement = empty.engine.explain(plan_alone(number))
    return frozenset(name for name in hostile.NAMES if f'"{name}"' in statement)


def looks_at(number: int, column: str) -> bool:
    return column in read_by(number)


@cache
def asked_alone(column: str) -> list[int]:
    """Return the questions that a cell of this column meets alone: all that read it, and more until all are read.

    Statements that choose a row of each person name every column, but their answers depend on few: they do not count.
    """
    numbers = [number for number in range(len(ASKED)) if looks_at(number, column)]
    for number in map(ASKED.index, hostile.FEW):
        read = {name for one in numbers if getattr(ASKED[one], "per_person", None) is None for name in read_by(one)}
        if not read_by(number) <= read:
            numbers.append(number)
    return sorted(numbers)


def asked_together(column: str) -> list[int]:
    """Return the questions that do not read the column: all cells of it meet them in one table."""
    return [number for number in range(len(ASKED)) if number not in asked_alone(column)]


def load_clean(expected: pa.Table, count: int, folder: Path) -> Table:
    """Load what the cells must count as into SQLite, which answers a question about it within a millisecond."""
    write = hostile.write_sqlite if expected["age"].type == pa.large_string() else hostile.write_typed_sqlite
    return dp.load(write(folder / "clean.db", expected), schema_of(count), table="t")


def expected_of(cell: Cell, expected: pa.Table, folder: Path, numbers: Sequence[int]) -> dict[int, Integers]:
    """Return what the clean table that holds what a cell must count as answers, each question asked once."""
    known = EXPECTED.setdefault(repr((cell.column, cell.expected, expected.schema.types)), {})
    if missing := [number for number in numbers if number not in known]:
        with load_clean(expected, 1, folder) as clean:
            known.update({number: integers(clean, plan_alone(number)) for number in missing})
    return known


def check_alone(
    cell: Cell, load: Load, tables: tuple[Any, pa.Table], folder: Path, numbers: Sequence[int] | None = None
) -> None:
    """A table with this cell alone is answered as the clean one that holds what it must count as."""
    data, expected = tables
    numbers = asked_alone(cell.column) if numbers is None else numbers
    right = expected_of(cell, expected, folder, numbers)
    with load(data, schema_of(1), folder) as table:
        for number in numbers:
            assert integers(table, plan_alone(number)) == right[number], (cell.name, str(ASKED[number]))


def check_together(cells: Sequence[Cell], load: Load, tables: tuple[Any, pa.Table], folder: Path) -> None:
    """Cells of one column in one table: questions that do not read the column see none of them, in any example."""
    (column,), count, (data, expected) = {cell.column for cell in cells}, len(cells), tables
    with load(data, schema_of(count), folder) as table, load_clean(expected, count, folder) as clean:
        for number in asked_together(column):
            plan = plan_of(number, count)
            name = f'col("{column}")' if table.engine.name == "Polars" else f'"{column}"'
            assert name not in table.engine.explain(plan), str(ASKED[number])
            found, right = integers(table, plan), integers(clean, plan)
            wrong = {cells[key[0]].name for key in {*found, *right} if found.get(key) != right.get(key)}
            assert not wrong, (sorted(wrong), str(ASKED[number]))


def _load_objects(data: pd.DataFrame, schema: dp.Schema, folder: Path) -> Table:
    return dp.load(data, schema)


Make = Callable[[Sequence[Cell]], Any]


def kinds(engine: str) -> list[tuple[list[Cell], Load, Make, Make]]:
    """Return the cells that an embedded engine can hold, by how they are stored.

    Each with what loads them, what makes the table of some of them, and what makes the clean one.
    """
    found: list[tuple[list[Cell], Load, Make, Make]] = []
    clean_text, clean_typed = partial(hostile.text_table, expected=True), partial(hostile.typed_table, expected=True)
    if engine in EMBEDDED:
        texts = storable(engine, hostile.text_cells())
        found.append((texts, {**ANY_BYTES, **ONLY_TEXT}[engine], hostile.text_table, clean_text))
    if engine in NUMBERS_IN:
        found.append((hostile.number_cells(), NUMBERS_IN[engine], hostile.typed_table, clean_typed))
    for unit in ("s", "ms", "us", "ns") if engine in TYPED else ():
        is_finer = (engine, unit) in NO_SECONDS  # kept in a finer unit, which ends sooner
        moments = [cell for cell in hostile.moment_cells(unit) if not (is_finer and cell.expected is None)]
        found.append((moments, TYPED[engine], partial(hostile.moment_table, unit=unit, zone=None), clean_typed))
    if engine == "pandas":
        found.append((hostile.object_cells(), _load_objects, hostile.object_frame, clean_text))
    return found


def test_cells_alone_are_answered(tmp_path: Path) -> None:
    """One cell in four in a table of its own, on one engine and for one question in turn; below, all for all."""
    turns: dict[str, list[Any]] = {}
    for engine in [*EMBEDDED, "pandas"]:
        for cells, *how in kinds(engine):
            for cell in cells:
                turns.setdefault(f"{cell.name} {type(cell.stored).__name__}", []).append((cell, *how))
    for i, places in enumerate([*turns.values()][::4]):
        cell, load, make, clean = places[i % len(places)]
        folder = tmp_path / str(i)
        folder.mkdir()
        about = [number for number in range(len(ASKED)) if looks_at(number, cell.column)]
        check_alone(cell, load, (make([cell]), clean([cell])), folder, [about[i // len(places) % len(about)]])


FAULTS = {
    "another's cell is read otherwise": "UPDATE t SET shift = '5' WHERE patient = 'y0'",
    "another's row is lost": "DELETE FROM t WHERE patient = 'z0'",
    "the row counts for three": "INSERT INTO t SELECT * FROM t WHERE part = 'odd' AND example = '0' UNION ALL "
    "SELECT * FROM t WHERE part = 'odd' AND example = '0'",
    "a question fails": "ALTER TABLE t RENAME COLUMN shift TO other",
}
"""What the cell of the first example might do to a table, as SQLite does it."""


def _faulty(fault: str, data: pa.Table, schema: dp.Schema, folder: Path) -> Table:
    table = _load_sqlite(data, schema, folder)
    with sqlite3.connect(folder / "a.db") as connection:
        connection.execute(FAULTS[fault])
    connection.close()
    return table


@pytest.mark.parametrize("column", ["age", "kind", "city"])
@pytest.mark.parametrize("fault", FAULTS)
def test_planted_faults_of_a_cell_are_noticed(fault: str, column: str, tmp_path: Path) -> None:
    cells = [cell for cell in hostile.text_cells() if cell.column == column][:3]
    tables = hostile.text_table(cells), hostile.text_table(cells, expected=True)
    one = hostile.text_table(cells[:1]), hostile.text_table(cells[:1], expected=True)
    places = {name: tmp_path / name for name in ("alone", "together", "faulty alone", "faulty together")}
    for folder in places.values():
        folder.mkdir()
    check_alone(cells[0], _load_sqlite, one, places["alone"])
    check_together(cells, _load_sqlite, tables, places["together"])
    wrong = pytest.raises((AssertionError, EngineError))
    with wrong:
        check_alone(cells[0], partial(_faulty, fault), one, places["faulty alone"])
    with wrong:
        check_together(cells, partial(_faulty, fault), tables, places["faulty together"])


def test_every_cell_meets_every_question() -> None:
    """Alone or together: no question is left out, and none that reads a cell meets it in company only."""
    for column in ("patient", *hostile.COLUMNS):
        assert sorted([*asked_alone(column), *asked_together(column)]) == [*range(len(ASKED))]
        assert not any(looks_at(number, column) for number in asked_together(column))
        assert {name for number in asked_alone(column) for name in read_by(number)} >= {"patient", *hostile.COLUMNS}


@pytest.mark.slow
@pytest.mark.parametrize("engine", [*EMBEDDED, "pandas"])
def test_every_cell_alone_is_answered_for_every_question_about_it(engine: str, tmp_path: Path) -> None:
    """Alone: every question that reads the cell's column, and others until every column is read."""
    for i, (cell, load, make, clean) in enumerate((cell, *how) for cells, *how in kinds(engine) for cell in cells):
        folder = tmp_path / str(i)
        folder.mkdir()
        check_alone(cell, load, (make([cell]), clean([cell])), folder)


@pytest.mark.slow
@pytest.mark.parametrize("engine", [*EMBEDDED, "pandas"])
def test_every_cell_meets_every_question_that_does_not_read_it(engine: str, tmp_path: Path) -> None:
    """With the above, every cell meets every question on every embedded engine."""
    for i, (cells, load, make, clean) in enumerate(kinds(engine)):
        for column in {cell.column: None for cell in cells}:
            folder, some = tmp_path / f"{i} {column}", [cell for cell in cells if cell.column == column]
            folder.mkdir()
            check_together(some, load, (make(some), clean(some)), folder)
