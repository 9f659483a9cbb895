"""The lattice of levels: its optimal node, nodes of lattices too large to hold, and all nodes of a small one."""

from __future__ import annotations

import heapq
import itertools
import math
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np

from pydplib._shown import Shown
from pydplib.anonymity.search.classes import Classes, Node
from pydplib.anonymity.search.losses import Objective, make_objective
from pydplib.anonymity.search.problem import SearchProblem
from pydplib.anonymity.search.verdicts import Judge, NodeVerdict

if TYPE_CHECKING:
    from pydplib.anonymity.result import AnonymizationResult


_CLIMBED = 50_000
"""Nodes of a lattice above which it pays to look for the highest node that fails."""
_TOGETHER = (32, 256)
"""Nodes that are counted together, in a smaller and in such a lattice: they spare each other work, but a node that
fails may rule out the next."""
Progress = Callable[["SearchInfo"], None]


@dataclass(frozen=True, repr=False, kw_only=True)
class SearchInfo(Shown):
    """How a search went, or how far it is.

    Attributes:
        method: The kind of search.
        nodes: Size of the lattice.
        checked: Nodes that were evaluated on the data.
        loss: Loss of the best node so far; None if there is none.
        bound: No node has a loss below this.
        optimal: Whether the best node is proven to be the best of all.
        seconds: Time spent.
        visited: Nodes that were looked at, each with its loss, or None where too much would be suppressed; those left
            out passed without a chance to be the best.

    Examples:
        >>> SearchInfo(method="optimal", nodes=12, checked=3, loss=0.5, bound=0.4, optimal=False, seconds=0.1).gap
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
class FoundNode:
    """The best node and how it was found."""

    verdict: NodeVerdict | None
    info: SearchInfo


class Search:
    """State of one search over a lattice that fits in memory."""

    def __init__(
        self,
        problem: SearchProblem,
        objective: Objective,
        *,
        deadline: float | None = None,
        progress: Progress | None = None,
    ) -> None:
        self.problem, self.objective = problem, objective
        self.judge = Judge(problem)
        self.deadline, self.progress = deadline, progress
        self.began = time.monotonic()
        self.bound = objective.start()
        self.alive = np.ones(problem.shape, dtype=bool)
        self.best: NodeVerdict | None = None
        self.loss = np.inf
        self.visited: dict[Node, float | None] = {}
        self.climbs = problem.nodes > _CLIMBED or bool(problem.other)
        self.gains = [_gains(problem, a) for a in range(len(problem.columns))]
        self.passed: set[Node] = set()  # nodes that do not fail on too many rows

    def run(self) -> FoundNode:
        """Return the optimum, or the best node at the deadline."""
        complete = self.descend() and self.sweep()
        return FoundNode(self.best, self.info(complete=complete, final=True))

    def info(self, *, complete: bool, final: bool = False) -> SearchInfo:
        """Describe the state."""
        left = self.alive & (self.bound < self.loss)
        bound = self.loss if complete or not left.any() else min(float(self.bound[left].min()), self.loss)
        return SearchInfo(
            method="optimal",
            nodes=self.problem.nodes,
            checked=self.judge.checks,
            loss=None if self.best is None else float(self.loss),
            bound=float(bound),
            optimal=complete,
            seconds=time.monotonic() - self.began,
            visited=tuple(self.visited.items()) if final else (),
        )

    def _late(self) -> bool:
        return self.deadline is not None and time.monotonic() > self.deadline

    def visit(self, node: Node, below: Classes | None = None) -> NodeVerdict:
        """Evaluate a node; ``visited`` then has its loss, or None if too much would be suppressed."""
        verdict = self.judge.judge(node, self._worth, below)
        if not self._fails(verdict):
            self.objective.tighten(self.bound, verdict)
            self._weigh(verdict)
        return verdict

    def _fails(self, verdict: NodeVerdict) -> bool:
        """Note a node that was evaluated; where it fails on too many rows, so do all nodes below it."""
        node = verdict.classes.node
        self.alive[node] = False
        if verdict.failing_rows <= self.problem.limit:
            self.passed.add(node)
            return False
        self.visited[node] = None
        self._kill_below(node)
        return True

    def _weigh(self, verdict: NodeVerdict) -> None:
        """Compare a node that does not fail with the best so far."""
        if not verdict.judged:
            return
        node = verdict.classes.node
        self.visited[node] = None
        if verdict.suppressed_rows > self.problem.limit:
            if self.problem.limit == 0 and self.problem.all_monotone:
                self._kill_below(node)
            return
        loss = self.visited[node] = self.objective.value(verdict)
        if loss < self.loss or (loss == self.loss and self._lower(node)):
            self.loss, self.best = loss, verdict
            if self.progress is not None:
                self.progress(self.info(complete=False))

    def _worth(self, verdict: NodeVerdict) -> bool:
        """Whether a node can still be the best, given the rows that it suppresses at least."""
        return self.objective.value(verdict) <= self.loss

    def _lower(self, node: Node) -> bool:
        """Of two nodes with one loss, the one with the finer labels is the better."""
        return self.best is None or sum(node) < sum(self.best.classes.node)

    def _kill_below(self, node: Node) -> None:
        self.alive[tuple(slice(0, level + 1) for level in node)] = False

    def descend(self) -> bool:
        """Walk down from the top, each time to the first better node among those with the least bound."""
        node = self.problem.heights
        self.visit(node)
        current = self.visited[node]
        while True:
            below = [(*node[:a], node[a] - 1, *node[a + 1 :]) for a in range(len(node)) if node[a] > 0]
            below.sort(key=lambda child: self.bound[child])
            for child in below:
                if self._late():
                    return False
                if self.alive[child] and self.bound[child] <= self.loss:
                    self.visit(child)
                    loss = self.visited.get(child)
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
        bound, alive, shape = self.bound.reshape(-1), self.alive.reshape(-1), self.problem.shape
        first, together = self.judge.evaluator.order, _TOGETHER[self.climbs]
        while len(order):
            # Compact from time to time, so that nodes ruled out cost nothing.
            order = order[alive[order] & (bound[order] < self.loss)]
            part, order = order[:together], order[together:]
            nodes = np.stack(np.unravel_index(part, shape), axis=1)
            by = np.lexsort([nodes[:, a] for a in reversed(first)])
            if not self._visit_all([tuple(node) for node in nodes[by].tolist()], None):
                return False
        return True

    def _visit_all(self, nodes: list[Node], below: Classes | None) -> bool:
        """Visit nodes, half by half, each half from the classes of the node below all of it; return False when late."""
        nodes = [node for node in nodes if self.alive[node] and self.bound[node] < self.loss]
        if not nodes:
            return True
        if self._late():
            return False
        if len(nodes) > 1:
            below = self.judge.evaluator.approach(tuple(map(min, zip(*nodes, strict=True))), below)
            middle = len(nodes) // 2
            return self._visit_all(nodes[:middle], below) and self._visit_all(nodes[middle:], below)
        verdict = self.visit(nodes[0], below)
        fails = verdict.failing_rows > self.problem.limit
        return not (fails and self.climbs) or self._climb(verdict.classes)

    def _climb(self, classes: Classes) -> bool:
        """From a node that fails too much find one that is as high as can be and still does; return False when late.

        All nodes below that one are ruled out at once, far more than below the node itself. First by halving a way to
        the top, which raises those columns first that add the most nodes for the least merging of classes; then column
        by column.
        """
        heights = self.problem.heights
        way = [classes.node]
        while steps := [a for a, level in enumerate(way[-1]) if level < heights[a]]:
            way.append(_up(way[-1], max(steps, key=lambda a: self.gains[a][way[-1][a]])))
        low, high = 0, len(way) - 1
        while high - low > 1:
            if self._late():
                return False
            middle = (low + high) // 2
            fails, classes = self._still_fails(way[middle], classes)
            low, high = (middle, high) if fails else (low, middle)
        node = way[low]
        for a in sorted(range(len(node)), key=lambda a: -max(self.gains[a][node[a] :], default=0.0)):
            while node[a] < heights[a]:
                if self._late():
                    return False
                fails, classes = self._still_fails(_up(node, a), classes)
                if not fails:
                    break
                node = _up(node, a)
        return True

    def _still_fails(self, node: Node, below: Classes) -> tuple[bool, Classes]:
        """Return whether a node fails on too many rows, and the classes of the highest node of both that does."""
        if not self.alive[node]:
            return node not in self.passed, below
        verdict = self.judge.judge(node, self._worth, below)
        if self._fails(verdict):
            return True, verdict.classes
        if 2 * verdict.failing_rows > self.problem.limit:
            # Few rows that fail say little about the nodes below.
            self.objective.tighten(self.bound, verdict)
        if self.bound[node] < self.loss:
            self._weigh(verdict)
        return False, below


def _up(node: Node, a: int) -> Node:
    return (*node[:a], node[a] + 1, *node[a + 1 :])


def _gains(problem: SearchProblem, a: int) -> list[float]:
    """Return, per level of a column, how many nodes a step up adds for the bits of the column that it takes away."""
    column = problem.columns[a]
    people = np.bincount(problem.codes[a], weights=problem.weight, minlength=len(column.values))
    bits = []
    for level in column.levels:
        counts = np.bincount(level, weights=people)
        share = counts[counts > 0] / max(float(counts.sum()), 1.0)
        bits.append(float(-(share * np.log2(share)).sum()))
    return [
        math.log((i + 2) / (i + 1)) / max(below - above, 1e-3)
        for i, (below, above) in enumerate(itertools.pairwise(bits))
    ]


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
        self, problem: SearchProblem, objective: Objective, *, deadline: float | None, progress: Progress | None
    ) -> None:
        self.problem, self.objective = problem, objective
        self.deadline, self.progress = deadline, progress
        self.judge = Judge(problem)
        self.began = time.monotonic()
        self.seen: dict[Node, float | None] = {}
        self.empty: set[Node] = set()  # nodes that fail too much, and so do all below them
        self.best: NodeVerdict | None = None
        self.loss = np.inf
        self.bound = 0.0
        self.scores: dict[Node, tuple[float, float]] = {}
        self._unit = 1.0  # what the top node costs

    def run(self) -> FoundNode:
        """Return the best node that was found, with a bound for all others."""
        self.approach()
        complete = self._split()
        return FoundNode(self.best, self.info(complete=complete))

    def info(self, *, complete: bool) -> SearchInfo:
        """Describe the state."""
        loss = None if self.best is None else float(self.loss)
        return SearchInfo(
            method="heuristic with bound", nodes=self.problem.nodes, checked=self.judge.checks,
            loss=loss, bound=self.loss if complete and loss is not None else min(self.bound, self.loss),
            optimal=complete,
            seconds=time.monotonic() - self.began,
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

    def visit(self, node: Node, below: Classes | None = None) -> tuple[float | None, NodeVerdict | None]:
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

    def _score(self, verdict: NodeVerdict) -> tuple[float, float]:
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
    problem: SearchProblem, objective: Objective, *, deadline: float | None = None, progress: Progress | None = None
) -> FoundNode:
    """Search a lattice of any size; where it is too large to hold, the best node found, with a bound for all others."""
    if problem.nodes > LARGE_LATTICE:
        return search_boxes(problem, objective, deadline=deadline, progress=progress)
    return Search(problem, objective, deadline=deadline, progress=progress).run()


def search_boxes(
    problem: SearchProblem, objective: Objective, *, deadline: float | None = None, progress: Progress | None = None
) -> FoundNode:
    """Search a lattice of any size; exact if time allows, else the best node with a bound for all others."""
    return BoxSearch(problem, objective, deadline=deadline, progress=progress).run()


@dataclass(frozen=True)
class LatticeNode:
    """One combination of levels.

    Attributes:
        levels: One level per quasi-identifier.
        loss: The loss that was minimized; None where the models do not hold within the limit.
        suppressed: Share of the rows that would be left out; at least this much where the limit is exceeded.
        chosen: Whether it was released.
    """

    levels: tuple[int, ...]
    loss: float | None
    suppressed: float
    chosen: bool


@dataclass(frozen=True)
class Lattice:
    """All combinations of levels.

    Attributes:
        columns: The quasi-identifiers.
        heights: Their highest levels.
        nodes: One per combination, level by level.
        measure: Which loss was minimized.
    """

    columns: tuple[str, ...]
    heights: tuple[int, ...]
    nodes: tuple[LatticeNode, ...]
    measure: str


def lattice_of(result: AnonymizationResult, *, most: int = 200) -> Lattice | None:
    """Evaluate all nodes of the lattice that a result was chosen from.

    Returns None for lattices with more than ``most`` nodes, for methods without one level per column, and for
    tables that stayed in DuckDB.

    Examples:
        >>> import pandas as pd
        >>> from pydplib.anonymity import Intervals, KAnonymity, anonymize
        >>> table = pd.DataFrame({"age": [31, 33, 38, 52, 55, 59]})
        >>> found = lattice_of(anonymize(table, {"age": Intervals(0, 100, [10, 20])}, models=[KAnonymity(3)]))
        >>> [(node.levels, node.chosen) for node in found.nodes if node.loss is not None]
        [((1,), True), ((2,), False), ((3,), False)]
    """
    if result.levels is None or result.trace is None:
        return None
    problem = result.trace.problem
    if math.prod(problem.shape) > most:
        return None
    judge, objective = Judge(problem), make_objective(result.recipe.loss, problem)
    released = tuple(result.levels[column.name] for column in problem.columns)
    nodes = []
    for levels in itertools.product(*(range(size) for size in problem.shape)):
        verdict = judge.judge(levels)
        holds = verdict.suppressed is not None and verdict.suppressed_rows <= problem.limit
        loss = float(objective.value(verdict)) if holds else None
        gone = min(verdict.suppressed_rows, problem.rows) / max(problem.rows, 1)
        nodes.append(LatticeNode(levels, loss, gone, levels == released))
    nodes.sort(key=lambda node: (sum(node.levels), node.levels))
    return Lattice(tuple(c.name for c in problem.columns), problem.heights, tuple(nodes), result.recipe.loss)
