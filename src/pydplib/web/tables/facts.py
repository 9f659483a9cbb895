"""Public facts of a column as an owner types them in one line: ``0 to 100``, ``standard, intensified``."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import fields
from typing import Any

from pydplib.errors import SchemaError, did_you_mean
from pydplib.schema import COLUMN_KINDS, Column, Label
from pydplib.schema.columns.base import column_from_dict
from pydplib.tables.cells import day_text, number_text

KIND_WORDS: Mapping[str, str] = {
    "number": "Number",
    "integer": "Whole number",
    "category": "Category",
    "flag": "Yes or no",
    "date": "Day",
}
"""The words of column kinds; a kind that is not here is called by its own name."""


def kind_choices() -> list[tuple[str, str]]:
    """Return the kinds that can be asked as (kind, words).

    Examples:
        >>> kind_choices()[0]
        ('number', 'Number')
    """
    asked = [kind for kind, shape in COLUMN_KINDS.items() if shape.can_be_asked]
    order = [*KIND_WORDS, *(kind for kind in asked if kind not in KIND_WORDS)]
    return [(kind, KIND_WORDS.get(kind, kind.capitalize())) for kind in order if kind in asked]


def read_column(
    name: str, kind: str, facts: str, *, label: Label, title: str = "", unit: str = "", derived: str = ""
) -> Column:
    """Return a column as its owner typed it.

    Args:
        name: Its name, for messages.
        kind: One of ``COLUMN_KINDS``.
        facts: Its bounds or values in one line; empty where the kind has none.
        label: How much it gives away.
        title: Its words for readers.
        unit: The unit of its numbers.
        derived: Its formula, if it is computed.

    Raises:
        SchemaError: In plain words, what is missing or wrong.

    Examples:
        >>> read_column("psa", "number", "0 to 100", label="sensitive", unit="ng/ml").facts
        '0 to 100 ng/ml'
        >>> read_column("arm", "category", "standard, intensified", label="sensitive").facts
        'standard, intensified'
    """
    if kind not in COLUMN_KINDS or not COLUMN_KINDS[kind].can_be_asked:
        raise SchemaError(f"'{name}': choose what kind of column it is.{did_you_mean(kind, COLUMN_KINDS)}")
    shape: Any = COLUMN_KINDS[kind]
    known = {spec.name for spec in fields(shape)}
    entry: dict[str, object] = {"kind": kind, "label": label, "title": title}
    if "unit" in known:
        entry["unit"] = unit
    if derived:
        entry["derived"] = derived
    if "values" in shape.needed:
        entry["values"] = _values(name, facts)
    elif set(shape.needed) >= {"low", "high"}:
        entry["low"], entry["high"] = _ends(name, facts)
    return column_from_dict(name, entry)


def facts_text(column: Column) -> str:
    """Return the bounds or values of a column in the line that ``read_column`` reads.

    Examples:
        >>> from pydplib.schema import Category, Flag, Integer
        >>> facts_text(Integer(0, 60, unit="months")), facts_text(Category(["a", "b"])), facts_text(Flag())
        ('0 to 60', 'a, b', '')
    """
    if "values" in column.needed:
        return ", ".join(str(value) for value in column.choices)
    ends = column.ends
    return "" if ends is None else f"{column.write(ends[0])} to {column.write(ends[1])}"


def _ends(name: str, facts: str) -> tuple[Any, Any]:
    parts = [
        part.strip() for part in re.split(r"\s+(?:to|bis|and|und)\s+|\s*\.\.\s*|\s*;\s*|\s+[-–]\s+", facts.strip())
    ]
    if len(parts) != 2 or not all(parts):
        raise SchemaError(f"'{name}': type the lowest and the highest possible value, such as 0 to 100.")
    return _end(parts[0]), _end(parts[1])


def _end(text: str) -> Any:
    word = number_text(text, "either")
    try:
        number = float(word)
    except ValueError:
        return day_text(text)
    return int(number) if number.is_integer() and abs(number) < 1e15 else number


def _values(name: str, facts: str) -> list[Any]:
    values: list[Any] = [part.strip() for part in re.split(r"[,;]", facts) if part.strip()]
    if not values:
        raise SchemaError(f"'{name}': type its possible values, with commas between.")
    if all(re.fullmatch(r"-?[0-9]{1,15}", value) for value in values):
        return [int(value) for value in values]
    return values
