"""A study whose patients have visits too: the demonstration's follow-up table, for the first of its reports."""

from __future__ import annotations

import datetime as dt
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
def study(db: None, hospital: Any, sign_in: Any) -> Any:
    """Reports and visits of the same patients, computed columns and a join as the demonstration has them, published."""
    from study_world import CANARY, make_partner

    from pydplib.web.demo import _add_follow_up, synthetic_rows
    from pydplib.web.intake.recording import accept_rows
    from pydplib.web.intake.snapshots import make_snapshot, publish
    from pydplib.web.people.models import User
    from pydplib.web.projects.models import Member
    from pydplib.web.projects.setup import create_project

    owner = User.objects.create_user("olivia", hospital=hospital, is_hospital_owner=True)
    project = create_project(
        owner,
        name="Prostate MRI",
        purpose="research",
        legal_basis="Synthetic data",
        retention_until=dt.date(2040, 1, 1),
        template="pirads-paper",
    )
    rows = [row for _, row in zip(range(60), synthetic_rows(), strict=False)]
    accept_rows(project, project.templates.get(number=1), rows, actor=owner)
    _add_follow_up(project, owner)
    project.refresh_from_db()
    publish(make_snapshot(project, actor=owner), actor=owner)
    partner = make_partner(project, "tara", role="collaborator")
    client = sign_in(owner)
    client.user = owner
    return SimpleNamespace(
        project=project,
        owner=client,
        partner=partner,
        place=Member.as_role("collaborator"),
        rows=rows,
        canary=CANARY,
    )
