"""Paper mode's noise of every kind is recorded, repeatable from a seed, and moves by one record at most."""

from __future__ import annotations

import math
from typing import Any

import pytest

import pydplib as dp
from pydplib.noise.testing import check_neighbours, record, replay, seeded

COLUMNS: dict[str, list[Any]] = {
    "bool": [True, False, False, True] * 50,
    "category": ["chr", "y", "n", "acute"] * 50,
    "integer": [55, 61, 70, 82] * 50,
    "float": [55.5, 61.25, 70.0, 82.75] * 50,
}
PUBLIC: dict[str, dict[str, Any]] = {
    "bool": {},
    "category": {"categories": ["chr", "y", "n", "acute", "acute on chronic"]},
    "integer": {"bounds": (18, 100)},
    "float": {"bounds": (18, 100)},
}


def _noisy(kind: str, column: list[Any]) -> Any:
    return dp.dp_calculate(column, query_type="mean", is_range=kind == "category", record_epsilon=1.0, **PUBLIC[kind])


@pytest.mark.parametrize("kind", COLUMNS)
def test_a_seed_repeats_paper_noise_of_every_kind(kind: str) -> None:
    def draw(seed: int) -> list[Any]:
        with seeded(seed):
            return list(_noisy(kind, COLUMNS[kind]).dp_data)

    assert draw(7) == draw(7)
    assert draw(7) != draw(8)


@pytest.mark.parametrize("kind", ["bool", "category"])
def test_one_changed_record_moves_one_record_at_the_tap(kind: str) -> None:
    column = COLUMNS[kind]
    neighbour = [column[1], *column[1:]]
    with record() as first:
        _noisy(kind, column)
    assert first.passed, "the noise must pass the tap"
    with replay(first) as second:
        _noisy(kind, neighbour)
    check_neighbours(first, second)
    assert sum(int((a.exact != b.exact).sum()) for a, b in zip(first.passed, second.passed, strict=True)) == 1


def test_the_epsilon_at_the_tap_of_flips_is_the_one_claimed() -> None:
    with record() as trace:
        result = _noisy("bool", COLUMNS["bool"])
    assert math.isclose(trace.passed[0].call.epsilon, result.record_epsilon, rel_tol=1e-9)
    assert trace.passed[0].call.epsilon <= 1.0 + 1e-12
