"""One report form for all desks: what a request to it does, with script and without."""

from __future__ import annotations

from collections.abc import Callable
from urllib.parse import quote

from django.conf import settings
from django.core.exceptions import ObjectDoesNotExist
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.http import urlencode

from pydplib.web.people.permissions import SignedInRequest
from pydplib.web.reporting.differences import differences
from pydplib.web.reporting.forms.answers import FormState, fill_gaps, form_state, read_fields, take_step, tidy
from pydplib.web.reporting.forms.drafts import DraftConflict
from pydplib.web.reporting.forms.holders import Desk
from pydplib.web.reporting.signatures import NotReady

Finish = Callable[[int], str]
"""Signs the draft of a revision and returns the address to go to."""


def show_form(
    request: SignedInRequest, desk: Desk, state: FormState | None = None, *, status: int = 200, **more: object
) -> HttpResponse:
    """Return the whole page."""
    values = _values(request, desk, state or form_state(desk.template, desk.holder.answers)) | more
    return render(request, "reporting/form.html", values, status=status)


def answer_form(request: SignedInRequest, desk: Desk, finish: Finish, **more: object) -> HttpResponse:
    """Take a posted form: keep the draft, add or remove a repetition, or sign.

    Args:
        request: The request.
        desk: What the form is open on.
        finish: Signs.
        more: Further fields to keep with the draft, such as the reason of a correction.
    """
    step = request.POST.get("do", "update")
    answers = posted_answers(request, desk, step)
    try:
        revision = desk.save(answers, revision=posted_revision(request), user=request.user, **more)
    except DraftConflict:
        return _conflict(request, desk, answers, page=True)
    if step == "leave":
        return redirect(desk.leave)
    if step != "finish":
        return redirect(f"{desk.page}#{_anchor(step)}")  # a reload asks for the page, not for a second save
    state = form_state(desk.template, answers, complete=True)
    if state.warnings and not state.errors and request.POST.get("seen") != state.seen_mark:
        return show_form(request, desk, state, ask_about_warnings=True)
    try:
        return redirect(finish(revision))
    except NotReady as refusal:
        return show_form(request, desk, state, refused=refusal.remarks, status=422)
    except DraftConflict as conflict:
        return show_form(request, desk, state, conflict=str(conflict), status=409, **_newer(desk, answers))


def answer_autosave(request: SignedInRequest, desk: Desk, **more: object) -> HttpResponse:
    """Take what the script sends while somebody types: keep it, and answer with the parts of the page that follow."""
    step = request.POST.get("do", "update")
    answers = posted_answers(request, desk, step)
    try:
        desk.save(answers, revision=posted_revision(request), user=request.user, **more)
    except DraftConflict:
        return _conflict(request, desk, answers, page=False)
    return render(request, "reporting/form_parts.html", _values(request, desk, form_state(desk.template, answers)))


def posted_answers(request: HttpRequest, desk: Desk, step: str) -> dict[str, object]:
    """Return the draft that was posted, after a step such as another lesion, with what its answers tell filled in."""
    posted = tidy(desk.template, read_fields(desk.template, request.POST.dict()))
    return fill_gaps(desk.template, take_step(desk.template, posted, step))


def posted_revision(request: HttpRequest) -> int:
    """Return the revision that the page was made from; anything else never fits."""
    word = request.POST.get("revision", "")
    return int(word) if word.isascii() and word.isdigit() and len(word) < 10 else -1


def _anchor(step: str) -> str:
    """Return where the page goes on after a round trip."""
    verb, _, name = step.partition(":")
    return f"add:{quote(name)}" if verb == "add" else "form"


def _newer(desk: Desk, answers: dict[str, object]) -> dict[str, object]:
    """Return how the user's answers differ from those that were signed meanwhile."""
    if desk.kind != "correction":
        return {}
    desk.holder.report.refresh_from_db()
    return {"met_differences": differences(desk.template, desk.holder.report.answers, answers)}


def _conflict(request: SignedInRequest, desk: Desk, answers: dict[str, object], *, page: bool) -> HttpResponse:
    """Show what the user typed, say who was there meanwhile and what differs; saving again keeps the user's."""
    try:
        desk.holder.refresh_from_db()
    except ObjectDoesNotExist:
        raise Http404 from None
    values = _values(request, desk, form_state(desk.template, answers)) | {
        "met": desk.holder,
        "met_differences": differences(desk.template, desk.holder.answers, answers),
    }
    return render(request, "reporting/form.html" if page else "reporting/form_parts.html", values, status=409)


def _values(request: SignedInRequest, desk: Desk, state: FormState) -> dict[str, object]:
    return {
        "desk": desk,
        "state": state,
        "keep_key": desk.keep_key(request.user),
        "idle_minutes": settings.SESSION_IDLE_MINUTES,
        "sign_in": f"{reverse('login')}?{urlencode({'next': desk.page})}",
        **desk.beside,
    }
