"""Released tables for other software: a list, CSV, Parquet; token in a header or as password, never in an address."""

from __future__ import annotations

import base64
import csv
import io
from typing import Any

import pyarrow.parquet
import pytest
from django.test import Client


def _count(column: str, epsilon: float = 0.1) -> dict[str, Any]:
    return {"question": {"ask": "count", "by": [{"column": column}]}, "epsilon": epsilon}


@pytest.fixture
def bought(world: Any, program: Any) -> dict[str, str]:
    """One analysis of the third party, one of the collaborator, one of the third party's that is shared."""
    from pydplib.web.analyses.models import Analysis
    from pydplib.web.analyses.visibility import share

    address = f"projects/{world.project.key}/analyses"
    made = {
        name: program(role).post(address, _count(column)).json()["key"]
        for name, role, column in (
            ("ours", "collaborator", "pirads"),
            ("acme", "third_party", "bph"),
            ("shared", "third_party", "year"),
        )
    }
    share(world.people["owner"], Analysis.objects.get(key=made["shared"]), ["collaborator"])
    return made


def test_the_list_holds_what_was_released_to_the_organisation_and_nothing_else(
    world: Any, program: Any, bought: dict[str, str]
) -> None:
    address = f"projects/{world.project.key}/released"
    seen = {
        role: {each["key"] for each in program(role).get(address).json()} for role in ("collaborator", "third_party")
    }
    assert seen["third_party"] == {bought["acme"], bought["shared"]}
    assert seen["collaborator"] == {bought["ours"]}, "what is shared and not paid for is not listed"
    for name in ("ours", "acme", "shared"):
        for kind in ("csv", "parquet"):
            answers = {
                role: program(role).get(f"released/{bought[name]}/{kind}").status_code
                for role in ("collaborator", "third_party")
            }
            told = {"ours": (200, 404), "acme": (404, 200), "shared": (403, 200)}[name]
            assert tuple(answers.values()) == told, (name, kind)
    assert program("third_party").get(f"released/{bought['acme']}/xlsx").status_code == 404


def test_csv_and_parquet_hold_the_same_rounded_numbers(program: Any, bought: dict[str, str]) -> None:
    partner = program("third_party")
    text = partner.get(f"released/{bought['acme']}/csv")
    assert text["Content-Type"].startswith("text/csv")
    rows = list(csv.DictReader(io.StringIO(text.content.decode())))
    table = pyarrow.parquet.read_table(io.BytesIO(partner.get(f"released/{bought['acme']}/parquet").content))
    assert table.column_names == list(rows[0]) and table.num_rows == len(rows)
    assert [float(row["value"]) for row in rows] == [float(one) for one in table["value"].to_pylist()]


def test_a_token_is_a_password_here_and_nowhere_else_and_never_part_of_an_address(
    world: Any, program: Any, bought: dict[str, str]
) -> None:
    token, client = program("third_party").token, Client()

    def basic(user: str, password: str) -> dict[str, str]:
        return {"Authorization": "Basic " + base64.b64encode(f"{user}:{password}".encode()).decode()}

    here = f"/api/v1/released/{bought['acme']}/csv"
    assert client.get(here, headers=basic("anybody", token)).status_code == 200
    assert client.get(here, headers=basic("", token)).status_code == 200
    wrong = client.get(here, headers=basic("tara", "pydp_" + "x" * 43))
    assert wrong.status_code == 401 and wrong["WWW-Authenticate"].startswith("Basic")
    for header in ("Basic ???", "Basic", "Basic " + base64.b64encode(b"\xff\xfe:").decode(), f"Basic {token}"):
        assert client.get(here, headers={"Authorization": header}).status_code == 401
    for address in (f"{here}?token={token}", f"{here}?access_token={token}"):
        assert client.get(address).status_code == 401, "no address opens it"
    other = f"/api/v1/analyses/{bought['acme']}"
    refused = client.get(other, headers=basic("tara", token))
    assert refused.status_code == 401 and refused["WWW-Authenticate"].startswith("Bearer"), "tables alone"
    asked = f"/api/v1/projects/{world.project.key}/analyses"
    assert client.post(asked, _count("year"), "application/json", headers=basic("t", token)).status_code == 401


def test_every_table_that_is_taken_is_in_the_log(program: Any, bought: dict[str, str]) -> None:
    from pydplib.web.auditlog.models import Line

    program("third_party").get(f"released/{bought['acme']}/parquet")
    line = Line.objects.filter(action="analysis.export").latest("pk")
    assert bought["acme"] in line.body and "parquet" in line.body
