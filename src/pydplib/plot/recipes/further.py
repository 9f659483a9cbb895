"""Further figures: findings by age, ages per PI-RADS score and their variance, and how many reports have a finding."""

from __future__ import annotations

import math
from collections.abc import Sequence
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pydplib import plot
from pydplib.paper import DPResult, dp_calculate, dp_calculate_levels
from pydplib.plot.catalogue import CATALOGUE, LEVELS
from pydplib.plot.recipes.cohort import (
    AGE_BOUNDS,
    AGE_GROUPS,
    FEWEST,
    MOVED,
    SCORE_LABELS,
    SCORES,
    age_group,
    clip_ages,
    count_table,
    read_ages,
    read_columns,
    read_flags,
    read_scores,
)
from pydplib.plot.recipes.labels import (
    PaperFigure,
    Results,
    caption,
    corrected_table,
    laplace_margin,
    mean_margin,
    noise_line,
    noise_variance,
    panel_title,
    variance_margin,
)
from pydplib.plot.recipes.paper import finding_codes, finding_kinds, finding_names
from pydplib.plot.tables import NumberTable, PlusMinus

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
    table_twin = NumberTable(heads, rows, caption="Reports per PI-RADS score and age group")
    return PaperFigure("score-by-age", figure, table=table_twin, results=results, owner_only=original)


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
        "prostatitis-by-age",
        figure,
        table=NumberTable(heads, rows, caption="Reports per finding and age group"),
        results=results,
        owner_only=original,
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


def age_by_score(
    data: Any, *, original: bool = False, noised_ages: bool = False, levels: Sequence[str] = LEVELS
) -> PaperFigure:
    """Return age per PI-RADS score, at low, medium and high noise.

    The scores get noise and the ages, grouped by noisy score, stay as they are; or the ages get the noise
    instead. Boxes span the
    quartiles, whiskers the 5th to the 95th percentile, diamonds are means; the error bars of noisy
    ages are the 95 % margin of a mean from the noise alone, 1.96 sqrt(2 b^2 / reports). Un-noised
    values are for the owner only: without ``original`` scores and ages both get noise.

    Args:
        data: A table with ``age`` and ``pirads``; reports without a score are left out.
        original: For the owner only: draw the original as well, and keep one axis un-noised.
        noised_ages: Noise on the ages, not on the scores.
        levels: The noise levels to draw; a partner gets one alone.

    Examples:
        >>> from pydplib import datasets
        >>> cohort = datasets.pirads(n=200, backend="numpy")
        >>> age_by_score(cohort, original=True, noised_ages=True).name
        'age-by-score-noised-ages'
    """
    ages, scores, note = _read(data)
    results: dict[str, tuple[DPResult, ...]] = {}
    series = {"original": (ages, scores)} if original else {}
    scores_at = {} if original and noised_ages else per_level(
        scores, "count", levels, original, is_range=True, bounds=(1, 5)
    )  # fmt: skip
    ages_at = {} if original and not noised_ages else per_level(ages, "mean", levels, original, bounds=AGE_BOUNDS)
    for level in levels:
        of_score, of_age = scores_at.get(level), ages_at.get(level)
        results[level] = tuple(result for result in (of_age, of_score) if result is not None)
        series[level] = (
            ages if of_age is None else np.asarray(of_age.dp_data),
            scores if of_score is None else np.asarray(of_score.dp_data),
        )
    panels, rows = {}, []
    for level, (values, groups) in series.items():
        parts = [values[groups == score] for score in SCORES]
        noisy = results[level][0] if level in results and (noised_ages or not original) else None
        margins = [mean_margin(noisy, part.size) if noisy is not None else None for part in parts]
        panels[panel_title(level, results, drawn=original)] = _boxes(level, parts, margins)
        for label, part, margin in zip(SCORE_LABELS, parts, margins, strict=True):
            quartiles = np.percentile(part, [25, 50, 75]).tolist() if part.size else [None] * 3
            mean = PlusMinus(float(part.mean()), margin) if part.size else None
            rows.append([level, label, part.size, mean, *quartiles])
    whose = "the original and the un-noised " + ("scores are shown" if noised_ages else "ages are shown")
    shown = (
        "Boxes: quartiles, whiskers: 5th to 95th percentile, diamonds: mean age; "
        f"groups of fewer than {FEWEST} reports are left out."
    )
    if noised_ages or not original:
        shown += " Error bars: 95 % margin of the mean from the noise on the ages."
    heads = ["level", "score", "reports", "mean age", "lower quartile", "median", "upper quartile"]
    figure = plot.panels(
        panels,
        columns=2 if original else 3,
        title=CATALOGUE["age-by-score-noised-ages" if noised_ages else "age-by-score"].title,
        caption=caption(
            results, shown, noise_line(results, drawn=original), note if original else "",
            owner=whose if original else "",
        ),
    )  # fmt: skip
    name = "age-by-score-noised-ages" if noised_ages else "age-by-score"
    return PaperFigure(
        name,
        figure,
        table=NumberTable(heads, rows, caption="Ages per PI-RADS score"),
        results=results,
        owner_only=original,
    )


def _boxes(level: str, parts: list[NDArray[Any]], margins: list[float | None]) -> plot.Figure:
    seen = [
        (label, part, margin) for label, part, margin in zip(SCORES, parts, margins, strict=True) if part.size >= FEWEST
    ]
    spread = [margin for _, _, margin in seen if margin is not None]
    return box_panel(
        level,
        [str(label) for label, _, _ in seen],
        [plot.Box(*np.percentile(part, [5, 25, 50, 75, 95]).tolist()) for _, part, _ in seen],
        [float(part.mean()) for _, part, _ in seen],
        spread or None,
    )


def box_panel(
    name: str, labels: list[str], boxes: list[plot.Box], means: list[float], margins: list[float] | None
) -> plot.Figure:
    """Return boxes of age per PI-RADS score with diamonds for the means, and error bars where margins are known."""
    panel = plot.box(labels, {name: boxes}, x_title="PI-RADS score", y_title="age in years")
    panel.add_scatter(
        x=labels,
        y=means,
        mode="markers",
        name="mean age",
        error_y={"type": "data", "array": margins} if margins else None,
        hovertemplate="mean %{y:.1f} years<extra></extra>",
    )
    # A score that is left out keeps its place: panels are compared slot by slot.
    slots = [-0.5, len(SCORES) - 0.5]
    panel.update_xaxes(categoryorder="array", categoryarray=[str(score) for score in SCORES], range=slots)
    return panel


def variance_by_score(
    data: Any, *, original: bool = False, levels: Sequence[str] = LEVELS, from_variances: bool = False
) -> PaperFigure:
    """Return the variance of age per PI-RADS score, at low, medium and high noise.

    The paper has a fourth query type, variance, and no figure of it; this is ours. Noise on every
    age adds its own variance, 2 b^2, to that of the ages: the bars show what plain software
    computes from the noisy ages, the diamonds what is left after taking the known 2 b^2 away, with
    its 95 % margin. With ``from_variances`` the variances are computed first and get the noise.

    Args:
        data: A table with ``age`` and ``pirads``; reports without a score are left out.
        original: For the owner only: draw the original as well; the scores stay un-noised.
        levels: The noise levels to draw; a partner gets one alone.
        from_variances: Noise on the five variances instead of on every age. Its groups are those of
            the true scores.

    Examples:
        >>> from pydplib import datasets
        >>> variance_by_score(datasets.pirads(n=300, backend="numpy"), from_variances=True).name
        'variance-from-variances'
    """
    ages, scores, note = _read(data)
    true = [ages[scores == score] for score in SCORES]
    series = {"original": [float(part.var()) if part.size else np.nan for part in true]} if original else {}
    results: dict[str, tuple[DPResult, ...]] = {}
    marks: dict[str, list[float]] = {}
    margins: dict[str, list[float]] = {}
    if from_variances:
        noisy_at = _noisy_variances(true, levels, original)
    else:
        noisy_at = per_level(ages, "variance", levels, original, bounds=AGE_BOUNDS)
    for level, noisy in noisy_at.items():
        if from_variances:
            values = iter(noisy.dp_data)
            series[level] = [float(next(values)) if part.size > 1 else np.nan for part in true]
            results[level] = (noisy,)
            margins[level] = [laplace_margin(noisy)] * len(true)
            continue
        of_score = None if original else _noisy_scores(scores, level)
        results[level] = (noisy,) if of_score is None else (noisy, of_score)
        groups = scores if of_score is None else np.asarray(of_score.dp_data)
        parts = [np.asarray(noisy.dp_data)[groups == score] for score in SCORES]
        series[level] = [float(part.var()) if part.size >= FEWEST else np.nan for part in parts]
        marks[level] = [value - noise_variance(noisy) for value in series[level]]
        margins[level] = [
            variance_margin(noisy, part.size, value) for part, value in zip(parts, marks[level], strict=True)
        ]
    if from_variances:
        shown = "Error bars: 95 % of the noise on the variances lies within."
    else:
        shown = (
            "Bars: variance of the noisy ages, which holds the variance of the noise itself. "
            "Diamonds: corrected for it, with the 95 % margin from the noise. "
            f"What falls below 0 is drawn as 0; groups of fewer than {FEWEST} reports are left out."
        )
    figure = plot.bar(
        SCORE_LABELS,
        series,
        margins=margins,
        marks=marks,
        marks_title="corrected for the noise",
        y_title="variance of age in years²",
        title="Variance of age per PI-RADS score" + (", noise on the variances" if from_variances else ""),
        floor=0,
        caption=caption(results, shown, note if original else "", owner=_variance_owner(original, from_variances)),
    )
    name = "variance-from-variances" if from_variances else "variance"
    table = corrected_table("score", SCORE_LABELS, series, marks, margins, caption="Variance of age in years²")
    return PaperFigure(name, figure, table=table, results=results, owner_only=original)


def _noisy_variances(parts: Sequence[NDArray[Any]], levels: Sequence[str], owner: bool) -> dict[str, DPResult]:
    """Return the variances of groups with noise on each; a group too small to have one is left out."""
    large = [part for part in parts if part.size > 1]
    return per_level(
        [float(part.var()) for part in large], "variance", levels, owner,
        group_sizes=[part.size for part in large], bounds=AGE_BOUNDS,
    )  # fmt: skip


def _variance_owner(original: bool, from_variances: bool) -> str:
    if not original:
        return ""
    return "the original is shown" if from_variances else "the original and the un-noised scores are shown"


def _read(data: Any) -> tuple[NDArray[np.int64], NDArray[np.int64], str]:
    """Return ages and scores, and a note for the owner where ages had to be moved."""
    columns = read_columns(data, "age", "pirads")
    ages, moved = read_ages(columns)
    return ages, read_scores(columns), MOVED if moved else ""


def _noisy_scores(scores: NDArray[np.int64], level: str) -> DPResult:
    return dp_calculate(scores, "count", level, is_range=True, bounds=(1, 5))


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
    return PaperFigure(name, figure, table=table, results=results, owner_only=original)
