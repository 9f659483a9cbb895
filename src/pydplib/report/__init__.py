"""Self-contained HTML reports: text, facts, tables and figures on one page that loads nothing from anywhere.

Examples:
    >>> from pydplib.report import Report, Section, Table, Text
    >>> page = Report("Visits", [Section("Counts", [Text("Made up."), Table(["day", "visits"], [["Mon", 3]])])])
    >>> "<h1>Visits</h1>" in page.to_html()
    True
"""

from __future__ import annotations

from pydplib.plot.tables import Fixed, PlusMinus
from pydplib.plot.tables import NumberTable as Table
from pydplib.report._blocks import (
    Block,
    Chart,
    Fact,
    Points,
    Section,
    Tone,
)
from pydplib.report._blocks import FactsBlock as Facts
from pydplib.report._blocks import NoteBlock as Note
from pydplib.report._blocks import TextBlock as Text
from pydplib.report._page import Report

__all__ = [
    "Block",
    "Chart",
    "Fact",
    "Facts",
    "Fixed",
    "Note",
    "PlusMinus",
    "Points",
    "Report",
    "Section",
    "Table",
    "Text",
    "Tone",
]
