"""Pages of a user's own: name, password, second factor, sessions; and the password once more."""

from __future__ import annotations

from django.contrib import messages
from django.contrib.auth import logout, update_session_auth_hash
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_http_methods, require_POST, require_safe
from django_otp import login as otp_login

from pydplib.errors import PolicyError
from pydplib.web import hooks
from pydplib.web.auditlog.log import record, recorded
from pydplib.web.people import accounts, pending_forms
from pydplib.web.people.addresses import next_path
from pydplib.web.people.forms import ChangePasswordForm, ConfirmForm, EnrolForm, NameForm
from pydplib.web.people.models import User
from pydplib.web.people.permissions import SignedInRequest, is_demo_session, note_refusal, public, signed_in
from pydplib.web.people.sign_in import known_browsers, rate_limits
from pydplib.web.people.sign_in import second_factor as factor
from pydplib.web.people.sign_in import steps as sign_in
from pydplib.web.people.sign_in.second_factor import qr_code
from pydplib.web.people.sign_in.sessions import end_session as end_one
from pydplib.web.people.sign_in.sessions import end_sessions, note_session, sessions_of
from pydplib.web.people.views_entry import locked


@signed_in
@require_http_methods(["GET", "HEAD", "POST"])
def account(request: SignedInRequest) -> HttpResponse:
    """Show what the user can change about their own account."""
    form = NameForm(request.POST or None, instance=request.user)
    if request.method == "POST" and form.is_valid():
        with recorded(request.user) as log:
            form.save()
            log.add("user.rename", request.user.username)
        messages.success(request, "Saved.")
        return redirect("account")
    more = {name: value for facts in hooks.account_page(request.user) for name, value in facts.items()}
    people = accounts.demo_people() if is_demo_session(request) else None
    return render(
        request,
        "people/account.html",
        {
            "form": form,
            "device": factor.device_of(request.user),
            "must_have": factor.must_have(request.user),
            "grace_left": factor.grace_left(request.user),
            "codes_left": factor.recovery_codes_left(request.user),
            "sessions": sessions_of(request.user),
            "this_session": request.session.session_key,
            "demo_people": people,
            **more,
        },
    )


@signed_in
@sensitive_post_parameters()
@require_http_methods(["GET", "HEAD", "POST"])
def password(request: SignedInRequest) -> HttpResponse:
    """Change their own password; all other sessions end."""
    user = request.user
    form = ChangePasswordForm(request.POST or None, user=user)
    if request.method == "POST" and form.is_valid():
        if not rate_limits.take("confirm", user.pk):
            return _too_often(request)
        if user.check_password(form.cleaned_data["current"]):
            rate_limits.clear("confirm", user.pk)
            accounts.change_password(user, form.cleaned_data["password"], session_key=request.session.session_key)
            update_session_auth_hash(request, user)  # this session stays, under a new id
            end_sessions(user, but=request.session.session_key)
            note_session(request, user)
            messages.success(request, "Your password is changed. All other sessions were ended.")
            return redirect("account")
        record(user, "user.confirm_fail", user.username)
        form.add_error("current", "This is not your present password.")
    return render(request, "people/password.html", {"form": form})


@signed_in(recent=True)
@require_http_methods(["GET", "HEAD", "POST"])
def second_factor(request: SignedInRequest) -> HttpResponse:
    """Enrol a phone; the secret is shown as a picture and as text, and lives in the session until the code fits."""
    user = request.user
    if factor.device_of(user) is not None and not user.is_verified() and not is_demo_session(request):
        # Enrolled from another session: here the code was never given.
        logout(request)
        return redirect("login")
    secret = request.session.get("new_secret") or factor.new_secret()
    form = EnrolForm(request.POST or None)
    if request.method == "POST" and form.is_valid():
        tries = factor.tries_of(user, known_browsers.known_browser(request, user.username))
        if not rate_limits.take("code", tries):
            return _too_often(request)
        with recorded(user) as log:
            device = factor.enrol(user, secret, form.cleaned_data["code"])
            if device is not None:
                codes = factor.new_recovery_codes(user)
                end_sessions(user, but=request.session.session_key)
                log.add("user.enrol_second_factor", user.username)
        if device is not None:
            rate_limits.clear("code", tries)
            request.session.pop("new_secret", None)
            otp_login(request, device)
            request.session["confirmed_at"] = timezone.now().timestamp()
            then = request.session.pop("after_second_factor", "/")
            return render(request, "people/recovery_codes.html", {"codes": codes, "enrolled": True, "then": then})
        form.add_error("code", "This code does not fit. Check that the phone's clock is right, and try the next one.")
    request.session["new_secret"] = secret
    return render(
        request,
        "people/second_factor.html",
        {
            "form": form,
            "qr": qr_code(factor.phone_address(user, secret)),
            "secret": factor.secret_text(secret),
            "device": factor.device_of(user),
            "must_have": factor.must_have(user),
            "grace_left": factor.grace_left(user),
            "then": request.session.get("after_second_factor", "/account"),
        },
    )


@signed_in(recent=True)
@require_POST
def second_factor_off(request: SignedInRequest) -> HttpResponse:
    """Turn the second factor off, for those who need none."""
    if factor.must_have(request.user):
        words = "Your role needs a second factor. You can change the phone, but not go without."
        note_refusal(request, PolicyError(words), action="change.refuse")
        messages.error(request, words)
        return redirect("account")
    with recorded(request.user) as log:
        if factor.remove(request.user):
            log.add("user.remove_second_factor", request.user.username)
    messages.success(request, "The second factor is off.")
    return redirect("account")


@signed_in(recent=True)
@require_POST
def recovery_codes(request: SignedInRequest) -> HttpResponse:
    """Make new recovery codes and show them once."""
    if factor.device_of(request.user) is None:
        return redirect("second_factor")
    with recorded(request.user) as log:
        codes = factor.new_recovery_codes(request.user)
        log.add("user.new_recovery_codes", request.user.username)
    return render(request, "people/recovery_codes.html", {"codes": codes})


@signed_in
@require_POST
def end_session(request: SignedInRequest) -> HttpResponse:
    """End one of the user's sessions, or all others."""
    user, which = request.user, request.POST.get("session", "")
    with recorded(user) as log:
        if which == "others":
            ended = end_sessions(user, but=request.session.session_key)
        elif end_one(user, which):
            ended = 1
        else:
            raise Http404
        log.add("user.end_session", user.username, sessions_ended=ended)
    messages.success(request, "Ended." if ended else "There was no other session.")
    return redirect("account")


@signed_in
@sensitive_post_parameters("password")
@require_http_methods(["GET", "HEAD", "POST"])
def confirm(request: SignedInRequest) -> HttpResponse:
    """Ask for the password again before something that matters."""
    user, then = request.user, next_path(request)
    form = ConfirmForm(request.POST or None, with_code=factor.device_of(user) is not None)
    demo = is_demo_session(request)
    if request.method == "POST" and (demo or form.is_valid()):
        if not rate_limits.take("confirm", user.pk):
            return _too_often(request)
        if demo or _is_right(request, user, form.cleaned_data):
            rate_limits.clear("confirm", user.pk)
            request.session["confirmed_at"] = timezone.now().timestamp()
            record(user, "user.confirm", user.username)
            return redirect(then)
        record(user, "user.confirm_fail", user.username)
        form.add_error(None, "That is not right. Check the password; a code works once only.")
    values = {"form": form, "next": then, "is_demo": demo, "is_kept": then == reverse("confirm_again")}
    return render(request, "people/confirm.html", values)


@signed_in(recent=True)
@require_safe
def again(request: SignedInRequest) -> HttpResponse:
    """Show what was filled in before the password was asked for, with a button that sends it."""
    found = pending_forms.kept(request)
    if found is None:
        messages.info(request, "What you had filled in is not kept any more. Please do it once more.")
        return redirect("home")
    return render(request, "people/again.html", {"kept": found})


@public
@require_POST
def demo_person(request: HttpRequest) -> HttpResponse:
    """In the demonstration: go on as another of its people, or come back after a break."""
    chosen = accounts.demo_person(request.POST.get("person", ""))
    if not (is_demo_session(request) or sign_in.entered_demo(request)) or chosen is None:
        raise Http404
    return sign_in.enter(request, chosen, how="demonstration", then="/", demo=True)


def _is_right(request: HttpRequest, user: User, values: dict[str, str]) -> bool:
    """Check the password, and the code only if the password was right: a code must not be used up in vain."""
    if not user.check_password(values["password"]):
        return False
    browser = known_browsers.known_browser(request, user.username)
    return "code" not in values or factor.try_code(user, values["code"], browser=browser)[0] is not None


def _too_often(request: SignedInRequest) -> HttpResponse:
    """End the session in which somebody guesses."""
    record(request.user, "user.lock_session", request.user.username)
    logout(request)
    return locked(request)
