"""Mondrian: cut the table again and again where it loses most, level by level, all parts at once."""

from __future__ import annotations

import datetime as dt
import time
from collections.abc import Sequence
from typing import Any

import numpy as np

from pydplib.anonymity.models import KAnonymity
from pydplib.anonymity.search.classes import kept_histogram, people_of
from pydplib.anonymity.search.groups import add_by_key, combine, group
from pydplib.anonymity.search.lattice import SearchInfo
from pydplib.anonymity.search.problem import SearchProblem
from pydplib.anonymity.search.recodings import RecodedColumn, Recoding, distinct_texts, value_counts
from pydplib.anonymity.search.statistics import ClassHistogram
from pydplib.anonymity.search.verdicts import passing
from pydplib.anonymity.tables.columns import Bools, Floats, Ints, Resolved
from pydplib.anonymity.tables.values import in_set, show, write_set
from pydplib.errors import AnonymityError, ParameterError


class Parts:
    """A partition of the distinct tuples, as models look at it."""

    def __init__(self, problem: SearchProblem, part: Ints, number: int) -> None:
        self.problem, self.part = problem, part
        self.rows = np.bincount(part, weights=problem.weight, minlength=number).astype(np.int64)
        self.size = self.rows

    def histogram(self, name: str, keep: Bools) -> tuple[ClassHistogram, Bools | None]:
        """Sensitive values of the kept parts."""
        pairs = self.problem.pairs[name]
        owner = self.part[pairs.owner]
        inside = owner >= 0
        values = len(self.problem.sensitive[name].share)
        return kept_histogram(owner[inside], pairs.value[inside], pairs.count[inside], keep, values), None

    def people(self, name: str, keep: Bools, histogram: ClassHistogram) -> Floats:
        """How many people of the kept parts have every sensitive value."""
        return people_of(histogram, len(self.problem.sensitive[name].share))


def value_ranks(column: Resolved) -> Ints:
    """Order values so that siblings of the hierarchy are neighbours, numbers by size."""
    present = [value for value in column.values if value is not None]
    numbers = all(isinstance(value, int | float) and not isinstance(value, bool) for value in present)
    if numbers or all(isinstance(value, str) and _float(value) is not None for value in present):
        return _rank(np.array([np.inf if value is None else float(value) for value in column.values]))
    if _is_days(column):
        # By the calendar; what is missing comes last.
        return _rank(np.array(["~" if v is None else v.isoformat() for v in column.values]))
    written = _rank(np.array([str(v) for v in column.values]))
    return _rank_of_order(np.lexsort((written, *column.levels[1:])) if len(column.values) else np.zeros(0, np.int64))


def _float(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None


def _rank(keys: Any) -> Ints:
    return _rank_of_order(np.argsort(keys, kind="stable"))


def _rank_of_order(order: Ints) -> Ints:
    out = np.empty(len(order), dtype=np.int64)
    out[order] = np.arange(len(order))
    return out


def domain_sizes(problem: SearchProblem) -> list[float]:
    """Return the number of leaves of every column's domain; of its values, where the domain is continuous."""
    out = []
    for column in problem.columns:
        leaf = float(column.share[0].min()) if len(column.share[0]) else 0.0
        out.append(1.0 / leaf if leaf > 0 else float(len(column.values)))
    return out


def recode_mondrian(problem: SearchProblem, *, labels: str) -> tuple[Recoding, SearchInfo]:
    """Return the recoding by a Mondrian partition.

    Args:
        problem: The table as distinct tuples.
        labels: ``"sets"`` of values, or ``"hierarchy"`` for the lowest label that covers a part.

    Raises:
        AnonymityError: If not even the whole table satisfies the models.
    """
    if labels not in ("sets", "hierarchy"):
        raise ParameterError(f"labels is 'sets' or 'hierarchy'. Got {labels!r}.")
    began = time.monotonic()
    part, number, cuts = partition(problem)
    recoding = label_parts(problem, part, number, labels, cuts)
    info = SearchInfo(
        method="mondrian",
        nodes=number,
        checked=number,
        loss=None,
        bound=0.0,
        optimal=False,
        seconds=time.monotonic() - began,
    )
    return recoding, info


def partition(problem: SearchProblem) -> tuple[Ints, int, list[Any]]:
    """Cut until no cut leaves two parts that satisfy the models; return part per tuple and their number."""
    part = np.zeros(len(problem.weight), dtype=np.int64)
    number = 1 if len(part) else 0
    if number and not passing(problem, Parts(problem, part, 1), problem.rules, np.ones(1, dtype=bool)).all():
        raise AnonymityError(f"Not even the whole table as one class satisfies {problem.asked}. Use weaker models.")
    ranks = np.stack([value_ranks(column)[codes] for column, codes in zip(problem.columns, problem.codes, strict=True)])
    sizes_only = all(isinstance(rule.model, KAnonymity) for rule in problem.rules)
    domain = domain_sizes(problem)
    least = max((getattr(rule.model, "k", 1) for rule in problem.rules), default=1)
    open_parts = np.ones(number, dtype=bool)
    cuts: list[Any] = []
    while open_parts.any():
        # Too few rows for two parts: no cut to look for.
        open_parts &= np.bincount(part, weights=problem.weight, minlength=number) >= 2 * least
        active = np.flatnonzero(open_parts[part])
        if not len(active):
            break
        gain, cut = _best_cuts(problem, part, number, active, ranks, domain, least)
        done = np.zeros(number, dtype=bool)
        split = np.full(number, -1, dtype=np.int64)
        order = gain.argmax(axis=0)[None] if sizes_only else np.argsort(-gain, axis=0, kind="stable")
        for choice in order:
            possible = open_parts & ~done & (gain[choice, np.arange(number)] > 0)
            if not possible.any():
                break
            # Sizes were checked with the cut itself.
            accepted = possible if sizes_only else _try(problem, part, number, ranks, choice, cut, possible)
            split[accepted] = choice[accepted]
            done |= accepted
        open_parts = split >= 0
        if not open_parts.any():
            break
        part, number, open_parts = _split(part, number, active, ranks, cut, split, cuts)
    return part, number, cuts


def _best_cuts(
    problem: SearchProblem, part: Ints, number: int, active: Ints, ranks: Ints, domain: Sequence[float], least: int
) -> tuple[Floats, Ints]:
    """Per column and part, the cut with the largest gain (0: none), and the last rank of its left side.

    The gain of a cut is how much the loss of this column falls: with d values among n rows before, it is
    n(d-1) - n1(d1-1) - n2(d2-1), over the size of the domain.
    """
    gain = np.zeros((len(ranks), number))
    cut = np.zeros((len(ranks), number), dtype=np.int64)
    # Open parts are numbered again, so that keys stay small.
    inside = np.bincount(part[active], minlength=number) > 0
    known, mine = np.flatnonzero(inside), (np.cumsum(inside) - 1)[part[active]]
    weight = problem.weight[active].astype(np.float64)
    total = np.bincount(mine, weights=weight, minlength=len(known)).astype(np.float64)
    for a, rank in enumerate(ranks):
        width = int(rank.max(initial=0)) + 1
        if domain[a] <= 1 or width == 1:
            continue
        key = mine * width + rank[active]
        find = _dense_cuts if len(known) * width <= 2 * len(active) + 4096 else _sparse_cuts
        best, at = find(key, weight, total, width, least)
        gain[a, known] = best / (domain[a] - 1)
        cut[a, known] = at
    return gain, cut


def _dense_cuts(key: Ints, weight: Floats, total: Floats, width: int, least: int) -> tuple[Floats, Ints]:
    """Best fall of (values - 1) x rows and its cut for every part, over a table of parts and values."""
    parts = len(total)
    rows = np.bincount(key, weights=weight, minlength=parts * width).reshape(parts, width)
    left = np.cumsum(rows, axis=1)
    place = np.cumsum(rows > 0, axis=1, dtype=np.float64)
    whole = total[:, None]
    # n(d-1) - n1(d1-1) - n2(d2-1) with n2 = n - n1 and d2 = d - d1, sorted by products.
    fall = place * (whole - 2 * left)
    fall += left * place[:, -1:]
    fall[(left < least) | (left > whole - least)] = 0.0
    at = fall.argmax(axis=1)
    return fall[np.arange(parts), at], at


def _sparse_cuts(key: Ints, weight: Floats, total: Floats, width: int, least: int) -> tuple[Floats, Ints]:
    """The same over the values that occur only, where a table would be mostly empty."""
    keys, rows = add_by_key(key, len(total) * width, weight)
    owner, value = keys // width, keys % width
    start = np.flatnonzero(np.diff(owner, prepend=-1))
    distinct = np.diff(np.append(start, len(owner)))
    spread = np.repeat(distinct, distinct)
    place = np.arange(len(owner)) - np.repeat(start, distinct) + 1
    running = np.cumsum(rows)
    left = running - np.repeat(running[start] - rows[start], distinct)
    right = total[owner] - left
    fall = place * (total[owner] - 2 * left) + left * spread
    fall = np.where((left >= least) & (right >= least), fall, 0.0)
    best = np.maximum.reduceat(fall, start)
    # The first place that reaches the maximum.
    hit = np.flatnonzero(fall == np.repeat(best, distinct))
    return best, value[hit[np.searchsorted(hit, start)]]


def _try(
    problem: SearchProblem, part: Ints, number: int, ranks: Ints, choice: Ints, cut: Ints, possible: Bools
) -> Bools:
    """Return which of the possible parts may be cut at their chosen column."""
    side = _side(part, np.arange(len(part)), ranks, choice, cut)
    halves = np.where(possible[part], part * 2 + side, 2 * number)
    trial = Parts(problem, halves, 2 * number + 1)
    among = np.append(np.repeat(possible, 2), False)
    fine = passing(problem, trial, problem.rules, among)[:-1].reshape(-1, 2).all(axis=1)
    return np.asarray(possible & fine)


def _side(part: Ints, tuples: Ints, ranks: Ints, choice: Ints, cut: Ints) -> Ints:
    """Return 1 for tuples on the right side of their part's cut."""
    column = choice[part]
    return (ranks[column, tuples] > cut[column, part]).astype(np.int64)


def _split(
    part: Ints, number: int, active: Ints, ranks: Ints, cut: Ints, split: Ints, cuts: list[Any]
) -> tuple[Ints, int, Bools]:
    """Cut the chosen parts; the right halves get new numbers."""
    chosen = np.flatnonzero(split >= 0)
    fresh = np.full(number, -1, dtype=np.int64)
    fresh[chosen] = number + np.arange(len(chosen))
    mine = part[active]
    inside = fresh[mine] >= 0
    active, mine = active[inside], mine[inside]
    right = _side(mine, active, ranks, split, cut) == 1
    part[active[right]] = fresh[mine[right]]
    cuts.append((chosen.tolist(), split[chosen].tolist(), cut[split[chosen], chosen].tolist(), fresh[chosen].tolist()))
    again = np.zeros(number + len(chosen), dtype=bool)
    again[chosen] = True
    again[fresh[chosen]] = True
    return part, number + len(chosen), again


def label_parts(problem: SearchProblem, part: Ints, number: int, labels: str, cuts: Sequence[Any]) -> Recoding:
    """Name every part's values in every column."""
    domain = domain_sizes(problem)
    columns = [_label_column(problem, a, part, number, labels, domain[a]) for a in range(len(problem.columns))]
    one = np.zeros(max(number, 1), dtype=np.int64)
    one[part] = np.arange(len(part))
    tree = {
        "orders": tuple(
            tuple(column.values[i] for i in np.argsort(value_ranks(column)).tolist()) for column in problem.columns
        ),
        "cuts": tuple(tuple(zip(*cut, strict=True)) for cut in cuts),
        "names": tuple(tuple(map(c.labels.__getitem__, c.ids[one].tolist())) if len(part) else () for c in columns),
    }
    return Recoding(tuple(columns), np.zeros(len(part), dtype=bool), tree=tree)


def _label_column(problem: SearchProblem, a: int, part: Ints, number: int, labels: str, domain: float) -> RecodedColumn:
    column = problem.columns[a]
    rank = value_ranks(column)
    by_rank = np.argsort(rank)
    width = max(len(column.values), 1)
    keys, _ = add_by_key(part * width + rank[problem.codes[a]], number * width, problem.weight)
    owner, place = keys // width, keys % width
    start = np.flatnonzero(np.diff(owner, prepend=-1))
    # Parts with equal sets of values share a label: sets are compared as bit masks.
    masks = [
        np.bitwise_or.reduceat(np.where(place // 60 == block, 1 << (place % 60), 0), start)
        for block in range((width + 59) // 60)
    ]
    numbered = [group(mask).into for mask in masks] if len(start) else []
    sets = group(combine(numbered, [int(n.max()) + 1 for n in numbered], len(start))[0])
    first = sets.first
    ends = np.append(start[1:], len(owner))
    counts = value_counts(problem, a)
    parts: list[tuple[Any, Any]] = []
    number_of = (ends - start)[first].astype(np.float64)
    cost = np.minimum((number_of - 1) / (domain - 1), 1.0) if domain > 1 else np.zeros(len(first))
    share = np.where(number_of > 1, np.minimum(number_of / domain, 1.0), 0.0)
    mass = np.add.reduceat(counts[by_rank[place]], start)[first] if len(start) else np.zeros(0)
    codes_by_place = by_rank[place].tolist()
    days = _is_days(column)
    texts = [in_set(value) for value in column.values]
    for i, (begin, end) in enumerate(zip(start[first].tolist(), ends[first].tolist(), strict=True)):
        codes = codes_by_place[begin:end]
        if column.keeps_values and (labels == "sets" or end - begin == 1):
            if end - begin == 1:
                parts.append((column.values[codes[0]], (codes[0],)))
            elif days:
                # A set of days would fill the cell: from the first to the last says the same, a little coarser.
                text, meaning, covered = _day_range([column.values[code] for code in codes])
                parts.append((text, meaning))
                covered = min(covered, domain)
                cost[i], share[i] = (covered - 1) / (domain - 1) if domain > 1 else 0.0, covered / domain
            else:
                parts.append(("{" + ", ".join([texts[code] for code in codes]) + "}", tuple(codes)))
            continue
        chosen = np.array(codes, dtype=np.int64)
        text, meaning, cost[i], share[i], mass[i] = _lowest_label(column, chosen, counts, domain)
        parts.append((text, meaning))
    id_of_part = np.zeros(max(number, 1), dtype=np.int64)
    if len(start):
        id_of_part[owner[start]] = sets.into
    single = column.keeps_values and bool((ends - start == 1).all())
    return RecodedColumn(
        name=column.name,
        labels=tuple(distinct_texts(parts)),
        ids=id_of_part[part],
        cost=cost,
        share=share,
        step=cost,
        mass=mass,
        kept=single,
    )


def _is_days(column: Resolved) -> bool:
    present = [value for value in column.values if value is not None]
    return bool(present) and all(isinstance(value, dt.date) for value in present)


def _day_range(values: Sequence[Any]) -> tuple[str, Any, float]:
    """Return label, meaning and number of days of several days in order, of which the last may be missing."""
    present = [value for value in values if value is not None]
    first, last = show(present[0]), show(present[-1])
    text = first if first == last else f"{first} to {last}"
    covered = float(present[-1].toordinal() - present[0].toordinal() + 1)
    if len(present) < len(values):
        return f"{{{text}, missing}}", ("days", text, None), covered + 1
    return text if first == last else f"[{first}, {last}]", ("days", text), covered


def _lowest_label(column: Resolved, codes: Ints, counts: Floats, domain: float) -> tuple[Any, Any, float, float, float]:
    """Return label, meaning, cost, share and mass of the lowest label that covers a set of values."""
    for level in range(column.height + 1):
        ids = column.levels[level][codes]
        if (ids == ids[0]).all():
            i = int(ids[0])
            members = np.flatnonzero(column.levels[level] == i)
            cost, share = float(column.cost[level][i]), float(column.share[level][i])
            return column.labels[level][i], tuple(members.tolist()), cost, share, float(counts[members].sum())
    cost = (len(codes) - 1) / (domain - 1) if domain > 1 else 0.0
    return (
        write_set([column.values[code] for code in codes.tolist()]),
        tuple(codes.tolist()),
        min(cost, 1.0),
        min(len(codes) / domain, 1.0),
        float(counts[codes].sum()),
    )
