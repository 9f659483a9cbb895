"""Applying a saved recipe to another table of the same kind."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from pydplib.anonymity.enforcing import enforce_models
from pydplib.anonymity.frames import Coded, Frame
from pydplib.anonymity.leaves import resolve_known
from pydplib.anonymity.plain import as_text
from pydplib.anonymity.recoding import distinct_texts
from pydplib.anonymity.resolved import Bools, Ints, Resolved, cell_key
from pydplib.errors import ParameterError

if TYPE_CHECKING:
    from pydplib.anonymity.recipe import Recipe


def apply_recipe(recipe: Recipe, frame: Frame) -> Any:
    """Return the transformed table, shuffled, without rows that the recipe does not cover or that fail its models."""
    from pydplib.noise import permutation

    names = list(recipe.hierarchies)
    if recipe.lacking:
        raise ParameterError(
            f"The recipe asks for {', '.join(recipe.lacking)}, whose population table is not stored in it. Give it "
            "again: Recipe.load(path, population=table)."
        )
    frame.check_columns([*names, *recipe.sensitive, *recipe.insensitive], "named by the recipe")
    if recipe.person is not None:
        frame.check_columns([recipe.person], "whose rows they are, named by the recipe")
    coded = {name: frame.coded(name) for name in names}
    known = {name: resolve_known(recipe.hierarchies[name], name, coded[name].values) for name in names}
    columns = {name: column for name, (column, _) in known.items()}
    if recipe.levels is not None:
        labels = {n: _at_level(columns[n], coded[n], recipe.levels[n]) for n in names}
        keep = np.ones(len(frame), dtype=bool)
        for name, (_, new) in known.items():
            if recipe.levels[name] == 0 and new.any():
                keep &= ~new[coded[name].codes]
    elif recipe.stages:
        labels, keep = _by_stages(recipe, columns, coded, len(frame))
    elif recipe.tree is not None:
        labels, keep = _by_cuts(recipe, coded, len(frame))
    else:
        raise ParameterError(
            f"A recipe of method '{recipe.method}' is made of groups of its own table and cannot be applied to "
            "another one. Use method='optimal', 'local' or 'mondrian' for recipes."
        )
    keep = enforce_models(recipe, frame, labels, keep)
    rows = np.flatnonzero(keep)
    order = rows[permutation(len(rows))] if len(rows) else rows
    out: list[tuple[str, Any]] = []
    for name in frame.columns:
        if name in labels:
            texts, ids = labels[name]
            out.append((name, frame.column_of(name, texts, ids[order])))
        elif name in recipe.sensitive or name in recipe.insensitive:
            out.append((name, frame.take(name, order, frame.coded(name))))
    return frame.build(out)


def _at_level(column: Resolved, coded: Coded, level: int) -> tuple[list[Any], Ints]:
    if not 0 <= level <= column.height:
        raise ParameterError(f"The recipe's level {level} of column '{column.name}' is not in its hierarchy.")
    return list(column.labels[level]), column.levels[level][coded.codes] if len(coded.codes) else coded.codes


def _by_stages(
    recipe: Recipe, columns: dict[str, Resolved], coded: dict[str, Coded], rows: int
) -> tuple[dict[str, tuple[list[Any], Ints]], Bools]:
    """Send every row to the first stage that released a class with its labels."""
    names = list(columns)
    open_rows = np.ones(rows, dtype=bool)
    labels: dict[str, list[Any]] = {name: [] for name in names}
    place: dict[str, dict[Any, int]] = {name: {} for name in names}
    ids = {name: np.zeros(rows, dtype=np.int64) for name in names}
    for node, classes in recipe.stages:
        wanted = {tuple(as_text(cell) for cell in row) for row in classes}
        here = np.flatnonzero(open_rows)
        if not len(here):
            break
        cells = []
        for name, level in zip(names, node, strict=True):
            column = columns[name]
            texts = [as_text(label) for label in column.labels[level]]
            cells.append([texts[i] for i in column.levels[level][coded[name].codes[here]].tolist()])
        match = np.fromiter((row in wanted for row in zip(*cells, strict=True)), dtype=bool, count=len(here))
        taken = here[match]
        open_rows[taken] = False
        for name, level in zip(names, node, strict=True):
            column = columns[name]
            number = np.empty(len(column.labels[level]), dtype=np.int64)
            for i, label in enumerate(column.labels[level]):
                # A text that means other values at another level gets a number of its own.
                key = (str(label), np.flatnonzero(column.levels[level] == i).tobytes())
                if key not in place[name]:
                    place[name][key] = len(labels[name])
                    labels[name].append((label, key))
                number[i] = place[name][key]
            ids[name][taken] = number[column.levels[level][coded[name].codes[taken]]]
    return {name: (distinct_texts(labels[name]), ids[name]) for name in names}, ~open_rows


def _by_cuts(recipe: Recipe, coded: dict[str, Coded], rows: int) -> tuple[dict[str, tuple[list[Any], Ints]], Bools]:
    """Replay the cuts of a Mondrian partition; rows with values it has not seen are left out."""
    names = list(coded)
    ranks = np.zeros((len(names), rows), dtype=np.int64)
    keep = np.ones(rows, dtype=bool)
    for a, name in enumerate(names):
        place = {cell_key(value): i for i, value in enumerate(recipe.tree["orders"][a])}
        number = [place.get(cell_key(value), -1) for value in coded[name].values]
        ranks[a] = np.array(number or [0], dtype=np.int64)[coded[name].codes]
        keep &= ranks[a] >= 0
    part = np.zeros(rows, dtype=np.int64)
    for level in recipe.tree["cuts"]:
        table = np.array(level, dtype=np.int64).reshape(-1, 4)
        column = np.full(int(part.max(initial=0)) + 1, -1, dtype=np.int64)
        last, fresh = column.copy(), column.copy()
        known = table[table[:, 0] < len(column)]
        column[known[:, 0]], last[known[:, 0]], fresh[known[:, 0]] = known[:, 1], known[:, 2], known[:, 3]
        cut = column[part]
        right = (cut >= 0) & (ranks[np.maximum(cut, 0), np.arange(rows)] > last[part])
        part = np.where(right, fresh[part], part)
    return {name: (list(recipe.tree["names"][a]), part) for a, name in enumerate(names)}, keep
