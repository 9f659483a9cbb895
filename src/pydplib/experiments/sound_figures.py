"""The paper's figures 2 to 5 and trends over years as sound releases: which questions, and how answers are drawn."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from pydplib import plot
from pydplib.budget.units import NANO, show_nano
from pydplib.errors import ParameterError, did_you_mean
from pydplib.experiments._by_age import finding_names
from pydplib.experiments._by_score import box_panel
from pydplib.experiments._cohort import AGE_GROUPS, SCORES
from pydplib.experiments._counts import FLAGS
from pydplib.guarantee import ApproxDP, PureDP
from pydplib.release import Count, Crosstab, Mean, Question, Release
from pydplib.release.postprocess import box_data
from pydplib.report import Fixed, PlusMinus, Table
from pydplib.schema import Category, Flag, Integer, Number, Schema

AGE_EDGES = (18, 50, 60, 70, 80, 100)
"""The age groups of the paper's figures as bins: 18 to 50 without 50 is "< 50"."""

Originals: TypeAlias = Sequence[Any] | None
"""For the owner alone: the exact values behind each release, in its shape."""

SCORE_LABELS = [f"PI-RADS {score}" for score in SCORES]
_OWNER = "Shows the original as well: for the data owner only."


@dataclass(frozen=True)
class Drawn:
    """A figure of releases and the same numbers as a table."""

    figure: plot.Figure
    table: Table


@dataclass(frozen=True, slots=True)
class SoundFigure:
    """A ready-made figure: what it asks, and how the answers are drawn.

    Args:
        name: ``"2"`` to ``"5"``, ``"reports-by-year"`` or ``"age-by-year"``.
        title: What it shows.
        hint: How to read it, in one sentence.
        ask: From the schema to the questions; none where the schema has not the fields.
        draw: From the releases (and, for the owner, the exact values) to figure and table.
    """

    name: str
    title: str
    hint: str
    ask: Callable[[Schema], tuple[Question, ...]]
    draw: Callable[[Sequence[Release], Originals], Drawn]

    @property
    def label(self) -> str:
        """What the paper calls it, or what it is: ``"Figure 2"``, ``"Trend"``."""
        return f"Figure {self.name}" if self.name.isdigit() else "Trend"


def sound_figure(name: str) -> SoundFigure:
    """Return a ready-made figure by its name.

    Examples:
        >>> from pydplib.datasets import pirads_schema
        >>> sound_figure("4").ask(pirads_schema())
        (Crosstab('age', 'pirads'), Mean('age', by=['pirads']))
    """
    if name not in SOUND_FIGURES:
        raise ParameterError(f"There is no such figure.{did_you_mean(name, SOUND_FIGURES)}")
    return SOUND_FIGURES[name]


def guarantee_of(releases: Sequence[Release]) -> str:
    """Return what is guaranteed about all releases of a figure together, and what they cost, in two sentences."""
    if len(releases) == 1:
        return f"{releases[0].guarantee.sentence} Cost: {releases[0].cost}."
    nano = sum(release.cost.nano_epsilon or 0 for release in releases)
    delta = sum(release.delta for release in releases)
    epsilon = nano / NANO
    together = ApproxDP(epsilon, delta) if delta else PureDP(epsilon)
    return f"{together.sentence} Cost: epsilon {show_nano(nano)} for {len(releases)} answers together."


def score_by_age() -> Question:
    """Return the question of Fig. 2: reports per age group and PI-RADS score."""
    return Crosstab("age", "pirads", bins={"age": AGE_EDGES})


def age_by_score() -> Question:
    """Return the question behind the means of Fig. 4."""
    return Mean("age", by="pirads")


def draw_score_by_age(releases: Sequence[Release], originals: Originals = None, *, note: str = "") -> Drawn:
    """Return Fig. 2: a table of whole reports, age groups by scores, darker is more."""
    release = releases[0]
    shown = _both(release, originals, lambda values: _whole(values)[:, : len(SCORES)].T)
    figure = _heatmaps(
        shown, AGE_GROUPS, [str(score) for score in SCORES], y_title="PI-RADS score", x_title="age in years"
    )
    margin = max(release.margins95 or (0.0,))
    rows = [
        [*name, age, *cells]
        for name, table in _named(shown)
        for age, cells in zip(AGE_GROUPS, _cells(table.T, margin, name), strict=True)
    ]
    return _drawn(
        figure,
        "PI-RADS score against age",
        [f"Reports per age group and score. The noise may have moved each number by {margin:.0f} (95 %).", note],
        releases,
        originals,
        Table([*_head(originals), "age", *SCORE_LABELS], rows, caption="Reports per age group and score"),
    )


def draw_prostatitis_by_age(releases: Sequence[Release], originals: Originals = None) -> Drawn:
    """Return Fig. 3: reports per finding and age group."""
    release = releases[0]
    keys = [key for key in release.axes[1].keys if key is not None]
    kinds = finding_names([str(key) for key in keys])
    shown = _both(release, originals, lambda values: _whole(values)[:, : len(kinds)].T)
    figure = _heatmaps(shown, AGE_GROUPS, kinds, x_title="age in years")
    margin = max(release.margins95 or (0.0,))
    rows = [
        [*name, kind, *cells]
        for name, table in _named(shown)
        for kind, cells in zip(kinds, _cells(table, margin, name), strict=True)
    ]
    return _drawn(
        figure,
        "Prostatitis against age",
        [f"Reports per finding and age group. The noise may have moved each number by {margin:.0f} (95 %)."],
        releases,
        originals,
        Table([*_head(originals), "prostatitis", *AGE_GROUPS], rows, caption="Reports per finding and age group"),
    )


def draw_age_by_score(releases: Sequence[Release], originals: Originals = None) -> Drawn:
    """Return Fig. 4: boxes of age per score, read off the table of Fig. 2 for nothing, and mean ages with margins."""
    table, means = releases
    count = len(SCORES)
    margins = list((means.margins95 or (0.0,) * count)[:count])
    least = 2 * max(table.margins95 or (0.0,))
    series: dict[str, tuple[list[Any], list[float], list[float] | None]] = {
        "released": (_boxes(table, least), list(means.values[:count]), margins)
    }
    if originals is not None:
        exact = _release_like(table, originals[0])
        series = {"original": (_boxes(exact, 0), _flat(originals[1])[:count], None), **series}
    panels, rows = {}, []
    for name, (boxes, centres, spread) in series.items():
        labels = [str(score) for score, box in zip(SCORES, boxes, strict=True) if box is not None]
        seen = [place for place, box in enumerate(boxes) if box is not None]
        panels[name.capitalize()] = box_panel(
            "" if originals is None else name,
            labels,
            [box for box in boxes if box is not None],
            [centres[place] for place in seen],
            None if spread is None else [spread[place] for place in seen],
        )
        for place, label in enumerate(SCORE_LABELS):
            box = boxes[place]
            quartiles = [None] * 3 if box is None else [Fixed(number, 1) for number in (box.q1, box.median, box.q3)]
            margin = None if spread is None else spread[place]
            rows.append([*_name(name, originals), label, PlusMinus(centres[place], margin), *quartiles])
    figure = panels["Released"] if originals is None else plot.panels(panels)
    heads = [*_head(originals), "score", "mean age", "lower quartile", "median", "upper quartile"]
    return _drawn(
        figure,
        "Age per PI-RADS score",
        [
            "Diamonds: mean age, with the 95 % margin of the noise. Boxes: quartiles, whiskers hold nine tenths; they "
            "are read off the age groups of Figure 2 and are left out where the noise could have made the group."
        ],
        releases,
        originals,
        Table(heads, rows, caption="Ages per PI-RADS score"),
    )


def draw_findings(releases: Sequence[Release], originals: Originals = None) -> Drawn:
    """Return Fig. 5: reports with a yes, one bar per finding."""
    labels = [FLAGS.get(release.axes[0].name, release.axes[0].title) for release in releases]
    yes = [release.axes[0].keys.index(True) for release in releases]
    values = [float(release.values[place]) for release, place in zip(releases, yes, strict=True)]
    margins = [
        float((release.margins95 or release.values)[place]) for release, place in zip(releases, yes, strict=True)
    ]
    series = {"released": values}
    if originals is not None:
        series = {"original": [_flat(o)[place] for o, place in zip(originals, yes, strict=True)], **series}
    figure = plot.bar(labels, series, margins={"released": margins}, y_title="reports", floor=0)
    rows = [
        [label, PlusMinus(value, margin), *([int(series["original"][place])] if originals is not None else [])]
        for place, (label, value, margin) in enumerate(zip(labels, values, margins, strict=True))
    ]
    heads = ["finding", "reports", *(["original"] if originals is not None else [])]
    words = ["Reports that say yes. Error bars: how far the noise may have moved a number (95 %)."]
    return _drawn(
        figure, "Reports with a yes", words, releases, originals, Table(heads, rows, caption="Reports with a yes")
    )


def _draw_trend(title: str, y_title: str, floor: float | None) -> Callable[[Sequence[Release], Originals], Drawn]:
    def draw(releases: Sequence[Release], originals: Originals = None) -> Drawn:
        release = releases[0]
        years = [key for key in release.axes[0].keys if isinstance(key, int)]
        seen = [release.axes[0].keys.index(year) for year in years]
        margins = [float((release.margins95 or release.values)[place]) for place in seen]
        values = [float(release.values[place]) for place in seen]
        series = {"released": values if floor is None else [max(floor, value) for value in values]}
        if originals is not None:
            exact = _flat(originals[0])
            series = {"original": [exact[place] for place in seen], **series}
        figure = plot.line(
            [str(year) for year in years], series, margins={"released": margins}, x_title="year", y_title=y_title
        )
        figure.update_xaxes(type="category")
        if floor is not None:
            figure.update_yaxes(rangemode="tozero")
        whole = floor is not None
        rows = [
            [
                str(year),
                PlusMinus(series["released"][place], margins[place]),
                *([_exact(series["original"][place], whole)] if originals is not None else []),
            ]
            for place, year in enumerate(years)
        ]
        heads = ["year", y_title, *(["original"] if originals is not None else [])]
        words = ["Error bars: how far the noise may have moved a number (95 %)."]
        return _drawn(figure, title, words, releases, originals, Table(heads, rows, caption=title))

    return draw


def _of(schema: Schema, columns: Mapping[str, tuple[type[Any], ...]], *questions: Question) -> tuple[Question, ...]:
    fits = all(name in schema.columns and isinstance(schema.columns[name], kinds) for name, kinds in columns.items())
    return questions if fits else ()


_AGE: dict[str, tuple[type[Any], ...]] = {"age": (Number, Integer)}
_SCORE: dict[str, tuple[type[Any], ...]] = {**_AGE, "pirads": (Category,)}


def _flags(schema: Schema) -> tuple[Question, ...]:
    return tuple(Count(by=name) for name in FLAGS if isinstance(schema.columns.get(name), Flag))


SOUND_FIGURES: Mapping[str, SoundFigure] = MappingProxyType(
    {
        made.name: made
        for made in (
            SoundFigure(
                "2",
                "PI-RADS score against age",
                "How many reports have which score, per age group.",
                lambda schema: _of(schema, _SCORE, score_by_age()),
                draw_score_by_age,
            ),
            SoundFigure(
                "3",
                "Prostatitis against age",
                "How many reports have which finding, per age group.",
                lambda schema: _of(
                    schema,
                    {**_AGE, "prostatitis": (Category,)},
                    Crosstab("age", "prostatitis", bins={"age": AGE_EDGES}),
                ),
                draw_prostatitis_by_age,
            ),
            SoundFigure(
                "4",
                "Age per PI-RADS score",
                "Mean ages with margins; the boxes come from Figure 2 at no further cost.",
                lambda schema: _of(schema, _SCORE, score_by_age(), age_by_score()),
                draw_age_by_score,
            ),
            SoundFigure(
                "5",
                "Reports with a yes",
                "BPH, TURP surgery and other findings that are yes or no.",
                _flags,
                draw_findings,
            ),
            SoundFigure(
                "reports-by-year",
                "Reports per year",
                "How many reports were written in each year.",
                lambda schema: _of(schema, {"year": (Category,)}, Count(by="year")),
                _draw_trend("Reports per year", "reports", 0),
            ),
            SoundFigure(
                "age-by-year",
                "Mean age per year",
                "Whether patients got older or younger over the years.",
                lambda schema: _of(schema, {**_AGE, "year": (Category,)}, Mean("age", by="year")),
                _draw_trend("Mean age per year", "mean age in years", None),
            ),
        )
    }
)
"""Name -> ready-made figure, in the order of the paper; the trends come last."""


def _whole(values: Any) -> NDArray[np.float64]:
    return np.maximum(np.rint(np.asarray(values, dtype=np.float64)), 0.0)


def _both(
    release: Release, originals: Originals, shape: Callable[[Any], NDArray[np.float64]]
) -> dict[str, NDArray[np.float64]]:
    shown = {"released": shape(release.value)}
    if originals is None:
        return shown
    return {"original": shape(np.asarray(originals[0], dtype=np.float64).reshape(release.shape)), **shown}


def _heatmaps(
    shown: Mapping[str, NDArray[np.float64]], x: Sequence[str], y: Sequence[str], **titles: Any
) -> plot.Figure:
    limit = max(float(table.max(initial=1.0)) for table in shown.values())
    made = {
        name.capitalize(): plot.heatmap(x, y, table, limit=limit, value_title="reports", **titles)
        for name, table in shown.items()
    }
    return made["Released"] if len(made) == 1 else plot.panels(made)


def _named(shown: Mapping[str, NDArray[np.float64]]) -> list[tuple[list[str], NDArray[np.float64]]]:
    return [([name] if len(shown) > 1 else [], table) for name, table in shown.items()]


def _cells(table: NDArray[np.float64], margin: float, name: list[str]) -> list[list[PlusMinus]]:
    spread = None if name == ["original"] else margin
    return [[PlusMinus(float(value), spread) for value in line] for line in table]


def _head(originals: Originals) -> list[str]:
    return [] if originals is None else ["values"]


def _name(name: str, originals: Originals) -> list[str]:
    return [] if originals is None else [name]


def _flat(values: Any) -> list[float]:
    return [float(value) for value in np.asarray(values, dtype=np.float64).ravel()]


def _exact(value: float, whole: bool) -> Any:
    return int(value) if whole else Fixed(value, 1)


def _release_like(release: Release, values: Any) -> Any:
    """Return exact counts as ``box_data`` reads them; it is no release, lives for one drawing and is never kept."""
    from types import SimpleNamespace

    flat = tuple(_flat(values))
    return SimpleNamespace(
        statistic=release.statistic, axes=release.axes, shape=release.shape, values=flat, noisy=None, margins95=None
    )


def _boxes(table: Any, least: float) -> list[plot.Box | None]:
    """Return a box per score, none where the noise alone could have made the group: judged by noisy numbers."""
    found = box_data(table)[: len(SCORES)]
    return [plot.Box(b.low, b.q1, b.median, b.q3, b.high) if b.rows > least else None for b in found]


def _drawn(
    figure: plot.Figure,
    title: str,
    words: Sequence[str],
    releases: Sequence[Release],
    originals: Originals,
    table: Table,
) -> Drawn:
    said = [" ".join(filter(None, words)), guarantee_of(releases), _OWNER if originals is not None else ""]
    return Drawn(figure.with_words(title, "\n".join(filter(None, said))), table)
