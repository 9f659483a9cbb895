"""Enrolling a phone, recovery codes, and who cannot do without."""

from __future__ import annotations

import re
from typing import Any

import pytest


def _secret_on(page: Any) -> str:
    from base64 import b32decode

    text = re.search(r'<code id="secret">([A-Z2-7 ]+)</code>', page.content.decode())
    assert text is not None
    return b32decode(text[1].replace(" ", "")).hex()


def _codes_on(page: Any) -> list[str]:
    return re.findall(r"\b[a-z2-9]{4}-[a-z2-9]{4}-[a-z2-9]{4}\b", page.content.decode())


def test_owner_without_phone_is_sent_to_enrol_one(sign_in, owner) -> None:
    client = sign_in(owner, second_factor=False)
    assert client.get("/hospital").url == "/account/second-factor"
    assert b"sign in with password and phone" in client.get("/account/second-factor").content


def test_owner_of_a_project_is_sent_to_enrol_one_too(make_user, sign_in, project) -> None:
    from pydplib.web.people.sign_in.second_factor import must_have
    from pydplib.web.projects.models import Member

    user = make_user("otto")
    assert not must_have(user)
    Member.objects.create(project=project, user=user, role="collaborator")
    assert not must_have(user)
    Member.objects.filter(user=user).update(role="owner")
    assert must_have(user)


def test_enrolling_shows_picture_and_key_then_ten_codes_once(sign_in, owner, phone, lines) -> None:
    client = sign_in(owner, second_factor=False)
    page = client.get("/account/second-factor")
    text = page.content.decode()
    assert '<svg class="qr"' in text and "style=" not in text.split("<main")[1].split("</main>")[0]
    secret = _secret_on(page)
    assert _secret_on(client.get("/account/second-factor")) == secret, "the same until the code was given"
    wrong = client.post("/account/second-factor", {"code": "12345x"})
    assert b"does not fit" in wrong.content
    done = client.post("/account/second-factor", {"code": phone(owner, secret).code()})
    codes = _codes_on(done)
    assert len(set(codes)) == 10
    assert client.get("/hospital").status_code == 200, "this session has the second factor now"
    assert "user.enrol_second_factor" in lines()
    assert not _codes_on(client.get("/account")), "shown once"


def test_picture_says_what_the_key_says(owner) -> None:
    from urllib.parse import parse_qs, unquote, urlsplit

    from pydplib.web.people.sign_in.second_factor import phone_address, secret_text

    secret = "3132333435363738393031323334353637383930"
    parts = urlsplit(phone_address(owner, secret))
    assert (parts.scheme, parts.netloc, unquote(parts.path)) == ("otpauth", "totp", "/pydplib:ada")
    assert parse_qs(parts.query)["secret"] == [secret_text(secret).replace(" ", "")]


def test_picture_is_a_qr_code_of_the_text() -> None:
    """The drawn squares are those of the package's own matrix, with a quiet margin of four."""
    import segno

    from pydplib.web.people.sign_in.second_factor import qr_code

    text = "otpauth://totp/x?secret=ABC"
    drawn = {(int(x), int(y)) for x, y in re.findall(r"M(\d+) (\d+)h1v1h-1z", qr_code(text))}
    matrix = segno.make(text, error="m", micro=False).matrix
    assert drawn == {(x + 4, y + 4) for y, row in enumerate(matrix) for x, dark in enumerate(row) if dark}


def test_code_that_enrolled_the_phone_does_not_sign_in_again(sign_in, owner, phone, password) -> None:
    from django.test import Client

    client = sign_in(owner, second_factor=False)
    mine = phone(owner, _secret_on(client.get("/account/second-factor")))
    code = mine.code()
    client.post("/account/second-factor", {"code": code})
    again = Client()
    again.post("/login", {"username": "ada", "password": password(owner)})
    assert again.post("/login/code", {"code": code}).status_code == 200
    assert again.post("/login/code", {"code": mine.code(steps=1)}).status_code == 302


def test_enrolling_ends_sessions_that_have_only_the_password(sign_in, owner, phone) -> None:
    here, there = sign_in(owner, second_factor=False), sign_in(owner, second_factor=False)
    here.post("/account/second-factor", {"code": phone(owner, _secret_on(here.get("/account/second-factor"))).code()})
    assert here.get("/account").status_code == 200 and there.get("/account").status_code == 302


def test_session_without_the_code_cannot_replace_the_phone(sign_in, owner, phone) -> None:
    phone(owner)
    client = sign_in(owner, second_factor=False)
    assert client.get("/account/second-factor").url == "/login"
    assert client.get("/account").status_code == 302, "signed out"


def test_another_phone_replaces_the_first(sign_in, owner, phone) -> None:
    from django_otp.plugins.otp_totp.models import TOTPDevice

    client = sign_in(owner)
    page = client.get("/account/second-factor")
    assert b"stops working" in page.content
    secret = _secret_on(page)
    client.post("/account/second-factor", {"code": phone(owner, secret).code()})
    assert list(TOTPDevice.objects.filter(user=owner).values_list("key", flat=True)) == [secret]
    assert client.get("/hospital").status_code == 200


def test_recovery_codes_are_hashed_and_made_anew(sign_in, owner, lines) -> None:
    from pydplib.web.people.models import RecoveryCode
    from pydplib.web.people.sign_in.second_factor import check_code

    client = sign_in(owner)
    first = _codes_on(client.post("/account/recovery-codes"))
    second = _codes_on(client.post("/account/recovery-codes"))
    assert len(first) == len(second) == 10 and not set(first) & set(second)
    stored = " ".join(RecoveryCode.objects.values_list("code_hash", flat=True))
    assert not any(code in stored or code.replace("-", "") in stored for code in second)
    assert check_code(owner, first[0]) is None, "earlier codes work no more"
    assert check_code(owner, second[0]) == "recovery code"
    assert lines().count("user.new_recovery_codes") == 2


def test_recovery_codes_of_somebody_else_do_not_work(make_user) -> None:
    from pydplib.web.people.sign_in.second_factor import check_code, new_recovery_codes

    codes = new_recovery_codes(make_user("rosa"))
    assert check_code(make_user("carl"), codes[0]) is None


def test_owner_cannot_turn_the_second_factor_off(sign_in, owner, make_user) -> None:
    from pydplib.web.people.sign_in.second_factor import device_of

    client = sign_in(owner)
    client.post("/account/second-factor/off")
    assert device_of(owner) is not None
    rosa = make_user("rosa")
    client = sign_in(rosa)
    client.post("/account/second-factor/off")
    assert device_of(rosa) is None


@pytest.mark.parametrize("path", ["/account/second-factor", "/account/recovery-codes", "/account/second-factor/off"])
def test_second_factor_changes_need_the_password_again(sign_in, owner, path) -> None:
    client = sign_in(owner, recent=False)
    assert client.post(path).url.startswith("/confirm?next=")
