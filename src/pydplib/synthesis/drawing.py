"""Rows drawn along a junction tree."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from pydplib.noise.randomness import Source, random_words
from pydplib.synthesis.model import Floats, Integers, Model, NoisyTable, sum_to


def uniforms(size: int, source: Source | None) -> Floats:
    """Return numbers in [0, 1) with 53 bits."""
    return (random_words(size, source=source) >> np.uint64(11)).astype(np.float64) * 2.0**-53


def draw_codes(model: Model, rows: int, *, source: Source | None = None, spread: bool = True) -> Integers:
    """Return one code per column and row, drawn clique by clique.

    Args:
        model: The distribution.
        rows: How many rows.
        source: Where random bits come from.
        spread: Whether rows are spread evenly over the cells (systematic sampling), which keeps the rows closer to the
            model than independent draws; False for independent rows.
    """
    tree = model.tree
    out = np.zeros((len(tree.shape), rows), dtype=np.int64)
    for place, clique in enumerate(tree.cliques):
        separator = tree.separators[place]
        new = tuple(c for c in clique if c not in separator)
        if not new:
            continue
        table = np.moveaxis(model.beliefs[place], [clique.index(c) for c in separator], range(len(separator)))
        sizes = [tree.shape[c] for c in new]
        given = table.reshape(-1, math.prod(sizes))
        key = np.zeros(rows, dtype=np.int64)
        for column in separator:
            key = key * tree.shape[column] + out[column]
        drawn = _draw_given(given, key, spread=spread, source=source)
        for column, size in zip(reversed(new), reversed(sizes), strict=True):
            out[column] = drawn % size
            drawn = drawn // size
    return out


def _draw_given(given: Floats, key: Integers, *, spread: bool, source: Source | None) -> Integers:
    """Return one cell for each row from the distribution of its key."""
    rows = len(key)
    order = np.lexsort((random_words(rows, source=source), key))
    keys = key[order]
    counts = np.bincount(keys, minlength=len(given))
    starts = np.concatenate([[0], np.cumsum(counts)[:-1]])
    if spread:  # one random offset for all: position in the group plus offset, modulo the group
        rank = np.arange(rows) - starts[keys]
        points = (rank + uniforms(len(given), source)[keys]) / counts[keys]
    else:
        points = uniforms(rows, source)
    sums = np.cumsum(given, axis=1)
    totals = sums[:, -1]
    empty = totals <= 0
    if empty.any():
        sums[empty] = np.cumsum(np.full((int(empty.sum()), given.shape[1]), 1.0), axis=1)
        totals = sums[:, -1]
    sums = sums / totals[:, None]
    flat = (sums + np.arange(len(given))[:, None]).ravel()
    found = np.searchsorted(flat, keys + points, side="right")
    found = np.clip(found - keys * given.shape[1], 0, given.shape[1] - 1)
    out = np.empty(rows, dtype=np.int64)
    out[order] = found
    return out


def expand_codes(
    codes: Integers, groups: Sequence[Integers], one_ways: Sequence[NoisyTable], *, source: Source | None = None,
    spread: bool = True
) -> Integers:
    """Return values for groups: inside a group the noisy one-way table decides."""
    out = np.empty_like(codes)
    for column, (group, table) in enumerate(zip(groups, one_ways, strict=True)):
        size = int(group.max()) + 1
        if size == len(group):
            out[column] = codes[column]
            continue
        given = np.zeros((size, len(group)))
        given[group, np.arange(len(group))] = np.maximum(table.counts, 0)
        hopeless = given.sum(axis=1) <= 0
        member = np.zeros_like(given)
        member[group, np.arange(len(group))] = 1.0
        given[hopeless] = member[hopeless]
        out[column] = _draw_given(given, codes[column], spread=spread, source=source)
    return out
