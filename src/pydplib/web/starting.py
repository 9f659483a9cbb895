"""What happens before the first request: settings, database, tables, the first link."""

from __future__ import annotations

import contextlib
import datetime as dt
import logging
import os
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from pydplib.errors import EngineError
from pydplib.web.configuration import Configuration

Step = Callable[[str], None]
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

        def migration_progress_callback(self, action: str, migration: Any = None, fake: bool = False) -> None:
            self.done += action == "apply_success"
            if time.monotonic() - self.told > SILENCE:
                self.told = time.monotonic()
                step(f"Preparing the database: {self.done} of {len(plan)}")

    call_command(Telling(), verbosity=0, interactive=False)
    return len(plan)


def collect_static(step: Step) -> None:
    """Hash and compress the static files into the home directory, where that was not done for this version."""
    from pydplib.web.design import storage

    if storage.collect():
        step("Compressed the static files")


def end_claims() -> None:
    """End the claims of workers that went with the last server: what they worked on says so at once."""
    from pydplib.web import jobs

    jobs.end_claims()


def tidy() -> None:
    """Delete sessions, counts, links and uploads whose time is over, and what killed backups left behind.

    Snapshots whose day has come are published. Once a day the ledger is verified too.
    """
    from axes.models import AccessAttempt
    from django.conf import settings
    from django.core.management import call_command
    from django.utils import timezone

    from pydplib.web.auditlog import refusals
    from pydplib.web.backups import leftovers
    from pydplib.web.dashboards import housekeeping as dashboards
    from pydplib.web.exports import storing
    from pydplib.web.intake import housekeeping
    from pydplib.web.ledger import housekeeping as ledger
    from pydplib.web.people import rate_limits
    from pydplib.web.people.models import OneTimeLink

    leftovers.remove(settings.CONFIGURATION.home)
    leftovers.forget_pages()
    refusals.flush()
    call_command("clearsessions")
    rate_limits.forget_old()
    AccessAttempt.objects.filter(attempt_time__lt=timezone.now() - dt.timedelta(days=1)).delete()
    OneTimeLink.objects.filter(expires__lt=timezone.now()).delete()
    housekeeping.tidy()
    storing.remove_stray_files()
    dashboards.tidy()
    ledger.tidy()


def tidy_by_the_hour(*, seconds: float = 3600) -> threading.Event:
    """Tidy again and again while the server runs; the event that is returned ends it."""
    ended = threading.Event()

    def work() -> None:
        from django.db import connection

        while not ended.wait(seconds):
            try:
                tidy()
            except Exception as error:
                # A full disk or a busy database: the next hour will do. Its text may quote data.
                logging.getLogger("pydplib.web").error("tidying: %s", type(error).__name__)
            finally:
                connection.close()

    threading.Thread(target=work, daemon=True, name="tidy").start()
    return ended


def setup_token() -> str | None:
    """Return the token of a fresh set-up link while the server has no users; none afterwards."""
    from pydplib.web.people import links
    from pydplib.web.people.models import User

    return None if User.objects.exists() else links.make_link(links.Purpose.SETUP)


def application() -> Any:
    """Return the WSGI application, after Django's own checks (every view has a door)."""
    from django.core.checks import ERROR, run_checks

    problems = [message for message in run_checks() if message.level >= ERROR]
    if problems:
        raise EngineError(f"The platform refuses to start: {problems[0].msg}")
    from pydplib.web.wsgi import application as made

    return made
