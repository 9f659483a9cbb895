"""The password once more before what matters; name and password of one's own."""

from __future__ import annotations

import pytest


def test_confirm_opens_what_needs_it_for_five_minutes(sign_in, make_user, password, clock) -> None:
    user = make_user("rosa")
    client = sign_in(user, second_factor=False, recent=False)
    sent = client.get("/account/second-factor")
    assert sent.url == "/confirm?next=%2Faccount%2Fsecond-factor"
    wrong = client.post("/confirm", {"password": "wrong", "next": "/account/second-factor"})
    assert wrong.status_code == 200 and client.get("/account/second-factor").status_code == 302
    right = client.post("/confirm", {"password": password(user), "next": "/account/second-factor"})
    assert right.url == "/account/second-factor"
    assert client.get("/account/second-factor").status_code == 200
    clock(minutes=5, seconds=1)
    assert client.get("/account/second-factor").status_code == 302


def test_confirm_asks_for_the_code_of_those_who_have_a_phone(sign_in, make_user, password, phone) -> None:
    user = make_user("rosa")
    mine = phone(user)
    client = sign_in(user, recent=False)
    assert client.post("/confirm", {"password": password(user)}).status_code == 200
    assert client.post("/confirm", {"password": "wrong", "code": mine.code()}).status_code == 200
    assert client.post("/confirm", {"password": password(user), "code": mine.code()}).status_code == 302, (
        "a wrong password did not use the code up"
    )
    assert client.post("/confirm", {"password": password(user), "code": mine.code()}).status_code == 200, "once only"


def test_confirm_is_limited_and_ends_the_session_of_who_guesses(sign_in, make_user, password, lines) -> None:
    user = make_user("rosa")
    client = sign_in(user, second_factor=False, recent=False)
    for _ in range(5):
        assert client.post("/confirm", {"password": "wrong"}).status_code == 200
    assert client.post("/confirm", {"password": password(user)}).status_code == 429
    assert client.get("/account").status_code == 302
    assert "user.lock_session" in lines() and lines().count("user.confirm_fail") == 5


@pytest.mark.parametrize("target", ["https://evil.example/", "//evil.example/x", "/\\evil.example"])
def test_confirm_leads_to_no_foreign_page(sign_in, make_user, password, target) -> None:
    user = make_user("rosa")
    client = sign_in(user, second_factor=False, recent=False)
    assert client.post("/confirm", {"password": password(user), "next": target}).url == "/"


def test_signing_in_counts_as_confirmed(client, make_user, password) -> None:
    user = make_user("rosa")
    client.post("/login", {"username": "rosa", "password": password(user)})
    assert client.get("/account/second-factor").status_code == 200


@pytest.mark.parametrize(
    ("new", "why"),
    [
        ("short", "at least 12"),
        ("password1234", "too common"),
        ("123456789012", "too common"),
        ("qwertzuiop123", "too common"),
        ("abcdefghijklm", "too common"),
        ("hellohellohello", "too common"),
        ("Dragon!!2026!!", "too common"),
        ("rosalinde-1234", "too similar"),
    ],
)
def test_weak_passwords_are_refused(sign_in, make_user, password, new, why) -> None:
    user = make_user("rosalinde")
    client = sign_in(user)
    page = client.post("/account/password", {"current": password(user), "password": new, "again": new})
    assert page.status_code == 200 and why in page.content.decode()
    user.refresh_from_db()
    assert user.check_password(password(user))


def test_password_changes_with_the_present_one_alone(sign_in, make_user, password, lines) -> None:
    user = make_user("rosa")
    client = sign_in(user)
    new = "seven unrelated words"
    assert client.post("/account/password", {"current": "x", "password": new, "again": new}).status_code == 200
    assert (
        client.post("/account/password", {"current": password(user), "password": new, "again": new + "s"}).status_code
        == 200
    )
    user.refresh_from_db()
    assert user.check_password(password(user))
    client.post("/account/password", {"current": password(user), "password": new, "again": new})
    user.refresh_from_db()
    assert user.check_password(new) and "user.change_password" in lines()


def test_present_password_cannot_be_guessed_by_changing_it(sign_in, make_user, password) -> None:
    client = sign_in(make_user("rosa"))
    new = "seven unrelated words"
    answers = [
        client.post("/account/password", {"current": f"guess{n}", "password": new, "again": new}) for n in range(6)
    ]
    assert [answer.status_code for answer in answers] == [200] * 5 + [429]


def test_passwords_are_stored_as_argon2(hospital, settings_argon2) -> None:
    from pydplib.web.people.models import User

    user = User.objects.create_user("rosa", hospital=hospital, password="seven unrelated words")
    assert user.password.startswith("argon2$argon2id$")


@pytest.fixture
def settings_argon2(monkeypatch: pytest.MonkeyPatch):
    from django.test import override_settings

    from pydplib.web import settings

    assert settings.PASSWORD_HASHERS == ["django.contrib.auth.hashers.Argon2PasswordHasher"]
    with override_settings(PASSWORD_HASHERS=settings.PASSWORD_HASHERS):
        yield


def test_name_can_be_changed_and_nothing_else(sign_in, make_user) -> None:
    user = make_user("rosa")
    client = sign_in(user)
    client.post("/account", {"full_name": "Rosa R.", "is_hospital_owner": "on", "username": "ada", "hospital": "2"})
    user.refresh_from_db()
    assert (user.full_name, user.username, user.is_hospital_owner) == ("Rosa R.", "rosa", False)


def test_what_was_typed_is_shown_and_sent_after_the_password(sign_in, make_user, project, password) -> None:
    import re
    from html import unescape

    from pydplib.web.projects.models import Member

    user = make_user("olivia", is_hospital_owner=True)
    Member.objects.create(project=project, user=user, role="owner")
    client = sign_in(user, recent=False)
    address, words = f"/projects/{project.key}/edit", "Prostate <MRI>\r\nand more"
    form = {"name": "PI-RADS", "purpose": words, "legal_basis": "Consent", "retention_until": "2041-01-01"}
    sent = client.post(address, form, headers={"Referer": f"http://testserver{address}"})
    assert sent.url == "/confirm?next=%2Fconfirm%2Fagain"
    assert client.get("/confirm/again").url.startswith("/confirm?"), "not before the password"
    session = client.session
    session["confirmed_at"] = session["started_at"] = __import__("time").time()
    session.save()
    page = client.get("/confirm/again").content.decode()
    assert "Prostate &lt;MRI&gt;" in page and "Send it now" in page and f'action="{address}"' in page
    again = {name: unescape(value) for name, value in re.findall(r'hidden" name="(\w+)" value="([^"]*)"', page)}
    assert {name: value for name, value in again.items() if name != "csrfmiddlewaretoken"} == form
    project.refresh_from_db()
    assert project.purpose == "Prostate MRI", "nothing was done by looking"
    assert client.post(address, again).status_code == 302
    project.refresh_from_db()
    assert project.purpose.startswith("Prostate <MRI>")
    assert "kept" not in client.session and client.get("/confirm/again").url == "/"


@pytest.mark.parametrize(
    ("field", "value"),
    [("code", "123456"), ("password", "secret-secret"), ("form-0-passphrase", "x"), ("note", "x" * 20_001)],
)
def test_secrets_and_very_long_texts_are_not_kept(sign_in, make_user, field, value) -> None:
    client = sign_in(make_user("rosa"), second_factor=False, recent=False)
    sent = client.post("/account/second-factor", {field: value, "name": "phone"})
    assert sent.url == "/confirm?next=%2F" and "kept" not in client.session


def test_what_was_kept_is_for_its_user_and_a_quarter_of_an_hour(sign_in, make_user, clock) -> None:
    from django.test import RequestFactory

    from pydplib.web.people.pending_forms import keep, kept

    request = RequestFactory().post("/x?y=1", {"name": "a"})
    request.session, request.user = {}, make_user("rosa")
    assert keep(request, "/x") and kept(request).fields == (("name", "a"),) and kept(request).path == "/x?y=1"
    request.user = make_user("carl")
    assert kept(request) is None
    request.user = type(request.user).objects.get(username="rosa")
    clock(minutes=16)
    assert kept(request) is None
