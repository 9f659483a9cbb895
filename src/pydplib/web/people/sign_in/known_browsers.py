"""Browsers in which a user has signed in before: their tries are counted apart, so that strangers lock nobody out.

A signed cookie says which user signed in there; it opens nothing. Whoever has none shares a few tries per name and
address, and per name, with all the world; whoever has one has a few tries of its own. It ends with the password.
"""

from __future__ import annotations

import secrets

from django.conf import settings
from django.core import signing
from django.http import HttpRequest, HttpResponse

from pydplib.web.people.models import User

DAYS = 90
_SALT = "pydplib.known-browser"


def remember(response: HttpResponse, user: User) -> HttpResponse:
    """Put the cookie on the response to a sign-in with password."""
    value = signing.dumps([user.pk, _state(user), secrets.token_hex(8)], salt=_SALT, compress=False)
    response.set_cookie(
        settings.KNOWN_BROWSER_COOKIE_NAME,
        value,
        max_age=DAYS * 24 * 3600,
        secure=settings.SESSION_COOKIE_SECURE,
        httponly=True,
        samesite="Strict",
    )
    return response


def known_browser(request: HttpRequest, username: str) -> str | None:
    """Return the name of this browser if this user has signed in here before, with the password of today."""
    try:
        pk, state, name = signing.loads(
            request.COOKIES.get(settings.KNOWN_BROWSER_COOKIE_NAME, ""), salt=_SALT, max_age=DAYS * 24 * 3600
        )
    except (signing.BadSignature, ValueError, TypeError):
        return None
    user = User.objects.filter(pk=pk, username__iexact=username.strip()).first()
    return str(name) if user is not None and state == _state(user) else None


def counts_apart(request: HttpRequest, credentials: dict[str, object] | None = None) -> bool:
    """Return whether this try is counted under the browser's own name: the lock per name and address leaves it out."""
    return bool(getattr(request, "known_browser", None))


def _state(user: User) -> str:
    """Return a mark that changes with the password."""
    return str(user.get_session_auth_hash())[:16]
