"""The first paper's claims, measured: printed and real loss, recovery by calls, the distribution."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest

from pydplib.errors import ParameterError
from pydplib.experiments.pirads import keep_total, run_pirads, sound_epsilon


@pytest.fixture(scope="module")
def result():
    return run_pirads(seed=1, calls=(1, 10, 100), repetitions=5)


def recovered(result, level, mode, calls):
    return next(
        row
        for row in result.further["recovery"]
        if (row["noise_factor"], row["mode"], row["calls"]) == (level, mode, calls)
    )


def test_every_query_and_factor_has_its_printed_and_its_real_loss(result):
    assert len(result.rows) == 12
    for row in result.rows:
        times = {"count": 82, "mean": 920, "median": 920, "variance": 920 / 82}[row["query"]]
        assert row["record_epsilon"] == pytest.approx(times * row["epsilon"], rel=1e-6)
        assert row["noise_percent"] == {"low": 2.5, "medium": 7.5, "high": 15.0}[row["noise_factor"]]


def test_all_query_types_release_the_same_noise(result):
    for level in ("low", "medium", "high"):
        assert len({row["scale"] for row in result.rows if row["noise_factor"] == level}) == 1


@pytest.mark.parametrize(
    ("level", "once", "hundred"), [("low", 0.47, 1.00), ("medium", 0.17, 0.94), ("high", 0.13, 0.68)]
)
def test_paper_mode_gives_ages_away_as_often_as_computed(result, level, once, hundred):
    # The values come from another cohort and a slightly weaker guess: within five points.
    assert recovered(result, level, "paper", 1)["recovered"] == pytest.approx(once, abs=0.06)
    assert recovered(result, level, "paper", 100)["recovered"] == pytest.approx(hundred, abs=0.06)


@pytest.mark.parametrize("level", ["low", "medium", "high"])
def test_sound_mode_after_a_hundred_calls_stays_at_the_base_rate(result, level):
    row = recovered(result, level, "sound", 100)
    base = row["base_rate"]
    assert base == pytest.approx(0.11, abs=0.02)
    assert row["recovered"] <= base + 3 * math.sqrt(base * (1 - base) / 920)
    assert row["recovered"] == recovered(result, level, "sound", 1)["recovered"]


def test_oldest_patient_is_certain_in_fitted_paper_mode_and_a_coin_toss_in_sound_mode(result):
    paper, sound = result.further["oldest_patient"]
    assert paper["success"] == 1.0
    assert abs(sound["success"] - 0.5) <= 3 * math.sqrt(0.25 / sound["games"])


def test_a_sound_histogram_keeps_the_distribution_better_than_noisy_records(result):
    for level in ("low", "medium", "high"):
        by_mode = {row["mode"]: row for row in result.further["distribution"] if row["noise_factor"] == level}
        assert by_mode["sound"]["total_variation"] < by_mode["paper"]["total_variation"]
        assert by_mode["sound"]["kolmogorov_smirnov"] < by_mode["paper"]["kolmogorov_smirnov"]
        assert by_mode["paper"]["mean_error"] < by_mode["paper, fitted"]["mean_error"]


def test_noise_in_the_distribution_grows_with_the_factor(result):
    for mode in ("paper", "paper, fitted", "sound"):
        distances = [row["total_variation"] for row in result.further["distribution"] if row["mode"] == mode]
        assert distances == sorted(distances)


def test_sound_epsilons_are_those_of_the_specification():
    assert [round(sound_epsilon("count", level, 920), 4) for level in ("low", "medium", "high")] == [
        0.0435,
        0.0145,
        0.0072,
    ]
    assert [round(sound_epsilon("variance", level, 920), 3) for level in ("low", "medium", "high")] == [
        0.521,
        0.174,
        0.087,
    ]


def test_soft_threshold_keeps_the_total_and_is_never_negative():
    counts = np.array([30.0, -8.0, 0.0, 4.0, -1.0])
    kept = keep_total(counts)
    assert kept.min() >= 0
    assert kept.sum() == pytest.approx(25.0)
    assert keep_total(np.array([-3.0, 1.0])).sum() == pytest.approx(0.0)


def test_experiment_is_plain_json_with_figures(result):
    json.loads(result.to_json())
    pytest.importorskip("plotly")
    assert list(result.figures()) == ["recovery", "loss", "distribution"]
    assert "oldest patient" in result.to_report().to_html()


def test_too_few_reports_are_refused():
    with pytest.raises(ParameterError, match="at least 50"):
        run_pirads(n=10)
