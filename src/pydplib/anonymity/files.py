"""Files that appear whole or not at all, and never over others unless asked."""

from __future__ import annotations

import os
import secrets
from pathlib import Path

from pydplib.errors import DataError, ParameterError


def write_whole(path: str | Path, content: bytes, *, private: bool, overwrite: bool) -> None:
    """Write a file beside its place and move it there when it is whole.

    Args:
        path: The file.
        content: What shall be in it.
        private: Whether its owner alone may read it; else the usual rights of new files.
        overwrite: Whether a file that exists is replaced.
    """
    target = Path(path)
    if target.exists() and not overwrite:
        raise ParameterError(f"'{target}' exists already. Choose another name, or say overwrite=True.")
    part = target.with_name(f".{target.name[:40]}.{secrets.token_hex(6)}.part")
    try:
        handle = os.open(part, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600 if private else 0o666)
        with os.fdopen(handle, "wb") as file:
            file.write(content)
        os.replace(part, target)
    except OSError as error:
        raise DataError(f"'{target.name}' cannot be written: {error.strerror}.") from None
    finally:
        part.unlink(missing_ok=True)
