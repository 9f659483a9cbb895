"""Nanoseconds per sample of the peers' Laplace noise, as JSON. Runs in the peers' environment, not in ours.

python benchmarks/_noise_peers.py SAMPLES
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from importlib.metadata import version

import diffprivlib.mechanisms
import opendp.prelude as dp

REPEATS = 5


def best(work: Callable[[], object], samples: int) -> float:
    """Return the best of several times, in nanoseconds per sample."""
    times = []
    for _ in range(REPEATS):
        start = time.perf_counter()
        work()
        times.append(time.perf_counter() - start)
    return min(times) / samples * 1e9


def main() -> None:
    samples = int(sys.argv[1])
    dp.enable_features("contrib")
    values = [float(18 + i % 82) for i in range(samples)]
    # As it comes (exact to the last bit of a float), on a grid like ours, and its integers at a scale like ours in
    # grid steps, a power of two: the fastest that it offers.
    real = dp.vector_domain(dp.atom_domain(T=float, nan=False), size=samples), dp.l1_distance(T=float)
    whole = dp.vector_domain(dp.atom_domain(T="i64")), dp.l1_distance(T="i64")
    as_it_comes = dp.m.make_laplace(*real, scale=5.0)
    on_a_grid = dp.m.make_laplace(*real, scale=5.0, k=-8)
    integers = dp.m.make_laplace(*whole, scale=1024.0)
    steps = [int(value) for value in values]
    peer = diffprivlib.mechanisms.Laplace(epsilon=1.0, sensitivity=5.0)
    print(
        json.dumps(
            {
                f"OpenDP {version('opendp')}, vector Laplace": best(lambda: as_it_comes(values), samples),
                f"OpenDP {version('opendp')}, on a grid": best(lambda: on_a_grid(values), samples),
                f"OpenDP {version('opendp')}, integers": best(lambda: integers(steps), samples),
                f"diffprivlib {version('diffprivlib')}, Laplace": best(
                    lambda: [peer.randomise(value) for value in values], samples
                ),
            }
        )
    )


if __name__ == "__main__":
    main()
