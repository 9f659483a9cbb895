"""How often passwords, codes and one-time links may be tried; counted in the database, so for all processes at once."""

from __future__ import annotations

import datetime as dt
import hashlib
from dataclasses import dataclass

from axes.models import AccessAttempt
from django.db import transaction
from django.db.models import F, Q
from django.http import HttpRequest
from django.utils import timezone

from pydplib.web.people.models import TryCount

SKEW = dt.timedelta(seconds=10)
"""How far clocks of servers may be apart. What lies further in the future was written by a clock that ran ahead."""


@dataclass(frozen=True, slots=True)
class TryLimit:
    """This many tries in this many minutes."""

    tries: int
    minutes: int


LIMITS: dict[str, tuple[TryLimit, ...]] = {
    # All sign-ins that failed from one address: somebody tries one password on many names.
    "sign_in": (TryLimit(50, 15),),
    # One name from wherever, by browsers in which its user never signed in: somebody who has many addresses.
    # What a single address may is less: see AXES_*.
    "name": (TryLimit(60, 60),),
    # One name in a browser in which its user has signed in before: strangers cannot use these up.
    "browser": (TryLimit(5, 15), TryLimit(40, 24 * 60)),
    # Codes of one user, by whoever knows the password already: three of a million codes are right at a time.
    "code": (TryLimit(5, 15), TryLimit(20, 24 * 60)),
    # The password again, in a session that is open.
    "confirm": (TryLimit(5, 15),),
    # People of other organisations whom one organisation invites into its projects: nobody reads a directory this way.
    "invite": (TryLimit(20, 60), TryLimit(60, 24 * 60)),
    # Names of users and organisations that turned out to be taken: which ones exist is not found by trying.
    "taken": (TryLimit(10, 60), TryLimit(30, 24 * 60)),
    # Organisations that one organisation, and those that it opened, open for partners.
    "organisation": (TryLimit(10, 60), TryLimit(30, 24 * 60)),
    # One-time links that do not exist, from one address.
    "link": (TryLimit(20, 15),),
}


def take(kind: str, who: object) -> bool:
    """Count one try before it is made; return whether it may be made.

    Counted first, so that many at once cannot all pass the check. Give a good try back with ``give_back``.
    """
    allowed = True
    now = timezone.now()
    for limit in LIMITS[kind]:
        name = _name(kind, who, limit)
        with transaction.atomic():
            row, _ = TryCount.objects.get_or_create(name=name, defaults={"since": now})
            row = TryCount.objects.select_for_update().get(pk=row.pk)
            if is_stale(row.since, dt.timedelta(minutes=limit.minutes), now=now):
                row.since, row.count = now, 0
            row.count += 1
            row.save(update_fields=["since", "count"])
        allowed = allowed and row.count <= limit.tries
    return allowed


def is_used_up(kind: str, who: object) -> bool:
    """Return whether no further try would be allowed; counts nothing."""
    now = timezone.now()
    for limit in LIMITS[kind]:
        row = TryCount.objects.filter(name=_name(kind, who, limit)).first()
        window = dt.timedelta(minutes=limit.minutes)
        if row is not None and not is_stale(row.since, window, now=now) and row.count >= limit.tries:
            return True
    return False


def give_back(kind: str, who: object) -> None:
    """Take back the count of a try that was good."""
    names = [_name(kind, who, limit) for limit in LIMITS[kind]]
    TryCount.objects.filter(name__in=names, count__gt=0).update(count=F("count") - 1)


def clear(kind: str, who: object) -> None:
    """Begin again for somebody who has shown who they are."""
    TryCount.objects.filter(name__in=[_name(kind, who, limit) for limit in LIMITS[kind]]).delete()


def forget_old() -> None:
    """Delete counts that no window needs any more, and those of a clock that ran ahead."""
    now = timezone.now()
    TryCount.objects.filter(Q(since__lt=now - dt.timedelta(days=2)) | Q(since__gt=now + SKEW)).delete()
    forget_future_failures()


def forget_future_failures() -> None:
    """Delete failures to sign in that lie in the future: a clock ran ahead and was set right."""
    AccessAttempt.objects.filter(attempt_time__gt=timezone.now() + SKEW).delete()


def is_stale(since: dt.datetime, window: dt.timedelta, *, now: dt.datetime) -> bool:
    """Return whether a window that began then is over, or began in the future: then a clock ran ahead.

    Examples:
        >>> now, minute = dt.datetime(2026, 1, 1), dt.timedelta(minutes=1)
        >>> [is_stale(now + shift, minute, now=now) for shift in (-2 * minute, -minute / 2, 3 * minute)]
        [True, False, True]
    """
    return now - since > window or since - now > SKEW


def address_of(request: HttpRequest) -> str:
    """Return where a request comes from (behind a proxy: what the trusted proxy says, see ``web.server``)."""
    return str(request.META.get("REMOTE_ADDR", ""))


def _name(kind: str, who: object, limit: TryLimit) -> str:
    return hashlib.sha256(f"{kind}:{limit.minutes}:{who}".encode()).hexdigest()
