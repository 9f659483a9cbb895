"""The sampling hash is keyed, fair on consecutive ids, and the same in every spelling."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

import pydplib as dp
from pydplib.engine import Bound, Measure, Plan
from pydplib.engine.bounds import PRIME

PERSONS, REPORTS = 4000, 10
SCHEMA = dp.Schema({"turn": dp.Integer(0, REPORTS - 1)}, person="id", max_rows_per_person=1)
FRAME = pl.DataFrame(
    {
        "id": np.repeat(np.arange(PERSONS), REPORTS),
        "report": np.arange(PERSONS * REPORTS),  # consecutive, as real report ids are
        "turn": np.tile(np.arange(REPORTS), PERSONS),
    }
)
# 9 degrees of freedom: chi-square beyond 46 has probability below 1e-6.
LIMIT = 46.0


def chosen_turns(salt: str) -> np.ndarray:
    bound = Bound("id", 1, mode="sample", row_key="report", salt=salt)
    plan = Plan(SCHEMA, by=["turn"], bound=bound, measures=[Measure("count")])
    return dp.load(FRAME, SCHEMA).aggregate(plan)[0]


def unfairness(counts: np.ndarray) -> float:
    expected = PERSONS / REPORTS
    return float(((counts - expected) ** 2 / expected).sum())


@pytest.mark.parametrize("salt", ["one", "two", "three"])
def test_every_report_is_chosen_equally_often_when_ids_are_consecutive(salt: str) -> None:
    counts = chosen_turns(salt)
    assert counts.sum() == PERSONS
    assert unfairness(counts) < LIMIT


def test_a_linear_hash_would_be_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    """The twin: with the cubic and square terms gone, consecutive ids are chosen very unevenly."""
    cubic = Bound.coefficients
    monkeypatch.setattr(Bound, "coefficients", lambda self, purpose: (0, 0, *cubic(self, purpose)[2:]))
    assert max(unfairness(chosen_turns(salt)) for salt in ("one", "two", "three")) > LIMIT


def test_another_salt_chooses_other_rows() -> None:
    bounds = [Bound("id", 1, mode="sample", row_key="report", salt=salt) for salt in ("one", "two")]
    plans = [Plan(SCHEMA, bound=b, measures=[Measure("sum", "turn", low=0, high=9, step=1)]) for b in bounds]
    table = dp.load(FRAME, SCHEMA)
    assert table.aggregate(plans[0])[0] != table.aggregate(plans[1])[0]
    assert table.aggregate(plans[0])[0] == table.aggregate(plans[0])[0]


def test_coefficients_lie_in_the_field_and_differ_by_purpose() -> None:
    bound = Bound("id", 1, mode="sample", salt="s")
    assert all(0 <= c < PRIME for c in bound.coefficients("rows"))
    assert bound.coefficients("rows") != bound.coefficients("groups")
    # Horner's steps stay below 2^63: the largest product plus the largest summand.
    assert (PRIME - 1) * (PRIME - 1) + (PRIME - 1) < 2**63
