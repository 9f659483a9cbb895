"""Pages of the patients' rights: find, access report, consent, erasure, retention, record of processing."""

from __future__ import annotations

from django.contrib import messages
from django.http import HttpResponse, JsonResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.http import require_GET, require_POST

from pydplib.web.auditlog.log import record
from pydplib.web.intake.forms import ConsentForm, FindPatientForm
from pydplib.web.intake.rights.access_report import access_report, count_reports
from pydplib.web.intake.rights.erasure import erase, look_up, open_imports, overdue, purge, set_consent
from pydplib.web.intake.rights.processing_record import record_of_processing
from pydplib.web.intake.snapshots import snapshots_with
from pydplib.web.patients.models import Patient
from pydplib.web.projects.permissions import ProjectRequest, TargetRequest, requires

WORD = "ERASE"
"""What must be typed before something is gone for good."""


@requires("erase")
@require_GET
def privacy_rights(request: ProjectRequest) -> HttpResponse:
    """Show what the law asks for: find a person, see what is overdue, the record of processing."""
    return _rights_page(request)


@requires("erase")
@require_POST
def rights_find(request: ProjectRequest) -> HttpResponse:
    """Find a person by exactly what names them; what was typed is neither logged nor in an address."""
    form = FindPatientForm(request.POST)
    if form.is_valid():
        found = look_up(request.project, form.cleaned_data["identifier"])
        record(
            request.user,
            "patient.find",
            found.key if found is not None else "",
            project=request.project,
            found=found is not None,
        )
        if found is not None:
            return redirect("rights_patient", key=found.key)
    # A fresh form: the page that comes back does not repeat what was typed.
    return _rights_page(request, not_found=True, status=422)


def _rights_page(request: ProjectRequest, *, not_found: bool = False, status: int = 200) -> HttpResponse:
    context = {"form": FindPatientForm(), "not_found": not_found, "overdue": overdue(request.project), "word": WORD}
    return render(request, "intake/rights.html", context, status=status)


@requires("erase", of=Patient)
@require_GET
def rights_patient(request: TargetRequest[Patient]) -> HttpResponse:
    """Show what can be done for one person; no identifier, no answer."""
    patient = request.target
    record(request.user, "patient.look", patient.key, project=request.project)
    context = {
        "patient": patient,
        "reports": count_reports(patient),
        "snapshots": snapshots_with(request.project, patient.pseudonym),
        "open_imports": open_imports(request.project),
        "consent": ConsentForm(initial={"consent": patient.consent}),
        "word": WORD,
        "breadcrumb": [_rights(), ("Patient", "")],
    }
    return render(request, "intake/rights_patient.html", context)


@requires("erase", of=Patient, recent=True)
@require_GET
def rights_access(request: TargetRequest[Patient]) -> HttpResponse:
    """Show everything that is held about one person; with values for owners, who answer for them."""
    patient = request.target
    way = [_rights(), ("Patient", reverse("rights_patient", args=[patient.key])), ("Access report", "")]
    values = {"held": _access(request), "patient": patient, "breadcrumb": way}
    return render(request, "intake/access.html", values)


@requires("erase", of=Patient, recent=True)
@require_GET
def rights_access_json(request: TargetRequest[Patient]) -> HttpResponse:
    """Send the same as a file."""
    return _json_file(_access(request), f"access-{request.target.key}.json")


def _access(request: TargetRequest[Patient]) -> dict[str, object]:
    record(request.user, "patient.access", request.target.key, project=request.project)
    return access_report(request.target, with_values=request.member.can("manage_data"))


@requires("erase", of=Patient, recent=True)
@require_POST
def rights_consent(request: TargetRequest[Patient]) -> HttpResponse:
    """Note consent or its withdrawal."""
    form = ConsentForm(request.POST)
    if form.is_valid():
        set_consent(request.target, form.cleaned_data["consent"], actor=request.user)
        messages.success(request, "Noted. Snapshots follow.")
    return redirect("rights_patient", key=request.target.key)


@requires("erase", of=Patient, recent=True)
@require_POST
def rights_erase(request: TargetRequest[Patient]) -> HttpResponse:
    """Erase one person."""
    if request.POST.get("confirm_word", "").strip() != WORD:
        messages.error(request, f"Nothing was erased: type {WORD} to confirm.")
        return redirect("rights_patient", key=request.target.key)
    reports = erase(request.target, actor=request.user)
    messages.success(request, f"Erased: one person with {reports} reports. An entry in the log stays.")
    return redirect("privacy_rights")


@requires("erase", recent=True)
@require_POST
def rights_purge(request: ProjectRequest) -> HttpResponse:
    """Erase everybody of a project whose time is over."""
    if request.POST.get("confirm_word", "").strip() != WORD:
        messages.error(request, f"Nothing was erased: type {WORD} to confirm.")
        return redirect("privacy_rights")
    people = purge(request.project, actor=request.user)
    messages.success(request, f"Erased: {people} people with everything that was recorded of them.")
    return redirect("privacy_rights")


@requires("erase")
@require_GET
def rights_processing(request: ProjectRequest) -> HttpResponse:
    """Show the record of processing."""
    values = {
        "record": record_of_processing(request.project),
        "breadcrumb": [_rights(), ("Record of processing", "")],
    }
    return render(request, "intake/processing.html", values)


@requires("erase")
@require_GET
def rights_processing_json(request: ProjectRequest) -> HttpResponse:
    """Send the record of processing as a file."""
    return _json_file(record_of_processing(request.project), f"processing-{request.project.key}.json")


def _rights() -> tuple[str, str]:
    return "Privacy rights", reverse("privacy_rights")


def _json_file(held: dict[str, object], name: str) -> HttpResponse:
    response = JsonResponse(held, json_dumps_params={"indent": 2, "ensure_ascii": False})
    response["Content-Disposition"] = f'attachment; filename="{name}"'
    return response
