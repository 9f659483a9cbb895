"""Which lines of the log somebody reads: of the project or the hospital, filtered by action, actor, object and day."""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType

from django.db.models import Q, QuerySet
from django.utils.text import Truncator

from pydplib.web.auditlog.log import HasKey
from pydplib.web.auditlog.models import Line
from pydplib.web.auditlog.words import NAMED, REFUSING, facts_words, words_of
from pydplib.web.design.values import short_id

PROJECT, HOSPITAL = "project", "hospital"


@dataclass(frozen=True, slots=True, kw_only=True)
class LineFilter:
    """What to show.

    Args:
        action: One action, or all.
        actor: One user name, or all.
        since: The first day, in UTC.
        until: The last day, in UTC.
        actions: Several actions, or all.
        about: Keys of one object, all of which count: a patient with their reports; or the beginning of a key or name.
    """

    action: str = ""
    actor: str = ""
    about: tuple[str, ...] = ()
    since: dt.date | None = None
    until: dt.date | None = None
    actions: tuple[str, ...] = ()


def lines_of(projects: Collection[str], *, hospital: str = "") -> QuerySet[Line]:
    """Return the lines of these projects, and (``hospital``) those of a hospital that belong to no project."""
    wanted = Q(project__in=list(projects))
    if hospital:
        wanted |= Q(project="", hospital=hospital)
    return Line.objects.filter(wanted)


def has_line(project: HasKey, action: str, subject: str) -> bool:
    """Return whether something was already written down about an object of a project."""
    return Line.objects.filter(project=project.key, action=action, subject=subject).exists()


def naming(keys: Collection[str]) -> Q:
    """Return the condition that a line is about one of these keys, or names it among its details."""
    about = Q()
    for key in keys:
        # Keys are random, and details are JSON: no other text begins so.
        about |= Q(subject__istartswith=key) | Q(details__contains=f'"{key}')
    return about


def narrow(lines: QuerySet[Line], wanted: LineFilter) -> QuerySet[Line]:
    """Return the lines that fit a filter, newest first."""
    if wanted.action:
        lines = lines.filter(action=wanted.action)
    if wanted.actions:
        lines = lines.filter(action__in=wanted.actions)
    if wanted.actor:
        lines = lines.filter(actor__iexact=wanted.actor)
    if wanted.about:
        lines = lines.filter(naming(wanted.about))
    if wanted.since:
        lines = lines.filter(time__gte=wanted.since.isoformat())
    if wanted.until and wanted.until < dt.date.max:
        lines = lines.filter(time__lt=(wanted.until + dt.timedelta(days=1)).isoformat())
    return lines.order_by("-number")


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownLine:
    """A line for readers.

    Args:
        subject: What it was done to: a short id, a name, or nothing.
        whole: The same in full, to filter by.
        url: Where the object is shown to this reader; empty where it is gone, or not theirs to see.
        facts: The details in pieces of text, each with an address or none: ids that they name lead to their objects.
    """

    number: int
    time: dt.datetime
    actor: str
    action: str
    words: str
    subject: str
    whole: str
    url: str
    facts: tuple[tuple[str, str], ...]
    refused: bool


KEY = re.compile("[0-9a-f]{16}")
"""What a random key looks like."""

_LONGEST = 200
"""How many characters of the details a reader sees; the exports have them all."""


def show(line: Line, urls: Mapping[str, str] = MappingProxyType({})) -> ShownLine:
    """Return a line in words.

    Args:
        line: The line.
        urls: Key -> where its object is shown, see ``urls_of``.
    """
    is_key = bool(KEY.fullmatch(line.subject))
    return ShownLine(
        number=line.number,
        time=dt.datetime.fromisoformat(line.time),
        actor=line.actor,
        action=line.action,
        words=words_of(line.action),
        subject=short_id(line.subject) if is_key else line.subject,
        whole=line.subject,
        url=urls.get(line.subject, ""),
        facts=tuple(_linked(line.facts, urls)),
        refused=line.action in REFUSING,
    )


def keys_named(facts: Mapping[str, object]) -> list[str]:
    """Return the keys of patients and reports among the details, as many as a reader sees."""
    lists = [facts.get(name) for name in ("patients", "reports")]
    return [key for each in lists if isinstance(each, list) for key in each[:NAMED] if KEY.fullmatch(str(key))]


def _linked(facts: Mapping[str, object], urls: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    found = {short_id(key): urls[key] for key in keys_named(facts) if key in urls}
    for piece in re.split(r"\b([0-9a-f]{8})\b", Truncator(facts_words(facts)).chars(_LONGEST)):
        if piece:
            yield piece, found.get(piece, "")
