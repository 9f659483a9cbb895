"""Figures of a synthetic table: the paper's four where the columns are there, and each declared relation."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from pydplib import plot
from pydplib.plot import Box, Figure
from pydplib.plot.catalogue import CATALOGUE
from pydplib.synthesis import SyntheticTable
from pydplib.synthesis.counters import CodeCounter

PAPER = ("2", "3", "4", "5")
"""The figures of the paper."""

_EDGES = tuple(range(20, 101, 5))
_SCORES = (1, 2, 3, 4, 5)
_COUNTED = "patients"

Rows = Mapping[str, Sequence[object]]


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


def drawings(table: SyntheticTable, rows: Rows, *, name: str = "synthetic") -> list[SyntheticFigure]:
    """Return the paper's figures of rows, as far as they have the columns.

    Args:
        table: The synthetic table, which says what was measured.
        rows: The rows as columns: the synthetic ones, or for the owner the original's.
        name: What the rows are, for ids and captions.
    """
    found = []
    for number in PAPER:
        spec = CATALOGUE[number]
        if not set(spec.fields) <= set(rows):
            continue
        margin = table.margin(list(spec.fields)) if name == "synthetic" else None
        note = "" if margin is None else margin.words
        figure, heads, lines = _DRAWERS[number](rows)
        found.append(
            SyntheticFigure(
                id=f"{name}-figure-{number}",
                title=spec.title,
                label=spec.label,
                figure=figure.with_words(caption=note),
                heads=heads,
                rows=lines,
                note=note,
                is_measured=margin is None or margin.is_measured,
            )
        )
    return found


def relation_tables(table: SyntheticTable, titles: Mapping[str, str]) -> list[SyntheticFigure]:
    """Return each declared pair of columns as a table of colours: counts of the synthetic rows."""
    counter = CodeCounter(list(table.codes), [variable.size for variable in table.variables])
    found = []
    for number, relation in enumerate(r for r in table.measured if not r.found and len(r.columns) == 2):
        down, across = (table.columns.index(name) for name in relation.columns)
        counts = counter.counts((down, across))
        labels = [list(table.variables[place].labels) for place in (down, across)]
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


def _average_age(rows: Rows) -> tuple[Figure, list[str], list[list[object]]]:
    pairs = [(float(age), _score(score)) for age, score in _pairs(rows, "age", "pirads")]
    by_score = [[age for age, own in pairs if own == score] for score in _SCORES]
    means = [sum(ages) / len(ages) if ages else math.nan for ages in by_score]
    labels = [f"PI-RADS {score}" for score in _SCORES]
    figure = plot.dots(labels, {"average age": means}, x_title="average age in years")
    lines: list[list[object]] = [
        [label, "–" if math.isnan(mean) else f"{mean:.1f}"] for label, mean in zip(labels, means, strict=True)
    ]
    return figure, ["score", "average age"], lines


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
