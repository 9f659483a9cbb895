"""Ask for more: members for themselves, owners for an audience or the whole data set; and take it back."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable, Mapping

from django.db.models import Q, QuerySet
from django.utils import timezone

from pydplib.errors import ParameterError, PolicyError
from pydplib.policy import ALL, ANY, check_edit_rights, check_use
from pydplib.web.people.models import User
from pydplib.web.projects.changes import ProjectChange, changing
from pydplib.web.projects.members.memberships import check_have_role
from pydplib.web.projects.models import AccessRequest, Approval, Member, Project, Rule
from pydplib.web.projects.policy.fields import openable_fields
from pydplib.web.projects.words import DASHBOARD

Kind, State = AccessRequest.Kind, AccessRequest.State


def requests_of(
    project: Project, *, about: User | None = None
) -> tuple[QuerySet[AccessRequest], QuerySet[AccessRequest]]:
    """Return the open requests of a project, and those that have ended.

    Args:
        project: The project.
        about: Only those that this user made or would gain by.
    """
    shown = AccessRequest.objects.filter(project=project).select_related("by").prefetch_related("approvals")
    if about is not None:
        shown = shown.filter(Q(by=about) | Q(beneficiary=about.username))
    still_open = AccessRequest.State.OPEN
    return shown.filter(state=still_open), shown.exclude(state=still_open)


def has_voted(request: AccessRequest, user: User) -> bool:
    """Return whether an owner has decided on a request."""
    return request.approvals.filter(by=user).exists()


def votes_on(request: AccessRequest) -> list[Approval]:
    """Return what owners said to a request, in the order of time."""
    return list(request.approvals.select_related("by").order_by("time"))


def binding_row(project: Project, member: Member, *, on: dt.date | None = None) -> Rule | None:
    """Return the row whose budget counts for a member: the smallest of those that hold today."""
    day = on or timezone.localdate()
    rows = [
        row
        for row in project.rules.all()
        if row.budget is not None
        and row.to_rule().is_for(member.role, tuple(member.groups))
        and (row.expires is None or day <= row.expires)
    ]
    return min(rows, key=lambda row: row.budget or 0.0, default=None)


def closed_fields(project: Project, role: str) -> list[tuple[str, str]]:
    """Return name and title of the fields that the row of a role does not open yet."""
    row = project.rules.filter(audience=role).first()
    if row is None or tuple(row.fields) == ALL:
        return []
    return [(field.name, field.title) for field in openable_fields(project) if field.name not in row.fields]


def ask_budget(actor: User, project: Project, *, budget: float, reason: str) -> AccessRequest:
    """Ask for a larger budget of the row that limits the asker."""
    with changing(actor, project) as change:
        member = _asker(change, actor, Kind.BUDGET)
        row = binding_row(change.project, member)
        if row is None or row.budget is None:
            raise ParameterError("No row of the policy limits your budget, so there is nothing to raise.")
        if budget <= row.budget:
            raise ParameterError(f"Your budget is {row.budget:g} already: ask for more than that.")
        return _save(change, actor, row.audience, Kind.BUDGET, {"budget": budget, "from": row.budget}, reason)


def ask_fields(actor: User, project: Project, *, fields: Iterable[str], conditions: bool, reason: str) -> AccessRequest:
    """Ask that the row of the asker's role opens more fields, and if wanted for conditions too."""
    wanted = sorted(set(fields))
    with changing(actor, project) as change:
        member = _asker(change, actor, Kind.FIELDS)
        closed = {name for name, _ in closed_fields(change.project, member.role)}
        if not wanted or not closed.issuperset(wanted):
            raise ParameterError("Choose at least one field that is not open to you yet.")
        asked = {"fields": wanted, "conditions": conditions}
        return _save(change, actor, member.role, Kind.FIELDS, asked, reason)


def ask_role(actor: User, project: Project, *, role: str, reason: str) -> AccessRequest:
    """Ask for another role."""
    with changing(actor, project) as change:
        member = _asker(change, actor, Kind.ROLE)
        check_have_role(change.project, actor, role)
        if role == member.role:
            raise ParameterError("You have this role already.")
        return _save(change, actor, actor.username, Kind.ROLE, {"role": role, "from": member.role}, reason)


def propose_budget(actor: User, project: Project, *, audience: str, budget: float, reason: str) -> AccessRequest:
    """Propose, as an owner, a larger budget of an audience or (``"*"``) the data set; the proposer is the first of two.

    Args:
        actor: The owner.
        project: The project.
        audience: An audience with a row, or ``"*"`` for all recipients together.
        budget: The new budget.
        reason: Why, for the other owners.
    """
    with changing(actor, project) as change:
        check_use(change.role, "edit_policy")
        before = budget_of(change.project, audience)
        if before is None:
            raise ParameterError("This audience has no budget of its own that could be raised.")
        if budget <= before:
            raise ParameterError(f"The budget is {before:g} already. Make it smaller on the policy page, at once.")
        if _is_own(change.project, actor, audience):
            check_edit_rights(change.role, editor=actor.username, subject=actor.username)
        _check_none_open(change, actor, Kind.BUDGET, beneficiary=audience)
        asked = {"budget": budget, "from": before, "proposal": True}
        request = _save(change, actor, audience, Kind.BUDGET, asked, reason)
        Approval.objects.create(request=request, by=actor, agrees=True, reason=reason)
        change.log.add("request.approve", request.key, approvals=1)
        return request


def budget_of(project: Project, audience: str) -> float | None:
    """Return the budget of an audience, its dashboards, or (``"*"``) the whole data set; none if there is none."""
    if audience == ANY:
        return project.data_set_budget
    if audience.startswith(DASHBOARD):
        return project.dashboard_budget(audience.removeprefix(DASHBOARD))
    row = project.rules.filter(audience=audience).first()
    return None if row is None else row.budget


def withdraw(actor: User, request: AccessRequest) -> None:
    """Take an open request back; only who made it can."""
    with changing(actor, request.project) as change:
        found = AccessRequest.objects.select_for_update().get(pk=request.pk)
        if found.by_id != actor.pk:
            raise PolicyError("A request is withdrawn by whoever made it; owners refuse it instead.")
        if found.state != State.OPEN:
            raise ParameterError("This request was decided in the meantime.")
        found.close(State.WITHDRAWN)
        change.log.add("request.withdraw", found.key)


def _asker(change: ProjectChange, actor: User, kind: AccessRequest.Kind) -> Member:
    check_use(change.role, "make_request")
    _check_none_open(change, actor, kind)
    return Member.objects.get(project=change.project, user=actor)


def _check_none_open(change: ProjectChange, actor: User, kind: AccessRequest.Kind, **more: str) -> None:
    mine = AccessRequest.objects.filter(project=change.project, by=actor, kind=kind, state=State.OPEN, **more)
    if mine.exists():
        raise ParameterError("You have an open request of this kind. Withdraw it before you make another one.")


def _is_own(project: Project, actor: User, audience: str) -> bool:
    row = project.rules.filter(audience=audience.removeprefix(DASHBOARD)).first()
    member = Member.objects.get(project=project, user=actor)
    return row is not None and row.to_rule().is_for(member.role, tuple(member.groups))


def _save(
    change: ProjectChange,
    actor: User,
    beneficiary: str,
    kind: AccessRequest.Kind,
    asked: Mapping[str, object],
    reason: str,
) -> AccessRequest:
    if not reason.strip():
        raise ParameterError("Say why, in a sentence: the owners decide by it.")
    request = AccessRequest.objects.create(
        project=change.project, by=actor, beneficiary=beneficiary, kind=kind, asked=asked, reason=reason.strip()
    )
    change.log.add("request.make", request.key, kind=str(kind), beneficiary=beneficiary, asked=asked)
    return request
