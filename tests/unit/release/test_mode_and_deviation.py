"""Modes and standard deviations: exact probabilities, what they lose, how often their margins cover."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest

import pydplib as dp
from pydplib.errors import ParameterError, QuestionError
from pydplib.noise.tap import flip_and_choose
from pydplib.noise.testing import check_neighbours, record, replay, seeded
from pydplib.release.facts import Facts
from pydplib.release.statistics.deviation import DeviationNoise
from pydplib.release.statistics.mode import ModeNoise
from pydplib.release.statistics.variance import VarianceNoise

COUNTS = [(5, 3, 0), (4, 4, 4), (9, 0, 0, 0), (7, 6, 5, 4, 3), (0, 0), (2, 1), (12, 11, 11, 0, 0)]


def flip_probabilities(counts: tuple[int, ...], unit: float) -> np.ndarray:
    """Permute-and-flip, exactly (McKenna and Sheldon 2020, equation 4)."""
    p = [math.exp(unit * (count - max(counts))) for count in counts]
    found = []
    for r in range(len(p)):
        others = [q for i, q in enumerate(p) if i != r]
        subsets = itertools.chain.from_iterable(itertools.combinations(others, n) for n in range(len(others) + 1))
        found.append(p[r] * sum((-1) ** len(s) / (len(s) + 1) * math.prod(s) for s in subsets))
    return np.array(found)


def exponential_probabilities(counts: tuple[int, ...], unit: float) -> np.ndarray:
    weights = np.exp(unit * (np.array(counts) - max(counts)))
    return weights / weights.sum()


@pytest.mark.parametrize("counts", COUNTS, ids=str)
@pytest.mark.parametrize("epsilon", [0.1, 0.5, 1.0, 2.0])
def test_permute_and_flip_never_falls_shorter_than_the_exponential_mechanism(counts, epsilon):
    behind = max(counts) - np.array(counts)
    flip, choice = (f(counts, epsilon) for f in (flip_probabilities, exponential_probabilities))
    assert flip.sum() == pytest.approx(1)
    assert behind @ flip <= behind @ choice + 1e-12


@pytest.mark.parametrize("rows", [1, 3])
def test_one_person_more_changes_no_probability_by_more_than_epsilon_and_reaches_it(rows):
    worst = 0.0
    for counts in COUNTS:
        unit = float(ModeNoise(rows, 1, len(counts), Fraction(1)).unit)
        before = flip_probabilities(counts, unit)
        for added in itertools.product(range(rows + 1), repeat=len(counts)):
            if sum(added) <= rows:
                after = flip_probabilities(tuple(np.add(counts, added)), unit)
                worst = max(worst, float(np.abs(np.log(after / before)).max()))
    assert 0.85 < worst <= 1 + 1e-9


def test_one_person_exchanged_for_another_would_lose_more_than_epsilon():
    unit = float(ModeNoise(1, 1, 3, Fraction(1)).unit)
    before, after = (flip_probabilities(counts, unit) for counts in [(6, 1, 0), (5, 2, 0)])
    assert np.abs(np.log(after / before)).max() > 1.5


def test_replay_of_scores_that_move_both_ways_under_a_monotone_claim_is_caught():
    with record() as one:
        flip_and_choose(np.array([6, 1]), Fraction(1), sensitivity=1, monotone=True)
    with replay(one) as two:
        flip_and_choose(np.array([5, 2]), Fraction(1), sensitivity=1, monotone=True)
    with pytest.raises(AssertionError, match="both directions"):
        check_neighbours(one, two)


@pytest.mark.parametrize("counts", [*COUNTS, (20, 16, 16, 16, 16)], ids=str)
@pytest.mark.parametrize("confidence", [0.8, 0.95, 0.99])
def test_margin_of_a_mode_covers_exactly(counts, confidence):
    noise = ModeNoise(1, 1, len(counts), Fraction(1, 2))
    chances = flip_probabilities(counts, float(noise.unit))
    beyond = chances[(max(counts) - np.array(counts)) > noise.margin(confidence)].sum()
    assert beyond <= 1 - confidence + 1e-9


def test_sampled_modes_follow_the_exact_probabilities():
    noise, counts, runs = ModeNoise(2, 1, 3, Fraction(1)), (5, 3, 0), 4000
    with seeded(18):
        found = noise.apply(np.tile(counts, (runs, 1))).values
    shares = np.bincount(found, minlength=3) / runs
    wanted = flip_probabilities(counts, float(noise.unit))
    assert np.abs(shares - wanted).max() < 0.03
    wrong = flip_probabilities(counts, 2 * float(noise.unit))  # planted: twice the epsilon
    assert np.abs(shares - wrong).max() > 0.05


HALF = 2**18


def deviations(values: np.ndarray, epsilon: Fraction, confidence: float = 0.95, runs: int = 1500):
    steps = np.round(values * HALF).astype(np.int64)
    squares, total = int((steps * steps).sum()), int(steps.sum())
    noise = DeviationNoise(
        rows=1, per_row=1, top=HALF**2, half=HALF, square_step=1 / HALF**2, step=1 / HALF, most=1.0, epsilon=epsilon
    )
    sums = [np.full(runs, n, dtype=np.int64) for n in (squares, len(values) * HALF**2 - squares, total)]
    with seeded(len(values)):
        found = noise.apply(*sums, confidence=confidence)
    with seeded(len(values)):
        plain = VarianceNoise(**{name: getattr(noise, name) for name in VarianceNoise.__dataclass_fields__}).apply(
            *sums, confidence=confidence
        )
    return noise, found, plain, float((steps / HALF).std())


@pytest.mark.parametrize("confidence", [0.8, 0.95, 0.99])
@pytest.mark.parametrize("size", [200, 2000])
def test_interval_of_a_deviation_covers_as_often_as_it_says(size, confidence):
    values = np.random.default_rng(5).uniform(-1, 1, size)
    noise, noisy, plain, truth = deviations(values, Fraction(1), confidence)
    assert np.allclose(noisy.values**2, plain.values) and np.allclose(noisy.high**2, plain.high)
    share = float(np.mean((noisy.low <= truth) & (truth <= noisy.high)))
    slack = 4 * math.sqrt(confidence * (1 - confidence) / len(noisy.values))
    assert confidence - slack <= share <= confidence + slack
    half = float(np.mean(np.abs(noisy.values - truth) <= noisy.margins / 2))  # planted: half of the width
    assert half < confidence - slack
    assert np.median(noisy.margins) <= noise.margin(size, confidence)


SCHEMA = dp.Schema(
    {"age": dp.Number(18, 100, unit="years"), "pirads": dp.Category([1, 2, 3, 4, 5]), "bph": dp.Flag(),
     "day": dp.Date("2018-01-01", "2019-12-31"), "city": dp.Text()},
    person="patient", max_rows_per_person=1, size=1000, name="modes",
)  # fmt: skip


@pytest.fixture(scope="module")
def session():
    rng = np.random.default_rng(3)
    frame = pd.DataFrame(
        {
            "patient": range(1000),
            "age": rng.normal(66, 8, 1000).clip(18, 100),
            "pirads": rng.choice([1, 2, 3, 4, 9], 1000, p=[0.05, 0.05, 0.1, 0.2, 0.6]),  # 9 is nobody's declared value
            "bph": rng.random(1000) < 0.3,
            "day": pd.Timestamp("2018-06-01").date(),
            "city": "Oslo",
        }
    )
    with dp.load(frame, SCHEMA) as table:
        policy = dp.Policy(data_set_budget=1000.0)
        yield dp.Session(table, recipient="acme", budget=dp.ApproxDP(500.0, 1e-3), policy=policy)


def test_mode_of_a_category_is_the_most_frequent_declared_value(session):
    release = session.release(dp.Mode("pirads"), epsilon=5.0)
    assert release.value == 4 and release.mechanism == "permute-and-flip" and release.margin_unit == "rows"
    assert str(release).startswith("mode of pirads: 4 (at most ") and "rows behind)" in str(release)
    assert release.cost.mechanism == "permute_and_flip" and release.cost.nano_rho == 12_500_000_000  # epsilon^2/2
    assert dp.Release.from_json(release.to_json()) == release
    assert release.to_frame(backend="pandas")["value"].tolist() == [4]


def test_mode_by_groups_of_flags_bins_and_days(session):
    grouped = session.release(dp.Mode("pirads", by="bph"), epsilon=5.0)
    assert grouped.value.tolist() == [4, 4] and grouped.shape == (2,)
    assert session.release(dp.Mode("bph"), epsilon=5.0).value is False
    binned = session.release(dp.Mode("age", edges=[18, 40, 60, 80, 100]), epsilon=5.0)
    assert binned.value == (60, 80) and binned.unit == "years" and "60 to 80 years" in str(binned)
    assert session.release(dp.Mode("day", bins=2), epsilon=5.0).value[0] == "2018-01-01"
    assert len(grouped.plot().data[0].y) == 2 and binned.to_frame(backend="pandas")["value"].tolist() == ["60 to 80"]


def test_mode_and_deviation_are_priced_in_their_own_words(session):
    price = session.price(dp.Mode("pirads"), epsilon=1.0)
    assert price.margin_unit == "rows" and "behind the most frequent value (95 %)" in str(price)
    assert session.price(dp.Mode("pirads"), margin=price.margin).epsilon == pytest.approx(1.0, rel=1e-4)
    spread = session.price(dp.StandardDeviation("age"), epsilon=1.0)
    assert spread.unit == "years" and spread.question == "standard deviation of age"
    release = session.release(dp.StandardDeviation("age"), epsilon=1.0)
    assert release.margin <= 1.05 * spread.margin
    factor = session.price(dp.StandardDeviation("age"), noise_factor="high").epsilon
    assert factor == pytest.approx(session.price(dp.Variance("age"), noise_factor="high").epsilon / 2, rel=1e-4)


def test_mode_refuses_what_it_cannot_choose_from(session):
    with pytest.raises(QuestionError, match="free text"):
        session.price(dp.Mode("city"), epsilon=1.0)
    with pytest.raises(QuestionError, match="Mode needs public keys"):
        session.price(dp.Mode("pirads", by={"city": None}), epsilon=1.0)
    with pytest.raises(QuestionError, match="leave it out of by="):
        dp.Mode("pirads", by="pirads")


@pytest.mark.parametrize("question", [dp.Mode("pirads"), dp.StandardDeviation("age")], ids=repr)
def test_exact_of_the_owner_is_the_statistic_itself(question):
    frame = pd.DataFrame({"patient": range(4), "age": [20, 20, 40, 40], "pirads": [2, 3, 3, 9], "bph": True})
    frame = frame.assign(day=pd.Timestamp("2018-06-01").date(), city="")
    with dp.load(frame, SCHEMA) as table:
        purchase = Facts.of(question, SCHEMA).at(1.0)
        found = question.exact(purchase.facts, purchase.noise, table.aggregate(purchase.plan))
    assert found.tolist() == pytest.approx([2.0] if question.ask == "mode" else [10.0])


@pytest.mark.parametrize(
    "question",
    [dp.Count(), dp.Sum("age"), dp.Mean("age", by="bph"), dp.Variance("age"), dp.Median("age"),
     dp.Quantiles("age", by="bph"), dp.StandardDeviation("age"), dp.Mode("pirads")],
    ids=lambda question: question.ask,
)  # fmt: skip
def test_another_confidence_is_another_margin_and_another_release(session, question):
    usual, sure = (session.release(question, epsilon=1.0, confidence=c) for c in (0.95, 0.999))
    assert np.max(sure.margin) > np.max(usual.margin) and usual.key != sure.key
    assert session.release(question, epsilon=1.0) == usual and "95 %" in str(usual)
    assert "99.9 %" in str(sure) and "confidence" not in usual.to_dict()
    assert dp.Release.from_json(sure.to_json()) == sure
    with pytest.raises(ParameterError, match=r"99\.9 %"):
        _ = sure.margin95
    loose, tight = (session.price(question, epsilon=1.0, confidence=c).margin for c in (0.8, 0.99))
    assert loose < tight
    for wrong in (0.2, 1.0, True, "0.9"):
        with pytest.raises(ParameterError, match="confidence"):
            session.price(question, epsilon=1.0, confidence=wrong)


def test_margin_of_another_confidence_is_the_one_asked_for(session):
    price = session.price(dp.Count(), margin=10, confidence=0.99)
    assert price.margin <= 10 and price.epsilon > session.price(dp.Count(), margin=10).epsilon
