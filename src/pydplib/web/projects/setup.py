"""Make a project, and change what it is for."""

from __future__ import annotations

import datetime as dt
from typing import Any

from django.utils import timezone

from pydplib.errors import ParameterError, PolicyError
from pydplib.policy import DEFAULT_RULES, OWNER, check_use
from pydplib.web import hooks
from pydplib.web.auditlog.log import recorded
from pydplib.web.people.models import User
from pydplib.web.projects.changes import changing
from pydplib.web.projects.models import Member, Project, Rule, project_key

EDITABLE = ("name", "purpose", "legal_basis", "retention_until")


def can_create_project(user: User) -> bool:
    """Return whether a user may make projects: those who manage a hospital."""
    return bool(user.is_active and user.is_hospital_owner)


def check_create_project(user: User) -> None:
    """Raise ``PolicyError`` unless ``can_create_project``."""
    if not can_create_project(user):
        raise PolicyError("Projects are made by those who manage the hospital. Ask them to do it for you.")


def create_project(
    user: User, *, name: str, purpose: str, legal_basis: str, retention_until: dt.date, template: str | None
) -> Project:
    """Make a project of the user's hospital, with the default policy and the user as its first owner.

    Args:
        user: Somebody who manages the hospital.
        name: How it is called.
        purpose: What data are collected for.
        legal_basis: Why that is lawful.
        retention_until: The last day on which records are kept.
        template: A built-in template, or none to bring one later.
    """
    check_create_project(user)
    _check_retention(retention_until)
    with recorded(user) as log:
        project = Project.objects.create(
            key=project_key(name),
            hospital=user.hospital,
            name=name,
            purpose=purpose,
            legal_basis=legal_basis,
            retention_until=retention_until,
        )
        Rule.objects.bulk_create([Rule.from_rule(project, rule) for rule in DEFAULT_RULES])
        Member.objects.create(project=project, user=user, role=OWNER)
        log.add(
            "project.create",
            project.key,
            project=project.key,
            name=name,
            retention_until=retention_until.isoformat(),
            template=template or "",
        )
        if template:
            hooks.project_created(project, user, template, log)
    return project


def edit_project(actor: User, project: Project, **values: Any) -> list[str]:
    """Change what the project says about itself; return the names of what changed."""
    with changing(actor, project) as change:
        check_use(change.role, "edit_policy")
        changed = [name for name in EDITABLE if name in values and values[name] != getattr(change.project, name)]
        if "retention_until" in changed:
            _check_retention(values["retention_until"])
        for name in changed:
            change.log.add("project.edit", project.key, what=name, before=str(getattr(change.project, name)))
            setattr(change.project, name, values[name])
        if changed:
            change.project.save(update_fields=changed)
    return changed


def _check_retention(day: dt.date) -> None:
    if day <= timezone.localdate():
        raise ParameterError(
            "Records must be kept until a day that is still to come. To end a project, erase its data."
        )
