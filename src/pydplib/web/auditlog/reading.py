"""Which lines of the log somebody reads: of the project or the hospital, filtered by action, actor, object and day."""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from django.apps import apps
from django.db.models import Q
from django.utils.text import Truncator

from pydplib.web.auditlog.models import Line
from pydplib.web.auditlog.words import NAMED, REFUSING, facts_words, words_of
from pydplib.web.design.values import short_id

PROJECT, HOSPITAL = "project", "hospital"


@dataclass(frozen=True, slots=True)
class Filter:
    """What to show.

    Args:
        action: One action, or all.
        actor: One user name, or all.
        since: The first day, in UTC.
        until: The last day, in UTC.
        about: Keys of one object, all of which count: a patient with their reports; or the beginning of a key or name.
    """

    action: str = ""
    actor: str = ""
    about: tuple[str, ...] = ()
    since: dt.date | None = None
    until: dt.date | None = None


def lines_of(projects: Collection[str], *, hospital: str = "") -> Any:
    """Return the lines of these projects, and (``hospital``) those of a hospital that belong to no project."""
    wanted = Q(project__in=list(projects))
    if hospital:
        wanted |= Q(project="", hospital=hospital)
    return Line.objects.filter(wanted)


def naming(keys: Collection[str]) -> Q:
    """Return the condition that a line is about one of these keys, or names it among its details."""
    about = Q()
    for key in keys:
        # Keys are random, and details are JSON: no other text begins so.
        about |= Q(subject__istartswith=key) | Q(details__contains=f'"{key}')
    return about


def narrow(lines: Any, wanted: Filter) -> Any:
    """Return the lines that fit a filter, newest first."""
    if wanted.action:
        lines = lines.filter(action=wanted.action)
    if wanted.actor:
        lines = lines.filter(actor__iexact=wanted.actor)
    if wanted.about:
        lines = lines.filter(naming(wanted.about))
    if wanted.since:
        lines = lines.filter(time__gte=wanted.since.isoformat())
    if wanted.until and wanted.until < dt.date.max:
        lines = lines.filter(time__lt=(wanted.until + dt.timedelta(days=1)).isoformat())
    return lines.order_by("-number")


@dataclass(frozen=True, slots=True)
class Shown:
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


_KEY = re.compile("[0-9a-f]{16}")
_LONGEST = 200
"""How many characters of the details a reader sees; the exports have them all."""
_THINGS = {
    "analysis": ("analyses.Analysis", "/analyses/{}", "ask"),
    "import": ("intake.ImportBatch", "/import/{}", "import_records"),
    "export": ("exports.Export", "/anonymize/{}", "ask"),
    "attack": ("attacks.AttackRun", "/attacks/{}", "read_log"),
    "dashboard": ("dashboards.Dashboard", "/dashboards/{}", "ask"),
    "request": ("projects.AccessRequest", "/requests/{}", "read_log"),
}
"""First word of an action -> the model of its subject, where that is shown, and who may look there."""


def show(line: Line, urls: Mapping[str, str] = MappingProxyType({})) -> Shown:
    """Return a line in words.

    Args:
        line: The line.
        urls: Key -> where its object is shown, see ``urls_of``.
    """
    is_key = bool(_KEY.fullmatch(line.subject))
    return Shown(
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


def _named(facts: Mapping[str, Any]) -> list[str]:
    """Return the keys of patients and reports among the details, as many as a reader sees."""
    lists = [facts.get(name) for name in ("patients", "reports")]
    return [key for each in lists if isinstance(each, list) for key in each[:NAMED] if _KEY.fullmatch(str(key))]


def _linked(facts: Mapping[str, Any], urls: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    found = {short_id(key): urls[key] for key in _named(facts) if key in urls}
    for piece in re.split(r"\b([0-9a-f]{8})\b", Truncator(facts_words(facts)).chars(_LONGEST)):
        if piece:
            yield piece, found.get(piece, "")


def urls_of(lines: Collection[Line], project: Any, place: Any) -> dict[str, str]:
    """Return key -> address for what lines of a project are about, as far as it is still there and the reader's to see.

    A patient leads to the page with the access report. So does a report for those who may not read reports.
    """
    from pydplib.web.intake.models import Patient
    from pydplib.web.reporting.models import Report

    keys = {line.subject for line in lines if _KEY.fullmatch(line.subject)}
    keys.update(key for line in lines for key in _named(line.facts))
    found: dict[str, str] = {}
    for thing, (model, address, power) in _THINGS.items():
        mine = {line.subject for line in lines if line.action.startswith(f"{thing}.")} & keys
        if mine and place.can(power):
            held = apps.get_model(model)._default_manager.filter(project=project, key__in=mine)
            found |= {key: address.format(key) for key in held.values_list("key", flat=True)}
    if place.can("erase"):
        for key in Patient.objects.filter(project=project, key__in=keys).values_list("key", flat=True):
            found[key] = f"/privacy-rights/patients/{key}"
    reports = Report.objects.filter(project=project, key__in=keys).values_list("key", "patient__key")
    for key, patient in reports:
        if place.can("capture"):
            found[key] = f"/reports/{key}"
        elif place.can("erase") and patient:
            found[key] = f"/privacy-rights/patients/{patient}"
    return found
