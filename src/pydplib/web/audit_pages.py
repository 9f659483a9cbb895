"""Pages of the audit log: read, filter, export, verify, save its latest hash."""

from __future__ import annotations

from typing import TypeVar, Unpack

from django import forms
from django.contrib import messages
from django.core.paginator import Paginator
from django.db.models import QuerySet
from django.http import Http404, HttpResponse, StreamingHttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.http import require_POST, require_safe

from pydplib.web.activity import urls_of
from pydplib.web.auditlog.alerts import repeated_refusals
from pydplib.web.auditlog.files import head_to_json, to_csv, to_json
from pydplib.web.auditlog.lines import HOSPITAL, PROJECT, LineFilter, lines_of, narrow, show
from pydplib.web.auditlog.log import record
from pydplib.web.auditlog.models import Line
from pydplib.web.auditlog.verification import verify
from pydplib.web.auditlog.words import words_of
from pydplib.web.design.forms import Files, FormOptions, Posted, choice_field
from pydplib.web.intake.rights.access_report import keys_of
from pydplib.web.patients.models import Patient
from pydplib.web.patients.pseudonyms import by_short_id
from pydplib.web.projects.models import Project
from pydplib.web.projects.permissions import ProjectRequest, requires

_FORMATS = {"csv": (to_csv, "text/csv; charset=utf-8"), "json": (to_json, "application/json")}

R = TypeVar("R", bound=HttpResponseBase)


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

    def __init__(
        self,
        data: Posted = None,
        files: Files = None,
        *,
        actions: list[str],
        with_hospital: bool,
        **kwargs: Unpack[FormOptions],
    ) -> None:
        super().__init__(data, files, **kwargs)
        listed = sorted((words_of(action), action) for action in actions)
        choice_field(self, "action").choices = [("", "Everything"), *((action, words) for words, action in listed)]
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


@requires("read_log")
@require_safe
def audit(request: ProjectRequest) -> HttpResponse:
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


@requires("read_log", recent=True)
@require_safe
def export(request: ProjectRequest, kind: str) -> StreamingHttpResponse:
    """Give out the filtered lines as CSV or JSON; the export itself becomes a line."""
    if kind not in _FORMATS:
        raise Http404
    lines, _ = _filtered(request)
    record(request.user, "audit.export", kind, project=request.project)
    write, content_type = _FORMATS[kind]
    response = StreamingHttpResponse(write(lines.iterator(chunk_size=1000)), content_type=content_type)
    return _as_file(response, f"audit-log-{timezone.localdate():%Y-%m-%d}.{kind}")


@requires("read_log")
@require_POST
def verify_chain(request: ProjectRequest) -> HttpResponse:
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


@requires("read_log")
@require_safe
def head(request: ProjectRequest) -> HttpResponse:
    """Give out the end of the chain, to be kept where this server's operator cannot write."""
    record(request.user, "audit.head", project=request.project)
    response = HttpResponse(head_to_json(), content_type="application/json")
    return _as_file(response, f"audit-log-head-{timezone.localdate():%Y-%m-%d}.json")


def _filtered(request: ProjectRequest) -> tuple[QuerySet[Line], FilterForm]:
    hospital = _hospital(request)
    # Whoever asks for the hospital's lines and may not have them gets the project's.
    scope = hospital if request.GET.get("scope") == HOSPITAL else ""
    lines = lines_of([request.project.key], hospital=scope)
    actions = list(lines.order_by("action").values_list("action", flat=True).distinct())
    form = FilterForm(request.GET or None, actions=actions, with_hospital=bool(hospital))
    return narrow(lines, form.wanted(request.project)) if form.is_bound else lines.order_by("-number"), form


def _hospital(request: ProjectRequest) -> str:
    """Return the hospital whose own lines may be read: the project's, if it is the reader's too."""
    same = request.user.hospital_id == request.project.hospital_id
    return str(request.project.hospital.key) if same else ""


def _as_file(response: R, name: str) -> R:
    response.headers["Content-Disposition"] = f'attachment; filename="{name}"'
    return response
