"""A published study with people who ask, for pages in the test process and for servers that tests start."""

from __future__ import annotations

import datetime as dt
from itertools import islice
from typing import Any

CANARY = "ZZCANARY-4419"
"""Stands in every identifier of the study; no page of a partner may show it."""


def rows_with_canaries(count: int) -> Any:
    """Yield synthetic reports whose identifiers carry the canary."""
    from pydplib.web.demo import synthetic_rows

    for row in islice(synthetic_rows(), count):
        yield {**row, "patient_id": f"{CANARY}-{row['patient_id']}", "physician_name": f"{CANARY} physician"}


def make_study(owner: Any, *, reports: int = 240) -> Any:
    """Return a project with this many reports and a published snapshot."""
    from pydplib.web.intake.imports.records import accept_rows
    from pydplib.web.intake.snapshots import make_snapshot, publish
    from pydplib.web.projects.setup import create_project

    project = create_project(
        owner,
        name="Prostate MRI",
        purpose="research",
        legal_basis="Synthetic data",
        retention_until=dt.date(2040, 1, 1),
        template="pirads-paper",
    )
    keep_limits(project)
    if reports:
        accept_rows(project, project.templates.get(number=1), rows_with_canaries(reports), actor=owner)
    publish(make_snapshot(project, actor=owner), actor=owner)
    return project


def keep_limits(project: Any) -> None:
    """Give a project limits of its own, as one that was made under other defaults keeps them."""
    project.rules.filter(audience="collaborator").update(epsilon_per_question=1.0, budget=6.0)
    project.rules.filter(audience="third_party").update(epsilon_per_question=0.5, budget=2.0)
    project.data_set_budget = 10.0
    project.save(update_fields=["data_set_budget"])


def make_partner(project: Any, username: str, *, role: str = "third_party", organisation: str = "Acme") -> Any:
    """Return a member of another organisation."""
    from pydplib.web.people.models import Hospital, User
    from pydplib.web.projects.models import Member

    where, _ = Hospital.objects.get_or_create(name=organisation)
    user = User.objects.create_user(username, hospital=where)
    Member.objects.create(project=project, user=user, role=role)
    return user
