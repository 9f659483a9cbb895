"""One at a time, across threads and processes of a server: a lock on a file of its home."""

from __future__ import annotations

import fcntl
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def locked(file: Path) -> Iterator[None]:
    """Hold the lock that belongs to a file; it ends with the process, however that ends.

    Args:
        file: What is guarded. It need not exist: the lock is a hidden file next to it.
    """
    with open(file.with_name(f".{file.name}.lock"), "a") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield
