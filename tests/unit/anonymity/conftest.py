"""An oracle for anonymization: every node, every class, straight from the definitions, in plain Python."""

from __future__ import annotations

import itertools
import math
from collections import Counter, defaultdict
from fractions import Fraction
from types import SimpleNamespace

import pytest

from pydplib.anonymity import (
    AlphaK,
    AverageRisk,
    BetaLikeness,
    DeltaDisclosure,
    DeltaPresence,
    KAnonymity,
    KMap,
    LDiversity,
    TCloseness,
)
from pydplib.anonymity.assessment.population import population_uniqueness


def emd_equal(p, q):
    return sum(abs(p[v] - q.get(v, 0)) for v in p) / 2


def emd_ordered(p, q):
    values = sorted(p)
    if len(values) == 1:
        return 0.0
    total, running = 0.0, 0.0
    for v in values:
        running += p[v] - q.get(v, 0)
        total += abs(running)
    return total / (len(values) - 1)


def emd_hierarchical(p, q, labels):
    """labels: value -> its labels from the value to the root; all of one depth."""
    height = len(next(iter(labels.values()))) - 1
    if height < 1:
        return 0.0
    extra = {v: p[v] - q.get(v, 0) for v in p}
    total = 0.0
    for level in range(1, height + 1):
        children = defaultdict(float)
        for v, e in extra.items():
            children[tuple(labels[v][level - 1 :])] += e
        nodes = defaultdict(list)
        for path, e in children.items():
            nodes[path[1:]].append(e)
        for parts in nodes.values():
            pos = sum(e for e in parts if e > 0)
            neg = -sum(e for e in parts if e < 0)
            total += level / height * min(pos, neg)
    return total


def class_passes(model, values, p, size_in_population=None):
    """Does a class with these sensitive values pass, given the table's distribution p?"""
    n = len(values)
    counts = Counter(values)
    q = {v: c / n for v, c in counts.items()}
    if isinstance(model, KAnonymity):
        return n >= model.k
    if isinstance(model, AlphaK):
        return n >= model.k and max(q.values()) <= model.alpha + 1e-12
    if isinstance(model, LDiversity):
        if model.kind == "distinct":
            return len(counts) >= model.l
        if model.kind == "entropy":
            return -sum(x * math.log(x) for x in q.values()) >= math.log(model.l) - 1e-9
        r = sorted(counts.values(), reverse=True)
        return r[0] < model.c * sum(r[model.l - 1 :]) - 1e-9
    if isinstance(model, TCloseness):
        if model.distance == "equal":
            return emd_equal(p, q) <= model.t + 1e-9
        if model.distance == "ordered":
            return emd_ordered(p, q) <= model.t + 1e-9
        return emd_hierarchical(p, q, {v: labels_of(model.hierarchy, v) for v in p}) <= model.t + 1e-9
    if isinstance(model, BetaLikeness):
        for v, x in q.items():
            limit = model.beta if model.kind == "basic" else min(model.beta, -math.log(p[v]))
            if x > p[v] and (x - p[v]) / p[v] > limit + 1e-9:
                return False
        return True
    if isinstance(model, DeltaDisclosure):
        return all(v in q and abs(math.log(q[v] / p[v], model.base)) < model.delta for v in p)
    if isinstance(model, KMap):
        if model.population is None:
            return n >= model.sample_size
        return size_in_population >= model.k
    assert isinstance(model, DeltaPresence)
    return model.lower - 1e-9 <= n / size_in_population <= model.upper + 1e-9


_LABELS = {}


def labels_of(hierarchy, value):
    """The labels of a value, straight from the rows of its hierarchy."""
    key = (id(hierarchy), value)
    if key not in _LABELS:
        _LABELS[key] = next(row for row in hierarchy.rows if row[0] == value)
    return _LABELS[key]


def label_at(hierarchy, value, level):
    return labels_of(hierarchy, value)[level]


def granularity_cost(hierarchy, value, level):
    leaves = len(hierarchy.leaves)
    if leaves == 1:
        return 0.0
    mine = label_at(hierarchy, value, level)
    covered = sum(label_at(hierarchy, leaf, level) == mine for leaf in hierarchy.leaves)
    return (covered / leaves - 1 / leaves) / (1 - 1 / leaves)


def node_loss(name, rows, hierarchies, node, gone, k):
    """The loss of a node where the rows numbered in ``gone`` are suppressed."""
    n, d = len(rows), len(hierarchies)
    labelled = [tuple(label_at(h, v, lv) for h, v, lv in zip(hierarchies, row, node, strict=True)) for row in rows]
    if name == "granularity":
        total = 0.0
        for i, row in enumerate(rows):
            for h, v, lv in zip(hierarchies, row, node, strict=True):
                total += 1.0 if i in gone else granularity_cost(h, v, lv)
        return total / (n * d)
    if name == "precision":
        total = 0.0
        for i in range(n):
            for h, lv in zip(hierarchies, node, strict=True):
                total += 1.0 if i in gone else lv / max(h.height, 1)
        return total / (n * d)
    if name == "entropy":
        total = full = 0.0
        for a in range(d):
            raw = Counter(row[a] for row in rows)
            coarse = Counter(cells[a] for cells in labelled)
            for i, row in enumerate(rows):
                most = math.log2(n / raw[row[a]])
                full += most
                total += most if i in gone else math.log2(coarse[labelled[i][a]] / raw[row[a]])
        return total / full if full > 0 else 0.0
    sizes = Counter(labelled[i] for i in range(n) if i not in gone)
    if name == "discernibility":
        return sum(s * s for s in sizes.values()) + n * len(gone)
    return n / max(len(sizes) + (len(gone) > 0), 1) / k


def table_passes(model, sizes):
    """Does a table with classes of these sizes pass a model about all of them together?"""
    if not sizes:
        return True
    if isinstance(model, AverageRisk):
        return sum(size * Fraction(1, size) for size in sizes) / sum(sizes) <= Fraction(model.limit) + Fraction(
            1, 10**9
        )
    found = population_uniqueness(Counter(sizes), sum(sizes), model.fraction)
    return min(sizes) > 1 or found.get(model.estimator, 1.0) <= model.limit + 1e-9


def left_out_of_the_whole(models, classes):
    """Return who must go for the models about all classes: whole sizes from below, no more than needed."""
    whole = [model for model in models if model.whole_table]
    for least in range(1, max(map(len, classes), default=0) + 2):
        kept = [members for members in classes if len(members) >= least]
        if all(table_passes(model, [len(members) for members in kept]) for model in whole):
            return {i for members in classes if len(members) < least for i in members}
    raise AssertionError("an empty table passes")


def keeps_passing(model):
    """Is a class that passes still fine when it becomes part of a larger one, whatever the others are?"""
    return isinstance(model, KAnonymity | KMap) or (isinstance(model, LDiversity) and model.kind == "distinct")


def shares(values):
    return {v: c / len(values) for v, c in Counter(values).items()}


def left_over(classes, values, models, people, reference="output"):
    """Return the classes that stay: what fails is left out until the rest passes, compared with itself."""
    passes = {
        cells: all(
            class_passes(m, [values[i] for i in members], None, people[cells]) for m in models if keeps_passing(m)
        )
        for cells, members in classes.items()
    }
    left = {cells for cells, fine in passes.items() if fine}
    others = [m for m in models if not keeps_passing(m) and not m.whole_table]
    while left:
        p = shares(values if reference == "input" else [values[i] for cells in left for i in classes[cells]])
        fine = {
            cells
            for cells in left
            if all(class_passes(m, [values[i] for i in classes[cells]], p, people[cells]) for m in others)
        }
        gone = left_out_of_the_whole(models, [classes[cells] for cells in fine])
        fine = {cells for cells in fine if classes[cells][0] not in gone}
        if fine == left or reference == "input":
            return fine
        left = fine
    return left


def brute_force(rows, values, hierarchies, models, suppression, loss, population=None, reference="output"):
    """Return the least loss over all nodes, or None if no node is feasible."""
    n = len(rows)
    limit = math.floor(suppression * n + 1e-9)
    k = max((m.k for m in models if isinstance(m, KAnonymity | AlphaK)), default=1)
    best = None
    for node in itertools.product(*(range(h.height + 1) for h in hierarchies)):
        classes = defaultdict(list)
        for i, row in enumerate(rows):
            classes[tuple(label_at(h, v, lv) for h, v, lv in zip(hierarchies, row, node, strict=True))].append(i)
        people = Counter()
        for row in population or []:
            people[tuple(label_at(h, v, lv) for h, v, lv in zip(hierarchies, row, node, strict=True))] += 1
        left = left_over(classes, values, models, people, reference)
        gone = {i for cells, members in classes.items() if cells not in left for i in members}
        if len(gone) > limit:
            continue
        if any(isinstance(m, DeltaPresence) and m.lower > 0 for m in models) and (gone or set(people) - set(classes)):
            continue
        found = node_loss(loss, rows, hierarchies, node, gone, k)
        best = found if best is None else min(best, found)
    return best


@pytest.fixture(scope="session")
def oracle():
    """The oracle's functions under one name."""
    return SimpleNamespace(
        brute_force=brute_force,
        class_passes=class_passes,
        table_passes=table_passes,
        shares=shares,
        node_loss=node_loss,
        emd_equal=emd_equal,
        emd_ordered=emd_ordered,
        emd_hierarchical=emd_hierarchical,
    )
