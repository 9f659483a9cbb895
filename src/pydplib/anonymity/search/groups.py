"""Grouping by integer keys: the one inner loop of every search, sort-based and without Python per row."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from pydplib.anonymity.tables.columns import Ints

KEY_BITS = 62
"""Bits of a key and of a row number next to it."""


class KeyGroups(NamedTuple):
    """Groups of equal keys: ``order`` sorts rows by group, ``start`` are the groups' first places in it."""

    order: Ints
    start: Ints
    ordered: Ints

    @property
    def keys(self) -> Ints:
        """The key of every group."""
        return self.ordered[self.start]

    @property
    def into(self) -> Ints:
        """The group of every row."""
        member = np.zeros(len(self.order), dtype=np.int64)
        member[self.start[1:]] = 1
        out = np.empty(len(self.order), dtype=np.int64)
        out[self.order] = np.cumsum(member)
        return out

    @property
    def first(self) -> Ints:
        """One row of every group."""
        return self.order[self.start]

    def sums(self, weight: Ints) -> Ints:
        """Sum of a weight per row over every group."""
        if not len(self.start):
            return np.zeros(0, dtype=np.int64)
        return np.asarray(np.add.reduceat(weight[self.order], self.start))

    @property
    def counts(self) -> Ints:
        """Number of rows per group."""
        return np.diff(np.append(self.start, len(self.order)))


def group(keys: Ints) -> KeyGroups:
    """Group rows by a key that is not negative.

    The row number is packed below the key, so that one plain sort (several times as fast as an
    indirect one) yields keys and order at once.

    Examples:
        >>> groups = group(np.array([7, 3, 7]))
        >>> groups.counts.tolist(), groups.into.tolist()
        ([1, 2], [1, 0, 1])
    """
    size = len(keys)
    if size == 0:
        empty = np.zeros(0, dtype=np.int64)
        return KeyGroups(empty, empty, empty)
    shift = size.bit_length()
    if int(keys.max()).bit_length() + shift <= KEY_BITS:
        packed = keys << shift
        packed |= _numbers(size)
        packed.sort()
        order = packed & ((1 << shift) - 1)
        ordered = packed >> shift
    else:
        order = np.argsort(keys, kind="stable")
        ordered = keys[order]
    change = np.empty(size, dtype=bool)
    change[0] = True
    np.not_equal(ordered[1:], ordered[:-1], out=change[1:])
    start = np.flatnonzero(change)
    return KeyGroups(order, start, ordered)


class Cells:
    """Groups of equal keys below a bound that is not far above their number: a place for every key, and no sort.

    Weights are positive: a key whose sum is 0 does not occur.

    Examples:
        >>> cells = Cells(np.array([7, 3, 7]), 8, np.array([1, 1, 2]))
        >>> cells.keys.tolist(), cells.total.tolist(), cells.into.tolist()
        ([3, 7], [1, 3], [1, 0, 1])
    """

    def __init__(self, cells: Ints, bound: int, weight: Ints) -> None:
        sums = np.bincount(cells, weights=weight, minlength=bound)
        self._cells, self._bound = cells, bound
        self.keys = np.flatnonzero(sums > 0)  # of truth values: several times as fast as of numbers
        self.total: Ints = sums[self.keys].astype(np.int64)

    @property
    def into(self) -> Ints:
        """The group of every row."""
        return self._numbered(self.keys)[self._cells]

    @property
    def first(self) -> Ints:
        """One row of every group."""
        return self._numbered(self._cells)[self.keys]

    def _numbered(self, places: Ints) -> Ints:
        out = np.empty(self._bound, dtype=np.int64)
        out[places] = _numbers(len(places))
        return out


def few_cells(bound: int, rows: int) -> bool:
    """Return whether keys below a bound are counted faster in a place each than by sorting."""
    return bound <= 8 * rows + 1024


_COUNTED = np.arange(1 << 16)


def _numbers(size: int) -> Ints:
    """Return 0, 1, ..., size - 1; short ones are not made again each time."""
    return _COUNTED[:size] if size <= len(_COUNTED) else np.arange(size)


def combine(columns: Sequence[Ints], cards: Sequence[int], rows: int) -> tuple[Ints, int]:
    """Combine columns of codes into one key per row and an upper bound of the keys.

    Where the product of the cardinalities does not fit 62 bits, keys are renumbered on the way.
    """
    keys, bound = np.zeros(rows, dtype=np.int64), 1
    spare = max(rows, 1).bit_length()
    for column, card in zip(columns, cards, strict=True):
        card = max(int(card), 1)
        if (bound * card).bit_length() + spare > KEY_BITS:
            groups = group(keys)
            keys, bound = groups.into, max(len(groups.start), 1)
        keys = keys * card + column
        bound *= card
    return keys, bound


def add_by_key(keys: Ints, bound: int, weight: Any) -> tuple[Ints, Any]:
    """Return the distinct keys below ``bound`` in order, and the sum of a weight for each.

    Examples:
        >>> add_by_key(np.array([7, 3, 7]), 8, np.array([1, 1, 2]))
        (array([3, 7]), array([1., 3.]))

    Weights are positive: a key whose sum is 0 does not occur.
    """
    if few_cells(bound, len(keys)):
        sums = np.bincount(keys, weights=weight, minlength=bound)
        found = np.flatnonzero(sums > 0)
        return found, sums[found]
    groups = group(keys)
    return groups.keys, groups.sums(weight)
