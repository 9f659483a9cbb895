"""Attacks on answers: each succeeds where it should, fails for the right reason, and agrees with theory."""

import math
from statistics import NormalDist

import numpy as np
import pytest

from pydplib.attack import (
    AttackResult,
    CoinFlips,
    ExactAnswers,
    LiveSession,
    NaiveGaussian,
    NaiveUniform,
    PaperMode,
    SmallCountsHidden,
    SoundMode,
    averaging,
    differencing,
    floating_point,
    js_divergence,
    laplace_success,
    membership,
    most_advantage,
    most_success,
    outlier_membership,
    reconstruction,
    standard_targets,
)
from pydplib.errors import DataError, ParameterError
from pydplib.mechanisms import Geometric, Laplace

AGES = np.random.default_rng(65).normal(65, 7.3, 300).clip(18, 100)
SECRETS = np.random.default_rng(8).random(200) < 0.4


def error_of(result: AttackResult) -> float:
    """One standard error of a success rate."""
    return math.sqrt(0.25 / result.tries)


# -- differencing ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("target", [ExactAnswers(), SmallCountsHidden(5)])
def test_differencing_of_exact_answers_recovers_the_person_by_subtraction(target):
    result = differencing(target, AGES, person=3, draws=200, seed=1)
    assert result.success == 1.0
    assert result.details["difference_recovered"] == 1.0
    assert result.details["js_divergence"] == 1.0
    assert "subtraction" in result.sentence


@pytest.mark.parametrize("epsilon", [0.5, 2.0])
def test_differencing_of_sound_mode_stays_below_the_bound_of_epsilon(epsilon):
    values = np.append(np.zeros(50), 1.0)  # the worst person there is: alone at the upper bound
    result = differencing(SoundMode(epsilon), values, person=50, draws=40_000, seed=1)
    assert result.advantage <= most_advantage(epsilon) + 4 * 2 * error_of(result)
    # The sum moves by 1 under noise of scale 1/epsilon; its division by n against n - 1 people adds a trifle.
    assert result.success == pytest.approx(laplace_success(1.0, 1 / epsilon), abs=5 * error_of(result))
    assert result.details["most_success"] == most_success(epsilon)


def test_differencing_with_too_little_noise_is_seen_above_the_bound():
    values = np.append(np.zeros(50), 1.0)
    too_little = differencing(SoundMode(3.0), values, person=50, draws=40_000, seed=1)
    assert too_little.advantage > most_advantage(1.0) + 4 * 2 * error_of(too_little)


def test_differencing_of_naive_gaussian_noise_agrees_with_the_normal_distribution():
    values = np.full(100, 25.0)
    values[0] = 40.0
    result = differencing(NaiveGaussian(), values, person=0, draws=40_000, seed=2)
    moved = result.details["moved_mean"]
    assert moved == pytest.approx(0.15)
    expected = NormalDist().cdf(moved / 2 / math.sqrt(1 / 100))
    assert result.success == pytest.approx(expected, abs=6 * error_of(result))


def test_differencing_of_paper_mode_is_given_away_by_the_printed_epsilon():
    result = differencing(PaperMode("high"), AGES, person=int(AGES.argmax()), draws=200, seed=1)
    assert result.details["printed_numbers_differ"]
    assert "tells it always" in result.sentence
    assert not differencing(SoundMode(1.0), AGES, draws=200, seed=1).details["printed_numbers_differ"]


def test_differencing_with_one_seed_repeats_itself():
    runs = [differencing(SoundMode(1.0), AGES, draws=200, seed=seed).to_dict() for seed in (1, 1, 2)]
    assert runs[0] == runs[1] != runs[2]


@pytest.mark.parametrize("person", [-1, 300, True, 0.5])
def test_differencing_of_nobody_is_refused(person):
    with pytest.raises(ParameterError, match="position from 0 to 299"):
        differencing(ExactAnswers(), AGES, person=person)


# -- averaging ---------------------------------------------------------------------------------------------


def test_averaging_of_paper_mode_sharpens_with_every_call():
    result = averaging(PaperMode("medium"), AGES, calls=(1, 10, 100), seed=3)
    shares = result.details["success_by_calls"]
    assert shares[0] < shares[1] < shares[2]
    assert result.success > 0.85
    assert result.details["different_answers"] == 100


@pytest.mark.parametrize(
    ("target", "least"),
    [(ExactAnswers(), 1.0), (NaiveUniform(), 0.99), (NaiveGaussian(), 0.99), (PaperMode("low"), 0.97)],
)
def test_averaging_of_small_or_fresh_noise_knows_almost_everybody(target, least):
    assert averaging(target, AGES, seed=3).success >= least


@pytest.mark.parametrize("target", [SoundMode(0.5, bounds=(18, 100)), SmallCountsHidden(5)])
def test_averaging_of_kept_or_hidden_answers_stays_at_the_base_rate(target):
    result = averaging(target, AGES, calls=(1, 100), seed=3)
    assert result.details["different_answers"] == 1
    assert result.success <= result.baseline + 3 * math.sqrt(result.baseline * (1 - result.baseline) / len(AGES))
    assert result.exposed == 0


def test_averaging_of_one_yes_or_no_by_coins_is_right_in_three_of_four():
    flags = np.random.default_rng(1).random(20_000) < 0.5
    result = averaging(CoinFlips(), flags, calls=(1, 50), tolerance=0, seed=4)
    assert result.success == pytest.approx(0.75, abs=5 * error_of(result))
    assert result.success <= most_success(math.log(3)) + 5 * error_of(result)


def test_averaging_of_one_noisy_record_agrees_with_the_one_record_game():
    # Two values d apart, one Laplace release each: right in 1 - exp(-d / 2b) / 2.
    values = np.where(np.random.default_rng(2).random(20_000) < 0.5, 60.0, 70.0)
    result = averaging(PaperMode("high"), values, calls=(1,), tolerance=1, seed=5)
    scale = PaperMode("high").facing(values).scale
    assert result.success == pytest.approx(laplace_success(10.0, scale), abs=5 * error_of(result))


@pytest.mark.parametrize("calls", [(), (10, 1), (0,), (1, 1)])
def test_averaging_with_calls_out_of_order_is_refused(calls):
    with pytest.raises(ParameterError):
        averaging(ExactAnswers(), AGES, calls=calls)


# -- reconstruction ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("target", [ExactAnswers(), SmallCountsHidden(5), PaperMode("low")])
def test_reconstruction_of_answers_with_little_noise_finds_every_secret(target):
    result = reconstruction(target, SECRETS, seed=1)
    assert result.success >= 0.99
    assert result.exposed > 0.9


def test_reconstruction_with_fewer_questions_than_people_fails_for_lack_of_equations():
    few = reconstruction(ExactAnswers(), SECRETS, questions=20, seed=1)
    assert few.success < 0.8
    assert few.details["answered"] == 20


def test_reconstruction_of_coin_flips_finds_the_coins_not_the_truth():
    secrets = np.random.default_rng(9).random(400) < 0.5
    result = reconstruction(CoinFlips(), secrets, seed=1)
    assert result.success == pytest.approx(0.75, abs=5 * error_of(result))


@pytest.mark.parametrize("target", [SoundMode(0.1, budget=1.0), SoundMode(1 / 800, budget=1.0)])
def test_reconstruction_against_a_budget_learns_no_more_than_guessing(target):
    # Few good answers, or many bad ones: the budget leaves no third way.
    result = reconstruction(target, SECRETS, seed=1)
    assert not result.beats_baseline
    assert result.exposed == 0
    assert result.success <= most_success(1.0) + 4 * error_of(result)


def test_reconstruction_against_a_live_session_is_refused_when_the_ledger_is_empty():
    result = reconstruction(LiveSession(per_question=0.25, budget=1.0), SECRETS, questions=50, seed=1)
    assert result.details["answered"] == 4
    assert "46 of 50 questions were refused" in result.sentence
    assert not result.beats_baseline


def test_reconstruction_of_numbers_is_refused_without_showing_them():
    with pytest.raises(DataError, match="yes and no") as error:
        reconstruction(ExactAnswers(), [71.5, 64.25])
    assert "71" not in str(error.value)


# -- membership --------------------------------------------------------------------------------------------


def test_membership_in_exact_shares_agrees_with_the_normal_distribution():
    people = np.random.default_rng(4).random((400, 600)) < 0.3
    result = membership(ExactAnswers(), people, frequencies=np.full(600, 0.3), rounds=20, seed=1)
    assert result.success == pytest.approx(NormalDist().cdf(math.sqrt(600 / 200) / 2), abs=0.03)
    assert result.beats_baseline


def test_membership_in_sound_shares_is_a_guess():
    people = np.random.default_rng(4).random((200, 600)) < 0.3
    result = membership(SoundMode(1.0), people, frequencies=np.full(600, 0.3), rounds=20, seed=1)
    assert result.success == pytest.approx(0.5, abs=0.03)
    assert "does not tell" in result.sentence


def test_membership_with_attributes_missing_in_the_frequencies_is_refused():
    with pytest.raises(DataError, match="one number per attribute"):
        membership(ExactAnswers(), np.ones((10, 3)), frequencies=[0.5])


def test_oldest_patient_in_fitted_paper_mode_is_recognised_for_certain():
    target = PaperMode("high", is_range=True)
    result = outlier_membership(target, AGES, person=99, statistic="largest", games=24, seed=1)
    assert result.success == 1.0
    assert "for certain" in result.sentence


def test_oldest_patient_in_sound_mode_is_a_coin_toss():
    # The epsilon of a mean at high noise and n = 920.
    sound = SoundMode(0.0072, bounds=(18, 100))
    result = outlier_membership(sound, AGES, person=99, games=20_000, seed=1)
    assert abs(result.success - 0.5) <= 3 * error_of(result)


def test_largest_record_of_a_target_without_records_is_refused():
    with pytest.raises(ParameterError, match="hands out no records"):
        outlier_membership(SoundMode(1.0), AGES, person=99, statistic="largest")


# -- low-order bits ----------------------------------------------------------------------------------------


def test_floating_point_noise_of_numpy_is_read_from_its_last_digits():
    rng = np.random.default_rng(6)
    result = floating_point(lambda x: x + rng.laplace(0, 1, x.shape), draws=40_000, seed=1)
    assert result.details["certain_first"] == pytest.approx(0.27, abs=0.02)
    assert result.details["wrong_verdicts"] == 0
    assert result.beats_baseline


@pytest.mark.parametrize("mechanism", [Laplace(1, 1.0, max_changes=1), Geometric(1, 1.0)])
def test_floating_point_bits_of_our_noise_tell_nothing(mechanism):
    result = floating_point(mechanism, draws=40_000, seed=1)
    assert result.exposed == 0
    assert result.success == pytest.approx(0.5, abs=5 * error_of(result))


# -- targets and bounds ------------------------------------------------------------------------------------


def test_every_standard_target_answers_every_kind_of_question():
    rng = np.random.default_rng(1)
    for target in standard_targets(epsilon=1.0, kind=bool):
        flags = SECRETS.astype(np.float64)
        facing = target.facing(flags)
        groups = rng.random((30, len(flags))) < 0.5
        sums = facing.sums(flags, groups, rng)
        assert sums.shape == (30,)
        assert facing.sum_error(groups.sum(axis=1).astype(float)).shape == (30,)
        assert facing.means(flags, 5, rng).shape == (5,)
        each = facing.about_each(flags, 4, rng)
        assert each.shape[1] == len(flags)
        assert facing.log_likelihood(each, np.array([0.0, 1.0])).shape == (len(flags), 2)
        assert facing.column_sums(flags.reshape(-1, 4), rng).shape == (4,)
        assert target.name in str(target)


def test_sums_of_record_targets_are_unbiased_with_the_stated_error():
    rng = np.random.default_rng(3)
    flags = SECRETS.astype(np.float64)
    for target in (NaiveUniform(), NaiveGaussian(), PaperMode("high").facing(flags)):
        answers = np.array([target.records(flags, 1, rng)[0].sum() for _ in range(2_000)])
        error = target.sum_error(np.array([float(len(flags))]))[0]
        assert answers.mean() == pytest.approx(flags.sum(), abs=5 * error / math.sqrt(2_000))
        assert answers.std() == pytest.approx(error, rel=0.1)
    assert SoundMode(1.0).sum_error(np.array([float(len(flags))]))[0] == pytest.approx(math.sqrt(2))


def test_paper_mode_without_its_column_does_not_know_its_scale():
    with pytest.raises(ParameterError, match="facing"):
        PaperMode("high").record_error()


def test_sound_mode_that_costs_more_than_its_budget_is_refused():
    with pytest.raises(ParameterError, match="at most the budget"):
        SoundMode(2.0, budget=1.0)


def test_js_divergence_of_laplace_against_shifted_laplace_grows_with_the_shift():
    rng = np.random.default_rng(1)
    base = rng.laplace(0, 1, 50_000)
    near, far = (js_divergence(base, rng.laplace(shift, 1, 50_000)) for shift in (0.5, 2.0))
    assert 0 < near < far < 1
    with pytest.raises(DataError, match="finite"):
        js_divergence(base, np.array([np.nan]))


def test_bounds_of_an_attacker_at_no_and_at_large_epsilon():
    assert (most_success(0.0), most_advantage(0.0)) == (0.5, 0.0)
    assert most_success(50.0) == pytest.approx(1.0)
    assert most_success(0.0, delta=1.0) == 1.0
    with pytest.raises(ParameterError):
        most_success(-1.0)


def test_live_session_gives_the_same_answer_again_and_stops_at_its_budget():
    target = LiveSession(per_question=0.5, budget=1.0, bounds=(18, 100))
    result = averaging(target, AGES[:12], calls=(1, 5), seed=1)
    assert result.details["different_answers"] == 1
    two = differencing(target, AGES[:12], draws=8, seed=1)
    assert two.details["difference_recovered"] <= 0.05
    sums = target.column_sums(np.ones((5, 4)), np.random.default_rng(1))
    assert np.isfinite(sums).tolist() == [True, True, False, False]
