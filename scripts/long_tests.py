"""Run the long tests in parts that fit a time, and say by name what passed, failed, was cut or was not run.

    python scripts/long_tests.py                         all parts, without limit
    python scripts/long_tests.py --minutes 40            as many as fit; the commit decides which one comes first
    python scripts/long_tests.py statistics engines      these parts
    python scripts/long_tests.py --list                  the parts and what they run

Each commit begins with another part, so that every part gets its turn where time does not suffice for all. Ends with
1 if a part failed. A part that was cut has neither passed nor failed.
"""

from __future__ import annotations

import argparse
import os
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[1]
LEAST_SECONDS = 90
"""With less time left a part is not begun: it could only be cut."""


@dataclass(frozen=True)
class Part:
    """Some of the long tests: one command.

    Attributes:
        name: What the summary calls it.
        folders: Folders or files of tests, relative to the repository.
        command: The command, where it is not pytest.
        database: The database of the platform's tests.
        marker: Which of the folders' tests; empty for all.
    """

    name: str
    folders: tuple[str, ...] = ()
    command: tuple[str, ...] = ()
    database: str = "sqlite"
    marker: str = "slow"

    def words(self) -> list[str]:
        """Return the command."""
        if self.command:
            return list(self.command)
        chosen = ["-m", self.marker] if self.marker else []
        return [sys.executable, "-m", "pytest", "-n", "2", "-q", *chosen, *self.folders]


# Every folder of tests stands in one of the first four parts, and every test of the platform in one of the three on
# PostgreSQL: tests/unit/test_long_tests.py looks.
PARTS = (
    Part("statistics", ("tests/noise", "tests/privacy", "tests/paper", "tests/unit", "tests/mutants", "tests/docs")),
    Part("engines", ("tests/spec",)),
    Part("installations", ("tests/packaging",)),
    Part("platform", ("tests/web", "tests/acceptance")),
    Part(
        "platform on PostgreSQL: asking",
        (
            "tests/web/analyses",
            "tests/web/synthetic",
            "tests/web/dashboards",
            "tests/web/api",
            "tests/web/ledger",
            "tests/acceptance",
        ),
        database="postgres",
        marker="",
    ),
    Part(
        "platform on PostgreSQL: data",
        (
            "tests/web/intake",
            "tests/web/tables",
            "tests/web/reporting",
            "tests/web/exports",
            "tests/web/attacks",
            "tests/web/backups",
        ),
        database="postgres",
        marker="",
    ),
    Part(
        "platform on PostgreSQL: people and pages",
        (
            "tests/web/auditlog",
            "tests/web/design",
            "tests/web/people",
            "tests/web/projects",
            "tests/web/server",
            *sorted(str(path.relative_to(ROOT)) for path in (ROOT / "tests/web").glob("test_*.py")),
        ),
        database="postgres",
        marker="",
    ),
    Part("oldest versions", command=("scripts/test_versions.sh", "oldest")),
    Part("newest versions", command=("scripts/test_versions.sh", "newest")),
    Part("planted bugs", command=(sys.executable, "scripts/mutants.py")),
)


def ordered(parts: Sequence[Part], commit: str) -> list[Part]:
    """Return the parts, beginning with one that the commit's hash decides.

    Examples:
        >>> [part.name for part in ordered([Part("a"), Part("b"), Part("c")], "0000000000000001")]
        ['b', 'c', 'a']
    """
    first = int(commit or "0", 16) % len(parts)
    return [*parts[first:], *parts[:first]]


def run(part: Part, seconds: float | None) -> str:
    """Run one part and return what became of it: passed, failed or cut."""
    environment = {**os.environ, "PYDPLIB_TEST_DATABASE": part.database}
    process = subprocess.Popen(part.words(), cwd=ROOT, env=environment, start_new_session=True)
    try:
        code = process.wait(seconds)
    except subprocess.TimeoutExpired:
        _end(process)
        return "cut"
    except KeyboardInterrupt:
        _end(process)
        raise
    return "passed" if code == 0 else "failed"


def _end(process: subprocess.Popen[bytes]) -> None:
    """End a part and what it started: first kindly, so that servers of its tests stop."""
    for sign, patience in ((signal.SIGINT, 30), (signal.SIGKILL, 10)):
        try:
            os.killpg(process.pid, sign)
            process.wait(patience)
            return
        except ProcessLookupError:
            return
        except subprocess.TimeoutExpired:
            continue


def _commit() -> str:
    found = subprocess.run(["git", "rev-parse", "HEAD"], cwd=ROOT, capture_output=True, text=True, check=False)
    return found.stdout.strip()


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the parts and print what became of each."""
    parser = argparse.ArgumentParser(description="Run the long tests in parts that fit a time.")
    parser.add_argument("names", nargs="*", help="only parts whose name contains one of these")
    parser.add_argument("--minutes", type=float, help="stop after this time")
    parser.add_argument("--list", action="store_true", help="show the parts and end")
    asked = parser.parse_args(arguments)
    parts = ordered(PARTS, _commit())
    if asked.names:
        parts = [part for part in parts if any(name in part.name for name in asked.names)]
        if not parts:
            parser.error(f"no part has this name; the parts are: {', '.join(part.name for part in PARTS)}")
    if asked.list:
        for part in parts:
            print(f"{part.name:42} {' '.join(part.words()[1:])}")
        return 0
    started = time.monotonic()
    outcomes: list[tuple[Part, str, float]] = []
    for part in parts:
        left = None if asked.minutes is None else 60 * asked.minutes - (time.monotonic() - started)
        if left is not None and left < LEAST_SECONDS:
            outcomes.append((part, "not run", 0.0))
            continue
        print(f"\n== {part.name}", flush=True)
        begun = time.monotonic()
        outcomes.append((part, run(part, left), time.monotonic() - begun))
    print("\nLong tests, in the order of this commit:")
    for part, word, seconds in outcomes:
        print(f"  {word:8} {seconds / 60:6.1f} min  {part.name}: {' '.join(part.folders or part.command)}")
    return int(any(word == "failed" for _, word, _ in outcomes))


if __name__ == "__main__":
    raise SystemExit(main())
