"""Pages: the list of projects, one project, make and edit one."""

from __future__ import annotations

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods, require_safe

from pydplib.web.people.permissions import SignedInRequest, hospital_owner, signed_in
from pydplib.web.projects.forms import LATER, NewProjectForm, ProjectForm
from pydplib.web.projects.members.memberships import owners_of
from pydplib.web.projects.models import Project
from pydplib.web.projects.permissions import TargetRequest, memberships, requires
from pydplib.web.projects.setup import can_create_project, create_project, edit_project
from pydplib.web.projects.tabs import project_tabs


@signed_in
@require_safe
def projects(request: SignedInRequest) -> HttpResponse:
    """List the user's projects."""
    places = memberships(request)
    return render(request, "projects/list.html", {"places": places, "can_create": can_create_project(request.user)})


@hospital_owner
@require_http_methods(["GET", "HEAD", "POST"])
def new_project(request: SignedInRequest) -> HttpResponse:
    """Make a project."""
    form = NewProjectForm(request.POST or None)
    if request.method == "POST" and form.is_valid():
        values = dict(form.cleaned_data)
        template = values.pop("template")
        project = create_project(request.user, template=None if template == LATER else template, **values)
        messages.success(request, "The project is ready. You are its owner; now add the people who take part.")
        return redirect("project", key=project.key)
    return render(request, "projects/new.html", {"form": form}, status=422 if form.is_bound else 200)


@requires("read_project", of=Project)
@require_safe
def project(request: TargetRequest[Project]) -> HttpResponse:
    """Show what the project is for; looking at it makes it the current one."""
    chosen, place = request.project, request.member
    request.session["project"] = chosen.key
    version = chosen.template_version
    used = f"{version.template.title}, version {version.number}" if version else "Not chosen yet"
    values: dict[str, object] = {
        "project": chosen,
        "tabs": project_tabs(request, "project"),
        "template_version": version,
        "owners": owners_of(chosen),
        "can_edit": place.can("edit_policy"),
        "facts": [*_facts(chosen), ("Report template", used)],
    }
    if place.can("manage_data"):
        values["snapshots"] = chosen.snapshots.all()[:5]
    return render(request, "projects/project.html", values)


@requires("edit_policy", of=Project, recent=True)
@require_http_methods(["GET", "HEAD", "POST"])
def edit(request: TargetRequest[Project]) -> HttpResponse:
    """Change name, purpose, legal basis and retention."""
    chosen = request.project
    initial = {name: getattr(chosen, name) for name in ProjectForm.base_fields}
    form = ProjectForm(request.POST or None, initial=initial)
    if request.method == "POST" and form.is_valid():
        changed = edit_project(request.user, chosen, **form.cleaned_data)
        messages.success(request, "Saved." if changed else "Nothing was changed.")
        return redirect("project", key=chosen.key)
    values = {"form": form, "project": chosen, "breadcrumb": _way(chosen, "Edit")}
    return render(request, "projects/edit.html", values, status=422 if form.is_bound else 200)


def _facts(chosen: Project) -> list[tuple[str, str]]:
    return [
        ("Purpose", chosen.purpose),
        ("Legal basis", chosen.legal_basis),
        ("Records are kept until", f"{chosen.retention_until:%-d %B %Y}"),
        ("Held by", chosen.hospital.name),
    ]


def _way(chosen: Project, here: str) -> list[tuple[str, str]]:
    return [("Projects", "/projects"), (chosen.name, f"/projects/{chosen.key}"), (here, "")]
