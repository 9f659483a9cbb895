"""Who sees identified data, erases or reads logs needs a second factor, after days of grace that the hospital sets."""

from __future__ import annotations

import datetime as dt
from typing import Any

import pytest
from django.utils import timezone

from pydplib.errors import ParameterError
from pydplib.web.people import accounts
from pydplib.web.people.sign_in import second_factor
from pydplib.web.people.sign_in.second_factor import grace_left, is_guarded, must_have
from pydplib.web.projects.models import Member

ROLES = {
    "owner": True,
    "radiologist": True,
    "data_protection_officer": True,
    "collaborator": False,
    "third_party": False,
}
PAGES = {
    "owner": "/policy",
    "radiologist": "/reports",
    "data_protection_officer": "/privacy-rights",
    "collaborator": "/requests",
    "third_party": "/requests",
}


@pytest.fixture
def place(make_user: Any, project: Any) -> Any:
    def make(role: str) -> Any:
        user = make_user(role.replace("_", "-"))
        Member.objects.create(project=project, user=user, role=role, department="radiology")
        return user

    return make


def _grace(hospital: Any, days: int) -> None:
    type(hospital).objects.filter(pk=hospital.pk).update(second_factor_grace=days)


@pytest.mark.parametrize("role", ROLES)
def test_roles_that_see_rows_erase_or_read_logs_need_a_second_factor(place: Any, role: str) -> None:
    assert is_guarded(role) == must_have(place(role)) == ROLES[role]


@pytest.mark.parametrize("days", [0, 7])
@pytest.mark.parametrize("role", ROLES)
def test_a_password_alone_opens_the_pages_of_guarded_roles_only_in_the_days_of_grace(
    place: Any, sign_in: Any, hospital: Any, role: str, days: int
) -> None:
    _grace(hospital, days)
    user = place(role)
    client, page = sign_in(user, second_factor=False), PAGES[role]
    waits = days > 0 and role != "owner"
    if not ROLES[role] or waits:
        assert client.get(page).status_code == 200
    else:
        assert client.get(page).url == "/account/second-factor"
    user.second_factor_asked = timezone.now() - dt.timedelta(days=days, minutes=1)
    user.save()
    late = client.get(page)
    assert late.status_code == (302 if ROLES[role] else 200)
    assert sign_in(user).get(page).status_code == 200, "with the phone, in any case"


@pytest.mark.parametrize("role", ["radiologist", "data_protection_officer"])
def test_sign_in_asks_for_a_phone_at_once_and_lets_go_on_while_days_are_left(
    place: Any, client: Any, hospital: Any, password: Any, role: str
) -> None:
    user = place(role)
    sent = {"username": user.username, "password": password(user), "next": PAGES[role]}
    assert client.post("/login", sent).url == "/account/second-factor"
    page = client.get("/account/second-factor").content.decode()
    assert "You have 7 days left" in page and "Not now" in page and f'href="{PAGES[role]}"' in page
    assert client.get(PAGES[role]).status_code == 200
    user.refresh_from_db()
    first = user.second_factor_asked
    client.logout()
    client.post("/login", sent)
    user.refresh_from_db()
    assert user.second_factor_asked == first, "the clock starts once"
    _grace(hospital, 0)
    page = client.get("/account/second-factor").content.decode()
    assert "Not now" not in page and client.get(PAGES[role]).url == "/account/second-factor"


def test_a_collaborator_is_not_asked(place: Any, client: Any, password: Any) -> None:
    user = place("collaborator")
    answer = client.post("/login", {"username": user.username, "password": password(user)})
    assert answer.url == "/"


def test_grace_is_for_those_without_a_phone_only(place: Any, sign_in: Any, phone: Any) -> None:
    user = place("radiologist")
    phone(user)
    client = sign_in(user, second_factor=False)  # a session in which the code was never given
    assert client.get("/reports").status_code == 302


def test_a_phone_that_was_taken_away_starts_no_new_grace(place: Any, sign_in: Any, hospital: Any) -> None:
    user = place("radiologist")
    user.second_factor_asked = timezone.now() - dt.timedelta(days=30)
    user.save()
    second_factor.remove(user)
    assert grace_left(user) == 0 and sign_in(user, second_factor=False).get("/reports").status_code == 302


def test_the_hospital_sets_the_days_within_bounds_and_the_log_says_so(
    make_user: Any, sign_in: Any, hospital: Any, lines: Any
) -> None:
    manager = make_user("mia", is_hospital_owner=True)
    client = sign_in(manager)
    assert client.post("/hospital", {"name": hospital.name, "grace": "3"}).status_code == 302
    hospital.refresh_from_db()
    assert hospital.second_factor_grace == 3 and "hospital.second_factor_grace" in lines()
    assert "hospital.rename" not in lines(), "the name stayed"
    for wrong in ("15", "-1", "soon"):
        assert client.post("/hospital", {"name": hospital.name, "grace": wrong}).status_code == 422
    with pytest.raises(ParameterError):
        accounts.set_grace(manager, 15)


def test_guarded_roles_cannot_turn_it_off(place: Any, sign_in: Any) -> None:
    from pydplib.web.people.sign_in.second_factor import device_of

    user = place("radiologist")
    sign_in(user).post("/account/second-factor/off")
    assert device_of(user) is not None


def test_who_knows_the_password_cannot_lock_the_codes_of_a_browser_that_was_used_before(
    make_user: Any, client: Any, phone: Any, password: Any
) -> None:
    from django.test import Client

    user = make_user("ada")
    mine = phone(user)
    sent = {"username": "ada", "password": password(user)}
    client.post("/login", sent)
    assert client.post("/login/code", {"code": mine.code()}).url == "/"
    client.post("/logout")

    thief = Client()
    thief.post("/login", sent)
    answers = [thief.post("/login/code", {"code": f"{number:06d}"}).status_code for number in range(6)]
    assert answers[-1] == 429
    thief.post("/login", sent)
    assert thief.post("/login/code", {"code": mine.code(steps=1)}).status_code == 429, "the right code, too late"

    client.post("/login", sent)
    assert client.post("/login/code", {"code": mine.code(steps=1)}).url == "/", "this browser was used before"
