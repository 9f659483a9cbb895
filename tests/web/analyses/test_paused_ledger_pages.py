"""Answers pause after a restore and while the ledger is damaged: pages say so, and to those who answer for it why."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from django.db import DatabaseError, connection

import pydplib as dp
from pydplib.errors import LedgerError
from pydplib.release.prices import Accuracy
from pydplib.web.analyses.payments.purchases import ask
from pydplib.web.auditlog.models import Line
from pydplib.web.ledger import checks
from pydplib.web.ledger import models as rows
from pydplib.web.ledger.acceptance import accept_ledger
from pydplib.web.ledger.database import DatabaseLedger
from pydplib.web.ledger.pauses import PausedLedgerError, UnsoundLedgerError


@pytest.fixture
def restored(study: Any, tara: Any) -> str:
    """As after `pydplib restore`: entries in the database, no head next to it. Returns the key of an answer."""
    made = ask(study.project, tara.user, tara.place, dp.Count(), Accuracy(epsilon=0.2))
    DatabaseLedger().head_file.unlink()
    return made.key


def test_pages_after_a_restore_are_plain_pages_not_faults(restored: str, study: Any, tara: Any, owner: Any) -> None:
    where = f"project={study.project.key}"
    for client in (tara, owner):
        for address in (
            "/",
            f"/analyses?{where}",
            f"/analyses/{restored}",
            f"/dashboards?{where}",
            f"/anonymize?{where}",
        ):
            assert client.get(address).status_code in (200, 503), address
    question = {"project": study.project.key, "kind": "count", "accuracy": "epsilon", "epsilon": "0.1"}
    page = owner.get("/analyses/new", question)
    words = page.content.decode()
    assert page.status_code == 503 and "Answers are paused" in words
    assert "pydplib ledger accept --home FOLDER" in words and "That did not work" not in words.split("<h1")[1]
    page = tara.get("/analyses/new", question)
    words = page.content.decode()
    assert page.status_code == 503 and "Answers are paused" in words
    assert "pydplib ledger" not in words and "ledger.head" not in words and "entries" not in words


def test_the_budget_page_names_the_command_to_owners_alone(restored: str, tara: Any, owner: Any) -> None:
    assert "pydplib ledger accept" in owner.get("/budget").content.decode()
    assert "pydplib ledger accept" not in tara.get("/budget").content.decode()


def test_a_rolled_back_ledger_pauses_too_and_goes_on_once_accepted(study: Any, tara: Any, owner: Any) -> None:
    from django.db import transaction

    question = {"project": study.project.key, "kind": "count", "accuracy": "epsilon", "epsilon": "0.1"}
    point = transaction.savepoint()
    ask(study.project, tara.user, tara.place, dp.Count(), Accuracy(epsilon=0.2))
    transaction.savepoint_rollback(point)
    page = owner.get("/analyses/new", question)
    assert page.status_code == 503 and "rolled back" in page.content.decode()
    DatabaseLedger().accept()
    assert owner.get("/analyses/new", question).status_code == 200


@pytest.fixture
def looked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checks, "_looked", {})


@pytest.fixture
def without_guards(study: Any) -> Callable[[str], None]:
    """Take a table's triggers away, as whoever can write the database could."""

    def take(table: str) -> None:
        with connection.cursor() as cursor:
            if connection.vendor == "sqlite":
                cursor.execute(f"DROP TRIGGER {table}_stays")
            else:
                cursor.execute("SET CONSTRAINTS ALL IMMEDIATE")  # else the table counts as in use
                cursor.execute(f"ALTER TABLE {table} DISABLE TRIGGER ALL")

    return take


@pytest.fixture
def refunded(study: Any, tara: Any, without_guards: Any, looked: None) -> Any:
    """Somebody set the sums back, and the server's daily look found it. Returns the answer that was paid before."""
    made = ask(study.project, tara.user, tara.place, dp.Count(), Accuracy(epsilon=0.2))
    without_guards("ledger_account")
    true = dict(rows.Account.objects.values_list("pk", "nano_epsilon"))
    rows.Account.objects.update(nano_epsilon=0)
    made.mend = lambda: [rows.Account.objects.filter(pk=pk).update(nano_epsilon=sum_) for pk, sum_ in true.items()]
    assert not checks.tidy()
    return made


def test_a_damaged_ledger_pauses_answers_and_prices_and_debits_nothing(refunded: Any, study: Any, tara: Any) -> None:
    before = rows.Entry.objects.count()
    for question in (dp.Count(), dp.Count(by=["histology"])):
        with pytest.raises(UnsoundLedgerError):
            ask(study.project, tara.user, tara.place, question, Accuracy(epsilon=0.1))
    with pytest.raises(PausedLedgerError):
        DatabaseLedger().enter_no_dp(lineage=study.project.key, recipient="x", role="owner", mechanism="table")
    assert rows.Entry.objects.count() == before
    page = tara.get("/analyses/new", {"kind": "count", "accuracy": "epsilon", "epsilon": "0.1"})
    assert page.status_code == 503 and "Answers are paused" in page.content.decode()


def test_a_damaged_ledger_is_explained_to_owner_and_officer_and_nobody_else(
    refunded: Any, study: Any, tara: Any, owner: Any, partner: Any, sign_in: Any
) -> None:
    officer = sign_in(partner("dora", "data_protection_officer", "St. Example").user)
    why = "the stored sums are not the sums of the entries"
    for client in (owner, officer):
        words = client.get("/budget").content.decode()
        assert "does not agree with itself" in words and why in words and "pydplib ledger accept" in words
    page = owner.get("/analyses/new", {"kind": "count", "accuracy": "epsilon", "epsilon": "0.1"})
    assert page.status_code == 503 and why in page.content.decode()
    for address in ("/budget", "/analyses/new?kind=count&accuracy=epsilon&epsilon=0.1"):
        words = tara.get(address).content.decode()
        assert why not in words and "pydplib ledger" not in words


def test_a_stored_answer_is_still_shown_while_the_chain_is_whole_and_not_after(
    refunded: Any, tara: Any, without_guards: Any
) -> None:
    assert tara.get(f"/analyses/{refunded.key}").status_code == 200
    without_guards("ledger_entry")
    first = rows.Entry.objects.get(number=1)
    rows.Entry.objects.filter(number=1).update(body=first.body.replace('"open"', '"look"'))
    page = tara.get(f"/analyses/{refunded.key}")
    assert page.status_code == 503 and "Answers are paused" in page.content.decode()


def test_answers_go_on_once_the_ledger_agrees_again(refunded: Any, study: Any, tara: Any) -> None:
    with pytest.raises(LedgerError, match="sums"):
        accept_ledger()
    assert DatabaseLedger().damage, "what is damaged cannot be accepted"
    assert not checks.tidy(), "looked at again, though it was today"
    refunded.mend()
    assert checks.tidy() and not DatabaseLedger().damage
    assert [line.facts["sound"] for line in Line.objects.filter(action="ledger.verify")] == [False, False, True]
    ask(study.project, tara.user, tara.place, dp.Count(), Accuracy(epsilon=0.1))


def test_verifying_or_accepting_a_mended_ledger_ends_the_pause(refunded: Any, study: Any, owner: Any) -> None:
    refunded.mend()
    assert DatabaseLedger().damage
    accept_ledger()
    assert not DatabaseLedger().damage
    DatabaseLedger().pause("for the test")
    owner.post("/budget/verify", {"project": study.project.key})
    assert not DatabaseLedger().damage


def test_a_person_who_finds_it_damaged_pauses_it_too(refunded: Any, study: Any, owner: Any) -> None:
    DatabaseLedger().go_on()
    owner.post("/budget/verify", {"project": study.project.key})
    assert "sums" in DatabaseLedger().damage


def test_a_database_that_does_not_answer_says_nothing_about_the_ledger(
    study: Any, looked: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*values: Any, **more: Any) -> Any:
        raise DatabaseError

    monkeypatch.setattr("pydplib.web.ledger.store.DatabaseStore.entries", fail)
    assert not checks.tidy()
    assert not DatabaseLedger().damage and not Line.objects.filter(action="ledger.verify").exists()
