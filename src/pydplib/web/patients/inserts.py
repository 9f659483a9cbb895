"""Many rows into one table, without making an object of each: most of an import's time went there."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django.db import connection, models

_MOST_PARAMETERS = 8_000
"""Parameters of one statement on PostgreSQL, which takes many rows at once faster than many statements."""


def stored(model: type[models.Model], field: str, value: Any) -> Any:
    """Return a value as the database at hand stores it in this field."""
    return model._meta.get_field(field).get_db_prep_save(value, connection)  # type: ignore[union-attr]


def insert_many(
    model: type[models.Model], fields: Sequence[str], rows: Sequence[Sequence[Any]], *, ignore_conflicts: bool = False
) -> None:
    """Insert rows; must run in a transaction.

    Args:
        model: The table.
        fields: The names of the fields, all that have no default in the database.
        rows: Values as the database stores them (``stored``; JSON as text), in the order of the fields.
        ignore_conflicts: Leave out rows that are there already, by a unique constraint.
    """
    if not rows:
        return
    quote = connection.ops.quote_name
    columns = ", ".join(quote(model._meta.get_field(name).column) for name in fields)  # type: ignore[union-attr]
    head = f"INSERT INTO {quote(model._meta.db_table)} ({columns}) VALUES "  # noqa: S608 - names of our own models
    tail = " ON CONFLICT DO NOTHING" if ignore_conflicts else ""
    places = "(" + ", ".join(["%s"] * len(fields)) + ")"
    with connection.cursor() as cursor:
        if connection.vendor == "sqlite":
            cursor.executemany(head + places + tail, rows)
            return
        most = max(1, _MOST_PARAMETERS // len(fields))
        for begin in range(0, len(rows), most):
            part = rows[begin : begin + most]
            cursor.execute(head + ", ".join([places] * len(part)) + tail, [value for row in part for value in row])
