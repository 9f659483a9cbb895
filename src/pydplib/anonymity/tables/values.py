"""Values as texts and as JSON, where dates keep their kind; and files that appear whole or not at all."""

from __future__ import annotations

import datetime as dt
import json
import os
import secrets
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from pydplib.errors import DataError, ParameterError


def to_plain(value: Any) -> Any:
    """Return ``value`` as something that JSON can hold, without losing its kind.

    Examples:
        >>> to_plain(dt.date(2020, 1, 2))
        {'date': '2020-01-02'}
    """
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if hasattr(value, "item") and callable(value.item):
        return to_plain(value.item())
    if isinstance(value, dt.datetime):
        return {"datetime": value.isoformat()}
    if isinstance(value, dt.date):
        return {"date": value.isoformat()}
    return str(value)


def from_plain(value: Any) -> Any:
    """Return what ``to_plain`` was given."""
    if isinstance(value, dict):
        if "datetime" in value:
            return dt.datetime.fromisoformat(value["datetime"])
        if "date" in value:
            return dt.date.fromisoformat(value["date"])
    return value


def show(value: Any) -> str:
    """Return a value as a reader expects it: a day without a time, a whole number without a point.

    Examples:
        >>> show(dt.datetime(2020, 1, 2)), show(3.0), show(None)
        ('2020-01-02', '3', 'missing')
    """
    if value is None:
        return "missing"
    if isinstance(value, dt.datetime) and value.time() == dt.time():
        return value.date().isoformat()
    if isinstance(value, float) and value.is_integer() and abs(value) < 1e15:
        return str(int(value))
    return str(value)


def as_text(label: Any) -> str | None:
    """Return a label as the text that stands in a table; a missing one stays missing.

    Examples:
        >>> as_text(3), as_text(None)
        ('3', None)
    """
    return None if label is None else str(label)


def write_set(values: Sequence[Any]) -> str:
    """Return a set of values as one text that reads back; texts that could be misread are quoted.

    Examples:
        >>> write_set(["a", "b, c", None])
        '{a, "b, c", missing}'
    """
    return "{" + ", ".join(in_set(value) for value in values) + "}"


def in_set(value: Any) -> str:
    """Return a value as it stands in a set: quoted where it could be misread.

    Examples:
        >>> in_set("a"), in_set("missing")
        ('a', '"missing"')
    """
    text = show(value)
    if isinstance(value, str) and (value == "missing" or value != value.strip() or set(value) & set(',{}"\\')):
        return json.dumps(value, ensure_ascii=False)
    return text


def read_set(text: str) -> list[str | None]:
    """Return the values of a set as ``write_set`` wrote them, as texts; None stands for missing.

    Examples:
        >>> read_set('{a, "b, c", missing}')
        ['a', 'b, c', None]
    """
    out: list[str | None] = []
    decoder, rest = json.JSONDecoder(), text.strip()[1:-1].strip()
    while rest:
        part, rest = _next(decoder, rest)
        out.append(part)
    return out


def _next(decoder: json.JSONDecoder, rest: str) -> tuple[str | None, str]:
    if rest.startswith('"'):
        try:
            value, end = decoder.raw_decode(rest)
            after = rest[end:].lstrip()
            if not after or after.startswith(","):
                return str(value), after[1:].lstrip()
        except json.JSONDecodeError:
            pass  # a set that others wrote: a quote is a character like any other
    part, _, after = rest.partition(",")
    part = part.strip()
    return None if part == "missing" else part, after.lstrip()


def write_whole(path: str | Path, content: bytes, *, private: bool, overwrite: bool) -> None:
    """Write a file next to its place and move it there when it is whole.

    Args:
        path: The file.
        content: What goes into it.
        private: Whether its owner alone may read it; else the usual rights of new files.
        overwrite: Whether a file that exists is replaced.
    """
    target = Path(path)
    if target.exists() and not overwrite:
        raise ParameterError(f"'{target}' exists already. Choose another name, or say overwrite=True.")
    part = target.with_name(f".{target.name[:40]}.{secrets.token_hex(6)}.part")
    try:
        handle = os.open(part, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600 if private else 0o666)
        with os.fdopen(handle, "wb") as file:
            file.write(content)
        os.replace(part, target)
    except OSError as error:
        raise DataError(f"'{target.name}' cannot be written: {error.strerror}.") from None
    finally:
        part.unlink(missing_ok=True)
