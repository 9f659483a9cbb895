"""Every address x role x own and foreign object, against the table in addresses.toml; see there how to add a row."""

from __future__ import annotations

import re
import tomllib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from web_objects import MAKERS, MEMBERS, World, make_project

TABLE: dict[str, dict[str, Any]] = tomllib.loads((Path(__file__).parent / "addresses.toml").read_text("utf-8"))
ROLES = ("anonymous", "outsider", "colleague", "manager", *MEMBERS)
WORDS = {"all": ROLES, "members": tuple(MEMBERS), "strangers": ("outsider", "colleague", "manager")}
OUTCOMES = ("ok", "redirect", "401", "403", "404", "405")
# What a look may write: log lines, the session or token that looks, and how often links were guessed.
WRITTEN_BY_LOOKS = (
    "auditlog_line", "auditlog_head", "django_session", "people_signedinsession", "people_trycount", "api_apitoken",
)  # fmt: skip


def expected_of(row: Mapping[str, Any]) -> dict[str, str]:
    """Return outcome by role; every role exactly once."""
    found = [(role, outcome) for outcome in OUTCOMES for word in row.get(outcome, "").split() for role in _roles(word)]
    counts = Counter(role for role, _ in found)
    assert set(counts) == set(ROLES) and set(counts.values()) == {1}, f"each role once, got {dict(counts)}"
    return dict(found)


def _roles(word: str) -> tuple[str, ...]:
    return WORDS.get(word) or (word,)


def rows_missing(routes: Iterable[str], table: Mapping[str, Any]) -> tuple[list[str], list[str]]:
    """Return the addresses without a row, and the rows without an address."""
    routes = list(routes)
    return sorted(set(routes) - set(table)), sorted(set(table) - set(routes))


def _views() -> dict[str, Any]:
    from pydplib.web.people.permissions import views

    return dict(views())


def test_every_address_has_a_row_and_every_row_an_address() -> None:
    without_row, without_address = rows_missing(_views(), TABLE)
    assert not without_row, "add rows to tests/web/addresses.toml"
    assert not without_address, "rows of addresses that are gone"


def test_an_address_without_row_is_found() -> None:
    assert rows_missing(["", "backdoor"], {"": {}, "gone": {}}) == (["backdoor"], ["gone"])


@pytest.fixture(scope="module")
def made_once(_database: None, sign_in: Any) -> Iterator[tuple[World, World, dict[str, str]]]:
    """Two hospitals with a project each; the second one's owner is the outsider. And a session per role."""
    from django.test import TestCase

    from pydplib.web.people.models import Hospital, User
    from pydplib.web.projects.models import Member

    atomics = TestCase._enter_atomics()
    here = World(hospital := Hospital.objects.create(name="Here"), make_project(hospital))
    there = World(hospital := Hospital.objects.create(name="There"), make_project(hospital, "Other"))
    for role in (*MEMBERS, "colleague", "manager"):
        user = User.objects.create_user(f"{role}-here", hospital=here.hospital, is_hospital_owner=role == "manager")
        here.people[role] = user
        if role in MEMBERS:
            Member.objects.create(project=here.project, user=user, role=MEMBERS[role], department="radiology")
    outsider = User.objects.create_user("outsider-there", hospital=there.hospital, is_hospital_owner=True)
    partner = User.objects.create_user("partner-there", hospital=there.hospital)
    Member.objects.create(project=there.project, user=outsider, role="owner")
    Member.objects.create(project=there.project, user=partner, role="collaborator")
    there.people |= {"owner": outsider, "collaborator": partner}
    users = here.people | {"outsider": outsider}
    yield here, there, {role: sign_in(user).session.session_key for role, user in users.items()}
    TestCase._rollback_atomics(atomics)


@pytest.fixture
def worlds(made_once: tuple[World, World, dict[str, str]]) -> Iterator[tuple[World, World, dict[str, Any]]]:
    """The worlds as they were made, with a fresh browser per role; whatever a test does to them is undone."""
    from django.db import transaction

    here, there, sessions = made_once
    with transaction.atomic():
        yield here, there, {role: browser(key) for role, key in sessions.items()} | {"anonymous": browser()}
        transaction.set_rollback(True)


def browser(session_key: str | None = None, **options: Any) -> Any:
    from django.conf import settings
    from django.test import Client

    client = Client(**options)
    if session_key:
        client.cookies[settings.SESSION_COOKIE_NAME] = session_key
    return client


def programs(here: World, there: World) -> dict[str, Any]:
    """Return a program per role, each with a token of its own and no cookie; the API's doors are for them."""
    from django.test import Client

    from pydplib.web.api.tokens import make_token

    def program(user: Any) -> Any:
        _, token = make_token(user, name="matrix", scopes=["read", "ask", "export"], days=1, second_factor=True)
        return Client(headers={"authorization": f"Bearer {token}"})

    users = here.people | {"outsider": there.owner}
    return {"anonymous": Client()} | {role: program(user) for role, user in users.items()}


def address(route: str, row: Mapping[str, Any], view: Any, world: World) -> str:
    """Return the address of this world's object."""
    values = dict(row.get("with", {}))
    if "of" in row:
        made = MAKERS[row["of"]](world)
        values.setdefault("key", getattr(made, "key", None) or made.pk)
    path = "/" + re.sub(r"<(?:\w+:)?(\w+)>", lambda part: str(values[part[1]]), route)
    query = row.get("query", "")
    if view.permission.kind == "project" and "of" not in row:
        query += ("&" if query else "?") + f"project={world.project.key}"
    return path + query


def outcome_of(response: Any) -> str:
    if 300 <= response.status_code < 400:
        return "redirect"
    return "ok" if response.status_code < 300 else str(response.status_code)


@contextmanager
def nothing_written() -> Iterator[None]:
    """Fail if a statement changes a table that a look has no business with."""
    from django.db import connection

    def watch(execute: Any, sql: str, params: Any, many: bool, context: Any) -> Any:
        if re.match(r"\s*(INSERT|UPDATE|DELETE)", sql, re.I):
            assert any(f'"{table}"' in sql for table in WRITTEN_BY_LOOKS), f"a look writes: {sql.split('VALUES')[0]}"
        return execute(sql, params, many, context)

    with connection.execute_wrapper(watch):
        yield


def _foreign(role: str, expected: Mapping[str, str], row: Mapping[str, Any], kind: str) -> str:
    """Return what a role gets at the other hospital's object; the outsider is at home there."""
    if role == "anonymous" or kind == "public":
        return expected[role]
    if role == "outsider":
        return expected["manager" if kind == "hospital_owner" else "owner"]
    if kind == "hospital_owner" and expected[role] == "403":
        return "403"  # the door refuses before it looks whose object it is
    return str(row.get("foreign", "404"))


@pytest.mark.parametrize("route", [pytest.param(route, id="/" + route) for route in TABLE])
def test_each_role_gets_what_the_table_says(route: str, worlds: tuple[World, World, dict[str, Any]]) -> None:
    here, there, clients = worlds
    view, row = _views().get(route), TABLE[route]
    if view is None:
        pytest.skip("gone: see the test above")
    expected = expected_of(row)
    own = address(route, row, view, here)
    if view.permission.kind == "token":
        assert clients["owner"].get(own).status_code == 401, "a session opens nothing here"
        clients = programs(here, there)
    for role, client in clients.items():
        with nothing_written():
            response = client.get(own)
        assert outcome_of(response) == expected[role], f"{role} at {own}"
        if role == "anonymous" and view.permission.kind not in ("public", "token"):
            assert response.url.startswith("/login?next="), "anonymous visitors are sent to the sign-in"
        if expected[role] in ("403", "404"):
            assert outcome_of(client.post(own)) in (expected[role], "405"), f"{role} posting to {own}"
    if "of" in row or view.permission.kind == "project":
        foreign = address(route, row, view, there)
        for role, client in clients.items():
            assert outcome_of(client.get(foreign)) == _foreign(role, expected, row, view.permission.kind), (
                f"{role}, foreign"
            )


@pytest.mark.parametrize("route", [pytest.param(route, id="/" + route) for route in TABLE])
def test_posting_without_token_and_after_a_loss_of_rights(
    route: str, worlds: tuple[World, World, dict[str, Any]], sign_in: Any
) -> None:
    here, there, clients = worlds
    view, row = _views().get(route), TABLE[route]
    if view is None:
        pytest.skip("gone: see the test above")
    expected, own, entry = expected_of(row), address(route, row, view, here), view.permission
    for role in ("anonymous", "owner"):
        strict = browser(enforce_csrf_checks=True)
        strict.cookies = clients[role].cookies
        # 405: a public page that answers looks alone says so before anything else.
        # The API takes no cookies, so it needs no form's token: without its own there is no way in.
        allowed = {"public": (403, 405), "token": (401,)}.get(entry.kind, (403,))
        if route.startswith("api/v1") and expected[role] == "404":
            allowed = (404, 405)
        assert strict.post(own).status_code in allowed, f"{role} without a token"
    insider = "manager" if entry.kind == "hospital_owner" else "owner"
    enters = expected[insider] in ("ok", "405") and entry.kind != "public"
    if entry.recent and enters:
        client = sign_in(here.people[insider], recent=False)
        assert client.get(own).url.startswith("/confirm?next="), "the password is asked for again"
    if entry.kind in ("project", "hospital_owner") and enters:
        client = sign_in(here.people[insider], second_factor=False)
        assert "second" in client.get(own).url, "owners need a second factor"
    if entry.kind == "token":
        callers = programs(here, there)
        here.project.members.all().delete()
        for role in MEMBERS:
            assert "of" not in row or outcome_of(callers[role].get(own)) == "404", f"{role} was removed, enters {own}"
        type(here.owner).objects.update(is_active=False)
        assert {outcome_of(caller.get(own)) for caller in callers.values()} == {"401"}, "disabled users are out"
    if entry.kind != "project":
        return
    refused = [role for role in MEMBERS if expected[role] in ("403", "404")]
    for role in refused:
        look_through(clients["owner"], here.project, MEMBERS[role])
        assert outcome_of(clients["owner"].get(own)) in ("403", "404"), f"preview as {role} opens {own}"
    for role in set(MEMBERS) - set(refused) - {"owner"}:
        look_through(clients["owner"], here.project, MEMBERS[role])
        assert outcome_of(clients["owner"].post(own)) in ("403", "404", "405"), f"preview as {role} changes {own}"
    here.project.members.all().delete()
    for role in set(MEMBERS) - set(refused):
        assert outcome_of(clients[role].get(own)) == "404", f"{role} was removed and still enters {own}"


def look_through(client: Any, project: Any, role: str) -> None:
    """Let an owner's session look at a project as another role."""
    session = client.session
    session["preview"] = {"project": project.key, "role": role}
    session.save()


def test_a_disabled_user_is_a_stranger_at_the_next_request(worlds: tuple[World, World, dict[str, Any]]) -> None:
    here, _, clients = worlds
    assert clients["radiologist"].get("/").status_code == 200
    type(here.owner).objects.filter(pk=here.people["radiologist"].pk).update(is_active=False)
    assert clients["radiologist"].get("/").url.startswith("/login")
