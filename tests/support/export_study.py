"""A small published study with planted canaries, for the tests of exports and attacks."""

from __future__ import annotations

import datetime as dt
import shutil
from collections.abc import Iterator
from dataclasses import replace
from itertools import islice
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

CANARY = "ZZCANARY"
"""Planted in every identifier: it may never leave."""


def make_study(owner: Any, rows: int = 160) -> Any:
    """Return a project of the owner with synthetic reports and a published snapshot."""
    from pydplib.web.demo import synthetic_rows
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
    planted = (
        row | {"patient_id": f"{CANARY}-{row['patient_id']}", "physician_name": f"Dr {CANARY}"}
        for row in islice(synthetic_rows(), rows)
    )
    accept_rows(project, project.templates.get(number=1), planted, actor=owner)
    publish(make_snapshot(project, actor=owner), actor=owner)
    return project


def add_partner(project: Any, user: Any, role: str, **more: Any) -> Any:
    """Make somebody a member, and return who they are to the project."""
    from pydplib.web.projects.models import Member

    Member.objects.create(project=project, user=user, role=role, **more)
    return SimpleNamespace(user=user, place=Member.as_role(role, groups=tuple(more.get("groups", ()))))


def open_to(project: Any, role: str) -> None:
    """Let the policy give anonymized tables to a role."""
    project.rules.filter(audience=role).update(label="k_anonymous")


FEW = {
    "age": "quasi", "year": "quasi", "follow_up": "quasi", "pirads": "sensitive",
    "bph": "sensitive", "department_code": "quasi",
}  # fmt: skip


def make_export(project: Any, owner: Any, *, title: str = "Ages and scores", **settings: Any) -> Any:
    """Return an export of a few fields, planned and made at once."""
    from pydplib.schema import Schema
    from pydplib.web.exports.models import Export
    from pydplib.web.exports.plans import propose
    from pydplib.web.exports.runs import start
    from pydplib.web.intake.snapshots import published_snapshot

    snapshot = published_snapshot(project)
    plan = propose(Schema.from_json(snapshot.schema))
    chosen = settings.pop("fields", FEW)
    plan = plan.with_fields({name: chosen.get(name, "drop") for name in plan.fields})
    plan = replace(plan, **{"suppression": 0.2, **settings})
    export = Export.objects.create(project=project, snapshot=snapshot, by=owner, title=title, plan=plan.to_dict())
    start(export)
    export.refresh_from_db()
    return export


# Fixtures: a conftest imports them. The study is made once per module; every test undoes what it did to it.


def at_home(home: Path) -> Any:
    from django.conf import settings

    return replace(settings.CONFIGURATION, home=home)


@pytest.fixture(scope="module")
def study_made(_database: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    from django.conf import settings
    from django.test import TestCase

    from pydplib.web.people.models import Hospital, User

    home, before = tmp_path_factory.mktemp("study"), settings.CONFIGURATION
    atomics = TestCase._enter_atomics()
    settings.CONFIGURATION = at_home(home)
    hospital = Hospital.objects.get_or_create(name="St. Study")[0]
    owner = User.objects.create_user("olivia", hospital=hospital, is_hospital_owner=True)
    yield SimpleNamespace(project=make_study(owner), owner=owner, home=home)
    settings.CONFIGURATION = before
    TestCase._rollback_atomics(atomics)


@pytest.fixture
def db(study_made: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Work on a copy of the study's files, wait for work in the background, and undo everything."""
    from django.conf import settings
    from django.db import transaction

    from pydplib.web.attacks import runs as attacking
    from pydplib.web.exports import runs as exporting

    shutil.copytree(study_made.home, tmp_path, dirs_exist_ok=True)
    monkeypatch.setattr(settings, "CONFIGURATION", at_home(tmp_path))
    monkeypatch.setattr(exporting, "BACKGROUND", False)
    monkeypatch.setattr(attacking, "BACKGROUND", False)
    block: Any = transaction.atomic()
    block._from_testcase = True  # the ledger's own transactions are durable, as far as this test is concerned
    with block:
        yield
        transaction.set_rollback(True)


@pytest.fixture
def study(db: None, study_made: Any, sign_in: Any) -> Any:
    from pydplib.web.people.models import User
    from pydplib.web.projects.models import Project

    owner, project = User.objects.get(pk=study_made.owner.pk), Project.objects.get(pk=study_made.project.pk)
    return SimpleNamespace(project=project, owner=owner, client=sign_in(owner))


@pytest.fixture
def partner(study: Any, make_user: Any, sign_in: Any) -> Any:
    """Return a function that makes a member of another organisation, signed in."""
    from pydplib.web.people.models import Hospital

    def make(role: str = "third_party", username: str = "tara", organisation: str = "Acme", **more: Any) -> Any:
        where, _ = Hospital.objects.get_or_create(name=organisation)
        made = add_partner(study.project, make_user(username, hospital=where), role, **more)
        made.client = sign_in(made.user)
        return made

    return make
