"""Pages offer what there is: no question without published data, no budget for those who ask none."""

from __future__ import annotations

from typing import Any

import pytest

from pydplib.web.demo import PEOPLE, Entrance, invitation


def test_statistics_are_offered_once_a_snapshot_is_published(member: Any, project: Any) -> None:
    from django.utils import timezone

    from pydplib.web.intake.models import Snapshot
    from pydplib.web.reporting.models import TemplateVersion

    partner = member("third_party")
    assert "Ask for statistics" not in partner.get("/").content.decode()
    template = TemplateVersion.objects.create(project=project, number=1, definition="{}", made_by="x")
    Snapshot.objects.create(
        project=project, number=1, data_version=1, template=template, schema="{}", file="", sha256="",
        published=timezone.now(),
    )  # fmt: skip
    assert "Ask for statistics" in partner.get("/").content.decode()


@pytest.mark.parametrize(
    ("role", "offered"),
    [
        ("owner", True),
        ("collaborator", True),
        ("third_party", True),
        ("data_protection_officer", True),
        ("radiologist", False),
    ],
)
def test_the_budget_is_offered_to_those_who_have_or_watch_one(member: Any, role: str, offered: bool) -> None:
    page = member(role).get("/").content.decode()
    assert ('href="/budget"' in page) == offered


def test_the_demonstration_tells_its_people_apart() -> None:
    words = invitation([Entrance(person, f"/welcome/{person.username}") for person in PEOPLE], "http://x")
    names = [line.split("  ")[1] for line in words.splitlines() if "/welcome/" in line]
    assert len(set(names)) == len(PEOPLE) and "four eyes" in words
