"""The one rule: (state, cost, limit) to a new state or a refusal."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pydplib.budget import Cost, Limit, Refusal, State, can_pay, pay, remaining, spent
from pydplib.budget.conversion import most_nano_rho, zcdp_nano_epsilon
from pydplib.budget.rules import MOST_UNITS
from pydplib.errors import ParameterError
from pydplib.guarantee import ZCDP, ApproxDP, LocalDP, PureDP, zcdp_tilt


def laplace(epsilon: object) -> Cost:
    return Cost.pure(epsilon, mechanism="laplace")  # type: ignore[arg-type]


def pay_all(costs: list[Cost], limit: Limit) -> State | Refusal:
    state: State | Refusal = State()
    for cost in costs:
        assert isinstance(state, State)
        state = pay(state, cost, limit)
    return state


@pytest.mark.parametrize(("each", "times", "total"), [(0.1, 3, 0.3), (0.2, 5, 1.0), (0.1, 10, 1.0), (0.7, 10, 7)])
def test_pure_account_pays_to_the_last_nano_and_not_one_more(each: float, times: int, total: float) -> None:
    limit = Limit.of(PureDP(total))
    state = pay_all([laplace(each)] * times, limit)
    assert isinstance(state, State)
    assert remaining(state, limit).nano_epsilon == 0
    assert pay(state, laplace(Fraction(1, 10**9)), limit) == Refusal(
        "epsilon", "epsilon 0.000000001", f"epsilon 0 of {total:g}"
    )


def test_pure_account_refuses_gaussian_noise_unknown_keys_and_no_dp() -> None:
    limit = Limit.of(PureDP(100.0))
    for cost, why in (
        (Cost.gaussian(sensitivity_squared=1, variance=10**6), "not_pure"),
        (Cost.approximate(0.1, delta=1e-9, mechanism="unknown_keys"), "not_pure"),
        (Cost.no_dp(mechanism="5-anonymity"), "no_dp"),
        (laplace(0.1).to_substitute(), "relation"),
        (Cost.pure(0.1, mechanism="randomized_response", relation="local"), "relation"),
    ):
        refusal = pay(State(), cost, limit)
        assert isinstance(refusal, Refusal)
        assert refusal.why == why
        assert not can_pay(State(), cost, limit)


def test_approx_account_takes_the_smaller_of_basic_and_zcdp() -> None:
    many = Limit.of(ApproxDP(1.04, 1e-6), delta_conversion=1e-6)
    assert isinstance(pay_all([laplace(0.0072)] * 1000, many), State)  # 7.2 basic, 1.03 zCDP
    few = Limit.of(ApproxDP(5.0, 1e-6), delta_conversion=1e-6)
    state = pay_all([laplace(1)] * 5, few)  # 5 basic, 13.4 zCDP
    assert isinstance(state, State)
    assert spent(state, few) == 5 * 10**9
    assert isinstance(pay(state, laplace(0.001), few), Refusal)


def test_approx_account_without_conversion_is_the_basic_sum() -> None:
    limit = Limit.of(ApproxDP(1.0, 1e-6), delta_conversion=0)
    state = pay_all([laplace(0.01)] * 100, limit)
    assert isinstance(state, State)
    assert isinstance(pay(state, laplace(Fraction(1, 10**9)), limit), Refusal)
    assert isinstance(pay(State(), Cost.gaussian(sensitivity_squared=1, variance=10**6), limit), Refusal)


def test_approx_account_keeps_delta_for_the_conversion() -> None:
    limit = Limit.of(ApproxDP(5.0, 1e-6))
    keys = Cost.approximate(0.1, delta=2.5e-7, mechanism="unknown_keys")
    state = pay_all([keys, keys], limit)
    assert isinstance(state, State)
    assert remaining(state, limit).atto_delta == 0
    refusal = pay(state, Cost.approximate(0.1, delta=1e-18, mechanism="unknown_keys"), limit)
    assert isinstance(refusal, Refusal)
    assert refusal.why == "delta"
    assert isinstance(pay(state, laplace(0.1), limit), State)


def test_approx_account_after_gaussian_noise_keeps_pure_questions_apart() -> None:
    limit = Limit.of(ApproxDP(2.0, 1e-6))
    gaussian = Cost.gaussian(sensitivity_squared=1, variance=5000)
    state = pay(State(), gaussian, limit)
    assert state == State(0, 100_000, 0, nano_gaussian=100_000)
    assert isinstance(state, State)
    after = pay(state, laplace(0.1), limit)
    assert after == State(100_000_000, 100_000 + 5_000_000, 0, nano_gaussian=100_000)


def test_a_table_with_gaussian_noise_leaves_pure_questions_most_of_the_account() -> None:
    table = Cost("synthetic_table", "add_remove", None, most_nano_rho(10**9, 5 * 10**11))  # epsilon 1
    for total, before, least in ((2.0, 0.35, 0.78), (8.0, 1.41, 4.5)):
        limit = Limit.of(ApproxDP(total, 1e-6))
        state = pay(State(), table, limit)
        assert isinstance(state, State)
        squares_alone = State(None, state.nano_rho, 0)  # as ledgers counted that kept no sum of the pure ones
        assert remaining(squares_alone, limit).epsilon == pytest.approx(before, abs=0.01)
        assert remaining(state, limit).epsilon >= least
    question = pay(State(), laplace(0.5), Limit.of(ApproxDP(2.0, 1e-6)))
    assert isinstance(question, State)
    assert can_pay(question, table, Limit.of(ApproxDP(2.0, 1e-6)))


MIXED = st.lists(st.tuples(st.booleans(), st.integers(10**5, 8 * 10**8)), max_size=12)


@pytest.mark.parametrize(
    "limit", [Limit.of(ApproxDP(2.0, 1e-6)), Limit.of(ApproxDP(0.3, 1e-9)), Limit.of(ApproxDP(8.0, 1e-5))]
)
@given(asked=MIXED)
@settings(max_examples=80, deadline=None)
def test_mixed_accounts_stay_within_one_renyi_order_and_pay_whatever_squares_alone_would(
    limit: Limit, asked: list[tuple[bool, int]]
) -> None:
    state, paid = State(), []
    for pure, nano in asked:
        cost = laplace(Fraction(nano, 10**9)) if pure else Cost("gaussian", "add_remove", None, max(1, nano // 20))
        outcome = pay(state, cost, limit)
        squares = state.nano_rho + (cost.nano_rho or 0) <= limit.most_nano_rho
        assert isinstance(outcome, State) or not squares
        if isinstance(outcome, State):
            state = outcome
            paid.append(cost)
        assert state.nano_epsilon is not None  # both sums are kept
    if state.is_pure and (state.nano_epsilon or 0) <= limit.nano_epsilon:
        return
    # The proof's inequality, step by step and in floats: divergences at one order, then the conversion.
    rho, delta = limit.most_nano_rho / 10**9, limit.atto_conversion / 10**18
    alpha = 1 + zcdp_tilt(math.nextafter(rho, math.inf), math.nextafter(delta, 0.0))
    divergence = sum(min(cost.epsilon, alpha * cost.rho) for cost in paid)
    tail = math.log1p(-1 / alpha) + (-math.log(delta) - math.log(alpha)) / (alpha - 1)
    assert divergence + tail <= limit.nano_epsilon / 10**9 + 1e-9
    left = remaining(state, limit).nano_epsilon
    assert not left or can_pay(state, laplace(Fraction(left, 10**9)), limit)
    assert not can_pay(state, laplace(Fraction(left + 1, 10**9)), limit)
    assert spent(state, limit) <= limit.nano_epsilon


@pytest.mark.parametrize(
    "limit", [Limit.of(PureDP(1.0)), Limit.of(ApproxDP(1.0, 1e-6)), Limit.of(ApproxDP(0.01, 1e-9))]
)
@given(data=st.data())
@settings(max_examples=60, deadline=None)
def test_remaining_is_what_can_be_paid_and_one_nano_more_cannot(limit: Limit, data: st.DataObject) -> None:
    state: State = State()
    for nano in data.draw(st.lists(st.integers(1, 3 * 10**8), max_size=12)):
        outcome = pay(state, laplace(Fraction(nano, 10**9)), limit)
        state = outcome if isinstance(outcome, State) else state
    left = remaining(state, limit).nano_epsilon
    if left:
        assert can_pay(state, laplace(Fraction(left, 10**9)), limit)
    assert not can_pay(state, laplace(Fraction(left + 1, 10**9)), limit)


@given(st.lists(st.integers(1, 10**9), max_size=30), st.integers(10**6, 2 * 10**9), st.sampled_from([0, 10**3, 10**12]))
@settings(max_examples=100, deadline=None)
def test_accepted_costs_never_exceed_the_limit_by_one_unit(costs: list[int], nano_limit: int, delta: int) -> None:
    limit = Limit("add_remove", nano_limit, 2 * delta, delta)
    state, paid = State(), []
    for nano in costs:
        cost = laplace(Fraction(nano, 10**9))
        outcome = pay(state, cost, limit)
        if isinstance(outcome, State):
            state = outcome
            paid.append(cost)
    basic = sum(cost.nano_epsilon or 0 for cost in paid)
    zcdp = zcdp_nano_epsilon(sum(cost.nano_rho or 0 for cost in paid), delta) if delta else basic
    assert min(basic, zcdp) <= nano_limit
    assert state.nano_epsilon == basic
    if paid:
        assert spent(state, limit) == min(basic, zcdp)


def test_order_of_costs_does_not_change_the_sums() -> None:
    costs = [laplace(0.1), Cost.exponential(0.2), laplace(0.05)]
    limit = Limit.of(PureDP(1.0))
    assert pay_all(costs, limit) == pay_all(costs[::-1], limit)


def test_sums_beyond_a_database_integer_are_unbounded_not_wrapped() -> None:
    limit = Limit.of(ApproxDP(10.0, 1e-6))
    full = State(MOST_UNITS, 0, 0)
    after = pay(full, laplace(1e-9), limit)
    assert isinstance(after, State)
    assert after.nano_epsilon is None
    huge = replace(laplace(1), nano_rho=MOST_UNITS + 1)
    assert isinstance(pay(State(), huge, Limit.of(PureDP(5.0))), Refusal)


def test_limit_rounds_down_and_reads_floats_as_written() -> None:
    assert Limit.of(PureDP(0.3)).nano_epsilon == 300_000_000
    assert Limit.of(PureDP(1.9999999999)).nano_epsilon == 1_999_999_999
    assert Limit.of(ApproxDP(1.0, 1e-12)) == Limit("add_remove", 10**9, 10**6, 5 * 10**5)
    assert Limit.of(LocalDP(4.0)).relation == "local"
    assert Limit.of(PureDP(1.0, relation="substitute")).guarantee == PureDP(1.0, relation="substitute")
    assert Limit.of(ApproxDP(1.0, 1e-6)).guarantee == ApproxDP(1.0, 1e-6)


@pytest.mark.parametrize(
    ("guarantee", "conversion"),
    [
        (PureDP(1e5), None),
        (PureDP(1e-10), None),
        (PureDP(1.0), 1e-6),
        (ApproxDP(1.0, 1e-19), None),
        (ApproxDP(1.0, 1e-6), 1e-5),
        (ApproxDP(1.0, 1e-6), -1e-7),
        (ZCDP(1.0), None),
        (1.0, None),
    ],
)
def test_limit_of_an_impossible_budget_raises(guarantee: object, conversion: float | None) -> None:
    with pytest.raises(ParameterError):
        Limit.of(guarantee, delta_conversion=conversion)  # type: ignore[arg-type]
