"""A project with the PI-RADS 2.1 template, and browsers that write reports in it."""

from __future__ import annotations

import copy
from typing import Any

import pytest
from report_forms import COMPLETE, as_fields


@pytest.fixture
def answers() -> dict[str, Any]:
    """A complete report with one lesion; a copy that tests may change."""
    return copy.deepcopy(COMPLETE)


@pytest.fixture
def template(project: Any) -> Any:
    """The project's template version: PI-RADS 2.1."""
    from pydplib.capture import builtin
    from pydplib.web.reporting.report_templates.versions import add_template

    return add_template(project, builtin("pirads-2.1"), actor="system")


@pytest.fixture
def reader(member: Any, template: Any) -> Any:
    """A radiologist's browser."""
    return member("radiologist", "rita", department="radiology")


@pytest.fixture
def write(template: Any) -> Any:
    """Begin a report in a member's name, fill it in as a form would post it, and sign it unless told otherwise."""
    from pydplib.web.projects.models import Member
    from pydplib.web.reporting.forms.answers import read_fields, tidy
    from pydplib.web.reporting.forms.drafts import save_draft, start_report
    from pydplib.web.reporting.report_templates.versions import capturing_template
    from pydplib.web.reporting.signatures import sign_report

    def report(client: Any, answers: dict[str, Any], *, patient: str = "A 17", sign: bool = True) -> Any:
        place = Member.objects.get(user=client.user, project=template.project)
        made = start_report(template.project, identifier=patient, author=client.user, department=place.department)
        asked = capturing_template(made.template)
        fields = {name: str(value) for name, value in as_fields(answers).items()}
        revision = save_draft(made, tidy(asked, read_fields(asked, fields)), revision=0, by=client.user)
        if sign:
            sign_report(made, revision=revision, user=client.user)
        made.refresh_from_db()
        return made

    return report
