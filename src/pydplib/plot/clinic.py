"""Figures of clinical statistics as journals print them: survival curves, forest plots, ROC curves, Table 1."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from pydplib.plot._figure import Figure, go
from pydplib.plot._parts import empty_figure, set_narrow
from pydplib.plot._theme import COLORWAY
from pydplib.release.results.findings import COMPARED_WITH, ends_text, p_text, show

PICTURES = ("curves", "forest", "roc", "table")
"""How clinical statistics are drawn."""

_MOST_TICKS = 7
"""As many numbers at risk as fit next to each other on a phone."""

_CURVES, _AXIS, _HEADING, _ROW = 330, 48, 24, 22
"""Heights in pixels: the curves, the time axis, the heading of the numbers at risk, and each row of them."""


def draw_clinical(release: Any, picture: str, *, title: str, caption: str) -> Figure:
    """Return the figure of a clinical release.

    Args:
        release: A ``Release`` with intervals for the population.
        picture: One of ``PICTURES``.
        title: What it shows.
        caption: What is guaranteed about it.
    """
    if picture == "table":
        return _table(release, title, "\n".join((release.printed.caption, *release.notes)))
    drawer = {"curves": _curves, "forest": _forest, "roc": _roc}[picture]
    return drawer(release, title, f"{_interval_words(release)}\n{caption}")


def _interval_words(release: Any) -> str:
    often = f"{100 * release.confidence:g} %"
    if release.population_low is None:
        return "Error bars hold the noise alone."
    return f"Intervals are for the population ({often}): sampling and noise are both in them."


def _ends(release: Any, low: float, high: float) -> tuple[Any, Any]:
    """Return the population's ends, infinite ones cut at public limits; the noise's where there are none."""
    if release.population_low is None:
        first, last = release.low, release.high
    else:
        first, last = release.population_low, release.population_high
    lows = np.array([low if end is None else max(end, low) for end in first or release.values], dtype=float)
    highs = np.array([high if end is None else min(end, high) for end in last or release.values], dtype=float)
    return lows.reshape(release.shape or (1,)), highs.reshape(release.shape or (1,))


def _clear(colour: str, share: float) -> str:
    red, green, blue = (int(colour[place : place + 2], 16) for place in (1, 3, 5))
    return f"rgba({red},{green},{blue},{share})"


def _curves(release: Any, title: str, caption: str) -> Figure:
    """Draw survival curves with bands, and the numbers at risk under them."""
    times = release.axes[-1]
    edges = [float(times.keys[0][0]), *(float(key[1]) for key in times.keys)]
    groups = release.axes[0].labels if len(release.axes) > 1 else ("all",)
    values = np.asarray(release.values, dtype=float).reshape(len(groups), -1)
    lows, highs = (ends.reshape(values.shape) for ends in _ends(release, 0.0, 1.0))
    rows = len(groups)
    numbers = None if release.sizes is None else np.asarray(release.sizes, dtype=float).reshape(values.shape)
    under = 0 if numbers is None else _AXIS + _HEADING + _ROW * rows
    inside = _CURVES + under
    fig = empty_figure("", "Share without an event", title, caption, inside + 88)  # the theme's margins
    for place, name in enumerate(groups):
        colour = COLORWAY[place % len(COLORWAY)]
        band = [1.0, *highs[place]], [1.0, *lows[place]]
        for ends, fill in ((band[0], None), (band[1], "tonexty")):
            fig.add_trace(
                go.Scatter(
                    x=edges, y=ends, mode="lines", line={"width": 0, "shape": "hv", "color": colour}, fill=fill,
                    fillcolor=_clear(colour, 0.16), showlegend=False, hoverinfo="skip",
                )
            )  # fmt: skip
        hover = [
            "start"
            if at == 0
            else f"{show(values[place][at - 1])} ({ends_text(lows[place][at - 1], highs[place][at - 1])})"
            for at in range(len(edges))
        ]
        fig.add_trace(
            go.Scatter(
                x=edges, y=[1.0, *values[place]], name=name, mode="lines", text=hover,
                line={"shape": "hv", "color": colour, "width": 2.5},
                hovertemplate="%{x}: %{text}<extra>%{fullData.name}</extra>",
            )
        )  # fmt: skip
    shown = list(range(0, len(edges) - 1, math.ceil((len(edges) - 1) / _MOST_TICKS)))
    for place, at_risk in enumerate([] if numbers is None else numbers):
        fig.add_trace(
            go.Scatter(
                x=[edges[at] for at in shown], y=[rows - place] * len(shown), mode="text", yaxis="y2", showlegend=False,
                text=[str(max(0, round(at_risk[at]))) for at in shown], hoverinfo="skip",
                textfont={"color": COLORWAY[place % len(COLORWAY)]}, cliponaxis=False,
            )
        )  # fmt: skip
    unit = f" ({times.unit})" if times.unit else ""
    words = [found for found in release.findings if found.p is not None]
    fig.update_layout(
        showlegend=rows > 1,
        legend={"traceorder": "normal", "title": {"text": f"{release.axes[0].title or release.axes[0].name}: "}},
        yaxis={"domain": [under / inside, 1], "range": [0, 1.02], "anchor": "x"},
        xaxis={
            "title": {"text": f"{times.title or times.name}{unit}"},
            "tickvals": [edges[at] for at in shown] + edges[-1:], "anchor": "y",
            "range": [edges[0] - 0.06 * (edges[-1] - edges[0]), edges[-1] * 1.01], "showgrid": False,
        },
    )  # fmt: skip
    if numbers is not None:
        fig.update_layout(
            yaxis2={
                "domain": [0, _ROW * rows / inside], "range": [0.5, rows + 0.5], "tickmode": "array", "showgrid": False,
                "tickvals": list(range(rows, 0, -1)), "ticktext": list(groups) if rows > 1 else ["At risk"],
                "zeroline": False, "title": {"text": ""}, "ticklen": 0, "showline": False,
            }
        )  # fmt: skip
        fig.add_annotation(
            text="Numbers at risk (noisy)", xref="paper", yref="paper", x=0, y=_ROW * rows / inside, yanchor="bottom",
            xanchor="left", showarrow=False, font={"size": 12},
        )  # fmt: skip
    for found in words:
        fig.add_annotation(
            text=f"{found.name}: {p_text(found.p)}", xref="paper", yref="paper", x=0.01, y=under / inside + 0.02,
            xanchor="left", yanchor="bottom", showarrow=False,
        )  # fmt: skip
    return fig


def _full_label(axis: Any, key: Any) -> str:
    """Return the label of a group; yes and no say of what."""
    label = str(axis.label(key))
    return f"{axis.title or axis.name}: {label}" if isinstance(key, bool) else label


def _forest(release: Any, title: str, caption: str) -> Figure:
    """Draw estimates and intervals one under the other, with the numbers on the right."""
    caption = "\n".join([*(note for note in release.notes if note.startswith(COMPARED_WITH)), caption])
    ratio = release.statistic in ("odds ratio", "risk ratio", "logistic")
    labels = [
        ", ".join(_full_label(axis, part) for axis, part in zip(release.axes, key, strict=True)) for key in release.keys
    ]
    labels = [label or release.statistic for label in labels]
    values = np.asarray(release.values, dtype=float)
    known = [end for end in (*(release.population_low or ()), *(release.population_high or ())) if end]
    least, most = min([*values, *known]), max([*values, *known])
    low, high = (max(least, 1e-3), min(max(most, 1e-3), 1e3)) if ratio else (least, most)
    if ratio:
        low, high = min(low / 1.3, 0.5), max(high * 1.3, 2.0)
    else:
        room = max(high - low, 1e-9)
        low, high = min(low - 0.1 * room, -0.1 * room), max(high + 0.1 * room, 0.1 * room)
    lows, highs = (ends.ravel() for ends in _ends(release, low, high))
    names = {"odds ratio": "Odds ratio", "risk ratio": "Risk ratio", "logistic": "Odds ratio (adjusted)"}
    unit = f" ({release.unit})" if release.unit else ""
    fig = empty_figure(names.get(release.statistic, f"{release.statistic.capitalize()}{unit}"), "", title, caption,
                       170 + 40 * len(labels))  # fmt: skip
    rows = list(range(len(labels), 0, -1))
    fig.add_trace(
        go.Scatter(
            x=np.clip(values, low, high), y=rows, mode="markers", showlegend=False,
            marker={"symbol": "square", "size": 11, "color": COLORWAY[0]},
            error_x={"type": "data", "symmetric": False, "array": highs - values, "arrayminus": values - lows,
                     "color": COLORWAY[0], "thickness": 2, "width": 5},
            text=labels, hovertemplate="%{text}: %{x:.3g}<extra></extra>",
        )
    )  # fmt: skip
    slim = []  # on a phone the words stand above their line: next to it there is no space
    for row, place in zip(rows, range(len(labels)), strict=True):
        ends = ("", "") if release.population_low is None else (
            release.population_low[place], release.population_high[place]
        )  # fmt: skip
        shown = f"{show(values[place])}" + ("" if release.population_low is None else f" ({ends_text(*ends)})")
        words = {"text": shown, "xref": "paper", "y": row, "xanchor": "left", "showarrow": False, "font": {"size": 13}}
        fig.add_annotation(**words, x=1.02)
        slim.append({**words, "text": f"{labels[place]}: {shown}", "x": 0, "yshift": 16, "font": {"size": 11}})
    nothing = 1.0 if ratio else 0.0
    fig.add_vline(x=nothing, line={"dash": "dash", "width": 1, "color": "#7a8490"})
    scale = {"type": "log", "range": [math.log10(low), math.log10(high)]} if ratio else {"range": [low, high]}
    ticks = [tick for tick in (0.01, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50, 100) if low <= tick <= high]
    fig.update_layout(
        xaxis={**scale, **({"tickvals": ticks, "ticktext": [f"{tick:g}" for tick in ticks]} if ratio else {})},
        yaxis={"tickvals": rows, "ticktext": labels, "range": [0.4, len(labels) + 0.6], "showgrid": False,
               "automargin": True},
        margin={"r": 190},
    )  # fmt: skip
    set_narrow(
        fig,
        {
            "annotations": slim,
            "shapes": _interrupted(nothing, rows),
            "margin": {"l": 16, "r": 16},
            "xaxis": {"tickangle": 0},
            "yaxis": {"ticktext": [""] * len(labels), "showticklabels": False, "automargin": False},
        },
    )
    return fig


def _interrupted(x: float, rows: list[int]) -> list[dict[str, Any]]:
    """Return the line of no effect in pieces, so that it crosses no words that stand above an interval."""
    line = {"dash": "dash", "width": 1, "color": "#7a8490"}
    return [{"type": "line", "x0": x, "x1": x, "y0": row - 0.4, "y1": row + 0.2, "line": line} for row in rows]


def _roc(release: Any, title: str, caption: str) -> Figure:
    """Draw sensitivity over 1 - specificity with a band, and the cuts."""
    values = np.asarray(release.value, dtype=float)
    lows, highs = _ends(release, 0.0, 1.0)
    labels = release.axes[1].labels
    order = list(range(values.shape[1]))[::-1]  # from the strictest cut on
    x = [0.0, *(1 - values[1][at] for at in order), 1.0]
    y = [0.0, *(values[0][at] for at in order), 1.0]
    band = [[0.0, *(ends[0][at] for at in order), 1.0] for ends in (highs, lows)]
    fig = empty_figure("1 - specificity", "Sensitivity", title, caption, 520)
    for ends, fill in ((band[0], None), (band[1], "tonexty")):
        fig.add_trace(
            go.Scatter(
                x=x, y=ends, mode="lines", line={"width": 0}, fill=fill, fillcolor=_clear(COLORWAY[0], 0.16),
                showlegend=False, hoverinfo="skip",
            )
        )  # fmt: skip
    chance = {"dash": "dash", "color": "#7a8490", "width": 1}
    fig.add_trace(go.Scatter(x=[0, 1], y=[0, 1], mode="lines", line=chance, name="chance", hoverinfo="skip"))
    score = release.axes[1].title or release.axes[1].name
    names = ["", *(f"{score} {labels[at]}" for at in order), ""]
    fig.add_trace(
        go.Scatter(
            x=x, y=y, mode="lines+markers+text", name="score", text=["", *(f"≥ {labels[at]}" for at in order), ""],
            textposition="bottom right", line={"color": COLORWAY[0], "width": 2.5}, marker={"size": 8},
            customdata=names, hovertemplate="%{customdata}: %{y:.3f}, 1 - specificity %{x:.3f}<extra></extra>",
        )
    )  # fmt: skip
    for found in release.findings:
        fig.add_annotation(
            text=f"Area: {'' if found.value is None else show(found.value)} ({ends_text(found.low, found.high)})",
            xref="paper", yref="paper", x=0.98, y=0.06, xanchor="right", showarrow=False,
        )  # fmt: skip
    fig.update_layout(showlegend=False, xaxis={"range": [-0.01, 1.01]}, yaxis={"range": [-0.01, 1.03]})
    return fig


_LINE, _SIGN = 21, 6.4
"""Height of a line of a printed table, and width of a sign of it, in pixels."""


def _table(release: Any, title: str, caption: str) -> Figure:
    """Draw a printed table: words in columns, with the three rules of journals."""
    printed = release.printed
    rows = [printed.head, *printed.rows]
    widths = [max(len(row[at]) for row in rows) * _SIGN + 18 for at in range(len(rows[0]))]
    wide, high = sum(widths), _LINE * len(rows)
    fig = empty_figure("", "", title, caption, high + 40)
    fig.add_trace(
        go.Scatter(x=[0, wide], y=[0, high], mode="markers", marker={"opacity": 0}, hoverinfo="skip", showlegend=False)
    )
    for number, row in enumerate(rows):
        left = 0.0
        for at, (word, width) in enumerate(zip(row, widths, strict=True)):
            if word.strip():
                fig.add_annotation(
                    text=f"<b>{word}</b>" if number == 0 else word, x=left if at == 0 else left + width / 2,
                    y=high - _LINE * (number + 0.5), xanchor="left" if at == 0 else "center", showarrow=False,
                    font={"size": 12},
                )  # fmt: skip
            left += width
    for place, thick in ((high, 1.6), (high - _LINE, 0.8), (0, 1.6)):
        fig.add_shape(type="line", x0=0, x1=wide, y0=place, y1=place, line={"width": thick, "color": "#7a8490"})
    hidden = {"visible": False, "showgrid": False, "zeroline": False}
    fig.update_layout(
        xaxis={**hidden, "range": [-4, wide + 4]}, yaxis={**hidden, "range": [-2, high + 2]},
        margin={"l": 12, "r": 12, "t": 16, "b": 16},
    )  # fmt: skip
    return fig
