"""The noise of two tables at once follows its law; faults that were planted in it are noticed."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from itertools import product

import numpy as np
import pytest

from pydplib.noise import pairs
from pydplib.noise.pairs import pair_noise
from pydplib.noise.testing import SeededSource

N = 150_000


def norm(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    return np.asarray(np.maximum(np.abs(x).sum(axis=-1), np.abs(y).sum(axis=-1)))


def listed(first: int, second: int, reach: int) -> np.ndarray:
    """Return all pairs of vectors with equal sums and a norm of at most ``reach``, a row each."""
    cells = np.array(list(product(range(-reach, reach + 1), repeat=first + second)))
    x, y = cells[:, :first], cells[:, first:]
    return cells[(x.sum(axis=1) == y.sum(axis=1)) & (norm(x, y) <= reach)]


def fit(
    law, drawn: tuple[np.ndarray, np.ndarray], scale: Fraction, reach: int, size: Callable[..., np.ndarray] = norm
) -> float:
    """Return the p-value of every single pair of vectors within reach, and of all beyond it, given the reach."""
    x, y = drawn
    first = x.shape[1]
    cells = listed(first, y.shape[1], reach)
    weights = np.exp(-size(cells[:, :first], cells[:, first:]) / float(scale))
    base = 2 * reach + 1
    powers = base ** np.arange(cells.shape[1])
    inside = norm(x, y) <= reach
    codes = (np.concatenate([x, y], axis=1)[inside] + reach) @ powers
    names = (cells + reach) @ powers
    order = np.argsort(names)
    counts = np.bincount(np.searchsorted(names[order], codes), minlength=len(names))
    weights = weights[order] / weights.sum()
    rare = weights * inside.sum() < 10
    merged = [*counts[~rare], counts[rare].sum()], [*weights[~rare], weights[rare].sum()]
    return float(law.fit_shares(*(np.array(part)[np.array(merged[1]) > 0] for part in merged)))


CASES = [(1, 1, Fraction(2), 9), (2, 2, Fraction(1), 6), (1, 3, Fraction(3, 2), 6), (3, 2, Fraction(2, 3), 5)]


@pytest.mark.parametrize(("first", "second", "scale", "reach"), CASES)
def test_every_pair_of_vectors_has_its_chance_and_wrong_scales_are_noticed(law, first, second, scale, reach):
    drawn = pair_noise(scale, N, first, second, source=SeededSource(1))
    assert fit(law, drawn, scale, reach) > law.ALARM
    for factor in law.WRONG:
        assert fit(law, drawn, scale * Fraction(factor), reach) < law.ALARM


def test_another_norm_is_noticed(law):
    drawn = pair_noise(Fraction(1), N, 2, 2, source=SeededSource(2))

    def sums(x: np.ndarray, y: np.ndarray) -> np.ndarray:
        return np.asarray((np.abs(x).sum(axis=-1) + np.abs(y).sum(axis=-1)) / 2)

    assert fit(law, drawn, Fraction(1), 6) > law.ALARM
    assert fit(law, drawn, Fraction(1), 6, sums) < law.ALARM


@pytest.mark.parametrize("fault", ["zero twice", "no ties", "one term less"])
def test_planted_faults_of_the_sampler_are_noticed(law, monkeypatch, fault):
    if fault == "zero twice":  # minus zero is not drawn again
        monkeypatch.setattr(pairs.np, "flatnonzero", lambda found: np.nonzero(found)[0][:0])
    elif fault == "no ties":  # parts are placed with repetition
        monkeypatch.setattr(pairs, "uniform_below_each", lambda bounds, source=None: np.zeros_like(bounds))
    else:
        real = pairs.chances_of
        monkeypatch.setattr(pairs, "chances_of", lambda *args: np.append(0.0, real(*args)[1:]))
    drawn = pair_noise(Fraction(1), N, 3, 2, source=SeededSource(3))
    assert fit(law, drawn, Fraction(1), 5) < law.ALARM


@pytest.mark.parametrize(("first", "second"), [(2, 3), (7, 7), (4, 12)])
def test_the_norm_of_wide_noise_is_a_gamma_variable(law, first, second):
    from scipy import stats

    scale = 3 * 2**16
    x, y = pair_noise(Fraction(scale), 40_000, first, second, source=SeededSource(4))
    found = norm(x, y) / scale
    shape = first + second - 1
    assert stats.kstest(found, stats.gamma(shape).cdf).pvalue > law.ALARM
    assert stats.kstest(found * 1.03, stats.gamma(shape).cdf).pvalue < law.ALARM


def test_blocks_are_independent_and_cells_exchangeable(law):
    x, y = pair_noise(Fraction(1000), 60_000, 3, 4, source=SeededSource(6))
    size = norm(x, y)
    both = np.corrcoef(size[:-1], size[1:])[0, 1]
    assert abs(both) < 5 / math.sqrt(len(size))
    for table in (x, y):
        spread = table.std(axis=0)
        assert (np.abs(spread / spread.mean() - 1) < 0.03).all() and (
            np.abs(table.mean(axis=0)) < 5 * spread / 240
        ).all()
