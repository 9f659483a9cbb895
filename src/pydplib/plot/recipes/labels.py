"""The honest label of a figure, in words, and the margins that paper-mode noise is known to have."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field
from typing import TYPE_CHECKING, Any

from pydplib.guarantee import LocalDP, NoGuarantee, loss_text
from pydplib.paper import DPResult
from pydplib.plot.catalogue import CATALOGUE
from pydplib.plot.tables import NumberTable, PlusMinus

if TYPE_CHECKING:
    from pydplib.plot import Figure

Results = Mapping[str, Sequence[DPResult]]
"""Noise level -> what was released at it."""


@dataclass(frozen=True)
class PaperFigure:
    """A figure of the PyDPLib paper, or a further one, drawn from a table.

    Attributes:
        name: Its name in ``catalogue.CATALOGUE``.
        figure: The Plotly figure; its caption is the honest label.
        table: The numbers that are drawn.
        results: Noise level -> the releases behind the figure.
        owner_only: Whether it shows original values, an un-noised axis, or several levels of one draw.
        form: ``"original"`` or ``"paper"``.
    """

    name: str
    figure: Figure = field(repr=False)
    _: KW_ONLY
    table: NumberTable = field(repr=False)
    results: Results = field(repr=False)
    owner_only: bool
    form: str = "paper"

    @property
    def label(self) -> str:
        """What the figure is called: ``"Figure 4"``, ``"Figure 4, alternative"``, ``"Further figure"``."""
        return CATALOGUE[self.name].label


def guarantee_words(results: Results, *, values_per_report: int = 1) -> str:
    """Return what is guaranteed about all releases of a figure, and what their noise alone would be worth.

    The numbers are those of one report: all noisy values that it has a part in, added up; two digits, rounded up.

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
    epsilons = ", ".join(f"{_rounded_up(loss)} ({level})" for level, loss in losses.items())
    if len(losses) > 1 and not all(isinstance(result.guarantee, NoGuarantee) for result in flat):
        # Every level is a draw of its own from the same reports: whoever sees them all learns from them all.
        epsilons += f" and, for whoever sees all {len(losses)} of them, {_rounded_up(sum(losses.values()))}"
    again = "Every further report of a patient adds as much."
    if all(isinstance(result.guarantee, LocalDP) for result in flat):
        return f"Every report by itself is private with epsilon {epsilons}. {again}"
    # Two releases of a figure may share a reason: each is said once.
    reasons = [one for r in flat if isinstance(r.guarantee, NoGuarantee) for one in r.guarantee.reason.split("; ")]
    nothing = NoGuarantee("; ".join(dict.fromkeys(reasons)))
    return f"{nothing.sentence} The noise alone is worth about epsilon {epsilons} for one report. {again}"


def _rounded_up(loss: float) -> str:
    """Return a loss with two digits, or whole from 10 on: never less than it is.

    Examples:
        >>> _rounded_up(7.391), _rounded_up(10.39), _rounded_up(0.5)
        ('7.4', '11', '0.5')
    """
    if not 0 < loss < math.inf:
        return loss_text(loss)
    step = 10.0 ** min(0, math.floor(math.log10(loss)) - 1)
    return f"{math.ceil(loss / step - 1e-9) * step:.12g}"


def caption(results: Results, *sentences: str, owner: str = "", values_per_report: int = 1) -> str:
    """Return two paragraphs: what a figure shows, and for whose eyes it is and what is guaranteed."""
    for_owner = f"For the data owner only: {owner}. " if owner else ""
    guarantee = guarantee_words(results, values_per_report=values_per_report)
    return f"{' '.join(filter(None, sentences))}\n{for_owner}{guarantee}"


def panel_title(level: str, results: Results, *, drawn: bool = False) -> str:
    """Return the title of a panel in two lines: the level; the expected noise, and for the owner that of this draw."""
    if level not in results:
        return "Original"
    result = results[level][0]
    title = f"{level.capitalize()} noise\nabout {result.noise_percent:.2g} %"
    if drawn and result.drawn_percent is not None:
        title += f", here {result.drawn_percent:.2g} %"
    return title


def noise_line(results: Results, *, drawn: bool = False) -> str:
    """Return what the percentages in the titles of panels are; of one level, the percentage itself."""
    if len(results) == 1:
        ((result, *_),) = results.values()
        return f"Noise: {result.noise_words(drawn=drawn)}."
    return f"Percentages: noise on average over many draws{', and in this draw' if drawn else ''}."


def corrected_table(
    head: str,
    labels: Sequence[str],
    series: Mapping[str, Sequence[float]],
    marks: Mapping[str, Sequence[float]],
    margins: Mapping[str, Sequence[float]],
    *,
    caption: str,
) -> NumberTable:
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
    return NumberTable(heads, rows, caption=caption)


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
