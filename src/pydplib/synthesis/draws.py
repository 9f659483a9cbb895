"""Rows drawn along a junction tree."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from pydplib.noise.randomness import Source, random_words
from pydplib.synthesis.model import FittedModel, Floats, Integers, NoisyTable
from pydplib.synthesis.tree import JunctionTree


def uniforms(size: int, source: Source | None) -> Floats:
    """Return numbers in [0, 1) with 53 bits."""
    return (random_words(size, source=source) >> np.uint64(11)).astype(np.float64) * 2.0**-53


WHOLE = 2**40
"""The sum of the whole-number weights of a clique: rows are drawn in integer arithmetic, the same on every machine."""


def whole_weights(model: FittedModel) -> list[Integers]:
    """Return the probabilities of every clique as whole numbers.

    With rules, every combination that can be has a weight of at least 1 and every other one none, so that rounding
    leaves no row without a way on.
    """
    found = [np.rint(belief * WHOLE).astype(np.int64) for belief in model.beliefs]
    if not model.possible:
        return found
    return [np.where(can, np.maximum(whole, 1), 0) for whole, can in zip(found, model.support(), strict=True)]


def draw_codes(
    tree: JunctionTree, weights: Sequence[Integers], rows: int, *, source: Source | None = None, spread: bool = True
) -> Integers:
    """Return one code per column and row, drawn clique by clique.

    Args:
        tree: The cliques.
        weights: The weights of their cells.
        rows: How many rows.
        source: Where random bits come from.
        spread: Whether rows are spread evenly over the cells (systematic sampling), which keeps them closer to the
            model than independent draws; False for independent rows.
    """
    out = np.zeros((len(tree.shape), rows), dtype=np.int64)
    for clique, separator, weight in zip(tree.cliques, tree.separators, weights, strict=True):
        new = tuple(c for c in clique if c not in separator)
        if not new:
            continue
        table = np.moveaxis(weight, [clique.index(c) for c in separator], range(len(separator)))
        sizes = [tree.shape[c] for c in new]
        key = np.zeros(rows, dtype=np.int64)
        for column in separator:
            key = key * tree.shape[column] + out[column]
        drawn = _draw_given(table.reshape(-1, math.prod(sizes)), key, spread=spread, source=source)
        for column, size in zip(reversed(new), reversed(sizes), strict=True):
            out[column] = drawn % size
            drawn = drawn // size
    return out


def _draw_given(given: Integers, key: Integers, *, spread: bool, source: Source | None) -> Integers:
    """Return one cell for each row from the weights of its key."""
    rows = len(key)
    order = np.lexsort((random_words(rows, source=source), key))
    keys = key[order]
    counts = np.bincount(keys, minlength=len(given))
    if spread:  # one random offset for each key: places in the key's rows plus offset
        starts = np.concatenate([[0], np.cumsum(counts)[:-1]])
        points = (np.arange(rows) - starts[keys] + uniforms(len(given), source)[keys]) / counts[keys]
    else:
        points = uniforms(rows, source)
    empty = given.sum(axis=1) == 0
    if empty.any():  # a combination that rounding has made too rare: any value will do
        given = np.where(empty[:, None], 1, given)
    sums = np.cumsum(given, axis=1)
    bases = np.concatenate([[0], np.cumsum(sums[:, -1])[:-1]])
    aims = np.minimum(np.floor(points * sums[keys, -1]).astype(np.int64), sums[keys, -1] - 1) + bases[keys]
    found = np.searchsorted((sums + bases[:, None]).ravel(), aims, side="right") - keys * given.shape[1]
    out = np.empty(rows, dtype=np.int64)
    out[order] = found
    return out


def expand_codes(
    codes: Integers,
    groups: Sequence[Integers],
    one_ways: Sequence[NoisyTable],
    *,
    source: Source | None = None,
    spread: bool = True,
) -> Integers:
    """Return values for groups: inside a group the noisy one-way table decides."""
    out = np.empty_like(codes)
    for column, (group, table) in enumerate(zip(groups, one_ways, strict=True)):
        size = int(group.max()) + 1
        if size == len(group):
            out[column] = codes[column]
            continue
        given = np.zeros((size, len(group)), dtype=np.int64)
        places = np.arange(len(group))
        given[group, places] = np.rint(np.maximum(table.counts, 0) * 2**10).astype(np.int64)
        hopeless = given.sum(axis=1) == 0
        member = np.zeros_like(given)
        member[group, places] = 1
        given[hopeless] = member[hopeless]
        out[column] = _draw_given(given, codes[column], spread=spread, source=source)
    return out
