"""A full disk and a database that is down are said, as 503, on pages, by the API and by the health check."""

from __future__ import annotations

import errno
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.db import OperationalError
from django.test import Client

from pydplib.web import room
from pydplib.web.room import DOWN, FULL, reason_of


def test_health_check_tells_of_a_full_disk(db: None, monkeypatch: pytest.MonkeyPatch) -> None:
    assert Client().get("/healthz").status_code == 200
    monkeypatch.setattr(room, "free_bytes", lambda folder=None: 1000)
    answer = Client().get("/healthz")
    assert answer.status_code == 503 and answer.json() == {"status": "disk is full"}


def test_upload_and_snapshot_say_that_the_disk_is_full(
    project: Any, member: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    from pydplib.capture import builtin
    from pydplib.web.intake.models import ImportBatch, Snapshot
    from pydplib.web.reporting.models import TemplateVersion

    TemplateVersion.objects.create(
        project=project, number=1, made_by="t", definition=builtin("pirads-paper").to_json(), is_current=True
    )
    owner = member("owner")
    owner.raise_request_exception = False
    monkeypatch.setattr(room, "free_bytes", lambda folder=None: 1000)
    answer = owner.post("/import", {"file": SimpleUploadedFile("a.csv", b"age\n5\n")})
    assert answer.status_code == 503 and b"disk is full" in answer.content
    answer = owner.post("/snapshots")
    assert answer.status_code == 503 and b"disk is full" in answer.content
    assert not ImportBatch.objects.exists() and not Snapshot.objects.exists()


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (OSError(errno.ENOSPC, "No space left on device"), FULL),
        (OperationalError("database or disk is full"), FULL),
        (OperationalError('could not extend file "base/5/1": No space left on device'), FULL),
        (OperationalError("connection refused (ZZCANARY)"), DOWN),
    ],
)
def test_page_and_api_answer_503_in_words(
    db: None, member: Any, monkeypatch: pytest.MonkeyPatch, error: Exception, words: str
) -> None:
    assert reason_of(error) == (503, words)
    owner = member("owner")
    owner.raise_request_exception = False

    def fail(*args: Any, **more: Any) -> Any:
        raise error

    with monkeypatch.context() as patch:
        patch.setattr("pydplib.web.projects.views_projects.render", fail)
        answer = owner.get("/projects")
    assert answer.status_code == 503 and words.encode() in answer.content.replace(b"&#x27;", b"'")
    monkeypatch.setattr("pydplib.web.api.tokens.use", fail)
    answer = Client().get("/api/v1/projects", headers={"Authorization": "Bearer x"})
    assert answer.status_code == 503 and answer.json()["error"] == words and "ZZCANARY" not in answer.content.decode()


def test_cause_of_an_error_is_found_and_other_errors_have_none() -> None:
    outer = RuntimeError("outer")
    outer.__cause__ = OSError(errno.ENOSPC, "full")
    assert reason_of(outer) == (503, FULL)
    assert reason_of(ValueError("full")) is None and reason_of(OSError(errno.EACCES, "no")) is None
