"""Yes or no."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pydplib.errors import QuestionError
from pydplib.schema.cells import CodeCell, Scalar, Storage
from pydplib.schema.columns.base import Column, Label, Operator, Spelling
from pydplib.schema.formulas import FormulaStep
from pydplib.tables.cells import truth_of


@dataclass(frozen=True, slots=True)
class Flag(Column):
    """Yes or no.

    Examples:
        >>> Flag().values
        (False, True)
    """

    kind = "flag"
    example = "Flag()"
    operators = ("is_in", "not_in", "is_present", "is_missing")
    widget = "choices"
    cell_words = "yes or no (true/false, ja/nein, 1/0)"
    has_average = True  # the share of yes
    is_whole = True

    label: Label = "quasi"
    title: str = ""
    derived: str | FormulaStep = ""

    def __post_init__(self) -> None:
        self._check_words("title")

    @property
    def values(self) -> tuple[bool, bool]:
        """The two values."""
        return (False, True)

    @property
    def cell(self) -> CodeCell:
        """1 for yes, 0 for no."""
        return CodeCell.of(((True, 1), (False, 0)))

    @property
    def storage(self) -> Storage:
        """A truth value."""
        return "flag"

    @property
    def spelling(self) -> Spelling:
        """Words for yes and no."""
        return "truth"

    def code(self, value: Scalar) -> int:
        """Return 1 for yes, 0 for no."""
        return int(bool(value))

    @property
    def choices(self) -> tuple[bool, bool]:
        """No and yes."""
        return self.values

    @property
    def number_bounds(self) -> tuple[float, float]:
        """0 and 1: an average is the share of yes."""
        return 0.0, 1.0

    def even_bins(self, count: int) -> tuple[Scalar, ...]:
        """Refuse: there are two values already."""
        raise QuestionError("bins= is for numbers and days; a yes/no column has two values already.")

    def _compared(self, name: str, op: Operator, values: tuple[Scalar, ...]) -> tuple[Operator, tuple[Scalar, ...]]:
        if op not in ("is_in", "not_in") or not all(value in (True, False) for value in values):
            raise QuestionError(f"Column '{name}' is yes or no: use eq(True), eq(False) or is_missing().")
        return op, tuple(flag for flag in (False, True) if flag in values)

    def read(self, text: str) -> bool:
        """Read yes or no."""
        found = truth_of(text)
        if found is None:
            raise ValueError
        return found

    def unreadable(self, text: str) -> str:
        """Say that it is neither."""
        return f"is yes or no; '{text}' is neither."

    @property
    def hierarchy(self) -> Mapping[str, Any]:
        """The two values."""
        return {"kind": "values", "values": self.values, "ordered": False}

    @classmethod
    def propose(cls, storage: Storage, *, few: bool) -> tuple[str, ...] | None:
        """Propose a flag for truth values."""
        return cls.entry_lines() if storage == "flag" else None
