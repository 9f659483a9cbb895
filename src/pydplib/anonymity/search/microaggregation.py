"""Micro-aggregation: groups of at least k similar people share the means of their numbers (MDAV)."""

from __future__ import annotations

import time
from typing import Any

import numpy as np

from pydplib.anonymity.search.lattice import SearchInfo
from pydplib.anonymity.search.losses import smallest_size
from pydplib.anonymity.search.mondrian import Parts, value_ranks
from pydplib.anonymity.search.problem import SearchProblem
from pydplib.anonymity.search.recodings import RecodedColumn, Recoding, distinct_texts, value_counts
from pydplib.anonymity.search.verdicts import settle
from pydplib.anonymity.tables.columns import Floats, Ints
from pydplib.errors import AnonymityError, DataError

_BLOCK = 4000


def recode_microaggregation(problem: SearchProblem) -> tuple[Recoding, SearchInfo]:
    """Return the recoding in which every group shares its mean (numbers) or its most common value.

    Groups are made of whole distinct tuples by MDAV (Domingo-Ferrer and Mateo-Sanz 2002): the tuple farthest
    from the centre takes its nearest neighbours until k people are together. Large tables are first cut into
    blocks, since the method is quadratic.

    Raises:
        AnonymityError: If a group fails a model that micro-aggregation does not steer by.
    """
    began = time.monotonic()
    k = smallest_size(problem)
    if problem.rows < k:
        raise AnonymityError(f"The table has fewer than {k} rows: micro-aggregation needs at least k.")
    points = np.stack([_scaled(problem, a) for a in range(len(problem.columns))], axis=1)
    part = np.full(len(problem.weight), -1, dtype=np.int64)
    number = 0
    for block in _blocks(points, problem.weight, k):
        number = _mdav(points, problem.weight, block, k, part, number)
    fine = settle(problem, Parts(problem, part, number), problem.rules, np.ones(number, dtype=bool))
    gone = ~fine
    if int(problem.weight[gone[part]].sum()) > problem.limit:
        raise AnonymityError(
            f"Micro-aggregation forms groups by size alone, and too many of them fail {problem.asked}. "
            "Allow more suppression or use method='optimal' or 'mondrian'."
        )
    columns = tuple(_aggregate(problem, a, part, number) for a in range(len(problem.columns)))
    info = SearchInfo(
        method="microaggregation",
        nodes=number,
        checked=number,
        loss=None,
        bound=0.0,
        optimal=False,
        seconds=time.monotonic() - began,
    )
    return Recoding(columns, gone[part]), info


def _numbers(problem: SearchProblem, a: int) -> Floats | None:
    values = problem.columns[a].values
    if any(v is None or isinstance(v, bool) or not isinstance(v, int | float) for v in values):
        return None
    numbers = np.array(values, dtype=np.float64)
    if not np.isfinite(numbers).all():
        raise DataError(
            f"Column '{problem.columns[a].name}' holds infinite numbers, which have no mean. Replace them by a bound, "
            "or use method='optimal'."
        )
    return numbers


def _scaled(problem: SearchProblem, a: int) -> Floats:
    """Return a column as numbers of standard deviation 1; ranks along the hierarchy for what is no number."""
    numbers = _numbers(problem, a)
    raw = value_ranks(problem.columns[a]).astype(np.float64) if numbers is None else numbers
    column = raw[problem.codes[a]]
    mean = np.average(column, weights=problem.weight)
    spread = float(np.sqrt(np.average((column - mean) ** 2, weights=problem.weight)))
    return np.asarray((column - mean) / spread if spread > 0 else column - mean)


def _blocks(points: Floats, weight: Ints, k: int) -> list[Ints]:
    """Cut by medians along the widest direction until blocks are small enough."""
    out: list[Ints] = []
    todo = [np.arange(len(weight))]
    while todo:
        block = todo.pop()
        if len(block) <= _BLOCK:
            out.append(block)
            continue
        axis = int(np.argmax(points[block].std(axis=0)))
        order = block[np.argsort(points[block, axis], kind="stable")]
        half = len(order) // 2
        if weight[order[:half]].sum() < k or weight[order[half:]].sum() < k:
            out.append(block)
            continue
        todo += [order[:half], order[half:]]
    return out


def _mdav(points: Floats, weight: Ints, block: Ints, k: int, part: Ints, number: int) -> int:
    """Group the tuples of one block; return the next free group number."""
    left = block
    while len(left) and weight[left].sum() >= 2 * k:
        centre = np.average(points[left], axis=0, weights=weight[left])
        far = left[np.argmax(((points[left] - centre) ** 2).sum(axis=1))]
        order = left[np.argsort(((points[left] - points[far]) ** 2).sum(axis=1), kind="stable")]
        enough = int(np.searchsorted(np.cumsum(weight[order]), k)) + 1
        if weight[order[enough:]].sum() < k:
            break
        part[order[:enough]] = number
        number += 1
        left = order[enough:]
    part[left] = number
    return number + 1


def _aggregate(problem: SearchProblem, a: int, part: Ints, number: int) -> RecodedColumn:
    column, codes = problem.columns[a], problem.codes[a]
    numbers = _numbers(problem, a)
    counts = value_counts(problem, a)
    people = np.bincount(part, weights=problem.weight, minlength=number)
    labels: list[Any]
    if numbers is not None:
        labels = (
            (np.bincount(part, weights=numbers[codes] * problem.weight, minlength=number) / people).round(6).tolist()
        )
        span = float(numbers.max() - numbers.min()) or 1.0
        low, high = np.full(number, np.inf), np.full(number, -np.inf)
        np.minimum.at(low, part, numbers[codes])
        np.maximum.at(high, part, numbers[codes])
        cost = (high - low) / span
    else:
        width = len(column.values)
        table = np.bincount(part * width + codes, weights=problem.weight, minlength=number * width).reshape(
            number, width
        )
        labels = [column.values[i] for i in table.argmax(axis=1).tolist()]
        cost = 1 - table.max(axis=1) / people
    distinct: dict[Any, int] = {}
    ids = np.zeros(number, dtype=np.int64)
    for i, label in enumerate(labels):
        ids[i] = distinct.setdefault(label, len(distinct))
    names = list(distinct)
    # Groups that share a label also share its cost: the mean over their people.
    merged = np.bincount(ids, weights=cost * people) / np.bincount(ids, weights=people)
    mass = np.maximum(np.bincount(ids, weights=people), float(counts.min(initial=1.0)))
    return RecodedColumn(
        name=column.name, labels=tuple(distinct_texts([(name, i) for i, name in enumerate(names)])), ids=ids[part],
        cost=merged, share=merged,
        step=merged, mass=mass, kept=False,
    )  # fmt: skip
