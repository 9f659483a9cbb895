"""Figures of attacks: what was learnt against what guessing gets, who is exposed, and what repetition brings."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from pydplib.plot._figure import Figure, go
from pydplib.plot._parts import empty_figure, set_narrow
from pydplib.plot._series import line
from pydplib.plot._theme import COLORWAY, TONES

if TYPE_CHECKING:
    from pydplib.attack import AttackResult

_BELOW = "Bars: the attacker, with a 95 % interval. Diamonds: somebody who never saw the release."
_AVERAGED = "Noise that is drawn afresh at every call can be averaged away."
_ERROR = "#8a949e"  # seen on bars and on both surfaces


def name_of(result: AttackResult) -> str:
    """Return how an attack is called in figures and tables, with the column it is about.

    Examples:
        >>> from pydplib.attack import AttackResult
        >>> name_of(AttackResult.of_tries("skewness", hits=1, tries=2, baseline=0.5, sentence="S.", target="ill"))
        'skewness: ill'
    """
    first, second = _parts(result)
    return f"{first}: {second}" if second else first


def _parts(result: AttackResult) -> tuple[str, str]:
    pieces = result.details.get("pieces")
    more = "" if pieces is None else f", {pieces} piece{'' if pieces == 1 else 's'}"
    name = result.name if pieces is None else "background"
    about = str(result.details.get("column", result.target))
    return f"{name}{more}", "" if about in ("released table", "order of rows", "presence of a person") else about


EXACT_ANSWERS = "exact answers"
"""The target of attacks on what nobody was given."""
_NOT_GIVEN = "given to nobody, for comparison"
_GREY = "#9aa4af"


def _kind_of(result: AttackResult) -> str:
    """Return how a bar is to be read: what was not given can expose nobody, however often an attack on it is right."""
    if str(result.target) == EXACT_ANSWERS:
        return _NOT_GIVEN
    return "exposes people" if result.due > 0 else "exposes nobody"


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
    rows, figure = _sideways(
        results, "right in % of the tries", title or "How often attackers are right", caption or _BELOW
    )
    for word, colour in (("exposes people", COLORWAY[1]), ("exposes nobody", COLORWAY[0]), (_NOT_GIVEN, _GREY)):
        some = [result for result in rows if _kind_of(result) == word]
        if not some and word == _NOT_GIVEN:
            continue
        figure.add_trace(
            go.Bar(
                x=[100 * result.success for result in some],
                y=[name_of(result) for result in some],
                orientation="h",
                name=word,
                marker={"color": colour},
                error_x={
                    "type": "data",
                    "symmetric": False,
                    "array": [100 * (result.interval[1] - result.success) for result in some],
                    "arrayminus": [100 * (result.success - result.interval[0]) for result in some],
                    "color": _ERROR,
                    "thickness": 1.5,
                    "width": 4,
                },
                hovertemplate="%{y}: %{x:.3~g} %<extra></extra>",
            )
        )
    figure.add_trace(
        go.Scatter(
            x=[100 * result.baseline for result in rows],
            y=[name_of(result) for result in rows],
            mode="markers",
            name="by guessing",
            hovertemplate="guessing: %{x:.3~g} %<extra></extra>",
        )
    )
    figure.update_layout(barmode="overlay", showlegend=True)
    return figure


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
    words = caption or "Of all people who were attacked. 0 %: nothing certain that was not known without the release."
    rows, figure = _sideways(results, "people in %", title or "Who is exposed", words)
    figure.add_trace(
        go.Bar(
            x=[100 * result.due for result in rows],
            y=[name_of(result) for result in rows],
            orientation="h",
            name="exposed",
            marker={"color": COLORWAY[1]},
            text=[f"{100 * result.due:.3g} %" for result in rows],
            textposition="outside",
            cliponaxis=False,
            hovertemplate="%{y}: %{x:.3~g} %<extra></extra>",
        )
    )
    most = max((100 * result.due for result in rows), default=0.0)
    figure.update_xaxes(range=[0, max(1.15 * most, 1.0)])
    figure.update_layout(showlegend=False)
    return figure


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
        caption=caption or (_AVERAGED if result.exposed > 0 else "More calls do not bring more than guessing here."),
        height=340,
    )
    figure.data[1].line.color = figure.data[1].marker.color = TONES["original"]
    figure.update_yaxes(range=[0, 104])
    figure.update_xaxes(type="category")
    return figure


def _sideways(
    results: Sequence[AttackResult], x_title: str, title: str, caption: str
) -> tuple[list[AttackResult], Figure]:
    """Return the results from the bottom up, and an empty figure with a line for each: the first one is on top."""
    rows = list(reversed(results))
    names = [name_of(result) for result in rows]
    figure = empty_figure(x_title, "", title, caption, 130 + 34 * max(len(rows), 1))
    figure.update_xaxes(rangemode="tozero", showgrid=True)
    axis = {"type": "category", "categoryorder": "array", "categoryarray": names}
    figure.update_yaxes(**axis, showgrid=False, automargin=True, ticks="outside", ticklen=4, tickcolor="rgba(0,0,0,0)")
    broken = ["<br>".join(_shortened(part) for part in _parts(result) if part) for result in rows]
    set_narrow(
        figure,
        {
            "yaxis": {"tickvals": names, "ticktext": broken, "tickfont": {"size": 11}},
            "margin": {"l": 8, "r": 40},
        },
    )
    return rows, figure


def _shortened(text: str) -> str:
    return text if len(text) <= 20 else f"{text[:19]}…"
