"""Whether two owners are two people: who opened, reset or promoted whose account within a week, along the whole chain.

Whoever invites somebody, makes a one-time link for them or takes their second factor away can sign in as them; whoever
makes somebody a manager or an owner hands them the power to decide. Along such steps one person can act as many. After
a week an account belongs to its user: by then they found their password changed, and the log says by whom. A link works
for days, so the week begins when a password was chosen by it.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping
from typing import Any

from django.db.models import Q
from django.utils import timezone

from pydplib.policy import can_use
from pydplib.web.auditlog.models import Line
from pydplib.web.people import links
from pydplib.web.people.models import User
from pydplib.web.projects.models import Project

SETTLED = dt.timedelta(days=7)
"""After how long an account that was opened, reset or promoted counts as its user's alone."""

OPERATOR = "system"
"""Who acts in the log when the server's operator does: at set-up, at a rescue, in the demonstration."""

_LINKS = ("user.invite", "partner.invite", "user.make_link")
"""Actions that give the actor a link by which the subject's password is chosen, now or days later."""

_HANDS_OVER = (
    *_LINKS,
    "user.remove_second_factor",
    "user.enable",
    "user.make_owner",
)
"""Actions after which the actor may hold the subject's account, or gave it power over other accounts."""


def behind(project: Project, usernames: list[str]) -> dict[str, set[str]]:
    """Return for each user everybody who may act through their account: themselves, and whoever stands up the chain.

    Args:
        project: The project; being made its owner is one of the steps.
        usernames: Whose accounts.
    """
    givers = _givers(project)
    return {name: _up(name, givers) for name in usernames}


def count_as_one(project: Project, first: str, second: str) -> bool:
    """Return whether one person may act through both accounts."""
    found = behind(project, [first, second])
    return bool(found[first] & found[second])


def is_alone(project: Project, user: User) -> bool:
    """Return whether no other active owner is there."""
    return not project.active_owners().exclude(user=user).exists()


def independent_owners(project: Project, username: str) -> list[str]:
    """Return the user names of the other active owners who count as a second person next to this one."""
    names = list(project.active_owners().exclude(user__username=username).values_list("user__username", flat=True))
    found = behind(project, [username, *names])
    return [name for name in names if not found[name] & found[username]]


def _givers(project: Project) -> dict[str, set[str]]:
    """Return subject -> actors of the steps of the last week."""
    since, earlier = _text(timezone.now() - SETTLED), _text(timezone.now() - SETTLED - max(links.LASTS.values()))
    used = Line.objects.filter(time__gte=since, action="user.choose_password").values("subject")
    recent = Q(time__gte=since) | Q(time__gte=earlier, action__in=_LINKS, subject__in=used)
    steps = Line.objects.filter(recent, action__in=_HANDS_OVER).values_list("actor", "subject")
    changes = Line.objects.filter(time__gte=since, action__in=("member.add", "member.change"), project=project.key)
    promotions = [(line.actor, line.subject) for line in changes if _makes_owner(line.facts)]
    # Nobody can be called like the operator today; a user of that name from earlier versions is a user.
    trusted = set() if User.objects.filter(username__iexact=OPERATOR).exists() else {OPERATOR}
    givers: dict[str, set[str]] = {}
    for actor, subject in (*steps, *promotions):
        if actor != subject and actor not in trusted:
            givers.setdefault(subject, set()).add(actor)
    return givers


def _text(moment: dt.datetime) -> str:
    """Return a time as the log writes it."""
    return moment.astimezone(dt.UTC).isoformat(timespec="milliseconds")


def _makes_owner(facts: Mapping[str, Any]) -> bool:
    role = (facts.get("after") or {}).get("role") or facts.get("role")
    return bool(role) and can_use(role, "decide_requests")


def _up(name: str, givers: Mapping[str, set[str]]) -> set[str]:
    found, waiting = {name}, [name]
    while waiting:
        fresh = givers.get(waiting.pop(), set()) - found
        found |= fresh
        waiting += fresh
    return found
