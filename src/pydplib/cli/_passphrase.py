"""The passphrase of a backup: from a file, or asked for."""

from __future__ import annotations

from pathlib import Path

import click

from pydplib.errors import DataError

PASSPHRASE_FILE = click.option(
    "--passphrase-file",
    type=click.Path(dir_okay=False, path_type=Path),
    help="A file whose first line is the passphrase.",
)


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
