"""Synthetic tables: how close they are, what they cost in time, and whether intervals of copies cover.

Distances are mean total variation over all pairs and triples of columns. Adult: to the table itself (30,162 rows, nine
columns, delta 1e-9). Cohort: to the population that 652 patients were drawn from (delta 1e-6), next to independent
columns with the same budget, also with every column permuted, where there is nothing to find. Times are CPU seconds.

    python benchmarks/synthetic.py [--quick] [--without PART ...] [--json PATH]

One run does every part: copies, found, cohort, adult, scale, gate, reference, large. What is done is kept in
benchmarks/grids/synthetic.json, piece by piece, with its CPU time; a run that was ended goes on from there, and pieces
that other code has made are made again. The Adult table is in the folder that PYDPLIB_ADULT names; the reference (dpmm)
in the environment whose Python PYDPLIB_DPMM names. Without them their lines say "not run". All noise is seeded: it is
for measuring, and protects nobody.
"""

from __future__ import annotations

import argparse
import csv
import hashlib
import itertools
import json
import math
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

import pydplib as dp
from _lines import Line, finish, summary
from pydplib.budget.conversion import most_nano_rho
from pydplib.noise.testing import SeededSource, seeded
from pydplib.synthesis.counters import CodeCounter
from pydplib.synthesis.domain import variables_of
from pydplib.synthesis.draws import draw_codes, expand_codes, whole_weights
from pydplib.synthesis.mechanism import Measured, Settings, Spending, measure
from pydplib.synthesis.model import NoisyTable
from pydplib.synthesis.posterior import PopulationEstimate, combine_copies, draw_rates, interval_of
from pydplib.synthesis.table import DRAWS

GRID = Path(__file__).parent / "grids" / "synthetic.json"
PARTS = ("copies", "found", "cohort", "adult", "scale", "gate", "reference", "large")
CHUNK = 250
EDITION = b"1"  # another one where pieces are measured in another way
ADULT_GOALS = {0.3: (0.065, 0.12, None), 1.0: (0.034, 0.080, 3.0), 3.0: (0.025, 0.065, 5.0), 10.0: (0.018, 0.052, 10.0)}
COHORT_GOALS = {1.0: (0.130, 0.21, 1.00), 2.0: (0.092, 0.160, 0.85), 4.0: (0.076, 0.138, 0.76)}
NEVER_WORSE = 0.006


class Grid:
    """Pieces of work that are kept as they are done: name -> numbers, CPU seconds and the code that made them."""

    def __init__(self, path: Path | None) -> None:
        self.path, self.code = path, _code()
        kept = json.loads(path.read_text(encoding="utf-8")) if path is not None and path.exists() else {}
        self.pieces: dict[str, Any] = {k: v for k, v in kept.items() if v["code"] == self.code}

    def piece(self, name: str, work: Callable[[], Any]) -> Any:
        """Return what a piece of work gives, from the grid if it is there."""
        if name not in self.pieces:
            start = _cpu()
            found = work()
            self.pieces[name] = {"found": found, "cpu": round(_cpu() - start, 2), "code": self.code}
            if self.path is not None:
                self.path.parent.mkdir(exist_ok=True)
                part = self.path.with_suffix(".part")
                part.write_text(json.dumps(self.pieces, indent=0) + "\n", encoding="utf-8")
                part.replace(self.path)
            print(f"  {name}: {self.pieces[name]['cpu']} s", file=sys.stderr, flush=True)
        return self.pieces[name]["found"]

    @property
    def cpu(self) -> float:
        """CPU seconds of all pieces."""
        return float(sum(piece["cpu"] for piece in self.pieces.values()))


def _cpu() -> float:
    """Return CPU seconds, those of processes that were started and have ended included."""
    times = os.times()
    return time.process_time() + times.children_user + times.children_system


def _code() -> str:
    """Return what tells the measured code from any other: the bytes of the package."""
    digest = hashlib.sha256(EDITION)
    for path in sorted((Path(dp.__file__).parent / "synthesis").glob("*.py")):
        digest.update(path.read_bytes())
    return digest.hexdigest()[:12]


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


def adult_lines(grid: Grid, seeds: int) -> list[Line]:
    folder = os.environ.get("PYDPLIB_ADULT")
    if folder is None:
        return [Line("Adult", note="PYDPLIB_ADULT names no folder")]
    table, lines = adult(folder), []

    def once(epsilon: float, seed: int) -> list[float]:
        rows, _, spent = synthesize(table, epsilon, 1e-9, seed)
        return [distance(table, rows, 2), distance(table, rows, 3), spent]

    for epsilon, (two, three, seconds) in ADULT_GOALS.items():
        found = [grid.piece(f"adult {epsilon:g} {s}", lambda e=epsilon, s=s: once(e, s)) for s in range(seeds)]
        mean, worst = np.mean(found, axis=0), np.max(found, axis=0)
        note = f"seeds 0 to {seeds - 1}, worst "
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


def cohort_lines(grid: Grid, cohorts: int, people: int) -> list[Line]:
    def population() -> Coded:
        return _kept(("population", people), lambda: cohort_codes(people, 999))

    def whole_of(kind: str) -> Coded:
        return population() if kind == "cohort" else _kept(("permuted", people), lambda: permuted(population(), 1))

    def cohort(kind: str, seed: int) -> Coded:
        table = cohort_codes(920, 100 + seed, 652)
        return table if kind == "cohort" else permuted(table, 1000 + seed)

    def floor(seed: int) -> list[float]:
        return [distance(population(), cohort("cohort", seed), k) for k in (2, 3)]

    def once(kind: str, epsilon: float, seed: int) -> list[list[float]]:
        table, whole = cohort(kind, seed), whole_of(kind)
        rows, _, _ = synthesize(table, epsilon, 1e-6, seed)
        columns, _, _ = synthesize(table, epsilon, 1e-6, 500 + seed, Settings(find=False))
        return [[distance(whole, made, k) for k in (1, 2, 3)] for made in (rows, columns)]

    floors = np.mean([grid.piece(f"floor {s}", lambda s=s: floor(s)) for s in range(cohorts)], axis=0)
    lines = [Line(f"the cohort itself, {k}-way", float(floors[k - 2]), note="floor") for k in (2, 3)]
    for kind in ("cohort", "permuted"):
        for epsilon in (0.25, 0.5, 1.0, 2.0, 4.0):
            # Below epsilon 1 the gate leaves both ways the same, and the noise of 20 cohorts is as large as the bar.
            number = cohorts if epsilon >= 1 else 4 * cohorts
            both = np.array(
                [
                    grid.piece(f"{kind} {epsilon:g} {s}", lambda k=kind, e=epsilon, s=s: once(k, e, s))
                    for s in range(number)
                ]
            )
            mean, base = both.mean(axis=0)
            name = f"{kind}, epsilon {epsilon:g}"
            if kind == "cohort" and epsilon in COHORT_GOALS:
                two, three, ratio = COHORT_GOALS[epsilon]
                # The cohort has other columns than when the goals were set: the ratio is the goal, distances are told.
                note = f"{cohorts} cohorts; {two} on the columns of then"
                lines.append(Line(f"{name}, 2-way distance", float(mean[1]), note=note))
                lines.append(Line(f"{name}, 3-way distance", float(mean[2]), note=f"{three} on the columns of then"))
                for order, bar in ((2, ratio), (1, 1.3)):
                    ours, alone = float(mean[order - 1]), float(base[order - 1])
                    what = f"{name}, {order}-way against independent columns"
                    lines.append(Line(what, ours, alone, ratio=ours / alone, bar=bar))
            for order in (2, 3):
                gaps = both[:, 0, order - 1] - both[:, 1, order - 1]
                error = float(gaps.std(ddof=1) / math.sqrt(len(gaps))) if len(gaps) > 1 else 0.0
                what = f"{name}, {order}-way minus independent columns"
                note = f"{number} cohorts, standard error {error:.4f}"
                if number > cohorts:
                    note += f"; the first {cohorts} {gaps[:cohorts].mean():.4f}"
                lines.append(Line(what, float(gaps.mean()), bar=NEVER_WORSE, note=note))
    return lines


_KEPT: dict[Any, Any] = {}


def _kept(key: Any, make: Callable[[], Any]) -> Any:
    if key not in _KEPT:
        _KEPT[key] = make()
    return _KEPT[key]


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


def log_odds(counts: np.ndarray) -> np.ndarray:
    return np.log(counts[..., 0, 0] * counts[..., 1, 1]) - np.log(counts[..., 0, 1] * counts[..., 1, 0])


def judged(relation: NoisyTable, source: SeededSource, draws: int = DRAWS) -> PopulationEstimate:
    """Return the odds ratio of a noisy table as ``SyntheticTable.odds_ratio`` gives it, as a logarithm."""
    four = NoisyTable(relation.columns, relation.counts[:2, :2], relation.variance)
    return interval_of(
        log_odds(draw_rates(four, draws, pure=False, flat=True, source=source)), confidence=0.95, null=0.0
    )


def of_copies(
    relation: NoisyTable, copies: int, source: SeededSource, generator: np.random.Generator
) -> PopulationEstimate:
    """Return the same from rows of copies, each analysed as other software would, by Rubin's rules."""
    rates = draw_rates(relation, copies, pure=False, source=source).reshape(copies, -1)
    shares = rates / rates.sum(axis=1, keepdims=True)
    rows = generator.multinomial(652, shares).reshape(copies, *relation.counts.shape)[:, :2, :2] + 0.5
    return combine_copies(log_odds(rows).tolist(), (1 / rows).sum(axis=(1, 2)).tolist())


def copies_chunk(epsilon: float, one: float, other: float, chunk: int, size: int, copies: int = 20) -> dict[str, int]:
    """Return hits among tables of six declared relations that share the budget, 19 of 20 parts, as without a search."""
    found = dict.fromkeys(("tables", "alarms", "test", "covered", "power", "power of copies"), 0)
    each = rho(epsilon, 1e-6) * Fraction(19, 20) / 6
    for number in range(chunk * size, (chunk + 1) * size):
        generator = np.random.default_rng([int(epsilon * 100), number, one < 0.5])
        source = SeededSource(number + 77)
        for odds in (1.0, 2.7):
            codes = two_by_two(generator, 652, one, other, odds)
            with seeded(2 * number + (odds > 1)):
                spending = Spending(rho(epsilon, 1e-6), False)
                noisy = spending.measure(CodeCounter(list(codes), (3, 3)).counts((0, 1)), each)
            relation = NoisyTable((0, 1), noisy, spending.variance(each))
            own, combined = judged(relation, source), of_copies(relation, copies, source, generator)
            if odds == 1.0:
                found["tables"] += 1
                found["test"] += (own.p_value or 0) < 0.05
                found["alarms"] += (combined.p_value or 0) < 0.05
            else:
                found["covered"] += own.low <= math.log(odds) <= own.high
                found["power"] += (own.p_value or 0) < 0.05
                found["power of copies"] += (combined.p_value or 0) < 0.05
    return {key: int(value) for key, value in found.items()}


def chunks(grid: Grid, name: str, tables: int, work: Callable[[int, int], dict[str, int]]) -> dict[str, int]:
    """Return the sums of several chunks of tables."""
    size = min(CHUNK, tables)
    pieces = [grid.piece(f"{name} {chunk}", lambda c=chunk: work(c, size)) for chunk in range(tables // size)]
    return {key: sum(piece[key] for piece in pieces) for key in pieces[0]}


def copies_lines(grid: Grid, tables: int) -> list[Line]:
    """Declared relations: false alarms, coverage and power, of the table's own intervals and of copies."""
    lines = []
    for epsilon in (0.5, 1.0, 2.0):
        for kind, one, other in (("balanced", 0.5, 0.5), ("rare", 0.2, 0.15)):
            found = chunks(
                grid, f"copies {kind} {epsilon:g}", tables,
                lambda c, n, e=epsilon, a=one, b=other: copies_chunk(e, a, b, c, n),
            )  # fmt: skip
            made = found["tables"]
            share = {key: 100 * value / made for key, value in found.items()}
            name, note = f"{kind} 2x2, epsilon {epsilon:g}", f"seeds 0 to {made - 1}"
            power = 80.0 if epsilon == 1.0 and kind == "balanced" else None
            lines += [
                Line(f"copies(20), {name}, false alarms", share["alarms"], unit="%", bar=6.5, note=note),
                Line(f"table.test, {name}, false alarms", share["test"], unit="%", bar=6.5, note=note),
                Line(f"table.interval, {name}, coverage", share["covered"], unit="%", rule=">=", bar=93.5, note=note),
                Line(f"table.interval, {name}, coverage not beyond", share["covered"], unit="%", bar=98.5, note=note),
                Line(f"table.test, {name}, power, odds ratio 2.7", share["power"], unit="%", rule=">=", bar=power),
                Line(f"copies(20), {name}, power", share["power of copies"], unit="%", rule=">=", bar=power),
            ]
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


def found_chunk(choose: Callable[..., Any], epsilon: float, chunk: int, size: int) -> dict[str, int]:
    """Return hits among tables of eight independent flags: of families, after Bonferroni, and of tests without it."""
    found = dict.fromkeys(("tables", "families", "naive", "tested"), 0)
    for number in range(chunk * size, (chunk + 1) * size):
        generator = np.random.default_rng([int(epsilon * 100), number])
        codes = (generator.random((8, 652)) < generator.uniform(0.2, 0.8, (8, 1))).astype(np.int64)
        with seeded(number):
            relations, candidates = choose(CodeCounter(list(codes), (3,) * 8), epsilon)
        source = SeededSource(number + 99)
        p_values = [judged(relation, source, 400).p_value or 0.0 for relation in relations]
        found["tables"] += 1
        found["tested"] += len(p_values)
        found["naive"] += sum(p < 0.05 for p in p_values)
        found["families"] += any(p * candidates < 0.05 for p in p_values)
    return found


def found_lines(grid: Grid, tables: int) -> list[Line]:
    """Independent flags: how often any p-value of a chosen relation, times the candidates, is below 5 %."""
    lines = []
    # The search itself stops where there is nothing to find: fewer tables show that.
    for kind, choose, runs in (("five of 28 pairs", choose_five, tables), ("the search", searched, tables // 20 + 1)):
        for epsilon in (0.5, 2.0, 10.0):
            found = chunks(
                grid, f"found by {kind} {epsilon:g}", runs,
                lambda c, n, e=epsilon, choose=choose: found_chunk(choose, e, c, n),
            )  # fmt: skip
            naive = 100 * found["naive"] / max(1, found["tested"])
            note = f"{found['tables']} tables, {found['tested']} relations; not multiplied {naive:.1f} %"
            what = f"found by {kind}, epsilon {epsilon:g}, family-wise false alarms"
            lines.append(Line(what, 100 * found["families"] / found["tables"], unit="%", bar=6.5, note=note))
    return lines


# -- size ------------------------------------------------------------------------------------------------------


def scale_lines(grid: Grid, sizes: Sequence[int]) -> list[Line]:
    import duckdb

    lines = []
    for size in sizes:
        bar = 20.0 if size <= 10**6 else 180.0
        spent, found = grid.piece(f"scale {size}", lambda n=size: scale_once(n))
        note = f"{found} relations found, DuckDB {duckdb.__version__}, no rows in Python"
        lines.append(Line(f"{size:,} rows x 15 columns on DuckDB, CPU", spent, unit="s", bar=bar, note=note))
    return lines


def scale_once(size: int) -> list[float]:
    """Return CPU seconds from a file to a synthetic table, and how many relations were found."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "rows.parquet"
        _write_rows(path, size)
        columns = {f"c{i}": dp.Category(list(range(3 + i % 5))) for i in range(13)}
        schema = dp.Schema({**columns, "flag": dp.Flag(), "age": dp.Number(0, 100, step=1)}, name="large")
        start = time.process_time()
        with dp.load(path, schema) as table:
            made = dp.synthesize(table, schema, epsilon=1.0, delta=1e-9)
        return [time.process_time() - start, len(made.measured)]


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


def reference_once(python: str, table: Coded, epsilon: float, seed: int) -> list[float] | str:
    """Return 2-way and 3-way distance and CPU seconds of the reference, or why it failed."""
    with tempfile.TemporaryDirectory() as place:
        path = Path(place) / "adult.csv"
        with path.open("w", encoding="utf-8", newline="") as file:
            writer = csv.writer(file)
            writer.writerow([f"c{i}" for i in range(len(table.shape))])
            writer.writerows(table.codes.T.tolist())
        command = [python, "-I", "-c", _REFERENCE, str(path), str(epsilon), str(seed), json.dumps(table.shape)]
        done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        return (done.stderr.strip().splitlines() or ["no message"])[-1][:100]
    answer = json.loads(done.stdout.splitlines()[-1])
    rows = Coded(np.array(answer["rows"]), table.shape, table.ordered)
    return [distance(table, rows, 2), distance(table, rows, 3), answer["seconds"]]


def reference_lines(grid: Grid, seeds: int) -> list[Line]:
    folder, python = os.environ.get("PYDPLIB_ADULT"), os.environ.get("PYDPLIB_DPMM")
    if folder is None or python is None:
        return [Line("reference MST (dpmm)", note="PYDPLIB_DPMM names no Python, or PYDPLIB_ADULT no folder")]
    table, lines = adult(folder), []

    def ours(epsilon: float, seed: int) -> list[float]:
        rows, _, spent = synthesize(table, epsilon, 1e-9, seed)
        return [distance(table, rows, 2), distance(table, rows, 3), spent]

    # At epsilon 100 a sound reference is close to the table: only then its numbers at epsilon 1 are worth quoting.
    for epsilon, runs in ((100.0, 1), (1.0, seeds)):
        theirs = [
            grid.piece(f"reference {epsilon:g} {s}", lambda e=epsilon, s=s: reference_once(python, table, e, s))
            for s in range(runs)
        ]
        failed = [found for found in theirs if isinstance(found, str)]
        if failed:
            return [*lines, Line("reference MST (dpmm)", note=f"failed: {failed[0]}")]
        # The run at epsilon 1 is that of Adult's own line.
        word = "adult" if epsilon == 1.0 else "next to the reference"
        mine = [grid.piece(f"{word} {epsilon:g} {s}", lambda e=epsilon, s=s: ours(e, s)) for s in range(runs)]
        us, them = np.mean(mine, axis=0), np.mean(theirs, axis=0)
        name = f"against reference MST (dpmm 0.1.9), epsilon {epsilon:g}"
        for place, what, bar in ((0, "2-way distance", 1.0), (1, "3-way distance", 1.0), (2, "CPU", 0.1)):
            judged_by = bar if epsilon == 1.0 else None
            mean, other = float(us[place]), float(them[place])
            unit, note = ("s", f"seeds 0 to {runs - 1}") if place == 2 else ("", f"seeds 0 to {runs - 1}")
            lines.append(Line(f"{name}, {what}", mean, other, unit, ratio=mean / other, bar=judged_by, note=note))
    return lines


# -- the choice of the gate ------------------------------------------------------------------------------------


def tree_cohort(strength: float, variant: int, rows: int, seed: int) -> Coded:
    """Return a table of 14 columns in which most columns follow an earlier one with some strength; no clinical data."""
    world, generator = np.random.default_rng([variant, 14]), np.random.default_rng([variant, seed])
    sizes = [int(size) for size in world.integers(3, 12, 14)]
    codes: list[np.ndarray] = []
    for place, size in enumerate(sizes):
        base = np.append(0.96 * world.dirichlet(np.full(size - 1, 0.8)), 0.04)
        own = np.searchsorted(np.cumsum(base / base.sum()), generator.random(rows), side="right").clip(0, size - 1)
        if place and world.random() < 0.7:
            parent = int(world.integers(max(0, place - 4), place))
            follows = generator.random(rows) < strength
            own = np.where(follows, codes[parent] * size // sizes[parent], own)
        codes.append(own)
    return Coded(np.array(codes), tuple(sizes), tuple(size > 6 for size in sizes))


def gate_lines(grid: Grid, cohorts: int, people: int) -> list[Line]:
    """Distances of other generators than the cohort, by the gate: what ``mechanism.GATE`` was chosen on."""

    def once(strength: float, epsilon: float, gate: float, seed: int) -> list[float]:
        variant = seed % 3
        whole = _kept(("tree", strength, variant), lambda: tree_cohort(strength, variant, people, 999))
        table = tree_cohort(strength, variant, 652, seed)
        rows, _, _ = synthesize(table, epsilon, 1e-6, seed, Settings(gate=gate))
        return [distance(whole, rows, k) for k in (2, 3)]

    lines = []
    for strength in (0.8, 0.5):
        for epsilon in (1.0, 1.4):
            for gate in (0.0, 0.07, 0.1, 0.15):
                found = [
                    grid.piece(
                        f"gate {strength:g} {epsilon:g} {gate:g} {s}",
                        lambda a=strength, e=epsilon, g=gate, s=s: once(a, e, g, s),
                    )
                    for s in range(cohorts)
                ]
                mean = np.mean(found, axis=0)
                name = f"gate {gate:g}, trees of strength {strength:g}, epsilon {epsilon:g}"
                lines.append(Line(f"{name}, 2-way", float(mean[0]), note=f"{cohorts} cohorts, 3-way {mean[1]:.4f}"))
    return lines


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="tiny sizes, nothing is judged or kept")
    parser.add_argument("--without", nargs="*", default=[], choices=PARTS, help="parts that are left out")
    parser.add_argument("--json", type=Path, help="where to write the results")
    options = parser.parse_args()
    quick = options.quick
    grid = Grid(None if quick else GRID)
    sizes = (2_000, 4_000) if quick else (10**6, 10**7)
    work: dict[str, Callable[[], list[Line]]] = {
        "copies": lambda: copies_lines(grid, 12 if quick else 2_000),
        "found": lambda: found_lines(grid, 3 if quick else 2_000),
        "cohort": lambda: cohort_lines(grid, 2 if quick else 20, 3_000 if quick else 150_000),
        "adult": lambda: adult_lines(grid, 1 if quick else 5),
        "scale": lambda: scale_lines(grid, sizes[:1]),
        "gate": lambda: gate_lines(grid, 3 if quick else 6, 2_000 if quick else 50_000),
        "reference": lambda: [] if quick else reference_lines(grid, 1),
        "large": lambda: scale_lines(grid, sizes[1:]),
    }
    lines: list[Line] = []
    for name in PARTS:
        for line in work[name]() if name not in options.without else []:
            print(line.text(judged=not quick), flush=True)
            lines.append(line)
    lines.append(Line("the whole run, CPU", grid.cpu, unit="s", note=f"code {grid.code}"))
    print(summary(lines, quick=quick, left_out=options.without))
    arguments = [*(["--quick"] if quick else []), *(["--without", *options.without] if options.without else [])]
    return finish("synthetic", lines, options, arguments)


if __name__ == "__main__":
    sys.exit(main())
