"""Decide requests: one owner for fields and roles, two for whatever raises a budget; agreed is applied at once."""

from __future__ import annotations

from pydplib.errors import ParameterError, PolicyError
from pydplib.policy import ALL, ANY, GROUP, can_raise_budget, can_use, check_edit_rights, check_raise_budget, check_use
from pydplib.web.people.models import User
from pydplib.web.projects.allowances import Seat, raise_by
from pydplib.web.projects.changes import ProjectChange, changing
from pydplib.web.projects.members.memberships import apply_rights
from pydplib.web.projects.models import AccessRequest, Approval, Member, Project, Rule
from pydplib.web.projects.policy.fields import openable_fields
from pydplib.web.projects.requests.independence import SETTLED, count_as_one
from pydplib.web.projects.words import DASHBOARD

Kind, State = AccessRequest.Kind, AccessRequest.State


def decide(actor: User, request: AccessRequest, *, agrees: bool, reason: str) -> AccessRequest:
    """Give an owner's word on a request; the deciding word applies it, in one transaction with its log lines.

    The project is locked meanwhile: of two words at once the second sees the first. Everything that the request
    was built on is looked at again: who is owner now, and what the policy says now.

    Args:
        actor: The owner.
        request: What was asked.
        agrees: Whether it is wanted.
        reason: Why, for the one who asked.
    """
    if not reason.strip():
        raise ParameterError("Say why, in a sentence: the one who asked reads it.")
    with changing(actor, request.project) as change:
        check_use(change.role, "decide_requests")
        found = AccessRequest.objects.select_for_update().select_related("by").get(pk=request.pk)
        if found.state != State.OPEN:
            raise ParameterError(f"This request is no longer open: it is {found.get_state_display().lower()}.")
        own = actor.username in beneficiaries(change.project, found)
        check_edit_rights(change.role, editor=actor.username, subject=actor.username if own else found.beneficiary)
        _check_owner_long_enough(change.project, actor, found)
        if Approval.objects.filter(request=found, by=actor).exists():
            raise ParameterError("You have already voted on this request.")
        if agrees and takes_two(change.project, found):
            _check_two_people(change.project, actor, found)
        Approval.objects.create(request=found, by=actor, agrees=agrees, reason=reason.strip())
        if not agrees:
            change.log.add("request.refuse", found.key, kind=found.kind)
            found.close(State.REFUSED)
        else:
            _agree(change, found)
    return found


def takes_two(project: Project, request: AccessRequest) -> bool:
    """Return whether two owners must agree: a budget always, a role or group where it gives an organisation more."""
    if request.kind == Kind.BUDGET:
        return True
    if request.kind != Kind.ROLE:
        return False
    if request.asked.get("proposal"):
        return True
    member = _subject(project, request)
    return member is not None and raise_by(project, member.user, seat=_seat(member, request)) is not None


def beneficiaries(project: Project, request: AccessRequest) -> set[str]:
    """Return the user names of those whose rights would grow: they have no say."""
    names = set() if request.asked.get("proposal") else {request.by.username}
    if request.kind == Kind.ROLE:
        return names | {request.beneficiary}
    row = project.rules.filter(audience=request.beneficiary.removeprefix(DASHBOARD)).first()
    if row is not None:
        rule = row.to_rule()
        names |= {
            member.user.username
            for member in Member.objects.filter(project=project).select_related("user")
            if rule.is_for(member.role, tuple(member.groups))
        }
    return names


def approvals_that_count(project: Project, request: AccessRequest) -> dict[str, str]:
    """Return user name and role of those whose agreement counts now: still owners, and before the request was made."""
    without = beneficiaries(project, request)
    agreed = Approval.objects.filter(request=request, agrees=True).values_list("by_id", flat=True)
    members = Member.objects.filter(
        project=project, user_id__in=list(agreed), user__is_active=True, role_since__lte=request.made
    ).select_related("user")
    return {
        member.user.username: member.role
        for member in members
        if member.user.username not in without and can_use(member.role, "decide_requests")
    }


def _check_owner_long_enough(project: Project, actor: User, request: AccessRequest) -> None:
    """An owner could otherwise name a second one and raise any budget alone."""
    became = Member.objects.get(project=project, user=actor).role_since
    if became > request.made and takes_two(project, request):
        raise PolicyError("You became an owner after this was asked: owners of that time decide, or it is asked again.")


def _check_two_people(project: Project, actor: User, request: AccessRequest) -> None:
    """Whoever manages a hospital can open, take over or promote accounts: along such a chain two owners may be one."""
    agreed = Approval.objects.filter(request=request, agrees=True).exclude(by=actor)
    for other in agreed.values_list("by__username", flat=True):
        if count_as_one(project, actor.username, other):
            raise PolicyError(
                f"In the last {SETTLED.days} days one of you opened, reset or promoted the other's account, or "
                "somebody else did so with both, directly or through other accounts. So both count as one person. "
                "Let another owner agree, or wait."
            )


def _agree(change: ProjectChange, request: AccessRequest) -> None:
    approvals = approvals_that_count(change.project, request)
    change.log.add("request.approve", request.key, kind=request.kind, approvals=max(len(approvals), 1))
    if takes_two(change.project, request):
        if not can_raise_budget(approvals, beneficiary=request.beneficiary):
            return  # stays open until a second owner agrees
        check_raise_budget(approvals, beneficiary=request.beneficiary)
    if request.kind == Kind.BUDGET:
        _apply_budget(change, request, sorted(approvals))
    elif request.kind == Kind.FIELDS:
        _apply_fields(change, request)
    else:
        _apply_role(change, request)
    request.close(State.APPROVED)


def _apply_budget(change: ProjectChange, request: AccessRequest, owners: list[str]) -> None:
    asked, before = float(request.asked["budget"]), float(request.asked["from"])
    if request.beneficiary == ANY:
        _check_unchanged(change.project.data_set_budget, before)
        change.project.data_set_budget = asked
        change.project.save(update_fields=["data_set_budget"])
    elif request.beneficiary.startswith(DASHBOARD):
        audience = request.beneficiary.removeprefix(DASHBOARD)
        _check_unchanged(change.project.dashboard_budget(audience), before)
        change.project.dashboard_budgets[audience] = asked
        change.project.save(update_fields=["dashboard_budgets"])
    else:
        row = _row(change, request.beneficiary)
        _check_unchanged(row.budget, before)
        row.budget = asked
        row.to_rule()  # raises if the number is not one
        row.save(update_fields=["budget"])
    change.log.add(
        "policy.raise_budget", request.beneficiary, before=before, after=asked, owners=owners, request=request.key
    )


def _check_unchanged(now: float | None, before: float) -> None:
    if now != before:
        is_now = "not limited" if now is None else f"{now:g}"
        raise ParameterError(
            f"The policy changed since this was asked: the budget was {before:g} and is {is_now} now. "
            "Refuse it, and let it be asked again."
        )


def _apply_fields(change: ProjectChange, request: AccessRequest) -> None:
    row = _row(change, request.beneficiary)
    known = {field.name for field in openable_fields(change.project)}
    wanted = [str(name) for name in request.asked["fields"]]
    if not known.issuperset(wanted):
        raise ParameterError("The template changed since this was asked: some of the fields are gone. Refuse it.")
    columns = ["fields", "filters"] if request.asked.get("conditions") else ["fields"]
    for column in columns:
        now = tuple(getattr(row, column))
        if now != ALL:
            setattr(row, column, [*now, *(name for name in wanted if name not in now)])
    row.to_rule()
    row.save(update_fields=columns)
    change.log.add("policy.open_fields", row.audience, fields=wanted, columns=columns, request=request.key)


def _apply_role(change: ProjectChange, request: AccessRequest) -> None:
    member, asked = _subject(change.project, request), request.asked
    if (
        member is None
        or member.role != asked["from"]
        or sorted(member.groups) != asked.get("from_groups", sorted(member.groups))
    ):
        raise ParameterError("The member's role changed since this was asked. Refuse it, and let it be asked again.")
    known = set(change.project.rules.values_list("audience", flat=True))
    if any(GROUP + name not in known and name not in member.groups for name in asked.get("groups", ())):
        raise ParameterError("The policy changed since this was asked: a group's row is gone. Refuse it.")
    after = {name: asked[name] for name in ("role", "department", "groups") if name in asked}
    apply_rights(change, member, after, request=request.key)


def _subject(project: Project, request: AccessRequest) -> Member | None:
    """Return the member whose role or groups a request is about."""
    return (
        Member.objects.select_related("user__hospital")
        .filter(project=project, user__username=request.beneficiary)
        .first()
    )


def _seat(member: Member, request: AccessRequest) -> Seat:
    return Seat(str(request.asked["role"]), tuple(request.asked.get("groups", member.groups)))


def _row(change: ProjectChange, audience: str) -> Rule:
    row = Rule.objects.select_for_update().filter(project=change.project, audience=audience).first()
    if row is None:
        raise ParameterError("The policy changed since this was asked: the row is gone. Refuse it.")
    return row
