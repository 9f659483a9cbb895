"""Intervals for the population of counts and averages cover it; those of the noise alone do not."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

import pydplib as dp
from pydplib.release.results.findings import Finding
from pydplib.release.statistics.count import CountNoise
from pydplib.release.statistics.mean import MeanNoise

RUNS = 1000


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
