"""One-time links: first set-up, welcome, reset, demonstration."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

NEW = "seven unrelated words"


def _link(purpose: str, user: Any = None) -> str:
    from pydplib.web.people.links import link_path, make_link

    return link_path(make_link(purpose, user=user))


def test_setup_link_makes_hospital_and_owner_then_asks_for_the_phone(client, lines) -> None:
    from pydplib.web.people.models import User

    answer = client.get(_link("setup"))
    assert answer.url == "/setup"
    page = client.get("/setup")
    assert page.status_code == 200
    values = {"hospital": "St. Example", "username": "ada", "full_name": "Ada L.", "password": NEW, "again": NEW}
    assert (
        b"too common" in client.post("/setup", values | {"password": "password1234", "again": "password1234"}).content
    )
    done = client.post("/setup", values)
    assert done.url == "/account/second-factor"
    owner = User.objects.get()
    assert owner.is_hospital_owner and owner.hospital.name == "St. Example" and owner.check_password(NEW)
    assert client.get("/account/second-factor").status_code == 200
    assert client.get("/hospital").url == "/account/second-factor", "nothing opens before the phone is enrolled"
    assert lines()[:2] == ["hospital.set_up", "user.invite"]


def test_setup_works_once_and_only_on_an_empty_server(client, make_user) -> None:
    path = _link("setup")
    client.get(path)
    make_user("first")
    values = {"hospital": "X", "username": "eve", "password": NEW, "again": NEW}
    assert client.post("/setup", values).status_code == 403
    from pydplib.web.people.models import User
    from pydplib.web.upkeep import setup_token

    assert not User.objects.filter(username="eve").exists()
    assert setup_token() is None


def test_setup_without_the_link_is_not_there(client) -> None:
    assert client.get("/setup").status_code == 404
    assert client.post("/setup", {"hospital": "X", "username": "eve", "password": NEW, "again": NEW}).status_code == 404


def test_new_setup_link_replaces_the_former(client, db) -> None:
    from pydplib.web.people.links import link_path
    from pydplib.web.upkeep import setup_token

    first, second = setup_token(), setup_token()
    assert client.get(link_path(first)).status_code == 404
    assert client.get(link_path(second)).status_code == 302


@pytest.mark.parametrize("name", ["", "a", "-x", "ada lovelace", "ſosa", "rosa\u0000", "a" * 81, "<b>"])
def test_setup_refuses_strange_names(client, db, name) -> None:
    from pydplib.web.people.models import User

    client.get(_link("setup"))
    values = {"hospital": "X", "username": name, "password": NEW, "again": NEW}
    assert client.post("/setup", values).status_code == 200
    assert not User.objects.exists()


def test_welcome_link_sets_the_password_and_signs_in(client, hospital) -> None:
    from pydplib.web.people.models import User

    user = User.objects.create_user("rosa", hospital=hospital)
    path = _link("welcome", user)
    answer = client.get(path)
    assert answer.url == "/welcome", "the token is gone from the address at once"
    assert answer.headers["Referrer-Policy"] == client.get("/welcome").headers["Referrer-Policy"] == "no-referrer"
    assert path.split("/")[-1] not in client.get("/welcome").content.decode()
    assert client.post("/welcome", {"password": NEW, "again": NEW}).url == "/"
    assert client.get("/account").status_code == 200
    user.refresh_from_db()
    assert user.check_password(NEW)


def test_looking_at_a_link_does_not_use_it_up(client, make_user) -> None:
    from django.test import Client

    path = _link("reset", make_user("rosa"))
    for _ in range(3):
        assert Client().get(path).status_code == 302


def test_link_works_once(client, make_user) -> None:
    from django.test import Client

    path = _link("reset", make_user("rosa"))
    other = Client()
    client.get(path)
    other.get(path)
    assert client.post("/welcome", {"password": NEW, "again": NEW}).status_code == 302
    assert other.post("/welcome", {"password": NEW + "!", "again": NEW + "!"}).status_code == 404
    assert Client().get(path).status_code == 404


def test_link_is_used_by_one_of_two_at_once(make_user) -> None:
    from pydplib.errors import PolicyError
    from pydplib.web.people.accounts import choose_password
    from pydplib.web.people.links import find_link, make_link

    user = make_user("rosa")
    token = make_link("reset", user=user)
    first, second = find_link(token), find_link(token)  # both found it before either used it
    choose_password(first, NEW)
    with pytest.raises(PolicyError, match="used already"):
        choose_password(second, "another long password")
    user.refresh_from_db()
    assert user.check_password(NEW)


@pytest.mark.parametrize(("purpose", "hours"), [("welcome", 24 * 7), ("reset", 24), ("setup", 24)])
def test_link_ends_by_itself(client, make_user, clock, purpose, hours) -> None:
    path = _link(purpose, None if purpose == "setup" else make_user("rosa"))
    clock(hours=hours - 0.1)
    assert client.get(path).status_code == 302
    clock(hours=0.2)
    assert client.get(path).status_code == 404
    assert client.get("/setup" if purpose == "setup" else "/welcome").status_code == 404


def test_reset_link_ends_sessions_and_asks_for_the_code(client, make_user, sign_in, phone) -> None:
    user = make_user("rosa")
    mine = phone(user)
    open_session = sign_in(user)
    client.get(_link("reset", user))
    assert client.post("/welcome", {"password": NEW, "again": NEW}).url == "/login/code"
    assert open_session.get("/account").status_code == 302
    assert client.get("/account").status_code == 302, "the second factor is still owed"
    assert client.post("/login/code", {"code": mine.code()}).status_code == 302


def test_link_of_a_disabled_user_does_not_work(client, make_user) -> None:
    user = make_user("rosa")
    path = _link("reset", user)
    user.is_active = False
    user.save()
    assert client.get(path).status_code == 404


def test_database_holds_no_token(client, make_user) -> None:
    from django.contrib.sessions.models import Session

    from pydplib.web.people.models import OneTimeLink

    path = _link("reset", make_user("rosa"))
    token = path.split("/")[-1]
    client.get(path)
    assert len(token) >= 43
    rows = str(list(OneTimeLink.objects.values())) + str([s.get_decoded() for s in Session.objects.all()])
    assert token not in rows


def test_guessing_links_is_limited(client, make_user) -> None:
    path = _link("reset", make_user("rosa"))
    for number in range(20):
        assert client.get(f"/welcome/guess{number}").status_code == 404
    assert client.get(path).status_code == 429


def test_token_is_struck_out_of_log_lines() -> None:
    import logging

    from pydplib.web.logs import QuietFormatter

    record = logging.LogRecord("x", 40, "f", 1, "Error: %s", ("/welcome/abc-DEF_123?x=1",), None)
    assert QuietFormatter().format(record) == "Error: /welcome/...?x=1"


@pytest.fixture
def demo(db: None) -> Any:
    from django.conf import settings
    from django.test import override_settings

    with override_settings(CONFIGURATION=replace(settings.CONFIGURATION, demo=True)):
        yield


def test_demo_link_signs_in_at_once_and_says_so(client, demo, make_user) -> None:
    owner = make_user("olivia", is_hospital_owner=True)
    assert client.get(_link("demo", owner)).url == "/"
    assert client.get("/hospital").status_code == 200, "the second factor is waived"
    assert b"In the demonstration nobody needs one" in client.get("/account").content
    assert client.session["demo"] is True


def test_demo_link_works_on_this_machine_alone(client, demo, make_user) -> None:
    path = _link("demo", make_user("olivia"))
    assert client.get(path, REMOTE_ADDR="192.0.2.7").status_code == 404
    assert client.get(path, headers={"X-Forwarded-For": "192.0.2.7"}).status_code == 404
    assert client.get(path, REMOTE_ADDR="::1").status_code == 302


def test_demo_link_does_nothing_on_a_real_server(client, make_user) -> None:
    assert client.get(_link("demo", make_user("olivia"))).status_code == 404
    assert client.get("/account").status_code == 302


def test_demo_session_is_worth_nothing_once_the_server_is_real(client, make_user, hospital) -> None:
    from django.conf import settings
    from django.test import override_settings

    owner = make_user("olivia", is_hospital_owner=True)
    with override_settings(CONFIGURATION=replace(settings.CONFIGURATION, demo=True)):
        client.get(_link("demo", owner))
        assert client.post("/confirm", {"next": "/account"}).url == "/account", "no password to confirm with"
        assert client.post("/demo/person", {"person": "olivia"}).url == "/"
    assert client.get("/hospital").url == "/account/second-factor"
    assert client.post("/confirm", {"next": "/account"}).status_code == 200
    assert client.post("/demo/person", {"person": "olivia"}).status_code == 404


def test_people_cannot_be_switched_outside_of_the_demonstration(sign_in, make_user, demo) -> None:
    make_user("olivia")
    client = sign_in(make_user("rosa"))  # in the demonstration, but not by one of its links
    assert client.post("/demo/person", {"person": "olivia"}).status_code == 404


def test_demonstration_goes_on_after_a_break_and_after_the_browser_was_closed(client, demo, make_user, clock) -> None:
    owner = make_user("olivia", is_hospital_owner=True)
    client.get(_link("demo", owner))
    clock(hours=20)
    assert client.get("/hospital").status_code == 200, "no idle limit, no end of the day"
    del client.cookies["session"]
    page = client.get("/login").content.decode()
    assert "Continue as" in page and 'value="olivia"' in page
    assert client.post("/demo/person", {"person": "olivia"}, REMOTE_ADDR="192.0.2.7").status_code == 404
    assert client.post("/demo/person", {"person": "olivia"}).url == "/"
    assert client.get("/hospital").status_code == 200


def test_demonstration_lets_no_browser_in_that_never_had_a_link(client, demo, make_user) -> None:
    make_user("olivia")
    assert "Continue as" not in client.get("/login").content.decode()
    assert client.post("/demo/person", {"person": "olivia"}).status_code == 404
    client.cookies["demo-entered"] = "forged:mark"
    assert client.post("/demo/person", {"person": "olivia"}).status_code == 404


def test_choosing_a_password_ends_links_of_every_kind(client, make_user) -> None:
    ada = make_user("ada")
    welcome, reset = _link("welcome", ada), _link("reset", ada)
    client.get(reset)
    assert client.post("/welcome", {"password": NEW, "again": NEW}).status_code == 302
    assert client.get(welcome).status_code == 404, "whoever else holds the first link gets nothing by it"
