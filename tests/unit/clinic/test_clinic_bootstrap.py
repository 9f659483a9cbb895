"""The bootstrap of tests: counts are Poisson counts, and a test that stops early decides as one that does not."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import stats

from clinic import TESTS, add_noise, seeds
from pydplib.clinic.association import independence_test, trend_test
from pydplib.clinic.intervals import PoissonCells, bootstrap_p, laplace_draws, uniforms
from pydplib.clinic.survival_curves import log_rank_test

WHOLE: dict[str, Any] = {
    "chi-squared": lambda table, scale: independence_test(table, scale).p,
    "trend": lambda table, scale: trend_test(table, np.arange(table.shape[1], dtype=float), scale).p,
    "log-rank": lambda table, scale: log_rank_test(table, scale).p,
}


def test_counts_are_those_of_scipys_inverse() -> None:
    means = np.array([[0.0, 1e-9, 0.3, 1.0], [7.5, 63.2, 950.0, 9_999.0]])
    chances = uniforms("inverse", 400 * means.size).reshape(400, *means.shape)
    assert (PoissonCells.of(means).draw(chances) == stats.poisson.ppf(chances, means)).all()


def test_large_counts_are_those_of_the_normal_law() -> None:
    means = np.array([2e4, 5.0, 1e12])
    drawn = PoissonCells.of(means).draw(uniforms("large", 3 * 4000).reshape(4000, 3))
    assert np.allclose(drawn.mean(axis=0), means, rtol=4 / np.sqrt(means * 4000))
    assert np.allclose(drawn.var(axis=0) / means, 1.0, atol=0.1)


@pytest.mark.parametrize("name", sorted(TESTS))
def test_a_test_that_stops_early_decides_as_one_that_does_not(name: str) -> None:
    nothing, something, early = TESTS[name]
    generator = seeds(name, 300, 1.0, 99)
    found = []
    for chances in (nothing, something):
        for exact in generator.multinomial(300, chances.ravel() / chances.sum(), 12).reshape(12, *chances.shape):
            table = exact + add_noise(generator, 1.0, exact.shape)
            p, whole = early(table, 1.0), WHOLE[name.split(",")[0]](table, 1.0)
            assert (p <= 0.05) == (whole <= 0.05)
            assert p == whole if whole <= 0.05 else p <= whole
            found.append(whole <= 0.05)
    assert any(found) and not all(found)


def test_replicates_are_those_of_one_draw_after_the_other() -> None:
    """The slow way: one table at a time, by SciPy's inverse, from the same random numbers."""
    means, scale = np.array([[12.0, 8.0], [5.0, 9.0]]), 2.0
    hits = 0
    for start in range(0, 999, 111):
        chances = uniforms(("bootstrap", "key", (111, 2, 2), start), 2 * 111 * 4).reshape(2, 111, 2, 2)
        for sampled, added in zip(*chances, strict=True):
            table = stats.poisson.ppf(sampled, means) + laplace_draws(scale, added)
            hits += table[0, 0] >= 14
    assert bootstrap_p(14.0, means, scale, lambda drawn: drawn[:, 0, 0], key="key") == (1 + hits) / 1000
