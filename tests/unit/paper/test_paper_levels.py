"""Low, medium and high from one draw, and ranges of which some values do not occur."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

import pydplib as dp
from pydplib import paper
from pydplib.errors import ParameterError
from pydplib.guarantee import NoGuarantee
from pydplib.noise.testing import record, seeded
from pydplib.paper import dp_calculate_levels, mechanism

LEVELS = ("low", "medium", "high")
FINDINGS = ["chr", "y", "n", "acute", "acute on chronic"]


@pytest.fixture(scope="module")
def cohort() -> dict[str, Any]:
    return dp.datasets.pirads(backend="numpy")


def counts(cohort: dict[str, Any]) -> np.ndarray:
    """Return the reports per year of age and score, ages between the youngest and the oldest."""
    scored = ~np.isnan(cohort["pirads"].astype(float))
    ages = np.floor(cohort["age"][scored].astype(float)).astype(int)
    table = np.zeros((ages.max() - ages.min() + 1, 5), dtype=np.int64)
    np.add.at(table, (ages - ages.min(), cohort["pirads"][scored].astype(int) - 1), 1)
    return table.ravel()


def columns(cohort: dict[str, Any]) -> dict[str, tuple[Any, int, dict[str, Any]]]:
    codes = np.array([FINDINGS.index(value) for value in cohort["prostatitis"]])
    return {
        "counts": (counts(cohort), 1, {"is_range": True, "data_type": "int", "aggregated": True}),
        "prostatitis as text": (list(cohort["prostatitis"]), 3, {"is_range": True, "categories": FINDINGS}),
        "prostatitis as codes": (codes, 3, {"is_range": True, "data_type": "int"}),
        "prostatitis as bounded codes": (codes, 3, {"is_range": True, "data_type": "int", "bounds": (0, 4)}),
        "ages for a mean": (cohort["age"].astype(float), 2, {"is_range": True, "data_type": "float"}),
        "ages for a histogram": (cohort["age"].astype(float), 1, {"is_range": True, "data_type": "float"}),
        "true/false": (list(cohort["bph"]), 1, {}),
    }


@pytest.mark.parametrize("name", columns(dp.datasets.pirads(n=50, backend="numpy")))
def test_levels_when_drawn_together_are_ordered(cohort, name) -> None:
    """One draw scaled three ways: three separate draws are out of order in half of the cases."""
    data, query, options = columns(cohort)[name]
    ordered = 0
    for seed in range(8):
        with seeded(seed):
            results = dp_calculate_levels(data, query, **options)
        drawn = [results[level].drawn_percent for level in LEVELS]
        ordered += drawn[0] < drawn[1] < drawn[2]
    assert ordered == 8


@pytest.mark.slow
@pytest.mark.parametrize("name", columns(dp.datasets.pirads(n=50, backend="numpy")))
def test_levels_when_drawn_a_hundred_times_are_ordered(cohort, name) -> None:
    data, query, options = columns(cohort)[name]
    ordered = 0
    for seed in range(100):
        with seeded(1000 + seed):
            drawn = [result.drawn_percent for result in dp_calculate_levels(data, query, **options).values()]
        ordered += drawn[0] < drawn[1] < drawn[2]
    assert ordered >= (90 if name.startswith("ages") else 100)


@pytest.mark.parametrize("level", LEVELS)
def test_levels_expect_the_same_noise_as_single_calls(cohort, level) -> None:
    ages = cohort["age"].astype(float)
    single = dp.dp_calculate(ages, "mean", level)
    together = dp_calculate_levels(ages, "mean")[level]
    assert (together.scale, together.noise_percent) == (single.scale, single.noise_percent)
    assert together.epsilon == single.epsilon
    assert together.drawn_percent == pytest.approx(single.noise_percent, rel=0.35)  # ten standard deviations
    assert isinstance(together.dp_data, np.ndarray)


def test_levels_use_one_draw_that_passes_the_tap(cohort) -> None:
    ages = cohort["age"].astype(float)
    with record() as trace:
        results = dp_calculate_levels(ages, "mean")
    assert [passed.call.size for passed in trace.passed] == [len(ages)]
    noise = {level: (results[level].dp_data - ages) / results[level].scale for level in LEVELS}
    assert np.allclose(noise["low"], noise["high"], atol=1e-9)
    assert np.abs(noise["high"]).mean() == pytest.approx(1.0, abs=0.25)


def test_levels_when_noise_is_not_shared_are_noticed(cohort, monkeypatch) -> None:
    """A planted fault, a draw per level, fails the check above."""
    ages = cohort["age"].astype(float)
    honest = mechanism.add_noise_at
    monkeypatch.setattr(
        paper.calculate,
        "add_noise_at",
        lambda records, scales, fit_to: [honest(records, [scale], fit_to)[0] for scale in scales],
    )
    results = dp_calculate_levels(ages, "mean")
    noise = {level: (results[level].dp_data - ages) / results[level].scale for level in LEVELS}
    assert not np.allclose(noise["low"], noise["high"], atol=1e-3)


def test_levels_guarantee_nothing_because_two_of_them_give_the_values_away(cohort) -> None:
    ages = cohort["age"].astype(float)
    results = dp_calculate_levels(ages, "mean")
    low, high = results["low"], results["high"]
    solved = (low.dp_data * high.scale - high.dp_data * low.scale) / (high.scale - low.scale)
    assert np.allclose(solved, ages, atol=1e-6)
    for data in (ages, [True, False] * 40):
        for result in dp_calculate_levels(data, "mean").values():
            assert isinstance(result.guarantee, NoGuarantee)
            assert "one draw" in result.guarantee.reason
            assert any("for the data owner only" in note for note in result.notes)


def test_levels_when_some_are_named_give_those_and_unknown_ones_say_so() -> None:
    data = [50.0 + i % 30 for i in range(100)]
    assert list(dp_calculate_levels(data, 2, levels=[0, "high"])) == ["low", "high"]
    assert [r.size for r in dp_calculate_levels([], 2).values()] == [0, 0, 0]
    for wrong in ([], ["loud"]):
        with pytest.raises(ParameterError):
            dp_calculate_levels(data, 2, levels=wrong)


ABSENT: dict[str, tuple[Any, dict[str, Any]]] = {
    "text": (["n"] * 700 + ["y"] * 200 + ["chr"] * 100, {"categories": ["n", "y", "chr", "acute"]}),
    "text in between": (["n"] * 700 + ["chr"] * 300, {"categories": ["y", "n", "acute", "chr", "other"]}),
    "scores": (np.repeat([2, 3, 4, 5], [150, 320, 300, 150]), {"bounds": (1, 5)}),
    "listed scores": (np.repeat([2, 3, 4], [300, 320, 300]), {"range_values": [1, 2, 3, 4, 5]}),
    "wide bounds": (np.random.default_rng(4).integers(45, 85, 920), {"bounds": (0, 1000)}),
    "decimals": (np.random.default_rng(4).normal(65, 9, 920), {"bounds": (0, 1000)}),
    "ordered categorical": (
        pd.Series(
            pd.Categorical(["b", "c", "b", "b"] * 250, categories=["a", "b", "c", "d", "e"], ordered=True),
        ),
        {},
    ),
}


@pytest.mark.parametrize("name", ABSENT)
def test_declared_values_that_do_not_occur_move_no_others(name) -> None:
    data, options = ABSENT[name]
    with seeded(4):
        results = [dp.dp_calculate(data, "count", "low", is_range=True, **options) for _ in range(4)]
    assert results[0].in_band
    assert results[0].noise_percent == pytest.approx(2.5, rel=0.02)
    assert max(result.drawn_percent for result in results) <= 5


@pytest.mark.slow
@pytest.mark.parametrize("name", ABSENT)
def test_declared_values_that_do_not_occur_leave_200_draws_in_the_low_band(name) -> None:
    data, options = ABSENT[name]
    with seeded(200):
        drawn = [dp.dp_calculate(data, "count", "low", is_range=True, **options).drawn_percent for _ in range(200)]
    assert max(drawn) <= 5
    assert np.mean(drawn) == pytest.approx(2.5, rel=0.1)


def test_declared_category_that_does_not_occur_keeps_the_counts() -> None:
    data, options = ABSENT["text"]
    noisy = pd.Series(dp.dp_calculate(data, "count", "low", is_range=True, **options).dp_data).value_counts()
    assert noisy["n"] > 650  # Eq. 4 stretched over the absent category left 49
    assert noisy["y"] > 150
    assert noisy.get("acute", 0) < 20


def test_declared_range_when_stretched_again_is_noticed(monkeypatch) -> None:
    """The planted fault of stretching a declared range brings the old result back."""
    from pydplib.paper.ranges import Range

    data, options = ABSENT["text"]
    honest = Range.fit

    def stretched(self: Range, noisy: Any, kind: Any, extremes: Any = None) -> Any:
        return honest(Range(self.low, self.high, self.members, True), noisy, kind, extremes)

    monkeypatch.setattr(Range, "fit", stretched)
    assert dp.dp_calculate(data, "count", "low", is_range=True, **options).drawn_percent > 20


MIDDLES = dict(zip(LEVELS, (2.5, 7.5, 15.0), strict=True))
COLUMNS = ("department_code", "last_modified", "age", "gleason", "pca_no_pirads", "follow_up", "pirads", "lesions",
           "prostatitis", "bph", "tumour_status", "therapy", "turp")  # fmt: skip


@pytest.mark.parametrize("name", COLUMNS)
def test_cohort_columns_of_every_type_expect_noise_inside_the_band(cohort, name) -> None:
    column = cohort[name]
    if name in ("pirads", "gleason"):
        column = column[~np.isnan(column)].astype(int)
    values = [value for value in column if value is not None] if column.dtype == object else column
    for level, middle in MIDDLES.items():
        result = dp.dp_calculate(values, "mean", level, is_range=True)
        assert result.in_band
        if (name, level) == ("age", "high"):  # out of reach of Eq. 4: the smallest scale inside the band
            assert 10 <= result.noise_percent < 10.5
        else:
            assert result.noise_percent == pytest.approx(middle, rel=0.02)


def test_year_cannot_have_five_percent_of_two_thousand_and_says_so(cohort) -> None:
    """Of 2017 and 2018 as numbers, the largest error is a year: half a thousandth. By its range, it has its noise."""
    for level, middle in MIDDLES.items():
        result = dp.dp_calculate(cohort["year"], "mean", level, is_range=True)
        assert result.in_band == (level == "low") and any("cannot be reached" in note for note in result.notes)
        ranged = dp.dp_calculate(cohort["year"], "mean", level, is_range=True, noise_metric="range")
        assert ranged.in_band and ranged.noise_percent == pytest.approx(middle, rel=0.02)
