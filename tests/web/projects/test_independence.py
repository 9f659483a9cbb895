"""Two owners are two people: chains of invitations, resets and promotions within a week count as one."""

from __future__ import annotations

import datetime as dt
from types import SimpleNamespace
from typing import Any

import pytest

from pydplib.errors import PolicyError
from pydplib.web.auditlog import log as writing
from pydplib.web.auditlog.log import record, recorded
from pydplib.web.people import accounts
from pydplib.web.projects.members.memberships import add_member, change_member
from pydplib.web.projects.models import Member
from pydplib.web.projects.requests import independence
from pydplib.web.projects.requests.decisions import decide
from pydplib.web.projects.requests.independence import behind, count_as_one, independent_owners
from pydplib.web.projects.requests.submissions import propose_budget

# Who did what to whom, and whether ada and ben count as one person then.
CHAINS = {
    "nothing": ([], False),
    "a direct invitation": ([("ada", "user.invite", "ben")], True),
    "a direct invitation, seen from the other side": ([("ben", "user.invite", "ada")], True),
    "a reset": ([("ada", "user.make_link", "ben")], True),
    "a phone taken away": ([("ada", "user.remove_second_factor", "ben")], True),
    "made a manager": ([("ada", "user.make_owner", "ben")], True),
    "enabled again": ([("ada", "user.enable", "ben")], True),
    "two steps": ([("ada", "user.invite", "sock"), ("sock", "user.invite", "ben")], True),
    "three steps, upwards": (
        [("ben", "user.invite", "s1"), ("s1", "user.make_owner", "s2"), ("s2", "user.make_link", "ada")],
        True,
    ),
    "somebody else did it to both": ([("mia", "user.invite", "ada"), ("mia", "user.make_link", "ben")], True),
    "somebody far up did it to both": (
        [("mia", "user.invite", "s1"), ("s1", "user.invite", "ada"), ("mia", "user.make_link", "ben")],
        True,
    ),
    "through an organisation of its own": (
        [("ada", "partner.invite", "pia"), ("pia", "user.invite", "ben")],
        True,
    ),
    "a circle that touches neither": ([("x", "user.invite", "y"), ("y", "user.make_link", "x")], False),
    "both did it to a third": ([("ada", "user.make_link", "cyd"), ("ben", "user.make_link", "cyd")], False),
    "the operator did it to both": ([("system", "user.invite", "ada"), ("system", "user.make_link", "ben")], False),
    "their own phone": ([("ada", "user.remove_second_factor", "ada")], False),
    "no step of this kind": ([("ada", "user.disable", "ben"), ("ada", "user.unmake_owner", "ben")], False),
}


@pytest.mark.parametrize("name", CHAINS)
def test_two_owners_with_a_chain_of_steps_count_as_one(project: Any, name: str) -> None:
    steps, expected = CHAINS[name]
    for actor, action, subject in steps:
        record(actor, action, subject)
    assert count_as_one(project, "ada", "ben") == expected
    assert count_as_one(project, "ben", "ada") == expected


def test_a_step_after_a_week_counts_no_more(project: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    record("ada", "user.invite", "sock")
    record("sock", "user.invite", "ben")
    later = independence.timezone.now() + independence.SETTLED + dt.timedelta(seconds=2)  # lines have whole seconds
    monkeypatch.setattr(independence.timezone, "now", lambda: later)
    assert not count_as_one(project, "ada", "ben")


def test_the_week_begins_when_a_password_is_chosen_by_the_link(project: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """A link of a week, kept until its last hour, would otherwise open an account that counts at once."""
    invited = dt.datetime.now(dt.UTC) - dt.timedelta(days=6, hours=23)
    with monkeypatch.context() as past:
        clock = SimpleNamespace(now=lambda _zone: invited)
        past.setattr(writing, "dt", SimpleNamespace(datetime=clock, UTC=dt.UTC))
        record("ada", "user.invite", "ben")
        record("ada", "user.invite", "unused")
    record("ben", "user.choose_password", "ben", by_link="welcome")
    for days, expected in ((2, True), (6, True), (8, False)):
        later = invited + dt.timedelta(days=6, hours=23) + dt.timedelta(days=days)
        monkeypatch.setattr(independence.timezone, "now", lambda later=later: later)
        assert count_as_one(project, "ada", "ben") == expected, days
        assert not count_as_one(project, "ada", "unused")


def test_being_made_owner_of_this_project_is_a_step_and_of_another_is_none(project: Any) -> None:
    with recorded("ada", project=project) as log:
        log.add("member.change", "ben", before={"role": "third_party"}, after={"role": "collaborator"})
        log.add("member.change", "ben", project="another", before={}, after={"role": "owner"})
    assert not count_as_one(project, "ada", "ben")
    record("ada", "member.change", "ben", project=project, before={}, after={"role": "owner"})
    assert count_as_one(project, "ada", "ben")


def test_a_user_called_like_the_operator_is_a_user(project: Any, make_user: Any, sign_in: Any) -> None:
    make_user("System")
    record("ada", "user.invite", "system")
    record("system", "user.invite", "ben")
    assert count_as_one(project, "ada", "ben")
    manager = make_user("ada", is_hospital_owner=True)
    page = sign_in(manager).post("/hospital/invite", {"username": "SYSTEM", "full_name": "", "organisation": ""})
    assert "This name cannot be used" in page.content.decode()


def test_one_manager_through_two_invited_accounts_raises_no_budget(member: Any, project: Any) -> None:
    """The whole way by the real functions: invite, make manager, invite again, make owner, propose, approve."""
    olga = member("owner", "olga").user
    olga.is_hospital_owner = True
    olga.save()
    sock, _ = accounts.invite(olga, "sock", "")
    accounts.set_owner(olga, sock, is_owner=True)
    second, _ = accounts.invite(sock, "sock2", "")
    change_member(olga, add_member(olga, project, "sock2"), role="owner", department="", groups=[])
    assert behind(project, ["sock2"])["sock2"] == {"olga", "sock", "sock2"}

    request = propose_budget(olga, project, audience="third_party", budget=1000.0, reason="mine")
    with pytest.raises(PolicyError, match="both count as one"):
        decide(second, request, agrees=True, reason="mine too")
    assert project.rules.get(audience="third_party").budget == 2


def test_a_manager_who_resets_a_real_second_owner_through_another_account_gains_nothing(
    member: Any, project: Any
) -> None:
    olga, otto = member("owner", "olga").user, member("owner", "otto").user
    olga.is_hospital_owner = True
    olga.save()
    sock, _ = accounts.invite(olga, "sock", "")
    accounts.set_owner(olga, sock, is_owner=True)
    accounts.reset_link(sock, otto)
    request = propose_budget(olga, project, audience="third_party", budget=1000.0, reason="mine")
    with pytest.raises(PolicyError, match="both count as one"):
        decide(otto, request, agrees=True, reason="as Otto")


def test_owners_of_the_demonstration_and_those_of_old_count_at_once(member: Any, project: Any) -> None:
    ada = member("owner", "ada")
    ben = Member.objects.get(pk=Member.objects.get(user=member("owner", "ben").user).pk).user
    record("system", "user.invite", "ada", synthetic=True)
    record("system", "member.add", "ben", project=project, role="owner")
    assert independent_owners(project, "ada") == ["ben"]
    request = propose_budget(ada.user, project, audience="third_party", budget=5.0, reason="study")
    assert decide(ben, request, agrees=True, reason="yes").state == "approved"


def test_the_page_says_so_while_no_other_owner_counts(member: Any, project: Any) -> None:
    ada = member("owner", "ada")
    member("owner", "ben")
    assert "No other owner counts" not in ada.get("/requests/propose").content.decode()
    record("ada", "user.make_link", "ben")
    assert "No other owner counts as a second person yet" in ada.get("/requests/propose").content.decode()
