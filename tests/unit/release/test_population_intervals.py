"""Intervals for the population of counts, averages and quantiles cover it; those of the noise alone do not."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest

import pydplib as dp
from pydplib.release import group_quantiles
from pydplib.release.facts import Facts
from pydplib.release.results.findings import Finding, missing_words
from pydplib.release.statistics.count import CountNoise
from pydplib.release.statistics.mean import MeanNoise
from pydplib.release.statistics.quantiles import BinnedQuantileNoise

RUNS = 1000
FIRST = dp.Person("patient").first_row(order="day")
VISITS = dp.Schema(
    {
        "age": dp.Integer(18, 100, unit="years"),
        "psa": dp.Number(0, 50, unit="ng/ml", step=0.1),
        "arm": dp.Category(["a", "b"]),
        "day": dp.Date("2018-01-01", "2019-12-31"),
    },
    person="patient",
    max_rows_per_person=3,
    name="visits",
)
QUARTERS, TAILS = (0.25, 0.5, 0.75), (0.05, 0.5, 0.95)
CORNERS = {  # question, rows of the sample, epsilon; declared size where the bins are to be fine
    "median, few rows, much noise": (dp.Median("age", per_person=FIRST), 200, 0.3, None),
    "median, the cohort": (dp.Median("age", per_person=FIRST), 652, 1.0, 652),
    "median, many rows, skewed": (dp.Median("psa", per_person=FIRST), 5000, 3.0, 5000),
    "quartiles, few rows, much noise": (dp.Quantiles("psa", QUARTERS, per_person=FIRST), 200, 0.3, None),
    "quartiles, the cohort": (dp.Quantiles("age", QUARTERS, per_person=FIRST), 652, 1.0, 652),
    "tails, many rows": (dp.Quantiles("psa", TAILS, per_person=FIRST), 5000, 3.0, 5000),
    "medians of groups, tiny": (dp.Median("age", by="arm", per_person=FIRST), 30, 1.0, None),
    "quartiles of groups, the cohort": (dp.Quantiles("age", QUARTERS, by="arm", per_person=FIRST), 300, 1.0, 600),
    "tails of groups, many rows": (dp.Quantiles("psa", TAILS, by="arm", per_person=FIRST), 5000, 3.0, 10_000),
}


def quantile_coverage(corner: str) -> tuple[float, float]:
    """Return how often intervals for the population of the worst quantile cover, and those of the noise alone.

    Every run is a sample of the population with noise of its own: the reader takes runs for groups.
    """
    question, rows, epsilon, size = CORNERS[corner]
    noise = Facts.of(question, replace(VISITS, size=size)).at(epsilon).noise
    assert isinstance(noise, BinnedQuantileNoise)
    points = np.arange(noise.points)
    if question.column == "age":
        weights = np.exp(-(((points - 48) / 8.5) ** 2) / 2)
    else:
        weights = np.exp(-(np.log((points + 1) / 60) ** 2)) / (points + 1)
    law = weights / weights.sum()
    drawn = np.random.default_rng(5).multinomial(rows, law, RUNS)
    noisy = noise.apply(drawn)
    truth = np.searchsorted(np.cumsum(law), [float(share) for share in noise.shares])
    assert noisy.population is not None
    found = []
    for low, high in (noisy.population, (noisy.low, noisy.high)):
        ends = [np.asarray(end, dtype=float).reshape(RUNS, -1) for end in (low, high)]
        found.append(float(((ends[0] <= truth) & (truth <= ends[1])).mean(axis=0).min()))
    return found[0], found[1]


@pytest.mark.parametrize("corner", CORNERS)
def test_intervals_of_quantiles_cover_those_of_the_population(corner: str) -> None:
    assert quantile_coverage(corner)[0] >= 0.93


@pytest.mark.parametrize("corner", [name for name in CORNERS if "many rows" in name])
def test_without_the_part_of_sampling_quantiles_of_the_population_are_missed(corner: str, monkeypatch) -> None:
    assert quantile_coverage(corner)[1] < 0.91
    monkeypatch.setattr(group_quantiles, "sampling_reach", lambda rows, *_: (np.zeros_like(rows),) * 2)
    assert quantile_coverage(corner)[0] < 0.91


@pytest.mark.parametrize("corner", ["median, few rows, much noise", "quartiles, few rows, much noise"])
def test_without_the_part_of_the_noise_quantiles_of_the_population_are_missed(corner: str, monkeypatch) -> None:
    monkeypatch.setattr(group_quantiles, "noise_reach", lambda numbers, *_: np.zeros(np.shape(numbers[0])))
    assert quantile_coverage(corner)[0] < 0.91


@pytest.mark.parametrize(("mean", "epsilon"), [(120, 1.0), (10, 0.5), (2000, 0.3)])
def test_counts_cover_what_the_population_brings(mean: int, epsilon: float) -> None:
    seeded = np.random.default_rng(3)
    noise, shape = CountNoise(1, 1, 1, Fraction(str(epsilon))), dp.count([1], epsilon=epsilon)
    hits, alone = 0, 0
    noisy = noise.apply(seeded.poisson(mean, RUNS))
    for value, low, high in zip(noisy.values, noisy.low, noisy.high, strict=True):  # type: ignore[arg-type]
        release = replace(shape, values=(value,), low=(low,), high=(high,), persons=True)
        first, last = release.population
        hits += first <= mean <= last
        alone += low <= mean <= high
    assert hits / RUNS >= 0.93
    assert mean < 50 or alone / RUNS < 0.9  # the noise's own interval is no interval for the population


def test_shares_cover_those_of_the_population() -> None:
    seeded = np.random.default_rng(4)
    noise, shape = (
        MeanNoise(rows=1, per_row=1, top=1, low=0.0, high=1.0, epsilon=Fraction(1)),
        dp.mean([1, 0], bounds=(0, 1), epsilon=1.0),
    )
    yes = seeded.binomial(400, 0.3, RUNS)
    noisy = noise.apply(yes, 400 - yes)
    found = [
        replace(shape, values=(v,), low=(a,), high=(b,), sizes=(n,), persons=True, bounds=(0.0, 1.0)).population
        for v, a, b, n in zip(noisy.values, noisy.low, noisy.high, noisy.sizes, strict=True)  # type: ignore[arg-type]
    ]
    assert np.mean([low <= 0.3 <= high for low, high in found]) >= 0.93
    assert np.mean([high - low for low, high in found]) < 0.11


def test_several_rows_of_a_person_have_none() -> None:
    assert dp.count([1, 2, 3], epsilon=1.0).population is None
    first = dp.Person("patient_id").first_row(order="last_modified")
    with dp.load(dp.datasets.pirads(200, backend="pandas"), dp.datasets.pirads_schema()) as table:
        session = dp.Session(table, recipient="acme", budget=8.0)
        for kind in (dp.Mean, dp.Variance, dp.StandardDeviation, dp.Sum):
            assert session.release(kind("age"), epsilon=0.5).population is None
            release = session.release(kind("age", per_person=first), epsilon=0.5)
            low, high = release.population
            assert low <= release.interval[0] <= release.value <= release.interval[1] <= high


def test_quantiles_of_persons_have_intervals_wherever_they_are_told() -> None:
    first = dp.Person("patient_id").first_row(order="last_modified")
    asked = [
        dp.Median("age", per_person=first),
        dp.Quantiles("age", per_person=first),
        dp.Median("age", by="pirads", per_person=first),
        dp.Quantiles("age", by="bph", per_person=first),
    ]
    with dp.load(dp.datasets.pirads(backend="pandas"), dp.datasets.pirads_schema()) as table:
        session = dp.Session(table, recipient="acme", budget=8.0)
        single = [session.release(question, epsilon=1.0) for question in asked]
        joint = session.release_all(asked, epsilon=2.0)
    for release in (*single, *joint):
        low, high = (np.ravel(ends) for ends in release.population)
        inner = [np.ravel(ends) for ends in release.interval]
        assert (low <= inner[0]).all() and (inner[1] <= high).all()
        assert dp.Release.from_json(release.to_json()) == release and missing_words(release) == ""
        assert {"population_low95", "population_high95"} <= set(release.to_frame().columns)
        assert "population" in str(release) and "population" in release._repr_html_()
    low, high = single[0].population
    assert 1 <= high - low <= 8


def test_a_release_without_an_interval_for_the_population_says_why() -> None:
    once = dp.Schema({"age": dp.Integer(-5, 100), "arm": dp.Category(["a", "b"])}, name="once")
    with dp.load(pd.DataFrame({"age": [50, 60, 70] * 50, "arm": ["a", "b", "b"] * 50}), once) as table:
        session = dp.Session(table, recipient="acme", budget=dp.PureDP(20.0))
        for question, why in (
            (dp.Median("age"), "chosen among public points"),
            (dp.Quantiles("age"), "'histogram of age'"),
            (dp.Mode("arm"), "'histogram of arm' counts every value"),
            (dp.Sum("age"), "cancel out"),
        ):
            release = session.release(question, epsilon=1.0)
            assert (
                release.population is None and why in missing_words(release) and missing_words(release) in str(release)
            )
        for question in (dp.Count(), dp.Mean("age"), dp.Histogram("arm"), dp.Median("age", by="arm")):
            assert missing_words(session.release(question, epsilon=1.0)) == ""
    assert "does not say which values" in str(dp.median([1, 2, 3], bounds=(0, 9), epsilon=1.0))
    with dp.load(dp.datasets.pirads(200, backend="pandas"), dp.datasets.pirads_schema()) as table:
        release = dp.Session(table, recipient="acme", budget=8.0).release(dp.Median("age"), epsilon=1.0)
    assert "rows of one person are not independent" in str(release)


def test_an_average_says_why_its_interval_is_wider_than_that_of_the_standard_error() -> None:
    first = dp.Person("patient_id").first_row(order="last_modified")
    with dp.load(dp.datasets.pirads(backend="pandas"), dp.datasets.pirads_schema()) as table:
        session = dp.Session(table, recipient="acme", budget=8.0)
        mean = session.release(dp.Mean("age", per_person=first), epsilon=1.0)
        error = session.release(dp.clinic.StandardError("age", bins=16, per_person=first), epsilon=1.0)
        wide, narrow = (
            float(np.ravel(high)[0] - np.ravel(low)[0]) for low, high in (mean.population, error.population)
        )
        assert wide > 1.5 * narrow
        assert "spread of the values was not measured" in str(mean) and "'standard error of age'" in str(mean)
        share = session.release(dp.Mean("bph", per_person=first), epsilon=1.0)
        assert "not measured" not in str(share)  # the spread of a share follows from it


def test_findings_are_read_as_they_were_written_and_nothing_else() -> None:
    found = Finding("median", 14.0, low=11.0, unit="months", p=0.04)
    assert Finding.from_dict(found.to_dict()) == found
    for broken in ({"name": 3}, {"name": "a", "value": "much"}, {"name": "a", "p": float("nan")}):
        with pytest.raises(ValueError):
            Finding.from_dict(broken)
