"""Who may open the pages of a project: the role decides, by a power of ``pydplib.policy``.

Use one decorator per view::

    @requires("capture", of=Report)     # /reports/<key>: the report's project decides; foreign ones are not found
    @requires("see_raw")                # /data: the current project (?project=KEY, or the one chosen last)

The view finds ``request.project``, ``request.member`` (with the role as it counts now) and ``request.target`` (the
object of the address). Pages outside of projects: ``pydplib.web.people.permissions``.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Concatenate, Generic, TypeAlias, TypeVar, cast, overload

from django.core.exceptions import ObjectDoesNotExist
from django.db.models import Case, IntegerField, Model, QuerySet, Value, When
from django.http import Http404, HttpResponse
from django.http.response import HttpResponseBase

from pydplib.errors import PolicyError
from pydplib.policy import Power, can_use, check_use
from pydplib.web.auditlog.refusals import note
from pydplib.web.people.models import User
from pydplib.web.people.permissions import (
    Permission,
    SignedInRequest,
    View,
    guarded_view,
    route_of,
    second_factor_detour,
)
from pydplib.web.people.sign_in.second_factor import is_guarded
from pydplib.web.projects.models import Member, Project

M = TypeVar("M", bound=Model)


class ProjectRequest(SignedInRequest):
    """What a view of a project gets: the project, and the user's place in it with the role as it counts now."""

    project: Project
    member: Member


class TargetRequest(ProjectRequest, Generic[M]):
    """What a view gets whose address names an object: the object, of the model that its permission names."""

    target: M


ProjectView: TypeAlias = Callable[Concatenate[ProjectRequest, ...], HttpResponseBase]
TargetView: TypeAlias = Callable[Concatenate[TargetRequest[M], ...], HttpResponseBase]


@overload
def requires(power: Power, *, recent: bool = False) -> Callable[[ProjectView], View]: ...
@overload
def requires(power: Power, *, of: type[M], recent: bool = False) -> Callable[[TargetView[M]], View]: ...
def requires(power: Power, *, of: type[Model] | None = None, recent: bool = False) -> Callable[[View], View]:
    """Let those members of the project in whose role has ``power``; who is not a member finds nothing.

    Args:
        power: The power of ``pydplib.policy``.
        of: The model that the address names by ``<key>``; it is a project or has one. Without it: the current project.
        recent: Ask for the password again if it was not given in the last minutes.
    """

    def check(asked: SignedInRequest, kwargs: dict[str, object]) -> HttpResponse | None:
        target = None if of is None else find(of, str(kwargs.pop("key")))
        project = current_project(asked) if target is None else project_of(target)
        member = member_in(asked, project)
        if member is None:
            note_stranger(asked, project)
            raise Http404
        request = cast("TargetRequest[Model]", asked)
        request.target, request.project, request.member = target, project, member  # type: ignore[assignment]
        check_use(member.role, power)
        if member.preview and request.method not in ("GET", "HEAD"):
            raise PolicyError(f"You are looking as {member.title}: nothing can be changed. Leave the preview first.")
        return second_factor_detour(request) if is_guarded(member.role) else None

    return lambda view: guarded_view(view, Permission("project", power, recent), check)


def project_of(target: Model) -> Project:
    """Return the project that an object belongs to, or is."""
    found = getattr(target, "project", target)
    assert isinstance(found, Project)
    return found


def find(model: type[M], key: str) -> M:
    """Return the object of an address, or raise ``Http404``."""
    try:
        return model._default_manager.get(key=key)
    except (ObjectDoesNotExist, ValueError):  # no database holds some texts
        raise Http404 from None


def current_project(request: SignedInRequest) -> Project:
    """Return the project of ``?project=KEY``, else the one chosen last, else the first one of their own hospital."""
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


def projects_of(user: User) -> QuerySet[Project]:
    """Return the projects in which a user has a place; their own hospital first: others cannot push in front."""
    home = Case(When(hospital=user.hospital_id, then=Value(0)), default=Value(1), output_field=IntegerField())
    return Project.objects.filter(Member.is_current("members__"), members__user=user).order_by(home, "name", "id")


def member_in(request: SignedInRequest, project: Project) -> Member | None:
    """Return the user's membership as it is now, in a preview with the role that is tried; none for strangers."""
    member = Member.objects.filter(project=project, user_id=request.user.pk).first()
    if member is None:
        return None
    preview = request.session.get("preview") or {}
    if preview.get("project") == project.key and can_use(member.role, "edit_policy"):
        return Member.as_role(preview["role"], preview=True)
    return member


def memberships(request: SignedInRequest) -> list[tuple[Project, Member]]:
    """Return the user's projects, each with the membership as it counts now."""
    mine = projects_of(request.user).select_related("hospital")
    return [(each, member) for each in mine if (member := member_in(request, each)) is not None]


def note_stranger(request: SignedInRequest, project: Project | None) -> None:
    """Tell the owners of a project in their log that somebody tried who has no place in it."""
    if project is not None:
        note(request.user, "door.refuse", route_of(request), project=project, reason="Not a member of this project.")
