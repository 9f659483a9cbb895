"""Clinical statistics: one person loses at most epsilon, and whatever leaves follows from the noisy counts alone."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest
from neighbours import CHOSEN, CLINICAL, Pairs, losses, unbounded

import pydplib as dp
from pydplib.engine import ExactTable
from pydplib.noise.testing import record, replay
from pydplib.release.facts import Facts

EPSILON = 1.0


@pytest.fixture(scope="module")
def pairs() -> Pairs:
    return Pairs(CHOSEN)


@pytest.fixture(scope="module")
def tables(pairs: Pairs) -> Iterator[tuple[dp.engine.Table, dp.engine.Table]]:
    with dp.load(pairs.smaller, pairs.schema) as smaller, dp.load(pairs.larger, pairs.schema) as larger:
        yield smaller, larger


def asked(question: Any, pairs: Pairs, tables: Any) -> tuple[Any, list[tuple[ExactTable, ExactTable]]]:
    prepared = Facts.of(question, pairs.schema).at(EPSILON)
    return prepared, pairs.ask(prepared.plan, *tables)


@pytest.mark.parametrize("question", CLINICAL, ids=lambda question: type(question).__name__)
def test_one_person_loses_at_most_epsilon_and_some_lose_all_of_it(question: Any, pairs: Pairs, tables: Any) -> None:
    prepared, neighbours = asked(question, pairs, tables)
    found = losses(prepared, neighbours)
    assert max(found) <= EPSILON + 1e-9
    assert max(found) > 0.3 * EPSILON


@pytest.mark.parametrize("question", CLINICAL, ids=lambda question: type(question).__name__)
def test_what_leaves_follows_from_the_noisy_counts_alone(question: Any, pairs: Pairs, tables: Any) -> None:
    prepared, neighbours = asked(question, pairs, tables)
    for few, many in neighbours:
        with record() as trace:
            first = prepared.answer(few)
        with replay(trace):
            second = prepared.answer(many)
        assert first == second


def test_a_table_that_counts_every_row_is_caught(pairs: Pairs, tables: Any) -> None:
    prepared = Facts.of(dp.clinic.Association("pirads", "bph"), pairs.schema).at(EPSILON)
    broken = replace(prepared, plan=unbounded(prepared.plan))
    assert max(losses(broken, pairs.ask(broken.plan, *tables))) > EPSILON
