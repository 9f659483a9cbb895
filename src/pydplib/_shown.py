"""Results that show themselves in words: a terminal and a notebook show what ``str`` says, never rows or cells."""

from __future__ import annotations

import re
from collections.abc import Sequence
from html import escape

_CELL = 'style="text-align:left;vertical-align:top;padding:2px 12px 2px 0"'


class Shown:
    """A result whose ``repr`` is its text, and whose HTML for notebooks is the same text, set as lines and tables.

    A dataclass that uses it says ``repr=False``: else Python writes a ``repr`` of all fields.

    Examples:
        >>> class Answer(Shown):
        ...     def __str__(self):
        ...         return "answer"
        >>> Answer()
        answer
        >>> Answer()._repr_html_()
        '<div class="pydplib-shown"><p style="margin:0 0 4px">answer</p></div>'
    """

    __slots__ = ()

    def __repr__(self) -> str:
        return str(self)

    def _repr_html_(self) -> str:
        return words_html(str(self))


def words_html(text: str) -> str:
    r"""Return a text as an HTML fragment: paragraphs, points ("- ...") and tables (lines of indented columns).

    Examples:
        >>> "<li>5-anonymity</li>" in words_html("Asked for:\n- 5-anonymity")
        True
        >>> words_html("Table\n  age  18 to 100").count("<td")
        2
    """
    blocks: list[str] = []
    lines = text.splitlines()
    while lines:
        for mark, make in (("  ", _table), ("- ", _points)):
            group = []
            while lines and lines[0].startswith(mark):
                group.append(lines.pop(0))
            if group:
                blocks.append(make(group))
        if lines and not lines[0].startswith(("  ", "- ")):
            line = lines.pop(0)
            if line.strip():
                blocks.append(f'<p style="margin:0 0 4px">{escape(line)}</p>')
    return f'<div class="pydplib-shown">{"".join(blocks)}</div>'


def _table(lines: Sequence[str]) -> str:
    rows = [re.split(r"\s{2,}", line.strip()) for line in lines]
    body = "".join(f"<tr>{''.join(f'<td {_CELL}>{escape(cell)}</td>' for cell in row)}</tr>" for row in rows)
    return f"<table><tbody>{body}</tbody></table>"


def _points(lines: Sequence[str]) -> str:
    return f'<ul style="margin:0 0 4px">{"".join(f"<li>{escape(line[2:])}</li>" for line in lines)}</ul>'
