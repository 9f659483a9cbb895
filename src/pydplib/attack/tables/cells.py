"""What a released cell covers (a value, a set, an interval, a masked code) and which known values it can mean."""

from __future__ import annotations

import datetime as dt
import json
import math
import re
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import numpy as np

from pydplib.anonymity.hierarchies.base import Hierarchy, TableHierarchy
from pydplib.anonymity.tables.columns import ROOT, Bools, Floats, Ints
from pydplib.attack._arguments import check_time
from pydplib.errors import HierarchyError


def starts_of(owner: Ints, number: int) -> Ints:
    """Return where every owner's list begins among elements sorted by owner; the last entry is the end of all.

    Examples:
        >>> starts_of(np.array([0, 0, 2]), 3).tolist()
        [0, 2, 2, 3]
    """
    return np.concatenate([[0], np.cumsum(np.bincount(owner, minlength=number))]).astype(np.int64)


def expand(index: Ints, start: Ints) -> tuple[Ints, Ints]:
    """Return, for lists ``start[i]:start[i + 1]`` of every i in ``index``, (place in index, element).

    Examples:
        >>> [part.tolist() for part in expand(np.array([1, 0]), np.array([0, 1, 3]))]
        [[0, 0, 1], [1, 2, 0]]
    """
    return expand_spans(start[index], start[index + 1] - start[index])


def expand_spans(begin: Ints, count: Ints) -> tuple[Ints, Ints]:
    """Return, for ``count[i]`` elements from ``begin[i]`` on, (i, element)."""
    place = np.repeat(np.arange(len(count)), count)
    inside = np.arange(len(place)) - np.repeat(np.cumsum(count) - count, count)
    return place, begin[place] + inside


def find_sorted(keys: Ints, wanted: Ints) -> tuple[Ints, Bools]:
    """Return the place of every wanted key among sorted ones, and whether it is there at all.

    Examples:
        >>> [part.tolist() for part in find_sorted(np.array([3, 5]), np.array([5, 4]))]
        [[1, 1], [True, False]]
    """
    place = np.minimum(np.searchsorted(keys, wanted), max(len(keys) - 1, 0))
    there = keys[place] == wanted if len(keys) else np.zeros(len(wanted), dtype=bool)
    return place, np.asarray(there)


MISSING = "\x00missing"
"""The text that stands for a missing cell; no value has it."""

_NUMBER = r"[-+]?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?"
_RANGE = re.compile(rf"^({_NUMBER})\s*(?:-|–|to)\s*({_NUMBER})$")
_BRACKETS = re.compile(r"^([\[(\]])\s*([^,;]+?)\s*[,;]\s*([^,;]+?)\s*([\])\[])$")
_ENDS = re.compile(rf"^(<=|>=|<|>|≤|≥)\s*({_NUMBER})$")
_PLUS = re.compile(rf"^({_NUMBER})\s*\+$")
_DAY = re.compile(r"^\d{4}-\d{2}-\d{2}(?:$|[ T]\d)")
_MONTH = re.compile(r"^(\d{4})-(\d{2})$")
_QUARTER = re.compile(r"^(\d{4})-Q([1-4])$")
_YEARS = re.compile(r"^(\d{4})(?:-(\d{4}))?$")
_SECOND = re.compile(r"^(.+) \(\d+\)$")  # anonymize tells different groups of one name apart: "lung", "lung (2)"


@dataclass(frozen=True, slots=True)
class CoveredCell:
    """What a cell can mean.

    Attributes:
        everything: Any value, a missing one too.
        members: Single values, as texts.
        spans: Intervals, both ends included; days are counted as ordinals.
        mask: A masked code such as "816**".
    """

    everything: bool = False
    members: tuple[str, ...] = ()
    spans: tuple[tuple[float, float], ...] = ()
    mask: str | None = None


def text_of(value: Any) -> str:
    """Return a value as the one text that equal values share: 5, 5.0 and "5" are one value.

    Examples:
        >>> text_of(5.0), text_of(" b "), text_of(None) == MISSING
        ('5', 'b', True)
    """
    if value is None or value != value:
        return MISSING
    if isinstance(value, dt.datetime):
        value = value.date() if value.time() == dt.time() else value
    if isinstance(value, str):
        return value.strip()
    if isinstance(value, float | np.floating) and float(value).is_integer():
        return str(int(value))
    return str(value)


def read_cell(
    value: Any,
    *,
    known: Collection[str] = (),
    labels: Mapping[str, Sequence[str]] | None = None,
    dates: bool = False,
    commas: bool = True,
) -> CoveredCell:
    """Return what a cell covers.

    Args:
        value: The cell; a pair of numbers is [low, high).
        known: Texts that are values of the column, so that a set can hold a value with a comma in it.
        labels: Labels of the column's hierarchy with the values under them.
        dates: Whether the column holds dates, so that "2017-03" is a month and not a range.
        commas: Whether a known value may have a comma in it.

    Examples:
        >>> read_cell("50-59").spans
        ((50.0, 59.0),)
        >>> read_cell('{a, "b, c", missing}').members == ("a", "b, c", MISSING), read_cell("81***").mask
        (True, '81***')
    """
    if isinstance(value, tuple):
        return CoveredCell(spans=((end_of(value[0], dates), _below(end_of(value[1], dates))),))
    text = text_of(value)
    if text == ROOT or (text and set(text) == {ROOT}):
        return CoveredCell(everything=True)
    if labels is not None and text in labels:
        return CoveredCell(members=tuple(labels[text]))
    if text == MISSING or not isinstance(value, str):
        return CoveredCell(members=(text,))
    if text.startswith("{") and text.endswith("}"):
        return _read_set(text[1:-1], known, dates, commas)
    ends = _ends(text, dates)
    if ends is not None and ends[0] <= ends[1]:
        return CoveredCell(members=(text,) if text in known else (), spans=(ends,))
    if ROOT in text:
        return CoveredCell(mask=text)
    second = _SECOND.match(text)
    if second and text not in known:
        base = read_cell(second[1], known=known, labels=labels, dates=dates)
        return CoveredCell(base.everything, (*base.members, second[1], text), base.spans, base.mask)
    return CoveredCell(members=(text,))


def _read_set(inside: str, known: Collection[str], dates: bool, commas: bool) -> CoveredCell:
    """Return what a set covers: values, quoted ones as they are, ranges, and "missing" for a missing cell."""
    members: list[str] = []
    spans: list[tuple[float, float]] = []
    parts = _split_set(inside)
    for text, quoted in _rejoin(parts, known) if commas else parts:
        if text == "missing" and not quoted:
            members += [MISSING, *({text} & set(known))]
            continue
        members.append(text_of(text))
        ends = None if quoted or text in known else _ends(text, dates)
        if ends is not None and ends[0] <= ends[1]:
            spans.append(ends)
    return CoveredCell(members=tuple(members), spans=tuple(spans))


def _split_set(inside: str) -> list[tuple[str, bool]]:
    """Split a set at its commas into (text, whether it was quoted)."""
    if '"' not in inside:
        return [(text.strip(), False) for text in inside.split(",")]
    decoder, rest, parts = json.JSONDecoder(), inside.strip(), list[tuple[str, bool]]()
    while rest:
        value, end = None, 0
        if rest.startswith('"'):
            with suppress(json.JSONDecodeError):  # in a set of others a quote is a character like any other
                value, end = decoder.raw_decode(rest)
        after = rest[end:].lstrip()
        if value is not None and (not after or after.startswith(",")):
            parts.append((str(value), True))
        else:
            text, _, after = rest.partition(",")
            after = f",{after}"
            parts.append((text.strip(), False))
        rest = after[1:].lstrip()
    return parts


def _rejoin(parts: Sequence[tuple[str, bool]], known: Collection[str]) -> list[tuple[str, bool]]:
    """Put values with a bare comma together again, where the column has them."""
    out, at = list[tuple[str, bool]](), 0
    while at < len(parts):
        bare = next((n for n, part in enumerate(parts[at : at + 8]) if part[1]), min(8, len(parts) - at))
        joined = ((n, ", ".join(text for text, _ in parts[at : at + n])) for n in range(bare, 1, -1))
        size, text = next(((n, text) for n, text in joined if text in known), (1, parts[at][0]))
        out.append((text, parts[at][1]))
        at += size
    return out


def spell(text: str) -> str:
    """Return a text in the one spelling that equal numbers and truths share; codes with leading zeros stay.

    Examples:
        >>> spell("5.0"), spell("-0.0"), spell("05"), spell("true"), spell("b")
        ('5', '0', '05', 'True', 'b')
    """
    if text in ("true", "false"):
        return text.capitalize()
    number = as_number(text)
    digits = text.lstrip("+-")
    if number is None or not number.is_integer() or (digits[:1] == "0" and digits[1:2] not in ("", ".")):
        return text
    return str(int(number))


def as_number(text: str) -> float | None:
    """Return the number that a text is, or None.

    Examples:
        >>> as_number("61"), as_number("b")
        (61.0, None)
    """
    try:
        number = float(text)
    except ValueError:
        return None
    return number if math.isfinite(number) else None


def end_of(value: Any, dates: bool) -> float:
    """Return a value as a place on the number line, days as ordinals; NaN where it has none."""
    if dates:
        day = as_day(value)
        if day is not None:
            return float(day.toordinal())
    number = as_number(text_of(value))
    return math.nan if number is None else number


def _below(end: float) -> float:
    return math.nextafter(end, -math.inf)


def _ends(text: str, dates: bool) -> tuple[float, float] | None:
    if dates:
        days = _calendar(text)
        if days is not None:
            return float(days[0].toordinal()), float(days[1].toordinal())
    found = _BRACKETS.match(text)
    if found:
        low, high = end_of(found[2], dates), end_of(found[3], dates)
        if low == low and high == high:
            return (low if found[1] == "[" else math.nextafter(low, math.inf)), (
                high if found[4] == "]" else _below(high)
            )
    first, to, last = text.partition(" to ")
    if dates and to and as_day(first) is not None and as_day(last) is not None:
        return end_of(first, dates), end_of(last, dates)
    found = _RANGE.match(text)
    if found:
        return float(found[1]), float(found[2])
    found = _ENDS.match(text)
    if found:
        end = float(found[2])
        if found[1] in ("<", "<=", "≤"):
            return -math.inf, end if found[1] != "<" else _below(end)
        return (end if found[1] != ">" else math.nextafter(end, math.inf)), math.inf
    found = _PLUS.match(text)
    return (float(found[1]), math.inf) if found else None


def as_day(value: Any) -> dt.date | None:
    """Return the day that a cell is, or None.

    Examples:
        >>> as_day("2017-03-09")
        datetime.date(2017, 3, 9)
    """
    if isinstance(value, dt.datetime):
        return value.date()
    if isinstance(value, dt.date):
        return value
    if isinstance(value, str) and _DAY.match(value.strip()):
        try:
            return dt.date.fromisoformat(value.strip()[:10])
        except ValueError:
            return None
    return None


def _calendar(text: str) -> tuple[dt.date, dt.date] | None:
    """Return the first and last day of a day, month, quarter, year or span of years."""
    day = as_day(text)
    if day is not None:
        return day, day
    try:
        found = _MONTH.match(text)
        if found:
            first = dt.date(int(found[1]), int(found[2]), 1)
            return first, _month_end(first.year, first.month)
        found = _QUARTER.match(text)
        if found:
            last = 3 * int(found[2])
            return dt.date(int(found[1]), last - 2, 1), _month_end(int(found[1]), last)
        found = _YEARS.match(text)
        if found:
            return dt.date(int(found[1]), 1, 1), dt.date(int(found[2] or found[1]), 12, 31)
    except ValueError:
        return None
    return None


def _month_end(year: int, month: int) -> dt.date:
    return dt.date(year, 12, 31) if month == 12 else dt.date(year, month + 1, 1) - dt.timedelta(days=1)


def hierarchy_labels(hierarchy: Hierarchy | None, values: Sequence[Any]) -> dict[str, tuple[str, ...]]:
    """Return every label of a hierarchy above the values, with the texts of the values under it."""
    out: dict[str, dict[str, None]] = {}
    if isinstance(hierarchy, TableHierarchy):
        for row in hierarchy.rows:
            for label in row[1:]:
                out.setdefault(text_of(label), {})[text_of(row[0])] = None
    elif hierarchy is not None:
        try:
            found = hierarchy.resolve("column", list(values))
        except HierarchyError:
            return {}  # the values are labels themselves: they are read by their looks
        for level in range(1, found.height + 1):
            for code, at in enumerate(found.levels[level].tolist()):
                out.setdefault(text_of(found.labels[level][at]), {})[text_of(values[code])] = None
    return {label: tuple(texts) for label, texts in out.items() if label != ROOT}


@dataclass(frozen=True, eq=False)
class CellRelation:
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


def relate(values: Sequence[Any], cells: Sequence[Any], hierarchy: Hierarchy | None = None) -> CellRelation:
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
    return CellRelation(start, keys % max(right.size, 1), right.size)


def _read(items: Sequence[Any], how: dict[str, Any]) -> list[CoveredCell]:
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

    def __init__(self, cells: Sequence[CoveredCell], dates: bool) -> None:
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
