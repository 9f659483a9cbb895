"""What kinds share whose values lie between two public ends: bounds, comparisons, bins of round numbers."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any, ClassVar

from pydplib.errors import QuestionError, SchemaError, shown
from pydplib.schema.cells import Scalar
from pydplib.schema.columns.base import Column, Operator, Spelling, is_finite


class Ranged(Column):
    """A column between two public ends ``low`` and ``high``; values outside are clamped.

    A kind that extends it says its ``cell``, and with ``ordered_value`` how a value in a condition is written.
    """

    __slots__ = ()

    needed: ClassVar[tuple[str, ...]] = ("low", "high")
    operators: ClassVar[tuple[Operator, ...]] = (
        "between", "at_least", "at_most", "more_than", "less_than", "is_present", "is_missing"
    )  # fmt: skip
    is_ranged: ClassVar[bool] = True

    low: Any
    high: Any

    @property
    def ends(self) -> tuple[Any, Any]:
        """The two ends."""
        return self.low, self.high

    def ordered_value(self, name: str, value: Scalar) -> Scalar:
        """Return a value of a condition in its one spelling.

        Raises:
            QuestionError: It is no value of this kind.
        """
        raise NotImplementedError

    def code(self, value: Scalar) -> float:
        """Return the value as a number."""
        return float(value)

    def _compared(self, name: str, op: Operator, values: tuple[Scalar, ...]) -> tuple[Operator, tuple[Scalar, ...]]:
        found = [self.ordered_value(name, value) for value in values]
        if op == "between" and self.code(found[0]) > self.code(found[1]):
            raise QuestionError(f"between(low, high) on column '{name}' needs low <= high.")
        if op in ("is_in", "not_in"):
            found = sorted(set(found), key=lambda value: (isinstance(value, str), value))
        return op, tuple(found)

    @property
    def facts(self) -> str:
        """The ends, and the unit."""
        return f"{self.low} to {self.high} {self.bin_unit}".rstrip()


class Numeric(Ranged):
    """What numbers and whole numbers share."""

    __slots__ = ()

    widget = "number"
    hint = "Give a number, with a point before decimals."
    cell_words = "a number"
    holds_numbers = True
    has_average = True

    def _check_bounds(self) -> None:
        kind = type(self).__name__
        for name, value in (("low", self.low), ("high", self.high)):
            if not is_finite(value):
                raise SchemaError(
                    f"{kind} needs finite public bounds, {kind}(low, high); {name} is {shown(value)}. "
                    "Bounds come from what is medically possible, never from the data."
                )
        if not self.low < self.high:
            raise SchemaError(f"{kind} needs low < high. Got low={shown(self.low)}, high={shown(self.high)}.")
        if not is_finite(self.high - self.low):
            raise SchemaError(f"{kind}'s bounds are too far apart to compute with. Choose what is really possible.")

    @property
    def spelling(self) -> Spelling:
        """A number."""
        return "number"

    def ordered_value(self, name: str, value: Scalar) -> Scalar:
        """Return a number in one spelling: 60 and 60.0 are one question, and must hash as one."""
        if isinstance(value, bool | str) or not math.isfinite(value):
            raise QuestionError(f"Column '{name}' holds numbers; the condition has another kind.")
        return int(value) if float(value).is_integer() else float(value)

    def read(self, text: str) -> Scalar:
        """Read a number."""
        number = float(text)
        if not math.isfinite(number):
            raise ValueError
        return int(number) if number.is_integer() else number

    def unreadable(self, text: str) -> str:
        """Say that it is no number."""
        return f"holds numbers; '{text}' is none."

    def default_bins(self) -> tuple[Scalar, ...]:
        """Return about ten bins at round numbers."""
        low, high = Fraction(str(self.low)), Fraction(str(self.high))
        target = (high - low) / 12
        power = math.floor(math.log10(float(target)))
        widths = [digit * Fraction(10) ** e for e in (power, power + 1) for digit in (1, 2, 5)]
        width = min(w for w in widths if w >= target)
        if self.is_whole:
            width = Fraction(max(1, math.ceil(width)))
        first = math.floor(low / width) + 1
        inner = [i * width for i in range(first, math.ceil(high / width)) if low < i * width < high]
        # A narrow rest at an end would look like a gap in the figure: it joins its neighbour.
        inner = [edge for edge in inner if min(edge - low, high - edge) >= width / 2] or inner
        return tuple(_tidy(edge) for edge in (low, *inner, high))

    def even_bins(self, count: int) -> tuple[Scalar, ...]:
        """Return bins of even width."""
        low, width = Fraction(str(self.low)), Fraction(str(self.high)) - Fraction(str(self.low))
        return tuple(_tidy(low + width * i / count) for i in range(count + 1))


def _tidy(number: Fraction) -> float:
    return int(number) if number.denominator == 1 else float(number)
