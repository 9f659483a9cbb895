"""The tables of a ledger file, and the operations of a store on them."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from typing import Any

from pydplib.budget.chain import GENESIS, Entry
from pydplib.budget.rules import State
from pydplib.budget.store import Account, StoredRelease
from pydplib.guarantee import Relation

FORMAT = "pydplib-ledger/3"
WITH_LIMITS = "pydplib-ledger/2"
"""Files whose accounts have a limit, which no debit reads any more: brought up to date before they are written."""
WITHOUT_GAUSSIAN = "pydplib-ledger/1"
"""Files that also lack the sum of rho of what has no pure epsilon."""

# The triggers keep honest programs honest: rows are only added, sums only grow, an answer is written once.
# Whoever edits the file by other means breaks the chain of hashes instead.
SCHEMA = """
CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT;
CREATE TABLE entries (
    number INTEGER PRIMARY KEY,
    body TEXT NOT NULL,
    hash TEXT NOT NULL,
    lineage TEXT GENERATED ALWAYS AS (json_extract(body, '$.lineage')) VIRTUAL,
    recipient TEXT GENERATED ALWAYS AS (json_extract(body, '$.recipient')) VIRTUAL
) STRICT;
CREATE INDEX entries_by_who ON entries (lineage, recipient);
CREATE TABLE accounts (
    lineage TEXT NOT NULL,
    recipient TEXT NOT NULL,  -- empty: the lineage's own
    relation TEXT NOT NULL,
    nano_epsilon INTEGER,     -- of what has a pure one; null: not known, in files of an earlier format
    nano_rho INTEGER NOT NULL,
    atto_delta INTEGER NOT NULL,
    version INTEGER NOT NULL,
    nano_gaussian INTEGER NOT NULL DEFAULT 0,  -- the part of nano_rho without a pure epsilon
    PRIMARY KEY (lineage, recipient, relation)
) STRICT, WITHOUT ROWID;
CREATE TABLE releases (
    digest TEXT PRIMARY KEY,
    lineage TEXT NOT NULL,
    snapshot TEXT NOT NULL,
    question TEXT NOT NULL,
    payload BLOB,             -- null: reserved
    answer INTEGER,
    CHECK ((payload IS NULL) = (answer IS NULL))
) STRICT;
CREATE TABLE payments (
    digest TEXT NOT NULL REFERENCES releases,
    recipient TEXT NOT NULL,
    entry INTEGER NOT NULL REFERENCES entries,
    PRIMARY KEY (digest, recipient)
) STRICT, WITHOUT ROWID;

CREATE TRIGGER entries_in_order BEFORE INSERT ON entries
WHEN NEW.number != (SELECT coalesce(max(number), 0) + 1 FROM entries)
  OR json_extract(NEW.body, '$.number') IS NOT NEW.number
  OR json_extract(NEW.body, '$.previous') IS NOT
     coalesce((SELECT hash FROM entries ORDER BY number DESC LIMIT 1), '{genesis}')
BEGIN SELECT raise(ABORT, 'entries are appended in order'); END;
CREATE TRIGGER entries_stay BEFORE UPDATE ON entries BEGIN SELECT raise(ABORT, 'entries never change'); END;
CREATE TRIGGER entries_remain BEFORE DELETE ON entries BEGIN SELECT raise(ABORT, 'entries are never deleted'); END;
CREATE TRIGGER accounts_remain BEFORE DELETE ON accounts BEGIN SELECT raise(ABORT, 'budgets are never deleted'); END;
CREATE TRIGGER accounts_grow BEFORE UPDATE ON accounts
WHEN NEW.nano_rho < OLD.nano_rho OR NEW.atto_delta < OLD.atto_delta OR NEW.version != OLD.version + 1
  OR (OLD.nano_epsilon IS NULL AND NEW.nano_epsilon IS NOT NULL) OR NEW.nano_epsilon < OLD.nano_epsilon
  OR (NEW.nano_epsilon IS NOT NULL AND NEW.nano_gaussian < OLD.nano_gaussian)
  OR NEW.lineage != OLD.lineage OR NEW.recipient != OLD.recipient OR NEW.relation != OLD.relation
BEGIN SELECT raise(ABORT, 'nothing is ever refunded'); END;
CREATE TRIGGER releases_remain BEFORE DELETE ON releases BEGIN SELECT raise(ABORT, 'releases are never deleted'); END;
CREATE TRIGGER releases_once BEFORE UPDATE ON releases
WHEN OLD.payload IS NOT NULL OR NEW.payload IS NULL OR NEW.digest != OLD.digest
  OR NEW.lineage != OLD.lineage OR NEW.snapshot != OLD.snapshot OR NEW.question != OLD.question
BEGIN SELECT raise(ABORT, 'an answer is written once'); END;
CREATE TRIGGER payments_stay BEFORE UPDATE ON payments BEGIN SELECT raise(ABORT, 'payments never change'); END;
CREATE TRIGGER payments_remain BEFORE DELETE ON payments BEGIN SELECT raise(ABORT, 'payments are never deleted'); END;
""".replace("{genesis}", GENESIS)

_ACCOUNT = "lineage, recipient, relation, version, nano_epsilon, nano_rho, atto_delta, nano_gaussian"
_RELEASE = "digest, lineage, snapshot, question, payload, answer"


VIEW_WITHOUT_GAUSSIAN = "CREATE TEMP VIEW accounts AS SELECT *, 0 AS nano_gaussian FROM main.accounts"
"""Lets a file of the first format be read as it is, without a change to it."""


def upgrade(db: sqlite3.Connection, written: str) -> None:
    """Bring a file of an earlier format up to date, in the caller's transaction; sums stay as they are.

    The limits that it was opened with stay in its entries.
    """
    trigger = next(part for part in SCHEMA.split("CREATE TRIGGER ") if part.startswith("accounts_grow "))
    db.execute("DROP TRIGGER IF EXISTS accounts_grow")
    if written == WITHOUT_GAUSSIAN:
        db.execute("ALTER TABLE accounts ADD COLUMN nano_gaussian INTEGER NOT NULL DEFAULT 0")
    for column in ("limit_nano_epsilon", "limit_atto_delta", "limit_atto_conversion"):
        db.execute(f"ALTER TABLE accounts DROP COLUMN {column}")
    db.execute(f"CREATE TRIGGER {trigger}")
    db.execute("UPDATE meta SET value = ? WHERE key = 'format'", (FORMAT,))


class SqliteStore:
    """The rows of a ledger file, inside the transaction of one connection."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._db = connection

    def get_account(self, lineage: str, recipient: str | None, relation: Relation) -> Account | None:
        """Return one account."""
        row = self._db.execute(
            f"SELECT {_ACCOUNT} FROM accounts WHERE lineage = ? AND recipient = ? AND relation = ?",  # noqa: S608
            (lineage, recipient or "", relation),
        ).fetchone()
        return None if row is None else _account(row)

    def add_account(self, account: Account) -> None:
        """Insert a new account."""
        self._db.execute(
            f"INSERT INTO accounts ({_ACCOUNT}) VALUES (?, ?, ?, ?, ?, ?, ?, ?)",  # noqa: S608
            (
                account.lineage,
                account.recipient or "",
                account.relation,
                account.version,
                account.state.nano_epsilon,
                account.state.nano_rho,
                account.state.atto_delta,
                account.state.nano_gaussian,
            ),
        )

    def save_account(self, account: Account, *, expected: int) -> bool:
        """Write an account where its version is still ``expected``."""
        done = self._db.execute(
            "UPDATE accounts SET nano_epsilon = ?, nano_rho = ?, atto_delta = ?, nano_gaussian = ?, version = ? "
            "WHERE lineage = ? AND recipient = ? AND relation = ? AND version = ?",
            (
                account.state.nano_epsilon,
                account.state.nano_rho,
                account.state.atto_delta,
                account.state.nano_gaussian,
                account.version,
                account.lineage,
                account.recipient or "",
                account.relation,
                expected,
            ),
        )
        return done.rowcount == 1

    def get_release(self, digest: str) -> StoredRelease | None:
        """Return one release."""
        row = self._db.execute(f"SELECT {_RELEASE} FROM releases WHERE digest = ?", (digest,)).fetchone()  # noqa: S608
        return None if row is None else _release(row)

    def add_release(self, release: StoredRelease) -> None:
        """Insert a reserved release."""
        self._db.execute(
            "INSERT INTO releases (digest, lineage, snapshot, question) VALUES (?, ?, ?, ?)",
            (release.digest, release.lineage, release.snapshot, release.question),
        )

    def finish_release(self, digest: str, payload: bytes, answer: int) -> bool:
        """Write the answer where still reserved."""
        done = self._db.execute(
            "UPDATE releases SET payload = ?, answer = ? WHERE digest = ? AND payload IS NULL",
            (payload, answer, digest),
        )
        return done.rowcount == 1

    def get_payment(self, digest: str, recipient: str) -> int | None:
        """Return the entry by which ``recipient`` paid."""
        row = self._db.execute(
            "SELECT entry FROM payments WHERE digest = ? AND recipient = ?", (digest, recipient)
        ).fetchone()
        return None if row is None else int(row[0])

    def add_payment(self, digest: str, recipient: str, entry: int) -> None:
        """Remember who paid."""
        self._db.execute("INSERT INTO payments VALUES (?, ?, ?)", (digest, recipient, entry))

    def last_link(self) -> tuple[int, str]:
        """Return number and hash of the last entry."""
        row = self._db.execute("SELECT number, hash FROM entries ORDER BY number DESC LIMIT 1").fetchone()
        return (0, GENESIS) if row is None else (int(row[0]), str(row[1]))

    def add_entry(self, entry: Entry) -> None:
        """Append a sealed entry."""
        self._db.execute(
            "INSERT INTO entries (number, body, hash) VALUES (?, ?, ?)", (entry.number, entry.body, entry.hash)
        )

    def get_entry(self, number: int) -> Entry | None:
        """Return one entry."""
        row = self._db.execute("SELECT body, hash FROM entries WHERE number = ?", (number,)).fetchone()
        return None if row is None else Entry.from_body(*row)

    def entries(self, *, lineage: str | None = None, recipient: str | None = None) -> Iterator[Entry]:
        """Return the entries in order."""
        sql = "SELECT body, hash FROM entries"
        wanted = {name: value for name, value in (("lineage", lineage), ("recipient", recipient)) if value is not None}
        if wanted:
            sql += " WHERE " + " AND ".join(f"{name} = :{name}" for name in wanted)
        for row in self._db.execute(sql + " ORDER BY number", wanted):
            yield Entry.from_body(*row)

    def newest(self, lineage: str, recipient: str | None = None) -> Iterator[Entry]:
        """Return the entries of a lineage or recipient, the last one first; no more are read than are taken."""
        # One recipient's are in order in the index. A lineage's are not: there, the table itself is walked backwards.
        where = "NOT INDEXED WHERE lineage = ?" if recipient is None else "WHERE lineage = ? AND recipient = ?"
        sql = f"SELECT body, hash FROM entries {where} ORDER BY number DESC"  # noqa: S608
        with closing(self._db.execute(sql, (lineage,) if recipient is None else (lineage, recipient))) as cursor:
            for row in cursor:
                yield Entry.from_body(*row)

    def accounts(self, *, lineage: str | None = None, recipient: str | None = None) -> Iterator[Account]:
        """Return the accounts, all of them or one lineage's or recipient's."""
        for row in self._db.execute(f"SELECT {_ACCOUNT} FROM accounts ORDER BY lineage, recipient, relation"):  # noqa: S608
            account = _account(row)
            if account.is_of(lineage, recipient):
                yield account

    def releases(self) -> Iterator[StoredRelease]:
        """Return all releases."""
        for row in self._db.execute(f"SELECT {_RELEASE} FROM releases ORDER BY digest"):  # noqa: S608
            yield _release(row)

    def payments(self) -> Iterator[tuple[str, str, int]]:
        """Return all payments."""
        yield from self._db.execute("SELECT digest, recipient, entry FROM payments")


def _release(row: tuple[Any, ...]) -> StoredRelease:
    digest, lineage, snapshot, question, payload, answer = row
    return StoredRelease(
        digest=digest, lineage=lineage, snapshot=snapshot, question=question, payload=payload, answer=answer
    )


def _account(row: tuple[Any, ...]) -> Account:
    lineage, recipient, relation, version, *state = row
    return Account(
        lineage=lineage, recipient=recipient or None, relation=relation, state=State(*state), version=version
    )
