"""Classes that count persons: each once per class, or by all of their rows where the output links them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from pydplib.anonymity.classes import Evaluator, Node, TupleClasses, kept_histogram
from pydplib.anonymity.grouping import combine, group
from pydplib.anonymity.problem import Persons, Problem
from pydplib.anonymity.resolved import Bools, Floats, Ints
from pydplib.anonymity.stats import Histogram


class PersonEvaluator:
    """Evaluates nodes where a person can have several rows."""

    def __init__(self, problem: Problem) -> None:
        assert problem.persons is not None
        self.problem, self.persons = problem, problem.persons
        self._tuples = Evaluator(problem)
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

    def histogram(self, name: str, keep: Bools) -> tuple[Histogram, Bools | None]:
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

    def people(self, name: str, keep: Bools, histogram: Histogram) -> Floats:
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
