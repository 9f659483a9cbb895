"""DataFrames of Spark that may give other rows on a second reading are read once; files stay where they are."""

from __future__ import annotations

import uuid
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import pydplib as dp
from pydplib.engine import Measure, Plan

PEOPLE, ROWS = 40, 50
SCHEMA = dp.Schema({"who": dp.Integer(0, PEOPLE - 1), "x": dp.Number(0, 1)}, person="id", max_rows_per_person=1)
COUNT = Plan(SCHEMA, by=["who"], measures=[Measure("count")])
pytestmark = [pytest.mark.slow, pytest.mark.spark]


def test_largest_part_of_one_person_in_a_spark_sample_is_the_bound(spark_session: Any, spark_cluster: Any) -> None:
    who = [i // ROWS for i in range(PEOPLE * ROWS)]
    path = spark_cluster.folder / f"{uuid.uuid4().hex}.parquet"
    pq.write_table(pa.table({"id": [f"p{i}" for i in who], "who": who, "x": [1.0] * len(who)}), path)
    rows = spark_session.read.parquet(str(path))
    rows.createOrReplaceTempView("base_rows")
    samples = {
        "sample": rows.sample(0.1),
        "tablesample": spark_session.sql("SELECT * FROM base_rows TABLESAMPLE (10 PERCENT)"),
        "order by rand": spark_session.sql("SELECT * FROM base_rows ORDER BY rand() LIMIT 100"),
        "where rand": spark_session.sql("SELECT * FROM base_rows WHERE rand() < 0.1"),
        "limit after a shuffle": rows.repartition(4).limit(100),
        "a view": rows.selectExpr("id", "who", "rand() AS x"),
    }
    for name, frame in samples.items():
        with dp.load(frame, SCHEMA) as table:
            answers = [table.aggregate(COUNT).values[0] for _ in range(2)]
            assert max(answer.max() for answer in answers) <= COUNT.scale, name
            assert np.array_equal(*answers), name  # the rows that were read when it was loaded
    with dp.load(rows.where("x > 0").select("id", "who", "x"), SCHEMA) as table:
        assert table.aggregate(COUNT).values[0].tolist() == [ROWS * (COUNT.scale // ROWS)] * PEOPLE
        described = spark_session.sql(f"SELECT * FROM {table.engine._compiler.source.text}")  # type: ignore[attr-defined]
        assert "parquet" in described._jdf.queryExecution().toString()  # read in place, whatever its size
