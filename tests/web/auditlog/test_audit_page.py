"""The log as a page: who reads which lines, filters, words, files, verification."""

from __future__ import annotations

import csv
import io
import json
from typing import Any

import pytest

from pydplib.web.auditlog.files import head_from_json, head_to_json
from pydplib.web.auditlog.log import record
from pydplib.web.auditlog.models import Line
from pydplib.web.auditlog.verification import verify


def _read(response: Any) -> str:
    return (b"".join(response.streaming_content) if response.streaming else response.content).decode()


def test_lines_are_shown_in_words(member, project) -> None:
    client = member("data_protection_officer")
    record(client.user, "report.sign", "abc", project=project, version=2)
    page = client.get("/audit").content.decode()
    assert "Signed a report" in page and "version: 2" in page and "report.sign</" not in page


def test_lines_of_other_projects_and_hospitals_are_not_shown(member, project, hospital) -> None:
    from web_objects import make_project

    from pydplib.web.people.models import Hospital, User

    elsewhere = Hospital.objects.create(name="Elsewhere")
    record(User.objects.create_user("foreign-eve", hospital=elsewhere), "user.sign_in")
    record("own-zoe", "report.look", "x", project=make_project(hospital, "Sister"))
    record("far-yan", "report.look", "x", project=make_project(elsewhere, "Far"))
    client = member("owner")
    record(client.user, "user.sign_in")
    for query in ("", "?scope=hospital"):
        page = client.get("/audit" + query).content.decode()
        files = [_read(client.get(f"/audit/export/{kind}{query}")) for kind in ("csv", "json")]
        for text in (page, *files):
            assert not any(name in text for name in ("foreign-eve", "own-zoe", "far-yan"))
    assert "Signed in" in client.get("/audit?scope=hospital").content.decode()
    assert "Signed in" not in client.get("/audit").content.decode()


def test_a_partner_never_reads_the_hospitals_own_lines(project, sign_in) -> None:
    """Even if a partner's role could read the log, the hospital's sign-ins are not theirs."""
    from pydplib.web.people.models import Hospital, User
    from pydplib.web.projects.models import Member

    partner = User.objects.create_user("partner", hospital=Hospital.objects.create(name="Acme"))
    Member.objects.create(project=project, user=partner, role="data_protection_officer")
    record(User.objects.create_user("colleague", hospital=project.hospital), "user.sign_in")
    page = sign_in(partner).get("/audit?scope=hospital").content.decode()
    assert "colleague" not in page


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("action=report.sign", {"r2"}),
        ("actor=ADA", {"r1", "r2"}),
        ("actor=ada&action=report.look", {"r1"}),
        ("since=2000-01-01", {"r1", "r2", "r3"}),
        ("until=2000-01-01", set()),
        ("since=nonsense&actor=ada", {"r1", "r2"}),
    ],
)
def test_filters_narrow_page_and_files(member, project, query: str, expected: set[str]) -> None:
    client = member("owner")
    for who, action, key in (("ada", "report.look", "r1"), ("ada", "report.sign", "r2"), ("bob", "report.look", "r3")):
        record(who, action, key, project=project)
    page = client.get(f"/audit?{query}").content.decode()
    assert {key for key in ("r1", "r2", "r3") if f">{key}<" in page} == expected
    rows = json.loads(_read(client.get(f"/audit/export/json?{query}")))
    assert {row["subject"] for row in rows} & {"r1", "r2", "r3"} == expected


def test_pages_go_on(member, project) -> None:
    client = member("owner")
    for number in range(60):
        record("ada", "report.look", f"key-{number:02d}", project=project)
    assert "key-59" in client.get("/audit").content.decode()
    second = client.get("/audit?page=2").content.decode()
    assert "key-00" in second and "key-59" not in second


def test_the_csv_runs_no_formula(member, project) -> None:
    client = member("owner")
    for word in ("=1+1", "+1", "-1", "@x", " =1", "\t=1"):
        record("=cmd|calc", "report.look", word, project=project)
    rows = list(csv.DictReader(io.StringIO(_read(client.get("/audit/export/csv?action=report.look")))))
    assert len(rows) == 6
    assert all(row["subject"].startswith("'") and row["actor"].startswith("'") for row in rows)


def test_exports_are_lines_themselves_and_other_formats_are_not_found(member, project) -> None:
    client = member("owner")
    _read(client.get("/audit/export/csv"))
    assert list(Line.objects.values_list("action", "subject")) == [("audit.export", "csv")]
    assert client.get("/audit/export/pickle").status_code == 404


def test_json_holds_what_is_hashed(member, project) -> None:
    record("ada", "report.look", "x", project=project, count=3)
    rows = json.loads(_read(member("owner").get("/audit/export/json?action=report.look")))
    line = Line(**{name: rows[0][name] for name in rows[0]})
    assert line.seal() == rows[0]["hash"]


def test_verify_says_whole_or_where_it_breaks(member, project) -> None:
    from django.db import connection

    client = member("owner")
    record("ada", "report.look", "x", project=project)
    page = client.post("/audit/verify", follow=True).content.decode()
    assert "The log is whole" in page
    with connection.cursor() as cursor:
        if connection.vendor == "sqlite":
            cursor.execute("DROP TRIGGER auditlog_line_no_update")
        else:
            cursor.execute("ALTER TABLE auditlog_line DISABLE TRIGGER ALL")
        cursor.execute("UPDATE auditlog_line SET actor = 'eve' WHERE number = 1")
    page = client.post("/audit/verify", follow=True).content.decode()
    assert "damaged" in page and "Line 1 does not fit" in page


def test_the_head_can_be_kept_and_compared(member, project) -> None:
    client = member("data_protection_officer")
    record("ada", "report.look", "x", project=project)
    response = client.get("/audit/head")
    assert "attachment" in response.headers["Content-Disposition"]
    assert verify(expected=head_from_json(response.content.decode()))
    assert not verify(expected=(99, "0" * 64))


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"format": "pydplib audit log head 1", "lines": -1, "hash": "x"}'])
def test_what_is_no_head_is_refused(text: str) -> None:
    with pytest.raises(ValueError):
        head_from_json(text)


def test_a_head_comes_back(db) -> None:
    record("ada", "report.look")
    assert head_from_json(head_to_json())[0] == 1
