"""Pages before one is signed in: sign-in, code, one-time links, first set-up; and signing out."""

from __future__ import annotations

from django.contrib import messages
from django.contrib.auth import logout as end_login
from django.http import HttpRequest, HttpResponse, HttpResponseNotAllowed
from django.shortcuts import redirect, render
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_http_methods, require_POST

from pydplib.errors import ParameterError, PolicyError
from pydplib.web.auditlog.log import record
from pydplib.web.people import accounts, links
from pydplib.web.people.addresses import next_path
from pydplib.web.people.forms import CodeForm, NewPasswordForm, SetupForm, SignInForm
from pydplib.web.people.permissions import public, signed_in
from pydplib.web.people.sign_in import known_browsers, rate_limits, second_factor
from pydplib.web.people.sign_in import steps as sign_in

WRONG = "Name or password is not right."
TIMED_OUT = {
    "idle": "You were signed out after a while without use. What you had saved as a draft is kept.",
    "day": "You were signed out at the end of a long day. What you had saved as a draft is kept.",
}


def locked(request: HttpRequest, *_: object) -> HttpResponse:
    """Answer whoever tried too often; the same words whether the user exists or not."""
    return render(request, "people/locked.html", status=429)


@public
@sensitive_post_parameters("password")
@require_http_methods(["GET", "HEAD", "POST"])
def login(request: HttpRequest) -> HttpResponse:
    """Ask for name and password."""
    then = next_path(request)
    if request.user.is_authenticated and request.method != "POST":
        return redirect(then)
    form = SignInForm(request.POST or None)
    if request.method == "POST" and form.is_valid():
        counts = sign_in.begin_try(request, form.cleaned_data["username"])
        if counts is None:
            return locked(request)
        user = sign_in.check_sign_in(request, form.cleaned_data["username"], form.cleaned_data["password"])
        if user is not None:
            for kind, who in counts:
                rate_limits.give_back(kind, who)
            return sign_in.first_step_done(request, user, then=then)
        form.add_error(None, WRONG)
    why = TIMED_OUT.get(request.session.pop("timed_out", ""), "") if request.method != "POST" else ""
    values = {"form": form, "next": then, "timed_out": why}
    if sign_in.entered_demo(request):
        values["demo_people"] = accounts.demo_people()
    return render(request, "people/login.html", values)


@public
@require_http_methods(["GET", "HEAD", "POST"])
def login_code(request: HttpRequest) -> HttpResponse:
    """Ask for the code, after the password was right."""
    user, then = sign_in.pending_user(request)
    if user is None:
        return redirect("login")
    form = CodeForm(request.POST or None)
    if request.method == "POST" and form.is_valid():
        browser = known_browsers.known_browser(request, user.username)
        how, allowed = second_factor.try_code(user, form.cleaned_data["code"], browser=browser)
        if not allowed:
            request.session.pop("pending", None)
            record(user, "user.lock_code", user.username)
            return locked(request)
        if how is not None:
            if how == "recovery code":
                left = second_factor.recovery_codes_left(user)
                messages.warning(request, f"You used a recovery code; {left} are left. Make new ones in your account.")
            return sign_in.enter(request, user, how=f"password and {how}", then=then)
        record(user, "user.code_fail", user.username)
        form.add_error("code", "This code is not right, or was used already. Wait for the next one.")
    return render(request, "people/login_code.html", {"form": form})


@signed_in
@require_POST
def logout(request: HttpRequest) -> HttpResponse:
    """Sign out."""
    record(request.user, "user.sign_out", request.user.username)
    end_login(request)
    messages.success(request, "You are signed out.")
    return redirect("login")


@public
def welcome(request: HttpRequest, token: str) -> HttpResponse:
    """Take a one-time link and go on without its token, so that no history, Referer or log keeps it."""
    where = rate_limits.address_of(request)
    if not rate_limits.take("link", where):
        return _unsent(locked(request))
    link = links.find_link(token)
    if link is None or (link.purpose == links.Purpose.DEMO and not sign_in.is_demo_nearby(request)):
        return _unsent(render(request, "people/link_over.html", status=404))
    rate_limits.give_back("link", where)
    if request.method != "GET":  # a HEAD is somebody's preview
        return _unsent(HttpResponseNotAllowed(["GET"]))
    if link.purpose == links.Purpose.DEMO:
        assert link.user is not None
        links.use(link)
        return _unsent(sign_in.enter(request, link.user, how="demonstration", then="/", demo=True))
    links.carry(request, link)
    return _unsent(redirect("setup" if link.purpose == links.Purpose.SETUP else "welcome_password"))


@public
@sensitive_post_parameters("password", "again")
@require_http_methods(["GET", "HEAD", "POST"])
def welcome_password(request: HttpRequest) -> HttpResponse:
    """Let the holder of a one-time link choose a password."""
    link = links.carried(request)
    if link is None or link.user is None:
        return _unsent(render(request, "people/link_over.html", status=404))
    form = NewPasswordForm(request.POST or None, user=link.user)
    if request.method == "POST" and form.is_valid():
        accounts.choose_password(link, form.cleaned_data["password"])
        return _unsent(sign_in.first_step_done(request, link.user, then="/"))
    return _unsent(render(request, "people/welcome.html", {"form": form, "link": link, "whose": link.user}))


@public
@sensitive_post_parameters("password", "again")
@require_http_methods(["GET", "HEAD", "POST"])
def setup(request: HttpRequest) -> HttpResponse:
    """Set up the server: the first hospital, its first owner; then the second factor."""
    link = links.carried(request)
    if link is None or link.purpose != links.Purpose.SETUP:
        return _unsent(render(request, "people/link_over.html", status=404))
    form = SetupForm(request.POST or None)
    if request.method == "POST" and form.is_valid():
        values = form.cleaned_data
        try:
            owner = accounts.set_up(
                link, values["hospital"], values["username"], values["full_name"], values["password"]
            )
        except PolicyError as refusal:
            return _unsent(render(request, "people/link_over.html", {"why": str(refusal)}, status=refusal.http_status))
        except ParameterError as problem:
            form.add_error("hospital", str(problem))
            return _unsent(render(request, "people/setup.html", {"form": form}, status=422))
        return _unsent(sign_in.enter(request, owner, how="password", then="/account/second-factor"))
    return _unsent(render(request, "people/setup.html", {"form": form}))


def _unsent(response: HttpResponse) -> HttpResponse:
    """Let the browser tell nobody where it was."""
    response.headers["Referrer-Policy"] = "no-referrer"
    return response
