"""Figures 2 to 5 of the PyDPLib paper, from their captions and text; and any figure of the catalogue by its name."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pydplib import plot
from pydplib.datasets import pirads_schema
from pydplib.errors import DataError, ParameterError, did_you_mean, shown
from pydplib.paper import DPResult, dp_calculate, dp_calculate_levels
from pydplib.plot.catalogue import CATALOGUE, LEVELS, FigureSpec, Form
from pydplib.plot.recipes.cohort import (
    AGE_BOUNDS,
    FEWEST,
    MOVED,
    SCORE_LABELS,
    SCORES,
    count_table,
    read_ages,
    read_columns,
    read_decimal_ages,
    read_scores,
)
from pydplib.plot.recipes.labels import PaperFigure, Results, caption, noise_line, panel_title
from pydplib.plot.tables import Fixed, NumberTable

SCORE_COLOURS = dict(zip(SCORE_LABELS, ("#7a8490", "#3f8fc4", "#009e73", "#8a7a00", "#d55e00"), strict=True))
"""From grey to red, in the order of the scores; one colour per score in every figure."""

NORMAL_AGES = (60.0, 70.0)
"""Where the paper sees the average age of every score."""

AGE_STEP = 2
"""Years per bar of the age histogram."""

FINDINGS = {"chr": "chronic", "y": "yes, not specified", "n": "none"}
"""The paper's short forms -> what readers see."""

BOX_WORDS = "Bar in the box: median age. Box: the middle half. Whiskers: nine tenths."
_STRETCHED = "The fit to the range (Eq. 4) follows the most extreme noisy value, so a draw can be far from the average."
_CLIPPED = "Codes beyond the list count as its first or last finding."


def finding_names(kinds: Sequence[str]) -> list[str]:
    """Return the findings of prostatitis as readers see them."""
    return [FINDINGS.get(kind, kind) for kind in kinds]


def finding_kinds() -> list[str]:
    """Return the findings of prostatitis in the order of the paper: chr, y, n, acute, acute on chronic."""
    return [str(value) for value in pirads_schema().column("prostatitis").choices]


def finding_codes(findings: NDArray[Any], kinds: Sequence[str]) -> NDArray[np.int64]:
    """Return the place of every finding in the list; whatever is not in it is an error, and is not quoted."""
    if not np.isin(findings, list(kinds)).all():
        raise DataError(f"The column 'prostatitis' must hold {', '.join(kinds)}; it holds others. Correct them first.")
    order = np.argsort(kinds)
    found: NDArray[np.int64] = order[np.searchsorted(np.array(kinds)[order], findings)]
    return found


def noisy_levels(values: Any, query: int, levels: Sequence[str], **options: Any) -> dict[str, DPResult]:
    """Return noisy values per level. Several levels are one draw, scaled: for the owner only. One is for a partner."""
    if len(levels) == 1:
        return {levels[0]: dp_calculate(values, query, levels[0], **options)}
    return dp_calculate_levels(values, query, levels=levels, **options)


def age_and_score(data: Any, *, form: Form = "paper", levels: Sequence[str] = LEVELS) -> PaperFigure:
    """Return Fig. 2: a histogram of patient age for every PI-RADS score.

    The counts per year of age and score are computed first and get the noise (query type 1, whole numbers, fitted
    to their range, because no count is negative). The years themselves are the axis. One bar per year, the scores
    on top of each other.

    Args:
        data: A table with ``age`` and ``pirads``; reports without a score are left out.
        form: ``"original"``, for the owner only; or ``"paper"``.
        levels: The noise levels; several at once are for the owner only.

    Examples:
        >>> from pydplib import datasets
        >>> age_and_score(datasets.pirads(n=200, backend="numpy"), levels=["high"]).owner_only
        False
    """
    columns = read_columns(data, "age", "pirads")
    (ages, moved), scores = read_ages(columns), read_scores(columns)
    # The years that occur are private: a partner sees the public ones.
    owner = form == "original" or len(levels) > 1
    first, last = (int(ages.min()), int(ages.max())) if owner and ages.size else AGE_BOUNDS
    years = np.arange(first, last + 1)
    exact = count_table(ages - first, scores - 1, (len(years), len(SCORES)))
    tables: dict[str, NDArray[Any]] = {}
    results: dict[str, tuple[DPResult, ...]] = {}
    if form == "original":
        tables["original"] = exact
    else:
        for level, noisy in noisy_levels(
            exact.ravel(), 1, levels, is_range=True, data_type="int", aggregated=True
        ).items():
            results[level] = (noisy,)
            tables[level] = np.asarray(noisy.dp_data).reshape(exact.shape)
    edges = np.append(years, last + 1) - 0.5
    panels = {
        panel_title(level, results, drawn=owner): plot.histogram(
            edges,
            {label: table[:, place] for place, label in enumerate(SCORE_LABELS)},
            colours=SCORE_COLOURS,
            x_title="age in years",
            y_title="reports",
        )
        for level, table in tables.items()
    }
    rows = [
        [level, int(year), *(int(count) for count in line), int(line.sum())]
        for level, table in tables.items()
        for year, line in zip(years, table, strict=True)
    ]
    shown = "One bar per year of age, a colour per score."
    words = ["The counts got noise; ages and scores did not.", _STRETCHED]
    table = NumberTable(["level", "age", *SCORE_LABELS, "all"], rows, caption="Reports per age and score")
    return _figure("2", form, panels, table, results, shown, words, owner=owner, moved=moved)


def average_age(data: Any, *, form: Form = "paper", levels: Sequence[str] = LEVELS) -> PaperFigure:
    """Return Fig. 3: the average age of every PI-RADS score.

    Every age gets noise record by record (query type 2, decimals, fitted to the range of the ages); then the ages of
    a score are averaged. The average lies on the x axis, as in the paper, whose figure has a noisy x axis.

    Args:
        data: A table with ``age`` and ``pirads``; reports without a score are left out.
        form: ``"original"``, for the owner only; or ``"paper"``.
        levels: The noise levels; several at once are for the owner only.

    Examples:
        >>> from pydplib import datasets
        >>> average_age(datasets.pirads(n=200, backend="numpy"), form="original").name
        '3'
    """
    columns = read_columns(data, "age", "pirads")
    (ages, moved), scores = read_decimal_ages(columns), read_scores(columns)
    owner = form == "original" or len(levels) > 1
    results: dict[str, tuple[DPResult, ...]] = {}
    series = {"original": ages} if form == "original" else {}
    if form == "paper":
        for level, noisy in noisy_levels(ages, 2, levels, is_range=True, data_type="float").items():
            results[level] = (noisy,)
            series[level] = np.asarray(noisy.dp_data)
    means = {
        level: [float(part.mean()) if (part := values[scores == score]).size else np.nan for score in SCORES]
        for level, values in series.items()
    }
    figure = average_dots(
        {panel_title(level, results, drawn=owner).replace("\n", ", "): values for level, values in means.items()}
    )
    for trace, level in zip(figure.data, means, strict=True):
        trace.marker.color = plot.TONES[level]
    rows = [
        [label, *(Fixed(values[place], 1) for values in means.values())] for place, label in enumerate(SCORE_LABELS)
    ]
    table = NumberTable(["score", *means], rows, caption="Average age in years")
    words = ["Every age got noise; the scores did not.", _STRETCHED]
    shown = "One dot per score: the average age of its reports."
    return _figure("3", form, figure, table, results, shown, words, owner=owner, moved=moved)


def average_dots(
    means: Mapping[str, Sequence[float]], margins: Mapping[str, Sequence[float]] | None = None
) -> plot.Figure:
    """Return average ages per score as dots, with the range that the paper names behind them."""
    figure = plot.dots(
        SCORE_LABELS,
        means,
        margins=margins,
        band=NORMAL_AGES,
        band_title="60 to 70 years",
        x_title="average age in years",
        height=360 if len(means) == 1 else 420,
    )
    # Wide enough for every dot and every error bar, but no wider than ages are.
    ends = [
        value + side * (margin + 1)
        for name, values in means.items()
        for value, margin in zip(values, (margins or {}).get(name, [1.0] * len(values)), strict=True)
        for side in (-1, 1)
        if np.isfinite(value)
    ]
    low, high = AGE_BOUNDS
    figure.update_xaxes(range=[max(low, min([54.0, *ends])), min(high, max([76.0, *ends]))])
    return figure


def age_by_prostatitis(
    data: Any, *, form: Form = "paper", levels: Sequence[str] = LEVELS, noised_ages: bool = False
) -> PaperFigure:
    """Return Fig. 4: prostatitis against median age, as boxes with median bars.

    The findings (chr, y, n, acute, acute on chronic) are coded as numbers in this order, get noise (query type 3,
    whole numbers, fitted to the list), and are mapped back; the boxes are those of the ages per noisy finding. The
    paper's alternative gives noise to the ages and shows them by finding (``noised_ages``).

    Args:
        data: A table with ``age`` and ``prostatitis``.
        form: ``"original"``, for the owner only; or ``"paper"``.
        levels: The noise levels; several at once are for the owner only. A partner gets noise on both: an exact age
            next to a noisy finding is an exact age.
        noised_ages: Noise on the ages instead.

    Examples:
        >>> from pydplib import datasets
        >>> age_by_prostatitis(datasets.pirads(n=200, backend="numpy"), noised_ages=True).name
        '4-noised-ages'
    """
    columns = read_columns(data, "age", "prostatitis")
    ages, moved = read_decimal_ages(columns)
    kinds = finding_kinds()
    codes = finding_codes(columns["prostatitis"].astype(str), kinds)
    owner = form == "original" or len(levels) > 1
    results: dict[str, tuple[DPResult, ...]] = {}
    series = {"original": (ages, codes)} if form == "original" else {}
    if form == "paper":
        options: dict[str, Any] = {"is_range": True}
        on_codes = {} if noised_ages and owner else noisy_levels(
            codes, 3, levels, bounds=(0, len(kinds) - 1), data_type="int", **options
        )  # fmt: skip
        on_ages = {} if not noised_ages and owner else noisy_levels(ages, 3, levels, data_type="float", **options)
        for level in levels:
            found = on_ages.get(level), on_codes.get(level)
            first = found if noised_ages else found[::-1]
            results[level] = tuple(result for result in first if result is not None)
            series[level] = (
                ages if found[0] is None else np.asarray(found[0].dp_data),
                codes if found[1] is None else np.asarray(found[1].dp_data).astype(np.int64),
            )
    names = finding_names(kinds)
    panels, rows, complete = {}, [], True
    for level, (values, places) in series.items():
        parts = [values[places == place] for place in range(len(kinds))]
        complete = complete and all(part.size >= FEWEST for part in parts)
        seen = [(name, part) for name, part in zip(names, parts, strict=True) if part.size >= FEWEST]
        panels[panel_title(level, results, drawn=owner)] = finding_boxes(
            level,
            names,
            [name for name, _ in seen],
            [plot.Box(*np.percentile(part, [5, 25, 50, 75, 95]).tolist()) for _, part in seen],
        )
        for name, part in zip(names, parts, strict=True):
            quartiles = [Fixed(number, 1) for number in np.percentile(part, [25, 50, 75])] if part.size else [None] * 3
            rows.append([level, name, part.size, *quartiles])
    if noised_ages:
        words = ["Every age got noise; the findings did not." if owner else "Ages and findings got noise.", _STRETCHED]
    else:
        whose = "The findings, coded as numbers, got noise; the ages did not."
        words = [whose if owner else "Findings and ages got noise.", _CLIPPED]
        if form == "paper" and owner:
            changed = (f"{100 * np.mean(series[level][1] != codes):.0f} % ({level})" for level in levels)
            words.append(f"Reports whose finding changed here: {', '.join(changed)}.")
    shown = BOX_WORDS if complete else f"{BOX_WORDS} Findings with fewer than {FEWEST} reports are left out."
    heads = ["level", "prostatitis", "reports", "lower quartile", "median", "upper quartile"]
    table = NumberTable(heads, rows, caption="Age per finding, in years")
    name = "4-noised-ages" if noised_ages else "4"
    return _figure(name, form, panels, table, results, shown, words, owner=owner, moved=moved)


def finding_boxes(
    name: str, names: Sequence[str], labels: Sequence[str], boxes: Sequence[plot.Box], faded: Sequence[str] = ()
) -> plot.Figure:
    """Return boxes of age per finding; a finding that is left out keeps its place, so that panels compare."""
    panel = plot.box(labels, {name: boxes}, faded=faded, x_title="prostatitis", y_title="age in years")
    short = {"yes, not specified": "yes, not<br>specified", "acute on chronic": "acute on<br>chronic"}
    panel.update_xaxes(
        categoryorder="array",
        categoryarray=list(names),
        range=[-0.5, len(names) - 0.5],
        tickmode="array",
        tickvals=list(range(len(names))),
        ticktext=[short.get(label, label) + ("<br>(may be noise)" if label in faded else "") for label in names],
        tickangle=0,
    )
    panel.update_layout(margin={"b": 84 if faded else 68})
    axis = {
        "tickvals": list(range(len(names))),
        "ticktext": [text.replace("(may be noise)", "(may be<br>noise)") for text in panel.layout.xaxis.ticktext],
        "tickfont": {"size": 10},
    }
    panel.layout.meta = {**panel.layout.meta, "narrow": {"xaxis": axis, "margin": {"l": 50, "r": 4}}}
    return panel


def age_histogram(
    data: Any, *, form: Form = "paper", levels: Sequence[str] = ("high",), from_counts: bool = False
) -> PaperFigure:
    """Return Fig. 5: the histogram of patient ages, at high noise only.

    Every age gets noise (query type 1, decimals, fitted to the range of the ages) and the noisy ages are counted. The
    paper's alternative counts first and gives noise to the counts (``from_counts``).

    Args:
        data: A table with ``age``.
        form: ``"original"``, for the owner only; or ``"paper"``.
        levels: The noise level; the paper shows high alone.
        from_counts: Noise on the counts instead.

    Examples:
        >>> from pydplib import datasets
        >>> list(age_histogram(datasets.pirads(n=200, backend="numpy")).results)
        ['high']
    """
    columns = read_columns(data, "age")
    ages, moved = read_decimal_ages(columns)
    low, high = AGE_BOUNDS
    edges = np.arange(low, high + AGE_STEP + 1, AGE_STEP, dtype=float)
    owner = form == "original" or len(levels) > 1
    exact = np.histogram(ages, edges)[0]
    results: dict[str, tuple[DPResult, ...]] = {}
    counts: dict[str, NDArray[Any]] = {"original": exact} if form == "original" else {}
    if form == "paper":
        if from_counts:
            found = noisy_levels(exact, 1, levels, is_range=True, data_type="int", aggregated=True)
            counts = {level: np.asarray(noisy.dp_data) for level, noisy in found.items()}
        else:
            found = noisy_levels(ages, 1, levels, is_range=True, data_type="float")
            counts = {level: np.histogram(noisy.dp_data, edges)[0] for level, noisy in found.items()}
        results = {level: (noisy,) for level, noisy in found.items()}
    panels = {
        panel_title(level, results, drawn=owner): plot.histogram(
            edges, {level: values}, x_title="age in years", y_title="reports"
        )
        for level, values in counts.items()
    }
    rows = [
        [level, f"{start:.0f} to {stop:.0f}", int(count)]
        for level, values in counts.items()
        for start, stop, count in zip(edges[:-1], edges[1:], values, strict=True)
    ]
    what = "Every count got noise." if from_counts else "Every age got noise; the noisy ages are counted."
    table = NumberTable(["level", "age in years", "reports"], rows, caption=f"Reports per {AGE_STEP} years of age")
    shown = f"One bar per {AGE_STEP} years of age."
    name = "5-from-counts" if from_counts else "5"
    return _figure(name, form, panels, table, results, shown, [what, _STRETCHED], owner=owner, moved=moved)


def _figure(
    name: str,
    form: Form,
    drawn: Mapping[str, plot.Figure] | plot.Figure,
    table: NumberTable,
    results: Results,
    shown: str,
    noised: Sequence[str],
    *,
    owner: bool,
    moved: bool,
) -> PaperFigure:
    """Return the drawing as a figure that says what it shows, whose eyes it is for and what is guaranteed."""
    title = CATALOGUE[name].title
    note = MOVED if moved and owner else ""
    if form == "original":
        words = f"{' '.join(filter(None, [shown, note]))}\nThe original, without noise: for the data owner only."
    else:
        words = caption(
            results, shown, *noised, noise_line(results, drawn=owner), note,
            owner="several noise levels" if owner else "",
        )  # fmt: skip
        title = f"{title}, paper mode"
    figure = drawn if isinstance(drawn, plot.Figure) else _abreast(drawn)
    return PaperFigure(name, figure.with_words(title, words), table=table, results=results, owner_only=owner, form=form)


def _abreast(panels: Mapping[str, plot.Figure]) -> plot.Figure:
    if len(panels) == 1:
        return next(iter(panels.values()))
    return plot.panels(panels, columns=min(len(panels), 3), panel_height=280)


def figure_spec(name: str) -> FigureSpec:
    """Return an entry of the list by its name, or say which name is meant."""
    if not isinstance(name, str) or name not in CATALOGUE:
        raise ParameterError(f"There is no figure {shown(name)}.{did_you_mean(shown(name), CATALOGUE)}")
    return CATALOGUE[name]


def paper_figure(
    name: str, data: Any, *, form: Form = "paper", levels: Sequence[str] | None = None, original: bool = False
) -> PaperFigure:
    """Return a figure of the paper, or a further one.

    Args:
        name: A name of ``CATALOGUE``: ``"2"``, ``"3"``, ``"4"``, ``"4-noised-ages"``, ``"score-by-age"``, ...
        data: A table with the columns of ``datasets.pirads``.
        form: ``"original"`` (for the owner only) or ``"paper"``. Sound figures are made from releases: see
            ``sound_figures``.
        levels: The noise levels; by default those of the paper. Several at once are for the owner only.
        original: Further figures only, and for the owner only: draw the original as well.

    Examples:
        >>> from pydplib import datasets
        >>> paper_figure("5", datasets.pirads(n=200, backend="numpy")).label
        'Figure 5'
    """
    spec = figure_spec(name)
    if form not in spec.forms or form == "sound":
        forms = [known for known in spec.forms if known != "sound"]
        raise ParameterError(f"Figure '{name}' has no form {shown(form)} here; it has {' and '.join(forms)}.")
    options: dict[str, Any] = {"levels": spec.levels if levels is None else tuple(levels)}
    if spec.number is None:
        options["original"] = original
    else:
        options["form"] = form
    drawn: PaperFigure = spec.draw(data, **options)
    return drawn
