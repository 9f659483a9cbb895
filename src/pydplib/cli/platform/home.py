"""Commands that work on a platform's own data: where it is, Django started on it, and the passphrase of a backup."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from pydplib.errors import DataError

if TYPE_CHECKING:
    from pydplib.web.configuration import Configuration


HOME = click.option(
    "--home",
    type=click.Path(file_okay=False, path_type=Path),
    help="Folder of the server: database, keys, snapshots. [default: PYDPLIB_HOME or ./pydplib-data; DATABASE_URL for "
    "PostgreSQL]",
)


def server_at(home: Path | None) -> Configuration:
    """Return the server of the environment, or of ``--home``; raise if the platform is not installed."""
    from importlib.util import find_spec

    from pydplib.errors import MissingExtraError
    from pydplib.web.configuration import Configuration

    if find_spec("django") is None:
        raise MissingExtraError("The platform", "web")
    configuration = Configuration.from_environment()
    return configuration if home is None else replace(configuration, home=home.absolute())


def open_platform(home: Path | None) -> None:
    """Start Django on a platform that is there; raise in plain words if there is none."""
    from pydplib.errors import EngineError

    configuration = server_at(home)
    if configuration.database_url is None and not (configuration.home / "pydplib.sqlite3").is_file():
        raise EngineError(
            f"There is no platform in '{configuration.home}'. Name its folder with --home, or set DATABASE_URL."
        )
    from pydplib.web.startup import check_database, start_django

    start_django(configuration)
    check_database()
    from django.db import connection

    if "django_migrations" not in connection.introspection.table_names():
        raise EngineError("The database has no platform in it yet. Start it once: pydplib serve.")


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
