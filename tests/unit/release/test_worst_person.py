"""The worst that one person can do costs exactly what is charged: every question, on chosen neighbours."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from fractions import Fraction

import numpy as np
import pytest
from neighbours import CHOSEN, QUESTIONS, UNKNOWN, arrow, loss_between, schema_of

import pydplib as dp
from pydplib.engine import ExactTable, Measure
from pydplib.noise.testing import record, replay
from pydplib.release.facts import Facts

SCHEMA = schema_of()
ASKED = [*QUESTIONS, dp.Quantiles("age", [0.1, 0.9]), dp.Quantiles("lesions", [0.02])]
ARRAYS = {
    "count": lambda values: dp.count(values, epsilon=1.0),
    "sum": lambda values: dp.sum(values, bounds=(-3, 10), epsilon=1.0),
    "mean": lambda values: dp.mean(values, bounds=(18, 100), epsilon=1.0),
    "variance": lambda values: dp.variance(values, bounds=(18, 100), epsilon=1.0),
    "histogram": lambda values: dp.histogram(values, edges=[18, 40, 60.5, 100], epsilon=1.0),
}


@pytest.fixture(scope="module")
def pairs() -> Iterator[list[tuple[dp.engine.Table, dp.engine.Table]]]:
    with ExitStack() as stack:
        yield [
            (
                stack.enter_context(dp.load(arrow(others), SCHEMA)),
                stack.enter_context(dp.load(arrow([*others, person]), SCHEMA)),
            )
            for others, person in CHOSEN
        ]


def losses(pairs, question, *, epsilon: Fraction = Fraction(1), delta: float | None = None) -> list[float]:
    prepared = Facts.of(question, SCHEMA).at(epsilon, delta)
    return [
        loss_between(prepared, smaller.aggregate(prepared.plan), larger.aggregate(prepared.plan))
        for smaller, larger in pairs
    ]


@pytest.mark.parametrize("question", ASKED, ids=repr)
def test_worst_person_never_costs_more_than_epsilon(pairs, question):
    assert max(losses(pairs, question)) <= 1 + 1e-9


# The others waste a little, which costs accuracy and no privacy: a condition narrows what a person can do.
TIGHT = [dp.Count(), dp.Sum("lesions"), dp.Mean("age"), dp.Variance("age"), dp.Crosstab("age", "pirads"),
         dp.Mode("pirads"), dp.StandardDeviation("age")]  # fmt: skip


@pytest.mark.parametrize("question", TIGHT, ids=repr)
def test_worst_person_uses_the_whole_epsilon(pairs, question):
    assert max(losses(pairs, question, epsilon=Fraction(1, 2))) == pytest.approx(0.5, rel=0.1)


@pytest.mark.parametrize("question", [*ASKED, *UNKNOWN], ids=repr)
def test_noise_calls_of_a_question_add_up_to_its_epsilon(pairs, question):
    epsilon = Fraction(3, 10)
    prepared = Facts.of(question, SCHEMA).at(epsilon, 1e-7 if question in UNKNOWN else None)
    with record() as trace:
        prepared.answer(pairs[1][1].aggregate(prepared.plan))
    spent = Fraction(0)
    for passed in trace.passed:
        if passed.call.kind == "laplace":
            spent += passed.call.sensitivity / passed.call.scale
        elif passed.call.monotone:  # one after the other, or one for each group: groups share the rows of a person
            shared = 1 if question.ask == "top" else len(trace.passed)
            spent += passed.call.sensitivity * passed.call.scale / shared
        else:
            spent += 2 * passed.call.sensitivity * passed.call.scale
    assert spent == epsilon


@pytest.mark.parametrize("name", ARRAYS)
@pytest.mark.parametrize("element", [-3, 10, 18, 100, 59.5, 1e300, -1e300, float("inf"), 10**400, None, "x"])
def test_worst_element_of_an_array_never_costs_more_than_epsilon(name, element):
    others = [20, 60, 99.5, None]
    with record() as first:
        ARRAYS[name](others)
    with replay(first) as second:
        ARRAYS[name]([*others, element])
    assert (
        sum(
            float(abs(a.exact.astype(object) - b.exact.astype(object)).sum() / a.call.scale)
            for a, b in zip(first.passed, second.passed, strict=True)
        )
        <= 1 + 1e-9
    )


@pytest.mark.parametrize("question", UNKNOWN, ids=repr)
def test_unknown_key_is_shown_by_its_noisy_count_alone(question):
    prepared = Facts.of(question, SCHEMA).at(Fraction(1), 1e-6)
    keys = (("Graz",), ("Oslo",), ("Rome",))
    columns = tuple(np.array([1, 10**6, 10**6]) for _ in prepared.plan.measures)
    table = ExactTable(prepared.plan, keys, columns)
    with record() as trace:
        prepared.answer(table)
    counted = trace.passed[0]  # what finds the keys comes first
    assert counted.exact.tolist() == [1, 10**6, 10**6]
    counted.output[...] = [prepared.keys.threshold + 1, prepared.keys.threshold, 10**6]
    rest = trace.passed[1:]
    for passed in rest:  # further noise is drawn for the two keys that are shown
        assert passed.exact.shape[-1] == 2
    with _forced(counted.output):
        assert prepared.answer(table).axes[0].keys == ("Graz", "Rome")


@pytest.mark.parametrize("question", UNKNOWN, ids=repr)
@pytest.mark.parametrize("far", [0, 1], ids=["low", "high"])
def test_worst_person_in_two_unknown_groups_never_costs_more_than_epsilon(question, far):
    prepared = Facts.of(question, SCHEMA).at(Fraction(1), 1e-6)
    rows = prepared.facts.bound.max_rows  # whole rows in each of two groups: all that one person may do
    few = [np.array([10**6, 10**6]) for _ in prepared.plan.measures]
    ends = [m.whole_bounds[far or m.kind == "count"] for m in prepared.plan.measures]
    reached = np.arange(2) < (prepared.facts.bound.max_groups or 1)  # one row of each person is in one group
    more = [column + rows * end * reached for column, end in zip(few, ends, strict=True)]
    keys = (("Oslo",), ("Rome",))
    smaller, larger = (ExactTable(prepared.plan, keys, tuple(columns)) for columns in (few, more))
    loss = loss_between(prepared, smaller, larger)
    assert 0 < loss <= 1 + 1e-9


def _forced(output):
    """Let the first noise call give this output; the others draw their own."""
    from pydplib.noise.testing import listen

    outputs = iter([output])
    return listen(lambda call, exact, answer: next(outputs, None) if call.size == 3 else answer(None))


def test_engine_counts_measure_of_rows_is_what_finds_unknown_keys():
    prepared = Facts.of(dp.Mean("age", by={"city": None}), SCHEMA).at(Fraction(1), 1e-6)
    assert Measure("count") in prepared.plan.measures
