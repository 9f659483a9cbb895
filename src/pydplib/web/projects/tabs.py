"""The tabs above the pages of one project."""

from __future__ import annotations

from django.urls import reverse

from pydplib.web.projects.permissions import ProjectRequest


def project_tabs(request: ProjectRequest, active: str) -> list[dict[str, object]]:
    """Return overview, members, policy and what I get, as far as the role opens them."""
    key, place = request.project.key, request.member
    listed = [
        ("Overview", "project", reverse("project", kwargs={"key": key}), True),
        ("Members", "members", reverse("members", kwargs={"key": key}), place.can("read_log")),
        ("Policy", "policy", f"{reverse('policy')}?project={key}", True),
        ("Your access", "access", f"{reverse('access')}?project={key}", True),
        ("Requests", "requests", f"{reverse('requests')}?project={key}", True),
    ]
    return [{"label": label, "url": url, "active": name == active} for label, name, url, is_open in listed if is_open]
