"""Lattices too large to hold: good nodes by descent and local moves, proof by splitting boxes of nodes."""

from __future__ import annotations

import heapq
import itertools
import time

import numpy as np

from pydplib.anonymity.classes import Node
from pydplib.anonymity.judging import Judge, Verdict
from pydplib.anonymity.losses import Objective
from pydplib.anonymity.problem import Problem
from pydplib.anonymity.search import Found, Progress, SearchInfo

_CHECKS = 3000
"""Nodes evaluated when no time limit is given."""


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

    def run(self) -> Found:
        """Return the best node that was found, with a bound for all others."""
        self._descend(self.problem.heights)
        self._improve()
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

    def visit(self, node: Node) -> tuple[float | None, Verdict | None]:
        """Evaluate a node once; return its loss, or None if too much would be suppressed."""
        if node in self.seen:
            return self.seen[node], None
        verdict = self.judge.judge(node)
        loss = None
        if verdict.suppressed is not None and verdict.suppressed_rows <= self.problem.limit:
            loss = self.objective.value(verdict)
            if loss < self.loss:
                self.loss, self.best = loss, verdict
                if self.progress is not None:
                    self.progress(self.info(complete=False))
        self.seen[node] = loss
        if verdict.failing_rows > self.problem.limit:
            self.empty.add(node)
        return loss, verdict

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

    def _improve(self) -> None:
        """From the best node try one column up and another one or two down, while that helps."""
        better = True
        while better and self.best is not None and not self._late():
            better = False
            node = self.best.classes.node
            for up, down in itertools.permutations(range(len(node)), 2):
                if node[up] == self.problem.heights[up] or node[down] == 0 or self._late():
                    continue
                moved = list(node)
                moved[up] += 1
                moved[down] -= 1
                before = self.loss
                self.visit(tuple(moved))
                if self.loss < before:
                    self._descend(tuple(moved))
                    better = True
                    break

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


def search_boxes(
    problem: Problem, objective: Objective, *, deadline: float | None = None, progress: Progress | None = None
) -> Found:
    """Search a lattice of any size; exact if time allows, else the best node with a bound for all others."""
    return BoxSearch(problem, objective, deadline=deadline, progress=progress).run()
