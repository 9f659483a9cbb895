"""Settings and pages that every answer passes: deploy check, faults, logs, cookies."""

from __future__ import annotations

import logging
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest


def _check_deploy(tmp_path: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    env = {key: value for key, value in os.environ.items() if not key.startswith(("PYDPLIB_", "DATABASE_"))}
    env |= {"DJANGO_SETTINGS_MODULE": "pydplib.web.settings", "PYDPLIB_HOME": str(tmp_path), **environment}
    return subprocess.run(
        [sys.executable, "-m", "django", "check", "--deploy", "--fail-level", "WARNING"],
        env=env,
        capture_output=True,
        text=True,
        timeout=60,
    )


def test_deploy_check_is_clean_behind_tls(tmp_path) -> None:
    done = _check_deploy(tmp_path, PYDPLIB_BEHIND_TLS="1", PYDPLIB_HOSTS="edc.example")
    assert done.returncode == 0, done.stderr
    assert "no issues" in done.stdout


def test_deploy_check_finds_what_plain_http_lacks(tmp_path) -> None:
    """The twin: without TLS the same check complains, so it does look."""
    done = _check_deploy(tmp_path)
    assert done.returncode != 0 and "security.W012" in done.stderr


class _Fault(Exception):
    pass


@pytest.fixture
def broken(monkeypatch: pytest.MonkeyPatch) -> None:
    from django.contrib.sessions.backends.db import SessionStore
    from django.db import OperationalError

    def fail(self: Any) -> dict[str, Any]:
        raise OperationalError("canary-cell in a message of the database")

    monkeypatch.setattr(SessionStore, "load", fail)


def test_fault_is_answered_without_a_word_about_it(db, broken, capfd) -> None:
    """Even when the database itself fails: the page needs none."""
    from django.test import Client

    client = Client(raise_request_exception=False)
    client.cookies["session"] = "x" * 32
    answer = client.get("/account")
    assert answer.status_code == 503
    assert b"canary" not in answer.content and b"OperationalError" not in answer.content
    assert answer.headers["Content-Security-Policy"] and answer.headers["Cache-Control"] == "no-store"
    said = capfd.readouterr().err
    assert "canary" not in said


def test_log_of_a_fault_names_kind_and_place_but_not_the_text() -> None:
    from pydplib.web.logs import QuietFormatter

    try:
        raise _Fault("canary-cell")
    except _Fault:
        record = logging.LogRecord("x", 40, "f", 1, "failed", (), sys.exc_info())
    line = QuietFormatter().format(record)
    assert "_Fault at" in line and "test_hardening.py" in line and "canary" not in line


def test_health_check_says_when_the_database_does_not_answer(db, monkeypatch) -> None:
    from django.db import OperationalError
    from django.test import Client

    from pydplib.web import pages

    class Gone:
        def cursor(self) -> Any:
            raise OperationalError("canary")

    monkeypatch.setattr(pages, "connection", Gone())
    answer = Client().get("/healthz")
    assert answer.status_code == 503 and b"canary" not in answer.content
    assert Client().post("/healthz").status_code == 405


def test_settings_that_matter_are_as_they_should_be() -> None:
    from pydplib.web import settings

    assert settings.DEBUG is False
    assert settings.CSRF_COOKIE_HTTPONLY and settings.SESSION_COOKIE_HTTPONLY
    assert settings.SESSION_COOKIE_SAMESITE == settings.CSRF_COOKIE_SAMESITE == "Lax"
    assert not any("admin" in app for app in settings.INSTALLED_APPS)
    assert settings.MIDDLEWARE[0] == "pydplib.web.middleware.SecurityHeaders"
    assert "pickle" not in str(vars(settings)).lower()


def test_sessions_are_stored_as_json(db) -> None:
    from django.conf import settings

    assert settings.SESSION_SERIALIZER == "django.contrib.sessions.serializers.JSONSerializer"


def test_no_account_exists_before_set_up(db) -> None:
    from pydplib.web.people.models import User

    assert not User.objects.exists(), "migrations make no user"


def test_admin_is_not_mounted(client) -> None:
    for path in ("/admin", "/admin/", "/admin/login/"):
        assert client.get(path).status_code == 404


def test_tidying_deletes_what_is_over_and_keeps_the_rest(db, monkeypatch) -> None:
    import datetime as dt

    from axes.models import AccessAttempt
    from django.utils import timezone

    from pydplib.web import upkeep
    from pydplib.web.people import links
    from pydplib.web.people.models import OneTimeLink, TryCount
    from pydplib.web.people.sign_in import rate_limits

    now = timezone.now()
    links.make_link("setup")
    rate_limits.take("link", "192.0.2.1")
    for name in ("fresh", "old"):
        AccessAttempt.objects.create(username=name, failures_since_start=1)
    AccessAttempt.objects.filter(username="old").update(attempt_time=now - dt.timedelta(days=2))
    upkeep.tidy()
    assert (OneTimeLink.objects.count(), TryCount.objects.count()) == (1, 1)
    assert AccessAttempt.objects.get().username == "fresh"
    monkeypatch.setattr(timezone, "now", lambda: now + dt.timedelta(days=3))
    upkeep.tidy()
    assert not OneTimeLink.objects.exists() and not TryCount.objects.exists() and not AccessAttempt.objects.exists()
