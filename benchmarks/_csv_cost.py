"""What reading CSV costs in processor time, against an earlier commit, in the same run.

    python benchmarks/_csv_cost.py [--rows 5000000] [--against COMMIT] [--repeat 3]

Five files of the same people: plain, with the ends of lines of Windows, every cell in quotes, in Latin-1, and plain
with one line of wrong bytes and an open quote. Each is loaded and asked once, in a fresh process per commit; the least
of the repetitions counts.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parents[1]
KINDS = ("plain", "Windows lines", "quoted", "latin-1", "one odd line")

ASK = r"""
import json, sys, time
import pydplib as dp
from pydplib.engine import Measure, Plan
columns = {"age": dp.Number(18, 100), "psa": dp.Number(0, 20), "pirads": dp.Category([1, 2, 3, 4, 5]),
           "site": dp.Category(["K\u00f6ln", "Bonn"])}
schema = dp.Schema(columns, person="patient_id", max_rows_per_person=2)
plan = Plan(schema, by=["pirads", "site"], measures=[Measure("count"), Measure("sum", "age", low=18, high=100, step=1)])
start = time.process_time()
with dp.load(sys.argv[1], schema) as table:
    exact = table.aggregate(plan)
    once = time.process_time() - start
    table.aggregate(plan)
print("\n" + json.dumps([once, time.process_time() - start - once, [values.tolist() for values in exact.values]]))
"""


def write_files(folder: Path, rows: int) -> dict[str, Path]:
    """Write the five files."""
    draw = np.random.default_rng(7)
    columns = [
        np.char.add("P", draw.integers(0, max(1, rows * 2 // 5), rows).astype(str)).tolist(),
        draw.integers(18, 100, rows).tolist(),
        np.round(draw.random(rows) * 20, 2).tolist(),
        draw.integers(1, 6, rows).tolist(),
        np.array(["Köln", "Bonn", "Wien"])[draw.integers(0, 3, rows)].tolist(),
    ]
    paths = {kind: folder / f"{kind.replace(' ', '-')}.csv" for kind in KINDS}
    plain = "".join(f"{i},{a},{p},{q},{s},ok\n" for i, a, p, q, s in zip(*columns, strict=True))
    head = "patient_id,age,psa,pirads,site,remark\n"
    paths["plain"].write_bytes((head + plain).encode())
    paths["Windows lines"].write_bytes((head + plain).replace("\n", "\r\n").encode())
    paths["latin-1"].write_bytes((head + plain).encode("latin-1"))
    paths["one odd line"].write_bytes((head + plain).encode() + b'PX,50,1,1,Bonn,"M\xfcller\n')
    quoted = '"' + (head + plain).replace(",", '","').replace("\n", '"\n"')
    paths["quoted"].write_bytes(quoted[:-1].encode())
    return paths


def measure(source: Path, path: Path) -> tuple[float, float, object]:
    """Return the processor time of loading and one question, of a second question, and the integers."""
    done = subprocess.run(
        [sys.executable, "-c", ASK, str(path)],
        env={**os.environ, "PYTHONPATH": str(source / "src")}, capture_output=True, text=True, check=True,
    )  # fmt: skip
    once, again, integers = json.loads(done.stdout.splitlines()[-1])  # DuckDB may draw its progress before
    return once, again, integers


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=5_000_000)
    parser.add_argument("--against", metavar="COMMIT", help="an earlier commit, checked out for the time of the run")
    parser.add_argument("--repeat", type=int, default=3)
    options = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        sources = {"now": ROOT}
        if options.against:
            sources["then"] = folder / "then"
            add = ["git", "-C", str(ROOT), "worktree", "add", "--detach", str(sources["then"]), options.against]
            subprocess.run(add, check=True, capture_output=True)
        try:
            for kind, path in write_files(folder, options.rows).items():
                found = {at: [measure(source, path) for _ in range(options.repeat)] for at, source in sources.items()}
                once = {at: min(times[0] for times in runs) for at, runs in found.items()}
                again = {at: min(times[1] for times in runs) for at, runs in found.items()}
                line = f"{kind:<14} load and ask {once['now']:.2f} s, ask again {again['now']:.2f} s"
                if options.against:
                    same = "same integers" if found["now"][0][2] == found["then"][0][2] else "other integers"
                    line += f"; then {once['then']:.2f} s, {again['then']:.2f} s"
                    line += f"; {once['now'] / once['then']:.2f}x, {again['now'] / again['then']:.2f}x; {same}"
                print(line)
        finally:
            if options.against:
                remove = ["git", "-C", str(ROOT), "worktree", "remove", "--force", str(sources["then"])]
                subprocess.run(remove, check=False, capture_output=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
