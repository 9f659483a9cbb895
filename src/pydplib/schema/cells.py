"""A cell as a neutral expression: what stands in a column, and what counts for it. Engines write it in their own words.

One rule for all engines: null, NaN and empty text are missing; a value outside the bounds counts as the bound; a value
outside a list is "other", or missing where there is no "other". A column kind describes its cells with one of these
expressions, and an engine translates each expression once: a new kind needs no new engine code.
"""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import ClassVar, Literal, Protocol, TypeAlias, TypeVar

from pydplib.tables.cells import FALSE_WORDS, NUMBER_PATTERN, TRUE_WORDS

__all__ = [
    "DAY_PATTERN", "DOTTED_DAY_PATTERN", "NUMBER_PATTERN", "Cell", "CellWriter", "CodeCell", "DayCell", "NumberCell",
    "PartsCell", "Scalar", "Storage", "TextCell",
]  # fmt: skip

Storage: TypeAlias = Literal[
    "integer", "float", "decimal", "text", "flag", "date", "timestamp", "dynamic", "unsupported"
]
"""How a database stores a column; ``dynamic`` is SQLite, where each cell has its own type."""

Scalar: TypeAlias = str | int | float | bool
"""A public value of a category."""

DAY_PATTERN = r"^[0-9]{4}-(0[1-9]|1[0-2])-(0[1-9]|[12][0-9]|3[01])([ T]|$)"
"""Texts that may be days; whatever follows a blank or a T is a time of day, which is not looked at."""

DOTTED_DAY_PATTERN = r"^(0[1-9]|[12][0-9]|3[01])[.](0[1-9]|1[0-2])[.][0-9]{4}$"
"""Texts that may be days, written DD.MM.YYYY."""

_VALUES: tuple[Storage, ...] = ("integer", "float", "decimal", "text", "flag", "dynamic")

Made = TypeVar("Made", covariant=True)


class CellWriter(Protocol[Made]):
    """An engine's own words for each expression."""

    def write_number(self, cell: NumberCell) -> Made:
        """Return the clamped number as a double."""

    def write_day(self, cell: DayCell) -> Made:
        """Return the clamped day as days since 1970-01-01, a double."""

    def write_parts(self, cell: PartsCell) -> Made:
        """Return the clamped sum of the numbers in a text, as a double."""

    def write_code(self, cell: CodeCell) -> Made:
        """Return the code of the listed value, an integer."""

    def write_text(self, cell: TextCell) -> Made:
        """Return the text."""


class Cell:
    """What stands in one cell of a column.

    Attributes:
        storages: How a column of such cells may be stored.
        is_code: Whether an engine holds it as an integer code, and not as a double.
        is_text: Whether an engine holds it as text: nothing but its equality can be asked.
        needs_calendar: Whether a text must be looked up in the calendar, which not every engine does without errors.
    """

    __slots__ = ()

    storages: ClassVar[tuple[Storage, ...]] = _VALUES
    is_code: ClassVar[bool] = False
    is_text: ClassVar[bool] = False
    needs_calendar: ClassVar[bool] = False

    def written_by(self, writer: CellWriter[Made]) -> Made:
        """Return the expression in an engine's words."""
        raise NotImplementedError

    @property
    def limits(self) -> tuple[float, float] | None:
        """The bounds to which a number is clamped, as doubles; none for what is not clamped."""
        return None

    @property
    def other(self) -> int | None:
        """The code of values outside a list; none where they are missing."""
        return None


@dataclass(frozen=True, slots=True)
class NumberCell(Cell):
    """A number, stored as a number or as text, clamped to [low, high]; rounded half up to a whole one if ``whole``."""

    low: float
    high: float
    whole: bool = False

    def written_by(self, writer: CellWriter[Made]) -> Made:
        """Return the number in an engine's words."""
        return writer.write_number(self)

    @property
    def limits(self) -> tuple[float, float]:
        """The bounds."""
        return self.low, self.high


@dataclass(frozen=True, slots=True)
class DayCell(Cell):
    """A day, stored as a date, a point in time or text (2018-12-31, 31.12.2018), clamped to [low, high]."""

    storages: ClassVar[tuple[Storage, ...]] = ("date", "timestamp", "text", "dynamic")
    needs_calendar: ClassVar[bool] = True

    low: dt.date
    high: dt.date

    def written_by(self, writer: CellWriter[Made]) -> Made:
        """Return the day in an engine's words."""
        return writer.write_day(self)

    @property
    def limits(self) -> tuple[float, float]:
        """The bounds as days since 1970-01-01."""
        first = dt.date(1970, 1, 1)
        return float((self.low - first).days), float((self.high - first).days)


@dataclass(frozen=True, slots=True)
class PartsCell(Cell):
    """A text of a fixed form that holds whole numbers: their weighted sum, clamped to [low, high].

    Args:
        pattern: The form, as a regular expression from ``^`` to ``$`` of characters, classes, groups and counts alone:
            these mean the same on every engine. Any other text is missing.
        parts: (first letter counted from 1, letters, factor) of every number.
        low: Lower bound of the sum.
        high: Upper bound of the sum.

    Examples:
        >>> PartsCell("^([01][0-9]|2[0-3]):[0-5][0-9]$", ((1, 2, 60), (4, 2, 1)), 0, 1439).limits
        (0, 1439)
    """

    storages: ClassVar[tuple[Storage, ...]] = ("text", "dynamic")

    pattern: str
    parts: tuple[tuple[int, int, int], ...]
    low: float
    high: float

    def written_by(self, writer: CellWriter[Made]) -> Made:
        """Return the sum in an engine's words."""
        return writer.write_parts(self)

    @property
    def limits(self) -> tuple[float, float]:
        """The bounds."""
        return self.low, self.high


@dataclass(frozen=True, slots=True)
class CodedChoice:
    """One value of a list: its code, and what means it in columns stored as texts, as numbers and as flags.

    Examples:
        >>> CodedChoice.of(4, code=3)
        CodedChoice(code=3, texts=('4', '4.0'), number=4.0, flag=None)
    """

    code: int
    texts: tuple[str, ...]
    number: float | None = None
    flag: bool | None = None

    @classmethod
    def of(cls, value: Scalar, code: int) -> CodedChoice:
        """Return a public value as a choice, with its usual spellings."""
        return cls(code, _spellings(value), _number_of(value), _flag_of(value))


@dataclass(frozen=True, slots=True)
class CodeCell(Cell):
    """One of a list of values, as an integer code; whatever else stands there is ``other``, or missing."""

    is_code: ClassVar[bool] = True

    choices: tuple[CodedChoice, ...]
    other: int | None = None

    @classmethod
    def of(cls, codes: Iterable[tuple[Scalar, int]], *, other: int | None = None) -> CodeCell:
        """Return the cell of public values and their codes."""
        return cls(tuple(CodedChoice.of(value, code) for value, code in codes), other)

    def written_by(self, writer: CellWriter[Made]) -> Made:
        """Return the code in an engine's words."""
        return writer.write_code(self)


@dataclass(frozen=True, slots=True)
class TextCell(Cell):
    """A text as it stands; hardly any question looks at it, so it may be stored as anything."""

    storages: ClassVar[tuple[Storage, ...]] = (*_VALUES, "date", "timestamp", "unsupported")
    is_text: ClassVar[bool] = True

    def written_by(self, writer: CellWriter[Made]) -> Made:
        """Return the text in an engine's words."""
        return writer.write_text(self)


def _spellings(value: Scalar) -> tuple[str, ...]:
    """Return the texts that mean a public value, in a column stored as text."""
    if isinstance(value, bool):
        words = TRUE_WORDS if value else FALSE_WORDS
        return tuple(dict.fromkeys(form for word in words for form in (word, word.capitalize(), word.upper())))
    if isinstance(value, str):
        return (value,)
    if isinstance(value, int) or value.is_integer():
        return (str(int(value)), f"{int(value)}.0")
    return (repr(float(value)),)


def _number_of(value: Scalar) -> float | None:
    """Return the number that means a public value in a column stored as numbers, if any."""
    try:
        number = float(value)
    except (ValueError, OverflowError):
        return None
    return number if math.isfinite(number) else None


def _flag_of(value: Scalar) -> bool | None:
    """Return the truth value that means a public value in a column stored as flags, if any."""
    if isinstance(value, str):
        word = value.lower()
        return True if word in TRUE_WORDS else False if word in FALSE_WORDS else None
    return bool(value) if value in (0, 1) else None
