"""Counters: exact tables of counts from codes in memory, or from the engine where a table lives."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from pydplib.engine import Bound, Measure, Plan, Table
from pydplib.synthesis.domain import Variable
from pydplib.synthesis.model import Integers, sum_to
from pydplib.synthesis.rules import CellRule, keep_rules, with_deciding
from pydplib.synthesis.tree import Columns

AT_ONCE = 512
"""Tables of one statement to an engine."""


class CodeCounter:
    """Counts of integer codes: one array per column, one entry per person.

    Examples:
        >>> counter = CodeCounter([np.array([0, 1, 1]), np.array([0, 0, 2])], (2, 3))
        >>> counter.counts((0, 1)).tolist()
        [[1, 0, 0], [1, 0, 1]]
    """

    def __init__(self, codes: Sequence[Integers], shape: Sequence[int]) -> None:
        self._codes = list(codes)
        self.shape = tuple(shape)
        self._known: dict[Columns, Integers] = {}

    def counts(self, columns: Columns) -> Integers:
        """Return the counts of all combinations of some columns."""
        if columns not in self._known:
            key = np.zeros(len(self._codes[0]), dtype=np.int64)
            for column in columns:
                key = key * self.shape[column] + self._codes[column]
            sizes = [self.shape[column] for column in columns]
            self._known[columns] = np.bincount(key, minlength=math.prod(sizes)).reshape(sizes)
        return self._known[columns]

    def prepare(self, tables: Sequence[Columns]) -> None:
        """Nothing: tables are counted when they are asked for."""

    def cells(self, columns: Columns) -> int:
        """Return how many cells are counted for a table."""
        return math.prod(self.shape[place] for place in columns)

    def merged(self, groups: Sequence[Integers]) -> CodeCounter:
        """Return a counter of groups of values."""
        codes = [group[own] for group, own in zip(groups, self._codes, strict=True)]
        return CodeCounter(codes, [int(group.max()) + 1 for group in groups])


class EngineCounter:
    """Counts by the engine: rows stay inside, several tables come from one scan.

    Args:
        table: The table.
        variables: The columns and their public cells.
        bound: How one person's rows count.
        rules: Whoever breaks one counts in the last cell of its column.
    """

    def __init__(
        self, table: Table, variables: Sequence[Variable], bound: Bound, rules: Sequence[CellRule] = ()
    ) -> None:
        self._table = table
        self._variables = tuple(variables)
        self._bound = bound
        self._rules = tuple(rules)
        self.shape = tuple(variable.size for variable in variables)
        self._known: dict[Columns, Integers] = {}

    def plan(self, columns: Columns) -> Plan:
        """Return what the engine is asked for one table."""
        by = {self._variables[place].name: self._variables[place].keys for place in columns}
        return Plan(self._table.schema, by=by, bound=self._bound, measures=[Measure("count")])

    def prepare(self, tables: Sequence[Columns]) -> None:
        """Count several tables in few scans."""
        missing = [columns for columns in tables if columns not in self._known]
        for begin in range(0, len(missing), AT_ONCE):
            some = missing[begin : begin + AT_ONCE]
            counted = [with_deciding(self._rules, columns) for columns in some]
            found = self._table.tables([self.plan(columns) for columns in counted])
            for columns, wide, exact in zip(some, counted, found, strict=True):
                kept = keep_rules(np.asarray(exact, dtype=np.int64), wide, self._rules)
                self._known[columns] = sum_to(kept, wide, columns)

    def cells(self, columns: Columns) -> int:
        """Return how many cells are counted for a table, the columns that decide about its own included."""
        return math.prod(self.shape[place] for place in with_deciding(self._rules, columns))

    def counts(self, columns: Columns) -> Integers:
        """Return the counts of all combinations of some columns, in units of the bound's scale."""
        self.prepare([columns])
        return self._known[columns]

    def merged(self, groups: Sequence[Integers]) -> MergedCounter:
        """Return a counter of groups of values."""
        return MergedCounter(self, groups)


class MergedCounter:
    """Counts over groups of values, added up from another counter's."""

    def __init__(self, counter: EngineCounter, groups: Sequence[Integers]) -> None:
        self._counter = counter
        self._groups = tuple(groups)
        self.shape = tuple(int(group.max()) + 1 for group in groups)
        self._known: dict[Columns, Integers] = {}

    def prepare(self, tables: Sequence[Columns]) -> None:
        """Count several tables in few scans."""
        self._counter.prepare([columns for columns in tables if columns not in self._known])

    def cells(self, columns: Columns) -> int:
        """Return how many cells are counted for a table."""
        return self._counter.cells(columns)

    def counts(self, columns: Columns) -> Integers:
        """Return the counts of all combinations of groups."""
        if columns not in self._known:
            found = self._counter.counts(columns)
            for axis, column in enumerate(columns):
                found = _merge_axis(found, self._groups[column], self.shape[column], axis)
            self._known[columns] = found
        return self._known[columns]

    def merged(self, groups: Sequence[Integers]) -> MergedCounter:
        """Return a counter of groups of these groups."""
        return MergedCounter(self._counter, [new[old] for new, old in zip(groups, self._groups, strict=True)])


def _merge_axis(table: Integers, groups: Integers, size: int, axis: int) -> Integers:
    if size == len(groups):
        return table
    moved = np.moveaxis(table, axis, 0)
    out = np.zeros((size, *moved.shape[1:]), dtype=np.int64)
    np.add.at(out, groups, moved)
    return np.moveaxis(out, 0, axis)
