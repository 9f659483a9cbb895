"""Which released cells can mean which known values, for all of a column at once."""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from pydplib.anonymity.hierarchies.base import Hierarchy
from pydplib.anonymity.tables.columns import ROOT, Floats, Ints
from pydplib.attack._clock import check_time
from pydplib.attack._lists import expand_spans, starts_of
from pydplib.attack.cells import MISSING, Cell, as_day, end_of, hierarchy_labels, read_cell, spell, text_of


@dataclass(frozen=True, eq=False)
class Relation:
    """Which cells of a column can mean a known value: ``cells[start[i]:start[i + 1]]`` for value i."""

    start: Ints
    cells: Ints
    width: int

    @property
    def counts(self) -> Ints:
        """Number of cells per value."""
        return np.diff(self.start)

    def __repr__(self) -> str:
        return f"Relation({len(self.start) - 1} values, {self.width} cells)"


def relate(values: Sequence[Any], cells: Sequence[Any], hierarchy: Hierarchy | None = None) -> Relation:
    """Return which cells can mean which known values; the known ones may be generalized themselves.

    Examples:
        >>> found = relate([39, 61], ["30-39", "[60, 70)", "*"])
        >>> found.cells[found.start[0]:found.start[1]].tolist(), found.counts.tolist()
        ([0, 2], [2, 2])
    """
    dates = any(isinstance(value, dt.date) for value in (*values, *cells)) or _all_days(values)
    labels = hierarchy_labels(hierarchy, values)
    plain = {text_of(value) for value in values} - set(labels)
    # A known value that is a label of the hierarchy is read as that label, like every cell.
    how = {"known": plain, "labels": labels, "dates": dates, "commas": any("," in text for text in plain)}
    left, right = (_Spread(_read(items, how), dates) for items in (values, cells))
    pairs = [
        _cross(left.anything, np.arange(right.size)),
        _cross(np.arange(left.size), right.anything),
        _same_text(left, right),
        _points_in(left, right),
        _points_in(right, left)[:, ::-1],
        _overlaps(left, right),
        _masked(left, right),
        _masked(right, left)[:, ::-1],
        _cross(left.masked, np.unique(right.interval_of)),
        _cross(np.unique(left.interval_of), right.masked),
    ]
    both = np.concatenate(pairs)
    keys = np.unique(both[:, 0] * max(right.size, 1) + both[:, 1])
    start = starts_of(keys // max(right.size, 1), left.size)
    return Relation(start, keys % max(right.size, 1), right.size)


def _read(items: Sequence[Any], how: dict[str, Any]) -> list[Cell]:
    out = []
    for number, item in enumerate(items):
        if number % 1_000 == 0:
            check_time()
        out.append(read_cell(item, **how))
    return out


def _all_days(values: Sequence[Any]) -> bool:
    texts = [value for value in values if value is not None]
    return bool(texts) and all(isinstance(value, str) and as_day(value) is not None for value in texts)


class _Spread:
    """Cells taken apart: single values, intervals, masks, anything; each with the number of its cell."""

    def __init__(self, cells: Sequence[Cell], dates: bool) -> None:
        self.size = len(cells)
        self.anything = np.array([i for i, cell in enumerate(cells) if cell.everything], dtype=np.int64)
        points = [(i, text) for i, cell in enumerate(cells) for text in cell.members]
        self.point_of = np.array([i for i, _ in points], dtype=np.int64)
        self.texts = [text for _, text in points]
        self.numbers = np.array([end_of(text, dates) for text in self.texts], dtype=np.float64)
        wide = [(i, span) for i, cell in enumerate(cells) for span in cell.spans if span[0] == span[0]]
        self.interval_of = np.array([i for i, _ in wide], dtype=np.int64)
        self.low = np.array([low for _, (low, _) in wide], dtype=np.float64)
        self.high = np.array([high for _, (_, high) in wide], dtype=np.float64)
        masks = [(i, cell.mask) for i, cell in enumerate(cells) if cell.mask is not None]
        self.masked = np.array([i for i, _ in masks], dtype=np.int64)
        self.masks = [mask for _, mask in masks]


def _cross(left: Ints, right: Ints) -> Ints:
    return np.stack([np.repeat(left, len(right)), np.tile(right, len(left))], axis=1)


def _pairs(pairs: Sequence[tuple[int, int]]) -> Ints:
    return np.array(pairs, dtype=np.int64).reshape(-1, 2)


def _same_text(left: _Spread, right: _Spread) -> Ints:
    place: dict[str, list[int]] = {}
    for owner, text in zip(right.point_of.tolist(), right.texts, strict=True):
        place.setdefault(spell(text), []).append(owner)
    return _pairs(
        [
            (owner, other)
            for owner, text in zip(left.point_of.tolist(), left.texts, strict=True)
            for other in place.get(spell(text), ())
        ]
    )


def _points_in(left: _Spread, right: _Spread) -> Ints:
    """Pairs of single values on the left and intervals on the right that hold them."""
    real = np.flatnonzero(np.isfinite(left.numbers))
    order = real[np.argsort(left.numbers[real], kind="stable")]
    numbers: Floats = left.numbers[order]
    first = np.searchsorted(numbers, right.low, side="left")
    count = np.maximum(np.searchsorted(numbers, right.high, side="right") - first, 0)
    owner, place = expand_spans(first, count)
    return np.stack([left.point_of[order[place]], right.interval_of[owner]], axis=1)


def _overlaps(left: _Spread, right: _Spread) -> Ints:
    found = []
    for a, b in zip(left.low, left.high, strict=True):
        check_time()
        found.append(np.flatnonzero((right.low <= b) & (right.high >= a)))
    owner = np.repeat(left.interval_of, [len(part) for part in found])
    other = right.interval_of[np.concatenate(found)] if found else np.zeros(0, dtype=np.int64)
    return np.stack([owner, other], axis=1)


def _masked(left: _Spread, right: _Spread) -> Ints:
    """Pairs of values (or masks) on the left and masks on the right that fit; shorter codes are padded with spaces."""
    out: list[tuple[int, int]] = []
    patterns: dict[tuple[int, tuple[int, ...]], dict[str, list[int]]] = {}
    for owner, mask in zip(right.masked.tolist(), right.masks, strict=True):
        open_ = tuple(i for i, sign in enumerate(mask) if sign != ROOT)
        patterns.setdefault((len(mask), open_), {}).setdefault("".join(mask[i] for i in open_), []).append(owner)
    for (length, open_), owners in patterns.items():
        check_time()
        for owner, text in zip(left.point_of.tolist(), left.texts, strict=True):
            if text != MISSING and len(text) <= length:
                for padded in {text.ljust(length), text.rjust(length)}:  # masked from the right, or from the left
                    out.extend((owner, other) for other in owners.get("".join(padded[i] for i in open_), ()))
    for owner, mine in zip(left.masked.tolist(), left.masks, strict=True):
        check_time()
        for other, theirs in zip(right.masked.tolist(), right.masks, strict=True):
            if len(mine) == len(theirs) and all(a == b or ROOT in (a, b) for a, b in zip(mine, theirs, strict=True)):
                out.append((owner, other))
    return _pairs(out)
