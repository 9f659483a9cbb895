"""Refusals are written down, and repeated ones are told to owner and officer."""

from __future__ import annotations

import datetime as dt

import pytest

from pydplib.web.auditlog.alerts import REFUSALS, is_too_often, repeated_refusals
from pydplib.web.auditlog.log import record
from pydplib.web.auditlog.models import Line


def test_a_refused_page_is_a_line_without_what_was_sent(member, project) -> None:
    client = member("third_party")
    assert client.get("/audit?actor=canary-4711").status_code == 403
    line = Line.objects.get(action="door.refuse")
    assert (line.actor, line.project, line.subject) == ("third_party", project.key, "audit")
    assert "canary" not in line.body


def test_a_stranger_at_the_door_is_told_to_the_owners(member, project, make_user, sign_in) -> None:
    stranger = sign_in(make_user("stranger"))
    for page in (f"/projects/{project.key}", f"/policy?project={project.key}"):
        assert stranger.get(page).status_code == 404
    assert stranger.get("/projects/no-such-project").status_code == 404
    lines = Line.objects.filter(actor="stranger")
    assert [line.project for line in lines] == [project.key] * 2
    assert "stranger" in member("owner").get("/audit").content.decode()


@pytest.mark.parametrize(("count", "minutes", "expected"), [(5, 2, True), (4, 0, False), (5, 3, False), (9, 2, True)])
def test_too_often_is_five_in_ten_minutes(count: int, minutes: int, expected: bool) -> None:
    start = dt.datetime(2026, 1, 1, tzinfo=dt.UTC)
    assert is_too_often([start + n * dt.timedelta(minutes=minutes) for n in range(count)]) is expected


def test_repeated_refusals_are_shown_to_owner_and_officer_only(member, project) -> None:
    tim = member("third_party", "tim")
    for _ in range(REFUSALS):
        assert tim.get("/audit").status_code == 403
    for role in ("owner", "data_protection_officer"):
        client = member(role)
        for page in ("/", "/audit"):
            text = client.get(page).content.decode()
            assert "Repeated refusals" in text and "tim" in text
    assert "Repeated refusals" not in tim.get("/").content.decode()
    assert "Repeated refusals" not in member("collaborator").get("/").content.decode()


def test_fewer_refusals_old_ones_and_owners_decisions_are_no_alert(db, project) -> None:
    for _ in range(REFUSALS - 1):
        record("tim", "door.refuse", project=project)
    for _ in range(REFUSALS):
        record("ada", "request.refuse", project=project)
    assert repeated_refusals([project.key]) == []
    record("tim", "flow.refuse", project=project)
    assert [(alert.actor, alert.count) for alert in repeated_refusals([project.key])] == [("tim", REFUSALS)]
    later = dt.datetime.now(dt.UTC) + dt.timedelta(days=8)
    assert repeated_refusals([project.key], now=later) == []
    assert repeated_refusals(["other"]) == []


def test_a_flood_of_refusals_is_few_lines_and_one_that_counts(project, make_user, sign_in, monkeypatch) -> None:
    from pydplib.web.auditlog import refusals
    from pydplib.web.auditlog.models import Line

    stranger, other = sign_in(make_user("mallory")), sign_in(make_user("trudy"))
    for _ in range(100):
        assert stranger.get(f"/data?project={project.key}").status_code == 404
    lines = Line.objects.filter(action="door.refuse", project=project.key)
    assert lines.count() == refusals.LINES
    other.get(f"/data?project={project.key}")
    assert lines.filter(actor="trudy").count() == 1, "everybody has a count of their own"
    refusals.flush()
    assert lines.filter(actor="mallory").count() == refusals.LINES, "it has not ended yet"
    monkeypatch.setattr(refusals, "WINDOW", -1.0)
    refusals.flush()
    last = lines.filter(actor="mallory").latest("number")
    assert last.facts == {"further": 100 - refusals.LINES}
    stranger.get(f"/data?project={project.key}")
    assert lines.filter(actor="mallory").count() == refusals.LINES + 2, "and the count begins again"
