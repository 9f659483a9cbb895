"""Peers' mean, variance, median and histogram of an array: seconds, or releases, as JSON. Runs in their environment.

python benchmarks/_release_array_peers.py time SIZE
python benchmarks/_release_array_peers.py accuracy SIZE RUNS
"""

from __future__ import annotations

import json
import sys
import time
import warnings
from collections.abc import Callable

import diffprivlib
import diffprivlib.tools as tools
import numpy as np
import opendp.prelude as dp
from pydp.algorithms.laplacian import BoundedMean, BoundedVariance, Count, Median

warnings.simplefilter("ignore")
dp.enable_features("contrib", "floating-point")
LOW, HIGH = 18.0, 100.0
EDGES = np.linspace(LOW, HIGH, 51)


def data(kind: str, size: int) -> np.ndarray:
    """Return the same values as accuracy.py makes."""
    rng = np.random.default_rng(920)
    if kind == "ages":
        return np.clip(np.rint(rng.normal(66, 9, size)), LOW, HIGH)
    if kind == "skewed":
        return np.minimum(LOW + rng.exponential(12, size), HIGH)
    return rng.uniform(LOW, HIGH, size)


# -- OpenDP ------------------------------------------------------------------------------------------------------


def opendp_sized(statistic: str, size: int, epsilon: float) -> Callable[[np.ndarray], float]:
    """A mean or variance of a public number of elements, one of which is exchanged (two symmetric steps)."""
    domain = dp.vector_domain(dp.atom_domain(bounds=(LOW, HIGH), nan=False), size=size)
    make = {"mean": dp.t.make_mean, "variance": lambda *a: dp.t.make_variance(*a, ddof=0)}[statistic]
    space = domain, dp.symmetric_distance()

    def mechanism(scale: float):
        return make(*space) >> dp.m.then_laplace(scale)

    scale = dp.binary_search(lambda s: mechanism(s).check(2, epsilon), bounds=(1e-12, 1e9))
    measurement = mechanism(scale)
    return lambda x: measurement(x.tolist())


def opendp_mean(epsilon: float) -> Callable[[np.ndarray], float]:
    """A mean with an unknown number of elements: a sum and a count, half of epsilon each."""
    space = dp.vector_domain(dp.atom_domain(T=float, nan=False)), dp.symmetric_distance()
    clamped = space >> dp.t.then_clamp((LOW, HIGH))
    total = dp.binary_search_chain(lambda s: clamped >> dp.t.then_sum() >> dp.m.then_laplace(s), 1, epsilon / 2)
    count = dp.binary_search_chain(lambda s: clamped >> dp.t.then_count() >> dp.m.then_laplace(s), 1, epsilon / 2)

    def release(x: np.ndarray) -> float:
        values = x.tolist()
        return float(np.clip(total(values) / max(count(values), 1), LOW, HIGH))

    return release


def opendp_median(epsilon: float) -> Callable[[np.ndarray], float]:
    candidates = np.arange(LOW, HIGH + 0.025, 0.05).tolist()
    space = dp.vector_domain(dp.atom_domain(T=float, nan=False)), dp.symmetric_distance()

    def make(scale: float):
        return space >> dp.m.then_private_quantile(dp.max_divergence(), candidates, alpha=0.5, scale=scale)

    measurement = dp.binary_search_chain(make, 1, epsilon)
    return lambda x: measurement(x.tolist())


def opendp_histogram(epsilon: float) -> Callable[[np.ndarray], list[float]]:
    space = dp.vector_domain(dp.atom_domain(T=float, nan=False)), dp.symmetric_distance()
    bins = list(range(50))
    binned = (
        space
        >> dp.t.then_find_bin(edges=EDGES[1:-1].tolist())
        >> dp.t.then_count_by_categories(bins, null_category=False)
    )
    measurement = dp.binary_search_chain(lambda s: binned >> dp.m.then_laplace(s), 1, epsilon)
    return lambda x: measurement(x.tolist())


# -- the others --------------------------------------------------------------------------------------------------


def pydp_of(kind: type, epsilon: float) -> Callable[[np.ndarray], float]:
    def release(x: np.ndarray) -> float:
        return kind(epsilon=epsilon, lower_bound=LOW, upper_bound=HIGH, dtype="float").quick_result(x.tolist())

    return release


def pydp_histogram(epsilon: float) -> Callable[[np.ndarray], list[float]]:
    def release(x: np.ndarray) -> list[float]:
        place = np.clip(np.searchsorted(EDGES, x, side="right") - 1, 0, 49)
        return [Count(epsilon=epsilon, dtype="int").quick_result([1] * int((place == i).sum())) for i in range(50)]

    return release


def peers(size: int, epsilon: float) -> dict[str, dict[str, Callable[[np.ndarray], object]]]:
    """Statistic and relation -> peer -> release. "/sub": one of a public number of elements is exchanged."""
    bounds = {"bounds": (LOW, HIGH)}
    found: dict[str, dict[str, Callable[[np.ndarray], object]]] = {
        "mean/sub": {
            "diffprivlib": lambda x: tools.mean(x, epsilon=epsilon, **bounds),
            "OpenDP": opendp_sized("mean", size, epsilon),
        },
        "variance/sub": {
            "diffprivlib": lambda x: tools.var(x, epsilon=epsilon, **bounds),
            "OpenDP": opendp_sized("variance", size, epsilon),
        },
        "median/sub": {"diffprivlib": lambda x: tools.median(x, epsilon=epsilon, **bounds)},
        "mean": {"OpenDP": opendp_mean(epsilon), "PyDP": pydp_of(BoundedMean, epsilon)},
        "variance": {"PyDP": pydp_of(BoundedVariance, epsilon)},
        "median": {"OpenDP": opendp_median(epsilon), "PyDP": pydp_of(Median, epsilon)},
        "histogram": {
            "diffprivlib": lambda x: tools.histogram(x, epsilon=epsilon, bins=50, range=(LOW, HIGH))[0].tolist(),
            "OpenDP": opendp_histogram(epsilon),
            "PyDP": pydp_histogram(epsilon),
        },
    }
    return found


def best_of(release: Callable[[np.ndarray], object], x: np.ndarray) -> float:
    """Return the best of up to 25 times: as many as fit into a second, and two unless one takes five."""
    best = spent = 0.0
    for i in range(25):
        if spent > (1 if i >= 2 else 5):
            break
        start = time.perf_counter()
        release(x)
        took = time.perf_counter() - start
        best, spent = min(best, took) if i else took, spent + took
    return best


def main() -> None:
    mode, size = sys.argv[1], int(sys.argv[2])
    # No accountant of its own: every call here is a new world.
    diffprivlib.BudgetAccountant().set_default()
    if mode == "time":
        x = data("uniform", size)
        seconds: dict[str, dict[str, float]] = {}
        for statistic, named in peers(size, 1.0).items():
            for name, release in named.items():
                took = best_of(release, x)
                seconds.setdefault(statistic.split("/")[0], {})
                short = seconds[statistic.split("/")[0]]
                short[name] = min(took, short.get(name, took))
        print(json.dumps(seconds))
        return
    runs, wanted = int(sys.argv[3]), sys.argv[4:]  # wanted: one kind of data and one statistic, or nothing for all
    found: dict[str, dict[str, dict[str, list[object]]]] = {}
    for kind in wanted[:1] or ("uniform", "ages", "skewed"):
        x = data(kind, size)
        for statistic, named in peers(size, 1.0).items():
            if statistic not in (wanted[1:] or [statistic]):
                continue
            for name, release in named.items():
                times = max(1, runs // 5) if statistic == "histogram" else runs
                found.setdefault(kind, {}).setdefault(statistic, {})[name] = [release(x) for _ in range(times)]
    print(json.dumps(found, default=float))


if __name__ == "__main__":
    main()
