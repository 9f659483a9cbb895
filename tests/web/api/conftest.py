"""A published project, people of every role and organisation, and programs that call the API in their names."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from dataclasses import replace
from itertools import islice
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

ROLES = ("owner", "collaborator", "third_party", "radiologist", "data_protection_officer")
PERIOD = 60  # seconds of the rate limit's window


@pytest.fixture(scope="module")
def _world(_database: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """Made once: 240 synthetic reports, published; a member in every role; Acme as a partner; a stranger elsewhere."""
    import datetime as dt

    from django.conf import settings
    from django.test import TestCase
    from django_otp.plugins.otp_totp.models import TOTPDevice

    from pydplib.web.demo import synthetic_rows
    from pydplib.web.intake.imports.records import accept_rows
    from pydplib.web.intake.snapshots import make_snapshot, publish
    from pydplib.web.people.models import Hospital, User
    from pydplib.web.projects.models import Member
    from pydplib.web.projects.setup import create_project

    home, before = tmp_path_factory.mktemp("api-home"), settings.CONFIGURATION
    settings.CONFIGURATION = replace(before, home=home)
    atomics = TestCase._enter_atomics()
    here, acme, there = (Hospital.objects.create(name=name) for name in ("St. Example", "Acme", "Elsewhere"))
    owner = User.objects.create_user("owner", hospital=here, password="owner-long-enough", is_hospital_owner=True)
    facts = {
        "purpose": "research",
        "legal_basis": "Synthetic data",
        "retention_until": dt.date(2040, 1, 1),
        "template": "pirads-paper",
    }
    project = create_project(owner, name="Prostate MRI", **facts)
    accept_rows(project, project.templates.get(number=1), islice(synthetic_rows(), 240), actor=owner)
    publish(make_snapshot(project, actor=owner), actor=owner)
    people = {"owner": owner}
    for role in ROLES[1:]:
        where = acme if role == "third_party" else here
        people[role] = User.objects.create_user(role, hospital=where, password=f"{role}-long-enough")
        Member.objects.create(project=project, user=people[role], role=role)
    stranger = User.objects.create_user("stranger", hospital=there, password="stranger-long", is_hospital_owner=True)
    create_project(stranger, name="Foreign", **facts)
    people["stranger"] = stranger
    people["colleague"] = User.objects.create_user("colleague", hospital=here, password="colleague-long")
    for user in people.values():
        TOTPDevice.objects.create(user=user, name="phone", confirmed=True)
    yield SimpleNamespace(project=project, people=people, home=home)
    TestCase._rollback_atomics(atomics)
    settings.CONFIGURATION = before


@pytest.fixture
def world(_world: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """The world as it was made; whatever a test does to its rows and files is undone."""
    from django.conf import settings
    from django.test import TestCase

    home = shutil.copytree(_world.home, tmp_path / "home")
    monkeypatch.setattr(settings, "CONFIGURATION", replace(settings.CONFIGURATION, home=home))
    atomics = TestCase._enter_atomics()
    fresh = {who: type(user).objects.get(pk=user.pk) for who, user in _world.people.items()}
    yield SimpleNamespace(project=type(_world.project).objects.get(pk=_world.project.pk), people=fresh, home=home)
    TestCase._rollback_atomics(atomics)


@pytest.fixture
def make_token(world: Any) -> Any:
    """Return a function that makes a token for one of the world's people: the text alone."""
    from pydplib.web.api.tokens import make_token as make

    def token(who: str, *scopes: str, second_factor: bool = True, days: int = 30) -> str:
        wanted = scopes or ("read", "ask", "export")
        return make(world.people[who], name="test", scopes=wanted, days=days, second_factor=second_factor)[1]

    return token


@pytest.fixture
def program(make_token: Any) -> Any:
    """Return a function that makes a program with a token, for one of the world's people; None: without a token."""

    def make(who: str | None, *scopes: str, **more: Any) -> Program:
        return Program(None if who is None else make_token(who, *scopes, **more))

    return make


class Program:
    """Calls the API; every answer must be JSON and must set no cookie."""

    def __init__(self, token: str | None) -> None:
        from django.test import Client

        self.token = token
        self.client = Client(headers={"authorization": f"Bearer {token}"} if token else {})

    def get(self, path: str) -> Any:
        return self._checked(self.client.get(f"/api/v1/{path}"))

    def post(self, path: str, body: Any = None, *, raw: bytes | None = None) -> Any:
        import json

        data = json.dumps(body) if raw is None else raw
        return self._checked(self.client.post(f"/api/v1/{path}", data, content_type="application/json"))

    def _checked(self, response: Any) -> Any:
        is_file = "attachment" in response.headers.get("Content-Disposition", "")
        assert is_file or response.headers["Content-Type"] == "application/json"
        assert not response.cookies
        if response.status_code >= 400:
            values = response.json()
            assert set(values) == {"error", "kind", "asked", "left"} and values["error"]
            assert "Traceback" not in values["error"]
        return response


@pytest.fixture(autouse=True)
def work_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let calls wait for work that is otherwise done in the background."""
    monkeypatch.setattr("pydplib.web.exports.runs.BACKGROUND", False)
    monkeypatch.setattr("pydplib.web.attacks.runs.BACKGROUND", False)
