"""Pages that show reports: the list, a report with its history, its FHIR form."""

from __future__ import annotations

import json
from typing import Any

from django.contrib import messages
from django.core.paginator import Page, Paginator
from django.http import Http404, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.http import require_POST

from pydplib.capture import pirads, response_to_fhir
from pydplib.errors import DataError, ParameterError
from pydplib.web.auditlog.log import record
from pydplib.web.patients.pseudonyms import by_short_id, find_patient
from pydplib.web.projects.permissions import ProjectRequest, TargetRequest, requires
from pydplib.web.projects.policy.flows import check_flow_for
from pydplib.web.reporting.forms.drafts import corrections_of, open_correction
from pydplib.web.reporting.forms.views import PatientForm
from pydplib.web.reporting.lists import (
    ReportFilter,
    check_visible,
    drafts_of,
    listed,
    remove_filter,
    reports_about,
    save_filter,
    saved_filters,
    sees_all,
    sorting_of,
    version_of,
    visible_reports,
)
from pydplib.web.reporting.models import Report
from pydplib.web.reporting.report_templates.versions import capturing_template
from pydplib.web.reporting.words import history, report_words

PER_PAGE = 25


@requires("capture")
def reports(request: ProjectRequest) -> HttpResponse:
    """List reports: the user's drafts on top, then all that fit the filters."""
    filters = ReportFilter(request.GET, request=request)
    sorting = sorting_of(request.GET.get("sort", ""), filters.question)
    found = sorting.apply(listed(filters.apply(visible_reports(request))))
    page = Paginator(found, PER_PAGE).get_page(request.GET.get("page"))
    values = _list_values(request, filters) | _rows(page, filters)
    values |= {"sorting": sorting, "sort": request.GET.get("sort", "")[:40]}
    values["saved"] = saved_filters(request.project, request.user)
    _note(request, "reports.look", values, filters=filters.used)
    return render(request, "reporting/reports.html", values)


@requires("capture")
@require_POST
def report_find(request: ProjectRequest) -> HttpResponse:
    """Find the reports of one patient by identifier or short id; by POST, so that neither is in an address."""
    version = request.project.template_version
    person = version.template.person if version else ""
    form = PatientForm(request.POST)
    patient = None
    if person and form.is_valid():
        try:
            patient = find_patient(request.project, {person: form.cleaned_data["identifier"]})
        except DataError:
            patient = None
        patient = patient or by_short_id(request.project, form.cleaned_data["identifier"])
    page = Paginator(reports_about(request, patient), 200).get_page(1)
    filters = ReportFilter({}, request=request)
    values = _list_values(request, filters) | _rows(page, filters) | {"searched": True, "sorting": None}
    _note(request, "reports.find", values)
    return render(request, "reporting/reports.html", values)


@requires("capture")
@require_POST
def filter_save(request: ProjectRequest) -> HttpResponse:
    """Keep the filters of the list under a name."""
    filters = ReportFilter(request.POST, request=request)
    name, sort = request.POST.get("name", ""), request.POST.get("sort", "")
    made = save_filter(request.project, request.user, name=name, filters=filters, sort=sort)
    messages.success(request, f"Saved as “{made.name}”. Only you see it.")
    return redirect(f"{reverse('reports')}?{made.query}")


@requires("capture")
@require_POST
def filter_remove(request: ProjectRequest) -> HttpResponse:
    """Remove one of the member's own filters."""
    if not remove_filter(request.project, request.user, request.POST.get("filter", "")):
        raise Http404
    messages.success(request, "Removed.")
    return redirect("reports")


def _note(request: ProjectRequest, action: str, values: dict[str, Any], **more: object) -> None:
    """Write down whom a list showed: a look at a patient's line is a look at the patient."""
    shown = [row["report"] for row in values["rows"]] + list(values["drafts"])
    shown += [correction.report for correction in values["corrections"]]
    patients = list(dict.fromkeys(report.patient.key for report in shown if report.patient is not None))
    record(request.user, action, request.project.key, project=request.project, patients=patients, **more)


def _rows(page: Page[Report], filters: ReportFilter) -> dict[str, object]:
    """Return the reports of a page with their scores and what these mean."""
    column = filters.question.id if filters.question else ""
    scores = [report.values.get(column) for report in page]
    phrases = [pirads.PHRASES.get(score, "") if isinstance(score, int) else "" for score in scores]
    rows = [
        {"report": report, "score": score, "phrase": phrase}
        for report, score, phrase in zip(page, scores, phrases, strict=True)
    ]
    return {"page": page, "rows": rows}


def _list_values(request: ProjectRequest, filters: ReportFilter) -> dict[str, object]:
    version = request.project.template_version
    return {
        "filters": filters,
        "score": filters.question,
        "drafts": drafts_of(request),
        "corrections": corrections_of(request.project, request.user),
        "finder": PatientForm() if version and version.template.person else None,
        "version": version,
        "sees_all": sees_all(request),
    }


@requires("capture", of=Report)
def report(request: TargetRequest[Report]) -> HttpResponse:
    """Show a report with its text, answers and history."""
    shown: Report = request.target
    check_visible(request, shown)
    number = request.GET.get("version", "")
    version = None
    if number:
        version = version_of(shown, number)
        if version is None:
            raise Http404
    record(request.user, "report.look", shown.key, project=request.project, version=number or shown.version)
    values: dict[str, object] = {"report": shown, "breadcrumb": [("Reports", "/reports"), ("Report", "")]}
    if shown.version:
        values |= {
            "words": report_words(shown, version),
            "history": history(shown),
            "version": version,
            "shown_number": version.number if version else shown.version,
            "fhir_r4": f"/reports/{shown.key}/fhir?release=R4",
            "fhir_r5": f"/reports/{shown.key}/fhir?release=R5",
            "correction": open_correction(shown, request.user),
        }
    return render(request, "reporting/report.html", values)


@requires("see_raw", of=Report, recent=True)
def report_fhir(request: TargetRequest[Report]) -> HttpResponse:
    """Download a signed report as a FHIR QuestionnaireResponse; the patient is a pseudonym in it."""
    shown: Report = request.target
    check_visible(request, shown)
    if not shown.version:
        raise Http404
    release = request.GET.get("release", "R5")
    if release not in ("R4", "R5"):
        raise ParameterError("FHIR is written as R4 or as R5.")
    if sees_all(request):
        check_flow_for(request, "raw", purpose="export of a report")
    resource = response_to_fhir(
        capturing_template(shown.template),
        shown.answers,
        version="R4" if release == "R4" else "R5",
        subject=f"Patient/{shown.patient.key}",
        authored=shown.signed,
    )
    record(request.user, "report.export", shown.key, project=request.project, format=f"FHIR {release}")
    return HttpResponse(
        json.dumps(resource, ensure_ascii=False, indent=2),
        content_type="application/fhir+json; charset=utf-8",
        headers={"Content-Disposition": f'attachment; filename="report-{shown.key}-{release.lower()}.json"'},
    )
