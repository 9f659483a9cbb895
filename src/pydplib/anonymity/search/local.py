"""Local recoding by peeling: at each node, cheapest first, release every class that satisfies the models."""

from __future__ import annotations

import heapq
import math
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from pydplib.anonymity.search.classes import Node, kept_histogram, people_of
from pydplib.anonymity.search.groups import KeyGroups, combine, group
from pydplib.anonymity.search.lattice import LARGE_LATTICE, BoxSearch, Search, SearchInfo, search_lattice
from pydplib.anonymity.search.losses import SeparableLoss, make_objective
from pydplib.anonymity.search.mondrian import Parts
from pydplib.anonymity.search.problem import Pairs, SearchProblem
from pydplib.anonymity.search.recodings import RecodedColumn, Recoding, distinct_texts, label_mass, value_counts
from pydplib.anonymity.search.statistics import ClassHistogram
from pydplib.anonymity.search.verdicts import Judge, NodeVerdict, passing, settle
from pydplib.anonymity.tables.columns import Bools, Floats, Ints
from pydplib.errors import AnonymityError

_HELD = 300_000
"""Lattices up to this size are sorted as a whole."""
_WALKED = 1_500
"""How many nodes of a larger one are looked at, those just below the best single node."""
_RESERVE = 0.7
"""The share of a time limit after which no more classes are peeled off."""


class RowsLeft:
    """The tuples that are not released yet, and their classes at a node."""

    def __init__(self, problem: SearchProblem) -> None:
        self.problem = problem
        self.tuples = np.arange(len(problem.weight))
        self.cards = [max(len(c.labels[0]), 1) for c in problem.columns]
        bits = sum(float(np.log2(card)) for card in self.cards)
        self.direct = bits + len(problem.weight).bit_length() < 61
        self.tables: list[list[Ints]] = []
        scale = 1
        for column, card in zip(problem.columns, self.cards, strict=True):
            self.tables.append([level * (scale if self.direct else 1) for level in column.levels])
            scale *= card
        self._fill()

    def _fill(self) -> None:
        problem = self.problem
        self.weight = problem.weight[self.tuples]
        self.codes = [codes[self.tuples] for codes in problem.codes]
        place = np.full(len(problem.weight), -1, dtype=np.int64)
        place[self.tuples] = np.arange(len(self.tuples))
        self.pairs = {}
        for name, pairs in problem.pairs.items():
            owner = place[pairs.owner]
            inside = owner >= 0
            self.pairs[name] = (owner[inside], pairs.value[inside], pairs.count[inside])

    def release(self, which: Bools) -> Ints:
        """Take out some of the remaining tuples and return them."""
        out = self.tuples[which]
        self.tuples = self.tuples[~which]
        self._fill()
        return out

    def at(self, node: Sequence[int]) -> RemainingClasses:
        """Return the classes of the remaining tuples at a node."""
        parts = [self.tables[a][level][self.codes[a]] for a, level in enumerate(node)]
        if self.direct:
            keys = parts[0]
            for part in parts[1:]:
                keys = keys + part
        else:
            keys, _ = combine(parts, self.cards, len(self.tuples))
        return RemainingClasses(self, group(keys))


class RemainingClasses:
    """Classes of remaining tuples, as models look at them."""

    def __init__(self, remaining: RowsLeft, groups: KeyGroups) -> None:
        self._remaining, self.groups = remaining, groups
        self.rows = groups.sums(remaining.weight)
        self.size = self.rows

    def histogram(self, name: str, keep: Bools) -> tuple[ClassHistogram, Bools | None]:
        """Sensitive values of the kept classes."""
        owner, value, count = self._remaining.pairs[name]
        values = len(self._remaining.problem.sensitive[name].share)
        return kept_histogram(self.groups.into[owner], value, count, keep, values), None

    def people(self, name: str, keep: Bools, histogram: ClassHistogram) -> Floats:
        """How many people of the kept classes have every sensitive value."""
        return people_of(histogram, len(self._remaining.problem.sensitive[name].share))


def nodes_by_loss(problem: SearchProblem, objective: SeparableLoss, start: Node, *, cells: bool) -> Iterator[Node]:
    """Yield nodes by rising loss of their labels; for cells only levels 0 and top.

    Of a lattice that is too large to sort, those below ``start``, the best single node: classes of k people begin to
    form there, while the cheapest nodes of all tell everybody apart.
    """
    steps = [sorted({0, height}) if cells else list(range(height + 1)) for height in problem.heights]
    totals = [objective.totals[a][levels] for a, levels in enumerate(steps)]
    shape = [len(levels) for levels in steps]
    if math.prod(shape) <= _HELD:
        price = np.zeros(shape)
        for a, total in enumerate(totals):
            price = price + total.reshape([-1 if i == a else 1 for i in range(len(shape))])
        order = np.argsort(price.ravel(), kind="stable")
        for place in np.stack(np.unravel_index(order, shape), axis=1).tolist():
            yield tuple(steps[a][i] for a, i in enumerate(place))
        return
    first = tuple(sum(step < level for step in column) for column, level in zip(steps, start, strict=True))
    heap = [(-float(sum(total[i] for total, i in zip(totals, first, strict=True))), first)]
    seen = {first}
    found: list[tuple[float, Node]] = []
    while heap and len(found) < _WALKED:
        price_now, place = heapq.heappop(heap)
        found.append((-price_now, place))
        for a, i in enumerate(place):
            below = (*place[:a], i - 1, *place[a + 1 :])
            if i and below not in seen:
                seen.add(below)
                heapq.heappush(heap, (price_now + float(totals[a][i] - totals[a][i - 1]), below))
    for _, place in sorted(found):
        yield tuple(steps[a][i] for a, i in enumerate(place))


def recode_locally(
    problem: SearchProblem,
    *,
    cells: bool,
    deadline: float | None,
    progress: Callable[[SearchInfo], None] | None,
) -> tuple[Recoding, SearchInfo]:
    """Release classes node by node; what is left at the end is suppressed.

    Never worse than the best single node that was found on the way: that one is looked for first, and where peeling
    does not beat it, or time is up, it is what is released.

    Raises:
        AnonymityError: If more rows are left than may be suppressed.
    """
    began = time.monotonic()
    objective = make_objective("granularity", problem)
    assert isinstance(objective, SeparableLoss)
    single = find_node(problem, objective, deadline)
    start = problem.heights if single.best is None else single.best.classes.node
    at_node, nodes, checked = _peel(problem, objective, start, cells=cells, deadline=_part(began, deadline))
    left = int(problem.weight[at_node < 0].sum())
    late = deadline is not None and time.monotonic() > deadline
    if left > problem.limit and not late:
        _pool(problem, at_node, nodes, deadline)
        left = int(problem.weight[at_node < 0].sum())
    if left <= problem.limit:
        _settle(problem, at_node, nodes)
        left = int(problem.weight[at_node < 0].sum())
    cost = _loss(objective, problem, at_node, nodes) if left <= problem.limit else np.inf
    if not cells:
        best = _one_node(single, cost)
        if best is not None and best.suppressed is not None and single.loss < cost:
            nodes = [best.classes.node]
            at_node = np.where(best.classes.tuple_mask(best.suppressed), -1, 0)
            cost = _loss(objective, problem, at_node, nodes)
    if not np.isfinite(cost):
        raise AnonymityError(
            f"Local recoding cannot satisfy {problem.asked} within the allowed suppression"
            f"{' before the time limit' if late else ''}. Allow more suppression, use weaker models, or give the "
            "hierarchies a common top level '*'."
        )
    recoding = recode_nodes(problem, at_node, nodes)
    info = SearchInfo(
        method="cells" if cells else "local", nodes=problem.nodes, checked=checked + single.judge.checks, loss=cost,
        bound=0.0,
        optimal=False, seconds=time.monotonic() - began,
    )  # fmt: skip
    if progress is not None:
        progress(info)
    return recoding, info


def _part(began: float, deadline: float | None) -> float | None:
    return None if deadline is None else began + _RESERVE * (deadline - began)


def _peel(
    problem: SearchProblem, objective: SeparableLoss, start: Node, *, cells: bool, deadline: float | None
) -> tuple[Ints, list[Node], int]:
    """Release classes node by node; what is left is met at ``start`` last. Return each tuple's node, -1 for none."""
    remaining = RowsLeft(problem)
    at_node = np.full(len(problem.weight), -1, dtype=np.int64)
    nodes: list[Node] = []
    checked = 0

    def take(node: Node) -> None:
        classes = remaining.at(node)
        fine = passing(problem, classes, problem.rules, np.ones(len(classes.rows), dtype=bool))
        if fine.any():
            at_node[remaining.release(fine[classes.groups.into])] = len(nodes)
            nodes.append(node)

    for node in nodes_by_loss(problem, objective, start, cells=cells):
        if not len(remaining.tuples) or (deadline is not None and time.monotonic() > deadline):
            break
        checked += 1
        take(node)
    for node in (start, problem.heights):
        if len(remaining.tuples) and not (cells and node != problem.heights):
            checked += 1
            take(node)
    return at_node, nodes, checked


def _settle(problem: SearchProblem, at_node: Ints, nodes: Sequence[Node]) -> None:
    """Leave out released classes until all that is left passes, compared with itself."""
    if not problem.moves:
        return
    parts = [at_node + 1]
    for a, column in enumerate(problem.columns):
        levels = np.stack(list(column.levels))
        parts.append(np.where(at_node >= 0, levels[_levels(a, at_node, nodes), problem.codes[a]], 0))
    cards = [len(nodes) + 1, *(len(column.values) + 1 for column in problem.columns)]
    groups = group(combine(parts, cards, len(at_node))[0])
    part = groups.into
    released = at_node[groups.first] >= 0
    fine = settle(problem, Parts(problem, part, len(released)), problem.rules, released)
    at_node[~fine[part]] = -1


def find_node(problem: SearchProblem, objective: SeparableLoss, deadline: float | None) -> Search | BoxSearch:
    """Walk down to a good single node, which is fast in a lattice of any size; the search can go on from there."""
    if problem.nodes <= LARGE_LATTICE:
        search = Search(problem, objective, deadline=deadline)
        search.descend()
        return search
    boxes = BoxSearch(problem, objective, deadline=deadline, progress=None)
    boxes.approach()
    return boxes


def _one_node(single: Search | BoxSearch, loss: float) -> NodeVerdict | None:
    """Return the best single node, looked for further where that can beat the peeling.

    Peeling is greedy: what it releases early is missing later. Nodes whose lower bound is not below its loss are never
    looked at, so this costs little.
    """
    if isinstance(single, Search):
        found, best = single.loss, single.best
        single.loss = min(single.loss, loss - 1e-12)
        single.sweep()
        if single.best is best:
            single.loss = found
    return single.best


def _loss(objective: SeparableLoss, problem: SearchProblem, at_node: Ints, nodes: Sequence[Node]) -> float:
    lost = float(problem.weight[at_node < 0].sum()) * len(problem.columns)
    for a in range(len(problem.columns)):
        cost = _per_tuple(objective, problem, a, at_node, nodes)
        lost += float((cost * problem.weight).sum())
    return lost / max(problem.rows * len(problem.columns), 1)


def _per_tuple(
    objective: SeparableLoss, problem: SearchProblem, a: int, at_node: Ints, nodes: Sequence[Node]
) -> Floats:
    stacked = np.stack(list(objective.tables[a]))
    return np.where(at_node >= 0, stacked[_levels(a, at_node, nodes), problem.codes[a]], 0.0)


def _levels(a: int, at_node: Ints, nodes: Sequence[Node]) -> Ints:
    """Return the level of one column at every tuple's node; any level for a suppressed one."""
    return np.array([node[a] for node in nodes] or [0], dtype=np.int64)[np.maximum(at_node, 0)]


def _pool(problem: SearchProblem, at_node: Ints, nodes: list[Node], deadline: float | None) -> None:
    """Take back the latest releases until they and the rest satisfy the models together, at their best node."""
    back = at_node < 0
    number = len(nodes)
    while True:
        inside = np.flatnonzero(back)
        part = sub_problem(problem, inside)
        top = Judge(part).judge(problem.heights)
        # With everything taken back the search decides, even where the top alone would not do.
        if number == 0 or (top.suppressed is not None and top.suppressed_rows <= problem.limit):
            found = search_lattice(part, make_objective("granularity", part), deadline=deadline).verdict
            if found is None or found.suppressed is None:
                return
            gone = found.classes.tuple_mask(found.suppressed)
            at_node[inside] = np.where(gone, -1, len(nodes))
            nodes.append(found.classes.node)
            return
        number -= 1
        back = back | (at_node == number)


def sub_problem(problem: SearchProblem, tuples: Ints) -> SearchProblem:
    """Return the problem of some tuples; distributions are still compared with the whole table."""
    place = np.full(len(problem.weight), -1, dtype=np.int64)
    place[tuples] = np.arange(len(tuples))
    out = SearchProblem(
        problem.columns,
        [codes[tuples] for codes in problem.codes],
        problem.weight[tuples],
        problem.rules,
        limit=problem.limit,
        reference="input",
    )
    out.sensitive = problem.sensitive
    for name, pairs in problem.pairs.items():
        owner = place[pairs.owner]
        inside = owner >= 0
        out.pairs[name] = Pairs(owner[inside], pairs.value[inside], pairs.count[inside])
    return out


def recode_nodes(problem: SearchProblem, at_node: Ints, nodes: Sequence[Node]) -> Recoding:
    """Return the recoding in which every tuple has its own node; -1 is suppressed."""
    columns = []
    used = np.unique(at_node[at_node >= 0])
    for a, column in enumerate(problem.columns):
        offsets = np.cumsum([0, *[len(names) for names in column.labels]])
        flat = np.stack(list(column.levels)) + offsets[:-1, None]
        raw = flat[_levels(a, at_node, nodes), problem.codes[a]]
        raw = np.where(at_node >= 0, raw, offsets[column.height])
        present, ids = np.unique(raw, return_inverse=True)
        counts = value_counts(problem, a)
        parts: list[tuple[Any, Any]] = []
        cost, share, step, mass = [], [], [], []
        for number in present.tolist():
            at = int(np.searchsorted(offsets, number, side="right")) - 1
            i = number - int(offsets[at])
            parts.append((column.labels[at][i], np.flatnonzero(column.levels[at] == i).tobytes()))
            cost.append(float(column.cost[at][i]))
            share.append(float(column.share[at][i]) if cost[-1] > 0 else 0.0)
            step.append(at / max(column.height, 1))
            mass.append(float(label_mass(column, at, counts)[i]))
        kept = column.keeps_values and all(nodes[i][a] == 0 for i in used)
        columns.append(
            RecodedColumn(
                name=column.name,
                labels=tuple(distinct_texts(parts)),
                ids=ids.astype(np.int64),
                cost=np.array(cost),
                share=np.array(share),
                step=np.array(step),
                mass=np.array(mass),
                kept=kept,
            )
        )
    return Recoding(tuple(columns), at_node < 0, stages=_stages(problem, at_node, nodes, used))


def _stages(problem: SearchProblem, at_node: Ints, nodes: Sequence[Node], used: Ints) -> tuple[Any, ...]:
    """For the recipe: every node with the label numbers' texts of the classes released there."""
    out = []
    for number in used.tolist():
        members = np.flatnonzero(at_node == number)
        columns = []
        for a, column in enumerate(problem.columns):
            level = nodes[number][a]
            columns.append((column.levels[level][problem.codes[a][members]], column.labels[level]))
        keys = group(combine([c for c, _ in columns], [len(names) for _, names in columns], len(members))[0]).first
        classes = tuple(tuple(names[ids[i]] for ids, names in columns) for i in keys.tolist())
        out.append((tuple(nodes[number]), classes))
    return tuple(out)
