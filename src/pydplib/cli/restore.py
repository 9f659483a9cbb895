"""``pydplib restore``: a server from its backup."""

from __future__ import annotations

import shlex
from pathlib import Path

import click

from pydplib.cli._passphrase import PASSPHRASE_FILE, spoken_passphrase
from pydplib.cli._platform import HOME, server_at


@click.command()
@click.argument("file", type=click.Path(dir_okay=False, path_type=Path))
@HOME
@click.option("--force", is_flag=True, help="Replace what is there; a former home is set aside, not deleted.")
@PASSPHRASE_FILE
def command(file: Path, home: Path | None, force: bool, passphrase_file: Path | None) -> None:
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
