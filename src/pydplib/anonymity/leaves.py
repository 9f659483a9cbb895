"""What a recipe may hold of its table: of hierarchies made from the data, only values that the release shows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from pydplib.anonymity.hierarchies import Hierarchy, TableHierarchy
from pydplib.anonymity.problem import Problem
from pydplib.anonymity.recoding import Recoding
from pydplib.anonymity.resolved import ROOT, Bools, Resolved, cell_key


def released_hierarchies(
    hierarchies: Mapping[str, Hierarchy], problem: Problem, recoding: Recoding
) -> dict[str, Hierarchy]:
    """Return the hierarchies for a recipe, without values of the data that no released row shows."""
    out: dict[str, Hierarchy] = {}
    for place, column in enumerate(problem.columns):
        hierarchy = hierarchies[column.name]
        if isinstance(hierarchy, TableHierarchy) and hierarchy.from_data:
            shown = _shown(place, column, problem, recoding)
            rows = [row for row in hierarchy.rows if cell_key(row[0]) in shown]
            hierarchy = TableHierarchy(rows or [("", *[ROOT] * hierarchy.height)], from_data=True)
        out[column.name] = hierarchy
    return out


def _shown(place: int, column: Resolved, problem: Problem, recoding: Recoding) -> set[Any]:
    if recoding.stages:
        return {cell_key(cells[place]) for node, classes in recoding.stages if node[place] == 0 for cells in classes}
    if recoding.levels is not None and recoding.levels[column.name] > 0:
        return set()
    codes = problem.codes[place][~_gone(problem, recoding)]
    return {cell_key(column.values[code]) for code in np.unique(codes).tolist()}


def _gone(problem: Problem, recoding: Recoding) -> Bools:
    if recoding.suppressed_rows is None:
        return recoding.suppressed
    assert problem.of_row is not None
    kept = np.bincount(problem.of_row[~recoding.suppressed_rows], minlength=len(problem.weight))
    return np.asarray(kept == 0)


def resolve_known(hierarchy: Hierarchy, name: str, values: Sequence[Any]) -> tuple[Resolved, Bools]:
    """Resolve values of another table, and say which of them a hierarchy made from data does not know."""
    if not isinstance(hierarchy, TableHierarchy) or not hierarchy.from_data:
        return hierarchy.resolve(name, values), np.zeros(len(values), dtype=bool)
    new = np.array([value is not None and hierarchy.row_of(value) is None for value in values], dtype=bool)
    more = [[value, *[ROOT] * hierarchy.height] for value, fresh in zip(values, new, strict=True) if fresh]
    return TableHierarchy([*hierarchy.rows, *more], from_data=True).resolve(name, values), new
