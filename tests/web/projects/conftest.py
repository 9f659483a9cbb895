"""A project with its template and helpers that look at what the pages left behind."""

from __future__ import annotations

from typing import Any

import pytest


@pytest.fixture
def template(project: Any) -> Any:
    from pydplib.capture import builtin
    from pydplib.web.reporting.models import TemplateVersion

    return TemplateVersion.objects.create(
        project=project, number=1, definition=builtin("pirads-2.1").to_json(), made_by="system"
    )


@pytest.fixture
def place(project: Any) -> Any:
    """Return somebody's place as the database has it."""
    from pydplib.web.projects.models import Member

    return lambda username: Member.objects.get(project=project, user__username=username)


@pytest.fixture
def logged(db: None) -> Any:
    """Return the lines of an action, newest last."""
    from pydplib.web.auditlog.models import Line

    return lambda action: list(Line.objects.filter(action=action))


@pytest.fixture
def partner(db: None) -> Any:
    """Somebody of another hospital."""
    from pydplib.web.people.models import Hospital, User

    return User.objects.create_user("acme-anna", hospital=Hospital.objects.create(name="Acme"))
