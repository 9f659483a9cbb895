"""Ask, decide, withdraw: a budget takes two owners, everything else one, and nobody decides for themselves."""

from __future__ import annotations

from typing import Any

import pytest
from django.utils import timezone

from pydplib.errors import ParameterError, PolicyError
from pydplib.policy import PolicyRule
from pydplib.web.projects.models import AccessRequest, Member, Rule
from pydplib.web.projects.policy.rules import change_rule
from pydplib.web.projects.requests.decisions import approvals_that_count, decide
from pydplib.web.projects.requests.submissions import ask_budget, ask_fields, ask_role, propose_budget, withdraw


def _budget(project: Any, audience: str = "collaborator") -> float:
    return project.rules.get(audience=audience).budget


def _decide(client: Any, request: AccessRequest, decision: str = "approve", reason: str = "yes") -> Any:
    return client.post(f"/requests/{request.key}/decide", {"decision": decision, "reason": reason})


@pytest.fixture
def owners(member: Any) -> list[Any]:
    return [member("owner", name) for name in ("ada", "ben", "cyd")]


@pytest.fixture
def asker(member: Any) -> Any:
    return member("collaborator", "carl")


def test_a_budget_is_raised_by_the_second_owner(owners, asker, project, logged) -> None:
    asker.post("/requests/ask/budget", {"budget": "8", "reason": "one more figure"})
    request = AccessRequest.objects.get()
    assert _decide(owners[0], request).status_code == 302
    assert _budget(project) == 4 and AccessRequest.objects.get().state == "open"
    again = _decide(owners[0], request)
    assert again.status_code == 422 and "already" in again.content.decode()
    assert _budget(project) == 4, "one owner's word counts once"
    assert _decide(owners[1], request).status_code == 302
    assert _budget(project) == 8 and AccessRequest.objects.get().state == "approved"
    raised = logged("policy.raise_budget")
    assert [line.facts for line in raised] == [
        {"before": 4.0, "after": 8.0, "owners": ["ada", "ben"], "request": request.key}
    ]
    assert "no longer open" in _decide(owners[2], request).content.decode()
    assert "Approved" in asker.get("/").content.decode()


def test_an_owners_own_proposal_needs_one_more(owners, project) -> None:
    owners[0].post("/requests/propose", {"audience": "third_party", "budget": "5", "reason": "study"})
    request = AccessRequest.objects.get()
    assert _budget(project, "third_party") == 2
    assert _decide(owners[0], request).status_code == 422
    assert _decide(owners[1], request).status_code == 302
    assert _budget(project, "third_party") == 5


def test_the_data_sets_budget_takes_two_owners_too(owners, project) -> None:
    request = propose_budget(owners[0].user, project, audience="*", budget=15, reason="more partners")
    project.refresh_from_db()
    assert project.data_set_budget == 8
    decide(owners[1].user, request, agrees=True, reason="yes")
    project.refresh_from_db()
    assert project.data_set_budget == 15


def test_an_owner_who_benefits_has_no_say(member, project, asker) -> None:
    ada, ben = member("owner", "ada", groups=["acme"]), member("owner", "ben")
    Rule.from_rule(project, PolicyRule("group:acme", "dp_high", budget=1)).save()
    Member.objects.filter(user=asker.user).update(groups=["acme"])
    with pytest.raises(PolicyError, match="own rights"):
        propose_budget(ada.user, project, audience="group:acme", budget=3, reason="us")
    request = ask_budget(asker.user, project, budget=3, reason="more")
    assert request.beneficiary == "group:acme", "the smallest budget is the one that counts"
    assert _decide(ada, request).status_code == 403
    assert _decide(ben, request).status_code == 302
    assert _budget(project, "group:acme") == 1, "one owner is not enough"


def test_who_became_owner_after_the_request_has_no_say(owners, asker, member, project) -> None:
    request = ask_budget(asker.user, project, budget=8, reason="more")
    puppet = member("owner", "puppet")
    Member.objects.filter(user=puppet.user).update(role_since=timezone.now())
    assert _decide(owners[0], request).status_code == 302
    refused = _decide(puppet, request)
    assert refused.status_code == 403 and "after this was asked" in refused.content.decode()
    assert _budget(project) == 4


def test_an_approval_of_somebody_who_is_no_owner_any_more_does_not_count(owners, asker, project, place) -> None:
    request = ask_budget(asker.user, project, budget=8, reason="more")
    decide(owners[0].user, request, agrees=True, reason="yes")
    Member.objects.filter(user=owners[0].user).update(role="radiologist")
    assert approvals_that_count(project, request) == {}
    decide(owners[1].user, request, agrees=True, reason="yes")
    assert _budget(project) == 4
    decide(owners[2].user, request, agrees=True, reason="yes")
    assert _budget(project) == 8


def test_an_asker_who_became_owner_cannot_decide_for_themselves(owners, asker, project) -> None:
    request = ask_role(asker.user, project, role="owner", reason="please")
    Member.objects.filter(user=asker.user).update(role="owner")
    assert _decide(asker, request).status_code == 403


def test_a_policy_that_changed_in_between_is_looked_at_again(owners, asker, project) -> None:
    request = ask_budget(asker.user, project, budget=8, reason="more")
    decide(owners[0].user, request, agrees=True, reason="yes")
    row = project.rules.get(audience="collaborator")
    change_rule(owners[2].user, row, PolicyRule("collaborator", "dp_medium", fields=("*",), budget=1))
    late = _decide(owners[1], request)
    assert late.status_code == 422 and "changed since" in late.content.decode()
    assert _budget(project) == 1
    assert AccessRequest.objects.get().approvals.count() == 1, "the word that could not be applied is undone"
    assert _decide(owners[1], request, "refuse", "outdated").status_code == 302
    assert AccessRequest.objects.get().state == "refused"


def test_fields_take_one_owner(owners, asker, project, template) -> None:
    project.rules.filter(audience="collaborator").update(fields=["age"], filters=["age"])
    page = asker.get("/requests/ask/fields").content.decode()
    assert "PSA" in page and 'value="patient_id"' not in page and 'value="age"' not in page
    assert asker.post("/requests/ask/fields", {"names": ["patient_id"], "reason": "x"}).status_code == 422
    with pytest.raises(ParameterError, match="not open to you yet"):
        ask_fields(asker.user, project, fields=["patient_id"], conditions=False, reason="x")
    asker.post("/requests/ask/fields", {"names": ["psa"], "conditions": "on", "reason": "covariate"})
    _decide(owners[0], AccessRequest.objects.get())
    row = project.rules.get(audience="collaborator")
    assert (row.fields, row.filters) == (["age", "psa"], ["age", "psa"])


def test_a_role_takes_one_owner_and_counts_at_once(owners, member, project, template) -> None:
    tim = member("third_party", "tim")
    assert tim.get("/templates").status_code == 403
    tim.post("/requests/ask/role", {"role": "collaborator", "reason": "partners now"})
    _decide(owners[0], AccessRequest.objects.get())
    assert Member.objects.get(user=tim.user).role == "collaborator"
    assert tim.get("/templates").status_code == 200


def test_a_partner_cannot_ask_for_a_role_of_the_hospital(owners, partner, sign_in, project) -> None:
    Member.objects.create(project=project, user=partner)
    response = sign_in(partner).post("/requests/ask/role", {"role": "owner", "reason": "please"})
    assert response.status_code == 422
    with pytest.raises(PolicyError, match="another hospital"):
        ask_role(partner, project, role="owner", reason="please")


def test_one_open_request_of_a_kind(owners, asker, project) -> None:
    ask_budget(asker.user, project, budget=8, reason="more")
    second = asker.post("/requests/ask/budget", {"budget": "9", "reason": "even more"})
    assert second.status_code == 422 and "Withdraw it" in second.content.decode()
    ask_role(asker.user, project, role="third_party", reason="another kind")
    assert AccessRequest.objects.count() == 2


@pytest.mark.parametrize("values", [{"budget": "4", "reason": "x"}, {"budget": "8", "reason": " "}, {"reason": "x"}])
def test_a_request_needs_more_than_now_and_a_reason(asker, values: dict[str, str]) -> None:
    assert asker.post("/requests/ask/budget", values).status_code == 422
    assert not AccessRequest.objects.exists()


def test_a_decision_needs_a_reason_and_the_asker_reads_it(owners, asker, project) -> None:
    request = ask_budget(asker.user, project, budget=8, reason="more")
    assert _decide(owners[0], request, "refuse", "").status_code == 422
    _decide(owners[0], request, "refuse", "Not before the audit")
    assert "Not before the audit" in asker.get("/").content.decode()
    assert "Not before the audit" in asker.get(f"/requests/{request.key}").content.decode()


def test_only_the_asker_withdraws_and_only_while_it_is_open(owners, asker, member, project) -> None:
    request = ask_budget(asker.user, project, budget=8, reason="more")
    assert owners[0].post(f"/requests/{request.key}/withdraw").status_code == 403
    assert member("third_party").post(f"/requests/{request.key}/withdraw").status_code == 404
    assert asker.post(f"/requests/{request.key}/withdraw").status_code == 302
    with pytest.raises(ParameterError, match="decided"):
        withdraw(asker.user, request)
    assert _decide(owners[0], request).status_code == 422


def test_members_see_their_own_requests_owners_and_officers_all(owners, asker, member, project) -> None:
    request = ask_budget(asker.user, project, budget=8, reason="more")
    seen = {"ada": owners[0], "carl": asker, "officer": member("data_protection_officer", "officer")}
    for client in seen.values():
        assert request.key in client.get("/requests").content.decode()
    for role in ("third_party", "radiologist"):
        client = member(role)
        assert request.key not in client.get("/requests").content.decode()
        assert client.get(f"/requests/{request.key}").status_code == 404


def test_members_of_the_audience_see_an_approved_change_at_home(owners, asker, member, project) -> None:
    other = member("collaborator", "cora")
    request = ask_budget(asker.user, project, budget=8, reason="my secret plan")
    for owner in owners[:2]:
        decide(owner.user, request, agrees=True, reason="between us")
    page = other.get("/").content.decode()
    assert "budget from 4 to 8" in page
    assert "secret plan" not in page and "between us" not in page
    assert "budget from 4" not in member("third_party").get("/").content.decode()


@pytest.mark.parametrize("act", ["link", "second-factor"])
def test_who_resets_the_second_owners_account_does_not_become_the_second_owner(owners, project, logged, act) -> None:
    ada, ben, cyd = owners
    ada.user.is_hospital_owner = True
    ada.user.save()
    assert ada.post(f"/hospital/people/ben/{act}").status_code in (200, 302)
    ada.post("/requests/propose", {"audience": "third_party", "budget": "5", "reason": "study"})
    request = AccessRequest.objects.get()

    with pytest.raises(PolicyError, match="both count as one"):
        decide(ben.user, request, agrees=True, reason="yes")
    assert _budget(project, "third_party") == 2
    assert _decide(cyd, request).status_code == 302
    assert _budget(project, "third_party") == 5


def test_the_second_owner_counts_again_after_a_week_and_may_always_refuse(owners, project, monkeypatch) -> None:
    from pydplib.web.projects.requests import independence

    ada, ben, _ = owners
    ada.user.is_hospital_owner = True
    ada.user.save()
    ada.post("/hospital/people/ben/link")
    request = propose_budget(ben.user, project, audience="third_party", budget=5.0, reason="study")
    with pytest.raises(PolicyError, match="both count as one"):
        decide(ada.user, request, agrees=True, reason="the other way round")
    assert decide(ada.user, request, agrees=False, reason="no").state == "refused"

    request = propose_budget(ben.user, project, audience="third_party", budget=5.0, reason="study")
    later = timezone.now() + independence.SETTLED
    monkeypatch.setattr(independence.timezone, "now", lambda: later)
    assert decide(ada.user, request, agrees=True, reason="yes").state == "approved"
