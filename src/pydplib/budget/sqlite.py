"""A ledger in one SQLite file: many processes at once, never overspent, durable before any answer is shown."""

from __future__ import annotations

import os
import secrets
import sqlite3
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from pydplib.budget.chain import Head, check_head
from pydplib.budget.sqlite_file import ledger_error, make_file, open_to_read, open_to_write
from pydplib.budget.sqlite_store import SqliteStore
from pydplib.budget.store_ledger import StoreLedger
from pydplib.errors import LedgerError
from pydplib.noise.tap import check_not_seeded


class SqliteLedger(StoreLedger):
    """A ledger in one file. Every debit is on the disk before a row of data is read.

    A deleted ledger is a fresh budget: keep backups, and let ``head_file`` point to a place that
    whoever may write the ledger may not write, so that a rolled-back or replaced file is noticed.

    Args:
        path: The file; it is made if missing, readable by its owner only. Not on a network drive.
        head_file: Where the end of the chain is kept after every change and compared before every use.
        create: Whether a missing file may be made.
        read_only: For looking and verifying only.
        busy_seconds: How long to wait for other processes.

    Examples:
        >>> import tempfile, pathlib
        >>> from pydplib import PureDP
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     with SqliteLedger(pathlib.Path(folder) / "ledger.db") as ledger:
        ...         _ = ledger.open_account(lineage="reports", recipient="acme", limit=PureDP(1.0))
        ...         print(ledger.remaining(lineage="reports", recipient="acme"))
        epsilon 1 of 1
    """

    def __init__(
        self,
        path: str | Path,
        *,
        head_file: str | Path | None = None,
        create: bool = True,
        read_only: bool = False,
        busy_seconds: float = 30.0,
    ) -> None:
        self.path = Path(path)
        self.head_file = None if head_file is None else Path(head_file)
        self._create = create and not read_only
        self._read_only = read_only
        self._busy = busy_seconds
        self._lock = threading.RLock()
        self._db: sqlite3.Connection | None = None
        self._pid = os.getpid()
        self._inherited: list[sqlite3.Connection] = []
        self._name = ""
        with self._lock:
            self._connection()

    @property
    def name(self) -> str:
        """The ledger's own random name, made with the file."""
        return self._name

    def copy_to(self, path: str | Path) -> None:
        """Write a whole, consistent copy for a backup; copying the file by hand may miss its newest entries.

        Args:
            path: A new file; an existing one is never overwritten.
        """
        target = Path(path)
        make_file(target, new=True)
        with self._session("BEGIN"):
            copy = sqlite3.connect(target, isolation_level=None)
            try:
                self._connection().backup(copy)
            finally:
                copy.close()

    def close(self) -> None:
        """Close the file; it opens again when used."""
        with self._lock:
            if self._db is not None and self._pid == os.getpid():
                self._db.close()
            self._db = None

    def __enter__(self) -> SqliteLedger:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"SqliteLedger({self.path.name!r})"

    def __getstate__(self) -> dict[str, Any]:
        # To another process goes the way to the file, never the connection.
        return {
            "path": self.path,
            "head_file": self.head_file,
            "create": False,
            "read_only": self._read_only,
            "busy_seconds": self._busy,
        }

    def __setstate__(self, state: dict[str, Any]) -> None:
        path = state.pop("path")
        self.__init__(path, **state)  # type: ignore[misc]

    @contextmanager
    def _transaction(self) -> Iterator[SqliteStore]:
        if self._read_only:
            raise LedgerError("This ledger was opened for reading only.")
        check_not_seeded()
        with self._session("BEGIN IMMEDIATE") as store:
            yield store

    @contextmanager
    def _snapshot(self) -> Iterator[SqliteStore]:
        with self._session("BEGIN") as store:
            yield store

    @contextmanager
    def _session(self, begin: str) -> Iterator[SqliteStore]:
        if self._pid != os.getpid():
            # After a fork the parent's connection and lock are not ours; the connection is kept
            # unclosed, because closing it here would disturb the parent's locks on the file.
            if self._db is not None:
                self._inherited.append(self._db)
            self._db, self._lock, self._pid = None, threading.RLock(), os.getpid()
        with self._lock:
            changed = False
            try:
                db = self._connection()
                db.execute(begin)
                try:
                    store = SqliteStore(db)
                    self._check_head(store)
                    before = store.last_link()
                    yield store
                    after = store.last_link()
                    db.execute("COMMIT")
                except BaseException:
                    if db.in_transaction:
                        db.execute("ROLLBACK")
                    raise
                changed = after != before
            except sqlite3.Error as error:
                raise ledger_error(error) from None
            if changed and self.head_file is not None:
                self._write_head(db, self.head_file)

    def _connection(self) -> sqlite3.Connection:
        if self._db is None:
            try:
                self._db = self._open()
            except sqlite3.Error as error:
                raise ledger_error(error) from None
        return self._db

    def _open(self) -> sqlite3.Connection:
        first = not self._name
        if first and self._create and not self.path.exists() and self.head_file and self.head_file.exists():
            raise LedgerError(
                f"The ledger '{self.path.name}' is missing, but its exported head is there: it was deleted. "
                "Restore a backup. (A new ledger would be a fresh budget.)"
            )
        if self._read_only:
            db, name = open_to_read(self.path, busy_seconds=self._busy)
        else:
            db, name = open_to_write(self.path, create=self._create and first, busy_seconds=self._busy)
        if self._name and name != self._name:
            db.close()
            raise LedgerError(f"The ledger '{self.path.name}' was replaced by another one while in use.")
        self._name = name
        return db

    def _check_head(self, store: SqliteStore) -> None:
        if self.head_file is None or not self.head_file.exists():
            return
        head = Head.read(self.head_file)
        entry = store.get_entry(head.entries)
        at = None if entry is None else entry.hash
        check_head(head, ledger=self._name, entries=store.last_link()[0], hash_at=at)

    def _write_head(self, db: sqlite3.Connection, file: Path) -> None:
        """Export the newest head, under the ledger's own lock: no slower writer puts an older one in its place."""
        draft = file.with_name(f".{file.name}.{os.getpid()}.{secrets.token_hex(8)}")
        try:
            db.execute("BEGIN IMMEDIATE")
            try:
                head = Head(self._name, *SqliteStore(db).last_link())
                draft.write_text(head.to_json(), encoding="utf-8")
                os.replace(draft, file)
            finally:
                draft.unlink(missing_ok=True)
                db.execute("ROLLBACK")
        except (OSError, sqlite3.Error):
            raise LedgerError(
                f"The head file '{file.name}' cannot be written. The debit stands; ask again once it can."
            ) from None
