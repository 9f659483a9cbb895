"""Figures of the first paper's claims: recovery by calls, loss per record, distribution."""

from __future__ import annotations

from collections.abc import Sequence

from pydplib.experiments._result import Row, Sheet
from pydplib.experiments.catalogue import LEVELS
from pydplib.plot import Figure, bar, line


def draw_figures(
    rows: Sequence[Row], recovery: Sequence[Row], distribution: Sequence[Row]
) -> dict[str, tuple[Figure, Sheet]]:
    """Return the figures, each with its numbers."""
    return {
        "recovery": (
            _recovery(recovery),
            Sheet(
                "Recovered ages",
                {
                    "noise_factor": "noise", "mode": "mode", "calls": "calls", "recovered": "recovered",
                    "base_rate": "by guessing",
                },
                recovery,
            ),
        ),
        "loss": (
            _loss(rows),
            Sheet(
                "Epsilon",
                {"query": "query", "noise_factor": "noise", "epsilon": "printed", "record_epsilon": "of a record"},
                rows,
            ),
        ),
        "distribution": (
            _distribution(distribution),
            Sheet(
                "Distance from the true distribution",
                {"noise_factor": "noise", "mode": "mode", "total_variation": "total variation"},
                distribution,
            ),
        ),
    }  # fmt: skip


def _recovery(rows: Sequence[Row]) -> Figure:
    calls = sorted({row["calls"] for row in rows})
    paper, sound = (
        {level: [row for row in rows if row["noise_factor"] == level and row["mode"] == mode] for level in LEVELS}
        for mode in ("paper", "sound")
    )
    figure = line(
        calls,
        {level: [row["recovered"] for row in found] for level, found in paper.items()},
        margins={level: [1.96 * row["standard_error"] for row in found] for level, found in paper.items()},
        x_title="calls",
        y_title="ages recovered to within a year",
        title="Fresh noise at every call is averaged away; a kept answer is not",
        caption="Solid: paper mode at three noise factors, 95 % intervals. Dashed: sound mode. Dotted: guessing.",
    )
    for level, colour in zip(LEVELS, [trace.line.color for trace in figure.data], strict=True):
        figure.add_scatter(
            x=calls, y=[row["recovered"] for row in sound[level]], name=f"sound, {level}", mode="lines",
            line={"color": colour, "dash": "dash", "width": 1.5}, hovertemplate="%{x}: %{y:.2f}<extra>sound</extra>",
            showlegend=False,
        )  # fmt: skip
    base = rows[0]["base_rate"]
    figure.add_hline(y=base, line={"dash": "dot", "width": 1, "color": "#888888"})
    figure.update_xaxes(type="log", tickvals=calls, ticktext=[str(count) for count in calls])
    figure.update_yaxes(range=[0, 1.05], tickformat=".0%")
    return figure


def _loss(rows: Sequence[Row]) -> Figure:
    queries = list(dict.fromkeys(row["query"] for row in rows))
    high = {row["query"]: row for row in rows if row["noise_factor"] == "high"}
    figure = bar(
        queries,
        {
            "printed": [high[query]["epsilon"] for query in queries],
            "of a record": [high[query]["record_epsilon"] for query in queries],
            "sound release": [high[query]["sound_epsilon"] for query in queries],
        },
        x_title="query type",
        y_title="epsilon",
        title="The printed epsilon is not what a record loses (high noise)",
        caption="Logarithmic. The last bar is a sound release of the statistic with the same percentage of noise.",
    )
    figure.update_yaxes(type="log", exponentformat="power", dtick=1)
    return figure


def _distribution(rows: Sequence[Row]) -> Figure:
    modes = list(dict.fromkeys(row["mode"] for row in rows))
    return bar(
        list(LEVELS),
        {mode: [row["total_variation"] for row in rows if row["mode"] == mode] for mode in modes},
        x_title="noise factor",
        y_title="total variation distance",
        title="How far the released ages are from the true distribution",
        caption="0: the same; 1: nothing in common. Sound mode is one histogram at the epsilon of the band.",
    )
