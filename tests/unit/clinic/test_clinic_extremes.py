"""Whatever the noise leaves, a paid question is answered: no table of counts makes an estimate fail or end in NaN."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
from neighbours import CLINICAL, schema_of

import pydplib as dp
from pydplib.clinic.question import Clinical
from pydplib.engine import ExactTable
from pydplib.release.facts import Facts

TABLES = [question for question in CLINICAL if isinstance(question, Clinical)]


def tables(cells: int) -> list[np.ndarray]:
    """Return hostile counts: nobody, everybody in one cell, one large and all others few, very many."""
    seeded = np.random.default_rng(1)
    one = np.zeros(cells, dtype=np.int64)
    found = [one, one + 1, *(np.eye(cells, dtype=np.int64)[place] * 500 for place in range(cells))]
    found += [seeded.integers(0, 3, cells) for _ in range(20)]
    found += [one + 2**40, np.eye(cells, dtype=np.int64)[0] * 2**50]
    return found


@pytest.mark.parametrize("question", TABLES, ids=lambda question: type(question).__name__)
@pytest.mark.parametrize("epsilon", [0.01, 1.0, 50.0])
def test_every_table_is_answered_and_stored(question: Any, epsilon: float) -> None:
    purchase = Facts.of(question, schema_of()).at(epsilon)
    keys = purchase.plan.keys
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for counts in tables(len(keys)):
            release = purchase.answer(ExactTable(purchase.plan, keys, (counts,)))
            assert dp.Release.from_json(release.to_json()) == release
            if release.population is not None:
                low, high = release.population
                assert np.all(low <= release.value) and np.all(release.value <= high)
