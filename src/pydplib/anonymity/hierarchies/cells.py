"""What a cell covers: a value, a set, an interval, days, a masked code or anything; and whether two cells can meet."""

from __future__ import annotations

import calendar
import datetime as dt
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from pydplib.anonymity.hierarchies.base import Hierarchy, TableHierarchy
from pydplib.anonymity.tables.columns import ROOT, Bools
from pydplib.anonymity.tables.values import read_set, show
from pydplib.errors import ParameterError

_NUMBER = r"-?\d+(?:\.\d+)?(?:e[+-]?\d+)?"
_RANGE = re.compile(rf"^({_NUMBER})\s*[-–]\s*({_NUMBER})$")
_BRACKETS = re.compile(rf"^([\[(])({_NUMBER}),\s*({_NUMBER})([\])])$")
_ENDS = re.compile(rf"^(<=|>=|<|>)\s*({_NUMBER})$")
_ONE = re.compile(rf"^{_NUMBER}$")
_MISSING = "\x00missing"


@dataclass(frozen=True, kw_only=True)
class Cover:
    """What a cell stands for; a text such as "2010-2019" is read as numbers and as days, whichever meets.

    Attributes:
        everything: It covers all values.
        values: The values that it covers, as texts; None where it is an interval or a mask.
        low: Lower end of an interval of numbers.
        high: Upper end of an interval of numbers.
        days: First and last day, as ordinals.
        mask: A masked code such as "816**", with "*" for every masked character.
        listed: Whether a hierarchy told the values, so that nothing else has to be guessed.
    """

    everything: bool = False
    values: frozenset[str] | None = None
    low: float | None = None
    high: float | None = None
    days: tuple[int, int] | None = None
    mask: str | None = None
    listed: bool = False

    @property
    def label(self) -> str | None:
        """The text of a cell that is nothing but a word: a value, or a label whose values nobody knows."""
        plain = not (self.everything or self.listed) and self.values is not None and len(self.values) == 1
        if not plain or self.low is not None or self.days is not None:
            return None
        (text,) = self.values or frozenset({_MISSING})
        return None if text == _MISSING else text


def read_cover(cell: Any, leaves: Mapping[str, frozenset[str]] | None = None, *, mask: str = ROOT) -> Cover:
    """Read what a cell covers; ``leaves`` are the labels of a hierarchy with their values.

    Examples:
        >>> read_cover("20-24").high
        24.0
        >>> sorted(read_cover("{a, b}").values)
        ['a', 'b']
        >>> read_cover("2017-03").days == read_cover("[2017-03-01, 2017-03-31]").days
        True
    """
    if cell is None:
        return Cover(values=frozenset({_MISSING}), listed=True)
    text = show(cell).strip()
    if text == ROOT:
        return Cover(everything=True)
    if leaves is not None and text in leaves:
        return Cover(values=leaves[text], listed=True)
    if text.startswith("{") and text.endswith("}"):
        return Cover(values=frozenset(_MISSING if part is None else part for part in read_set(text)))
    days = _days(text)
    for pattern, low, high in ((_RANGE, 1, 2), (_BRACKETS, 2, 3)):
        found = pattern.match(text)
        # An open end is taken as closed: two covers then meet rather than not.
        if found and float(found[low]) <= float(found[high]):
            return Cover(low=float(found[low]), high=float(found[high]), days=days)
    found = _ENDS.match(text)
    if found:
        end = float(found[2])
        return Cover(low=-np.inf, high=end) if found[1].startswith("<") else Cover(low=end, high=np.inf)
    if mask in text:
        return Cover(everything=True) if set(text) == {mask} else Cover(mask=text.replace(mask, ROOT))
    if _ONE.match(text):
        return Cover(values=frozenset({text}), low=float(text), high=float(text), days=days)
    return Cover(values=frozenset({text}), days=days)


def _days(text: str) -> tuple[int, int] | None:
    """Return the first and last day of a day, month, quarter, year, decade or range of days, as ordinals."""
    first, to, last = text.strip("[]").partition(", " if text.startswith("[") else " to ")
    try:
        if to:
            return dt.date.fromisoformat(first[:10]).toordinal(), dt.date.fromisoformat(last[:10]).toordinal()
        if re.fullmatch(r"\d{4}", text):
            return dt.date(int(text), 1, 1).toordinal(), dt.date(int(text), 12, 31).toordinal()
        if re.fullmatch(r"\d{4}-\d{4}", text):
            return dt.date(int(text[:4]), 1, 1).toordinal(), dt.date(int(text[5:]), 12, 31).toordinal()
        quarter = re.fullmatch(r"(\d{4})-(?:Q([1-4])|(\d{2}))", text)
        if quarter:
            year = int(quarter[1])
            begin, end = (3 * int(quarter[2]) - 2, 3 * int(quarter[2])) if quarter[2] else (int(quarter[3]),) * 2
            length = calendar.monthrange(year, end)[1]
            return dt.date(year, begin, 1).toordinal(), dt.date(year, end, length).toordinal()
        if re.match(r"\d{4}-\d{2}-\d{2}(?:$|[ T])", text):
            day = dt.date.fromisoformat(text[:10]).toordinal()
            return day, day
    except ValueError:
        return None
    return None


def can_meet(one: Cover, other: Cover) -> bool:
    """Return whether some value is covered by both.

    Examples:
        >>> can_meet(read_cover("20-24"), read_cover(23)), can_meet(read_cover("81***"), read_cover("82***"))
        (True, False)
        >>> can_meet(read_cover("2017"), read_cover("2017-Q1")), can_meet(read_cover("2017"), read_cover("2018-03"))
        (True, False)
    """
    if one.everything or other.everything:
        return True
    if one.values is not None and other.values is not None:
        if not one.values.isdisjoint(other.values):
            return True
        if one.listed and other.listed:
            return False
    return any(_atoms_meet(a, b) for a in _atoms(one) for b in _atoms(other))


def _atoms(cover: Cover) -> list[Cover]:
    """Return a set as its single values, each read on its own."""
    if cover.values is None or (len(cover.values) == 1 and not cover.listed):
        return [cover]
    return [Cover(values=frozenset({v})) if v == _MISSING else _single(v) for v in cover.values]


def _single(text: str) -> Cover:
    number = float(text) if _ONE.match(text) else None
    return Cover(values=frozenset({text}), low=number, high=number, days=_days(text))


def _atoms_meet(one: Cover, other: Cover) -> bool:
    if one.values is not None and one.values == other.values:
        return True
    if one.mask is not None or other.mask is not None:
        return _masks_meet(one, other)
    if (
        one.days is not None
        and other.days is not None
        and one.days[0] <= other.days[1]
        and other.days[0] <= one.days[1]
    ):
        return True
    if one.low is None or other.low is None or one.high is None or other.high is None:
        return False
    return bool(one.low <= other.high and other.low <= one.high)


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
            out.setdefault(show(label).strip(), set()).add(show(row[0]).strip())
    return {label: frozenset(values) for label, values in out.items()}


def meeting(
    mine: Sequence[Any], theirs: Sequence[Any], hierarchy: Hierarchy | None = None, *, column: str = ""
) -> tuple[Bools, Bools]:
    """Return which cells of two lists surely mean a common value, and which possibly do.

    A word that only one of the lists has may be a value or the name of a group: it possibly meets every word.

    Raises:
        ParameterError: If both lists have words of their own, so that nobody can say which belong together.
    """
    leaves, mask = leaves_of(hierarchy), str(getattr(hierarchy, "character", ROOT))
    left = [read_cover(cell, leaves, mask=mask) for cell in mine]
    right = [read_cover(cell, leaves, mask=mask) for cell in theirs]
    sure = np.array([[can_meet(a, b) for b in right] for a in left], dtype=bool).reshape(len(left), len(right))
    here = {cover.label for cover in left} - {None}
    there = {cover.label for cover in right} - {None}
    if here - there and there - here:
        raise ParameterError(
            f"Column '{column}' has labels in each release that the other does not have ({len(here - there)} and "
            f"{len(there - here)}), and nothing tells which of them cover the same values. Give its hierarchy: "
            f"verify(..., quasi_identifiers={{'{column}': hierarchy}}), or --hierarchy {column}=FILE."
        )
    alone_left = np.array([cover.label is not None and cover.label not in there for cover in left], dtype=bool)
    alone_right = np.array([cover.label is not None and cover.label not in here for cover in right], dtype=bool)
    words = np.outer([c.label is not None for c in left], [c.label is not None for c in right]).astype(bool)
    words = words.reshape(sure.shape)
    return sure, sure | (words & (alone_left[:, None] | alone_right[None, :]))
