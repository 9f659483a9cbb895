"""Classes at one node of the lattice, evaluated from the nearest coarser grouping already at hand."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Protocol, TypeAlias

import numpy as np

from pydplib.anonymity.search.groups import KEY_BITS, Cells, KeyGroups, add_by_key, combine, few_cells, group
from pydplib.anonymity.search.problem import Persons, SearchProblem
from pydplib.anonymity.search.statistics import ClassHistogram
from pydplib.anonymity.tables.columns import Bools, Floats, Ints

Node: TypeAlias = tuple[int, ...]
_CACHE_CELLS = 8_000_000


class Counted(Protocol):
    """Classes as models look at them: their people and sensitive values, however the classes were made."""

    size: Ints
    rows: Ints

    def histogram(self, name: str, keep: Bools) -> tuple[ClassHistogram, Bools | None]:
        """Sensitive values of the kept classes, and which of them have a value that everybody has."""
        ...

    def people(self, name: str, keep: Bools, histogram: ClassHistogram) -> Floats:
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


class ClassEvaluator:
    """Groups distinct tuples at any node of the lattice.

    Along a fixed order of the columns, groupings of prefixes are kept: a node's classes are made from the
    classes of its longest kept prefix, which are far fewer than the tuples.
    """

    def __init__(self, problem: SearchProblem) -> None:
        self.problem = problem
        columns = problem.columns
        self.cards = [[max(len(labels), 1) for labels in column.labels] for column in columns]
        self.fixed_card = 1 if problem.fixed is None else int(problem.fixed.max(initial=0)) + 1
        self.order = sorted(range(len(columns)), key=lambda a: (-self.cards[a][0], a))
        self.depths = tuple(range(2, max(len(columns) - 2, 0), 2))
        self._kept: dict[tuple[int, ...], TupleClasses] = {}
        self._cells = 0
        self._rises: dict[tuple[int, int, int], Ints] = {}
        self.base = TupleClasses(problem, (0,) * len(columns), source=None, groups=None)

    def evaluate(self, node: Node, below: TupleClasses | None = None) -> TupleClasses:
        """Return the classes of a node, made from those of a node below it if given."""
        if below is not None:
            return below if below.node == node else self.group(below, node)
        return self.group(self.base, node) if self._cheap(node, self.base) else self._prefix(node, len(node))

    def approach(self, node: Node, below: TupleClasses | None) -> TupleClasses | None:
        """Return what the classes of several nodes above one are made from: its classes, if it takes no sort."""
        return self.evaluate(node, below) if self._cheap(node, below or self.base) else below

    def _cheap(self, node: Node, source: TupleClasses) -> bool:
        return few_cells(self._steps(node).bound, len(source.rows))

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
        rows = len(source.rows)
        if self._tighten(source):
            steps = source.steps
            assert steps is not None
            keys = source.keys
            for a, (low, high) in enumerate(zip(source.node, node, strict=True)):
                if low != high:
                    keys = keys + self._rise(a, low, high).take(steps.label(source.keys, a)) * steps.each[a]
        else:
            steps = self._steps(node)
            if steps.bound.bit_length() + rows.bit_length() > KEY_BITS:
                parts = [source.labels(a, level) for a, level in enumerate(node)]
                cards = [self.cards[a][level] for a, level in enumerate(node)]
                if self.problem.fixed is not None:
                    parts.append(self.problem.fixed[source.rep])
                    cards.append(self.fixed_card)
                keys, _ = combine(parts, cards, rows)
                return TupleClasses(self.problem, node, source=source, groups=group(keys))
            keys = self._pack(source, node, steps)
        groups = Cells(keys, steps.bound, source.rows) if few_cells(steps.bound, rows) else group(keys)
        return TupleClasses(self.problem, node, source=source, groups=groups, steps=steps)

    def _steps(self, node: Node) -> LevelSteps:
        """Return how the keys of a node's classes are made when they are packed as closely as its labels allow."""
        each = [self.fixed_card]
        for cards, level in zip(self.cards, node, strict=True):
            each.append(each[-1] * cards[level])
        return LevelSteps(tuple(each))

    def _tighten(self, classes: TupleClasses) -> bool:
        """Pack the keys of classes more closely if that helps; return whether they are close enough for cells.

        Labels only become fewer further up, so that what a key has room for at a node suffices for all above it.
        """
        rows = len(classes.rows)
        if classes.steps is not None and few_cells(classes.steps.bound, rows):
            return True
        steps = self._steps(classes.node)
        if not few_cells(steps.bound, rows):
            return False
        classes.keys, classes.steps = self._pack(classes, classes.node, steps), steps
        return True

    def _pack(self, source: TupleClasses, node: Node, steps: LevelSteps) -> Ints:
        """Return the key at a node of every class of one below it."""
        old = source.steps
        keys = np.zeros(len(source.rows), dtype=np.int64)
        if self.problem.fixed is not None:
            keys += self.problem.fixed[source.rep]
        for a, (low, high) in enumerate(zip(source.node, node, strict=True)):
            if self.cards[a][high] > 1:
                if old is None:
                    label = source.labels(a, high)
                else:
                    label = old.label(source.keys, a)
                    if low != high:
                        label = label + self._rise(a, low, high).take(label)
                keys += label * steps.each[a]
        return keys

    def _rise(self, a: int, low: int, high: int) -> Ints:
        """Per label of a column at one level, the number of its label at a higher one less its own."""
        found = self._rises.get((a, low, high))
        if found is None:
            levels = self.problem.columns[a].levels
            found = -np.arange(self.cards[a][low])
            found[levels[low]] = levels[high] - levels[low]
            self._rises[a, low, high] = found
        return found


class LevelSteps(NamedTuple):
    """How keys are made: per column, what the next label adds, after earlier releases; at last what no key reaches."""

    each: tuple[int, ...]

    @property
    def bound(self) -> int:
        """No key reaches it."""
        return self.each[-1]

    def label(self, keys: Ints, a: int) -> Ints:
        """The number of every key's label in one column."""
        out = keys // self.each[a]
        if a + 2 < len(self.each):
            out -= keys // self.each[a + 1] * (self.each[a + 1] // self.each[a])
        return out


class TupleClasses:
    """Classes made of distinct tuples."""

    def __init__(
        self,
        problem: SearchProblem,
        node: Node,
        *,
        source: TupleClasses | None,
        groups: KeyGroups | Cells | None,
        steps: LevelSteps | None = None,
    ) -> None:
        self.problem, self.node, self.steps = problem, node, steps
        self._source, self._groups = source, groups
        self._into: Ints | None = None
        self._keys: Ints | None = None
        self._rep = None if groups is not None else np.arange(len(problem.weight))
        self._entries: dict[str, tuple[Ints, Ints, Ints]] = {}
        if isinstance(groups, Cells):
            self.rows: Ints = groups.total
        else:
            self.rows = problem.weight if source is None or groups is None else groups.sums(source.rows)
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
        """The key of every class, made by ``steps``."""
        if self._keys is None:
            assert self._groups is not None
            self._keys = self._groups.keys
        return self._keys

    @keys.setter
    def keys(self, keys: Ints) -> None:
        self._keys = keys

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

    def labels(self, column: int, level: int | None = None) -> Ints:
        """Per class, the number of its label in one column, at its own level or at a higher one."""
        codes = self.problem.codes[column]
        if self._source is not None:
            codes = codes[self.rep]
        return self.problem.columns[column].levels[self.node[column] if level is None else level][codes]

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

    def histogram(self, name: str, keep: Bools) -> tuple[ClassHistogram, Bools | None]:
        """Sensitive values of the kept classes."""
        if self._source is None:
            owner, value, count = self.entries(name)
        else:
            # Only what is needed: entries of small classes are not even merged.
            owner, value, count = self._source.entries(name)
            owner = self.into[owner]
        return kept_histogram(owner, value, count, keep, len(self.problem.sensitive[name].share)), None

    def people(self, name: str, keep: Bools, histogram: ClassHistogram) -> Floats:
        """How many people of the kept classes have every sensitive value."""
        return people_of(histogram, len(self.problem.sensitive[name].share))


def people_of(histogram: ClassHistogram, values: int) -> Floats:
    """Return how many people have every value, where each is in one class and has one value."""
    return np.bincount(histogram.value, weights=histogram.count, minlength=values).astype(np.float64)


def merge_entries(owner: Ints, value: Ints, count: Ints, classes: int, values: int) -> tuple[Ints, Ints, Ints]:
    """Add up counts of equal (class, value); sorted by class."""
    keys, sums = add_by_key(owner * values + value, classes * values, count)
    owner, value = np.divmod(keys, values)
    return owner, value, sums.astype(np.int64)


def kept_histogram(owner: Ints, value: Ints, count: Ints, keep: Bools, values: int) -> ClassHistogram:
    """Return the histogram of the kept classes, numbered in their order."""
    number = np.cumsum(keep) - 1
    classes = int(number[-1]) + 1 if len(number) else 0
    if classes < len(keep):
        inside = keep[owner]
        owner, value, count = number[owner[inside]], value[inside], count[inside]
    owner, value, count = merge_entries(owner, value, count, classes, max(values, 1))
    start = np.flatnonzero(np.diff(owner, prepend=-1))
    return ClassHistogram(start, owner, value, count)


class PersonEvaluator:
    """Evaluates nodes where a person can have several rows."""

    def __init__(self, problem: SearchProblem) -> None:
        assert problem.persons is not None
        self.problem, self.persons = problem, problem.persons
        self._tuples = ClassEvaluator(problem)
        self.order = self._tuples.order

    def evaluate(self, node: Node, below: PersonClasses | None = None) -> PersonClasses:
        """Return the classes of a node, made from those of a node below it if given."""
        tuples = self._tuples.evaluate(node, None if below is None else below.tuples)
        return (LinkedClasses if self.persons.linked else PersonClasses)(tuples, self.persons)

    def approach(self, node: Node, below: PersonClasses | None) -> PersonClasses | None:
        """Return what several nodes above one are made from: what is at hand, as counting persons takes long."""
        return below


class PersonClasses:
    """Classes of rows in which every person counts once."""

    def __init__(self, tuples: TupleClasses, persons: Persons) -> None:
        self.problem, self.node = tuples.problem, tuples.node
        self.tuples, self._persons = tuples, persons
        self._of_tuple = tuples.tuple_class()
        self._prepare()

    def _prepare(self) -> None:
        self.rows = self.tuples.rows
        owner = self._of_tuple[self._persons.owner]
        pairs = group(owner * self._persons.number + self._persons.person)
        self.size = np.bincount(pairs.keys // max(self._persons.number, 1), minlength=len(self.rows)).astype(np.int64)

    def __repr__(self) -> str:
        return f"{type(self).__name__}(node={self.node})"

    def _class_of(self, owner: Ints, person: Ints) -> Ints:
        return self._of_tuple[owner]

    @property
    def fixed(self) -> Ints:
        """Per class, the signature of earlier releases."""
        return self.tuples.fixed

    def labels(self, column: int) -> Ints:
        """Per class, the number of its label in one column."""
        return self.tuples.labels(column)

    def tuple_class(self) -> Ints:
        """Per distinct tuple, its class."""
        return self._of_tuple

    def tuple_mask(self, which: Bools) -> Bools:
        """Per distinct tuple, whether it is in one of some classes."""
        return which[self._of_tuple]

    def costs(self, tables: Sequence[Floats], which: Bools) -> Floats:
        """Per column, the cost of the rows in some classes."""
        return self.tuples.costs(tables, which)

    def histogram(self, name: str, keep: Bools) -> tuple[ClassHistogram, Bools | None]:
        """Sensitive values of the kept classes by persons, and which classes have a value that all have."""
        pairs = self.problem.pairs[name]
        assert pairs.person is not None
        values = len(self.problem.sensitive[name].share)
        owner = self._class_of(pairs.owner, pairs.person)
        keys, _ = combine(
            [owner, pairs.person, pairs.value], [len(self.size), self._persons.number, values], len(owner)
        )
        first = group(keys).first
        ones = np.ones(len(first), dtype=np.int64)
        out = kept_histogram(owner[first], pairs.value[first], ones, keep, values)
        most = out.maximum(out.count.astype(np.float64)) if len(out.start) else np.zeros(0)
        return out, np.asarray(most >= self.size[keep])

    def people(self, name: str, keep: Bools, histogram: ClassHistogram) -> Floats:
        """How many people of the kept classes have every sensitive value: each once, in however many classes."""
        pairs = self.problem.pairs[name]
        assert pairs.person is not None
        values = max(len(self.problem.sensitive[name].share), 1)
        inside = keep[self._class_of(pairs.owner, pairs.person)]
        once = group(pairs.person[inside] * values + pairs.value[inside]).keys % values
        return np.bincount(once, minlength=values).astype(np.float64)


class LinkedClasses(PersonClasses):
    """Classes of persons whose whole sets of rows look alike: what a consistent pseudonym shows."""

    def _prepare(self) -> None:
        persons, of_tuple = self._persons, self._of_tuple
        kinds = int(of_tuple.max(initial=0)) + 1
        cell = of_tuple[persons.rows]
        order = group(persons.row_person * kinds + cell).order
        who, what = persons.row_person[order], cell[order]
        start = np.flatnonzero(np.diff(who, prepend=-1))
        number = np.diff(np.append(start, len(who)))
        # Persons are told apart row by row, each time renumbered: exact, no hash.
        state = group(number).into
        for position in range(int(number.max(initial=0))):
            more = np.flatnonzero(number > position)
            part = state * (kinds + 1)
            part[more] += what[start[more] + position] + 1
            state = group(part).into
        self._of_person = state
        self._of_rows = state[persons.row_person]
        classes = int(state.max(initial=-1)) + 1
        self.size = np.bincount(state, minlength=classes).astype(np.int64)
        self.rows = np.bincount(self._of_rows, minlength=classes).astype(np.int64)

    def _class_of(self, owner: Ints, person: Ints) -> Ints:
        return self._of_person[person]

    @property
    def fixed(self) -> Ints:
        """Per class, the signature of earlier releases (part of the tuple, so of the class)."""
        out = np.zeros(len(self.size), dtype=np.int64)
        if self.problem.fixed is not None:
            out[self._of_rows] = self.problem.fixed[self._persons.rows]
        return out

    def row_class(self) -> Ints:
        """Per row of the table, its class."""
        return self._of_rows

    def costs(self, tables: Sequence[Floats], which: Bools) -> Floats:
        """Per column, the cost of the rows in some classes."""
        rows = self._persons.rows[which[self._of_rows]]
        return np.array([table[codes[rows]].sum() for table, codes in zip(tables, self.problem.codes, strict=True)])
