"""The search finds what trying every node finds, for every model and loss, with and without suppression."""

from __future__ import annotations

from collections import defaultdict

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

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
from pydplib.anonymity.preparation import prepare
from pydplib.anonymity.recipe import Recipe
from pydplib.anonymity.search.classes import ClassEvaluator
from pydplib.anonymity.search.lattice import search_boxes
from pydplib.anonymity.search.losses import LOSSES, make_objective
from pydplib.anonymity.search.statistics import ClassStats
from pydplib.errors import AnonymityError, ParameterError

FIRST = Hierarchy.from_rows([[i, f"{i // 2}", f"{'low' if i < 4 else 'high'}", "*"] for i in range(7)])
SECOND = Hierarchy.from_rows([["x", "xy", "*"], ["y", "xy", "*"], ["z", "z", "*"]])
THIRD = Hierarchy.from_rows([["m", "*"], ["f", "*"]])
ILL = Hierarchy.from_rows([["a", "ab", "*"], ["b", "ab", "*"], ["c", "cd", "*"], ["d", "cd", "*"]])
TREES = {"first": FIRST, "second": SECOND, "third": THIRD}

MODELS = {
    "k": lambda: [KAnonymity(2)],
    "alpha-k": lambda: [AlphaK(0.6, 2)],
    "distinct": lambda: [KAnonymity(2), LDiversity(2)],
    "entropy": lambda: [LDiversity(2, kind="entropy")],
    "recursive": lambda: [KAnonymity(2), LDiversity(2, kind="recursive", c=1.5)],
    "t-equal": lambda: [KAnonymity(2), TCloseness(0.4)],
    "t-ordered": lambda: [TCloseness(0.25, distance="ordered")],
    "t-hierarchical": lambda: [KAnonymity(2), TCloseness(0.3, distance="hierarchical", hierarchy=ILL)],
    "beta": lambda: [BetaLikeness(1.0)],
    "beta-enhanced": lambda: [KAnonymity(2), BetaLikeness(2.0, kind="enhanced")],
    "delta": lambda: [DeltaDisclosure(1.5)],
    "k-map": lambda: [KMap(6, fraction=0.3)],
    "average risk": lambda: [AverageRisk(0.4)],
    "average risk and k": lambda: [AverageRisk(0.3), KAnonymity(2)],
    "average risk and l": lambda: [AverageRisk(0.35), LDiversity(2, kind="entropy")],
    "population uniqueness": lambda: [PopulationUniqueness(0.05, fraction=0.2)],
    "population uniqueness by Zayatz": lambda: [PopulationUniqueness(0.1, fraction=0.5, estimator="zayatz")],
    "both": lambda: [PopulationUniqueness(0.02, fraction=0.3, estimator="snb"), AverageRisk(0.5)],
}

ROWS = st.lists(
    st.tuples(st.integers(0, 6), st.sampled_from("xyz"), st.sampled_from("mf"), st.sampled_from("aabbcd")),
    min_size=1,
    max_size=14,
)
QUIET = settings(
    max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
)


def frame_of(rows):
    return pd.DataFrame(rows, columns=["first", "second", "third", "ill"])


def outcome(table, models, suppression, loss, **more):
    try:
        return anonymize(table, TREES, "ill", models=models, suppression=suppression, loss=loss, **more)
    except AnonymityError:
        return None


@pytest.mark.parametrize("name", MODELS)
@QUIET
@given(rows=ROWS, suppression=st.sampled_from([0.0, 0.0, 0.1, 0.3, 0.6, 1.0]), loss=st.sampled_from(LOSSES))
def test_search_finds_the_optimum_of_brute_force(oracle, name, rows, suppression, loss):
    models = MODELS[name]()
    cells, values = [row[:3] for row in rows], [row[3] for row in rows]
    best = oracle.brute_force(cells, values, list(TREES.values()), models, suppression, loss)
    found = outcome(frame_of(rows), models, suppression, loss)
    assert (found is None) == (best is None)
    if best is None:
        return
    assert found.search.optimal
    assert found.search.loss == pytest.approx(best, abs=1e-9)
    assert getattr(found.loss, loss) == pytest.approx(best, abs=1e-9)
    assert found.suppressed.rows <= suppression * len(rows) + 1e-9
    assert len(found.data) == len(rows) - found.suppressed.rows
    # Every class of the output passes every model, from the definitions.
    classes = defaultdict(list)
    for *key, value in found.data.itertuples(index=False):
        classes[tuple(key)].append(value)
    p = oracle.shares(list(found.data["ill"]))
    own = [model for model in models if not model.whole_table]
    assert all(oracle.class_passes(m, members, p) for members in classes.values() for m in own)
    sizes = [len(members) for members in classes.values()]
    assert all(oracle.table_passes(m, sizes) for m in models if m.whole_table)
    # The certificate, from the output alone, says so as well.
    assert found.certificate.holds


@pytest.mark.parametrize("name", ["t-equal", "t-ordered", "t-hierarchical", "beta", "beta-enhanced", "delta"])
@QUIET
@given(rows=ROWS, suppression=st.sampled_from([0.1, 0.3, 0.6]), loss=st.sampled_from(LOSSES))
def test_search_against_the_input_finds_the_optimum_of_brute_force(oracle, name, rows, suppression, loss):
    models = MODELS[name]()
    cells, values = [row[:3] for row in rows], [row[3] for row in rows]
    best = oracle.brute_force(cells, values, list(TREES.values()), models, suppression, loss, reference="input")
    found = outcome(frame_of(rows), models, suppression, loss, reference="input")
    assert (found is None) == (best is None)
    if best is not None:
        assert found.search.loss == pytest.approx(best, abs=1e-9)
        assert all(s.holds_input if s.holds_input is not None else s.holds for s in found.certificate.statements)


@QUIET
@given(
    rows=ROWS,
    extra=st.lists(st.tuples(st.integers(0, 6), st.sampled_from("xyz"), st.sampled_from("mf")), max_size=14),
    suppression=st.sampled_from([0.0, 0.3]),
    lower=st.sampled_from([0.0, 0.2]),
)
def test_search_with_population_finds_the_optimum_of_brute_force(oracle, rows, extra, suppression, lower):
    cells, values = [row[:3] for row in rows], [row[3] for row in rows]
    people = [*cells, *extra]
    population = pd.DataFrame(people, columns=["first", "second", "third"])
    for models in ([KMap(3, population=population)], [DeltaPresence(0.7, lower, population=population)]):
        best = oracle.brute_force(cells, values, list(TREES.values()), models, suppression, "granularity", people)
        found = outcome(frame_of(rows), models, suppression, "granularity")
        assert (found is None) == (best is None)
        if found is not None:
            assert found.search.loss == pytest.approx(best, abs=1e-9)
            assert found.certificate.holds


@pytest.mark.parametrize("name", ["k", "distinct", "t-equal", "recursive", "average risk", "both"])
@QUIET
@given(rows=ROWS, suppression=st.sampled_from([0.0, 0.2, 1.0]), loss=st.sampled_from(LOSSES))
def test_box_search_finds_the_optimum_of_brute_force(oracle, name, rows, suppression, loss):
    models = MODELS[name]()
    cells, values = [row[:3] for row in rows], [row[3] for row in rows]
    best = oracle.brute_force(cells, values, list(TREES.values()), models, suppression, loss)
    task = prepare(
        frame_of(rows), TREES, "ill", person=None, identifiers=(), insensitive=(), models=models,
        suppression=suppression, schema=None,
    )  # fmt: skip
    found = search_boxes(task.problem, make_objective(loss, task.problem))
    assert (found.verdict is None) == (best is None)
    if best is not None:
        assert found.info.loss == pytest.approx(best, abs=1e-9)
        assert found.info.optimal


@pytest.mark.parametrize("method", ["local", "cells", "mondrian", "microaggregation"])
@pytest.mark.parametrize("name", ["k", "distinct", "entropy", "t-equal", "beta"])
@QUIET
@given(rows=ROWS, suppression=st.sampled_from([0.0, 0.2, 1.0]))
def test_other_methods_satisfy_the_models_when_they_answer(oracle, method, name, rows, suppression):
    models = MODELS[name]()
    found = outcome(frame_of(rows), models, suppression, "granularity", method=method)
    if found is None:
        return
    assert found.suppressed.rows <= suppression * len(rows) + 1e-9
    assert found.certificate.holds
    p = oracle.shares(list(found.data["ill"]))
    classes = defaultdict(list)
    for *key, value in found.data.itertuples(index=False):
        classes[tuple(map(str, key))].append(value)
    assert all(oracle.class_passes(m, members, p) for members in classes.values() for m in models)
    assert 0 <= found.loss.granularity <= 1 + 1e-9


@pytest.mark.parametrize("name", ["k", "entropy", "t-equal"])
@QUIET
@given(rows=ROWS, suppression=st.sampled_from([0.0, 0.1, 0.3]))
def test_local_recoding_answers_whenever_one_node_does(name, rows, suppression):
    whole = outcome(frame_of(rows), MODELS[name](), suppression, "granularity")
    local = outcome(frame_of(rows), MODELS[name](), suppression, "granularity", method="local")
    assert whole is None or local is not None
    if local is not None:
        assert local.loss.granularity == pytest.approx(local.search.loss, abs=1e-9)


def test_average_risk_leaves_out_the_fewest_people_of_whole_sizes():
    sizes = np.array([1, 1, 2, 3, 3, 10])
    kept = AverageRisk(0.25).passes(ClassStats(sizes), None)
    assert sizes[kept].tolist() == [2, 3, 3, 10]  # 4 of 18; with the two who are alone it were 6 of 20
    assert not AverageRisk(0.05).passes(ClassStats(sizes), None).any()
    assert AverageRisk(0.3).passes(ClassStats(sizes), None).all()


@pytest.mark.parametrize("method", ["local", "cells", "mondrian", "microaggregation"])
def test_models_about_all_classes_are_refused_by_methods_that_judge_each(method):
    with pytest.raises(ParameterError, match="optimal"):
        outcome(frame_of([(0, "x", "m", "a")] * 9), [AverageRisk(0.2)], 0.0, "granularity", method=method)


def test_certificate_and_recipe_know_the_models_about_all_classes():
    rows = [(i % 7, "xyz"[i % 3], "mf"[i % 2], "abcd"[i % 4]) for i in range(60)]
    models = [AverageRisk(0.1), PopulationUniqueness(0.01, fraction=0.2)]
    found = outcome(frame_of(rows), models, 0.1, "granularity")
    assert found.certificate.holds
    assert found.certificate.statements[0].value == pytest.approx(found.risk.after.prosecutor.expected)
    again = Recipe.from_json(found.recipe.to_json())
    assert [rule.model for rule in again.models] == models
    assert len(again.apply(frame_of(rows))) == len(found.data)
    with pytest.raises(ParameterError, match="previous"):
        outcome(frame_of(rows), models, 0.1, "granularity", previous=[found])


def test_brute_force_comparison_detects_a_planted_fault(oracle):
    """The twin: with a wrong k the losses must differ, so agreement above means something."""
    rows = [(i % 7, "xyz"[i % 3], "mf"[i % 2], "abcd"[i % 4]) for i in range(14)]
    cells, values = [row[:3] for row in rows], [row[3] for row in rows]
    best = oracle.brute_force(cells, values, list(TREES.values()), [KAnonymity(4)], 0.0, "granularity")
    found = outcome(frame_of(rows), [KAnonymity(2)], 0.0, "granularity")
    assert found.search.loss < best - 1e-6


@pytest.mark.parametrize(
    ("sizes", "rows", "before"),
    [
        ([4, 3, 5], 300, 1),  # a place for every key
        ([4, 3, 5], 300, 3),  # with what earlier releases showed
        ([60, 50, 40, 9], 400, 1),  # far more keys than rows: sorted
        ([900] * 7, 200, 1),  # more than 62 bits
        ([900] * 7, 200, 4),
    ],
)
def test_classes_are_those_of_a_plain_grouping_however_they_are_reached(sizes, rows, before):
    """Counted in places, by sorting or step by step, from the tuples or any node below: the same classes."""
    rng = np.random.default_rng(rows)
    shared = rng.random(rows)
    table = pd.DataFrame(
        {f"q{i}": (size * (0.7 * shared + 0.3 * rng.random(rows))).astype(int) for i, size in enumerate(sizes)}
    )
    trees = {name: Hierarchy.order(list(range(size)), group=3) for name, size in zip(table, sizes, strict=True)}
    task = prepare(
        table, trees, None, person=None, identifiers=(), insensitive=(), models=[KAnonymity(2)], suppression=0.0,
        schema=None,
    )  # fmt: skip
    problem = task.problem
    if before > 1:
        problem.fixed = rng.integers(0, before, len(problem.weight))
    evaluator = ClassEvaluator(problem)
    heights = np.array(problem.heights)
    for _ in range(40):
        ways = np.sort(rng.integers(0, heights + 1, (3, len(sizes))), axis=0)
        classes = None
        for step in [*ways, heights]:  # up to the top, each from the one below
            node = tuple(int(level) for level in step)
            classes = evaluator.evaluate(node, classes if rng.random() < 0.8 else None)
            labels = [
                c.levels[level][codes] for c, level, codes in zip(problem.columns, node, problem.codes, strict=True)
            ]
            fixed = np.zeros(len(problem.weight), dtype=int) if problem.fixed is None else problem.fixed
            keys = list(zip(fixed.tolist(), *(part.tolist() for part in labels), strict=True))
            sums = defaultdict(int)
            for key, weight in zip(keys, problem.weight.tolist(), strict=True):
                sums[key] += weight
            of_tuple = classes.tuple_class()
            assert sorted(classes.rows.tolist()) == sorted(sums.values())
            assert all(int(classes.rows[of_tuple[i]]) == sums[key] for i, key in enumerate(keys))
            assert len(set(zip(of_tuple.tolist(), keys, strict=True))) == len(sums) == len(classes.rows)
            assert [classes.labels(a)[of_tuple].tolist() for a in range(len(sizes))] == [x.tolist() for x in labels]
            assert (of_tuple[classes.rep] == np.arange(len(sums))).all()
