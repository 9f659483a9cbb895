"""The attacks of a leak report as tasks: what each needs, run here or in processes, within a time limit."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np

from pydplib.anonymity.tables.columns import Floats, Ints
from pydplib.anonymity.tables.frames import Coded
from pydplib.anonymity.tables.view import number_rows
from pydplib.attack._arguments import TimeUp, until
from pydplib.attack.answers.noisy_column import judge_asking_again, judge_extremes, judge_noisy_order
from pydplib.attack.result import AttackResult
from pydplib.attack.tables.background import judge_background
from pydplib.attack.tables.candidates import Candidates, Cases, match_columns
from pydplib.attack.tables.complementary import judge_complementary
from pydplib.attack.tables.homogeneity import judge_homogeneity
from pydplib.attack.tables.linkage import Attacker, judge_linkage
from pydplib.attack.tables.matching import judge_order
from pydplib.attack.tables.minimality import Recoding, judge_minimality
from pydplib.attack.tables.released import Classes, plain_column
from pydplib.attack.tables.similarity import judge_similarity
from pydplib.attack.tables.skewness import judge_skewness
from pydplib.attack.tables.temporal import Change, judge_temporal
from pydplib.errors import PydplibError

Progress: TypeAlias = Callable[[int, int, str], None]
"""Called with (finished, all, what is next)."""


@dataclass(frozen=True)
class Task:
    """One attack to run.

    Attributes:
        name: Its kind, as audiences list them.
        about: The column or release it is about, for readers.
        run: The key of the function that runs it.
        options: What that function needs besides the shared data.
    """

    name: str
    about: str
    run: str
    options: Mapping[str, Any] = field(default_factory=dict)


@dataclass(eq=False)
class Shared:
    """What tasks share. Private: it stays in memory.

    Attributes:
        trees: Quasi-identifier -> its hierarchy.
        people: Rows of the original.
        known: Its quasi-identifiers and sensitive columns.
        found: Those rows met with the release.
        classes: The release.
        in_order: The release with sensitive columns among the cells, for attacks on the order of its rows.
        population: Number of rows and quasi-identifiers of a table of everybody.
        previous: Earlier releases, oldest first.
        changed: ``"inserted"`` or ``"deleted"`` -> number of rows and columns of those who came or left.
        columns: Noisy column -> its exact and its noisy values.
        person: Whose row of the original each is.
        changed_person: As ``changed``, whose row each is.
    """

    trees: Mapping[str, Any] = field(default_factory=dict)
    people: int = 0
    known: Mapping[str, Coded] = field(default_factory=dict)
    found: Candidates | None = None
    classes: Classes | None = None
    in_order: Classes | None = None
    population: tuple[int, Mapping[str, Coded]] | None = None
    previous: Sequence[Classes] = ()
    changed: Mapping[str, tuple[int, Mapping[str, Coded]]] = field(default_factory=dict)
    columns: Mapping[str, tuple[Floats, Floats]] = field(default_factory=dict)
    person: Ints | None = None
    changed_person: Mapping[str, Ints] = field(default_factory=dict)

    def __repr__(self) -> str:
        return "Shared(private)"

    @cached_property
    def _cases(self) -> dict[str, Cases]:
        return {}

    @property
    def candidates(self) -> Candidates:
        """The known people met with the release."""
        assert self.found is not None
        return self.found

    def cases(self, column: str) -> Cases:
        """Return the people in the same situation, worked out once per sensitive column."""
        if column not in self._cases:
            self._cases[column] = self.candidates.cases(column)
        return self._cases[column]

    def match(
        self,
        classes: Classes,
        people: tuple[int, Mapping[str, Coded]] | None = None,
        column: str = "",
        person: Ints | None = None,
    ) -> Candidates:
        """Match known people with another release."""
        number, known = people or (self.people, self.known)
        truth = {column: plain_column(known[column])} if column and column in known else {}
        return match_columns(classes, [known[name] for name in classes.names], number, truth, self.trees, person)


def _linkage(shared: Shared, attacker: Attacker) -> AttackResult:
    if attacker == "prosecutor" or shared.population is None:
        return judge_linkage(shared.candidates, attacker=attacker)
    assert shared.classes is not None
    outside = shared.match(shared.classes, shared.population)
    return judge_linkage(outside, attacker=attacker)


def _order(shared: Shared) -> AttackResult:
    assert shared.in_order is not None and shared.in_order.of_row is not None
    return judge_order(shared.match(shared.in_order), shared.in_order.of_row)


def _complementary(shared: Shared, column: str) -> AttackResult:
    earlier = (shared.match(classes, column=column, person=shared.person) for classes in shared.previous)
    parts = [shared.candidates, *earlier]
    return judge_complementary(parts, column, shared.candidates.classes.names)


def _temporal(shared: Shared, column: str, change: Change) -> AttackResult:
    assert shared.classes is not None
    before, after = shared.previous[-1], shared.classes
    present = replace(after if change == "inserted" else before, person_of_row=None)
    people = shared.match(present, shared.changed[change], column, shared.changed_person.get(change))
    return judge_temporal(before, after, people, column, shared.trees, change=change)


def _minimality(shared: Shared, column: str, most: float, k: int, recoding: Recoding) -> AttackResult:
    cases, found = shared.cases(column), shared.candidates
    # The rule guards every value alike; the one that is most common in some class is the one that drove it.
    share = cases.entries.count / np.maximum(cases.size[cases.entries.owner], 1e-9)
    top = cases.entries.domain[int(cases.entries.value[share.argmax()])] if len(share) else ""
    groups = number_rows([shared.known[name] for name in found.classes.names], shared.people)
    return judge_minimality(found, column, groups, value=top, most=most, k=k, recoding=recoding)


RUNS: dict[str, Callable[..., AttackResult]] = {
    "linkage": _linkage,
    "homogeneity": lambda s, column: judge_homogeneity(s.cases(column), s.candidates.classes, column),
    "background": lambda s, column, pieces: judge_background(
        s.cases(column), s.candidates.classes, column, pieces=pieces
    ),
    "skewness": lambda s, column, margin: judge_skewness(s.cases(column), s.candidates.classes, column, margin=margin),
    "similarity": lambda s, column, **how: judge_similarity(s.cases(column), s.candidates.classes, column, **how),
    "order": _order,
    "complementary": _complementary,
    "temporal": _temporal,
    "minimality": _minimality,
    "noisy order": lambda s, column: judge_noisy_order(s.columns[column][0], s.columns[column][1], column),
    "extremes": lambda s, column: judge_extremes(s.columns[column][0], s.columns[column][1], column),
    "asking again": lambda s, column, **how: judge_asking_again(
        s.columns[column][0], s.columns[column][1], column, **how
    ),
}
"""How each task is run, by its key."""


LATE = "not finished within the time limit"


@dataclass(frozen=True)
class Outcome:
    """What became of a task: a result, or why there is none."""

    task: Task
    result: AttackResult | None
    seconds: float
    problem: str = ""

    @property
    def late(self) -> bool:
        """Whether the time limit ended it."""
        return self.problem == LATE


def run_task(task: Task, shared: Shared) -> Outcome:
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


def _work(task: Task) -> Outcome:
    assert _shared is not None
    return run_task(task, _shared)


def run_tasks(
    tasks: Sequence[Task],
    shared: Shared,
    *,
    workers: int = 1,
    deadline: float | None = None,
    progress: Progress | None = None,
) -> list[Outcome]:
    """Run attacks one after the other, or in so many processes; what is not done at the deadline is ended.

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
    tasks: Sequence[Task], shared: Shared, workers: int, deadline: float | None, say: Progress
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
