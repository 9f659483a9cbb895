"""Holding a recipe's models on another table: rows of classes that fail one of them are left out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from pydplib.anonymity.frames import Coded, Frame
from pydplib.anonymity.judging import Judge
from pydplib.anonymity.leaves import resolve_known
from pydplib.anonymity.plain import as_text
from pydplib.anonymity.prepare import build_problem, read_population
from pydplib.anonymity.problem import Problem
from pydplib.anonymity.resolved import Bools, Ints, Resolved
from pydplib.anonymity.verification import person_codes
from pydplib.anonymity.view import dense
from pydplib.errors import AnonymityError, ParameterError

if TYPE_CHECKING:
    from pydplib.anonymity.recipe import Recipe

Labels = Mapping[str, tuple[Sequence[Any], Ints]]


def enforce_models(recipe: Recipe, frame: Frame, labels: Labels, keep: Bools) -> Bools:
    """Return which rows stay so that every model holds for what is left, measured against what is left.

    Leaving rows out changes the distribution that t-closeness and its kin compare with, so classes are judged again
    until none fails.
    """
    keep = keep.copy()
    populations, shown = _populations(recipe, labels)
    while True:
        rows = np.flatnonzero(keep)
        if not len(rows):
            return keep
        problem = _problem(recipe, frame, {name: (shown[name], ids[rows]) for name, (_, ids) in labels.items()}, rows)
        problem.population.update(populations)
        verdict = Judge(problem).judge((0,) * len(labels))
        assert verdict.suppressed is not None and problem.of_row is not None
        lost = verdict.classes.tuple_mask(verdict.suppressed)[problem.of_row]
        if not lost.any():
            if verdict.suppressed_rows > len(rows):
                raise AnonymityError("The recipe's delta-presence cannot hold: people of the population look absent.")
            return keep
        keep[rows[lost]] = False


def _problem(recipe: Recipe, frame: Frame, labels: Labels, rows: Ints) -> Problem:
    """Return some rows of a table, with their labels as they are, as a search sees them."""
    coded = {name: Coded(name, ids, tuple(texts)) for name, (texts, ids) in labels.items()}
    columns = [_as_it_is(name, texts) for name, (texts, _) in labels.items()]
    for name in recipe.sensitive:
        column = frame.coded(name)
        used, codes = np.unique(column.codes[rows], return_inverse=True)
        coded[name] = Coded(name, codes.astype(np.int64), tuple(column.values[i] for i in used.tolist()))
    owner = None
    if recipe.person is not None:
        owner = dense(person_codes(frame.coded(recipe.person))[rows])
        if len(owner) == int(owner.max(initial=-1)) + 1:
            owner = None  # one row each: counting rows counts persons
    return build_problem(
        len(rows), columns, coded, list(labels), recipe.sensitive, recipe.models, len(rows), owner, False, None
    )


def _as_it_is(name: str, labels: Sequence[Any]) -> Resolved:
    """Return a column with one level: the labels that it has."""
    nothing = np.zeros(len(labels))
    return Resolved(name, tuple(labels), (np.arange(len(labels)),), (tuple(labels),), (nothing,), (nothing,))


def _populations(recipe: Recipe, labels: Labels) -> tuple[dict[int, tuple[list[Ints], Ints]], dict[str, list[Any]]]:
    """Return the populations in the numbering of the labels, which are extended by those that only they have."""
    found: dict[int, tuple[list[Ints], Ints]] = {}
    shown = {name: list(texts) for name, (texts, _) in labels.items()}
    place = {name: {as_text(label): i for i, label in enumerate(texts)} for name, texts in shown.items()}
    for model in {id(rule.model): rule.model for rule in recipe.models}.values():
        population = getattr(model, "population", None)
        if population is None:
            continue
        if recipe.levels is None:
            raise ParameterError(f"{model} needs one level per column. Use a recipe of method='optimal'.")
        columns, weight = read_population(population, list(labels), recipe.person)
        codes = []
        for column in columns:
            name = column.name
            resolved, _ = resolve_known(recipe.hierarchies[name], name, column.values)
            level = recipe.levels[name]
            numbers = []
            for label in resolved.labels[level]:
                if as_text(label) not in place[name]:
                    place[name][as_text(label)] = len(shown[name])
                    shown[name].append(label)
                numbers.append(place[name][as_text(label)])
            codes.append(np.array(numbers, dtype=np.int64)[resolved.levels[level][column.codes]])
        found[id(model)] = (codes, weight)
    return found, shown
