"""Whoever edits the ledger file behind its back is found: changed, deleted, reordered and forged rows."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable
from pathlib import Path

import pytest

from pydplib.budget import Cost, Entry, Head, ReleaseKey, SqliteLedger
from pydplib.errors import LedgerError
from pydplib.guarantee import PureDP

Edit = Callable[[sqlite3.Connection], None]


def key(number: int, epsilon: float = 0.1) -> ReleaseKey:
    cost = Cost.pure(epsilon, mechanism="laplace")
    return ReleaseKey(lineage="reports", snapshot="2018", question={"number": number}, cost=cost)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    with SqliteLedger(tmp_path / "ledger.db") as ledger:
        ledger.open_account(lineage="reports", limit=PureDP(10.0))
        for recipient in ("acme", "uni"):
            ledger.open_account(lineage="reports", recipient=recipient, limit=PureDP(1.0))
        for number in range(4):
            ledger.finish(ledger.reserve(key(number), recipient="acme", role="third_party"), b"answer %d" % number)
        ledger.reserve(key(1), recipient="uni", role="collaborator")
        ledger.enter_no_dp(lineage="reports", recipient="uni", role="collaborator", mechanism="5-anonymity")
        ledger.verify()
    return tmp_path / "ledger.db"


def edit(file: Path, change: Edit) -> None:
    """Change the file as somebody would who can write it: without the triggers, which are put back after."""
    db = sqlite3.connect(file)
    triggers = db.execute("SELECT name, sql FROM sqlite_master WHERE type = 'trigger'").fetchall()
    for name, _ in triggers:
        db.execute(f"DROP TRIGGER {name}")
    change(db)
    for _, sql in triggers:
        db.execute(sql)
    db.commit()
    db.close()


def change_body(number: int, **values: object) -> Edit:
    def change(db: sqlite3.Connection) -> None:
        body = json.loads(db.execute("SELECT body FROM entries WHERE number = ?", (number,)).fetchone()[0])
        body.update(values)
        text = json.dumps(body, sort_keys=True, separators=(",", ":"))
        db.execute("UPDATE entries SET body = ? WHERE number = ?", (text, number))

    return change


def sql(*statements: str) -> Edit:
    def change(db: sqlite3.Connection) -> None:
        for statement in statements:
            db.execute(statement)

    return change


def rechain(db: sqlite3.Connection) -> None:
    """Recompute the whole chain, as a forger would who knows how it is made."""
    previous = "0" * 64
    rows = db.execute("SELECT body FROM entries ORDER BY number").fetchall()
    db.execute("DELETE FROM entries")
    for number, (body,) in enumerate(rows, start=1):
        values = json.loads(body)
        values.update(number=number, previous=previous)
        text = json.dumps(values, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
        entry = Entry.from_body(text, "").sealed()
        db.execute("INSERT INTO entries (number, body, hash) VALUES (?, ?, ?)", (number, entry.body, entry.hash))
        previous = entry.hash


RAISED = (
    "UPDATE entries SET body = json_set(body, '$.details.sums.recipient.limit.nano_epsilon', 1000000000000) "
    "WHERE json_extract(body, '$.kind') = 'share'"
)
SWAP = (
    "UPDATE entries SET number = -1 WHERE number = 6",
    "UPDATE entries SET number = 6 WHERE number = 8",
    "UPDATE entries SET number = 8 WHERE number = -1",
)
CHEAPER = {
    "cost": {
        "mechanism": "laplace",
        "relation": "add_remove",
        "nano_epsilon": 1,
        "nano_rho": 1,
        "atto_delta": 0,
    }
}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        pytest.param(change_body(4, role="owner"), "entry 4 does not fit the chain", id="changed role"),
        pytest.param(change_body(4, **CHEAPER), "entry 4 does not fit the chain", id="changed cost"),
        pytest.param(change_body(4, time="2001-01-01"), "entry 4 does not fit the chain", id="changed time"),
        pytest.param(sql("UPDATE entries SET hash = 'ab' WHERE number = 5"), "entry 5", id="changed hash"),
        pytest.param(sql("UPDATE entries SET body = '{}' WHERE number = 5"), "not an entry", id="no entry"),
        pytest.param(sql("UPDATE entries SET body = body || ' ' WHERE number = 5"), "not an entry", id="added blank"),
        pytest.param(
            sql('UPDATE entries SET body = replace(body, \'{"cost"\', \'{"recipient":"eve","cost"\')'),
            "not an entry",
            id="key twice",
        ),
        pytest.param(sql("DELETE FROM entries WHERE number = 6"), "entry 6 is missing", id="deleted row"),
        pytest.param(sql("DELETE FROM entries WHERE number = 1"), "entry 1 is missing", id="deleted first row"),
        pytest.param(sql("DELETE FROM entries WHERE number >= 12"), "who paid for what|sums", id="deleted last rows"),
        pytest.param(sql(*SWAP), "entry 6", id="reordered rows"),
        pytest.param(sql("UPDATE accounts SET nano_epsilon = 0, nano_rho = 0"), "stored sums", id="reset sums"),
        pytest.param(sql(RAISED), "entry 13 does not fit the chain|entry 12 does not", id="raised limit"),
        pytest.param(sql("DELETE FROM accounts WHERE recipient = 'uni'"), "stored sums", id="deleted account"),
        pytest.param(
            sql("INSERT INTO payments SELECT digest, 'eve', entry FROM payments LIMIT 1"), "who paid", id="free rider"
        ),
        pytest.param(sql("DELETE FROM payments WHERE recipient = 'uni'"), "who paid", id="deleted payment"),
        pytest.param(sql("UPDATE releases SET payload = x'00'"), "stored answer was changed", id="changed answer"),
        pytest.param(sql("UPDATE releases SET question = '{}'"), "stored question", id="changed question"),
        pytest.param(
            sql("UPDATE releases SET payload = NULL, answer = NULL"), "stored answer", id="answer made pending again"
        ),
        pytest.param(
            sql("PRAGMA foreign_keys = OFF", "DELETE FROM releases WHERE rowid = 1"), "missing", id="deleted release"
        ),
    ],
)
def test_verify_after_a_change_names_it(file: Path, change: Edit, message: str) -> None:
    edit(file, change)
    with SqliteLedger(file) as ledger, pytest.raises(LedgerError, match=message):
        ledger.verify()


def test_verify_after_no_change_is_content(file: Path) -> None:
    edit(file, lambda db: None)
    with SqliteLedger(file) as ledger:
        assert ledger.verify().entries == 13


def test_changed_answer_is_not_handed_out_at_the_next_ask(file: Path) -> None:
    edit(file, sql("UPDATE releases SET payload = x'00'"))
    with SqliteLedger(file) as ledger, pytest.raises(LedgerError, match="changed after it was released"):
        ledger.reserve(key(1), recipient="acme", role="third_party")


def test_forged_debit_beyond_the_limit_is_found_even_in_a_recomputed_chain(file: Path) -> None:
    def forge(db: sqlite3.Connection) -> None:
        expensive = {**CHEAPER["cost"], "nano_epsilon": 5 * 10**9, "nano_rho": 10**10}
        change_body(4, cost=expensive)(db)
        rechain(db)

    edit(file, forge)
    with SqliteLedger(file) as ledger, pytest.raises(LedgerError, match="entry 4 was granted against the rules"):
        ledger.verify()


def test_perfect_forgery_is_found_by_an_exported_head_and_by_nothing_else(file: Path) -> None:
    with SqliteLedger(file) as ledger:
        head = Head.from_json(ledger.head().to_json())

    def forge(db: sqlite3.Connection) -> None:
        change_body(13, recipient="acme")(db)  # the anonymized table went to somebody else, it says now
        rechain(db)

    edit(file, forge)
    with SqliteLedger(file) as ledger:
        ledger.verify()
        with pytest.raises(LedgerError, match="rewritten: its entry 13"):
            ledger.verify(head)


RESET = "UPDATE accounts SET nano_epsilon = 0, nano_rho = 0, atto_delta = 0"


@pytest.mark.parametrize(
    ("change", "asks"),
    [
        pytest.param(sql(f"{RESET} WHERE recipient = 'acme'"), "acme", id="recipient's sums"),
        pytest.param(sql(f"{RESET} WHERE recipient = ''"), "acme", id="data set's sums"),
        pytest.param(sql(f"{RESET} WHERE recipient = ''"), "uni", id="data set's sums, asked by another"),
        pytest.param(sql("UPDATE accounts SET nano_rho = 0 WHERE recipient = ''"), "acme", id="rho alone"),
        pytest.param(sql("UPDATE accounts SET nano_epsilon = nano_epsilon - 1"), "acme", id="by one unit"),
        pytest.param(sql("UPDATE accounts SET version = version + 1"), "acme", id="version"),
    ],
)
@pytest.mark.parametrize("old", [False, True], ids=["entries with sums", "entries of version 0.1"])
def test_next_debit_after_changed_sums_is_refused_and_nothing_is_spent(
    file: Path, change: Edit, asks: str, old: bool
) -> None:
    if old:
        edit(file, without_sums)
    edit(file, change)
    with SqliteLedger(file) as ledger:
        before = ledger.accounts(), ledger.head()
        for asked in (7, 8):
            with pytest.raises(LedgerError, match="stored sums are not"):
                ledger.reserve(key(asked), recipient=asks, role="third_party")
        assert (ledger.accounts(), ledger.head()) == before
        assert ledger.reserve(key(1), recipient="acme", role="third_party").payload == b"answer 1"  # paid before


def test_next_debit_after_a_limit_was_raised_in_an_entry_is_refused(file: Path) -> None:
    edit(file, sql(RAISED))
    with SqliteLedger(file) as ledger:
        assert str(ledger.last_limit(lineage="reports", recipient="uni")) == "epsilon 1000"
        with pytest.raises(LedgerError, match="stored sums are not those of the last entry"):
            ledger.reserve(key(7), recipient="uni", role="third_party")


def without_sums(db: sqlite3.Connection) -> None:
    """Make the entries what they were before they carried sums."""
    for number, body in db.execute("SELECT number, body FROM entries").fetchall():
        values = json.loads(body)
        values["details"].pop("sums", None)
        text = json.dumps(values, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
        db.execute("UPDATE entries SET body = ? WHERE number = ?", (text, number))
    rechain(db)


def test_ledger_of_entries_without_sums_goes_on_and_carries_them_from_then_on(file: Path) -> None:
    edit(file, without_sums)
    with SqliteLedger(file) as ledger:
        ledger.verify()
        ledger.reserve(key(7), recipient="acme", role="third_party")
        ledger.reserve(key(7), recipient="uni", role="third_party")
        ledger.change_limit(lineage="reports", recipient="uni", limit=PureDP(2.0), by="owner")
        ledger.reserve(key(8), recipient="uni", role="third_party")
        assert set(ledger.entries()[-1].details["sums"]) == {"recipient", "data_set"}
        ledger.verify()
    edit(file, sql(f"{RESET} WHERE recipient = 'uni'"))
    with SqliteLedger(file) as ledger, pytest.raises(LedgerError, match="last entry about this budget"):
        ledger.reserve(key(9), recipient="uni", role="third_party")


def test_deleted_budget_is_not_opened_again_as_a_fresh_one(file: Path) -> None:
    edit(file, sql("DELETE FROM accounts WHERE recipient = 'acme'"))
    with SqliteLedger(file) as ledger, pytest.raises(LedgerError, match="a budget that was opened is missing"):
        ledger.open_account(lineage="reports", recipient="acme", limit=PureDP(1.0))


def test_debit_reads_one_entry_of_each_budget_however_long_the_ledger(file: Path, monkeypatch) -> None:
    read = []
    whole = Entry.from_body.__func__
    monkeypatch.setattr(Entry, "from_body", classmethod(lambda cls, *given: read.append(1) or whole(cls, *given)))
    counts = []
    with SqliteLedger(file) as ledger:
        for number in range(20, 23):
            read.clear()
            ledger.reserve(key(number, 0.001), recipient="acme", role="third_party")
            counts.append(len(read))
            for more in range(20):
                ledger.reserve(key(100 * number + more, 0.001), recipient="acme", role="third_party")
    assert counts[1] == counts[2] <= 4


def test_forged_sums_in_an_entry_are_found_even_in_a_recomputed_chain(file: Path) -> None:
    def forge(db: sqlite3.Connection) -> None:
        body = json.loads(db.execute("SELECT body FROM entries WHERE number = 4").fetchone()[0])
        body["details"]["sums"]["recipient"]["spent"]["nano_epsilon"] = 0
        change_body(4, details=body["details"])(db)
        rechain(db)

    edit(file, forge)
    with SqliteLedger(file) as ledger, pytest.raises(LedgerError, match="entry 4 tells other sums"):
        ledger.verify()
