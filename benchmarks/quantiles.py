"""Quartiles of age by prostatitis at epsilon 1: read off one table, next to choosing each by permute-and-flip.

Both answer in the same run, on the same reports and with the cohort's own schema. Choosing each is what grouped
quantiles did before they had one table, and what ungrouped ones still do; ``--earlier FOLDER`` (the sources of such a
version) asks that version itself.

    python benchmarks/quantiles.py [--quick] [--earlier FOLDER] [--json PATH]
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
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import pydplib as dp
from _lines import Line, finish, summary
from pydplib.datasets import pirads, pirads_schema

SEEDS = (2018, 1, 7, 99)
"""The default cohort, on which the bins were first tried, and three others."""
GROUPS = ("chr", "y", "n", "acute", "acute on chronic")
SHARES = (0.25, 0.5, 0.75)
SMALL = ("y", "acute")
FIELDS = ("patient_id", "age", "prostatitis")


def schema() -> dp.Schema:
    whole = pirads_schema()
    columns = {name: whole.column(name) for name in FIELDS}
    return dp.Schema(columns, person=whole.person, max_rows_per_person=whole.max_rows_per_person, name="pirads")


def released(rows: pa.Table, runs: int, question: Any, read: Any) -> np.ndarray:
    """Return the quartiles of ``runs`` releases, each paid for by a ledger of its own: runs by groups by shares."""
    found = []
    with dp.load(rows, schema()) as table:
        for _ in range(runs):
            session = dp.Session(table, recipient="x", budget=dp.PureDP(1.0), ledger=dp.MemoryLedger())
            found.append(read(session.release(question, epsilon=1.0)))
    return np.array(found)


def off_one_table(rows: pa.Table, runs: int) -> np.ndarray:
    from pydplib.release.group_quantiles import group_quantiles

    question = dp.Crosstab("age", "prostatitis")
    return released(rows, runs, question, lambda r: [g.values for g in group_quantiles(r)[: len(GROUPS)]])


def as_asked(rows: pa.Table, runs: int) -> np.ndarray:
    """Return what ``Quantiles(by=)`` of the version that is imported answers."""
    question = dp.Quantiles("age", by="prostatitis")
    return released(rows, runs, question, lambda r: np.asarray(r.value)[: len(GROUPS)].tolist())


def chosen_each(rows: pa.Table, runs: int) -> np.ndarray:
    """Return what permute-and-flip answers for each quartile, with a third of epsilon."""
    from pydplib.release.facts import Facts
    from pydplib.release.statistics.quantiles import QuantileNoise

    with dp.load(rows, schema()) as table:
        purchase = Facts.of(dp.Quantiles("age", by="prostatitis"), table.schema).at(1.0)
        noise: Any = purchase.noise
        choice = QuantileNoise(
            rows=noise.rows, per_row=noise.per_row, shares=noise.shares, points=noise.points, epsilon=noise.epsilon
        )
        cells, low = table.aggregate(purchase.plan)[0], purchase.plan.measures[0].first_cell
        return np.array([choice.apply(cells).values[: len(GROUPS)] + low for _ in range(runs)])


def of_earlier(rows: pa.Table, runs: int, folder: Path) -> np.ndarray:
    """Return what ``Quantiles(by=)`` of another version answers, asked by this very file."""
    with tempfile.TemporaryDirectory() as place:
        path = Path(place) / "reports.parquet"
        pq.write_table(rows, path)
        sources = os.pathsep.join([str(folder), str(Path(__file__).parent)])
        asked = [sys.executable, __file__, "--answer", str(path), "--runs", str(runs)]
        done = subprocess.run(asked, env={**os.environ, "PYTHONPATH": sources}, capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(f"The earlier version did not answer:\n{done.stderr[-800:]}")
    return np.array(json.loads(done.stdout))


def cohort(seed: int) -> tuple[pa.Table, np.ndarray]:
    """Return the reports of a cohort, and the true quartiles of its groups."""
    data = pirads(seed=seed, backend="numpy")
    ages, findings = data["age"].astype(float), data["prostatitis"].astype(str)
    rows = pa.table({"patient_id": [str(one) for one in data["patient_id"]], "age": ages, "prostatitis": findings})
    kinds = [ages[findings == group] for group in GROUPS]
    return rows, np.array([np.quantile(kind, SHARES, method="inverted_cdf") for kind in kinds])


def compared(seed: int, runs: int, earlier: Path | None) -> list[Line]:
    rows, truth = cohort(seed)
    before = chosen_each(rows, runs) if earlier is None else of_earlier(rows, runs, earlier)
    old = np.abs(before - truth).mean(axis=(0, 2))
    lines = []
    for name, answers in (("one crosstab", off_one_table(rows, runs)), ("Quantiles(by=)", as_asked(rows, runs))):
        new = np.abs(answers - truth).mean(axis=(0, 2))
        where = f"{name}, cohort {seed}"
        for group in SMALL:
            place = GROUPS.index(group)
            error, other = float(new[place]), float(old[place])
            lines.append(
                Line(
                    f"{where}: {group}, mean error", error, other, "years", error / other, bar=0.5, note=f"{runs} runs"
                )
            )
        worst = int(np.argmax(new - old))
        said = f"{GROUPS[worst]}: {new[worst]:.2f} against {old[worst]:.2f}"
        lines.append(
            Line(f"{where}: no group worse by", float((new - old)[worst]), unit="years", bar=1.0, note=f"worst {said}")
        )
    return lines


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="few runs on one cohort, to see that it works")
    parser.add_argument("--earlier", type=Path, metavar="FOLDER", help="src of a version that chose each quantile")
    parser.add_argument("--json", type=Path, metavar="PATH", help="write the numbers there as well")
    parser.add_argument("--answer", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--runs", type=int, default=200, help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    if options.answer is not None:
        print(json.dumps(as_asked(pq.read_table(options.answer), options.runs).tolist()))
        return 0
    runs, seeds = (5, SEEDS[:1]) if options.quick else (options.runs, SEEDS)
    lines = [line for seed in seeds for line in compared(seed, runs, options.earlier)]
    for line in lines:
        print(line.text(judged=not options.quick))
    print(summary(lines, quick=options.quick))
    return finish("quantiles", lines, options, arguments)


if __name__ == "__main__":
    sys.exit(main())
