"""Synthetic tables: how close they are, what they cost in time, and whether intervals of copies cover.

Distances are mean total variation over all pairs and triples of columns. Adult: to the table itself (30,162 rows, nine
columns, delta 1e-9). Cohort: to the population that 652 patients were drawn from (delta 1e-6), next to independent
columns with the same budget, also with every column permuted, where there is nothing to find. Times are CPU seconds.

    python benchmarks/synthetic.py [--quick] [--json PATH] [PART ...]

Parts: adult, cohort, copies, found, scale, reference. The Adult table is in the folder that PYDPLIB_ADULT names; the
reference (dpmm) in the environment whose Python PYDPLIB_DPMM names. Without them their lines say "not run". All noise
is seeded: it is for measuring, and protects nobody.
"""

from __future__ import annotations

import argparse
import csv
import itertools
import json
import math
import os
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

import numpy as np

import pydplib as dp
from _lines import Line, finish, summary
from pydplib.budget.conversion import most_nano_rho
from pydplib.noise.testing import SeededSource, seeded
from pydplib.synthesis.counting import CodeCounter
from pydplib.synthesis.domain import variables_of
from pydplib.synthesis.drawing import draw_codes, expand_codes, whole_weights
from pydplib.synthesis.mechanism import Measured, Settings, Spending, measure
from pydplib.synthesis.model import NoisyTable
from pydplib.synthesis.posterior import draw_rates, interval_of

PARTS = ("adult", "cohort", "copies", "found", "scale", "reference")
ADULT_GOALS = {0.3: (0.065, 0.12, None), 1.0: (0.034, 0.080, 3.0), 3.0: (0.025, 0.065, 5.0), 10.0: (0.018, 0.052, 10.0)}
COHORT_GOALS = {1.0: (0.130, 0.21, 1.00), 2.0: (0.092, 0.160, 0.85), 4.0: (0.076, 0.138, 0.76)}
NEVER_WORSE = 0.006


@dataclass
class Coded:
    """A table as integer codes, with its counts kept."""

    codes: np.ndarray
    shape: tuple[int, ...]
    ordered: tuple[bool, ...]

    def __post_init__(self) -> None:
        self.counter = CodeCounter(list(self.codes), self.shape)

    def share(self, columns: tuple[int, ...]) -> np.ndarray:
        """Return the shares of all combinations of some columns."""
        return self.counter.counts(columns) / self.codes.shape[1]


def distance(one: Coded, other: Coded, order: int) -> float:
    tables = itertools.combinations(range(len(one.shape)), order)
    return float(np.mean([0.5 * np.abs(one.share(c) - other.share(c)).sum() for c in tables]))


def rho(epsilon: float, delta: float) -> Fraction:
    return Fraction(most_nano_rho(round(epsilon * 1e9), round(delta * 1e18)), 10**9)


def synthesize(
    table: Coded, epsilon: float, delta: float, seed: int, settings: Settings | None = None
) -> tuple[Coded, Measured, float]:
    """Return rows, what was measured, and CPU seconds from codes to rows."""
    start = time.process_time()
    counter = CodeCounter(list(table.codes), table.shape)
    with seeded(seed):
        found = measure(counter, Spending(rho(epsilon, delta), False), ordered=table.ordered, settings=settings)
    source = SeededSource(seed + 10_000)
    codes = draw_codes(found.model.tree, whole_weights(found.model), round(found.total), source=source)
    codes = expand_codes(codes, found.groups, found.one_ways, source=source)
    return Coded(codes, table.shape, table.ordered), found, time.process_time() - start


# -- Adult -----------------------------------------------------------------------------------------------


def adult_rows(folder: str) -> tuple[list[str], list[list[str]]]:
    with (Path(folder) / "adult.csv").open(encoding="utf-8") as file:
        names, *rows = list(csv.reader(file, delimiter=";"))
    return names, rows


def adult(folder: str) -> Coded:
    names, rows = adult_rows(folder)
    codes, shape = [], []
    for name, column in zip(names, zip(*rows, strict=True), strict=True):
        values = sorted(set(column), key=(lambda v: int(v)) if name == "age" else str)
        places = {value: place for place, value in enumerate(values)}
        codes.append([places[value] for value in column])
        shape.append(len(values))
    return Coded(np.array(codes), tuple(shape), tuple(name == "age" for name in names))


def adult_lines(seeds: int) -> list[Line]:
    folder = os.environ.get("PYDPLIB_ADULT")
    if folder is None:
        return [Line("Adult", note="PYDPLIB_ADULT names no folder")]
    table, lines = adult(folder), []
    for epsilon, (two, three, seconds) in ADULT_GOALS.items():
        found = []
        for seed in range(seeds):
            rows, _, spent = synthesize(table, epsilon, 1e-9, seed)
            found.append((distance(table, rows, 2), distance(table, rows, 3), spent))
        mean, worst = np.mean(found, axis=0), np.max(found, axis=0)
        note = f"{seeds} seeds, worst "
        name = f"Adult, epsilon {epsilon:g}"
        lines.append(Line(f"{name}, 2-way distance", float(mean[0]), bar=two, note=f"{note}{worst[0]:.4f}"))
        lines.append(Line(f"{name}, 3-way distance", float(mean[1]), bar=three, note=f"{note}{worst[1]:.4f}"))
        lines.append(Line(f"{name}, CPU", float(mean[2]), unit="s", bar=seconds, note=f"{note}{worst[2]:.2f} s"))
    return lines


# -- the cohort ------------------------------------------------------------------------------------------


def cohort_codes(n: int, seed: int, persons: int | None = None) -> Coded:
    """Return the first report of each patient as codes of the schema's public cells."""
    schema = dp.datasets.pirads_schema()
    frame = dp.datasets.pirads(n=n, seed=seed, backend="pandas").drop_duplicates("patient_id")
    frame = frame if persons is None else frame.head(persons)
    variables = variables_of(schema, None)
    codes = []
    for variable in variables:
        column = frame[variable.name]
        last = variable.size - 1
        if variable.column.is_ranged:
            edges = np.array(variable.keys.numbers)
            if variable.column.holds_numbers:
                numbers = column.to_numpy(dtype=float)
            else:
                days = np.array(column.astype("datetime64[s]").to_numpy(), dtype="datetime64[D]")
                numbers = np.where(np.isnat(days), np.nan, days.astype(float))
            inside = np.clip(np.searchsorted(edges, numbers, side="right") - 1, 0, last - 1)
            codes.append(np.where(np.isnan(numbers), last, inside))
        else:
            places = {_word(key): place for place, key in enumerate(variable.cells)}
            codes.append(np.array([places.get(_word(value), last) for value in column.tolist()]))
    return Coded(np.array(codes), tuple(v.size for v in variables), tuple(v.is_ordered for v in variables))


def _word(value: object) -> str:
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)


def permuted(table: Coded, seed: int) -> Coded:
    generator = np.random.default_rng(seed)
    return Coded(np.array([generator.permutation(c) for c in table.codes]), table.shape, table.ordered)


def cohort_lines(cohorts: int, people: int) -> list[Line]:
    population = cohort_codes(people, 999)
    tables = [cohort_codes(920, 100 + seed, 652) for seed in range(cohorts)]
    lines = [
        Line("the cohort itself, 2-way", float(np.mean([distance(population, t, 2) for t in tables])), note="floor"),
        Line("the cohort itself, 3-way", float(np.mean([distance(population, t, 3) for t in tables])), note="floor"),
    ]
    for kind in ("cohort", "permuted"):
        whole = population if kind == "cohort" else permuted(population, 1)
        own = tables if kind == "cohort" else [permuted(t, 1000 + i) for i, t in enumerate(tables)]
        for epsilon in (0.25, 0.5, 1.0, 2.0, 4.0):
            ours, alone = [], []
            for seed, table in enumerate(own):
                rows, _, _ = synthesize(table, epsilon, 1e-6, seed)
                columns, _, _ = synthesize(table, epsilon, 1e-6, 500 + seed, Settings(find=False))
                ours.append([distance(whole, rows, k) for k in (1, 2, 3)])
                alone.append([distance(whole, columns, k) for k in (1, 2, 3)])
            mean, base = np.mean(ours, axis=0), np.mean(alone, axis=0)
            name = f"{kind}, epsilon {epsilon:g}"
            if kind == "cohort" and epsilon in COHORT_GOALS:
                two, three, ratio = COHORT_GOALS[epsilon]
                lines.append(Line(f"{name}, 2-way distance", float(mean[1]), bar=two, note=f"{cohorts} cohorts"))
                lines.append(Line(f"{name}, 3-way distance", float(mean[2]), bar=three))
                lines.append(
                    Line(f"{name}, 2-way against independent columns", float(mean[1]), float(base[1]),
                         ratio=float(mean[1] / base[1]), bar=ratio)
                )  # fmt: skip
                lines.append(
                    Line(f"{name}, 1-way against independent columns", float(mean[0]), float(base[0]),
                         ratio=float(mean[0] / base[0]), bar=1.3)
                )  # fmt: skip
            for order in (2, 3):
                gaps = np.array(ours)[:, order - 1] - np.array(alone)[:, order - 1]
                error = float(gaps.std(ddof=1) / math.sqrt(len(gaps))) if len(gaps) > 1 else 0.0
                what = f"{name}, {order}-way minus independent columns"
                lines.append(Line(what, float(gaps.mean()), bar=NEVER_WORSE, note=f"standard error {error:.4f}"))
    return lines


# -- intervals and tests -------------------------------------------------------------------------------------


def two_by_two(generator: np.random.Generator, n: int, one: float, other: float, odds: float) -> np.ndarray:
    """Return codes of n persons in two flags with the given shares and odds ratio."""
    low, high = max(0.0, one + other - 1), min(one, other)
    for _ in range(80):
        both = (low + high) / 2
        ratio = both * (1 - one - other + both) / max(1e-12, (one - both) * (other - both))
        low, high = (both, high) if ratio < odds else (low, both)
    chances = np.array([1 - one - other + both, other - both, one - both, both])
    cells = np.searchsorted(np.cumsum(chances / chances.sum()), generator.random(n), side="right").clip(0, 3)
    return np.array([cells // 2, cells % 2])


def copies_lines(tables: int, draws: int = 20) -> list[Line]:
    """Six declared relations share the budget: false alarms, coverage and power of parameter draws."""
    lines, settings = [], Settings(find=False)
    for epsilon in (0.5, 1.0, 2.0):
        for kind, one, other in (("balanced", 0.5, 0.5), ("rare", 0.2, 0.15)):
            alarms = covered = power = 0
            relations = [(2 * i, 2 * i + 1) for i in range(6)]
            rounds = max(1, tables // 6)
            for number in range(rounds):
                generator = np.random.default_rng([int(epsilon * 100), number, kind == "rare"])
                for odds in (1.0, 2.7):
                    codes = np.concatenate([two_by_two(generator, 652, one, other, odds) for _ in range(6)])
                    table = CodeCounter(list(codes), (3,) * 12)
                    with seeded(number):
                        spending = Spending(rho(epsilon, 1e-6), False)
                        found = measure(table, spending, ordered=(False,) * 12, relations=relations, settings=settings)
                    source = SeededSource(number + 77)
                    for relation in found.relations:
                        rates = draw_rates(relation, draws, pure=False, source=source)[:, :2, :2]
                        logs = np.log(rates[:, 0, 0] * rates[:, 1, 1]) - np.log(rates[:, 0, 1] * rates[:, 1, 0])
                        estimate = interval_of(logs, confidence=0.95, null=0.0)
                        if odds == 1.0:
                            alarms += (estimate.p_value or 0) < 0.05
                        else:
                            covered += estimate.low <= math.log(odds) <= estimate.high
                            power += (estimate.p_value or 0) < 0.05
            made = 6 * rounds
            name, note = f"copies({draws}), {kind} 2x2, epsilon {epsilon:g}", f"{made} tables"
            lines.append(Line(f"{name}, false alarms", 100 * alarms / made, unit="%", bar=6.5, note=note))
            lines.append(Line(f"{name}, coverage", 100 * covered / made, unit="%", rule=">=", bar=93.5, note=note))
            lines.append(Line(f"{name}, coverage not beyond", 100 * covered / made, unit="%", bar=98.5, note=note))
            bar = 80.0 if epsilon == 1.0 and kind == "balanced" else None
            lines.append(Line(f"{name}, power, odds ratio 2.7", 100 * power / made, unit="%", rule=">=", bar=bar))
    return lines


def choose_five(table: CodeCounter, epsilon: float) -> tuple[list[NoisyTable], int]:
    """Return five pairs of flags chosen for their distance from independence alone, and the number of candidates.

    The hardest case for a test after a search: the search of a synthetic table, with its penalties, stops instead.
    """
    spending = Spending(rho(epsilon, 1e-6), False)
    part, open_ones, found = spending.total / 6, list(itertools.combinations(range(8), 2)), []
    number = len(open_ones)
    shares = [spending.measure(table.counts((c,)), part / 8) for c in range(8)]
    total = max(1.0, float(np.mean([share.sum() for share in shares])))
    shares = [np.maximum(share, 0) / max(1.0, np.maximum(share, 0).sum()) for share in shares]
    for _ in range(5):
        expected = [np.rint(total * np.outer(shares[a], shares[b])).astype(np.int64) for a, b in open_ones]
        scores = [int(np.abs(table.counts(c) - e).sum()) for c, e in zip(open_ones, expected, strict=True)]
        chosen = open_ones.pop(spending.choose(np.array(scores), part / 5))
        noisy = spending.measure(table.counts(chosen), part * 4 / 5)
        found.append(NoisyTable(chosen, noisy, spending.variance(part * 4 / 5)))
    return found, number


def searched(table: CodeCounter, epsilon: float) -> tuple[list[NoisyTable], int]:
    """Return the pairs that the search of a synthetic table finds, and the number of candidates."""
    found = measure(table, Spending(rho(epsilon, 1e-6), False), ordered=(False,) * 8)
    return [relation for relation in found.relations if relation.counts.shape == (3, 3)], found.candidates


def found_lines(tables: int) -> list[Line]:
    """Eight independent flags: how often any p-value of a chosen relation, times the candidates, is below 5 %."""
    lines = []
    # The search itself stops where there is nothing to find: fewer tables show that.
    for kind, choose, runs in (("five of 28 pairs", choose_five, tables), ("the search", searched, tables // 10 + 1)):
        for epsilon in (0.5, 2.0, 10.0):
            families = naive = tested = 0
            for number in range(runs):
                generator = np.random.default_rng([int(epsilon * 100), number])
                codes = (generator.random((8, 652)) < generator.uniform(0.2, 0.8, (8, 1))).astype(np.int64)
                with seeded(number):
                    found, candidates = choose(CodeCounter(list(codes), (3,) * 8), epsilon)
                source, hit = SeededSource(number + 99), False
                for relation in found:
                    rates = draw_rates(relation, 200, pure=False, source=source)[:, :2, :2]
                    logs = np.log(rates[:, 0, 0] * rates[:, 1, 1]) - np.log(rates[:, 0, 1] * rates[:, 1, 0])
                    p_value = interval_of(logs, confidence=0.95, null=0.0).p_value or 0.0
                    tested += 1
                    naive += p_value < 0.05
                    hit |= p_value * candidates < 0.05
                families += hit
            note = f"{runs} tables, {tested} relations; not multiplied {100 * naive / max(1, tested):.1f} %"
            what = f"found by {kind}, epsilon {epsilon:g}, family-wise false alarms"
            lines.append(Line(what, 100 * families / runs, unit="%", bar=6.5, note=note))
    return lines


# -- size ------------------------------------------------------------------------------------------------------


def scale_lines(rows: int, large: int) -> list[Line]:
    lines = []
    for size, bar in ((rows, 20.0), (large, 180.0)):
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "rows.parquet"
            _write_rows(path, size)
            columns = {f"c{i}": dp.Category(list(range(3 + i % 5))) for i in range(13)}
            schema = dp.Schema({**columns, "flag": dp.Flag(), "age": dp.Number(0, 100, step=1)}, name="large")
            start = time.process_time()
            with dp.load(path, schema) as table:
                made = dp.synthesize(table, schema, epsilon=1.0, delta=1e-9)
            spent = time.process_time() - start
        note = f"{len(made.measured)} relations found"
        lines.append(Line(f"{size:,} rows x 15 columns on DuckDB, CPU", spent, unit="s", bar=bar, note=note))
    return lines


def _write_rows(path: Path, size: int) -> None:
    import duckdb

    cells = []
    for place in range(13):  # every second column mostly repeats the one before it
        own = f"hash(i * 31 + {place}) % {3 + place % 5}"
        before = f"hash(i * 31 + {place - 1}) % {3 + (place - 1) % 5} % {3 + place % 5}"
        cells.append(
            f"CASE WHEN {place} % 2 = 0 OR hash(i * 7 + {place}) % 3 = 0 THEN {own} ELSE {before} END AS c{place}"
        )
    cells += ["(hash(i) % 3 = 0) AS flag", "(hash(i * 11) % 101)::DOUBLE AS age"]
    inner = f"SELECT i FROM range({size}) t(i)"
    duckdb.sql(f"COPY (SELECT {', '.join(cells)} FROM ({inner})) TO '{path}' (FORMAT parquet)")


# -- the reference ---------------------------------------------------------------------------------------------

_REFERENCE = """
import json, sys, time
import pandas as pd
from dpmm.models.mst import MSTGM
from dpmm.pipelines.base import GenerativePipeline
path, epsilon, seed = sys.argv[1], float(sys.argv[2]), int(sys.argv[3])
frame = pd.read_csv(path).astype(int)
start = time.process_time()
pipe = GenerativePipeline(gen=MSTGM(epsilon=epsilon, delta=1e-9))
pipe.fit(frame, domain=dict(zip(frame.columns, json.loads(sys.argv[4]))), random_state=seed)
made = pipe.generate(n_records=len(frame), random_state=seed + 1)
print(json.dumps({"seconds": time.process_time() - start, "rows": made[frame.columns].astype(int).T.values.tolist()}))
"""


def reference_lines(seeds: int) -> list[Line]:
    folder, python = os.environ.get("PYDPLIB_ADULT"), os.environ.get("PYDPLIB_DPMM")
    if folder is None or python is None:
        return [Line("reference MST (dpmm)", note="PYDPLIB_DPMM names no Python, or PYDPLIB_ADULT no folder")]
    table, lines = adult(folder), []
    with tempfile.TemporaryDirectory() as place:
        path = Path(place) / "adult.csv"
        with path.open("w", encoding="utf-8", newline="") as file:
            writer = csv.writer(file)
            writer.writerow([f"c{i}" for i in range(len(table.shape))])
            writer.writerows(table.codes.T.tolist())
        for epsilon in (1.0, 100.0):
            theirs, ours = [], []
            for seed in range(seeds):
                command = [python, "-I", "-c", _REFERENCE, str(path), str(epsilon), str(seed), json.dumps(table.shape)]
                done = subprocess.run(command, capture_output=True, text=True)
                if done.returncode:
                    why = (done.stderr.strip().splitlines() or ["no message"])[-1][:100]
                    return [*lines, Line("reference MST (dpmm)", note=f"failed: {why}")]
                answer = json.loads(done.stdout.splitlines()[-1])
                rows = Coded(np.array(answer["rows"]), table.shape, table.ordered)
                theirs.append((distance(table, rows, 2), distance(table, rows, 3), answer["seconds"]))
                mine, _, spent = synthesize(table, epsilon, 1e-9, seed)
                ours.append((distance(table, mine, 2), distance(table, mine, 3), spent))
            us, them = np.mean(ours, axis=0), np.mean(theirs, axis=0)
            name = f"against reference MST, epsilon {epsilon:g}"
            for place_, what, bar in ((0, "2-way distance", 1.0), (1, "3-way distance", 1.0), (2, "CPU", 0.1)):
                judged = bar if epsilon == 1.0 else None
                ratio = float(us[place_] / them[place_])
                lines.append(
                    Line(f"{name}, {what}", float(us[place_]), float(them[place_]), ratio=ratio, bar=judged)
                )  # fmt: skip
    return lines


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("parts", nargs="*", choices=[*PARTS, []], help="which parts; by default all")
    parser.add_argument("--quick", action="store_true", help="tiny sizes, nothing is judged")
    parser.add_argument("--json", type=Path, help="where to write the results")
    options = parser.parse_args()
    wanted, quick = options.parts or PARTS, options.quick
    work = {
        "adult": lambda: adult_lines(1 if quick else 5),
        "cohort": lambda: cohort_lines(2 if quick else 20, 3_000 if quick else 150_000),
        "copies": lambda: copies_lines(12 if quick else 2_000),
        "found": lambda: found_lines(3 if quick else 2_000),
        "scale": lambda: scale_lines(2_000 if quick else 10**6, 4_000 if quick else 10**7),
        "reference": lambda: [] if quick else reference_lines(3),
    }
    lines: list[Line] = []
    for part in PARTS:
        if part in wanted:
            for line in work[part]():
                print(line.text(judged=not quick), flush=True)
                lines.append(line)
    print(summary(lines, quick=quick))
    arguments = [*(["--quick"] if quick else []), *options.parts]
    return finish("synthetic", lines, options, arguments)


if __name__ == "__main__":
    sys.exit(main())
