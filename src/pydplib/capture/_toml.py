"""Templates as TOML that people like to read: nested items, long lists on several lines."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pydplib._toml import toml_key, toml_value

_WIDTH = 110


def write_toml(table: Mapping[str, Any]) -> str:
    """Return a table as TOML: items as nested ``[[items]]``, everything else in place.

    Examples:
        >>> print(write_toml({"id": "visit", "items": [{"id": "age", "low": 18}]}), end="")
        id = "visit"
        <BLANKLINE>
        [[items]]
        id = "age"
        low = 18
    """
    return "\n".join(_table(table, "items")) + "\n"


def _table(table: Mapping[str, Any], name: str) -> list[str]:
    lines = [f"{toml_key(key)} = {_entry(value)}" for key, value in table.items() if key != "items"]
    items = table.get("items")
    if items is None:
        return lines
    if not items:
        return [*lines, "items = []"]
    for item in items:
        lines += ["", f"[[{name}]]", *_table(item, f"{name}.items")]
    return lines


def _entry(value: Any) -> str:
    """Write a value; a long list goes on several lines."""
    line = toml_value(value)
    if isinstance(value, list) and value and len(line) > _WIDTH:
        return "[\n" + "".join(f"  {toml_value(each)},\n" for each in value) + "]"
    return line
