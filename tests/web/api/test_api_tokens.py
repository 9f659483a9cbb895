"""The life of a token: made with a password, shown once, stored as a hash, ended in many ways."""

from __future__ import annotations

import datetime as dt
import re
from typing import Any

import pytest
from django.utils import timezone


def form(**more: Any) -> dict[str, Any]:
    return {"name": "notebook", "scopes": ["read", "ask"], "days": "30"} | more


def test_a_token_is_made_on_the_account_page_and_shown_once(world: Any, sign_in: Any) -> None:
    from django.test import Client

    from pydplib.web.api.models import ApiToken
    from pydplib.web.auditlog.models import Line

    browser = sign_in(world.people["third_party"])
    page = browser.post("/account/tokens/new", form())
    token = re.search(r"pydp_[A-Za-z0-9_-]{43}", page.content.decode())
    assert page.status_code == 200 and token
    made = ApiToken.objects.get()
    assert made.scopes == ["read", "ask"] and token[0] not in str(vars(made)) and len(made.token_hash) == 64
    assert made.expires - made.made <= dt.timedelta(days=30, seconds=5)
    listing = browser.get("/account/tokens").content.decode()
    assert "notebook" in listing and "pydp_" not in listing and made.token_hash not in listing
    line = Line.objects.get(action="token.make")
    assert line.subject == made.key and token[0] not in line.details
    assert Client().get("/api/v1/token", headers={"Authorization": f"Bearer {token[0]}"}).json()["scopes"] == [
        "read",
        "ask",
    ]


def test_the_password_is_asked_for_again(world: Any, sign_in: Any) -> None:
    browser = sign_in(world.people["third_party"], recent=False)
    assert browser.get("/account/tokens/new").url.startswith("/confirm")
    assert browser.post("/account/tokens/new", form()).url.startswith("/confirm")


def test_owners_need_their_second_factor(world: Any, sign_in: Any) -> None:
    from pydplib.web.api.models import ApiToken

    browser = sign_in(world.people["owner"], second_factor=False)
    assert browser.post("/account/tokens/new", form()).url == "/account/second-factor"
    assert not ApiToken.objects.exists()


@pytest.mark.parametrize("wrong", [{"scopes": []}, {"scopes": ["raw"]}, {"days": "366"}, {"days": "x"}, {"name": ""}])
def test_a_wrong_form_makes_no_token(wrong: dict[str, Any], world: Any, sign_in: Any) -> None:
    from pydplib.web.api.models import ApiToken

    assert sign_in(world.people["third_party"]).post("/account/tokens/new", form(**wrong)).status_code == 422
    assert not ApiToken.objects.exists()


@pytest.mark.parametrize("days", [0, 366])
def test_no_token_works_longer_than_a_year(days: int, world: Any) -> None:
    from pydplib.errors import ParameterError
    from pydplib.web.api.tokens import make_token

    with pytest.raises(ParameterError):
        make_token(world.people["owner"], name="x", scopes=["read"], days=days, second_factor=True)


def test_twenty_tokens_are_enough(world: Any, make_token: Any) -> None:
    from pydplib.errors import PolicyError

    for _ in range(20):
        make_token("third_party")
    with pytest.raises(PolicyError, match="Revoke"):
        make_token("third_party")


@pytest.mark.parametrize(
    "header",
    ["", "Bearer", "Bearer ", "Bearer x", "Basic {token}", "{token}", "Bearer {token}x", "Bearer {token} {token}"],
)
def test_only_a_bearer_header_with_a_token_counts(header: str, world: Any, make_token: Any) -> None:
    from django.test import Client

    token = make_token("owner")
    response = Client().get("/api/v1/token", headers={"Authorization": header.format(token=token)})
    assert response.status_code == 401 and response.headers["WWW-Authenticate"].startswith("Bearer")
    assert token not in response.content.decode()


def test_a_token_in_the_address_counts_for_nothing(world: Any, make_token: Any, program: Any) -> None:
    assert program(None).get(f"token?token={make_token('owner')}&access_token=x").status_code == 401


def test_a_revoked_token_is_refused_and_the_try_is_written_down(world: Any, program: Any, sign_in: Any) -> None:
    from pydplib.web.api.models import ApiToken
    from pydplib.web.auditlog.models import Line

    caller, other = program("third_party"), sign_in(world.people["owner"])
    assert caller.get("token").status_code == 200
    key = ApiToken.objects.get().key
    assert other.post(f"/account/tokens/{key}/revoke").status_code == 404, "only their own ones"
    browser = sign_in(world.people["third_party"])
    assert browser.get(f"/account/tokens/{key}/revoke").status_code == 405
    assert browser.post(f"/account/tokens/{key}/revoke").url == "/account/tokens"
    assert caller.get("token").status_code == 401
    assert Line.objects.get(action="token.refuse").facts == {"reason": "revoked"}
    assert b"revoked" in browser.get("/account/tokens").content


def test_a_token_ends_by_itself(world: Any, program: Any) -> None:
    from pydplib.web.api.models import ApiToken

    caller = program("third_party")
    ApiToken.objects.update(expires=timezone.now() - dt.timedelta(seconds=1))
    assert caller.get("token").status_code == 401


def test_a_disabled_user_is_out_at_the_next_request(world: Any, program: Any) -> None:
    from pydplib.web.people.accounts import set_active

    caller = program("collaborator")
    assert caller.get(f"projects/{world.project.key}").status_code == 200
    set_active(world.people["owner"], world.people["collaborator"], active=False)
    assert caller.get("token").status_code == 401


def test_a_new_password_ends_the_tokens(world: Any, program: Any) -> None:
    from pydplib.web.people.accounts import change_password

    caller = program("collaborator")
    change_password(world.people["collaborator"], "quite another one", session_key="")
    assert caller.get("token").status_code == 401


def test_a_removed_member_finds_nothing_and_a_changed_role_counts_at_once(world: Any, program: Any) -> None:
    caller, path = program("collaborator"), f"projects/{world.project.key}"
    place = world.project.members.filter(user=world.people["collaborator"])
    place.update(role="radiologist")
    assert caller.get(path).json()["role"] == "radiologist"
    assert caller.get(f"{path}/analyses").status_code == 403
    place.delete()
    assert caller.get(path).status_code == 404


def test_a_token_of_before_opens_no_rights_of_an_owner_without_second_factor(world: Any, program: Any) -> None:
    from django_otp.plugins.otp_totp.models import TOTPDevice

    weak, strong, path = program("collaborator", second_factor=False), program("collaborator"), world.project.key
    assert weak.get(f"projects/{path}").status_code == 200
    world.project.members.filter(user=world.people["collaborator"]).update(role="owner")
    answer = weak.get(f"projects/{path}")
    assert answer.status_code == 403 and "second factor" in answer.json()["error"]
    assert strong.get(f"projects/{path}").status_code == 200
    TOTPDevice.objects.filter(user=world.people["collaborator"]).delete()
    assert strong.get(f"projects/{path}").status_code == 403, "the phone was taken away"


@pytest.mark.parametrize(
    ("scope", "method", "path", "status"),
    [
        ("read", "GET", "projects", 200),
        ("ask", "GET", "projects", 403),
        ("export", "GET", "projects/{}/budget", 403),
        ("read", "POST", "projects/{}/price", 200),
        ("ask", "POST", "projects/{}/price", 403),
        ("read", "POST", "projects/{}/analyses", 403),
        ("ask", "POST", "projects/{}/analyses", 200),
        ("export", "POST", "projects/{}/analyses", 403),
        ("export", "GET", "token", 200),
    ],
)
def test_a_token_does_what_its_scopes_say(
    scope: str, method: str, path: str, status: int, world: Any, program: Any
) -> None:
    from pydplib.web.auditlog.models import Line

    caller, address = program("third_party", scope), path.format(world.project.key)
    body = {"question": {"ask": "count"}, "epsilon": 0.1}
    response = caller.get(address) if method == "GET" else caller.post(address, body)
    assert response.status_code == status, response.content
    assert Line.objects.filter(action="door.refuse").count() == (status == 403)


def test_too_many_requests_wait_a_minute_and_each_token_has_its_own_count(
    world: Any, program: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    from pydplib.web.api import tokens
    from pydplib.web.api.models import ApiToken

    monkeypatch.setattr(tokens, "USES_PER_MINUTE", 5)
    caller, other = program("third_party"), program("collaborator")
    assert [caller.get("token").status_code for _ in range(6)] == [200] * 5 + [429]
    answer = caller.get("token")
    assert 1 <= int(answer.headers["Retry-After"]) <= 60
    assert other.get("token").status_code == 200
    ApiToken.objects.update(minute=timezone.now() - dt.timedelta(seconds=61))
    assert caller.get("token").status_code == 200


def test_a_clock_that_ran_ahead_and_was_set_right_locks_no_token(
    world: Any, program: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    from pydplib.web.api import tokens
    from pydplib.web.api.models import ApiToken

    monkeypatch.setattr(tokens, "USES_PER_MINUTE", 5)
    caller = program("third_party")
    caller.get("token")
    ApiToken.objects.update(minute=timezone.now() + dt.timedelta(days=3), uses=5)
    assert caller.get("token").status_code == 200
    assert [caller.get("token").status_code for _ in range(5)] == [200] * 4 + [429]
    assert int(caller.get("token").headers["Retry-After"]) <= 60


def test_last_used_is_shown(world: Any, program: Any, sign_in: Any) -> None:
    browser, caller = sign_in(world.people["third_party"]), program("third_party")
    assert b">never<" in browser.get("/account/tokens").content
    caller.get("token")
    assert b">never<" not in browser.get("/account/tokens").content


def test_lines_of_the_log_name_the_token_by_its_key_and_never_the_token(world: Any, program: Any, sign_in: Any) -> None:
    from pydplib.web.api.models import ApiToken
    from pydplib.web.auditlog.models import Line

    caller = program("third_party")
    key = ApiToken.objects.latest("id").key
    asked = {"question": {"ask": "count", "by": [{"column": "pirads"}]}, "epsilon": 0.1}
    made = caller.post(f"projects/{world.project.key}/analyses", asked).json()
    assert caller.post(f"projects/{world.project.key}/analyses", asked | {"epsilon": 50}).status_code == 403
    assert caller.get(f"projects/{world.project.key}/attacks").status_code == 403
    caller.get(f"analyses/{made['key']}/release")
    for action in ("analysis.ask", "analysis.refuse", "door.refuse", "analysis.export"):
        assert Line.objects.filter(action=action).latest("number").facts["token"] == key, action
    browser = sign_in(world.people["third_party"])
    browser.get(f"/analyses/{made['key']}/download/json")
    assert "token" not in Line.objects.filter(action="analysis.export").latest("number").facts, "no token, no name"
    assert not [line for line in Line.objects.all() if caller.token in f"{line.subject} {line.details}"]


def test_a_user_who_is_enabled_again_needs_new_tokens(world: Any, program: Any) -> None:
    from pydplib.web.api.models import ApiToken
    from pydplib.web.auditlog.models import Line
    from pydplib.web.people.accounts import set_active

    caller, owner, subject = program("collaborator"), world.people["owner"], world.people["collaborator"]
    assert caller.get("token").status_code == 200
    set_active(owner, subject, active=False)
    set_active(owner, subject, active=True)
    assert caller.get("token").status_code == 401
    assert not ApiToken.objects.filter(user=subject, revoked=None).exists()
    revoked = Line.objects.filter(action="token.revoke").latest("number")
    assert (revoked.actor, revoked.subject, revoked.facts) == (owner.username, subject.username, {"tokens": 1})
    assert program("collaborator").get("token").status_code == 200
