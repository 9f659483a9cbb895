"""A project with the PI-RADS 2.1 template, and browsers that write reports in it."""

from __future__ import annotations

import copy
from typing import Any

import pytest
from report_forms import COMPLETE, post


@pytest.fixture
def answers() -> dict[str, Any]:
    """A complete report with one lesion; a copy that tests may change."""
    return copy.deepcopy(COMPLETE)


@pytest.fixture
def template(project: Any) -> Any:
    """The project's template version: PI-RADS 2.1."""
    from pydplib.capture import builtin
    from pydplib.web.reporting.templating import add_template

    return add_template(project, builtin("pirads-2.1"), actor="system")


@pytest.fixture
def reader(member: Any, template: Any) -> Any:
    """A radiologist's browser."""
    return member("radiologist", "rita", department="radiology")


@pytest.fixture
def write(template: Any) -> Any:
    """Begin a report through the pages, fill it in, and sign it unless told otherwise."""

    def report(client: Any, answers: dict[str, Any], *, patient: str = "A 17", sign: bool = True) -> Any:
        from pydplib.web.reporting.models import Report

        began = client.post("/reports/new", {"identifier": patient, "anyway": "1"})
        assert began.status_code == 302, began.content.decode()[-3000:]
        made = Report.objects.get(key=began["Location"].split("/")[2])
        done = post(client, made, answers, do="finish" if sign else "update")
        assert done.status_code == 302, done.content.decode()[-3000:]
        made.refresh_from_db()
        return made

    return report
