"""Black-box audits: every mechanism keeps its claim, the tight ones come near it, and planted faults are caught."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from pydplib.mechanisms import CoinFlip, Exponential, Gaussian, Geometric, Laplace, PermuteAndFlip, RandomizedResponse
from pydplib.noise import add_gaussian, from_grid, laplace_records, to_grid

N = 400_000
CHOICES = 12_000


def _laplace(value: float, sensitivity: float = 1.0, epsilon: float = 1.0) -> np.ndarray:
    """N releases of one number. max_changes=1: each value gets the grid and the noise of a single number."""
    mechanism = Laplace(sensitivity, epsilon, max_changes=1)
    assert mechanism._grid(N) == Laplace(sensitivity, epsilon)._grid(1)
    return mechanism.release(np.full(N, value))


def _gaussian(value: float, mechanism: Gaussian) -> np.ndarray:
    """N releases of one number: the lines of ``Gaussian.release`` with the grid of a single number."""
    exponent, squared, variance = mechanism._grid(1)
    exact = to_grid(np.full(N, value), exponent)
    return from_grid(add_gaussian(exact, variance, sensitivity_squared=squared), exponent)


def _picks(mechanism, scores) -> np.ndarray:
    scores = np.array(scores)
    return np.array([mechanism.release(scores) for _ in range(CHOICES)])


# One candidate rises by the sensitivity, all others fall by it: the worst neighbours of a choice.
FLAT, MOVED = [0] * 20, [1] + [-1] * 19

NEIGHBOURS = {
    "laplace": lambda: (_laplace(0.0), _laplace(1.0)),
    "laplace between grid points": lambda: (_laplace(0.1, 0.3), _laplace(0.4, 0.3)),
    "laplace records": lambda: (laplace_records(np.zeros(N), 1.0), laplace_records(np.ones(N), 1.0)),
    "geometric": lambda: (
        Geometric(1, 1.0).release(np.full(N, 7)),
        Geometric(1, 1.0).release(np.full(N, 8)),
    ),
    "geometric by three": lambda: (
        Geometric(3, 1.0).release(np.full(N, 7)),
        Geometric(3, 1.0).release(np.full(N, 10)),
    ),
    "randomised response of two": lambda: (
        RandomizedResponse([0, 1], 1.0).release_codes(np.zeros(N, dtype=np.int64)),
        RandomizedResponse([0, 1], 1.0).release_codes(np.ones(N, dtype=np.int64)),
    ),
    "randomised response of five": lambda: (
        RandomizedResponse(range(5), 1.0).release_codes(np.zeros(N, dtype=np.int64)),
        RandomizedResponse(range(5), 1.0).release_codes(np.full(N, 3)),
    ),
}


@pytest.mark.parametrize("name", NEIGHBOURS)
def test_audit_tight_mechanism_keeps_epsilon_one_and_comes_near_it(auditor, name):
    first, second = NEIGHBOURS[name]()
    # Record noise is rounded to its grid: it promises (d + step) / scale.
    claim = 1.0 + (2**-10 if name == "laplace records" else 0.0)
    assert auditor.audit(first, second, confidence=auditor.HOLDS).epsilon <= claim
    assert auditor.audit(first, second, confidence=auditor.CAUGHT).epsilon >= 0.9


def test_audit_coin_flip_keeps_ln_3_and_comes_near_it(auditor):
    yes, no = CoinFlip().release(np.ones(N, dtype=bool)), CoinFlip().release(np.zeros(N, dtype=bool))
    assert auditor.audit(yes * 1.0, no * 1.0, confidence=auditor.HOLDS).epsilon <= math.log(3)
    assert auditor.audit(yes * 1.0, no * 1.0).epsilon >= 0.9 * math.log(3)


def test_audit_laplace_array_moved_in_two_coordinates_keeps_epsilon_one(auditor):
    mechanism = Laplace(1, 1.0, max_changes=2)
    assert mechanism._grid(2 * N) == Laplace(1, 1.0)._grid(2)
    sums = [mechanism.release(np.full(2 * N, v)).reshape(N, 2) for v in (0.0, 0.5)]
    # The likelihood ratio is a function of how far both coordinates lie beyond the two centres.
    scores = [np.clip(s, 0.0, 0.5).sum(axis=1) for s in sums]
    assert auditor.audit(*scores, confidence=auditor.HOLDS).epsilon <= 1.0
    assert auditor.audit(*scores).epsilon >= 0.85


@pytest.mark.parametrize("delta", [1e-6, 1e-2])
def test_audit_gaussian_keeps_epsilon_and_delta(auditor, delta):
    mechanism = Gaussian(1, epsilon=1.0, delta=delta)
    finding = auditor.audit(_gaussian(0.0, mechanism), _gaussian(1.0, mechanism), delta=delta, confidence=auditor.HOLDS)
    assert 0 < finding.epsilon <= 1.0


@pytest.mark.parametrize("delta", [1e-3, 1e-1])
def test_audit_gaussian_keeps_rho(auditor, delta):
    mechanism = Gaussian(1, rho=0.5)
    finding = auditor.audit(_gaussian(0.0, mechanism), _gaussian(1.0, mechanism), delta=delta, confidence=auditor.HOLDS)
    assert 0 < finding.epsilon <= mechanism.guarantee.epsilon(delta)


def test_audit_gaussian_planted_quarter_scale_is_caught(auditor):
    claimed = Gaussian(1, epsilon=1.0, delta=1e-2)
    planted = Gaussian(1, rho=float(claimed._rho) * 16)
    found = auditor.audit(_gaussian(0.0, planted), _gaussian(1.0, planted), delta=1e-2)
    assert found.epsilon > 1.0


@pytest.mark.parametrize("cls", [Exponential, PermuteAndFlip])
def test_audit_choice_keeps_epsilon_one(auditor, cls):
    first, second = _picks(cls(1, 1.0), FLAT), _picks(cls(1, 1.0), MOVED)
    finding = auditor.audit(first, second, confidence=auditor.HOLDS)
    # So few choices prove a part of the true loss only (0.92 for the exponential mechanism), but not nothing.
    assert 0.2 < finding.epsilon <= 1.0


def test_audit_exponential_true_loss_of_these_neighbours_is_near_epsilon_one():
    # Not sampled: tests/noise shows that the picks follow these chances.
    def chance(scores):
        weights = np.exp(0.5 * np.array(scores, dtype=float))
        return weights / weights.sum()

    loss = np.abs(np.log(chance(MOVED) / chance(FLAT))).max()
    assert 0.9 < loss <= 1.0


@pytest.mark.parametrize("cls", [Exponential, pytest.param(PermuteAndFlip, marks=pytest.mark.slow)])
def test_audit_choice_planted_missing_factor_two_is_caught(auditor, cls):
    # exp(epsilon score / sensitivity): the factor 2 forgotten.
    first, second = _picks(cls(0.5, 1.0), [float(s) for s in FLAT]), _picks(cls(0.5, 1.0), [float(s) for s in MOVED])
    assert auditor.audit(first, second).epsilon > 1.0


@pytest.mark.parametrize(
    "planted",
    [
        lambda x: _laplace(x, 0.5, 1.0),
        lambda x: Geometric(1, 2.0).release(np.full(N, int(x))),
        lambda x: laplace_records(np.full(N, x), 0.5),
        lambda x: RandomizedResponse([0, 1], 2.0).release_codes(np.full(N, int(x))),
    ],
    ids=["laplace", "geometric", "laplace records", "randomised response"],
)
def test_audit_planted_half_scale_is_caught(auditor, planted):
    found = auditor.audit(planted(0.0), planted(1.0))
    assert found.epsilon > 1.5, str(found)


def _not_on_the_lattice(x: np.ndarray) -> np.ndarray:
    scaled = np.ldexp(x, 53)
    return scaled != np.floor(scaled)


LOW_BITS = [("the output is not a multiple of 2^-53", _not_on_the_lattice)]


def test_audit_planted_float_noise_is_caught_by_its_low_order_bits(auditor):
    rng = np.random.default_rng(1)
    found = auditor.audit(0.0 + rng.laplace(size=N), 1.0 + rng.laplace(size=N), events=LOW_BITS)
    assert found.epsilon > 5
    assert found.event == LOW_BITS[0][0]


def test_audit_float_noise_event_gives_nothing_away_here(auditor):
    zeros, ones = _laplace(0.0), _laplace(1.0)
    assert not _not_on_the_lattice(zeros).any() and not _not_on_the_lattice(ones).any()
    for value in (1 / 3, math.pi, 1e-17):  # not even where the value itself has low-order bits
        assert not _not_on_the_lattice(_laplace(value)).any()
    assert auditor.audit(zeros, ones, events=LOW_BITS, confidence=auditor.HOLDS).epsilon <= 1.0


AGES = [60.0] * 9 + [61.0]


def _sums(ages: list[float], bounds: tuple[float, float], clamp: bool = True) -> np.ndarray:
    """N releases of the sum of the ages above the lower bound, at epsilon 1."""
    low, high = bounds
    total = sum((min(max(a, low), high) if clamp else a) - low for a in ages)
    return _laplace(total, high - low)


def test_audit_planted_bounds_from_the_data_are_caught(auditor):
    # Bounds that follow the data: the noise itself tells that the oldest patient is there.
    def planted(ages):
        return _sums(ages, (min(ages), max(ages)))

    assert auditor.audit(planted(AGES), planted([*AGES, 100.0])).epsilon > 2.0
    public = _sums(AGES, (18, 100)), _sums([*AGES, 100.0], (18, 100))
    assert auditor.audit(*public, confidence=auditor.HOLDS).epsilon <= 1.0


def test_audit_planted_unclamped_input_is_caught(auditor):
    # An entry of 1000 years, outside the declared bounds.
    planted = _sums(AGES, (18, 100), clamp=False), _sums([*AGES, 1000.0], (18, 100), clamp=False)
    assert auditor.audit(*planted).epsilon > 2.0
    clamped = _sums(AGES, (18, 100)), _sums([*AGES, 1000.0], (18, 100))
    assert auditor.audit(*clamped, confidence=auditor.HOLDS).epsilon <= 1.0


def test_audit_randomised_response_claimed_at_half_its_epsilon_is_caught(auditor):
    codes = [RandomizedResponse(range(3), 1.0).release_codes(np.full(N, c)) for c in (0, 1)]
    assert auditor.audit(*codes, confidence=auditor.HOLDS).epsilon <= 1.0
    assert auditor.audit(*codes).epsilon > 0.5


def test_clopper_pearson_coverage_computed_exactly(auditor):
    n, confidence = 60, 0.999
    hits = np.arange(n + 1)
    bounds = [auditor.clopper_pearson(int(h), n, confidence) for h in hits]
    for chance in (0.0, 0.01, 0.3, 0.77, 1.0):
        chances = stats.binom.pmf(hits, n, chance)
        assert sum(p for p, (low, _) in zip(chances, bounds, strict=True) if low > chance) <= 0.0005 + 1e-12
        assert sum(p for p, (_, high) in zip(chances, bounds, strict=True) if high < chance) <= 0.0005 + 1e-12
