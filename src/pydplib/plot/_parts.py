"""What the builders share: empty figures, checks, error bars, colours."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from textwrap import wrap
from typing import Any, TypeAlias

import numpy as np

from pydplib.errors import ParameterError
from pydplib.plot._figure import Figure
from pydplib.plot._theme import COLORWAY, template, tone

Numbers: TypeAlias = Sequence[float] | np.ndarray[Any, Any]
Labels: TypeAlias = Sequence[Any] | np.ndarray[Any, Any]

ORIGINAL_SHOWN = "Shows the original values as well: for the data owner only."
"""What a caption says where the owner had the original drawn next to a release."""


def empty_figure(x_title: str, y_title: str, title: str, caption: str, height: int) -> Figure:
    """Return a figure with the template, the titles of its axes and its words."""
    fig = Figure(layout={"template": template("light")})
    fig.update_layout(
        height=height,
        meta={"title": title, "caption": caption},
        xaxis={"title": {"text": x_title}},
        yaxis={"title": {"text": y_title}},
    )
    return fig


def checked_series(labels: Labels, series: Mapping[str, Numbers]) -> dict[str, list[float]]:
    """Return the series as lists of numbers, or say which of them does not fit the labels."""
    for name, values in series.items():
        if len(values) != len(labels):
            raise ParameterError(f"Series '{name}' needs one value per label: {len(labels)}. Got {len(values)}.")
    return {name: np.asarray(values, dtype=float).tolist() for name, values in series.items()}


def margin_of(name: str, count: int, margins: Mapping[str, Numbers | float] | None) -> list[float] | None:
    """Return the margin of a series, one number per label, or None where it is not known."""
    if margins is None or name not in margins:
        return None
    spread: list[float] = np.broadcast_to(np.asarray(margins[name], dtype=float), count).tolist()
    return spread


def error_bar(
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


def at_least(values: list[float], floor: float | None) -> list[float]:
    """Return the values, those below ``floor`` at it."""
    return values if floor is None else [max(value, floor) for value in values]


def hover_text(error: dict[str, Any] | None) -> str:
    """Return what a mark says when it is pointed at."""
    spread = " ± %{error_y.array:,.3~g}" if error else ""
    return f"%{{x}}: %{{y:,.4~g}}{spread}<extra>%{{fullData.name}}</extra>"


def colour_of(name: str, place: int) -> str:
    """Return the colour of a noise level, or the next of the house."""
    return tone(name) or COLORWAY[place % len(COLORWAY)]


def faint(colour: str, strength: float = 0.28) -> str:
    """Return a colour that lets the grid shine through."""
    red, green, blue = (int(colour[i : i + 2], 16) for i in (1, 3, 5))
    return f"rgba({red},{green},{blue},{strength})"


def texts(labels: Labels) -> list[str]:
    """Return labels as texts, so that axes of numbers stay categories."""
    return [str(label) for label in labels]


def set_categories(figure: Figure, labels: Sequence[str]) -> None:
    """Make the x axis one of categories, whose labels are broken into lines on narrow screens."""
    figure.update_xaxes(type="category")
    if len(labels) > 8:
        axis: dict[str, Any] = {"nticks": 6, "tickangle": 0}
    else:
        most = max(6, int(270 / max(len(labels), 1) / 7))
        broken = ["<br>".join(wrap(label, most, break_long_words=False)) for label in labels]
        # Ranges such as 50-54 cannot be broken; of many, every second one is enough.
        every = 2 if len(labels) > 6 and sum(label[:1].isdigit() for label in labels) > len(labels) / 2 else 1
        axis = {"tickvals": list(labels)[::every], "ticktext": broken[::every], "tickangle": 0}
    set_narrow(figure, {"xaxis": axis, "margin": {"l": 50, "r": 4}})


_WIDE, _SLIM = 860, 270
"""Pixels between the ends of an x axis: on a page, and on a phone."""
_LETTER = 7.2
AXIS_ROOM = 48
"""Pixels below the plot for one line of labels and the title of the axis, as in the template."""
_LONGEST = 26


def fit_labels(figure: Figure, labels: Sequence[str], *, thin: bool = False, width: int = _WIDE) -> None:
    """Make the labels of an x axis of categories readable: in lines, slanted, or every second one of many bins.

    Args:
        figure: Whose x axis it is.
        labels: Its categories.
        thin: Whether some labels can be left out because the others say where they lie: bins, not names.
        width: The length of the axis in pixels.
    """
    axis, more = _fitted(labels, thin, width)
    height = figure.layout.height or 420
    figure.update_xaxes(type="category", **axis)
    figure.update_layout(height=height + more, margin={"b": AXIS_ROOM + more})
    before = (figure.layout.meta or {}).get("narrow") or {}
    axis, more = _fitted(labels, thin, _SLIM)
    axis, margin = {**before.get("xaxis", {}), **axis}, {**before.get("margin", {}), "b": AXIS_ROOM + more}
    set_narrow(figure, {**before, "xaxis": axis, "margin": margin, "height": height + more})


def _fitted(labels: Sequence[str], thin: bool, width: int) -> tuple[dict[str, Any], int]:
    """Return the settings of an axis, and how many pixels its labels need beyond one line."""
    for step in range(1, max(len(labels), 1) + 1) if thin else (1,):
        shown = list(labels)[::step]
        room = int(width * step / max(len(labels), 1) / _LETTER) - 1
        broken = [wrap(label, max(room, 1), break_long_words=False, break_on_hyphens=False) for label in shown]
        if all(len(lines) <= 3 and max(map(len, lines), default=0) <= room for lines in broken):
            ticks = {"tickvals": shown, "ticktext": ["<br>".join(lines) for lines in broken], "tickangle": 0}
            return ticks, 16 * (max(map(len, broken), default=1) - 1)
    short = [label if len(label) <= _LONGEST else f"{label[: _LONGEST - 1]}…" for label in labels]
    ticks = {"tickvals": list(labels), "ticktext": short, "tickangle": -40}
    return ticks, round(0.65 * _LETTER * max(map(len, short)))


def may_be_noise(figure: Figure, faded: Collection[str], words: tuple[str, str] = ("may be", "noise")) -> None:
    """Say under categories that noise alone could have made them, on wide and on narrow screens.

    Args:
        figure: A figure whose x axis is one of categories.
        faded: The categories.
        words: What is said, in two parts: on narrow screens each has a line.
    """
    if not faded:
        return
    narrow = dict((figure.layout.meta or {}).get("narrow") or {})
    wide = figure.layout.xaxis
    if wide.tickvals is None:
        labels = list(dict.fromkeys(str(label) for trace in figure.data for label in trace.x))
        wide.update(tickvals=labels, ticktext=labels, tickangle=0)
    wide.ticktext = _doubted(wide.tickvals, wide.ticktext, faded, f"<br>({' '.join(words)})")
    more = figure.layout.margin.b or AXIS_ROOM
    figure.update_layout(margin={"b": more + 16}, height=(figure.layout.height or 420) + 16)
    slim = dict(narrow.get("xaxis") or {})
    if "tickvals" in slim:
        slim["ticktext"] = _doubted(slim["tickvals"], slim["ticktext"], faded, f"<br>({'<br>'.join(words)})")
        margin = dict(narrow.get("margin") or {})
        margin["b"] = margin.get("b", AXIS_ROOM) + 32
        set_narrow(figure, {**narrow, "xaxis": slim, "margin": margin, "height": narrow.get("height", 420) + 32})


def _doubted(labels: Sequence[str], texts: Sequence[str], faded: Collection[str], words: str) -> list[str]:
    return [text + words if label in faded else text for label, text in zip(labels, texts, strict=True)]


def set_narrow(figure: Figure, layout: dict[str, Any]) -> None:
    """Say what changes on narrow screens; it travels with the figure, and pages and pictures apply it."""
    figure.layout.meta = {**figure.layout.meta, "narrow": layout}


def plain_list(values: Labels) -> list[Any]:
    """Return a list, not an array: Plotly packs arrays as base64, which nobody can read over."""
    plain: list[Any] = np.asarray(values).tolist()
    return plain
