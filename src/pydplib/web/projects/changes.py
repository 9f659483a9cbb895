"""The ground of every change to a project: one transaction, the project locked, the actor's role read again."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from django.db.models import F
from django.http import HttpRequest

from pydplib.errors import PolicyError
from pydplib.web.auditlog.log import Log, recorded
from pydplib.web.people.models import User
from pydplib.web.people.permissions import note_refusal
from pydplib.web.projects.models import Member, Project


@dataclass(frozen=True, slots=True)
class ProjectChange:
    """What a change works with.

    Args:
        project: The project, locked until the end: changes to its members, policy and requests wait for each other.
        role: The actor's role as it is under the lock; rights lost a moment ago are lost here too.
        log: Where the change writes its lines.
    """

    project: Project
    role: str
    log: Log


@contextmanager
def changing(actor: User, project: Project) -> Iterator[ProjectChange]:
    """Open a change: lock first, then look who the actor is now, log last."""
    with recorded(actor, project=project) as log:
        locked = Project.objects.select_for_update().get(pk=project.pk)
        yield ProjectChange(locked, role_now(locked, actor), log)


def role_now(project: Project, user: User) -> str:
    """Return the user's role in the project as the database has it; raise if there is none any more."""
    member = Member.objects.filter(project=project, user_id=user.pk, user__is_active=True).first()
    if member is None:
        raise PolicyError("You are not a member of this project any more.")
    return str(member.role)


def new_data_version(project: Project) -> int:
    """Count one accepted change of the project's data; must run in the transaction of the change."""
    Project.objects.filter(pk=project.pk).update(data_version=F("data_version") + 1)
    project.refresh_from_db(fields=["data_version"])
    return int(project.data_version)


def tell_hospital(log: Log, user: User | None, action: str, subject: str, project: Project) -> None:
    """Note in the log of a user's own hospital what a project of another one does with them; nothing for colleagues."""
    if user is not None and user.hospital_id == project.hospital_id:
        return
    where, log.hospital = log.hospital, user.hospital.key if user is not None else ""
    log.add(action, subject, project="", organisation=project.hospital.name, in_project=project.name)
    log.hospital = where


@contextmanager
def noting_refusals(request: HttpRequest) -> Iterator[None]:
    """Write a line for a change that the rules refused, after its transaction was undone."""
    try:
        yield
    except PolicyError as refusal:
        note_refusal(request, refusal, action="change.refuse")
        raise
