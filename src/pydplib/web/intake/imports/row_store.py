"""What the dry run read of each row, kept next to the uploaded file so that accepting does not read it all again.

The file is a help and no more: if it is missing, or was made of another file, mapping or program, the rows are read
from the upload as before. It lies in the private folder of uploads, and goes with the upload.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from types import TracebackType

from pydplib._version import __version__
from pydplib.capture import Problem
from pydplib.web import uploads
from pydplib.web.intake.imports.duplicates import Keys
from pydplib.web.intake.imports.rows import FileRow
from pydplib.web.intake.models import ImportBatch
from pydplib.web.room import check_room

_FORMAT = 1
_LENGTH = 8
_REFUSED = (Problem("refused", "", "The dry run refused this row.", ()),)


def path_of(key: str) -> Path:
    """Return where the rows of an import are kept."""
    return uploads.folder() / f"{key}.read"


def state_of(batch: ImportBatch) -> str:
    """Return what the rows depend on, as a digest: the file, how it is matched, the template, the program."""
    file = uploads.path_of(batch.key).stat()
    said = [
        _FORMAT, __version__, batch.template_id, batch.format, batch.comma, batch.columns, batch.mapping,
        {name: {old: each["new"] for old, each in values.items()} for name, values in batch.replacements.items()},
        file.st_ino, file.st_size, file.st_mtime_ns,
    ]  # fmt: skip
    return hashlib.sha256(json.dumps(said, sort_keys=True).encode()).hexdigest()


class RowWriter:
    """Keeps rows while they are tried; what was kept before is replaced at the end, or not at all.

    Args:
        batch: The import.
    """

    def __init__(self, batch: ImportBatch) -> None:
        self.key, self.state = batch.key, state_of(batch)
        self.part = uploads.folder() / f"{batch.key}.keep"

    def __enter__(self) -> RowWriter:
        path_of(self.key).unlink(missing_ok=True)
        check_room(2 * uploads.path_of(self.key).stat().st_size)
        self._file = uploads.private(self.part)
        self._file.write(self.state.encode())
        return self

    def add(self, rows: Sequence[FileRow], keys: Sequence[Keys]) -> None:
        """Keep some rows."""
        kept = [
            (row.number, row.answers if row.ok else None, row.special, *each)
            for row, each in zip(rows, keys, strict=True)
        ]
        data = json.dumps(kept, separators=(",", ":")).encode()
        self._file.write(len(data).to_bytes(_LENGTH, "big"))
        self._file.write(data)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._file.close()
        if kind is None:
            self.part.replace(path_of(self.key))
        else:
            self.part.unlink(missing_ok=True)


def kept_rows(batch: ImportBatch) -> Iterator[tuple[FileRow, Keys]] | None:
    """Return the rows of the last dry run, without the texts of their cells; none if they do not fit the import."""
    path = path_of(batch.key)
    if not path.exists():
        return None
    with path.open("rb") as file:
        if file.read(64) != state_of(batch).encode():
            return None
    return _rows(path)


def _rows(path: Path) -> Iterator[tuple[FileRow, Keys]]:
    with path.open("rb") as file:
        file.seek(64)
        while head := file.read(_LENGTH):
            for number, answers, special, report, day, name in json.loads(file.read(int.from_bytes(head, "big"))):
                problems = _REFUSED if answers is None else ()
                yield FileRow(number, {}, answers or {}, problems, special), (report, day, name)


def drop(keys: Iterable[str]) -> None:
    """Forget what was kept of some imports: their rows are read again."""
    for key in keys:
        path_of(key).unlink(missing_ok=True)
