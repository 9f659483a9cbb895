"""A project with the synthetic cohort, published, its owners, and dashboards made by hand."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from dataclasses import replace
from itertools import islice
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from study_world import keep_limits

CANARY = "CANARY-7Q"


@pytest.fixture(scope="module")
def _made_once(_database: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """240 synthetic reports with canaries in their identifiers, published; two owners and somebody in every role."""
    import datetime as dt

    from django.conf import settings
    from django.test import TestCase

    from pydplib.web.demo import synthetic_rows
    from pydplib.web.intake.imports.records import accept_rows
    from pydplib.web.intake.snapshots import make_snapshot, publish
    from pydplib.web.people.models import Hospital, User
    from pydplib.web.projects.models import Member
    from pydplib.web.projects.setup import create_project

    home, before = tmp_path_factory.mktemp("dashboards-home"), settings.CONFIGURATION
    settings.CONFIGURATION = replace(before, home=home)
    atomics = TestCase._enter_atomics()
    here, acme = Hospital.objects.create(name="St. Example"), Hospital.objects.create(name="Acme")
    owner = User.objects.create_user("olivia", hospital=here, is_hospital_owner=True)
    project = create_project(
        owner,
        name="Prostate MRI",
        purpose="research",
        legal_basis="Synthetic data",
        retention_until=dt.date(2040, 1, 1),
        template="pirads-paper",
    )
    keep_limits(project)
    planted = (
        {**row, "patient_id": f"{CANARY}-{number}", "physician_name": f"{CANARY}-DOCTOR"}
        for number, row in enumerate(islice(synthetic_rows(), 240))
    )
    accept_rows(project, project.templates.get(number=1), planted, actor=owner)
    publish(make_snapshot(project, actor=owner), actor=owner)
    people = {"owner": owner}
    for role in ("second_owner", "collaborator", "third_party", "radiologist", "data_protection_officer"):
        where = acme if role == "third_party" else here
        people[role] = User.objects.create_user(role, hospital=where)
        Member.objects.create(project=project, user=people[role], role="owner" if role == "second_owner" else role)
    yield SimpleNamespace(project=project, people=people, home=home, owner=owner)
    TestCase._rollback_atomics(atomics)
    settings.CONFIGURATION = before


@pytest.fixture
def study(_made_once: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """The study as it was made; whatever a test does to it is undone."""
    from django.conf import settings
    from django.test import TestCase

    home = tmp_path / "home"
    shutil.copytree(_made_once.home, home)
    monkeypatch.setattr(settings, "CONFIGURATION", replace(settings.CONFIGURATION, home=home))
    atomics = TestCase._enter_atomics()
    _made_once.project.refresh_from_db()
    # Prices follow a noisy number of few records: room enough that no test depends on the draw.
    for audience, budget in (("third_party", 6.0), ("collaborator", 9.0)):
        _made_once.project.rules.filter(audience=audience).update(budget=budget)
    yield SimpleNamespace(**vars(_made_once))
    TestCase._rollback_atomics(atomics)


@pytest.fixture
def sized(study: Any) -> Any:
    """The study with a number of records that is declared public: prices are exact, and nothing must be counted."""
    snapshot = study.project.snapshots.get()
    snapshot.schema = json.dumps({**json.loads(snapshot.schema), "size": 240})
    snapshot.save(update_fields=["schema"])
    return study


@pytest.fixture
def browser(study: Any, sign_in: Any) -> Any:
    """Return a client signed in as somebody of the study."""
    return lambda role: sign_in(study.people[role])


@pytest.fixture
def planned(study: Any) -> Any:
    """Return a function that makes a dashboard with ready-made figures, records counted."""
    from pydplib.web.dashboards import plans
    from pydplib.web.dashboards.editions import count_records

    def make(
        audience: str = "third_party", names: tuple[str, ...] = ("reports-by-year",), *, count: bool = True
    ) -> Any:
        made = plans.make_dashboard(study.owner, study.project, title=f"For {audience}", audience=audience)
        plans.add_ready_made(study.owner, made, names)
        if count:
            count_records(study.owner, made)
        return made

    return make


@pytest.fixture
def published(planned: Any, study: Any, received: Any) -> Any:
    """Return a function that makes and publishes a dashboard, which its audience's organisation receives."""
    from pydplib.web.dashboards.editions import publish
    from pydplib.web.dashboards.prices import bill_for

    def make(audience: str = "third_party", names: tuple[str, ...] = ("reports-by-year",)) -> Any:
        made = planned(audience, names)
        publish(study.owner, made, agreed=bill_for(made).nano)
        return received(made)

    return make


@pytest.fixture
def received(study: Any) -> Any:
    """Return a function by which the organisation of an audience's member pays for a dashboard."""
    from pydplib.web.analyses.shared_answers import receive
    from pydplib.web.dashboards.panels import releases_for
    from pydplib.web.projects.models import Member

    def pay(dashboard: Any) -> Any:
        place, user = Member.as_role(dashboard.audience), study.people[dashboard.audience]
        found = releases_for(dashboard.edition, place)
        receive(study.project, user, place, found, agreed=10**10, subject=dashboard.key)
        return dashboard

    return pay


@pytest.fixture
def releases_of() -> Any:
    """Return the released values of a figure of an edition."""
    from pydplib.web.analyses.models import Analysis
    from pydplib.web.analyses.payments.purchases import release_of

    return lambda item: [release_of(Analysis.objects.get(key=key)) for key in item.answers]
