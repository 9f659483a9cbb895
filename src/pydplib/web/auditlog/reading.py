"""Which lines of the log somebody reads: of the project or the hospital, filtered by action, actor and day."""

from __future__ import annotations

import datetime as dt
from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

from django.db.models import Q

from pydplib.web.auditlog.models import Line
from pydplib.web.auditlog.words import REFUSING, facts_words, words_of

PROJECT, HOSPITAL = "project", "hospital"


@dataclass(frozen=True, slots=True)
class Filter:
    """What to show.

    Args:
        action: One action, or all.
        actor: One user name, or all.
        since: The first day, in UTC.
        until: The last day, in UTC.
    """

    action: str = ""
    actor: str = ""
    since: dt.date | None = None
    until: dt.date | None = None


def lines_of(projects: Collection[str], *, hospital: str = "") -> Any:
    """Return the lines of these projects, and (``hospital``) those of a hospital that belong to no project."""
    wanted = Q(project__in=list(projects))
    if hospital:
        wanted |= Q(project="", hospital=hospital)
    return Line.objects.filter(wanted)


def narrow(lines: Any, wanted: Filter) -> Any:
    """Return the lines that fit a filter, newest first."""
    if wanted.action:
        lines = lines.filter(action=wanted.action)
    if wanted.actor:
        lines = lines.filter(actor__iexact=wanted.actor)
    if wanted.since:
        lines = lines.filter(time__gte=wanted.since.isoformat())
    if wanted.until and wanted.until < dt.date.max:
        lines = lines.filter(time__lt=(wanted.until + dt.timedelta(days=1)).isoformat())
    return lines.order_by("-number")


@dataclass(frozen=True, slots=True)
class Shown:
    """A line for readers."""

    number: int
    time: dt.datetime
    actor: str
    action: str
    words: str
    subject: str
    facts: str
    refused: bool


def show(line: Line) -> Shown:
    """Return a line in words."""
    return Shown(
        number=line.number,
        time=dt.datetime.fromisoformat(line.time),
        actor=line.actor,
        action=line.action,
        words=words_of(line.action),
        subject=line.subject,
        facts=facts_words(line.facts),
        refused=line.action in REFUSING,
    )
