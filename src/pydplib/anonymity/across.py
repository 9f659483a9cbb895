"""Released tables side by side: what somebody who has several of them can put together."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from pydplib.anonymity.covers import meeting
from pydplib.anonymity.frames import Coded
from pydplib.anonymity.resolved import Bools, Ints
from pydplib.anonymity.spellings import SeenFrame
from pydplib.anonymity.verification import Across
from pydplib.anonymity.view import number_rows, one_of_each


def compare_releases(
    frame: SeenFrame, names: Sequence[str], watched: Sequence[str], previous: Sequence[Any], trees: Mapping[str, Any]
) -> Across:
    """Measure what this release and earlier ones show together to somebody who has them all.

    For every pair of classes that can hold the same person (their cells can mean the same values), at most as
    many people can be in both as both have of each combination of sensitive values. Parts of the tables that are
    closed against each other are compared as a whole: people who appeared or vanished there must be many too.
    """
    k, appeared, vanished = np.inf, np.inf, np.inf
    diverse: dict[str, float] = dict.fromkeys(watched, np.inf)
    now = _summary(frame, names, watched)
    for item in previous:
        earlier = SeenFrame(getattr(item, "data", item))
        earlier.check_columns([*names, *watched], "in an earlier release")
        then = _summary(earlier, names, watched)
        sure, together = _meeting_classes(now, then, names, trees)
        ours, theirs = _shared_counts(now, then)
        values = now.value_of_cell(then, watched)
        for i, j in zip(*np.nonzero(together), strict=True):
            common = np.minimum(ours[i], theirs[j])
            if common.sum() > 0:
                k = min(k, int(common.sum()))
                for column, of_cell in values.items():
                    diverse[column] = min(diverse[column], len(np.unique(of_cell[common > 0])))
        parts = _closed_parts(together)
        if not np.array_equal(sure, together):
            parts += _closed_parts(sure)  # smaller parts show more: whichever is right, the worst counts
        for mine, other in parts:
            change = ours[mine].sum(axis=0) - theirs[other].sum(axis=0)
            new, left = int(np.maximum(change, 0).sum()), int(np.maximum(-change, 0).sum())
            appeared = min(appeared, new) if new else appeared
            vanished = min(vanished, left) if left else vanished
    return Across(
        _finite(k), {name: _finite(value) for name, value in diverse.items()}, _finite(appeared), _finite(vanished)
    )


def _finite(value: float) -> int:
    return int(value) if np.isfinite(value) else 0


@dataclass(eq=False)
class _Summary:
    """Classes of one release: their cells, and counts of combinations of sensitive values."""

    cells: list[Coded]
    first: Ints
    counts: dict[tuple[Any, ...], Ints]
    classes: int

    def combinations(self, other: _Summary) -> list[tuple[Any, ...]]:
        return list(dict.fromkeys([*self.counts, *other.counts]))

    def value_of_cell(self, other: _Summary, watched: Sequence[str]) -> dict[str, Ints]:
        out = {}
        for place, name in enumerate(watched):
            number: dict[Any, int] = {}
            cells = [number.setdefault(c[place], len(number)) for c in self.combinations(other)]
            out[name] = np.array(cells, dtype=np.int64)
        return out


def _summary(frame: SeenFrame, names: Sequence[str], watched: Sequence[str]) -> _Summary:
    cells = [frame.seen(name) for name in names]
    of_row = number_rows(cells, len(frame))
    first = one_of_each(of_row)
    classes = len(first)
    secret = [frame.coded(name) for name in watched]
    number = number_rows(secret, len(frame)) if secret else np.zeros(len(frame), dtype=np.int64)
    one = one_of_each(number)
    kinds = len(one)
    table = np.bincount(of_row * max(kinds, 1) + number, minlength=classes * kinds).reshape(classes, kinds)
    counts = {tuple(c.values[c.codes[row]] for c in secret): table[:, i] for i, row in enumerate(one.tolist())}
    return _Summary(cells, first, counts, classes)


def _shared_counts(now: _Summary, then: _Summary) -> tuple[Ints, Ints]:
    """Return people per class and combination of sensitive values, of both releases in one numbering."""
    every = now.combinations(then)
    out = []
    for part in (now, then):
        empty = np.zeros(part.classes, dtype=np.int64)
        columns = [part.counts.get(key, empty) for key in every]
        out.append(np.stack(columns, axis=1) if columns else np.zeros((part.classes, 0), dtype=np.int64))
    return out[0], out[1]


def _meeting_classes(
    now: _Summary, then: _Summary, names: Sequence[str], trees: Mapping[str, Any]
) -> tuple[Bools, Bools]:
    """Return which classes surely and which possibly hold the same person."""
    sure = np.ones((now.classes, then.classes), dtype=bool)
    possible = sure.copy()
    for mine, theirs, name in zip(now.cells, then.cells, names, strict=True):
        certain, likely = meeting(mine.values, theirs.values, trees.get(name), column=name)
        if now.classes and then.classes:
            cells = np.ix_(mine.codes[now.first], theirs.codes[then.first])
            sure &= certain[cells]
            possible &= likely[cells]
    return sure, possible


def _closed_parts(together: Bools) -> list[tuple[Ints, Ints]]:
    """Return the connected parts of the graph of classes that can meet."""
    rows, columns = together.shape
    todo, out = set(range(rows)), []
    open_columns = set(range(columns))
    while todo:
        mine: set[int] = {todo.pop()}
        theirs: set[int] = set()
        new_rows = set(mine)
        while new_rows:
            reached = np.flatnonzero(together[sorted(new_rows)].any(axis=0))
            new_columns = set(reached.tolist()) - theirs
            theirs |= new_columns
            found = set(np.flatnonzero(together[:, sorted(new_columns)].any(axis=1)).tolist()) if new_columns else set()
            new_rows = found - mine
            mine |= new_rows
        todo -= mine
        open_columns -= theirs
        out.append((np.array(sorted(mine), dtype=np.int64), np.array(sorted(theirs), dtype=np.int64)))
    out.extend((np.zeros(0, dtype=np.int64), np.array([column], dtype=np.int64)) for column in sorted(open_columns))
    return out
