"""What a released cell covers: a value, a set, an interval, a masked code, a month; never a comparison of texts."""

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
from pydplib.anonymity.tables.columns import ROOT
from pydplib.errors import HierarchyError

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
class Cell:
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
) -> Cell:
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
        return Cell(spans=((end_of(value[0], dates), _below(end_of(value[1], dates))),))
    text = text_of(value)
    if text == ROOT or (text and set(text) == {ROOT}):
        return Cell(everything=True)
    if labels is not None and text in labels:
        return Cell(members=tuple(labels[text]))
    if text == MISSING or not isinstance(value, str):
        return Cell(members=(text,))
    if text.startswith("{") and text.endswith("}"):
        return _read_set(text[1:-1], known, dates, commas)
    ends = _ends(text, dates)
    if ends is not None and ends[0] <= ends[1]:
        return Cell(members=(text,) if text in known else (), spans=(ends,))
    if ROOT in text:
        return Cell(mask=text)
    second = _SECOND.match(text)
    if second and text not in known:
        base = read_cell(second[1], known=known, labels=labels, dates=dates)
        return Cell(base.everything, (*base.members, second[1], text), base.spans, base.mask)
    return Cell(members=(text,))


def _read_set(inside: str, known: Collection[str], dates: bool, commas: bool) -> Cell:
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
    return Cell(members=tuple(members), spans=tuple(spans))


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
