"""Lattices too large to hold: good nodes by descent and a walk, proof by splitting boxes of nodes."""

from __future__ import annotations

import heapq
import itertools
import time
from dataclasses import replace

import numpy as np

from pydplib.anonymity.classes import Classes, Node
from pydplib.anonymity.judging import Judge, Verdict
from pydplib.anonymity.losses import Objective
from pydplib.anonymity.problem import Problem
from pydplib.anonymity.search import Found, Progress, Search, SearchInfo

LARGE_LATTICE = 1_000_000
"""Nodes above which the lattice is not held in memory but searched in boxes."""
_CHECKS = 3000
"""Nodes evaluated when no time limit is given."""
_WALKED = 1200
"""Of these, how many at most look for good nodes; the rest go into the bound."""
_PATIENCE = 12
"""Steps of the walk without a better node after which it ends."""
_SWAPS = 12
"""How many exchanges of two columns are tried at each step, those that promise most."""


class BoxSearch:
    """Branch and bound over boxes: all nodes between a lower and an upper corner.

    No node of a box fails on fewer rows than the upper corner, and none has a lower cost of labels than the
    lower corner: together a bound for the whole box. A box whose upper corner fails too much is empty.
    """

    def __init__(
        self, problem: Problem, objective: Objective, *, deadline: float | None, progress: Progress | None
    ) -> None:
        self.problem, self.objective = problem, objective
        self.deadline, self.progress = deadline, progress
        self.judge = Judge(problem)
        self.began = time.monotonic()
        self.seen: dict[Node, float | None] = {}
        self.empty: set[Node] = set()  # nodes that fail too much, and so do all below them
        self.best: Verdict | None = None
        self.loss = np.inf
        self.bound = 0.0
        self.scores: dict[Node, tuple[float, float]] = {}
        self._unit = 1.0  # what the top node costs

    def run(self) -> Found:
        """Return the best node that was found, with a bound for all others."""
        self.approach()
        complete = self._split()
        return Found(self.best, self.info(complete=complete))

    def info(self, *, complete: bool) -> SearchInfo:
        """Describe the state."""
        loss = None if self.best is None else float(self.loss)
        return SearchInfo(
            "heuristic with bound", self.problem.nodes, self.judge.checks,
            loss, self.loss if complete and loss is not None else min(self.bound, self.loss), complete,
            time.monotonic() - self.began,
        )  # fmt: skip

    def _late(self) -> bool:
        if self.deadline is not None:
            return time.monotonic() > self.deadline
        return self.judge.checks >= _CHECKS

    def approach(self) -> None:
        """Find a good node: down from the top as long as that helps, then around the best one."""
        self.visit(self.problem.heights)
        self._unit = self.scores[self.problem.heights][0]
        self._descend(self.problem.heights)
        self._walk()

    def visit(self, node: Node, below: Classes | None = None) -> tuple[float | None, Verdict | None]:
        """Evaluate a node once; return its loss, or None if too much would be suppressed."""
        if node in self.seen:
            return self.seen[node], None
        verdict = self.judge.judge(node, below=below)
        loss = None
        if verdict.suppressed is not None and verdict.suppressed_rows <= self.problem.limit:
            loss = self.objective.value(verdict)
            if loss < self.loss:
                self.loss, self.best = loss, verdict
                if self.progress is not None:
                    self.progress(self.info(complete=False))
        self.seen[node] = loss
        self.scores[node] = self._score(verdict)
        if verdict.failing_rows > self.problem.limit:
            self.empty.add(node)
        return loss, verdict

    def _score(self, verdict: Verdict) -> tuple[float, float]:
        """Return a node's cost with all that fails suppressed, higher beyond the limit, and the rows that fail."""
        gone = verdict.failing if verdict.suppressed is None else verdict.suppressed
        rows = min(max(verdict.failing_rows, verdict.suppressed_rows), self.problem.rows)
        cost = self.objective.value(replace(verdict, suppressed=gone, suppressed_rows=rows))
        beyond = max(rows - self.problem.limit, 0) / max(self.problem.rows, 1)
        return cost * (1 + 4 * beyond) + beyond * self._unit, float(rows)

    def _descend(self, node: Node) -> None:
        current, _ = self.visit(node)
        while not self._late():
            below = [(*node[:a], node[a] - 1, *node[a + 1 :]) for a in range(len(node)) if node[a] > 0]
            below.sort(key=lambda child: self.objective.box_bound(child, child, None))
            for child in below:
                if self._late():
                    return
                loss, _ = self.visit(child)
                if loss is not None and (current is None or loss < current):
                    node, current = child, loss
                    break
            else:
                return

    def _walk(self) -> None:
        """From the best node go to the best neighbour that was not walked yet, better or not, until nothing helps.

        Neighbours are one column up or down, and one up with another down; of these exchanges those are tried that
        promise most, judged by what the two steps did by themselves. All are counted from one node below them.
        """
        if self.best is None:
            return
        node, walked, waiting = self.best.classes.node, set[Node](), 0
        most = self.judge.checks + _WALKED
        while waiting < _PATIENCE and self.judge.checks < most and not self._late():
            before = self.loss
            walked.add(node)
            around = self._look_around(node)
            fresh = [near for near in around if near not in walked]
            if not fresh:
                return
            node = min(fresh, key=lambda near: self.scores[near][0])
            waiting = 0 if self.loss < before else waiting + 1

    def _look_around(self, node: Node) -> list[Node]:
        """Evaluate the neighbours of a node and return them."""
        shared = self.judge.evaluator.evaluate(tuple(max(level - 1, 0) for level in node))
        self.visit(node, shared)
        ups = {a: _step(node, a, 1) for a, level in enumerate(node) if level < self.problem.heights[a]}
        downs = {a: _step(node, a, -1) for a, level in enumerate(node) if level > 0}
        around: list[Node] = []
        for near in (*ups.values(), *downs.values()):
            if self._late():
                return around
            self.visit(near, shared)
            around.append(near)
        (cost, failing), limit, rows = self.scores[node], self.problem.limit, max(self.problem.rows, 1)
        promises = []
        for (a, up), (b, down) in itertools.product(ups.items(), downs.items()):
            if a == b:
                continue
            (dear, fewer), (cheap, more) = self.scores[up], self.scores[down]
            # Steps multiply what fails, and add up in what labels cost.
            fails = fewer * more / max(failing, 1.0)
            labels = dear + cheap - cost
            promises.append((labels + self._unit * max(fails - limit, 0.0) / rows, _step(up, b, -1)))
        for _, near in sorted(promises)[:_SWAPS]:
            if self._late():
                break
            self.visit(near, shared)
            around.append(near)
        return around

    def _split(self) -> bool:
        """Split boxes, least bound first, until the best node is proven or time is up."""
        low, high = (0,) * len(self.problem.heights), self.problem.heights
        number = itertools.count()
        heap = [(self.objective.box_bound(low, high, None), next(number), low, high)]
        while heap:
            self.bound, _, low, high = heap[0]
            if self.bound >= self.loss:
                return True
            if self._late():
                return False
            heapq.heappop(heap)
            loss, verdict = self.visit(high)
            if high in self.empty:
                continue
            if verdict is None:
                verdict = self.judge.judge(high)
            if loss is None and self.problem.limit == 0 and self.problem.all_monotone:
                continue
            bound = self.objective.box_bound(low, high, verdict)
            if bound >= self.loss or low == high:
                continue
            # The upper corner is done; what is left is cut along the column where the bound rises most.
            widths = [b - a for a, b in zip(low, high, strict=True)]
            axis = max(
                (a for a in range(len(low)) if widths[a]),
                key=lambda a: self.objective.box_bound((*low[:a], high[a], *low[a + 1 :]), high, verdict),
            )
            middle = (low[axis] + high[axis]) // 2
            lower_high = (*high[:axis], middle, *high[axis + 1 :])
            upper_low = (*low[:axis], middle + 1, *low[axis + 1 :])
            heapq.heappush(
                heap, (max(bound, self.objective.box_bound(low, lower_high, verdict)), next(number), low, lower_high)
            )
            heapq.heappush(
                heap, (max(bound, self.objective.box_bound(upper_low, high, verdict)), next(number), upper_low, high)
            )
        self.bound = self.loss
        return True


def _step(node: Node, a: int, by: int) -> Node:
    return (*node[:a], node[a] + by, *node[a + 1 :])


def search_lattice(
    problem: Problem, objective: Objective, *, deadline: float | None = None, progress: Progress | None = None
) -> Found:
    """Search a lattice of any size; where it is too large to hold, the best node found, with a bound for all others."""
    if problem.nodes > LARGE_LATTICE:
        return search_boxes(problem, objective, deadline=deadline, progress=progress)
    return Search(problem, objective, deadline=deadline, progress=progress).run()


def search_boxes(
    problem: Problem, objective: Objective, *, deadline: float | None = None, progress: Progress | None = None
) -> Found:
    """Search a lattice of any size; exact if time allows, else the best node with a bound for all others."""
    return BoxSearch(problem, objective, deadline=deadline, progress=progress).run()
