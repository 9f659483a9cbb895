"""Exact distributions, and tests of fit with a false alarm below one in a million."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction

import numpy as np
import pytest
from flip_law import flip_chances
from scipy import stats

# The chi-square law is an approximation; a threshold of 1e-9 keeps the true false alarm below 1e-6.
ALARM = 1e-9


def laplace_cdf(scale: float) -> Callable[[np.ndarray], np.ndarray]:
    """P(Z <= k) of the discrete Laplace."""
    a = math.exp(-1 / scale)

    def cdf(k: np.ndarray) -> np.ndarray:
        k = np.asarray(k, dtype=np.float64)
        return np.where(k >= 0, 1 - np.exp(-(k + 1) / scale) / (1 + a), np.exp(np.minimum(k, 0) / scale) / (1 + a))

    return cdf


def gaussian_cdf(variance: float) -> Callable[[np.ndarray], np.ndarray]:
    """P(Z <= k) of the discrete Gaussian, by summing its weights (sigma up to about 1e5)."""
    reach = math.ceil(40 * math.sqrt(variance)) + 5
    z = np.arange(-reach, reach + 1, dtype=np.float64)
    weights = np.exp(-z * z / (2 * variance))
    cumulative = np.cumsum(weights) / math.fsum(weights)

    def cdf(k: np.ndarray) -> np.ndarray:
        where = np.clip(np.asarray(k, dtype=np.int64) + reach, -1, 2 * reach)
        return np.where(where < 0, 0.0, cumulative[np.maximum(where, 0)])

    return cdf


def fit(samples: np.ndarray, cdf: Callable[[np.ndarray], np.ndarray], bins: int = 40) -> float:
    """The p-value of whole-number samples against a distribution, by chi-square over bins of about equal chance.

    A tenth of the samples chooses the edges, the rest is counted. Bins with fewer than 30 expected counts under
    the distribution tested are merged with their neighbours.
    """
    few = len(samples) // 10
    edges = np.unique(np.quantile(samples[:few], np.linspace(0.02, 0.98, bins), method="lower").astype(np.int64))
    rest = samples[few:]
    expected = np.diff(np.concatenate(([0.0], cdf(edges), [1.0]))) * len(rest)
    counts = np.bincount(np.searchsorted(edges, rest, side="left"), minlength=len(edges) + 1)
    merged: list[list[float]] = []
    for e, c in zip(expected, counts, strict=True):
        if merged and merged[-1][0] < 30:
            merged[-1][0] += e
            merged[-1][1] += c
        else:
            merged.append([e, float(c)])
    if merged[-1][0] < 30:
        last = merged.pop()
        merged[-1][0] += last[0]
        merged[-1][1] += last[1]
    assert len(merged) > 1, "too few bins: the test would have no power"
    return fit_shares(*np.array(merged).T[::-1])


def fit_shares(counts: np.ndarray, chances: np.ndarray) -> float:
    """The p-value of counts against chances."""
    return float(stats.chisquare(counts, np.asarray(chances) / np.sum(chances) * np.sum(counts)).pvalue)


def fit_coin(heads: np.ndarray, chance: float) -> float:
    """The exact binomial p-value of coins."""
    return float(stats.binomtest(int(np.sum(heads)), len(heads), chance).pvalue)


class Fit:
    """The helpers above, as one fixture."""

    ALARM = ALARM
    WRONG = (0.5, 0.7, 1.3, 2.0)  # planted factors of the scale
    laplace_cdf = staticmethod(laplace_cdf)
    gaussian_cdf = staticmethod(gaussian_cdf)
    fit = staticmethod(fit)
    fit_shares = staticmethod(fit_shares)
    fit_coin = staticmethod(fit_coin)

    @staticmethod
    def steps(values: np.ndarray, exponent: int) -> np.ndarray:
        """Floats on a grid as whole steps (asserted)."""
        steps = np.ldexp(values, -exponent)
        assert np.array_equal(steps, np.floor(steps)), "the values do not lie on the grid"
        return steps.astype(np.int64)

    @staticmethod
    def flip_chances(scores: np.ndarray, unit: Fraction | float) -> np.ndarray:
        """Permute-and-flip's exact chances."""
        return flip_chances(np.exp(float(unit) * (np.asarray(scores) - np.max(scores))))


@pytest.fixture(scope="session")
def law() -> type[Fit]:
    return Fit
