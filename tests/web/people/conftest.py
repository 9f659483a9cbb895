"""Phones, passwords and a clock for the tests about people."""

from __future__ import annotations

import datetime as dt
import time
from typing import Any

import pytest


def password_of(user: Any) -> str:
    return f"{user.username[::-1]}-long-enough"  # as tests/web/conftest.py makes them


class Phone:
    """A user's phone: shows codes; the next one is of the next half minute."""

    def __init__(self, user: Any, secret: str | None = None) -> None:
        from django_otp.plugins.otp_totp.models import TOTPDevice

        self.secret = secret or "3132333435363738393031323334353637383930"
        if secret is None:
            self.device = TOTPDevice.objects.create(user=user, name="phone", confirmed=True, key=self.secret)

    def code(self, *, steps: int = 0) -> str:
        from django_otp.oath import TOTP

        totp = TOTP(bytes.fromhex(self.secret))
        totp.time = time.time() + 30 * steps
        return f"{totp.token():06d}"


@pytest.fixture
def phone() -> Any:
    return Phone


@pytest.fixture
def password() -> Any:
    return password_of


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Move the clock of the platform: ``clock(minutes=31)``."""
    from django.utils import timezone

    real, ahead = timezone.now, dt.timedelta()

    def now() -> dt.datetime:
        return real() + ahead

    def move(**by: float) -> None:
        nonlocal ahead
        ahead += dt.timedelta(**by)

    monkeypatch.setattr(timezone, "now", now)
    return move


@pytest.fixture
def lines(db: None) -> Any:
    """The actions in the audit log, in order."""
    from pydplib.web.auditlog.models import Line

    return lambda: list(Line.objects.values_list("action", flat=True))


@pytest.fixture
def owner(make_user: Any) -> Any:
    """Somebody who manages the hospital."""
    return make_user("ada", is_hospital_owner=True)


@pytest.fixture
def stranger(db: None) -> Any:
    """Somebody who manages another hospital."""
    from pydplib.web.people.models import Hospital, User

    other = Hospital.objects.create(name="Elsewhere")
    return User.objects.create_user("eve", hospital=other, password="evil-long-enough", is_hospital_owner=True)
