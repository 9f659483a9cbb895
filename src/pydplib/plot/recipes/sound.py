"""Figures as sound releases: what each asks, and how the answers become bars, dots, boxes, heatmaps and trends."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType, SimpleNamespace
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from pydplib import plot
from pydplib._duckdb_files import connect
from pydplib.budget import MemoryLedger
from pydplib.budget.keys import canonical_json
from pydplib.budget.units import NANO, show_short
from pydplib.datasets import pirads_schema
from pydplib.engine import Table as PrivateTable
from pydplib.engine import load
from pydplib.errors import ParameterError, did_you_mean
from pydplib.guarantee import ApproxDP, PureDP
from pydplib.plot.catalogue import CATALOGUE
from pydplib.plot.recipes.cohort import AGE_GROUPS, SCORE_LABELS, SCORES
from pydplib.plot.recipes.further import FLAGS, box_panel
from pydplib.plot.recipes.paper import BOX_WORDS, SCORE_COLOURS, average_dots, finding_boxes, finding_names
from pydplib.plot.tables import Fixed, NumberTable, PlusMinus
from pydplib.release import Count, Crosstab, Histogram, Mean, Question, Release, Session
from pydplib.release.group_quantiles import GroupQuantiles, group_quantiles
from pydplib.release.postprocess import BOX_SHARES, box_data, non_negative
from pydplib.release.results.words import TOGETHER
from pydplib.schema import OTHER, Column, Schema

Originals: TypeAlias = Sequence[Any] | None
"""For the owner alone: the exact values behind each release, in its shape."""

_OWNER = "Shows the original as well: for the data owner only."


@dataclass(frozen=True)
class Drawn:
    """A figure of releases and the same numbers as a table."""

    figure: plot.Figure
    table: NumberTable


def guarantee_of(releases: Sequence[Release]) -> str:
    """Return what is guaranteed about all releases of a figure together, and what they cost, in two sentences."""
    paid = list({release.key or str(place): release for place, release in enumerate(releases)}.values())
    if len(paid) == 1:
        shared = paid[0].mechanism in TOGETHER
        often = ", once for all tables that were bought together" if shared else ""
        return f"{paid[0].guarantee.sentence} Cost: {paid[0].cost.words}{often}."
    nano = sum(round(release.epsilon * NANO) for release in paid)
    delta = sum(release.delta for release in paid)
    epsilon = nano / NANO
    together = ApproxDP(epsilon, delta) if delta else PureDP(epsilon)
    return f"{together.sentence} Cost: epsilon {show_short(nano)} for {len(releases)} answers together."


AGE_BINS = (18, 50, 55, 60, 65, 70, 75, 80, 100)
"""The age groups of Figures 2 to 5 as bins of a table: five years where most patients are, open at the ends."""
AGE_BIN_NAMES = ("< 50", "50–54", "55–59", "60–64", "65–69", "70–74", "75–79", "80 +")
_MIDDLES = np.array([47.5, 52.5, 57.5, 62.5, 67.5, 72.5, 77.5, 82.5])
"""Where the reports of an age group count: in its middle, and 2.5 years beyond the edge of an open one."""
_NOISE_BARS = "Error bars: how far the noise may have moved a number (95 %)."


def draw_age_and_score(releases: Sequence[Release], originals: Originals = None) -> Drawn:
    """Return Fig. 2 as a sound release: reports per age group, a panel for every score."""
    release = releases[0]
    shown = _both(release, originals, lambda values: np.maximum(np.asarray(values, dtype=np.float64), 0.0))
    margin = max(release.margins or (0.0,))
    panels = {
        label: plot.bar(
            AGE_BIN_NAMES,
            {name: table[:, place] for name, table in shown.items()},
            margins={"released": margin},
            # As in the original; next to it, the colour tells which of the two a bar is.
            colours={"released": SCORE_COLOURS[label]} if originals is None else None,
            floor=0,
            x_title="age in years",
            y_title="reports",
        )
        for place, label in enumerate(SCORE_LABELS)
    }
    for panel in panels.values():
        _upright(panel)
    rows = [
        [*name, age, *cells]
        for name, table in _named({name: np.rint(table) for name, table in shown.items()})
        for age, cells in zip(AGE_BIN_NAMES, _cells(table[:, : len(SCORES)], margin, name), strict=True)
    ]
    return _drawn(
        plot.panels(panels, columns=3, panel_height=200),
        CATALOGUE["2"].title,
        [f"Reports per age group, a panel for every PI-RADS score. {_NOISE_BARS}"],
        releases,
        originals,
        NumberTable([*_head(originals), "age", *SCORE_LABELS], rows, caption="Reports per age group and score"),
    )


def _upright(panel: plot.Figure) -> None:
    """Let every second age group keep its label: there is no room for all of them in a small panel."""
    ticks = list(AGE_BIN_NAMES[1::2])
    panel.update_xaxes(tickmode="array", tickvals=ticks, ticktext=ticks, tickangle=0, tickfont={"size": 11})


def draw_average_age(releases: Sequence[Release], originals: Originals = None) -> Drawn:
    """Return Fig. 3 as a sound release: the average age of every score, read off the table of Fig. 2."""
    series = {"released": averages_of(releases[0])}
    if originals is not None:
        series = {"original": averages_of(release_like(releases[0], originals[0])), **series}
    means = {name: [mean for mean, _ in found] for name, found in series.items()}
    figure = average_dots(means, {"released": [margin for _, margin in series["released"]]})
    rows = [
        [
            label,
            *(
                PlusMinus(mean, None if name == "original" else margin) if math.isfinite(mean) else None
                for name, found in series.items()
                for mean, margin in [found[place]]
            ),
        ]
        for place, label in enumerate(SCORE_LABELS)
    ]
    return _drawn(
        figure,
        CATALOGUE["3"].title,
        [
            "One dot per score: the average age of its reports, with the 95 % margin of the noise. Read off the age "
            "groups of Figure 2, each in its middle; a score that noise alone could have made is left out."
        ],
        releases,
        originals,
        NumberTable(["score", *series], rows, caption="Average age in years"),
    )


def averages_of(table: Any) -> list[tuple[float, float]]:
    """Return average age and margin per score; NaN where noise alone could have made the score.

    The margin is that of ``_ages_of``: noise of variance 2 b^2 on every count c moves sum(c m) / sum(c) by
    b sqrt(2 sum (m - mean)^2) / sum(c).
    """
    counts = _noisy_table(table)
    found = []
    for place in range(len(SCORES)):
        clean = non_negative(counts[:, place])
        total = float(clean.sum())
        if total <= 1.65 * table.scale * math.sqrt(2 * len(clean)):
            found.append((math.nan, math.nan))
            continue
        mean = float(clean @ _MIDDLES / total)
        spread = math.sqrt(2 * float(((_MIDDLES - mean) ** 2).sum())) * table.scale / total
        found.append((mean, 1.96 * spread))
    return found


def draw_age_by_prostatitis(releases: Sequence[Release], originals: Originals = None) -> Drawn:
    """Return Fig. 4 as a sound release: boxes with medians per finding, all from one table."""
    release = releases[0]
    keys = [key for key in release.axes[1].keys if key not in (None, OTHER)]
    names = finding_names([str(key) for key in keys])
    series = {"released": group_quantiles(release, BOX_SHARES)}
    if originals is not None:
        series = {"original": group_quantiles(release_like(release, originals[0]), BOX_SHARES), **series}
    panels, rows, doubtful = {}, [], list[str]()
    for name, groups in series.items():
        seen = [(label, group) for label, group in zip(names, groups, strict=False) if group.rows > 0]
        pale = [label for label, group in seen if group.doubtful]
        if name == "released":
            doubtful = [label for label, group in zip(names, groups, strict=False) if group.doubtful]
        panels[name.capitalize()] = finding_boxes(
            "" if originals is None else name,
            names,
            [label for label, _ in seen],
            [plot.Box(*group.values) for _, group in seen],
            pale,
        )
        rows += [
            [*_name(name, originals), label, max(0, round(group.rows)), *_quartile_cells(name, group)]
            for label, group in zip(names, groups, strict=False)
        ]
    figure = panels["Released"] if originals is None else plot.panels(panels)
    words = [
        f"{BOX_WORDS} All is read off one table of counts per age group; 95 % intervals stand with the numbers. "
        f"{_doubt_words(doubtful)}"
    ]
    heads = [*_head(originals), "prostatitis", "reports", "lower quartile", "median", "upper quartile"]
    table = NumberTable(heads, rows, caption="Age per finding in years, with 95 % intervals")
    return _drawn(figure, CATALOGUE["4"].title, words, releases, originals, table)


def _quartile_cells(name: str, group: GroupQuantiles) -> list[Any]:
    middle = list(zip(group.values, group.low, group.high, strict=True))[1:4]
    if group.rows <= 0:
        return [None] * 3
    if name == "original":
        return [Fixed(value, 1) for value, _, _ in middle]
    return [f"{value:.1f} ({low:g} to {high:g})" for value, low, high in middle]


def _doubt_words(names: Sequence[str]) -> str:
    if not names:
        return ""
    return f"Faint or left out, because noise alone could have made them: {', '.join(names)}."


def draw_ages(releases: Sequence[Release], originals: Originals = None) -> Drawn:
    """Return Fig. 5 as a sound release: reports per age group."""
    release = releases[0]
    series = {"released": [float(value) for value in release.values[: len(AGE_BIN_NAMES)]]}
    margins = [float(margin) for margin in (release.margins or release.values)[: len(AGE_BIN_NAMES)]]
    if originals is not None:
        series = {"original": _flat(originals[0])[: len(AGE_BIN_NAMES)], **series}
    figure = plot.bar(
        AGE_BIN_NAMES, series, margins={"released": margins}, floor=0, x_title="age in years", y_title="reports"
    )
    exact = series.get("original")
    rows = [
        [age, PlusMinus(value, margin), *([] if exact is None else [int(exact[place])])]
        for place, (age, value, margin) in enumerate(zip(AGE_BIN_NAMES, series["released"], margins, strict=True))
    ]
    heads = ["age", "reports", *([] if exact is None else ["original"])]
    words = [f"Reports per age group. {_NOISE_BARS}"]
    table = NumberTable(heads, rows, caption="Reports per age group")
    return _drawn(figure, CATALOGUE["5"].title, words, releases, originals, table)


def draw_score_by_age(releases: Sequence[Release], originals: Originals = None) -> Drawn:
    """Return a table of whole reports, age groups by scores, darker is more."""
    release = releases[0]
    shown = _both(release, originals, lambda values: _whole(values)[:, : len(SCORES)].T)
    margin = max(release.margins or (0.0,))
    scores = [str(score) for score in SCORES]
    figure = _heatmaps(shown, margin, AGE_GROUPS, scores, y_title="PI-RADS score", x_title="age in years")
    rows = [
        [*name, age, *cells]
        for name, table in _named(shown)
        for age, cells in zip(AGE_GROUPS, _cells(table.T, margin, name), strict=True)
    ]
    return _drawn(
        figure,
        CATALOGUE["score-by-age"].title,
        [f"Reports per age group and score. The noise may have moved each number by {margin:.0f} (95 %)."],
        releases,
        originals,
        NumberTable([*_head(originals), "age", *SCORE_LABELS], rows, caption="Reports per age group and score"),
    )


def draw_prostatitis_by_age(releases: Sequence[Release], originals: Originals = None) -> Drawn:
    """Return reports per finding and age group, darker is more."""
    release = releases[0]
    keys = [key for key in release.axes[1].keys if key not in (None, OTHER)]
    kinds = finding_names([str(key) for key in keys])
    shown = _both(release, originals, lambda values: _whole(values)[:, : len(kinds)].T)
    margin = max(release.margins or (0.0,))
    figure = _heatmaps(shown, margin, AGE_GROUPS, kinds, x_title="age in years")
    rows = [
        [*name, kind, *cells]
        for name, table in _named(shown)
        for kind, cells in zip(kinds, _cells(table, margin, name), strict=True)
    ]
    return _drawn(
        figure,
        CATALOGUE["prostatitis-by-age"].title,
        [f"Reports per finding and age group. The noise may have moved each number by {margin:.0f} (95 %)."],
        releases,
        originals,
        NumberTable([*_head(originals), "prostatitis", *AGE_GROUPS], rows, caption="Reports per finding and age group"),
    )


def draw_age_by_score(releases: Sequence[Release], originals: Originals = None) -> Drawn:
    """Return boxes and mean ages per score, read off the table of scores by age group: they cost nothing more."""
    series = {"released": ages_of(releases[0])}
    if originals is not None:
        series = {"original": ages_of(release_like(releases[0], originals[0])), **series}
    panels, rows = {}, []
    for name, groups in series.items():
        seen = [(str(score), group) for score, group in zip(SCORES, groups, strict=True) if group is not None]
        panels[name.capitalize()] = box_panel(
            "" if originals is None else name,
            [label for label, _ in seen],
            [group.box for _, group in seen],
            [group.mean for _, group in seen],
            None if name == "original" else [group.margin for _, group in seen],
        )
        for label, group in zip(SCORE_LABELS, groups, strict=True):
            cells: list[Any] = [None] * 4
            if group is not None:
                box, margin = group.box, None if name == "original" else group.margin
                cells = [PlusMinus(group.mean, margin), *(Fixed(number, 1) for number in (box.q1, box.median, box.q3))]
            rows.append([*_name(name, originals), label, *cells])
    figure = panels["Released"] if originals is None else plot.panels(panels)
    heads = [*_head(originals), "score", "mean age", "lower quartile", "median", "upper quartile"]
    return _drawn(
        figure,
        "Age per PI-RADS score",
        [
            "Boxes: quartiles, whiskers hold nine tenths. Diamonds: mean age, with the 95 % margin of the noise. All "
            "is read off the table of scores by age group; a score that the noise alone could have made is left out."
        ],
        releases,
        originals,
        NumberTable(heads, rows, caption="Ages per PI-RADS score"),
    )


@dataclass(frozen=True, slots=True)
class _Ages:
    """The ages of one score, as a table of age groups tells them."""

    box: plot.Box
    mean: float
    margin: float


def ages_of(table: Any) -> list[_Ages | None]:
    """Return the ages per score; none where the noise alone could have made the group, judged by noisy numbers.

    A mean is that of the groups' middles. Its margin: the noise of the counts, each of variance 2 b^2, moves
    sum(c m) / sum(c) by b sqrt(2 sum (m - mean)^2) / sum(c), of which 1.96 standard deviations hold 95 %.
    """
    least = 2 * max(table.margins or (0.0,))
    raw = _noisy_table(table)
    middles = np.array(table.axes[0].middles)
    found: list[_Ages | None] = []
    for place, box in enumerate(box_data(table)[: len(SCORES)]):
        if not box.rows > least:
            found.append(None)
            continue
        counts = non_negative(raw[:, place])
        mean = float(counts @ middles / counts.sum())
        spread = math.sqrt(2 * float(((middles - mean) ** 2).sum())) * table.scale / float(counts.sum())
        found.append(_Ages(plot.Box(box.low, box.q1, box.median, box.q3, box.high), mean, 1.96 * spread))
    return found


def _noisy_table(table: Any) -> NDArray[np.float64]:
    return np.asarray(table.values if table.noisy is None else table.noisy, dtype=np.float64).reshape(table.shape)


def draw_findings(releases: Sequence[Release], originals: Originals = None) -> Drawn:
    """Return reports with a yes, one bar per finding."""
    labels = [FLAGS.get(release.axes[0].name, release.axes[0].title) for release in releases]
    yes = [keys.index(True if True in keys else "yes") for keys in (release.axes[0].keys for release in releases)]
    values = [float(release.values[place]) for release, place in zip(releases, yes, strict=True)]
    margins = [float((release.margins or release.values)[place]) for release, place in zip(releases, yes, strict=True)]
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
        figure, "Reports with a yes", words, releases, originals, NumberTable(heads, rows, caption="Reports with a yes")
    )


def draw_trend(title: str, y_title: str, floor: float | None) -> Callable[[Sequence[Release], Originals], Drawn]:
    """Return what draws one number per year; counts have a ``floor``, and are whole."""

    def draw(releases: Sequence[Release], originals: Originals = None) -> Drawn:
        release = releases[0]
        years = [key for key in release.axes[0].keys if isinstance(key, int)]
        seen = [release.axes[0].keys.index(year) for year in years]
        margins = [float((release.margins or release.values)[place]) for place in seen]
        values = [float(release.values[place]) for place in seen]
        series = {"released": values if floor is None else [max(floor, value) for value in values]}
        if originals is not None:
            exact = _flat(originals[0])
            series = {"original": [exact[place] for place in seen], **series}
        figure = plot.line(
            [str(year) for year in years], series, margins={"released": margins}, x_title="year", y_title=y_title
        )
        figure.update_xaxes(type="category")
        _end_at_bounds(figure, release, seen)
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
        return _drawn(figure, title, words, releases, originals, NumberTable(heads, rows, caption=title))

    return draw


def _end_at_bounds(figure: plot.Figure, release: Release, seen: Sequence[int]) -> None:
    """Let error bars end where the intervals do: no mean age lies beyond the declared bounds."""
    if release.low is None or release.high is None:
        return
    up = [max(0.0, release.high[place] - release.values[place]) for place in seen]
    down = [max(0.0, release.values[place] - release.low[place]) for place in seen]
    figure.data[-1].error_y.update(symmetric=False, array=up, arrayminus=down)


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
    shown: Mapping[str, NDArray[np.float64]], margin: float, x: Sequence[str], y: Sequence[str], **titles: Any
) -> plot.Figure:
    limit = max(float(table.max(initial=1.0)) for table in shown.values())
    titles |= {"limit": limit, "value_title": "reports"}
    made = {
        name.capitalize(): plot.heatmap(x, y, table, margins=None if name == "original" else margin, **titles)
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


def release_like(release: Release, values: Any) -> Any:
    """Return exact counts as ``box_data`` reads them; it is no release, lives for one drawing and is never kept."""
    flat = tuple(_flat(values))
    return SimpleNamespace(
        statistic=release.statistic,
        mechanism="",
        is_count=release.is_count,
        axes=release.axes,
        shape=release.shape,
        values=flat,
        noisy=None,
        margins=None,
        scale=0.0,
        persons=release.persons,
    )


def _drawn(
    figure: plot.Figure,
    title: str,
    words: Sequence[str],
    releases: Sequence[Release],
    originals: Originals,
    table: NumberTable,
) -> Drawn:
    said = [" ".join(filter(None, words)), guarantee_of(releases), _OWNER if originals is not None else ""]
    return Drawn(figure.with_words(title, "\n".join(filter(None, said))), table)


AGE_EDGES = (18, 50, 60, 70, 80, 100)
"""Ten years of age as bins: 18 to 50 without 50 is "< 50"."""


PART = ("patient_id", "age", "pirads", "prostatitis", "bph", "turp", "follow_up", "pca_no_pirads", "year")
"""The columns of the cohort that figures ask about."""
_CASTS = {"patient_id": "patient_id::VARCHAR AS patient_id", "pirads": "pirads::BIGINT AS pirads"}


@dataclass(frozen=True, slots=True, kw_only=True)
class SoundFigure:
    """A ready-made figure: what it asks, and how the answers are drawn.

    Args:
        name: A name of ``CATALOGUE``, ``"reports-by-year"`` or ``"age-by-year"``.
        title: What it shows.
        hint: How to read it, in one sentence.
        ask: From the schema to the questions; none where the schema lacks the fields.
        draw: From the releases (and, for the owner, the exact values) to figure and table.
    """

    name: str
    title: str
    hint: str
    ask: Callable[[Schema], tuple[Question, ...]]
    draw: Callable[[Sequence[Release], Originals], Drawn]

    @property
    def label(self) -> str:
        """What the paper calls it, or what it is: ``"Figure 2"``, ``"Further figure"``, ``"Trend"``."""
        return CATALOGUE[self.name].label if self.name in CATALOGUE else "Trend"


def sound_figure(name: str) -> SoundFigure:
    """Return a ready-made figure by its name.

    Examples:
        >>> from pydplib.datasets import pirads_schema
        >>> sound_figure("4").ask(pirads_schema())
        (Crosstab('age', 'prostatitis', bins={'age': [18, 50, 55, 60, 65, 70, 75, 80, 100]}),)
    """
    if name not in SOUND_FIGURES:
        raise ParameterError(f"There is no such figure.{did_you_mean(name, SOUND_FIGURES)}")
    return SOUND_FIGURES[name]


def draw_sound_figures(data: Any, names: Sequence[str], *, epsilon: float) -> dict[str, Drawn]:
    """Return sound figures of a synthetic cohort, each table at one price; equal tables are asked once.

    Args:
        data: The columns of ``datasets.pirads``, as arrays.
        names: Which figures.
        epsilon: What each table costs.

    Examples:
        >>> from pydplib.datasets import pirads
        >>> list(draw_sound_figures(pirads(n=200, backend="numpy"), ["5"], epsilon=1.0))
        ['5']
    """
    if not names:
        return {}
    with load_cohort(data) as table:
        answers: dict[str, Release] = {}
        for question in (question for name in names for question in sound_figure(name).ask(table.schema)):
            key = canonical_json(question.canonical(table.schema))
            if key not in answers:
                # A ledger each: the cohort is made up, so that no budget is shared.
                session = Session(table, recipient="partner", budget=PureDP(epsilon), ledger=MemoryLedger())
                answers[key] = session.release(question, epsilon=epsilon)
        return {
            name: sound_figure(name).draw(
                [
                    answers[canonical_json(asked.canonical(table.schema))]
                    for asked in sound_figure(name).ask(table.schema)
                ],
                None,
            )
            for name in names
        }


def load_cohort(data: Any) -> PrivateTable:
    """Return the cohort as a table that is asked by sessions; DuckDB counts it, whatever else is installed."""
    whole = pirads_schema()
    schema = Schema(
        {name: whole.column(name) for name in PART},
        person=whole.person,
        max_rows_per_person=whole.max_rows_per_person,
        name="pirads",
    )
    connection = connect()
    connection.register("cohort", {name: data[name] for name in PART})
    columns = ", ".join(_CASTS.get(name, name) for name in PART)
    return load(connection.sql(f"SELECT {columns} FROM cohort"), schema)  # noqa: S608 - names written above


def age_and_score() -> Question:
    """Return the question of Figs. 2 and 3: reports per age group and PI-RADS score."""
    return Crosstab("age", "pirads", bins={"age": AGE_BINS})


def age_and_prostatitis() -> Question:
    """Return the question of Fig. 4: reports per age group and finding."""
    return Crosstab("age", "prostatitis", bins={"age": AGE_BINS})


def score_by_age() -> Question:
    """Return reports per ten years of age and PI-RADS score as a question."""
    return Crosstab("age", "pirads", bins={"age": AGE_EDGES})


def age_by_score() -> Question:
    """Return the mean ages per score as a question of their own."""
    return Mean("age", by="pirads")


def _of(schema: Schema, columns: Mapping[str, Callable[[Column], bool]], *questions: Question) -> tuple[Question, ...]:
    fits = all(name in schema.columns and test(schema.columns[name]) for name, test in columns.items())
    return questions if fits else ()


def _is_number(column: Column) -> bool:
    return column.holds_numbers


def _is_list(column: Column) -> bool:
    return column.has_other


_AGE: Mapping[str, Callable[[Column], bool]] = {"age": _is_number}
_FINDING: Mapping[str, Callable[[Column], bool]] = {**_AGE, "prostatitis": _is_list}
_SCORE: Mapping[str, Callable[[Column], bool]] = {**_AGE, "pirads": _is_list}


def _flags(schema: Schema) -> tuple[Question, ...]:
    return tuple(Count(by=name) for name in FLAGS if _says_yes(schema.columns.get(name)))


def _says_yes(column: Column | None) -> bool:
    return column is not None and any(value is True or value == "yes" for value in column.choices)


_ASKED: Mapping[str, tuple[Callable[[Schema], tuple[Question, ...]], Callable[..., Drawn]]] = MappingProxyType(
    {
        "2": (lambda schema: _of(schema, _SCORE, age_and_score()), draw_age_and_score),
        "3": (lambda schema: _of(schema, _SCORE, age_and_score()), draw_average_age),
        "4": (lambda schema: _of(schema, _FINDING, age_and_prostatitis()), draw_age_by_prostatitis),
        "5": (lambda schema: _of(schema, _AGE, Histogram("age", edges=AGE_BINS)), draw_ages),
        "score-by-age": (lambda schema: _of(schema, _SCORE, score_by_age()), draw_score_by_age),
        "prostatitis-by-age": (
            lambda schema: _of(schema, _FINDING, Crosstab("age", "prostatitis", bins={"age": AGE_EDGES})),
            draw_prostatitis_by_age,
        ),
        "age-by-score": (lambda schema: _of(schema, _SCORE, score_by_age()), draw_age_by_score),
        "findings": (_flags, draw_findings),
    }
)

SOUND_FIGURES: Mapping[str, SoundFigure] = MappingProxyType(
    {
        made.name: made
        for made in (
            *(
                SoundFigure(name=spec.name, title=spec.title, hint=spec.hint, ask=ask, draw=draw)
                for spec in CATALOGUE.values()
                if "sound" in spec.forms
                for ask, draw in (_ASKED[spec.name],)
            ),
            SoundFigure(
                name="reports-by-year",
                title="Reports per year",
                hint="How many reports were written in each year.",
                ask=lambda schema: _of(schema, {"year": _is_list}, Count(by="year")),
                draw=draw_trend("Reports per year", "reports", 0),
            ),
            SoundFigure(
                name="age-by-year",
                title="Mean age per year",
                hint="Whether patients got older or younger over the years.",
                ask=lambda schema: _of(schema, {**_AGE, "year": _is_list}, Mean("age", by="year")),
                draw=draw_trend("Mean age per year", "mean age in years", None),
            ),
        )
    }
)
"""Name -> ready-made figure, in the order of the list; the trends come last."""
