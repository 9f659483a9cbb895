"""Releases, results and aggregates to Plotly figures; pages and pictures of them.

Examples:
    >>> from pydplib import plot
    >>> figure = plot.bar(["yes", "no"], {"high": [530, 390]}, margins={"high": 40}, y_title="reports")
    >>> plot.show_config()["plotlyServerURL"]
    ''

The names are loaded when they are first used: reading the catalogue of figures needs no Plotly.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pydplib.plot._cells import bubbles, heatmap
    from pydplib.plot._draw import draw
    from pydplib.plot._figure import (
        Figure,
        figure_arrays,
        figure_json,
        page_scripts,
        show_config,
        to_html,
        to_png,
        to_pngs,
    )
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

_HOMES: dict[str, tuple[str, ...]] = {
    "_cells": ("bubbles", "heatmap"),
    "_draw": ("draw",),
    "_figure": (
        "Figure",
        "figure_arrays",
        "figure_json",
        "page_scripts",
        "show_config",
        "to_html",
        "to_png",
        "to_pngs",
    ),
    "_panels": ("panels",),
    "_series": ("Box", "bar", "box", "dots", "histogram", "line"),
    "_theme": ("COLORWAY", "FONT", "SURFACES", "TONES", "template"),
}
"""Module -> the public names that it defines."""


def __getattr__(name: str) -> Any:
    for module, names in _HOMES.items():
        if name in names:
            value = getattr(import_module(f"pydplib.plot.{module}"), name)
            globals()[name] = value
            return value
    raise AttributeError(f"module 'pydplib.plot' has no attribute '{name}'")


def __dir__() -> list[str]:
    return sorted(__all__)
