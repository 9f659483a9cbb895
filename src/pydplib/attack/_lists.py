"""Lists of different lengths kept in flat arrays: where each begins, what is in some of them, and sorted keys."""

from __future__ import annotations

import numpy as np

from pydplib.anonymity.tables.columns import Bools, Ints


def starts_of(owner: Ints, number: int) -> Ints:
    """Return where every owner's list begins among elements sorted by owner; the last entry is the end of all.

    Examples:
        >>> starts_of(np.array([0, 0, 2]), 3).tolist()
        [0, 2, 2, 3]
    """
    return np.concatenate([[0], np.cumsum(np.bincount(owner, minlength=number))]).astype(np.int64)


def expand(index: Ints, start: Ints) -> tuple[Ints, Ints]:
    """Return, for lists ``start[i]:start[i + 1]`` of every i in ``index``, (place in index, element).

    Examples:
        >>> [part.tolist() for part in expand(np.array([1, 0]), np.array([0, 1, 3]))]
        [[0, 0, 1], [1, 2, 0]]
    """
    return expand_spans(start[index], start[index + 1] - start[index])


def expand_spans(begin: Ints, count: Ints) -> tuple[Ints, Ints]:
    """Return, for ``count[i]`` elements from ``begin[i]`` on, (i, element)."""
    place = np.repeat(np.arange(len(count)), count)
    inside = np.arange(len(place)) - np.repeat(np.cumsum(count) - count, count)
    return place, begin[place] + inside


def find_sorted(keys: Ints, wanted: Ints) -> tuple[Ints, Bools]:
    """Return the place of every wanted key among sorted ones, and whether it is there at all.

    Examples:
        >>> [part.tolist() for part in find_sorted(np.array([3, 5]), np.array([5, 4]))]
        [[1, 1], [True, False]]
    """
    place = np.minimum(np.searchsorted(keys, wanted), max(len(keys) - 1, 0))
    there = keys[place] == wanted if len(keys) else np.zeros(len(wanted), dtype=bool)
    return place, np.asarray(there)
