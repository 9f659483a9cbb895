"""Charts of series: bars, lines and boxes. They take aggregates: one mark per group, never one per row."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass
from itertools import pairwise

import numpy as np

from pydplib.errors import ParameterError
from pydplib.plot._figure import Figure, go
from pydplib.plot._parts import (
    Labels,
    Numbers,
    at_least,
    checked_series,
    colour_of,
    empty_figure,
    error_bar,
    faint,
    hover_text,
    margin_of,
    may_be_noise,
    plain_list,
    set_categories,
    set_narrow,
    texts,
)
from pydplib.plot._theme import COLORWAY


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
    _: KW_ONLY
    mean: float | None = None


def bar(
    labels: Labels,
    series: Mapping[str, Numbers],
    *,
    margins: Mapping[str, Numbers | float] | None = None,
    marks: Mapping[str, Numbers] | None = None,
    marks_title: str = "",
    floor: float | None = None,
    stacked: bool = False,
    colours: Mapping[str, str] | None = None,
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
        stacked: Series on top of each other instead of side by side; without error bars.
        colours: Name of the series -> its colour; the others take theirs from the palette.
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
    fig = empty_figure(x_title, y_title, title, caption, height)
    better = checked_series(labels, marks or {})
    for name, values in checked_series(labels, series).items():
        alone = stacked or name in better
        error = None if alone else error_bar(margin_of(name, len(values), margins), values, floor)
        trace = go.Bar(x=texts(labels), y=at_least(values, floor), name=name, error_y=error)
        colour = (colours or {}).get(name) or colour_of(name, len(fig.data))
        trace.update(hovertemplate=hover_text(error), marker={"color": colour})
        if not stacked:
            trace.offsetgroup = name
        fig.add_trace(trace)
    for place, (name, values) in enumerate(better.items()):
        error = error_bar(margin_of(name, len(values), margins), values, floor)
        fig.add_trace(
            go.Scatter(
                x=texts(labels),
                y=at_least(values, floor),
                name=marks_title or "estimate",
                mode="markers",
                offsetgroup=name,
                error_y=error,
                legendgroup="marks",
                cliponaxis=False,
                showlegend=place == 0,
                hovertemplate=hover_text(error).replace("%{fullData.name}", f"{name}, {marks_title}"),
            )
        )
    set_categories(fig, texts(labels))
    fig.update_layout(barmode="stack" if stacked else "group", scattermode="group", showlegend=len(fig.data) > 1)
    return fig


def histogram(
    edges: Numbers,
    series: Mapping[str, Numbers],
    *,
    margins: Mapping[str, Numbers | float] | None = None,
    colours: Mapping[str, str] | None = None,
    x_title: str = "",
    y_title: str = "",
    title: str = "",
    caption: str = "",
    height: int = 420,
) -> Figure:
    """Return bars on an axis of numbers, as wide as their bins; several series lie on top of each other.

    Args:
        edges: Where the bins begin and end: one more than there are bins.
        series: Name of the series -> how many lie in each bin.
        margins: Name of the series -> half the width of its error bar; drawn where there is one series.
        colours: Name of the series -> its colour; the others take theirs from the palette.
        x_title: Title of the x axis.
        y_title: Title of the y axis.
        title: What the figure shows.
        caption: What is guaranteed about it, in words.
        height: In pixels.

    Examples:
        >>> figure = histogram([60, 65, 70], {"reports": [210, 250]}, x_title="age in years")
        >>> figure.data[0].x, figure.data[0].width
        ((62.5, 67.5), (5.0, 5.0))
    """
    ends = np.asarray(edges, dtype=float)
    fig = empty_figure(x_title, y_title, title, caption, height)
    for name, values in checked_series(ends[1:], series).items():
        error = error_bar(margin_of(name, len(values), margins), values, 0.0) if len(series) == 1 else None
        colour = (colours or {}).get(name) or colour_of(name, len(fig.data))
        spread = " ± %{error_y.array:,.3~g}" if error else ""
        fig.add_trace(
            go.Bar(
                x=((ends[:-1] + ends[1:]) / 2).tolist(),
                y=at_least(values, 0.0),
                width=np.diff(ends).tolist(),
                name=name,
                error_y=error,
                customdata=[f"{low:g} to {high:g}" for low, high in pairwise(ends.tolist())],
                marker={"color": colour},
                hovertemplate=f"%{{customdata}}: %{{y:,.4~g}}{spread}<extra>%{{fullData.name}}</extra>",
            )
        )
    fig.update_layout(barmode="stack", bargap=0, showlegend=len(series) > 1, legend={"traceorder": "normal"})
    set_narrow(fig, {"margin": {"l": 50, "r": 4}})
    return fig


def dots(
    labels: Labels,
    series: Mapping[str, Numbers],
    *,
    margins: Mapping[str, Numbers | float] | None = None,
    band: tuple[float, float] | None = None,
    band_title: str = "",
    x_title: str = "",
    y_title: str = "",
    title: str = "",
    caption: str = "",
    height: int = 420,
) -> Figure:
    """Return one value per category as dots on a horizontal axis, the series of a category below each other.

    Args:
        labels: The categories on the y axis, from the top.
        series: Name of the series -> one value per label; NaN leaves a gap.
        margins: Name of the series -> half the width of its error bar, one for all or one per label.
        band: A range to compare with, drawn behind the dots.
        band_title: What the range is.
        x_title: Title of the x axis.
        y_title: Title of the y axis.
        title: What the figure shows.
        caption: What is guaranteed about it, in words.
        height: In pixels.

    Examples:
        >>> figure = dots(["PI-RADS 4"], {"low": [65.2]}, band=(60, 70), x_title="average age in years")
        >>> figure.data[0].x
        (65.2,)
    """
    fig = empty_figure(x_title, y_title, title, caption, height)
    known = checked_series(labels, series)
    step = 0.6 / max(len(known), 1)
    for place, (name, values) in enumerate(known.items()):
        margin = margin_of(name, len(values), margins)
        colour = colour_of(name, place)
        shift = (place - (len(known) - 1) / 2) * step
        spread = " ± %{error_x.array:,.3~g}" if margin is not None else ""
        fig.add_trace(
            go.Scatter(
                x=values,
                y=[row + shift for row in range(len(values))],
                name=name,
                mode="markers",
                customdata=texts(labels),
                marker={"symbol": "circle", "color": colour, "size": 11, "line": {"width": 0}},
                error_x=None if margin is None else {"type": "data", "array": margin, "color": colour, "thickness": 2},
                hovertemplate=f"%{{customdata}}: %{{x:,.4~g}}{spread}<extra>%{{fullData.name}}</extra>",
            )
        )
    rows = list(range(len(labels)))
    fig.update_yaxes(
        tickvals=rows, ticktext=texts(labels), range=[len(labels) - 0.5, -0.5], showgrid=False, zeroline=False
    )
    fig.update_xaxes(showgrid=True)
    if band is not None:
        fig.add_shape(
            type="rect", x0=band[0], x1=band[1], y0=0, y1=1, yref="paper", layer="below", line={"width": 0},
            fillcolor=faint(COLORWAY[0], 0.10),
        )  # fmt: skip
        if band_title:
            fig.add_annotation(
                text=band_title, x=(band[0] + band[1]) / 2, y=1, yref="paper", yanchor="bottom", font={"size": 12}
            )
    fig.update_layout(showlegend=len(known) > 1)
    if band_title and len(known) > 1:  # the legend stands above the title of the band
        fig.update_layout(legend={"y": 1 + 24 / (height - 110)}, margin={"t": 64})
    set_narrow(fig, {"margin": {"l": 50, "r": 4}})
    return fig


_TREND = 2
"""As many points are no trend: a line through them would say more than they do."""


def line(
    x: Labels,
    series: Mapping[str, Numbers],
    *,
    margins: Mapping[str, Numbers | float] | None = None,
    colours: Mapping[str, str] | None = None,
    x_title: str = "",
    y_title: str = "",
    title: str = "",
    caption: str = "",
    height: int = 420,
) -> Figure:
    """Return lines with markers, one per series, with error bars where margins are known; no line through two points.

    Args:
        x: Where the points lie on the x axis (numbers or categories).
        series: Name of the series -> one value per point; NaN leaves a gap.
        margins: Name of the series -> half the width of its error bar, one for all or one per point.
        colours: Name of the series -> its colour; the others take theirs from the palette.
        x_title: Title of the x axis.
        y_title: Title of the y axis.
        title: What the figure shows.
        caption: What is guaranteed about it, in words.
        height: In pixels.

    Examples:
        >>> line([2016, 2017, 2018], {"reports": [430, 450, 470]}, y_title="reports").data[0].mode
        'lines+markers'
        >>> line([2017, 2018], {"reports": [450, 470]}, y_title="reports").data[0].mode
        'markers'
    """
    fig = empty_figure(x_title, y_title, title, caption, height)
    for name, values in checked_series(x, series).items():
        error = error_bar(margin_of(name, len(values), margins))
        colour = (colours or {}).get(name) or colour_of(name, len(fig.data))
        if error is not None:
            error["color"] = colour  # whose it is
        fig.add_trace(
            go.Scatter(
                x=plain_list(x),
                y=values,
                name=name,
                mode="lines+markers" if len(values) > _TREND else "markers",
                line={"color": colour, "width": 2},
                marker={"symbol": "circle", "color": colour, "size": 7, "line": {"width": 0}},
                error_y=error,
                hovertemplate=hover_text(error),
            )
        )
    fig.update_layout(showlegend=len(fig.data) > 1)
    return fig


def box(
    labels: Labels,
    series: Mapping[str, Sequence[Box]],
    *,
    faded: Sequence[str] = (),
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
        faded: Labels whose boxes are drawn faintly, with "may be noise" under them: do not rely on them.
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
    fig = empty_figure(x_title, y_title, title, caption, height)
    for place, (name, boxes) in enumerate(series.items()):
        if len(boxes) != len(labels):
            raise ParameterError(f"Series '{name}' needs one Box per label: {len(labels)}. Got {len(boxes)}.")
        colour = colour_of(name, place)
        pairs = list(zip(texts(labels), boxes, strict=True))
        # A trace has one look: faded boxes are a trace of their own, with the name of the other.
        for pale in (False, True):
            part = [pair for pair in pairs if (pair[0] in faded) == pale]
            if not part and (pale or pairs):
                continue
            trace = go.Box(
                x=[label for label, _ in part],
                name=name,
                lowerfence=[float(one.low) for _, one in part],
                q1=[float(one.q1) for _, one in part],
                median=[float(one.median) for _, one in part],
                q3=[float(one.q3) for _, one in part],
                upperfence=[float(one.high) for _, one in part],
                line={"color": colour, "width": 2},
                fillcolor=faint(colour),
                boxpoints=False,
            )
            if pale:
                trace.update(opacity=0.55, showlegend=False, line={"width": 1})
            if part and all(one.mean is not None for _, one in part):
                trace.mean = [float(one.mean or 0) for _, one in part]
                trace.boxmean = True
            fig.add_trace(trace)
    set_categories(fig, texts(labels))
    fig.update_layout(boxmode="group" if len(series) > 1 else "overlay", showlegend=len(series) > 1)
    if faded:
        fig.update_xaxes(categoryorder="array", categoryarray=texts(labels))
        may_be_noise(fig, faded)
    return fig
