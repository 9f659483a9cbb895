"""Asking on the platform: priced from public facts, paid before the look, the same answer again for nothing."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

import pydplib as dp
from pydplib.errors import BudgetError, PolicyError
from pydplib.receipt import Receipt
from pydplib.release.prices import Accuracy
from pydplib.web.analyses.models import Analysis
from pydplib.web.analyses.payments.budgets import all_purses, own_purse
from pydplib.web.analyses.payments.prices import quote
from pydplib.web.analyses.payments.purchases import ask, release_of, stored_payload
from pydplib.web.analyses.payments.sessions import open_session
from pydplib.web.analyses.receipts.keys import issuer_keys, published_keys, rotate
from pydplib.web.attacks.recipients import given_to
from pydplib.web.auditlog.models import Line
from pydplib.web.ledger import models as rows
from pydplib.web.ledger.database import DatabaseLedger
from pydplib.web.projects.allowances import limit_of
from pydplib.web.projects.models import Member, Project
from pydplib.web.projects.policy.rules import change_rule, lower_data_set_budget
from pydplib.web.projects.requests.decisions import decide
from pydplib.web.projects.requests.submissions import propose_budget

COUNT = dp.Count(by="pirads")


def test_price_spends_nothing_and_opens_nothing(study: Any, partner: Any) -> None:
    tara = partner()
    told = quote(study.project, tara.user, tara.place, COUNT, Accuracy(epsilon=0.2))
    assert told.epsilon == pytest.approx(0.2)
    assert not rows.Account.objects.exists()
    assert not rows.Entry.objects.exists()


def test_same_question_again_is_the_same_answer_for_nothing(study: Any, partner: Any) -> None:
    tara = partner()
    first = ask(study.project, tara.user, tara.place, COUNT, Accuracy(epsilon=0.2))
    spent = rows.Account.objects.get(recipient=tara.user.hospital.key).nano_epsilon
    again = ask(study.project, tara.user, tara.place, COUNT, Accuracy(epsilon=0.2))
    assert (again.pk, again.digest) == (first.pk, first.digest)
    assert rows.Account.objects.get(recipient=tara.user.hospital.key).nano_epsilon == spent == 200_000_000
    assert Line.objects.filter(action="analysis.ask").count() == 1


def test_colleagues_share_budget_and_answers(study: Any, partner: Any) -> None:
    tara, theo = partner("tara"), partner("theo")
    first = ask(study.project, tara.user, tara.place, COUNT, Accuracy(epsilon=0.2))
    assert ask(study.project, theo.user, theo.place, COUNT, Accuracy(epsilon=0.2)).pk == first.pk
    assert rows.Account.objects.get(recipient=tara.user.hospital.key).nano_epsilon == 200_000_000


def test_budget_ends_with_asked_and_left_and_the_refusal_is_logged(study: Any, partner: Any) -> None:
    tara = partner()
    for year in (2017, 2018):
        for question in (
            dp.Count(where=[dp.Where("year").is_in([year])]),
            dp.Mean("age", where=[dp.Where("year").is_in([year])]),
        ):
            ask(study.project, tara.user, tara.place, question, Accuracy(epsilon=0.5))
    with pytest.raises(BudgetError) as refusal:
        ask(study.project, tara.user, tara.place, COUNT, Accuracy(epsilon=0.1))
    assert refusal.value.asked
    assert refusal.value.left
    assert Line.objects.filter(action="analysis.refuse").count() == 1
    assert Analysis.objects.count() == 4


def test_lowered_limit_stops_the_next_debit_and_a_raised_one_takes_two_owners(
    study: Any, partner: Any, make_user: Any
) -> None:
    tara, row = partner(), study.project.rules.get(audience="third_party")
    second = make_user("otto", hospital=study.owner.hospital)
    Member.objects.create(project=study.project, user=second, role="owner")
    asked = iter(dp.Count(where=[dp.Where("year").is_in([year])]) for year in (2017, 2018, 2017))

    def ask_next() -> None:
        ask(study.project, tara.user, tara.place, next(asked), Accuracy(epsilon=0.5))

    ask_next()
    for lower in (
        lambda: change_rule(study.owner, row, replace(row.to_rule(), budget=0.9)),
        lambda: lower_data_set_budget(study.owner, study.project, 0.8),
    ):
        lower()
        study.project = Project.objects.get(pk=study.project.pk)
        with pytest.raises(BudgetError):
            ask(study.project, tara.user, tara.place, COUNT, Accuracy(epsilon=0.5))
    row.refresh_from_db()
    with pytest.raises(PolicyError, match="two owners"):
        change_rule(study.owner, row, replace(row.to_rule(), budget=1.5))
    with pytest.raises(PolicyError, match="two owners"):
        lower_data_set_budget(study.owner, study.project, 2.0)
    for audience, budget in (("third_party", 1.5), ("*", 2.0)):
        proposed = propose_budget(study.owner, study.project, audience=audience, budget=budget, reason="more years")
        with pytest.raises(BudgetError):
            ask(study.project, tara.user, tara.place, COUNT, Accuracy(epsilon=0.5))
        decide(second, proposed, agrees=True, reason="yes")
        study.project = Project.objects.get(pk=study.project.pk)
    ask_next()
    DatabaseLedger().verify()


def test_what_a_partner_may_spend_has_one_answer_everywhere(study: Any, partner: Any) -> None:
    tara = partner()
    place = Member.objects.get(project=study.project, user=tara.user)
    ask(study.project, tara.user, tara.place, COUNT, Accuracy(epsilon=0.5))
    for budget in (1.7, 0.9, 2.5):
        study.project.rules.filter(audience="third_party").update(budget=budget)
        project, organisation = Project.objects.get(pk=study.project.pk), tara.user.hospital.key
        session, _ = open_session(project, tara.user, place, preview=True)
        own, (purses, _) = own_purse(project, tara.user, place), all_purses(project)
        limit = limit_of(project, organisation)
        assert own is not None and limit is not None
        assert limit == session.limits_today.recipient == session.remaining.limit
        assert own.account == purses[0].account and own.account[1] == limit
        assert {own.total, purses[0].total, given_to(project, organisation).allowed} == {budget}
        assert own.most == session.quote().left.epsilon


def test_a_budget_that_the_policy_raised_is_open_at_the_next_ask(study: Any, partner: Any) -> None:
    tara = partner()
    ask(study.project, tara.user, tara.place, COUNT, Accuracy(epsilon=0.5))
    study.project.rules.filter(audience="third_party").update(budget=3.0)
    ask(study.project, tara.user, tara.place, dp.Count(), Accuracy(epsilon=0.5))
    paid_under = DatabaseLedger().last_limit(lineage=study.project.key, recipient=tara.user.hospital.key)
    assert paid_under is not None and paid_under.nano_epsilon == 3_000_000_000
    study.project.rules.filter(audience="third_party").update(budget=0.6)
    with pytest.raises(BudgetError):
        ask(study.project, tara.user, tara.place, dp.Count(by="year"), Accuracy(epsilon=0.5))
    DatabaseLedger().verify()


@pytest.mark.parametrize("role", ["radiologist", "data_protection_officer"])
def test_roles_that_ask_no_statistics_are_refused(study: Any, partner: Any, role: str) -> None:
    somebody = partner("somebody", role)
    with pytest.raises(PolicyError):
        ask(study.project, somebody.user, somebody.place, COUNT, Accuracy(epsilon=0.1))
    assert not rows.Account.objects.exists()


def test_without_a_published_snapshot_there_is_nothing_to_ask(study: Any, partner: Any) -> None:
    tara = partner()
    study.project.snapshots.update(published=None)
    with pytest.raises(PolicyError, match="not published"):
        quote(study.project, tara.user, tara.place, COUNT, Accuracy(epsilon=0.1))


def test_receipt_is_genuine_before_and_after_a_new_key(study: Any, partner: Any) -> None:
    tara = partner()
    made = ask(study.project, tara.user, tara.place, COUNT, Accuracy(epsilon=0.2))
    receipt = Receipt.from_json(made.receipt)
    assert receipt.verify(issuer_keys()).matches(stored_payload(made.digest))
    rotate(study.project.hospital)
    assert receipt.verify(issuer_keys()).epsilon == "0.2"
    assert [key.current for key in published_keys()] == [True, False]


def test_the_analysis_shows_released_values_alone(study: Any, partner: Any) -> None:
    tara = partner()
    made = ask(study.project, tara.user, tara.place, COUNT, Accuracy(epsilon=0.2))
    release = release_of(made)
    assert release.key == made.digest
    assert len(release.values) == 6  # the five scores, and without one
    assert "pirads" in made.words.lower()


def test_identifiers_cannot_be_asked(study: Any, partner: Any) -> None:
    tara = partner()
    with pytest.raises((PolicyError, dp.errors.QuestionError)):
        ask(study.project, tara.user, tara.place, dp.Count(by="patient_id"), Accuracy(epsilon=0.2))
    assert not rows.Release.objects.exists()


def test_an_answer_that_was_changed_behind_the_guards_is_never_shown(study: Any, tara: Any, partner: Any) -> None:
    from django.db import connection

    from pydplib.errors import LedgerError

    tara.raise_request_exception = False
    made = ask(study.project, tara.user, tara.place, COUNT, Accuracy(epsilon=0.2))
    false = stored_payload(made.digest).replace(b'"values": [', b'"values": [123456.0, ')
    with connection.cursor() as cursor:
        if connection.vendor == "sqlite":
            cursor.execute("DROP TRIGGER ledger_release_stays")
        else:
            cursor.execute("SET CONSTRAINTS ALL IMMEDIATE")  # else the table counts as in use
            cursor.execute("ALTER TABLE ledger_release DISABLE TRIGGER ALL")
        cursor.execute("UPDATE ledger_release SET payload = %s WHERE digest = %s", [false, made.digest])
    with pytest.raises(LedgerError, match="changed after it was released"):
        stored_payload(made.digest)
    for path in ("", "/download/csv", "/download/json"):
        answer = tara.get(f"/analyses/{made.key}{path}")
        assert answer.status_code >= 500 and b"123456" not in answer.content
    other = partner("bob", organisation="Other")
    with pytest.raises(LedgerError):  # not sold to anybody else either
        ask(study.project, other.user, other.place, COUNT, Accuracy(epsilon=0.2))
    assert not Analysis.objects.filter(recipient=other.user.hospital.key).exists()
