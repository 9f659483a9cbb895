"""Pages: requests for more; ask, propose, decide, withdraw."""

from __future__ import annotations

from typing import Any

from django.contrib import messages
from django.core.paginator import Paginator
from django.http import Http404, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from pydplib.errors import ParameterError
from pydplib.web.people.models import User
from pydplib.web.projects.changes import noting_refusals
from pydplib.web.projects.models import AccessRequest, Member, Project
from pydplib.web.projects.permissions import ProjectRequest, TargetRequest, requires
from pydplib.web.projects.policy.fields import titles_in
from pydplib.web.projects.requests.decisions import approvals_that_count, beneficiaries, decide, takes_two
from pydplib.web.projects.requests.forms import ASKING, DecisionForm, ProposeForm
from pydplib.web.projects.requests.independence import independent_owners, is_alone
from pydplib.web.projects.requests.submissions import (
    ask_budget,
    ask_fields,
    ask_role,
    binding_row,
    closed_fields,
    has_voted,
    propose_budget,
    requests_of,
    votes_on,
    withdraw,
)
from pydplib.web.projects.tabs import project_tabs
from pydplib.web.projects.words import request_meaning, request_words

_BADGES = {"withdrawn": "cancelled"}  # the design's "withdrawn" is a patient's consent


@requires("read_project")
@require_safe
def requests(request: ProjectRequest) -> HttpResponse:
    """List requests: all of them for owners and officers, their own ones for others."""
    project, place = request.project, request.member
    still_open, decided = requests_of(project, about=None if _sees_all(place) else request.user)
    titles = titles_in(project)
    waiting = [_entry(item, titles) for item in still_open]
    page = Paginator(decided, 20).get_page(request.GET.get("page"))
    values = {
        "project": project,
        "tabs": project_tabs(request, "requests"),
        "waiting": waiting,
        "page_obj": page,
        "past": [_entry(item, titles) for item in page.object_list],
        "can_ask": place.can("make_request"),
        "can_decide": place.can("decide_requests"),
    }
    return render(request, "projects/requests.html", values)


@requires("make_request")
@require_http_methods(["GET", "HEAD", "POST"])
def ask(request: ProjectRequest, kind: str) -> HttpResponse:
    """Ask for budget, fields or another role."""
    if kind not in ASKING:
        raise Http404
    project: Project = request.project
    place = request.member
    form = ASKING[kind](
        request.POST or None,
        project=project,
        user=request.user,
        role=place.role,
        initial={"budget": request.GET.get("budget", "")[:12]},
    )
    if request.method == "POST" and form.is_valid():
        try:
            with noting_refusals(request):
                _send(request.user, project, kind, form.cleaned_data)
        except ParameterError as error:
            form.add_error(None, str(error))
        else:
            messages.success(request, "Sent to the owners. You see here and on the home page what they decide.")
            return redirect(f"/requests?project={project.key}")
    values = {
        "form": form,
        "kind": kind,
        "title": {"budget": "Ask for more budget", "fields": "Ask for more fields", "role": "Ask for another role"}[
            kind
        ],
        "row": binding_row(project, place) if kind == "budget" else None,
        "nothing_closed": kind == "fields" and not closed_fields(project, place.role),
        "breadcrumb": _way(project, "Ask"),
    }
    return render(request, "projects/ask.html", values, status=422 if form.is_bound else 200)


@requires("edit_policy", recent=True)
@require_http_methods(["GET", "HEAD", "POST"])
def propose(request: ProjectRequest) -> HttpResponse:
    """Propose a larger budget, as an owner."""
    project: Project = request.project
    form = ProposeForm(request.POST or None, project=project, initial={"audience": request.GET.get("audience", "")})
    if request.method == "POST" and form.is_valid():
        try:
            with noting_refusals(request):
                propose_budget(request.user, project, **form.cleaned_data)
        except ParameterError as error:
            form.add_error(None, str(error))
        else:
            messages.success(request, "Proposed. It counts once a second owner agrees.")
            return redirect(f"/requests?project={project.key}")
    values = {
        "form": form,
        "alone": is_alone(project, request.user),
        "none_independent": not independent_owners(project, request.user.username),
        "project": project,
        "breadcrumb": _way(project, "Propose"),
    }
    return render(request, "projects/propose.html", values, status=422 if form.is_bound else 200)


@requires("read_project", of=AccessRequest)
@require_safe
def one_request(request: TargetRequest[AccessRequest]) -> HttpResponse:
    """Show one request with its history: to whom it concerns, owners and officers."""
    item: AccessRequest = request.target
    if not _sees_all(request.member) and request.user.username not in (item.by.username, item.beneficiary):
        raise Http404
    return render(request, "projects/request.html", _shown(request, item))


@requires("decide_requests", of=AccessRequest, recent=True)
@require_http_methods(["GET", "HEAD", "POST"])
def decision(request: TargetRequest[AccessRequest]) -> HttpResponse:
    """Approve or refuse."""
    item: AccessRequest = request.target
    form = DecisionForm(request.POST or None)
    if request.method == "POST" and form.is_valid():
        agrees = form.cleaned_data["decision"] == "approve"
        try:
            with noting_refusals(request):
                decided = decide(request.user, item, agrees=agrees, reason=form.cleaned_data["reason"])
        except ParameterError as error:
            form.add_error(None, str(error))
        else:
            messages.success(request, _thanks(decided))
            return redirect("request", key=item.key)
    values = _shown(request, item) | {"form": form}
    return render(request, "projects/decide.html", values, status=422 if form.is_bound else 200)


@requires("read_project", of=AccessRequest)
@require_POST
def take_back(request: TargetRequest[AccessRequest]) -> HttpResponse:
    """Withdraw one's own request."""
    item: AccessRequest = request.target
    if not _sees_all(request.member) and item.by_id != request.user.pk:
        raise Http404
    with noting_refusals(request):
        withdraw(request.user, item)
    messages.success(request, "Withdrawn.")
    return redirect(f"/requests?project={request.project.key}")


def _send(user: User, project: Project, kind: str, values: dict[str, Any]) -> None:
    if kind == "budget":
        ask_budget(user, project, budget=values["budget"], reason=values["reason"])
    elif kind == "fields":
        ask_fields(user, project, fields=values["names"], conditions=values["conditions"], reason=values["reason"])
    else:
        ask_role(user, project, role=values["role"], reason=values["reason"])


def _thanks(decided: AccessRequest) -> str:
    if decided.state == AccessRequest.State.OPEN:
        return "Your agreement is noted. Raising a budget takes two owners: one more must agree."
    return "Approved and in force." if decided.state == AccessRequest.State.APPROVED else "Refused."


def _sees_all(place: Member) -> bool:
    return bool(place.can("decide_requests") or place.can("read_log"))


def _entry(item: AccessRequest, titles: dict[str, str]) -> dict[str, object]:
    return {
        "item": item,
        "words": request_words(item, titles),
        "meaning": request_meaning(item),
        "badge": _BADGES.get(item.state, item.state),
        "agreed": sum(word.agrees for word in item.approvals.all()),
    }


def _shown(request: ProjectRequest, item: AccessRequest) -> dict[str, object]:
    project, place = request.project, request.member
    is_open = item.state == AccessRequest.State.OPEN
    said = has_voted(item, request.user)
    own = request.user.username in beneficiaries(project, item)
    events = [
        {
            "title": "Approved" if word.agrees else "Refused",
            "when": f"{word.time:%-d %B %Y, %H:%M}",
            "who": str(word.by),
            "text": word.reason,
            "icon": "check" if word.agrees else "ban",
            "tone": "good" if word.agrees else "danger",
        }
        for word in votes_on(item)
    ]
    return {
        "item": item,
        "project": project,
        **_entry(item, titles_in(project)),
        "events": events,
        "counting": len(approvals_that_count(project, item)),
        "needs_two": is_open and takes_two(project, item),
        "can_decide": is_open and place.can("decide_requests") and not said and not own,
        "own": own,
        "can_withdraw": is_open and item.by_id == request.user.pk and not place.preview,
        "breadcrumb": _way(project, item.get_kind_display()),
    }


def _way(project: Project, here: str) -> list[tuple[str, str]]:
    return [(project.name, f"/projects/{project.key}"), ("Requests", f"/requests?project={project.key}"), (here, "")]
