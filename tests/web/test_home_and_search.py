"""Home, the numbers of the navigation and the search: each member finds what their pages show, and nothing else."""

from __future__ import annotations

import datetime as dt
from types import SimpleNamespace
from typing import Any

import pytest
from web_objects import MAKERS, MEMBERS, World, make_project

CANARY = "CANARY-7Q"


@pytest.fixture
def world(db: None, sign_in: Any) -> Any:
    """Two hospitals; here one of everything, each with a name of its own to search for."""
    from pydplib.web.people.models import Hospital, User
    from pydplib.web.projects.models import Member

    hospital = Hospital.objects.create(name="Here")
    here = World(hospital, make_project(hospital, "Zebra project"))
    for name, role in MEMBERS.items():
        here.people[name] = User.objects.create_user(name, hospital=hospital)
        Member.objects.create(project=here.project, user=here.people[name], role=role, department="radiology")
    other = Hospital.objects.create(name="There")
    outsider = User.objects.create_user("outsider", hospital=other)
    Member.objects.create(project=make_project(other, "Other project"), user=outsider, role="owner")
    board, draft = MAKERS["dashboards.Dashboard"](here), MAKERS["reporting.Report"](here)
    type(board).objects.filter(pk=board.pk).update(title="Zebra dashboard")
    made = {
        "Dashboards": f"/dashboards/{board.key}",
        "Reports": f"/reports/{draft.key}",
        "Analyses": f"/analyses/{MAKERS['analyses.Analysis'](here).key}",
        "Anonymized tables": f"/anonymize/{MAKERS['exports.Export'](here).key}",
        "Synthetic tables": f"/synthetic/{MAKERS['synthetic.SyntheticPurchase'](here).key}",
    }
    users = here.people | {"outsider": outsider}
    clients = {name: sign_in(user) for name, user in users.items()}
    return SimpleNamespace(here=here, made=made, draft=draft, clients=clients, sign_in=sign_in, users=users)


def found(client: Any, query: str) -> str:
    answer = client.post("/search", {"q": query}, headers={"HX-Request": "true"})
    assert answer.status_code == 200
    return str(answer.content.decode())


def everything(world: Any, client: Any) -> str:
    """Return what a member finds by words that are in the names of all things of the world."""
    words = ("zebra", "count", "number", "project", "report", "table", "synthetic", "a", "e", "o")
    return "".join(found(client, word) for word in (*words, world.draft.key[:8]))


@pytest.mark.parametrize("role", [*MEMBERS, "outsider"])
def test_search_finds_exactly_what_the_pages_open(world: Any, role: str) -> None:
    client = world.clients[role]
    page = everything(world, client)
    for kind, url in world.made.items():
        opens = client.get(url).status_code == 200
        assert (f'href="{url}"' in page) == opens, f"{role}: {kind}"
    assert ("Zebra project" in page) == (role != "outsider")
    import re

    for url in set(re.findall(r'href="(/[^"]*)"', page)):
        assert client.get(url).status_code == 200, f"{role} was offered {url}"


def test_a_report_is_found_by_the_beginning_of_its_number_and_in_the_own_department_alone(world: Any) -> None:
    from pydplib.web.projects.models import Member

    key = world.draft.key
    for words in (key[:8], key[:4].upper(), f"report {key[:6]}"):
        assert f"/reports/{key}" in found(world.clients["radiologist"], words)
    assert f"/reports/{key}" not in found(world.clients["radiologist"], key[:3]), "too short to mean one"
    Member.objects.filter(user=world.users["radiologist"]).update(department="cardiology")
    type(world.draft).objects.filter(pk=world.draft.pk).update(author=world.users["owner"])
    assert f"/reports/{key}" not in found(world.clients["radiologist"], key[:8])


def test_search_never_looks_at_data(world: Any) -> None:
    type(world.draft).objects.filter(pk=world.draft.pk).update(answers={"history": CANARY}, values={"x": CANARY})
    for client in world.clients.values():
        for words in (CANARY, CANARY.lower(), "canary"):
            page = found(client, words)
            assert "0 found" in page
            assert "/reports/" not in page


def test_owners_without_second_factor_find_pages_but_no_things(world: Any) -> None:
    from pydplib.web.people.models import Hospital

    Hospital.objects.update(second_factor_grace=0)
    client = world.sign_in(world.users["owner"], second_factor=False)
    page = everything(world, client)
    assert not [url for url in world.made.values() if url in page]
    home = client.get("/").content.decode()
    assert "Set up your second factor" in home
    assert "Patients" not in home


def test_what_was_typed_is_in_no_address_and_the_page_works_without_script(world: Any) -> None:
    client = world.clients["owner"]
    assert 'method="post" action="/search"' in client.get("/search").content.decode()
    assert "Zebra" not in client.get("/search?q=zebra+dashboard").content.decode().split('id="main"')[1]
    whole = client.post("/search", {"q": "zebra dash"}).content.decode()
    assert "<h1>Search</h1>" in whole
    assert world.made["Dashboards"] in whole
    assert "\0" not in client.post("/search", {"q": "\0" * 9 + "x" * 5000}).content.decode()


def _count_of(page: str, label: str) -> int:
    import re

    match = re.search(rf'<span>{label}</span>(?:<span class="count">(\d+))?', page)
    assert match, label
    return int(match[1] or 0)


def test_numbers_of_the_navigation_and_the_home_page_say_the_same(world: Any) -> None:
    MAKERS["projects.AccessRequest"](world.here)
    MAKERS["intake.ImportBatch"](world.here)
    author = world.draft.author.username
    page = world.clients["owner"].get("/").content.decode()
    assert _count_of(page, "Requests") == 1
    assert "1 request to decide" in page
    assert _count_of(page, "Import") == 1
    assert "1 import to go on with" in page
    assert author in ("owner", "radiologist")
    page = world.clients[author].get("/").content.decode()
    assert _count_of(page, "Reports") == 1
    assert "1 draft to finish" in page
    partner = world.clients["third_party"].get("/").content.decode()
    assert "to decide" not in partner
    assert 'class="count"' not in partner


def test_a_decided_request_waits_no_more(world: Any) -> None:
    from pydplib.web.projects.models import Approval

    asked = MAKERS["projects.AccessRequest"](world.here)
    Approval.objects.create(request=asked, by=world.users["owner"], agrees=True)
    page = world.clients["owner"].get("/").content.decode()
    assert _count_of(page, "Requests") == 0
    assert "to decide" not in page


def test_home_tells_partners_of_their_own_things_alone(world: Any) -> None:
    from pydplib.web.auditlog.log import record

    record(world.users["owner"], "report.sign", world.draft.key, project=world.here.project)
    owner = world.clients["owner"].get("/").content.decode()
    assert "Signed a report" in owner
    for role in ("collaborator", "third_party"):
        page = world.clients[role].get("/").content.decode()
        assert "Signed a report" not in page
        assert "Patients" not in page
        assert world.draft.key not in page
    assert world.draft.key not in world.clients["officer"].get("/").content.decode()


def test_a_published_dashboard_is_news_by_its_title_and_its_questions_are_not(world: Any) -> None:
    from pydplib.web.analyses.models import Analysis
    from pydplib.web.auditlog.log import record

    project, owner = world.here.project, world.users["owner"]
    asked = Analysis.objects.get(key=world.made["Analyses"].rsplit("/", 1)[1])
    record(owner, "analysis.ask", asked.key, project=project)
    record(owner, "dashboard.publish", world.made["Dashboards"].rsplit("/", 1)[1], project=project)
    page = world.clients["owner"].get("/").content.decode()
    assert "Published a dashboard: Zebra dashboard" in page and "Asked for a statistic" in page
    Analysis.objects.filter(pk=asked.pk).update(recipient="dashboard:third_party")
    assert "Asked for a statistic" not in world.clients["owner"].get("/").content.decode()


def test_reports_are_sorted_by_columns_and_views_are_kept_for_their_owner(world: Any) -> None:
    from django.utils import timezone

    from pydplib.web.reporting.models import Report, SavedFilter

    first = world.draft
    Report.objects.filter(pk=first.pk).update(department="alpha", changed=timezone.now() - dt.timedelta(days=3))
    second = Report.objects.create(
        project=first.project,
        patient=first.patient,
        template=first.template,
        author=world.users["owner"],
        department="omega",
    )
    client = world.clients["owner"]

    def order(query: str) -> list[str]:
        page = client.get(f"/reports?project={first.project.key}&{query}").content.decode()
        keys = sorted((first.key, second.key), key=lambda key: page.rindex(f"/reports/{key}"))
        return ["first" if key == first.key else "second" for key in keys]

    assert order("") == ["second", "first"], "the latest first"
    assert order("sort=department") == ["first", "second"]
    assert order("sort=-department") == ["second", "first"]
    assert order("sort=patient__pseudonym") == order(""), "only what the table names"
    page = client.get("/reports?sort=-department&state=draft").content.decode()
    assert page.count('aria-sort="descending"') == 1
    assert "?sort=department&amp;state=draft" in page
    kept = client.post("/reports/filters", {"name": " My  drafts ", "state": "draft", "sort": "author", "evil": "1"})
    assert kept.url == "/reports?state=draft&sort=author"
    assert "My drafts" in client.get("/reports").content.decode()
    assert "My drafts" not in world.clients["radiologist"].get("/reports").content.decode()
    made = SavedFilter.objects.get()
    assert world.clients["radiologist"].post("/reports/filters/remove", {"filter": made.key}).status_code == 404
    assert client.post("/reports/filters", {"name": "nothing"}).status_code == 422
    client.post("/reports/filters/remove", {"filter": made.key})
    assert not SavedFilter.objects.exists()
