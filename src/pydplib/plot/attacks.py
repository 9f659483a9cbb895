"""Figures of attacks: what was learnt against what guessing gets, who is exposed, and what repetition brings."""

from __future__ import annotations

from collections.abc import Sequence
from textwrap import wrap
from typing import TYPE_CHECKING

from pydplib.plot._figure import Figure, go
from pydplib.plot._parts import empty_figure
from pydplib.plot._series import line
from pydplib.plot._theme import COLORWAY, TONES

if TYPE_CHECKING:
    from pydplib.attack import AttackResult

_BELOW = "Bars: the attacker. Grey marks: somebody who never saw the release."


def name_of(result: AttackResult) -> str:
    """Return how an attack is called in figures and tables, with the column it is about.

    Examples:
        >>> from pydplib.attack import AttackResult
        >>> name_of(AttackResult.of_tries("skewness", hits=1, tries=2, baseline=0.5, sentence="S.", target="ill"))
        'skewness of ill'
    """
    pieces = result.details.get("pieces")
    more = f" ({pieces} excluded)" if pieces is not None else ""
    about = f" of {result.details['column']}" if "column" in result.details else ""
    if not about and result.name in ("skewness", "homogeneity", "similarity", "background knowledge"):
        about = f" of {result.target}"
    return f"{result.name}{more}{about}"


def success_bars(results: Sequence[AttackResult], *, title: str = "", caption: str = "") -> Figure:
    """Return how often every attack was right, with its interval, against the baseline.

    Args:
        results: What attacks found.
        title: What the figure shows.
        caption: What is said under it.

    Examples:
        >>> from pydplib.attack import AttackResult
        >>> found = AttackResult.of_tries("skewness", hits=3, tries=4, baseline=0.5, sentence="S.", target="ill")
        >>> success_bars([found]).data[0].x
        (75.0,)
    """
    rows = list(reversed(results))  # the first one on top
    names = [name_of(result) for result in rows]
    figure = empty_figure(
        "right in % of the tries", "", title or "How often attackers are right", caption or _BELOW, _height(rows)
    )
    figure.add_trace(
        go.Bar(
            x=[100 * result.success for result in rows],
            y=names,
            orientation="h",
            name="with the release",
            marker={"color": [COLORWAY[1] if result.exposed > 0 else COLORWAY[0] for result in rows]},
            error_x={
                "type": "data",
                "symmetric": False,
                "array": [100 * (result.interval[1] - result.success) for result in rows],
                "arrayminus": [100 * (result.success - result.interval[0]) for result in rows],
                "thickness": 1.3,
                "width": 4,
            },
            hovertemplate="%{y}: %{x:.3~g} %<extra></extra>",
        )
    )
    figure.add_trace(
        go.Scatter(
            x=[100 * result.baseline for result in rows],
            y=names,
            mode="markers",
            name="by guessing",
            marker={"symbol": "line-ns", "size": 18, "line": {"width": 3, "color": TONES["original"]}},
            hovertemplate="guessing: %{x:.3~g} %<extra></extra>",
        )
    )
    return _sideways(figure, names)


def exposed_bars(results: Sequence[AttackResult], *, title: str = "", caption: str = "") -> Figure:
    """Return the share of people about whom every attack learnt what should have stayed private.

    Args:
        results: What attacks found.
        title: What the figure shows.
        caption: What is said under it.

    Examples:
        >>> from pydplib.attack import AttackResult
        >>> found = AttackResult.of_tries("skewness", hits=3, tries=4, baseline=0.5, sentence="S.", target="ill")
        >>> exposed_bars([found]).data[0].x
        (75.0,)
    """
    rows = list(reversed(results))
    names = [name_of(result) for result in rows]
    words = caption or "Of all people who were attacked. 0 %: the attack learnt nothing certain about anybody."
    figure = empty_figure("people in %", "", title or "Who is exposed", words, _height(rows))
    figure.add_trace(
        go.Bar(
            x=[100 * result.exposed for result in rows],
            y=names,
            orientation="h",
            name="exposed",
            marker={"color": COLORWAY[1]},
            text=[f"{100 * result.exposed:.3g} %" for result in rows],
            textposition="outside",
            cliponaxis=False,
            hovertemplate="%{y}: %{x:.3~g} %<extra></extra>",
        )
    )
    most = max((100 * result.exposed for result in rows), default=0.0)
    figure.update_xaxes(range=[0, max(1.15 * most, 1.0)])
    return _sideways(figure, names)


def repeated_calls(result: AttackResult, *, title: str = "", caption: str = "") -> Figure:
    """Return how an attack gets better with every further call, against guessing.

    Args:
        result: Of ``averaging``.
        title: What the figure shows.
        caption: What is said under it.

    Examples:
        >>> from pydplib.attack import PaperMode, averaging
        >>> found = averaging(PaperMode("high"), [50.0 + i % 30 for i in range(90)], calls=(1, 5), seed=1)
        >>> len(repeated_calls(found).data[0].y)
        2
    """
    calls = list(result.details["calls"])
    figure = line(
        [str(call) for call in calls],
        {
            "values known": [100 * share for share in result.details["success_by_calls"]],
            "by guessing": [100 * result.baseline] * len(calls),
        },
        x_title="calls with fresh noise",
        y_title="values known in %",
        title=title or "Asking again",
        caption=caption or "Noise that is drawn afresh at every call can be averaged away.",
        height=340,
    )
    figure.data[1].line.color = figure.data[1].marker.color = TONES["original"]
    figure.update_yaxes(range=[0, 104])
    figure.update_xaxes(type="category")
    return figure


def _height(rows: Sequence[object]) -> int:
    return 130 + 34 * max(len(rows), 1)


def _sideways(figure: Figure, names: Sequence[str]) -> Figure:
    figure.update_layout(showlegend=len(figure.data) > 1)
    figure.update_xaxes(rangemode="tozero", showgrid=True)
    figure.update_yaxes(type="category", showgrid=False, automargin=True, ticks="")
    broken = ["<br>".join(wrap(name, 18, break_long_words=False)) for name in names]
    figure.layout.meta = {
        **figure.layout.meta,
        "narrow": {
            "yaxis": {"tickvals": list(names), "ticktext": broken, "tickfont": {"size": 11}},
            "margin": {"l": 8, "r": 28},
        },
    }
    return figure
