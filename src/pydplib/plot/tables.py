"""Tables of numbers as people read them: what a figure draws, for those who cannot see it; and the cells of them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from numbers import Integral, Real
from typing import Any, TypeAlias

from pydplib.errors import ParameterError

Cell: TypeAlias = Any
"""A text, a number, a truth value, or None for "nothing here"."""


@dataclass(frozen=True, slots=True)
class PlusMinus:
    """A cell: a value and half the width of its interval, None where it is not known.

    Examples:
        >>> str(PlusMinus(512.3, 14.04))
        '512 ± 14'
        >>> str(PlusMinus(65.1234, None))
        '65.12'
    """

    value: float
    margin: float | None

    def __str__(self) -> str:
        if self.margin is None or not math.isfinite(self.margin) or self.margin <= 0:
            return show(self.value)
        # Two digits of the margin; the value has as many places as the margin.
        places = max(0, 1 - math.floor(math.log10(self.margin)))
        return f"{self.value:,.{places}f} ± {self.margin:,.{places}f}"


@dataclass(frozen=True, slots=True)
class Fixed:
    """A cell: a number with a fixed number of decimal places, so that a column lines up.

    Examples:
        >>> str(Fixed(65.0, 1))
        '65.0'
    """

    value: float
    places: int

    def __str__(self) -> str:
        return f"{self.value:,.{self.places}f}"


def show(value: Cell) -> str:
    """Return a cell as readers expect it: grouped thousands, four significant digits, words for truth values.

    Examples:
        >>> show(12345), show(0.123456), show(True), show(None), show(4.5e-9)
        ('12,345', '0.1235', 'yes', '–', '4.5e-09')
    """
    if value is None:
        return "–"
    if isinstance(value, bool) or type(value).__name__ == "bool":
        return "yes" if value else "no"
    if isinstance(value, Integral):
        return f"{int(value):,}"
    if isinstance(value, Real):
        number = float(value)
        if math.isnan(number):
            return "–"
        if math.isinf(number):
            return "∞" if number > 0 else "-∞"
        if abs(number) >= 1000:
            return f"{number:,.0f}"
        return f"{number:.4g}"
    return str(value)


@dataclass(frozen=True)
class NumberTable:
    """A table; numbers are aligned right, wide tables scroll in themselves, those with sentences stack on phones.

    Args:
        columns: The heads.
        rows: One list of cells per row.
        caption: What the table shows.

    Examples:
        >>> '<td class="num">3</td>' in NumberTable(["day", "visits"], [["Mon", 3]]).html()
        True
    """

    columns: Sequence[str]
    rows: Sequence[Sequence[Cell]]
    caption: str = ""

    def __post_init__(self) -> None:
        for row in self.rows:
            if len(row) != len(self.columns):
                raise ParameterError(f"A row needs one cell per column: {len(self.columns)}. Got {len(row)}.")

    def html(self) -> str:
        """Return the block as HTML."""
        marks = [self._mark([row[place] for row in self.rows]) for place in range(len(self.columns))]
        stacked = any("long" in mark for mark in marks)
        head = "".join(
            f'<th scope="col"{mark}>{escape(name)}</th>' for name, mark in zip(self.columns, marks, strict=True)
        )
        body = []
        for row in self.rows:
            cells = [f'<th scope="row"{marks[0]}>{escape(show(row[0]))}</th>'] if row else []
            for name, cell, mark in list(zip(self.columns, row, marks, strict=True))[1:]:
                # On a phone every cell stands by itself, and says what it is.
                said = f' data-head="{escape(name, quote=True)}"' if stacked and name else ""
                cells.append(f"<td{mark}{said}>{escape(show(cell))}</td>")
            body.append(f"<tr>{''.join(cells)}</tr>")
        caption = f"<caption>{escape(self.caption)}</caption>" if self.caption else ""
        label = escape(self.caption or "Table", quote=True)
        stack = ' class="stack"' if stacked else ""
        return (
            f'<div class="scroll" role="region" tabindex="0" aria-label="{label}"><table{stack}>{caption}'
            f"<thead><tr>{head}</tr></thead><tbody>{''.join(body)}</tbody></table></div>"
        )

    @staticmethod
    def _mark(cells: list[Cell]) -> str:
        """Return how a column is set: numbers to the right, short words unbroken, sentences with room."""
        if any(_is_number(cell) for cell in cells) and all(cell is None or _is_number(cell) for cell in cells):
            return ' class="num"'
        longest = max((len(show(cell)) for cell in cells), default=0)
        return ' class="short"' if longest <= 24 else ' class="long"' if longest > 40 else ""


def _is_number(value: Cell) -> bool:
    return isinstance(value, Real | PlusMinus | Fixed) and not isinstance(value, bool)
