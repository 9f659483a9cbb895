"""A real cluster: a worker's executor dies in the middle of a question, and the integers stay the same."""

from __future__ import annotations

import os
import signal
import threading
import time
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import pydplib as dp
from pydplib.engine import Measure, Plan

pytestmark = pytest.mark.spark

SCHEMA = dp.Schema(
    {"age": dp.Number(0, 100), "pirads": dp.Category([1, 2, 3, 4, 5])}, person="id", max_rows_per_person=3
)
PLAN = Plan(
    SCHEMA,
    by=["pirads"],
    measures=[Measure("count"), Measure("sum", "age", low=0, high=100, step=0.125, center=50)],
)
ROWS = 300_000
CELLS = "(i * 7919) % 100003 AS id, CAST(i % 1009 AS DOUBLE) / 10 AS age, i % 6 AS pirads"


def wait_for(condition: Any, seconds: float = 60) -> bool:
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        if condition():
            return True
        time.sleep(0.02)
    return False


@pytest.mark.parametrize("is_read_once", [False, True])
def test_integers_stay_the_same_when_an_executor_is_killed(
    spark_cluster: Any, spark_session: Any, is_read_once: bool
) -> None:
    expected = dp.load(duckdb.sql(f"SELECT {CELLS} FROM (SELECT range AS i FROM range({ROWS}))"), SCHEMA).aggregate(
        PLAN
    )
    frame = spark_session.range(0, ROWS, 1, 16).withColumnRenamed("id", "i").selectExpr(*CELLS.split(", "))
    assert wait_for(lambda: len(spark_cluster.executors()) == 2)
    table = dp.load(frame.limit(ROWS).repartition(16) if is_read_once else frame, SCHEMA)
    found: list[Any] = []
    question = threading.Thread(target=lambda: found.append(table.aggregate(PLAN)))
    question.start()
    tracker = spark_session.sparkContext.statusTracker()

    def is_in_the_middle() -> bool:
        stages = [tracker.getStageInfo(stage) for stage in tracker.getActiveStageIds()]
        return any(stage is not None and 2 <= stage.numCompletedTasks < stage.numTasks for stage in stages)

    assert wait_for(is_in_the_middle)
    victim = spark_cluster.executors()[0]
    os.kill(victim, signal.SIGKILL)  # started by this test's own worker
    assert question.is_alive()
    question.join(timeout=120)
    assert found, "the question did not come back"
    assert victim not in spark_cluster.executors()
    for mine, theirs in zip(found[0].values, expected.values, strict=True):
        assert mine.tolist() == theirs.tolist()


def test_url_and_parquet_are_enough_to_load(spark_cluster: Any, spark_session: Any) -> None:
    path = spark_cluster.folder / "reports.parquet"
    pq.write_table(pa.table({"id": [1, 1, 2], "age": [10.0, 20.0, 30.0], "pirads": [1, 2, 9]}), path)
    with dp.load(spark_cluster.url, SCHEMA, path=str(path)) as table:
        assert table.aggregate(PLAN)[0].tolist() == [2**16, 2**16, 0, 0, 0, 2**16]


def test_cluster_listens_on_loopback_only(spark_cluster: Any, spark_session: Any) -> None:
    """Spark's default is the machine's outer address; read what its processes really listen on."""
    own = {*(worker.pid for worker in spark_cluster.workers), *spark_cluster.executors()}
    inodes = set()
    for pid in own:
        for link in os.scandir(f"/proc/{pid}/fd"):
            target = os.readlink(link.path)
            if target.startswith("socket:["):
                inodes.add(target[8:-1])
    lines = [*Path("/proc/net/tcp").read_text().splitlines(), *Path("/proc/net/tcp6").read_text().splitlines()]
    sockets = [line.split() for line in lines]
    listening = {fields[1].split(":")[0] for fields in sockets if fields[3] == "0A" and fields[9] in inodes}
    assert listening
    assert listening <= {"0100007F", "0000000000000000FFFF00000100007F"}
