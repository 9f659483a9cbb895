"""Plant privacy bugs one by one and say which ones the tests notice: ``make test-mutants``.

Every row of ``tests/mutants/table.py`` edits one function. First all tests of the table must pass on the source as it
is; then each mutant runs its own tests in a process of its own, which must fail. Ends with 1 if a mutant survives or
no longer applies.

    python scripts/mutants.py                      all of them
    python scripts/mutants.py "cache key" noise    those whose name or target contains one of these words
    python scripts/mutants.py --list               names and targets only
"""

from __future__ import annotations

import argparse
import importlib
import os
import signal
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO

ROOT = Path(__file__).parents[1]
MUTANTS_FOLDER = ROOT / "tests" / "mutants"
sys.path.insert(0, str(MUTANTS_FOLDER))

from loader import MutantError, mutate  # noqa: E402
from table import MUTANTS, Mutant  # noqa: E402

MOST_SECONDS = 600
SLOW_IMPORTS = (
    "pytest", "numpy", "pandas", "pyarrow", "duckdb", "hypothesis.strategies", "scipy.stats", "cryptography"
)  # fmt: skip
"""Imported once, before the copies: they are most of what a small test costs."""


@dataclass(frozen=True)
class Outcome:
    """What became of one mutant: killed, survived, or an error with its reason."""

    mutant: Mutant
    word: str
    seconds: float
    detail: str = ""


def run(tests: list[str], mutant: str = "") -> tuple[int, str]:
    """Run tests in a process of its own, with one mutant planted or none; return pytest's code and what it printed."""
    with tempfile.TemporaryFile("w+") as printed:
        code = _wait(_start(tests, mutant, printed), None)
        printed.seek(0)
        return code, printed.read()


def _start(tests: list[str], mutant: str, printed: IO[str]) -> int:
    """Start the tests in a copy of this process, which has imported what is slow to import, and nothing of pydplib."""
    sys.stdout.flush()
    child = os.fork()
    if child:
        return child
    code = 3
    try:
        for stream in (1, 2):
            os.dup2(printed.fileno(), stream)
        os.chdir(ROOT)
        os.environ["PYDPLIB_MUTANT"] = mutant
        with tempfile.TemporaryDirectory() as examples:
            # A failing example of one mutant is not the next one's.
            os.environ["HYPOTHESIS_STORAGE_DIRECTORY"] = examples
            plain = ["-x", "-q", "--tb=line", "-p", "loader", "-p", "no:cacheprovider", "-p", "no:xdist"]
            sys.modules.pop("loader", None)  # as a plugin it plants what the environment names
            code = int(importlib.import_module("pytest").main([*plain, *tests]))
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


def _wait(child: int, most_seconds: float | None) -> int:
    """Return how a child ended; one that takes too long is ended, with code 124."""
    end = None if most_seconds is None else time.monotonic() + most_seconds
    while True:
        found, status = os.waitpid(child, 0 if end is None else os.WNOHANG)
        if found:
            return os.waitstatus_to_exitcode(status)
        if end is not None and time.monotonic() > end:
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
            return 124
        time.sleep(0.2)


def judge(mutant: Mutant, code: int, printed: str, seconds: float) -> Outcome:
    """Return what the tests say about one mutant."""
    lines = printed.strip().splitlines() or [""]
    failed = [line.removeprefix("FAILED ").partition(" - ")[0] for line in lines if line.startswith("FAILED")]
    if code == 1 and failed:
        return Outcome(mutant, "killed", seconds, failed[0])
    if code == 0:
        return Outcome(mutant, "survived", seconds, mutant.tests)
    return Outcome(mutant, "error", seconds, f"pytest ended with {code}: {lines[-1]}")


def try_all(mutants: list[Mutant], jobs: int) -> Iterator[Outcome]:
    """Plant the mutants, several at once, and yield what becomes of each as it is known."""
    waiting = list(mutants)
    running: dict[int, tuple[Mutant, float, IO[str]]] = {}
    while waiting or running:
        while waiting and len(running) < jobs:
            mutant = waiting.pop(0)
            try:
                mutate(mutant)
            except MutantError as fault:
                yield Outcome(mutant, "does not apply", 0.0, str(fault))
                continue
            printed = tempfile.TemporaryFile("w+")  # noqa: SIM115 - closed when its mutant has ended
            running[_start(mutant.tests.split(), mutant.name, printed)] = (mutant, time.monotonic(), printed)
        for child in list(running):
            mutant, start, printed = running[child]
            found, status = os.waitpid(child, os.WNOHANG)
            code = os.waitstatus_to_exitcode(status) if found else None
            if code is None and time.monotonic() - start > MOST_SECONDS:
                os.kill(child, signal.SIGKILL)
                os.waitpid(child, 0)
                code = 124
            if code is not None:
                del running[child]
                printed.seek(0)
                with printed:
                    yield judge(mutant, code, printed.read(), time.monotonic() - start)
        time.sleep(0.05)


def check(mutants: list[Mutant]) -> bool:
    """Tell whether all tests of these mutants pass on the source as it is."""
    tests = list(dict.fromkeys(test for mutant in mutants for test in mutant.tests.split()))
    print(f"{len(mutants)} mutants. First their tests on the source as it is ({len(tests)} selections) ...", flush=True)
    code, printed = run(tests)
    if code != 0:
        print(printed[-4000:])
        print("The tests fail without any mutant: nothing can be said.")
        return False
    print(f"They pass ({printed.strip().splitlines()[-1]}).", flush=True)
    return True


def main() -> int:
    """Run what was asked for and return the exit code."""
    parser = argparse.ArgumentParser(description="Plant privacy bugs and see which ones the tests notice.")
    parser.add_argument("words", nargs="*", help="only mutants whose name or target contains one of these")
    parser.add_argument("--list", action="store_true", help="show the table and end")
    parser.add_argument("--unchecked", action="store_true", help="do not run the tests without a mutant first")
    parser.add_argument("--jobs", type=int, default=2, help="how many run at once (2)")
    options = parser.parse_args()
    chosen = [m for m in MUTANTS if not options.words or any(w in f"{m.name} {m.target}" for w in options.words)]
    if options.list:
        for mutant in chosen:
            print(f"{mutant.name:44} {mutant.target}\n{'':44} {mutant.about}")
        return 0
    if not chosen:
        print("No mutant has such a name.")
        return 2
    for name in SLOW_IMPORTS:
        importlib.import_module(name)
    start = time.monotonic()
    if not options.unchecked and not check(chosen):
        return 1
    outcomes = []
    for done, outcome in enumerate(try_all(chosen, max(1, options.jobs)), start=1):
        outcomes.append(outcome)
        place = f"[{done:3}/{len(chosen)}] {outcome.word:8} {outcome.seconds:5.1f} s"
        print(f"{place}  {outcome.mutant.name}: {outcome.detail}", flush=True)
    left = [outcome for outcome in outcomes if outcome.word != "killed"]
    minutes = (time.monotonic() - start) / 60
    print(f"{len(outcomes) - len(left)} of {len(outcomes)} mutants killed, in {minutes:.1f} minutes.")
    for outcome in left:
        print(f"  {outcome.word}: {outcome.mutant.name} ({outcome.mutant.target}): {outcome.detail}")
    return 1 if left else 0


if __name__ == "__main__":
    sys.exit(main())
