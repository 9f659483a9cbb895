"""Measuring a table as it is: alpha, l, t, beta and delta of its classes, by dense formulas."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from pydplib.anonymity.hierarchies.base import Hierarchy
from pydplib.anonymity.tables.columns import Floats, Ints
from pydplib.anonymity.tables.view import Spread
from pydplib.errors import DataError


@dataclass(frozen=True, kw_only=True)
class SensitiveMeasures:
    """What a table gives away about one sensitive column.

    Attributes:
        alpha: Largest share of one value in a class.
        l_distinct: Fewest different values in a class.
        l_entropy: e to the smallest entropy of a class: 3.0 is 3-diversity (entropy).
        recursive_c: Per l from 2 on, the table is recursive (c, l)-diverse for every c above this number.
        t_equal: Largest earth mover's distance, all values equally far.
        t_ordered: Largest distance by rank.
        t_hierarchical: Largest distance over a hierarchy; None without one.
        beta: Largest relative gain (q - p)/p of a value.
        beta_enhanced: The same if it never exceeds -ln p, else infinite.
        delta: Largest |log2(q/p)|; infinite if a value is absent from a class.

    Examples:
        >>> import pandas as pd
        >>> from pydplib.anonymity import verify
        >>> table = pd.DataFrame({"age": [30, 30, 40, 40], "ill": ["a", "b", "a", "b"]})
        >>> verify(table, quasi_identifiers=["age"], sensitive="ill").sensitive["ill"].l_distinct
        2
    """

    alpha: float
    l_distinct: int
    l_entropy: float
    recursive_c: tuple[float, ...]
    t_equal: float
    t_ordered: float
    t_hierarchical: float | None
    beta: float
    beta_enhanced: float
    delta: float

    def recursive(self, l: int) -> float:  # noqa: E741
        """Return the number that c must exceed for recursive (c, l)-diversity; infinite if no c does."""
        if l <= 1:
            return self.recursive_c[0] if self.recursive_c else 1.0
        return self.recursive_c[l - 1] if l - 1 < len(self.recursive_c) else math.inf


def measure_spread(
    spread: Spread, *, order: Sequence[Any] | None = None, hierarchy: Hierarchy | None = None
) -> SensitiveMeasures:
    """Measure all classes in one pass over blocks."""
    p = spread.share
    m = len(spread.domain)
    rank, ranks = _ranks(spread.domain, order)
    tree = None if hierarchy is None else hierarchy.resolve(spread.column.name, spread.domain).levels
    used = p > 0
    worst = {"alpha": 0.0, "t": 0.0, "ordered": 0.0, "tree": 0.0, "beta": 0.0, "enhanced": 0.0, "delta": 0.0}
    distinct, entropy = m, math.inf
    recursive = np.zeros(m)
    with np.errstate(divide="ignore", invalid="ignore"):
        cap = -np.log(p)
        for classes, counts in spread.blocks():
            people = spread.view.size[classes].astype(np.float64)
            total = counts.sum(axis=1)
            q = counts / total[:, None]
            certain = np.zeros(len(classes), dtype=bool)
            if spread.view.person is not None:
                # Everybody in the class has this value: no diversity, whatever else some of them have.
                certain = (counts.max(axis=1) >= people) & (people > 0)
            many = np.where(certain, 1, np.count_nonzero(counts, axis=1))
            distinct = min(distinct, int(many.min(initial=m)))
            spreads = np.where(counts > 0, -q * np.log(q), 0.0).sum(axis=1)
            entropy = min(entropy, float(np.where(certain, 0.0, spreads).min(initial=math.inf)))
            recursive = np.maximum(recursive, _recursive(counts, total, certain))
            worst["alpha"] = max(worst["alpha"], float((counts.max(axis=1) / people).max(initial=0.0)))
            gap = q - p
            worst["t"] = max(worst["t"], float((np.abs(gap).sum(axis=1) / 2).max(initial=0.0)))
            worst["ordered"] = max(worst["ordered"], _ordered(gap, rank, ranks))
            if tree is not None:
                worst["tree"] = max(worst["tree"], _hierarchical(-gap, tree))
            gain = np.where(q > p, gap / p, 0.0)
            worst["beta"] = max(worst["beta"], float(gain.max(initial=0.0)))
            broken = (gain > cap + 1e-9) & (q > p)
            worst["enhanced"] = max(worst["enhanced"], math.inf if broken.any() else float(gain.max(initial=0.0)))
            ratio = np.abs(np.log2(q[:, used] / p[used]))
            worst["delta"] = max(worst["delta"], float(ratio.max(initial=0.0)))
            if (counts[:, ~used] > 0).any():
                worst["delta"] = math.inf
    return SensitiveMeasures(
        alpha=worst["alpha"],
        l_distinct=distinct,
        l_entropy=math.exp(entropy) if math.isfinite(entropy) else 0.0,
        recursive_c=tuple(float(c) for c in recursive),
        t_equal=worst["t"],
        t_ordered=worst["ordered"],
        t_hierarchical=None if tree is None else worst["tree"],
        beta=worst["beta"],
        beta_enhanced=worst["enhanced"],
        delta=worst["delta"],
    )


def _recursive(counts: Floats, total: Floats, certain: Any) -> Floats:
    """Per l (place l-1), the largest r_1 / (r_l + ... + r_m) over the classes."""
    down = -np.sort(-counts, axis=1)
    tail = total[:, None] - np.cumsum(down, axis=1) + down
    ratio = np.where(tail > 0, down[:, :1] / tail, math.inf)
    ratio[certain, 1:] = math.inf
    return np.asarray(ratio.max(axis=0, initial=0.0))


def _ranks(domain: Sequence[Any], order: Sequence[Any] | None) -> tuple[Ints, int]:
    if order is not None:
        place = {value: i for i, value in enumerate(order)}
        extra = len(place)
        lost = sum(value is not None and value not in place for value in domain)
        if lost:
            raise DataError(f"The order misses {lost} of the column's values. List all of them.")
        rank = np.array([place.get(value, extra) for value in domain], dtype=np.int64)
        return rank, max(extra, int(rank.max(initial=-1)) + 1)
    numbers = [v for v in domain if isinstance(v, int | float) and not isinstance(v, bool)]
    if len(numbers) + (None in domain) == len(domain):
        listed: list[Any] = sorted(numbers)
    else:
        # Numbers before texts before missing; other kinds by how they are written.
        listed = sorted(
            (v for v in domain if v is not None),
            key=lambda v: (
                (isinstance(v, str), 0.0, str(v)) if not isinstance(v, int | float) else (False, float(v), "")
            ),
        )
    if None in domain:
        listed.append(None)
    place = {_kind(value): i for i, value in enumerate(listed)}
    return np.array([place[_kind(value)] for value in domain], dtype=np.int64), len(listed)


def _kind(value: Any) -> tuple[bool, Any]:
    return (isinstance(value, bool), value)


def _ordered(gap: Floats, rank: Ints, ranks: int) -> float:
    if ranks <= 1:
        return 0.0
    laid = np.zeros((len(gap), ranks))
    laid[:, rank] = gap  # every value has a rank of its own
    return float((np.abs(np.cumsum(laid, axis=1)).sum(axis=1) / (ranks - 1)).max(initial=0.0))


def _hierarchical(extra: Floats, tree: Sequence[Ints]) -> float:
    if len(np.unique(tree[-1])) > 1:
        tree = [*tree, np.zeros_like(tree[-1])]  # without a common top, going from one top to another is not free
    height = len(tree) - 1
    out = np.zeros(len(extra))
    for level in range(1, height + 1):
        below, above = tree[level - 1], tree[level]
        for node in range(int(above.max(initial=-1)) + 1):
            children = np.unique(below[above == node])
            sums = np.stack([extra[:, below == child].sum(axis=1) for child in children], axis=1)
            pos, neg = np.maximum(sums, 0).sum(axis=1), np.maximum(-sums, 0).sum(axis=1)
            out += level / height * np.minimum(pos, neg)
    return float(out.max(initial=0.0))
