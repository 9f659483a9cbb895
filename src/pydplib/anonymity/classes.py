"""Classes at one node of the lattice, evaluated from the nearest coarser grouping already at hand."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, TypeAlias

import numpy as np

from pydplib.anonymity.grouping import Groups, add_by_key, combine, group
from pydplib.anonymity.problem import Problem
from pydplib.anonymity.resolved import Bools, Floats, Ints
from pydplib.anonymity.stats import Histogram

Node: TypeAlias = tuple[int, ...]
_CACHE_CELLS = 8_000_000


class Counted(Protocol):
    """Classes as models look at them: their people and sensitive values, however the classes were made."""

    size: Ints
    rows: Ints

    def histogram(self, name: str, keep: Bools) -> tuple[Histogram, Bools | None]:
        """Sensitive values of the kept classes, and which of them have a value that everybody has."""
        ...

    def people(self, name: str, keep: Bools, histogram: Histogram) -> Floats:
        """How many people of the kept classes have every sensitive value; the histogram is theirs."""
        ...


class Classes(Counted, Protocol):
    """The classes of one node: also their labels and costs."""

    node: Node

    def costs(self, tables: Sequence[Floats], which: Bools) -> Floats:
        """Per column, the cost of the rows in some classes; ``tables[a]`` is the cost per code."""
        ...

    def labels(self, column: int) -> Ints:
        """Per class, the number of its label in one column (classes of rows only)."""
        ...

    def tuple_mask(self, which: Bools) -> Bools:
        """Per distinct tuple (per row, where rows are linked), whether it is in one of some classes."""
        ...

    @property
    def fixed(self) -> Ints:
        """Per class, the signature of earlier releases."""
        ...


class Evaluator:
    """Groups distinct tuples at any node of the lattice.

    Along a fixed order of the columns, groupings of prefixes are kept: a node's classes are made from the
    classes of its longest kept prefix, which are far fewer than the tuples.
    """

    def __init__(self, problem: Problem) -> None:
        self.problem = problem
        columns = problem.columns
        self.cards = [max(len(column.labels[0]), 1) for column in columns]
        self.fixed_card = 1 if problem.fixed is None else int(problem.fixed.max(initial=0)) + 1
        bits = np.log2(np.array([*self.cards, self.fixed_card], dtype=np.float64)).sum()
        self.direct = bits + len(problem.weight).bit_length() < 61
        scale, self.tables = self.fixed_card, []
        for column, card in zip(columns, self.cards, strict=True):
            if self.direct:
                self.tables.append([level * scale for level in column.levels])
                scale *= card
            else:
                self.tables.append(list(column.levels))
        self.order = sorted(range(len(columns)), key=lambda a: (-self.cards[a], a))
        self.depths = tuple(range(2, max(len(columns) - 2, 0), 2))
        self._kept: dict[tuple[int, ...], TupleClasses] = {}
        self._cells = 0
        self.base = TupleClasses(problem, (0,) * len(columns), None, None, keys=self._base_keys())

    def _base_keys(self) -> Ints:
        problem = self.problem
        keys = np.zeros(len(problem.weight), dtype=np.int64) if problem.fixed is None else problem.fixed
        if not self.direct:
            return keys
        for table, codes in zip(self.tables, problem.codes, strict=True):
            keys = keys + table[0][codes]
        return keys

    def evaluate(self, node: Node, below: TupleClasses | None = None) -> TupleClasses:
        """Return the classes of a node, made from those of a node below it if given."""
        return self._prefix(node, len(node)) if below is None else self.group(below, node)

    def _prefix(self, node: Node, depth: int) -> TupleClasses:
        place = tuple(node[a] for a in self.order[:depth])
        found = self._kept.get(place)
        if found is not None:
            return found
        lower = [d for d in self.depths if d < depth]
        source = self._prefix(node, lower[-1]) if lower else self.base
        target = [0] * len(node)
        for a in self.order[:depth]:
            target[a] = node[a]
        out = self.group(source, tuple(target))
        if depth < len(node):
            self._cells += len(out.rows)
            if self._cells > _CACHE_CELLS:
                self._kept.clear()
                self._cells = len(out.rows)
            self._kept[place] = out
        return out

    def group(self, source: TupleClasses, node: Node) -> TupleClasses:
        """Merge the classes of ``source`` into those of a node above it."""
        if self.direct:
            keys = source.keys
            for a, (low, high) in enumerate(zip(source.node, node, strict=True)):
                if low != high:
                    keys = keys + (self.tables[a][high] - self.tables[a][low])[source.codes(a)]
        else:
            parts = [self.tables[a][level][source.codes(a)] for a, level in enumerate(node)]
            cards = [len(column.labels[level]) for column, level in zip(self.problem.columns, node, strict=True)]
            if self.problem.fixed is not None:
                parts.append(self.problem.fixed[source.rep])
                cards.append(self.fixed_card)
            keys, _ = combine(parts, cards, len(source.rows))
        return TupleClasses(self.problem, node, source, group(keys))


class TupleClasses:
    """Classes made of distinct tuples."""

    def __init__(
        self,
        problem: Problem,
        node: Node,
        source: TupleClasses | None,
        groups: Groups | None,
        keys: Ints | None = None,
    ) -> None:
        self.problem, self.node = problem, node
        self._source, self._groups = source, groups
        self._into: Ints | None = None
        self._keys, self._rep = keys, None if groups is not None else np.arange(len(problem.weight))
        self._codes: dict[int, Ints] = {}
        self._entries: dict[str, tuple[Ints, Ints, Ints]] = {}
        self.rows: Ints = problem.weight if source is None or groups is None else groups.sums(source.rows)
        self.size = self.rows

    def __repr__(self) -> str:
        return f"TupleClasses(node={self.node})"

    @property
    def rep(self) -> Ints:
        """One distinct tuple of every class; worked out when needed, as most nodes only need sizes."""
        if self._rep is None:
            assert self._groups is not None and self._source is not None
            self._rep = self._source.rep[self._groups.first]
        return self._rep

    @property
    def keys(self) -> Ints:
        """The key of every class."""
        if self._keys is None:
            assert self._groups is not None
            self._keys = self._groups.keys
        return self._keys

    def codes(self, column: int) -> Ints:
        """The code of every class's tuple in one column."""
        found = self._codes.get(column)
        if found is None:
            found = self._codes[column] = self.problem.codes[column][self.rep]
        return found

    @property
    def into(self) -> Ints:
        """Per class of the source, the class here."""
        if self._into is None:
            assert self._groups is not None
            self._into = self._groups.into
        return self._into

    def tuple_class(self) -> Ints:
        """Per distinct tuple, its class."""
        if self._source is None:
            return self.rep
        return self.into[self._source.tuple_class()]

    def tuple_mask(self, which: Bools) -> Bools:
        """Per distinct tuple, whether it is in one of some classes."""
        return which[self.tuple_class()]

    @property
    def fixed(self) -> Ints:
        """Per class, the signature of earlier releases."""
        if self.problem.fixed is None:
            return np.zeros(len(self.rows), dtype=np.int64)
        return self.problem.fixed[self.rep]

    def labels(self, column: int) -> Ints:
        """Per class, the number of its label in one column."""
        level = self.problem.columns[column].levels[self.node[column]]
        return level[self.problem.codes[column][self.rep]]

    def costs(self, tables: Sequence[Floats], which: Bools) -> Floats:
        """Per column, the cost of the rows in some classes."""
        rep, rows = self.rep[which], self.rows[which]
        # Not a matrix product: for short vectors its threads cost more than they bring.
        return np.array(
            [(table[codes[rep]] * rows).sum() for table, codes in zip(tables, self.problem.codes, strict=True)]
        )

    def entries(self, name: str) -> tuple[Ints, Ints, Ints]:
        """Return (class, value, count) of a sensitive column for all classes, kept for later nodes."""
        found = self._entries.get(name)
        if found is not None:
            return found
        if self._source is None:
            pairs = self.problem.pairs[name]
            found = pairs.owner, pairs.value, pairs.count
        else:
            owner, value, count = self._source.entries(name)
            values = len(self.problem.sensitive[name].share)
            found = merge_entries(self.into[owner], value, count, len(self.rows), max(values, 1))
        self._entries[name] = found
        return found

    def histogram(self, name: str, keep: Bools) -> tuple[Histogram, Bools | None]:
        """Sensitive values of the kept classes."""
        if self._source is None:
            owner, value, count = self.entries(name)
        else:
            # Only what is needed: entries of small classes are not even merged.
            owner, value, count = self._source.entries(name)
            owner = self.into[owner]
        return kept_histogram(owner, value, count, keep, len(self.problem.sensitive[name].share)), None

    def people(self, name: str, keep: Bools, histogram: Histogram) -> Floats:
        """How many people of the kept classes have every sensitive value."""
        return people_of(histogram, len(self.problem.sensitive[name].share))


def people_of(histogram: Histogram, values: int) -> Floats:
    """Return how many people have every value, where each is in one class and has one value."""
    return np.bincount(histogram.value, weights=histogram.count, minlength=values).astype(np.float64)


def merge_entries(owner: Ints, value: Ints, count: Ints, classes: int, values: int) -> tuple[Ints, Ints, Ints]:
    """Add up counts of equal (class, value); sorted by class."""
    keys, sums = add_by_key(owner * values + value, classes * values, count)
    owner, value = np.divmod(keys, values)
    return owner, value, sums.astype(np.int64)


def kept_histogram(owner: Ints, value: Ints, count: Ints, keep: Bools, values: int) -> Histogram:
    """Return the histogram of the kept classes, numbered in their order."""
    number = np.cumsum(keep) - 1
    classes = int(number[-1]) + 1 if len(number) else 0
    if classes < len(keep):
        inside = keep[owner]
        owner, value, count = number[owner[inside]], value[inside], count[inside]
    owner, value, count = merge_entries(owner, value, count, classes, max(values, 1))
    start = np.flatnonzero(np.diff(owner, prepend=-1))
    return Histogram(start, owner, value, count)
