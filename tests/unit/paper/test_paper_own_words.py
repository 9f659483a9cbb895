"""Paper mode takes what the paper writes and what people hand in: its type names, pandas' arrays, large numbers."""

from __future__ import annotations

import datetime
from typing import Any

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner

import pydplib as dp
from pydplib.cli.answers.noise import command
from pydplib.errors import DataError, ParameterError
from pydplib.guarantee import LocalDP
from pydplib.noise.testing import record
from pydplib.paper import scales
from pydplib.paper.scales import default_epsilons

AGES = [50 + i % 30 for i in range(300)]
OWN_NAMES = {
    "char": (["a", "b", "c"] * 40, {"is_range": True}),
    "string": (["no", "yes", "unknown"] * 40, {"is_range": True}),
    "int": (AGES, {}),
    "numpy.int": (np.array(AGES), {}),
    "float": ([float(age) for age in AGES], {}),
    "numpy.float": (np.array(AGES, dtype=float), {}),
    "bool": ([True, False] * 60, {}),
    "numpy.bool": (np.array([True, False] * 60), {}),
}


@pytest.mark.parametrize("name", OWN_NAMES)
@pytest.mark.parametrize("query", [1, 2, 3, 4])
def test_data_types_are_accepted_as_the_paper_writes_them(name, query) -> None:
    data, options = OWN_NAMES[name]
    for factor in (0, 1, 2):
        result = dp.dp_calculate(data, query, factor, data_type=name, **options)
        assert len(result.dp_data) == len(data) and result.in_band


@pytest.mark.parametrize(
    ("word", "meant"),
    [
        ("numpy.int", "numpy integer"),
        ("numpy.int64", "numpy integer"),
        ("np.uint8", "numpy integer"),
        ("Numpy.Float", "numpy float"),
        ("np.float32", "numpy float"),
        ("numpy.bool", "numpy bool"),
        ("numpy.bool_", "numpy bool"),
        ("numpy_integer", "numpy integer"),
    ],
)
def test_names_of_numpy_types_are_understood(word, meant) -> None:
    assert dp.dp_calculate([0, 1, 1, 0], 1, 2, data_type=word).data_type == meant


@pytest.mark.parametrize(("data_type", "expected"), [("numpy.int", [52, 57, 71]), ("numpy.bool", [True] * 3)])
def test_fit_data_to_range_takes_the_papers_names(data_type, expected) -> None:
    assert dp.paper.fit_data_to_range([47.2, 60.9, 101.3], (52, 71), data_type) == expected


def test_unknown_data_type_names_those_of_the_paper() -> None:
    with pytest.raises(ParameterError, match=r"numpy\.int"):
        dp.dp_calculate([1, 2], 2, 2, data_type="numpy.itn")


@pytest.mark.parametrize("name", ["numpy.int", "int", "numpy.float", "float", "numpy integer"])
def test_command_takes_the_papers_names(tmp_path, name) -> None:
    path = tmp_path / "ages.csv"
    path.write_text("age\n" + "\n".join(map(str, AGES)) + "\n")
    options = ["--column", "age", "--query", "2", "--noise-factor", "1", "--data-type", name, "--json"]
    result = CliRunner().invoke(command, [str(path), *options, "-o", str(tmp_path / "noisy.csv")])
    assert result.exit_code == 0, result.output
    wrong = CliRunner().invoke(command, [str(path), *options[:-2], "numpy.itn"])
    assert wrong.exit_code == 2 and "numpy.int" in wrong.output


# Arrays that pandas hands out


def text_column() -> pd.Series:
    return pd.Series(["n", "y", "chr", "n"] * 50, name="prostatitis")


@pytest.mark.parametrize(
    "make",
    [
        lambda s: s.values,
        lambda s: s.array,
        lambda s: pd.array(s.tolist(), dtype="string"),
        lambda s: pd.Categorical(s),
        lambda s: pd.Categorical(s, categories=["chr", "n", "y", "acute"], ordered=True),
        lambda s: pd.Index(s),
        lambda s: pd.CategoricalIndex(s),
    ],
)
def test_text_arrays_of_pandas_are_taken_and_given_back(make) -> None:
    data = make(text_column())
    result = dp.dp_calculate(data, 3, 1, is_range=True)
    assert type(result.dp_data) is type(data)
    assert len(result.dp_data) == 200
    assert set(result.dp_data) <= {"n", "y", "chr", "acute"}
    assert result.in_band


@pytest.mark.parametrize(
    "data",
    [
        pd.array([61, 70, 55] * 30),
        pd.array([61.5, 70.0, 55.25] * 30),
        pd.array([True, False, True] * 30),
        pd.Index([61, 70, 55] * 30, name="age"),
        pd.Index([61.5, 70.0, 55.25] * 30),
        pd.RangeIndex(20, 90),
        pd.DatetimeIndex(["2017-01-05", "2018-03-01", "2018-11-30"] * 30),
    ],
    ids=lambda data: type(data).__name__,
)
def test_numbers_and_dates_in_arrays_of_pandas_are_taken(data) -> None:
    result = dp.dp_calculate(data, "mean", "high")
    assert len(result.dp_data) == len(data)
    if isinstance(data, pd.Index):
        assert isinstance(result.dp_data, pd.Index) and result.dp_data.name == data.name
    else:
        assert result.dp_data.dtype == data.dtype


def test_arrays_with_gaps_drop_them_and_several_levels_say_so() -> None:
    result = dp.dp_calculate(pd.array([61, None, 55, 70]), "mean", "low", on_missing="drop")
    assert len(result.dp_data) == 3
    with pytest.raises(DataError, match="several levels"):
        dp.dp_calculate(pd.MultiIndex.from_tuples([(1, 2), (3, 4)]), "mean", "low")


# Large whole numbers, decimals in text

LARGE: dict[str, Any] = {
    "Python": [2**70 + 5 * i for i in range(200)],
    "negative": [-(2**70) - 5 * i for i in range(200)],
    "int64": np.arange(200, dtype=np.int64) * 3 + 2**60,
    "uint64": np.arange(200, dtype=np.uint64) * np.uint64(7) + np.uint64(2**63),
}


@pytest.mark.parametrize("name", LARGE)
def test_large_whole_numbers_that_differ_are_not_called_equal(name) -> None:
    data = LARGE[name]
    exact = [int(value) for value in data]
    width = max(exact) - min(exact)
    result = dp.dp_calculate(data, "mean", "high")
    assert result.sensitivity == pytest.approx(width / 200)
    assert result.scale == pytest.approx(0.15 * abs(sum(exact)) / 200, rel=1e-3)
    ranged = dp.dp_calculate(data, "mean", "medium", noise_metric="range")
    noise = [int(noisy) - value for noisy, value in zip(ranged.dp_data, exact, strict=True)]
    assert np.abs(noise).mean() == pytest.approx(0.075 * width, rel=0.5)
    assert ranged.noise_percent == pytest.approx(7.5)


@pytest.mark.parametrize("name", LARGE)
def test_large_whole_numbers_when_fitted_are_values_that_occur(name) -> None:
    data = LARGE[name]
    exact = {int(value) for value in data}
    result = dp.dp_calculate(data, "mean", "medium", is_range=True, noise_metric="range")
    assert {int(value) for value in result.dp_data} <= exact
    assert dp.paper.data_range(data) == sorted(exact)
    listed = dp.dp_calculate(data, 1, 1, is_range=True, noise_metric="range", range_values=sorted(exact)[:50])
    assert {int(value) for value in listed.dp_data} <= set(sorted(exact)[:50])


@pytest.mark.parametrize("name", LARGE)
def test_large_whole_numbers_with_public_bounds_have_a_guarantee(name) -> None:
    data = LARGE[name]
    low, high = min(int(value) for value in data) - 10, max(int(value) for value in data) + 10
    result = dp.dp_calculate(data, "mean", record_epsilon=2.0, bounds=(low, high), data_type="int", is_range=True)
    assert isinstance(result.guarantee, LocalDP)
    assert 1.9 < result.record_epsilon <= 2
    assert all(low <= int(value) <= high for value in result.dp_data)
    assert len({int(value) for value in result.dp_data}) > 20
    bounded = dp.dp_calculate(data, "mean", "low", bounds=(low, high), noise_metric="range")
    assert bounded.sensitivity == pytest.approx((high - low) / 200)


def test_large_whole_numbers_that_are_equal_are_still_refused() -> None:
    with pytest.raises(DataError, match="All values are equal"):
        dp.dp_calculate([2**70] * 5, "mean", "low")


@pytest.mark.parametrize("data", [["1.5", "2", "3"], ["1.5", 2, " 3.25 "], [".5", "1e1", "-2."]])
def test_decimals_in_text_are_read_as_numbers(data) -> None:
    result = dp.dp_calculate(data * 40, "mean", "medium")
    assert result.data_type == "float"
    assert result.scale == pytest.approx(0.075 * np.mean(np.abs([float(value) for value in data])))


@pytest.mark.parametrize("data", [["1.5", "2", "multiple"], ["1.5", "nan"], ["1,5", "2,5"], ["1.5", "inf"]])
def test_text_that_is_no_number_stays_text(data) -> None:
    result = dp.dp_calculate(data * 40, "count", "high", is_range=True)
    assert result.data_type == "string"
    assert set(result.dp_data) <= set(data)


# Algorithm 1


def test_search_options_without_the_search_are_refused() -> None:
    for options in ({"epsilons": [0.1, 1.0]}, {"repetitions": 7}):
        for more in ({}, {"selector": "closed_form"}):
            with pytest.raises(ParameterError, match="selector='search'"):
                dp.dp_calculate(AGES, "mean", "high", **options, **more)
    with pytest.raises(ParameterError, match="selector='search'"):
        dp.dp_calculate(AGES, "mean", record_epsilon=1.0, bounds=(18, 100), epsilons=[1.0])


def test_search_honours_epsilons_and_repetitions(monkeypatch) -> None:
    own = np.geomspace(1e-4, 1.0, 300)
    calls = []
    honest = scales.add_noise
    monkeypatch.setattr(scales, "add_noise", lambda *a: (calls.append(1), honest(*a))[1])
    result = dp.dp_calculate(AGES, "mean", "high", selector="search", epsilons=own, repetitions=3)
    assert result.epsilon in own
    assert len(calls) % 3 == 0 and len(calls) <= 3 * len(own).bit_length()


@pytest.mark.parametrize("factor", ["low", "medium", "high"])
@pytest.mark.parametrize("query", [1, 2, 3, 4])
def test_search_of_true_false_finds_an_epsilon_for_every_query(query, factor) -> None:
    """With the default epsilons the first probe of a mean is so large that nothing would ever flip."""
    result = dp.dp_calculate([True, False, False] * 300, query, factor, selector="search")
    assert result.in_band
    assert len(result.dp_data) == 900
    assert (result.noise_percent < 0.5) == any("almost no noise" in note for note in result.notes)


@pytest.mark.parametrize("factor", ["medium", "high"])
@pytest.mark.parametrize("declared", [False, True])
def test_search_of_text_ends_in_the_band_in_the_long_run(factor, declared) -> None:
    data = np.random.default_rng(2).choice(["chr", "y", "n", "acute"], 400, p=[0.2, 0.1, 0.65, 0.05])
    options = {"categories": ["chr", "y", "n", "acute", "acute on chronic"]} if declared else {}
    results = [dp.dp_calculate(data, 3, factor, is_range=True, selector="search", **options) for _ in range(4)]
    assert all(result.in_band for result in results)


def test_binary_search_tries_only_the_indices_it_is_given() -> None:
    epsilons = default_epsilons()
    options = {"is_bool": False, "is_range": False, "sensitivity": 29 / 300}
    found = dp.paper.binary_search_epsilon(epsilons, AGES, "high", **options)
    place = int(np.flatnonzero(epsilons == found)[0])
    assert dp.paper.binary_search_epsilon(epsilons, AGES, "high", **options, low_idx=place, hi_idx=place) in (
        found,
        0.0,
    )
    assert dp.paper.binary_search_epsilon(epsilons, AGES, "high", **options, low_idx=place + 200) == 0.0
    assert dp.paper.binary_search_epsilon(epsilons, AGES, "high", **options, hi_idx=place - 200) == 0.0
    assert dp.paper.binary_search_epsilon(epsilons, AGES, "high", **options, low_idx=9, hi_idx=8) == 0.0
    for wrong in ({"low_idx": -1}, {"hi_idx": len(epsilons)}, {"low_idx": 1.5}):
        with pytest.raises(ParameterError, match="must be an index"):
            dp.paper.binary_search_epsilon(epsilons, AGES, "high", **options, **wrong)


# The public way never fails on one person's value


@pytest.mark.parametrize("data", [[61.0, np.inf, 70.0], [61.0, -np.inf, 70.0], np.array([61.0, np.inf, 1e305])])
@pytest.mark.parametrize("data_type", [None, "float", "int"])
def test_public_numbers_that_are_infinite_are_clamped(data, data_type) -> None:
    result = dp.dp_calculate(data, "mean", record_epsilon=5.0, bounds=(18, 100), data_type=data_type)
    assert isinstance(result.guarantee, LocalDP)
    assert np.isfinite(np.asarray(result.dp_data, dtype=float)).all()
    with pytest.raises(DataError, match=r"infinite|larger"):
        dp.dp_calculate(data, "mean", "high", bounds=(18, 100))


def test_public_whole_numbers_with_decimals_are_rounded_instead_of_refused() -> None:
    result = dp.dp_calculate([61.0, 70.5, 55.0], "mean", record_epsilon=5.0, bounds=(18, 100), data_type="int")
    assert isinstance(result.guarantee, LocalDP)


def test_public_category_that_was_not_declared_counts_as_other() -> None:
    data = ["n"] * 50 + ["CANARY"] * 2000
    result = dp.dp_calculate(data, "count", record_epsilon=6.0, categories=["n", "y", "other"])
    assert isinstance(result.guarantee, LocalDP)
    assert pd.Series(result.dp_data).value_counts()["other"] > 1900


def test_public_category_without_other_becomes_one_at_random() -> None:
    data = ["n"] * 50 + ["CANARY"] * 3000
    result = dp.dp_calculate(data, "count", record_epsilon=6.0, categories=["n", "y", "chr"])
    counts = pd.Series(result.dp_data[50:]).value_counts()
    assert set(counts.index) == {"n", "y", "chr"}
    assert counts.min() > 800 and counts.max() < 1200  # a thousand each, seven standard deviations
    with pytest.raises(DataError, match="not among"):
        dp.dp_calculate(data, "count", "low", is_range=True, categories=["n", "y", "chr"])


@pytest.mark.parametrize("value", ["CANARY", "y"])
def test_public_facts_are_the_same_whether_or_not_a_category_is_known(value) -> None:
    facts = []
    for last in (value, "n"):
        with record() as trace:
            result = dp.dp_calculate(["n", "y"] * 20 + [last], "count", record_epsilon=1.0, categories=["n", "y"])
        facts.append((trace.fingerprint(), result.to_dict()))
    assert facts[0] == facts[1]


def test_dates_still_have_names_and_their_own_kind() -> None:
    days = [datetime.date(2017, 1, 1) + datetime.timedelta(days=3 * i) for i in range(200)]
    result = dp.dp_calculate(days, "mean", "low", is_range=True)
    assert set(result.dp_data) <= set(days)
