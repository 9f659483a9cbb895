"""Signing in and out: password, code, lockout, a new session id."""

from __future__ import annotations

import datetime as dt
import re
from typing import Any

import pytest


def _enter(client: Any, user: Any, word: str, **more: str) -> Any:
    return client.post("/login", {"username": user.username, "password": word, **more})


def _without_token(page: Any) -> str:
    return re.sub(r"[A-Za-z0-9]{64}", "TOKEN", page.content.decode())


def test_login_with_the_right_password_goes_where_the_user_wanted(client, make_user, password, lines) -> None:
    user = make_user("rosa")
    asked = client.get("/account")
    assert asked.status_code == 302 and asked.url == "/login?next=%2Faccount"
    answer = _enter(client, user, password(user), next="/account")
    assert (answer.status_code, answer.url) == (302, "/account")
    assert client.get("/account").status_code == 200
    assert "user.sign_in" in lines()


def test_login_with_a_wrong_password_says_nothing_about_the_user(client, make_user) -> None:
    known = _enter(client, make_user("rosa"), "wrong-password-entirely")
    unknown = client.post("/login", {"username": "nobody", "password": "wrong-password-entirely"})
    assert known.status_code == unknown.status_code == 200
    assert _without_token(known).replace("rosa", "NAME") == _without_token(unknown).replace("nobody", "NAME")
    assert b"Name or password is not right" in known.content


def test_login_failures_are_logged_without_what_was_typed(client, make_user) -> None:
    from pydplib.web.auditlog.models import Line

    make_user("rosa")
    client.post("/login", {"username": "ROSA", "password": "canary-password"})
    client.post("/login", {"username": "canary-in-the-wrong-field", "password": "x"})
    subjects = list(Line.objects.filter(action="user.sign_in_fail").values_list("subject", flat=True))
    assert subjects == ["rosa", "unknown"]
    assert not any("canary" in line.body for line in Line.objects.all())


def test_login_failure_takes_the_same_steps_for_known_and_unknown_names(client, make_user, monkeypatch) -> None:
    """An unknown name is hashed, counted and logged like a known one, so that time tells nothing."""
    from django.contrib.auth import hashers
    from django.db import connection
    from django.test.utils import CaptureQueriesContext

    hashed: list[str] = []
    real = hashers.MD5PasswordHasher.encode
    monkeypatch.setattr(hashers.MD5PasswordHasher, "encode", lambda *a, **k: hashed.append("x") or real(*a, **k))
    make_user("rosa")
    client.post("/login", {"username": "other", "password": "wrong"})  # makes the counter of this address
    counts = {}
    for name in ("rosa", "nobody"):
        hashed.clear()
        with CaptureQueriesContext(
            connection,
        ) as queries:
            client.post("/login", {"username": name, "password": "wrong-password"})
        counts[name] = (len(hashed), sum(q["sql"].split()[0] in ("INSERT", "UPDATE") for q in queries))
    assert counts["rosa"] == counts["nobody"]


@pytest.mark.parametrize("name", ["rosa", "Rosa", "ROSA"])
def test_login_compares_names_without_case(client, make_user, password, name) -> None:
    user = make_user("rosa")
    assert client.post("/login", {"username": name, "password": password(user)}).status_code == 302


def test_login_of_a_disabled_user_is_refused_like_a_wrong_password(client, make_user, password) -> None:
    user = make_user("rosa", is_active=False)
    assert b"Name or password is not right" in _enter(client, user, password(user)).content


def test_login_without_a_password_set_is_refused(client, hospital) -> None:
    from pydplib.web.people.models import User

    User.objects.create_user("invited", hospital=hospital)
    for word in ("", "!", "None"):
        page = client.post("/login", {"username": "invited", "password": word})
        assert page.status_code == 200
    assert client.get("/").status_code == 302


def test_login_changes_the_session_id(client, make_user, password) -> None:
    session = client.session
    session["planted"] = True
    session.save()
    before = client.session.session_key
    user = make_user("rosa")
    _enter(client, user, password(user))
    assert client.session.session_key != before
    assert client.get("/account").status_code == 200


def test_login_is_locked_after_five_failures_also_for_the_right_password(client, make_user, password) -> None:
    user = make_user("rosa")
    for _ in range(4):
        assert _enter(client, user, "wrong").status_code == 200
    fifth = _enter(client, user, "wrong")
    assert fifth.status_code == 429 and b"Too many tries" in fifth.content
    assert _enter(client, user, password(user)).status_code == 429
    assert client.get("/").status_code == 302


def test_lockout_counts_all_spellings_of_a_name_together(client, make_user, password) -> None:
    user = make_user("rosa")
    for name in ("rosa", "Rosa", "ROSA", "rOsa", " roSa"):
        client.post("/login", {"username": name, "password": "wrong"})
    assert _enter(client, user, password(user)).status_code == 429


def test_lockout_page_is_the_same_for_names_that_do_not_exist(client, make_user) -> None:
    make_user("rosa")
    pages = {}
    for name in ("rosa", "nobody"):
        for _ in range(6):
            pages[name] = client.post("/login", {"username": name, "password": "wrong"})
    assert pages["rosa"].status_code == pages["nobody"].status_code == 429
    assert _without_token(pages["rosa"]) == _without_token(pages["nobody"])
    for page in pages.values():
        assert "Access-Control-Allow-Origin" not in page.headers


def test_lockout_ends_after_a_quarter_of_an_hour(client, make_user, password) -> None:
    from axes.models import AccessAttempt

    user = make_user("rosa")
    for _ in range(5):
        _enter(client, user, "wrong")
    AccessAttempt.objects.update(attempt_time=dt.datetime.now(dt.UTC) - dt.timedelta(minutes=16))
    assert _enter(client, user, password(user)).status_code == 302


def test_a_clock_that_ran_ahead_and_was_set_right_locks_nobody_out(client, make_user, password, phone) -> None:
    from axes.models import AccessAttempt
    from django_otp.plugins.otp_totp.models import TOTPDevice

    from pydplib.web.people.models import TryCount

    user, ahead = make_user("rosa"), dt.datetime.now(dt.UTC) + dt.timedelta(days=3)
    for _ in range(7):
        _enter(client, user, "wrong")
    assert _enter(client, user, password(user)).status_code == 429
    AccessAttempt.objects.update(attempt_time=ahead)
    TryCount.objects.update(since=ahead, count=1000)
    assert _enter(client, user, password(user)).status_code == 302
    olivia = make_user("olivia")
    device = phone(olivia)
    TOTPDevice.objects.update(last_t=10**9)  # a code of the far future was used
    from pydplib.web.people.sign_in.second_factor import check_code

    code = device.code()
    assert check_code(olivia, code) == "phone" and check_code(olivia, code) is None, "still once"


def test_one_password_tried_on_many_names_is_stopped_by_address(client, make_user, password, clock) -> None:
    user = make_user("rosa")
    for number in range(50):
        assert client.post("/login", {"username": f"name{number}", "password": "Winter2026!"}).status_code == 200
    assert _enter(client, user, password(user)).status_code == 429
    clock(minutes=16)
    assert _enter(client, user, password(user)).status_code == 302


def test_what_was_typed_is_not_kept_by_the_lockout(client, make_user) -> None:
    from axes.models import AccessAttempt

    client.post("/login?password=canary-get", {"username": "canary-name", "password": "canary-password"})
    row = AccessAttempt.objects.get()
    assert row.failures_since_start == 1 and "canary" not in str(vars(row)), "neither the name nor the password"


@pytest.mark.parametrize(
    "target",
    [
        "https://evil.example/",
        "//evil.example",
        "/\\evil.example",
        "javascript:alert(1)",
        "http:///evil.example",
        "\\\\evil.example",
        "/%0d%0aSet-Cookie:x",
        "https:evil.example",
    ],
)
def test_login_goes_to_no_foreign_address(client, make_user, password, target) -> None:
    user = make_user("rosa")
    url = _enter(client, user, password(user), next=target).url
    assert url.startswith("/") and not url.startswith(("//", "/\\")) and "\n" not in url


def test_login_with_a_phone_needs_the_code_too(client, make_user, password, phone, lines) -> None:
    user = make_user("rosa")
    device = phone(user)
    first = _enter(client, user, password(user), next="/account")
    assert first.url == "/login/code"
    assert client.get("/account").status_code == 302  # the password alone opens nothing
    wrong = client.post("/login/code", {"code": "000000" if device.code() != "000000" else "111111"})
    assert wrong.status_code == 200 and client.get("/account").status_code == 302
    right = client.post("/login/code", {"code": device.code()})
    assert right.url == "/account"
    page = client.get("/account")
    assert page.status_code == 200 and page.wsgi_request.user.is_verified()
    assert lines()[-1] == "user.sign_in" and "user.code_fail" in lines()


def test_code_works_once(make_user, password, phone) -> None:
    from django.test import Client

    user = make_user("rosa")
    device = phone(user)
    code = device.code()
    for number, expected in ((1, 302), (2, 200)):
        client = Client()
        _enter(client, user, password(user))
        assert client.post("/login/code", {"code": code}).status_code == expected, number


def test_code_is_locked_after_five_tries_and_the_right_one_is_refused(client, make_user, password, phone) -> None:
    user = make_user("rosa")
    device = phone(user)
    _enter(client, user, password(user))
    wrong = f"{(int(device.code()) + 500_000) % 1_000_000:06d}"
    for _ in range(5):
        assert client.post("/login/code", {"code": wrong}).status_code == 200
    assert client.post("/login/code", {"code": device.code()}).status_code == 429
    _enter(client, user, password(user))  # the password again does not open the lock
    assert client.post("/login/code", {"code": device.code()}).status_code == 429


def test_code_tries_per_day_are_limited_although_each_quarter_is_not(client, make_user, password, phone, clock) -> None:
    user = make_user("rosa")
    device = phone(user)
    wrong = f"{(int(device.code()) + 500_000) % 1_000_000:06d}"
    for _ in range(5):
        clock(minutes=16)
        _enter(client, user, password(user))
        for _ in range(4):
            client.post("/login/code", {"code": wrong})
    clock(minutes=16)
    _enter(client, user, password(user))
    assert client.post("/login/code", {"code": device.code()}).status_code == 429
    clock(hours=25)
    _enter(client, user, password(user))
    assert client.post("/login/code", {"code": device.code()}).status_code == 302


def test_password_step_is_forgotten_after_five_minutes(client, make_user, password, phone, clock) -> None:
    user = make_user("rosa")
    device = phone(user)
    _enter(client, user, password(user))
    clock(minutes=6)
    assert client.post("/login/code", {"code": device.code()}).url == "/login"


def test_password_step_is_void_once_the_password_changed(client, make_user, password, phone) -> None:
    user = make_user("rosa")
    device = phone(user)
    _enter(client, user, password(user))
    user.set_password("another-long-password")
    user.save()
    assert client.post("/login/code", {"code": device.code()}).url == "/login"


def test_recovery_code_signs_in_once(make_user, password, phone) -> None:
    from django.test import Client

    from pydplib.web.people.sign_in.second_factor import new_recovery_codes

    user = make_user("rosa")
    phone(user)
    code = new_recovery_codes(user)[3]
    for spelling, expected in ((code.upper().replace("-", " "), 302), (code, 200)):
        client = Client()
        _enter(client, user, password(user))
        assert client.post("/login/code", {"code": spelling}).status_code == expected
        if expected == 302:
            assert b"9 are left" in client.get("/").content


def test_logout_ends_the_session_by_post_alone(sign_in, make_user, lines) -> None:
    client = sign_in(make_user("rosa"))
    old = client.session.session_key
    assert client.get("/logout").status_code == 405
    assert client.post("/logout").url == "/login"
    client.cookies["session"] = old
    assert client.get("/account").status_code == 302
    assert "user.sign_out" in lines()


def test_forms_need_the_token_of_our_own_pages(db) -> None:
    from django.test import Client

    client = Client(enforce_csrf_checks=True)
    page = client.post("/login", {"username": "a", "password": "b"})
    assert page.status_code == 403 and b"load the page again" in page.content and b"<style" not in page.content


def test_one_name_tried_from_many_addresses_is_stopped(client, make_user, password, clock) -> None:
    user = make_user("rosa")
    word = {"username": "Rosa", "password": "wrong"}
    answers = [client.post("/login", word, REMOTE_ADDR=f"192.0.2.{number // 4}") for number in range(60)]
    assert {answer.status_code for answer in answers} == {200}
    assert _enter(client, user, password(user)).status_code == 429
    clock(minutes=61)
    assert _enter(client, user, password(user)).status_code == 302


def test_one_address_that_goes_on_trying_uses_up_no_name_for_others(client, make_user, password) -> None:
    user = make_user("rosa")
    for _ in range(70):
        client.post("/login", {"username": "rosa", "password": "wrong"}, REMOTE_ADDR="192.0.2.1")
    there = client.post("/login", {"username": "rosa", "password": password(user)}, REMOTE_ADDR="192.0.2.1")
    assert there.status_code == 429
    here = client.post("/login", {"username": "rosa", "password": password(user)}, REMOTE_ADDR="192.0.2.9")
    assert here.status_code == 302


def _strangers_try(name: str, tries: int) -> None:
    from django.test import Client

    for number in range(tries):
        word = {"username": name, "password": "wrong"}
        Client().post("/login", word, REMOTE_ADDR=f"192.0.2.{number // 4}")


def test_strangers_lock_nobody_out_of_a_browser_that_was_used_before(client, make_user, password) -> None:
    from django.test import Client

    user = make_user("rosa")
    _enter(client, user, password(user))
    client.post("/logout")
    _strangers_try("rosa", 61)
    for _ in range(5):  # and somebody at the same address
        Client().post("/login", {"username": "rosa", "password": "wrong"})
    assert _enter(client, user, password(user)).status_code == 302
    client.post("/logout")
    for _ in range(5):
        assert _enter(client, user, "wrong").status_code == 200
    assert _enter(client, user, password(user)).status_code == 429, "a browser that is known is bounded too"


def test_a_known_browser_is_known_for_its_user_and_password_alone(client, make_user, password) -> None:
    from django.conf import settings

    rosa, carl = make_user("rosa"), make_user("carl")
    cookie = _enter(client, rosa, password(rosa)).cookies[settings.KNOWN_BROWSER_COOKIE_NAME]
    assert cookie["httponly"] and cookie["samesite"] == "Strict" and rosa.username not in cookie.value
    client.post("/logout")
    _strangers_try("carl", 61)
    assert _enter(client, carl, password(carl)).status_code == 429, "another user's"
    _strangers_try("rosa", 61)
    rosa.set_password("another-long-enough")
    rosa.save()
    assert _enter(client, rosa, "another-long-enough").status_code == 429, "of a password that is over"
    client.cookies[settings.KNOWN_BROWSER_COOKIE_NAME] = cookie.value[:-2] + "xx"
    assert _enter(client, rosa, "another-long-enough").status_code == 429, "forged"
