"""What one value of each person costs: the CPU time of our questions against the same SQL on raw cells.

The baseline is what an analyst writes for DuckDB: the same choice of a row, with the same ties, or the same grouping by
person; no clamping, no categories, no integer grid, no noise. 1e6 rows of 3e5 persons, the median of five, in turns.

Bar: at most 1.3 times the baseline.

    python benchmarks/persons.py [--quick] [--json PATH]
"""

from __future__ import annotations

import argparse
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import pydplib as dp
from _lines import Line, finish, summary
from pydplib.release.facts import Facts

BAR = 1.3
SCHEMA = dp.Schema(
    {
        "day": dp.Date("2017-01-01", "2018-12-31"),
        "psa": dp.Number(0, 50),
        "volume": dp.Number(1, 300),
        "pirads": dp.Category([1, 2, 3, 4, 5]),
        "density": dp.Number(0, 5, derived="psa / volume"),
        "change": dp.Number(-50, 50, derived="change(psa by day)"),
        "highest": dp.Category([1, 2, 3, 4, 5], derived="highest(pirads)"),
    },
    person="patient",
    max_rows_per_person=3,
    name="persons",
)
_CHOSEN = "SELECT *, ROW_NUMBER() OVER (PARTITION BY patient ORDER BY day{}, psa, volume, pirads) AS r FROM {}"
_ENDS = (
    "SELECT *, ROW_NUMBER() OVER (PARTITION BY patient ORDER BY day, psa) AS f, "
    "ROW_NUMBER() OVER (PARTITION BY patient ORDER BY day DESC, psa) AS l FROM {}"
)
FIRST, LAST = (getattr(dp.Person(), f"{rule}_row")(order="day") for rule in ("first", "last"))
QUESTIONS: dict[str, tuple[dp.Mean | dp.Count, str]] = {
    "mean of the first row, by score": (
        dp.Mean("psa", by="pirads", per_person=FIRST),
        f"SELECT pirads, COUNT(psa), SUM(psa) FROM ({_CHOSEN.format('', '{0}')}) WHERE r = 1 GROUP BY pirads",
    ),
    "mean of a computed column of the last row": (
        dp.Mean("density", by="pirads", per_person=LAST),
        f"SELECT pirads, COUNT(psa), SUM(psa / volume) FROM ({_CHOSEN.format(' DESC', '{0}')}) WHERE r = 1 "
        "GROUP BY pirads",
    ),
    "mean change by highest score": (
        dp.Mean("change", by="highest"),
        "SELECT h, COUNT(c), SUM(c) FROM (SELECT MAX(pirads) AS h, MAX(CASE WHEN l = 1 THEN psa END) - "
        f"MAX(CASE WHEN f = 1 THEN psa END) AS c FROM ({_ENDS}) GROUP BY patient) GROUP BY h",
    ),
}


def write_rows(path: Path, size: int) -> None:
    """Write ``size`` rows, about three of each person."""
    rng = np.random.default_rng(652)
    days = pa.array(rng.integers(17167, 17897, size).astype(np.int32)).cast(pa.date32())
    columns: dict[str, Any] = {"patient": rng.integers(0, max(1, size * 3 // 10), size), "day": days}
    columns |= {"psa": rng.gamma(2, 4, size), "volume": rng.uniform(10, 200, size), "pirads": rng.integers(1, 6, size)}
    pq.write_table(pa.table(columns), path)
    os.utime(path, (1e9, 1e9))


def in_turns(works: list[Callable[[], Any]], repeats: int) -> list[float]:
    """Return the median CPU time of each, taken in turns."""
    taken: list[list[float]] = [[] for _ in works]
    for _ in range(repeats):
        for times, work in zip(taken, works, strict=True):
            start = time.process_time()
            work()
            times.append(time.process_time() - start)
    return [statistics.median(times) for times in taken]


def persons(size: int, repeats: int) -> list[Line]:
    """Return the ratio of every question."""
    lines = []
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "persons.parquet"
        write_rows(path, size)
        connection = duckdb.connect()
        with dp.load(path, SCHEMA) as table:
            for name, (question, sql) in QUESTIONS.items():
                plan, text = Facts.of(question, SCHEMA).at(1.0).plan, sql.format(f"'{path}'")
                works = [lambda p=plan: table.aggregate(p), lambda t=text: connection.execute(t).fetchall()]
                in_turns(works, 1)
                ours, plain = in_turns(works, repeats)
                claim = f"CPU of the {name}, n = {size:,}, against plain SQL"
                lines.append(Line(claim, ours * 1e3, plain * 1e3, "ms", ours / plain, "<=", BAR))
        connection.close()
    return lines


def main(arguments: list[str] | None = None) -> int:
    """Print the ratio of every question, with its verdict."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="a tiny table, to see that it runs")
    parser.add_argument("--json", type=Path, metavar="PATH", help="write the numbers there as well")
    options = parser.parse_args(arguments)
    lines = persons(20_000, 1) if options.quick else persons(1_000_000, 5)
    for line in lines:
        print(line.text(judged=not options.quick), flush=True)
    print(summary(lines, quick=options.quick))
    return finish("persons", lines, options, arguments)


if __name__ == "__main__":
    sys.exit(main())
