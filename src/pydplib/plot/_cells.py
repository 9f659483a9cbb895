"""Charts of cells: a heatmap, and bubbles. One mark per cell, never one per row."""

from __future__ import annotations

from collections.abc import Sequence
from textwrap import wrap
from typing import Any

import numpy as np

from pydplib.errors import ParameterError
from pydplib.plot._figure import Figure, go
from pydplib.plot._parts import Labels, Numbers, colour_of, empty_figure, faint, plain_list, set_narrow, texts

_MOST_COLUMNS = 10
_FEW_COLUMNS = 4
_SHORT = 11


def heatmap(
    x: Labels,
    y: Labels,
    values: Sequence[Numbers] | np.ndarray[Any, Any],
    *,
    margins: Sequence[Numbers] | np.ndarray[Any, Any] | float | None = None,
    limit: float | None = None,
    value_title: str = "",
    x_title: str = "",
    y_title: str = "",
    title: str = "",
    caption: str = "",
    height: int = 420,
) -> Figure:
    """Return a table of numbers as colours, with the numbers written in.

    Args:
        x: Labels of the columns.
        y: Labels of the rows, from the top.
        values: One row of numbers per label of ``y``.
        margins: How far the noise may have moved each number (95 %), or all of them: shown when pointing at a cell.
            Numbers that do not exceed their margin are faint, without a colour.
        limit: The value of the strongest colour; by default the largest. Give it when tables are compared.
        value_title: What the numbers are, for the hover text.
        x_title: Title of the x axis.
        y_title: Title of the y axis.
        title: What the figure shows.
        caption: What is guaranteed about it, in words.
        height: In pixels.

    Examples:
        >>> heatmap(["50-59", "60-69"], ["n", "y"], [[20, 40], [2, 3]]).data[0].zmax
        40.0
        >>> figure = heatmap(["50-59", "60-69"], ["n"], [[4, 40]], margins=6)
        >>> figure.data[0].z[0], figure.data[1].text
        ([None, 40.0], ('4',))
    """
    cells = np.asarray(values, dtype=float)
    if cells.shape != (len(y), len(x)):
        raise ParameterError(f"values must have {len(y)} rows of {len(x)} numbers. Got shape {cells.shape}.")
    fig = empty_figure(x_title, y_title, title, caption, height)
    top = float(limit if limit is not None else np.nanmax(cells, initial=1.0))
    word = f" {value_title}" if value_title else ""
    spread, more = "", dict[str, Any]()
    faint = np.zeros(cells.shape, dtype=bool)
    if margins is not None:
        bars = np.broadcast_to(np.asarray(margins, dtype=float), cells.shape)
        spread, more = " ± %{customdata:,.3~g} (95 %)", {"customdata": np.vectorize(_up)(bars).tolist()}
        faint = cells <= bars
        if (faint | np.isnan(cells)).all():  # an empty picture would say nothing: the caption has the margin
            faint = np.zeros(cells.shape, dtype=bool)
    fig.add_trace(
        go.Heatmap(
            x=texts(x),
            y=texts(y),
            z=[
                [None if lost else value for value, lost in zip(*row, strict=True)]
                for row in zip(cells.tolist(), faint.tolist(), strict=True)
            ],
            hoverongaps=False,
            zmin=0.0,
            zmax=top,
            texttemplate="%{z:,.4~g}",
            textfont={"size": 12},
            xgap=2,
            ygap=2,
            showscale=False,
            hovertemplate=f"%{{y}}, %{{x}}: %{{z:,.3~g}}{word}{spread}<extra></extra>",
            **more,
        )
    )
    if faint.any():
        places = np.argwhere(faint & ~np.isnan(cells)).tolist()
        fig.add_trace(
            go.Scatter(
                x=[texts(x)[column] for _, column in places],
                y=[texts(y)[row] for row, _ in places],
                text=[f"{cells[row, column]:,.4g}" for row, column in places],
                customdata=[_up(float(bars[row, column])) for row, column in places],
                mode="text",
                name="below its margin",
                opacity=0.55,
                textfont={"size": 12},
                hovertemplate=f"%{{y}}, %{{x}}: %{{text}}{word} ± %{{customdata:,.3~g}} (95 %)<extra>noise</extra>",
            )
        )
    fig.update_xaxes(type="category", showline=False, ticks="", tickangle=0 if len(x) <= _MOST_COLUMNS else None)
    fig.update_yaxes(type="category", autorange="reversed", showgrid=False, ticks="")
    fig.update_layout(showlegend=False)
    set_narrow(fig, _narrow(texts(x), texts(y)))
    return fig


def _narrow(x: list[str], y: list[str]) -> dict[str, Any]:
    """Return what changes on narrow screens: long labels of rows in lines, those of many columns smaller."""
    broken = ["<br>".join(wrap(label, _SHORT, break_long_words=False)) for label in y]
    columns: dict[str, Any] = {"tickfont": {"size": 10}} if len(x) > _FEW_COLUMNS else {}
    return {"xaxis": columns, "yaxis": {"tickvals": y, "ticktext": broken}, "margin": {"r": 4}}


def _up(margin: float) -> float:
    """Return a margin with two digits, or whole from 10 on: rounded up, so that it never promises too much."""
    if not 0 < margin < np.inf:
        return margin
    step = 10.0 ** min(0, int(np.floor(np.log10(margin))) - 1)
    return float(np.round(np.ceil(margin / step - 1e-9) * step, 12))


def bubbles(
    x: Labels,
    y: Labels,
    sizes: Numbers,
    *,
    name: str = "",
    limit: float | None = None,
    size_title: str = "reports",
    x_title: str = "",
    y_title: str = "",
    title: str = "",
    caption: str = "",
    height: int = 420,
) -> Figure:
    """Return a scatter of cells: one bubble per (x, y), its area the number in the cell.

    Args:
        x: Where each cell lies on the x axis.
        y: Where each cell lies on the y axis.
        sizes: The number in each cell; cells with 0 or less are not drawn.
        name: Name of the series; the name of a noise level has its colour.
        limit: The number that has the largest bubble; by default the largest.
        size_title: What the numbers count, for the hover text.
        x_title: Title of the x axis.
        y_title: Title of the y axis.
        title: What the figure shows.
        caption: What is guaranteed about it, in words.
        height: In pixels.

    Examples:
        >>> bubbles([60, 61], [4, 5], [12, 0]).data[0].x
        (60,)
    """
    counts = np.asarray(sizes, dtype=float)
    if not len(x) == len(y) == counts.size:
        raise ParameterError("x, y and sizes must have one entry per cell.")
    fig = empty_figure(x_title, y_title, title, caption, height)
    seen = counts > 0
    top = limit if limit is not None else counts.max(initial=1.0)
    colour = colour_of(name, 0)
    fig.add_trace(
        go.Scatter(
            x=plain_list(np.asarray(x)[seen]),
            y=plain_list(np.asarray(y)[seen]),
            name=name,
            mode="markers",
            marker={
                "symbol": "circle",
                "size": counts[seen].tolist(),
                "sizemode": "area",
                "sizeref": 2 * float(top) / 24**2,
                "sizemin": 2,
                "opacity": 1,
                "color": faint(colour, 0.65),
                "line": {"width": 0.8, "color": colour},
            },
            hovertemplate=f"%{{x}}, %{{y}}: %{{marker.size:,}} {size_title}<extra>{name}</extra>",
        )
    )
    fig.update_layout(showlegend=False)
    return fig
