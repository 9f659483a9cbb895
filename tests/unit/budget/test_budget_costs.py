"""Costs and their composition."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest

from pydplib.budget import Cost, parallel, sequential
from pydplib.errors import ParameterError


def laplace(epsilon: float | Fraction) -> Cost:
    return Cost.pure(epsilon, mechanism="laplace")


def test_cost_of_pure_epsilon_has_half_its_square_as_rho() -> None:
    cost = laplace(0.0072)
    assert (cost.nano_epsilon, cost.nano_rho, cost.atto_delta) == (7_200_000, 25_920, 0)
    assert cost.epsilon == 0.0072


def test_cost_of_the_exponential_mechanism_has_an_eighth_and_permute_and_flip_a_half() -> None:
    assert Cost.exponential(1).nano_rho == 125_000_000
    assert Cost.pure(1, mechanism="permute_and_flip").nano_rho == 500_000_000


def test_cost_of_gaussian_noise_has_no_epsilon() -> None:
    cost = Cost.gaussian(sensitivity_squared=3, variance=Fraction(100))
    assert cost.nano_epsilon is None
    assert cost.nano_rho == 15_000_000
    assert cost.epsilon == math.inf


def test_cost_of_unknown_keys_carries_its_delta_even_when_tiny() -> None:
    cost = Cost.approximate(0.5, delta=1e-12, mechanism="unknown_keys")
    assert cost.atto_delta == 10**6
    assert str(cost) == "epsilon 0.5 and delta 1e-12"


def test_cost_below_one_unit_is_one_unit() -> None:
    cost = Cost.pure(Fraction(1, 10**15), mechanism="laplace")
    assert (cost.nano_epsilon, cost.nano_rho) == (1, 1)


def test_cost_without_privacy_is_infinite_not_absent() -> None:
    cost = Cost.no_dp(mechanism="5-anonymity")
    assert not cost.is_dp
    assert (cost.epsilon, cost.rho, str(cost)) == (math.inf, math.inf, "no DP")


@pytest.mark.parametrize("epsilon", [0, -1, 1e5, math.nan, math.inf])
def test_cost_of_an_impossible_epsilon_raises(epsilon: float) -> None:
    with pytest.raises(ParameterError, match="epsilon"):
        laplace(epsilon)


@pytest.mark.parametrize("delta", [0, 1, -0.1, Fraction(10**19 - 1, 10**19)])
def test_cost_of_an_impossible_delta_raises(delta: float) -> None:
    with pytest.raises(ParameterError, match="delta"):
        Cost.approximate(1, delta=delta, mechanism="unknown_keys")


@pytest.mark.parametrize(
    "wrong",
    [
        {"mechanism": " "},
        {"relation": "add_removed"},
        {"nano_rho": None},
        {"nano_epsilon": 0},
        {"nano_rho": -1},
        {"atto_delta": 10**18},
    ],
)
def test_cost_from_wrong_values_raises(wrong: dict[str, object]) -> None:
    with pytest.raises(ParameterError):
        Cost.from_dict({**laplace(1).to_dict(), **wrong})


def test_cost_survives_its_dictionary() -> None:
    for cost in (laplace(0.3), Cost.gaussian(sensitivity_squared=1, variance=7), Cost.no_dp(mechanism="paper mode")):
        assert Cost.from_dict(cost.to_dict()) == cost


def test_to_substitute_doubles_epsilon_and_quadruples_rho() -> None:
    cost = laplace(0.5).to_substitute()
    assert (cost.relation, cost.nano_epsilon, cost.nano_rho) == ("substitute", 10**9, 500_000_000)
    gaussian = Cost.gaussian(sensitivity_squared=1, variance=50).to_substitute()
    assert (gaussian.nano_epsilon, gaussian.nano_rho) == (None, 40_000_000)


def test_to_substitute_of_a_delta_uses_the_group_privacy_factor_rounded_up() -> None:
    cost = Cost.approximate(1, delta=1e-9, mechanism="unknown_keys").to_substitute()
    truth = 10**9 * (1 + math.e)
    assert truth <= cost.atto_delta <= truth + 2


def test_to_substitute_where_delta_would_reach_one_raises() -> None:
    with pytest.raises(ParameterError, match="no privacy"):
        Cost.approximate(50, delta=1e-9, mechanism="unknown_keys").to_substitute()


@pytest.mark.parametrize("relation", ["substitute", "local"])
def test_to_substitute_of_another_relation_raises(relation: str) -> None:
    cost = Cost.pure(1, mechanism="laplace", relation=relation)  # type: ignore[arg-type]
    with pytest.raises(ParameterError, match="accounted apart"):
        cost.to_substitute()


def test_sequential_adds_everything_up() -> None:
    total = sequential([laplace(0.16), Cost.exponential(0.04), Cost.approximate(0.1, delta=1e-9, mechanism="keys")])
    assert (total.nano_epsilon, total.atto_delta) == (300_000_000, 10**9)
    assert total.nano_rho == 12_800_000 + 200_000 + 5_000_000
    assert total.mechanism == "laplace+exponential+keys"


def test_sequential_with_gaussian_noise_has_no_epsilon_and_with_no_dp_is_no_dp() -> None:
    gaussian = Cost.gaussian(sensitivity_squared=1, variance=50)
    assert sequential([laplace(1), gaussian]).nano_epsilon is None
    assert not sequential([laplace(1), Cost.no_dp(mechanism="paper mode")]).is_dp


def test_parallel_counts_the_largest_of_each() -> None:
    whole = parallel([laplace(0.2), Cost.exponential(0.3), Cost.approximate(0.1, delta=1e-9, mechanism="keys")])
    assert (whole.nano_epsilon, whole.nano_rho, whole.atto_delta) == (300_000_000, 20_000_000, 10**9)


def test_parallel_of_the_same_cost_in_many_groups_is_that_cost() -> None:
    assert parallel([laplace(0.2)] * 20) == laplace(0.2)


def test_parallel_under_substitution_raises_because_a_person_can_move() -> None:
    with pytest.raises(ParameterError, match="touches two groups"):
        parallel([Cost.pure(0.2, mechanism="laplace", relation="substitute")] * 2)


@pytest.mark.parametrize("compose", [sequential, parallel])
def test_composition_of_mixed_relations_or_of_nothing_raises(compose: object) -> None:
    with pytest.raises(ParameterError, match="one neighbouring relation"):
        compose([laplace(1), laplace(1).to_substitute()])  # type: ignore[operator]
    with pytest.raises(ParameterError, match="at least one"):
        compose([])  # type: ignore[operator]
