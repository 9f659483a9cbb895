"""Search over pages and things by their names, as far as the member may open them; never over data.

What somebody types comes by POST: it may be a patient's name, and addresses end up in histories and logs.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import KW_ONLY, dataclass

from django.http import HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.views.decorators.http import require_http_methods

from pydplib.policy import Power
from pydplib.schema import Schema
from pydplib.web.analyses.models import Analysis
from pydplib.web.analyses.question_form.offers import titles_of
from pydplib.web.analyses.question_form.questions import title_of
from pydplib.web.analyses.visibility import asked_and_of_dashboards
from pydplib.web.analyses.visibility import visible as visible_analyses
from pydplib.web.dashboards.panels import visible as visible_dashboards
from pydplib.web.design.values import short_id
from pydplib.web.exports.releases import visible as visible_exports
from pydplib.web.intake.models import Snapshot
from pydplib.web.intake.snapshots import published_tables
from pydplib.web.navigation import ITEMS, current_place
from pydplib.web.people.permissions import SignedInRequest, second_factor_detour, signed_in
from pydplib.web.people.sign_in.second_factor import is_guarded
from pydplib.web.projects.models import Member, Project
from pydplib.web.projects.permissions import memberships
from pydplib.web.reporting.lists import reports_visible_to
from pydplib.web.synthetic.tables import visible as visible_tables

LONGEST = 100
"""How many characters of a query are read."""
MOST = 8
"""How many of a kind are shown."""
LOOKED_AT = 300
"""How many analyses of a project are looked through, the newest first."""

FORMS: tuple[tuple[str, str, str, Power], ...] = (
    ("Write a report", "report_new", "file-text", "capture"),
    ("Ask for more budget", "request_ask", "wallet", "make_request"),
    ("New dashboard", "dashboard_new", "layout-dashboard", "edit_policy"),
    ("Project members", "members", "users", "edit_policy"),
)
"""Pages that the navigation does not list: label, name of the address, icon, power."""


@dataclass(frozen=True, slots=True)
class Found:
    """A page or a thing.

    Args:
        kind: What it is, for the heading of its group.
        title: Its name.
        url: Where it is.
        icon: One of the design's icons.
        where: The project, if there are several.
    """

    kind: str
    title: str
    url: str
    icon: str
    _: KW_ONLY
    where: str = ""


def found_for(request: SignedInRequest, query: str) -> list[tuple[str, list[Found]]]:
    """Return what fits a query, by kind; without one, the pages.

    Args:
        request: Whose search it is: permissions are those of the pages, at this moment.
        query: Words that must all be in a name; for a report, the beginning of its number.
    """
    words = query.casefold().split()[:8]
    groups: dict[str, list[Found]] = {}
    for item in (*_pages(request), *(_things(request, query) if words else ())):
        if item.kind == "Reports" or all(word in item.title.casefold() for word in words):
            groups.setdefault(item.kind, []).append(item)
    for items in groups.values():
        items.sort(key=lambda item: not item.title.casefold().startswith(query.casefold().strip()))
        del items[(MOST if words else 40) :]
    return list(groups.items())


def _pages(request: SignedInRequest) -> Iterator[Found]:
    chosen, place = current_place(request)
    for item in ITEMS:
        if item.is_for(place):
            yield Found("Pages", item.label, reverse(item.name), item.icon)
    if chosen is not None and place is not None:
        for label, name, icon, power in FORMS:
            if place.can(power):
                values = {"members": {"key": chosen.key}, "request_ask": {"kind": "budget"}}.get(name, {})
                yield Found("Pages", label, reverse(name, kwargs=values), icon)
    yield Found("Pages", "Account", reverse("account"), "user")
    yield Found("Pages", "API tokens", reverse("api_tokens"), "link")
    yield Found("Pages", "Projects", reverse("projects"), "folder")
    yield Found("Pages", "Verify a receipt", reverse("receipts"), "file-check")
    if request.user.is_hospital_owner:
        yield Found("Pages", "Hospital", reverse("hospital"), "building")


def _things(request: SignedInRequest, query: str) -> Iterator[Found]:
    mine = memberships(request)
    for project, place in mine:
        yield Found("Projects", project.name, f"/projects/{project.key}", "folder")
        if is_guarded(place.role) and second_factor_detour(request) is not None:
            continue  # the pages themselves would ask for the second factor first
        where = project.name if len(mine) > 1 else ""
        for kind, title, url, icon in _of_project(request, project, place, query):
            yield Found(kind, title, url, icon, where=where)


def _of_project(
    request: SignedInRequest, project: Project, place: Member, query: str
) -> Iterator[tuple[str, str, str, str]]:
    user = request.user
    number = query.casefold().removeprefix("report").strip()
    if place.can("capture") and not place.preview and re.fullmatch("[0-9a-f]{4,16}", number):
        for report in reports_visible_to(project, user, place).filter(key__startswith=number)[:MOST]:
            yield "Reports", f"Report {short_id(report.key)}", f"/reports/{report.key}", "file-text"
    if place.can("ask"):
        titles = {
            name: word
            for table in published_tables(project)
            for name, word in titles_of(Schema.from_json(table.schema)).items()
        }
        asked, _ = asked_and_of_dashboards(visible_analyses(project, user, place))
        for analysis in asked[:LOOKED_AT]:
            yield "Analyses", _title(analysis, titles), f"/analyses/{analysis.key}", "chart-column"
        for board in visible_dashboards(project, place):
            yield "Dashboards", board.title, f"/dashboards/{board.key}", "layout-dashboard"
        for row in visible_tables(project, user, place)[:LOOKED_AT]:
            yield "Synthetic tables", str(row), f"/synthetic/{row.key}", "database"
        for export in visible_exports(project, place):
            yield "Anonymized tables", export.title, f"/anonymize/{export.key}", "users"
    if place.can("manage_data"):
        for snapshot in Snapshot.objects.filter(project=project, group="")[:LOOKED_AT]:
            yield "Snapshots", f"Snapshot {snapshot.number}", f"/snapshots?project={project.key}", "camera"


def _title(analysis: Analysis, titles: dict[str, str]) -> str:
    return analysis.title or title_of(json.loads(analysis.question), titles)


@signed_in
@require_http_methods(["GET", "HEAD", "POST"])
def search(request: SignedInRequest) -> HttpResponse:
    """Show what fits; as a part of a page for the dialog, as a page of its own without script."""
    query = request.POST.get("q", "").replace("\0", "")[:LONGEST]
    groups = found_for(request, query)
    values = {"query": query, "groups": groups, "total": sum(len(items) for _, items in groups)}
    part = "HX-Request" in request.headers
    return render(request, "design/search_found.html" if part else "design/search.html", values)
