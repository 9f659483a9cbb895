"""Figures and tables of released values, for pages and dashboards; nothing but what was released goes in."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from pydplib import plot
from pydplib.capture import Question, Template
from pydplib.plot import Box, Figure
from pydplib.plot.releases import axis_labels, caption_of, without_noise_groups
from pydplib.release import Release
from pydplib.release.outlook import lost_values
from pydplib.release.results.axes import Axis
from pydplib.release.results.findings import ends_text, show
from pydplib.release.results.words import show_margin, show_number, small_groups
from pydplib.release.statistics import STATISTICS
from pydplib.release.statistics.noise import confidence_words
from pydplib.release.statistics.question import Printed
from pydplib.web.analyses.question_form.questions import UNITS

_LONGEST = 24
"""Words longer than these have no room on an axis: the codes stay."""


def in_words(release: Release, template: Template) -> Release:
    """Return a release whose groups are named as the template's options are: chronic instead of chr.

    Examples:
        >>> from pydplib.capture import builtin
        >>> import pydplib as dp
        >>> bars = dp.histogram([1, 2], edges=[1, 2, 3], epsilon=1.0)
        >>> counted = replace(bars, axes=(Axis("prostatitis", ("chr", "n")),))
        >>> in_words(counted, builtin("pirads-paper")).axes[0].labels
        ('chronic', 'no')
    """
    return replace(release, axes=tuple(_named(axis, option_titles(axis.name, template)) for axis in release.axes))


def printed_of(release: Release, template: Template) -> Printed | None:
    """Return a release as journals print it, in the template's words; None where its statistic has no such form."""
    kind = STATISTICS.get(release.statistic)
    if kind is None:
        return None
    names = {
        str(entry["column"]): option_titles(entry["column"], template)
        for entry in release.question.get("variables", ())
    }
    printed: Printed | None = kind.print_release(in_words(release, template), names)
    return printed


def option_titles(name: str, template: Template) -> dict[str | int, str]:
    """Return the values of a field with the template's words for them; none where they would not fit on an axis."""
    place = template.index.by_id.get(name)
    options = place.item.options if place is not None and isinstance(place.item, Question) else ()
    titles = {option.value: option.text for option in options}
    fits = len(set(titles.values())) == len(titles) and all(len(text) <= _LONGEST for text in titles.values())
    return titles if fits else {}


def _named(axis: Axis, titles: Mapping[str | int, str]) -> Axis:
    if axis.kind != "category" or any(title in axis.keys and titles.get(title) != title for title in titles.values()):
        return axis  # a title that is another group's code would name two groups alike
    return replace(axis, keys=tuple(titles.get(key, key) for key in axis.keys))


def rest_words(release: Release) -> str:
    """Return what the group "other" holds, where there is one."""
    if any(axis.kind == "category" and "other" in axis.keys for axis in release.axes):
        return "“other”: no answer, or none of the listed ones."
    return ""


def figure_of(release: Release, *, title: str = "", original: NDArray[np.float64] | None = None) -> Figure:
    """Return the figure of a release: bars or points with error bars, colours for tables, boxes for quantiles.

    Args:
        release: What was released.
        title: What it shows, in words.
        original: For the owner only: the exact values, in the shape of ``release.value``.

    Examples:
        >>> import pydplib as dp
        >>> figure = figure_of(dp.histogram([61, 67, 70] * 300, edges=[50, 60, 70, 80], epsilon=1.0), title="Ages")
        >>> figure.words[0]
        'Ages'
    """
    kind = STATISTICS.get(release.statistic)
    if kind is not None and kind.picture == "boxes" and release.shape and release.shape[-1] == 5:
        return _boxes(release, title, original)
    if release.is_count and len(release.axes) == 2:
        return _colours(release, title)
    drawn = plot.draw(release, title=title, original=original)
    named = UNITS.get(release.unit)
    if named and drawn.layout.yaxis.title.text == release.unit:
        drawn.update_yaxes(title_text=named)
    return drawn


def _colours(release: Release, title: str) -> Figure:
    """Draw a table of two fields: the released numbers themselves, as the table next to it has them."""
    shown, _, left_out = without_noise_groups(release)
    down, across = shown.axes
    return plot.heatmap(
        axis_labels(across),
        axis_labels(down),
        np.rint(np.asarray(shown.value, dtype=float)),
        margins=shown.margin,
        value_title=UNITS.get(release.unit, release.unit),
        x_title=axis_title(across),
        y_title=axis_title(down),
        title=title,
        caption=caption_of(release, "heatmap", left_out=left_out),
    )


def _boxes(release: Release, title: str, original: object) -> Figure:
    """Draw boxes from five released quantiles each."""
    release, original, left_out = without_noise_groups(release, original)
    groups = release.axes[:-1]
    labels = [""]
    for axis in groups:
        labels = [f"{name}, {label}" if name else label for name in labels for label in axis.labels]
    labels = [label or "all" for label in labels]
    doubtful = [False] * len(labels) if release.doubtful is None else [bool(one) for one in release.doubtful[::5]]
    series = {"released": _five(release.values)}
    if original is not None:
        series = {"original": _five(np.asarray(original, dtype=float).ravel().tolist()), **series}
    caption = caption_of(release, "quantiles", left_out=left_out, shows_original=original is not None)
    measured = str(release.question.get("of", ""))
    unit = f" ({release.unit})" if release.unit else ""
    if any(doubtful):
        caption += " Faint: noise alone could have made the group."
    return plot.box(
        labels,
        series,
        faded=[label for label, doubt in zip(labels, doubtful, strict=True) if doubt],
        x_title=", ".join(axis.title or axis.name for axis in groups),
        y_title=f"{measured}{unit}",
        title=title,
        caption=caption,
    )


def _five(values: Sequence[float]) -> list[Box]:
    return [Box(*values[start : start + 5]) for start in range(0, len(values), 5)]


def table_of(release: Release, *, original: NDArray[np.float64] | None = None) -> tuple[list[object], list[list[str]]]:
    """Return heads and rows of the table under a figure: keys, value, margin; for the owner the original too.

    Examples:
        >>> import pydplib as dp
        >>> heads, rows = table_of(dp.count([1, 2, 3], epsilon=1.0))
        >>> [head[0] for head in heads]
        ['Value', 'Margin (95 %)']
    """
    unit = UNITS.get(release.unit, release.unit)
    heads: list[object] = [axis_title(axis) for axis in release.axes]
    often = confidence_words(release.confidence)
    heads += [(f"Value ({unit})" if unit else "Value", "num"), (f"Margin ({often})", "num")]
    low, high = release.population_low, release.population_high
    if low is not None and high is not None:
        heads.append((f"Population ({often})", "num"))
    exact = None if original is None else np.asarray(original, dtype=float).ravel().tolist()
    if exact is not None:
        heads.append(("Original", "num"))
    rows = []
    for place, key in enumerate(release.keys):
        row = [axis.label(part) for axis, part in zip(release.axes, key, strict=True)]
        row += [value_text(release, place), margin_text(release, place)]
        if low is not None and high is not None:
            row.append(ends_text(low[place], high[place]))
        if exact is not None:
            row.append(_exact_text(release, exact[place]))
        rows.append(row)
    return heads, rows


def _exact_text(release: Release, exact: float) -> str:
    if math.isnan(exact):
        return "–"
    if release.choices is not None:
        return release.choices.labels[int(exact)]
    return show_number(exact, whole=release.is_count)


def axis_title(axis: Axis) -> str:
    """Return the head of an axis in a table."""
    if axis.kind == "quantile":
        return "Share below"
    name = axis.title or axis.name or "from"
    return f"{name} ({axis.unit})" if axis.unit else str(name)


def value_text(release: Release, place: int) -> str:
    """Return one value with as many digits as its margin deserves."""
    chosen = release.label(place)
    if chosen is not None:
        return chosen
    if release.margins is None and release.population_low is not None:
        return show(release.values[place])
    margin = None if release.margins is None or release.margin_unit == "ranks" else release.margins[place]
    return show_number(release.values[place], margin, whole=release.is_count)


def margin_text(release: Release, place: int) -> str:
    """Return one margin: ± so much, ranks for quantiles, or from low to high where a value lies at a bound."""
    if release.margins is None:
        return "–"
    margin = release.margins[place]
    if release.margin_unit == "rows":
        return f"at most {show_margin(margin, whole=True)} records behind the most frequent"
    if release.margin_unit == "ranks":
        return f"± {show_margin(margin, whole=True)} ranks"
    if not release.is_count and release.low is not None and release.high is not None:
        low, high, value = release.low[place], release.high[place], release.values[place]
        if abs((high - value) - (value - low)) > 0.1 * margin:
            return f"{show_number(low, margin)} to {show_number(high, margin)}"
    return f"± {show_margin(margin, whole=release.is_count)}"


def headline_of(release: Release) -> str:
    """Return the one number of a release without groups, with margin and unit; empty for several numbers."""
    if release.axes:
        return ""
    unit = UNITS.get(release.unit, release.unit)
    return f"{value_text(release, 0)} {unit} ({margin_text(release, 0)})".replace("  ", " ")


@dataclass(frozen=True, slots=True)
class Worth:
    """How much of an answer the noise has swallowed, for the top of its page.

    Attributes:
        lost: How many of its numbers.
        all: How many numbers it has.
        names: The groups of those that are lost.
    """

    lost: int
    all: int
    names: tuple[str, ...] = ()

    @property
    def is_little(self) -> bool:
        """Whether at least half of the answer is lost."""
        return self.lost > 0 and 2 * self.lost >= self.all

    @property
    def title(self) -> str:
        """What the banner says first; empty where nothing is lost."""
        if not self.lost:
            return ""
        if self.all == 1:
            return "Too noisy to use"
        most = "Most of this answer is too noisy to use" if self.is_little else "Part of this answer is too noisy"
        return f"{most}: {self.lost} of {self.all} numbers"

    @property
    def words(self) -> str:
        """What the banner explains."""
        listed = "; ".join(self.names[:6]) + (" and others" if len(self.names) > 6 else "")
        which = f" ({listed})" if listed and self.all > 1 else ""
        return (
            f"The noise is as large as what these numbers could tell{which}. They are drawn faintly: do not quote "
            "them. Fewer groups, wider bins, one record of each person or a higher price would help."
        )


def worth_of(release: Release) -> Worth:
    """Return how much of an answer the noise has swallowed; judged by released numbers alone.

    Examples:
        >>> import pydplib as dp
        >>> worth_of(dp.histogram([61] * 5, edges=[20, 60, 80], epsilon=0.01)).title
        'Most of this answer is too noisy to use: 2 of 2 numbers'
        >>> worth_of(dp.count([1] * 900, epsilon=1.0)).title
        ''
    """
    lost = lost_values(release)
    names = [
        ", ".join(axis.label(part) for axis, part in zip(release.axes, key, strict=True) if axis.kind != "quantile")
        for key in release.keys
    ]
    # An empty rest is no loss: nobody asked for it.
    asked = [place for place, name in enumerate(names) if name not in ("other", "missing")] or list(range(len(names)))
    if release.is_count and len(asked) > 1:
        # A table of counts is read by its large cells: it is lost where what is left of it holds little.
        found = [max(0.0, float(one)) for one in release.noisy or release.values]
        kept = sum(found[place] for place in asked if not lost[place])
        if kept >= _MOST_KEPT * sum(found[place] for place in asked) and kept:
            return Worth(0, len(asked))
    gone = [place for place in asked if lost[place]]
    return Worth(len(gone), len(asked), tuple(dict.fromkeys(names[place] for place in gone)))


_MOST_KEPT = 0.75


def sampling_words(release: Release) -> str:
    """Return what the margin does not say: how far chance alone may move a number."""
    if release.population_low is not None:
        return (
            "The margin is that of the noise alone. The interval for the population holds sampling and noise: how far "
            "the number of all such patients may lie from this one."
        )
    words = (
        "The margin is that of the noise alone. How well these records stand for other patients is another question, "
        "and its uncertainty comes on top."
    )
    small = small_groups(release)
    if small:
        listed = ", ".join(small[:4]) + (" and others" if len(small) > 4 else "")
        words += f" In small groups chance weighs more than the noise: {listed}."
    return words
