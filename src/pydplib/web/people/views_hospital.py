"""Pages for those who manage a hospital: its people, invitations, who else manages it."""

from __future__ import annotations

import functools
from collections.abc import Callable

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseNotAllowed
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods

from pydplib.errors import ParameterError
from pydplib.web import hooks
from pydplib.web.people import accounts, links
from pydplib.web.people.forms import HospitalForm, InviteForm
from pydplib.web.people.models import User
from pydplib.web.people.permissions import SignedInRequest, hospital_owner
from pydplib.web.people.sign_in import second_factor as factor


def _subject(request: SignedInRequest, key: str) -> User:
    found = accounts.person(request.user, key)
    if found is None:
        raise Http404
    return found


def _about_somebody(
    view: Callable[[SignedInRequest, User], HttpResponse],
) -> Callable[[SignedInRequest, str], HttpResponse]:
    """Find the person of the address first: people of other hospitals are not there, whatever the method."""

    @functools.wraps(view)
    def found(request: SignedInRequest, key: str) -> HttpResponse:
        subject = _subject(request, key)
        return view(request, subject) if request.method == "POST" else HttpResponseNotAllowed(["POST"])

    return found


@hospital_owner
@require_http_methods(["GET", "HEAD", "POST"])
def hospital(request: SignedInRequest) -> HttpResponse:
    """Show the hospital and its people."""
    form = HospitalForm(request.POST or None, initial=_settings(request.user))
    if request.method == "POST" and form.is_valid():
        try:
            accounts.rename_hospital(request.user, form.cleaned_data["name"])
            if form.cleaned_data["grace"] is not None:
                accounts.set_grace(request.user, form.cleaned_data["grace"])
        except ParameterError as problem:
            form.add_error("name", str(problem))
        else:
            messages.success(request, "Saved.")
            return redirect("hospital")
    people = accounts.people_of(request.user.hospital)
    more = {name: value for facts in hooks.hospital_page(request.user.hospital) for name, value in facts.items()}
    values = {"people": people, "form": form, **more}
    return render(request, "people/hospital.html", values, status=422 if form.errors else 200)


@hospital_owner
@require_http_methods(["GET", "HEAD", "POST"])
def invite(request: SignedInRequest) -> HttpResponse:
    """Invite somebody: the link is shown once."""
    form = InviteForm(request.POST or None)
    if request.method == "POST" and form.is_valid():
        organisation, *whom = (form.cleaned_data[name] for name in ("organisation", "username", "full_name"))
        try:
            if organisation:
                user, token = accounts.invite_partner(request.user, organisation, *whom)
            else:
                user, token = accounts.invite(request.user, *whom)
        except ParameterError as problem:
            about_user = not organisation or str(problem) == accounts.UNUSABLE
            form.add_error("username" if about_user else "organisation", str(problem))
        else:
            return show_link(request, user, token, links.Purpose.WELCOME)
    return render(request, "people/invite.html", {"form": form, "breadcrumb": _way("Invite")})


@hospital_owner
@require_http_methods(["GET", "HEAD"])
def person(request: SignedInRequest, key: str) -> HttpResponse:
    """Show one of the hospital's people and what can be done."""
    subject = _subject(request, key)
    return render(
        request,
        "people/person.html",
        {
            "person": subject,
            "device": factor.device_of(subject),
            "places": accounts.places_of(subject),
            "is_self": subject.pk == request.user.pk,
            "breadcrumb": _way(str(subject)),
        },
    )


@hospital_owner
@_about_somebody
def disable(request: SignedInRequest, subject: User) -> HttpResponse:
    """Shut somebody out, at once."""
    accounts.set_active(request.user, subject, active=False)
    messages.success(request, f"{subject} can no longer sign in, and was signed out everywhere.")
    return redirect("hospital_person", key=subject.key)


@hospital_owner
@_about_somebody
def enable(request: SignedInRequest, subject: User) -> HttpResponse:
    """Let somebody in again."""
    accounts.set_active(request.user, subject, active=True)
    messages.success(request, f"{subject} can sign in again.")
    return redirect("hospital_person", key=subject.key)


@hospital_owner(recent=True)
@_about_somebody
def reset_link(request: SignedInRequest, subject: User) -> HttpResponse:
    """Make a link by which somebody chooses a new password."""
    fresh = not subject.has_usable_password()
    token = accounts.reset_link(request.user, subject)
    return show_link(request, subject, token, links.Purpose.WELCOME if fresh else links.Purpose.RESET)


@hospital_owner(recent=True)
@_about_somebody
def ownership(request: SignedInRequest, subject: User) -> HttpResponse:
    """Give or take the right to manage the hospital."""
    give = request.POST.get("owner") == "yes"
    accounts.set_owner(request.user, subject, is_owner=give)
    messages.success(request, f"{subject} {'now manages' if give else 'no longer manages'} the hospital.")
    return redirect("hospital_person", key=subject.key)


@hospital_owner(recent=True)
@_about_somebody
def second_factor(request: SignedInRequest, subject: User) -> HttpResponse:
    """Take away a lost second factor."""
    accounts.remove_second_factor(request.user, subject)
    messages.success(request, f"{subject} signs in without a phone until a new one is enrolled.")
    return redirect("hospital_person", key=subject.key)


def _settings(owner: User) -> dict[str, object]:
    return {"name": owner.hospital.name, "grace": owner.hospital.second_factor_grace}


def _way(here: str) -> list[tuple[str, str]]:
    return [("Hospital", "/hospital"), (here, "")]


def show_link(request: HttpRequest, user: User, token: str, purpose: str) -> HttpResponse:
    """Show a link once; it is stored nowhere."""
    values = {
        "person": user,
        "link": request.build_absolute_uri(links.link_path(token)),
        "lasts": links.LASTS[links.Purpose(purpose)],
        "fresh": purpose == links.Purpose.WELCOME,
    }
    return render(request, "people/link.html", values)
