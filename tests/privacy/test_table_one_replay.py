"""Table 1: one person, who is in one cell of every variable's table, loses at most epsilon in all of them together."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from neighbours import CHOSEN, Pairs, losses

import pydplib as dp
from pydplib.engine import ExactTable
from pydplib.noise.testing import record, replay
from pydplib.release.facts import Facts, Purchase

EPSILON = 1.0
ASKED = [
    dp.clinic.TableOne(["age", "pirads", "lesions"], by="bph", per_person=dp.Person().first_row(order="day")),
    dp.clinic.TableOne({"age": [18, 40, 60, 100], "pirads": ...}, by="bph"),
    dp.clinic.TableOne(["pirads", "bph"], where=[dp.Where("age").at_least(40)]),
]


@pytest.fixture(scope="module")
def pairs() -> Pairs:
    return Pairs(CHOSEN)


@pytest.fixture(scope="module")
def tables(pairs: Pairs) -> Iterator[tuple[dp.engine.Table, dp.engine.Table]]:
    with dp.load(pairs.smaller, pairs.schema) as smaller, dp.load(pairs.larger, pairs.schema) as larger:
        yield smaller, larger


def counted(purchase: Purchase, pairs: Pairs, table: dp.engine.Table) -> list[ExactTable]:
    """Return the integers of every example, as ``Purchase.count`` gives them of one."""
    cells = table.tables([pairs.plan(plan) for plan in purchase.plans])
    found = []
    for example in range(pairs.count):
        flat = np.concatenate([counts[example].ravel() for counts in cells])
        found.append(ExactTable(purchase.plan, tuple((place,) for place in range(flat.size)), (flat,)))
    return found


def neighbours(question: Any, pairs: Pairs, tables: Any) -> tuple[Purchase, list[tuple[ExactTable, ExactTable]]]:
    purchase = Facts.of(question, pairs.schema).at(EPSILON)
    return purchase, list(zip(*(counted(purchase, pairs, table) for table in tables), strict=True))


@pytest.mark.parametrize("question", ASKED, ids=repr)
def test_one_person_loses_at_most_epsilon_and_somebody_all_of_it(question: Any, pairs: Pairs, tables: Any) -> None:
    found = losses(*neighbours(question, pairs, tables))
    assert max(found) <= EPSILON + 1e-9
    assert max(found) > 0.99 * EPSILON


@pytest.mark.parametrize("question", ASKED, ids=repr)
def test_what_leaves_follows_from_the_noisy_counts_alone(question: Any, pairs: Pairs, tables: Any) -> None:
    purchase, both = neighbours(question, pairs, tables)
    for few, many in both:
        with record() as trace:
            first = purchase.answer(few)
        with replay(trace):
            second = purchase.answer(many)
        assert first == second and first.printed.rows == second.printed.rows


def test_one_example_is_counted_as_a_session_counts_it(pairs: Pairs) -> None:
    from neighbours import arrow, schema_of

    others, person = CHOSEN[1]
    with dp.load(arrow([*others, person]), schema_of()) as table:
        for question in ASKED:
            purchase = Facts.of(question, table.schema).at(EPSILON)
            exact = purchase.count(table)
            assert exact[0].size == purchase.question.shape(purchase.facts)[0]
