"""Who may open a view: every view has one of these decorators; a view without one stops the server.

Use one decorator per view::

    @signed_in                      # any user
    @hospital_owner                 # the hospital's own pages
    @public                         # anybody: sign-in, health check, receipts

The pages of a project use ``requires`` of ``pydplib.web.projects.permissions``.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Concatenate, TypeAlias, cast, overload

from django.conf import settings
from django.core import checks
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import redirect
from django.urls import URLPattern, URLResolver, get_resolver, reverse
from django.utils import timezone
from django.utils.http import urlencode

from pydplib.errors import PolicyError
from pydplib.policy import Power
from pydplib.web.auditlog.refusals import note
from pydplib.web.people.addresses import safe_path
from pydplib.web.people.models import User
from pydplib.web.people.pending_forms import forget, keep
from pydplib.web.people.sign_in.second_factor import device_of, grace_left

View: TypeAlias = Callable[..., HttpResponseBase]


class SignedInRequest(HttpRequest):
    """What a guarded view gets: a request of somebody who has signed in."""

    user: User


SignedInView: TypeAlias = Callable[Concatenate[SignedInRequest, ...], HttpResponseBase]
Check: TypeAlias = Callable[[SignedInRequest, dict[str, object]], HttpResponse | None]
"""What a permission asks before the view runs: nothing, or where the browser goes instead. It may drop keywords."""


@dataclass(frozen=True, slots=True)
class Permission:
    """Who may enter a view.

    Args:
        kind: ``"public"``, ``"signed_in"``, ``"hospital_owner"``, ``"project"``, or ``"token"`` (of the API).
        power: For a project: the power that the role must have; for a token as well, where the address names an object.
        recent: Whether the password must have been given in the last minutes.
    """

    kind: str
    power: Power | None = None
    recent: bool = False


def public(view: View) -> View:
    """Let anybody in."""
    return _hang(view, Permission("public"))


@overload
def signed_in(view: SignedInView) -> View: ...
@overload
def signed_in(*, recent: bool = False) -> Callable[[SignedInView], View]: ...
def signed_in(view: SignedInView | None = None, *, recent: bool = False) -> View | Callable[[SignedInView], View]:
    """Let any signed-in user in."""
    return _guard(view, Permission("signed_in", recent=recent), lambda request, kwargs: None)


@overload
def hospital_owner(view: SignedInView) -> View: ...
@overload
def hospital_owner(*, recent: bool = False) -> Callable[[SignedInView], View]: ...
def hospital_owner(view: SignedInView | None = None, *, recent: bool = False) -> View | Callable[[SignedInView], View]:
    """Let those in who manage their hospital; others are told so."""

    def check(request: SignedInRequest, kwargs: dict[str, object]) -> HttpResponse | None:
        if not request.user.is_hospital_owner:
            raise PolicyError("This page is for those who manage the hospital. Ask them to do it for you.")
        return second_factor_detour(request)

    return _guard(view, Permission("hospital_owner", recent=recent), check)


def second_factor_detour(request: SignedInRequest) -> HttpResponse | None:
    """Send those who gave no second factor in this session, and have no days of grace left, to where they get one."""
    return None if has_second_factor(request) or _may_wait(request) else redirect("second_factor")


def _may_wait(request: SignedInRequest) -> bool:
    # Who has a phone gives its code: grace is for those who have none yet.
    return grace_left(request.user) > 0 and device_of(request.user) is None


def has_second_factor(request: SignedInRequest) -> bool:
    """Return whether a second factor was given in this session, or is waived as in the demonstration."""
    return is_demo_session(request) or bool(request.user.is_verified())


def is_demo_session(request: HttpRequest) -> bool:
    """Return whether somebody came in by a link of the demonstration: without a password, and without a phone."""
    return bool(settings.CONFIGURATION.demo and request.session.get("demo"))


def _is_recent(request: HttpRequest) -> bool:
    confirmed = float(request.session.get("confirmed_at", 0))
    return timezone.now().timestamp() - confirmed < 60 * settings.REAUTHENTICATION_MINUTES


def _guard(view: SignedInView | None, entry: Permission, check: Check) -> View | Callable[[SignedInView], View]:
    if view is None:
        return lambda later: guarded_view(later, entry, check)
    return guarded_view(view, entry, check)


def guarded_view(view: View, entry: Permission, check: Check) -> View:
    """Return a view that runs ``check`` first."""

    @functools.wraps(view)
    def guarded(anybody: HttpRequest, **kwargs: object) -> HttpResponseBase:
        if not anybody.user.is_authenticated:
            return detour_to(anybody, "login")
        request = cast("SignedInRequest", anybody)
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


def _hang(view: View, entry: Permission) -> View:
    view.permission = entry  # type: ignore[attr-defined]
    return view


def note_refusal(request: HttpRequest, refusal: PolicyError, *, action: str = "door.refuse") -> None:
    """Write down whom a permission, or the rules behind it, refused, and why."""
    note(request.user, action, route_of(request), project=getattr(request, "project", None), reason=str(refusal))


def route_of(request: HttpRequest) -> str:
    """Return the pattern of the address, for the log: it names no object."""
    return request.resolver_match.route if request.resolver_match else ""


def views(patterns: Iterable[URLPattern | URLResolver] | None = None, prefix: str = "") -> Iterator[tuple[str, View]]:
    """Yield every address pattern of the platform with its view."""
    for item in get_resolver().url_patterns if patterns is None else patterns:
        if isinstance(item, URLResolver):
            yield from views(item.url_patterns, prefix + str(item.pattern))
        elif isinstance(item, URLPattern):
            yield prefix + str(item.pattern), item.callback


@checks.register()
def every_view_has_a_door(app_configs: object, **kwargs: object) -> list[checks.CheckMessage]:
    """Refuse to start with a view that nobody guards."""
    return [
        checks.Error(
            f"The view at '/{route}' has no permission.",
            hint="Decorate it: see pydplib.web.people.permissions.",
            id="pydplib.E1",
        )
        for route, view in views()
        if not isinstance(getattr(view, "permission", None), Permission)
    ]
