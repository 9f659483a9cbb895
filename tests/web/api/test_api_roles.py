"""Every operation x role: the same powers as the pages, strangers find nothing, refusals are written down."""

from __future__ import annotations

from typing import Any

import pytest

COUNT = {"question": {"ask": "count", "by": [{"column": "pirads"}]}, "epsilon": 0.1}
MEMBERS = ("owner", "collaborator", "third_party", "radiologist", "data_protection_officer")
ASKERS = ("owner", "collaborator", "third_party")
STRANGERS = ("colleague", "stranger")
WATCHERS = ("owner", "data_protection_officer")
TABLES = {"questions": [{"ask": "count", "by": [{"column": "pirads"}]}, {"ask": "count"}], "epsilon": 0.1}
BODIES = {
    "POST projects/{project}/tables/price": TABLES,
    "POST projects/{project}/tables": TABLES,
    "POST analyses/{analysis}/receive": {"at_most": 1},
    "POST dashboards/{dashboard}/receive": {"at_most": 1},
    "POST projects/{project}/synthetic/price": {"columns": ["pirads", "bph"], "epsilon": 0.5},
    "POST exports/{export}/download": {"kind": "csv"},
    "POST exports/{export}/run": {},
    "POST projects/{project}/attacks": {"subject": "audience:third_party", "minutes": 1},
}
"""Operation -> its body, where it is no question."""


def everybody(good: tuple[str, ...]) -> dict[str, int]:
    """Return status by role for an object of the project: askers or all members, then 403, 404, 401."""
    return {
        **{role: 200 if role in good else 403 for role in MEMBERS},
        **dict.fromkeys(STRANGERS, 404),
        "nobody": 401,
    }


OPERATIONS = {
    "GET token": {**dict.fromkeys((*MEMBERS, *STRANGERS), 200), "nobody": 401},
    "GET projects": {**dict.fromkeys((*MEMBERS, *STRANGERS), 200), "nobody": 401},
    "GET projects/{project}": everybody(MEMBERS),
    "GET projects/{project}/budget": everybody(MEMBERS),
    "POST projects/{project}/price": everybody(ASKERS),
    "POST projects/{project}/tables/price": everybody(ASKERS),
    "POST projects/{project}/tables": everybody(ASKERS),
    "GET projects/{project}/tables": everybody(ASKERS),
    "GET projects/{project}/analyses": everybody(ASKERS),
    "POST projects/{project}/analyses": everybody(ASKERS),
    # Acme's: their own organisation's and the owner see it, a collaborator of another organisation finds nothing.
    "GET analyses/{analysis}": everybody(ASKERS) | {"collaborator": 404},
    "GET analyses/{analysis}/release": everybody(ASKERS) | {"collaborator": 404},
    "POST analyses/{analysis}/receive": everybody(ASKERS) | {"collaborator": 404},
    "GET analyses/{analysis}/receipt": everybody(ASKERS) | {"collaborator": 404},
    "GET projects/{project}/dashboards": everybody(ASKERS),
    # Published for third parties: other audiences find nothing.
    "GET dashboards/{dashboard}": everybody(ASKERS) | {"collaborator": 404},
    "POST dashboards/{dashboard}/receive": everybody(ASKERS) | {"collaborator": 404},
    # Released to third parties; a collaborator finds nothing. Files and starts are in tests/web/exports.
    "GET projects/{project}/exports": everybody(ASKERS),
    "GET exports/{export}": everybody(ASKERS) | {"collaborator": 404},
    "GET exports/{export}/certificate": everybody(ASKERS) | {"collaborator": 404},
    "POST exports/{export}/download": everybody(ASKERS) | {"collaborator": 404},
    "POST exports/{export}/run": everybody(("owner",)),
    "GET projects/{project}/attacks": everybody(WATCHERS),
    "POST projects/{project}/attacks": everybody(WATCHERS),
    "GET attacks/{attack}": everybody(WATCHERS),
    # Acme's, as an analysis is.
    "POST projects/{project}/synthetic/price": everybody(ASKERS),
    "GET projects/{project}/synthetic": everybody(ASKERS),
    "GET synthetic/{synthetic}": everybody(ASKERS) | {"collaborator": 404},
    "GET synthetic/{synthetic}/receipt": everybody(ASKERS) | {"collaborator": 404},
    "GET receipts/keys": dict.fromkeys((*MEMBERS, *STRANGERS, "nobody"), 200),
    "GET receipts/{release}": dict.fromkeys((*MEMBERS, *STRANGERS, "nobody"), 200),
}


ELSEWHERE = {
    "POST projects/{project}/synthetic",
    "POST synthetic/{synthetic}/run",
    "POST synthetic/{synthetic}/download",
    "GET projects/{project}/released",
    "GET released/{analysis}/{kind}",
}
"""Role by role in tests/web/synthetic (operations that pay, make and hand out) and in test_released_tables.py."""


def test_the_table_has_every_operation() -> None:
    from pydplib.web.api.api import openapi_document

    listed = {
        f"{method.upper()} {path.removeprefix('/api/v1/').split('{')[0]}{path.partition('}')[2]}"
        for path, methods in openapi_document()["paths"].items()
        for method in methods
    }
    assert {f"{name.split('{')[0]}{name.partition('}')[2]}" for name in {*OPERATIONS, *ELSEWHERE}} == listed


def _dashboard(world: Any) -> Any:
    """A published dashboard for third parties."""
    from pydplib.web.dashboards.models import Dashboard, Edition

    owner, snapshot = world.people["owner"], world.project.snapshots.first()
    made = Dashboard.objects.create(
        project=world.project, title="Trends", audience="third_party", state="published", made_by=owner
    )
    Edition.objects.create(dashboard=made, number=1, title=made.title, snapshot=snapshot, made_by=owner)
    return made


def _exported(world: Any, operation: str) -> dict[str, str]:
    """A table that was made and, unless it is to be made again, released to third parties; and a run of attacks."""
    if "export" not in operation and "attack" not in operation:
        return {}
    from export_study import make_export, open_to

    from pydplib.web.attacks.launch import start_run
    from pydplib.web.exports.releases import release

    owner = world.people["owner"]
    open_to(world.project, "third_party")
    export = make_export(world.project, owner)
    if not operation.endswith("/run"):
        release(owner, export, ["third_party"])
    run = start_run(owner, world.project, subject="audience:third_party", data="twin", minutes=1)
    return {"export": export.key, "attack": run.key}


def _synthetic(world: Any) -> str:
    """A synthetic table of the third party's organisation."""
    from pydplib.web.synthetic.models import SyntheticPurchase

    user, snapshot = world.people["third_party"], world.project.snapshots.first()
    row = SyntheticPurchase.objects.create(
        project=world.project, asked_by=user, recipient=user.hospital.key, role="third_party", label="dp_high",
        snapshot=snapshot.key, digest="ab" * 32, asked={"columns": ["pirads", "bph"], "relations": []},
        state="ready", receipt="{}",
    )  # fmt: skip
    return str(row.key)


@pytest.mark.parametrize("operation", OPERATIONS)
def test_each_role_gets_what_the_table_says(operation: str, world: Any, program: Any) -> None:
    from pydplib.web.auditlog.models import Line

    made = program("third_party").post(f"projects/{world.project.key}/analyses", COUNT).json()
    names = {
        "project": world.project.key,
        "analysis": made["key"],
        "release": made["release_key"],
        "dashboard": _dashboard(world).key,
        "synthetic": _synthetic(world),
        **_exported(world, operation),
    }
    method, path = operation.format(**names).split(" ")
    for role, status in OPERATIONS[operation].items():
        caller = program(None if role == "nobody" else role)
        before = Line.objects.filter(action="door.refuse").count()
        response = caller.get(path) if method == "GET" else caller.post(path, BODIES.get(operation, COUNT))
        assert response.status_code == status, (role, response.content)
        refused = Line.objects.filter(action="door.refuse").count() - before
        # Another organisation's analysis is a member's 404: nobody tried a door that is not theirs.
        expected = status == 403 or (status == 404 and role in STRANGERS)
        assert refused == expected, f"{role}: a refusal at the door is a line in the log"


@pytest.mark.parametrize("path", ["projects/{}", "projects/{}/budget", "projects/{}/analyses"])
def test_an_object_that_is_not_there_looks_like_a_foreign_one(path: str, world: Any, program: Any) -> None:
    stranger = program("stranger")
    foreign, absent = stranger.get(path.format(world.project.key)), stranger.get(path.format("no-such-project"))
    assert (foreign.status_code, foreign.content) == (absent.status_code, absent.content)


def test_a_session_opens_nothing(world: Any, sign_in: Any) -> None:
    browser = sign_in(world.people["owner"])
    assert browser.get("/api/v1/projects").status_code == 401
    answer = browser.post(f"/api/v1/projects/{world.project.key}/analyses", COUNT, content_type="application/json")
    assert answer.status_code == 401


def test_the_token_decides_who_calls_even_beside_a_session(world: Any, sign_in: Any, make_token: Any) -> None:
    browser = sign_in(world.people["owner"])
    headers = {"Authorization": f"Bearer {make_token('third_party')}"}
    assert browser.get("/api/v1/token", headers=headers).json()["user"] == "third_party"
    assert browser.get(f"/api/v1/projects/{world.project.key}/budget", headers=headers).json()["accounts"] is None


def test_each_address_has_a_door_with_its_power() -> None:
    from pydplib.web.people.permissions import views

    doors = {route: view.door for route, view in views() if route.startswith("api/v1/")}
    assert doors["api/v1/projects/<str:key>/analyses"].kind == "token"
    assert doors["api/v1/projects/<str:key>/analyses"].power == "ask"
    assert {door.kind for door in doors.values()} == {"token", "public"}


def test_an_operation_without_entry_has_no_door_and_opens_nothing(rf_request: Any) -> None:
    from ninja import NinjaAPI, Router

    from pydplib.web.api.permissions import guarded_urls

    router = Router()

    @router.get("/backdoor")
    def backdoor(request: Any) -> str:
        return "open"

    api = NinjaAPI(urls_namespace="backdoor", docs_url=None, openapi_url=None)
    api.add_router("", router)
    (found,) = guarded_urls(api)
    assert not hasattr(found.callback, "door"), "so the system check stops the server"
    assert found.callback(rf_request).status_code == 404


def test_operations_that_were_mounted_without_the_guard_refuse(rf_request: Any) -> None:
    from pydplib.web.api.api import api

    pattern = next(item for item in api.urls[0] if str(item.pattern) == "projects")
    assert pattern.callback(rf_request).status_code in (400, 401)


@pytest.fixture
def rf_request(world: Any) -> Any:
    from django.test import RequestFactory

    request = RequestFactory().get("/")
    request.user = world.people["owner"]
    request.resolver_match = None
    return request
