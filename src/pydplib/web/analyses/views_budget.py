"""Pages: the budget; own organisation's for those who ask, all of them for owners and officers; the ledger's health."""

from __future__ import annotations

from django.contrib import messages
from django.core.paginator import Paginator
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.views.decorators.http import require_POST, require_safe

from pydplib.errors import LedgerError
from pydplib.policy import can_read_ledger
from pydplib.schema import Schema
from pydplib.web.analyses.payments.budgets import Bookings, all_purses, forecast, own_purse
from pydplib.web.analyses.payments.sessions import recipient_of
from pydplib.web.analyses.question_form.offers import titles_of
from pydplib.web.analyses.views_ask import more_url
from pydplib.web.auditlog.lines import LineFilter, lines_of, narrow, show
from pydplib.web.auditlog.log import record
from pydplib.web.intake.snapshots import published_snapshot
from pydplib.web.ledger.checks import verify_ledger
from pydplib.web.ledger.database import DatabaseLedger
from pydplib.web.projects.models import Project
from pydplib.web.projects.permissions import ProjectRequest, door

REFUSALS = 20


@door("read_project")
@require_safe
def budget(request: ProjectRequest) -> HttpResponse:
    """Show what was spent and what is left."""
    project, place = request.project, request.member
    everything = can_read_ledger(place.role, own=False)
    values: dict[str, object] = {"project": project, "everything": everything}
    try:
        values |= _all(request) if everything else _own(request)
    except LedgerError as error:
        values["fault"] = str(error) if everything else "The ledger cannot be read now. The operator has to look at it."
        return render(request, "analyses/budget.html", values, status=503)
    return render(request, "analyses/budget.html", values)


@door("read_all_ledgers")
@require_POST
def budget_verify(request: ProjectRequest) -> HttpResponse:
    """Replay the whole ledger and say whether chain, sums, payments and stored answers agree."""
    try:
        verify_ledger(request.user, project=request.project)
    except LedgerError as error:
        messages.error(request, f"{error} Tell whoever runs this server, at once.")
    else:
        messages.success(
            request, "The ledger is sound: chain, sums, payments and stored answers agree, and nothing was rolled back."
        )
    return redirect(f"/budget?project={request.project.key}")


@door("read_all_ledgers")
@require_safe
def budget_head(request: ProjectRequest) -> HttpResponse:
    """Give out the end of the ledger's chain, to be kept where this server's operator cannot write."""
    content = DatabaseLedger().head().to_json()
    record(request.user, "ledger.head", project=request.project)
    response = HttpResponse(content, content_type="application/json")
    response["Content-Disposition"] = f'attachment; filename="ledger-head-{timezone.localdate():%Y-%m-%d}.json"'
    return response


def _own(request: ProjectRequest) -> dict[str, object]:
    project, user = request.project, request.user
    purse = own_purse(project, user, request.member)
    if purse is None or request.member.preview:
        return {"purse": purse, "more_url": ""}
    name = recipient_of(user)
    page = Paginator(Bookings(project, titles=_titles(project), recipient=name), 25)
    return {
        "purse": purse,
        "forecast": forecast(project, purse, recipient=name),
        "page_obj": page.get_page(request.GET.get("page")),
        "more_url": more_url(request, None),
    }


def _all(request: ProjectRequest) -> dict[str, object]:
    project = request.project
    purses, whole = all_purses(project)
    page = Paginator(Bookings(project, titles=_titles(project)), 25)
    refused = narrow(lines_of([project.key]), LineFilter(actions=("analysis.refuse", "flow.refuse")))
    return {
        "purses": purses,
        "whole": whole,
        "forecast": forecast(project, whole),
        "low": [purse for purse in (whole, *purses) if purse.is_low],
        "refusals": [show(line) for line in refused[:REFUSALS]],
        "damage": DatabaseLedger().damage,
        "page_obj": page.get_page(request.GET.get("page")),
        "can_propose": request.member.can("edit_policy"),
    }


def _titles(project: Project) -> dict[str, str]:
    snapshot = published_snapshot(project)
    return {} if snapshot is None else titles_of(Schema.from_json(snapshot.schema))
