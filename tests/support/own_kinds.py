"""Two column kinds that pydplib does not have: a time of day, and a score stored as text such as 3/5.

Everything that the product needs to know about them stands here: no other file mentions them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import pydplib as dp
from pydplib.engine import Bins, Measure, Plan, number_bounds
from pydplib.errors import QuestionError, SchemaError
from pydplib.schema import Column, Label, Operator, Ranged, Scalar, forget_kind, register_kind
from pydplib.schema.cells import CodeCell, CodedChoice, PartsCell

FORM = "^([01][0-9]|2[0-3]):[0-5][0-9]$"


@dataclass(frozen=True, slots=True)
class TimeOfDay(Ranged):
    """A time of day such as 08:30, between two public times; others are clamped."""

    kind = "time of day"
    example = "TimeOfDay(low, high)"
    widget = "time"
    hint = "A time is written like 08:30."
    cell_words = "a time of day (08:30)"
    guess_pattern = FORM
    has_average = True
    is_whole = True

    low: str
    high: str
    label: Label = "quasi"
    title: str = ""

    def __post_init__(self) -> None:
        if not all(isinstance(end, str) and re.fullmatch(FORM, end) for end in (self.low, self.high)):
            raise SchemaError("TimeOfDay needs public bounds, TimeOfDay('07:00', '19:00').")
        if not self.low < self.high:
            raise SchemaError("TimeOfDay needs low < high.")
        self._check_words("title")

    @property
    def cell(self) -> PartsCell:
        return PartsCell(FORM, ((1, 2, 60), (4, 2, 1)), self.code(self.low), self.code(self.high))

    @classmethod
    def number_of_text(cls, text: str) -> float | None:
        return 60.0 * int(text[:2]) + int(text[3:]) if re.fullmatch(FORM, text) else None

    def code(self, value: Scalar) -> float:
        minutes = self.number_of_text(str(value))
        assert minutes is not None
        return minutes

    @property
    def number_unit(self) -> str:
        return "minutes since midnight"

    @property
    def width_unit(self) -> str:
        return "minutes"

    def ordered_value(self, name: str, value: Scalar) -> Scalar:
        if not isinstance(value, str) or not re.fullmatch(FORM, value):
            raise QuestionError(f"Column '{name}' holds times: write them like '08:30'.")
        return value

    def read(self, text: str) -> str:
        if not re.fullmatch(FORM, text):
            raise ValueError
        return text

    def unreadable(self, text: str) -> str:
        return "holds times, written like 08:30."

    def default_bins(self) -> tuple[str, ...]:
        inner = [f"{hour:02}:00" for hour in range(24) if self.low < f"{hour:02}:00" < self.high]
        return (self.low, *inner, self.high)

    @property
    def hierarchy(self) -> Mapping[str, Any]:
        minutes = range(int(self.code(self.low)), int(self.code(self.high)) + 1)
        return {"kind": "table", "rows": [[f"{m // 60:02}:{m % 60:02}", f"{m // 60:02} h", "*"] for m in minutes]}

    @property
    def samples(self) -> tuple[str, ...]:
        return (self.low, self.high)


@dataclass(frozen=True, slots=True)
class Score(Column):
    """A whole number from 1 to ``top``, written "3/5"; anything else is missing."""

    kind = "score"
    example = "Score(top)"
    needed = ("top",)
    operators = ("is_in", "not_in", "is_present", "is_missing")
    widget = "choices"
    cell_words = "a score (3/5)"
    has_average = True
    is_whole = True

    top: int
    label: Label = "sensitive"
    title: str = ""

    def __post_init__(self) -> None:
        self._set_plain("top")
        if isinstance(self.top, bool) or not isinstance(self.top, int) or not 2 <= self.top <= 20:
            raise SchemaError("Score needs its top, a whole number from 2 to 20.")
        self._check_words("title")

    @property
    def cell(self) -> CodeCell:
        return CodeCell(tuple(CodedChoice(self.code(text), (text,)) for text in self.choices))

    @property
    def choices(self) -> tuple[str, ...]:
        return tuple(f"{number}/{self.top}" for number in range(1, self.top + 1))

    @property
    def spelled_values(self) -> tuple[str, ...]:
        return self.choices

    def code(self, value: Scalar) -> int:
        return int(str(value).split("/")[0])

    @property
    def number_bounds(self) -> tuple[float, float]:
        return 1.0, float(self.top)

    @property
    def facts(self) -> str:
        return f"1/{self.top} to {self.top}/{self.top}"

    def _compared(self, name: str, op: Operator, values: tuple[Scalar, ...]) -> tuple[Operator, tuple[Scalar, ...]]:
        if op not in ("is_in", "not_in") or not set(values) <= set(self.choices):
            raise QuestionError(f"Column '{name}' holds scores such as '3/{self.top}': use is_in([...]).")
        return op, tuple(text for text in self.choices if text in values)

    @property
    def hierarchy(self) -> Mapping[str, Any]:
        return {"kind": "values", "values": self.choices, "ordered": True}


@contextmanager
def own_kinds() -> Iterator[None]:
    """Register both kinds, for as long as the context is open."""
    register_kind(TimeOfDay)
    register_kind(Score)
    try:
        yield
    finally:
        forget_kind(TimeOfDay)
        forget_kind(Score)


VISITS = [
    ("a", "08:15", "3/5"), ("b", "12:00", "5/5"), ("c", "18:59", "1/5"), ("d", "05:00", "3/5"),
    ("e", "23:59", "3/4"), ("f", "8:15", "nonsense"), ("g", None, None), ("h", "24:00", ""),
    ("i", "12:30\n", "2/5"), ("j", "09:45", "4/5"),
]  # fmt: skip
"""Person, time, score; among them times beyond the bounds, and texts that are no times."""

_MINUTES = (495, 720, 1139, 420, 1140, 585)  # as clamped to 07:00 and 19:00
_SCORES = (3, 5, 1, 3, 2, 4)


def visits_schema() -> dp.Schema:
    """Return the schema of the visits."""
    columns: dict[str, Any] = {"id": dp.Text(), "seen": TimeOfDay("07:00", "19:00", title="Seen at"), "score": Score(5)}
    return dp.Schema(columns, person="id", max_rows_per_person=1, name="visits", size=10)


def visit_plans() -> list[tuple[Plan, list[list[int]]]]:
    """Return plans and the integers that every engine must find in the visits."""
    schema, count = visits_schema(), Measure("count")

    def total(name: str) -> list[Measure]:
        low, high = number_bounds(schema.column(name))
        return [Measure("sum", name, low=low, high=high, step=1), Measure("count", name)]

    bins = Bins(["07:00", "08:30", "12:00", "19:00"])
    return [
        (Plan(schema, measures=total("seen")), [[sum(_MINUTES)], [6]]),
        (Plan(schema, measures=total("score")), [[sum(_SCORES)], [6]]),
        (Plan(schema, measures=[count], by={"score": ["5/5", "3/5", None]}), [[1, 2, 4]]),
        (Plan(schema, measures=[count], by={"seen": bins}), [[2, 1, 3]]),
        (Plan(schema, measures=[count], where=[dp.Where("seen").at_least("12:00")]), [[3]]),
        (Plan(schema, measures=[count], where=[dp.Where("score").is_in(["5/5", "3/5"])]), [[3]]),
        (Plan(schema, measures=[count], where=[dp.Where("seen").is_missing()]), [[4]]),
    ]
