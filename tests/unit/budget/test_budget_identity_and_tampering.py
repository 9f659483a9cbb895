"""One budget in any spelling, heads that never go back, and every edit of a ledger file found."""

from __future__ import annotations

import sqlite3
import threading
import unicodedata
from collections.abc import Callable
from pathlib import Path

import pytest

from pydplib.budget import Head, ReleaseKey, SqliteLedger, StoreLedger
from pydplib.errors import BudgetError, LedgerError, ParameterError
from pydplib.guarantee import PureDP

MakeKey = Callable[..., ReleaseKey]


@pytest.mark.parametrize(
    "variant", ["Partner Café", "PARTNER CAFÉ", "partner   café", unicodedata.normalize("NFD", "partner café")]
)
def test_recipient_in_another_spelling_has_the_same_budget(
    ledger: StoreLedger, make_key: MakeKey, variant: str
) -> None:
    ledger.open_account(lineage="reports", limit=PureDP(10.0))
    ledger.open_account(lineage="reports", recipient="partner café", limit=PureDP(0.3))
    ledger.reserve(make_key(1, 0.2), recipient="partner café", role="third_party")
    assert not ledger.reserve(make_key(1, 0.2), recipient=variant, role="third_party").charged
    with pytest.raises(BudgetError, match=r"0\.1"):
        ledger.reserve(make_key(2, 0.2), recipient=variant, role="third_party")
    assert ledger.remaining(lineage="Reports", recipient=variant).nano_epsilon == 100_000_000
    assert len(ledger.accounts(recipient=variant)) == 1
    assert ledger.entries(recipient=variant) == ledger.entries(recipient="partner café")


def test_recipients_with_other_letters_stay_apart(ledger: StoreLedger) -> None:
    for name in ("partner a", "partner b"):
        ledger.open_account(lineage="reports", recipient=name, limit=PureDP(1.0))
    assert len(ledger.accounts()) == 2


def test_name_that_folds_to_nothing_printable_is_refused(ledger: StoreLedger) -> None:
    with pytest.raises(ParameterError, match="printable"):
        ledger.open_account(lineage="reports", recipient="a\u200bb", limit=PureDP(1.0))


def _filled(path: Path, make_key: MakeKey) -> Head:
    with SqliteLedger(path) as ledger:
        ledger.open_account(lineage="reports", limit=PureDP(10.0))
        ledger.open_account(lineage="reports", recipient="acme", limit=PureDP(1.0))
        for number in range(2):
            key = make_key(number)
            ledger.finish(ledger.reserve(key, recipient="acme", role="third_party"), b"answer")
        return ledger.verify()


@pytest.mark.parametrize(
    "edit",
    [
        "UPDATE releases SET snapshot = 'zz'",
        "UPDATE releases SET lineage = 'other'",
        "UPDATE accounts SET version = version + 1",
        "UPDATE meta SET value = 'ff' WHERE key = 'name'",
    ],
)
def test_edited_ledger_without_its_triggers_is_found(tmp_path: Path, make_key: MakeKey, edit: str) -> None:
    path = tmp_path / "ledger.db"
    _filled(path, make_key)
    db = sqlite3.connect(path)
    for (name,) in db.execute("SELECT name FROM sqlite_master WHERE type = 'trigger'").fetchall():
        db.execute(f"DROP TRIGGER {name}")
    db.commit()
    with SqliteLedger(path, read_only=True) as untouched:  # the triggers alone change nothing
        untouched.verify()
    db.execute(edit)
    db.commit()
    db.close()
    with SqliteLedger(path, read_only=True) as ledger, pytest.raises(LedgerError, match="damaged"):
        ledger.verify()


def test_head_file_of_many_ledgers_in_one_process_is_the_newest_head(tmp_path: Path, make_key: MakeKey) -> None:
    path, head_file = tmp_path / "ledger.db", tmp_path / "kept" / "head.json"
    head_file.parent.mkdir()
    with SqliteLedger(path, head_file=head_file) as ledger:
        ledger.open_account(lineage="reports", limit=PureDP(100.0))
        ledger.open_account(lineage="reports", recipient="acme", limit=PureDP(100.0))
    errors: list[BaseException] = []

    def ask(first: int) -> None:
        try:
            with SqliteLedger(path, head_file=head_file) as mine:
                for number in range(first, first + 6):
                    mine.finish(mine.reserve(make_key(number), recipient="acme", role="third_party"), b"answer")
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=ask, args=(100 * i,)) for i in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert errors == []
    with SqliteLedger(path, read_only=True) as ledger:
        assert Head.read(head_file) == ledger.head()
        assert ledger.head().entries == 2 + 2 * 36
    assert [file.name for file in head_file.parent.iterdir()] == ["head.json"]  # no drafts are left
