"""A role or group that gives an organisation more takes two owners once it has spent something."""

from __future__ import annotations

from typing import Any

import pytest
from django.utils import timezone

from pydplib.errors import ParameterError, PolicyError
from pydplib.policy import PolicyRule
from pydplib.web.projects.members.memberships import change_member, remove_member
from pydplib.web.projects.models import AccessRequest, Member, Rule
from pydplib.web.projects.policy.rules import change_rule
from pydplib.web.projects.requests.decisions import decide
from pydplib.web.projects.requests.submissions import ask_role

AGES = {"kind": "histogram", "field": "age", "accuracy": "epsilon"}
STRICT = PolicyRule("group:strict", "dp_high", fields=["*"], filters=["*"], epsilon_per_question=0.2, budget=0.5)


@pytest.fixture
def otto(study: Any, make_user: Any) -> Any:
    user = make_user("otto", hospital=study.owner.hospital)
    Member.objects.create(project=study.project, user=user, role="owner")
    return user


@pytest.fixture
def place(study: Any, tara: Any) -> Any:
    return Member.objects.get(project=study.project, user=tara.user)


def _change(study: Any, place: Any, **values: Any) -> Any:
    return change_member(study.owner, place, **{"role": "third_party", "department": "", "groups": [], **values})


def test_a_role_with_a_larger_budget_after_spending_is_proposed_and_takes_a_second_owner(
    study: Any, tara: Any, place: Any, otto: Any, pay: Any
) -> None:
    assert pay(tara, **AGES, epsilon="0.3").status_code == 302
    with pytest.raises(ParameterError, match="raises the budget of"):
        _change(study, place, role="collaborator")
    done = _change(study, place, role="collaborator", reason="They sign the agreement today.")
    place.refresh_from_db()
    assert done.changed == [] and place.role == "third_party"
    with pytest.raises(ParameterError, match="already voted"):
        decide(study.owner, done.proposed, agrees=True, reason="again")
    assert decide(otto, done.proposed, agrees=True, reason="yes").state == "approved"
    place.refresh_from_db()
    assert place.role == "collaborator"


def test_a_role_before_anything_was_spent_takes_one_owner(study: Any, place: Any) -> None:
    assert _change(study, place, role="collaborator").changed == ["role"]


def test_a_smaller_role_after_spending_takes_one_owner(study: Any, tara: Any, place: Any, pay: Any) -> None:
    _change(study, place, role="collaborator")
    assert pay(tara, **AGES, epsilon="0.3").status_code == 302
    place.refresh_from_db()
    assert _change(study, place, role="third_party").changed == ["role"]


def test_out_of_a_stricter_group_after_spending_takes_two_owners(
    study: Any, tara: Any, place: Any, otto: Any, pay: Any
) -> None:
    Rule.from_rule(study.project, STRICT).save()
    _change(study, place, groups=["strict"])
    assert pay(tara, **AGES, epsilon="0.2").status_code == 302
    place.refresh_from_db()
    done = _change(study, place, groups=[], reason="The trial is over.")
    place.refresh_from_db()
    assert place.groups == ["strict"] and done.proposed is not None
    decide(otto, done.proposed, agrees=True, reason="yes")
    place.refresh_from_db()
    assert place.groups == []


def test_a_higher_cap_alone_after_spending_takes_two_owners(study: Any, tara: Any, place: Any, pay: Any) -> None:
    study.project.rules.filter(audience="third_party").update(budget=4.0, epsilon_per_question=0.5)
    study.project.rules.filter(audience="collaborator").update(budget=4.0, epsilon_per_question=2.0)
    assert pay(tara, **AGES, epsilon="0.3").status_code == 302
    with pytest.raises(ParameterError, match="one question"):
        _change(study, place, role="collaborator")


def test_an_asked_role_that_raises_stays_open_until_a_second_owner_agrees(
    study: Any, tara: Any, place: Any, otto: Any, pay: Any
) -> None:
    assert pay(tara, **AGES, epsilon="0.3").status_code == 302
    request = ask_role(tara.user, study.project, role="collaborator", reason="agreement signed")
    assert decide(study.owner, request, agrees=True, reason="yes").state == "open"
    assert decide(otto, request, agrees=True, reason="yes").state == "approved"
    place.refresh_from_db()
    assert place.role == "collaborator"


def test_a_second_owner_can_be_named_by_one_after_the_hospital_has_spent(
    study: Any, owner: Any, pay: Any, make_user: Any
) -> None:
    assert pay(owner, **AGES, epsilon="0.3").status_code == 302
    colleague = Member.objects.create(
        project=study.project, user=make_user("colin", hospital=study.owner.hospital), role="third_party"
    )
    assert _change(study, colleague, role="owner").changed == ["role"]


def test_a_colleague_with_more_than_the_organisation_has_is_a_raise_too(
    study: Any, tara: Any, place: Any, pay: Any, make_user: Any
) -> None:
    assert pay(tara, **AGES, epsilon="0.3").status_code == 302
    tom = Member.objects.create(project=study.project, user=make_user("tom", hospital=tara.user.hospital))
    with pytest.raises(ParameterError, match="raises the budget of"):
        _change(study, tom, role="collaborator")
    Member.objects.filter(pk=place.pk).update(role="collaborator")  # two owners agreed on that
    assert _change(study, tom, role="collaborator").changed == ["role"], "the organisation has it already"


def test_taking_everybody_out_and_back_in_gives_no_more_than_before(
    study: Any, tara: Any, place: Any, pay: Any
) -> None:
    assert pay(tara, **AGES, epsilon="0.3").status_code == 302
    remove_member(study.owner, place)
    back = Member.objects.create(project=study.project, user=tara.user)
    with pytest.raises(ParameterError, match="raises the budget of"):
        _change(study, back, role="collaborator")


def test_a_strict_row_cannot_be_let_run_out_by_one_owner(study: Any, tara: Any, place: Any, pay: Any) -> None:
    import datetime as dt
    from dataclasses import replace

    row = Rule.from_rule(study.project, STRICT)
    row.save()
    _change(study, place, groups=["strict"])
    assert pay(tara, **AGES, epsilon="0.2").status_code == 302
    for end in (dt.date(2020, 1, 1), timezone.localdate(), timezone.localdate() + dt.timedelta(days=30)):
        with pytest.raises(PolicyError, match="would raise the budget of"):
            change_rule(study.owner, row, replace(STRICT, expires=end))
    assert change_rule(study.owner, row, replace(STRICT, budget=0.4)) == ["budget"]


def test_a_group_that_ends_earlier_is_no_way_around_either(study: Any, tara: Any, place: Any, pay: Any) -> None:
    import datetime as dt
    from dataclasses import replace

    Rule.from_rule(study.project, STRICT).save()
    end = timezone.localdate() + dt.timedelta(days=1)
    Rule.from_rule(study.project, replace(STRICT, audience="group:soon", expires=end)).save()
    _change(study, place, groups=["strict"])
    assert pay(tara, **AGES, epsilon="0.2").status_code == 302
    with pytest.raises(ParameterError, match="raises the budget of"):
        _change(study, place, groups=["soon"])
    assert _change(study, place, groups=["soon", "strict"]).changed == ["groups"]


def test_the_page_asks_for_a_reason_and_then_proposes(study: Any, tara: Any, owner: Any, place: Any, pay: Any) -> None:
    assert pay(tara, **AGES, epsilon="0.3").status_code == 302
    sent = {"role": "collaborator", "department": ""}
    page = owner.post(f"/members/{place.key}", sent)
    assert page.status_code == 422 and "it takes two owners" in page.content.decode()
    answer = owner.post(f"/members/{place.key}", {**sent, "reason": "agreement signed"})
    request = AccessRequest.objects.get()
    assert answer.headers["Location"] == f"/requests/{request.key}"
    shown = owner.get(f"/requests/{request.key}").content.decode()
    assert "1 of 2 owners agreed" in shown and "from third party to collaborator" in shown
