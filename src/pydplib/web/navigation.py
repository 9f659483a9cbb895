"""The navigation of every page: what the user's role in the current project opens."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass
from typing import cast

from django.conf import settings
from django.http import HttpRequest
from django.urls import reverse

from pydplib.policy import Power
from pydplib.web.people.models import User
from pydplib.web.people.permissions import SignedInRequest
from pydplib.web.projects.models import Member, Project
from pydplib.web.projects.permissions import member_in, projects_of
from pydplib.web.waiting import counts_for


@dataclass(frozen=True, slots=True)
class NavItem:
    """One entry of the navigation.

    Args:
        label: What it says.
        name: The name of its address.
        icon: One of the design's icons.
        group: The heading under which it stands.
        power: The power that opens it; none for everybody.
        other: Another power that opens it.
    """

    label: str
    name: str
    _: KW_ONLY
    icon: str
    group: str = ""
    power: Power | None = None
    other: Power | None = None

    def is_for(self, place: Member | None) -> bool:
        """Return whether it is offered to somebody in this place."""
        if self.power is None:
            return True
        return place is not None and any(place.can(power) for power in (self.power, self.other) if power)


ITEMS: tuple[NavItem, ...] = (
    NavItem("Home", "home", icon="house"),
    NavItem("Reports", "reports", icon="file-text", group="Reporting", power="capture"),
    NavItem("Labelling", "labelling", icon="tag", group="Reporting", power="capture"),
    NavItem("Templates", "templates", icon="list-tree", group="Reporting", power="read_templates"),
    NavItem("Import", "import", icon="upload", group="Data", power="import_records"),
    NavItem("Data", "data", icon="table", group="Data", power="see_raw"),
    NavItem("Tables", "tables", icon="layers", group="Data", power="manage_data"),
    NavItem("Counts", "exact_view", icon="chart-column", group="Data", power="manage_data"),
    NavItem("Quality", "quality", icon="circle-check", group="Data", power="manage_data"),
    NavItem("Snapshots", "snapshots", icon="camera", group="Data", power="manage_data"),
    NavItem("Analyses", "analyses", icon="chart-column", group="Analyses", power="ask"),
    NavItem("Dashboards", "dashboards", icon="layout-dashboard", group="Analyses", power="ask"),
    NavItem("Synthetic tables", "synthetic", icon="database", group="Analyses", power="ask"),
    NavItem("Anonymize", "anonymize", icon="users", group="Analyses", power="ask"),
    NavItem("Attacks", "attacks", icon="crosshair", group="Analyses", power="read_log"),
    NavItem("Policy", "policy", icon="shield", group="Governance", power="read_project"),
    NavItem("Requests", "requests", icon="inbox", group="Governance", power="read_project"),
    NavItem(
        "Budget", "budget", icon="wallet", group="Governance", power="ask", other="read_all_ledgers"
    ),  # empty for all others
    NavItem("Privacy rights", "privacy_rights", icon="scale", group="Governance", power="erase"),
    NavItem("Audit log", "audit", icon="scroll-text", group="Governance", power="read_log"),
)


def context(request: HttpRequest) -> dict[str, object]:
    """Return what ``base.html`` shows around every page."""
    values: dict[str, object] = {"demo": settings.CONFIGURATION.demo, "nav_items": []}
    user = getattr(request, "user", None)
    if user is None or not user.is_authenticated:
        return values
    projects = list(projects_of(user))
    chosen, place = current_place(request, projects)
    values |= {
        "current_project": chosen,
        "place": place,
        "user_role": place.title if place else "",
        "nav_items": _entries(request, place, counts_for(chosen, place, user) if chosen and place else {}),
        "user_menu": _user_menu(user),
    }
    if projects:
        values["project_menu"] = {
            "current": chosen,
            "projects": [
                {"label": project.name, "url": f"/projects/{project.key}", "active": project == chosen}
                for project in projects
            ],
            "all_url": reverse("projects"),
        }
    if place and place.preview:
        values |= {"preview_as": place.title, "preview_end_url": reverse("preview_end")}
    return values


def current_place(
    request: HttpRequest, projects: Sequence[Project] | None = None
) -> tuple[Project | None, Member | None]:
    """Return the project that a page is about, else the one chosen last or the first, and the user's place in it."""
    known = cast("SignedInRequest", request)
    projects = list(projects_of(known.user)) if projects is None else projects
    chosen = getattr(request, "project", None)
    if chosen is None and projects:
        key = request.session.get("project")
        chosen = next((project for project in projects if project.key == key), projects[0])
    place = getattr(request, "member", None) or (member_in(known, chosen) if chosen else None)
    return chosen, place


def _entries(request: HttpRequest, place: Member | None, counts: Mapping[str, int]) -> list[dict[str, object]]:
    offered = [(item, reverse(item.name)) for item in ITEMS if item.is_for(place)]
    return [
        {
            "label": item.label,
            "url": url,
            "icon": item.icon,
            "group": item.group,
            "count": counts.get(item.name, 0),
            "active": request.path == url or (url != "/" and request.path.startswith(url + "/")),
        }
        for item, url in offered
    ]


def _user_menu(user: User) -> list[dict[str, object]]:
    menu = [("Account", "account", "user", False)]
    if user.is_hospital_owner:
        menu.append(("Hospital", "hospital", "building", False))
    menu.append(("Sign out", "logout", "log-out", True))
    return [{"label": label, "url": reverse(name), "icon": icon, "post": post} for label, name, icon, post in menu]
