"""What paper mode really guarantees: each claim, and each absence of one, is shown to be true."""

from __future__ import annotations

import datetime
import math

import numpy as np
import pytest

import pydplib as dp
from pydplib.errors import ParameterError
from pydplib.guarantee import LocalDP, NoGuarantee
from pydplib.noise.testing import record
from pydplib.paper.scales import grid_epsilon

CATEGORIES = ["n", "y", "chr", "acute", "acute on chronic"]


@pytest.mark.parametrize(("query", "times"), [("mean", 920), ("median", 920), ("count", 53), ("variance", 920 / 53)])
def test_record_epsilon_is_the_printed_epsilon_times_n_or_range(ages, query, times) -> None:
    data = np.clip(ages, 39, 92)
    data[:2] = 39, 92
    result = dp.dp_calculate(data, query, "high")
    assert result.record_epsilon == pytest.approx(times * result.epsilon)


def test_printed_epsilon_looks_small_where_the_record_epsilon_is_not(ages) -> None:
    result = dp.dp_calculate(ages, "mean", "high")
    assert result.epsilon < 0.01
    assert result.record_epsilon > 4


@pytest.mark.parametrize(("factor", "expected"), [("low", 3.66), ("medium", 2.51), ("high", 1.73)])
def test_booleans_in_closed_form_have_a_local_guarantee(factor, expected) -> None:
    result = dp.dp_calculate([True, False, True] * 10, "mean", factor)
    assert isinstance(result.guarantee, LocalDP)
    assert result.guarantee.epsilon == result.record_epsilon == pytest.approx(expected, abs=0.006)


@pytest.mark.parametrize("options", [{"selector": "search"}, {"realised": True}, {"on_missing": "drop"}])
def test_booleans_lose_it_where_a_value_decides_anything(options) -> None:
    result = dp.dp_calculate([True, False, True] * 10, "mean", "high", **options)
    assert isinstance(result.guarantee, NoGuarantee)


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"is_range": True},
        {"bounds": (18, 100)},
        {"bounds": (18, 100), "is_range": True},
        {"selector": "search"},
        {"noise_metric": "range", "bounds": (18, 100)},
    ],
)
def test_numbers_have_no_guarantee_where_the_data_decide_the_noise(ages, options) -> None:
    result = dp.dp_calculate(ages, "mean", "high", **options)
    assert isinstance(result.guarantee, NoGuarantee)
    assert "private values" in result.guarantee.reason


def test_eq4_with_the_range_of_the_data_shows_the_oldest_patient_every_time(ages) -> None:
    planted = np.append(ages, 107)
    for _ in range(20):
        without, with_planted = (dp.dp_calculate(x, "mean", "high", is_range=True) for x in (ages, planted))
        assert max(without.dp_data) == ages.max()
        assert max(with_planted.dp_data) == 107
        assert with_planted.shows_extremes
        assert "recognised" in with_planted.guarantee.reason


def test_public_bounds_clip_and_show_no_extreme(ages) -> None:
    result = dp.dp_calculate(np.append(ages, 99), "mean", "high", is_range=True, bounds=(40, 90))
    assert (min(result.dp_data), max(result.dp_data)) == (40, 90)  # dozens of noisy values lie beyond
    assert not result.shows_extremes


def test_repeated_calls_wear_the_noise_off(ages) -> None:
    calls = np.array([dp.dp_calculate(ages.astype(float), "mean", "high").dp_data for _ in range(100)])
    once = np.mean(np.abs(calls[0] - ages) <= 1)
    hundred = np.mean(np.abs(np.median(calls, axis=0) - ages) <= 1)
    assert once < 0.25  # about .10
    assert hundred > 0.55  # about .70


@pytest.mark.parametrize(("factor", "expected"), [("low", 40.0), ("medium", 40 / 3), ("high", 20 / 3)])
def test_public_scale_for_a_band_costs_what_the_table_says(ages, factor, expected) -> None:
    result = dp.dp_calculate(ages.astype(float), "mean", factor, selector="public", bounds=(18, 100))
    assert isinstance(result.guarantee, LocalDP)
    assert result.guarantee.epsilon == result.record_epsilon == pytest.approx(expected, rel=1e-3)
    assert result.noise_percent == pytest.approx(100 * result.noise_factor.target)


@pytest.mark.parametrize("epsilon", [0.01, 1, 4.0, 30])
@pytest.mark.parametrize("kind", ["int", "float", "bool", "category", "date"])
def test_public_record_epsilon_is_never_exceeded_and_nearly_used_up(kind, epsilon) -> None:
    generator = np.random.default_rng(4)
    days = [datetime.date(2020, 1, 1) + datetime.timedelta(days=int(d)) for d in generator.integers(0, 900, 50)]
    data, public = {
        "int": (generator.integers(20, 90, 50), {"bounds": (18, 100)}),
        "float": (generator.normal(65, 9, 50), {"bounds": (18, 100)}),
        "bool": (generator.random(50) < 0.5, {}),
        "category": (generator.choice(CATEGORIES, 50), {"categories": CATEGORIES}),
        "date": (days, {"bounds": (datetime.date(2019, 1, 1), datetime.date(2024, 1, 1))}),
    }[kind]
    result = dp.dp_calculate(data, "mean", record_epsilon=epsilon, **public)
    assert isinstance(result.guarantee, LocalDP)
    assert 0.95 * epsilon < result.guarantee.epsilon <= epsilon  # rounded bounds cost up to a grid step
    assert result.noise_band is None
    assert len(result.dp_data) == 50


def test_public_claim_is_exactly_what_the_noise_call_proves() -> None:
    """The tap shows the integers that met the noise: their largest distance over the scale is the claim."""
    with record() as trace:
        result = dp.dp_calculate([-1e9, 1e9, 50.0], "mean", record_epsilon=3.0, bounds=(18.3, 99.9))
    (passed,) = trace.passed
    steps = int(passed.exact.max()) - int(passed.exact.min())
    assert float(steps / passed.call.scale) == pytest.approx(result.guarantee.epsilon, rel=1e-15)
    assert steps / passed.call.scale <= 3


@pytest.mark.parametrize(
    ("options", "is_public"),
    [
        ({"selector": "public", "bounds": (18, 100), "noise_factor": "high"}, True),
        ({"record_epsilon": 2.0, "bounds": (18, 100)}, True),
        ({"record_epsilon": 2.0, "bounds": (18, 100), "is_range": True}, True),
        ({"noise_factor": "high", "bounds": (18, 100)}, False),
        ({"noise_factor": "high"}, False),
    ],
)
def test_everything_but_the_data_is_equal_on_neighbours_iff_a_guarantee_is_claimed(ages, options, is_public) -> None:
    """Exchange one record: with a guarantee, no number of the result and no noise call may differ."""
    neighbour = ages.copy()
    neighbour[0] = 99
    facts = []
    for data in (ages, neighbour):
        with record() as trace:
            result = dp.dp_calculate(data, "mean", **options)
        facts.append((trace.fingerprint(), result.to_dict()))
    assert (facts[0] == facts[1]) == is_public
    assert isinstance(result.guarantee, LocalDP) == is_public


def test_public_true_false_flips_with_the_probability_of_its_guarantee() -> None:
    data = np.zeros(400_000, dtype=bool)
    result = dp.dp_calculate(data, "count", record_epsilon=1.0)
    p = 1 / (1 + math.e)
    assert abs(result.dp_data.mean() - p) < 6 * math.sqrt(p * (1 - p) / len(data))


@pytest.mark.parametrize("k", [2, 5])
def test_public_categories_keep_and_change_with_the_probabilities_of_their_guarantee(k) -> None:
    n, epsilon = 300_000, 1.5
    data = np.full(n, CATEGORIES[0])
    result = dp.dp_calculate(data, "count", record_epsilon=epsilon, categories=CATEGORIES[:k])
    keep = math.exp(epsilon) / (math.exp(epsilon) + k - 1)
    for category in CATEGORIES[:k]:
        p = keep if category == CATEGORIES[0] else keep / math.exp(epsilon)
        assert abs(np.mean(result.dp_data == category) - p) < 6 * math.sqrt(p * (1 - p) / n)
    assert result.noise_percent == pytest.approx(100 * (1 - keep))


def test_public_numbers_stay_as_private_as_claimed_in_a_black_box_test() -> None:
    """Two neighbours at the bounds; every event's odds stay below e^epsilon, and one comes near it."""
    n, epsilon = 200_000, 1.0
    low, high = (
        dp.dp_calculate(np.full(n, edge), "mean", record_epsilon=epsilon, bounds=(18, 100)).dp_data
        for edge in (18.0, 100.0)
    )
    seen = math.log(np.mean(low < 18) / np.mean(high < 18))
    assert seen == pytest.approx(epsilon, abs=0.05)


def test_black_box_test_when_the_scale_is_halved_fails(monkeypatch) -> None:
    from pydplib.paper import mechanism

    honest = mechanism.laplace_records
    monkeypatch.setattr(mechanism, "laplace_records", lambda values, scale: honest(values, scale / 2))
    with pytest.raises(AssertionError):
        test_public_numbers_stay_as_private_as_claimed_in_a_black_box_test()


@pytest.mark.parametrize(
    ("data", "options", "words"),
    [
        ([1.0, 2.0], {"selector": "public", "noise_factor": "high"}, "bounds"),
        ([1.0, 2.0], {"record_epsilon": 1.0}, "bounds"),
        (["a", "b"], {"record_epsilon": 1.0}, "categories"),
        ([1.0, 2.0], {"record_epsilon": 1.0, "bounds": (5, 5)}, "low < high"),
        ([1.0, 2.0], {"record_epsilon": 1.0, "bounds": (5, math.inf)}, "low < high"),
        ([1.0, 2.0], {"record_epsilon": 1.0, "bounds": 5}, "low < high"),
        ([1.0, 2.0], {"record_epsilon": 1.0, "bounds": ("a", "b")}, "low < high"),
        ([1.0, 2.0], {"record_epsilon": 0.0, "bounds": (0, 5)}, "no default"),
        ([1.0, 2.0], {"record_epsilon": math.nan, "bounds": (0, 5)}, "no default"),
        ([1.0, 2.0], {"record_epsilon": 1.0, "bounds": (0, 5), "selector": "search"}, "nothing to search"),
        ([1.0, 2.0], {"record_epsilon": 1.0, "bounds": (0, 5), "realised": True}, "private values"),
        ([1.0, 2.0], {"record_epsilon": 1.0, "bounds": (0, 5), "aggregated": True}, "records"),
        ([1.0, 2.0], {"record_epsilon": 1.0, "noise_factor": "low", "bounds": (0, 5)}, "exactly one way"),
        ([1.0, 2.0], {}, "exactly one way"),
        ([True, False], {"noise_factor": "low", "bounds": (0, 1)}, "numbers and dates"),
    ],
)
def test_public_way_when_something_is_missing_says_what(data, options, words) -> None:
    with pytest.raises(ParameterError, match=words):
        dp.dp_calculate(data, "mean", **options)


def test_public_way_when_records_are_dropped_claims_nothing() -> None:
    result = dp.dp_calculate([1.0, None, 3.0], "mean", record_epsilon=1.0, bounds=(0, 5), on_missing="drop")
    assert isinstance(result.guarantee, NoGuarantee)
    assert "missing" in result.guarantee.reason


@pytest.mark.parametrize(("low", "high"), [(18, 100), (0.1, 0.3), (-1e-5, 1e9), (1e250, 3e250)])
@pytest.mark.parametrize("scale", [1e-3, 0.7, 12.345, 8e249])
def test_grid_epsilon_is_at_least_range_over_scale_and_hardly_more(low, high, scale) -> None:
    claimed = grid_epsilon(low, high, scale)
    plain = (high - low) / scale
    assert claimed <= plain + 2 / 1024
    assert claimed >= plain - 2 / 1024


def test_guarantee_note_when_bounds_are_given_points_to_the_public_way(ages) -> None:
    notes = dp.dp_calculate(ages, "mean", "high", bounds=(18, 100)).notes
    assert any("selector='public'" in note for note in notes)


def test_public_categories_when_missing_is_one_of_them_do_not_depend_on_a_missing_value() -> None:
    options = {"record_epsilon": 1.0, "categories": ["n", "y"], "on_missing": "category"}
    without, with_gap = (dp.dp_calculate([*["n", "y"] * 5, last], "count", **options) for last in ("y", None))
    assert without.to_dict() == with_gap.to_dict()
    assert isinstance(with_gap.guarantee, LocalDP)
    assert set(dp.dp_calculate(["n", "y"] * 200, "count", **options).dp_data) == {"n", "y", ""}


def test_public_categories_are_not_taken_from_the_type_of_a_column() -> None:
    import pandas as pd

    column = pd.Series(pd.Categorical(["n", "y"], categories=["y", "n"], ordered=True))
    with pytest.raises(ParameterError, match="categories"):
        dp.dp_calculate(column, "count", "high", selector="public")
