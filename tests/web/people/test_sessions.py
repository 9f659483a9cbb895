"""Sessions: time limits, the list, and their end when something about the user changes."""

from __future__ import annotations

from typing import Any

import pytest


def _is_in(client: Any) -> bool:
    return client.get("/account").status_code == 200


def test_session_left_alone_ends_with_a_word_and_a_way_back(sign_in, make_user, clock) -> None:
    client = sign_in(make_user("rosa"))
    assert _is_in(client)
    clock(minutes=29)
    assert _is_in(client)
    clock(minutes=29)
    assert _is_in(client)  # used in between
    clock(minutes=31)
    answer = client.get("/account?tab=2")
    assert answer.url == "/login?next=%2Faccount%3Ftab%3D2"
    assert b"signed out after a while" in client.get(answer.url).content
    assert b"signed out after a while" not in client.get(answer.url).content  # said once


def test_session_ends_after_a_working_day_in_any_case(sign_in, make_user, clock) -> None:
    client = sign_in(make_user("rosa"))
    for _ in range(29):
        clock(minutes=25)
        assert _is_in(client), "used every 25 minutes"
    clock(minutes=25)  # 12 and a half hours in all
    assert not _is_in(client)
    assert b"end of a long day" in client.get("/login").content


def test_form_sent_after_the_end_leads_back_to_its_page(sign_in, make_user, clock) -> None:
    client = sign_in(make_user("rosa"))
    _is_in(client)
    clock(minutes=31)
    answer = client.post("/account/sessions/end", {"session": "1"}, headers={"Referer": "http://testserver/account"})
    assert answer.url == "/login?next=%2Faccount"


def test_part_of_a_page_asked_for_after_the_end_moves_the_whole_page(sign_in, make_user, clock) -> None:
    client = sign_in(make_user("rosa"))
    _is_in(client)
    clock(minutes=31)
    answer = client.get("/account", headers={"HX-Request": "true", "HX-Current-URL": "http://testserver/reports/x"})
    assert (answer.status_code, answer.headers["HX-Redirect"]) == (401, "/login?next=%2Freports%2Fx")


def test_return_address_is_never_a_foreign_page(sign_in, make_user, clock) -> None:
    client = sign_in(make_user("rosa"))
    _is_in(client)
    clock(minutes=31)
    answer = client.post("/logout", headers={"Referer": "https://evil.example/x"})
    assert answer.url == "/login?next=%2F"


def test_disabling_a_user_ends_all_sessions_at_once(sign_in, make_user, owner) -> None:
    from pydplib.web.people.accounts import set_active

    user = make_user("rosa")
    one, two = sign_in(user), sign_in(user)
    assert _is_in(one) and _is_in(two)
    set_active(owner, user, active=False)
    assert not _is_in(one) and not _is_in(two)
    set_active(owner, user, active=True)
    assert not _is_in(one), "an ended session does not come back"


def test_changing_the_password_ends_all_other_sessions(sign_in, make_user, password) -> None:
    user = make_user("rosa")
    here, there = sign_in(user), sign_in(user)
    old = here.session.session_key
    new = "seven unrelated words"
    answer = here.post("/account/password", {"current": password(user), "password": new, "again": new})
    assert answer.url == "/account"
    assert _is_in(here) and not _is_in(there)
    assert here.session.session_key != old
    assert b"this one" in here.get("/account").content


def test_revoked_role_works_no_more_on_the_next_request(member, project) -> None:
    from django.http import Http404, HttpResponse

    from pydplib.errors import PolicyError
    from pydplib.web.projects.models import Member, Project
    from pydplib.web.projects.permissions import requires

    client = member("owner")
    guarded = requires("edit_policy", of=Project)(lambda request: HttpResponse("in"))
    request = client.get("/account").wsgi_request
    request.session = client.session
    assert guarded(request, key=project.key).content == b"in"
    Member.objects.filter(user=client.user).update(role="third_party")
    with pytest.raises(PolicyError):
        guarded(request, key=project.key)
    Member.objects.filter(user=client.user).delete()
    with pytest.raises(Http404):
        guarded(request, key=project.key)


def test_account_lists_sessions_and_ends_one(make_user, password) -> None:
    from django.test import Client

    from pydplib.web.people.models import SignedInSession

    user = make_user("rosa")
    clients = []
    for agent in ("Mozilla/5.0 (X11; Linux x86_64) Firefox/140.0", "Mozilla/5.0 (iPhone) Version/18 Safari/600"):
        client = Client(headers={"User-Agent": agent})
        client.post("/login", {"username": "rosa", "password": password(user)})
        clients.append(client)
    here, there = clients
    page = here.get("/account").content.decode()
    assert "Firefox on Linux" in page and "Safari on iPhone" in page and "this one" in page
    assert there.session.session_key not in page
    row = SignedInSession.objects.get(session_key=there.session.session_key)
    here.post("/account/sessions/end", {"session": row.pk})
    assert _is_in(here) and not _is_in(there)


def test_session_of_somebody_else_cannot_be_ended(sign_in, make_user) -> None:
    from pydplib.web.people.models import SignedInSession

    rosa, carl = sign_in(make_user("rosa")), sign_in(make_user("carl"))
    row = SignedInSession.objects.get(session_key=carl.session.session_key)
    for which in (row.pk, "x", "", "99999999"):
        assert rosa.post("/account/sessions/end", {"session": which}).status_code == 404
    assert _is_in(carl)


def test_all_other_sessions_end_by_one_button(sign_in, make_user, lines) -> None:
    user = make_user("rosa")
    here, there, elsewhere = sign_in(user), sign_in(user), sign_in(user)
    here.post("/account/sessions/end", {"session": "others"})
    assert _is_in(here) and not _is_in(there) and not _is_in(elsewhere)
    assert "user.end_session" in lines()


def test_login_as_another_user_leaves_nothing_of_the_first(client, make_user, password) -> None:
    rosa, carl = make_user("rosa"), make_user("carl")
    client.post("/login", {"username": "rosa", "password": password(rosa)})
    session = client.session
    session["project"] = "of-rosa"
    session.save()
    client.post("/login", {"username": "carl", "password": password(carl)})
    assert "project" not in client.session
    assert client.get("/account").wsgi_request.user.username == "carl"
