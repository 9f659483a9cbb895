"""What a cell covers: a value, a set, an interval, a masked code or anything; and whether two cells can meet."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from pydplib.anonymity.hierarchies import Hierarchy, TableHierarchy
from pydplib.anonymity.resolved import ROOT, Bools

_NUMBER = r"-?\d+(?:\.\d+)?"
_RANGE = re.compile(rf"^({_NUMBER})\s*[-–]\s*({_NUMBER})$")
_BRACKETS = re.compile(rf"^([\[(])({_NUMBER}),\s*({_NUMBER})([\])])$")
_ENDS = re.compile(rf"^(<=|>=|<|>)\s*({_NUMBER})$")


@dataclass(frozen=True)
class Cover:
    """What a cell stands for.

    Attributes:
        everything: It covers all values.
        values: The values that it covers, as texts; None where it is an interval or a mask.
        low: Lower end of an interval.
        high: Upper end of an interval.
        mask: A masked code such as "816**".
    """

    everything: bool = False
    values: frozenset[str] | None = None
    low: float | None = None
    high: float | None = None
    mask: str | None = None


def read_cover(cell: Any, leaves: Mapping[str, frozenset[str]] | None = None) -> Cover:
    """Read what a cell covers; ``leaves`` are the labels of a hierarchy with their values.

    Examples:
        >>> read_cover("20-24").high
        24.0
        >>> sorted(read_cover("{a, b}").values)
        ['a', 'b']
    """
    if cell is None:
        return Cover(values=frozenset({"\x00missing"}))
    text = str(cell).strip()
    if text == ROOT:
        return Cover(everything=True)
    if leaves is not None and text in leaves:
        return Cover(values=leaves[text])
    if text.startswith("{") and text.endswith("}"):
        return Cover(values=frozenset(part.strip() for part in text[1:-1].split(",")))
    found = _RANGE.match(text)
    if found:
        return Cover(low=float(found[1]), high=float(found[2]))
    found = _BRACKETS.match(text)
    if found:
        # An open end is taken as closed: two covers then meet rather than not.
        return Cover(low=float(found[2]), high=float(found[3]))
    found = _ENDS.match(text)
    if found:
        end = float(found[2])
        return Cover(low=-np.inf, high=end) if found[1].startswith("<") else Cover(low=end, high=np.inf)
    if ROOT in text:
        return Cover(everything=True) if set(text) == {ROOT} else Cover(mask=text)
    return Cover(values=frozenset({text}))


def can_meet(one: Cover, other: Cover) -> bool:
    """Return whether some value is covered by both.

    Examples:
        >>> can_meet(read_cover("20-24"), read_cover(23)), can_meet(read_cover("81***"), read_cover("82***"))
        (True, False)
    """
    if one.everything or other.everything:
        return True
    if one.values is not None and other.values is not None:
        return not one.values.isdisjoint(other.values)
    if one.mask is not None or other.mask is not None:
        return _masks_meet(one, other)
    if one.values is not None:
        return any(_inside(value, other) for value in one.values)
    if other.values is not None:
        return any(_inside(value, one) for value in other.values)
    return bool(one.low <= other.high and other.low <= one.high)  # type: ignore[operator]


def _inside(value: str, cover: Cover) -> bool:
    try:
        number = float(value)
    except ValueError:
        return False
    return bool(cover.low <= number <= cover.high)  # type: ignore[operator]


def _masks_meet(one: Cover, other: Cover) -> bool:
    def texts(cover: Cover) -> list[str] | None:
        if cover.mask is not None:
            return [cover.mask]
        return None if cover.values is None else list(cover.values)

    mine, theirs = texts(one), texts(other)
    if mine is None or theirs is None:
        return True
    return any(
        all(a in (b, ROOT) or b == ROOT for a, b in zip(left.ljust(len(right)), right.ljust(len(left)), strict=True))
        for left in mine
        for right in theirs
    )


def leaves_of(hierarchy: Hierarchy | None) -> dict[str, frozenset[str]] | None:
    """Return every label of a hierarchy that lists its leaves, with the values under it."""
    if not isinstance(hierarchy, TableHierarchy):
        return None
    out: dict[str, set[str]] = {}
    for row in hierarchy.rows:
        for label in row:
            out.setdefault(str(label), set()).add(str(row[0]))
    return {label: frozenset(values) for label, values in out.items()}


def meeting(mine: Sequence[Any], theirs: Sequence[Any], hierarchy: Hierarchy | None = None) -> Bools:
    """Return the matrix of which cells of two lists can mean the same value."""
    leaves = leaves_of(hierarchy)
    left = [read_cover(cell, leaves) for cell in mine]
    right = [read_cover(cell, leaves) for cell in theirs]
    return np.array([[can_meet(a, b) for b in right] for a in left], dtype=bool).reshape(len(left), len(right))
