"""What one recipient learns and may spend never follows from what another bought, nor from looser terms of old."""

from __future__ import annotations

import json
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

import pydplib as dp
from pydplib.errors import BudgetError, ParameterError, PolicyError


def test_bought_size_of_one_recipient_is_not_in_what_another_gets(table):
    ledger = dp.MemoryLedger()
    one = dp.Session(table, recipient="acme", budget=dp.PureDP(2.0), ledger=ledger)
    one.buy_size(epsilon=0.3)
    first = one.release(dp.Count(by="pirads"), epsilon=0.3)
    two = dp.Session(table, recipient="bmed", budget=dp.PureDP(2.0), ledger=ledger)
    second = two.release(dp.Count(by="pirads"), epsilon=0.3)
    assert first.expected_noise is not None and second.expected_noise is None
    assert second.values == first.values
    assert "expected_noise" not in json.loads(second.to_json())


def test_note_that_follows_from_a_bought_size_stays_with_its_buyer(people, schema):
    ledger = dp.MemoryLedger()
    with dp.load(people, schema) as table:
        rule = dp.policy.PolicyRule("third_party", "dp_high", fields=("*",), epsilon_per_question=0.5, budget=2.0)
        one = dp.Session(table, recipient="acme", role="third_party", ledger=ledger, policy=dp.Policy(rules=(rule,)))
        capped = one.release(dp.Histogram("age", by="pirads"), noise_factor="high")
        assert any("would need epsilon" in note for note in capped.notes)
        two = dp.Session(table, recipient="bmed", budget=dp.PureDP(2.0), ledger=ledger)
        same = two.release(dp.Histogram("age", by="pirads"), epsilon=capped.epsilon)
        assert same.values == capped.values and same.notes == () and same.expected_noise is None


def _policy(budget: float, whole: float = 10.0) -> dp.Policy:
    rule = dp.policy.PolicyRule("third_party", "dp_high", fields=("age",), epsilon_per_question=0.5, budget=budget)
    return dp.Policy(rules=(rule,), data_set_budget=whole)


def test_stricter_policy_binds_an_account_that_is_open_already(table):
    ledger = dp.MemoryLedger()
    dp.Session(table, recipient="acme", role="third_party", ledger=ledger, policy=_policy(2.0))
    strict = dp.Session(table, recipient="acme", role="third_party", ledger=ledger, policy=_policy(0.5))
    assert strict.remaining.epsilon == 0.5
    strict.release(dp.Count(), epsilon=0.4)
    price = strict.price(dp.Mean("age"), epsilon=0.3)
    assert price.after is None and not price.affordable
    with pytest.raises(BudgetError, match=r"asked epsilon 0\.3, left epsilon 0\.1 of 0\.5"):
        strict.release(dp.Mean("age"), epsilon=0.3)
    strict.release(dp.Count(), epsilon=0.4)  # what was answered before stays free
    loose = dp.Session(table, recipient="acme", role="third_party", ledger=ledger, policy=_policy(5.0))
    assert loose.remaining.epsilon == 4.6  # the policy of the day, and what was spent stays spent
    back = dp.Session(table, recipient="acme", role="third_party", ledger=ledger, policy=_policy(2.0))
    assert back.remaining.epsilon == 1.6


def test_stricter_data_set_budget_binds_and_does_not_say_what_is_left(table):
    ledger = dp.MemoryLedger()
    one = dp.Session(table, recipient="acme", role="third_party", ledger=ledger, policy=_policy(2.0))
    one.release(dp.Count(), epsilon=0.4)
    two = dp.Session(table, recipient="bmed", role="third_party", ledger=ledger, policy=_policy(2.0, 0.5))
    with pytest.raises(BudgetError, match="data set's own budget") as caught:
        two.release(dp.Mean("age"), epsilon=0.3)
    assert caught.value.left is None


@pytest.mark.parametrize("kind", ["memory", "sqlite"])
def test_two_sessions_at_once_under_stricter_terms_never_spend_more_than_these(table, kind, tmp_path, monkeypatch):
    ledger = dp.MemoryLedger() if kind == "memory" else dp.SqliteLedger(tmp_path / "ledger.db")
    dp.Session(table, recipient="acme", role="third_party", ledger=ledger, policy=_policy(2.0))
    both = threading.Barrier(2)
    checked = dp.Session._check_table

    def wait_for_the_other(self, prepared):  # the last moment before the ledger: both have passed every other check
        checked(self, prepared)
        both.wait(timeout=30)

    monkeypatch.setattr(dp.Session, "_check_table", wait_for_the_other)

    def ask(question):
        session = dp.Session(table, recipient="acme", role="third_party", ledger=ledger, policy=_policy(0.5))
        try:
            return session.release(question, epsilon=0.3)
        except BudgetError as error:
            return error

    with ThreadPoolExecutor(2) as pool:
        found = sorted(pool.map(ask, [dp.Count(), dp.Mean("age")]), key=lambda item: isinstance(item, BudgetError))
    assert isinstance(found[0], dp.Release) and isinstance(found[1], BudgetError)
    assert "left epsilon 0.2 of 0.5" in str(found[1])
    ledger.verify()


def test_preview_opens_no_account_and_releases_nothing(table):
    ledger = dp.MemoryLedger()
    session = dp.Session(table, recipient="acme", role="third_party", ledger=ledger, preview=True)
    assert session.price(dp.Count(), epsilon=0.2).after.epsilon == 1.8
    assert ledger.accounts() == [] and ledger.entries() == []
    with pytest.raises(ParameterError, match="prices only"):
        session.release(dp.Count(), epsilon=0.2)
    assert ledger.accounts() == []


def test_repeated_release_says_that_nothing_was_charged_and_nobody_looked(table):
    session = dp.Session(table, recipient="acme", budget=dp.PureDP(1.0))
    first = session.release(dp.Count(), epsilon=0.2)
    again = session.release(dp.Count(), epsilon=0.2)
    assert first == again and first.to_json() == again.to_json()
    assert first.remarks == () and "nothing was charged" in str(again)
    assert "Answered from the ledger (snapshot 'current')" in str(again)


def test_release_that_buys_the_number_of_rows_says_so(table):
    session = dp.Session(table, recipient="acme", role="third_party")
    assert "bought as well, once, for epsilon 0.1" in str(session.release(dp.Mean("age"), noise_factor="high"))
    assert "bought as well" not in str(session.release(dp.Median("age"), noise_factor="high"))


def test_stricter_terms_bind_single_records_too(table, people):
    ledger = dp.MemoryLedger()
    given = {"column": "age", "persons": people.patient, "budget": dp.guarantee.LocalDP(4.0)}
    loose = dp.Session(table, recipient="acme", budget=dp.PureDP(1.0), ledger=ledger)
    first = loose.release_records(people.age, epsilon=0.5, **given)
    policy = dp.Policy(rules=(), data_set_budget=1.5)
    strict = dp.Session(table, recipient="acme", budget=dp.PureDP(1.0), ledger=ledger, policy=policy)
    with pytest.raises(BudgetError, match="data set's own budget"):
        strict.release_records(people.age, epsilon=0.3, **given)
    assert strict.release_records(people.age, epsilon=0.5, **given) == first


@pytest.mark.parametrize("asked_before", [False, True])
def test_session_without_a_role_on_an_account_that_has_one_takes_its_cap(table, asked_before):
    ledger = dp.MemoryLedger()
    known = dp.Session(table, recipient="acme", role="third_party", ledger=ledger, policy=_policy(2.0))
    if asked_before:
        known.release(dp.Count(), epsilon=0.4)
    session = dp.Session(table, recipient="ACME", ledger=ledger, policy=_policy(2.0))
    assert session.role == "third_party" and session.cap == known.cap == 0.5
    assert session.noise_factor == known.noise_factor and session.limits_today == known.limits_today
    with pytest.raises(PolicyError, match=r"0\.5"):
        session.release(dp.Mean("age"), epsilon=1.5)
    with pytest.raises(PolicyError):
        session.release_records(table, column="age", epsilon=1.5)
    assert session.price(dp.Count(), epsilon=0.4).free == asked_before
    assert session.release(dp.Mean("age"), epsilon=0.5).epsilon == 0.5
    assert ledger.entries(recipient="acme")[-1].role == "third_party"


def test_session_without_a_role_takes_the_last_one_and_only_of_its_own_recipient(table):
    ledger = dp.MemoryLedger()
    dp.Session(table, recipient="acme", role="collaborator", ledger=ledger)
    dp.Session(table, recipient="acme", role="third_party", ledger=ledger).release(dp.Count(), epsilon=0.1)
    assert dp.Session(table, recipient="acme", ledger=ledger).role == "third_party"
    other = dp.Session(table, recipient="bmed", ledger=ledger, budget=dp.PureDP(3.0))
    assert other.role is None and other.cap is None
    assert other.release(dp.Count(), epsilon=2.0).epsilon == 2.0
    assert dp.Session(table, recipient="bmed", ledger=ledger).role is None


def test_session_without_a_role_takes_todays_stricter_cap_of_the_role(table):
    ledger = dp.MemoryLedger()
    dp.Session(table, recipient="acme", role="third_party", ledger=ledger, policy=_policy(2.0))
    rule = dp.policy.PolicyRule("third_party", "dp_high", fields=("age",), epsilon_per_question=0.2, budget=0.3)
    strict = dp.Session(table, recipient="acme", ledger=ledger, policy=dp.Policy(rules=(rule,), data_set_budget=9.0))
    assert strict.cap == 0.2 and strict.remaining.epsilon == 0.3
