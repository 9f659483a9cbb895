"""An import of 100 000 reports against the same import at an older commit, through a real server, in turn.

The older commit is checked out into a folder of its own and runs its own source and its own part of `web.py`. Time
counts from the upload to the moment when the page says that all reports are taken in.

    python benchmarks/imports.py [--quick] [--json PATH] [--database SQLite|PostgreSQL] [--rows 100000] [--rounds 3]
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory

from _lines import Line, finish, summary

ROOT = Path(__file__).resolve().parent.parent
BEFORE = "036950f"
RUN = """
import json, os, sys, tempfile
from pathlib import Path
sys.path.insert(0, str(Path(sys.argv[1]) / "benchmarks"))
from web import Bench, Sizes
from _web_visitors import platform
def used(pid):  # seconds that its threads computed
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
with tempfile.TemporaryDirectory() as folder, platform(sys.argv[2], Path(folder), users=2) as server:
    before = used(server.served.process.pid)
    found = list(Bench(sys.argv[2], server, Sizes(15.0, 3000, int(sys.argv[3])), Path(folder)).imports())
    cpu = used(server.served.process.pid) - before
print(json.dumps({"seconds": found[0].ours, "cpu": cpu, "note": found[0].note, "grown": found[-1].ours}))
"""


@contextmanager
def checkout(commit: str) -> Iterator[Path]:
    """Check a commit out into a folder of its own, and remove it again."""
    git = ["git", "-C", str(ROOT), "worktree"]
    with TemporaryDirectory() as folder:
        path = Path(folder) / "older"
        subprocess.run([*git, "add", "--detach", str(path), commit], check=True, capture_output=True)
        try:
            yield path
        finally:
            subprocess.run([*git, "remove", "--force", str(path)], check=True, capture_output=True)


def measure(source: Path, database: str, rows: int) -> dict[str, float]:
    """Return what one import takes with the source of a checkout: seconds, seconds of the processor, and memory."""
    done = subprocess.run(
        [sys.executable, "-c", RUN, str(source), database, str(rows)],
        env={**os.environ, "PYTHONPATH": str(source / "src")},
        capture_output=True,
        text=True,
    )
    if done.returncode:
        raise RuntimeError(f"The import at {source} failed:\n{done.stderr[-2000:]}")
    found: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return found


def lines(database: str, rows: int, rounds: int) -> Iterator[Line]:
    """Measure both in turn."""
    with checkout(BEFORE) as older:
        pairs = [(measure(ROOT, database, rows), measure(older, database, rows)) for _ in range(rounds)]
    ours, theirs = (median(pair[which]["seconds"] for pair in pairs) for which in (0, 1))
    ratio = median(there["seconds"] / here["seconds"] for here, there in pairs)
    what = f"{database}: import of {rows:,} reports, times as fast as at {BEFORE}"
    note = f"{pairs[0][0]['note']}; before: {pairs[0][1]['note']}"
    yield Line(what, ours, theirs, unit="s", ratio=ratio, rule=">=", bar=8, note=note)
    # On a busy machine the clock says little: what the server's threads computed, pages that show progress included.
    worked = median(there["cpu"] / here["cpu"] for here, there in pairs)
    ours, theirs = (median(pair[which]["cpu"] for pair in pairs) for which in (0, 1))
    yield Line(f"{what}, by processor time", ours, theirs, unit="s", ratio=worked)
    grown = max(here["grown"] for here, _ in pairs)
    yield Line(f"{database}: import of {rows:,} reports, memory grown", grown, unit="MB", bar=300)


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="tiny sizes, to see that it runs")
    parser.add_argument("--database", choices=["SQLite", "PostgreSQL"], default="SQLite")
    parser.add_argument("--rows", type=int, default=100_000, help="reports of the import (default 100 000)")
    parser.add_argument("--rounds", type=int, default=3, help="how often both are measured (default 3)")
    parser.add_argument("--json", type=Path, metavar="PATH", help="write the numbers there as well")
    options = parser.parse_args(arguments)
    rows, rounds = (3_200, 1) if options.quick else (options.rows, options.rounds)
    found = []
    for line in lines(options.database, rows, rounds):
        found.append(line)
        print(line.text(judged=not options.quick), flush=True)
    print(summary(found, quick=options.quick))
    return finish("imports", found, options, arguments)


if __name__ == "__main__":
    sys.exit(main())
