"""Pages: the members of a project; add, change, remove."""

from __future__ import annotations

from typing import Any

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from pydplib.errors import ParameterError
from pydplib.policy import can_edit_rights, check_edit_rights
from pydplib.web.doors import door
from pydplib.web.projects.changing import noting_refusals
from pydplib.web.projects.forms import AddMemberForm, MemberForm
from pydplib.web.projects.joining import add_member, change_member, remove_member
from pydplib.web.projects.models import Member, Project
from pydplib.web.projects.tabs import project_tabs


@door("read_log", of=Project)
@require_safe
def members(request: HttpRequest) -> HttpResponse:
    """List the members; owners change them, the data protection officer reads."""
    role, name = request.member.role, request.user.username
    listed = [
        (member, can_edit_rights(role, editor=name, subject=member.user.username))
        for member in request.project.members.select_related("user", "user__hospital")
    ]
    values = {
        "project": request.project,
        "tabs": project_tabs(request, "members"),
        "listed": listed,
        "can_edit": request.member.can("edit_policy"),
    }
    return render(request, "projects/members.html", values)


@door("edit_policy", of=Project, recent=True)
@require_http_methods(["GET", "HEAD", "POST"])
def new_member(request: HttpRequest) -> HttpResponse:
    """Add somebody: as third party, like everybody new."""
    project = request.project
    form = AddMemberForm(request.POST or None, project=project)
    if request.method == "POST" and form.is_valid():
        try:
            with noting_refusals(request):
                member = add_member(request.user, project, form.cleaned_data["username"])
        except ParameterError as error:
            form.add_error(None, str(error))
        else:
            messages.success(request, f"{member.user} is a member now, as third party. Change the role here if needed.")
            return redirect("member", key=member.key)
    values = {"form": form, "project": project, "breadcrumb": _way(project, "Add")}
    return render(request, "projects/member_new.html", values, status=422 if form.is_bound else 200)


@door("edit_policy", of=Member, recent=True)
@require_http_methods(["GET", "HEAD", "POST"])
def member(request: HttpRequest) -> HttpResponse:
    """Change role, department and groups of a member."""
    subject: Member = request.target
    with noting_refusals(request):
        check_edit_rights(request.member.role, editor=request.user.username, subject=subject.user.username)
    form = MemberForm(request.POST or None, member=subject)
    if request.method == "POST" and form.is_valid():
        values = {"groups": [], **form.cleaned_data}
        try:
            with noting_refusals(request):
                changed = change_member(request.user, subject, **values)
        except ParameterError as error:
            form.add_error(None, str(error))
        else:
            messages.success(request, "Saved; it counts from the next click on." if changed else "Nothing was changed.")
            return redirect("members", key=request.project.key)
    shown: dict[str, Any] = {
        "form": form,
        "subject": subject,
        "project": request.project,
        "breadcrumb": _way(request.project, str(subject.user)),
    }
    return render(request, "projects/member.html", shown, status=422 if form.is_bound else 200)


@door("edit_policy", of=Member, recent=True)
@require_POST
def remove(request: HttpRequest) -> HttpResponse:
    """Take somebody out of the project."""
    subject: Member = request.target
    name = str(subject.user)
    with noting_refusals(request):
        remove_member(request.user, subject)
    messages.success(request, f"{name} is no longer a member; open pages stop working at the next click.")
    return redirect("members", key=request.project.key)


def _way(project: Project, here: str) -> list[tuple[str, str]]:
    return [(project.name, f"/projects/{project.key}"), ("Members", f"/projects/{project.key}/members"), (here, "")]
