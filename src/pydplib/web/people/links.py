"""One-time links: made, found, used. The link itself is shown once; the database knows its hash."""

from __future__ import annotations

import datetime as dt
import secrets

from django.db.models import Q, QuerySet
from django.http import HttpRequest
from django.urls import reverse
from django.utils import timezone

from pydplib.errors import PolicyError
from pydplib.web.people.models import OneTimeLink, User, hash_of

Purpose = OneTimeLink.Purpose

LASTS = {
    Purpose.SETUP: dt.timedelta(hours=24),
    Purpose.WELCOME: dt.timedelta(days=7),
    Purpose.RESET: dt.timedelta(hours=24),
    Purpose.DEMO: dt.timedelta(days=1),
}
"""How long each kind of link works."""


def make_link(purpose: str, *, user: User | None = None, made_by: object = "system") -> str:
    """Make a link and return its token; an earlier link of the same kind for the same user works no more."""
    OneTimeLink.objects.filter(purpose=purpose, user=user, used=None).delete()
    token = secrets.token_urlsafe(32)
    OneTimeLink.objects.create(
        token_hash=hash_of(token),
        purpose=purpose,
        user=user,
        made_by=getattr(made_by, "username", None) or str(made_by),
        expires=timezone.now() + LASTS[Purpose(purpose)],
    )
    return token


def link_path(token: str) -> str:
    """Return the address of a link on this server."""
    return str(reverse("welcome", args=[token]))


def find_link(token: str) -> OneTimeLink | None:
    """Return the link of a token if it still works."""
    return _working().filter(token_hash=hash_of(token)).select_related("user").first()


def carry(request: HttpRequest, link: OneTimeLink) -> None:
    """Keep a found link in the session, so that the token disappears from the browser's address."""
    request.session["link"] = link.pk


def carried(request: HttpRequest) -> OneTimeLink | None:
    """Return the link of this session if it still works."""
    return _working().filter(pk=request.session.get("link", 0)).select_related("user").first()


def use(link: OneTimeLink) -> None:
    """Use a link up; of two at once, one is refused. Call it inside the transaction of what it is used for."""
    if _working().filter(pk=link.pk).update(used=timezone.now()) != 1:
        raise PolicyError("This link was used already, or its time is over. Ask for a new one.")


def _working() -> QuerySet[OneTimeLink]:
    alive = Q(user=None) | Q(user__is_active=True)
    return OneTimeLink.objects.filter(alive, used=None, expires__gt=timezone.now())
