"""Decide requests: one owner for fields and roles, two for a budget; what was agreed is applied in the same breath."""

from __future__ import annotations

import datetime as dt
from typing import Any

from django.db.models import Q
from django.utils import timezone

from pydplib.errors import ParameterError, PolicyError
from pydplib.policy import ALL, ANY, can_raise_budget, can_use, check_edit_rights, check_raise_budget, check_use
from pydplib.web.auditlog.models import Line
from pydplib.web.projects.changing import Change, changing
from pydplib.web.projects.fields import openable_fields
from pydplib.web.projects.joining import give_role
from pydplib.web.projects.models import AccessRequest, Approval, Member, Project, Rule
from pydplib.web.projects.words import DASHBOARD

Kind, State = AccessRequest.Kind, AccessRequest.State
SETTLED = dt.timedelta(days=7)
"""After how long an account that was opened or reset belongs to its owner alone."""
_OPENS_ACCOUNT = ("user.invite", "user.make_link", "user.remove_second_factor")


def decide(actor: Any, request: AccessRequest, *, agrees: bool, reason: str) -> AccessRequest:
    """Give an owner's word on a request; the deciding word applies it, in one transaction with its log lines.

    The project is locked meanwhile: of two words at once the second sees the first. Everything that the request
    was built on is looked at again: who is owner now, and what the policy says now.

    Args:
        actor: The owner.
        request: What was asked.
        agrees: Whether it shall be so.
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
            raise ParameterError("You have given your word on this request already.")
        if agrees and found.kind == Kind.BUDGET:
            _check_two_people(actor, found)
        Approval.objects.create(request=found, by=actor, agrees=agrees, reason=reason.strip())
        if not agrees:
            change.log.add("request.refuse", found.key, kind=found.kind)
            found.close(State.REFUSED)
        else:
            _agree(change, found)
    return found


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


def _check_owner_long_enough(project: Project, actor: Any, request: AccessRequest) -> None:
    """An owner could otherwise name a second one and raise any budget alone."""
    if request.kind == Kind.BUDGET and Member.objects.get(project=project, user=actor).role_since > request.made:
        raise PolicyError("You became an owner after this was asked: owners of that time decide, or it is asked anew.")


def _check_two_people(actor: Any, request: AccessRequest) -> None:
    """Whoever manages a hospital can open or take over a colleague's account: such a pair is one pair of eyes.

    It counts as two again after a week, in which the colleague finds the own password changed and the log says it.
    """
    agreed = Approval.objects.filter(request=request, agrees=True).exclude(by=actor)
    others = list(agreed.values_list("by__username", flat=True))
    since = (timezone.now() - SETTLED).astimezone(dt.UTC).isoformat(timespec="milliseconds")
    opened = Line.objects.filter(action__in=_OPENS_ACCOUNT, time__gte=since).filter(
        Q(actor__in=others, subject=actor.username) | Q(actor=actor.username, subject__in=others)
    )
    if opened.exists():
        raise PolicyError(
            f"One of you opened or reset the other's account in the last {SETTLED.days} days, so both count as one. "
            "Let another owner agree, or wait."
        )


def _agree(change: Change, request: AccessRequest) -> None:
    approvals = approvals_that_count(change.project, request)
    change.log.add("request.approve", request.key, kind=request.kind, approvals=max(len(approvals), 1))
    if request.kind == Kind.BUDGET:
        if not can_raise_budget(approvals, beneficiary=request.beneficiary):
            return  # stays open until a second owner agrees
        check_raise_budget(approvals, beneficiary=request.beneficiary)
        _apply_budget(change, request, sorted(approvals))
    elif request.kind == Kind.FIELDS:
        _apply_fields(change, request)
    else:
        _apply_role(change, request)
    request.close(State.APPROVED)


def _apply_budget(change: Change, request: AccessRequest, owners: list[str]) -> None:
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
            "Refuse it, and let it be asked anew."
        )


def _apply_fields(change: Change, request: AccessRequest) -> None:
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


def _apply_role(change: Change, request: AccessRequest) -> None:
    member = Member.objects.select_related("user").filter(project=change.project, user=request.by).first()
    if member is None or member.role != request.asked["from"]:
        raise ParameterError("The member's role changed since this was asked. Refuse it, and let it be asked anew.")
    before = member.role
    give_role(change, member, str(request.asked["role"]))
    member.save(update_fields=["role", "role_since"])
    change.log.add(
        "member.change",
        member.user.username,
        before={"role": before},
        after={"role": member.role},
        request=request.key,
    )


def _row(change: Change, audience: str) -> Rule:
    row = Rule.objects.select_for_update().filter(project=change.project, audience=audience).first()
    if row is None:
        raise ParameterError("The policy changed since this was asked: the row is gone. Refuse it.")
    return row
