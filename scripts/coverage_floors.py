"""Run the default tests and show how much of the library and of the web platform they reach.

    python scripts/coverage_floors.py                    all default tests
    python scripts/coverage_floors.py tests/unit/budget  some of them: shown, not compared with the floors
    python scripts/coverage_floors.py --shown            what the last run measured, again

Commands, servers and workers that tests start are followed too. Ends with 1 if a test failed or a share lies below its
floor. Floors only rise: the last lines say when one can.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import floor
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
KEPT = ROOT / "build" / "coverage"
FLOORS = {"library": (97.0, 93.5), "web": (96.5, 88.0)}
"""Per cent of lines, and of branches, that the default tests reach at least. Raise them when the run says so."""
WEB = "src/pydplib/web/"
LEFT_OUT = "/migrations/"
"""Written by Django."""


@dataclass(frozen=True)
class Share:
    """How much of some files was run.

    Attributes:
        lines: Per cent of their lines.
        branches: Per cent of the ways on from a line that has several.
        missed: Lines that were not run, by file.
    """

    lines: float
    branches: float
    missed: Mapping[str, int]


def shares(files: Mapping[str, Any]) -> dict[str, Share]:
    """Return the shares of library and web from what coverage.py says about each file."""
    parts: dict[str, list[tuple[str, Mapping[str, int]]]] = {"library": [], "web": []}
    for path, facts in files.items():
        if path.startswith("src/") and LEFT_OUT not in path:  # not what tests write in their own folders
            parts["web" if path.startswith(WEB) else "library"].append((path, facts["summary"]))
    return {name: _share(found) for name, found in parts.items()}


def _share(files: Sequence[tuple[str, Mapping[str, int]]]) -> Share:
    def per_cent(done: str, of: str) -> float:
        total = sum(summary[of] for _, summary in files)
        return 100.0 * sum(summary[done] for _, summary in files) / total if total else 100.0

    missed = {path: summary["missing_lines"] for path, summary in files if summary["missing_lines"]}
    return Share(per_cent("covered_lines", "num_statements"), per_cent("covered_branches", "num_branches"), missed)


def verdicts(found: Mapping[str, Share], floors: Mapping[str, tuple[float, float]]) -> tuple[list[str], list[str]]:
    """Return what lies below its floor, and which floors can rise; in tenths, rounded down."""
    below, rise = [], []
    for name, share in found.items():
        for what, value, least in zip(("lines", "branches"), (share.lines, share.branches), floors[name], strict=True):
            tenths = floor(10 * value) / 10
            if tenths < least:
                below.append(f"{name}: {value:.2f} % of {what}, at least {least} % were reached before")
            elif tenths > least:
                rise.append(f"{name}: the floor of {what} can rise from {least} to {tenths} %")
    return below, rise


def measure(arguments: Sequence[str]) -> int:
    """Run the tests with everything that they start, and return how they ended."""
    shutil.rmtree(KEPT, ignore_errors=True)
    KEPT.mkdir(parents=True)
    # By an absolute name: what a test starts in another folder writes there too.
    environment = {**os.environ, "COVERAGE_FILE": str(KEPT / "data")}
    tests = [sys.executable, "-m", "coverage", "run", "-m", "pytest", "-n", "2", "-m", "not slow", *arguments]
    code = subprocess.run(tests, cwd=ROOT, env=environment, check=False).returncode
    for step in (["combine", "-q"], ["json", "-q", "-o", str(KEPT / "files.json")], ["html", "-q", "-d", str(KEPT)]):
        subprocess.run([sys.executable, "-m", "coverage", *step], cwd=ROOT, env=environment, check=True)
    return code


def main(arguments: Sequence[str]) -> int:
    """Measure, print the shares and compare them with the floors."""
    code = 0 if arguments == ["--shown"] else measure(arguments)
    found = shares(json.loads((KEPT / "files.json").read_text(encoding="utf-8"))["files"])
    for name, share in found.items():
        print(f"\n{name:8} {share.lines:6.2f} % of lines  {share.branches:6.2f} % of branches. Most lines missed in:")
        for path, count in sorted(share.missed.items(), key=lambda one: -one[1])[:10]:
            print(f"  {count:5} {path}")
    print(f"\nEvery line: {KEPT.relative_to(ROOT) / 'index.html'}")
    if arguments and arguments != ["--shown"]:
        print("Some tests only: not compared with the floors.")
        return code
    below, rise = verdicts(found, FLOORS)
    for line in rise:
        print(f"{line} (FLOORS in scripts/coverage_floors.py).")
    for line in below:
        print(f"BELOW THE FLOOR: {line}.")
    return code or int(bool(below))


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
