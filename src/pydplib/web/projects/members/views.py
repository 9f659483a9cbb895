"""Pages: the members of a project; add or invite, change, remove; accept, decline, leave."""

from __future__ import annotations

from django.contrib import messages
from django.db import transaction
from django.http import Http404, HttpResponse, HttpResponseNotAllowed
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from pydplib.errors import ParameterError
from pydplib.policy import can_edit_rights, check_edit_rights
from pydplib.web.people.accounts import invite_partner
from pydplib.web.people.links import Purpose
from pydplib.web.people.permissions import SignedInRequest, signed_in
from pydplib.web.people.views_hospital import show_link
from pydplib.web.projects.changes import noting_refusals
from pydplib.web.projects.forms import AddMemberForm, MemberForm
from pydplib.web.projects.members.invitations import (
    InvitationTerms,
    accept,
    decline,
    find_for,
    invite,
    waiting,
    withdraw_invitation,
)
from pydplib.web.projects.members.memberships import (
    add_member,
    change_member,
    colleague,
    leave_project,
    members_of,
    remove_member,
)
from pydplib.web.projects.models import Invitation, Member, Project
from pydplib.web.projects.permissions import TargetRequest, requires
from pydplib.web.projects.tabs import project_tabs

INVITED = "Invited. If somebody signs in here under this name and accepts, you see them among the members."
"""What an owner reads after every invitation, whether or not anybody has the name."""


@requires("read_log", of=Project)
@require_safe
def members(request: TargetRequest[Project]) -> HttpResponse:
    """List the members; owners change them, the data protection officer reads."""
    role, name = request.member.role, request.user.username
    listed = [
        (member, can_edit_rights(role, editor=name, subject=member.user.username))
        for member in members_of(request.project)
    ]
    values = {
        "project": request.project,
        "tabs": project_tabs(request, "members"),
        "listed": listed,
        "waiting": waiting(request.project) if request.member.can("edit_policy") else [],
        "can_edit": request.member.can("edit_policy"),
    }
    return render(request, "projects/members.html", values)


@requires("edit_policy", of=Project, recent=True)
@require_http_methods(["GET", "HEAD", "POST"])
def new_member(request: TargetRequest[Project]) -> HttpResponse:
    """Add a colleague, as third party like everybody new; or invite somebody of another organisation."""
    project = request.project
    form = AddMemberForm(request.POST or None, project=project, can_make_accounts=request.user.is_hospital_owner)
    if request.method == "POST" and form.is_valid():
        said, name = form.cleaned_data, form.cleaned_data["username"]
        terms = InvitationTerms(
            organisation=said["organisation"],
            role=said["role"],
            budget=said["budget"],
            until=said["until"],
            reason=said["reason"],
        )
        try:
            with noting_refusals(request):
                if said.get("makes_account"):
                    return _make_and_invite(request, project, name, terms)
                if colleague(project, name) is None:
                    invite(request.user, project, name, terms)
                    messages.success(request, INVITED)
                    return redirect("members", key=project.key)
                member = add_member(request.user, project, name)
        except ParameterError as error:
            form.add_error(None, str(error))
        else:
            messages.success(request, f"{member.user} is a member now, as third party. Change the role here if needed.")
            return redirect("member", key=member.key)
    values = {"form": form, "project": project, "breadcrumb": _way(project, "Add")}
    return render(request, "projects/member_new.html", values, status=422 if form.is_bound else 200)


def _make_and_invite(request: SignedInRequest, project: Project, name: str, terms: InvitationTerms) -> HttpResponse:
    """Make an organisation and its first user, invite them, and show the link by which they come in; all or nothing."""
    with transaction.atomic():
        user, token = invite_partner(request.user, terms.organisation, name, "")
        invite(request.user, project, user.username, terms)
    return show_link(request, user, token, Purpose.WELCOME)


@requires("edit_policy", of=Member, recent=True)
@require_http_methods(["GET", "HEAD", "POST"])
def member(request: TargetRequest[Member]) -> HttpResponse:
    """Change role, department and groups of a member."""
    subject: Member = request.target
    with noting_refusals(request):
        check_edit_rights(request.member.role, editor=request.user.username, subject=subject.user.username)
    form = MemberForm(request.POST or None, member=subject)
    if request.method == "POST" and form.is_valid():
        values = {"groups": [], **form.cleaned_data}
        try:
            with noting_refusals(request):
                done = change_member(request.user, subject, **values)
        except ParameterError as error:
            form.add_error(None, str(error))
        else:
            if done.proposed is not None:
                messages.success(request, "Proposed. It raises a budget, so it counts once a second owner agrees.")
                return redirect("request", key=done.proposed.key)
            words = "Saved; it counts from the next click on." if done.changed else "Nothing was changed."
            messages.success(request, words)
            return redirect("members", key=request.project.key)
    shown: dict[str, object] = {
        "form": form,
        "subject": subject,
        "project": request.project,
        "breadcrumb": _way(request.project, str(subject.user)),
    }
    return render(request, "projects/member.html", shown, status=422 if form.is_bound else 200)


@requires("edit_policy", of=Member, recent=True)
@require_POST
def remove(request: TargetRequest[Member]) -> HttpResponse:
    """Take somebody out of the project."""
    subject: Member = request.target
    name = str(subject.user)
    with noting_refusals(request):
        remove_member(request.user, subject)
    messages.success(request, f"{name} is no longer a member; open pages stop working at the next click.")
    return redirect("members", key=request.project.key)


@requires("edit_policy", of=Invitation, recent=True)
@require_POST
def invitation_withdraw(request: TargetRequest[Invitation]) -> HttpResponse:
    """Take an invitation back."""
    with noting_refusals(request):
        withdraw_invitation(request.user, request.target)
    messages.success(request, "Withdrawn.")
    return redirect("members", key=request.project.key)


@signed_in
def invitation_accept(request: SignedInRequest, key: str) -> HttpResponse:
    """Join a project to which the user was invited."""
    found = _own_invitation(request, key)
    if request.method != "POST":
        return HttpResponseNotAllowed(["POST"])
    member = accept(request.user, found)
    messages.success(request, f"You are a member of {member.project.name} now, as {member.get_role_display().lower()}.")
    return redirect("project", key=member.project.key)


@signed_in
def invitation_decline(request: SignedInRequest, key: str) -> HttpResponse:
    """Refuse an invitation; the one who made it is not told."""
    found = _own_invitation(request, key)
    if request.method != "POST":
        return HttpResponseNotAllowed(["POST"])
    decline(request.user, found)
    messages.success(request, "Declined. Whoever invited you is not told.")
    return redirect("home")


def _own_invitation(request: SignedInRequest, key: str) -> Invitation:
    """Return the invitation of the address; those of others, and those that are over, are not there."""
    found = find_for(request.user, key)
    if found is None:
        raise Http404
    return found


@requires("read_project", of=Project)
@require_POST
def leave(request: TargetRequest[Project]) -> HttpResponse:
    """Leave a project."""
    name = request.project.name
    with noting_refusals(request):
        leave_project(request.user, request.project)
    request.session.pop("project", None)
    messages.success(request, f"You have left {name}.")
    return redirect("home")


def _way(project: Project, here: str) -> list[tuple[str, str]]:
    return [(project.name, f"/projects/{project.key}"), ("Members", f"/projects/{project.key}/members"), (here, "")]
