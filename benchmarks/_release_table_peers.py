"""Seconds that a peer takes for a group-by mean with bounded persons over a Parquet file, as JSON.

Runs in the peer's own environment: python benchmarks/_release_table_peers.py PEER PATH ROWS SECONDS
After this many seconds by the clock it is stopped, and what it prints is a lower bound.
Up to three rows of a person count, in 20 public groups, values in [18, 100], epsilon 1. Reading the file counts where
the peer reads files itself; where it takes rows or frames, they are loaded before the clock starts.
"""

from __future__ import annotations

import json
import os
import sys
import threading
import time
import warnings
from collections.abc import Callable

warnings.simplefilter("ignore")
GROUPS = 20


def opendp(path: str, rows: int) -> Callable[[], object]:
    import opendp.prelude as dp
    import polars as pl

    dp.enable_features("contrib")
    keys = pl.LazyFrame({"dept": pl.Series(range(GROUPS), dtype=pl.Int32)})

    def work() -> object:
        context = dp.Context.compositor(
            data=pl.scan_parquet(path),
            privacy_unit=dp.unit_of(contributions=1, identifier=pl.col("patient")),
            privacy_loss=dp.loss_of(epsilon=1.0),
            split_evenly_over=1,
            margins=[dp.polars.Margin(by=["dept"], max_length=10 * rows, max_groups=GROUPS)],
        )
        value = pl.col("age").fill_nan(59.0).fill_null(59.0)
        query = context.query().truncate_per_group(3).group_by("dept").agg(value.dp.sum((18.0, 100.0)), dp.len())
        return query.with_keys(keys).release().collect()

    return work


def smartnoise(path: str, rows: int) -> Callable[[], object]:
    import pandas as pd
    import snsql

    frame = pd.read_parquet(path)
    columns = {
        "patient": {"type": "int", "private_id": True},
        "age": {"type": "float", "lower": 18.0, "upper": 100.0},
        "dept": {"type": "int"},
    }
    table = {"rows": rows, "max_ids": 3, "row_privacy": False, "censor_dims": False, "clamp_counts": False, **columns}

    def work() -> object:
        privacy = snsql.Privacy(epsilon=1.0, delta=1e-6)
        reader = snsql.from_df(frame, privacy=privacy, metadata={"": {"t": {"t": table}}})
        return reader.execute("SELECT dept, AVG(age) AS a FROM t.t GROUP BY dept")

    return work


def pipelinedp(path: str, rows: int) -> Callable[[], object]:
    import pipeline_dp
    import pyarrow.parquet as pq

    table = pq.read_table(path)
    records = list(zip(*(table[name].to_pylist() for name in ("patient", "dept", "age")), strict=True))

    def work() -> object:
        accountant = pipeline_dp.NaiveBudgetAccountant(total_epsilon=1.0, total_delta=1e-6)
        engine = pipeline_dp.DPEngine(accountant, pipeline_dp.LocalBackend())
        params = pipeline_dp.AggregateParams(
            noise_kind=pipeline_dp.NoiseKind.LAPLACE, metrics=[pipeline_dp.Metrics.MEAN],
            max_partitions_contributed=3, max_contributions_per_partition=1, min_value=18, max_value=100,
        )  # fmt: skip
        extractors = pipeline_dp.DataExtractors(
            privacy_id_extractor=lambda r: r[0], partition_extractor=lambda r: r[1], value_extractor=lambda r: r[2]
        )
        answer = engine.aggregate(records, params, extractors, public_partitions=list(range(GROUPS)))
        accountant.compute_budgets()
        return list(answer)

    return work


def tumult(path: str, rows: int) -> Callable[[], object]:
    os.environ |= {"PYSPARK_PYTHON": sys.executable, "SPARK_LOCAL_IP": "127.0.0.1"}
    import tempfile

    from pyspark.sql import SparkSession

    settings = {
        "spark.driver.host": "127.0.0.1", "spark.driver.bindAddress": "127.0.0.1", "spark.ui.enabled": "false",
        "spark.sql.warehouse.dir": tempfile.mkdtemp(),
    }  # fmt: skip
    builder = SparkSession.builder.master("local[2]")
    for name, value in settings.items():
        builder = builder.config(name, value)
    spark = builder.getOrCreate()
    spark.sparkContext.setLogLevel("OFF")
    from tmlt.analytics import AddRowsWithID, KeySet, MaxRowsPerID, PureDPBudget, QueryBuilder, Session

    frame = spark.read.parquet(path)

    def work() -> object:
        session = Session.from_dataframe(PureDPBudget(1.0), "t", frame, protected_change=AddRowsWithID("patient"))
        keys = KeySet.from_dict({"dept": list(range(GROUPS))})
        query = QueryBuilder("t").enforce(MaxRowsPerID(3)).groupby(keys).average("age", low=18, high=100)
        return session.evaluate(query, PureDPBudget(1.0)).toPandas()

    return work


def main() -> None:
    peer, path, rows = sys.argv[1], sys.argv[2], int(sys.argv[3])
    work = {"opendp": opendp, "smartnoise": smartnoise, "pipelinedp": pipelinedp, "tumult": tumult}[peer](path, rows)
    limit = float(sys.argv[4])
    guard = threading.Timer(limit, stop, [limit])
    guard.daemon = True
    guard.start()
    start = time.perf_counter()
    work()
    took = time.perf_counter() - start
    guard.cancel()
    if took < 15:  # once more, warm
        start = time.perf_counter()
        work()
        took = min(took, time.perf_counter() - start)
    print(json.dumps({"seconds": took, "stopped": False}))


def stop(seconds: float) -> None:
    print(json.dumps({"seconds": seconds, "stopped": True}), flush=True)
    os._exit(0)


if __name__ == "__main__":
    main()
