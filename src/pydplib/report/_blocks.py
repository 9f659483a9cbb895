"""What a report is made of. Every block is a value; its text is escaped, whatever it says."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from html import escape
from typing import TYPE_CHECKING, Literal, TypeAlias

from pydplib.errors import ParameterError
from pydplib.plot.tables import Cell, NumberTable, show

if TYPE_CHECKING:
    from pydplib.plot import Figure

Tone: TypeAlias = Literal["info", "good", "warning"]


@dataclass(frozen=True)
class TextBlock:
    """Plain paragraphs.

    Examples:
        >>> TextBlock("a < b").html()
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
class NoteBlock:
    """A short remark that must be seen.

    Examples:
        >>> NoteBlock("Synthetic data.", title="Mind").html()
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
class FactsBlock:
    """A row of numbers that are read first.

    Examples:
        >>> "920" in FactsBlock([Fact("reports", 920)]).html()
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
class Chart:
    """A figure with its caption, and below it the same numbers as a table.

    Args:
        figure: As ``pydplib.plot`` makes it; its title and caption become text of the page.
        table: The numbers that are drawn: the figure for those who cannot see it, or have no script.
        eyebrow: A few words above the title, e.g. ``"Figure 2"``.
    """

    figure: Figure
    table: NumberTable
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
            f'<div class="plot" data-figure="{escape(self.key)}" role="group" aria-label="{label}"></div>'
            "<noscript><p>The figure needs a script; its numbers are in the table below.</p></noscript>"
            f'{words}<details class="twin"><summary>The numbers as a table</summary>'
            f"{self.table.html()}</details></figure>"
        )


Block: TypeAlias = TextBlock | Points | NoteBlock | FactsBlock | NumberTable | Chart


@dataclass(frozen=True)
class Section:
    """A part of a report with its own heading.

    Args:
        title: The heading; it also appears in the list of contents. Empty: no heading.
        blocks: What stands under it.
    """

    title: str
    blocks: Sequence[Block]


def percent(share: float) -> str:
    """Return a share as people read it.

    Examples:
        >>> percent(0.12345), percent(2e-6)
        ('12.3 %', '< 0.001 %')
    """
    return "< 0.001 %" if 0 < share < 1e-5 else f"{100 * share:.3g} %"
