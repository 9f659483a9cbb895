"""What answers may give away at most, and attackers who are as good as they can be."""

import math
from statistics import NormalDist

import numpy as np
import pytest

from pydplib.attack import (
    CoinFlips,
    ExactAnswers,
    LiveSession,
    NaiveGaussian,
    PaperMode,
    SoundMode,
    averaging,
    differencing,
    floating_point,
    membership,
    most_success,
    outlier_membership,
)
from pydplib.attack.answers.membership import student
from pydplib.errors import ParameterError
from pydplib.mechanisms import Geometric

AGES = np.random.default_rng(65).normal(65, 7.3, 300).clip(18, 100)


def error_of(result):
    return math.sqrt(0.25 / result.tries)


@pytest.mark.parametrize(
    ("others", "person", "bounds"),
    [
        (np.linspace(0, 1, 99), 1_000.0, (0, 1)),  # far outside the bounds: clamped
        (np.ones(99), -1.0, (-1, 1)),  # the mean moves by twice what the sum does: the number of people is declared
        (np.zeros(99), 1.0, (0, 1)),
    ],
)
def test_differencing_of_sound_mode_keeps_its_bound_for_every_person(others, person, bounds):
    result = differencing(SoundMode(1.0, bounds=bounds), np.append(others, person), person=99, draws=20_000, seed=1)
    assert result.success <= most_success(1.0) + 4 * error_of(result)


def test_differencing_by_the_true_number_of_people_would_break_the_bound():
    class Undeclared(SoundMode):
        def means(self, values, size, rng, *, people=None):
            return super().means(values, size, rng, people=len(values))

    values = np.append(np.ones(99), -1.0)
    result = differencing(Undeclared(1.0, bounds=(-1, 1)), values, person=99, draws=20_000, seed=1)
    assert result.success > most_success(1.0) + 4 * error_of(result)


def test_sums_without_clamping_would_break_the_bound():
    class Unclamped(SoundMode):
        def kept(self, values):
            return values

    values = np.append(np.linspace(0, 1, 99), 1_000.0)
    result = differencing(Unclamped(1.0), values, person=99, draws=2_000, seed=1)
    assert result.success > most_success(1.0) + 4 * error_of(result)


def test_exchanged_person_is_bounded_by_the_loss_of_an_exchange():
    target = SoundMode(1.0, bounds=(-1, 1))
    result = outlier_membership(target, np.ones(99), person=-1, games=20_000, seed=1)
    assert result.details["most_success"] == most_success(2.0)
    # The loss of a removal would be too small a bound here.
    assert most_success(1.0) + 4 * error_of(result) < result.success <= most_success(2.0)


@pytest.mark.parametrize(
    ("target", "one", "ten"),
    [
        (ExactAnswers(), None, None),
        (NaiveGaussian(), None, None),
        (CoinFlips(), math.log(3), 10 * math.log(3)),
        (SoundMode(0.5, bounds=(0, 1)), 0.5, 0.5),
        (SoundMode(0.5, bounds=(-1, 1)), 1.0, 1.0),
        (LiveSession(0.5, budget=0.5, bounds=(18, 100)), 0.41, 0.41),
    ],
)
def test_loss_of_an_exchange_follows_from_bounds_and_columns(target, one, ten):
    assert target.exchanged_epsilon() == (one if one is None else pytest.approx(one))
    assert target.exchanged_epsilon(10) == (ten if ten is None else pytest.approx(ten))


def test_live_session_with_a_large_budget_answers_until_it_is_spent():
    answers = LiveSession(15.0, budget=30.0).sums(np.ones(6), np.eye(6, dtype=bool)[:3], np.random.default_rng(1))
    assert np.isfinite(answers).tolist() == [True, True, False]


@pytest.mark.parametrize("bounds", [(1, 0), (0, 0), (0, math.inf), (math.nan, 1)])
def test_sound_mode_with_impossible_bounds_is_refused(bounds):
    with pytest.raises(ParameterError, match="low < high"):
        SoundMode(1.0, bounds=bounds)


def test_membership_without_frequencies_agrees_with_the_normal_distribution():
    # Against the pooled shares both sides lean by half, in opposite directions: Phi(sqrt(attributes / 2 participants)).
    people = np.random.default_rng(4).random((400, 600)) < 0.3
    result = membership(ExactAnswers(), people, rounds=20, seed=1)
    assert result.success == pytest.approx(NormalDist().cdf(math.sqrt(600 / 400)), abs=0.03)
    assert result.details["true_positives"] == pytest.approx(1 - result.details["false_positives"], abs=0.03)
    sound = membership(SoundMode(1.0), people, rounds=20, seed=1)
    assert sound.success == pytest.approx(0.5, abs=0.03)


@pytest.mark.parametrize("freedom", [4, 9, 19, 49])
def test_students_quantile_equals_scipy(freedom):
    stats = pytest.importorskip("scipy.stats")
    assert student(0.95, freedom) == pytest.approx(stats.t.ppf(0.975, freedom), rel=1e-3)


def test_averaging_of_fitted_columns_undoes_the_fit():
    fitted = averaging(PaperMode("medium", is_range=True), AGES, calls=(1, 30), seed=3)
    free = averaging(PaperMode("medium"), AGES, calls=(1, 30), seed=3)
    assert fitted.success == pytest.approx(free.success, abs=0.08)
    assert fitted.beats_baseline

    class Crooked(PaperMode):
        def straighten(self, observed, mean, deviation):
            return observed

    crooked = averaging(Crooked("medium", is_range=True), AGES, calls=(1, 30), seed=3)
    assert crooked.success < free.success - 0.1


def test_averaging_of_fitted_columns_with_saturated_noise_fails_for_the_amount_of_noise():
    chosen = PaperMode("high", is_range=True).facing(AGES)
    assert chosen.scale < 5 * PaperMode("high").facing(AGES).scale, "the smallest noise in the band, not the largest"
    target = PaperMode("high", is_range=True, scale=400.0)
    result = averaging(target, AGES, calls=(1, 30), seed=3)
    assert result.success <= result.baseline + 4 * math.sqrt(result.baseline / len(AGES))


def test_averaging_baseline_is_the_best_of_all_blind_guesses():
    result = averaging(SoundMode(0.01, bounds=(18, 100)), AGES, calls=(1,), tolerance=2.0, seed=1)
    best = max(np.mean(np.abs(guess - AGES) <= 2.0 + 1e-9) for guess in AGES + 2.0)
    assert result.baseline == pytest.approx(best)


def test_floating_point_with_one_seed_repeats_itself():
    runs = [floating_point(Geometric(1, 1.0), draws=500, seed=seed).to_dict() for seed in (3, 3, 4)]
    assert runs[0] == runs[1] != runs[2]


def test_averaging_says_what_is_known_of_whom_against_which_guess():
    fresh = averaging(PaperMode("low"), AGES, calls=(1, 100), seed=3).sentence
    assert "Asked 100 times about each person, it tells the value of 100 % of the people within 1;" in fresh
    assert "whoever never asks and names the commonest value is right for" in fresh
    yes = np.arange(300) % 2 == 0
    kept = averaging(SoundMode(0.5), yes, calls=(1, 100), tolerance=0.0, seed=3).sentence
    assert "the same answer again" in kept and "commonest value is right for 50 %." in kept
