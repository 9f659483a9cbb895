"""Unsorted matching: the rows kept their order, so the tenth row is the tenth person."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from pydplib.anonymity.tables.columns import Bools, Ints
from pydplib.anonymity.tables.frames import Frame
from pydplib.attack._arguments import check_time
from pydplib.attack.kinds import AttackKind, LeakTask, Shared, TableFacts
from pydplib.attack.result import AttackResult, advantage_over, percent
from pydplib.attack.tables.candidates import Candidates, match
from pydplib.attack.tables.cells import expand, find_sorted
from pydplib.attack.tables.released import columns_of, read_release
from pydplib.errors import ParameterError

_TRIES = 5  # shuffles that say how many rows fit in order by chance


def unsorted_matching(
    released: Any,
    known: Any,
    *,
    quasi_identifiers: Sequence[str] | Mapping[str, Any] | None = None,
    sensitive: str | Sequence[str] | None = None,
    hierarchies: Mapping[str, Any] | None = None,
    seed: int | None = 0,
) -> AttackResult:
    """Link by position: the released rows stand in the order of another list.

    In plain words: every cell was made coarser, but nobody shuffled the rows, so the tenth row of the release
    is the tenth name of the waiting list (Sweeney 2002). k-anonymity is about cells, not order; the remedy
    is to shuffle, as ``anonymize`` does. The other list may also be an earlier release of the same rows.

    A row counts as a hit where all cells fit at its place. Some fit by chance; the baseline is how many would in a
    random order, and the advantage above it is the share of people linked by order. Where rows were left out of the
    release, the rest must fit one after the other.

    Args:
        released: A data frame, path or ``AnonymizationResult``, in the order in which it left.
        known: The list in its own order: the original, or another release of it.
        quasi_identifiers: Columns that both have.
        sensitive: Further columns that must agree, where the known list has them: proof that the link is right.
        hierarchies: Column -> its hierarchy, where labels do not say what they cover.
        seed: For the random orders of the baseline where rows were left out.

    Examples:
        >>> import pandas as pd
        >>> people = pd.DataFrame({"age": [31, 34, 52, 57, 38, 55] * 5})
        >>> coarse = pd.DataFrame({"age": ["30-39", "30-39", "50-59", "50-59", "30-39", "50-59"] * 5})
        >>> unsorted_matching(coarse, people, quasi_identifiers=["age"]).success
        1.0
        >>> shuffled = coarse.sample(frac=1, random_state=2)
        >>> unsorted_matching(shuffled, people, quasi_identifiers=["age"]).exposed
        0.0
    """
    names, watched, trees = columns_of(released, quasi_identifiers, sensitive, hierarchies)
    frame = Frame(known)
    both = (*names, *(name for name in watched if name in frame.columns))
    classes = read_release(released, both, (), known=frame.columns)
    if classes.of_row is None:
        raise ParameterError("A table of counts has no rows and so no order.")
    found = match(classes, frame, (), trees)
    return judge_order(found, classes.of_row, seed=seed)


def judge_order(found: Candidates, of_row: Ints, *, seed: int | None = 0) -> AttackResult:
    """Return how many released rows fit the known list in its order, and how many would by chance."""
    rows = len(of_row)
    if found.everybody == rows and len(found.pool) == rows:
        hits = int(_fits(found, of_row, found.pool).sum())
        chance = float((found.people * found.size).sum() / max(rows, 1) ** 2)
    else:
        rng = np.random.default_rng(seed)
        places = _places(found)
        hits = _in_order(places, of_row)
        chance = float(np.mean([_in_order(places, rng.permutation(of_row)) for _ in range(_TRIES)])) / max(rows, 1)
    result = AttackResult.of_tries(
        "unsorted matching",
        target="order of rows",
        hits=hits,
        tries=rows,
        baseline=min(chance, 1.0),
        sentence="",
        details={"rows_left_out": max(found.everybody - rows, 0)},
    )
    # Five standard errors: a shuffled table is called ordered less than once in a million.
    above = hits > chance * rows + 5 * np.sqrt(max(chance * (1 - chance), 0.0) * rows) + 1
    exposed = max(0.0, result.advantage) if above else 0.0
    words = (
        f"The rows stand in the order of the known list: {percent(exposed)} of the people are linked by position alone."
        if exposed
        else "The order of the rows tells nothing: no more of them fit the known list than in a random order."
    )
    return replace(result, exposed=min(exposed, 1.0), sentence=words)


def linked_by_number(found: Candidates, of_row: Ints, numbers: Ints) -> float:
    """Return the share of people linked by row numbers that were left in a release: places in the known list.

    Args:
        found: The known list met with the release.
        of_row: The class of every released row.
        numbers: The number of every released row; they may count from 0, from 1, or from 2 (a line with names first).
    """
    rows, people = len(of_row), len(found.pool)
    if not rows or found.everybody != people:
        return 0.0
    chance = float((found.people * found.size).sum() / (rows * people))
    most = chance * rows + 5 * np.sqrt(max(chance * (1 - chance), 0.0) * rows) + 1
    for first in (0, 1, 2):
        place = numbers - first
        if place.min() < 0 or place.max() >= people:
            continue
        hits = int(_fits(found, of_row, found.pool[place]).sum())
        if hits > most:
            return max(0.0, advantage_over(hits / rows, min(chance, 1.0)))
    return 0.0


def _fits(found: Candidates, of_row: Ints, pool: Ints) -> Bools:
    """Return, row by row, whether the class is among the candidates of a known person, given by her set."""
    number = max(found.classes.number, 1)
    keys = np.sort(found.set_of_member * number + found.members)
    _, there = find_sorted(keys, pool * number + of_row)
    return np.asarray(there & (pool >= 0))


def _places(found: Candidates) -> list[list[int]]:
    """Return, per class, the places of the known people who fit it, in order."""
    inside = np.flatnonzero(found.pool >= 0)
    place, at = expand(found.pool[inside], found.start)
    person, member = inside[place], found.members[at]
    order = np.lexsort((person, member))
    cuts = np.searchsorted(member[order], np.arange(found.classes.number + 1))
    person = person[order]
    return [person[a:b].tolist() for a, b in zip(cuts[:-1].tolist(), cuts[1:].tolist(), strict=True)]


def _in_order(places: Sequence[Sequence[int]], of_row: Ints) -> int:
    """Return how many released rows find a person, each after the one before."""
    last, hits = -1, 0
    for row, number in enumerate(of_row.tolist()):
        if row % 10_000 == 0:
            check_time()
        there = places[number]
        at = bisect_right(there, last)
        if at < len(there):
            last = there[at]
            hits += 1
    return hits


def _run(shared: Shared) -> AttackResult:
    assert shared.in_order is not None and shared.in_order.of_row is not None
    return judge_order(shared.match(shared.in_order), shared.in_order.of_row)


def _plan(facts: TableFacts) -> list[LeakTask]:
    ordered = facts.shared.in_order is not None
    return [LeakTask("unsorted matching", "order of rows", "order")] if ordered else []


KIND = AttackKind(
    name="unsorted matching",
    does="Compares the order of the rows with the order of a list.",
    helps="shuffling",
    tried={"unsorted matching": "near"},
    runs={"order": _run},
    of_table=_plan,
)
"""Unsorted matching, as a leak report plans and explains it."""
