"""A project with the synthetic cohort, published, and people who may ask."""

from __future__ import annotations

from itertools import islice
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest


@pytest.fixture(autouse=True)
def settings_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    from dataclasses import replace

    from django.conf import settings

    monkeypatch.setattr(settings, "CONFIGURATION", replace(settings.CONFIGURATION, home=tmp_path))
    return tmp_path


@pytest.fixture
def study(db: None, make_user: Any) -> Any:
    """The demonstration's project with its owner, 240 synthetic reports and a published snapshot."""
    import datetime as dt

    from pydplib.web.demo import _synthetic_rows
    from pydplib.web.intake.recording import accept_rows
    from pydplib.web.intake.snapshots import make_snapshot, publish
    from pydplib.web.projects.creating import create_project

    owner = make_user("olivia", is_hospital_owner=True)
    project = create_project(
        owner,
        name="Prostate MRI",
        purpose="research",
        legal_basis="Synthetic data",
        retention_until=dt.date(2040, 1, 1),
        template="pirads-paper",
    )
    accept_rows(project, project.templates.get(number=1), islice(_synthetic_rows(), 240), actor=owner)
    publish(make_snapshot(project, actor=owner), actor=owner)
    return SimpleNamespace(project=project, owner=owner)


@pytest.fixture
def partner(study: Any, make_user: Any) -> Any:
    """Return a function that makes a member of another organisation, in a role."""
    from pydplib.web.doors import Place
    from pydplib.web.people.models import Hospital
    from pydplib.web.projects.models import Member

    def make(username: str = "tara", role: str = "third_party", organisation: str = "Acme") -> Any:
        where, _ = Hospital.objects.get_or_create(name=organisation)
        user = make_user(username, hospital=where)
        Member.objects.create(project=study.project, user=user, role=role)
        return SimpleNamespace(user=user, place=Place(role))

    return make
