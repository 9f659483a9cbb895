"""Figures 1 to 3 of the second paper, with theory and standard errors."""

from __future__ import annotations

import math
from collections.abc import Sequence

from pydplib.experiments._result import Row, Sheet
from pydplib.experiments.inference import METHODS, Theory, crossovers
from pydplib.experiments.inference_words import LABELS
from pydplib.plot import COLORWAY, Figure, bar, line

_ERROR = {"n": "n", "method": "method", "mse": "MSE", "theory": "theory", "standard_error": "± 1 SE", "paper": "paper"}


def draw_figures(
    rows: Sequence[Row], by_epsilon: Sequence[Row], js_rows: Sequence[Row], epsilon: float, repetitions: int
) -> dict[str, tuple[Figure, Sheet]]:
    """Return the figures, each with its numbers."""
    figures = {
        "figure-1": (_figure_1(rows, epsilon, repetitions), Sheet("MSE against size", _ERROR, _named(rows))),
        "figure-2": (
            _figure_2(by_epsilon),
            Sheet(
                "MSE against epsilon",
                {
                    "epsilon": "epsilon",
                    "method": "method",
                    "mse": "MSE",
                    "theory": "theory",
                    "standard_error": "± 1 SE",
                },
                _named(by_epsilon),
            ),
        ),
    }
    if js_rows:
        heads = {"n": "n", "method": "method", "js_bits": "bits", "paper": "paper"}
        figures["figure-3"] = (_figure_3(js_rows), Sheet("Jensen-Shannon divergence", heads, _named(js_rows)))
    return figures


def _named(rows: Sequence[Row]) -> list[Row]:
    return [{**row, "method": LABELS[row["method"]]} for row in rows]


def _by_size(rows: Sequence[Row], key: str) -> dict[str, list[float]]:
    """Return one number of every method, for rising sizes."""
    ordered = sorted(rows, key=lambda row: row["n"])
    return {LABELS[method]: [row[key] for row in ordered if row["method"] == method] for method in METHODS}


def _figure_1(rows: Sequence[Row], epsilon: float, repetitions: int) -> Figure:
    sizes = sorted({row["n"] for row in rows})
    figure = line(
        sizes,
        _by_size(rows, "mse"),
        margins=_by_size(rows, "standard_error"),
        x_title="records n",
        y_title="mean squared error of the mean",
        title="From a certain size on, the guarantee is also the more accurate choice",
        caption=(
            f"Points: {repetitions} releases each, ± 1 standard error. Lines: theory. Diamonds: the paper's values. "
            "Dotted: where Laplace noise on the mean begins to beat Gaussian (left) and uniform noise (right)."
        ),
    )
    for trace in figure.data:
        trace.mode = "markers"
    span = _between(sizes[0], sizes[-1])
    for place, method in enumerate(METHODS):
        theory = [Theory.of(method, n=round(n), epsilon=epsilon, repetitions=repetitions).mse for n in span]
        _add_line(figure, span, theory, f"{LABELS[method]}, theory", COLORWAY[place], in_legend=False)
        paper = [(row["n"], row["paper"]) for row in rows if row["method"] == method and row["paper"] is not None]
        if paper:
            _add_diamonds(figure, [n for n, _ in paper], [value for _, value in paper], COLORWAY[place], place == 0)
    for size in crossovers(epsilon).values():
        if sizes[0] <= size <= sizes[-1]:
            figure.add_vline(x=size, line={"dash": "dot", "width": 1, "color": "#888888"})
            figure.add_annotation(
                x=math.log10(size), y=0, xref="x", yref="paper", text=f"n = {size:,.0f}", showarrow=False,
                xanchor="right", yanchor="bottom",
            )  # fmt: skip
    figure.update_xaxes(type="log", dtick=1)
    figure.update_yaxes(type="log", exponentformat="power", dtick=1)
    return figure


def _figure_2(rows: Sequence[Row]) -> Figure:
    n = rows[0]["n"]
    laplace = [row for row in rows if row["method"] == "laplace"]
    epsilons = [row["epsilon"] for row in laplace]
    name = LABELS["laplace"]
    figure = line(
        epsilons,
        {name: [row["mse"] for row in laplace]},
        margins={name: [row["standard_error"] for row in laplace]},
        x_title="epsilon",
        y_title="mean squared error of the mean",
        title=f"What privacy costs in accuracy, at n = {n:,}",
        caption="Its error falls with 1/epsilon squared; noise on records knows no epsilon. ± 1 standard error.",
    )
    figure.data[0].update(mode="markers", marker={"color": COLORWAY[2]}, line={"color": COLORWAY[2]})
    _add_line(figure, epsilons, [row["theory"] for row in laplace], f"{name}, theory", COLORWAY[2])
    for place, method in enumerate(METHODS[:2]):
        level = [row for row in rows if row["method"] == method]
        ends = [row["epsilon"] for row in level]
        _add_line(figure, ends, [row["mse"] for row in level], LABELS[method], COLORWAY[place], dash="solid")
    figure.update_layout(showlegend=True)
    figure.update_xaxes(type="log", tickvals=epsilons, ticktext=[f"{value:g}" for value in epsilons])
    figure.update_yaxes(type="log", exponentformat="power", dtick=1)
    return figure


def _figure_3(rows: Sequence[Row]) -> Figure:
    sizes = sorted({row["n"] for row in rows})
    return bar(
        [f"n = {n:,}" for n in sizes],
        _by_size(rows, "js_bits"),
        x_title="records",
        y_title="Jensen-Shannon divergence in bits",
        title="With and without one person: how different the outputs look on average",
        caption=(
            "The paper prints 0.1131 (naive uniform) and 0.0251 (Laplace). An average says nothing about the worst "
            "output: at n = 10 000 it prefers uniform noise, which has no finite epsilon."
        ),
    )


def _add_line(
    figure: Figure,
    x: Sequence[float],
    y: Sequence[float],
    name: str,
    colour: str,
    *,
    dash: str = "dash",
    in_legend: bool = True,
) -> None:
    figure.add_scatter(
        x=list(x),
        y=list(y),
        name=name,
        mode="lines",
        showlegend=in_legend,
        line={"color": colour, "width": 1.5, "dash": dash},
        hovertemplate="%{x:,.4~g}: %{y:.3~g}<extra>" + name + "</extra>",
    )


def _add_diamonds(figure: Figure, x: Sequence[float], y: Sequence[float], colour: str, in_legend: bool) -> None:
    figure.add_scatter(
        x=list(x),
        y=list(y),
        name="the paper",
        legendgroup="paper",
        showlegend=in_legend,
        mode="markers",
        marker={"symbol": "diamond-open", "size": 12, "color": colour, "line": {"width": 1.5, "color": colour}},
        hovertemplate="%{x:,}: %{y:.3~g}<extra>the paper</extra>",
    )


def _between(low: float, high: float, points: int = 40) -> list[float]:
    ratio = (high / low) ** (1 / (points - 1)) if high > low else 1.0
    return [low * ratio**place for place in range(points)]
