"""The sessions of a user: kept in a list when they begin, and ended at once when something about the user changes."""

from __future__ import annotations

import re

from django.contrib.auth.signals import user_logged_in, user_logged_out
from django.contrib.sessions.models import Session
from django.dispatch import receiver
from django.http import HttpRequest

from pydplib.web.people.models import SignedInSession, User

_BROWSERS = (("Edg", "Edge"), ("OPR", "Opera"), ("Firefox", "Firefox"), ("Chrom", "Chrome"), ("Safari", "Safari"))
_SYSTEMS = (
    ("Android", "Android"),
    ("iPhone", "iPhone"),
    ("iPad", "iPad"),
    ("Windows", "Windows"),
    ("Mac OS", "Mac"),
    ("Linux", "Linux"),
)


def browser_name(user_agent: str) -> str:
    """Return a browser in words that its user knows; the whole text would be a fingerprint.

    Examples:
        >>> browser_name("Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0")
        'Firefox on Linux'
    """
    browser = next((name for mark, name in _BROWSERS if mark in user_agent), "")
    system = next((name for mark, name in _SYSTEMS if re.search(rf"\b{mark}\b", user_agent)), "")
    return " on ".join(word for word in (browser or "Another browser", system) if word)


@receiver(user_logged_in, dispatch_uid="people.sessions.begin")
def _begin(sender: object, request: HttpRequest, user: User, **more: object) -> None:
    note_session(request, user)


def note_session(request: HttpRequest, user: User) -> None:
    """Put the session of a request into the user's list."""
    if request.session.session_key is None:  # emptied because somebody else was signed in: its id comes with saving
        request.session.save()
    SignedInSession.objects.update_or_create(
        session_key=request.session.session_key,
        defaults={"user": user, "browser": browser_name(request.META.get("HTTP_USER_AGENT", ""))},
    )


@receiver(user_logged_out, dispatch_uid="people.sessions.end")
def _end(sender: object, request: HttpRequest, user: User | None, **more: object) -> None:
    SignedInSession.objects.filter(session_key=request.session.session_key).delete()


def sessions_of(user: User) -> list[SignedInSession]:
    """Return the sessions that are open, the latest first; those that ended by themselves are forgotten."""
    listed = SignedInSession.objects.filter(user=user)
    alive = set(Session.objects.filter(session_key__in=listed.values("session_key")).values_list("pk", flat=True))
    listed.exclude(session_key__in=alive).delete()
    return list(listed.order_by("-last_seen"))


def end_sessions(user: User, *, but: str | None = None) -> int:
    """End all sessions of a user (``but`` one) and return how many; their next request finds nobody signed in."""
    keys = list(
        SignedInSession.objects.filter(user=user).exclude(session_key=but or "").values_list("session_key", flat=True)
    )
    Session.objects.filter(session_key__in=keys).delete()
    SignedInSession.objects.filter(session_key__in=keys).delete()
    return len(keys)


def end_session(user: User, session: int | str) -> bool:
    """End one session of a user by its number in the list; return whether there was one."""
    row = (
        SignedInSession.objects.filter(user=user, pk=session).first()
        if re.fullmatch("[0-9]{1,18}", str(session))
        else None
    )
    if row is None:
        return False
    Session.objects.filter(session_key=row.session_key).delete()
    row.delete()
    return True
