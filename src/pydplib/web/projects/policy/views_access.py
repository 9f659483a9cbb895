"""Pages: what you get, and looking at the project as another role would."""

from __future__ import annotations

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_POST, require_safe

from pydplib.errors import ParameterError
from pydplib.policy import ROLES, parse_role
from pydplib.web.auditlog.log import record
from pydplib.web.people.addresses import safe_path
from pydplib.web.people.permissions import SignedInRequest, signed_in
from pydplib.web.projects.permissions import ProjectRequest, requires
from pydplib.web.projects.policy.access import access_of
from pydplib.web.projects.tabs import project_tabs


@requires("read_project")
@require_safe
def access(request: ProjectRequest) -> HttpResponse:
    """Show what the role (in a preview: the one looked through) gets, per output and field, by the policy of now."""
    place = request.member
    values = {
        "project": request.project,
        "tabs": project_tabs(request, "access"),
        "access": access_of(request.project, place),
        "member": place,
        "role": ROLES[place.role],
    }
    return render(request, "projects/access.html", values)


@requires("edit_policy")
@require_POST
def preview_start(request: ProjectRequest) -> HttpResponse:
    """Look at the project as another role would; nothing can be changed meanwhile."""
    role = parse_role(request.POST.get("role", ""))
    if role.name == request.member.role:
        raise ParameterError("You see the project in this role already.")
    request.session["preview"] = {"project": request.project.key, "role": role.name}
    request.session["project"] = request.project.key
    record(request.user, "preview.start", request.project.key, project=request.project, role=role.name)
    return redirect(safe_path(request, request.POST.get("next"), default="/policy/access"))


@signed_in
@require_POST
def preview_end(request: SignedInRequest) -> HttpResponse:
    """Look with one's own eyes again."""
    if request.session.pop("preview", None):
        messages.success(request, "You see everything as yourself again.")
    return redirect("policy")
