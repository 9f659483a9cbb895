"""One of a public list of values."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from pydplib.errors import QuestionError, SchemaError, did_you_mean
from pydplib.schema.cells import CodeCell, Scalar, Storage
from pydplib.schema.columns.base import (
    ORDER_OPERATORS,
    OTHER,
    Column,
    Label,
    Operator,
    Spelling,
    plain_value,
    same_scalar,
)
from pydplib.schema.formulas import FormulaStep


@dataclass(frozen=True, slots=True)
class Category(Column):
    """One of a public list of values; anything else counts as "other".

    Args:
        values: The possible values, in the order in which figures show them.
        ordered: Whether the order carries meaning (PI-RADS 1 to 5 does).
        label: How much the column gives away.
        title: The column's name for readers.
        derived: How it is computed from other columns, e.g. ``"psa / volume"``; empty where the table holds it.

    Examples:
        >>> Category([1, 2, 3, 4, 5]).values
        (1, 2, 3, 4, 5)
    """

    kind = "category"
    example = "Category([...])"
    needed = ("values",)
    operators = ("is_in", "not_in", "is_present", "is_missing")
    widget = "choices"
    has_other = True

    values: tuple[Scalar, ...]
    ordered: bool = False
    label: Label = "quasi"
    title: str = ""
    derived: str | FormulaStep = ""

    def __init__(
        self,
        values: Iterable[Scalar],
        *,
        ordered: bool = False,
        label: Label = "quasi",
        title: str = "",
        derived: str | FormulaStep = "",
    ) -> None:
        if isinstance(values, str | bytes) or not isinstance(values, Iterable):
            raise SchemaError("Category needs a list of its public values, e.g. Category(['y', 'n']).")
        object.__setattr__(self, "values", tuple(plain_value(value) for value in values))
        object.__setattr__(self, "ordered", ordered)
        object.__setattr__(self, "label", label)
        object.__setattr__(self, "title", title)
        object.__setattr__(self, "derived", derived)
        if not self.values:
            raise SchemaError("Category needs its public values, e.g. Category(['y', 'n']).")
        for value in self.values:
            if not isinstance(value, str | int | float | bool) or value != value:
                raise SchemaError("A category's values are texts, numbers or truth values, and not missing.")
        if len({(isinstance(value, str), value) for value in self.values}) != len(self.values):
            raise SchemaError("A category lists each value once.")
        if not isinstance(self.ordered, bool):
            raise SchemaError("ordered must be true or false.")
        self._check_words("title")

    def code(self, value: Scalar) -> int:
        """Return the position of a value in the public list; "other" follows the last, unless it is listed."""
        return len(self.values) if value == OTHER and OTHER not in self.values else self.values.index(value)

    @property
    def cell(self) -> CodeCell:
        """The position in the list, or that of "other"."""
        return CodeCell.of(zip(self.values, range(len(self.values)), strict=True), other=self.code(OTHER))

    @property
    def storage(self) -> Storage:
        """Whole numbers where all values are, else text."""
        return "integer" if all(isinstance(value, int) for value in self.values) else "text"

    @property
    def spelling(self) -> Spelling:
        """Numbers, if all values are."""
        return "number" if all(isinstance(value, int | float) for value in self.values) else "text"

    @property
    def choices(self) -> tuple[Scalar, ...]:
        """The declared values."""
        return self.values

    @property
    def spelled_values(self) -> tuple[Scalar, ...]:
        """The declared values, and "other"."""
        return (*self.values, OTHER)

    @property
    def facts(self) -> str:
        """The values, the first seven of many."""
        values = [str(value) for value in self.values]
        return ", ".join(values) if len(values) <= 8 else f"{', '.join(values[:7])}, ... ({len(values)} values)"

    def _compared(self, name: str, op: Operator, values: tuple[Scalar, ...]) -> tuple[Operator, tuple[Scalar, ...]]:
        known: list[Scalar] = list(self.values)
        if OTHER not in known:
            known.append(OTHER)
        positions = []
        for value in values:
            if not any(same_scalar(value, item) for item in known):
                raise QuestionError(f"'{value}' is no declared value of column '{name}'.{did_you_mean(value, known)}")
            positions.append(next(i for i, item in enumerate(known) if same_scalar(value, item)))
        if op in ORDER_OPERATORS:
            return "is_in", tuple(known[i] for i in self._ordered_positions(name, op, positions))
        return op, tuple(known[i] for i in sorted(set(positions)))

    def _ordered_positions(self, name: str, op: Operator, positions: list[int]) -> list[int]:
        values = self.values
        numeric = all(isinstance(v, int | float) and not isinstance(v, bool) for v in values)
        if not (self.ordered or numeric) or any(i >= len(values) for i in positions):
            raise QuestionError(
                f"Column '{name}' has no order, so '{op}' has no meaning; use is_in([...]), "
                "or declare Category([...], ordered=True)."
            )
        rank: dict[int, float] = {
            i: float(i) if self.ordered else float(v)
            for i, v in enumerate(values)  # the list's order, or size
        }
        first, last = rank[positions[0]], rank[positions[-1]]
        low = first if op in ("between", "at_least", "more_than") else -math.inf
        high = last if op in ("between", "at_most", "less_than") else math.inf
        open_ends = {"more_than": {first}, "less_than": {last}}.get(op, set())
        return [i for i in range(len(values)) if low <= rank[i] <= high and rank[i] not in open_ends]

    @property
    def hierarchy(self) -> Mapping[str, Any]:
        """The values, in their order where it carries meaning."""
        return {"kind": "values", "values": self.values, "ordered": self.ordered}

    @classmethod
    def propose(cls, storage: Storage, *, few: bool) -> tuple[str, ...] | None:
        """Propose a category for a text with few different values."""
        return cls.entry_lines() if few and storage in ("text", "unsupported") else None

    @classmethod
    def entry_lines(cls, *, few: bool = False) -> tuple[str, ...]:
        """Return the entry with its values left empty."""
        return ('kind = "category"', 'values = []  # every possible value; others count as "other"')
