"""Sessions end after a time without use, and after a working day in any case."""

from __future__ import annotations

from collections.abc import Callable

from django.conf import settings
from django.contrib.auth import logout
from django.http import HttpRequest, HttpResponse
from django.utils import timezone

from pydplib.web.people.models import SignedInSession
from pydplib.web.people.permissions import is_demo_session


class SessionLimits:
    """Signs a user out whose session is too old or was left alone too long."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        """Check the two clocks of the session, then pass on; whoever was signed out is sent to sign in."""
        if request.user.is_authenticated:
            now = timezone.now().timestamp()
            started = request.session.setdefault("started_at", now)
            idle = now - request.session.get("seen_at", now)
            # A session that began in the future was begun by a clock that ran ahead: nobody knows how old it is.
            too_long = now - started > 3600 * settings.SESSION_ABSOLUTE_HOURS or started - now > 60
            # The demonstration is made up, and serves this machine alone: a break at lunch must not end it.
            if not is_demo_session(request) and (idle > 60 * settings.SESSION_IDLE_MINUTES or too_long):
                logout(request)
                request.session["timed_out"] = "day" if too_long else "idle"
            elif now - request.session.get("seen_at", 0) > 30:  # a write per half minute is enough
                request.session["seen_at"] = now
                SignedInSession.objects.filter(session_key=request.session.session_key).update(last_seen=timezone.now())
        return self.get_response(request)
