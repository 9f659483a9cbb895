from __future__ import annotations

import datetime as dt

import pytest

from pydplib.policy import DEFAULT_RULES
from pydplib.web.projects.models import Member, Project

NEW = {
    "name": "Prostate register",
    "purpose": "Predict cancer",
    "legal_basis": "Consent",
    "retention_until": "2040-01-01",
    "template": "pirads-2.1",
}


def test_a_new_project_has_an_owner_the_default_policy_and_a_template(make_user, sign_in, logged) -> None:
    ada = make_user("ada", is_hospital_owner=True)
    response = sign_in(ada).post("/projects/new", NEW)
    project = Project.objects.get()
    assert response.url == f"/projects/{project.key}"
    assert project.hospital == ada.hospital
    assert list(project.members.values_list("user__username", "role")) == [("ada", "owner")]
    rules = [rule.to_dict() for rule in project.policy.rules]
    assert rules == [{**rule.to_dict(), "project": project.key} for rule in DEFAULT_RULES]
    assert project.templates.get().template.id == "pirads-2.1"
    assert [line.project for line in logged("project.create")] == [project.key]


def test_a_project_may_start_without_a_template(make_user, sign_in) -> None:
    ada = make_user("ada", is_hospital_owner=True)
    client = sign_in(ada)
    client.post("/projects/new", NEW | {"template": "later"})
    project = Project.objects.get()
    assert not project.templates.exists()
    for page in ("", "/members"):
        assert client.get(f"/projects/{project.key}{page}").status_code == 200
    assert "Not chosen yet" in client.get(f"/projects/{project.key}").content.decode()
    assert "No template yet" in client.get("/policy/access").content.decode()


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"retention_until": "2020-01-01"}, "still to come"),
        ({"purpose": ""}, "required"),
        ({"template": "../etc"}, "valid choice"),
    ],
)
def test_a_faulty_project_is_not_made(make_user, sign_in, change: dict[str, str], words: str) -> None:
    response = sign_in(make_user("ada", is_hospital_owner=True)).post("/projects/new", NEW | change)
    assert response.status_code == 422
    assert words in response.content.decode()
    assert not Project.objects.exists()


def test_looking_at_a_project_makes_it_the_current_one(member, project, hospital) -> None:
    from web_objects import make_project

    client = member("collaborator")
    other = make_project(hospital, "Another")
    Member.objects.create(project=other, user=client.user, role="third_party")
    client.get(f"/projects/{other.key}")
    assert client.session["project"] == other.key
    client.get(f"/projects/{project.key}")
    assert client.session["project"] == project.key


def test_pages_of_a_project_are_headed_by_their_own_names(member, project) -> None:
    owner = member("owner")
    pages = {"/policy": "Policy", "/requests": "Requests", "/policy/access": "Your access"}
    for address, heading in (pages | {f"/projects/{project.key}/members": "Members"}).items():
        page = owner.get(address).content.decode()
        assert f"<h1>{heading}</h1>" in page and project.name in page, address


def test_data_versions_and_snapshots_are_for_owners(member, project, template) -> None:
    page = f"/projects/{project.key}"
    assert "Data version" in member("owner").get(page).content.decode()
    for role in ("collaborator", "third_party", "radiologist", "data_protection_officer"):
        assert "Data version" not in member(role).get(page).content.decode()


def test_an_edit_is_logged_with_what_stood_before(member, project, logged) -> None:
    client = member("owner")
    values = {"name": "PI-RADS", "purpose": "Other", "legal_basis": "Consent", "retention_until": "2041-06-30"}
    assert client.post(f"/projects/{project.key}/edit", values).status_code == 302
    project.refresh_from_db()
    assert (project.purpose, project.retention_until) == ("Other", dt.date(2041, 6, 30))
    facts = {line.facts["what"]: line.facts["before"] for line in logged("project.edit")}
    assert facts == {"purpose": "Prostate MRI", "retention_until": "2040-01-01"}


def test_home_says_what_comes_next_for_whom(member, make_user, sign_in, project, template) -> None:
    assert "Getting ready" in member("owner").get("/").content.decode()
    assert "Ask for more" in member("third_party").get("/").content.decode()
    assert "Read the audit log" in member("data_protection_officer").get("/").content.decode()
    nobody = sign_in(make_user("nob")).get("/").content.decode()
    assert "You are in no project yet" in nobody and project.name not in nobody
    assert "Create your first project" in sign_in(make_user("new", is_hospital_owner=True)).get("/").content.decode()


def test_key_of_a_project_reads_like_its_name() -> None:
    from pydplib.web.projects.models import project_key

    assert project_key("Großes Register").startswith("grosses-register-")
    assert project_key("Ärzte für Übung").startswith("arzte-fur-ubung-")
