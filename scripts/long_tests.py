"""Run the long tests in parts that fit a time, and say by name what passed, failed, was cut or was not run.

    python scripts/long_tests.py                         all parts, without limit
    python scripts/long_tests.py --minutes 40            as many as fit; the commit decides which one comes first
    python scripts/long_tests.py statistics engines      these parts
    python scripts/long_tests.py --list                  the parts and what they run

Each commit begins with another part, so that every part gets its turn where time does not suffice for all. Tests that
passed are counted, all others are named, also those of a part that was cut. Ends with 1 if a part failed, or a test of
one that was cut.
"""

from __future__ import annotations

import argparse
import os
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
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
        return [sys.executable, "-m", "pytest", "-n", "2", "-v", *chosen, *self.folders]


STARTED = re.compile(r"^(tests/\S+?::.+?) *$")
ENDED = re.compile(r"^\[gw\d+\] \[ *\d+%\] ([A-Z]+) (tests/.+?) *$")


@dataclass
class Outcome:
    """What became of a part, as far as it got.

    Attributes:
        part: The part.
        word: passed, failed, cut or not run.
        seconds: How long it ran.
        passed: How many of its tests passed.
        failed: Those that did not.
        running: Those that had begun and not ended.
    """

    part: Part
    word: str = "not run"
    seconds: float = 0.0
    passed: int = 0
    failed: list[str] = field(default_factory=list)
    running: list[str] = field(default_factory=list)

    def read(self, line: str) -> bool:
        """Note what a line of pytest says about a test; tell whether readers should see it."""
        if ended := ENDED.match(line):
            word, test = ended.groups()
            if test in self.running:
                self.running.remove(test)
            self.passed += word == "PASSED"
            if word in ("FAILED", "ERROR"):
                self.failed.append(test)
            return word in ("FAILED", "ERROR")
        if started := STARTED.match(line):
            self.running.append(started[1])
            return False
        return True

    @property
    def is_bad(self) -> bool:
        """Whether something failed, before a cut too."""
        return self.word == "failed" or bool(self.failed)

    def lines(self) -> list[str]:
        """Return the lines of the summary."""
        counted = f", {self.passed} tests passed" if self.part.folders and self.word != "not run" else ""
        first = f"  {self.word:8} {self.seconds / 60:6.1f} min  {self.part.name}{counted}: "
        found = [first + " ".join(self.part.folders or self.part.command)]
        found += [f"    FAILED {test}" for test in self.failed]
        return found + [f"    cut during {test}" for test in self.running if self.word == "cut"]


HOSTILE = "tests/spec/engine/test_engine_hostile_cells.py"


def _files(folder: str, but: str = "") -> tuple[str, ...]:
    """Return the files of tests below a folder, but one."""
    found = (str(path.relative_to(ROOT)) for path in (ROOT / folder).rglob("test_*.py"))
    return tuple(sorted(path for path in found if path != but))


# Every file of tests stands in one part of those for slow tests, and every test of the platform in one of the three on
# PostgreSQL: tests/unit/test_long_tests.py looks.
PARTS = (
    Part("statistics of noise and privacy", ("tests/noise", "tests/privacy", "tests/mutants")),
    Part("statistics of papers and library", ("tests/paper", "tests/unit", "tests/docs")),
    Part("engines: hostile cells", (HOSTILE,)),
    Part("engines: all else", _files("tests/spec", but=HOSTILE)),
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
            "tests/web/notices",
            "tests/web/people",
            "tests/web/projects",
            "tests/web/server",
            *(path for path in _files("tests/web") if path.count("/") == 2),
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


def run(part: Part, seconds: float | None) -> Outcome:
    """Run one part, show what its readers should see, and return what became of it."""
    environment = {**os.environ, "PYDPLIB_TEST_DATABASE": part.database, "PYTHONUNBUFFERED": "1"}
    process = subprocess.Popen(
        part.words(), cwd=ROOT, env=environment, start_new_session=True, text=True, errors="replace",
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
    )  # fmt: skip
    outcome, begun = Outcome(part), time.monotonic()

    def show() -> None:
        assert process.stdout is not None
        after = 0  # lines since the cut; the first ends what stood there before: a test that had begun
        for line in process.stdout:
            after += outcome.word == "cut"
            heard = outcome if after <= 1 else Outcome(part)  # what the interrupt itself does to tests does not count
            if heard.read(line.rstrip("\n")):
                print(line, end="", flush=True)

    reader = threading.Thread(target=show, daemon=True)
    reader.start()
    try:
        outcome.word = "passed" if process.wait(seconds) == 0 else "failed"
    except subprocess.TimeoutExpired:
        outcome.word = "cut"
        _end(process)
    except KeyboardInterrupt:
        _end(process)
        raise
    reader.join(10)  # a server that a test left behind may keep the pipe open
    outcome.seconds = time.monotonic() - begun
    return outcome


def _end(process: subprocess.Popen[str]) -> None:
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
    outcomes: list[Outcome] = []
    for part in parts:
        left = None if asked.minutes is None else 60 * asked.minutes - (time.monotonic() - started)
        if left is not None and left < LEAST_SECONDS:
            outcomes.append(Outcome(part))
            continue
        print(f"\n== {part.name}", flush=True)
        outcomes.append(run(part, left))
    print("\nLong tests, in the order of this commit:")
    for outcome in outcomes:
        print("\n".join(outcome.lines()))
    return int(any(outcome.is_bad for outcome in outcomes))


if __name__ == "__main__":
    raise SystemExit(main())
