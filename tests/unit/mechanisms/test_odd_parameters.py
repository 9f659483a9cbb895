"""Odd parameters: errors of our own instead of foreign ones, and margins solved at every size."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

from pydplib.errors import ParameterError
from pydplib.mechanisms import CoinFlip, Exponential, Gaussian, Geometric, Laplace, PermuteAndFlip, RandomizedResponse

MAKERS = [lambda s, e: Laplace(s, e), lambda s, e: Geometric(s, e), lambda s, e: Gaussian(s, rho=e)]


@pytest.mark.parametrize("make", MAKERS)
@pytest.mark.parametrize(("sensitivity", "loss"), [(1, 1e-320), (1, 10**400), (10**400, 1), (1, 5e-324)])
def test_numbers_that_cannot_be_computed_with_are_refused(make, sensitivity, loss) -> None:
    with pytest.raises(ParameterError, match=r"computed? with"):
        make(sensitivity, loss)


def test_scale_beyond_every_float_is_refused() -> None:
    with pytest.raises(ParameterError, match="compute with"):
        Laplace(1e200, 1e-200)
    with pytest.raises(ParameterError, match="compute with"):
        Geometric(10**200, 1e-200)


@pytest.mark.parametrize("kind", [Laplace, Geometric, Gaussian])
@pytest.mark.parametrize("margin", ["1", None, -1, 0, float("nan"), float("inf"), True])
def test_margin_that_is_no_positive_number_is_refused(kind, margin) -> None:
    with pytest.raises(ParameterError):
        kind.from_margin(margin, sensitivity=1)


@pytest.mark.parametrize("margin", ["1", None, -1, 0, float("nan"), float("inf"), True])
def test_margin_of_choices_and_answers_that_is_no_positive_number_is_refused(margin) -> None:
    for kind in (Exponential, PermuteAndFlip):
        with pytest.raises(ParameterError):
            kind.from_margin(margin, sensitivity=1, candidates=3)
    for kind in (RandomizedResponse, CoinFlip):
        with pytest.raises(ParameterError):
            kind.from_margin(margin, records=100)


@pytest.mark.parametrize("mechanism", [Laplace(1, 1), Geometric(1, 1), Gaussian(1, rho=1)])
@pytest.mark.parametrize("confidence", ["1", None, 0, 1, 2])
def test_confidence_that_is_no_share_is_refused(mechanism, confidence) -> None:
    with pytest.raises(ParameterError, match="confidence"):
        mechanism.margin(confidence)


@pytest.mark.parametrize("size", [1e-30, 1e-12, 1e-6, 1.0, 1e6, 1e12, 1e30])
@pytest.mark.parametrize("ratio", [0.01, 1.0, 1e3, 1e12])
def test_from_margin_is_the_least_loss_in_every_unit(size, ratio) -> None:
    found = Laplace.from_margin(size * ratio, sensitivity=size)
    assert found.margin95 <= size * ratio
    assert Laplace(size, found.epsilon * 0.99).margin95 > size * ratio
    assert found.epsilon == pytest.approx(2.9957 / ratio, rel=5e-3)


def test_from_margin_of_counts_is_the_least_loss() -> None:
    found = Geometric.from_margin(1e12, sensitivity=1)
    assert found.margin95 <= 1e12
    assert found.epsilon == pytest.approx(2.9957e-12, rel=1e-3)


@pytest.mark.parametrize("mechanism", [Laplace(1, 1), Geometric(1, 1), Gaussian(1, rho=1)])
def test_half_precision_numbers_give_no_warning(mechanism) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert len(mechanism.release(np.array([1, 2], dtype=np.float16))) == 2
