"""Policy rows and the policy: defaults, validation, terms, plain values."""

from __future__ import annotations

import datetime as dt
import tomllib

import pytest

from pydplib.errors import ParameterError, PolicyError
from pydplib.guarantee import ApproxDP
from pydplib.policy import Policy, PolicyRule, can_spend, check_spend, settle_epsilon


@pytest.mark.parametrize(
    ("role", "noise", "cap", "budget"),
    [("owner", "low", None, None), ("collaborator", "medium", 2.0, 4.0), ("third_party", "high", 1.0, 2.0)],
)
def test_terms_by_default_are_the_documented_ones(
    role: str, noise: str, cap: float | None, budget: float | None
) -> None:
    terms = Policy().terms(role)
    assert (terms.noise_factor.name, terms.epsilon_cap) == (noise, cap)
    assert terms.budget == (None if budget is None else ApproxDP(budget, 1e-6))
    assert terms.data_set_budget == ApproxDP(8.0, 1e-6)


@pytest.mark.parametrize("role", ["radiologist", "data_protection_officer"])
def test_terms_of_roles_that_do_not_ask_are_refused(role: str) -> None:
    with pytest.raises(PolicyError, match="ask statistics"):
        Policy().terms(role)


@pytest.mark.parametrize(
    ("n", "delta"), [(None, 1e-6), (1, 1e-6), (920, 1e-6), (1000, 1e-6), (2000, 2.5e-7), (10**5, 1e-10)]
)
def test_delta_is_one_in_a_million_or_one_over_n_squared_if_smaller(n: int | None, delta: float) -> None:
    assert Policy().delta_for(n) == pytest.approx(delta, rel=1e-12)
    assert Policy().terms("collaborator", n=n).data_set_budget.delta == pytest.approx(delta, rel=1e-12)


def test_terms_take_the_strictest_of_several_rows_and_leave_out_expired_ones() -> None:
    policy = Policy(
        rules=(
            PolicyRule("third_party", "dp_high", epsilon_per_question=0.5, budget=2.0, expires=dt.date(2026, 1, 31)),
            PolicyRule("third_party", "dp_high", epsilon_per_question=0.8, budget=1.0),
            PolicyRule("group:acme", "dp_high", epsilon_per_question=0.3),
            PolicyRule("third_party", "dp_high", epsilon_per_question=0.1, project="other"),
        )
    )

    def numbers(**more: object) -> tuple[object, object]:
        terms = policy.terms("third_party", project="pirads", **more)  # type: ignore[arg-type]
        return terms.epsilon_cap, terms.budget and terms.budget.epsilon

    assert numbers() == (0.5, 1.0)
    assert numbers(on=dt.date(2026, 1, 31)) == (0.5, 1.0)
    assert numbers(on=dt.date(2026, 2, 1)) == (0.8, 1.0)
    assert numbers(groups=("acme",)) == (0.3, 1.0)
    with pytest.raises(PolicyError):
        Policy(rules=()).terms("owner")


@pytest.mark.parametrize(
    "wrong",
    [
        {"audience": "third_partyy"},
        {"audience": "group:"},
        {"label": "dp_none"},
        {"label": "raw"},
        {"audience": "group:acme", "label": "raw"},
        {"epsilon_per_question": 0},
        {"epsilon_per_question": "1"},
        {"budget": float("inf")},
        {"budget": True},
        {"fields": "age"},
        {"filters": [1]},
        {"expires": "next year"},
        {"expires": dt.datetime(2026, 1, 1)},
        {"epsilon": 1},
    ],
)
def test_row_with_a_wrong_value_raises(wrong: dict[str, object]) -> None:
    row = {"audience": "third_party", "label": "dp_high"}
    PolicyRule.from_dict(row)
    with pytest.raises(ParameterError):
        PolicyRule.from_dict({**row, **wrong})


@pytest.mark.parametrize("missing", ["audience", "label"])
def test_row_without_audience_or_label_raises(missing: str) -> None:
    row = {"audience": "third_party", "label": "dp_high"}
    del row[missing]
    with pytest.raises(ParameterError, match=f"needs '{missing}'"):
        PolicyRule.from_dict(row)


def test_policy_reads_what_toml_gives() -> None:
    text = """
    data_set_budget = 8
    delta = 1e-7
    [[rules]]
    project = "pirads"
    audience = "group:acme"
    label = "dp-high"
    fields = ["age", "pirads"]
    filters = ["year"]
    epsilon_per_question = 0.25
    budget = 1
    expires = 2027-12-31
    purpose = "research"
    paper_mode = true
    """
    policy = Policy.from_dict(tomllib.loads(text))
    assert policy.rules == (
        PolicyRule(
            "group:acme",
            "dp_high",
            fields=("age", "pirads"),
            filters=("year",),
            epsilon_per_question=0.25,
            budget=1,
            expires=dt.date(2027, 12, 31),
            purpose="research",
            project="pirads",
            paper_mode=True,
        ),
    )
    assert (policy.data_set_budget, policy.delta) == (8, 1e-7)
    assert Policy.from_dict(policy.to_dict()) == policy


def test_policy_without_rules_has_the_defaults_and_with_an_empty_list_denies() -> None:
    assert Policy.from_dict({}) == Policy()
    assert Policy.from_dict({"rules": []}).rules == ()


@pytest.mark.parametrize(
    "wrong",
    [{"rule": []}, {"rules": {}}, {"data_set_budget": -1}, {"delta": 0}, {"delta": 1.5}],
)
def test_policy_with_a_wrong_value_raises(wrong: dict[str, object]) -> None:
    with pytest.raises(ParameterError):
        Policy.from_dict(wrong)


@pytest.mark.parametrize(
    ("epsilon", "label"), [(1, "dp_high"), (1.01, "dp_medium"), (2, "dp_medium"), (2.01, "dp_low")]
)
def test_label_of_an_epsilon_follows_the_caps(epsilon: float, label: str) -> None:
    assert Policy().label_of_epsilon(epsilon) == label


def test_row_without_a_cap_takes_any_epsilon_and_one_that_opens_nothing_none() -> None:
    open_row = PolicyRule("third_party", "dp_high", fields=("*",), budget=2.0)
    capped = PolicyRule("collaborator", "dp_medium", fields=("*",), epsilon_per_question=1.0)
    assert {Policy(rules=(open_row, capped)).label_of_epsilon(e) for e in (0.001, 1.0, 3.0)} == {"dp_high"}
    closed = PolicyRule("third_party", "public")
    found = [Policy(rules=(closed, capped)).label_of_epsilon(epsilon) for epsilon in (0.001, 1.0, 3.0)]
    assert found == ["dp_medium", "dp_medium", "dp_low"]


def test_settled_epsilon_is_the_smaller_of_band_and_cap_and_says_so() -> None:
    assert settle_epsilon(1.2, 0.5) == (0.5, True)
    assert settle_epsilon(0.5, 0.5) == (0.5, False)
    assert settle_epsilon(1.2, None) == (1.2, False)
    with pytest.raises(PolicyError, match=r"would need epsilon 1\.2 .* cap is 0\.5"):
        settle_epsilon(1.2, 0.5, on_conflict="refuse")
    with pytest.raises(ParameterError):
        settle_epsilon(1.2, 0.5, on_conflict="privcy")  # type: ignore[arg-type]
    with pytest.raises(ParameterError):
        settle_epsilon(float("nan"), 0.5)


def test_spending_above_the_cap_is_refused() -> None:
    assert can_spend(0.5, 0.5)
    assert can_spend(100, None)
    check_spend(0.5, 0.5)
    with pytest.raises(PolicyError, match=r"0\.5 at most in this role\. Asked: 0\.6"):
        check_spend(0.6, 0.5)


def test_delta_of_a_huge_table_can_still_be_paid() -> None:
    delta = Policy().delta_for(2_000_000_000)
    assert delta == 1e-15
    assert Policy().terms("third_party", n=2_000_000_000).data_set_budget.delta == delta
    assert Policy(delta=1e-16).delta_for(10) == 1e-16  # the owner's own smaller delta stays


def test_default_policy_and_limits_of_the_attacks_are_one_table() -> None:
    from pydplib.attack import AUDIENCES
    from pydplib.policy import DATA_SET_BUDGET, DEFAULT_BUDGETS

    assert Policy().data_set_budget == DATA_SET_BUDGET
    for role in ("collaborator", "third_party"):
        terms, row = Policy().terms(role), DEFAULT_BUDGETS[role]
        assert terms.budget is not None
        assert (terms.epsilon_cap, terms.budget.epsilon) == (row.per_question, row.total)
        assert AUDIENCES[role].epsilon == row.total
        assert row.per_question <= row.total <= DATA_SET_BUDGET
    assert AUDIENCES["public"].epsilon == DEFAULT_BUDGETS["public"].total
