"""Figures of a synthetic table: the paper's four where the columns are there, and each declared relation."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from pydplib import plot
from pydplib.capture import Template
from pydplib.plot import Box, Figure
from pydplib.plot.catalogue import CATALOGUE
from pydplib.release import Mean
from pydplib.synthesis import SyntheticTable
from pydplib.synthesis.counters import CodeCounter
from pydplib.web.analyses.figures import option_titles

PAPER = ("2", "3", "4", "5")
"""The figures of the paper."""

_EDGES = tuple(range(20, 101, 5))
_SCORES = (1, 2, 3, 4, 5)
_COUNTED = "patients"

Rows = Mapping[str, Sequence[object]]

ValueNames = Mapping[str, Mapping[str, str]]
"""Column -> its values, as they are stored -> their words for readers."""


@dataclass(frozen=True, kw_only=True)
class SyntheticFigure:
    """One figure as a page shows it.

    Attributes:
        id: Unique on the page.
        title: What it shows.
        label: What the paper calls it.
        figure: The drawing.
        heads: Heads of the table that says the same.
        rows: Its rows.
        note: How far noise moves it, or that its relation was not measured.
        is_measured: Whether its relation was measured.
    """

    id: str
    title: str
    label: str
    figure: Figure
    heads: list[str]
    rows: list[list[object]]
    note: str = ""
    is_measured: bool = True


def value_names(table: SyntheticTable, template: Template) -> ValueNames:
    """Return the template's words for the values of a table: chronic instead of chr."""
    return {
        name: {key: words for key, words in option_titles(name, template).items() if isinstance(key, str)}
        for name in table.columns
    }


def drawings(
    table: SyntheticTable,
    rows: Rows,
    *,
    name: str = "synthetic",
    words: ValueNames | None = None,
    titles: Mapping[str, str] | None = None,
) -> list[SyntheticFigure]:
    """Return the paper's figures of rows, as far as they have the columns.

    Args:
        table: The synthetic table, which says what was measured.
        rows: The rows as columns: the synthetic ones, or for the owner the original's.
        name: What the rows are, for ids and captions.
        words: The words for stored values.
        titles: Column -> its title.
    """
    found = []
    named = words or {}
    rows = {
        key: [named.get(key, {}).get(value, value) if isinstance(value, str) else value for value in values]
        for key, values in rows.items()
    }
    for number in PAPER:
        spec = CATALOGUE[number]
        if not set(spec.fields) <= set(rows):
            continue
        margin = table.margin(list(spec.fields)) if name == "synthetic" else None
        note = "" if margin is None else margin.words
        if margin is not None and not margin.is_measured:
            shown = " and ".join((titles or {}).get(field, field) for field in spec.fields)
            note = f"{shown}: the figure shows what the other tables imply. Conclude nothing about a relation from it."
        caption = note if margin is None or margin.is_measured else margin.words
        figure, heads, lines = _DRAWERS[number](rows)
        if number == "3" and margin is not None and margin.is_measured and table.one_row:
            figure, heads, lines = _average_age(rows, _average_ends(table))
            note = caption = f"{note}; bars are 95 % intervals for the population, sampling and noise together"
        found.append(
            SyntheticFigure(
                id=f"{name}-figure-{number}",
                title=spec.title,
                label=spec.label,
                figure=figure.with_words(caption=caption),
                heads=heads,
                rows=lines,
                note=note,
                is_measured=margin is None or margin.is_measured,
            )
        )
    return found


def share_axes(one: SyntheticFigure, other: SyntheticFigure) -> None:
    """Give two drawings of one figure the same axis of numbers, so that they can be compared by eye."""
    name = "x" if one.label == CATALOGUE["3"].label else "y"
    reach: list[float] = []
    for drawn in (one.figure, other.figure):
        stacked = np.zeros(1)
        for trace in drawn.data:
            if trace.type == "box":
                reach += [float(end) for end in (*trace.lowerfence, *trace.upperfence)]
                continue
            values = np.nan_to_num(np.asarray(trace[name], dtype=float), nan=math.nan)
            bars = getattr(trace, f"error_{name}", None)
            half = 0.0 if bars is None or bars.array is None else np.asarray(bars.array, dtype=float)
            if trace.type == "bar":
                stacked = stacked + values
            else:
                reach += [*(values - half), *(values + half)]
        reach += [] if stacked.size == 1 else [0.0, *stacked]
    known = [end for end in reach if math.isfinite(end)]
    if not known:
        return
    low, high = min(known), max(known)
    room = 0.05 * max(high - low, 1e-9)
    ends = [low if low == 0 else low - room, high + room]
    for drawn in (one.figure, other.figure):
        drawn.update_layout({f"{name}axis": {"range": ends}})


def relation_tables(
    table: SyntheticTable, titles: Mapping[str, str], names: ValueNames | None = None
) -> list[SyntheticFigure]:
    """Return each declared pair of columns as a table of colours: counts of the synthetic rows."""
    counter = CodeCounter(list(table.codes), [variable.size for variable in table.variables])
    found = []
    for number, relation in enumerate(r for r in table.measured if not r.found and len(r.columns) == 2):
        down, across = (table.columns.index(name) for name in relation.columns)
        counts = counter.counts((down, across))
        labels = [
            [(names or {}).get(name, {}).get(label, label) for label in table.variables[place].labels]
            for name, place in zip(relation.columns, (down, across), strict=True)
        ]
        words = [titles.get(name, name) for name in relation.columns]
        margin = table.margin(list(relation.columns))
        figure = plot.heatmap(
            labels[1], labels[0], counts, value_title=_COUNTED, x_title=words[1], y_title=words[0], caption=margin.words
        )
        found.append(
            SyntheticFigure(
                id=f"relation-{number}",
                title=" and ".join(words),
                label="Declared relation",
                figure=figure,
                heads=[words[0], *labels[1]],
                rows=[[label, *line] for label, line in zip(labels[0], counts.tolist(), strict=True)],
                note=margin.words,
            )
        )
    return found


def _pairs(rows: Rows, one: str, other: str) -> list[tuple[Any, Any]]:
    return [(a, b) for a, b in zip(rows[one], rows[other], strict=True) if a is not None and b is not None]


def _age_groups(ages: Sequence[float]) -> list[int]:
    counts, _ = np.histogram(np.clip(np.asarray(ages, dtype=float), _EDGES[0], _EDGES[-1]), bins=_EDGES)
    return [int(count) for count in counts]


def _labels() -> list[str]:
    return [f"{low} to {high}" for low, high in pairwise(_EDGES)]


def _age_and_score(rows: Rows) -> tuple[Figure, list[str], list[list[object]]]:
    pairs = [(float(age), _score(score)) for age, score in _pairs(rows, "age", "pirads")]
    groups = {f"PI-RADS {score}": _age_groups([age for age, own in pairs if own == score]) for score in _SCORES}
    figure = plot.bar(_labels(), groups, stacked=True, x_title="age in years", y_title=_COUNTED)
    lines: list[list[object]] = [
        [label, *(groups[name][place] for name in groups)] for place, label in enumerate(_labels())
    ]
    return figure, ["age", *groups], lines


def _average_ends(table: SyntheticTable) -> dict[int, tuple[float, float]]:
    """Return the interval of the average age of each score."""
    found = table.interval(Mean("age", by="pirads"))
    ends = zip(found.cells, found.low, found.high, strict=True)
    return {_score(cell[0]): (low, high) for cell, low, high in ends if _score(cell[0]) in _SCORES}


def _average_age(
    rows: Rows, ends: Mapping[int, tuple[float, float]] | None = None
) -> tuple[Figure, list[str], list[list[object]]]:
    pairs = [(float(age), _score(score)) for age, score in _pairs(rows, "age", "pirads")]
    by_score = [[age for age, own in pairs if own == score] for score in _SCORES]
    means = [sum(ages) / len(ages) if ages else math.nan for ages in by_score]
    labels = [f"PI-RADS {score}" for score in _SCORES]
    lines: list[list[object]] = [
        [label, "–" if math.isnan(mean) else f"{mean:.1f}"] for label, mean in zip(labels, means, strict=True)
    ]
    if ends is None:
        figure = plot.dots(labels, {"average age": means}, x_title="average age in years")
        return figure, ["score", "average age"], lines
    own = [ends.get(score, (math.nan, math.nan)) for score in _SCORES]
    # Bars reach the farther end, so that they hold the whole interval.
    reach = [max(mean - low, high - mean, 0.0) for mean, (low, high) in zip(means, own, strict=True)]
    margins = {"average age": [0.0 if math.isnan(wide) else wide for wide in reach]}
    figure = plot.dots(labels, {"average age": means}, margins=margins, x_title="average age in years")
    for line, (low, high) in zip(lines, own, strict=True):
        line.append("–" if math.isnan(low) else f"{low:.1f} to {high:.1f}")
    return figure, ["score", "average age", "95 % interval"], lines


def _age_by_prostatitis(rows: Rows) -> tuple[Figure, list[str], list[list[object]]]:
    groups: dict[str, list[float]] = {}
    for age, finding in _pairs(rows, "age", "prostatitis"):
        groups.setdefault(str(finding), []).append(float(age))
    names = sorted(groups)
    boxes = [Box(*(float(v) for v in np.percentile(groups[name], (5, 25, 50, 75, 95)))) for name in names]
    figure = plot.box(names, {"ages": boxes}, x_title="prostatitis", y_title="age in years")
    lines: list[list[object]] = [
        [name, f"{box.q1:.0f}", f"{box.median:.0f}", f"{box.q3:.0f}"] for name, box in zip(names, boxes, strict=True)
    ]
    return figure, ["prostatitis", "lower quarter", "median", "upper quarter"], lines


def _ages(rows: Rows) -> tuple[Figure, list[str], list[list[object]]]:
    counts = _age_groups([float(str(age)) for age in rows["age"] if age is not None])
    figure = plot.histogram(_EDGES, {"age": counts}, x_title="age in years", y_title=_COUNTED)
    return figure, ["age", _COUNTED], [[label, count] for label, count in zip(_labels(), counts, strict=True)]


def _score(value: Any) -> int:
    try:
        return int(float(value))
    except (TypeError, ValueError):
        return 0


_DRAWERS = {"2": _age_and_score, "3": _average_age, "4": _age_by_prostatitis, "5": _ages}
