"""Every answer of the door for outputs is ``may_flow``'s; refusals are written down."""

from __future__ import annotations

import datetime as dt

import pytest

from pydplib.errors import PolicyError
from pydplib.policy import LABELS, ROLES, Output, is_within
from pydplib.web.projects.models import Member
from pydplib.web.projects.policy.access import access_of
from pydplib.web.projects.policy.flows import check_flow_for, flow_for


@pytest.mark.parametrize("role", list(ROLES))
@pytest.mark.parametrize("label", LABELS)
def test_each_role_gets_its_label_and_no_more(project, template, role: str, label: str) -> None:
    output = Output(label, epsilon=0.1 if label.startswith("dp_") else None)
    decision = flow_for(project, Member.as_role(role), output, purpose="research", fields=["age"])
    allowed = project.rules.get(audience=role)
    opens = label == "public" or allowed.fields == ["*"]
    assert bool(decision) == (is_within(label, allowed.label) and opens), decision.reason


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        (["patient_id"], "identifiers"),
        (["no_such_field"], "no field 'no_such_field'"),
        (["Max Mustermann; DROP"], "no field of this name"),
    ],
)
def test_identifiers_and_strange_fields_are_denied_without_echo(project, template, fields, words) -> None:
    decision = flow_for(
        project, Member.as_role("collaborator"), Output("dp_medium", epsilon=0.1), purpose="x", fields=fields
    )
    assert not decision and words in decision.reason
    assert "Mustermann" not in decision.reason


def test_without_a_template_no_field_flows(project) -> None:
    assert not flow_for(project, Member.as_role("owner"), "raw", purpose="x", fields=["age"])


def test_fields_filters_purpose_and_expiry_of_the_row_count(project, template) -> None:
    row = project.rules.get(audience="third_party")
    row.fields, row.filters, row.purpose, row.expires = ["age"], ["year"], "study", dt.date(2030, 1, 1)
    row.save()
    ask = {"fields": ["age"], "filters": ["year"], "purpose": "study", "on": dt.date(2030, 1, 1)}

    def allowed(**change: object) -> bool:
        output = Output("dp_high", epsilon=0.5)
        return bool(flow_for(project, Member.as_role("third_party"), output, **{**ask, **change}))  # type: ignore[arg-type]

    assert allowed()
    assert not allowed(fields=["pirads"])
    assert not allowed(filters=["age"])
    assert not allowed(purpose="marketing")
    assert not allowed(on=dt.date(2030, 1, 2))


def test_a_refusal_is_raised_and_written_down(project, template, make_user, rf_request, logged) -> None:
    request = rf_request("third_party")
    with pytest.raises(PolicyError, match="Ask the owner"):
        check_flow_for(request, "raw", purpose="research", fields=["age"])
    line = logged("flow.refuse")[0]
    assert (line.subject, line.project, line.facts["role"]) == ("raw", project.key, "third_party")
    assert check_flow_for(rf_request("owner"), "raw", purpose="research", fields=["age"])


@pytest.fixture
def rf_request(project, make_user):
    """Return a request behind a door, for a role."""
    from django.test import RequestFactory

    def make(role: str):
        request = RequestFactory().get("/")
        request.user = make_user(role)
        request.project = project
        request.member = Member.objects.create(project=project, user=request.user, role=role)
        return request

    return make


def test_the_page_of_access_says_what_the_door_says(project, template) -> None:
    row = project.rules.get(audience="collaborator")
    row.fields, row.filters = ["age"], []
    row.save()
    access = access_of(project, Member.as_role("collaborator"))
    answers = {
        item.field.name: (item.raw.allow, item.statistics.allow, item.conditions.allow) for item in access.fields
    }
    assert answers["age"] == (False, True, False)
    assert answers["pirads"] == answers["patient_id"] == (False, False, False)
    assert [answer.allow for _, answer in access.outputs] == [False, False, False, True, True, True]
    assert "zone" in answers, "fields of repeating groups are there too"
