"""The value that every attack returns, and the exact bounds in it."""

import json

import numpy as np
import pytest

from pydplib.attack.bounds import beta_cdf, share_at_least, share_at_most, share_interval
from pydplib.attack.result import AttackResult, advantage_over
from pydplib.errors import ParameterError

stats = pytest.importorskip("scipy.stats")


@pytest.mark.parametrize(("hits", "tries"), [(0, 5), (5, 5), (1, 10), (3, 10**6), (123_456, 10**6), (5_000_000, 10**7)])
@pytest.mark.parametrize("confidence", [0.95, 0.999, 1 - 1e-6])
def test_interval_of_a_share_equals_scipys_beta_quantiles(hits, tries, confidence):
    low, high = share_interval(hits, tries, confidence=confidence)
    tail = (1 - confidence) / 2
    assert low == pytest.approx(0 if hits == 0 else stats.beta.ppf(tail, hits, tries - hits + 1), rel=1e-6, abs=1e-11)
    wanted = 1 if hits == tries else stats.beta.isf(tail, hits + 1, tries - hits)
    assert high == pytest.approx(wanted, rel=1e-6, abs=1e-11)


def test_beta_cdf_over_many_shapes_equals_scipy():
    generator = np.random.default_rng(5)
    for a, b, x in zip(
        10 ** generator.uniform(-1, 5, 200), 10 ** generator.uniform(-1, 5, 200), generator.random(200), strict=True
    ):
        assert beta_cdf(x, a, b) == pytest.approx(stats.beta.cdf(x, a, b), abs=1e-9)
    assert (beta_cdf(-1, 2, 2), beta_cdf(2, 2, 2)) == (0.0, 1.0)


def test_one_sided_bounds_fail_as_rarely_as_promised():
    truth, tries, chance = 0.3, 40, 0.05
    shares = stats.binom.pmf(np.arange(tries + 1), tries, truth)
    too_high = sum(p for k, p in enumerate(shares) if share_at_least(k, tries, chance=chance) > truth)
    too_low = sum(p for k, p in enumerate(shares) if share_at_most(k, tries, chance=chance) < truth)
    assert 0 < too_high <= chance
    assert 0 < too_low <= chance


@pytest.mark.parametrize(("hits", "tries"), [(-1, 5), (6, 5), (0, 0)])
def test_interval_of_an_impossible_share_is_refused(hits, tries):
    with pytest.raises(ParameterError, match="0 <= hits <= tries"):
        share_interval(hits, tries)


def test_confidence_of_one_is_refused():
    with pytest.raises(ParameterError, match="strictly between"):
        share_interval(1, 2, confidence=1.0)


def test_result_of_tries_says_success_advantage_and_interval():
    result = AttackResult.of_tries("x", hits=75, tries=100, baseline=0.5, sentence="S.", target="exact answers")
    assert (result.success, result.exposed, result.advantage) == (0.75, 0.75, 0.5)
    assert result.interval == share_interval(75, 100)
    assert result.beats_baseline
    low, high = result.advantage_interval
    assert low < 0.5 < high
    assert str(result).startswith("x on exact answers: right in 75.0% of 100 tries")


def test_result_of_chance_does_not_beat_the_baseline():
    assert not AttackResult.of_tries("x", hits=52, tries=100, baseline=0.5, sentence="S.").beats_baseline


def test_result_to_dict_is_plain_json():
    result = AttackResult.of_tries(
        "x", hits=1, tries=2, baseline=0.5, sentence="S.", details={"rates": np.array([1.0]), "n": (np.int64(3),)}
    )
    assert json.loads(json.dumps(result.to_dict()))["details"] == {"rates": [1.0], "n": [3]}


def test_result_without_tries_knows_nothing():
    result = AttackResult.of_tries("x", hits=0, tries=0, baseline=0.2, sentence="Nothing was tried.")
    assert (result.success, result.interval, result.beats_baseline) == (0.0, (0.0, 1.0), False)


@pytest.mark.parametrize("change", [{"success": 1.2}, {"baseline": -0.1}, {"exposed": 2}, {"interval": (0.6, 0.9)}])
def test_result_with_impossible_shares_is_refused(change):
    fields = {"name": "x", "success": 0.5, "baseline": 0.5, "interval": (0.4, 0.6), "exposed": 0.5, "tries": 9}
    with pytest.raises(ParameterError, match="shares from 0 to 1"):
        AttackResult(sentence="S.", **{**fields, **change})


def test_advantage_over_certain_guessing_is_nothing():
    assert advantage_over(1.0, 1.0) == 0.0
