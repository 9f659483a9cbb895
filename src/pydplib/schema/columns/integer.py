"""A whole number between two public bounds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Any

from pydplib.errors import SchemaError
from pydplib.schema.cells import NumberCell, Scalar, Storage
from pydplib.schema.columns.base import Label
from pydplib.schema.columns.ranged import Numeric
from pydplib.schema.formulas import FormulaStep

MOST_KEYS = 50
"""Whole numbers up to so far apart are groups of their own; wider columns are grouped by bins."""


@dataclass(frozen=True, slots=True)
class Integer(Numeric):
    """A whole number between two public bounds; values outside are clamped.

    Examples:
        >>> Integer(0, 10).width
        10
    """

    kind = "integer"
    example = "Integer(low, high)"
    is_whole = True
    takes_unknown_keys = True

    low: int
    high: int
    _: KW_ONLY
    unit: str = ""
    label: Label = "quasi"
    title: str = ""
    derived: str | FormulaStep = ""

    def __post_init__(self) -> None:
        self._set_plain("low", "high")
        self._check_bounds()
        if int(self.low) != self.low or int(self.high) != self.high:
            raise SchemaError("Integer needs whole bounds; use Number for decimals.")
        object.__setattr__(self, "low", int(self.low))
        object.__setattr__(self, "high", int(self.high))
        self._check_words("unit", "title")

    @property
    def width(self) -> int:
        """The distance between the bounds."""
        return self.high - self.low

    @property
    def step(self) -> int:
        """The grid of whole numbers."""
        return 1

    @property
    def cell(self) -> NumberCell:
        """A clamped number, rounded to a whole one."""
        return NumberCell(float(self.low), float(self.high), whole=True)

    @property
    def storage(self) -> Storage:
        """A whole number."""
        return "integer"

    @property
    def listed(self) -> Sequence[Scalar]:
        """Every number between the bounds."""
        return range(self.low, self.high + 1)

    @property
    def is_binned(self) -> bool:
        """Whether there are too many numbers for a group each."""
        return self.width >= MOST_KEYS

    @property
    def hierarchy(self) -> Mapping[str, Any]:
        """Intervals of whole numbers."""
        return {"kind": "intervals", "low": self.low, "high": self.high, "whole": True}

    @classmethod
    def propose(cls, storage: Storage, *, few: bool) -> tuple[str, ...] | None:
        """Propose a whole number for what is stored as one."""
        return cls.entry_lines(few=few) if storage == "integer" else None

    @classmethod
    def entry_lines(cls, *, few: bool = False) -> tuple[str, ...]:
        """Return the entry with its bounds left empty."""
        hint = '  # or "category" with values = [1, 2, 3]' if few else ""
        return (f'kind = "integer"{hint}', 'low = ""  # smallest possible value', 'high = ""  # largest possible value')
