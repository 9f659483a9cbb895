"""A further figure: how many reports have a finding, from noisy truth values or from noisy counts."""

from __future__ import annotations

import math
from collections.abc import Sequence
from types import MappingProxyType
from typing import Any

import numpy as np

from pydplib import plot
from pydplib.experiments._by_age import per_level
from pydplib.experiments._cohort import read_columns, read_flags
from pydplib.experiments._words import PaperFigure, caption, corrected_table, laplace_margin
from pydplib.experiments.catalogue import LEVELS
from pydplib.paper import DPResult, dp_calculate

FLAGS = MappingProxyType(
    {
        "bph": "BPH",
        "turp": "TURP surgery",
        "follow_up": "Follow-up",
        "pca_no_pirads": "Cancer, no PI-RADS",
    }
)
"""The columns that hold yes or no, and their names in the figure."""


def findings(
    data: Any, *, original: bool = False, from_counts: bool = False, levels: Sequence[str] = LEVELS
) -> PaperFigure:
    """Return reports with BPH, TURP surgery and other yes/no findings, at three noise levels.

    Every truth value gets noise (it flips with a known chance p) and the
    yeses are counted. Flips draw every count to one half; the diamonds take that out again,
    (count - n p) / (1 - 2 p), with the 95 % margin 1.96 sqrt(n p (1 - p)) / (1 - 2 p). With
    ``from_counts`` the yeses are counted first and the counts get the noise: Laplace noise of scale b, of which 95 %
    lie within b ln 20.

    Args:
        data: A table with ``bph``, ``turp``, ``follow_up`` and ``pca_no_pirads``.
        original: For the owner only: draw the original as well.
        from_counts: Noise on the counts.
        levels: The noise levels to draw; a partner gets one alone.

    Examples:
        >>> from pydplib import datasets
        >>> findings(datasets.pirads(n=200, backend="numpy"), from_counts=True).name
        'findings-from-counts'
    """
    columns = {name: read_flags(column, name) for name, column in read_columns(data, *FLAGS).items()}
    counts = [int(column.sum()) for column in columns.values()]
    size = next(iter(columns.values())).size
    series: dict[str, list[float]] = {"original": [float(count) for count in counts]} if original else {}
    results: dict[str, tuple[DPResult, ...]] = {}
    marks: dict[str, list[float]] = {}
    margins: dict[str, list[float]] = {}
    counts_at = per_level(counts, "count", levels, original, aggregated=True) if from_counts else {}
    for level in levels:
        if from_counts:
            noisy = counts_at[level]
            results[level] = (noisy,)
            series[level] = [float(value) for value in noisy.dp_data]
            margins[level] = [laplace_margin(noisy)] * len(FLAGS)
            continue
        results[level] = tuple(dp_calculate(column, "count", level) for column in columns.values())
        flips = results[level][0].noise_percent / 100
        series[level] = [int(np.sum(result.dp_data)) for result in results[level]]
        marks[level] = [(count - size * flips) / (1 - 2 * flips) for count in series[level]]
        margins[level] = [1.96 * math.sqrt(size * flips * (1 - flips)) / (1 - 2 * flips)] * len(FLAGS)
    if from_counts:
        shown = "Every count got noise by itself; below 0 is drawn as 0. Error bars: 95 % of the noise lies within."
    else:
        chances = ", ".join(f"{results[level][0].noise_percent:.3g} % ({level})" for level in levels)
        shown = (
            f"Bars: reports that say yes after each answer was flipped with a chance of {chances}. "
            "Diamonds: corrected for the flips, with the 95 % margin."
        )
    shown += f" The epsilon below is the sum over the {len(FLAGS)} findings of one report."
    labels = list(FLAGS.values())
    figure = plot.bar(
        labels,
        series,
        margins=margins,
        marks=marks,
        marks_title="corrected for the flips",
        y_title="reports",
        title="Reports with a yes" + (", noise on the counts" if from_counts else ""),
        floor=0,
        caption=caption(
            results,
            shown,
            owner="the original is shown" if original else "",
            # A report may have a part in every count.
            values_per_report=len(FLAGS) if from_counts else 1,
        ),
    )
    name = "findings-from-counts" if from_counts else "findings"
    table = corrected_table("finding", labels, series, marks, margins, caption="Reports with a yes")
    return PaperFigure(name, figure, table, results, original)
