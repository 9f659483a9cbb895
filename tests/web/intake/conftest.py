"""A project with the paper's template, and rows for it."""

from __future__ import annotations

from typing import Any

import pytest

CANARY = "ZZCANARY-7731"


@pytest.fixture
def version(project: Any) -> Any:
    """The paper's template as the project's current one."""
    from pydplib.capture import builtin
    from pydplib.web.reporting.models import TemplateVersion

    definition = builtin("pirads-paper").to_json()
    return TemplateVersion.objects.create(project=project, number=1, definition=definition, made_by="test")


@pytest.fixture
def row() -> Any:
    """Return a function that makes a good row of the paper's template."""

    def make(patient: str = "P1", **more: Any) -> dict[str, Any]:
        return {
            "patient_id": patient,
            "last_modified": "2018-03-01",
            "age": 64,
            "year": 2018,
            "pca_no_pirads": False,
            "pirads": 4,
            "prostatitis": "n",
            **more,
        }

    return make


@pytest.fixture
def filled(project: Any, version: Any, row: Any, member: Any) -> Any:
    """Thirty reports of twenty-five patients in two departments, and the owner's client."""
    from pydplib.web.intake.imports.records import accept_rows

    owner = member("owner")
    rows = [
        row(
            f"P{i % 25}",
            age=50 + i,
            last_modified=f"2018-{1 + i % 12:02d}-{1 + i % 28:02d}",
            physician_name=f"{CANARY} physician",
        )
        for i in range(30)
    ]
    accept_rows(project, version, rows[:20], actor=owner.user, department="URO")
    accept_rows(project, version, rows[20:], actor=owner.user, department="RAD")
    project.refresh_from_db()
    return owner
