"""Further figures: a finding against ten years of age."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pydplib import plot
from pydplib.experiments._cohort import (
    AGE_BOUNDS,
    AGE_GROUPS,
    MOVED,
    SCORES,
    age_group,
    clip_ages,
    count_table,
    read_ages,
    read_columns,
    read_scores,
)
from pydplib.experiments._words import PaperFigure, Results, caption, noise_line, panel_title
from pydplib.experiments.catalogue import LEVELS
from pydplib.experiments.paper_figures import finding_codes, finding_kinds, finding_names
from pydplib.paper import DPResult, dp_calculate, dp_calculate_levels
from pydplib.report import Table

Pairs = dict[str, tuple[NDArray[Any], NDArray[Any]]]
"""Panel -> (ages, findings), both as positions or whole numbers."""

_CLIPPED = "The ages got noise as well; those beyond 18 to 100 are drawn at these bounds."


def score_by_age(data: Any, *, original: bool = False, levels: Sequence[str] = LEVELS) -> PaperFigure:
    """Return PI-RADS scores against ten years of age, as a table of reports: darker is more.

    The scores get noise and are cut off at 1 and 5; the ages stay as they are. An un-noised axis is for the owner
    only, so without ``original`` the ages get noise as well and no original is drawn.

    Args:
        data: A table with ``age`` and ``pirads``; reports without a score are left out.
        original: For the owner only: draw the original as well, and keep the ages un-noised.
        levels: The noise levels to draw; a partner gets one alone.

    Examples:
        >>> from pydplib import datasets
        >>> score_by_age(datasets.pirads(n=200, backend="numpy")).owner_only
        False
    """
    columns = read_columns(data, "age", "pirads")
    (ages, moved), scores = read_ages(columns), read_scores(columns)
    results: dict[str, tuple[DPResult, ...]] = {}
    pairs: Pairs = {"original": (ages, scores)} if original else {}
    noisy_scores = per_level(scores, "mean", levels, original, is_range=True, bounds=(1, 5))
    for level, noisy in noisy_scores.items():
        shown, extra = _ages(ages, level, original)
        results[level] = (noisy, *extra)
        pairs[level] = (shown, np.asarray(noisy.dp_data))
    shape = (len(SCORES), len(AGE_GROUPS))
    tables = {level: count_table(y - 1, age_group(x), shape) for level, (x, y) in pairs.items()}
    limit = max(int(table.max()) for table in tables.values())
    panels = {
        panel_title(level, results, drawn=original): plot.heatmap(
            AGE_GROUPS, [str(score) for score in SCORES], table, limit=limit, value_title="reports",
            x_title="age in years", y_title="PI-RADS score",
        )
        for level, table in tables.items()
    }  # fmt: skip
    figure = _side_by_side(
        panels,
        "PI-RADS score against age group",
        results,
        "Reports per score and age group, darker is more.",
        noise_line(results, drawn=original),
        original=original,
        moved=moved,
    )
    rows = [
        [level, str(score), *table[place].tolist(), int(table[place].sum())]
        for level, table in tables.items()
        for place, score in enumerate(SCORES)
    ]
    heads = ["level", "PI-RADS score", *AGE_GROUPS, "all ages"]
    table_twin = Table(heads, rows, caption="Reports per PI-RADS score and age group")
    return PaperFigure("score-by-age", figure, table_twin, results, original)


def prostatitis_by_age(data: Any, *, original: bool = False, levels: Sequence[str] = LEVELS) -> PaperFigure:
    """Return prostatitis against ten years of age, as a table of reports: darker is more.

    The five findings (chr, y, n, acute, acute on chronic) are coded in that order, get noise, and are mapped back;
    the ages stay as they are. Without ``original`` the ages get noise too.

    Args:
        data: A table with ``age`` and ``prostatitis``.
        original: For the owner only: draw the original as well, and keep the ages un-noised.
        levels: The noise levels to draw; a partner gets one alone.

    Examples:
        >>> from pydplib import datasets
        >>> prostatitis_by_age(datasets.pirads(n=200, backend="numpy")).name
        'prostatitis-by-age'
    """
    columns = read_columns(data, "age", "prostatitis")
    ages, moved = read_ages(columns)
    findings = columns["prostatitis"].astype(str)
    kinds = finding_kinds()
    results: dict[str, tuple[DPResult, ...]] = {}
    pairs: Pairs = {"original": (ages, finding_codes(findings, kinds))} if original else {}
    noisy_findings = per_level(findings, "count", levels, original, is_range=True, data_type="string", categories=kinds)
    for level, noisy in noisy_findings.items():
        shown, extra = _ages(ages, level, original)
        results[level] = (noisy, *extra)
        pairs[level] = (shown, finding_codes(np.asarray(noisy.dp_data).astype(str), kinds))
    shape = (len(kinds), len(AGE_GROUPS))
    tables = {level: count_table(y, age_group(x), shape) for level, (x, y) in pairs.items()}
    limit = max(int(table.max()) for table in tables.values())
    shown_kinds = finding_names(kinds)
    panels = {
        panel_title(level, results, drawn=original): plot.heatmap(
            AGE_GROUPS, shown_kinds, table, limit=limit, value_title="reports", x_title="age in years"
        )
        for level, table in tables.items()
    }
    figure = _side_by_side(
        panels,
        "Prostatitis against age group",
        results,
        "Reports per finding and age group, darker is more. The noise is the share of findings that change.",
        noise_line(results, drawn=original),
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
    return PaperFigure(
        "prostatitis-by-age", figure, Table(heads, rows, caption="Reports per finding and age group"), results, original
    )


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


def per_level(values: Any, query: str, levels: Sequence[str], owner: bool, **options: Any) -> dict[str, DPResult]:
    """Return noisy values per level: one draw, scaled, for the owner; a draw for each level for everybody else."""
    if owner:
        return dp_calculate_levels(values, query, levels=levels, **options)
    return {level: dp_calculate(values, query, level, **options) for level in levels}
