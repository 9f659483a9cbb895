"""Plain values for JSON: dates keep their kind, everything else is what JSON knows."""

from __future__ import annotations

import datetime as dt
from typing import Any


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
