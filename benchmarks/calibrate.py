"""How much faster the closed form finds the noise than the paper's Algorithm 1, and whether both land in the band.

One ratio per size: the time of Algorithm 1 (a binary search with five noisy repetitions per probe) divided by
that of the closed form, in the same run, on the same synthetic ages, up to and including the noisy data.

    python benchmarks/calibrate.py [--quick] [--json PATH]
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from _lines import Line, finish
from pydplib.paper import DPResult, dp_calculate

SIZES = (920, 100_000, 1_000_000)
QUICK_SIZES = (50, 200, 920)
REPEATS = 5  # of the closed form and, for small sizes, of the search: the best time counts


def ages(n: int) -> np.ndarray[Any, np.dtype[np.float64]]:
    """Return n ages between 38 and 92, most of them 50 to 80, the same on every run."""
    generator = np.random.default_rng(920)
    return np.clip(generator.normal(65.0, 8.0, n), 38.0, 92.0)


def timed(data: Any, selector: Any, repeats: int) -> tuple[float, DPResult]:
    """Return the best time in seconds, and one result."""
    best = float("inf")
    for _ in range(repeats):
        start = time.perf_counter()
        result = dp_calculate(data, "mean", "high", selector=selector)
        best = min(best, time.perf_counter() - start)
    return best, result


def measure(n: int) -> Line:
    """Return one line of the table."""
    data = ages(n)
    timed(data[:20], "closed_form", 1)  # so that no import is timed
    closed_seconds, closed = timed(data, "closed_form", REPEATS)
    search_seconds, search = timed(data, "search", REPEATS if n <= 1000 else 1)
    assert closed.noise_factor is not None
    band = "both in the band" if closed.in_band and search.in_band else "NOT both in the band"
    return Line(
        f"closed form, times faster than Algorithm 1, n = {n:,}",
        1e3 * closed_seconds, 1e3 * search_seconds, "ms", search_seconds / closed_seconds,
        note=f"noise {closed.noise_percent:.2f} % and {search.noise_percent:.2f} %, {band}",
    )  # fmt: skip


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="tiny sizes, to see that it runs")
    parser.add_argument("--json", type=Path, metavar="PATH", help="write the numbers there as well")
    options = parser.parse_args(arguments)
    lines = []
    for n in QUICK_SIZES if options.quick else SIZES:
        lines.append(measure(n))
        print(lines[-1].text(judged=not options.quick), flush=True)
    return finish("calibrate", lines, options, arguments)


if __name__ == "__main__":
    sys.exit(main())
