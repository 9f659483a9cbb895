"""``pydplib backup`` and ``pydplib restore``: all of a server in one file, and back."""

from __future__ import annotations

import shlex
from pathlib import Path

import click

from pydplib.cli.platform.home import HOME, PASSPHRASE_FILE, server_at, spoken_passphrase


@click.command("backup")
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


@click.command("restore")
@click.argument("file", type=click.Path(dir_okay=False, path_type=Path))
@HOME
@click.option("--force", is_flag=True, help="Replace what is there; a former home is set aside, not deleted.")
@PASSPHRASE_FILE
def restore_command(file: Path, home: Path | None, force: bool, passphrase_file: Path | None) -> None:
    """Bring a server back from FILE. Stop the server first.

    Everything is unpacked aside; sums and the audit log's chain are verified before anything is put in place.
    A home that is not empty is refused without --force.

    \b
    Examples:
      pydplib restore /safe/pydplib-2026-11-16.backup --home /srv/pydplib
    """  # noqa: D301 - click needs the backspace itself
    from pydplib.web.backups.container import is_encrypted
    from pydplib.web.backups.restore import check_free, restore

    configuration = server_at(home)
    check_free(configuration.home, force=force)
    passphrase = spoken_passphrase(passphrase_file, confirm=False) if is_encrypted(file) else None
    done = restore(
        configuration, file, passphrase=passphrase, force=force, step=lambda word: click.echo(f"{word} ...", err=True)
    )
    click.echo(
        f"Restored {configuration.home} from the backup of {done.made}: {done.lines} lines of the audit log fit."
    )
    click.echo(
        "Questions are answered again once you accept the ledger as it is here: "
        f"pydplib ledger accept --home {shlex.quote(str(configuration.home))}",
        err=True,
    )
    if done.set_aside is not None:
        click.echo(f"The former home is in {done.set_aside}. Delete it when you do not need it any more.", err=True)
