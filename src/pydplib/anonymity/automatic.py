"""Automatic hierarchies: from what a schema declares, or from the data, which is then marked."""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Mapping, Sequence
from typing import Any

from pydplib.anonymity.builders import Cuts, Dates, Intervals, Masking
from pydplib.anonymity.code_systems import Codes
from pydplib.anonymity.coding import TopBottom
from pydplib.anonymity.hierarchies import Hierarchy, TableHierarchy
from pydplib.anonymity.plain import from_plain
from pydplib.anonymity.resolved import ROOT
from pydplib.errors import HierarchyError, did_you_mean
from pydplib.schema import Column

_LEVELS = 4


def _nice(width: float, *, whole: bool) -> float:
    """Round a width to 1, 2, 2.5 or 5 times a power of ten."""
    if width <= 0:
        return 1.0
    power = 10.0 ** math.floor(math.log10(width))
    steps = (1, 2, 5, 10) if whole else (1, 2, 2.5, 5, 10)
    out = min((step * power for step in steps), key=lambda step: abs(step - width))
    return max(1.0, round(out)) if whole else out


def nested_widths(low: float, high: float, *, whole: bool) -> list[float]:
    """Return up to four widths, each twice the one before, that cut the range into about sixteen parts.

    Examples:
        >>> nested_widths(18, 100, whole=True)
        [5, 10, 20, 40]
    """
    width = _nice((high - low) / 16, whole=whole)
    out: list[float] = []
    while len(out) < _LEVELS and width < high - low + (1 if whole else 0):
        out.append(int(width) if whole else width)
        width *= 2
    return out


def hierarchy_of(column: Column) -> Hierarchy:
    """Return a hierarchy from a schema's column: bounds, days or categories, never the data.

    Examples:
        >>> from pydplib.schema import Integer
        >>> hierarchy_of(Integer(18, 100)).labels(64)
        (64, '63-67', '58-67', '58-77', '58-97', '*')
    """
    told = column.hierarchy
    if told is None:
        raise HierarchyError(
            "Free text has no automatic hierarchy from a schema. Declare it as Category([...]), give a Hierarchy, "
            "or treat the column as an identifier."
        )
    if told["kind"] == "values":
        return _of_values(told["values"], ordered=told["ordered"])
    if told["kind"] == "intervals" and "widths" not in told:
        told = {**told, "widths": nested_widths(told["low"], told["high"], whole=told["whole"]), "outside": "clamp"}
    if told["kind"] == "dates":
        told = {"outside": "clamp", **told}
    return hierarchy_from_dict(told)


def _of_values(values: Sequence[Any], *, ordered: bool) -> Hierarchy:
    """Return a hierarchy of a public list: neighbours of an ordered one, shared prefixes of codes, or all at once."""
    if ordered and len(values) > 2:
        return Hierarchy.order(values)
    codes = _prefixes([str(value) for value in values])
    if codes and all(isinstance(value, str) for value in values):
        return TableHierarchy([[value, *[value[:n] + ROOT for n in codes], ROOT] for value in values])
    return Hierarchy.flat(values)


def _prefixes(codes: Sequence[str]) -> list[int]:
    """Return the lengths of shared prefixes of codes (ICD, postal codes), fine to coarse; empty if not codes."""
    lengths = {len(code) for code in codes}
    alike = len(lengths) == 1 and all(any(c.isdigit() for c in code) and code.isalnum() for code in codes)
    length = min(lengths, default=0)
    if not alike or length < 3 or len(codes) < 4:
        return []
    return list(range(length - 1, 0, -1))


def hierarchy_from_values(values: Sequence[Any]) -> Hierarchy:
    """Return a hierarchy made from the data's own values; it is marked ``from_data``.

    Bounds and rare values then come from the data, which can itself give something away:
    declare a schema where possible.
    """
    present = [value for value in values if value is not None]
    if present and all(isinstance(v, int | float) and not isinstance(v, bool) for v in present):
        low, high = float(min(present)), float(max(present))
        whole = all(float(v).is_integer() for v in present)
        if math.isfinite(low) and math.isfinite(high) and low < high:
            widths = nested_widths(low, high, whole=whole)
            if widths:
                # Bounds are moved to multiples of the first width, so that they are not the extremes themselves.
                low = math.floor(low / widths[0]) * widths[0]
                high = math.ceil((high + (1 if whole else 0)) / widths[0]) * widths[0] - (1 if whole else 0)
            return Intervals(low, high, widths, whole=whole, from_data=True)
    if present and all(isinstance(v, dt.date) for v in present):
        return Dates(from_data=True)
    if present and all(isinstance(v, str) for v in present):
        codes = _prefixes(present)
        if codes and all(v.isdigit() for v in present):
            return Masking(len(present[0]))
    return TableHierarchy([[value, ROOT] for value in present] or [["", ROOT]], from_data=True)


def hierarchy_from_dict(values: Mapping[str, Any]) -> Hierarchy:
    """Read a hierarchy from plain values, as ``to_dict`` wrote them."""
    values = dict(values)
    kind = values.pop("kind", None)
    try:
        if kind == "table":
            rows = [[from_plain(cell) for cell in row] for row in values["rows"]]
            return TableHierarchy(rows, from_data=bool(values.get("from_data", False)))
        if kind == "intervals":
            return Intervals(values.pop("low"), values.pop("high"), values.pop("widths"), **values)
        if kind == "dates":
            return Dates(from_plain(values.pop("low")), from_plain(values.pop("high")), **values)
        if kind == "cuts":
            return Cuts(values.pop("edges"), **values)
        if kind == "codes":
            return Codes(**values)
        if kind == "masking":
            return Masking(values.pop("length"), **values)
        if kind == "top_bottom":
            inner = values.pop("inner", None)
            return TopBottom(inner=None if inner is None else hierarchy_from_dict(inner), **values)
    except (KeyError, TypeError):
        raise HierarchyError(f"The saved hierarchy of kind '{kind}' is not complete.") from None
    known = ("table", "intervals", "cuts", "dates", "masking", "codes", "top_bottom")
    raise HierarchyError(f"Unknown kind of hierarchy '{kind}'.{did_you_mean(kind, known)}")
