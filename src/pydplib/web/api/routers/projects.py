"""Who the caller is, their own projects, what may be asked in them, and budgets."""

from __future__ import annotations

from django.db.models import Model
from django.http import HttpResponse
from ninja import Router

from pydplib.budget.rules import remaining
from pydplib.errors import PolicyError
from pydplib.web.analyses.payments.budgets import limit_for, recipient_names
from pydplib.web.analyses.payments.sessions import open_session
from pydplib.web.analyses.question_form.offers import offer_for
from pydplib.web.api.permissions import TokenRequest, entry
from pydplib.web.api.values import (
    Account,
    BudgetOut,
    Left,
    OfferOut,
    ProjectBrief,
    ProjectOut,
    TableOut,
    TokenOut,
    answers,
    reply,
)
from pydplib.web.ledger.database import DatabaseLedger
from pydplib.web.people.models import User
from pydplib.web.people.permissions import SignedInRequest
from pydplib.web.projects.models import Member, Project
from pydplib.web.projects.permissions import TargetRequest

router = Router(tags=["projects"])


@router.get("/token", response=answers(TokenOut), operation_id="read_token")
@entry()
def read_token(request: TokenRequest[Model]) -> HttpResponse:
    """Who the token belongs to, what it is for and until when."""
    token = request.token
    return reply(
        TokenOut(
            user=token.user.username,
            organisation=token.user.hospital.name,
            name=token.name,
            scopes=token.scopes,
            expires=token.expires,
        )
    )


@router.get("/projects", response=answers(list[ProjectBrief]), operation_id="list_projects")
@entry(scope="read")
def list_projects(request: SignedInRequest) -> HttpResponse:
    """The caller's projects, with the role in each."""
    places = Member.objects.filter(user=request.user).select_related("project").order_by("project__name", "project__id")
    return reply([_brief(place.project, place.role) for place in places])


@router.get("/projects/{key}", response=answers(ProjectOut), by_alias=True, operation_id="read_project")
@entry("read_project", scope="read", of=Project)
def read_project(request: TargetRequest[Project], key: str) -> HttpResponse:
    """What a project is for, which fields the policy opens to the caller, what is left of the budget."""
    project, place = request.project, request.member
    offer, tables = None, []
    if place.can("ask"):
        try:
            found = offer_for(project, place)
            offer = OfferOut.of(found)
            tables = [TableOut.of(offer_for(project, place, name) if name else found) for name in found.tables]
        except PolicyError:  # nothing is published, or no rule lets the role ask: there is no offer
            offer, tables = None, []
    return reply(
        ProjectOut(
            **_brief(project, place.role).model_dump(),
            role_title=place.title,
            offer=offer,
            tables=tables,
            left=_own(project, request.user, place),
        )
    )


@router.get("/projects/{key}/budget", response=answers(BudgetOut), operation_id="read_budget")
@entry("read_project", scope="read", of=Project)
def read_budget(request: TargetRequest[Project], key: str) -> HttpResponse:
    """What is left of their own budget; for owners and the data protection officer, of every budget."""
    project, place = request.project, request.member
    accounts = _all(project) if place.can("read_all_ledgers") else None
    return reply(BudgetOut(own=_own(project, request.user, place), accounts=accounts))


def _brief(project: Project, role: str) -> ProjectBrief:
    return ProjectBrief(
        key=project.key, name=project.name, purpose=project.purpose, role=role, is_synthetic=project.is_synthetic
    )


def _own(project: Project, user: User, place: Member) -> Left | None:
    """Return what the caller's organisation has left, by the terms of today; none for those who cannot ask."""
    if not place.can("ask"):
        return None
    try:
        session, _ = open_session(project, user, place, preview=True)
    except PolicyError:
        return None
    with session.table:
        return Left.of(session.remaining)


def _all(project: Project) -> list[Account]:
    """Return every budget of a project; of those the data set's own is for these eyes only."""
    names = recipient_names()
    return [
        Account(
            organisation=None if row.recipient is None else names.get(row.recipient, row.recipient),
            relation=row.relation,
            left=Left.of(remaining(row.state, limit_for(project, row))),
        )
        for row in DatabaseLedger().accounts(lineage=project.key)
    ]
