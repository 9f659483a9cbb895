"""``pydplib backup``: all of a server in one file."""

from __future__ import annotations

from pathlib import Path

import click

from pydplib.cli._passphrase import PASSPHRASE_FILE, spoken_passphrase
from pydplib.cli._platform import HOME, server_at


@click.command()
@click.argument("file", type=click.Path(dir_okay=False, path_type=Path))
@HOME
@click.option("--encrypt", is_flag=True, help="Ask for a passphrase and encrypt the file.")
@PASSPHRASE_FILE
def command(file: Path, home: Path | None, encrypt: bool, passphrase_file: Path | None) -> None:
    """Write database, keys and snapshots of a server into one new FILE. The server may run meanwhile.

    FILE holds the keys, so whoever reads it can tell who is behind every pseudonym: encrypt it, or keep it as safe
    as the server itself. Uploads that wait to be imported are not part of it.

    \b
    Examples:
      pydplib backup /safe/pydplib-2026-11-16.backup --encrypt
      pydplib backup nightly.backup --passphrase-file /etc/pydplib/backup.pass
    """  # noqa: D301 - click needs the backspace itself
    from pydplib.web.backups.backup import save

    passphrase = None
    if encrypt or passphrase_file is not None:
        passphrase = spoken_passphrase(passphrase_file, confirm=True)
    configuration = server_at(home)
    saved = save(configuration, file, passphrase=passphrase, step=lambda word: click.echo(f"{word} ...", err=True))
    click.echo(f"Wrote {file}: {saved.files} files, {saved.size / 1e6:.1f} MB, {saved.lines} lines of the audit log.")
    if saved.missing:
        click.echo(f"Note: {saved.missing} snapshots that the database names are gone from the disk.", err=True)
    if passphrase is None:
        click.echo("Note: not encrypted, and it holds the server's keys. Keep it safe, or use --encrypt.", err=True)
