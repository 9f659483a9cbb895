"""What the running server does by itself: the hourly upkeep, the first link, the application after its checks."""

from __future__ import annotations

import datetime as dt
import logging
import threading

from axes.models import AccessAttempt
from django.conf import settings
from django.core.checks import ERROR, run_checks
from django.core.handlers.wsgi import WSGIHandler
from django.core.management import call_command
from django.db import connection
from django.utils import timezone
from django.utils.module_loading import import_string

from pydplib.errors import EngineError
from pydplib.web import leftovers
from pydplib.web.auditlog import refusals
from pydplib.web.dashboards import upkeep as dashboards
from pydplib.web.exports import files
from pydplib.web.intake import upkeep as intake
from pydplib.web.ledger import checks as ledger
from pydplib.web.notices import outbox
from pydplib.web.people import links
from pydplib.web.people.models import OneTimeLink, User
from pydplib.web.people.sign_in import rate_limits


def tidy() -> None:
    """Delete sessions, counts, links and uploads whose time is over, and what killed backups left behind.

    Snapshots whose day has come are published. Once a day the ledger is verified too.
    """
    leftovers.remove(settings.CONFIGURATION.home)
    leftovers.forget_pages()
    refusals.flush()
    call_command("clearsessions")
    rate_limits.forget_old()
    AccessAttempt.objects.filter(attempt_time__lt=timezone.now() - dt.timedelta(days=1)).delete()
    OneTimeLink.objects.filter(expires__lt=timezone.now()).delete()
    intake.tidy()
    files.remove_stray_files()
    dashboards.tidy()
    ledger.tidy()
    outbox.tidy()


def tidy_by_the_hour(*, seconds: float = 3600) -> threading.Event:
    """Tidy again and again while the server runs; the event that is returned ends it."""
    ended = threading.Event()

    def work() -> None:
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


def run_by_itself() -> list[threading.Event]:
    """Begin what the server does without being asked; the events that are returned end it."""
    return [event for event in (tidy_by_the_hour(), outbox.send_by_the_minute()) if event is not None]


def setup_token() -> str | None:
    """Return the token of a fresh set-up link while the server has no users; none afterwards."""
    return None if User.objects.exists() else links.make_link(links.Purpose.SETUP)


def application() -> WSGIHandler:
    """Return the WSGI application, after Django's own checks (every view has a permission)."""
    problems = [message for message in run_checks() if message.level >= ERROR]
    if problems:
        raise EngineError(f"The platform refuses to start: {problems[0].msg}")

    found: WSGIHandler = import_string(settings.WSGI_APPLICATION)
    return found
