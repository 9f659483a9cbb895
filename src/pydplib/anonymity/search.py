"""The optimal node of the lattice: an incumbent by greedy descent, then the highest lower bound first."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from pydplib.anonymity.classes import Node
from pydplib.anonymity.judging import Judge, Verdict
from pydplib.anonymity.losses import Objective
from pydplib.anonymity.problem import Problem

Progress = Callable[["SearchInfo"], None]


@dataclass(frozen=True)
class SearchInfo:
    """How a search went, or how far it is.

    Attributes:
        method: The kind of search.
        nodes: Size of the lattice.
        checked: Nodes that were evaluated on the data.
        loss: Loss of the best node so far; None if there is none.
        bound: No node has a loss below this.
        optimal: Whether the best node is proven to be the best of all.
        seconds: Time spent.
        visited: The nodes that were evaluated, each with its loss, or None where too much would be suppressed.

    Examples:
        >>> SearchInfo("optimal", 12, 3, 0.5, 0.4, False, 0.1).gap
        0.09999999999999998
    """

    method: str
    nodes: int
    checked: int
    loss: float | None
    bound: float
    optimal: bool
    seconds: float
    visited: tuple[tuple[Node, float | None], ...] = field(default=(), repr=False)

    @property
    def gap(self) -> float:
        """How far the best node can be from the optimum at most, in units of the loss."""
        if self.loss is None:
            return float("inf")
        return max(self.loss - self.bound, 0.0)

    def __str__(self) -> str:
        if self.loss is None:
            return f"{self.method}: {self.checked} of {self.nodes} nodes checked, none satisfies the models."
        end = "the optimum" if self.optimal else f"at most {self.gap:.5f} above the optimum"
        return f"{self.method}: {self.checked} of {self.nodes} nodes checked, loss {self.loss:.5f}, {end}."


@dataclass(frozen=True, eq=False)
class Found:
    """The best node and how it was found."""

    verdict: Verdict | None
    info: SearchInfo


class Search:
    """State of one search over a lattice that fits in memory."""

    def __init__(
        self, problem: Problem, objective: Objective, *, deadline: float | None = None, progress: Progress | None = None
    ) -> None:
        self.problem, self.objective = problem, objective
        self.judge = Judge(problem)
        self.deadline, self.progress = deadline, progress
        self.began = time.monotonic()
        self.bound = objective.start()
        self.alive = np.ones(problem.shape, dtype=bool)
        self.best: Verdict | None = None
        self.loss = np.inf
        self.visited: dict[Node, float | None] = {}

    def run(self) -> Found:
        """Return the optimum, or the best node at the deadline."""
        complete = self._descend() and self.sweep()
        return Found(self.best, self.info(complete=complete, final=True))

    def info(self, *, complete: bool, final: bool = False) -> SearchInfo:
        """Describe the state."""
        left = self.alive & (self.bound < self.loss)
        bound = self.loss if complete or not left.any() else min(float(self.bound[left].min()), self.loss)
        return SearchInfo(
            "optimal",
            self.problem.nodes,
            self.judge.checks,
            None if self.best is None else float(self.loss),
            float(bound),
            complete,
            time.monotonic() - self.began,
            tuple(self.visited.items()) if final else (),
        )

    def _late(self) -> bool:
        return self.deadline is not None and time.monotonic() > self.deadline

    def visit(self, node: Node) -> float | None:
        """Evaluate a node; return its loss, or None if too much would be suppressed."""
        verdict = self.judge.judge(node)
        self.alive[node] = False
        self.visited[node] = None
        if verdict.failing_rows > self.problem.limit:
            self._kill_below(node)
            return None
        self.objective.tighten(self.bound, verdict)
        if verdict.suppressed_rows > self.problem.limit:
            if self.problem.limit == 0 and self.problem.all_monotone:
                self._kill_below(node)
            return None
        loss = self.visited[node] = self.objective.value(verdict)
        if loss < self.loss or (loss == self.loss and self._lower(node)):
            self.loss, self.best = loss, verdict
            if self.progress is not None:
                self.progress(self.info(complete=False))
        return loss

    def _lower(self, node: Node) -> bool:
        """Of two nodes with one loss, the one with the finer labels is the better."""
        return self.best is None or sum(node) < sum(self.best.classes.node)

    def _kill_below(self, node: Node) -> None:
        self.alive[tuple(slice(0, level + 1) for level in node)] = False

    def _descend(self) -> bool:
        """Walk down from the top, each time to the first better node among those with the least bound."""
        node = self.problem.heights
        current = self.visit(node)
        while True:
            below = [(*node[:a], node[a] - 1, *node[a + 1 :]) for a in range(len(node)) if node[a] > 0]
            below.sort(key=lambda child: self.bound[child])
            for child in below:
                if self._late():
                    return False
                if self.alive[child] and self.bound[child] <= self.loss:
                    loss = self.visit(child)
                    if loss is not None and (current is None or loss <= current):
                        node, current = child, loss
                        break
            else:
                return True

    def sweep(self) -> bool:
        """Visit what is left, highest lower bound first: its "no" rules out the most."""
        # Ties are broken by height, so that of two nodes with one bound the upper comes first.
        height = np.zeros(self.problem.shape, dtype=np.int32)
        for axis, size in enumerate(self.problem.shape):
            height += np.arange(size, dtype=np.int32).reshape([-1 if a == axis else 1 for a in range(height.ndim)])
        order = np.lexsort((height.ravel(), self.bound.ravel()))[::-1]
        bound, alive = self.bound.reshape(-1), self.alive.reshape(-1)
        shape = self.problem.shape
        while len(order):
            # Compact from time to time, so that nodes ruled out cost nothing.
            order = order[alive[order] & (bound[order] < self.loss)]
            part, order = order[:256], order[256:]
            for flat in part.tolist():
                if alive[flat] and bound[flat] < self.loss:
                    if self._late():
                        return False
                    self.visit(tuple(int(i) for i in np.unravel_index(flat, shape)))
        return True
