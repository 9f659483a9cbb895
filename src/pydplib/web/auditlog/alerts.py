"""Alerts from the log: somebody was refused again and again within minutes."""

from __future__ import annotations

import datetime as dt
from collections import defaultdict
from collections.abc import Collection
from dataclasses import dataclass

from pydplib.web.auditlog.lines import lines_of
from pydplib.web.auditlog.words import REFUSING

REFUSALS = 5
MINUTES = 10
DAYS = 7
"""An alert: this many refusals of one user within this many minutes; shown for this many days."""


@dataclass(frozen=True, slots=True)
class Alert:
    """Repeated refusals of one user in one project.

    Args:
        actor: The user name.
        project: The project's key; empty for the hospital's own pages.
        count: How many refusals there were in the days that are looked at.
        last: When the last one was.
    """

    actor: str
    project: str
    count: int
    last: dt.datetime


def repeated_refusals(projects: Collection[str], *, hospital: str = "", now: dt.datetime | None = None) -> list[Alert]:
    """Return who was refused too often, newest first.

    Args:
        projects: Keys of the projects to look at.
        hospital: A hospital's key, to look at lines that belong to no project too.
        now: The time; now if left out.
    """
    now = now or dt.datetime.now(dt.UTC)
    since = (now - dt.timedelta(days=DAYS)).isoformat(timespec="milliseconds")
    refusals = lines_of(projects, hospital=hospital).filter(action__in=REFUSING, time__gte=since).order_by("number")
    times: dict[tuple[str, str], list[dt.datetime]] = defaultdict(list)
    for actor, project, time in refusals.values_list("actor", "project", "time"):
        times[actor, project].append(dt.datetime.fromisoformat(time))
    alerts = [
        Alert(actor, project, len(when), when[-1]) for (actor, project), when in times.items() if is_too_often(when)
    ]
    return sorted(alerts, key=lambda alert: alert.last, reverse=True)


def is_too_often(times: list[dt.datetime]) -> bool:
    """Return whether some window of ``MINUTES`` holds ``REFUSALS`` of these times, which are in order.

    Examples:
        >>> start = dt.datetime(2026, 1, 1, tzinfo=dt.UTC)
        >>> is_too_often([start + dt.timedelta(minutes=2 * n) for n in range(5)])
        True
        >>> is_too_often([start + dt.timedelta(minutes=3 * n) for n in range(5)])
        False
    """
    window = dt.timedelta(minutes=MINUTES)
    return any(times[n + REFUSALS - 1] - times[n] <= window for n in range(len(times) - REFUSALS + 1))
