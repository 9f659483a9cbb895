"""What a report is made of. Every block is a value; its text is escaped, whatever it says."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from html import escape
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from pydplib.errors import ParameterError

if TYPE_CHECKING:
    from pydplib.plot import Figure

Tone: TypeAlias = Literal["info", "good", "warning"]
Cell: TypeAlias = Any
"""A text, a number, a truth value, or None for "nothing here"."""


@dataclass(frozen=True)
class Text:
    """Plain paragraphs.

    Examples:
        >>> Text("a < b").html()
        '<p>a &lt; b</p>'
    """

    paragraphs: tuple[str, ...]

    def __init__(self, *paragraphs: str) -> None:
        object.__setattr__(self, "paragraphs", paragraphs)

    def html(self) -> str:
        """Return the block as HTML."""
        return "".join(f"<p>{escape(text)}</p>" for text in self.paragraphs)


@dataclass(frozen=True)
class Points:
    """A list; an entry may be a pair of a term and what is said about it.

    Examples:
        >>> Points([("low", "for owners")]).html()
        '<ul><li><strong>low</strong> for owners</li></ul>'
    """

    entries: Sequence[str | tuple[str, str]]

    def html(self) -> str:
        """Return the block as HTML."""
        items = []
        for entry in self.entries:
            term, words = entry if isinstance(entry, tuple) else ("", entry)
            items.append(f"<li>{f'<strong>{escape(term)}</strong> ' if term else ''}{escape(words)}</li>")
        return f"<ul>{''.join(items)}</ul>"


@dataclass(frozen=True)
class Note:
    """A short remark that must be seen.

    Examples:
        >>> Note("Synthetic data.", title="Mind").html()
        '<aside class="note info"><p class="note-title">Mind</p><p>Synthetic data.</p></aside>'
    """

    text: str
    title: str = ""
    tone: Tone = "info"

    def html(self) -> str:
        """Return the block as HTML."""
        if self.tone not in ("info", "good", "warning"):
            raise ParameterError(f"A note is info, good or warning. Got '{self.tone}'.")
        title = f'<p class="note-title">{escape(self.title)}</p>' if self.title else ""
        return f'<aside class="note {self.tone}">{title}<p>{escape(self.text)}</p></aside>'


@dataclass(frozen=True)
class Fact:
    """One number with its name."""

    name: str
    value: Cell
    hint: str = ""


@dataclass(frozen=True)
class Facts:
    """A row of numbers that are read first.

    Examples:
        >>> "920" in Facts([Fact("reports", 920)]).html()
        True
    """

    facts: Sequence[Fact]

    def html(self) -> str:
        """Return the block as HTML."""
        cells = []
        for fact in self.facts:
            hint = f'<dd class="hint">{escape(fact.hint)}</dd>' if fact.hint else ""
            cells.append(f"<div><dt>{escape(fact.name)}</dt><dd>{escape(show(fact.value))}</dd>{hint}</div>")
        return f'<dl class="facts">{"".join(cells)}</dl>'


@dataclass(frozen=True)
class Table:
    """A table; numbers are aligned right, wide tables scroll in themselves, those with sentences stack on phones.

    Args:
        columns: The heads.
        rows: One list of cells per row.
        caption: What the table shows.

    Examples:
        >>> '<td class="num">3</td>' in Table(["day", "visits"], [["Mon", 3]]).html()
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


@dataclass(frozen=True)
class Chart:
    """A figure with its caption, and below it the same numbers as a table.

    Args:
        figure: As ``pydplib.plot`` makes it; its title and caption become text of the page.
        table: The numbers that are drawn: the figure for those who cannot see it, or have no script.
        eyebrow: A few words above the title, e.g. ``"Figure 2"``.
    """

    figure: Figure
    table: Table
    eyebrow: str = ""
    key: str = field(default="", compare=False)

    def html(self) -> str:
        """Return the block as HTML; the page draws the figure where ``data-figure`` says."""
        title, caption = self.figure.words
        eyebrow = f'<p class="eyebrow">{escape(self.eyebrow)}</p>' if self.eyebrow else ""
        heading = f"<h3>{escape(title)}</h3>" if title else ""
        lines = "".join(f"<p>{escape(line)}</p>" for line in self.figure.caption_lines)
        words = f"<figcaption>{lines}</figcaption>" if caption else ""
        label = escape(f"{title}. The same numbers follow as a table.", quote=True)
        return (
            f'<figure class="card">{eyebrow}{heading}'
            f'<div class="plot" data-figure="{escape(self.key)}" role="img" aria-label="{label}"></div>'
            "<noscript><p>The figure needs a script; its numbers are in the table below.</p></noscript>"
            f'{words}<details class="twin"><summary>The numbers as a table</summary>'
            f"{self.table.html()}</details></figure>"
        )


Block: TypeAlias = Text | Points | Note | Facts | Table | Chart


@dataclass(frozen=True)
class Section:
    """A part of a report with its own heading.

    Args:
        title: The heading; it also appears in the list of contents. Empty: no heading.
        blocks: What stands under it.
    """

    title: str
    blocks: Sequence[Block]


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


def percent(share: float) -> str:
    """Return a share as people read it.

    Examples:
        >>> percent(0.12345), percent(2e-6)
        ('12.3 %', '< 0.001 %')
    """
    return "< 0.001 %" if 0 < share < 1e-5 else f"{100 * share:.3g} %"


def _is_number(value: Cell) -> bool:
    return isinstance(value, Real | PlusMinus | Fixed) and not isinstance(value, bool)
