"""Commands that work on a platform's own data, beside the running server."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path


def open_platform(home: Path | None) -> None:
    """Start Django on a platform that is there; raise in plain words if there is none.

    Args:
        home: Its folder; none for ``PYDPLIB_HOME`` or the default one.
    """
    from importlib.util import find_spec

    from pydplib.errors import EngineError, MissingExtraError
    from pydplib.web.configuration import Configuration

    if find_spec("django") is None:
        raise MissingExtraError("The platform", "web")
    configuration = Configuration.from_environment()
    if home is not None:
        configuration = replace(configuration, home=home.absolute())
    if configuration.database_url is None and not (configuration.home / "pydplib.sqlite3").is_file():
        raise EngineError(
            f"There is no platform in '{configuration.home}'. Name its folder with --home, or set DATABASE_URL."
        )
    from pydplib.web.starting import check_database, start_django

    start_django(configuration)
    check_database()
    from django.db import connection

    if "django_migrations" not in connection.introspection.table_names():
        raise EngineError("The database has no platform in it yet. Start it once: pydplib serve.")
