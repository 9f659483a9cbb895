"""What a killed backup or restore left behind: whole copies of the data, which no erasure would find.

A backup that runs holds a shared lock, which ends with its process, however that ends. Whoever tidies takes the lock
for itself: if it gets it, nobody is at work, and every work folder was left behind.
"""

from __future__ import annotations

import fcntl
import os
import re
import shutil
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

PREFIX = ".backup-"
TARGET = "target"
"""The file in a work folder that says where the draft of the backup lies."""
_LOCK = "backups.lock"
_DRAFT = re.compile(r"\..+\.[0-9]+\.part")
_OLD = 6 * 3600.0  # seconds after which nobody restores any more


@contextmanager
def work_folder(home: Path, draft: Path) -> Iterator[Path]:
    """Yield a private folder for one backup; what others left behind goes first, and this one goes at the end.

    Args:
        home: The server's home.
        draft: Where the backup is written before it has its name.
    """
    remove(home, beside=draft.parent)
    with open(home / _LOCK, "a") as lock:
        fcntl.flock(lock, fcntl.LOCK_SH)
        with tempfile.TemporaryDirectory(prefix=PREFIX, dir=home) as made:
            (Path(made) / TARGET).write_text(str(draft.absolute()), encoding="utf-8")
            yield Path(made)


def remove(home: Path, *, beside: Path | None = None) -> int:
    """Delete what killed backups and restores left; return how many folders and files went.

    Nothing is touched while a backup runs; its own folder goes with it, and the next call finds the others.

    Args:
        home: The server's home.
        beside: Another folder in which drafts of backups may lie.
    """
    if not home.is_dir():
        return 0
    gone = 0
    with open(home / _LOCK, "a") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            return 0
        for folder in home.glob(f"{PREFIX}*"):
            gone += _remove_draft(folder)
            shutil.rmtree(folder, ignore_errors=True)
            gone += not folder.exists()
        for draft in _drafts(beside):
            draft.unlink(missing_ok=True)
            gone += 1
    for folder in home.parent.glob(f".{home.name}.restore-*"):
        with suppress(OSError):
            if folder.is_dir() and time.time() - folder.stat().st_mtime > _OLD:
                shutil.rmtree(folder)
                gone += 1
    return gone


def _remove_draft(folder: Path) -> int:
    """Delete the half-written file of a backup, wherever it was to be."""
    try:
        draft = Path((folder / TARGET).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return 0
    if not _DRAFT.fullmatch(draft.name) or not draft.is_file():
        return 0
    with suppress(OSError):
        draft.unlink()
        return 1
    return 0


def _drafts(folder: Path | None) -> list[Path]:
    """Return drafts of this user's backups whose process is gone."""
    if folder is None or not folder.is_dir():
        return []
    found = [path for path in folder.iterdir() if _DRAFT.fullmatch(path.name) and path.is_file()]
    return [path for path in found if path.stat().st_uid == os.getuid() and not _runs(path)]


def _runs(draft: Path) -> bool:
    try:
        os.kill(int(draft.name.split(".")[-2]), 0)
    except ProcessLookupError:
        return False
    except (OSError, ValueError, OverflowError):
        return True
    return True


def forget_pages() -> None:
    """Write the embedded database's log into its file, so that what was erased is in neither; PostgreSQL does it alone.

    Deleted rows are overwritten with zeros there (``secure_delete``). A reader may hold the log: the next hour will do.
    """
    from django.db import DatabaseError, connection

    if connection.vendor != "sqlite" or connection.in_atomic_block:
        return
    with suppress(DatabaseError), connection.cursor() as cursor:
        cursor.execute("PRAGMA wal_checkpoint(TRUNCATE)")
