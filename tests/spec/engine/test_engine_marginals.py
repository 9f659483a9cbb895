"""Many tables in one scan: the integers of asking one by one, on every engine, and the source is scanned once."""

from __future__ import annotations

import json
import re
import sqlite3
from collections import Counter
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from neighbours import CHOSEN, arrow, schema_of

import pydplib as dp
from pydplib.engine import Bins, Measure, Plan
from pydplib.engine.marginals import rows_of
from pydplib.errors import QuestionError

SCHEMA = schema_of()
EDGES = [18, 40, 60, 100]
SCORES = [1, 2, 3, "other"]
PRESENT = [dp.Where("psa").is_present()]


def plan(by: Any = (), where: Any = ()) -> Plan:
    return Plan(SCHEMA, measures=[Measure("count")], by=by, where=where)


PLANS = [
    plan({"age": Bins(EDGES), "pirads": (1, 2, 3, "other")}),
    plan({"pirads": (3, 1), "age": Bins(EDGES)}),
    plan({"bph": (True, None)}),
    plan(),
    plan({"pirads": (1, 2, 3, "other")}, PRESENT),
    plan({"day": Bins(["2018-01-01", "2018-07-01", "2018-12-31"])}, PRESENT),
]
PEOPLE = [person for others, him in CHOSEN for person in (*others, him)]


def place_of_age(row: dict[str, Any]) -> int:
    age = row["age"]
    if age is None or age != age:
        return 3
    age = min(max(age, 18.0), 100.0)  # numbers beyond the bounds count at them
    return int(np.searchsorted(EDGES, age, side="right")) - 1 if age < 100 else 2


def place_of_score(row: dict[str, Any], keys: list[Any]) -> int:
    score = row["pirads"]
    score = score if score in (1, 2, 3) or score is None else "other"
    return keys.index(score) if score in keys else len(keys)


def by_hand() -> list[Counter[tuple[int, ...]]]:
    """The first two tables, of the rows of every person, each weighed by their number."""
    one, two = Counter[tuple[int, ...]](), Counter[tuple[int, ...]]()
    for person in PEOPLE:
        weight = 2**16 if len(person) <= 2 else 2 * 2**16 // len(person)
        for row in person:
            one[place_of_age(row), place_of_score(row, SCORES)] += weight
            two[place_of_score(row, [3, 1]), place_of_age(row)] += weight
    return [one, two]


def test_tables_in_one_scan_hold_every_row_once_and_agree_with_asking_one_by_one(place):
    table = place(arrow(PEOPLE), SCHEMA)
    found = table.tables(PLANS)
    assert [cells.shape for cells in found] == [(4, 5), (3, 4), (3,), (), (5,), (3,)]
    for cells, counted in zip(found, by_hand(), strict=False):
        assert {tuple(place): int(cells[tuple(place)]) for place in np.argwhere(cells)} == dict(counted)
    for cells, asked in zip(found, PLANS, strict=True):
        inside = cells[tuple(slice(0, -1) for _ in cells.shape)]
        assert inside.ravel().tolist() == table.aggregate(asked)[0].tolist()
    assert {int(cells.sum()) for cells in found[:4]} == {int(found[3])}
    assert int(found[4].sum()) == int(found[5].sum()) <= int(found[3])


def test_tables_of_one_row_of_each_person_are_counted_together_and_apart_from_others(place):
    table = place(arrow(PEOPLE), SCHEMA)
    row = dp.Person("patient").last_row(order="age").bound(SCHEMA)
    old = [dp.Where("age").at_least(60)]

    def chosen(by: Any, *, where: Any = (), after: Any = ()) -> Plan:
        return Plan(SCHEMA, measures=[Measure("count")], by=by, where=where, after=after, bound=row)

    score, flag = {"pirads": (1, 2, 3, "other")}, {"bph": (True, None)}
    plans = [chosen(score), chosen(flag), chosen(score, after=old), chosen(score, where=old), plan(score)]
    assert [len(group.plans) for group in rows_of(plans)] == [2, 1, 1, 1]
    found = table.tables(plans)
    for cells, asked in zip(found, plans, strict=True):
        assert cells[:-1].tolist() == table.aggregate(asked)[0].tolist()
    people = [rows for rows in PEOPLE if rows]
    assert int(found[0].sum()) == int(found[1].sum()) == len(people)
    # Whoever's last row is of an old age has an old row; the other way round it need not be so.
    assert 0 < int(found[2].sum()) <= int(found[3].sum()) <= len(people)


def test_tables_without_persons_and_of_nobody_are_counted(place):
    schema = dp.Schema({"pirads": dp.Category([1, 2]), "bph": dp.Flag()})
    plans = [
        Plan(schema, measures=[Measure("count")], by=["pirads"]),
        Plan(schema, measures=[Measure("count")], by=["bph", "pirads"]),
    ]
    kinds = pa.schema({"pirads": pa.int64(), "bph": pa.bool_()})
    rows = pa.table({"pirads": [1, 1, 2, 9, None], "bph": [True, None, False, True, True]}, schema=kinds)
    score, both = place(rows, schema).tables(plans)
    assert score.tolist() == [2, 1, 1, 1]
    assert both.sum(axis=0).tolist() == [2, 1, 1, 1] and both.sum(axis=1).tolist() == [1, 3, 1]
    empty = place(rows.slice(0, 0), schema)
    assert [int(np.abs(cells).sum()) for cells in empty.tables(plans)] == [0, 0]
    assert empty.tables([]) == ()


def test_only_counts_over_public_keys_are_counted_together():
    with dp.load(arrow(PEOPLE), SCHEMA) as table:
        with pytest.raises(QuestionError, match="counts over public keys"):
            table.tables([Plan(SCHEMA, measures=[Measure("count", "age")], by=["pirads"])])
        with table.engine.bounded(plan()) as bounded, pytest.raises(QuestionError, match="from the table itself"):
            bounded.tables([plan()])


ASKED = [
    dp.Crosstab("age", "pirads", bins={"age": EDGES}),
    dp.Histogram("age", edges=EDGES, by="bph"),
    dp.Count(by="pirads", where=PRESENT),
    dp.Count(of="persons", by="pirads"),
]


def leaves(node: Any) -> list[Any]:
    return [node] if not node.get("Plans") else [leaf for child in node["Plans"] for leaf in leaves(child)]


@pytest.mark.postgres
@pytest.mark.parametrize("engine_name", ["postgres"], indirect=True)
def test_postgres_scans_the_source_once_for_a_whole_page_of_figures(place):
    table = place(arrow(PEOPLE), SCHEMA)
    session = dp.Session(table, recipient="acme", budget=1.0)
    ran: list[str] = []
    run = table.engine._run
    table.engine._run = lambda statement: ran.append(statement) or run(statement)  # type: ignore[func-returns-value]
    session.release_all(ASKED, epsilon=1.0)
    name = table.engine._compiler.source.text.strip('"')
    reads = [statement for statement in ran if name in statement and not statement.endswith("LIMIT 0")]
    assert len(reads) == 1
    ((plans,),) = run(f"EXPLAIN (ANALYZE, FORMAT JSON) {reads[0]}")
    plans = json.loads(plans) if isinstance(plans, str) else plans
    scans = [leaf for leaf in leaves(plans[0]["Plan"]) if leaf.get("Relation Name")]
    assert [(scan["Relation Name"], scan["Actual Loops"]) for scan in scans] == [(name, 1)]
    # Asked one by one, the same tables need more.
    ran.clear()
    table.aggregate(PLANS[0])
    ((plans,),) = run(f"EXPLAIN (FORMAT JSON) {ran[0]}")
    plans = json.loads(plans) if isinstance(plans, str) else plans
    assert len([leaf for leaf in leaves(plans[0]["Plan"]) if leaf.get("Relation Name")]) > 1


@pytest.mark.spark
@pytest.mark.parametrize("engine_name", ["spark"], indirect=True)
def test_spark_scans_the_source_once_for_a_whole_page_of_figures(place, spark_session, spark_cluster, tmp_path):
    import pyarrow.parquet as pq

    path = spark_cluster.folder / "one-scan.parquet"
    pq.write_table(arrow(PEOPLE), path)
    table = dp.load(spark_session.read.parquet(str(path)), SCHEMA)
    engine, ran = table.engine, []
    run = engine._run

    def watched(statement: str) -> Any:
        frame = spark_session.sql(statement)
        ran.append(frame._jdf.queryExecution().optimizedPlan().toString())
        return run(statement)

    engine._run = watched
    dp.Session(table, recipient="acme", budget=1.0).release_all(ASKED, epsilon=1.0)
    counted = [text for text in ran if "Aggregate" in text]
    assert len(counted) == 1
    # Every reading is of the copy in the cluster's memory, which was made by one scan.
    readings = re.findall(r"InMemoryRelation", counted[0])
    assert readings
    tree = [line.strip(" :+-") for line in counted[0].splitlines()]
    copies = {line for line in tree if "FileScan" in line}
    assert len(copies) == 1 and not any("Relation [" in line and "parquet" in line for line in tree)
    table.close()


def test_sqlite_and_polars_count_all_tables_by_one_statement(tmp_path):
    import polars as pl

    with dp.load(pl.from_arrow(arrow(PEOPLE)), SCHEMA) as table:
        groups = rows_of(PLANS)
        text = table.engine.tables_frame(groups).explain(optimized=True)
        assert len(set(re.findall(r"CACHE\[id: (\w+)", text))) >= 1
        collected: list[Any] = []
        kept = pl.LazyFrame.collect
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(pl.LazyFrame, "collect", lambda self, **how: collected.append(self) or kept(self, **how))
            table.tables(PLANS)
        assert len(collected) == 1
    path = tmp_path / "reports.db"
    with sqlite3.connect(path) as connection:
        connection.execute("CREATE TABLE reports (patient, age, psa, lesions, pirads, bph, day, city)")
    with dp.load(path, SCHEMA, table="reports") as table:
        ran: list[str] = []
        run = table.engine._run
        table.engine._run = lambda statement: ran.append(statement) or run(statement)  # type: ignore
        table.tables(PLANS)
        assert len(ran) == 1 and ran[0].count('FROM "reports"') == 1
