"""The honest label of a figure, in words, and the margins that paper-mode noise is known to have."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from pydplib.guarantee import LocalDP, loss_text
from pydplib.paper import DPResult
from pydplib.report import PlusMinus, Table

if TYPE_CHECKING:
    from pydplib.plot import Figure

Results = Mapping[str, Sequence[DPResult]]
"""Noise level -> what was released at it."""


@dataclass(frozen=True)
class PaperFigure:
    """A figure of the PyDPLib paper, drawn again.

    Attributes:
        name: ``"2"``, ``"3"``, ``"4"``, ``"4-noised-ages"``, ``"5"``, ``"5-from-counts"``, ``"variance"`` or
            ``"variance-from-variances"``.
        figure: The Plotly figure; its caption is the honest label.
        table: The numbers that are drawn.
        results: Noise level -> the releases behind the figure.
        owner_only: Whether it shows original values or an un-noised axis.
    """

    name: str
    figure: Figure = field(repr=False)
    table: Table = field(repr=False)
    results: Results = field(repr=False)
    owner_only: bool

    @property
    def label(self) -> str:
        """What the figure is called: ``"Figure 4, with noised ages"``."""
        head, _, variant = self.name.partition("-")
        number = f"Figure {head}" if head.isdigit() else "Variance"
        return (
            f"{number}, {'' if variant.startswith('from') else 'with '}{variant.replace('-', ' ')}"
            if variant
            else number
        )


def guarantee_words(results: Results, *, values_per_report: int = 1) -> str:
    """Return what is guaranteed about all releases of a figure, and what their noise alone would be worth.

    The numbers are those of one report: all noisy values that it has a part in, added up, and never rounded down.

    Args:
        results: Noise level -> the releases.
        values_per_report: How many values of one release a single report may change (counts of several
            findings: all of them).
    """
    flat = [result for releases in results.values() for result in releases]
    losses = {
        level: values_per_report * sum(result.record_epsilon for result in releases)
        for level, releases in results.items()
    }
    epsilons = ", ".join(f"{loss_text(loss)} ({level})" for level, loss in losses.items())
    if len(losses) > 1:
        # Every level is a draw of its own from the same reports: whoever sees them all learns from them all.
        epsilons += f" and, for whoever sees all {len(losses)} of them, {loss_text(sum(losses.values()))}"
    again = "Every further report of the same patient counts again."
    if all(isinstance(result.guarantee, LocalDP) for result in flat):
        return f"Every report by itself is private with epsilon {epsilons}. {again}"
    reasons = list(dict.fromkeys(r.guarantee.sentence for r in flat if not isinstance(r.guarantee, LocalDP)))
    return f"{' '.join(reasons)} The noise alone would be worth epsilon {epsilons} for one report. {again}"


def caption(results: Results, *sentences: str, owner: str = "", values_per_report: int = 1) -> str:
    """Return two paragraphs: what a figure shows, and for whose eyes it is and what is guaranteed."""
    for_owner = f"For the data owner only: {owner}. " if owner else ""
    guarantee = guarantee_words(results, values_per_report=values_per_report)
    return f"{' '.join(filter(None, sentences))}\n{for_owner}{guarantee}"


def panel_title(level: str, results: Results) -> str:
    """Return the title of a panel: the level and the noise that is expected."""
    if level not in results:
        return "Original"
    return f"{level.capitalize()} noise, {results[level][0].noise_percent:.1f} %"


def corrected_table(
    head: str,
    labels: Sequence[str],
    series: Mapping[str, Sequence[float]],
    marks: Mapping[str, Sequence[float]],
    margins: Mapping[str, Sequence[float]],
    *,
    caption: str,
) -> Table:
    """Return the numbers of a bar figure: a column per level, and a second one where the noise was taken out again.

    Args:
        head: What the labels are.
        labels: One per row.
        series: Level -> what is drawn as bars.
        marks: Level -> the same, corrected for the noise.
        margins: Level -> half the width of the error bars.
        caption: What the table shows.
    """
    heads = [head]
    for level in series:
        heads += [level, f"{level}, corrected"] if level in marks else [level]
    rows = []
    for place, label in enumerate(labels):
        row: list[Any] = [label]
        for level, values in series.items():
            margin = margins[level][place] if level in margins else None
            if level in marks:
                row += [values[place], PlusMinus(marks[level][place], margin)]
            else:
                row.append(PlusMinus(values[place], margin))
        rows.append(row)
    return Table(heads, rows, caption=caption)


def laplace_margin(result: DPResult) -> float:
    """Return the 95 % margin of one value with Laplace noise: b ln 20."""
    return result.scale * math.log(20)


def noise_variance(result: DPResult) -> float:
    """Return the variance that the noise adds to a record: 2 b^2, and 1/12 for rounding to whole numbers."""
    return 2 * result.scale**2 + (1 / 12 if result.data_type in ("int", "numpy integer") else 0.0)


def mean_margin(result: DPResult, records: float) -> float:
    """Return the 95 % margin of a mean over ``records`` noisy values, from the noise alone (normal tail)."""
    return 1.96 * math.sqrt(noise_variance(result) / records) if records else math.nan


def variance_margin(result: DPResult, records: float, variance: float) -> float:
    """Return the 95 % margin of a variance corrected for the noise.

    The variance of a mean of (x + Z - m)^2 with Laplace Z: (E Z^4 - (E Z^2)^2 + 4 E Z^2 variance) / records,
    with E Z^4 = 24 b^4 and E Z^2 = 2 b^2.
    """
    b = result.scale
    spread = 20 * b**4 + 8 * b**2 * max(variance, 0.0)
    return 1.96 * math.sqrt(spread / records) if records else math.nan
