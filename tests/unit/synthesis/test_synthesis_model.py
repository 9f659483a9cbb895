"""Junction trees, the fit and the drawing of rows, against brute force on small domains."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pydplib.noise.testing import SeededSource
from pydplib.synthesis.counters import CodeCounter
from pydplib.synthesis.draws import draw_codes, expand_codes, whole_weights
from pydplib.synthesis.mechanism import Settings, Spending, measure, merge_values, root_below
from pydplib.synthesis.model import FittedModel, NoisyTable, combine, fit_model
from pydplib.synthesis.tree import JunctionTree, tree_cells

SHAPE = (2, 3, 2, 2, 3)
PAIRS = list(itertools.combinations(range(5), 2)) + list(itertools.combinations(range(5), 3))
TABLES = st.lists(st.sampled_from(PAIRS), max_size=5, unique=True)


@settings(max_examples=60)
@given(tables=TABLES)
def test_a_tree_holds_every_table_and_has_the_running_intersection(tables):
    tree = JunctionTree.of(SHAPE, tables)
    assert {c for clique in tree.cliques for c in clique} == set(range(5))
    assert all(tree.holding(table) is not None for table in tables)
    assert tree.cells == tree_cells(SHAPE, tables)
    for column in range(5):  # the cliques with a column are connected: all but the topmost share it with their parent
        having = [i for i, clique in enumerate(tree.cliques) if column in clique]
        assert sum(column not in tree.separators[i] for i in having) == 1
    assert all(parent < place for place, parent in enumerate(tree.parents))


def joint(weights: dict[tuple[int, ...], np.ndarray]) -> np.ndarray:
    logs = np.zeros(SHAPE)
    for columns, weight in weights.items():
        logs = logs + weight.reshape([SHAPE[c] if c in columns else 1 for c in range(5)])
    chances = np.exp(logs)
    return chances / chances.sum()


@settings(max_examples=30)
@given(tables=TABLES, seed=st.integers(0, 10**6))
def test_every_table_of_a_model_is_that_of_the_whole_distribution(tables, seed):
    generator = np.random.default_rng(seed)
    weights = {t: generator.normal(size=[SHAPE[c] for c in t]) for t in [*tables, (0,), (4,)]}
    model = FittedModel(JunctionTree.of(SHAPE, weights), weights)
    whole = joint(weights)
    for columns in [(1,), *PAIRS]:
        expected = whole.sum(axis=tuple(c for c in range(5) if c not in columns))
        np.testing.assert_allclose(model.probabilities(columns), expected, atol=1e-12)


def test_a_fit_to_exact_tables_reproduces_them():
    generator = np.random.default_rng(1)
    codes = [generator.integers(0, size, 2000) for size in SHAPE]
    codes[2] = (codes[0] + (generator.random(2000) < 0.1)) % 2
    counter = CodeCounter(codes, SHAPE)
    tables = [NoisyTable(c, counter.counts(c).astype(float), 1.0) for c in [(0, 2), (1, 2), (3,), (4,)]]
    model = fit_model(SHAPE, tables, 2000.0, iterations=400, enough=1e-9)
    for table in tables:
        np.testing.assert_allclose(2000 * model.probabilities(table.columns), table.counts, atol=2)


def test_impossible_combinations_have_no_rows():
    possible = {(0, 1): np.array([[1.0, 1, 0], [1, 1, 1]])}
    tables = [NoisyTable((c,), np.full(size, 100.0), 9.0) for c, size in enumerate((2, 3))]
    model = fit_model((2, 3), tables, 250.0, possible=possible)
    codes = draw_codes(model.tree, whole_weights(model), 500, source=SeededSource(1))
    assert not ((codes[0] == 0) & (codes[1] == 2)).any()


def test_two_measurements_are_worth_one_with_both_budgets():
    (both,) = combine([NoisyTable((0,), np.array([10.0]), 4.0), NoisyTable((0,), np.array([20.0]), 4.0)])
    assert both.counts.tolist() == [15.0] and both.variance == 2.0


@pytest.mark.parametrize("spread", [True, False])
def test_rows_follow_the_model(spread):
    weights = {(0, 1): np.log(np.array([[0.4, 0.1], [0.1, 0.4]])), (1, 2): np.log(np.array([[0.3, 0.2], [0.2, 0.3]]))}
    model = FittedModel(JunctionTree.of((2, 2, 2), weights), weights)
    codes = draw_codes(model.tree, whole_weights(model), 4000, source=SeededSource(2), spread=spread)
    counter = CodeCounter(list(codes), (2, 2, 2))
    for columns in [(0, 1), (1, 2), (0, 2)]:
        gap = np.abs(counter.counts(columns) / 4000 - model.probabilities(columns)).max()
        assert gap < (0.004 if spread and columns != (0, 2) else 0.04)


def test_values_inside_a_group_follow_the_column():
    groups = [np.array([0, 0, 1])]
    table = NoisyTable((0,), np.array([30.0, 10.0, 60.0]), 1.0)
    codes = expand_codes(np.array([[0] * 400 + [1] * 600]), groups, [table], source=SeededSource(3))
    assert np.bincount(codes[0]).tolist() == [300, 100, 600]


@given(counts=st.lists(st.floats(-50, 500), min_size=1, max_size=30), least=st.floats(0.1, 400), ordered=st.booleans())
def test_groups_are_numbered_without_gaps_and_neighbours_stay_together(counts, least, ordered):
    groups = merge_values(np.array(counts), least, ordered=ordered)
    assert sorted(set(groups.tolist())) == list(range(int(groups.max()) + 1))
    if ordered:
        assert (np.diff(groups) >= 0).all()


@given(st.fractions(0, 10**6))
def test_a_root_is_never_above_the_true_one(value):
    assert root_below(value) ** 2 <= value < (root_below(value) + Fraction(1, 10**11)) ** 2 + Fraction(1, 10**12)


def strong(seed: int = 5) -> CodeCounter:
    generator = np.random.default_rng(seed)
    first = generator.integers(0, 3, 3000)
    return CodeCounter([first, (first + (generator.random(3000) < 0.1)) % 3, generator.integers(0, 3, 3000)], (3, 3, 3))


@pytest.mark.parametrize("pure", [True, False])
def test_a_strong_relation_is_found_and_the_budget_is_spent(pure):
    spending = Spending(Fraction(2) if pure else Fraction(1, 10), pure)
    found = measure(strong(), spending, ordered=[False] * 3)
    assert any({0, 1} <= set(table.columns) for table in found.relations)
    assert spending.spent == spending.total
    assert abs(found.total - 3000) < 150


def test_a_budget_that_carries_no_relation_goes_into_the_columns():
    spending = Spending(Fraction(1, 10**5), False)
    found = measure(strong(), spending, ordered=[False] * 3)
    assert found.quiet == "gate" and not found.relations and spending.spent == spending.total
    assert found.one_ways[0].variance == pytest.approx(3 / (2 * 1e-5))  # all of rho, split over three columns


def test_declared_relations_are_always_measured_and_their_columns_keep_every_value():
    found = measure(
        strong(),
        Spending(Fraction(1, 100), False),
        ordered=[True] * 3,
        relations=[(0, 2)],
        settings=Settings(find=False),
    )
    assert [table.columns for table in found.relations] == [(0, 2)] and found.declared == 1
    assert found.groups[0].tolist() == [0, 1, 2] and found.relations[0].counts.shape == (3, 3)


@pytest.mark.parametrize("pure", [True, False])
def test_a_search_leaves_declared_relations_half_of_the_budget(pure):
    """In narrow tables rounds of the search took nearly all of it, and declared relations had six times the noise."""
    total, declared = Fraction(2), [(0, 2), (1, 2)]
    noise = {}
    for find in (False, True):
        spending = Spending(total, pure)
        found = measure(strong(), spending, ordered=[False] * 3, relations=declared, settings=Settings(find=find))
        assert [table.columns for table in found.relations[:2]] == declared and spending.spent == spending.total
        noise[find] = math.sqrt(found.relations[0].variance)
    spending = Spending(total, pure)
    assert noise[True] == pytest.approx(math.sqrt(spending.variance(total / 4)))
    assert noise[True] <= 2 * noise[False]


def test_declared_relations_get_everything_where_the_budget_carries_no_search():
    spending = Spending(Fraction(1, 10**5), False)
    found = measure(strong(), spending, ordered=[False] * 3, relations=[(0, 1)])
    assert found.quiet == "gate" and spending.spent == spending.total and len(found.relations) == 1
    assert found.relations[0].variance <= spending.variance(spending.total / 2)
