"""The few charts that everything is drawn with. They take aggregates: one mark per cell, never one per row."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from pydplib.errors import ParameterError
from pydplib.plot._figure import Figure, go
from pydplib.plot._theme import COLORWAY, template, tone

Numbers: TypeAlias = Sequence[float] | np.ndarray[Any, Any]
Labels: TypeAlias = Sequence[Any] | np.ndarray[Any, Any]


@dataclass(frozen=True, slots=True)
class Box:
    """The five numbers of a box, and the mean where it is shown.

    Examples:
        >>> Box(50, 60, 65, 70, 80).median
        65
    """

    low: float
    q1: float
    median: float
    q3: float
    high: float
    mean: float | None = None


def bar(
    labels: Labels,
    series: Mapping[str, Numbers],
    *,
    margins: Mapping[str, Numbers | float] | None = None,
    marks: Mapping[str, Numbers] | None = None,
    marks_title: str = "",
    floor: float | None = None,
    x_title: str = "",
    y_title: str = "",
    title: str = "",
    caption: str = "",
    height: int = 420,
) -> Figure:
    """Return bars side by side, a group per label, with error bars where margins are known.

    Args:
        labels: The categories on the x axis.
        series: Name of the series -> one value per label.
        margins: Name of the series -> half the width of its error bar, one for all or one per label.
            Where the series has marks, the error bars are those of the marks.
        marks: Name of the series -> a better estimate per label, drawn as a diamond on its bar.
        marks_title: What the diamonds are, for the legend.
        floor: The smallest value that makes sense (0 for counts); what lies below is drawn there.
        x_title: Title of the x axis.
        y_title: Title of the y axis.
        title: What the figure shows.
        caption: What is guaranteed about it, in words.
        height: In pixels.

    Examples:
        >>> figure = bar(["yes", "no"], {"low": [510, 410]}, margins={"low": 12})
        >>> figure.data[0].error_y.array
        (12.0, 12.0)
    """
    fig = _empty(x_title, y_title, title, caption, height)
    better = _checked(labels, marks or {})
    for name, values in _checked(labels, series).items():
        error = None if name in better else _error_bar(_margin(name, len(values), margins), values, floor)
        trace = go.Bar(x=_texts(labels), y=_at_least(values, floor), name=name, error_y=error)
        trace.update(hovertemplate=_hover(error), marker={"color": _colour(name, len(fig.data))}, offsetgroup=name)
        fig.add_trace(trace)
    for place, (name, values) in enumerate(better.items()):
        error = _error_bar(_margin(name, len(values), margins), values, floor)
        fig.add_trace(
            go.Scatter(
                x=_texts(labels),
                y=_at_least(values, floor),
                name=marks_title or "estimate",
                mode="markers",
                offsetgroup=name,
                error_y=error,
                legendgroup="marks",
                cliponaxis=False,
                showlegend=place == 0,
                hovertemplate=_hover(error).replace("%{fullData.name}", f"{name}, {marks_title}"),
            )
        )
    fig.update_xaxes(type="category")
    fig.update_layout(barmode="group", scattermode="group", showlegend=len(fig.data) > 1)
    return fig


def line(
    x: Labels,
    series: Mapping[str, Numbers],
    *,
    margins: Mapping[str, Numbers | float] | None = None,
    x_title: str = "",
    y_title: str = "",
    title: str = "",
    caption: str = "",
    height: int = 420,
) -> Figure:
    """Return lines with markers, one per series, with error bars where margins are known.

    Args:
        x: Where the points lie on the x axis (numbers or categories).
        series: Name of the series -> one value per point; NaN leaves a gap.
        margins: Name of the series -> half the width of its error bar, one for all or one per point.
        x_title: Title of the x axis.
        y_title: Title of the y axis.
        title: What the figure shows.
        caption: What is guaranteed about it, in words.
        height: In pixels.

    Examples:
        >>> figure = line([2017, 2018], {"reports": [450, 470]}, y_title="reports")
        >>> figure.data[0].mode
        'lines+markers'
    """
    fig = _empty(x_title, y_title, title, caption, height)
    for name, values in _checked(x, series).items():
        error = _error_bar(_margin(name, len(values), margins))
        colour = _colour(name, len(fig.data))
        fig.add_trace(
            go.Scatter(
                x=_plain(x),
                y=values,
                name=name,
                mode="lines+markers",
                line={"color": colour, "width": 2},
                marker={"symbol": "circle", "color": colour, "size": 7, "line": {"width": 0}},
                error_y=error,
                hovertemplate=_hover(error),
            )
        )
    fig.update_layout(showlegend=len(fig.data) > 1)
    return fig


def box(
    labels: Labels,
    series: Mapping[str, Sequence[Box]],
    *,
    x_title: str = "",
    y_title: str = "",
    title: str = "",
    caption: str = "",
    height: int = 420,
) -> Figure:
    """Return boxes drawn from their five numbers; no row is needed, and none is sent.

    Args:
        labels: The categories on the x axis.
        series: Name of the series -> one ``Box`` per label.
        x_title: Title of the x axis.
        y_title: Title of the y axis.
        title: What the figure shows.
        caption: What is guaranteed about it, in words.
        height: In pixels.

    Examples:
        >>> figure = box(["PI-RADS 4"], {"original": [Box(45, 61, 66, 70, 84, mean=65.6)]})
        >>> figure.data[0].median
        (66.0,)
    """
    fig = _empty(x_title, y_title, title, caption, height)
    for name, boxes in series.items():
        if len(boxes) != len(labels):
            raise ParameterError(f"Series '{name}' needs one Box per label: {len(labels)}. Got {len(boxes)}.")
        colour = _colour(name, len(fig.data))
        trace = go.Box(
            x=_texts(labels),
            name=name,
            lowerfence=[float(one.low) for one in boxes],
            q1=[float(one.q1) for one in boxes],
            median=[float(one.median) for one in boxes],
            q3=[float(one.q3) for one in boxes],
            upperfence=[float(one.high) for one in boxes],
            line={"color": colour, "width": 2},
            fillcolor=_faint(colour),
            boxpoints=False,
        )
        if all(one.mean is not None for one in boxes):
            trace.mean = [float(one.mean or 0) for one in boxes]
            trace.boxmean = True
        fig.add_trace(trace)
    fig.update_xaxes(type="category")
    fig.update_layout(boxmode="group" if len(series) > 1 else "overlay", showlegend=len(series) > 1)
    return fig


def heatmap(
    x: Labels,
    y: Labels,
    values: Sequence[Numbers] | np.ndarray[Any, Any],
    *,
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
    """
    cells = np.asarray(values, dtype=float)
    if cells.shape != (len(y), len(x)):
        raise ParameterError(f"values must have {len(y)} rows of {len(x)} numbers. Got shape {cells.shape}.")
    fig = _empty(x_title, y_title, title, caption, height)
    top = float(limit if limit is not None else np.nanmax(cells, initial=1.0))
    word = f" {value_title}" if value_title else ""
    fig.add_trace(
        go.Heatmap(
            x=_texts(x),
            y=_texts(y),
            z=cells.tolist(),
            zmin=0.0,
            zmax=top,
            texttemplate="%{z:,.3~g}",
            textfont={"size": 12},
            xgap=2,
            ygap=2,
            showscale=False,
            hovertemplate=f"%{{y}}, %{{x}}: %{{z:,.3~g}}{word}<extra></extra>",
        )
    )
    fig.update_xaxes(type="category", showline=False, ticks="", tickangle=0)
    fig.update_yaxes(type="category", autorange="reversed", showgrid=False, ticks="")
    fig.update_layout(showlegend=False)
    return fig


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
    fig = _empty(x_title, y_title, title, caption, height)
    seen = counts > 0
    top = limit if limit is not None else counts.max(initial=1.0)
    colour = _colour(name, 0)
    fig.add_trace(
        go.Scatter(
            x=_plain(np.asarray(x)[seen]),
            y=_plain(np.asarray(y)[seen]),
            name=name,
            mode="markers",
            marker={
                "symbol": "circle",
                "size": counts[seen].tolist(),
                "sizemode": "area",
                "sizeref": 2 * float(top) / 24**2,
                "sizemin": 2,
                "opacity": 1,
                "color": _faint(colour, 0.65),
                "line": {"width": 0.8, "color": colour},
            },
            hovertemplate=f"%{{x}}, %{{y}}: %{{marker.size:,}} {size_title}<extra>{name}</extra>",
        )
    )
    fig.update_layout(showlegend=False)
    return fig


def _empty(x_title: str, y_title: str, title: str, caption: str, height: int) -> Figure:
    fig = Figure(layout={"template": template("light")})
    fig.update_layout(
        height=height,
        meta={"title": title, "caption": caption},
        xaxis={"title": {"text": x_title}},
        yaxis={"title": {"text": y_title}},
    )
    return fig


def _checked(labels: Labels, series: Mapping[str, Numbers]) -> dict[str, list[float]]:
    for name, values in series.items():
        if len(values) != len(labels):
            raise ParameterError(f"Series '{name}' needs one value per label: {len(labels)}. Got {len(values)}.")
    return {name: np.asarray(values, dtype=float).tolist() for name, values in series.items()}


def _margin(name: str, count: int, margins: Mapping[str, Numbers | float] | None) -> list[float] | None:
    if margins is None or name not in margins:
        return None
    spread: list[float] = np.broadcast_to(np.asarray(margins[name], dtype=float), count).tolist()
    return spread


def _error_bar(
    margin: list[float] | None, values: Sequence[float] = (), floor: float | None = None
) -> dict[str, Any] | None:
    """Return an error bar around values drawn at ``floor`` or above; its look comes with the template."""
    if margin is None:
        return None
    bars: dict[str, Any] = {"type": "data", "array": margin}
    if floor is not None and any(value - spread < floor for value, spread in zip(values, margin, strict=True)):
        pairs = [(max(value, floor), value, spread) for value, spread in zip(values, margin, strict=True)]
        bars["symmetric"] = False
        bars["array"] = [max(0.0, value + spread - drawn) for drawn, value, spread in pairs]
        bars["arrayminus"] = [max(0.0, drawn - max(floor, value - spread)) for drawn, value, spread in pairs]
    return bars


def _at_least(values: list[float], floor: float | None) -> list[float]:
    return values if floor is None else [max(value, floor) for value in values]


def _hover(error: dict[str, Any] | None) -> str:
    spread = " ± %{error_y.array:,.3~g}" if error else ""
    return f"%{{x}}: %{{y:,.4~g}}{spread}<extra>%{{fullData.name}}</extra>"


def _colour(name: str, place: int) -> str:
    return tone(name) or COLORWAY[place % len(COLORWAY)]


def _faint(colour: str, strength: float = 0.28) -> str:
    red, green, blue = (int(colour[i : i + 2], 16) for i in (1, 3, 5))
    return f"rgba({red},{green},{blue},{strength})"


def _texts(labels: Labels) -> list[str]:
    return [str(label) for label in labels]


def _plain(values: Labels) -> list[Any]:
    # Lists, not arrays: Plotly packs arrays as base64, which nobody can read over.
    plain: list[Any] = np.asarray(values).tolist()
    return plain
