"""Canaries: private values planted in the input never turn up in messages, tracebacks' causes or representations."""

from __future__ import annotations

import traceback

import numpy as np
import pytest

import pydplib as dp
from pydplib.budget import Cost
from pydplib.engine import Bound
from pydplib.errors import PydplibError
from pydplib.guarantee import ZCDP, ApproxDP, KAnonymous, LocalDP, PureDP, zcdp_epsilon
from pydplib.mechanisms import CoinFlip, Exponential, Gaussian, Geometric, Laplace, PermuteAndFlip, RandomizedResponse
from pydplib.noise import laplace_records
from pydplib.policy import PolicyRule, parse_label, parse_noise_factor, parse_role
from pydplib.schema import Category, Date, Flag, Integer, Number, Schema

CANARY = "Erika-Mustermann-1953"
NUMBER = 731_954.25
COLUMN = [CANARY, NUMBER, None]

RELEASES = {
    "laplace": Laplace(1, 1.0).release,
    "geometric": Geometric(1, 1.0).release,
    "gaussian": Gaussian(1, rho=0.5).release,
    "exponential": Exponential(1, 1.0).release,
    "permute and flip": PermuteAndFlip(1, 1.0).release,
    "randomised response": RandomizedResponse(["y", "n"], 1.0).release,
    "coin flip": CoinFlip().release,
}

PARAMETERS = {
    "pure": lambda x: PureDP(x),
    "approx": lambda x: ApproxDP(1.0, x),
    "zcdp": lambda x: ZCDP(x),
    "local": lambda x: LocalDP(x),
    "k": lambda x: KAnonymous(x),
    "laplace sensitivity": lambda x: Laplace(x, 1.0),
    "laplace epsilon": lambda x: Laplace(1, x),
    "geometric": lambda x: Geometric(x, 1.0),
    "gaussian": lambda x: Gaussian(1, rho=x),
    "number": lambda x: Number(x, 1),
    "integer": lambda x: Integer(0, x),
    "date": lambda x: Date(x, "2020-01-01"),
    "label": lambda x: Flag(label=x),
    "category": lambda x: Category([x, None]),
    "epsilon of an answer": lambda x: dp.count([1], epsilon=x),
    "bounds of an answer": lambda x: dp.mean([1], bounds=x, epsilon=1.0),
    "one bound of an answer": lambda x: dp.mean([1], bounds=(0, x), epsilon=1.0),
    "edges": lambda x: dp.histogram([1], edges=[0, x], epsilon=1.0),
    "quantile": lambda x: dp.quantiles([1], [x], bounds=(0, 1), epsilon=1.0),
    "cost": lambda x: Cost.pure(x, mechanism="laplace"),
    "zcdp conversion": lambda x: zcdp_epsilon(x, 1e-6),
    "noise factor": lambda x: parse_noise_factor(x),
    "role": lambda x: parse_role(x),
    "output label": lambda x: parse_label(x),
    "rule": lambda x: PolicyRule("third_party", "dp_high", budget=x),
    "bound": lambda x: Bound("id", x),
    "schema size": lambda x: Schema({"a": Flag()}, size=x),
    "schema rows": lambda x: Schema({"a": Flag()}, person="p", max_rows_per_person=x),
}


def _whole_story(error: BaseException) -> str:
    """Message and traceback with its causes, but without the source lines, which are ours."""
    return "".join(line for line in traceback.format_exception(error) if not line.lstrip().startswith("File ")) + repr(
        error
    )


def _silent(text: str) -> None:
    assert CANARY not in text
    assert "731954" not in text and "731_954" not in text and "7.31954" not in text


@pytest.mark.parametrize("name", RELEASES)
@pytest.mark.parametrize(
    "values",
    [COLUMN, CANARY, [CANARY], [NUMBER, float("nan")], {"x": NUMBER}, np.array([NUMBER, np.nan]), [[NUMBER], [1, 2]]],
    ids=lambda v: type(v).__name__,
)
def test_release_unusable_values_leave_no_trace_of_them(name, values):
    with pytest.raises(PydplibError) as caught:
        RELEASES[name](values)
    _silent(_whole_story(caught.value))


def test_laplace_records_unusable_values_leave_no_trace_of_them():
    with pytest.raises(PydplibError) as caught:
        laplace_records(np.array([NUMBER, np.nan]), 1.0)
    _silent(_whole_story(caught.value))


@pytest.mark.parametrize("name", PARAMETERS)
@pytest.mark.parametrize("as_what", ["list", "array", "series"])
def test_parameter_a_whole_column_by_mistake_is_not_printed(name, as_what):
    pandas = pytest.importorskip("pandas")
    column = {"list": COLUMN, "array": np.array(COLUMN, dtype=object), "series": pandas.Series(COLUMN)}[as_what]
    with pytest.raises((PydplibError, ValueError, TypeError)) as caught:
        PARAMETERS[name](column)
    _silent(_whole_story(caught.value))


@pytest.mark.parametrize("name", RELEASES)
def test_mechanism_representation_after_a_release_holds_parameters_only(name):
    mechanism = RELEASES[name].__self__
    if name in ("laplace", "gaussian"):
        mechanism.release(NUMBER)
    _silent(repr(mechanism) + repr(vars(mechanism)))
