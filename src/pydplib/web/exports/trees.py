"""Hierarchies for people: shown as a table, edited as text, uploaded in ARX's format."""

from __future__ import annotations

import csv
import datetime as dt
import io
from collections.abc import Sequence
from dataclasses import dataclass

from pydplib.anonymity import Dates, Hierarchy, Intervals, TableHierarchy
from pydplib.errors import HierarchyError
from pydplib.schema import Column, Schema
from pydplib.web.exports.plans import ExportPlan

MOST_BYTES = 300_000
MOST_ROWS = 5_000
MOST_LEVELS = 12
MOST_LETTERS = 120
UNITS = ("month", "quarter", "year", "decade")
SHOWN = 12


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownTree:
    """A hierarchy on the page.

    Args:
        name: The field.
        title: Its words.
        kind: ``"table"`` (one line per value), ``"intervals"`` (widths) or ``"dates"`` (units).
        text: What is edited.
        heads: The levels.
        rows: Some values with their labels.
        more: How many values are not shown; none if they cannot be counted.
        own: Whether the owner changed it.
        open_top: Whether its last level has more than one label.
    """

    name: str
    title: str
    kind: str
    text: str
    heads: tuple[str, ...]
    rows: tuple[tuple[object, ...], ...]
    more: int | None
    own: bool
    open_top: bool


def show(plan: ExportPlan, name: str, schema: Schema) -> ShownTree:
    """Return the hierarchy of a field as the page shows it. It comes from the schema or the owner, never from data."""
    tree, column = plan.hierarchy(name, schema), schema.columns[name]
    kind, text, leaves = "table", "", list(column.samples)
    if isinstance(tree, Intervals):
        kind, text = "intervals", ", ".join(f"{width:g}" for width in tree.widths)
    elif isinstance(tree, Dates):
        kind, text = "dates", ", ".join(tree.units)
    elif isinstance(tree, TableHierarchy):
        text, leaves = to_text(tree), list(tree.leaves)
    step = max(1, -(-len(leaves) // SHOWN)) if kind != "table" else 1
    some = leaves[::step][:SHOWN]
    rows = tuple(tuple(_cell(label) for label in tree.labels(leaf)) for leaf in some)
    tops = {row[-1] for row in rows}
    return ShownTree(
        name=name,
        title=column.title or name,
        kind=kind,
        text=text,
        heads=("Value", *(f"Level {number}" for number in range(1, tree.height + 1))),
        rows=rows,
        more=len(leaves) - len(some) if kind == "table" else None,
        own=name in plan.hierarchies,
        open_top=len(tops) > 1,
    )


def _cell(label: object) -> object:
    if isinstance(label, bool):  # as the table will have it, and in plain words
        return "True (yes)" if label else "False (no)"
    return label.isoformat() if isinstance(label, dt.date) else label


def to_text(tree: TableHierarchy) -> str:
    """Return a table as ARX writes it: one value per line, its labels after it, semicolons between."""
    out = io.StringIO()
    rows = [["" if cell is None else cell for cell in row] for row in tree.rows]
    csv.writer(out, delimiter=";", lineterminator="\n").writerows(rows)
    return out.getvalue()


def read_edit(kind: str, text: str, column: Column) -> Hierarchy:
    """Read what was typed: a table, widths or units.

    Raises:
        HierarchyError: It cannot be read, or values that the template declares are missing.
    """
    if kind == "intervals":
        return _intervals(text, column)
    if kind == "dates":
        return _dates(text, column)
    return read_table(text, column)


def read_upload(raw: bytes, column: Column) -> TableHierarchy:
    """Read a hierarchy file in ARX's format."""
    if len(raw) > MOST_BYTES:
        raise HierarchyError(f"A hierarchy file has at most {MOST_BYTES // 1000} kB.")
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError:
        text = raw.decode("latin-1")
    return read_table(text, column)


def read_table(text: str, column: Column) -> TableHierarchy:
    """Read a table: one value per line, its labels from fine to coarse, separated by semicolons (or commas, tabs)."""
    if len(text) > MOST_BYTES:
        raise HierarchyError("The table is too long.")
    lines = [line for line in text.splitlines() if line.strip()]
    if not lines:
        raise HierarchyError("The table is empty. Write one value per line: value;label;*")
    if len(lines) > MOST_ROWS:
        raise HierarchyError(f"The table has more than {MOST_ROWS} lines.")
    mark = max(";,\t|", key=lambda each: (lines[0].count(each), each == ";"))
    try:
        rows = [[cell.strip() for cell in row] for row in csv.reader(lines, delimiter=mark)]
    except csv.Error:
        raise HierarchyError("The table cannot be read as values with semicolons between.") from None
    if any(len(cell) > MOST_LETTERS or not cell.isprintable() for row in rows for cell in row):
        raise HierarchyError(f"A label has at most {MOST_LETTERS} printable letters.")
    if len(rows[0]) > MOST_LEVELS + 1 or len(rows[0]) < 2:
        raise HierarchyError(f"A line has a value and 1 to {MOST_LEVELS} labels: value;label;*")
    tree = TableHierarchy(rows)
    _check_nested(rows)
    _check_covers(tree, column)
    return tree


def _check_nested(rows: Sequence[Sequence[str]]) -> None:
    """What was one label on a level must be one label on the next: else coarser would not be safer."""
    for level in range(1, len(rows[0]) - 1):
        above: dict[str, str] = {}
        for line, row in enumerate(rows, start=1):
            if above.setdefault(row[level], row[level + 1]) != row[level + 1]:
                raise HierarchyError(
                    f"Line {line}: values with one label on level {level} have different labels on level {level + 1}."
                )


def _check_covers(tree: TableHierarchy, column: Column) -> None:
    missing = [value for value in column.listed if tree.row_of(value) is None]
    if missing:
        some = ", ".join(str(value) for value in missing[:5])
        raise HierarchyError(f"The table misses {len(missing)} values that the template declares, such as {some}.")


def _intervals(text: str, column: Column) -> Intervals:
    try:
        widths = [float(part) for part in text.replace(";", ",").split(",") if part.strip()]
    except ValueError:
        raise HierarchyError("Widths are numbers with commas between, such as 5, 10, 20.") from None
    if not 1 <= len(widths) <= MOST_LEVELS:
        raise HierarchyError(f"Give 1 to {MOST_LEVELS} widths.")
    automatic = column.hierarchy or {}
    if automatic.get("kind") != "intervals":
        raise HierarchyError("This field has no intervals: give a table.")
    whole = column.is_whole
    if whole and not all(width.is_integer() for width in widths):
        raise HierarchyError("The field has whole numbers: so must the widths.")
    steps = [int(width) if width.is_integer() else width for width in widths]
    return Intervals(automatic["low"], automatic["high"], steps, whole=whole or None, outside="clamp")


def _dates(text: str, column: Column) -> Dates:
    automatic = column.hierarchy or {}
    if automatic.get("kind") != "dates":
        raise HierarchyError("This field has no dates: give a table.")
    wanted = {part.strip().lower() for part in text.replace(";", ",").split(",") if part.strip()}
    if not wanted or not wanted <= set(UNITS):
        raise HierarchyError(f"Steps of dates are some of: {', '.join(UNITS)}.")
    units = [unit for unit in UNITS if unit in wanted]
    return Dates(automatic["low"], automatic["high"], units=units, outside="clamp")
