"""A project with the synthetic cohort, published, and people who may ask."""

from __future__ import annotations

import re
from collections.abc import Iterator
from html import unescape
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from study_world import make_partner, make_study


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

    from pydplib.web.people.models import Hospital, User

    atomics, before, home = TestCase._enter_atomics(), settings.CONFIGURATION, tmp_path_factory.mktemp("study")
    settings.CONFIGURATION = replace(before, home=home)
    try:
        hospital = Hospital.objects.get_or_create(name="St. Example")[0]
        owner = User.objects.create_user("olivia", hospital=hospital, is_hospital_owner=True)
        project = make_study(owner, reports=100)
    finally:
        settings.CONFIGURATION = before
    yield SimpleNamespace(project=project.pk, owner=owner.pk, home=home)
    TestCase._rollback_atomics(atomics)


@pytest.fixture
def study(study_once: Any, db: None, settings_home: Path) -> Any:
    """The demonstration's project with its owner, 100 synthetic reports and a published snapshot."""
    from pydplib.web.people.models import User
    from pydplib.web.projects.models import Project

    (settings_home / "snapshots").symlink_to(study_once.home / "snapshots")
    return SimpleNamespace(
        project=Project.objects.get(pk=study_once.project), owner=User.objects.get(pk=study_once.owner)
    )


@pytest.fixture
def partner(study: Any) -> Any:
    """Return a function that makes a member of another organisation, in a role."""
    from pydplib.web.projects.models import Member

    def make(username: str = "tara", role: str = "third_party", organisation: str = "Acme") -> Any:
        user = make_partner(study.project, username, role=role, organisation=organisation)
        return SimpleNamespace(user=user, place=Member.as_role(role))

    return make


@pytest.fixture
def tara(partner: Any, sign_in: Any) -> Any:
    """A third party of Acme, signed in."""
    somebody = partner()
    client = sign_in(somebody.user)
    client.user, client.place = somebody.user, somebody.place
    return client


@pytest.fixture
def owner(study: Any, sign_in: Any) -> Any:
    """The owner, signed in."""
    client = sign_in(study.owner)
    client.user = study.owner
    return client


@pytest.fixture
def pay() -> Any:
    """Look at a question's price, then press the button that stands next to it; returns the answer to the button."""

    def press(client: Any, **fields: Any) -> Any:
        page = client.get("/analyses/new", fields).content.decode()
        return client.post("/analyses/new", button_of(page))

    return press


def button_of(page: str) -> dict[str, Any]:
    """Return what the form with the button sends."""
    form = re.search(r'<form method="post" action="/analyses/new".*?</form>', page, re.S)
    assert form, "no button to pay: " + re.sub(r"<[^>]+>|\s+", " ", page[page.find('id="price"') :])[:400]
    sent: dict[str, Any] = {}
    for name, value in re.findall(r'<input type="hidden" name="(\w+)" value="([^"]*)"', form[0]):
        sent.setdefault(name, []).append(unescape(value))
    return sent


@pytest.fixture
def button() -> Any:
    return button_of
