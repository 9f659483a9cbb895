"""Pages of the audit log: read, filter, export, verify, save its latest hash."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from django import forms
from django.apps import apps
from django.contrib import messages
from django.core.paginator import Paginator
from django.http import Http404, HttpRequest, HttpResponse, StreamingHttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.http import require_POST, require_safe

from pydplib.policy import Power
from pydplib.web.auditlog.alerts import repeated_refusals
from pydplib.web.auditlog.files import head_to_json, to_csv, to_json
from pydplib.web.auditlog.lines import HOSPITAL, KEY, PROJECT, LineFilter, keys_named, lines_of, narrow, show
from pydplib.web.auditlog.log import record
from pydplib.web.auditlog.models import Line
from pydplib.web.auditlog.verification import verify
from pydplib.web.auditlog.words import words_of
from pydplib.web.intake.rights.access_report import keys_of
from pydplib.web.patients.models import Patient
from pydplib.web.patients.pseudonyms import by_short_id
from pydplib.web.projects.models import Member, Project
from pydplib.web.projects.permissions import door
from pydplib.web.reporting.models import Report

_FORMATS = {"csv": (to_csv, "text/csv; charset=utf-8"), "json": (to_json, "application/json")}
_THINGS: dict[str, tuple[str, str, Power]] = {
    "analysis": ("analyses.Analysis", "/analyses/{}", "ask"),
    "import": ("intake.ImportBatch", "/import/{}", "import_records"),
    "export": ("exports.Export", "/anonymize/{}", "ask"),
    "attack": ("attacks.AttackRun", "/attacks/{}", "read_log"),
    "dashboard": ("dashboards.Dashboard", "/dashboards/{}", "ask"),
    "request": ("projects.AccessRequest", "/requests/{}", "read_log"),
}
"""First word of an action -> the model of its subject, where that is shown, and who may look there."""


class FilterForm(forms.Form):
    """What to show of the log; unknown words show nothing rather than everything."""

    scope = forms.ChoiceField(
        required=False, choices=[(PROJECT, "This project"), (HOSPITAL, "This project and the hospital's own")]
    )
    action = forms.ChoiceField(required=False, label="What")
    actor = forms.CharField(
        required=False, max_length=150, label="Who", widget=forms.TextInput(attrs={"class": "short"})
    )
    on = forms.CharField(
        required=False,
        max_length=150,
        label="On what",
        widget=forms.TextInput(attrs={"class": "short", "placeholder": "Id or name"}),
    )
    since = forms.DateField(required=False, label="From", widget=forms.DateInput(attrs={"type": "date"}))
    until = forms.DateField(required=False, label="To", widget=forms.DateInput(attrs={"type": "date"}))

    def __init__(self, *args: object, actions: list[str], with_hospital: bool, **kwargs: object) -> None:
        super().__init__(*args, **kwargs)
        listed = sorted((words_of(action), action) for action in actions)
        self.fields["action"].choices = [("", "Everything"), *((action, words) for words, action in listed)]
        if not with_hospital:
            del self.fields["scope"]

    def wanted(self, project: Project) -> LineFilter:
        """Return the filter; of a faulty form, what is valid of it.

        Args:
            project: The project whose patients are known: the id of one stands for all that is about them.
        """
        values = self.cleaned_data if self.is_valid() else getattr(self, "cleaned_data", {})
        word = (values.get("on") or "").strip()
        return LineFilter(
            about=_about(project, word) if word else (),
            action=values.get("action") or "",
            actor=(values.get("actor") or "").strip(),
            since=values.get("since"),
            until=values.get("until"),
        )


def _about(project: Project, word: str) -> tuple[str, ...]:
    patient = by_short_id(project, word)
    if patient is not None and Patient.objects.filter(pk=patient.pk, key__startswith=word.lower()).exists():
        return tuple(keys_of(patient))
    return (word,)


@door("read_log")
@require_safe
def audit(request: HttpRequest) -> HttpResponse:
    """Show the log of the project, newest first."""
    lines, form = _filtered(request)
    page = Paginator(lines, 50).get_page(request.GET.get("page"))
    shown = list(page.object_list)
    urls = urls_of(shown, request.project, request.member)
    query = request.GET.copy()
    query.pop("page", None)
    query["project"] = request.project.key
    values = {
        "project": request.project,
        "form": form,
        "page_obj": page,
        "lines": [show(line, urls) for line in shown],
        "alerts": repeated_refusals([request.project.key], hospital=_hospital(request)),
        **{f"{kind}_url": f"{reverse('audit_export', kwargs={'kind': kind})}?{query.urlencode()}" for kind in _FORMATS},
    }
    return render(request, "auditlog/audit.html", values)


@door("read_log", recent=True)
@require_safe
def export(request: HttpRequest, kind: str) -> HttpResponse:
    """Give out the filtered lines as CSV or JSON; the export itself becomes a line."""
    if kind not in _FORMATS:
        raise Http404
    lines, _ = _filtered(request)
    record(request.user, "audit.export", kind, project=request.project)
    write, content_type = _FORMATS[kind]
    response = StreamingHttpResponse(write(lines.iterator(chunk_size=1000)), content_type=content_type)
    return _as_file(response, f"audit-log-{timezone.localdate():%Y-%m-%d}.{kind}")


@door("read_log")
@require_POST
def verify_chain(request: HttpRequest) -> HttpResponse:
    """Walk the whole chain and say whether it is whole."""
    verdict = verify()
    record(request.user, "audit.verify", project=request.project, whole=bool(verdict))
    if verdict:
        messages.success(
            request,
            "The log is whole: every line fits the one before, and none is missing. Save the latest hash elsewhere.",
        )
    else:
        messages.error(request, f"The log is damaged. {verdict.problem} Tell whoever runs this server, at once.")
    return redirect(f"/audit?project={request.project.key}")


@door("read_log")
@require_safe
def head(request: HttpRequest) -> HttpResponse:
    """Give out the end of the chain, to be kept where this server's operator cannot write."""
    record(request.user, "audit.head", project=request.project)
    response = HttpResponse(head_to_json(), content_type="application/json")
    return _as_file(response, f"audit-log-head-{timezone.localdate():%Y-%m-%d}.json")


def _filtered(request: HttpRequest) -> tuple[Any, FilterForm]:
    hospital = _hospital(request)
    # Whoever asks for the hospital's lines and may not have them gets the project's.
    scope = hospital if request.GET.get("scope") == HOSPITAL else ""
    lines = lines_of([request.project.key], hospital=scope)
    actions = list(lines.order_by("action").values_list("action", flat=True).distinct())
    form = FilterForm(request.GET or None, actions=actions, with_hospital=bool(hospital))
    return narrow(lines, form.wanted(request.project)) if form.is_bound else lines.order_by("-number"), form


def _hospital(request: HttpRequest) -> str:
    """Return the hospital whose own lines may be read: the project's, if it is the reader's too."""
    same = request.user.hospital_id == request.project.hospital_id
    return str(request.project.hospital.key) if same else ""


def _as_file(response: Any, name: str) -> HttpResponse:
    response.headers["Content-Disposition"] = f'attachment; filename="{name}"'
    return response


def urls_of(lines: Collection[Line], project: Project, place: Member) -> dict[str, str]:
    """Return key -> address for what lines of a project are about, as far as it is still there and the reader's to see.

    A patient leads to the page with the access report. So does a report for those who may not read reports.
    """
    keys = {line.subject for line in lines if KEY.fullmatch(line.subject)}
    keys.update(key for line in lines for key in keys_named(line.facts))
    found: dict[str, str] = {}
    for thing, (model, address, power) in _THINGS.items():
        mine = {line.subject for line in lines if line.action.startswith(f"{thing}.")} & keys
        if mine and place.can(power):
            held = apps.get_model(model)._default_manager.filter(project=project, key__in=mine)
            found |= {key: address.format(key) for key in held.values_list("key", flat=True)}
    if place.can("erase"):
        for key in Patient.objects.filter(project=project, key__in=keys).values_list("key", flat=True):
            found[key] = f"/privacy-rights/patients/{key}"
    reports = Report.objects.filter(project=project, key__in=keys).values_list("key", "patient__key")
    for key, patient in reports:
        if place.can("capture"):
            found[key] = f"/reports/{key}"
        elif place.can("erase") and patient:
            found[key] = f"/privacy-rights/patients/{patient}"
    return found
