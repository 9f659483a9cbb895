"""The matrix, its rows, and looking through another role's eyes."""

from __future__ import annotations

from typing import Any

import pytest

from pydplib.errors import PolicyError
from pydplib.policy import ROLES, PolicyRule
from pydplib.web.projects.models import Member, Rule
from pydplib.web.projects.policy.rules import add_group, change_rule, is_raise, lower_data_set_budget, remove_group

ROW = {
    "label": "dp_high",
    "fields_extent": "some",
    "open_fields": ["age", "pirads"],
    "filters_extent": "none",
    "epsilon_per_question": "0.25",
    "budget": "1.5",
    "expires": "2040-05-01",
    "purpose": "feasibility",
}


def _row(project: Any, audience: str = "third_party") -> Rule:
    return project.rules.get(audience=audience)


def test_the_matrix_speaks_words_to_owners_and_officers(member, project, template) -> None:
    for role in ("owner", "data_protection_officer"):
        page = member(role).get("/policy").content.decode()
        for words in (
            "Raw rows",
            "Statistics with much noise",
            "All but identifiers",
            "ε 1 a question",
            "Collaborator",
        ):
            assert words in page
        assert "dp_high" not in page and "third_party</" not in page


def test_a_row_says_what_dashboards_may_take_of_its_budget(member, project) -> None:
    page = member("third_party").get("/policy").content.decode()
    assert "ε 2 in total" in page and "of it dashboards" not in page, "all of it"
    assert "A budget is what one organisation may learn in total" in page
    project.dashboard_budgets = {"third_party": 0.5}
    project.save(update_fields=["dashboard_budgets"])
    page = member("owner").get("/policy").content.decode()
    assert page.count("of it dashboards: ε 0.5 at most") == 1


def test_others_see_the_rows_that_speak_of_them(member, project) -> None:
    Rule.from_rule(project, PolicyRule("group:acme", "dp_medium")).save()
    page = member("third_party").get("/policy").content.decode()
    assert "Third party" in page and "Collaborator" not in page and "acme" not in page
    assert "Group acme" in member("collaborator", "carl", groups=["acme"]).get("/policy").content.decode()


def test_a_row_is_edited_and_logged(member, project, template, logged) -> None:
    response = member("owner").post(f"/policy/rules/{_row(project).key}", ROW)
    assert response.status_code == 302, response.content.decode()[-2000:]
    rule = _row(project).to_rule()
    assert rule.fields == ("age", "pirads") and rule.filters == () and rule.purpose == "feasibility"
    assert (rule.budget, rule.epsilon_per_question, str(rule.expires)) == (1.5, 0.25, "2040-05-01")
    facts = logged("policy.change")[0].facts
    assert facts["before"]["budget"] == 2.0 and facts["after"]["budget"] == 1.5


@pytest.mark.parametrize(
    ("change", "status"),
    [
        ({"budget": "3"}, 403),  # a larger budget takes two owners
        ({"budget": ""}, 403),  # and none at all is the largest
        ({"budget": "-1"}, 422),
        ({"epsilon_per_question": "nan"}, 422),
        ({"epsilon_per_question": "1e9"}, 422),  # beyond what any question can cost: none would be answered
        ({"epsilon_per_question": "1e-7"}, 422),
        ({"budget": "1e-12"}, 422),
        ({"label": "raw"}, 422),
        ({"open_fields": ["patient_id"]}, 422),  # identifiers are not offered
        ({"open_fields": []}, 422),
    ],
)
def test_a_row_that_may_not_be_is_refused(member, project, template, change: dict[str, Any], status: int) -> None:
    before = _row(project).to_rule()
    assert member("owner").post(f"/policy/rules/{_row(project).key}", ROW | change).status_code == status
    assert _row(project).to_rule() == before


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [(2, 3, True), (2, None, True), (None, None, False), (None, 3, False), (2, 2, False), (2, 1, False)],
)
def test_is_raise(before: float | None, after: float | None, expected: bool) -> None:
    assert is_raise(before, after) is expected


def test_nobody_edits_a_row_that_speaks_of_them(member, project, logged) -> None:
    client = member("owner", groups=["board"])
    Rule.from_rule(project, PolicyRule("group:board", "dp_low")).save()
    for audience in ("owner", "group:board"):
        assert client.get(f"/policy/rules/{_row(project, audience).key}").status_code == 403
        with pytest.raises(PolicyError, match="own rights"):
            change_rule(client.user, _row(project, audience), PolicyRule("owner", "public"))
    assert len(logged("change.refuse")) == 2


def test_group_rows_come_and_go_but_not_under_their_members(member, project, template) -> None:
    client = member("owner")
    assert client.post("/policy/rules/new", ROW | {"name": "acme"}).status_code == 302
    again = client.post("/policy/rules/new", ROW | {"name": "acme"})
    assert again.status_code == 422 and "already" in again.content.decode()
    tim = member("third_party", groups=["acme"])
    row = _row(project, "group:acme")
    # The row keeps the member's budget at 1.5; without it the role's 2 would count.
    assert client.post(f"/policy/rules/{row.key}/remove").status_code == 403
    Member.objects.filter(user=tim.user).update(groups=[])
    assert client.post(f"/policy/rules/{row.key}/remove").status_code == 302
    with pytest.raises(PolicyError, match="row of a role"):
        remove_group(client.user, _row(project))


def test_a_group_row_never_raises_a_members_budget(member, project) -> None:
    client = member("owner")
    add_group(client.user, project, "rich", PolicyRule("group:rich", "dp_high", fields=("*",), budget=100))
    terms = project.policy.terms("third_party", groups=("rich",), project=project.key)
    assert terms.budget is not None and terms.budget.epsilon == 2.0


def test_the_data_sets_budget_goes_down_at_once_and_never_up(member, project) -> None:
    client = member("owner")
    assert client.post("/policy/data-set", {"budget": "20"}).status_code == 403
    assert client.post("/policy/data-set", {"budget": "0"}).status_code == 422
    assert client.post("/policy/data-set", {"budget": "4"}).status_code == 302
    project.refresh_from_db()
    assert project.data_set_budget == 4
    with pytest.raises(PolicyError, match="two owners"):
        lower_data_set_budget(client.user, project, 4.1)


def test_preview_shows_what_the_role_gets_and_changes_nothing(member, project, template, logged) -> None:
    client = member("owner")
    assert client.post("/policy/preview", {"role": "third_party", "project": project.key}).url == "/policy/access"
    page = client.get("/policy/access").content.decode()
    assert "You see this project as" in page and "What a third party gets" in page
    assert "third party may get statistics with much noise at most, asked raw rows" in page
    assert client.get("/audit").status_code == 403
    assert client.post(f"/policy/rules/{_row(project).key}", ROW).status_code == 403
    assert client.post("/policy/preview", {"role": "collaborator"}).status_code == 403
    assert client.post("/policy/preview/end").url == "/policy"
    assert client.get("/audit").status_code == 200
    assert logged("preview.start")[0].facts == {"role": "third_party"}


@pytest.mark.parametrize("role", [name for name in ROLES if name != "owner"])
def test_preview_never_raises_rights(member, project, role: str) -> None:
    """A session that claims a preview gives its holder nothing: only an owner's counts, and only downwards."""
    client = member(role)
    assert client.post("/policy/preview", {"role": "owner"}).status_code == 403
    session = client.session
    session["preview"] = {"project": project.key, "role": "owner"}
    session.save()
    assert client.get("/policy/rules/new").status_code == 403


def test_preview_as_oneself_or_nobody_is_refused(member) -> None:
    client = member("owner")
    assert client.post("/policy/preview", {"role": "owner"}).status_code == 422
    assert client.post("/policy/preview", {"role": "root"}).status_code == 422
    assert "preview" not in client.session
