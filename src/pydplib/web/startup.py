"""What happens before Django has its models: settings, database, tables, an empty folder for a demonstration."""

from __future__ import annotations

import contextlib
import os
import shutil
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from pydplib.errors import EngineError, PolicyError
from pydplib.web.configuration import Configuration

Step = Callable[[str], None]
MARK = "this-is-a-pydplib-demonstration.txt"
"""The file that marks the folder of a demonstration."""
SILENCE = 1.5
"""Seconds after which a long step says how far it is."""


def start_django(configuration: Configuration) -> None:
    """Start Django with this configuration; once per process."""
    os.environ |= {
        "DJANGO_SETTINGS_MODULE": "pydplib.web.settings",
        "PYDPLIB_HOME": str(configuration.home),
        "DATABASE_URL": configuration.database_url or "",
        "DATABASE_PASSWORD_FILE": "",  # the URL has the password by now
        "PYDPLIB_HOSTS": ",".join(configuration.hosts),
        "PYDPLIB_BEHIND_TLS": str(int(configuration.behind_tls)),
        "PYDPLIB_DEMO": str(int(configuration.demo)),
        "PYDPLIB_GALLERY": str(int(configuration.gallery)),
        "PYDPLIB_QUERY_MEMORY": configuration.query_memory,
        "PYDPLIB_ANSWER_SECONDS": str(configuration.answer_seconds),
        "PYDPLIB_LEAST_EPSILON": str(configuration.least_epsilon),
        "PYDPLIB_QUESTIONS_PER_DAY": str(configuration.questions_per_day),
    }
    import django

    django.setup()


@contextlib.contextmanager
def only_server(home: Path) -> Iterator[None]:
    """Hold the home directory for this server alone where the database is embedded; raise if another holds it."""
    try:
        import fcntl
    except ImportError:  # Windows has no such lock
        yield
        return
    home.mkdir(parents=True, exist_ok=True, mode=0o700)
    with open(home / "serve.lock", "w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise EngineError(
                f"Another pydplib server uses '{home}' already. Stop it first, or choose another --home."
            ) from None
        yield


def check_database() -> None:
    """Raise ``EngineError`` in plain words if the database does not answer."""
    from django.conf import settings
    from django.db import OperationalError, connection

    try:
        connection.ensure_connection()
    except OperationalError:
        where = settings.DATABASES["default"]
        if connection.vendor == "sqlite":
            message = (
                f"The database file cannot be opened in '{settings.CONFIGURATION.home}'. May this user write there?"
            )
        else:
            message = (
                f"The database '{where['NAME']}' at {where['HOST'] or 'the local socket'}:{where['PORT'] or 5432} does "
                f"not answer, or refuses the user '{where['USER']}'. Is it running, and is DATABASE_URL right?"
            )
        raise EngineError(message) from None


def migrate(step: Step) -> int:
    """Bring the tables up to date and return how many changes were made; says how far it is every second or so."""
    from django.core.management import call_command
    from django.core.management.commands.migrate import Command
    from django.db import connection
    from django.db.migrations.executor import MigrationExecutor

    executor = MigrationExecutor(connection)
    plan = executor.migration_plan(executor.loader.graph.leaf_nodes())
    if not plan:
        return 0
    step("Preparing the database")

    class Telling(Command):
        done, told = 0, time.monotonic()

        def migration_progress_callback(self, action: str, migration: object = None, fake: bool = False) -> None:
            self.done += action == "apply_success"
            if time.monotonic() - self.told > SILENCE:
                self.told = time.monotonic()
                step(f"Preparing the database: {self.done} of {len(plan)}")

    call_command(Telling(), verbosity=0, interactive=False)
    return len(plan)


def clear_demonstration(home: Path) -> None:
    """Empty the folder of an earlier demonstration; anything else is left alone."""
    home.mkdir(parents=True, exist_ok=True, mode=0o700)
    found = [item for item in home.iterdir() if item.name != "serve.lock"]
    if found and not (home / MARK).exists():
        raise PolicyError(
            f"'{home}' holds something that no demonstration made, and a demonstration begins by emptying its folder. "
            "Choose another --home."
        )
    for item in found:
        shutil.rmtree(item) if item.is_dir() and not item.is_symlink() else item.unlink()
    (home / MARK).write_text("Synthetic data of `pydplib serve --demo`. Deleted at its next start.\n")
