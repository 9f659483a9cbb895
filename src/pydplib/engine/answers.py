"""Reading answers: every public key in public order, zeros where an engine found nothing."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pydplib._names import person_column
from pydplib.engine.exact import ExactTable, integers
from pydplib.engine.plan import WHOLE_LIMIT, Bins, Key, Plan
from pydplib.errors import SchemaError, column_hint, looks_like_names
from pydplib.schema import Schema


@dataclass(frozen=True, slots=True, repr=False)
class EngineAnswer:
    """Rows of an engine: key columns, then one integer per measure; for cells: key, cell, integer."""

    rows: Sequence[Sequence[Any]]
    measures: tuple[int, ...]
    is_cells: bool


def column_names(schema: Schema) -> dict[str, str]:
    """Return column -> its name inside the engines: a position, never the owner's spelling."""
    return {name: f"c{i}" for i, name in enumerate(schema.columns)}


def check_present(schema: Schema, stored: Iterable[str]) -> None:
    """Refuse a table that lacks declared columns, and name all of them. Names are public, cells are not."""
    stored = list(stored)
    missing = [name for name in dict.fromkeys([*schema.stored, schema.person]) if name and name not in stored]
    if not missing:
        return
    whose = person_column(stored) if looks_like_names(stored) else None
    if len(missing) == 1:
        (name,) = missing
        hint = f" Did you mean '{whose}'?" if name == schema.person and whose else column_hint(name, stored)
        raise SchemaError(f"The schema declares column '{name}', but the table has none.{hint}")
    if missing:
        hints = {name: column_hint(name, stored) for name in missing}
        listed = [f"\n  '{name}'" + (hint if "mean" in hint else "") for name, hint in hints.items()]
        raise SchemaError(
            f"The schema declares {len(missing)} columns that the table does not have:{''.join(listed)}\n"
            "Correct the schema, delete columns that nobody needs, or check that the names are in the first line."
        )


def check_unique(schema: Schema, stored: Iterable[object]) -> None:
    """Refuse a table that has a declared column twice; for DuckDB, large and small letters are the same name."""
    found = [str(name) for name in stored]
    for name in schema.stored if schema.person is None else [*schema.stored, schema.person]:
        same = [other for other in found if other.casefold() == name.casefold()]
        if len(same) > 1 and name in same:
            raise SchemaError(
                f"The table has several columns for '{name}' (large and small letters count as one). "
                "Rename all but one."
            )


def whole(value: Any) -> int:
    """Return an engine's sum as it is, whatever its size: engines add up in 96 bits and more.

    Examples:
        >>> whole(7), whole("-1:4294967295"), whole(2**70) == 2**70
        (7, -1, True)
    """
    if isinstance(value, str):  # SQLite's two halves of the bits
        upper, lower = value.split(":")
        return (int(upper) << 32) + int(lower)
    return int(value)


def read_table(plan: Plan, answers: Sequence[EngineAnswer]) -> ExactTable:
    """Put an engine's rows into public order: every public key present, zeros where nothing was found."""
    if plan.has_unknown_keys:
        return _read_unknown(plan, answers)
    values: list[NDArray[Any]] = [
        np.zeros((len(plan.keys), m.cells) if m.kind in ("cells", "persons") else len(plan.keys), np.int64)
        for m in plan.measures
    ]
    for answer in answers:
        for row in answer.rows:
            if row[0] is None or (answer.is_cells and row[1] is None):
                continue  # rows of no public key, or of no cell
            if answer.is_cells:
                _put(values, answer.measures[0], (int(row[0]), int(row[1])), whole(row[2]))
            else:
                for measure, value in zip(answer.measures, row[1:], strict=True):
                    _put(values, measure, (int(row[0]),), whole(value))
    return ExactTable(plan, plan.keys, tuple(values))


def _put(values: list[NDArray[Any]], measure: int, place: tuple[int, ...], number: int) -> None:
    """Write one integer; a table that outgrew its declared size gets Python's integers, which never wrap."""
    if abs(number) >= WHOLE_LIMIT and values[measure].dtype != object:
        values[measure] = values[measure].astype(object)
    values[measure][place] = number


def _read_unknown(plan: Plan, answers: Sequence[EngineAnswer]) -> ExactTable:
    """Read a table whose keys the engine found; sorted, so that no order of arrival is seen."""
    rows = answers[0].rows
    columns = list(plan.by.items())
    lists = [keys.keys if isinstance(keys, Bins) else keys or (None,) for _, keys in columns]
    unknown = [i for i, (_, keys) in enumerate(columns) if keys is None]
    found: dict[tuple[Any, ...], tuple[tuple[Key, ...], list[int]]] = {}
    for row in rows:
        if row[0] is None:
            continue  # rows of no public key
        position = int(row[0])
        key: list[Key] = [None] * len(columns)
        order: list[Any] = [None] * len(columns)
        for i in reversed(range(len(columns))):
            if i not in unknown:
                position, order[i] = divmod(position, len(lists[i]))
                key[i] = lists[i][order[i]]
        for i, cell in zip(unknown, row[1:], strict=False):
            key[i] = order[i] = cell if isinstance(cell, str) else int(cell)
        found[tuple(order)] = (tuple(key), [whole(value) for value in row[1 + len(unknown) :]])
    in_order = [found[order] for order in sorted(found)]
    columns_of = [[numbers[i] for _, numbers in in_order] for i in range(len(plan.measures))]
    return ExactTable(plan, tuple(key for key, _ in in_order), tuple(integers(column) for column in columns_of))
