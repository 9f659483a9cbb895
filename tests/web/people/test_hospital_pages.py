"""The hospital's pages: who may, what is logged, and that other hospitals are not there."""

from __future__ import annotations

import re
from typing import Any

import pytest

ACTIONS = ("disable", "enable", "link", "owner", "second-factor")


def _link_on(page: Any) -> str:
    found = re.search(r"http://testserver(/welcome/[\w-]+)", page.content.decode())
    assert found is not None
    return found[1]


def test_invited_user_gets_in_by_the_link_shown_once(sign_in, owner, client, lines) -> None:
    boss = sign_in(owner)
    page = boss.post("/hospital/invite", {"username": "rosa", "full_name": "Rosa R."})
    path = _link_on(page)
    assert page.headers["Cache-Control"] == "no-store"
    assert "/welcome/" not in boss.get("/hospital/people/rosa").content.decode()
    assert b"invited" in boss.get("/hospital").content
    client.get(path)
    client.post("/welcome", {"password": "seven unrelated words", "again": "seven unrelated words"})
    assert client.get("/account").status_code == 200
    assert "user.invite" in lines() and "user.choose_password" in lines()
    from pydplib.web.people.models import User

    rosa = User.objects.get(username="rosa")
    assert rosa.hospital == owner.hospital and not rosa.is_hospital_owner and not rosa.memberships.exists()


def test_a_partner_gets_an_organisation_of_its_own_and_sees_nothing(sign_in, owner, client, lines) -> None:
    from pydplib.web.people.models import User

    boss = sign_in(owner)
    asked = {"username": "paul", "full_name": "Paul P.", "organisation": " Acme   Diagnostics "}
    path = _link_on(boss.post("/hospital/invite", asked))
    paul = User.objects.get(username="paul")
    assert paul.hospital.name == "Acme Diagnostics" and paul.hospital != owner.hospital and paul.is_hospital_owner
    assert not paul.memberships.exists() and "partner.invite" in lines()
    assert b"paul" not in boss.get("/hospital").content and boss.get("/hospital/people/paul").status_code == 404
    client.get(path)
    client.post("/welcome", {"password": "seven unrelated words", "again": "seven unrelated words"})
    assert client.get("/account").status_code == 200


def test_nobody_is_let_into_an_organisation_that_is_there(sign_in, owner, stranger) -> None:
    from pydplib.web.people.models import User

    name = stranger.hospital.name.upper()
    page = sign_in(owner).post("/hospital/invite", {"username": "paul", "organisation": name})
    assert page.status_code == 200 and b"cannot be called so" in page.content
    assert not User.objects.filter(username="paul").exists()


def test_taken_name_is_refused_in_the_same_words_wherever_it_is_taken(sign_in, owner, make_user, stranger) -> None:
    make_user("rosa")
    boss = sign_in(owner)
    pages = [boss.post("/hospital/invite", {"username": name}) for name in ("ROSA", "Eve")]
    for page in pages:
        assert page.status_code == 200 and b"cannot be used" in page.content


def test_who_is_on_the_server_is_not_found_by_trying_names(sign_in, owner, stranger) -> None:
    from pydplib.web.people.models import User
    from pydplib.web.people.sign_in import rate_limits

    boss, tries = sign_in(owner), rate_limits.LIMITS["taken"][0].tries
    other = stranger.hospital.name
    for number in range(tries):
        address, sent = (
            ("/hospital/invite", {"username": "eve"}),
            ("/hospital/invite", {"username": f"new-{number}", "organisation": other}),
            ("/hospital", {"name": other}),
        )[number % 3]
        assert boss.post(address, sent).status_code in (200, 422)
    for name in ("eve", "nobody-at-all"):  # the same answer for a name that is taken and one that is free
        page = boss.post("/hospital/invite", {"username": name})
        assert page.status_code == 403 and b"Many names were tried" in page.content
    assert not User.objects.filter(username__startswith="new-").exists()


def test_names_that_are_free_are_not_counted(sign_in, owner) -> None:
    from pydplib.web.people.sign_in import rate_limits

    boss = sign_in(owner)
    for number in range(rate_limits.LIMITS["taken"][0].tries + 2):
        assert b"/welcome/" in boss.post("/hospital/invite", {"username": f"colleague{number}"}).content


def test_hospital_lists_its_own_people_alone(sign_in, owner, make_user, stranger) -> None:
    make_user("rosa")
    text = sign_in(owner).get("/hospital").content.decode()
    assert "rosa" in text and "/people/eve" not in text and "Elsewhere" not in text


@pytest.mark.parametrize("path", ["", *(f"/{name}" for name in ACTIONS)])
def test_people_of_another_hospital_are_not_there(sign_in, owner, stranger, path) -> None:
    boss = sign_in(owner)
    for name in ("eve", "EVE", "nobody"):
        address = f"/hospital/people/{name}{path}"
        assert (boss.post(address) if path else boss.get(address)).status_code == 404
    stranger.refresh_from_db()
    assert stranger.is_active and stranger.is_hospital_owner


@pytest.mark.parametrize("path", ["/hospital", "/hospital/invite", "/hospital/people/ada"])
def test_hospital_pages_are_for_those_who_manage_it(sign_in, owner, make_user, path, lines) -> None:
    rosa = sign_in(make_user("rosa"))
    assert rosa.get(path).status_code == 403
    assert "door.refuse" in lines()


@pytest.mark.parametrize("action", ["disable", "owner", "link", "second-factor"])
def test_nobody_edits_the_own_rights(sign_in, owner, action) -> None:
    boss = sign_in(owner)
    page = boss.post(f"/hospital/people/ada/{action}", {"owner": "no"})
    assert page.status_code == 403 and b"own rights" in page.content
    owner.refresh_from_db()
    assert owner.is_active and owner.is_hospital_owner


def test_reset_link_lets_choose_a_new_password(sign_in, owner, make_user, client, lines) -> None:
    rosa = make_user("rosa")
    path = _link_on(sign_in(owner).post("/hospital/people/rosa/link"))
    client.get(path)
    client.post("/welcome", {"password": "seven unrelated words", "again": "seven unrelated words"})
    rosa.refresh_from_db()
    assert rosa.check_password("seven unrelated words") and "user.make_link" in lines()


def test_disable_and_enable(sign_in, owner, make_user, password, client, lines) -> None:
    from pydplib.web.people.links import link_path, make_link

    rosa = make_user("rosa")
    pending = link_path(make_link("reset", user=rosa))
    session, boss = sign_in(rosa), sign_in(owner)
    boss.post("/hospital/people/rosa/disable")
    assert session.get("/account").status_code == 302
    assert client.get(pending).status_code == 404
    assert client.post("/login", {"username": "rosa", "password": password(rosa)}).status_code == 200
    assert boss.post("/hospital/people/rosa/link").status_code == 403, "no link for somebody who is shut out"
    boss.post("/hospital/people/rosa/enable")
    assert client.post("/login", {"username": "rosa", "password": password(rosa)}).status_code == 302
    assert client.get(pending).status_code == 404, "the link does not come back"
    assert lines().count("user.disable") == lines().count("user.enable") == 1


def test_ownership_is_given_and_taken(sign_in, owner, make_user, lines) -> None:
    rosa = make_user("rosa")
    boss, hers = sign_in(owner), sign_in(rosa)
    assert hers.get("/hospital").status_code == 403
    boss.post("/hospital/people/rosa/owner", {"owner": "yes"})
    assert hers.get("/hospital").status_code == 200, "at the next request"
    boss.post("/hospital/people/rosa/owner", {"owner": "no"})
    assert hers.get("/hospital").status_code == 403
    assert [line for line in lines() if "owner" in line] == ["user.make_owner", "user.unmake_owner"]


def test_two_owners_cannot_depose_each_other(owner, make_user) -> None:
    from pydplib.errors import PolicyError
    from pydplib.web.people.accounts import set_owner
    from pydplib.web.people.models import User

    other = make_user("bob", is_hospital_owner=True)
    stale_owner, stale_other = User.objects.get(pk=owner.pk), User.objects.get(pk=other.pk)
    set_owner(owner, other, is_owner=False)
    with pytest.raises(PolicyError):
        set_owner(stale_other, stale_owner, is_owner=False)  # whoever was deposed in between
    assert User.objects.filter(is_hospital_owner=True).count() == 1


def test_lost_phone_is_taken_away_and_sessions_end(sign_in, owner, make_user, lines) -> None:
    from pydplib.web.people.sign_in.second_factor import device_of

    rosa = make_user("rosa")
    hers = sign_in(rosa)
    sign_in(owner).post("/hospital/people/rosa/second-factor")
    assert device_of(rosa) is None and hers.get("/account").status_code == 302
    assert "user.remove_second_factor" in lines()


@pytest.mark.parametrize("action", ["link", "owner", "second-factor"])
def test_changes_of_rights_need_the_password_again(sign_in, owner, make_user, action) -> None:
    make_user("rosa")
    boss = sign_in(owner, recent=False)
    answer = boss.post(f"/hospital/people/rosa/{action}", headers={"Referer": "http://testserver/hospital/people/rosa"})
    assert answer.url == "/confirm?next=%2Fhospital%2Fpeople%2Frosa"


def test_nothing_changes_by_looking(sign_in, owner, make_user) -> None:
    make_user("rosa")
    boss = sign_in(owner)
    for action in ACTIONS:
        assert boss.get(f"/hospital/people/rosa/{action}").status_code == 405


def test_hospital_can_be_renamed(sign_in, owner, lines) -> None:
    sign_in(owner).post("/hospital", {"name": "Another name"})
    owner.hospital.refresh_from_db()
    assert owner.hospital.name == "Another name" and "hospital.rename" in lines()


def test_change_and_line_are_kept_together_or_not_at_all(owner, make_user, monkeypatch, lines) -> None:
    from pydplib.web.auditlog import log
    from pydplib.web.people.accounts import set_active

    rosa = make_user("rosa")

    def fail(lines: Any) -> None:
        raise OSError("disk full")

    monkeypatch.setattr(log, "append", fail)
    with pytest.raises(OSError):
        set_active(owner, rosa, active=False)
    rosa.refresh_from_db()
    assert rosa.is_active and not lines()


def test_refusals_behind_the_door_are_in_the_log(owner, sign_in, lines) -> None:
    from pydplib.web.auditlog.models import Line

    client = sign_in(owner)
    assert client.post("/hospital/people/ada/disable").status_code == 403
    assert client.post("/hospital/people/ada/owner", {"owner": "no"}).status_code == 403
    assert client.post("/account/second-factor/off").status_code == 302
    assert lines().count("change.refuse") == 3
    line = Line.objects.filter(action="change.refuse").first()
    assert line.actor == "ada" and line.hospital == owner.hospital.key and "own rights" in line.facts["reason"]


def test_a_chain_of_new_organisations_gives_no_more_tries(owner, stranger) -> None:
    """Each new organisation would bring ten more names to try, and open the next one."""
    from pydplib.errors import ParameterError, PolicyError
    from pydplib.web.people import accounts
    from pydplib.web.people.sign_in import rate_limits

    partner, _ = accounts.invite_partner(owner, "Acme", "anna", "")
    tries, manager = rate_limits.LIMITS["taken"][0].tries, partner
    for number in range(2):
        for _ in range(tries // 2):
            with pytest.raises(ParameterError):
                accounts.invite(manager, "eve", "")
        if not number:
            manager, _ = accounts.invite_partner(manager, "Sock", "sock", "")
    for somebody in (manager, partner):
        with pytest.raises(PolicyError, match="Many names"):
            accounts.invite(somebody, "eve", "")
    assert accounts.family_of(manager.hospital) == partner.hospital.key == accounts.family_of(partner.hospital)
    assert accounts.family_of(owner.hospital) == owner.hospital.key
    accounts.invite(owner, "colleague", "")  # the hospital that invited Acme goes on


def test_organisations_cannot_be_opened_without_end(owner) -> None:
    from pydplib.errors import PolicyError
    from pydplib.web.people import accounts
    from pydplib.web.people.sign_in import rate_limits

    most = rate_limits.LIMITS["organisation"][0].tries
    manager, _ = accounts.invite_partner(owner, "Acme", "anna", "")
    for number in range(most):
        manager, _ = accounts.invite_partner(manager, "Partner " + 2 * "abcdefghjkmn"[number], f"p{number}", "")
    with pytest.raises(PolicyError, match="Many organisations"):
        accounts.invite_partner(manager, "One More", "more", "")
    accounts.invite_partner(owner, "Another", "another", "")
