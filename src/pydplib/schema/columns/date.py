"""A day between two public days."""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass
from typing import Any

from pydplib.errors import QuestionError, SchemaError
from pydplib.schema.cells import DayCell, Scalar, Storage
from pydplib.schema.columns.base import Label, Spelling, plain_value
from pydplib.schema.columns.ranged import Ranged
from pydplib.schema.formulas import FormulaStep


def day_number(day: dt.date | str) -> int:
    """Return the days since 1970-01-01: the number that stands for a date in every engine.

    Examples:
        >>> day_number("1970-01-31")
        30
    """
    if isinstance(day, str):
        try:
            day = dt.date.fromisoformat(day)
        except ValueError:
            raise QuestionError("A day is written like '2017-01-31'.") from None
    if isinstance(day, dt.datetime):
        day = day.date()
    return (day - dt.date(1970, 1, 1)).days


@dataclass(frozen=True, slots=True)
class Date(Ranged):
    """A day between two public days; days outside are clamped.

    Examples:
        >>> Date("2017-01-01", "2018-12-31").width
        729
    """

    kind = "date"
    example = "Date(low, high)"
    widget = "date"
    hint = "A day is written like 2018-01-31."
    cell_words = "a day (2018-12-31 or 31.12.2018)"
    is_whole = True

    low: dt.date
    high: dt.date
    _: KW_ONLY
    label: Label = "quasi"
    title: str = ""
    derived: str | FormulaStep = ""

    def __post_init__(self) -> None:
        for name in ("low", "high"):
            value = plain_value(getattr(self, name))
            if isinstance(value, str):
                try:
                    value = dt.date.fromisoformat(value)
                except ValueError:
                    raise SchemaError(f"Date's {name} must be a day such as '2017-01-01'.") from None
            elif isinstance(value, dt.datetime):
                value = value.date()
            if not isinstance(value, dt.date):
                raise SchemaError("Date needs public bounds, Date('2017-01-01', '2018-12-31').")
            object.__setattr__(self, name, value)
        if not self.low < self.high:
            raise SchemaError("Date needs low < high.")
        self._check_words("title")

    @property
    def width(self) -> int:
        """The number of days between the bounds."""
        return (self.high - self.low).days

    @property
    def cell(self) -> DayCell:
        """A clamped day."""
        return DayCell(self.low, self.high)

    @property
    def storage(self) -> Storage:
        """A date."""
        return "date"

    @property
    def spelling(self) -> Spelling:
        """A day."""
        return "day"

    def code(self, value: Scalar | dt.date) -> float:
        """Return the days since 1970-01-01."""
        return float(day_number(value))  # type: ignore[arg-type]

    @property
    def number_unit(self) -> str:
        """Days are counted from 1970 on."""
        return "days since 1970-01-01"

    @property
    def width_unit(self) -> str:
        """Days."""
        return "days"

    def default_bins(self) -> tuple[str, ...]:
        """Return about twelve bins of whole days."""
        days = max(1, math.ceil(self.width / 12))
        found = [self.low + dt.timedelta(days=days * i) for i in range(math.ceil(self.width / days))]
        return tuple(day.isoformat() for day in (*found, self.high))

    def even_bins(self, count: int) -> tuple[str, ...]:
        """Return bins of even width, cut at midnight."""
        if count > self.width:
            raise QuestionError(f"bins={count} is more than the {self.width} days between the declared bounds.")
        ends = (self.low + dt.timedelta(days=round(i * self.width / count)) for i in range(count + 1))
        return tuple(day.isoformat() for day in ends)

    def ordered_value(self, name: str, value: Scalar) -> Scalar:
        """Return a day as it is written."""
        if not isinstance(value, str):
            raise QuestionError(f"Column '{name}' holds days: write them like '2017-01-31'.")
        day_number(value)
        return value

    def read(self, text: str) -> str:
        """Read a day."""
        return dt.date.fromisoformat(text).isoformat()

    def unreadable(self, text: str) -> str:
        """Say how days are written."""
        return "holds days, written like 2017-01-31."

    @classmethod
    def number_of_text(cls, text: str) -> float | None:
        """Return the days since 1970-01-01 of a text such as 2017-01-31."""
        try:
            return float(day_number(text))
        except QuestionError:
            return None

    @property
    def hierarchy(self) -> Mapping[str, Any]:
        """Months, quarters, years."""
        return {"kind": "dates", "low": self.low, "high": self.high}

    @property
    def samples(self) -> tuple[dt.date, ...]:
        """Six days from end to end."""
        return tuple(self.low + dt.timedelta(days=self.width * part // 5) for part in range(6))

    @classmethod
    def propose(cls, storage: Storage, *, few: bool) -> tuple[str, ...] | None:
        """Propose a day for dates and points in time."""
        return cls.entry_lines() if storage in ("date", "timestamp") else None

    @classmethod
    def entry_lines(cls, *, few: bool = False) -> tuple[str, ...]:
        """Return the entry with its bounds left empty."""
        return ('kind = "date"', 'low = ""  # first possible day, e.g. "2017-01-01"', 'high = ""  # last possible day')
