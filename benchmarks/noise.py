"""What safe noise costs: record noise against NumPy's unsafe one, against other safe libraries, and in memory.

Three claims, each with its bar:
* end to end, ``laplace_records`` takes at most 4 times as long as ``x + Generator.laplace`` in the same run;
* per sample it is at least 100 times faster than OpenDP's vector Laplace and diffprivlib (in .venv-bench);
* it needs at most 4 times the memory of its input, the input included.

    python benchmarks/noise.py [--quick] [--json PATH]
"""

from __future__ import annotations

import argparse
import sys
import time
import tracemalloc
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from _lines import Line, finish
from pydplib.noise import laplace_records

SCALE = 5.0
SIZES = (1_000_000, 10_000_000)
QUICK_SIZES = (10_000, 50_000)
PEER_SAMPLES = 20_000


def ages(n: int) -> np.ndarray:
    return np.random.default_rng(920).uniform(18.0, 100.0, n)


def against_numpy(n: int, repeats: int) -> tuple[Line, float]:
    """Return the ratio to NumPy's float noise, and our nanoseconds per sample. In turns; the best times count."""
    x, generator = ages(n), np.random.default_rng(1)
    unsafe, safe = [], []
    for _ in range(repeats):
        start = time.perf_counter()
        _ = x + generator.laplace(0.0, SCALE, n)
        middle = time.perf_counter()
        _ = laplace_records(x, SCALE)
        safe.append(time.perf_counter() - middle)
        unsafe.append(middle - start)
    ours, theirs = min(safe) / n * 1e9, min(unsafe) / n * 1e9
    claim = f"time of x + Generator.laplace, n = {n:,}"
    return Line(claim, ours, theirs, "ns", ours / theirs, "<=", 4), ours


def against_peers(ours: float) -> list[Line]:
    """Return the speed-up per sample against each peer."""
    from _peers import ensure, run

    python = ensure(["opendp", "diffprivlib"])
    found = run(python, "_noise_peers.py", [str(PEER_SAMPLES)])
    return [
        Line(f"faster per sample than {name}", ours, theirs, "ns", theirs / ours, ">=", 100)
        for name, theirs in found.items()
    ]


def memory(n: int) -> Line:
    """Return the peak of all memory, the input included, in inputs."""
    tracemalloc.start()
    x = ages(n)
    tracemalloc.reset_peak()
    noisy = laplace_records(x, SCALE)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert noisy.nbytes == x.nbytes
    return Line(f"memory of the input, n = {n:,}", peak / 1e6, x.nbytes / 1e6, "MB", peak / x.nbytes, "<=", 4)


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="tiny sizes and no peers, to see that it runs")
    parser.add_argument("--json", type=Path, metavar="PATH", help="write the numbers there as well")
    options = parser.parse_args(arguments)

    lines: list[Line] = []

    def add(line: Line) -> None:
        lines.append(line)
        print(line.text(judged=not options.quick), flush=True)

    laplace_records(ages(1000), SCALE)  # so that no import is timed
    sizes = QUICK_SIZES if options.quick else SIZES
    best = float("inf")
    for n in sizes:
        line, ours = against_numpy(n, repeats=9 if n <= 1_000_000 else 5)
        best = min(best, ours)
        add(line)
    if not options.quick:
        for line in against_peers(best):
            add(line)
    add(memory(sizes[-1]))
    return finish("noise", lines, options, arguments)


if __name__ == "__main__":
    sys.exit(main())
