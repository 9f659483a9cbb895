"""How fast releases are: arrays against naive NumPy and peers, tables against the same query without noise and peers.

Bars, all in the same run:
* arrays of 1e6 and 1e7 values: mean and variance take at most 3 times the naive unsafe computation (clip, statistic,
  one float Laplace draw); median and 50-bin histogram are faster than NumPy's own, which are not private; all are
  faster than OpenDP, diffprivlib and PyDP;
* a group-by mean with bounded persons (1e6 rows, 1e5 persons, 20 groups) takes at most twice the same DuckDB query
  without privacy, and a tenth of OpenDP's Polars interface, SmartNoise, PipelineDP and Tumult;
* from 1e6 to 1e8 rows a release takes at most 1.2 times the same bounded engine query without noise, within DuckDB's
  memory limit.

    python benchmarks/release.py [--quick] [--json PATH] [--most-rows 100000000] [--no-peers]
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

import pydplib as dp
from pydplib.release.prepare import prepare
from pydplib.release.resolved import resolve

BOUNDS = (18.0, 100.0)
EDGES = np.linspace(*BOUNDS, 51)
GROUPS, ROWS_PER_PERSON, MEMORY = 20, 10, "4GB"
QUESTION = dp.Mean("age", by="dept")
SCHEMA = dp.Schema(
    {"age": dp.Number(*BOUNDS), "dept": dp.Category(range(GROUPS))},
    person="patient",
    max_rows_per_person=3,
    name="benchmark",
)


@dataclass(frozen=True)
class Row:
    """One line of the table: a claim, its ratio, and whether the bar is met."""

    claim: str
    value: float
    bar: float
    at_least: bool
    detail: str

    @property
    def met(self) -> bool:
        """Whether the bar is met."""
        return self.value >= self.bar if self.at_least else self.value <= self.bar

    def line(self, *, judged: bool) -> str:
        """Return the line as it is printed; at tiny sizes no bar is judged."""
        bar = f"{'>=' if self.at_least else '<='} {self.bar:g}"
        verdict = ("met" if self.met else "MISSED") if judged else "-"
        return f"{self.claim:<62} {self.value:>9.2f}x  {bar:>7}  {verdict:<6}  {self.detail}"


def in_turns(works: Sequence[Callable[[], Any]], repeats: int) -> list[float]:
    """Return the best time of each, taken in turns so that a busy machine is busy for all of them."""
    best = [float("inf")] * len(works)
    for _ in range(repeats):
        for i, work in enumerate(works):
            start = time.perf_counter()
            work()
            best[i] = min(best[i], time.perf_counter() - start)
    return best


def arrays(size: int, repeats: int) -> tuple[list[Row], dict[str, float]]:
    """Return the ratios to NumPy, and our seconds per statistic."""
    x = np.random.default_rng(920).uniform(*BOUNDS, size)
    draw = np.random.default_rng(1)
    pairs: dict[str, tuple[Callable[[], Any], Callable[[], Any], float, str]] = {
        "mean": (
            lambda: dp.mean(x, bounds=BOUNDS, epsilon=1.0),
            lambda: np.clip(x, *BOUNDS).mean() + draw.laplace(0, 82 / size), 3, "naive unsafe mean",
        ),
        "variance": (
            lambda: dp.variance(x, bounds=BOUNDS, epsilon=1.0),
            lambda: np.clip(x, *BOUNDS).var() + draw.laplace(0, 82**2 / size), 3, "naive unsafe variance",
        ),
        "median": (lambda: dp.median(x, bounds=BOUNDS, epsilon=1.0), lambda: np.median(x), 1, "numpy.median"),
        "histogram": (
            lambda: dp.histogram(x, edges=EDGES, epsilon=1.0),
            lambda: np.histogram(x, 50, BOUNDS), 1, "numpy.histogram, 50 bins",
        ),
    }  # fmt: skip
    rows, ours = [], {}
    for name, (private, plain, bar, what) in pairs.items():
        mine, theirs = in_turns([private, plain], repeats)
        ours[name] = mine
        detail = f"{mine * 1e3:.2f} against {theirs * 1e3:.2f} ms"
        rows.append(Row(f"time of {what}, n = {size:,}", mine / theirs, bar, False, detail))
    return rows, ours


def array_peers(size: int, ours: dict[str, float]) -> Iterator[Row]:
    from _peers import run
    from _release_envs import ensure

    found = run(ensure("arrays"), "_release_array_peers.py", ["time", str(size)])
    _, again = arrays(size, repeats=15)  # before and after the peers: the machine may be busier now
    ours = {name: min(ours[name], again[name]) for name in ours}
    for statistic, named in found.items():
        for name, theirs in named.items():
            detail = f"{ours[statistic] * 1e3:.2f} against {theirs * 1e3:,.0f} ms"
            yield Row(f"{statistic} faster than {name}, n = {size:,}", theirs / ours[statistic], 1, True, detail)


def write_rows(path: Path, size: int) -> None:
    """Write a Parquet file of ``size`` rows, in blocks, so that any size fits the memory."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    rng = np.random.default_rng(920)
    kinds = pa.schema([("patient", pa.int32()), ("age", pa.float64()), ("dept", pa.int32())])
    with pq.ParquetWriter(path, kinds) as writer:
        for start in range(0, size, 5_000_000):
            n = min(5_000_000, size - start)
            columns = {
                "patient": rng.integers(0, max(1, size // ROWS_PER_PERSON), n, dtype=np.int32),
                "age": rng.uniform(*BOUNDS, n).round(3),
                "dept": rng.integers(0, GROUPS, n, dtype=np.int32),
            }
            writer.write_table(pa.table(columns, schema=kinds))


def plain_query(path: Path) -> str:
    """The same bounding and clamping without privacy, as a person would write it: means in floats."""
    return f"""
        WITH r AS (SELECT patient, dept, CASE WHEN age < 18 THEN 18 WHEN age > 100 THEN 100 ELSE age END AS age
                   FROM read_parquet('{path}') WHERE patient IS NOT NULL),
             w AS (SELECT patient, CASE WHEN count(*) <= 3 THEN 65536 ELSE 3 * 65536 // count(*) END AS w
                   FROM r GROUP BY patient)
        SELECT dept, sum(w * age) / sum(w) FROM r JOIN w USING (patient) GROUP BY dept"""


def release_once(table: dp.Table) -> None:
    dp.Session(table, recipient="benchmark", budget=dp.PureDP(1.0)).release(QUESTION, epsilon=1.0)


def tables(path: Path, size: int, repeats: int, *, judge_plain: bool) -> tuple[list[Row], float]:
    """Return the ratios of a release to plain DuckDB and to the bounded engine query, and its seconds."""
    import duckdb

    prepared = prepare(resolve(QUESTION, SCHEMA), 1.0)
    with dp.load(path, SCHEMA, memory_limit=MEMORY) as table, duckdb.connect() as connection:
        connection.execute(f"SET memory_limit = '{MEMORY}'")
        query = plain_query(path)
        works = [
            lambda: release_once(table),
            lambda: table.aggregate(prepared.plan),
            lambda: connection.execute(query).fetchall(),
        ]
        mine, engine, plain = in_turns(works if judge_plain else works[:2], repeats) + [float("nan")] * (
            not judge_plain
        )
    rows = [
        Row(
            f"time of the bounded engine query without noise, {size:,} rows", mine / engine, 1.2, False,
            f"{mine:.2f} against {engine:.2f} s, memory limit {MEMORY}",
        )
    ]  # fmt: skip
    if judge_plain:
        detail = f"{mine * 1e3:.0f} against {plain * 1e3:.0f} ms"
        rows.append(Row(f"time of plain DuckDB with the same bounding, {size:,} rows", mine / plain, 2, False, detail))
    return rows, mine


def table_peers(path: Path, size: int, mine: float) -> Iterator[Row]:
    from _peers import run
    from _release_envs import ensure

    names = {
        "opendp": "OpenDP on Polars", "smartnoise": "SmartNoise", "pipelinedp": "PipelineDP", "tumult": "Tumult",
    }  # fmt: skip
    for peer, name in names.items():
        try:
            took = run(ensure(peer), "_release_table_peers.py", [peer, str(path), str(size)])["seconds"]
        except RuntimeError as error:
            print(f"{name} could not be run here: {str(error).splitlines()[-1]}", file=sys.stderr)
            continue
        detail = f"{mine:.2f} against {took:.1f} s"
        yield Row(f"group-by mean faster than {name}, {size:,} rows", took / mine, 10, True, detail)


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="tiny sizes and no peers, to see that it runs")
    parser.add_argument("--no-peers", action="store_true", help="leave the peers out")
    parser.add_argument("--most-rows", type=int, default=100_000_000, help="the largest table (default 1e8 rows)")
    parser.add_argument("--json", type=Path, metavar="PATH", help="write the numbers there as well")
    options = parser.parse_args(arguments)
    rows: list[Row] = []

    def add(found: Sequence[Row] | Iterator[Row]) -> None:
        for row in found:
            rows.append(row)
            print(row.line(judged=not options.quick), flush=True)

    with_peers = not (options.quick or options.no_peers)
    dp.mean([1.0], bounds=BOUNDS, epsilon=1.0)  # so that no import is timed
    for size in (20_000, 50_000) if options.quick else (1_000_000, 10_000_000):
        found, ours = arrays(size, repeats=25 if size <= 1_000_000 else 9)
        add(found)
        if with_peers and size == 1_000_000:
            add(array_peers(size, ours))
    sizes = (10_000,) if options.quick else tuple(n for n in (10**6, 10**7, 10**8) if n <= options.most_rows)
    with tempfile.TemporaryDirectory() as folder:
        for size in sizes:
            path = Path(folder) / f"rows_{size}.parquet"
            write_rows(path, size)
            found, mine = tables(path, size, repeats={10**6: 9, 10**7: 5}.get(size, 2), judge_plain=size <= 10**6)
            add(found)
            if with_peers and size == 10**6:
                add(table_peers(path, size, mine))
            path.unlink()
    if options.json is not None:
        lines = [{**asdict(row), "met": row.met} for row in rows]
        content = {"benchmark": "release", "quick": options.quick, "rows": lines}
        options.json.write_text(json.dumps(content, indent=2) + "\n")
    return 0 if options.quick or all(row.met for row in rows) else 1


if __name__ == "__main__":
    sys.exit(main())
