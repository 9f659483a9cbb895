"""Small multiples: several figures as panels of one, two abreast on a screen, one on a phone."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pydplib.errors import ParameterError
from pydplib.plot._figure import Figure
from pydplib.plot._parts import AXIS_ROOM
from pydplib.plot._theme import template

_AXIS_BELOW, _TITLE_ABOVE = 58, 38  # pixels between two rows: the axis of one, the title of the next
_SECOND_LINE = 18  # pixels of a title's second line
_LEGEND_ABOVE = 30
_BETWEEN = 36  # pixels between two columns that share their labels


def panels(
    parts: Mapping[str, Figure],
    *,
    columns: int = 2,
    same_scale: bool = True,
    title: str = "",
    caption: str = "",
    panel_height: int = 250,
) -> Figure:
    """Return one figure with a panel per part, in reading order.

    On narrow screens pages stack the panels; the layout for that travels in ``layout.meta``.

    Args:
        parts: Title of the panel -> its figure, as the builders return it. A title may have a second, fainter line.
        columns: Panels abreast.
        same_scale: Whether all panels share the range of their y axes (and of their x axes, if numeric).
        title: What the figure shows.
        caption: What is guaranteed about it, in words.
        panel_height: Height of one panel, in pixels.

    Examples:
        >>> from pydplib.plot import bar
        >>> both = panels({"original": bar(["a"], {"n": [3]}), "high": bar(["a"], {"n": [5]})})
        >>> [trace.xaxis for trace in both.data]
        ['x', 'x2']
    """
    if not parts:
        raise ParameterError("panels needs at least one figure.")
    fig = Figure(layout={"template": template("light"), "showlegend": False})
    # Panels that show the same several series share one legend, and a series has one colour in all of them.
    names = [tuple(trace.name for trace in part.data) for part in parts.values()]
    legend = len(names[0]) > 1 and all(names[0]) and len(set(names)) == 1
    for number, part in enumerate(parts.values(), start=1):
        suffix = "" if number == 1 else str(number)
        for first, trace in zip(next(iter(parts.values())).data, part.data, strict=False):
            if legend and first.type == trace.type and first.marker.color is not None:
                trace.update(marker={"color": first.marker.color})
        for trace in part.data:
            trace.update(xaxis=f"x{suffix}", yaxis=f"y{suffix}")
            if legend:
                trace.update(legendgroup=trace.name, showlegend=number == 1)
            fig.add_trace(trace)
        for letter in "xy":
            axis = dict(part.layout[f"{letter}axis"].to_plotly_json())
            if same_scale and number > 1 and not (letter == "x" and axis.get("type") == "category"):
                axis["matches"] = letter
            axis["anchor"] = f"{'y' if letter == 'x' else 'x'}{suffix}"
            fig.layout[f"{letter}axis{suffix}"] = axis
    for key in ("barmode", "boxmode", "bargap", "scattermode", "scattergap"):
        if next(iter(parts.values())).layout[key] is not None:
            fig.layout[key] = next(iter(parts.values())).layout[key]
    words = {text: str(part.layout.yaxis.title.text or "") for text, part in parts.items()}
    left = _left_margin(list(parts.values()))
    below = max(max(0, (part.layout.margin.b or 0) - AXIS_ROOM) for part in parts.values())
    fig.update_layout(_arrange(words, columns, panel_height, left, same_scale, legend, below))
    narrow = _arrange(words, 1, panel_height, left, same_scale, legend, below)
    if legend:
        fig.update_layout(showlegend=True, legend_title=next(iter(parts.values())).layout.legend.title)
    for number, part in enumerate(parts.values(), start=1):
        if part.layout.xaxis.type == "category":
            narrow[f"xaxis{'' if number == 1 else number}"] |= {"tickfont": {"size": 10}, "tickangle": 0}
    fig.layout.meta = {"title": title, "caption": caption, "narrow": narrow}
    return fig


def _left_margin(parts: list[Figure]) -> int:
    """Return room for the longest label of a y axis of categories, or for numbers."""
    labels = [
        str(label)
        for part in parts
        if part.layout.yaxis.type == "category"
        for trace in part.data
        for label in (trace.y if trace.y is not None else ())
    ]
    return max([64, *(18 + round(7.2 * len(label)) for label in labels)])


def _arrange(
    words: Mapping[str, str],
    columns: int,
    panel_height: int,
    left_margin: int,
    same_scale: bool,
    legend: bool,
    below: int = 0,
) -> dict[str, Any]:
    """Return domains, titles and height for ``columns`` panels abreast.

    Args:
        words: Title of the panel -> title of its y axis.
        columns: Panels abreast.
        panel_height: In pixels.
        left_margin: Room for the labels of a y axis.
        same_scale: Whether the panels share their scales.
        legend: Whether there is a legend above.
        below: Pixels that the labels of the x axes need beyond one line.
    """
    columns = min(columns, len(words))
    rows = -(-len(words) // columns)
    second = _SECOND_LINE if any("\n" in text for text in words) else 0
    row_gap = _AXIS_BELOW + below + _TITLE_ABOVE + second
    inner = rows * panel_height + (rows - 1) * row_gap
    # The width is not known here: the gap is meant for a page of about 900 pixels.
    gap = (_BETWEEN if same_scale else left_margin + 8) / 860
    width = (1 - gap * (columns - 1)) / columns
    layout: dict[str, Any] = {"annotations": []}
    for place, (text, y_title) in enumerate(words.items()):
        row, column = divmod(place, columns)
        left = column * (width + gap)
        top = 1 - row * (panel_height + row_gap) / inner
        suffix = "" if place == 0 else str(place + 1)
        layout[f"xaxis{suffix}"] = {"domain": [left, left + width]}
        # Said once per row is enough.
        layout[f"yaxis{suffix}"] = {
            "domain": [max(0.0, top - panel_height / inner), top],
            "title": {"text": y_title if column == 0 else ""},
            "showticklabels": column == 0 or not same_scale,
        }
        for line, said in enumerate(text.split("\n")):
            layout["annotations"].append(
                {
                    "text": said,
                    # Not <b>: Plotly turns it into an inline style, which strict pages refuse.
                    "font": {"weight": 600} if line == 0 else {"size": 12},
                    "xref": "paper",
                    "x": left,
                    "xanchor": "left",
                    "yref": "paper",
                    "y": top,
                    "yanchor": "bottom",
                    "yshift": 8 if line or not second else 8 + second,
                    "showarrow": False,
                }
            )
    margin = {
        "l": left_margin,
        "r": 16,
        "t": 40 + second + (_LEGEND_ABOVE * (1 if columns > 1 else 3) if legend else 0),
        "b": _AXIS_BELOW + below,
    }
    layout["margin"] = margin
    if legend:  # above the titles of the first row
        layout["legend"] = {"y": 1 + (32 + second) / inner}
    layout["height"] = inner + margin["t"] + margin["b"]
    return layout
