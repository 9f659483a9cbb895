"""Record and replay of whole syntheses: one person's rows never cost more than was paid, whatever was chosen."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from neighbours import OTHERS, PERSON, Person, arrow, schema_of

import pydplib as dp
from pydplib.noise.testing import NoiseTrace, check_neighbours, record, replay
from pydplib.synthesis import mechanism
from pydplib.synthesis.counters import CodeCounter, EngineCounter
from pydplib.synthesis.domain import variables_of
from pydplib.synthesis.mechanism import Measured, Settings, Spending, Unit, measure
from pydplib.synthesis.purchase import bound_of
from pydplib.synthesis.rules import cell_rules, possible_cells

SCHEMA = schema_of()
COLUMNS = ["age", "lesions", "pirads", "bph"]
TOTAL = Fraction(3, 2)
RULES = [
    dp.synthesis.Impossible("pirads", when={"bph": [True]}, values=[2, 3]),
    dp.synthesis.Impossible("lesions", when={"pirads": None}),
]


def loss(trace: NoiseTrace, *, pure: bool) -> float:
    """The privacy loss that all noise calls claim together: epsilon, or rho."""
    each = [c.call.epsilon if pure or c.call.kind == "gaussian" else c.call.epsilon**2 / 8 for c in trace.passed]
    return sum(each)


def run(table: dp.engine.Table, of: str, *, pure: bool, ruled: bool = False, **more: Any) -> tuple[Measured, Spending]:
    variables = variables_of(SCHEMA, {name: 4 if name == "age" else None for name in COLUMNS})
    bound = bound_of(SCHEMA, of, variables)
    spending = Spending(TOTAL, pure, Unit(bound.scale, bound.max_rows * bound.scale))
    chosen = Settings(rounds=2, gate=10.0, iterations=5, last_iterations=5, **more)
    ordered = [variable.is_ordered for variable in variables]
    rules, _ = cell_rules(RULES if ruled else (), variables)
    counter = EngineCounter(table, variables, bound, rules)
    possible = possible_cells(rules)
    found = measure(counter, spending, ordered=ordered, relations=[(2, 3)], settings=chosen, possible=possible)
    return found, spending


def check(others: list[Person], person: Person, of: str, *, pure: bool, ruled: bool) -> None:
    with dp.load(arrow(others), SCHEMA) as smaller, dp.load(arrow([*others, person]), SCHEMA) as larger:
        with record() as first:
            _, spending = run(smaller, of, pure=pure, ruled=ruled)
        with replay(first) as second:
            run(larger, of, pure=pure, ruled=ruled)
    check_neighbours(first, second)
    assert spending.spent == spending.total
    assert loss(first, pure=pure) <= float(TOTAL) * (1 + 1e-12)


@settings(max_examples=8)
@given(others=OTHERS, person=PERSON, pure=st.booleans(), of=st.sampled_from(["persons", "rows"]), ruled=st.booleans())
def test_replay_of_a_synthesis_keeps_every_sensitivity_and_the_whole_budget(others, person, pure, of, ruled):
    check(others, person, of, pure=pure, ruled=ruled)


CODES = np.random.default_rng(3).integers(0, 2, (3, 40))
CODES[1] = CODES[0]  # a relation that is worth its price


def small(codes: np.ndarray, **more: Any) -> tuple[Measured, Spending]:
    spending = Spending(Fraction(40), True)
    chosen = replace(Settings(rounds=2, gate=10.0, iterations=5, last_iterations=5), **more)
    return measure(CodeCounter(list(codes), (2, 2, 2)), spending, ordered=[False] * 3, settings=chosen), spending


def test_replay_of_codes_keeps_every_sensitivity():
    with record() as first:
        small(CODES)
    _replay_everybody(first)


def test_every_table_is_what_came_out_of_the_tap_and_every_relation_was_chosen():
    with record() as trace:
        found, spending = small(CODES)
    came_out = [passed.output for passed in trace.passed if passed.call.kind == "laplace"]
    for table in found.relations:
        assert any(table.counts.shape == output.shape and (table.counts == output).all() for output in came_out)
    choices = [passed for passed in trace.passed if passed.call.kind == "choice"]
    assert len(choices) == len(found.relations) + (found.quiet == "stop")
    assert len(choices) >= 1 and len(found.relations) >= 1
    assert spending.spent == spending.total
    assert loss(trace, pure=True) == pytest.approx(40)


def test_stopping_is_a_paid_choice_and_the_rest_buys_the_columns_again():
    independent = np.random.default_rng(4).integers(0, 2, (3, 40))
    with record() as trace:
        found, spending = small(independent, stops=Fraction(20))
    kinds = [passed.call.kind for passed in trace.passed]
    assert found.quiet == "stop" and not found.relations
    assert kinds.count("choice") == 1 and kinds[-3:] == ["laplace"] * 3
    assert spending.spent == spending.total


def test_no_two_tables_share_their_noise():
    with record() as trace:
        small(CODES)
    noise = [(p.output - p.exact).ravel() for p in trace.passed if p.call.kind == "laplace" and p.exact.size > 2]
    wide = [tuple(one.tolist()) for one in noise]
    assert len(set(wide)) == len(wide)


def test_a_budget_that_is_spent_refuses_before_the_tap_opens():
    spending = Spending(Fraction(1), True)
    spending.measure(np.zeros(2, dtype=np.int64), Fraction(1))
    with record() as trace, pytest.raises(AssertionError, match="more than it was given"):
        spending.measure(np.zeros(2, dtype=np.int64), Fraction(1, 10**9))
    assert not trace.passed


@pytest.mark.parametrize(
    "fault",
    [
        pytest.param("score", id="a score that moves by two"),
        pytest.param("total", id="a total from the exact table"),
    ],
)
def test_replay_catches_a_planted_fault(fault, monkeypatch):
    if fault == "score":
        monkeypatch.setattr(mechanism._Run, "_choose", _doubled)
    else:
        monkeypatch.setattr(mechanism._Run, "_total", lambda run, relations=(): float(run.counter.counts((0,)).sum()))
    with record() as first:
        small(CODES)
    with pytest.raises(AssertionError):
        _replay_everybody(first)


def _replay_everybody(first: NoiseTrace) -> None:
    for person in np.ndindex(2, 2, 2):
        with replay(first) as second:
            small(np.concatenate([CODES, np.array(person)[:, None]], axis=1))
        check_neighbours(first, second)


def _doubled(self, counter, model, candidates, pay, part, total):
    scores = [0] + [2 * int(np.abs(counter.counts(c) - 3).sum()) for c in candidates]
    place = self.spending.choose(np.array(scores, dtype=np.int64), pay)
    return None if place == 0 else candidates[place - 1]


@pytest.mark.slow
def test_audit_of_whole_syntheses_of_three_flags_stays_within_epsilon(auditor):
    """20,000 runs on each of two neighbouring tables; the number that tells most about one person."""
    first, second = (_outputs(20_000, extra) for extra in (False, True))
    assert auditor.audit(first, second, confidence=auditor.HOLDS).epsilon <= 1.0
    several = _outputs(20_000, True, times=8)  # eight persons where one is claimed
    assert auditor.audit(first, several).epsilon > 1.0


def _outputs(runs: int, extra: bool, times: int = 1) -> np.ndarray:
    person = np.array([[1], [1], [1]])
    codes = np.concatenate([CODES[:, :12], np.repeat(person, times, axis=1)], axis=1) if extra else CODES[:, :12]
    counter = CodeCounter(list(codes), (2, 2, 2))
    for columns in [(0,), (1,), (2,), (0, 1), (0, 2), (1, 2), (0, 1, 2)]:
        counter.counts(columns)
    chosen = Settings(rounds=2, merge=0.0, gate=1e9, iterations=1, last_iterations=1)
    out = np.empty(runs)
    for i in range(runs):
        found = measure(counter, Spending(Fraction(1), True), ordered=[False] * 3, settings=chosen)
        tables = [*found.one_ways, *found.relations]
        out[i] = sum(float(t.counts[(-1,) * t.counts.ndim]) / np.sqrt(t.variance) for t in tables)
    return out
