"""Charts of series: bars, lines and boxes. They take aggregates: one mark per group, never one per row."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

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
    plain_list,
    set_categories,
    texts,
)


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
    fig = empty_figure(x_title, y_title, title, caption, height)
    better = checked_series(labels, marks or {})
    for name, values in checked_series(labels, series).items():
        error = None if name in better else error_bar(margin_of(name, len(values), margins), values, floor)
        trace = go.Bar(x=texts(labels), y=at_least(values, floor), name=name, error_y=error)
        trace.update(
            hovertemplate=hover_text(error), marker={"color": colour_of(name, len(fig.data))}, offsetgroup=name
        )
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
    fig = empty_figure(x_title, y_title, title, caption, height)
    for name, values in checked_series(x, series).items():
        error = error_bar(margin_of(name, len(values), margins))
        colour = colour_of(name, len(fig.data))
        fig.add_trace(
            go.Scatter(
                x=plain_list(x),
                y=values,
                name=name,
                mode="lines+markers",
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
    fig = empty_figure(x_title, y_title, title, caption, height)
    for name, boxes in series.items():
        if len(boxes) != len(labels):
            raise ParameterError(f"Series '{name}' needs one Box per label: {len(labels)}. Got {len(boxes)}.")
        colour = colour_of(name, len(fig.data))
        trace = go.Box(
            x=texts(labels),
            name=name,
            lowerfence=[float(one.low) for one in boxes],
            q1=[float(one.q1) for one in boxes],
            median=[float(one.median) for one in boxes],
            q3=[float(one.q3) for one in boxes],
            upperfence=[float(one.high) for one in boxes],
            line={"color": colour, "width": 2},
            fillcolor=faint(colour),
            boxpoints=False,
        )
        if all(one.mean is not None for one in boxes):
            trace.mean = [float(one.mean or 0) for one in boxes]
            trace.boxmean = True
        fig.add_trace(trace)
    set_categories(fig, texts(labels))
    fig.update_layout(boxmode="group" if len(series) > 1 else "overlay", showlegend=len(series) > 1)
    return fig
