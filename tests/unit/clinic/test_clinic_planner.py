"""The planner predicts the power of simulated studies, and solves for persons and epsilon."""

from __future__ import annotations

import json
import math

import pytest
from click.testing import CliRunner

import pydplib as dp
from clinic import PLANS, planned
from pydplib.cli import cli
from pydplib.errors import ParameterError

QUICK = [name for name in PLANS if name != "two curves"]


@pytest.mark.parametrize("name", QUICK)
def test_predicted_power_is_the_realised_one(name: str) -> None:
    predicted, realised = planned(name, 2000)
    assert abs(predicted - realised) <= 0.03 and 0.5 < realised < 0.95


@pytest.mark.slow
def test_predicted_power_of_two_curves_is_the_realised_one() -> None:
    predicted, realised = planned("two curves", 2000)
    assert abs(predicted - realised) <= 0.03


def test_a_planner_that_forgets_the_noise_is_noticed() -> None:
    kind, design, n, epsilon = PLANS["two means, much noise"]
    bare = dp.plan(kind, n=n, epsilon=epsilon, **design).without_privacy
    assert abs(bare - planned("two means, much noise", 2000)[1]) > 0.03


def test_persons_and_epsilon_are_the_least_that_reach_the_goal() -> None:
    found = dp.plan("proportions", epsilon=0.5, power=0.8, baseline=0.3, effect=0.1)
    assert found.power is not None and found.power >= 0.8
    fewer = dp.plan("proportions", n=found.n - 1, epsilon=0.5, baseline=0.3, effect=0.1)
    assert fewer.power is not None and fewer.power < 0.8
    needed = dp.plan("mean", n=652, margin=1.0, deviation=8.0, range=82.0)
    assert needed.margin == pytest.approx(1.0, rel=1e-4)
    assert dp.plan("mean", n=652, epsilon=needed.epsilon * 0.9, deviation=8.0, range=82.0).margin > 1.0


@pytest.mark.parametrize(
    ("said", "words"),
    [
        ({"kind": "proportons", "n": 100, "epsilon": 1.0}, "Did you mean 'proportions'"),
        ({"kind": "proportions", "n": 100}, "two of the three"),
        ({"kind": "proportions", "n": 100, "epsilon": 1.0, "power": 0.8, "effect": 0.1}, "two of the three"),
        ({"kind": "proportion", "epsilon": 1.0, "power": 0.8}, "needs an effect"),
        ({"kind": "proportions", "n": 50, "power": 0.9, "baseline": 0.3, "effect": 0.05}, "more persons"),
        ({"kind": "mean", "n": 652, "margin": 1.0, "deviation": 8.0, "range": 6.0}, "at most 3"),
        ({"kind": "means", "n": 50, "epsilon": 1.0, "devation": 2.0}, "Did you mean 'deviation'"),
        ({"kind": "proportions", "n": 50, "epsilon": 1.0, "baseline": 0.9, "effect": 0.3}, "between 0 and 1"),
        ({"kind": "mean", "n": 100, "epsilon": float("nan")}, "epsilon must be a finite number"),
        ({"kind": "mean", "n": "100", "epsilon": 1.0}, "n must be a finite number"),
        ({"kind": "mean", "n": 100, "epsilon": 1.0, "deviation": float("nan")}, "deviation must be a finite number"),
        ({"kind": "mean", "n": 100, "margin": float("nan")}, "margin must be a finite number"),
        ({"kind": "mean", "n": 100, "margin": -1.0}, "margin= is above 0"),
    ],
)
def test_what_makes_no_sense_is_said(said: dict[str, object], words: str) -> None:
    with pytest.raises(ParameterError, match=words):
        dp.plan(**said)  # type: ignore[arg-type]


def test_command_prints_the_plan_and_touches_nothing() -> None:
    asked = ["plan", "odds-ratio", "--baseline", "0.3", "--effect", "2", "--epsilon", "1", "--power", "0.8"]
    shown = CliRunner().invoke(cli, asked, catch_exceptions=False)
    assert shown.exit_code == 0 and "No data were looked at" in shown.output and "296" in shown.output
    found = json.loads(CliRunner().invoke(cli, [*asked, "--json"], catch_exceptions=False).output)
    assert found["n"] == 296 and found["power"] >= 0.8


def test_range_of_means_follows_their_deviation() -> None:
    assert dp.plan("mean", n=652, margin=1.0, deviation=8.0) == dp.plan(
        "mean", n=652, margin=1.0, deviation=8.0, range=48.0
    )
    small, large = (dp.plan("mean", n=652, epsilon=1.0, deviation=wide).margin for wide in (1.0, 8.0))
    assert large == pytest.approx(8 * small)


def test_interval_of_a_ratio_is_told_as_a_factor() -> None:
    found = dp.plan("odds ratio", epsilon=1.0, power=0.8, baseline=0.3, effect=2.0)
    assert f"divided and multiplied by {math.exp(found.margin):.3g}" in str(found)
    assert "divided" not in str(dp.plan("proportions", n=652, epsilon=1.0, baseline=0.3, effect=0.12))


def test_noise_that_hides_everything_is_warned_of() -> None:
    assert dp.plan("survival", n=100, epsilon=0.1, baseline=0.6, effect=0.5).warnings
