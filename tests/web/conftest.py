"""A database for the platform's tests: SQLite, or a real PostgreSQL with PYDPLIB_TEST_DATABASE=postgres."""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pytest

# The settings read the environment once, when Django starts: before any test module imports a model.
_STACK = ExitStack()


def pytest_configure(config: pytest.Config) -> None:
    _start_django()


def _start_django() -> None:
    import django
    from django.apps import apps

    if apps.ready:
        return
    home = _STACK.enter_context(tempfile.TemporaryDirectory(prefix="pydplib-web-"))
    for name in ("PYDPLIB_DEMO", "PYDPLIB_BEHIND_TLS", "PYDPLIB_HOSTS", "PYDPLIB_GALLERY", "DATABASE_URL"):
        os.environ.pop(name, None)
    os.environ |= {"PYDPLIB_HOME": home, "DJANGO_SETTINGS_MODULE": "pydplib.web.settings"}
    os.environ["PYDPLIB_ANSWER_SECONDS"] = "0"  # the tests that are about it set it themselves
    if os.environ.get("PYDPLIB_TEST_DATABASE") == "postgres":
        from postgres_server import run_postgres

        os.environ["DATABASE_URL"] = _STACK.enter_context(run_postgres()).url
    django.setup()
    from django.conf import settings

    # Argon2 is slow on purpose; the tests that are about it set it themselves.
    settings.PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]


def pytest_unconfigure(config: pytest.Config) -> None:
    _STACK.close()


_start_django()


@pytest.fixture(scope="session")
def _database() -> Iterator[None]:
    """Make the tables once."""
    from django.core.management import call_command
    from django.test.utils import setup_databases, setup_test_environment, teardown_databases, teardown_test_environment

    setup_test_environment()
    old = setup_databases(verbosity=0, interactive=False)
    call_command("check", fail_level="ERROR")
    yield
    teardown_databases(old, verbosity=0)
    teardown_test_environment()


@pytest.fixture(autouse=True)
def _no_refusals_yet(monkeypatch: pytest.MonkeyPatch) -> None:
    """Forget who was refused in earlier tests: after many refusals the log counts them instead of writing each down."""
    refusals = sys.modules.get("pydplib.web.auditlog.refusals")
    if refusals is not None:
        monkeypatch.setattr(refusals, "_counts", {})


@contextmanager
def _same_end_of_the_ledger() -> Iterator[None]:
    """Put back the files that remember where the ledger ends: what is rolled back in the database was never there."""
    files = [Path(os.environ["PYDPLIB_HOME"]) / name for name in ("ledger.head.json", "ledger.damage.txt")]
    before = [file.read_bytes() if file.exists() else None for file in files]
    yield
    for file, found in zip(files, before, strict=True):
        if found is None:
            file.unlink(missing_ok=True)
        else:
            file.write_bytes(found)


@pytest.fixture(scope="module", autouse=True)
def _modules_leave_the_ledger_as_it_was() -> Iterator[None]:
    """Worlds that the tests of a module share are rolled back as well."""
    with _same_end_of_the_ledger():
        yield


@pytest.fixture
def db(_database: None) -> Iterator[None]:
    """Roll back whatever the test wrote."""
    from django.test import TestCase

    with _same_end_of_the_ledger():
        atomics = TestCase._enter_atomics()
        yield
        TestCase._rollback_atomics(atomics)


@pytest.fixture
def client(db: None) -> Any:
    """A browser without a page: cookies and forms, no script."""
    from django.test import Client

    return Client()


@pytest.fixture
def hospital(db: None) -> Any:
    from pydplib.web.people.models import Hospital

    return Hospital.objects.get_or_create(name="St. Example")[0]


@pytest.fixture
def make_user(hospital: Any) -> Any:
    """Make users by name; their password is their name backwards and some."""
    from pydplib.web.people.models import User

    def make(username: str, **more: Any) -> Any:
        more.setdefault("hospital", hospital)
        return User.objects.create_user(username, password=f"{username[::-1]}-long-enough", **more)

    return make


@pytest.fixture
def project(hospital: Any) -> Any:
    """A project with the default policy, without members."""
    import datetime as dt

    from pydplib.policy import DEFAULT_RULES
    from pydplib.web.projects.models import Project, Rule, project_key

    made = Project.objects.create(
        key=project_key("pirads"),
        hospital=hospital,
        name="PI-RADS",
        purpose="Prostate MRI",
        legal_basis="Consent",
        retention_until=dt.date(2040, 1, 1),
    )
    Rule.objects.bulk_create([Rule.from_rule(made, rule) for rule in DEFAULT_RULES])
    return made


@pytest.fixture(scope="session")
def sign_in() -> Any:
    """Return a client signed in as a user, with the second factor given unless told otherwise."""
    from django.test import Client
    from django.utils import timezone
    from django_otp import DEVICE_ID_SESSION_KEY
    from django_otp.plugins.otp_totp.models import TOTPDevice

    def enter(user: Any, *, second_factor: bool = True, recent: bool = True) -> Any:
        client = Client()
        client.force_login(user, backend="django.contrib.auth.backends.ModelBackend")
        session = client.session
        if second_factor:
            device, _ = TOTPDevice.objects.get_or_create(user=user, name="phone", confirmed=True)
            session[DEVICE_ID_SESSION_KEY] = device.persistent_id
        if recent:
            # An hour ahead: worlds that many tests share stay confirmed however slow the machine is.
            session["confirmed_at"] = timezone.now().timestamp() + 3600
        session.save()
        return client

    return enter


@pytest.fixture
def member(project: Any, make_user: Any, sign_in: Any) -> Any:
    """Return a function that makes a member of the project in a role, and the client signed in as that member."""
    from pydplib.web.projects.models import Member

    def make(role: str, username: str | None = None, **more: Any) -> Any:
        user = make_user(username or role)
        Member.objects.create(project=project, user=user, role=role, **more)
        client = sign_in(user)
        client.user = user
        return client

    return make
