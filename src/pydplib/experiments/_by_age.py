"""Figures 2 and 3: a finding against age."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pydplib import plot
from pydplib.datasets import pirads_schema
from pydplib.errors import DataError
from pydplib.experiments._cohort import (
    AGE_BOUNDS,
    AGE_GROUPS,
    AGE_MIDDLES,
    LEVELS,
    MOVED,
    SCORES,
    age_group,
    clip_ages,
    count_table,
    read_ages,
    read_columns,
    read_scores,
)
from pydplib.experiments._words import PaperFigure, Results, caption, panel_title
from pydplib.paper import DPResult, dp_calculate
from pydplib.report import Table

Pairs = dict[str, tuple[NDArray[Any], NDArray[Any]]]
"""Panel -> (ages, findings), both as positions or whole numbers."""

_CLIPPED = "The ages got noise as well; those beyond 18 to 100 are drawn at these bounds."

_FINDINGS = {"chr": "chronic", "y": "yes, not specified", "n": "none"}
"""The paper's short forms -> what readers see."""


def finding_names(kinds: Sequence[str]) -> list[str]:
    """Return the findings of prostatitis as readers see them."""
    return [_FINDINGS.get(kind, kind) for kind in kinds]


def figure_2(data: Any, *, original: bool = False, levels: Sequence[str] = LEVELS) -> PaperFigure:
    """Return Fig. 2: PI-RADS score against age, at low, medium and high noise.

    Our reading of the paper: the scores get noise and are fitted to 1 to 5 (Eq. 4, then the nearest
    score), the ages stay as they are. One bubble per year of age and score, its area the number of
    reports; diamonds are the mean score per ten years of age. An un-noised axis is for the owner
    only, so without ``original`` the ages get noise as well and no original is drawn.

    Args:
        data: A table with ``age`` and ``pirads``; reports without a score are left out.
        original: For the owner only: draw the original beside, and keep the ages un-noised.
        levels: The noise levels to draw; a partner gets one alone.

    Examples:
        >>> from pydplib import datasets
        >>> figure_2(datasets.pirads(n=200, backend="numpy")).owner_only
        False
    """
    columns = read_columns(data, "age", "pirads")
    (ages, moved), scores = read_ages(columns), read_scores(columns)
    results: dict[str, tuple[DPResult, ...]] = {}
    pairs: Pairs = {"original": (ages, scores)} if original else {}
    for level in levels:
        noisy = dp_calculate(scores, "mean", level, is_range=True, bounds=(1, 5))
        shown, extra = _ages(ages, level, original)
        results[level] = (noisy, *extra)
        pairs[level] = (shown, np.asarray(noisy.dp_data))
    tables = {level: count_table(x - AGE_BOUNDS[0], y - 1, (83, 5)) for level, (x, y) in pairs.items()}
    limit = max(int(table.max()) for table in tables.values())
    panels, rows = {}, []
    for level, table in tables.items():
        groups = count_table(age_group(pairs[level][0]), pairs[level][1] - 1, (len(AGE_GROUPS), len(SCORES)))
        totals = groups.sum(axis=1)
        means = np.divide(groups @ np.array(SCORES), totals, out=np.full(len(totals), np.nan), where=totals > 0)
        panels[panel_title(level, results)] = _score_panel(level, table, limit, means)
        for place, name in enumerate(AGE_GROUPS):
            rows.append([level, name, *groups[place].tolist(), float(means[place])])
    figure = _side_by_side(
        panels,
        "PI-RADS score against age",
        results,
        "Area of a bubble: number of reports. Diamonds: mean score per ten years of age.",
        "Fitting the noisy scores to 1 to 5 (Eq. 4) draws them to the middle, so that scores 1 and 5 get rarer as the "
        "noise grows.",
        original=original,
        moved=moved,
    )
    heads = ["level", "age", *(f"score {score}" for score in SCORES), "mean score"]
    table_twin = Table(heads, rows, caption="Reports per age group and PI-RADS score")
    return PaperFigure("2", figure, table_twin, results, original)


def _score_panel(level: str, table: NDArray[np.int64], limit: int, means: NDArray[np.float64]) -> plot.Figure:
    """Return bubbles of reports per age and score, with a diamond for the mean score of every age group."""
    x, y = np.nonzero(table)
    panel = plot.bubbles(
        x + AGE_BOUNDS[0], y + 1, table[x, y], name=level, limit=limit, x_title="age in years", y_title="PI-RADS score"
    )
    panel.add_scatter(
        x=list(AGE_MIDDLES),
        y=means.tolist(),
        mode="markers",
        name="mean score per ten years",
        hovertemplate="mean score %{y:.2f}<extra></extra>",
    )
    panel.update_yaxes(dtick=1, range=[0.4, 5.6])
    return panel


def figure_3(data: Any, *, original: bool = False, levels: Sequence[str] = LEVELS) -> PaperFigure:
    """Return Fig. 3: prostatitis against age, at low, medium and high noise.

    Our reading of the paper: the five categories (chr, y, n, acute, acute on chronic) are coded in
    that order, get noise, and are fitted back to the categories; the ages stay as they are. Counts
    per category and ten years of age, darker is more. Without ``original`` the ages get noise too.

    Args:
        data: A table with ``age`` and ``prostatitis``.
        original: For the owner only: draw the original beside, and keep the ages un-noised.
        levels: The noise levels to draw; a partner gets one alone.

    Examples:
        >>> from pydplib import datasets
        >>> figure_3(datasets.pirads(n=200, backend="numpy")).name
        '3'
    """
    columns = read_columns(data, "age", "prostatitis")
    ages, moved = read_ages(columns)
    findings = columns["prostatitis"].astype(str)
    kinds = [str(value) for value in pirads_schema().column("prostatitis").values]  # type: ignore[union-attr]
    results: dict[str, tuple[DPResult, ...]] = {}
    pairs: Pairs = {"original": (ages, _codes(findings, kinds))} if original else {}
    for level in levels:
        noisy = dp_calculate(findings, "count", level, is_range=True, data_type="string", categories=kinds)
        shown, extra = _ages(ages, level, original)
        results[level] = (noisy, *extra)
        pairs[level] = (shown, _codes(np.asarray(noisy.dp_data).astype(str), kinds))
    shape = (len(kinds), len(AGE_GROUPS))
    tables = {level: count_table(y, age_group(x), shape) for level, (x, y) in pairs.items()}
    limit = max(int(table.max()) for table in tables.values())
    shown_kinds = finding_names(kinds)
    panels = {
        panel_title(level, results): plot.heatmap(
            AGE_GROUPS, shown_kinds, table, limit=limit, value_title="reports", x_title="age in years"
        )
        for level, table in tables.items()
    }
    changed = ", ".join(f"{results[level][0].noise_percent:.1f} % ({level})" for level in levels)
    figure = _side_by_side(
        panels,
        "Prostatitis against age",
        results,
        f"Reports per finding and age group. Share of reports whose finding was changed: {changed}.",
        "Noise moves a finding to its neighbours in the list, so that rare findings between common ones grow most.",
        original=original,
        moved=moved,
    )
    rows = [
        [level, kind, *table[place].tolist(), int(table[place].sum())]
        for level, table in tables.items()
        for place, kind in enumerate(shown_kinds)
    ]
    heads = ["level", "prostatitis", *AGE_GROUPS, "all ages"]
    return PaperFigure("3", figure, Table(heads, rows, caption="Reports per finding and age group"), results, original)


def _side_by_side(
    panels: dict[str, plot.Figure], title: str, results: Results, *sentences: str, original: bool, moved: bool
) -> plot.Figure:
    """Return the panels as one figure, which says what became of the ages and whose eyes it is for."""
    ages = _CLIPPED if not original else MOVED if moved else ""
    owner = "the original and the un-noised ages are shown" if original else ""
    words = caption(results, *sentences, ages, owner=owner)
    return plot.panels(panels, columns=2 if original else 3, title=title, caption=words)


def _ages(ages: NDArray[np.int64], level: str, original: bool) -> tuple[NDArray[np.int64], tuple[DPResult, ...]]:
    """Return the ages of the axis: as they are for the owner, noisy for everybody else."""
    if original:
        return ages, ()
    noisy = dp_calculate(ages, "mean", level, bounds=AGE_BOUNDS)
    return clip_ages(noisy.dp_data), (noisy,)


def _codes(findings: NDArray[Any], kinds: list[str]) -> NDArray[np.int64]:
    if not np.isin(findings, kinds).all():
        raise DataError(f"The column 'prostatitis' must hold {', '.join(kinds)}; it holds others. Correct them first.")
    order = np.argsort(kinds)
    return order[np.searchsorted(np.array(kinds)[order], findings)]
