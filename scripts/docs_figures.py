"""Figures and tables of our own code on a page of the documentation: drawn in the reader's look, with their numbers."""

from __future__ import annotations

import json
from itertools import count
from typing import Any

_ids = count(1)

NUMBER = "{:.3g}"


def plotly_script() -> str:
    """Return Plotly's own script, which pages with figures load from the site."""
    from plotly.offline import get_plotlyjs

    text: str = get_plotlyjs()
    return text


def look_script() -> str:
    """Return the house's two looks as a script that sets one global value."""
    from pydplib.plot._figure import show_config
    from pydplib.plot._theme import template

    look = {"templates": {mode: template(mode) for mode in ("light", "dark")}, "config": show_config()}
    return f"window.pydplibLook = {json.dumps(look, ensure_ascii=False)};\n"


def figure_html(figure: Any, *, words: bool = True) -> str:
    """Return a place for a figure and its values; ``docs/javascripts/figures.js`` draws it."""
    from pydplib.plot import figure_json

    title, caption = figure.words
    name = f"dp-figure-{next(_ids)}"
    parts = []
    if words and title:
        parts.append(f"**{title}**\n")
    parts.append(
        f'<div class="dp-figure" data-figure="{name}" role="img" aria-label="{title or "Figure"}"></div>\n'
        f'<script type="application/json" id="{name}">{figure_json(figure)}</script>\n'
    )
    if words and caption:
        parts.append("*" + " ".join(caption.split()) + "*\n")
    return "\n".join(parts)


def sheet_markdown(sheet: Any, columns: tuple[str, ...] = (), *, title: bool = True) -> str:
    """Return a table of an experiment in Markdown.

    Args:
        sheet: The table.
        columns: Its columns that are wanted; all if none is named.
        title: Whether its title stands above.
    """
    chosen = columns or tuple(sheet.columns)
    lines = [f"**{sheet.title}**", ""] if title else []
    lines += [
        "| " + " | ".join(sheet.columns[key] for key in chosen) + " |",
        "|" + "---|" * len(chosen),
        *("| " + " | ".join(_cell(row.get(key)) for key in chosen) + " |" for row in sheet.rows),
    ]
    if sheet.note:
        lines += ["", f"{sheet.note}."]
    return "\n".join(lines)


def _cell(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return str(value)
    if isinstance(value, int) or (float(value).is_integer() and abs(value) < 1e6):
        return f"{int(value)}"
    return f"{value:,.0f}" if 1000 <= abs(value) < 1e9 else NUMBER.format(value)
