"""Files for the server's owner alone that appear whole: keys that are written once, notes that are replaced."""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path


def write_once(path: Path, content: bytes) -> None:
    """Write a file unless it is there; of two servers at once, one wins for both."""
    with _draft(path, content) as draft, suppress(FileExistsError):
        os.link(draft, path)


def replace_whole(path: Path, content: bytes) -> None:
    """Put other content in a file's place, so that every reader sees the old one or the new one."""
    with _draft(path, content) as draft:
        os.replace(draft, path)


@contextmanager
def _draft(path: Path, content: bytes) -> Iterator[Path]:
    draft = path.with_name(f".{path.name}.{secrets.token_hex(8)}")
    try:
        with os.fdopen(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        yield draft
    finally:
        draft.unlink(missing_ok=True)
