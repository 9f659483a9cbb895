"""What ``backup`` and ``restore`` share: the server's home and the passphrase."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from pydplib.errors import DataError, MissingExtraError

if TYPE_CHECKING:
    from pydplib.web.configuration import Configuration

HOME = click.option(
    "--home",
    type=click.Path(file_okay=False, path_type=Path),
    help="Folder of database, keys and snapshots. [default: PYDPLIB_HOME or ./pydplib-data]",
)
PASSPHRASE_FILE = click.option(
    "--passphrase-file",
    type=click.Path(dir_okay=False, path_type=Path),
    help="A file whose first line is the passphrase.",
)


def server_at(home: Path | None) -> Configuration:
    """Return the server of the environment, or of ``--home``."""
    from importlib.util import find_spec

    from pydplib.web.configuration import Configuration

    if find_spec("django") is None:
        raise MissingExtraError("A backup of the platform", "web")
    configuration = Configuration.from_environment()
    return configuration if home is None else replace(configuration, home=home.absolute())


def spoken_passphrase(file: Path | None, *, confirm: bool) -> str:
    """Return the passphrase from a file, or ask for it."""
    if file is None:
        return str(click.prompt("Passphrase", hide_input=True, confirmation_prompt=confirm, err=True))
    try:
        lines = file.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError):
        raise DataError(f"'{file.name}' cannot be read. Check its name and rights.") from None
    if not lines or not lines[0].strip():
        raise DataError(f"'{file.name}' has no passphrase in its first line.")
    return lines[0].strip()
