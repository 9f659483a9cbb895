"""What privacy models look at: sizes of classes and their sensitive values, sparse and vectorised."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass, field

import numpy as np

from pydplib.anonymity.tables.columns import Bools, Floats, Ints

TOLERANCE = 1e-9
"""Equality of sums of logarithms and shares is judged with this much slack."""


@dataclass(frozen=True, eq=False)
class ClassHistogram:
    """Sensitive values per class, as (class, value, count) sorted by class; every class has an entry.

    Attributes:
        start: First entry of every class.
        owner: Class of every entry.
        value: Code of the sensitive value of every entry.
        count: How many people of the class have it.
    """

    start: Ints
    owner: Ints
    value: Ints
    count: Ints

    @property
    def total(self) -> Floats:
        """Sum of the counts per class."""
        return np.add.reduceat(self.count, self.start).astype(np.float64)

    @property
    def distinct(self) -> Ints:
        """Number of different values per class."""
        return np.diff(np.append(self.start, len(self.owner)))

    def shares(self) -> Floats:
        """Share of every entry within its class."""
        return self.count / self.total[self.owner]

    def add(self, entries: Floats) -> Floats:
        """Sum a number per entry over the classes."""
        return np.asarray(np.add.reduceat(entries, self.start), dtype=np.float64)

    def maximum(self, entries: Floats) -> Floats:
        """Largest number per entry over the classes."""
        return np.asarray(np.maximum.reduceat(entries, self.start), dtype=np.float64)

    def only(self, which: Bools) -> ClassHistogram:
        """Return the histogram of some of the classes, numbered in their order."""
        if which.all():
            return self
        inside = which[self.owner]
        owner = (np.cumsum(which) - 1)[self.owner[inside]]
        start = np.flatnonzero(np.diff(owner, prepend=-1))
        return ClassHistogram(start, owner, self.value[inside], self.count[inside])


@dataclass(frozen=True, eq=False, kw_only=True)
class Sensitive:
    """One sensitive column of the table: its distribution, and its order and tree where a distance needs them.

    Attributes:
        name: The column.
        share: Share of every value among all people of the table.
        rank: Position of every value in the order, 0, 1, ...
        ranks: Number of positions, the m of the ordered distance.
        tree: Per level of a value hierarchy, value -> group; from the values upwards.
        listed: Whether the caller listed the order, so that a value which does not occur keeps its place.
        forest: Whether the tree's root was added above several tops.
    """

    name: str
    share: Floats
    rank: Ints
    ranks: int
    tree: tuple[Ints, ...] = ()
    listed: bool = False
    forest: bool = False

    def among(self, people: Floats) -> Sensitive:
        """Return the column as it is in a part of the table, given how many people of it have every value.

        Ranks and tops that no longer occur are gone, as they are for somebody who sees that part alone.

        Examples:
            >>> whole = Sensitive(name="ill", share=np.array([0.5, 0.25, 0.25]), rank=np.arange(3), ranks=3)
            >>> part = whole.among(np.array([3.0, 0.0, 1.0]))
            >>> part.share.tolist(), part.ranks
            ([0.75, 0.0, 0.25], 2)
        """
        share = people / max(float(people.sum()), 1.0)
        rank, ranks, tree, forest = self.rank, self.ranks, self.tree, self.forest
        if not self.listed:
            present = np.bincount(rank, weights=share, minlength=ranks) > 0
            rank, ranks = np.maximum(np.cumsum(present) - 1, 0)[rank], int(present.sum())
        if forest and len(np.unique(tree[-2][share > 0])) <= 1:
            tree, forest = tree[:-1], False
        return Sensitive(
            name=self.name, share=share, rank=rank, ranks=ranks, tree=tree, listed=self.listed, forest=forest
        )

    def whatever_goes(self, rows: int, limit: int) -> Sensitive:
        """Return the column with the least distances that it can have once at most ``limit`` of all rows are gone.

        Ranks that can lose all of their rows take no room: two values that stay are as many ranks apart as lie between
        them and surely stay, out of at most all ranks. Without that the others of a gap would count as far apart,
        though they are next to each other once the gap is gone.

        Examples:
            >>> whole = Sensitive(name="ill", share=np.array([0.4, 0.1, 0.5]), rank=np.arange(3), ranks=3)
            >>> whole.whatever_goes(10, 1).rank.tolist(), whole.whatever_goes(10, 0).rank.tolist()
            ([0, 0, 1], [0, 1, 2])
        """
        if self.listed:
            return self
        stays = np.bincount(self.rank, weights=self.share, minlength=self.ranks) * rows > limit + 0.5
        place = np.maximum(np.cumsum(stays) - 1, 0)
        return Sensitive(
            name=self.name,
            share=self.share,
            rank=place[self.rank],
            ranks=self.ranks,
            tree=self.tree,
            listed=self.listed,
            forest=self.forest,
        )


@dataclass(frozen=True, eq=False)
class ClassStats:
    """Everything that models may ask about a set of classes.

    Attributes:
        size: People per class.
        histograms: Per sensitive column, its values per class.
        sensitive: Per sensitive column, the table's distribution.
        population: Per model that brings a population table, people of the population per class.
        certain: Per sensitive column, whether a class has a value that all of its people have;
            only where a person can have several rows.
    """

    size: Ints
    _: KW_ONLY
    histograms: Mapping[str, ClassHistogram] = field(default_factory=dict)
    sensitive: Mapping[str, Sensitive] = field(default_factory=dict)
    population: Mapping[int, Ints] = field(default_factory=dict)
    certain: Mapping[str, Bools] = field(default_factory=dict)


def equal_distance(histogram: ClassHistogram, share: Floats) -> Floats:
    """Half the sum of |q - p| per class: only values that the class has in excess are needed."""
    return histogram.add(np.maximum(histogram.shares() - share[histogram.value], 0.0))


def ordered_distance(histogram: ClassHistogram, sensitive: Sensitive) -> Floats:
    """Earth mover's distance over an order, 1/(m-1) times the sum of |P_i - Q_i| of the cumulative shares.

    Between two values that a class has, its Q is constant and P only grows, so each stretch has a closed
    form: below the place where P passes Q the terms are Q - P, above it P - Q.
    """
    m = sensitive.ranks
    if m <= 1:
        return np.zeros(len(histogram.start))
    p = np.bincount(sensitive.rank, weights=sensitive.share, minlength=m)
    cumulative = np.cumsum(p)
    area = np.concatenate(([0.0], np.cumsum(cumulative)))  # area[i] = sum of cumulative[:i]
    rank = sensitive.rank[histogram.value]
    order = np.lexsort((rank, histogram.owner))
    rank, owner = rank[order], histogram.owner[order]
    total = histogram.total
    running = np.cumsum(histogram.count[order])
    before = np.concatenate(([0], running))[histogram.start]
    q = (running - before[owner]) / total[owner]
    last = np.append(histogram.start[1:], len(owner)) - 1
    until = np.append(rank[1:], m)
    until[last] = m
    q[last] = 1.0
    # Stretch [rank, until) with constant q, and [0, first rank) with q = 0.
    turn = np.clip(np.searchsorted(cumulative, q, side="left"), rank, until)
    below = q * (turn - rank) - (area[turn] - area[rank])
    above = (area[until] - area[turn]) - q * (until - turn)
    out = np.add.reduceat(below + above, histogram.start) + area[rank[histogram.start]]
    return np.asarray(np.maximum(out, 0.0) / (m - 1), dtype=np.float64)


def hierarchical_distance(histogram: ClassHistogram, sensitive: Sensitive, *, block: int = 1 << 21) -> Floats:
    """Earth mover's distance over a value hierarchy: at every inner node, height/H times min(pos, neg)."""
    tree, classes, m = sensitive.tree, len(histogram.start), len(sensitive.share)
    height = len(tree) - 1
    out = np.zeros(classes)
    if height < 1:
        return out
    total = histogram.total
    step = max(1, block // max(m, 1))
    ends = np.append(histogram.start, len(histogram.owner))
    for first in range(0, classes, step):
        last = min(first + step, classes)
        part = slice(ends[first], ends[last])
        rows = last - first
        flat = (histogram.owner[part] - first) * m + histogram.value[part]
        q = np.bincount(flat, weights=histogram.count[part], minlength=rows * m).reshape(rows, m)
        extra = sensitive.share - q / total[first:last, None]
        group = np.arange(m)
        for level in range(1, height + 1):
            # Children are the groups of the level below; a node's extra is the sum of its children's.
            children = int(group.max()) + 1
            sums = np.zeros((rows, children))
            np.add.at(sums.T, group, extra.T)
            parent = np.zeros(children, dtype=np.int64)
            parent[group] = tree[level]
            nodes = int(parent.max()) + 1
            pos, neg = np.zeros((nodes, rows)), np.zeros((nodes, rows))
            np.add.at(pos, parent, np.maximum(sums, 0.0).T)
            np.add.at(neg, parent, np.maximum(-sums, 0.0).T)
            out[first:last] += level / height * np.minimum(pos, neg).sum(axis=0)
            group = tree[level]
    return out
