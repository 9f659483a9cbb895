"""Signing in: password, then the code where the user has a phone enrolled; a new session id at the end."""

from __future__ import annotations

import ipaddress

from axes.handlers.proxy import AxesProxyHandler
from django.conf import settings
from django.contrib.auth import authenticate, login
from django.core import signing
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.utils import timezone
from django.utils.crypto import salted_hmac

from pydplib.web.auditlog.log import recorded
from pydplib.web.people.models import User
from pydplib.web.people.sign_in import known_browsers, rate_limits
from pydplib.web.people.sign_in.second_factor import device_of, must_have, note_asked

BACKEND = "django.contrib.auth.backends.ModelBackend"
PENDING_MINUTES = 5
PROXY_HEADERS = ("HTTP_X_FORWARDED_FOR", "HTTP_X_FORWARDED_HOST", "HTTP_X_REAL_IP", "HTTP_FORWARDED", "HTTP_VIA")


def lockout_name(request: HttpRequest, credentials: dict[str, object] | None = None) -> str:
    """Return the name under which failures are counted: without case, as names are compared, and as a keyed hash.

    What was typed is not kept: it may be a password in the wrong field.
    """
    name = (credentials or {}).get("username") or request.POST.get("username") or ""
    return salted_hmac("pydplib.lockout", str(name).strip().casefold(), algorithm="sha256").hexdigest()


def begin_try(request: HttpRequest, username: str) -> list[tuple[str, str]] | None:
    """Count a try to sign in before it is made; return what was counted, or none if it may not be made.

    A browser in which this user signed in before has tries of its own. All others share those per address and per
    name; what is locked for its name and address already counts for neither, so that one address alone, however often
    it tries, never uses up a name for the rest of the world.
    """
    rate_limits.forget_future_failures()
    browser = known_browsers.known_browser(request, username)
    request.known_browser = browser  # type: ignore[attr-defined]
    if browser is not None:
        counts = [("browser", browser)]
    elif AxesProxyHandler.is_allowed(request, {"username": username}):
        counts = [("sign_in", rate_limits.address_of(request)), ("name", lockout_name(request))]
    else:
        return None
    taken = [rate_limits.take(kind, who) for kind, who in counts]  # all are counted, also if the first refuses
    return counts if all(taken) else None


def check_sign_in(request: HttpRequest, username: str, password: str) -> User | None:
    """Return the user whose name and password these are; failures are counted and logged.

    An unknown name takes the same steps as a wrong password: hash, count, log line.
    """
    user: User | None = authenticate(request, username=username, password=password)
    if user is None:
        known = User.objects.filter(username__iexact=username).select_related("hospital").first()
        with recorded("anonymous", hospital=known.hospital if known else None) as log:
            # What was typed is not kept: it may be a password in the wrong field.
            log.add("user.sign_in_fail", known.username if known else "unknown")
    return user


def first_step_done(request: HttpRequest, user: User, *, then: str) -> HttpResponse:
    """Go on after the password: to the code if there is a phone, else in."""
    if device_of(user) is None:
        if must_have(user):
            note_asked(user)
            request.session["after_second_factor"] = then
            then = reverse("second_factor")
        return enter(request, user, how="password", then=then)
    request.session.cycle_key()
    request.session["pending"] = {
        "user": user.pk,
        "hash": user.get_session_auth_hash(),
        "at": timezone.now().timestamp(),
        "next": then,
    }
    return redirect("login_code")


def pending_user(request: HttpRequest) -> tuple[User | None, str]:
    """Return who gave a password in this session and still owes the code, and where they wanted to go."""
    pending = request.session.get("pending") or {}
    if timezone.now().timestamp() - float(pending.get("at", 0)) > 60 * PENDING_MINUTES:
        return None, "/"
    user = User.objects.filter(pk=pending.get("user"), is_active=True).first()
    if user is None or user.get_session_auth_hash() != pending.get("hash"):
        return None, "/"
    return user, str(pending.get("next", "/"))


def enter(request: HttpRequest, user: User, *, how: str, then: str, demo: bool = False) -> HttpResponse:
    """Open the session: a new id, the clocks set, a line in the log.

    Args:
        request: The request.
        user: Who signs in.
        how: ``"password"``, ``"password and phone"``, ``"password and recovery code"`` or ``"demonstration"``.
        then: Where to go.
        demo: Whether the second factor is waived, as in the demonstration.
    """
    request.session.pop("pending", None)
    request.session.pop("link", None)
    with recorded(user) as log:
        if how.startswith("password and"):
            user.otp_device = device_of(user)  # django-otp writes it into the session
        login(request, user, backend=BACKEND)
        log.add("user.sign_in", user.username, how=how)
    now = timezone.now().timestamp()
    request.session.update({"started_at": now, "seen_at": now, "confirmed_at": now, "demo": demo})
    if demo:
        request.session.set_expiry(_DEMO_DAYS * 24 * 3600)
    rate_limits.clear("confirm", user.pk)
    return _note_demo(redirect(then)) if demo else known_browsers.remember(redirect(then), user)


_DEMO_COOKIE, _DEMO_DAYS = "demo-entered", 14


def _note_demo(response: HttpResponse) -> HttpResponse:
    """Let a browser that came in by a link of the demonstration come back without one, until the next start."""
    response.set_cookie(
        _DEMO_COOKIE,
        signing.dumps("demonstration", salt=_DEMO_COOKIE),
        max_age=_DEMO_DAYS * 24 * 3600,
        httponly=True,
        samesite="Strict",
    )
    return response


def entered_demo(request: HttpRequest) -> bool:
    """Return whether this browser came into this demonstration by one of its links, from this very machine.

    Its keys are made again at every start, and the mark with them.
    """
    if not is_demo_nearby(request):
        return False
    try:
        signing.loads(request.COOKIES.get(_DEMO_COOKIE, ""), salt=_DEMO_COOKIE, max_age=_DEMO_DAYS * 24 * 3600)
    except signing.BadSignature:
        return False
    return True


def is_demo_nearby(request: HttpRequest) -> bool:
    """Return whether this is the demonstration, asked for from this very machine and through no proxy."""
    try:
        near = ipaddress.ip_address(rate_limits.address_of(request)).is_loopback
    except ValueError:
        near = False
    return bool(settings.CONFIGURATION.demo) and near and not any(name in request.META for name in PROXY_HEADERS)
