"""What was paid stays paid: triggers, the chain, and the end of the chain kept outside the database."""

from __future__ import annotations

import pytest
from django.db import DatabaseError, connection, transaction

from pydplib import PureDP
from pydplib.budget import StoreLedger
from pydplib.errors import LedgerError
from pydplib.web.ledger import models as rows
from pydplib.web.ledger.pauses import UnsoundLedgerError


@pytest.fixture
def paid(ledger: StoreLedger, make_key) -> StoreLedger:
    ledger.open_account(lineage="reports", limit=PureDP(10.0))
    ledger.open_account(lineage="reports", recipient="acme", limit=PureDP(1.0))
    reservation = ledger.reserve(make_key(), recipient="acme", role="third_party")
    ledger.finish(reservation, b"answer")
    return ledger


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE ledger_entry SET hash = 'x'",
        "DELETE FROM ledger_entry",
        "UPDATE ledger_account SET nano_epsilon = 0, version = version + 1",
        "UPDATE ledger_account SET recipient = 'eve', version = version + 1 WHERE recipient = 'acme'",
        "DELETE FROM ledger_account",
        "UPDATE ledger_release SET payload = NULL, answer = NULL",
        "DELETE FROM ledger_release",
        "UPDATE ledger_payment SET recipient = 'eve'",
        "DELETE FROM ledger_payment",
    ],
)
def test_the_database_refuses_to_refund_or_rewrite(paid: StoreLedger, statement: str) -> None:
    with pytest.raises(DatabaseError), transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(statement)
    paid.verify()


def _unguard() -> None:
    with connection.cursor() as cursor:
        if connection.vendor == "postgresql":
            cursor.execute("SET CONSTRAINTS ALL IMMEDIATE")  # else the table counts as in use
        for table in ("entry", "account", "release", "payment"):
            if connection.vendor == "sqlite":
                cursor.execute(f"DROP TRIGGER ledger_{table}_stays")
                cursor.execute(f"DROP TRIGGER ledger_{table}_remains")
            else:
                cursor.execute(f"ALTER TABLE ledger_{table} DISABLE TRIGGER ALL")


RAISED = "UPDATE ledger_entry SET body = replace(body, '_epsilon\":1000000000', '_epsilon\":9000000000')"
"""A larger limit, in every entry that tells one."""


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE ledger_account SET nano_epsilon = 0 WHERE recipient = 'acme'",
        RAISED,
        "UPDATE ledger_entry SET body = replace(body, 'acme', 'acmf') WHERE number = 3",
        "DELETE FROM ledger_entry WHERE number = 1",
        "UPDATE ledger_payment SET recipient = 'eve'",
    ],
)
def test_verify_finds_what_was_changed_behind_the_guards(paid: StoreLedger, statement: str) -> None:
    paid.verify()
    _unguard()
    with connection.cursor() as cursor:
        cursor.execute(statement)
    with pytest.raises(LedgerError):
        paid.verify()


@pytest.mark.parametrize(
    ("statement", "sound_again"),
    [
        ("UPDATE ledger_account SET nano_epsilon = 0 WHERE recipient = 'acme'", 200_000_000),
        ("UPDATE ledger_account SET nano_epsilon = 0 WHERE recipient = ''", 200_000_000),
        (RAISED, None),
    ],
)
def test_the_next_debit_finds_changed_sums_and_pauses_all_answers(
    paid: StoreLedger, make_key, statement: str, sound_again: int | None
) -> None:
    _unguard()
    with connection.cursor() as cursor:
        cursor.execute(statement)
    entries = rows.Entry.objects.count()
    with pytest.raises(UnsoundLedgerError, match="last entry about this budget"):
        paid.reserve(make_key(1), recipient="acme", role="third_party")
    assert rows.Entry.objects.count() == entries and "last entry" in paid.damage
    with pytest.raises(UnsoundLedgerError):  # and stays paused, for everybody
        paid.open_account(lineage="other", limit=PureDP(1.0))
    if sound_again is not None:
        paid.go_on()
        rows.Account.objects.update(nano_epsilon=sound_again)
        assert paid.reserve(make_key(1), recipient="acme", role="third_party").charged
        paid.verify()


def test_an_entry_finds_the_newest_of_a_recipient_and_of_a_data_set(paid: StoreLedger, make_key) -> None:
    for number in range(1, 40):
        paid.reserve(make_key(number, 0.001), recipient="acme", role="third_party")
    with paid._snapshot() as store:
        newest = [entry.number for entry in store.newest("reports", "acme")]
        assert newest == sorted(newest, reverse=True) and len(newest) == 42
        assert [entry.number for entry in store.newest("reports")] == list(range(43, 0, -1))
        assert list(store.newest("other")) == [] == list(store.newest("reports", "eve"))
    assert paid.role_of(lineage="reports", recipient="acme") == "third_party"


def test_a_rolled_back_ledger_is_noticed_before_the_next_payment(paid: StoreLedger, make_key) -> None:
    point = transaction.savepoint()
    paid.reserve(make_key(1), recipient="acme", role="third_party")
    transaction.savepoint_rollback(point)  # as a restored backup would
    with pytest.raises(LedgerError, match="rolled back"):
        paid.reserve(make_key(2), recipient="acme", role="third_party")
    paid.accept()
    assert paid.reserve(make_key(2), recipient="acme", role="third_party").charged


def test_a_replaced_ledger_or_a_lost_head_is_noticed(paid: StoreLedger, make_key) -> None:
    rows.Head.objects.update(name="0" * 32)
    with pytest.raises(LedgerError, match="replaced"):
        paid.reserve(make_key(1), recipient="acme", role="third_party")
    paid.head_file.unlink()
    with pytest.raises(LedgerError, match=r"missing from the server's home"):
        paid.reserve(make_key(1), recipient="acme", role="third_party")


def test_an_emptied_database_is_noticed_although_it_has_no_entry_yet(ledger: StoreLedger) -> None:
    from pydplib import PureDP
    from pydplib.budget.chain import Head

    ledger.head_file.write_text(Head("0" * 32, 7, "a" * 64).to_json())  # type: ignore[attr-defined]
    with pytest.raises(LedgerError, match="replaced"):
        ledger.open_account(lineage="reports", limit=PureDP(1.0))


def test_the_head_is_kept_from_the_first_entry_on_even_if_the_server_dies_after_it(
    ledger: StoreLedger, monkeypatch: pytest.MonkeyPatch
) -> None:
    from pydplib import PureDP

    class DiedError(Exception):
        pass

    real = type(ledger)._write_head  # type: ignore[attr-defined]

    def die_after_the_first_entry(self, head) -> None:
        if head.entries:
            raise DiedError
        real(self, head)

    with monkeypatch.context() as dying:
        dying.setattr(type(ledger), "_write_head", die_after_the_first_entry)
        with pytest.raises(DiedError):
            ledger.open_account(lineage="reports", limit=PureDP(1.0))
    assert len(ledger.accounts(lineage="reports")) == 1, "read without a complaint: the file is behind, not missing"


def test_a_reader_beside_a_writer_raises_no_false_alarm(ledger: StoreLedger, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever is written between reading the file and reading the tables: the file is never ahead of the tables."""
    from pydplib import PureDP
    from pydplib.web.ledger import database

    real, added = database._reading, []

    def write_meanwhile():
        if not added:
            added.append(1)
            ledger.open_account(lineage="reports", limit=PureDP(1.0))
        return real()

    monkeypatch.setattr(database, "_reading", write_meanwhile)
    assert len(ledger.accounts(lineage="reports")) == 1, "no file at first, and an entry a moment later"
    added.clear()
    ledger.open_account(lineage="reports", recipient="acme", limit=PureDP(1.0))
    added.append(1)
    assert len(ledger.accounts(lineage="reports")) == 2
