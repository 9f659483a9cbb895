"""Room on the server's disk: looked at before large files come in, and named as the reason where it ran out."""

from __future__ import annotations

import errno
import shutil
from pathlib import Path

from django.conf import settings
from django.db import DatabaseError, InterfaceError, OperationalError

from pydplib.errors import EngineError

LEAST = 50_000_000
"""Bytes that stay free: below that, uploads, imports and snapshots are refused, and the health check says so."""

FAULT = "Something went wrong on our side; nothing was lost. Try again, or tell the operator."
"""What users are told about a fault of ours, on pages and by the API."""
FULL = "The server's disk is full. Nothing was lost or changed. Ask the operator to make room, then try again."
DOWN = "The database does not answer at the moment. Nothing was lost. Try again in a minute."
_NO_ROOM = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}
_WORDS = ("disk is full", "no space left", "disk full", "could not extend file")
_SQLITE_FULL = 13  # SQLITE_FULL; the words of the library may change


class FullDiskError(EngineError):
    """There is no room left on the server's disk."""

    http_status = 503

    def __init__(self) -> None:
        super().__init__(FULL)


def free_bytes(folder: Path | None = None) -> int:
    """Return how many bytes are free where the server keeps its data."""
    return shutil.disk_usage(folder or settings.CONFIGURATION.home).free


def has_room(size: int = 0) -> bool:
    """Return whether this many bytes fit and ``LEAST`` stay free."""
    try:
        return free_bytes() - size >= LEAST
    except OSError:
        return True  # what cannot be measured is not refused


def check_room(size: int = 0) -> None:
    """Raise ``FullDiskError`` if this many bytes would not fit."""
    if not has_room(size):
        raise FullDiskError


def reason_of(error: BaseException) -> tuple[int, str] | None:
    """Return status and words for an error of the machine, not of ours: a full disk, a database that is down.

    Examples:
        >>> reason_of(OSError(errno.ENOSPC, "No space left on device"))[0], reason_of(ValueError("?"))
        (503, None)
    """
    seen: BaseException | None = error
    while seen is not None:
        if isinstance(seen, FullDiskError):
            return 503, FULL
        if isinstance(seen, OSError) and seen.errno in _NO_ROOM:
            return 503, FULL
        if isinstance(seen, DatabaseError) and any(words in str(seen).lower() for words in _WORDS):
            return 503, FULL
        if getattr(seen, "sqlite_errorcode", None) == _SQLITE_FULL:
            return 503, FULL
        if isinstance(seen, OperationalError | InterfaceError):
            return 503, DOWN
        seen = seen.__cause__ or (None if seen.__suppress_context__ else seen.__context__)
    return None
