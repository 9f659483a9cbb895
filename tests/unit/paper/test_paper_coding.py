"""Every data type goes to codes and comes back exactly."""

from __future__ import annotations

import datetime

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import pydplib as dp
from pydplib.errors import DataError, ParameterError
from pydplib.paper.codes import encode, missing_values
from pydplib.paper.containers import open_column


def round_trip(values, **options):
    column = open_column(values)
    coded, _ = encode(column, **{"data_type": None, "on_missing": "error", **options})
    return coded, column.restore(coded.decode(coded.codes), None)


@given(
    st.one_of(
        st.lists(st.text(min_size=1).filter(str.strip), min_size=1),
        st.lists(st.integers(-(2**62), 2**62), min_size=1),
        st.lists(st.floats(-1e300, 1e300), min_size=1),
        st.lists(st.booleans(), min_size=1),
        st.lists(st.dates(), min_size=1),
    )
)
def test_values_of_any_kind_come_back_exactly(values) -> None:
    coded, back = round_trip(values)
    if coded.data_type == "int" and isinstance(values[0], str):
        values = [int(value) for value in values]
    assert back == values


@given(st.permutations(["n", "y", "chr", "acute", "acute on chronic"]), st.integers(0, 4))
def test_categories_in_any_order_come_back_exactly(order, pick) -> None:
    coded, back = round_trip(["y", "n", order[pick]], categories=order)
    assert back == ["y", "n", order[pick]]
    assert coded.members == tuple(order)


@pytest.mark.parametrize(
    ("values", "data_type", "expected"),
    [
        ([1, 2], None, "int"),
        ([1, 2.5], None, "float"),
        ([True, False], None, "bool"),
        (["a", "b"], None, "char"),
        (["a", "bc"], None, "string"),
        (["1", "-2"], None, "int"),
        (["1", "2.5"], None, "float"),
        (["1", "2.5"], "float", "float"),
        (["1", "2"], "string", "string"),
        ([1, 2], "float", "float"),
        ([1.0, 2.0], "int", "int"),
        ([0, 1], "bool", "bool"),
        ([1, 2], "string", "string"),
        (["2024-01-31"], "date", "date"),
        (np.array([1, 2]), None, "numpy integer"),
        (np.array([1.0]), None, "numpy float"),
        (np.array([True]), None, "numpy bool"),
        ([10**30, 1], None, "int"),
        ([datetime.datetime(2024, 1, 31, 12)], None, "date"),
    ],
    ids=str,
)
def test_data_type_is_inferred_or_as_asked(values, data_type, expected) -> None:
    assert round_trip(values, data_type=data_type)[0].data_type == expected


@pytest.mark.parametrize(
    ("values", "data_type"),
    [
        ([1.5], "int"),
        (["x"], "int"),
        (["99999999999999999999"], "int"),
        (["x"], "float"),
        (["31.1.2024"], "date"),
        ([1], "date"),
        ([2], "bool"),
        (["true"], "bool"),
        ([True], "int"),
        ([datetime.date(2024, 1, 1)], "float"),
        (["ab"], "char"),
    ],
    ids=str,
)
def test_data_type_when_it_does_not_fit_is_an_error(values, data_type) -> None:
    with pytest.raises(DataError):
        round_trip(values, data_type=data_type)


def test_whole_numbers_beyond_64_bits_stay_whole_numbers() -> None:
    out = dp.dp_calculate([10**30, 3 * 10**30, 2 * 10**30], "mean", "low").dp_data
    assert all(type(value) is int for value in out)
    assert max(out) > 10**30


@pytest.mark.parametrize("categories", ["ny", ["n"], ["n", "n"], []])
def test_categories_when_no_list_of_different_values_are_an_error(categories) -> None:
    with pytest.raises(ParameterError, match="at least two different"):
        round_trip(["n", "y"], categories=categories)


def test_categories_for_a_number_column_make_it_a_category() -> None:
    coded, back = round_trip([5, 1, 3], categories=[1, 2, 3, 4, 5])
    assert coded.kind == "category"
    assert back == [5, 1, 3]


def test_categories_for_true_false_with_a_data_type_are_an_error() -> None:
    with pytest.raises(ParameterError, match="describe text"):
        round_trip([True, False], data_type="bool", categories=[True, False])


def test_ordered_column_brings_its_own_order() -> None:
    import pandas as pd

    column = open_column(pd.Series(pd.Categorical(["low", "high"], categories=["low", "mid", "high"], ordered=True)))
    coded, _ = encode(column, data_type=None, on_missing="error")
    assert coded.members == ("low", "mid", "high")
    assert coded.codes.tolist() == [0, 2]


def test_missing_values_are_found_in_every_kind() -> None:
    for values in ([1, None], [1.0, float("nan")], ["a", " "], ["a", None], [np.datetime64("NaT"), datetime.date.min]):
        mask = missing_values(open_column(values))
        assert mask is not None and mask.sum() == 1
    assert missing_values(open_column([1, 2])) is None
