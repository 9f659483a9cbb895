"""Rows of persons beyond the limit, laid aside once: the integers of one weight per row, on the same bytes alone."""

from __future__ import annotations

import os
import tempfile
import time
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.csv as pc
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from reference_engine import reference

import pydplib as dp
from pydplib.engine import Bound, Measure, Plan, Table, Where
from pydplib.engine.sql import beyond
from pydplib.errors import EngineError

W = 2**16
COLUMNS = {"x": dp.Number(-2, 5), "g": dp.Category(["a", "b"]), "day": dp.Integer(0, 9), "t": dp.Text()}
SCHEMA = dp.Schema(COLUMNS, person="id", max_rows_per_person=2, name="t")
SUM = Measure("sum", "x", low=-2, high=5, step=0.25)
CELLS = Measure("cells", "x", edges=[-2, 0, 2.5, 5])
COUNT = Plan(SCHEMA, measures=[Measure("count")])
KINDS = {"x": pa.float64(), "g": pa.string(), "day": pa.int64(), "t": pa.string()}


def rows_of(people: dict[Any, int], kind: pa.DataType | None = None) -> pa.Table:
    """Return a table in which each person has this many rows."""
    ids = [person for person, count in people.items() for _ in range(count)]
    return pa.table(
        {
            "id": pa.array(ids, kind or pa.string()),
            "x": [float(i % 7) - 2 for i in range(len(ids))],
            "g": ["abc"[i % 3] for i in range(len(ids))],
            "day": [i % 10 for i in range(len(ids))],
            "t": [f"t{i}" for i in range(len(ids))],
        }
    )


def settled(path: Path) -> Path:
    """Say that a file was written an hour ago: one that was written just now has no stamp yet."""
    then = time.time() - 3600
    os.utime(path, (then, then))
    return path


def as_parquet(data: pa.Table, folder: Path) -> Table:
    pq.write_table(data, folder / "rows.parquet")
    return dp.load(settled(folder / "rows.parquet"), SCHEMA)


def as_parts(data: pa.Table, folder: Path) -> Table:
    for part in range(2):
        pq.write_table(data.slice(part * 3, 3 if part == 0 else None), folder / f"part{part}.parquet")
        settled(folder / f"part{part}.parquet")
    return dp.load(f"{folder}/part*.parquet", SCHEMA)


def as_csv(data: pa.Table, folder: Path) -> Table:
    pc.write_csv(data, folder / "rows.csv")
    return dp.load(folder / "rows.csv", SCHEMA)


PLACES: dict[str, Callable[[pa.Table, Path], Table]] = {
    "parquet": as_parquet,
    "parts": as_parts,
    "csv": as_csv,
}


_FOLDER = tempfile.TemporaryDirectory(prefix="pydplib-beyond-")


def load(data: pa.Table, schema: dp.Schema = SCHEMA) -> Table:
    """Return rows in a file that nobody writes to any more, so that its bytes have a stamp."""
    path = Path(_FOLDER.name) / f"{uuid.uuid4().hex}.parquet"
    pq.write_table(data, path)
    return dp.load(settled(path), schema)


def integers(table: Table, plan: Plan) -> list[Any]:
    return [values.tolist() for values in table.aggregate(plan).values]


def weighed(table: Table, plan: Plan) -> list[Any]:
    return [values.tolist() for values in table.engine._weighed(plan).values]  # type: ignore[attr-defined]


def is_laid_aside(table: Table, plan: Plan = COUNT) -> bool:
    return table.engine._beyond.answers(plan) is not None  # type: ignore[attr-defined]


def limit_of(table: Table) -> int | None:
    return table.engine._beyond._limit  # type: ignore[attr-defined, no-any-return]


# -- the same integers -----------------------------------------------------------------------------

TEXT_IDS = st.sampled_from(["a", "b", "c", "d", " a", "A", "1", "01", "é", "", None])
NUMBER_IDS = st.sampled_from([0.0, -0.0, 1.0, 2.5, float("inf"), -float("inf"), float("nan"), None])
INTEGER_IDS = st.sampled_from([0, 1, 2, -1, 2**62, None])
VALUES = st.sampled_from([None, float("nan"), float("inf"), -1e300, -2.0, -0.0, 0.9, 2.5, 5.0, 1e300])
GROUPS = st.sampled_from(["a", "b", "other", "", None])
WHERES = [
    (),
    (Where("x").at_least(0),),
    (Where("g").is_in(["a"]), Where("day").between(2, 7)),
    (Where("x").is_missing(),),
    (Where("g").is_present(),),
]
MEASURES = [(Measure("count"),), (SUM, Measure("count", "x")), (CELLS, Measure("count")), (Measure("count", "g"),)]


@st.composite
def tables(draw: st.DrawFn) -> pa.Table:
    ids, kind = draw(st.sampled_from([(TEXT_IDS, pa.string()), (NUMBER_IDS, pa.float64()), (INTEGER_IDS, pa.int64())]))
    rows = draw(st.lists(st.tuples(ids, VALUES, GROUPS, st.integers(-1, 11)), max_size=30))
    columns = {"id": pa.array([row[0] for row in rows], kind)}
    for place, name in enumerate(("x", "g", "day"), start=1):
        columns[name] = pa.array([row[place] for row in rows], KINDS[name])
    return pa.table(columns | {"t": pa.nulls(len(rows), pa.string())})


@settings(max_examples=30, deadline=None)
@given(tables(), st.sampled_from(WHERES), st.sampled_from(MEASURES), st.booleans(), st.integers(1, 4))
def test_integers_are_those_of_one_weight_per_row(
    data: pa.Table, where: Any, measures: Any, by: bool, limit: int
) -> None:
    plan = Plan(SCHEMA, where=where, by=["g"] if by else [], measures=measures, bound=Bound("id", limit))
    _, expected = reference(data, plan)
    with load(data) as table:
        assert integers(table, COUNT) == weighed(table, COUNT)  # rows beyond 2 are laid aside now
        assert is_laid_aside(table, plan)
        assert integers(table, plan) == weighed(table, plan) == expected
    with dp.load(data.to_pandas(), SCHEMA) as table:
        assert integers(table, plan) == expected
    with dp.load(pl.from_arrow(data), SCHEMA) as table:
        assert integers(table, plan) == expected


@pytest.mark.parametrize("place", PLACES)
def test_every_source_of_duckdb_gives_the_same_integers(place: str, tmp_path: Path) -> None:
    data = rows_of({"a": 5, "b": 2, "c": 1, None: 3, "d": 9, "": 1, "e": 2})
    with PLACES[place](data, tmp_path) as table:
        for where in WHERES:
            for measures in MEASURES:
                plan = Plan(SCHEMA, where=where, by=["g"], measures=measures)
                assert is_laid_aside(table, plan), place
                assert integers(table, plan) == weighed(table, plan), (place, where)


def test_person_column_may_have_any_name_and_be_measured() -> None:
    for name in ("p", "n", "w", "c0", "named", "one"):
        schema = dp.Schema({name: dp.Integer(0, 9), "q": dp.Number(0, 1)}, person=name, max_rows_per_person=1)
        plan = Plan(schema, by=[name], measures=[Measure("count")])
        with load(pa.table({name: [1, 1, 2, None], "q": [0.1, 0.2, 0.3, 0.4]}), schema) as table:
            assert integers(table, plan) == weighed(table, plan)
            assert integers(table, plan)[0][1:3] == [W, W]
            assert is_laid_aside(table, plan)


def test_list_serves_larger_limits_and_is_made_again_for_smaller_ones() -> None:
    with load(rows_of({"a": 2, "b": 3, "c": 4, "d": 5})) as table:
        for limit, made in ((3, 3), (4, 3), (5, 3), (2, 2), (1, 1), (4, 1)):
            plan = Plan(SCHEMA, measures=[Measure("count")], bound=Bound("id", limit))
            assert integers(table, plan) == weighed(table, plan)
            assert limit_of(table) == made


def test_columns_are_laid_aside_as_they_are_asked_for_then_all() -> None:
    with load(rows_of({"a": 5, "b": 1, None: 2})) as table:
        engine: Any = table.engine
        for column, kept in (("x", {"x"}), ("x", {"x"}), ("g", {"x", "g", "day"}), ("day", {"x", "g", "day"})):
            plan = Plan(SCHEMA, measures=[Measure("count", column)], bound=Bound("id", 3))
            assert integers(table, plan) == weighed(table, plan)
            assert engine._beyond._columns == kept and limit_of(table) == 3
        assert integers(table, COUNT) == weighed(table, COUNT)
        assert engine._beyond._columns == kept and limit_of(table) == 2


def test_too_many_rows_beyond_the_limit_are_weighed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(beyond, "FEW", 0)
    with load(rows_of({"a": 3, "b": 2, **{f"p{i}": 1 for i in range(8)}})) as table:
        for limit, made in ((1, None), (2, 2), (1, 2), (3, 2)):
            plan = Plan(SCHEMA, measures=[Measure("count")], bound=Bound("id", limit))
            assert is_laid_aside(table, plan) == (limit > 1)
            assert integers(table, plan) == weighed(table, plan)
            assert limit_of(table) == made


def test_samples_persons_and_free_texts_are_answered_as_ever() -> None:
    with load(rows_of({"a": 5, "b": 1})) as table:
        bound = Bound("id", 1, mode="sample", max_groups=2, salt="s")
        assert not is_laid_aside(table, Plan(SCHEMA, by={"t": None}, bound=bound, measures=[Measure("count")]))
        assert not is_laid_aside(table, Plan(SCHEMA, measures=[Measure("persons", edges=[1, 3])]))
        assert "pydplib_beyond" not in table.engine.explain(Plan(SCHEMA, measures=[Measure("persons", edges=[1, 3])]))


# -- the same bytes --------------------------------------------------------------------------------


def test_file_that_changed_is_looked_at_again(tmp_path: Path) -> None:
    """The same size, another person beyond the limit: with the old list, one person would count five times."""
    path = tmp_path / "rows.parquet"
    first, second = rows_of({"a": 5, "b": 1}), rows_of({"a": 1, "b": 5})
    plan = Plan(SCHEMA, by=["g"], measures=[Measure("count")])
    with as_parquet(first, tmp_path) as table:
        assert is_laid_aside(table, plan)
        pq.write_table(second, path)  # in place: the same inode
        assert integers(table, plan) == reference(second, plan)[1]
        settled(path)
        assert is_laid_aside(table, plan)
        assert integers(table, plan) == reference(second, plan)[1]
        pq.write_table(first, tmp_path / "new.parquet")
        os.replace(settled(tmp_path / "new.parquet"), path)  # at the same time, another inode
        assert is_laid_aside(table, plan)
        assert integers(table, plan) == reference(first, plan)[1]


def test_file_more_of_a_pattern_is_looked_at(tmp_path: Path) -> None:
    data = rows_of({"a": 5, "b": 1, "c": 1})
    with as_parts(data, tmp_path) as table:
        assert integers(table, COUNT) == reference(data, COUNT)[1]
        more = rows_of({"b": 6})
        pq.write_table(more, tmp_path / "part7.parquet")
        settled(tmp_path / "part7.parquet")
        both = pa.concat_tables([data, more])
        assert is_laid_aside(table)
        assert integers(table, COUNT) == reference(both, COUNT)[1]


def test_file_that_changes_during_a_question_is_weighed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    data, later = rows_of({"a": 5, "b": 1}), rows_of({"a": 1, "b": 5})
    with as_parquet(data, tmp_path) as table:
        engine: Any = table.engine
        run = engine._beyond._run

        def change_then_run(statement: str) -> Any:
            if statement.startswith("WITH"):
                pq.write_table(later, tmp_path / "rows.parquet")
                settled(tmp_path / "rows.parquet")
            return run(statement)

        monkeypatch.setattr(engine._beyond, "_run", change_then_run)
        assert engine._beyond.answers(COUNT) is None
        assert integers(table, COUNT) == reference(later, COUNT)[1]


def test_file_written_just_now_or_gone_has_no_stamp(tmp_path: Path) -> None:
    pq.write_table(rows_of({"a": 5, "b": 1}), tmp_path / "rows.parquet")
    with dp.load(tmp_path / "rows.parquet", SCHEMA) as table:
        assert not is_laid_aside(table)
        assert integers(table, COUNT) == [[5 * (2 * W // 5) + W]]
        settled(tmp_path / "rows.parquet")
        assert is_laid_aside(table)
        (tmp_path / "rows.parquet").unlink()
        assert not is_laid_aside(table)
        with pytest.raises(EngineError):
            table.aggregate(COUNT)


def test_frame_that_somebody_writes_into_stays_within_the_bound() -> None:
    ids = np.arange(1000)
    schema = dp.Schema({"x": dp.Number(0, 1)}, person="id", max_rows_per_person=1)
    plan = Plan(schema, measures=[Measure("count")])
    for frame in (
        pa.table({"id": pa.array(ids), "x": pa.array(np.zeros(1000))}),
        pd.DataFrame({"id": ids, "x": np.zeros(1000)}, copy=False),
    ):
        ids[:] = np.arange(1000)
        with dp.load(frame, schema) as table:
            assert table.engine._beyond is None  # type: ignore[attr-defined]
            assert integers(table, plan)[0][0] == 1000 * W
            ids[:] = 7
            assert integers(table, plan)[0][0] <= W + 1000  # all rows are one person's now


def test_tables_of_a_database_are_weighed() -> None:
    import duckdb

    with duckdb.connect() as connection:
        connection.register("frame", rows_of({"a": 5, "b": 1}))
        connection.execute("CREATE TABLE t AS FROM frame")
        for table in (dp.load(connection, SCHEMA, table="t"), dp.load(connection.table("t"), SCHEMA)):
            assert table.engine._beyond is None  # type: ignore[attr-defined]


def test_cell_that_duckdb_cannot_read_changes_nothing(tmp_path: Path) -> None:
    data = rows_of({"a": 5, "b": 2, "c": 1})
    texts = [text.encode() for text in data["g"].to_pylist()]
    texts[-1] = b"\xff\xfe"
    broken = pa.array(texts, pa.binary()).view(pa.string())
    plan = Plan(SCHEMA, by=["g"], measures=[Measure("count")])
    with as_parquet(data.set_column(2, "g", broken), tmp_path) as table:
        whole = data.set_column(2, "g", pa.array([*data["g"].to_pylist()[:-1], "c"]))
        for question in (COUNT, plan, COUNT, plan):
            assert integers(table, question) == reference(whole, question)[1]
        assert is_laid_aside(table, plan)


# -- private, and never in the way -----------------------------------------------------------------


def test_list_stays_in_the_private_connection_and_goes_with_it() -> None:
    table = load(rows_of({"CANARY": 5, "b": 1}))
    engine: Any = table.engine
    table.aggregate(COUNT)
    (kept,) = engine._run("SELECT table_name, temporary FROM duckdb_tables()")
    assert kept[0].startswith("pydplib_beyond_") and not kept[0].endswith("_persons") and kept[1]
    shown = repr(table) + repr(engine) + repr(vars(engine._beyond)) + engine.explain(COUNT)
    assert "CANARY" not in shown
    table.close()
    with pytest.raises(Exception, match="closed"):
        engine._run("SELECT 1")


def test_list_that_cannot_be_made_fails_no_question(monkeypatch: pytest.MonkeyPatch) -> None:
    for failing in ("_persons AS", "SEMI JOIN", "SELECT COALESCE", "DROP TABLE pydplib", "UNION ALL"):
        with load(rows_of({"a": 5, "b": 1})) as table:
            engine: Any = table.engine
            run = engine._beyond._run

            def refuse(statement: str, run: Any = run, failing: str = failing) -> Any:
                if failing in statement:
                    raise EngineError("too little memory")
                return run(statement)

            monkeypatch.setattr(engine._beyond, "_run", refuse)
            assert integers(table, COUNT) == weighed(table, COUNT), failing
            assert integers(table, COUNT) == weighed(table, COUNT), failing


# -- speed -----------------------------------------------------------------------------------------


def test_a_million_rows_cost_at_most_twice_the_unbounded_question(tmp_path: Path) -> None:
    """CPU time, the best of several in turns; one person in a hundred is beyond the limit."""
    draw = np.random.default_rng(920)
    counts = draw.integers(1, 3, 620_000)
    counts[draw.random(len(counts)) < 0.01] = 17
    ids = draw.permutation(np.repeat(np.arange(len(counts), dtype=np.int32), counts)[:1_000_000])
    data = {
        "id": ids, "x": draw.uniform(-2, 5, len(ids)), "g": draw.choice(["a", "b"], len(ids)),
        "day": draw.integers(0, 10, len(ids)), "t": pa.nulls(len(ids), pa.string()),
    }  # fmt: skip
    pq.write_table(pa.table(data), tmp_path / "rows.parquet")
    path = settled(tmp_path / "rows.parquet")
    free = dp.Schema(COLUMNS, name="t")
    measures = [SUM, Measure("count", "x")]
    with dp.load(path, SCHEMA) as bounded, dp.load(path, free) as unbounded:
        asked = [
            (bounded, Plan(SCHEMA, by=["g"], measures=measures)),
            (unbounded, Plan(free, by=["g"], measures=measures)),
        ]
        assert integers(*asked[0]) == weighed(*asked[0])
        best = [float("inf")] * 2
        for _ in range(9):
            for place, (table, plan) in enumerate(asked):
                start = time.process_time()
                table.aggregate(plan)
                best[place] = min(best[place], time.process_time() - start)
        assert is_laid_aside(*asked[0])
    assert best[0] <= 2 * best[1]


def test_persons_are_not_all_counted_where_some_show_that_too_many_are_beyond_the_limit(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(beyond, "FEW", 0)
    many = {f"p{i}": 3 if i % 10 == 0 else 2 for i in range(2000)}
    asked: list[str] = []
    for limit, rows, counts in ((1, many, False), (2, many, True), (1, dict.fromkeys(many, 1), True)):
        with load(rows_of(rows)) as table:
            engine: Any = table.engine
            run = engine._beyond._run
            asked.clear()
            engine._beyond._run = lambda text, run=run: (asked.append(text), run(text))[1]
            plan = Plan(SCHEMA, measures=[Measure("count")], bound=Bound("id", limit))
            assert integers(table, plan) == weighed(table, plan)
            assert any("HAVING" in text for text in asked) is counts
