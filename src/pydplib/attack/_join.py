"""Which known people fit which released classes: a join column by column over what cells cover."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from pydplib.anonymity.tables.columns import Bools, Ints
from pydplib.attack._clock import check_time
from pydplib.attack._lists import expand, find_sorted, starts_of
from pydplib.attack._relation import Relation

_AT_ONCE = 1 << 22  # pairs looked at in one step
MOST_PAIRS = 30_000_000
"""Pairs of people and classes that one join may return."""


class TooManyPairs(Exception):
    """The join would need more memory than is sensible; ask about fewer people."""


class _Children(NamedTuple):
    """The next column of all distinct beginnings of rows: per parent its codes and the ids of the longer beginnings."""

    start: Ints
    code: Ints
    id: Ints
    keys: Ints
    of_row: Ints


def join_classes(
    people: Sequence[Ints], classes: Sequence[Ints], relations: Sequence[Relation], sizes: tuple[int, int]
) -> tuple[Ints, Ints]:
    """Return the pairs (row of ``people``, row of ``classes``) whose cells fit in every column.

    Both sides are walked as tries, one column at a time, so that the work is that of the pairs that still fit,
    not of all pairs.

    Args:
        people: Per column, the number of each known row's value.
        classes: Per column, the number of each class's cell.
        relations: Per column, which cells can mean which values.
        sizes: Number of known rows and of classes.

    Examples:
        >>> from pydplib.attack._relation import relate
        >>> ages = relate([31, 52], ["30-39", "50-59"])
        >>> join_classes([np.array([0, 1, 1])], [np.array([0, 1])], [ages], (3, 2))[1].tolist()
        [0, 1, 1]
    """
    if not all(sizes):
        return np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64)
    # The sharpest column first: fewest cells per value, of all cells there are.
    order = np.argsort([r.counts.mean() / max(r.width, 1) if len(r.counts) else 0.0 for r in relations], kind="stable")
    left, right = np.zeros(1, dtype=np.int64), np.zeros(1, dtype=np.int64)
    mine, theirs = np.zeros(sizes[0], dtype=np.int64), np.zeros(sizes[1], dtype=np.int64)
    for at in order.tolist():
        ours = _children(mine, people[at], len(relations[at].start) - 1)
        others = _children(theirs, classes[at], relations[at].width)
        left, right = _step(left, right, ours, others, relations[at])
        mine, theirs = ours.of_row, others.of_row
    return _expand_rows(left, right, mine, theirs)


def _children(parent: Ints, code: Ints, width: int) -> _Children:
    keys, of_row = np.unique(parent * max(width, 1) + code, return_inverse=True)
    start = starts_of(keys // max(width, 1), int(parent.max(initial=-1)) + 1)
    return _Children(start, keys % max(width, 1), np.arange(len(keys)), keys, of_row.reshape(-1).astype(np.int64))


def _step(left: Ints, right: Ints, ours: _Children, others: _Children, relation: Relation) -> tuple[Ints, Ints]:
    mine = np.diff(ours.start)
    # Per beginning of a known row: cells to look up if we go by the relation.
    through = np.add.reduceat(np.append(relation.counts[ours.code], 0), ours.start[:-1]) * (mine > 0)
    by_cells = int(through[left].sum())
    by_children = int((mine[left] * np.diff(others.start)[right]).sum())
    out_left, out_right, total = [], [], 0
    cost = through[left] if by_cells <= by_children else mine[left] * np.diff(others.start)[right]
    for block in _blocks(cost):
        check_time()
        pair, child = expand(left[block], ours.start)
        code = ours.code[child]
        if by_cells <= by_children:
            again, cell = expand(code, relation.start)
            keys = right[block][pair][again] * max(relation.width, 1) + relation.cells[cell]
            place, good = find_sorted(others.keys, keys)
            found_left, found_right = ours.id[child][again][good], place[good]
        else:
            again, other = expand(right[block][pair], others.start)
            good = _related(relation, code[again], others.code[other])
            found_left, found_right = ours.id[child][again][good], others.id[other][good]
        out_left.append(found_left)
        out_right.append(found_right)
        total += len(found_left)
        if total > MOST_PAIRS:
            raise TooManyPairs
    empty = np.zeros(0, dtype=np.int64)
    return np.concatenate(out_left or [empty]), np.concatenate(out_right or [empty])


def _blocks(cost: Ints) -> Iterator[slice]:
    upto = np.cumsum(cost)
    first = 0
    while first < len(cost):
        done = int(upto[first - 1]) if first else 0
        last = max(int(np.searchsorted(upto, done + _AT_ONCE, side="right")), first + 1)
        yield slice(first, last)
        first = last


def _related(relation: Relation, code: Ints, cell: Ints) -> Bools:
    values = len(relation.start) - 1
    if values * relation.width <= 1 << 26:
        table = np.zeros((values, relation.width), dtype=bool)
        table[np.repeat(np.arange(values), relation.counts), relation.cells] = True
        return np.asarray(table[code, cell])
    keys = np.repeat(np.arange(values), relation.counts) * relation.width + relation.cells
    return find_sorted(keys, code * relation.width + cell)[1]


def _expand_rows(left: Ints, right: Ints, mine: Ints, theirs: Ints) -> tuple[Ints, Ints]:
    """Go from distinct rows back to the rows themselves (equal rows were walked once)."""
    rows, row_start = _rows_of(mine)
    others, other_start = _rows_of(theirs)
    pair, row = expand(left, row_start)
    again, other = expand(right[pair], other_start)
    if len(again) > MOST_PAIRS:
        raise TooManyPairs
    return rows[row][again], others[other]


def _rows_of(ids: Ints) -> tuple[Ints, Ints]:
    return np.argsort(ids, kind="stable"), starts_of(ids, int(ids.max(initial=-1)) + 1)
