"""Releases, results and aggregates to Plotly figures; pages and pictures of them.

Examples:
    >>> from pydplib import plot
    >>> figure = plot.bar(["yes", "no"], {"high": [530, 390]}, margins={"high": 40}, y_title="reports")
    >>> plot.show_config()["plotlyServerURL"]
    ''
"""

from __future__ import annotations

from pydplib.plot._cells import bubbles, heatmap
from pydplib.plot._draw import draw
from pydplib.plot._export import figure_json, page_scripts, to_html, to_png, to_pngs
from pydplib.plot._figure import Figure, show_config
from pydplib.plot._inspect import figure_arrays
from pydplib.plot._panels import panels
from pydplib.plot._series import Box, bar, box, dots, histogram, line
from pydplib.plot._theme import COLORWAY, FONT, SURFACES, TONES, template

__all__ = [
    "COLORWAY",
    "FONT",
    "SURFACES",
    "TONES",
    "Box",
    "Figure",
    "bar",
    "box",
    "bubbles",
    "dots",
    "draw",
    "figure_arrays",
    "figure_json",
    "heatmap",
    "histogram",
    "line",
    "page_scripts",
    "panels",
    "show_config",
    "template",
    "to_html",
    "to_png",
    "to_pngs",
]
