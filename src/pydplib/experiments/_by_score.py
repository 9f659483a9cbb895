"""Further figures: ages per PI-RADS score, and their variance."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pydplib import plot
from pydplib.experiments._by_age import per_level
from pydplib.experiments._cohort import (
    AGE_BOUNDS,
    FEWEST,
    MOVED,
    SCORE_LABELS,
    SCORES,
    read_ages,
    read_columns,
    read_scores,
)
from pydplib.experiments._words import (
    PaperFigure,
    caption,
    corrected_table,
    laplace_margin,
    mean_margin,
    noise_line,
    noise_variance,
    panel_title,
    variance_margin,
)
from pydplib.experiments.catalogue import CATALOGUE, LEVELS
from pydplib.paper import DPResult, dp_calculate
from pydplib.report import PlusMinus, Table


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
    return PaperFigure(name, figure, Table(heads, rows, caption="Ages per PI-RADS score"), results, original)


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
    return PaperFigure(name, figure, table, results, original)


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
