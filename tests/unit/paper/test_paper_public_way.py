"""The public way: no value chooses the type, the code of a gap or the claim, and every epsilon ends."""

from __future__ import annotations

import datetime
import math
from fractions import Fraction

import numpy as np
import pandas as pd
import polars as pl
import pytest

from pydplib import dp_calculate
from pydplib.errors import ParameterError
from pydplib.guarantee import LocalDP
from pydplib.paper.mechanism import flip_epsilon
from pydplib.paper.scales import LEAST, MOST, public_scale

ASK = {"bounds": (18, 100), "record_epsilon": 1}
DAYS = (datetime.date(2010, 1, 1), datetime.date(2030, 1, 1))


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ([61, 70, 55], [61, 70, 55.5]),
        ((61, 70, 55), (61, 70, 2**70)),
        (["61", "70", "55"], ["61", "70", "55.5"]),
        ([61, 70, "55"], [61, 70, "55.5"]),
        ([np.int64(61), np.int64(70)], [np.float32(61), np.int64(70)]),
        (np.array([61, 70], object), np.array([61, 70.5], object)),
        (np.array(["61", "70"]), np.array(["61", "7.5"])),
        (pd.Series([61, 70], dtype=object), pd.Series([61, 70.5], dtype=object)),
        (pl.Series(["61", "70"]), pl.Series(["61", "7.5"])),
    ],
)
def test_type_of_the_output_when_one_value_changes_is_the_same(first, second) -> None:
    results = [dp_calculate(data, "mean", **ASK) for data in (first, second)]
    shapes = [(r.data_type, type(r.dp_data), {type(v) for v in r.dp_data}, _dtype(r.dp_data)) for r in results]
    assert shapes[0] == shapes[1]
    assert results[0].data_type == "float"
    assert all(isinstance(r.guarantee, LocalDP) for r in results)


def _dtype(data: object) -> str:
    return str(getattr(data, "dtype", ""))


def test_type_of_the_output_is_whole_when_dtype_or_caller_say_so() -> None:
    assert dp_calculate(np.array([61, 70]), "mean", **ASK).dp_data.dtype == np.int64
    assert dp_calculate(pl.Series([61, 70]), "mean", **ASK).dp_data.dtype == pl.Int64
    assert all(isinstance(v, int) for v in dp_calculate([61, 70], "mean", data_type="int", **ASK).dp_data)


def test_text_when_bounds_are_dates_is_read_as_dates() -> None:
    result = dp_calculate(["2020-01-01", "2021-01-01"], "mean", bounds=DAYS, record_epsilon=1)
    assert result.data_type == "date"


def test_moments_and_days_when_public_come_back_alike() -> None:
    days = [datetime.date(2020, 1, 1), datetime.date(2021, 1, 1)]
    mixed = [datetime.datetime(2020, 1, 1, 7), datetime.date(2021, 1, 1)]
    kinds = [{type(v) for v in dp_calculate(d, "mean", bounds=DAYS, record_epsilon=1).dp_data} for d in (days, mixed)]
    assert kinds[0] == kinds[1] == {datetime.date}


@pytest.mark.parametrize("wrap", [list, pd.Series, lambda v: pd.Series(v, dtype=object), lambda v: np.array(v, object)])
def test_missing_when_all_values_are_missing_has_the_same_code(wrap) -> None:
    seen = []
    for data in ([None] * 200, ["a", None] * 100):
        result = dp_calculate(wrap(data), "count", categories=["a", "b"], on_missing="category", record_epsilon=1)
        seen.append((set(result.dp_data), _dtype(result.dp_data)))
    assert seen[0] == seen[1]
    assert seen[0][0] == {"a", "b", ""}


def test_missing_when_categories_are_numbers_is_none() -> None:
    result = dp_calculate([1, None] * 100, "count", categories=[1, 2], on_missing="category", record_epsilon=1)
    assert set(result.dp_data) == {1, 2, None}


@pytest.mark.parametrize("epsilon", [800, 1e4, 1e-11, 1e-15, 1e-17, 1e-300, 1e300])
@pytest.mark.parametrize(
    ("data", "more"), [([True, False], {}), ([20, 30], {"bounds": (18, 100)}), (["a", "b"], {"categories": ["a", "b"]})]
)
def test_record_epsilon_beyond_the_range_is_refused_at_once(data, more, epsilon) -> None:
    with pytest.raises(ParameterError, match="between 1e-09 and 500"):
        dp_calculate(data, "count", record_epsilon=epsilon, **more)


@pytest.mark.parametrize("epsilon", [LEAST, 1e-7, 1e-4, 0.5, 30, 37, MOST])
@pytest.mark.parametrize("kind", ["bool", "float", "category"])
def test_record_epsilon_within_the_range_is_met_and_not_exceeded(kind, epsilon) -> None:
    found = public_scale(kind, span=(18, 100), factor=None, record_epsilon=epsilon, categories=3)
    assert 0 < found.record_epsilon <= epsilon
    if kind == "bool":
        assert found.record_epsilon >= epsilon * (1 - 1e-9)


def true_flip_epsilon(scale: float) -> Fraction:
    """Return ln(2 e^x - 1) to 60 digits, x = 1/(2 scale)."""
    from decimal import Decimal, localcontext

    with localcontext() as context:
        context.prec = 60
        x = 1 / (2 * Decimal(scale))
        return Fraction((2 * x.exp() - 1).ln())


@pytest.mark.parametrize("scale", [1e14, 12345678.9, 1e9, 777.0, 3.3, 0.7, 0.05, 0.002, 0.0008])
def test_flip_epsilon_is_an_upper_bound_and_tight(scale) -> None:
    claimed, truth = Fraction(flip_epsilon(scale)), true_flip_epsilon(scale)
    assert truth <= claimed <= truth * (1 + Fraction(1, 10**12))


def test_flip_epsilon_by_the_plain_formula_would_be_too_small() -> None:
    """The twin: what the bound above is there to catch."""
    scale = 1e14
    p = math.exp(-1 / (2 * scale)) / 2
    assert Fraction(math.log1p(-p) - math.log(p)) < true_flip_epsilon(scale)
