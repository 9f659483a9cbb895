"""The second factor: codes from a phone (TOTP), each accepted once, and recovery codes for the day it is lost."""

from __future__ import annotations

import datetime as dt
import math
import re
import secrets
import time
from base64 import b32encode
from binascii import unhexlify
from urllib.parse import quote, urlencode

import segno
from django.conf import settings
from django.contrib.auth.hashers import check_password, make_password
from django.db import transaction
from django.utils import timezone
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django_otp.oath import TOTP
from django_otp.plugins.otp_totp.models import TOTPDevice

from pydplib.policy import Power, can_use
from pydplib.web.people.models import RecoveryCode, User
from pydplib.web.people.sign_in import rate_limits

RECOVERY_CODES = 10
_LETTERS = "abcdefghjkmnpqrstuvwxyz23456789"  # nothing that looks like something else


def device_of(user: User) -> TOTPDevice | None:
    """Return the user's phone, if one is enrolled."""
    return TOTPDevice.objects.filter(user=user, confirmed=True).order_by("pk").first()


GUARDED: tuple[Power, ...] = ("edit_policy", "see_raw", "capture", "erase", "read_log")
"""Powers that need a second factor: deciding, seeing or writing identified data, erasing, reading logs."""
MOST_GRACE_DAYS = 14


def is_guarded(role: str) -> bool:
    """Return whether a role needs a second factor.

    Examples:
        >>> from pydplib.policy import ROLES
        >>> [role for role in ROLES if is_guarded(role)]
        ['owner', 'radiologist', 'data_protection_officer']
    """
    return any(can_use(role, power) for power in GUARDED)


def must_have(user: User) -> bool:
    """Return whether the user needs a second factor: who manages a hospital, or has a role with a guarded power."""
    return user.is_hospital_owner or any(map(is_guarded, user.memberships.values_list("role", flat=True)))


def has_no_grace(user: User) -> bool:
    """Return whether the user needs it at once: those who manage a hospital or own a project's data."""
    return user.is_hospital_owner or any(
        can_use(role, "edit_policy") for role in user.memberships.values_list("role", flat=True)
    )


def grace_left(user: User) -> int:
    """Return for how many days somebody without a phone is still let in, counted from the sign-in that asked first."""
    days = int(user.hospital.second_factor_grace)
    if days <= 0 or has_no_grace(user):
        return 0
    if user.second_factor_asked is None:  # signed in before this was asked for: the next sign-in starts the clock
        return days
    left = user.second_factor_asked + dt.timedelta(days=days) - timezone.now()
    return min(days, max(0, math.ceil(left / dt.timedelta(days=1))))


def note_asked(user: User) -> None:
    """Start the clock of the grace period, once."""
    if user.second_factor_asked is None:
        user.second_factor_asked = timezone.now()
        user.save(update_fields=["second_factor_asked"])


def new_secret() -> str:
    """Return a fresh secret for a phone, as hexadecimal text."""
    return secrets.token_hex(20)


def secret_text(secret: str) -> str:
    """Return the secret as people type it into their phone: groups of four letters.

    Examples:
        >>> secret_text("00" * 20)
        'AAAA AAAA AAAA AAAA AAAA AAAA AAAA AAAA'
    """
    text = b32encode(unhexlify(secret)).decode()
    return " ".join(text[place : place + 4] for place in range(0, len(text), 4))


def phone_address(user: User, secret: str) -> str:
    """Return what the QR code says to the phone (``otpauth://``)."""
    issuer = settings.OTP_TOTP_ISSUER
    label = quote(f"{issuer}:{user.username}")
    values = {"secret": b32encode(unhexlify(secret)).decode(), "issuer": issuer, "digits": 6, "period": 30}
    return f"otpauth://totp/{label}?{urlencode(values)}"


def enrol(user: User, secret: str, code: str) -> TOTPDevice | None:
    """Make the phone with this secret the user's second factor if the code fits; the former one works no more."""
    totp = TOTP(unhexlify(secret))
    totp.time = time.time()
    number = _digits(code)
    if number is None or not totp.verify(number, tolerance=1):
        return None
    with transaction.atomic():
        TOTPDevice.objects.filter(user=user).delete()
        return TOTPDevice.objects.create(
            user=user, name="phone", confirmed=True, key=secret, last_t=totp.t(), drift=totp.drift
        )


def remove(user: User) -> bool:
    """Take the second factor and the recovery codes away; return whether there was one."""
    with transaction.atomic():
        RecoveryCode.objects.filter(user=user).delete()
        return bool(TOTPDevice.objects.filter(user=user).delete()[0])


def new_recovery_codes(user: User) -> list[str]:
    """Return fresh recovery codes, to be shown once; earlier ones work no more."""
    codes = [
        "-".join("".join(secrets.choice(_LETTERS) for _ in range(4)) for _ in range(3)) for _ in range(RECOVERY_CODES)
    ]
    with transaction.atomic():
        RecoveryCode.objects.filter(user=user).delete()
        RecoveryCode.objects.bulk_create(
            RecoveryCode(user=user, code_hash=make_password(_plain(code))) for code in codes
        )
    return codes


def recovery_codes_left(user: User) -> int:
    """Return how many recovery codes still work."""
    return RecoveryCode.objects.filter(user=user, used=None).count()


def check_code(user: User, code: str) -> str | None:
    """Return ``"phone"`` or ``"recovery code"`` if the code is right and was not used before; none if it is wrong.

    Callers count tries with ``rate_limits`` before they call.
    """
    number = _digits(code)
    if number is not None:
        with transaction.atomic():
            device = TOTPDevice.objects.select_for_update().filter(user=user, confirmed=True).order_by("pk").first()
            return "phone" if device is not None and _set_right(device).verify_token(number) else None
    plain = _plain(code)
    if not re.fullmatch(rf"[{_LETTERS}]{{12}}", plain):
        return None
    for row in RecoveryCode.objects.filter(user=user, used=None):
        if check_password(plain, row.code_hash):
            taken = RecoveryCode.objects.filter(pk=row.pk, used=None).update(used=timezone.now())
            return "recovery code" if taken else None
    return None


def _set_right(device: TOTPDevice) -> TOTPDevice:
    """Forget what a clock that ran ahead noted: a code of the future was used, or a failure of the future locks."""
    now = timezone.now()
    if device.last_t > (now + rate_limits.SKEW).timestamp() // device.step + device.tolerance + 1:
        device.last_t = -1
    failed = device.throttling_failure_timestamp
    if failed is not None and failed > now + rate_limits.SKEW:
        device.throttle_reset(commit=False)
    return device


def try_code(user: User, code: str, *, browser: str | None = None) -> tuple[str | None, bool]:
    """Count and check a code; return how it was right (or none) and whether further tries are allowed.

    A right code is refused while its count is used up, or guessing would pay. But tries from a browser in which the
    user signed in before, with both factors, are counted apart: who stole the password alone locks nobody out of it.

    Args:
        user: Whose code.
        code: What was typed.
        browser: The name of a known browser, as ``known_browsers`` gives it; none for all others together.
    """
    who = tries_of(user, browser)
    if not rate_limits.take("code", who):
        return None, False
    how = check_code(user, code)
    if how:
        rate_limits.clear("code", who)
    return how, True


def tries_of(user: User, browser: str | None) -> str:
    """Return under which name the tries of a user's codes are counted."""
    return str(user.pk) if browser is None else f"{user.pk}:{browser}"


def _digits(code: str) -> int | None:
    text = re.sub(r"\s", "", code)
    return int(text) if re.fullmatch(r"[0-9]{6}", text) else None


def _plain(code: str) -> str:
    return re.sub(r"[\s-]", "", code).lower()


def qr_code(text: str) -> SafeString:
    """Return an SVG element that shows ``text`` as a QR code, drawn here: no picture leaves the server's own page."""
    matrix = [list(row) for row in segno.make(text, error="m", micro=False).matrix]
    quiet = 4
    size = len(matrix) + 2 * quiet
    path = "".join(
        f"M{x + quiet} {y + quiet}h1v1h-1z" for y, row in enumerate(matrix) for x, dark in enumerate(row) if dark
    )
    return format_html(
        '<svg class="qr" viewBox="0 0 {} {}" width="232" height="232" role="img" aria-label="QR code for your phone" '
        'shape-rendering="crispEdges"><rect width="{}" height="{}" fill="#fff"/><path d="{}" fill="#000"/></svg>',
        size,
        size,
        size,
        size,
        path,
    )
