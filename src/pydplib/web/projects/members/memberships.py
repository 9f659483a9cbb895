"""Members come, change and go: every rule on who may be what stands here."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from django.utils import timezone

from pydplib.errors import ParameterError, PolicyError
from pydplib.policy import GROUP, NEW_MEMBER, PARTNER_ROLES, ROLES, can_use, check_edit_rights, parse_role
from pydplib.web.auditlog.log import recorded
from pydplib.web.people.models import User
from pydplib.web.projects.allowances import Raise, Seat, raise_by
from pydplib.web.projects.changes import ProjectChange, changing, tell_hospital
from pydplib.web.projects.models import AccessRequest, Approval, Member, Project


def can_have_role(project: Project, user: User, role: str) -> bool:
    """Return whether a user may be given a role: rows and logs stay within the hospital that holds the data."""
    return user.hospital_id == project.hospital_id or role in PARTNER_ROLES


def check_have_role(project: Project, user: User, role: str) -> None:
    """Raise ``PolicyError`` unless ``can_have_role``."""
    if not can_have_role(project, user, role):
        raise PolicyError(
            f"{user} belongs to another hospital and can be collaborator or third party here. "
            f"The role '{ROLES[role].title}' is for people of {project.hospital}."
        )


def roles_for(project: Project, user: User) -> list[str]:
    """Return the roles that a user may be given."""
    return [role for role in ROLES if can_have_role(project, user, role)]


def members_of(project: Project) -> list[Member]:
    """Return all members, each with the user and their hospital."""
    return list(project.members.select_related("user", "user__hospital"))


def membership_of(project: Project, user: User) -> Member:
    """Return the membership of a user who has one, as it is in the database."""
    return Member.objects.select_related("user").get(project=project, user=user)


def owners_of(project: Project) -> list[Member]:
    """Return the owners who can sign in."""
    return list(project.active_owners().select_related("user"))


def add_member(actor: User, project: Project, username: str) -> Member:
    """Make a colleague of the project's hospital a member, as third party like everybody new.

    People of other organisations join by accepting an invitation: see ``invitations``.

    Args:
        actor: The owner who does it.
        project: The project.
        username: The exact user name; letters may be small or capital.
    """
    with changing(actor, project) as change:
        user = colleague(change.project, username)
        check_edit_rights(change.role, editor=actor.username, subject=user.username if user else "")
        if user is None:
            raise ParameterError("Your hospital has no user of this name. People of other organisations are invited.")
        if Member.objects.filter(project=project, user=user).exists():
            raise ParameterError(f"{user} is a member already.")
        member = start_membership(change.project, user)
        change.log.add("member.add", user.username, role=NEW_MEMBER)
    return member


def colleague(project: Project, username: str) -> User | None:
    """Return the active user of the project's own hospital who has this name."""
    found = User.objects.filter(username__iexact=username.strip(), hospital=project.hospital_id, is_active=True)
    return found.first()


def start_membership(project: Project, user: User, *, until: dt.date | None = None) -> Member:
    """Give somebody the first place in a project that is locked: third party, and no more than the organisation has.

    Where colleagues of an organisation are held to a group's smaller budget, the new one is put into the same groups.
    """
    Member.all_objects.filter(project=project, user=user).exclude(Member.is_current()).delete()
    groups: list[str] = []
    if raise_by(project, user, seat=Seat(NEW_MEMBER, ())) is not None:
        others = Member.objects.filter(project=project, user__hospital=user.hospital_id)
        fitting = [
            list(other.groups)
            for other in others
            if raise_by(project, user, seat=Seat(NEW_MEMBER, tuple(other.groups))) is None
        ]
        if not fitting:
            raise PolicyError(
                "This organisation would get a larger budget by one more member, which takes two owners. The owners "
                "of the project propose it under Requests first."
            )
        groups = fitting[0]
    return Member.objects.create(project=project, user=user, role=NEW_MEMBER, groups=groups, until=until)


@dataclass(frozen=True, slots=True)
class MemberChange:
    """What became of a change to a member.

    Args:
        changed: The names of what changed at once.
        proposed: The request that it became, where it takes a second owner.
    """

    changed: list[str]
    proposed: AccessRequest | None = None


def change_member(
    actor: User, member: Member, *, role: str, department: str, groups: Iterable[str], reason: str = ""
) -> MemberChange:
    """Give a member another role, department or groups; it counts from the next request on.

    Where that gives an organisation more than it has, in total or per question, and the organisation has spent
    something already, it is proposed instead, and counts once a second owner agrees.

    Args:
        actor: The owner who does it.
        member: Whose place.
        role: The new role.
        department: The new department.
        groups: All groups from now on.
        reason: Why; needed for what is proposed.
    """
    with changing(actor, member.project) as change:
        subject = _fresh(member, change)
        check_edit_rights(change.role, editor=actor.username, subject=subject.user.username)
        groups = sorted(set(groups))
        known = _groups_of(change.project)
        for name in groups:
            if name not in known and name not in subject.groups:
                raise ParameterError(f"The policy has no row for the group '{name}'. Add one first.")
        before = _rights(subject)
        after: dict[str, Any] = {"role": parse_role(role).name, "department": department.strip(), "groups": groups}
        changed = [name for name in after if after[name] != before[name]]
        if "role" in changed:
            check_have_role(change.project, subject.user, after["role"])
        more = raise_by(change.project, subject.user, seat=Seat(after["role"], tuple(groups))) if changed else None
        if more is not None:
            return MemberChange([], propose_rights(change, actor, subject, before, after, more, reason))
        apply_rights(change, subject, after)
    return MemberChange(changed)


def apply_rights(change: ProjectChange, subject: Member, after: dict[str, Any], **facts: Any) -> None:
    """Put role, department and groups in place within an open change, with its line in the log."""
    before = _rights(subject)
    changed = [name for name in after if after[name] != before[name]]
    if "role" in changed:
        give_role(change, subject, after["role"])
    subject.department = after.get("department", subject.department)
    subject.groups = after.get("groups", subject.groups)
    subject.save()
    if changed:
        change.log.add(
            "member.change",
            subject.user.username,
            before={name: before[name] for name in changed},
            after={name: after[name] for name in changed},
            **facts,
        )


def propose_rights(
    change: ProjectChange,
    actor: User,
    subject: Member,
    before: dict[str, object],
    after: dict[str, object],
    more: Raise,
    reason: str,
) -> AccessRequest:
    """Make a request of the change, with the actor's agreement as the first of two."""
    if not reason.strip():
        raise ParameterError(
            f"This raises {more.words}. {more.organisation} has spent some of its budget already, so it takes two "
            "owners. Give a reason and save again: it is then proposed to the other owners."
        )
    mine = AccessRequest.objects.filter(
        project=change.project,
        by=actor,
        kind=AccessRequest.Kind.ROLE,
        beneficiary=subject.user.username,
        state=AccessRequest.State.OPEN,
    )
    if mine.exists():
        raise ParameterError("You have proposed a change for this member already. Withdraw it first.")
    asked = {**after, "from": before["role"], "from_groups": before["groups"], "proposal": True}
    request = AccessRequest.objects.create(
        project=change.project,
        by=actor,
        kind=AccessRequest.Kind.ROLE,
        beneficiary=subject.user.username,
        asked=asked,
        reason=reason.strip(),
    )
    change.log.add("request.make", request.key, kind=request.kind, beneficiary=subject.user.username, asked=asked)
    Approval.objects.create(request=request, by=actor, agrees=True, reason=reason.strip())
    change.log.add("request.approve", request.key, approvals=1)
    return request


def _rights(member: Member) -> dict[str, object]:
    return {"role": member.role, "department": member.department, "groups": sorted(member.groups)}


def give_role(change: ProjectChange, member: Member, role: str) -> None:
    """Set the role of a member within an open change; the caller saves and logs."""
    check_have_role(change.project, member.user, role)
    if member.until is not None and can_use(role, "edit_policy"):
        raise PolicyError(
            f"This membership ends on {member.until:%-d %B %Y}, and owners have no end. Remove the member, and add "
            "them again without a last day."
        )
    if member.can("edit_policy"):
        _check_not_last_owner(change, member)
    member.role, member.role_since = role, timezone.now()


def remove_member(actor: User, member: Member) -> None:
    """Take somebody out of the project; what they asked for is withdrawn with them."""
    with changing(actor, member.project) as change:
        subject = _fresh(member, change)
        check_edit_rights(change.role, editor=actor.username, subject=subject.user.username)
        _end_membership(change, subject, "member.remove", because="the member was removed")


def leave_project(user: User, project: Project) -> None:
    """Take oneself out of a project; what one asked for is withdrawn. The last owner stays."""
    with changing(user, project) as change:
        subject = Member.objects.select_related("user__hospital").get(project=change.project, user=user)
        _end_membership(change, subject, "member.leave", because="the member left")


def end_expired_memberships() -> int:
    """Take away the places whose last day is over; returns how many. They opened nothing since that day.

    The row of a last owner stays, as the one who is asked about the project; it opens nothing either.
    """
    ended = 0
    over = Member.all_objects.exclude(Member.is_current()).select_related("project__hospital", "user__hospital")
    for member in over:
        with suppress(PolicyError), recorded("system", project=member.project) as log:
            project = Project.objects.select_for_update().get(pk=member.project_id)
            if not over.filter(pk=member.pk).exists():  # invited again in the meantime
                continue
            change = ProjectChange(project, "owner", log)
            _end_membership(change, member, "member.expire", because="the membership ended")
            ended += 1
    return ended


def _end_membership(change: ProjectChange, subject: Member, action: str, *, because: str) -> None:
    if subject.can("edit_policy"):
        _check_not_last_owner(change, subject)
    open_requests = AccessRequest.objects.filter(
        project=change.project, by=subject.user, state=AccessRequest.State.OPEN
    )
    for request in open_requests.select_for_update():
        request.close(AccessRequest.State.WITHDRAWN)
        change.log.add("request.withdraw", request.key, because=because)
    change.log.add(action, subject.user.username, role=subject.role)
    tell_hospital(change.log, subject.user, "membership.end", subject.user.username, change.project)
    subject.delete()


def _fresh(member: Member, change: ProjectChange) -> Member:
    found = Member.objects.select_related("user__hospital").filter(pk=member.pk, project=change.project).first()
    if found is None:
        raise ParameterError("This member was removed in the meantime.")
    return found


def _check_not_last_owner(change: ProjectChange, member: Member) -> None:
    others = change.project.active_owners().exclude(pk=member.pk)
    if not others.exists():
        raise PolicyError("A project needs an owner: name another one before this one goes.")


def _groups_of(project: Project) -> set[str]:
    return {
        audience.removeprefix(GROUP)
        for audience in project.rules.values_list("audience", flat=True)
        if audience.startswith(GROUP)
    }
