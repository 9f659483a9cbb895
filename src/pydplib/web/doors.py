"""The doors: every view says who may enter, by a power of ``pydplib.policy``; a view without a door stops the server.

Use one decorator per view::

    @door("capture", of=Report)     # /reports/<key>: the report's project decides; foreign ones are not found
    @door("see_raw")                # /data: the current project (?project=KEY, or the one chosen last)
    @signed_in                      # any user
    @hospital_owner                 # the hospital's own pages
    @public                         # anybody: sign-in, health check, receipts

A view behind ``door`` finds ``request.project``, ``request.member`` (the role as it counts now) and
``request.target`` (the object of the address).
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from django.conf import settings
from django.core import checks
from django.db.models import Model
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import URLPattern, URLResolver, get_resolver, reverse
from django.utils import timezone
from django.utils.http import urlencode

from pydplib.errors import PolicyError
from pydplib.policy import ROLES, Power, can_use, check_use

View = Callable[..., HttpResponse]


@dataclass(frozen=True, slots=True)
class Door:
    """Who may enter a view.

    Args:
        kind: ``"public"``, ``"signed_in"``, ``"hospital_owner"``, ``"project"``, or ``"token"`` (``web.api.doors``).
        power: For a project: the power that the role must have; for a token as well, where the address names an object.
        recent: Whether the password must have been given in the last minutes.
    """

    kind: str
    power: Power | None = None
    recent: bool = False


@dataclass(frozen=True, slots=True)
class Place:
    """The place of the signed-in user in the project at hand, with the role as it counts for this request.

    Args:
        role: The role; in a preview, the role that is looked through.
        department: The radiologist's own department.
        groups: Groups that policy rows may speak of.
        preview: Whether an owner looks through another role's eyes.
    """

    role: str
    department: str = ""
    groups: tuple[str, ...] = ()
    preview: bool = False

    @classmethod
    def of(cls, member: Any) -> Place:
        """Return the place of a member as it is in the database."""
        return cls(member.role, member.department, tuple(member.groups))

    def can(self, power: Power) -> bool:
        """Return whether the role has the power."""
        return can_use(self.role, power)

    @property
    def title(self) -> str:
        """The role for readers."""
        return ROLES[self.role].title


def public(view: View) -> View:
    """Let anybody in."""
    return _hang(view, Door("public"))


def signed_in(view: View | None = None, *, recent: bool = False) -> Any:
    """Let any signed-in user in."""
    return _decorator(view, Door("signed_in", recent=recent), lambda request, kwargs: None)


def hospital_owner(view: View | None = None, *, recent: bool = False) -> Any:
    """Let those in who manage their hospital; others are told so."""

    def check(request: HttpRequest, kwargs: dict[str, Any]) -> HttpResponse | None:
        if not request.user.is_hospital_owner:
            raise PolicyError("This page is for those who manage the hospital. Ask them to do it for you.")
        return _second_factor(request)

    return _decorator(view, Door("hospital_owner", recent=recent), check)


def door(power: Power, *, of: type[Model] | None = None, recent: bool = False) -> Callable[[View], View]:
    """Let those members of the project in whose role has ``power``; who is not a member finds nothing.

    Args:
        power: The power of ``pydplib.policy``.
        of: The model that the address names by ``<key>``; it is a project or has one. Without it: the current project.
        recent: Ask for the password again if it was not given in the last minutes.
    """
    from pydplib.web.people.second_factor import is_guarded

    def check(request: HttpRequest, kwargs: dict[str, Any]) -> HttpResponse | None:
        target = None if of is None else find(of, kwargs.pop("key"))
        project = current_project(request) if target is None else getattr(target, "project", target)
        place = place_of(request, project)
        if place is None:
            note_stranger(request, project)
            raise Http404
        request.target, request.project, request.member = target, project, place  # type: ignore[attr-defined]
        check_use(place.role, power)
        if place.preview and request.method not in ("GET", "HEAD"):
            raise PolicyError(f"You are looking as {place.title}: nothing can be changed. Leave the preview first.")
        return _second_factor(request) if is_guarded(place.role) else None

    return lambda view: _decorator(view, Door("project", power, recent), check)


def find(model: type[Model], key: str) -> Any:
    """Return the object of an address, or raise ``Http404``."""
    try:
        return model._default_manager.get(key=key)
    except (model.DoesNotExist, ValueError):  # no database holds some texts
        raise Http404 from None


def current_project(request: HttpRequest) -> Any:
    """Return the project of ``?project=KEY``, else the one chosen last, else the first one of their own hospital."""
    from pydplib.web.projects.models import Project

    mine = projects_of(request.user)
    asked = (request.GET.get("project") or request.POST.get("project") or "").replace("\0", "?")
    if asked:
        chosen = mine.filter(key=asked).first()
        if chosen is None:
            note_stranger(request, Project.objects.filter(key=asked).first())
            raise Http404
        request.session["project"] = chosen.key
        return chosen
    chosen = mine.filter(key=request.session.get("project", "")).first() or mine.first()
    if chosen is None:
        raise Http404
    return chosen


def projects_of(user: Any) -> Any:
    """Return the projects in which a user has a place; their own hospital first: others cannot push in front."""
    from django.db.models import Case, IntegerField, Value, When

    from pydplib.web.projects.models import Member, Project

    home = Case(When(hospital=user.hospital_id, then=Value(0)), default=Value(1), output_field=IntegerField())
    return Project.objects.filter(Member.is_current("members__"), members__user=user).order_by(home, "name", "id")


def place_of(request: HttpRequest, project: Any) -> Place | None:
    """Return the user's place in a project as it is in the database now; none for strangers."""
    from pydplib.web.projects.models import Member

    member = Member.objects.filter(project=project, user_id=request.user.pk).first()
    if member is None:
        return None
    preview = request.session.get("preview") or {}
    if preview.get("project") == project.key and can_use(member.role, "edit_policy"):
        return Place(preview["role"], preview=True)
    return Place.of(member)


def _second_factor(request: HttpRequest) -> HttpResponse | None:
    """Send those who gave no second factor in this session, and have no days of grace left, to where they get one."""
    return None if has_second_factor(request) or _may_wait(request) else redirect("second_factor")


def _may_wait(request: HttpRequest) -> bool:
    from pydplib.web.people.second_factor import device_of, grace_left

    # Who has a phone gives its code: grace is for those who have none yet.
    return grace_left(request.user) > 0 and device_of(request.user) is None


def has_second_factor(request: HttpRequest) -> bool:
    """Return whether a second factor was given in this session, or is waived as in the demonstration."""
    return is_demo_session(request) or bool(request.user.is_verified())


def is_demo_session(request: HttpRequest) -> bool:
    """Return whether somebody came in by a link of the demonstration: without a password, and without a phone."""
    return bool(settings.CONFIGURATION.demo and request.session.get("demo"))


def _is_recent(request: HttpRequest) -> bool:
    confirmed = float(request.session.get("confirmed_at", 0))
    return timezone.now().timestamp() - confirmed < 60 * settings.REAUTHENTICATION_MINUTES


def _decorator(view: View | None, entry: Door, check: Callable[..., HttpResponse | None]) -> Any:
    if view is None:
        return lambda later: _decorator(later, entry, check)

    from pydplib.web.people.keeping import forget

    @functools.wraps(view)
    def guarded(request: HttpRequest, **kwargs: Any) -> HttpResponse:
        if not request.user.is_authenticated:
            return detour_to(request, "login")
        try:
            detour = check(request, kwargs)
        except PolicyError as refusal:
            note_refusal(request, refusal)
            raise
        if detour is not None:
            return detour
        if entry.recent and not _is_recent(request):
            return detour_to(request, "confirm")
        if entry.recent and request.method == "POST":
            forget(request)
        try:
            return view(request, **kwargs)
        except PolicyError as refusal:
            if entry.kind != "project":  # those views write their own lines, with what was refused
                note_refusal(request, refusal, action="change.refuse")
            raise

    return _hang(guarded, entry)


def detour_to(request: HttpRequest, name: str) -> HttpResponse:
    """Send the browser to sign in or to confirm, and afterwards back to the page where the user was."""
    from pydplib.web.people.addresses import safe_path
    from pydplib.web.people.keeping import keep

    partial = "HX-Request" in request.headers
    if request.method in ("GET", "HEAD") and not partial:
        back = request.get_full_path()
    else:  # a button was pressed: not its address, but its page
        back = safe_path(request, request.headers.get("HX-Current-URL") or request.headers.get("Referer"))
    if request.method == "POST" and name == "confirm" and not partial and keep(request, back):
        back = reverse("confirm_again")
    address = f"{reverse(name)}?{urlencode({'next': back})}"
    if partial:  # the whole page goes, not the part that was asked for
        return HttpResponse(status=401, headers={"HX-Redirect": address})
    return redirect(address)


def _hang(view: View, entry: Door) -> View:
    view.door = entry  # type: ignore[attr-defined]
    return view


def note_refusal(request: HttpRequest, refusal: PolicyError, *, action: str = "door.refuse") -> None:
    """Write down whom a door, or the rules behind it, refused, and why."""
    from pydplib.web.auditlog.refusals import note

    note(request.user, action, _route(request), project=getattr(request, "project", None), reason=str(refusal))


def note_stranger(request: HttpRequest, project: Any) -> None:
    """Tell the owners of a project in their log that somebody tried who has no place in it."""
    from pydplib.web.auditlog.refusals import note

    if project is not None:
        note(request.user, "door.refuse", _route(request), project=project, reason="Not a member of this project.")


def _route(request: HttpRequest) -> str:
    return request.resolver_match.route if request.resolver_match else ""


def views(patterns: Any = None, prefix: str = "") -> Iterator[tuple[str, View]]:
    """Yield every address pattern of the platform with its view."""
    for item in get_resolver().url_patterns if patterns is None else patterns:
        if isinstance(item, URLResolver):
            yield from views(item.url_patterns, prefix + str(item.pattern))
        elif isinstance(item, URLPattern):
            yield prefix + str(item.pattern), item.callback


@checks.register()
def every_view_has_a_door(app_configs: Any, **kwargs: Any) -> list[checks.CheckMessage]:
    """Refuse to start with a view that nobody guards."""
    return [
        checks.Error(
            f"The view at '/{route}' has no door.", hint="Decorate it: see pydplib.web.doors.", id="pydplib.E1"
        )
        for route, view in views()
        if not isinstance(getattr(view, "door", None), Door)
    ]
