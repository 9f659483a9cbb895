"""The attacks of a leak report as tasks: what each needs, run here or in processes, within a time limit."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from pydplib.attack._arguments import TimeUp, until
from pydplib.attack.answers.membership import MEMBERSHIP
from pydplib.attack.answers.noisy_column import COLUMN_ATTACKS
from pydplib.attack.kinds import AttackKind, LeakTask, Shared
from pydplib.attack.result import AttackResult
from pydplib.attack.tables import (
    background,
    complementary,
    homogeneity,
    linkage,
    matching,
    minimality,
    similarity,
    skewness,
    temporal,
)
from pydplib.errors import PydplibError

Progress: TypeAlias = Callable[[int, int, str], None]
"""Called with (finished, all, what is next)."""


TABLE_ATTACKS: tuple[AttackKind, ...] = (
    linkage.KIND,
    matching.KIND,
    homogeneity.KIND,
    background.KIND,
    skewness.KIND,
    similarity.KIND,
    minimality.KIND,
    complementary.KIND,
    temporal.KIND,
)
"""The attacks on a table, in the order in which a leak report runs them."""

KINDS: tuple[AttackKind, ...] = (*TABLE_ATTACKS, *COLUMN_ATTACKS, MEMBERSHIP)
"""Every kind of attack that a leak report can show."""

RUNS: dict[str, Callable[..., AttackResult]] = {key: run for kind in KINDS for key, run in kind.runs.items()}
"""How each task is run, by its key."""


LATE = "not finished within the time limit"


@dataclass(frozen=True)
class Outcome:
    """What became of a task: a result, or why there is none."""

    task: LeakTask
    result: AttackResult | None
    seconds: float
    problem: str = ""

    @property
    def late(self) -> bool:
        """Whether the time limit ended it."""
        return self.problem == LATE


def run_task(task: LeakTask, shared: Shared) -> Outcome:
    """Run one attack; one that does not apply says why and stops nothing else."""
    began = time.monotonic()
    try:
        result = RUNS[task.run](shared, **task.options)
    except TimeUp:
        return Outcome(task, None, time.monotonic() - began, LATE)
    except PydplibError as error:
        return Outcome(task, None, time.monotonic() - began, str(error))
    return Outcome(task, result, time.monotonic() - began)


_shared: Shared | None = None


def _receive(shared: Shared) -> None:
    import signal

    # Ctrl-C reaches every process of a terminal; the first one ends the others.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    global _shared
    _shared = shared


def _work(task: LeakTask) -> Outcome:
    assert _shared is not None
    return run_task(task, _shared)


def run_tasks(
    tasks: Sequence[LeakTask],
    shared: Shared,
    *,
    workers: int = 1,
    deadline: float | None = None,
    progress: Progress | None = None,
) -> list[Outcome]:
    """Run attacks one after the other, or in this many processes; what is not done at the deadline is ended.

    In one process an attack ends itself, at the next step that looks at the clock.
    """
    say = progress or (lambda done, total, name: None)
    if workers <= 1 or len(tasks) <= 1:
        out = []
        for number, task in enumerate(tasks):
            say(number, len(tasks), task.name)
            late = deadline is not None and time.monotonic() > deadline
            with until(deadline):
                out.append(Outcome(task, None, 0.0, LATE) if late else run_task(task, shared))
        say(len(tasks), len(tasks), "")
        return out
    return _run_processes(tasks, shared, min(workers, len(tasks)), deadline, say)


def _run_processes(
    tasks: Sequence[LeakTask], shared: Shared, workers: int, deadline: float | None, say: Progress
) -> list[Outcome]:
    import multiprocessing

    # Spawned, not forked: data frame libraries have threads, which a fork would leave half alive.
    with multiprocessing.get_context("spawn").Pool(workers, _receive, (shared,)) as pool:
        waiting = {number: pool.apply_async(_work, (task,)) for number, task in enumerate(tasks)}
        done: dict[int, Outcome] = {}
        while waiting and (deadline is None or time.monotonic() < deadline):
            for number in [n for n, answer in waiting.items() if answer.ready()]:
                done[number] = waiting.pop(number).get()
            say(len(done), len(tasks), tasks[min(waiting, default=0)].name)
            if waiting:
                next(iter(waiting.values())).wait(0.05)
        pool.terminate()
    return [done.get(number, Outcome(task, None, 0.0, LATE)) for number, task in enumerate(tasks)]
