"""Table 1 of a paper: every variable by arm, bought as one purchase; numbers, percentages, means, medians and tests."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from html import escape
from typing import Any

import numpy as np

from pydplib._csv_text import csv_pieces
from pydplib._shown import Shown
from pydplib.clinic.association import independence_test
from pydplib.clinic.contrasts import means
from pydplib.clinic.intervals import Floats, holm, laplace_variance, normal_quantile
from pydplib.engine import OneRow
from pydplib.errors import QuestionError
from pydplib.release import Count, Crosstab, Histogram, MeasuredTables, Release, Session
from pydplib.release.findings import NOT_PERSONS, p_text
from pydplib.release.statistics.question import Conditions, even_bins, to_bins
from pydplib.schema import OTHER

_MEAN_BINS = 10
_SPACE = "\N{NO-BREAK SPACE}"


@dataclass(frozen=True)
class Line:
    """One line of Table 1: its words, one entry per arm, and the p-value of its variable on the first line."""

    words: str
    cells: tuple[str, ...]
    p: float | None = None
    adjusted: float | None = None
    indent: int = 0


@dataclass(frozen=True, repr=False)
class TableOne(Shown):
    """Table 1: what each arm looks like, from noisy counts.

    Attributes:
        arms: The arms, with "n = about 320".
        lines: The lines.
        notes: What a reader must know, in sentences.
        tables: The measured tables behind it: guarantee, cost and every noisy count.
    """

    arms: tuple[str, ...]
    lines: tuple[Line, ...]
    notes: tuple[str, ...]
    tables: MeasuredTables = field(repr=False)

    @property
    def head(self) -> list[str]:
        """The words over the columns."""
        tested = any(line.p is not None for line in self.lines)
        return ["", *self.arms, *(["p", "p (Holm)"] if tested else [])]

    @property
    def rows(self) -> list[list[str]]:
        """The table as words, line by line."""
        tested = len(self.head) > len(self.arms) + 1
        found = []
        for line in self.lines:
            tests = [] if not tested else [_p(line.p), _p(line.adjusted)]
            found.append([_SPACE * 4 * line.indent + line.words, *line.cells, *tests])
        return found

    @property
    def caption(self) -> str:
        """What is guaranteed, and what it cost."""
        return f"{self.tables.guarantee.sentence} Cost: {self.tables.cost}."

    def to_csv(self) -> str:
        """Return the table as CSV; no spreadsheet runs a cell of it as a formula."""
        rows = [[cell.replace(_SPACE, " ") for cell in row] for row in self.rows]
        return "".join(csv_pieces(self.head, rows, end="\n"))

    def to_html(self) -> str:
        """Return the table as HTML with its styles written in, as word processors keep them when it is pasted."""
        edge, thin = "1.5pt solid black", "0.75pt solid black"
        cell = "padding:2pt 8pt;text-align:{};font-family:serif;font-size:11pt;{}"
        head = "".join(
            f'<th style="{cell.format("left" if place == 0 else "center", f"border-top:{edge};border-bottom:{thin}")}">'
            f"{escape(word)}</th>"
            for place, word in enumerate(self.head)
        )
        body = []
        for number, row in enumerate(self.rows):
            last = f"border-bottom:{edge}" if number == len(self.lines) - 1 else ""
            cells = "".join(
                f'<td style="{cell.format("left" if place == 0 else "center", last)}">{escape(word)}</td>'
                for place, word in enumerate(row)
            )
            body.append(f"<tr>{cells}</tr>")
        small = "".join(
            f'<p style="font-family:serif;font-size:9pt;margin:2pt 0">{escape(note)}</p>'
            for note in (*self.notes, self.caption)
        )
        table = f'<table style="border-collapse:collapse"><thead><tr>{head}</tr></thead><tbody>{"".join(body)}</tbody>'
        return f"{table}</table>{small}"

    def _repr_html_(self) -> str:
        return self.to_html()

    def __str__(self) -> str:
        rows = [self.head, *self.rows]
        widths = [max(len(row[place]) for row in rows) for place in range(len(rows[0]))]
        lines = ["  ".join(word.ljust(wide) for word, wide in zip(row, widths, strict=True)).rstrip() for row in rows]
        return "\n".join([*lines, *(f"  {note}" for note in (*self.notes, self.caption))])


def table_one(
    session: Session,
    variables: Iterable[str],
    *,
    by: str | None = None,
    epsilon: float,
    bins: Mapping[str, Any] | None = None,
    where: Conditions = (),
    per_person: OneRow | None = None,
) -> TableOne:
    """Return Table 1: every variable by arm, as one purchase with one price and one ledger entry.

    Categories: n (%). Numbers: mean (SD) and median [quartiles], read off noisy counts in bins. Tests compare the arms:
    chi-squared with a bootstrap that repeats sampling and noise, and Holm's correction over all variables of the
    purchase. Tests only where each person has one row (``per_person=``).

    Proof: ``Session.release_all``; everything after it is computed from noisy counts.

    Args:
        session: Who pays.
        variables: The columns, in order.
        by: The column of the arms; without it, one column of all persons.
        epsilon: The privacy loss of the whole table.
        bins: Number -> how many bins of even width, or public edges; ten by default.
        where: Conditions, all of which must hold.
        per_person: Which row of each person counts.

    Examples:
        >>> import pydplib as dp
        >>> rows = dp.datasets.pirads(backend="pandas")
        >>> one = dp.Person("patient_id").first_row(order="last_modified")
        >>> with dp.load(rows, dp.datasets.pirads_schema()) as table:
        ...     session = dp.Session(table, recipient="acme", budget=dp.PureDP(5))
        ...     found = table_one(session, ["age", "prostatitis"], by="bph", epsilon=2.0, per_person=one)
        >>> found.head[0], len(found.arms)
        ('', 2)
    """
    schema = session.table.schema
    named = [] if isinstance(variables, str) else list(dict.fromkeys(variables))
    if bins is not None and not isinstance(bins, Mapping):
        raise QuestionError("bins= says which number is cut how: bins={'age': 6}.")
    if not named or by in named:
        raise QuestionError("Table 1 needs its variables, e.g. table_one(session, ['age', 'bph'], by='arm', ...).")
    cut = {name: _edges(schema, name, (bins or {}).get(name)) for name in named}
    shared: dict[str, Any] = {"where": where, "per_person": per_person}
    if by is None:
        asked: list[Any] = [Histogram(name, edges, **shared) for name, edges in cut.items()]
    else:
        groups = {name: {name: list(edges)} if edges else {} for name, edges in cut.items()}
        asked = [Crosstab(by, name, bins=groups[name], **shared) for name in named]
    bought = session.release_all([*asked, *([Count(by=by, **shared)] if by else [])], epsilon=epsilon)
    found = {_own(release, by): release for release in bought.releases if len(release.axes) == (2 if by else 1)}
    return _made(bought, [found[name] for name in named], by)


def _edges(schema: Any, name: str, wanted: Any) -> tuple[Any, ...] | None:
    column = schema.column(name)
    if not column.is_binned and wanted is None:
        return None
    if wanted is None or isinstance(wanted, int):
        return even_bins(column, _MEAN_BINS if wanted is None else wanted).edges
    return to_bins(wanted).edges


def _own(release: Release, by: str | None) -> str:
    return next(axis.name for axis in release.axes if axis.name != by or by is None)


def _made(bought: MeasuredTables, releases: Sequence[Release], by: str | None) -> TableOne:
    first = releases[0]
    arms_axis = None if by is None else first.axes[0]
    kept = [0] if arms_axis is None else [p for p, key in enumerate(arms_axis.keys) if key not in (OTHER, None)]
    labels = ["All"] if arms_axis is None else [f"{arms_axis.title or by}: {arms_axis.labels[place]}" for place in kept]
    lines: list[Line] = []
    tests: list[tuple[int, float]] = []
    totals = None
    for release in releases:
        axis = release.axes[-1]
        counts = np.asarray(release.noisy, dtype=float).reshape(-1, len(axis.keys))[kept]
        declared = [place for place, key in enumerate(axis.keys) if key not in (OTHER, None)]
        known = counts[:, declared]
        shown = np.asarray(release.values, dtype=float).reshape(-1, len(axis.keys))[kept][:, declared]
        totals = counts.sum(axis=1) if totals is None else totals
        scale = float(release.scale)
        p = None
        if release.persons and len(kept) > 1 and len(declared) > 1:
            p = independence_test(known, scale).p
            tests.append((len(lines), p))
        name = axis.title or axis.name
        unit = f" ({axis.unit})" if axis.unit else ""
        if axis.kind == "bins":
            lines += _numbers(f"{name}{unit}", shown, axis.keys, scale, p)
        else:
            lines += _categories(name, shown, [axis.labels[place] for place in declared], p)
    adjusted = holm([p for _, p in tests])
    for (place, p), corrected in zip(tests, adjusted, strict=True):
        line = lines[place]
        lines[place] = Line(line.words, line.cells, p, corrected, line.indent)
    assert totals is not None
    arms = [f"{label} (n ≈ {max(0, round(total))})" for label, total in zip(labels, totals, strict=True)]
    return TableOne(tuple(arms), tuple(lines), _notes(first, len(tests)), bought)


def _numbers(words: str, counts: Floats, keys: Sequence[Any], scale: float, p: float | None) -> list[Line]:
    edges = np.array([float(keys[0][0]), *(float(key[1]) for key in keys)])
    middles = (edges[:-1] + edges[1:]) / 2
    centre, _, spread = means(counts, middles, laplace_variance(scale), reach=normal_quantile(0.95), sampled=True)
    cells = tuple(f"{mean:.1f} ({deviation:.1f})" for mean, deviation in zip(centre, spread, strict=True))
    quartiles = [_quartiles(row, edges) for row in counts]
    boxes = tuple(f"{two:.1f} [{one:.1f} to {three:.1f}]" for one, two, three in quartiles)
    return [
        Line(words, ("",) * len(cells), p),
        Line("mean (SD)", cells, indent=1),
        Line("median [quartiles]", boxes, indent=1),
    ]


def _quartiles(counts: Floats, edges: Floats) -> list[float]:
    """Return the quartiles of binned values: persons are spread evenly over their bin."""
    below = np.concatenate([[0.0], np.cumsum(np.maximum(counts, 0.0))])
    if below[-1] <= 0:
        return [float(edges[0]), float(edges[0] + edges[-1]) / 2, float(edges[-1])]
    steps = below + np.arange(below.size) * 1e-9  # so that interpolation has one answer in empty bins
    return [float(np.interp(part * steps[-1], steps, edges)) for part in (0.25, 0.5, 0.75)]


def _categories(name: str, counts: Floats, labels: Sequence[str], p: float | None) -> list[Line]:
    total = np.maximum(counts.sum(axis=1, keepdims=True), 1.0)
    shares = counts / total
    lines = [Line(name, ("",) * len(counts), p)]
    for place, label in enumerate(labels):
        cells = tuple(
            f"{max(0, round(counts[arm, place]))} ({100 * shares[arm, place]:.1f} %)" for arm in range(len(counts))
        )
        lines.append(Line(label, cells, indent=1))
    return lines


def _notes(release: Release, tests: int) -> tuple[str, ...]:
    found = [
        "Numbers are noisy counts; percentages are of those with a declared value. Means, SDs and quartiles are read "
        "off bins.",
        f"Counted: {release.counted}",
    ]
    if tests:
        found.append(
            f"{tests} tests (chi-squared, bootstrap with sampling and noise); of many, some look significant by "
            "chance: the last column is corrected by Holm's method over all of them."
        )
    elif not release.persons:
        found.append(f"No tests: {NOT_PERSONS}. Say which row counts: per_person=.")
    return tuple(found)


def _p(p: float | None) -> str:
    return "" if p is None else p_text(p).removeprefix("p ").removeprefix("= ")
