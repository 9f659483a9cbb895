"""Margins are the smallest that cover: exactly on a grid, and between 93 and 98 % of runs for ratios."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

import pydplib as dp
from pydplib.noise.testing import seeded
from pydplib.release.statistics.count import CountNoise
from pydplib.release.statistics.mean import MeanNoise
from pydplib.release.statistics.noise import Noisy, margin_steps, pair_tail, share_interval, triple_tail
from pydplib.release.statistics.quantiles import QuantileNoise
from pydplib.release.statistics.sum import SumNoise
from pydplib.release.statistics.variance import VarianceNoise

RUNS = 2000
LOW, HIGH = 0.93, 0.98  # of seeded runs: the same in every run of the tests, so that no chance of a false alarm is left


def exact_cover(scale: Fraction, steps: int) -> float:
    a = math.exp(-1 / float(scale))
    return 1 - 2 * a ** (steps + 1) / (1 + a)


@pytest.mark.parametrize("scale", [Fraction(1, 5), Fraction(1), Fraction(7, 3), Fraction(30), Fraction(3 * 65536)])
@pytest.mark.parametrize("cells", [1, 9, 205])
def test_margin_on_a_grid_covers_and_one_step_less_does_not(scale, cells):
    steps = margin_steps(scale, cells=cells)
    assert exact_cover(scale, steps) ** cells >= 0.95 - 1e-12
    assert steps == 0 or exact_cover(scale, steps - 1) ** cells < 0.95


@pytest.mark.parametrize("per_row", [1, 65536])
def test_margin_of_released_counts_is_the_smallest_step_that_covers(per_row):
    noise = CountNoise(rows=3, per_row=per_row, cells=1, epsilon=Fraction(1, 2))
    steps = round(noise.margin() * per_row)
    assert exact_cover(noise.scale, steps) >= 0.95 > exact_cover(noise.scale, steps - 1)


def test_margin_of_array_count_at_epsilon_one_is_three():
    assert dp.count(range(50), epsilon=1.0).margin95 == 3


def covers(low: np.ndarray, high: np.ndarray, truth: float) -> float:
    return float(np.mean((low <= truth + 1e-9) & (truth <= high + 1e-9)))


@pytest.mark.parametrize("share", [0.02, 0.3, 0.5, 0.93])
@pytest.mark.parametrize("size", [60, 920])
def test_interval_of_a_mean_covers_as_often_as_it_says(share, size):
    noise = MeanNoise(rows=1, per_row=1, top=2**20, low=18.0, high=100.0, epsilon=Fraction(1))
    above = np.full(RUNS, round(share * size * noise.top), dtype=np.int64)
    with seeded(920):
        noisy = noise.apply(above, size * noise.top - above)
    assert LOW <= covers(noisy.low, noisy.high, 18 + 82 * above[0] / (size * noise.top)) <= HIGH


HALF = 2**18


def released_variances(values: np.ndarray, epsilon: Fraction, runs: int = RUNS) -> tuple[Noisy, float]:
    """Values in -1 .. 1; returns seeded releases and the truth."""
    steps = np.round(values * HALF).astype(np.int64)
    squares, total = int((steps * steps).sum()), int(steps.sum())
    noise = VarianceNoise(
        rows=1, per_row=1, top=HALF**2, half=HALF, square_step=1 / HALF**2, step=1 / HALF, most=1.0, epsilon=epsilon
    )
    sums = squares, len(values) * HALF**2 - squares, total
    with seeded(len(values)):
        found = noise.apply(*(np.full(runs, number, dtype=np.int64) for number in sums))
    return found, float((steps / HALF).var())


def people(kind: str, size: int) -> np.ndarray:
    rng = np.random.default_rng(5)
    return {
        "uniform": lambda: rng.uniform(-1, 1, size),
        "ages": lambda: np.clip(rng.normal(0.17, 0.2, size), -1, 1),
        "skewed": lambda: np.clip(rng.exponential(0.3, size) - 1, -1, 1),
    }[kind]()


@pytest.mark.parametrize("epsilon", [Fraction(1, 10), Fraction(1), Fraction(5)], ids=float)
@pytest.mark.parametrize("size", [50, 200, 1000, 10_000])
@pytest.mark.parametrize("kind", ["uniform", "ages", "skewed"])
def test_interval_of_a_variance_covers_as_often_as_it_says(kind, size, epsilon):
    noisy, truth = released_variances(people(kind, size), epsilon)
    share = covers(noisy.low, noisy.high, truth)
    assert share >= LOW
    if np.mean((noisy.low == 0) | (noisy.high == 1)) < 0.5:  # else the public limits are in play
        assert share <= HIGH


@pytest.mark.parametrize("rows", [8, 20, 35, 60])
def test_interval_of_a_variance_covers_at_the_corners_of_all_that_is_possible(rows):
    # All people at one bound, all in the middle, half at each bound, and in between; epsilon 1.
    corners = [[1.0], [0.0], [-1.0, 1.0], [-1.0, 1.0, 1.0, 1.0], [0.4, 1.0], [-0.2, 0.6]]
    least = 0.95 - 5 * math.sqrt(0.05 * 0.95 / RUNS)
    for corner in corners:
        noisy, truth = released_variances(np.resize(corner, rows), Fraction(1))
        assert covers(noisy.low, noisy.high, truth) >= least, corner


@pytest.mark.parametrize("factor", [0.5, 0.8, 1.35, 2.0])
def test_interval_of_a_variance_planted_wrong_width_is_rejected(factor):
    noisy, truth = released_variances(people("uniform", 1000), Fraction(1))
    low, high = (noisy.values + factor * (end - noisy.values) for end in (noisy.low, noisy.high))
    assert not LOW <= covers(low, high, truth) <= HIGH


def test_interval_of_a_mean_with_a_planted_half_scale_is_rejected():
    noise = MeanNoise(rows=1, per_row=1, top=2**20, low=18.0, high=100.0, epsilon=Fraction(1))
    above = np.full(RUNS, 460 * noise.top, dtype=np.int64)
    with seeded(920):
        noisy = noise.apply(above, above)
    half = noisy.margins / 2
    assert not LOW <= covers(noisy.values - half, noisy.values + half, 59.0) <= HIGH


def test_rank_margin_of_a_median_covers():
    counts = np.bincount(np.random.default_rng(3).integers(0, 83, 920), minlength=83).astype(np.int64)
    noise = QuantileNoise(rows=1, per_row=1, shares=(Fraction(1, 2),), points=83, epsilon=Fraction(1, 4))
    picks = noise.apply(np.tile(counts, (400, 1))).values[:, 0]
    upto = np.cumsum(counts)
    off = np.maximum(np.maximum((upto - counts)[picks] - 460, 460 - upto[picks]), 0)
    assert np.mean(off <= noise.margin(Fraction(1, 2))) >= 0.95


@pytest.mark.parametrize("scales", [(1.0, 1.0), (1.0, 0.3), (2.0, 0.0), (1.0, 0.99999)])
def test_pair_tail_agrees_with_simulation(scales):
    z = np.random.default_rng(1).laplace(size=(2, 400_000)) * np.array(scales)[:, None]
    for distance in (0.5, 2.0, 5.0):
        assert pair_tail(distance, *scales) == pytest.approx(np.mean(np.abs(z.sum(axis=0)) > distance), abs=0.005)


@pytest.mark.parametrize("scales", [(1.0, 1.0, 1.0), (1.0, 0.5, 0.2), (1.0, 0.0, 0.0), (0.3, 0.3, 2.0)])
def test_triple_tail_agrees_with_simulation(scales):
    z = np.random.default_rng(2).laplace(size=(3, 400_000)) * np.array(scales)[:, None]
    for distance in (0.5, 2.0, 5.0):
        assert triple_tail(distance, scales) == pytest.approx(np.mean(np.abs(z.sum(axis=0)) > distance), abs=0.005)


def test_share_interval_without_a_known_size_is_everything():
    assert share_interval(-5.0, 3.0, 10.0) == (0.0, 1.0)


def test_sum_margin_is_in_the_values_unit():
    noise = SumNoise(rows=1, per_row=1, largest=1024, step=10 / 1024, cells=1, epsilon=Fraction(1))
    assert noise.margin() == pytest.approx(10 * math.log(20), rel=0.01)
