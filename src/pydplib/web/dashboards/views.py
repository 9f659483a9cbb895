"""Pages: dashboards as their audience sees them; for the owner with the originals next to them."""

from __future__ import annotations

from django.contrib import messages
from django.http import Http404, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_POST, require_safe

from pydplib.errors import ParameterError
from pydplib.web.analyses.shared_answers import receive
from pydplib.web.dashboards.budgets import purses
from pydplib.web.dashboards.models import Dashboard
from pydplib.web.dashboards.panels import audience_title, can_view, offer_of, panels_of, releases_for, visible
from pydplib.web.dashboards.prices import noise_words
from pydplib.web.design.forms import seen
from pydplib.web.intake.models import Snapshot
from pydplib.web.intake.snapshots import published_snapshot
from pydplib.web.people.models import User
from pydplib.web.projects.permissions import ProjectRequest, TargetRequest, requires


@requires("ask")
@require_safe
def dashboards(request: ProjectRequest) -> HttpResponse:
    """List the dashboards of the viewer's audience; for owners all, and who has which budget."""
    edits = request.member.can("edit_policy")
    found = visible(request.project, request.member)
    current = published_snapshot(request.project)
    values: dict[str, object] = {
        "project": request.project,
        "edits": edits,
        "published": current is not None,
        "entries": [_entry(dashboard, current) for dashboard in found],
    }
    if edits:
        values["purses"] = purses(request.project)
    return render(request, "dashboards/list.html", values)


@requires("ask", of=Dashboard)
@require_safe
def dashboard(request: TargetRequest[Dashboard]) -> HttpResponse:
    """Show the published edition: what the reader's organisation has paid for, and the price of the rest."""
    return render(request, "dashboards/dashboard.html", _page(request))


@requires("ask", of=Dashboard)
@require_POST
def receive_figures(request: TargetRequest[Dashboard]) -> HttpResponse:
    """Pay for the figures from the reader's organisation's budget, once."""
    item: Dashboard = request.target
    edition = item.edition
    if edition is None or not can_view(item, request.member):
        raise Http404
    found = releases_for(edition, request.member)
    receive(item.project, request.user, request.member, found, agreed=seen(request, "agreed"), subject=item.key)
    messages.success(request, "Paid. Your organisation sees these figures from now on.")
    return redirect("dashboard", key=item.key)


@requires("edit_policy", of=Dashboard)
@require_POST
def originals(request: TargetRequest[Dashboard]) -> HttpResponse:
    """Show an owner the exact values next to the released ones; logged, and never stored."""
    return render(request, "dashboards/dashboard.html", _page(request, originals_for=request.user))


def _page(request: TargetRequest[Dashboard], *, originals_for: User | None = None) -> dict[str, object]:
    item: Dashboard = request.target
    if not can_view(item, request.member):
        raise Http404
    edition = item.edition
    if originals_for is not None and edition is None:
        raise ParameterError("Nothing is published here, so there is no original to look at.")
    edits = request.member.can("edit_policy")
    current = published_snapshot(item.project)
    values: dict[str, object] = {
        "project": item.project,
        "item": item,
        "edition": edition,
        "edits": edits,
        "audience": audience_title(item),
        "noise": noise_words(item.audience),
        "title": edition.title if edition is not None and not edits else item.title,
        "originals_shown": originals_for is not None,
        "can_look": edits and edition is not None and bool(edition.snapshot.file),
        "stale": edits and edition is not None and current is not None and current.key != edition.snapshot.key,
        "breadcrumb": [("Dashboards", f"/dashboards?project={item.project.key}"), (item.title, "")],
    }
    if edition is not None:
        offer = values["offer"] = offer_of(edition, request.user, request.member)
        waiting = () if offer is None else offer.digests
        values["panels"] = panels_of(edition, request.member, waiting=waiting, originals_for=originals_for)
    return values


def _entry(item: Dashboard, current: Snapshot | None) -> dict[str, object]:
    edition = item.edition
    return {
        "item": item,
        "edition": edition,
        "audience": audience_title(item),
        "figures": edition.shown.count() if edition is not None else item.figures.count(),
        "stale": edition is not None and current is not None and current.key != edition.snapshot.key,
    }
