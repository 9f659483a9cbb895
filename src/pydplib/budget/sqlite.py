"""A ledger in one SQLite file: many processes at once, never overspent, durable before any answer is shown."""

from __future__ import annotations

import os
import secrets
import sqlite3
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from pydplib.budget.chain import Head, check_head
from pydplib.budget.ledger import StoreLedger
from pydplib.budget.sqlite_store import FORMAT, SCHEMA, SqliteStore
from pydplib.errors import LedgerError


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
            head: Head | None = None
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
                if after != before:
                    head = Head(self._name, *after)
            except sqlite3.Error as error:
                raise _ledger_error(error) from None
            if head is not None:
                self._write_head(head)

    def _connection(self) -> sqlite3.Connection:
        if self._db is None:
            try:
                self._db = self._open()
            except sqlite3.Error as error:
                raise _ledger_error(error) from None
        return self._db

    def _open(self) -> sqlite3.Connection:
        if not self.path.exists():
            if self._create and not self._name:
                if self.head_file is not None and self.head_file.exists():
                    raise LedgerError(
                        f"The ledger '{self.path.name}' is missing, but its exported head is there: it was deleted. "
                        "Restore a backup. (A new ledger would be a fresh budget.)"
                    )
                self._make_file()
            else:
                raise LedgerError(f"There is no ledger '{self.path.name}'. Check the path, or restore a backup.")
        if self._read_only:
            db = self._open_to_read()
        else:
            db = sqlite3.connect(
                self.path, timeout=self._busy, isolation_level=None, check_same_thread=False, cached_statements=64
            )
            self._prepare(db)
        self._read_name(db)
        return db

    def _make_file(self) -> None:
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            os.close(os.open(self.path, os.O_CREAT | os.O_RDWR, 0o600))
        except OSError:
            raise LedgerError(f"The ledger '{self.path.name}' cannot be made: its folder is not writable.") from None

    def _prepare(self, db: sqlite3.Connection) -> None:
        deadline = time.monotonic() + self._busy
        while True:  # switching to WAL does not wait for others by itself
            try:
                mode = db.execute("PRAGMA journal_mode = WAL").fetchone()[0]
                break
            except sqlite3.OperationalError as error:
                if "locked" not in str(error) or time.monotonic() > deadline:
                    raise
                time.sleep(0.01)
        if mode != "wal":
            raise LedgerError(f"The ledger '{self.path.name}' lies on a drive without safe locks. Use a local disk.")
        db.execute("PRAGMA synchronous = FULL")
        db.execute("PRAGMA foreign_keys = ON")
        db.execute("BEGIN IMMEDIATE")
        try:
            if self._create and not db.execute("SELECT 1 FROM sqlite_master LIMIT 1").fetchone():
                # Not executescript: it would commit first and let two processes make the tables at once.
                for statement in _statements(SCHEMA):
                    db.execute(statement)
                values = [("format", FORMAT), ("name", secrets.token_hex(16))]
                db.executemany("INSERT INTO meta VALUES (?, ?)", values)
            db.execute("COMMIT")
        except BaseException:
            db.execute("ROLLBACK")
            raise

    def _open_to_read(self) -> sqlite3.Connection:
        uri = self.path.resolve().as_uri()
        db = sqlite3.connect(
            f"{uri}?mode=ro", uri=True, timeout=self._busy, isolation_level=None, check_same_thread=False
        )
        try:
            db.execute("SELECT 1 FROM sqlite_master").fetchone()
            return db
        except sqlite3.OperationalError:
            # A backup in a folder where SQLite cannot put its shared-memory file: nobody else writes it.
            db.close()
            return sqlite3.connect(
                f"{uri}?mode=ro&immutable=1", uri=True, isolation_level=None, check_same_thread=False
            )

    def _read_name(self, db: sqlite3.Connection) -> None:
        try:
            meta = dict(db.execute("SELECT key, value FROM meta").fetchall())
        except sqlite3.DatabaseError as error:
            if "locked" in str(error) or "busy" in str(error):
                raise
            meta = {}
        if meta.get("format") != FORMAT:
            db.close()
            raise LedgerError(f"'{self.path.name}' is not a pydplib ledger. Check the path, or restore a backup.")
        if self._name and meta["name"] != self._name:
            db.close()
            raise LedgerError(f"The ledger '{self.path.name}' was replaced by another one while in use.")
        self._name = meta["name"]

    def _check_head(self, store: SqliteStore) -> None:
        if self.head_file is None or not self.head_file.exists():
            return
        head = Head.read(self.head_file)
        entry = store.get_entry(head.entries)
        at = head.hash if head.entries == 0 else (entry.hash if entry else None)
        check_head(head, ledger=self._name, entries=store.last_link()[0], hash_at=at)

    def _write_head(self, head: Head) -> None:
        if self.head_file is None:
            return
        try:
            if self.head_file.exists() and Head.read(self.head_file).entries >= head.entries:
                return  # another process was later and has written its own
            draft = self.head_file.with_name(f".{self.head_file.name}.{os.getpid()}")
            draft.write_text(head.to_json(), encoding="utf-8")
            os.replace(draft, self.head_file)
        except OSError:
            raise LedgerError(
                f"The head file '{self.head_file.name}' cannot be written. The debit stands; ask again once it can."
            ) from None


def _statements(script: str) -> Iterator[str]:
    statement = ""
    for line in script.splitlines(keepends=True):
        statement += line
        if sqlite3.complete_statement(statement):
            yield statement
            statement = ""


def _ledger_error(error: sqlite3.Error) -> LedgerError:
    """Return our error for SQLite's; its own text is not passed on, for it may quote a question."""
    text = str(error)
    if "locked" in text or "busy" in text:
        return LedgerError("The ledger is busy: other processes held it too long. Nothing was spent; ask again.")
    if "full" in text:
        return LedgerError("The disk of the ledger is full. Nothing was spent; free some space and ask again.")
    if "readonly" in text or "unable to open" in text:
        return LedgerError("The ledger cannot be opened or written. Check the rights of the file and its folder.")
    if isinstance(error, sqlite3.IntegrityError):
        return LedgerError("The ledger refused a change that its rules forbid. Run `pydplib ledger verify`.")
    return LedgerError("The ledger's file is damaged. Restore a backup and run `pydplib ledger verify`.")
