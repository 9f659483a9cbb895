"""Opening a ledger file safely: made once, recognised before it is touched, durable at every commit."""

from __future__ import annotations

import logging
import os
import secrets
import sqlite3
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from pydplib.budget.sqlite_store import (
    FORMAT,
    SCHEMA,
    VIEW_WITHOUT_GAUSSIAN,
    WITH_LIMITS,
    WITHOUT_GAUSSIAN,
    upgrade,
)
from pydplib.errors import LedgerError

_LOG = logging.getLogger("pydplib.budget")
_FILLED_WITHIN = 2.0  # seconds


def open_to_write(path: Path, *, create: bool, busy_seconds: float) -> tuple[sqlite3.Connection, str]:
    """Open a ledger for writing and return it with its name; ``create`` makes what is missing."""
    if path.is_dir():
        raise LedgerError(f"'{path.name}' is a folder, not a ledger. Name a file in it.")
    if not path.exists() and not create:
        raise _missing(path)
    if create and (path.exists() or not make_file(path)):
        _check_filled(path)
    db = sqlite3.connect(
        path, timeout=busy_seconds, isolation_level=None, check_same_thread=False, cached_statements=64
    )
    try:
        if not (create and _is_empty(db)):
            _read_name(db, path)  # before anything is changed: it may be somebody else's database
        if _switch_to_wal(db, busy_seconds) != "wal":
            raise LedgerError(f"The ledger '{path.name}' lies on a drive without safe locks. Use a local disk.")
        db.execute("PRAGMA synchronous = FULL")
        db.execute("PRAGMA foreign_keys = ON")
        if create and _make_tables(db):
            # A mistyped path is a fresh budget: say so, wherever messages go.
            _LOG.warning("A new ledger was made at %s. Its budgets are whole: check the path if you have one.", path)
        _bring_up_to_date(db)
        return db, _read_name(db, path)
    except BaseException:
        db.close()
        raise


def open_to_read(path: Path, *, busy_seconds: float) -> tuple[sqlite3.Connection, str]:
    """Open a ledger for reading only, also a backup in a folder that cannot be written."""
    if not path.exists():
        raise _missing(path)
    if path.is_dir():
        raise LedgerError(f"'{path.name}' is a folder, not a ledger. Name a file in it.")
    uri = path.resolve().as_uri()
    db = sqlite3.connect(
        f"{uri}?mode=ro", uri=True, timeout=busy_seconds, isolation_level=None, check_same_thread=False
    )
    try:
        try:
            _is_empty(db)
        except sqlite3.OperationalError:
            # SQLite cannot put its shared-memory file next to it: then nobody else writes it either.
            db.close()
            newest = path.with_name(path.name + "-wal")
            if newest.exists() and newest.stat().st_size:
                raise LedgerError(
                    f"The newest entries of '{path.name}' are in '{newest.name}', which cannot be read in this folder. "
                    "Copy both files to a folder that you can write."
                ) from None
            db = sqlite3.connect(f"{uri}?mode=ro&immutable=1", uri=True, isolation_level=None, check_same_thread=False)
        name = _read_name(db, path)
        if _format(db) == WITHOUT_GAUSSIAN:
            db.execute(VIEW_WITHOUT_GAUSSIAN)
        return db, name
    except BaseException:
        db.close()
        raise


def make_file(path: Path, *, new: bool = False) -> bool:
    """Make an empty file that its owner alone can read, and tell whether it is new; with ``new`` it must be."""
    if not path.parent.is_dir():
        raise LedgerError(f"There is no folder '{path.parent}' for '{path.name}'. Check the path, or make the folder.")
    try:
        os.close(os.open(path, os.O_CREAT | os.O_RDWR | os.O_EXCL, 0o600))
    except FileExistsError:
        if new:
            raise LedgerError(f"'{path.name}' exists; a backup never overwrites a file.") from None
        return False
    except OSError:
        raise LedgerError(f"'{path.name}' cannot be made: its folder is not writable.") from None
    return True


def _check_filled(path: Path) -> None:
    """Raise for a file without a byte: what was in it is lost, and a new ledger in its place is a fresh budget.

    A process that has just made the file fills it at once, so a moment is waited first.
    """
    deadline = time.monotonic() + _FILLED_WITHIN
    while path.exists() and path.stat().st_size == 0:
        if time.monotonic() > deadline:
            raise LedgerError(
                f"'{path.name}' is empty: what was in it is lost. Restore a backup. Only if it never held anything, "
                "delete it: a new ledger is a fresh budget."
            )
        time.sleep(0.02)


def _is_empty(db: sqlite3.Connection) -> bool:
    try:
        return db.execute("SELECT 1 FROM sqlite_master LIMIT 1").fetchone() is None
    except sqlite3.OperationalError:
        raise
    except sqlite3.DatabaseError:
        return False  # not a database at all


def _read_name(db: sqlite3.Connection, path: Path) -> str:
    try:
        meta = dict(db.execute("SELECT key, value FROM meta").fetchall())
    except sqlite3.DatabaseError as error:
        if "locked" in str(error) or "busy" in str(error):
            raise
        meta = {}
    if meta.get("format") not in (FORMAT, WITH_LIMITS, WITHOUT_GAUSSIAN) or not meta.get("name"):
        raise LedgerError(f"'{path.name}' is not a pydplib ledger. Check the path, or restore a backup.")
    return str(meta["name"])


def _format(db: sqlite3.Connection) -> str:
    return str(db.execute("SELECT value FROM meta WHERE key = 'format'").fetchone()[0])


def _bring_up_to_date(db: sqlite3.Connection) -> None:
    """Give a file of an earlier format the columns of today; two processes that try at once do it once."""
    if _format(db) == FORMAT:
        return
    with transaction(db):
        written = _format(db)
        if written != FORMAT:
            upgrade(db, written)


@contextmanager
def transaction(db: sqlite3.Connection) -> Iterator[None]:
    """Run what is inside as one change that nobody else's comes between."""
    db.execute("BEGIN IMMEDIATE")
    try:
        yield
        db.execute("COMMIT")
    except BaseException:
        if db.in_transaction:
            db.execute("ROLLBACK")
        raise


def _switch_to_wal(db: sqlite3.Connection, busy_seconds: float) -> str:
    deadline = time.monotonic() + busy_seconds
    while True:  # this switch does not wait for other processes by itself
        try:
            return str(db.execute("PRAGMA journal_mode = WAL").fetchone()[0])
        except sqlite3.OperationalError as error:
            if "locked" not in str(error) or time.monotonic() > deadline:
                raise
            time.sleep(0.01)


def _make_tables(db: sqlite3.Connection) -> bool:
    """Make the tables unless they are there; tell whether they were made."""
    # Not executescript: it would commit first and let two processes make the tables at once.
    with transaction(db):
        made = _is_empty(db)
        if made:
            for statement in _statements(SCHEMA):
                db.execute(statement)
            values = [("format", FORMAT), ("name", secrets.token_hex(16))]
            db.executemany("INSERT INTO meta VALUES (?, ?)", values)
    return made


def _statements(script: str) -> Iterator[str]:
    statement = ""
    for line in script.splitlines(keepends=True):
        statement += line
        if sqlite3.complete_statement(statement):
            yield statement
            statement = ""


def _missing(path: Path) -> LedgerError:
    return LedgerError(f"There is no ledger '{path.name}'. Check the path, or restore a backup.")


def ledger_error(error: sqlite3.Error) -> LedgerError:
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
