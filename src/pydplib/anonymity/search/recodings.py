"""What becomes of every distinct tuple: its labels and whether it is suppressed; the same for every method."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Any

import numpy as np

from pydplib.anonymity.search.classes import Node
from pydplib.anonymity.search.groups import combine, group
from pydplib.anonymity.search.losses import Loss, smallest_size
from pydplib.anonymity.search.problem import SearchProblem
from pydplib.anonymity.tables.columns import Bools, Floats, Ints, Resolved


@dataclass(frozen=True, eq=False, kw_only=True)
class RecodedColumn:
    """One quasi-identifier after recoding.

    Attributes:
        name: The column.
        labels: The labels that occur.
        ids: Per distinct tuple, the number of its label.
        cost: Per label, the granularity loss.
        share: Per label, the part of the domain it covers; 0 for single values.
        step: Per label, level / height.
        mass: Per label, how many rows of the input it covers by this column alone.
        kept: Whether all values are as they were.
    """

    name: str
    labels: tuple[Any, ...]
    ids: Ints
    cost: Floats
    share: Floats
    step: Floats
    mass: Floats
    kept: bool = False

    def __repr__(self) -> str:
        return f"RecodedColumn({self.name!r})"


@dataclass(frozen=True, eq=False)
class Recoding:
    """The output of a method.

    Attributes:
        columns: The recoded quasi-identifiers.
        suppressed: Per distinct tuple, whether its rows are suppressed.
        suppressed_rows: The same per row, where rows of one tuple can differ (linked persons).
        levels: Per column, its level, where one level serves all rows.
        stages: For local recoding: the nodes and their released classes.
        tree: For Mondrian: the cuts.
    """

    columns: tuple[RecodedColumn, ...]
    suppressed: Bools
    _: KW_ONLY
    suppressed_rows: Bools | None = None
    levels: Mapping[str, int] | None = None
    stages: tuple[Any, ...] = ()
    tree: Any = None

    def __repr__(self) -> str:
        return f"Recoding({len(self.columns)} columns)"


def label_mass(column: Resolved, level: int, counts: Floats) -> Floats:
    """Return how many rows every label of a level covers."""
    return np.bincount(column.levels[level], weights=counts, minlength=len(column.labels[level])).astype(np.float64)


def value_counts(problem: SearchProblem, a: int) -> Floats:
    """Return how many rows have every value of a column."""
    weight = problem.weight
    return np.bincount(problem.codes[a], weights=weight, minlength=len(problem.columns[a].values)).astype(np.float64)


def recode_levels(problem: SearchProblem, node: Node, suppressed: Bools, rows: Bools | None = None) -> Recoding:
    """Return the recoding that takes every column to one level."""
    out = []
    for a, (column, level) in enumerate(zip(problem.columns, node, strict=True)):
        labels = column.labels[level]
        single = level == 0
        out.append(
            RecodedColumn(
                name=column.name,
                labels=labels,
                ids=column.levels[level][problem.codes[a]],
                cost=column.cost[level],
                share=np.where(column.cost[level] > 0, column.share[level], 0.0),
                step=np.full(len(labels), level / max(column.height, 1)),
                mass=label_mass(column, level, value_counts(problem, a)),
                kept=single and column.keeps_values,
            )
        )
    levels = {column.name: level for column, level in zip(problem.columns, node, strict=True)}
    return Recoding(tuple(out), suppressed, suppressed_rows=rows, levels=levels)


def measure_loss(problem: SearchProblem, recoding: Recoding) -> Loss:
    """Return all losses of a recoding; a suppressed row counts as fully lost."""
    n = problem.rows
    weight = _released_weight(problem, recoding)
    gone = n - int(weight.sum())
    per_column: dict[str, float] = {}
    precision = ncp = entropy = full = 0.0
    for a, column in enumerate(recoding.columns):
        used = np.bincount(column.ids, weights=weight, minlength=len(column.labels))
        per_column[column.name] = float((used * column.cost).sum() + gone) / n if n else 0.0
        ncp += float((used * column.share).sum() + gone)
        precision += float((used * column.step).sum() + gone)
        counts = value_counts(problem, a)
        raw = float((counts * np.log2(np.maximum(counts, 1.0))).sum())
        entropy += float((used * np.log2(np.maximum(column.mass, 1.0))).sum()) + gone * float(np.log2(max(n, 1))) - raw
        full += n * float(np.log2(max(n, 1))) - raw
    keys, _ = combine([c.ids for c in recoding.columns], [len(c.labels) for c in recoding.columns], len(weight))
    rows = group(keys).sums(weight)
    rows = rows[rows > 0]
    cells = max(n * len(recoding.columns), 1)
    return Loss(
        granularity=sum(per_column.values()) / max(len(per_column), 1),
        precision=precision / cells,
        entropy=max(entropy, 0.0) / full if full > 0 else 0.0,
        discernibility=int(sum(int(r) * int(r) for r in rows.tolist())) + n * gone,
        class_size=n / max(len(rows) + (gone > 0), 1) / smallest_size(problem),
        ncp=ncp / cells,
        columns=per_column,
        suppressed_share=gone / n if n else 0.0,
    )


def _released_weight(problem: SearchProblem, recoding: Recoding) -> Ints:
    if recoding.suppressed_rows is not None:
        assert problem.of_row is not None
        kept = problem.of_row[~recoding.suppressed_rows]
        return np.bincount(kept, minlength=len(problem.weight)).astype(np.int64)
    return np.where(recoding.suppressed, 0, problem.weight)


def distinct_texts(parts: Sequence[tuple[Any, Any]]) -> list[Any]:
    """Return labels so that different sets of values never share one text.

    Args:
        parts: (label, key): labels with equal keys mean the same values.
    """
    taken: dict[str, Any] = {}
    out: list[Any] = []
    for label, key in parts:
        shown = label
        number = 2
        while taken.setdefault(str(shown), key) != key:
            shown = f"{label} ({number})"
            number += 1
        out.append(shown)
    return out
