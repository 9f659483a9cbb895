"""Dashboards of the caller's audience, with the released values behind every figure that its organisation paid for."""

from __future__ import annotations

import datetime as dt
import json

from django.http import Http404, HttpResponse
from ninja import Router
from pydantic import BaseModel

from pydplib.budget.units import NANO
from pydplib.web.analyses.models import Analysis
from pydplib.web.analyses.payments.purchases import answer_bytes
from pydplib.web.analyses.shared_answers import receive
from pydplib.web.analyses.visibility import decision_for
from pydplib.web.api.permissions import entry
from pydplib.web.api.values import AgreeIn, ReleaseOut, answers, reply
from pydplib.web.dashboards.models import Dashboard, Edition, Kind, Shown
from pydplib.web.dashboards.panels import can_view, offer_of, releases_for, visible
from pydplib.web.projects.models import Member, Project
from pydplib.web.projects.permissions import ProjectRequest, TargetRequest

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
    def of(cls, item: Dashboard, edition: Edition) -> DashboardBrief:
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
    """A dashboard with its releases; ``to_pay``: epsilon of those that are not received and so left out."""

    intro: str
    to_pay: float
    shown: list[FigureOut]


@router.get("/projects/{key}/dashboards", response=answers(DashboardsOut), operation_id="list_dashboards")
@entry("ask", scope="read", of=Project)
def list_dashboards(request: TargetRequest[Project], key: str) -> HttpResponse:
    """The published dashboards of the caller's audience; for owners, of every audience."""
    found = [(item, item.edition) for item in visible(request.project, request.member)]
    return reply(DashboardsOut(items=[DashboardBrief.of(item, edition) for item, edition in found if edition]))


@router.get("/dashboards/{key}", response=answers(DashboardOut), operation_id="read_dashboard")
@entry("ask", scope="read", of=Dashboard)
def read_dashboard(request: TargetRequest[Dashboard], key: str) -> HttpResponse:
    """One dashboard with the releases behind its figures, as far as the policy lets them through and they are paid.

    What the caller's organisation has not received is left out, and costs `to_pay`.
    """
    return _read(request, _edition(request))


@router.post("/dashboards/{key}/receive", response=answers(DashboardOut), operation_id="receive_dashboard")
@entry("ask", scope="ask", of=Dashboard)
def receive_dashboard(request: TargetRequest[Dashboard], key: str, body: AgreeIn) -> HttpResponse:
    """Pay for the figures of a dashboard from the organisation's budget; free if it has paid before.

    It is refused, and nothing is spent, if they would cost more epsilon than `at_most`.
    """
    edition = _edition(request)
    found = releases_for(edition, request.member)
    receive(request.project, request.user, request.member, found, agreed=body.nano, subject=request.target.key)
    return _read(request, edition)


def _edition(request: TargetRequest[Dashboard]) -> Edition:
    edition = request.target.edition
    if edition is None or not can_view(request.target, request.member):
        raise Http404
    return edition


def _read(request: ProjectRequest, edition: Edition) -> HttpResponse:
    item, offer = edition.dashboard, offer_of(edition, request.user, request.member)
    waiting = set() if offer is None else set(offer.digests)
    shown = [
        figure
        for one in edition.shown.exclude(kind=Kind.PAPER)
        if (figure := _figure(one, request.member, item.project, waiting)) is not None
    ]
    head = DashboardBrief.of(item, edition).model_dump_json().encode()[:-1]
    facts = json.dumps({"intro": edition.intro, "to_pay": 0 if offer is None else offer.nano / NANO}).encode()[1:-1]
    body = head + b", " + facts + b', "shown": [' + b", ".join(shown) + b"]}"
    return HttpResponse(body, content_type="application/json")


def _figure(one: Shown, place: Member, project: Project, waiting: set[str]) -> bytes | None:
    """Return a figure whose releases are, byte for byte, what the ledger stores; none if it is closed or not paid."""
    answered = {item.key: item for item in Analysis.objects.filter(key__in=one.answers).select_related("project")}
    mine = [answered[key] for key in one.answers]
    policy = project.policy
    if waiting.intersection(item.digest for item in mine):
        return None
    if not all(decision_for(item, place, policy=policy) for item in mine):
        return None
    head = json.dumps({"name": one.name or "question", "title": one.title}).encode()[:-1]
    return head + b', "releases": [' + b", ".join(answer_bytes(item) for item in mine) + b"]}"
