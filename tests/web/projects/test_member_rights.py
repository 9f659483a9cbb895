"""Who may change whose rights, and when it counts."""

from __future__ import annotations

from typing import Any

import pytest

from pydplib.errors import PolicyError
from pydplib.web.projects.members.memberships import PARTNER_ROLES, can_have_role, change_member, remove_member
from pydplib.web.projects.models import AccessRequest, Member
from pydplib.web.projects.requests.submissions import ask_budget


def _role(client: Any, member: Member, role: str, **more: Any) -> Any:
    return client.post(f"/members/{member.key}", {"role": role, "department": "", **more})


def test_a_new_member_starts_as_third_party(member, make_user, project, place, logged) -> None:
    make_user("ben")
    client = member("owner")
    assert client.post(f"/projects/{project.key}/members/new", {"colleague": "ben", "role": "owner"}).status_code == 422
    response = client.post(f"/projects/{project.key}/members/new", {"colleague": "ben"})
    assert place("ben").role == "third_party"
    assert response.url == f"/members/{place('ben').key}"
    assert logged("member.add")[0].facts == {"role": "third_party"}


@pytest.mark.parametrize("role", ["owner", "radiologist", "data_protection_officer", *PARTNER_ROLES])
def test_people_of_other_hospitals_get_statistics_at_most(member, project, partner, place, role: str) -> None:
    owner = member("owner")
    joined = Member.objects.create(project=project, user=partner)
    assert can_have_role(project, partner, role) == (role in PARTNER_ROLES)
    if role in PARTNER_ROLES:
        change_member(owner.user, joined, role=role, department="", groups=[])
        assert place(partner.username).role == role
    else:
        assert _role(owner, joined, role).status_code == 422  # not offered
        with pytest.raises(PolicyError, match="another hospital"):
            change_member(owner.user, joined, role=role, department="", groups=[])
        assert place(partner.username).role == "third_party"


def test_nobody_edits_their_own_rights_and_the_attempt_is_logged(member, place, logged) -> None:
    client = member("owner")
    member("owner", "ben")
    own = place("owner")
    assert client.get(f"/members/{own.key}").status_code == 403
    assert _role(client, own, "collaborator").status_code == 403
    assert client.post(f"/members/{own.key}/remove").status_code == 403
    assert place("owner").role == "owner"
    assert len(logged("change.refuse")) == 3
    assert "own rights" in logged("change.refuse")[0].facts["reason"]


def test_a_revoked_role_stops_at_the_next_request(member, place, project) -> None:
    owner, other = member("owner"), member("owner", "ben")
    assert other.get("/policy/rules/new").status_code == 200
    assert _role(owner, place("ben"), "third_party").status_code == 302
    assert other.get("/policy/rules/new").status_code == 403
    assert owner.post(f"/members/{place('ben').key}/remove").status_code == 302
    assert other.get(f"/projects/{project.key}").status_code == 404


def test_rights_lost_between_the_door_and_the_change_are_lost(member, place) -> None:
    """Two owners remove each other: the second one is no owner any more when its turn comes."""
    owner, other = member("owner"), member("owner", "ben")
    mine = place("owner")
    remove_member(owner.user, place("ben"))
    with pytest.raises(PolicyError, match="not a member"):
        remove_member(other.user, mine)
    assert place("owner").role == "owner"


def test_the_last_owner_stays(member, place, project) -> None:
    owner = member("owner")
    member("owner", "ben")
    Member.objects.filter(user__username="ben").update(role="owner")
    ben = place("ben")
    type(ben.user).objects.filter(pk=ben.user.pk).update(is_active=False)  # a disabled owner does not count
    with pytest.raises(PolicyError, match="not a member"):
        remove_member(ben.user, place("owner"))
    assert owner.post(f"/members/{ben.key}/remove").status_code == 302
    assert Member.objects.filter(project=project, role="owner").count() == 1


def test_groups_are_those_of_the_policy(member, place, project) -> None:
    from pydplib.policy import PolicyRule
    from pydplib.web.projects.models import Rule

    owner = member("owner")
    member("collaborator")
    assert _role(owner, place("collaborator"), "collaborator", groups=["acme"]).status_code == 302
    assert place("collaborator").groups == []
    Rule.from_rule(project, PolicyRule("group:acme", "dp_high")).save()
    assert _role(owner, place("collaborator"), "collaborator", groups=["acme"]).status_code == 302
    assert place("collaborator").groups == ["acme"]
    assert _role(owner, place("collaborator"), "collaborator", groups=["ghost"]).status_code == 422


def test_what_a_removed_member_asked_for_is_withdrawn(member, place, project) -> None:
    owner, client = member("owner"), member("collaborator")
    ask_budget(client.user, project, budget=8, reason="more")
    owner.post(f"/members/{place('collaborator').key}/remove")
    assert AccessRequest.objects.get().state == "withdrawn"
