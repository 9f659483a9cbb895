"""The days on which snapshots are published by themselves."""

from __future__ import annotations

import datetime as dt

from django.utils import timezone

from pydplib.web.auditlog.log import recorded
from pydplib.web.intake.models import SnapshotSchedule
from pydplib.web.people.models import User
from pydplib.web.projects.models import Project


def next_day(every: str, today: dt.date) -> dt.date | None:
    """Return the first publishing day after today.

    Examples:
        >>> next_day("month", dt.date(2026, 12, 31)), next_day("quarter", dt.date(2026, 4, 1))
        (datetime.date(2027, 1, 1), datetime.date(2026, 7, 1))
    """
    how_often = SnapshotSchedule.Every
    if every == how_often.MONTH:
        months = today.month
    elif every == how_often.QUARTER:
        months = (today.month - 1) // 3 * 3 + 3
    else:
        return None
    return dt.date(today.year + months // 12, months % 12 + 1, 1)


def schedule_of(project: Project) -> SnapshotSchedule | None:
    """Return when a project's snapshots are published by themselves, if that was ever said."""
    return SnapshotSchedule.objects.filter(project=project).first()


def set_schedule(project: Project, every: str, *, actor: User) -> None:
    """Set how often snapshots are published automatically."""
    with recorded(actor, project=project) as log:
        upcoming = next_day(every, timezone.now().date())
        SnapshotSchedule.objects.update_or_create(project=project, defaults={"every": every, "next_day": upcoming})
        log.add("snapshot.schedule", project.key, every=every)
