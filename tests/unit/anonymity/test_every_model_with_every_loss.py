"""Each model with each loss, with and without suppression, against brute force: no pair is left to chance."""

from __future__ import annotations

import itertools

import numpy as np
import pandas as pd
import pytest

from pydplib.anonymity import (
    AlphaK,
    AverageRisk,
    BetaLikeness,
    DeltaDisclosure,
    DeltaPresence,
    Hierarchy,
    KAnonymity,
    KMap,
    LDiversity,
    PopulationUniqueness,
    TCloseness,
    anonymize,
)
from pydplib.anonymity.search.losses import LOSSES
from pydplib.errors import AnonymityError

TREES = {
    "first": Hierarchy.from_rows([[i, f"{i // 2}", "low" if i < 4 else "high", "*"] for i in range(8)]),
    "second": Hierarchy.from_rows([["x", "xy", "*"], ["y", "xy", "*"], ["z", "z", "*"]]),
    "third": Hierarchy.from_rows([["m", "*"], ["f", "*"]]),
}
ILL = Hierarchy.from_rows([["a", "ab", "*"], ["b", "ab", "*"], ["c", "cd", "*"], ["d", "cd", "*"]])


def rows_of(seed: int, number: int) -> list[tuple]:
    rng = np.random.default_rng(seed)
    first = rng.choice(8, number, p=[0.25, 0.2, 0.2, 0.15, 0.1, 0.05, 0.03, 0.02])
    second, third = rng.choice(list("xyz"), number, p=[0.6, 0.3, 0.1]), rng.choice(list("mf"), number)
    ill = rng.choice(list("abcd"), number, p=[0.4, 0.3, 0.2, 0.1])
    return [(int(a), str(b), str(c), str(d)) for a, b, c, d in zip(first, second, third, ill, strict=True)]


ROWS = rows_of(7, 48)
PEOPLE = [row[:3] for row in [*ROWS, *rows_of(8, 60)]]
POPULATION = pd.DataFrame(PEOPLE, columns=list(TREES))
MODELS = {
    "k": [KAnonymity(4)],
    "alpha-k": [AlphaK(0.7, 3)],
    "distinct": [KAnonymity(2), LDiversity(3)],
    "entropy": [LDiversity(2.2, kind="entropy")],
    "recursive": [LDiversity(2, kind="recursive", c=1.5)],
    "t-equal": [TCloseness(0.3)],
    "t-ordered": [TCloseness(0.2, distance="ordered")],
    "t-hierarchical": [TCloseness(0.25, distance="hierarchical", hierarchy=ILL)],
    "beta": [BetaLikeness(1.2)],
    "beta-enhanced": [BetaLikeness(1.5, kind="enhanced")],
    "delta": [DeltaDisclosure(1.5)],
    "k-map estimated": [KMap(8, fraction=0.4)],
    "k-map": [KMap(6, population=POPULATION)],
    "presence": [DeltaPresence(0.6, population=POPULATION)],
    "average risk": [AverageRisk(0.15)],
    "population uniqueness": [PopulationUniqueness(0.0, fraction=0.3)],
}


@pytest.mark.parametrize(("name", "loss"), list(itertools.product(MODELS, LOSSES)))
def test_optimum_is_that_of_brute_force_and_not_a_trivial_one(oracle, name, loss):
    cells, values = [row[:3] for row in ROWS], [row[3] for row in ROWS]
    table = pd.DataFrame(ROWS, columns=[*TREES, "ill"])
    people = PEOPLE if any(getattr(model, "population", None) is not None for model in MODELS[name]) else None
    ends = []
    for suppression in (0.0, 0.25):
        best = oracle.brute_force(cells, values, list(TREES.values()), MODELS[name], suppression, loss, people)
        found = anonymize(table, TREES, "ill", models=MODELS[name], suppression=suppression, loss=loss)
        assert found.search.optimal
        assert found.search.loss == pytest.approx(best, abs=1e-9)
        assert getattr(found.loss, loss) == pytest.approx(best, abs=1e-9)
        ends.append((tuple(found.levels.values()), found.suppressed.rows))
    # Something is asked for that the raw table does not have, and the limit makes a difference.
    assert all(levels != (0, 0, 0) or gone for levels, gone in ends)
    assert ends[0] != ends[1] or name in ("presence", "average risk")
    assert ends[0][1] == 0


def test_several_sensitive_columns_with_models_of_their_own_match_brute_force(oracle):
    rng = np.random.default_rng(3)
    stage = [str(rng.choice(list("pqr"), p=[0.5, 0.3, 0.2])) for _ in ROWS]
    table = pd.DataFrame(ROWS, columns=[*TREES, "ill"]).assign(stage=stage)
    own = {"ill": [TCloseness(0.35)], "stage": [LDiversity(2)]}
    found = anonymize(table, TREES, own, models=[KAnonymity(3)], suppression=0.2)
    cells, limit, best = [row[:3] for row in ROWS], int(0.2 * len(ROWS)), None
    p = {v: sum(row[3] == v for row in ROWS) / len(ROWS) for v in "abcd"}
    for node in itertools.product(*(range(tree.height + 1) for tree in TREES.values())):
        classes: dict[tuple, list[int]] = {}
        for i, row in enumerate(cells):
            key = tuple(
                next(labels[level] for labels in tree.rows if labels[0] == cell)
                for tree, cell, level in zip(TREES.values(), row, node, strict=True)
            )
            classes.setdefault(key, []).append(i)
        gone = {
            i
            for members in classes.values()
            if not (
                len(members) >= 3
                and oracle.class_passes(own["ill"][0], [ROWS[i][3] for i in members], p)
                and len({stage[i] for i in members}) >= 2
            )
            for i in members
        }
        if len(gone) <= limit:
            value = oracle.node_loss("granularity", cells, list(TREES.values()), node, gone, 3)
            best = value if best is None else min(best, value)
    assert found.search.loss == pytest.approx(best, abs=1e-9)
    with pytest.raises(AnonymityError):
        anonymize(table, TREES, {"ill": [LDiversity(5)], "stage": []}, models=[KAnonymity(3)])
