"""A study whose patients have visits too: the demonstration's follow-up table, for the first of its reports."""

from __future__ import annotations

import datetime as dt
import shutil
from collections.abc import Iterator
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


@pytest.fixture(scope="module")
def study_once(_database: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """The study, made once for all tests of a module; what they do to it is undone."""
    from dataclasses import replace

    from django.conf import settings
    from django.test import TestCase
    from study_world import make_partner

    from pydplib.web.demo import add_follow_up, synthetic_rows
    from pydplib.web.intake.imports.records import accept_rows
    from pydplib.web.intake.snapshots import make_snapshot, publish
    from pydplib.web.people.models import Hospital, User
    from pydplib.web.projects.setup import create_project

    atomics, before, home = TestCase._enter_atomics(), settings.CONFIGURATION, tmp_path_factory.mktemp("study")
    settings.CONFIGURATION = replace(before, home=home)
    rows = list(islice(synthetic_rows(), 60))
    try:
        hospital = Hospital.objects.get_or_create(name="St. Example")[0]
        owner = User.objects.create_user("olivia", hospital=hospital, is_hospital_owner=True)
        project = create_project(
            owner,
            name="Prostate MRI",
            purpose="research",
            legal_basis="Synthetic data",
            retention_until=dt.date(2040, 1, 1),
            template="pirads-paper",
        )
        accept_rows(project, project.templates.get(number=1), rows, actor=owner)
        add_follow_up(project, owner)
        project.refresh_from_db()
        publish(make_snapshot(project, actor=owner), actor=owner)
        partner = make_partner(project, "tara", role="collaborator")
    finally:
        settings.CONFIGURATION = before
    yield SimpleNamespace(project=project.pk, owner=owner.pk, partner=partner.pk, home=home, rows=rows)
    TestCase._rollback_atomics(atomics)


@pytest.fixture
def study(study_once: Any, db: None, settings_home: Path, sign_in: Any) -> Any:
    """Reports and visits of the same patients, computed columns and a join as the demonstration has them, published."""
    from pydplib.web.people.models import User
    from pydplib.web.projects.models import Member, Project

    shutil.copytree(study_once.home, settings_home, dirs_exist_ok=True)
    owner = User.objects.get(pk=study_once.owner)
    client = sign_in(owner)
    client.user = owner
    return SimpleNamespace(
        project=Project.objects.get(pk=study_once.project),
        owner=client,
        partner=User.objects.get(pk=study_once.partner),
        place=Member.as_role("collaborator"),
        rows=study_once.rows,
    )
