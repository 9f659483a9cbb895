"""A hospital with a project, members and the PI-RADS template, for processes that tests start; needs Django set up."""

from __future__ import annotations

import datetime as dt
from secrets import token_hex
from typing import Any


def make_world(*, readers: int = 1) -> dict[str, Any]:
    """Make an owner and radiologists of one department; return them with the project."""
    from pydplib.capture import builtin
    from pydplib.policy import DEFAULT_RULES
    from pydplib.web.people.models import Hospital, User
    from pydplib.web.projects.models import Member, Project, Rule, project_key
    from pydplib.web.reporting.report_templates.versions import add_template

    hospital = Hospital.objects.get_or_create(name="St. Example")[0]
    project = Project.objects.create(
        key=project_key("pirads"),
        hospital=hospital,
        name="PI-RADS",
        purpose="Prostate MRI",
        legal_basis="Consent",
        retention_until=dt.date(2040, 1, 1),
    )
    Rule.objects.bulk_create([Rule.from_rule(project, rule) for rule in DEFAULT_RULES])
    people = {}
    for name, role in (("olga", "owner"), *((f"rita{number}", "radiologist") for number in range(readers))):
        people[name] = User.objects.create_user(f"{name}-{token_hex(3)}", hospital=hospital)
        Member.objects.create(project=project, user=people[name], role=role, department="radiology")
    add_template(project, builtin("pirads-2.1"), actor="system")
    return {"project": project, **people}


def session_of(user: Any, *, second_factor: bool = True) -> str:
    """Return the session key of a browser in which the user is signed in."""
    from django.test import Client
    from django.utils import timezone
    from django_otp import DEVICE_ID_SESSION_KEY
    from django_otp.plugins.otp_totp.models import TOTPDevice

    client = Client()
    client.force_login(user, backend="django.contrib.auth.backends.ModelBackend")
    session = client.session
    if second_factor:
        device, _ = TOTPDevice.objects.get_or_create(user=user, name="phone", confirmed=True)
        session[DEVICE_ID_SESSION_KEY] = device.persistent_id
    session["confirmed_at"] = timezone.now().timestamp()
    session.save()
    return str(session.session_key)
