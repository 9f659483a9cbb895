"""Many rows into one table, without making an object of each: most of an import's time went there."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import islice
from typing import Any, TypeVar

from django.db import connection, models

_T = TypeVar("_T")

CHUNK = 2500
"""Reports per round trip to the database, and per transaction of a big import."""

_MOST_PARAMETERS = 8_000
"""Parameters of one statement on PostgreSQL, which takes many rows at once faster than many statements."""


_FOR_INDEXES = {"cache_size": -65_536, "wal_autocheckpoint": 10_000}
"""Of SQLite: KiB of pages in memory, and pages of the log after which they go to their places."""


def stored(model: type[models.Model], field: str, value: Any) -> Any:
    """Return a value as the database at hand stores it in this field."""
    return model._meta.get_field(field).get_db_prep_save(value, connection)  # type: ignore[union-attr]


def insert_many(
    model: type[models.Model],
    fields: Sequence[str],
    rows: Sequence[Sequence[Any]],
    *,
    ignore_conflicts: bool = False,
    returns: tuple[str, str] | None = None,
) -> dict[Any, Any]:
    """Insert rows; must run in a transaction.

    Returns one field of every row that was inserted -> another one, where ``returns`` names them.

    Args:
        model: The table.
        fields: The names of the fields, all that have no default in the database.
        rows: Values as the database stores them (``stored``; JSON as text), in the order of the fields.
        ignore_conflicts: Leave out rows that are there already, by a unique constraint.
        returns: Two fields, such as a key of our own making and the number that the database gave.
    """
    found: dict[Any, Any] = {}
    if not rows:
        return found
    quote = connection.ops.quote_name

    def columns(names: Sequence[str]) -> str:
        return ", ".join(quote(str(model._meta.get_field(name).column)) for name in names)  # type: ignore[union-attr]

    head = f"INSERT INTO {quote(model._meta.db_table)} ({columns(fields)}) VALUES "  # noqa: S608 - our own models
    tail = " ON CONFLICT DO NOTHING" if ignore_conflicts else ""
    places = "(" + ", ".join(["%s"] * len(fields)) + ")"
    with connection.cursor() as cursor:
        if connection.vendor == "sqlite":  # one writer at a time: what is newer now was made here
            table = quote(model._meta.db_table)
            last = cursor.execute(f"SELECT MAX(id) FROM {table}").fetchone()[0] or 0 if returns else 0  # noqa: S608
            cursor.executemany(head + places + tail, rows)
            if returns:
                made = f"SELECT {columns(returns)} FROM {table} WHERE id > %s"  # noqa: S608
                found.update(cursor.execute(made, [last]).fetchall())
            return found
        tail += f" RETURNING {columns(returns)}" if returns else ""
        most = max(1, _MOST_PARAMETERS // len(fields))
        for begin in range(0, len(rows), most):
            part = rows[begin : begin + most]
            cursor.execute(head + ", ".join([places] * len(part)) + tail, [value for row in part for value in row])
            if returns:
                found.update(cursor.fetchall())
    return found


@contextmanager
def memory_for_indexes() -> Iterator[None]:
    """Let SQLite hold the indexes of a big import in memory, whose random keys fall on every page of them.

    What is written, and when it is safe on the disk, stays the same. PostgreSQL has one memory for all connections.
    """
    if connection.vendor != "sqlite":
        yield
        return
    with connection.cursor() as cursor:
        before = {name: cursor.execute(f"PRAGMA {name}").fetchone()[0] for name in _FOR_INDEXES}
        for name, value in _FOR_INDEXES.items():
            cursor.execute(f"PRAGMA {name} = {value}")
    try:
        yield
    finally:
        with connection.cursor() as cursor:
            for name, value in before.items():
                cursor.execute(f"PRAGMA {name} = {value}")


def chunks(items: Iterable[_T], size: int) -> Iterator[list[_T]]:
    """Yield lists of at most ``size`` items.

    Examples:
        >>> list(chunks(range(5), 2))
        [[0, 1], [2, 3], [4]]
    """
    rest = iter(items)
    while part := list(islice(rest, size)):
        yield part
