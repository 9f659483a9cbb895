"""Pages of the rows: browser, one patient, identifiers, export, quality. Every look leaves a line."""

from __future__ import annotations

from typing import Any, cast

from django.http import Http404, HttpResponse, StreamingHttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils import timezone
from django.utils.formats import date_format
from django.views.decorators.http import require_GET, require_POST

from pydplib.web.auditlog.log import record
from pydplib.web.intake.rows.csv_file import csv_text
from pydplib.web.intake.rows.lists import (
    chosen_columns,
    departments_in,
    filtered,
    page_of,
    questions_of,
    read_filter,
    reports_about,
    rows_of,
    signed_reports_for,
)
from pydplib.web.intake.rows.quality import quality_of
from pydplib.web.patients.models import Patient
from pydplib.web.patients.pseudonyms import identifiers_of
from pydplib.web.projects.permissions import ProjectRequest, TargetRequest, requires
from pydplib.web.projects.policy.flows import check_flow_for
from pydplib.web.reporting.report_templates.versions import value_columns


@requires("see_raw")
@require_GET
def data(request: ProjectRequest) -> HttpResponse:
    """Show signed reports as rows."""
    current = request.project.template_version
    if current is None:
        return render(request, "intake/data.html", {"template": None})
    questions = questions_of(current.template)
    columns = chosen_columns(request.GET.getlist("column"), questions)
    chosen = read_filter(questions, request.GET.get("field", ""), request.GET.get("value", ""))
    department = request.GET.get("department", "")[:80] if request.member.can("manage_data") else ""
    reports = signed_reports_for(request.project, request.member)
    page = page_of(filtered(reports, chosen, department), request.GET.get("page"))
    record(
        request.user,
        "data.look",
        request.project.key,
        project=request.project,
        page=page.number,
        filter=[name for name, used in ((chosen.field if chosen else "", chosen), ("department", department)) if used],
        reports=[report.key for report in page],
    )
    context = {
        "template": current.template,
        "questions": [(name, question.text, name in columns) for name, question in questions.items()],
        "filters": [(name, question) for name, question in questions.items() if question.kind != "text"],
        "columns": [questions[name] for name in columns],
        "rows": rows_of(page, questions, columns),
        "page": page,
        "chosen": chosen,
        "bad_filter": bool(request.GET.get("field")) and chosen is None,
        "department": department,
        "departments": departments_in(reports) if request.member.can("manage_data") else [],
        "can_export": request.member.can("manage_data"),
    }
    return render(request, "intake/data.html", context)


@requires("see_raw", of=Patient)
@require_GET
def patient(request: TargetRequest[Patient]) -> HttpResponse:
    """Show one patient with all reports."""
    return _patient_page(request, {})


@requires("manage_data", of=Patient, recent=True)
@require_POST
def patient_identifiers(request: TargetRequest[Patient]) -> HttpResponse:
    """Show what names a patient; asked for on purpose, with the password, and logged."""
    held = identifiers_of(request.target)
    record(request.user, "patient.identifiers", request.target.key, project=request.project, fields=len(held))
    return _patient_page(request, {"identifiers": held, "identifiers_shown": True})


def _patient_page(request: TargetRequest[Patient], more: dict[str, Any]) -> HttpResponse:
    reports = reports_about(request.target, request.member)
    if not reports and not request.member.can("manage_data"):
        raise Http404
    record(
        request.user,
        "patient.look",
        request.target.key,
        project=request.project,
        reports=[report.key for report in reports],
    )
    titles = {name: at.item.text for each in reports for name, at in each.template.template.index.by_id.items()}
    if "identifiers" in more:
        more["identifiers"] = [(titles.get(name, name), value) for name, value in more["identifiers"]]
    shown = []
    for report in reports:
        assert report.signed is not None
        questions = questions_of(report.template.template)
        (row,) = rows_of([report], questions, list(questions))
        cells = zip(questions.values(), cast("list[tuple[str, str]]", row["cells"]), strict=True)
        pairs = [(question.text, words) for question, (words, _) in cells if words]
        shown.append({"report": report, "title": f"Signed {date_format(report.signed, 'j F Y')}", "pairs": pairs})
    way = [("Data", reverse("data")), ("Patient", "")]
    return render(
        request, "intake/patient.html", {"patient": request.target, "reports": shown, "breadcrumb": way, **more}
    )


@requires("manage_data", recent=True)
@require_POST
def data_export(request: ProjectRequest) -> StreamingHttpResponse:
    """Send raw rows as CSV to an owner: password given again, allowed by the policy, logged."""
    current = request.project.template_version
    if current is None:
        raise Http404
    template = current.template
    check_flow_for(request, "raw", purpose="export", fields=value_columns(template))
    reports = signed_reports_for(request.project, request.member)
    record(
        request.user,
        "data.export",
        request.project.key,
        project=request.project,
        rows=reports.count(),
        data_version=request.project.data_version,
    )
    response = StreamingHttpResponse(csv_text(template, reports), content_type="text/csv; charset=utf-8")
    name = f"{request.project.key}-{timezone.now():%Y%m%d}.csv"
    response["Content-Disposition"] = f'attachment; filename="{name}"'
    return response


@requires("manage_data")
@require_GET
def quality(request: ProjectRequest) -> HttpResponse:
    """Show gaps, values outside the template, repeated reports and contradictions."""
    found = quality_of(request.project)
    record(request.user, "quality.look", request.project.key, project=request.project)
    return render(request, "intake/quality.html", {"quality": found})
