"""Hierarchies in the words of a configuration file, and as the rows of ARX's CSV format."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from pydplib.anonymity import Codes, Cuts, Dates, Hierarchy, Intervals, Masking, TableHierarchy, TopBottom
from pydplib.errors import HierarchyError, ParameterError, PydplibError, did_you_mean

# Kind -> entries that it must have, entries that it may have.
KINDS: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "automatic": ((), ()),
    "file": (("path",), ("separator",)),
    "intervals": (("low", "high", "widths"), ("outside", "whole", "from_data")),
    "cuts": (("edges",), ("outside", "from_data")),
    "codes": (("system",), ()),
    "masking": (("length",), ("step", "side", "character", "alphabet")),
    "dates": ((), ("low", "high", "units", "outside", "order", "from_data")),
    "order": (("values",), ("group",)),
    "grouping": (("groups",), ()),
    "flat": (("values",), ()),
    "top-bottom": ((), ("top", "bottom", "inner")),
}


def read_hierarchy_spec(name: str, spec: Any, folder: Path) -> Hierarchy | None:
    """Return the hierarchy that a configuration describes for a column; None for an automatic one.

    Args:
        name: The column, for errors.
        spec: ``"automatic"``, the path of a CSV file, or a table with a ``kind``.
        folder: Where relative paths begin.
    """
    if isinstance(spec, str):
        spec = {"kind": "automatic"} if spec == "automatic" else {"kind": "file", "path": spec}
    if not isinstance(spec, Mapping):
        raise ParameterError(f"Quasi-identifier '{name}' needs a table with a kind, e.g. kind = \"automatic\".")
    values = dict(spec)
    kind = values.pop("kind", None)
    if kind not in KINDS:
        raise ParameterError(f"Quasi-identifier '{name}' has the unknown kind '{kind}'.{did_you_mean(kind, KINDS)}")
    needed, allowed = KINDS[kind]
    for key in values:
        if key not in (*needed, *allowed):
            raise ParameterError(f"Column '{name}', {kind}: unknown '{key}'.{did_you_mean(key, (*needed, *allowed))}")
    lost = [key for key in needed if key not in values]
    if lost:
        raise ParameterError(f"Column '{name}', {kind}: '{lost[0]}' is missing.")
    if not isinstance(values.get("from_data", False), bool):
        raise ParameterError(f"Column '{name}', {kind}: from_data is true or false.")
    try:
        return _build(name, kind, values, folder)
    except HierarchyError as error:
        raise type(error)(f"Column '{name}': {error}") from None
    except PydplibError as error:
        raise ParameterError(f"Column '{name}': {error}") from None
    except TypeError:
        raise ParameterError(f"Column '{name}', {kind}: an entry has the wrong type.") from None


def _build(name: str, kind: str, values: dict[str, Any], folder: Path) -> Hierarchy | None:
    if kind == "automatic":
        return None
    if kind == "file":
        return Hierarchy.from_csv(folder / str(values["path"]), separator=values.get("separator"))
    if kind == "intervals":
        return Intervals(values.pop("low"), values.pop("high"), values.pop("widths"), **values)
    if kind == "cuts":
        return Cuts(values.pop("edges"), **values)
    if kind == "codes":
        return Codes(**values)
    if kind == "masking":
        return Masking(values.pop("length"), **values)
    if kind == "dates":
        return Dates(values.pop("low", None), values.pop("high", None), **values)
    if kind == "order":
        return Hierarchy.order(values["values"], group=values.get("group", 2))
    if kind == "grouping":
        return Hierarchy.grouping(values["groups"])
    if kind == "flat":
        return Hierarchy.flat(values["values"])
    inner = values.pop("inner", None)
    return TopBottom(**values, inner=None if inner is None else read_hierarchy_spec(name, inner, folder))


def to_table(hierarchy: Hierarchy, values: Sequence[Any]) -> TableHierarchy:
    """Return any hierarchy as a table with one row per value, which a CSV file can hold.

    Examples:
        >>> to_table(Intervals(0, 3, [2]), [0, 1, 2, 3]).rows[2]
        (2, '2-3', '*')
    """
    found = hierarchy.resolve("value", list(values))
    rows = [
        [value, *(found.labels[level][found.levels[level][i]] for level in range(1, found.height + 1))]
        for i, value in enumerate(values)
    ]
    return TableHierarchy(rows, from_data=hierarchy.from_data)
