"""Our search of a large lattice next to a genetic search with the same CPU time, on the same table."""

from __future__ import annotations

import time
from typing import Any

import numpy as np

from pydplib.anonymity import KAnonymity
from pydplib.anonymity.preparation import prepare
from pydplib.anonymity.search.lattice import BoxSearch
from pydplib.anonymity.search.losses import make_objective
from pydplib.anonymity.search.verdicts import Judge

POPULATION, ELITE = 100, 20


def genetic(problem: Any, objective: Any, seconds: float, seed: int) -> float:
    """Return the least loss that a plain genetic search finds: the best stay, the better half crosses, columns mutate.

    Written for this comparison; it is no copy of another tool's.
    """
    rng = np.random.default_rng(seed)
    judge, heights, scored = Judge(problem), np.array(problem.heights), {}
    until = time.process_time() + seconds

    def score(node: Any) -> float:
        if node not in scored and time.process_time() < until:
            verdict = judge.judge(node)
            fine = verdict.suppressed is not None and verdict.suppressed_rows <= problem.limit
            scored[node] = objective.value(verdict) if fine else 2.0 + verdict.failing_rows / problem.rows
        return scored.get(node, 9.0)

    people = [problem.heights]
    people += [tuple(int(i) for i in rng.integers(0, heights + 1)) for _ in range(POPULATION // 2)]
    people += [tuple(int(i) for i in rng.integers(heights // 2, heights + 1)) for _ in range(POPULATION // 2)]
    while time.process_time() < until:
        people = sorted(set(people), key=score)[:POPULATION]
        better = people[: max(len(people) // 2, 2)]
        children = []
        for _ in range(POPULATION - ELITE):
            mother, father = (better[int(i)] for i in rng.integers(0, len(better), 2))
            child = [m if rng.random() < 0.5 else f for m, f in zip(mother, father, strict=True)]
            for a in np.flatnonzero(rng.random(len(child)) < 0.15).tolist():
                child[a] = int(np.clip(child[a] + rng.choice([-1, 1]), 0, heights[a]))
            children.append(tuple(child))
        people = [*people[:ELITE], *children]
    return min(scored.values())


def compare(table: Any, trees: Any, *, quick: bool) -> dict[str, float]:
    """Return both losses, our CPU time and how many nodes we looked at."""
    task = prepare(
        table, trees, None, person=None, identifiers=(), insensitive=(), models=[KAnonymity(5)], suppression=0.02,
        schema=None,
    )  # fmt: skip
    objective = make_objective("granularity", task.problem)
    began = time.process_time()
    search = BoxSearch(task.problem, objective, deadline=None, progress=None)
    search.approach()
    seconds = time.process_time() - began
    theirs = min(genetic(task.problem, objective, max(seconds, 0.05), seed) for seed in ((1,) if quick else (1, 2, 3)))
    return {"ours": search.loss, "genetic": theirs, "seconds": seconds, "checks": search.judge.checks}
