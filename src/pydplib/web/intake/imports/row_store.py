"""Who is who in the rows of an import, kept next to the uploaded file so that accepting need not work it out again.

Of each row there are the keyed report number and the pseudonym of the patient, sixteen bytes each. The file is a help
and no more: if it is missing, or was made of another file, mapping or program, both are worked out as before. It lies
in the private folder of uploads, and goes with the upload.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any

from pydplib._version import __version__
from pydplib.web import uploads
from pydplib.web.intake.imports.duplicates import Keys
from pydplib.web.intake.models import ImportBatch
from pydplib.web.room import check_room

_FORMAT = 2
_NONE = "0" * 32


def path_of(key: str) -> Path:
    """Return where it is kept for an import."""
    return uploads.folder() / f"{key}.read"


def state_of(batch: ImportBatch) -> str:
    """Return what the rows depend on, as a digest: the file, how it is matched, the template, the program."""
    said = [
        _FORMAT, __version__, batch.template_id, batch.format, batch.comma, batch.columns, batch.mapping,
        {name: {old: each["new"] for old, each in values.items()} for name, values in batch.replacements.items()},
        uploads.state_of(batch.key),
    ]  # fmt: skip
    return hashlib.sha256(json.dumps(said, sort_keys=True).encode()).hexdigest()


class RowWriter:
    """Keeps the keys of rows while they are tried; what was kept before is replaced at the end, or not at all.

    Args:
        batch: The import.
    """

    def __init__(self, batch: ImportBatch) -> None:
        self.key, self.state, self.rows = batch.key, state_of(batch), batch.rows
        self.part = uploads.folder() / f"{batch.key}.keep"

    def __enter__(self) -> RowWriter:
        path_of(self.key).unlink(missing_ok=True)
        check_room(32 * self.rows)
        self._file = uploads.private(self.part)
        self._file.write(self.state.encode())
        return self

    def add(self, keys: Sequence[Keys]) -> None:
        """Keep the keys of some rows."""
        self._file.write(bytes.fromhex("".join([(number or _NONE) + (name or _NONE) for number, _, name in keys])))

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._file.close()
        if kind is None:
            self.part.replace(path_of(self.key))
        else:
            self.part.unlink(missing_ok=True)


class KeptKeys:
    """What the last dry run kept of an import, read from the first row to the last; nothing if it does not fit.

    Args:
        batch: The import.
    """

    def __init__(self, batch: ImportBatch) -> None:
        path = path_of(batch.key)
        self._file: Any = None
        if path.exists():
            self._file = path.open("rb")
            if self._file.read(64) != state_of(batch).encode() or path.stat().st_size != 64 + 32 * batch.rows:
                self.close()

    @property
    def fits(self) -> bool:
        """Whether there is something to read."""
        return self._file is not None

    def read(self, rows: int) -> list[tuple[str, str]]:
        """Return the report numbers and pseudonyms of the next rows."""
        text = self._file.read(32 * rows).hex()
        pairs = [(text[at : at + 32], text[at + 32 : at + 64]) for at in range(0, 64 * rows, 64)]
        if _NONE in text:
            return [("" if one == _NONE else one, "" if two == _NONE else two) for one, two in pairs]
        return pairs

    def close(self) -> None:
        """End reading."""
        if self._file is not None:
            self._file.close()
            self._file = None


def drop(keys: Iterable[str]) -> None:
    """Forget what was kept of some imports: it is worked out again."""
    for key in keys:
        path_of(key).unlink(missing_ok=True)
