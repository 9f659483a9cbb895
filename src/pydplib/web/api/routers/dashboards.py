"""Dashboards of the caller's audience, with the released values behind every figure. Reading is free."""

from __future__ import annotations

import datetime as dt
import json
from typing import Any

from django.http import Http404, HttpRequest, HttpResponse
from ninja import Router
from pydantic import BaseModel

from pydplib.web.analyses.asking import stored_payload
from pydplib.web.analyses.models import Analysis
from pydplib.web.analyses.seeing import decision_for
from pydplib.web.api.doors import entry
from pydplib.web.api.values import ReleaseOut, answers, reply
from pydplib.web.dashboards.models import Dashboard, Kind, Shown
from pydplib.web.dashboards.showing import can_view, visible
from pydplib.web.projects.models import Project

router = Router(tags=["dashboards"])


class DashboardBrief(BaseModel):
    """A published dashboard."""

    key: str
    project: str
    title: str
    audience: str
    edition: int
    snapshot: int
    made: dt.datetime
    figures: int

    @classmethod
    def of(cls, item: Dashboard, edition: Any) -> DashboardBrief:
        """Return a dashboard as the API says it."""
        return cls(
            key=item.key,
            project=item.project.key,
            title=edition.title,
            audience=item.audience,
            edition=edition.number,
            snapshot=edition.snapshot.number,
            made=edition.made,
            figures=edition.shown.count(),
        )


class DashboardsOut(BaseModel):
    """The dashboards that the caller may see."""

    items: list[DashboardBrief]


class FigureOut(BaseModel):
    """A figure: the releases that it is drawn from. Paper-mode figures, which are none, are left out."""

    name: str
    title: str
    releases: list[ReleaseOut]


class DashboardOut(DashboardBrief):
    """A dashboard with its releases."""

    intro: str
    shown: list[FigureOut]


@router.get("/projects/{key}/dashboards", response=answers(DashboardsOut), operation_id="list_dashboards")
@entry("ask", scope="read", of=Project)
def list_dashboards(request: HttpRequest, key: str) -> HttpResponse:
    """The published dashboards of the caller's audience; for owners, of every audience."""
    found = [(item, item.edition) for item in visible(request.project, request.member)]
    return reply(DashboardsOut(items=[DashboardBrief.of(item, edition) for item, edition in found if edition]))


@router.get("/dashboards/{key}", response=answers(DashboardOut), operation_id="read_dashboard")
@entry("ask", scope="read", of=Dashboard)
def read_dashboard(request: HttpRequest, key: str) -> HttpResponse:
    """One dashboard with the releases behind its figures, as far as the policy of today lets them through."""
    item: Dashboard = request.target
    edition = item.edition
    if edition is None or not can_view(item, request.member):
        raise Http404
    shown = [
        figure
        for one in edition.shown.exclude(kind=Kind.PAPER)
        if (figure := _figure(one, request.member, item.project)) is not None
    ]
    head = DashboardBrief.of(item, edition).model_dump_json().encode()[:-1]
    intro = json.dumps(edition.intro).encode()
    body = head + b', "intro": ' + intro + b', "shown": [' + b", ".join(shown) + b"]}"
    return HttpResponse(body, content_type="application/json")


def _figure(one: Shown, place: Any, project: Any) -> bytes | None:
    """Return a figure whose releases are, byte for byte, what the ledger stores; none if the policy has closed it."""
    answered = {item.key: item for item in Analysis.objects.filter(key__in=one.answers).select_related("project")}
    mine = [answered[key] for key in one.answers]
    policy = project.policy
    if not all(decision_for(item, place, policy=policy) for item in mine):
        return None
    head = json.dumps({"name": one.name or "question", "title": one.title}).encode()[:-1]
    return head + b', "releases": [' + b", ".join(stored_payload(item.digest) for item in mine) + b"]}"
