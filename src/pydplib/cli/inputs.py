"""Files that commands read: a path, or standard input."""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any, TypeVar

import click

from pydplib.cli.progress import waiting
from pydplib.errors import DataError
from pydplib.tables import CsvOptions, Tables, open_tables

_F = TypeVar("_F", bound=Callable[..., Any])
_SAID = f"{__name__}.csv"  # where a command's context keeps what was said


def input_file(name: str) -> str:
    """Return a file to read: the name itself, or for ``-`` a private copy of standard input, gone with the command."""
    if name != "-":
        if Path(name).is_dir():
            raise DataError(f"'{name}' is a folder. Name a file in it.")
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


def csv_options(function: _F) -> _F:
    """Add ``--multiline`` and ``--decimal`` to a command that reads CSV files; see ``said_options``."""

    def remember(context: click.Context, parameter: click.Parameter, value: Any) -> None:
        context.meta.setdefault(_SAID, {})[parameter.name] = value

    lines = click.option(
        "--multiline",
        is_flag=True,
        expose_value=False,
        callback=remember,
        help="CSV: quoted cells may reach over several lines.",
    )
    decimal = click.option(
        "--decimal",
        type=click.Choice([".", ","]),
        expose_value=False,
        callback=remember,
        help="CSV: what stands before decimals, if the file could mean either.",
    )
    return lines(decimal(function))


def said_options() -> CsvOptions:
    """Return what the command's user says of CSV files."""
    context = click.get_current_context(silent=True)
    return CsvOptions(**({} if context is None else context.meta.get(_SAID, {})))


def open_files() -> AbstractContextManager[Tables]:
    """Open the tables of a command: by what its user says of CSV files, and with a sign of life on long work."""
    return open_tables(said_options(), steps=waiting)
