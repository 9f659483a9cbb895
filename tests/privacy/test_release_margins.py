"""Margins are the smallest that cover: exactly on a grid, and between 93 and 98 % of runs for ratios."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

import pydplib as dp
from pydplib.release.choosing import QuantileNoise
from pydplib.release.noisy import CountNoise, MeanNoise, SumNoise, VarianceNoise
from pydplib.release.tails import margin_steps, pair_tail, share_interval, triple_quantile, triple_tail

RUNS = 2000
# 2000 runs at 95 %: a share outside 93-98 % has a chance below 1e-4 on the low side; one retry makes it 1e-8.
LOW, HIGH = 0.93, 0.98


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
    steps = round(noise.margin * per_row)
    assert exact_cover(noise.scale, steps) >= 0.95 > exact_cover(noise.scale, steps - 1)


def test_margin_of_array_count_at_epsilon_one_is_three():
    assert dp.count(range(50), epsilon=1.0).margin95 == 3


def covered(ask) -> float:
    hits = ask()
    if not LOW <= hits <= HIGH:
        hits = (hits + ask()) / 2
    return hits


@pytest.mark.parametrize("share", [0.02, 0.3, 0.5, 0.93])
@pytest.mark.parametrize("size", [60, 920])
def test_interval_of_a_mean_covers_as_often_as_it_says(share, size):
    noise = MeanNoise(1, 1, 2**20, 18.0, 100.0, Fraction(1))
    above = np.full(RUNS, round(share * size * noise.top), dtype=np.int64)

    def ask() -> float:
        noisy = noise.apply(above, size * noise.top - above)
        truth = 18 + 82 * above[0] / (size * noise.top)
        return float(np.mean((noisy.low <= truth) & (truth <= noisy.high)))

    assert LOW <= covered(ask) <= HIGH


@pytest.mark.parametrize("data", ["uniform", "ages", "skewed"])
def test_interval_of_a_variance_covers_as_often_as_it_says(data):
    rng = np.random.default_rng(5)
    x = {
        "uniform": rng.uniform(-1, 1, 1000),
        "ages": np.clip(rng.normal(0.17, 0.2, 1000), -1, 1),
        "skewed": np.clip(rng.exponential(0.3, 1000) - 1, -1, 1),
    }[data]
    half = 2**18
    q = np.round(x * half).astype(np.int64)
    noise = VarianceNoise(1, 1, half**2, half, 1 / half**2, 1 / half, 1.0, Fraction(1))
    squares, total = int((q * q).sum()), int(q.sum())

    def ask() -> float:
        ones = np.ones(RUNS, dtype=np.int64)
        noisy = noise.apply(squares * ones, (1000 * half**2 - squares) * ones, total * ones)
        truth = float((q / half).var())
        return float(np.mean((noisy.low <= truth) & (truth <= noisy.high)))

    assert LOW <= covered(ask) <= HIGH


def test_interval_of_a_mean_with_a_planted_half_scale_is_rejected():
    noise = MeanNoise(1, 1, 2**20, 18.0, 100.0, Fraction(1))
    above = np.full(RUNS, 460 * noise.top, dtype=np.int64)
    noisy = noise.apply(above, above)
    half = noisy.margins / 2
    hits = float(np.mean(np.abs(noisy.values - 59) <= half))
    assert not LOW <= hits <= HIGH


def test_rank_margin_of_a_median_covers():
    counts = np.bincount(np.random.default_rng(3).integers(0, 83, 920), minlength=83).astype(np.int64)
    noise = QuantileNoise(1, 1, (Fraction(1, 2),), 83, Fraction(1, 4))
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
def test_triple_quantile_leaves_five_percent_outside(scales):
    z = np.random.default_rng(2).laplace(size=(3, 400_000)) * np.array(scales)[:, None]
    assert np.mean(np.abs(z.sum(axis=0)) > triple_quantile(scales)) == pytest.approx(0.05, abs=0.003)
    assert triple_tail(triple_quantile(scales), scales) == pytest.approx(0.05, abs=1e-6)


def test_share_interval_without_a_known_size_is_everything():
    assert share_interval(-5.0, 3.0, 10.0) == (0.0, 1.0)


def test_sum_margin_is_in_the_values_unit():
    noise = SumNoise(1, 1, 1024, 10 / 1024, 1, Fraction(1))
    assert noise.margin == pytest.approx(10 * math.log(20), rel=0.01)
