"""The figures of a page, as the page gives them to the browser."""

from __future__ import annotations

import json
import re
from typing import Any

SCRIPT = re.compile(r'<script type="application/json" id="(figure-\d+)">(.*?)</script>', re.S)


def figures_of(page: str) -> dict[str, Any]:
    """Return the figures of a page by their ids."""
    return {name: json.loads(text) for name, text in SCRIPT.findall(page)}


def cells_of(heatmap: dict[str, Any]) -> list[list[float]]:
    """Return the numbers of a heat map by row: those in colour, and the faint ones that are written over the gaps."""
    table, *faint = heatmap["data"]
    cells = [list(row) for row in table["z"]]
    for trace in faint:
        for x, y, text in zip(trace["x"], trace["y"], trace["text"], strict=True):
            row, column = table["y"].index(y), table["x"].index(x)
            assert cells[row][column] is None, "a number stands in one place"
            cells[row][column] = float(text.replace(",", ""))
    return cells
