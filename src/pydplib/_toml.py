"""Writing the little of TOML that schemas, templates and configurations need; the standard library only reads it."""

from __future__ import annotations

import datetime as dt
import json
from collections.abc import Mapping
from typing import Any


def toml_key(name: str) -> str:
    """Return a key, quoted where it needs to be.

    Examples:
        >>> toml_key("age"), toml_key("age at report")
        ('age', '"age at report"')
    """
    plain = bool(name) and name.isascii() and all(c.isalnum() or c in "-_" for c in name)
    return name if plain else toml_value(name)


def toml_value(value: Any) -> str:
    """Return a text, number, truth value, day (as a text), or list or table of these as TOML.

    Examples:
        >>> toml_value(["y", 1, True]), toml_value({"id": "age", "low": 18})
        ('["y", 1, true]', '{ id = "age", low = 18 }')
    """
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(toml_value(item) for item in value) + "]"
    if isinstance(value, Mapping):
        return "{ " + ", ".join(f"{toml_key(key)} = {toml_value(item)}" for key, item in value.items()) + " }"
    if isinstance(value, dt.date):
        value = value.isoformat()
    if isinstance(value, str):  # JSON's escapes are TOML's, but for one character
        return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
    return repr(float(value)) if isinstance(value, float) else repr(value)  # NumPy's floats show their type
