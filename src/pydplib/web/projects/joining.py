"""Members come, change and go: every rule on who may be what stands here."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from django.utils import timezone

from pydplib.errors import ParameterError, PolicyError
from pydplib.policy import GROUP, NEW_MEMBER, ROLES, check_edit_rights, parse_role
from pydplib.web.people.models import User
from pydplib.web.projects.changing import Change, changing
from pydplib.web.projects.models import AccessRequest, Member, Project

PARTNER_ROLES = ("collaborator", "third_party")
"""What somebody of another hospital or company can be: roles that see statistics alone."""


def can_have_role(project: Project, user: Any, role: str) -> bool:
    """Return whether a user may be given a role: rows and logs stay within the hospital that holds the data."""
    return user.hospital_id == project.hospital_id or role in PARTNER_ROLES


def check_have_role(project: Project, user: Any, role: str) -> None:
    """Raise ``PolicyError`` unless ``can_have_role``."""
    if not can_have_role(project, user, role):
        raise PolicyError(
            f"{user} belongs to another hospital and can be collaborator or third party here. "
            f"The role '{ROLES[role].title}' is for people of {project.hospital}."
        )


def roles_for(project: Project, user: Any) -> list[str]:
    """Return the roles that a user may be given."""
    return [role for role in ROLES if can_have_role(project, user, role)]


def add_member(actor: Any, project: Project, username: str) -> Member:
    """Make somebody a member, as third party like everybody new.

    Args:
        actor: The owner who does it.
        project: The project.
        username: The exact user name; letters may be small or capital.
    """
    with changing(actor, project) as change:
        user = User.objects.filter(username__iexact=username.strip(), is_active=True).first()
        check_edit_rights(change.role, editor=actor.username, subject=user.username if user else "")
        if user is None:
            raise ParameterError("There is no user of exactly this name. Ask your partner how it is written.")
        if Member.objects.filter(project=project, user=user).exists():
            raise ParameterError(f"{user} is a member already.")
        member = Member.objects.create(project=change.project, user=user, role=NEW_MEMBER)
        change.log.add("member.add", user.username, role=NEW_MEMBER)
    return member


def change_member(actor: Any, member: Member, *, role: str, department: str, groups: Iterable[str]) -> list[str]:
    """Give a member another role, department or groups; it counts from the next request on. Return what changed."""
    with changing(actor, member.project) as change:
        subject = _fresh(member, change)
        check_edit_rights(change.role, editor=actor.username, subject=subject.user.username)
        groups = sorted(set(groups))
        known = _groups_of(change.project)
        for name in groups:
            if name not in known and name not in subject.groups:
                raise ParameterError(f"The policy has no row for the group '{name}'. Add one first.")
        before: dict[str, Any] = {
            "role": subject.role,
            "department": subject.department,
            "groups": sorted(subject.groups),
        }
        after: dict[str, Any] = {"role": parse_role(role).name, "department": department.strip(), "groups": groups}
        changed = [name for name in after if after[name] != before[name]]
        if "role" in changed:
            give_role(change, subject, after["role"])
        subject.department, subject.groups = after["department"], after["groups"]
        subject.save()
        if changed:
            change.log.add(
                "member.change",
                subject.user.username,
                before={name: before[name] for name in changed},
                after={name: after[name] for name in changed},
            )
    return changed


def give_role(change: Change, member: Member, role: str) -> None:
    """Set the role of a member within an open change; the caller saves and logs."""
    check_have_role(change.project, member.user, role)
    if member.role == "owner":
        _check_not_last_owner(change, member)
    member.role, member.role_since = role, timezone.now()


def remove_member(actor: Any, member: Member) -> None:
    """Take somebody out of the project; what they asked for is withdrawn with them."""
    with changing(actor, member.project) as change:
        subject = _fresh(member, change)
        check_edit_rights(change.role, editor=actor.username, subject=subject.user.username)
        if subject.role == "owner":
            _check_not_last_owner(change, subject)
        open_requests = AccessRequest.objects.filter(
            project=change.project, by=subject.user, state=AccessRequest.State.OPEN
        )
        for request in open_requests.select_for_update():
            request.close(AccessRequest.State.WITHDRAWN)
            change.log.add("request.withdraw", request.key, because="the member was removed")
        change.log.add("member.remove", subject.user.username, role=subject.role)
        subject.delete()


def _fresh(member: Member, change: Change) -> Member:
    found = Member.objects.select_related("user").filter(pk=member.pk, project=change.project).first()
    if found is None:
        raise ParameterError("This member was removed in the meantime.")
    return found


def _check_not_last_owner(change: Change, member: Member) -> None:
    others = Member.objects.filter(project=change.project, role="owner", user__is_active=True).exclude(pk=member.pk)
    if not others.exists():
        raise PolicyError("A project needs an owner: name another one before this one goes.")


def _groups_of(project: Project) -> set[str]:
    return {
        audience.removeprefix(GROUP)
        for audience in project.rules.values_list("audience", flat=True)
        if audience.startswith(GROUP)
    }
