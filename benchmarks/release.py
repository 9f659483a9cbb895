"""How fast releases are: arrays against naive NumPy and peers, tables against the same query without noise and peers.

Bars, all in the same run:
* arrays of 1e6 and 1e7 values: mean and variance take at most 3 times the naive unsafe computation (clip, statistic,
  one float Laplace draw); median and 50-bin histogram are faster than NumPy's own, which are not private; all are
  faster than OpenDP, diffprivlib and PyDP;
* a group-by mean with bounded persons (1e6 rows, 1e5 persons, 20 groups) takes at most twice the same DuckDB query
  without privacy, and a tenth of OpenDP's Polars interface, SmartNoise, PipelineDP and Tumult;
* from 1e6 to 1e8 rows a release takes at most 1.2 times the same bounded engine query without noise, within DuckDB's
  memory limit;
* with one person in a hundred beyond the limit, the bounded question costs at most 1.5 times the CPU time of the same
  aggregates without any bound, once the rows of those persons are laid aside (1e7 and 1e8 rows, the median of five in
  turns; what laying them aside costs, once per table, has a line of its own).

Every bar prints its verdict: met, MISSED, or NOT RUN with the reason. A peer that takes longer than a minute is stopped
there; its ratio is then a lower bound.

    python benchmarks/release.py [--quick] [--json PATH] [--part arrays|tables] [--most-rows 100000000] [--no-peers]
"""

from __future__ import annotations

import argparse
import os
import statistics as stats
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

import pydplib as dp
from _lines import Line, finish, summary
from pydplib.engine import Plan
from pydplib.release.facts import Facts

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


def in_turns(works: Sequence[Callable[[], Any]], repeats: int) -> list[float]:
    """Return the best time of each, taken in turns so that a busy machine is busy for all of them."""
    best = [float("inf")] * len(works)
    for _ in range(repeats):
        for i, work in enumerate(works):
            start = time.perf_counter()
            work()
            best[i] = min(best[i], time.perf_counter() - start)
    return best


Work = Callable[[], Any]


def statistics(size: int) -> dict[str, tuple[Work, Work, float, str]]:
    """Return ours, NumPy's, the bar and NumPy's name, of each statistic of an array."""
    x = np.random.default_rng(920).uniform(*BOUNDS, size)
    draw = np.random.default_rng(1)
    return {
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


def arrays(size: int, repeats: int) -> tuple[list[Line], dict[str, float]]:
    """Return the ratios to NumPy, and our seconds per statistic."""
    lines, ours = [], {}
    for name, (private, plain, bar, what) in statistics(size).items():
        mine, theirs = in_turns([private, plain], repeats)
        ours[name] = mine
        claim = f"time of {what}, n = {size:,}"
        lines.append(Line(claim, mine * 1e3, theirs * 1e3, "ms", mine / theirs, "<=", bar))
    return lines, ours


def array_peers(size: int, ours: dict[str, float]) -> Iterator[Line]:
    from _peers import run
    from _release_envs import ensure

    try:
        found = run(ensure("arrays"), "_release_array_peers.py", ["time", str(size)])
    except RuntimeError as error:
        yield Line(f"faster than OpenDP, diffprivlib, PyDP, n = {size:,}", note=last_line(error))
        return
    # Before and after the peers: the machine may be busier now.
    works = [private for private, *_ in statistics(size).values()]
    again = dict(zip(ours, in_turns(works, repeats=10), strict=True))
    for statistic, named in found.items():
        mine = min(ours[statistic], again[statistic])
        for name, theirs in named.items():
            claim = f"{statistic} faster than {name}, n = {size:,}"
            yield Line(claim, mine * 1e3, theirs * 1e3, "ms", theirs / mine, ">=", 1)


def last_line(error: Exception) -> str:
    """Return the end of what went wrong, where tools say why."""
    return (str(error).strip().splitlines() or ["no reason given"])[-1]


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


def release_once(table: dp.engine.Table) -> None:
    dp.Session(table, recipient="benchmark", budget=dp.PureDP(1.0)).release(QUESTION, epsilon=1.0)


def tables(path: Path, size: int, repeats: int, *, judge_plain: bool) -> tuple[list[Line], float]:
    """Return the ratios of a release to plain DuckDB and to the bounded engine query, and its seconds."""
    import duckdb

    prepared = Facts.of(QUESTION, SCHEMA).at(1.0)
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
    lines = [
        Line(
            f"time of the bounded engine query without noise, {size:,} rows",
            mine, engine, "s", mine / engine, "<=", 1.2, f"memory limit {MEMORY}",
        )
    ]  # fmt: skip
    if judge_plain:
        claim = f"time of plain DuckDB with the same bounding, {size:,} rows"
        lines.append(Line(claim, mine, plain, "s", mine / plain, "<=", 2))
    return lines, mine


PEOPLE, CROWD = 100, 20  # of this many people, one has this many rows; each of the others has 1 to 3
OWNERS = np.repeat(np.arange(PEOPLE), [*(1 + np.arange(PEOPLE - 1) % 3), CROWD])


def write_few_beyond(path: Path, size: int) -> None:
    """Write a Parquet file in which one person in a hundred is beyond the limit; everybody's rows lie all over it."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    rng = np.random.default_rng(920)
    kinds = pa.schema([("patient", pa.int32()), ("age", pa.float64()), ("dept", pa.int32())])
    total = -(-size // len(OWNERS)) * len(OWNERS)
    stride = next(step for step in range(618_033_989, 2**31) if np.gcd(step, total) == 1)
    with pq.ParquetWriter(path, kinds) as writer:
        for start in range(0, total, 5_000_000):
            n = min(5_000_000, total - start)
            crowds, places = np.divmod(np.arange(start, start + n) * stride % total, len(OWNERS))
            columns = {
                "patient": (crowds * PEOPLE + OWNERS[places]).astype(np.int32),
                "age": rng.uniform(*BOUNDS, n).round(3),
                "dept": rng.integers(0, GROUPS, n, dtype=np.int32),
            }
            writer.write_table(pa.table(columns, schema=kinds))
    os.utime(path, (1e9, 1e9))  # a file that was written just now is not yet known to stay as it is


def cpu(work: Work) -> float:
    """Return the CPU seconds of all threads."""
    start = time.process_time()
    work()
    return time.process_time() - start


def speed_of_the_engine(path: Path, size: int, repeats: int = 5) -> list[Line]:
    """Return the CPU time of a bounded question against the same aggregates unbounded, and of what comes before it."""
    free = dp.Schema(SCHEMA.columns, name="unbounded")
    measures, by = Facts.of(QUESTION, SCHEMA).at(1.0).plan.measures, ["dept"]
    plan, unbounded = Plan(SCHEMA, by=by, measures=measures), Plan(free, by=by, measures=measures)
    with dp.load(path, SCHEMA, memory_limit=MEMORY) as table, dp.load(path, free, memory_limit=MEMORY) as plain:
        first = cpu(lambda: table.aggregate(plan))
        plain.aggregate(unbounded)
        works: list[Work] = [lambda: table.aggregate(plan), lambda: plain.aggregate(unbounded)]
        ours, theirs = map(stats.median, zip(*([cpu(work) for work in works] for _ in range(repeats)), strict=True))
    note = f"1 % of persons beyond the limit, memory limit {MEMORY}"
    return [
        Line(
            f"CPU time of the same aggregates unbounded, {size:,} rows",
            ours, theirs, "s", ours / theirs, "<=", 1.5, note,
        ),
        Line(f"CPU time of laying rows aside once, {size:,} rows", first - ours, unit="s", note=note),
    ]  # fmt: skip


PATIENCE = 60  # seconds that a peer gets: some hundred times what a release takes


def table_peers(path: Path, size: int, mine: float) -> Iterator[Line]:
    from _peers import run
    from _release_envs import ensure

    names = {
        "opendp": "OpenDP on Polars", "smartnoise": "SmartNoise", "pipelinedp": "PipelineDP", "tumult": "Tumult",
    }  # fmt: skip
    limit = max(PATIENCE, 12 * mine)
    for peer, name in names.items():
        claim = f"group-by mean faster than {name}, {size:,} rows"
        try:
            took = run(ensure(peer), "_release_table_peers.py", [peer, str(path), str(size), str(limit)])
        except RuntimeError as error:
            yield Line(claim, note=last_line(error))
            continue
        more = "the peer was stopped there" if took["stopped"] else ""
        yield Line(claim, mine, took["seconds"], "s", took["seconds"] / mine, ">=", 10, more)


def judge_tables(options: argparse.Namespace, with_peers: bool, add: Callable[[Iterable[Line]], None]) -> None:
    """Judge releases of tables of growing size."""
    for size in (10_000,) if options.quick else (10**6, 10**7, 10**8):
        if size > options.most_rows:
            claim = f"time of the bounded engine query without noise, {size:,} rows"
            add([Line(claim, note="left out by --most-rows")])
            add([Line(f"CPU time of the same aggregates unbounded, {size:,} rows", note="left out by --most-rows")])
            continue
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / f"rows_{size}.parquet"
            write_rows(path, size)
            found, mine = tables(path, size, repeats={10**6: 25, 10**7: 7}.get(size, 2), judge_plain=size <= 10**6)
            add(found)
            if with_peers and size == 10**6:
                add(table_peers(path, size, mine))
            if size != 10**6:
                path.unlink()
                write_few_beyond(path, size)
                add(speed_of_the_engine(path, size))


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="tiny sizes and no peers, to see that it runs")
    parser.add_argument("--part", choices=["arrays", "tables"], help="only this part")
    parser.add_argument("--no-peers", action="store_true", help="leave the peers out")
    parser.add_argument("--most-rows", type=int, default=100_000_000, help="the largest table (default 1e8 rows)")
    parser.add_argument("--json", type=Path, metavar="PATH", help="write the numbers there as well")
    options = parser.parse_args(arguments)
    lines: list[Line] = []

    def add(found: Iterable[Line]) -> None:
        for line in found:
            lines.append(line)
            print(line.text(judged=not options.quick), flush=True)

    with_peers = not (options.quick or options.no_peers)
    if options.part in (None, "arrays"):
        dp.mean([1.0], bounds=BOUNDS, epsilon=1.0)  # so that no import is timed
        for size in (20_000, 50_000) if options.quick else (1_000_000, 10_000_000):
            found, ours = arrays(size, repeats=25 if size <= 1_000_000 else 9)
            add(found)
            if with_peers:
                add(array_peers(size, ours))
    if options.part in (None, "tables"):
        judge_tables(options, with_peers, add)
    print(summary(lines, quick=options.quick, left_out=[] if with_peers else ["peers"]))
    return finish("release", lines, options, arguments)


if __name__ == "__main__":
    sys.exit(main())
