"""A real number between two public bounds."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass
from typing import Any

from pydplib.errors import SchemaError
from pydplib.schema.cells import NumberCell, Storage
from pydplib.schema.columns.base import Label, is_finite
from pydplib.schema.columns.ranged import Numeric
from pydplib.schema.formulas import FormulaStep


@dataclass(frozen=True, slots=True)
class Number(Numeric):
    """A real number between two public bounds; values outside are clamped.

    Args:
        low: Smallest possible value.
        high: Largest possible value.
        unit: Unit for tables and axes, e.g. ``"years"``.
        step: The public grid of quantiles; by default 1/1000 of the range or finer.
        label: How much the column gives away.
        title: The column's name for readers.
        derived: How it is computed from other columns, e.g. ``"psa / volume"``; empty where the table holds it.

    Examples:
        >>> Number(18, 100, unit="years").width
        82
    """

    kind = "number"
    example = "Number(low, high)"

    low: float
    high: float
    _: KW_ONLY
    unit: str = ""
    step: float | None = None
    label: Label = "quasi"
    title: str = ""
    derived: str | FormulaStep = ""

    def __post_init__(self) -> None:
        self._set_plain("low", "high", "step")
        self._check_bounds()
        if self.step is not None and not (is_finite(self.step) and 0 < self.step <= self.high - self.low):
            raise SchemaError("Number's step must be positive and no wider than the bounds.")
        self._check_words("unit", "title")

    @property
    def width(self) -> float:
        """The distance between the bounds."""
        return self.high - self.low

    @property
    def cell(self) -> NumberCell:
        """A clamped number."""
        return NumberCell(float(self.low), float(self.high))

    @property
    def storage(self) -> Storage:
        """A double."""
        return "float"

    @property
    def grid(self) -> float | None:
        """The declared step."""
        return self.step

    @property
    def hierarchy(self) -> Mapping[str, Any]:
        """Intervals, of whole numbers where the declared step is one."""
        whole = self.step is not None and float(self.step).is_integer() and float(self.low).is_integer()
        return {"kind": "intervals", "low": self.low, "high": self.high, "whole": whole}

    @property
    def samples(self) -> tuple[float, ...]:
        """Seven numbers from end to end."""
        low, high = float(self.low), float(self.high)
        return tuple(low + (high - low) * part / 6 for part in range(7))

    @classmethod
    def propose(cls, storage: Storage, *, few: bool) -> tuple[str, ...] | None:
        """Propose a number for what is stored with decimals."""
        return cls.entry_lines(few=few) if storage in ("float", "decimal") else None

    @classmethod
    def entry_lines(cls, *, few: bool = False) -> tuple[str, ...]:
        """Return the entry with its bounds left empty."""
        return (
            'kind = "number"', 'low = ""  # smallest possible value', 'high = ""  # largest possible value',
            '# unit = ""', "# step = 1  # the grid of medians and sums, if the values have one",
        )  # fmt: skip
