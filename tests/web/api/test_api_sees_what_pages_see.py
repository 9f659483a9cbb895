"""Who sees an analysis by token is who sees it on a page: the same list and details, the same lines in the log."""

from __future__ import annotations

import re
from typing import Any

import pytest

ASKED = ("owner", "collaborator", "third_party")


def _count(column: str, epsilon: float = 0.1) -> dict[str, Any]:
    return {"question": {"ask": "count", "by": [{"column": column}]}, "epsilon": epsilon}


@pytest.fixture
def asked(world: Any, program: Any) -> dict[str, Any]:
    """One analysis of each organisation, and one of Acme's that is shared with collaborators."""
    from pydplib.web.analyses.models import Analysis
    from pydplib.web.analyses.visibility import share

    address = f"projects/{world.project.key}/analyses"
    made = {
        name: program(role).post(address, _count(column)).json()
        for name, role, column in (
            ("ours", "collaborator", "pirads"),
            ("acme", "third_party", "bph"),
            ("shared", "third_party", "year"),
        )
    }
    share(world.people["owner"], Analysis.objects.get(key=made["shared"]["key"]), ["collaborator"])
    return made


@pytest.mark.parametrize("role", ASKED)
def test_the_lists_of_api_and_page_are_equal(role: str, world: Any, program: Any, sign_in: Any, asked: Any) -> None:
    listed = program(role).get(f"projects/{world.project.key}/analyses").json()["items"]
    page = sign_in(world.people[role]).get("/analyses", {"project": world.project.key}).content.decode()
    on_page = set(re.findall(r'href="/analyses/([\w-]{16})"', page))
    keys = {item["key"] for item in listed}
    assert keys == on_page & {each["key"] for each in asked.values()} and keys
    for name, each in asked.items():
        seen = sign_in(world.people[role]).get(f"/analyses/{each['key']}").status_code
        if (name, role) == ("shared", "collaborator"):  # a page with the price, and nothing to read yet
            seen = 403
        for part in ("", "/release", "/receipt"):
            assert program(role).get(f"analyses/{each['key']}{part}").status_code == seen, (name, part)


def test_unknown_query_parameters_are_refused_and_the_known_ones_named(world: Any, program: Any, asked: Any) -> None:
    address = f"projects/{world.project.key}/analyses"
    assert program("owner").get(f"{address}?limit=1").status_code == 200
    refused = program("owner").get(f"{address}?limti=1")
    assert refused.status_code == 422 and "limit" in refused.json()["error"]
    for unknown in ("request=1", "key=1", "body=1"):
        answer = program("owner").get(f"projects/{world.project.key}?{unknown}")
        assert answer.status_code == 422 and "takes none" in answer.json()["error"]


def test_who_paid_is_the_payers_and_the_owners_business(world: Any, program: Any, asked: Any) -> None:
    key = asked["shared"]["key"]
    told = {role: program(role).get(f"analyses/{key}").json().get("organisation") for role in ASKED}
    assert told == {"owner": "Acme", "collaborator": None, "third_party": "Acme"}
    listed = program("collaborator").get(f"projects/{world.project.key}/analyses").json()["items"]
    assert {item["key"]: item["organisation"] for item in listed} == {key: "", asked["ours"]["key"]: "St. Example"}


def test_what_the_policy_closes_is_closed_by_token_and_on_the_page(
    world: Any, program: Any, sign_in: Any, asked: Any
) -> None:
    from pydplib.web.auditlog.models import Line

    world.project.rules.filter(audience="third_party").update(fields=["age"])
    key, acme = asked["acme"]["key"], program("third_party")
    assert sign_in(world.people["third_party"]).get(f"/analyses/{key}").status_code == 403
    for part in ("", "/release", "/receipt"):
        assert acme.get(f"analyses/{key}{part}").status_code == 403
    assert Line.objects.filter(action="flow.refuse", subject=key).count() == 4
    listed = acme.get(f"projects/{world.project.key}/analyses").json()["items"]
    assert key not in {item["key"] for item in listed}


def test_taking_values_along_is_in_the_log_as_on_the_page(world: Any, program: Any, asked: Any) -> None:
    from pydplib.web.auditlog.models import Line

    key = asked["acme"]["key"]
    for part in ("release", "receipt"):
        program("third_party").get(f"analyses/{key}/{part}")
    kinds = [line.facts["kind"] for line in Line.objects.filter(action="analysis.export", subject=key)]
    assert kinds == ["json", "receipt"]
