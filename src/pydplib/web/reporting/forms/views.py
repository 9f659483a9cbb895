"""Pages that write reports: choose the patient, fill in, sign, correct, discard."""

from __future__ import annotations

from django import forms
from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.http import require_POST

from pydplib.errors import DataError
from pydplib.web.auditlog.log import record
from pydplib.web.patients.pseudonyms import find_patient, identifier_of
from pydplib.web.people.permissions import SignedInRequest
from pydplib.web.projects.permissions import ProjectRequest, TargetRequest, requires
from pydplib.web.reporting.differences import differences
from pydplib.web.reporting.forms.answers import read_fields, tidy
from pydplib.web.reporting.forms.drafts import (
    DraftConflict,
    correction_of,
    discard_correction,
    discard_draft,
    keep_as_correction,
    rebase_correction,
    start_report,
)
from pydplib.web.reporting.forms.holders import Desk, desk_of_correction, desk_of_report
from pydplib.web.reporting.forms.pages import answer_autosave, answer_form, show_form
from pydplib.web.reporting.lists import check_visible, draft_about, prior_report
from pydplib.web.reporting.models import Correction, Report
from pydplib.web.reporting.signatures import correct_report, sign_report
from pydplib.web.reporting.words import report_words


class PatientForm(forms.Form):
    """Whose report it is."""

    identifier = forms.CharField(
        max_length=400,
        label="Patient",
        help_text="The number or name that your hospital knows the patient by. It is stored apart from the report.",
        widget=forms.TextInput(attrs={"autocomplete": "off", "autofocus": True, "spellcheck": "false"}),
    )


@requires("capture")
def report_new(request: ProjectRequest) -> HttpResponse:
    """Ask whose report it is, then begin it."""
    version = request.project.template_version
    template = version.template if version else None
    person = template.person if template else ""
    form = PatientForm(request.POST if request.method == "POST" and person else None)
    if template and person:
        form.fields["identifier"].label = template.question(person).text
    way = [("Reports", reverse("reports")), ("New", "")]
    values: dict[str, object] = {"form": form, "version": version, "person": person, "breadcrumb": way}
    if request.method == "POST" and version and (not person or form.is_valid()):
        identifier = form.cleaned_data["identifier"] if person else ""
        open_draft = None if "anyway" in request.POST else _open_draft(request, person, identifier)
        if open_draft is not None:
            return render(request, "reporting/new.html", values | {"open_draft": open_draft})
        if person and _is_new(request, person, identifier):
            return render(request, "reporting/new.html", values | {"new_patient": identifier})
        try:
            report = start_report(
                request.project,
                identifier=identifier,
                author=request.user,
                department=request.member.department,
            )
        except DataError as error:
            form.add_error("identifier", str(error))
        else:
            return redirect("report_edit", key=report.key)
    return render(request, "reporting/new.html", values)


def _is_new(request: ProjectRequest, person: str, identifier: str) -> bool:
    """Return whether nobody is known by this identifier, and the user has not said yet that it is a new patient.

    What was said holds for exactly what was typed: another number is asked about again. Each answer is a line in the
    log, because it tells whether somebody is a patient here.
    """
    if request.POST.get("new_patient", "") == identifier:
        return False
    try:
        known = find_patient(request.project, {person: identifier}) is not None
    except DataError:
        return False  # said by the form itself
    if not known:
        record(request.user, "patient.check", "", project=request.project, known=False)
    return not known


def _open_draft(request: ProjectRequest, person: str, identifier: str) -> Report | None:
    if not person:
        return None
    try:
        patient = find_patient(request.project, {person: identifier})
    except DataError:
        return None
    return draft_about(request, patient) if patient else None


@requires("capture", of=Report)
def report_edit(request: TargetRequest[Report]) -> HttpResponse:
    """Fill in a report, or correct a signed one."""
    report: Report = request.target
    check_visible(request, report)
    desk = _desk(request, report)
    if request.method == "POST":
        late = _signed_meanwhile(request, report, desk)
        if late is not None:
            return late
        _check_patient(request, report)
        return answer_form(request, desk, lambda revision: _finish(request, desk, revision), **_reason(request, desk))
    record(request.user, "report.look", report.key, project=request.project, page="form")
    return show_form(request, desk)


@requires("capture", of=Report)
@require_POST
def report_autosave(request: TargetRequest[Report]) -> HttpResponse:
    """Keep the draft while it is written."""
    report: Report = request.target
    check_visible(request, report)
    desk = _desk(request, report)
    late = _signed_meanwhile(request, report, desk)
    return late or answer_autosave(request, desk, **_reason(request, desk))


@requires("capture", of=Report)
@require_POST
def report_discard(request: TargetRequest[Report]) -> HttpResponse:
    """Remove a draft, or the draft of a correction."""
    report: Report = request.target
    check_visible(request, report)
    if report.state == Report.State.DRAFT:
        discard_draft(report, user=request.user)
        messages.success(request, "The draft is discarded.")
        return redirect("reports")
    discard_correction(report, user=request.user)
    messages.success(request, "The correction is discarded; the report stays as it was signed.")
    return redirect("report", key=report.key)


def _desk(request: ProjectRequest, report: Report) -> Desk:
    if report.state == Report.State.DRAFT:
        desk = desk_of_report(report)
    else:
        desk = desk_of_correction(correction_of(report, request.user))
    prior = prior_report(request, report)
    desk.beside = {
        "report": report,
        "patient": report.patient,
        "named": bool(report.template.template.person),
        "reason": getattr(desk.holder, "reason", ""),
    }
    if desk.kind == "report" and report.state == Report.State.DRAFT and report.author_id == request.user.pk:
        # Who typed it sees it until it is signed: a mistyped number makes another patient.
        desk.beside["typed"] = identifier_of(report.patient, report.template.template.person)
    if prior is not None:
        if request.method == "GET":
            record(request.user, "report.look", prior.key, project=request.project, page="prior")
        desk.beside |= {"prior": prior, "prior_words": report_words(prior)}
    if desk.kind == "correction" and desk.holder.base_version != report.version:
        desk.beside |= {"outdated": differences(desk.template, report.answers, desk.holder.answers)}
    return desk


def _check_patient(request: ProjectRequest, report: Report) -> None:
    """Say whether an identifier that was typed again is the patient's; a report on another one is not signed."""
    typed = request.POST.get("check_identifier", "").strip()
    person = report.template.template.person
    if not typed or not person:
        return
    try:
        same = find_patient(request.project, {person: typed}) == report.patient
    except DataError:
        same = False
    record(request.user, "patient.check", report.key, project=request.project, same=same)
    if same:
        messages.success(request, "Yes, this report is on that patient.")
        return
    messages.error(request, "This report is on another patient. Nothing was signed.")
    changed = request.POST.copy()
    changed["do"] = "update"
    request.POST = changed  # type: ignore[assignment]  # only a request as it came cannot be changed


def _reason(request: HttpRequest, desk: Desk) -> dict[str, str]:
    if desk.kind != "correction":
        return {}
    desk.holder.reason = " ".join(request.POST.get("reason", "").replace("\x00", "").split())[:400]
    desk.beside["reason"] = desk.holder.reason
    return {"reason": desk.holder.reason}


def _signed_meanwhile(request: SignedInRequest, report: Report, desk: Desk) -> HttpResponse | None:
    """Keep what was typed into a draft that somebody else signed: as a correction that nobody has signed yet."""
    if desk.kind == "report" or request.POST.get("kind") != "report":
        return None
    answers = tidy(desk.template, read_fields(desk.template, request.POST.dict()))
    keep_as_correction(report, answers, user=request.user)
    messages.warning(
        request,
        f"{report.changed_by or 'Somebody'} signed this report while you were writing. What you typed is kept here "
        "as a correction that is not signed.",
    )
    answer: HttpResponse = redirect("report_edit", key=report.key)
    if request.headers.get("X-Requested-With") == "fetch":
        answer = HttpResponse(status=409, headers={"X-Go-To": answer["Location"]})
    return answer


def _finish(request: SignedInRequest, desk: Desk, revision: int) -> str:
    report = desk.beside["report"]
    assert isinstance(report, Report)
    if desk.kind == "report":
        sign_report(report, revision=revision, user=request.user)
        messages.success(request, "The report is signed.")
        return f"/reports/{report.key}"
    correction = desk.holder
    assert isinstance(correction, Correction)
    if correction.base_version != report.version:
        # Shown once: the page says what the other correction changed; signing again builds on it.
        rebase_correction(correction)
        raise DraftConflict(
            "Somebody else corrected this report while you were writing. Look at the differences, then sign again."
        )
    correct_report(correction, revision=revision, reason=correction.reason, user=request.user)
    messages.success(request, "The correction is signed. Earlier versions stay in the history.")
    return f"/reports/{report.key}"
