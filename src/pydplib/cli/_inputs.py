"""Files that commands read: a path, or standard input."""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from pathlib import Path
from typing import Any

import click

from pydplib.errors import DataError


def input_file(name: str) -> str:
    """Return a file to read: the name itself, or for ``-`` a private copy of standard input, gone with the command."""
    if name != "-":
        return name
    stream = sys.stdin.buffer
    start = stream.read(4)
    if not start:
        raise DataError("Standard input is empty: there is no table to read.")
    suffix = ".parquet" if start == b"PAR1" else ".xlsx" if start == b"PK\x03\x04" else ".csv"
    folder = tempfile.TemporaryDirectory(prefix="pydplib-")  # readable by its owner alone
    click.get_current_context().find_root().call_on_close(folder.cleanup)
    path = Path(folder.name) / f"stdin{suffix}"
    with path.open("wb") as copy:
        copy.write(start)
        shutil.copyfileobj(stream, copy)
    return str(path)


class InputFile(click.Path):
    """A file that a command reads: a missing one ends with the same code in every command, ``-`` is standard input.

    Args:
        reads_dash: False where the command reads standard input by itself.
        path_type: What the command gets: a ``Path``, or a text.
    """

    name = "file"

    def __init__(self, *, reads_dash: bool = True, path_type: type[Path] | type[str] = Path) -> None:
        super().__init__(dir_okay=False, path_type=path_type)
        self._reads_dash = reads_dash

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return the path of a file that is there."""
        given = os.fspath(value)
        if given == "-" and not self._reads_dash:
            return self.coerce_path_result(given)
        path = input_file(given)
        if not Path(path).exists():
            raise DataError(f"There is no file '{value}'. Check its name.")
        return super().convert(path, param, ctx)
