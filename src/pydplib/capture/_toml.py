"""Writing plain values as TOML that people like to read (the standard library only reads it)."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

_BARE = re.compile(r"[A-Za-z0-9_-]+")
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
    lines = [f"{_key(key)} = {_entry(value)}" for key, value in table.items() if key != "items"]
    items = table.get("items")
    if items is None:
        return lines
    if not items:
        return [*lines, "items = []"]
    for item in items:
        lines += ["", f"[[{name}]]", *_table(item, f"{name}.items")]
    return lines


def _key(name: str) -> str:
    return name if _BARE.fullmatch(name) else _text(name)


def _entry(value: Any) -> str:
    """Write a value; a long list goes on several lines."""
    line = _value(value)
    if isinstance(value, list) and value and len(line) > _WIDTH:
        return "[\n" + "".join(f"  {_value(each)},\n" for each in value) + "]"
    return line


def _value(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return _text(value)
    if isinstance(value, list):
        return "[" + ", ".join(_value(each) for each in value) + "]"
    if isinstance(value, Mapping):
        return "{ " + ", ".join(f"{_key(key)} = {_value(each)}" for key, each in value.items()) + " }"
    return repr(value)


def _text(text: str) -> str:
    # JSON's escapes are TOML's, but for DEL, which TOML wants escaped.
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")
