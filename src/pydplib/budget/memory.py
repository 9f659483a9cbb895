"""A ledger in memory: for one process, tests and exploration; it ends with the program."""

from __future__ import annotations

import secrets
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

from pydplib.budget.chain import GENESIS, Entry
from pydplib.budget.store import Account, StoredRelease
from pydplib.budget.store_ledger import StoreLedger
from pydplib.guarantee import Relation


class MemoryStore:
    """The rows in plain dictionaries."""

    def __init__(self) -> None:
        self.by_account: dict[tuple[str, str | None, Relation], Account] = {}
        self.by_digest: dict[str, StoredRelease] = {}
        self.by_payer: dict[tuple[str, str], int] = {}
        self.chain: list[Entry] = []

    def copy(self) -> MemoryStore:
        """Return a copy to work on; the rows themselves are frozen."""
        other = MemoryStore()
        other.by_account = dict(self.by_account)
        other.by_digest = dict(self.by_digest)
        other.by_payer = dict(self.by_payer)
        other.chain = list(self.chain)
        return other

    def get_account(self, lineage: str, recipient: str | None, relation: Relation) -> Account | None:
        """Return one account."""
        return self.by_account.get((lineage, recipient, relation))

    def add_account(self, account: Account) -> None:
        """Insert a new account."""
        self.by_account[account.lineage, account.recipient, account.relation] = account

    def save_account(self, account: Account, *, expected: int) -> bool:
        """Write an account where its version is still ``expected``."""
        name = (account.lineage, account.recipient, account.relation)
        if self.by_account[name].version != expected:
            return False
        self.by_account[name] = account
        return True

    def get_release(self, digest: str) -> StoredRelease | None:
        """Return one release."""
        return self.by_digest.get(digest)

    def add_release(self, release: StoredRelease) -> None:
        """Insert a reserved release."""
        self.by_digest[release.digest] = release

    def finish_release(self, digest: str, payload: bytes, answer: int) -> bool:
        """Write the answer where still reserved."""
        release = self.by_digest[digest]
        if release.payload is not None:
            return False
        self.by_digest[digest] = replace(release, payload=payload, answer=answer)
        return True

    def get_payment(self, digest: str, recipient: str) -> int | None:
        """Return the entry by which ``recipient`` paid."""
        return self.by_payer.get((digest, recipient))

    def add_payment(self, digest: str, recipient: str, entry: int) -> None:
        """Remember who paid."""
        self.by_payer[digest, recipient] = entry

    def last_link(self) -> tuple[int, str]:
        """Return number and hash of the last entry."""
        return (len(self.chain), self.chain[-1].hash) if self.chain else (0, GENESIS)

    def add_entry(self, entry: Entry) -> None:
        """Append a sealed entry."""
        self.chain.append(entry)

    def get_entry(self, number: int) -> Entry | None:
        """Return one entry."""
        return self.chain[number - 1] if 0 < number <= len(self.chain) else None

    def entries(self, *, lineage: str | None = None, recipient: str | None = None) -> Iterator[Entry]:
        """Return the entries in order."""
        for entry in self.chain:
            if (lineage is None or entry.lineage == lineage) and (recipient is None or entry.recipient == recipient):
                yield entry

    def newest(self, lineage: str, recipient: str | None = None) -> Iterator[Entry]:
        """Return the entries of a lineage or recipient, the last one first."""
        for entry in reversed(self.chain):
            if entry.lineage == lineage and (recipient is None or entry.recipient == recipient):
                yield entry

    def accounts(self, *, lineage: str | None = None, recipient: str | None = None) -> Iterator[Account]:
        """Return the accounts, all of them or one lineage's or recipient's."""
        return (account for account in self.by_account.values() if account.is_of(lineage, recipient))

    def releases(self) -> Iterator[StoredRelease]:
        """Return all releases."""
        yield from self.by_digest.values()

    def payments(self) -> Iterator[tuple[str, str, int]]:
        """Return all payments."""
        for (digest, recipient), entry in self.by_payer.items():
            yield digest, recipient, entry


class MemoryLedger(StoreLedger):
    """A ledger that lives as long as the program: budgets hold within it, and are forgotten after it.

    Use ``SqliteLedger`` for anything that is really handed over.

    Examples:
        >>> from pydplib import PureDP
        >>> from pydplib.budget import Cost, MemoryLedger, ReleaseKey
        >>> ledger = MemoryLedger()
        >>> _ = ledger.open_account(lineage="reports", limit=PureDP(10.0))
        >>> _ = ledger.open_account(lineage="reports", recipient="acme", limit=PureDP(1.0))
        >>> key = ReleaseKey(lineage="reports", snapshot="2018", question={"ask": "count"},
        ...                  cost=Cost.pure(0.2, mechanism="laplace"))
        >>> paid = ledger.reserve(key, recipient="acme", role="third_party")
        >>> ledger.finish(paid, b"918"), ledger.reserve(key, recipient="acme", role="third_party").payload
        (b'918', b'918')
        >>> print(ledger.remaining(lineage="reports", recipient="acme"))
        epsilon 0.8 of 1
    """

    def __init__(self) -> None:
        self._name = secrets.token_hex(16)
        self._store = MemoryStore()
        self._lock = threading.RLock()

    @property
    def name(self) -> str:
        """The ledger's own random name."""
        return self._name

    @contextmanager
    def _transaction(self) -> Iterator[MemoryStore]:
        with self._lock:
            work = self._store.copy()
            yield work
            self._store = work

    @contextmanager
    def _snapshot(self) -> Iterator[MemoryStore]:
        with self._lock:
            yield self._store

    def __repr__(self) -> str:
        return f"MemoryLedger({len(self._store.by_account)} budgets, {len(self._store.chain)} entries)"
