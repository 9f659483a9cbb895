"""Writing the little of TOML that schemas need; the standard library only reads it."""

from __future__ import annotations

import json
from typing import Any


def toml_key(name: str) -> str:
    """Return a key, quoted where it needs to be.

    Examples:
        >>> toml_key("age"), toml_key("age at report")
        ('age', '"age at report"')
    """
    plain = name.isascii() and all(c.isalnum() or c in "-_" for c in name)
    return name if plain else toml_value(name)


def toml_value(value: Any) -> str:
    """Return a text, number, truth value or list of these as TOML.

    Examples:
        >>> toml_value(["y", 1, True])
        '["y", 1, true]'
    """
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, list):
        return "[" + ", ".join(toml_value(item) for item in value) + "]"
    if isinstance(value, str):  # JSON's escapes are TOML's, but for one character
        return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
    return repr(value)
