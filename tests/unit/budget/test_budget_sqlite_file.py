"""The ledger file: made once, recognised, durable, append-only, and its head kept elsewhere."""

from __future__ import annotations

import json
import os
import pickle
import shutil
import sqlite3
import stat
from collections.abc import Callable
from pathlib import Path

import pytest

from pydplib.budget import Cost, Head, ReleaseKey, SqliteLedger, State
from pydplib.budget.chain import Entry
from pydplib.budget.keys import canonical_json
from pydplib.budget.sqlite_store import FORMAT, WITH_LIMITS, WITHOUT_GAUSSIAN
from pydplib.errors import BudgetError, LedgerError
from pydplib.guarantee import ApproxDP, PureDP

MakeKey = Callable[..., ReleaseKey]


def fill(path: Path, make_key: MakeKey, *, head_file: Path | None = None, asks: int = 3) -> SqliteLedger:
    ledger = SqliteLedger(path, head_file=head_file)
    ledger.open_account(lineage="reports", limit=PureDP(10.0))
    for recipient in ("acme", "uni"):
        ledger.open_account(lineage="reports", recipient=recipient, limit=PureDP(1.0))
    for number in range(asks):
        ledger.finish(ledger.reserve(make_key(number), recipient="acme", role="third_party"), b"answer %d" % number)
    return ledger


def test_file_is_for_its_owner_alone_durable_and_in_wal_mode(tmp_path: Path, make_key: MakeKey) -> None:
    ledger = fill(tmp_path / "ledger.db", make_key)
    for file in tmp_path.iterdir():
        assert stat.S_IMODE(file.stat().st_mode) == 0o600
    db = ledger._connection()
    assert db.execute("PRAGMA journal_mode").fetchone() == ("wal",)
    assert db.execute("PRAGMA synchronous").fetchone() == (2,)


def test_ledger_continues_where_it_was_when_opened_again(tmp_path: Path, make_key: MakeKey) -> None:
    with fill(tmp_path / "ledger.db", make_key) as ledger:
        head = ledger.head()
    with SqliteLedger(tmp_path / "ledger.db", create=False) as again:
        assert again.verify(head) == head
        assert again.reserve(make_key(1), recipient="acme", role="third_party").payload == b"answer 1"


def test_closed_ledger_opens_again_by_itself_and_pickles_as_its_path(tmp_path: Path, make_key: MakeKey) -> None:
    ledger = fill(tmp_path / "ledger.db", make_key)
    ledger.close()
    assert len(ledger.entries()) == 9
    copy = pickle.loads(pickle.dumps(ledger))
    assert copy.head() == ledger.head()


def test_repr_shows_the_name_of_the_file_only(tmp_path: Path) -> None:
    assert repr(SqliteLedger(tmp_path / "ledger.db")) == "SqliteLedger('ledger.db')"


@pytest.mark.parametrize("content", [b"", b"not a database at all" * 100])
def test_what_is_no_ledger_is_refused_and_left_as_it_was(tmp_path: Path, content: bytes) -> None:
    file = tmp_path / "notes.txt"
    file.write_bytes(content)
    for options in ({"create": False}, {"read_only": True}):
        with pytest.raises(LedgerError, match="is not a pydplib ledger"):
            SqliteLedger(file, **options)  # type: ignore[arg-type]
    assert file.read_bytes() == content


def test_database_of_somebody_else_is_refused_and_left_as_it_was(tmp_path: Path) -> None:
    file = tmp_path / "patients.db"
    db = sqlite3.connect(file)
    db.execute("CREATE TABLE meta (key, value)")
    db.close()
    content = file.read_bytes()
    with pytest.raises(LedgerError, match="is not a pydplib ledger"):
        SqliteLedger(file)
    assert file.read_bytes() == content


def test_missing_ledger_is_made_only_where_allowed(tmp_path: Path) -> None:
    for options in ({"create": False}, {"read_only": True}):
        with pytest.raises(LedgerError, match="There is no ledger"):
            SqliteLedger(tmp_path / "none.db", **options)  # type: ignore[arg-type]
    assert not (tmp_path / "none.db").exists()


def test_ledger_that_vanishes_while_closed_is_not_made_anew(tmp_path: Path, make_key: MakeKey) -> None:
    ledger = fill(tmp_path / "ledger.db", make_key)
    ledger.close()
    (tmp_path / "ledger.db").unlink()
    with pytest.raises(LedgerError, match="There is no ledger"):
        ledger.reserve(make_key(9), recipient="acme", role="third_party")


def test_ledger_that_is_exchanged_while_closed_is_noticed(tmp_path: Path, make_key: MakeKey) -> None:
    ledger = fill(tmp_path / "ledger.db", make_key)
    ledger.close()
    fill(tmp_path / "fresh.db", make_key, asks=0).close()
    (tmp_path / "fresh.db").replace(tmp_path / "ledger.db")
    with pytest.raises(LedgerError, match="was replaced"):
        ledger.reserve(make_key(9), recipient="acme", role="third_party")


def test_read_only_ledger_reads_and_refuses_to_write(tmp_path: Path, make_key: MakeKey) -> None:
    fill(tmp_path / "ledger.db", make_key).close()
    with SqliteLedger(tmp_path / "ledger.db", read_only=True) as ledger:
        assert ledger.verify().entries == 9
        assert ledger.reserve(make_key(1), recipient="acme", role="third_party").payload == b"answer 1"
        with pytest.raises(LedgerError, match="reading only"):
            ledger.reserve(make_key(9), recipient="acme", role="third_party")


def test_backup_is_whole_and_never_overwrites(tmp_path: Path, make_key: MakeKey) -> None:
    ledger = fill(tmp_path / "ledger.db", make_key)
    ledger.copy_to(tmp_path / "backup.db")
    assert SqliteLedger(tmp_path / "backup.db", read_only=True).verify(ledger.head()) == ledger.head()
    with pytest.raises(LedgerError, match="never overwrites"):
        ledger.copy_to(tmp_path / "backup.db")


def test_busy_ledger_says_so_and_spends_nothing(tmp_path: Path, make_key: MakeKey) -> None:
    fill(tmp_path / "ledger.db", make_key).close()
    ledger = SqliteLedger(tmp_path / "ledger.db", busy_seconds=0.05)
    other = sqlite3.connect(tmp_path / "ledger.db", isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    with pytest.raises(LedgerError, match="busy"):
        ledger.reserve(make_key(9), recipient="acme", role="third_party")
    other.execute("ROLLBACK")
    other.close()
    assert ledger.verify().entries == 9


def test_full_disk_spends_nothing_shows_nothing_and_breaks_nothing(tmp_path: Path, make_key: MakeKey) -> None:
    ledger = fill(tmp_path / "ledger.db", make_key)
    reservation = ledger.reserve(make_key(9), recipient="acme", role="third_party")
    pages = ledger._connection().execute("PRAGMA page_count").fetchone()[0]
    ledger._connection().execute(f"PRAGMA max_page_count = {pages}")
    before = ledger.head()
    with pytest.raises(LedgerError, match="disk of the ledger is full"):
        ledger.finish(reservation, b"x" * 10**6)
    ledger._connection().execute("PRAGMA max_page_count = 1000000")
    assert ledger.verify() == before
    assert ledger.finish(reservation, b"later") == b"later"


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE entries SET hash = 'x' WHERE number = 5",
        "DELETE FROM entries WHERE number = 9",
        "INSERT INTO entries (number, body, hash) SELECT 12, body, hash FROM entries WHERE number = 9",
        "INSERT INTO entries (number, body, hash) SELECT 10, body, hash FROM entries WHERE number = 9",
        "REPLACE INTO entries (number, body, hash) VALUES (9, '{}', 'x')",
        "UPDATE accounts SET nano_epsilon = 0, version = version + 1 WHERE recipient = 'acme'",
        "UPDATE accounts SET nano_rho = 0, version = version + 1 WHERE recipient = 'acme'",
        "UPDATE accounts SET nano_epsilon = nano_epsilon + 1",
        "UPDATE accounts SET atto_delta = -1, version = version + 1",
        "DELETE FROM accounts",
        "UPDATE releases SET payload = x'00'",
        "UPDATE releases SET payload = NULL, answer = NULL",
        "DELETE FROM releases",
        "UPDATE payments SET recipient = 'uni'",
        "DELETE FROM payments",
    ],
)
def test_triggers_refuse_every_change_that_would_forget_something(
    tmp_path: Path, make_key: MakeKey, statement: str
) -> None:
    fill(tmp_path / "ledger.db", make_key).close()
    db = sqlite3.connect(tmp_path / "ledger.db")
    with pytest.raises(sqlite3.IntegrityError):
        db.execute(statement)
    db.close()
    SqliteLedger(tmp_path / "ledger.db").verify()


def test_errors_of_the_database_never_quote_a_question(tmp_path: Path, make_key: MakeKey) -> None:
    ledger = fill(tmp_path / "ledger.db", make_key)
    ledger._connection().execute("DROP TABLE payments")
    with pytest.raises(LedgerError) as caught:
        ledger.reserve(make_key(1), recipient="acme", role="third_party")
    assert "count" not in str(caught.value)
    assert caught.value.__cause__ is None
    assert caught.value.__suppress_context__


def test_exported_head_notices_a_rolled_back_file(tmp_path: Path, make_key: MakeKey) -> None:
    ledger = fill(tmp_path / "ledger.db", make_key)
    ledger.copy_to(tmp_path / "old.db")
    ledger.reserve(make_key(7), recipient="acme", role="third_party")
    head = Head.from_json(ledger.head().to_json())
    with SqliteLedger(tmp_path / "old.db") as old:
        assert old.verify().entries == 9  # by itself it is sound ...
        with pytest.raises(LedgerError, match="rolled back: it has 9 entries, the exported head saw 10"):
            old.verify(head)
        old.reserve(make_key(8), recipient="acme", role="third_party")  # ... and going on does not hide it
        with pytest.raises(LedgerError, match="rewritten: its entry 10"):
            old.verify(head)


def test_exported_head_notices_a_replaced_file(tmp_path: Path, make_key: MakeKey) -> None:
    head = fill(tmp_path / "ledger.db", make_key).head()
    with pytest.raises(LedgerError, match="replaced"):
        fill(tmp_path / "fresh.db", make_key).verify(head)


def test_head_file_follows_every_change_and_refuses_a_rolled_back_ledger(tmp_path: Path, make_key: MakeKey) -> None:
    head_file = tmp_path / "elsewhere.json"
    ledger = fill(tmp_path / "ledger.db", make_key, head_file=head_file)
    assert Head.read(head_file) == ledger.head()
    ledger.close()
    shutil.copy(tmp_path / "ledger.db", tmp_path / "old.db")
    with SqliteLedger(tmp_path / "ledger.db", head_file=head_file) as again:
        again.reserve(make_key(7), recipient="acme", role="third_party")
    shutil.copy(tmp_path / "old.db", tmp_path / "ledger.db")
    with SqliteLedger(tmp_path / "ledger.db", head_file=head_file) as rolled_back:
        for use in (
            lambda: rolled_back.reserve(make_key(8), recipient="acme", role="third_party"),
            lambda: rolled_back.remaining(lineage="reports", recipient="acme"),
        ):
            with pytest.raises(LedgerError, match="rolled back"):
                use()


def test_head_file_refuses_a_deleted_ledger_instead_of_a_fresh_budget(tmp_path: Path, make_key: MakeKey) -> None:
    head_file = tmp_path / "elsewhere.json"
    fill(tmp_path / "ledger.db", make_key, head_file=head_file).close()
    (tmp_path / "ledger.db").unlink()
    with pytest.raises(LedgerError, match="it was deleted"):
        SqliteLedger(tmp_path / "ledger.db", head_file=head_file)


def test_ledger_cut_to_nothing_is_refused_and_is_no_fresh_budget(
    tmp_path: Path, make_key: MakeKey, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pydplib.budget.sqlite_file._FILLED_WITHIN", 0.05)
    path = tmp_path / "ledger.db"
    fill(path, make_key).close()
    path.write_bytes(b"")
    with pytest.raises(LedgerError, match=r"is empty: what was in it is lost\. Restore a backup"):
        SqliteLedger(path)
    assert path.read_bytes() == b""


def test_folder_is_no_ledger_and_says_so(tmp_path: Path) -> None:
    for options in ({}, {"create": False}, {"read_only": True}):
        with pytest.raises(LedgerError, match="is a folder, not a ledger"):
            SqliteLedger(tmp_path, **options)  # type: ignore[arg-type]


def test_head_file_that_cannot_be_written_keeps_the_debit_and_the_next_ask_goes_on(
    tmp_path: Path, make_key: MakeKey
) -> None:
    folder = tmp_path / "not yet there"
    ledger = fill(tmp_path / "ledger.db", make_key, asks=0)
    ledger.head_file = folder / "head.json"
    with pytest.raises(LedgerError, match="The debit stands"):
        ledger.reserve(make_key(), recipient="acme", role="third_party")
    folder.mkdir()
    again = ledger.reserve(make_key(), recipient="acme", role="third_party")
    assert (again.state, again.charged) == ("pending", False)
    assert ledger.remaining(lineage="reports", recipient="acme").epsilon == 0.8


@pytest.mark.parametrize(
    "text", ["", "{}", "[]", "[" * 100_000, '{"format": "other", "ledger": "a", "entries": 1, "hash": "b"}']
)
def test_head_that_is_none_is_refused(tmp_path: Path, text: str) -> None:
    (tmp_path / "head.json").write_text(text)
    with pytest.raises(LedgerError, match="not the head"):
        Head.read(tmp_path / "head.json")
    with pytest.raises(LedgerError, match="cannot be read"):
        Head.read(tmp_path / "missing.json")


def test_ledger_inherited_by_a_forked_child_works_in_both(tmp_path: Path, make_key: MakeKey) -> None:
    ledger = fill(tmp_path / "ledger.db", make_key)
    child = os.fork()
    if child == 0:  # pragma: no cover - the child has no coverage
        code = 1
        try:
            ledger.finish(ledger.reserve(make_key(50), recipient="acme", role="third_party"), b"child")
            code = 0
        finally:
            os._exit(code)
    assert os.waitpid(child, 0)[1] == 0
    assert ledger.reserve(make_key(50), recipient="acme", role="third_party").payload == b"child"
    with pytest.raises(BudgetError):
        ledger.reserve(make_key(51, 0.5), recipient="acme", role="third_party")
    ledger.verify()


def test_ledger_on_disk_refuses_seeded_noise_and_spends_nothing(tmp_path: Path, make_key: MakeKey) -> None:
    from pydplib.errors import ParameterError
    from pydplib.noise.testing import seeded

    with SqliteLedger(tmp_path / "ledger.db") as ledger:
        ledger.open_account(lineage="reports", limit=PureDP(10.0))
        ledger.open_account(lineage="reports", recipient="acme", limit=PureDP(1.0))
        with seeded(1), pytest.raises(ParameterError, match="Seeded noise"):
            ledger.reserve(make_key(), recipient="acme", role="third_party")
        assert ledger.head().entries == 2


def make_old(path: Path, written: str = WITHOUT_GAUSSIAN) -> None:
    """Turn a ledger file into one of an old format: with limits; in the first, no sum of what has no pure epsilon."""
    with sqlite3.connect(path) as db:
        grow = db.execute("SELECT sql FROM sqlite_master WHERE name = 'accounts_grow'").fetchone()[0]
        db.execute("DROP TRIGGER accounts_grow")
        if written == WITHOUT_GAUSSIAN:
            db.execute("UPDATE accounts SET nano_epsilon = NULL WHERE nano_gaussian > 0")
            db.execute("ALTER TABLE accounts DROP COLUMN nano_gaussian")
            line = "  OR (NEW.nano_epsilon IS NOT NULL AND NEW.nano_gaussian < OLD.nano_gaussian)\n"
            assert line in grow
            grow = grow.replace(line, "")
        for column in ("limit_nano_epsilon", "limit_atto_delta", "limit_atto_conversion"):
            db.execute(f"ALTER TABLE accounts ADD COLUMN {column} INTEGER NOT NULL DEFAULT 7")
            grow = grow.replace("\nBEGIN", f"\n  OR NEW.{column} != OLD.{column}\nBEGIN")
        db.execute(grow)
        db.execute("UPDATE meta SET value = ? WHERE key = 'format'", (written,))
    db.close()


@pytest.mark.parametrize("written", [WITHOUT_GAUSSIAN, WITH_LIMITS])
def test_old_format_is_read_as_it_is_and_brought_up_to_date_before_it_is_written(
    tmp_path: Path, make_key: MakeKey, written: str
) -> None:
    path = tmp_path / "ledger.db"
    with fill(path, make_key) as ledger:
        head, before = ledger.head(), ledger.accounts()
    make_old(path, written)
    with SqliteLedger(path, read_only=True) as reader:
        assert reader.verify(head) == head
        assert reader.accounts() == before
    with sqlite3.connect(path) as db:
        assert db.execute("SELECT value FROM meta WHERE key = 'format'").fetchone() == (written,)
    with SqliteLedger(path, create=False) as again:
        assert again.verify(head) == head
        again.finish(again.reserve(make_key(9), recipient="acme", role="third_party"), b"more")
        again.verify(head)
    with sqlite3.connect(path) as db:
        assert db.execute("SELECT value FROM meta WHERE key = 'format'").fetchone() == (FORMAT,)


def test_old_accounts_with_gaussian_noise_go_on_by_their_squares(tmp_path: Path, make_key: MakeKey) -> None:
    path = tmp_path / "ledger.db"
    with SqliteLedger(path) as ledger:
        ledger.open_account(lineage="reports", limit=ApproxDP(8.0, 1e-6))
        ledger.open_account(lineage="reports", recipient="acme", limit=ApproxDP(2.0, 1e-6))
        for number, cost in enumerate(
            (Cost.pure(0.1, mechanism="laplace"), Cost("gaussian", "add_remove", None, 10**7))
        ):
            ledger.finish(ledger.reserve(make_key(number, cost=cost), recipient="acme", role="third_party"), b"x")
        kept = ledger.accounts(recipient="acme")[0].state
    assert kept == State(10**8, 5_000_000 + 10**7, 0, nano_gaussian=10**7)
    with sqlite3.connect(path) as db:  # entries as the old format wrote them: without sums, as in version 0.1
        bodies = db.execute("SELECT number, body FROM entries ORDER BY number").fetchall()
        db.execute("DROP TRIGGER entries_stay")
        previous = json.loads(bodies[0][1])["previous"]
        for number, body in bodies:
            values = json.loads(body)
            values["details"].pop("sums", None)
            entry = Entry.from_body(canonical_json(values | {"previous": previous}), "")
            previous = entry.sealed().hash
            db.execute("UPDATE entries SET body = ?, hash = ? WHERE number = ?", (entry.body, previous, number))
        db.execute("CREATE TRIGGER entries_stay BEFORE UPDATE ON entries BEGIN SELECT raise(ABORT, 'no'); END")
    db.close()
    make_old(path)
    with SqliteLedger(path) as again:
        again.verify()
        assert again.accounts(recipient="acme")[0].state == State(None, 15_000_000, 0)
        key = make_key(7, cost=Cost.pure(0.1, mechanism="laplace"))
        again.finish(again.reserve(key, recipient="acme", role="third_party"), b"y")
        assert again.accounts(recipient="acme")[0].state == State(None, 20_000_000, 0)
        again.verify()
