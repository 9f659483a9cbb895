"""A project with the synthetic cohort, published, and people who may buy tables; jobs run at once."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from study_world import make_partner, make_study


@pytest.fixture(autouse=True)
def settings_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    from dataclasses import replace

    from django.conf import settings

    from pydplib.web.synthetic import purchases

    monkeypatch.setattr(settings, "CONFIGURATION", replace(settings.CONFIGURATION, home=tmp_path))
    monkeypatch.setattr(purchases, "BACKGROUND", False)
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
        project = make_study(owner, reports=300)
        project.rules.filter(audience="third_party").update(epsilon_per_question=1.0, budget=2.0)
    finally:
        settings.CONFIGURATION = before
    yield SimpleNamespace(project=project.pk, owner=owner.pk, home=home)
    TestCase._rollback_atomics(atomics)


@pytest.fixture
def study(study_once: Any, db: None, settings_home: Path) -> Any:
    """The demonstration's project with its owner, 300 synthetic reports and a published snapshot."""
    from pydplib.web.people.models import User
    from pydplib.web.projects.models import Project

    (settings_home / "snapshots").symlink_to(study_once.home / "snapshots")
    return SimpleNamespace(
        project=Project.objects.get(pk=study_once.project), owner=User.objects.get(pk=study_once.owner)
    )


@pytest.fixture
def member(study: Any, sign_in: Any) -> Any:
    """Return a function that makes a member of another organisation, signed in."""
    from pydplib.web.projects.models import Member

    def make(username: str = "tara", role: str = "third_party", organisation: str = "Acme") -> Any:
        user = make_partner(study.project, username, role=role, organisation=organisation)
        client = sign_in(user)
        client.user, client.place = user, Member.as_role(role)
        return client

    return make


@pytest.fixture
def tara(member: Any) -> Any:
    """A third party of Acme, signed in."""
    return member()


@pytest.fixture
def owner(study: Any, sign_in: Any) -> Any:
    """The owner, signed in."""
    from pydplib.web.projects.models import Member

    client = sign_in(study.owner)
    client.user, client.place = study.owner, Member.as_role("owner")
    return client


@pytest.fixture
def asked() -> Any:
    """A table that a third party can pay for."""
    from pydplib.web.synthetic.offers import Asked

    return Asked(
        columns=("age", "pirads", "bph"), relations=(("age", "pirads"),), find=False, epsilon=1.0, noise="laplace"
    )


@pytest.fixture
def bought(study: Any, tara: Any, asked: Any) -> Any:
    """A table that Acme has bought."""
    from pydplib.web.synthetic.purchases import buy

    return buy(study.project, tara.user, tara.place, asked)
