"""Pages of templates: versions, the tree, differences, upload, download."""

from __future__ import annotations

import json
from typing import Unpack

from django import forms
from django.contrib import messages
from django.http import Http404, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_POST

from pydplib.capture import Template, builtin, builtin_names, compare, lint, questionnaire_to_fhir, report_text
from pydplib.errors import TemplateError
from pydplib.web.design.forms import Files, FormOptions, Posted, choice_field
from pydplib.web.projects.permissions import ProjectRequest, TargetRequest, requires
from pydplib.web.reporting.forms.answers import form_state
from pydplib.web.reporting.models import TemplateVersion
from pydplib.web.reporting.report_templates.example import example_answers
from pydplib.web.reporting.report_templates.tree import build_tree
from pydplib.web.reporting.report_templates.versions import (
    MOST_BYTES,
    Upload,
    add_template,
    read_upload,
    use_template,
    version_before,
    versions_of,
    without_person,
)

FORMATS = {
    "toml": ("TOML", "toml", "application/toml"),
    "json": ("JSON", "json", "application/json"),
    "fhir-r4": ("FHIR R4", "r4.json", "application/fhir+json"),
    "fhir-r5": ("FHIR R5", "r5.json", "application/fhir+json"),
}


class TemplateUploadForm(forms.Form):
    """A template file, or its text, or one of ours."""

    file = forms.FileField(
        required=False,
        label="File",
        help_text="Ours (TOML or JSON), or a FHIR Questionnaire, R4 or R5.",
        widget=forms.ClearableFileInput(attrs={"accept": ".toml,.json"}),
    )
    text = forms.CharField(
        required=False,
        label="Or its text",
        max_length=MOST_BYTES,
        widget=forms.Textarea(attrs={"rows": 6, "spellcheck": "false"}),
    )
    builtin = forms.ChoiceField(required=False, label="Or one that comes with pydplib")
    version = forms.CharField(
        required=False, max_length=40, label="Name of the version", help_text="If it should not be the one in the file."
    )
    note = forms.CharField(required=False, max_length=200, label="Why this version", help_text="For the history.")

    def __init__(self, data: Posted = None, files: Files = None, **options: Unpack[FormOptions]) -> None:
        super().__init__(data, files, **options)
        choice_field(self, "builtin").choices = [("", "–"), *((name, builtin(name).title) for name in builtin_names())]

    def clean(self) -> dict[str, object]:
        """Ask for exactly one source."""
        values = super().clean() or {}
        given = [name for name in ("file", "text", "builtin") if values.get(name)]
        if len(given) != 1:
            raise forms.ValidationError("Give a file, or a text, or choose one of ours: exactly one of the three.")
        if given == ["file"] and values["file"].size > MOST_BYTES:
            raise forms.ValidationError(f"A template has at most {MOST_BYTES // 1000} kB. Is this the right file?")
        return values

    def with_text_of_file(self) -> TemplateUploadForm:
        """Return the form with the text of an uploaded file, which a browser would not send again, to be corrected."""
        file = self.cleaned_data.get("file")
        if not file:
            return self
        file.seek(0)
        filled = TemplateUploadForm(
            {
                **{name: self.data[name] for name in self.data},
                "text": file.read().decode("utf-8", "replace"),
                "builtin": "",
            }
        )
        filled.is_valid()
        return filled

    def data_of_template(self) -> bytes:
        """Return what was given, as a file."""
        values = self.cleaned_data
        if values["file"]:
            return bytes(values["file"].read())
        text = values["text"] or builtin(values["builtin"]).to_toml()
        return str(text).encode("utf-8", "replace")


@requires("read_templates")
def templates(request: ProjectRequest) -> HttpResponse:
    """List the versions of the project's template."""
    versions = versions_of(request.project)
    values = {"versions": versions, "may_edit": request.member.can("edit_templates")}
    return render(request, "reporting/templates.html", values)


@requires("read_templates", of=TemplateVersion)
def template(request: TargetRequest[TemplateVersion]) -> HttpResponse:
    """Show one version: its tree, what the linter says, and what a report would read like."""
    version: TemplateVersion = request.target
    shown = version.template
    others = versions_of(request.project, but=version)
    values = _shown(shown) | {
        "version": version,
        "others": others,
        "may_edit": request.member.can("edit_templates"),
        "formats": [(name, title) for name, (title, _, _) in FORMATS.items()],
        "breadcrumb": [("Templates", "/templates"), (f"{shown.title}, version {shown.version}", "")],
    }
    return render(request, "reporting/template.html", values)


def _shown(shown: Template) -> dict[str, object]:
    problems = lint(shown)
    values: dict[str, object] = {"template": shown, "problems": problems, "tree": build_tree(shown, problems)}
    if all(problem.severity != "error" for problem in problems):
        silent = without_person(shown)
        answers = example_answers(silent)
        values |= {"example": report_text(silent, answers), "state": form_state(silent, answers)}
    return values


@requires("read_templates", of=TemplateVersion)
def template_difference(request: TargetRequest[TemplateVersion]) -> HttpResponse:
    """Say what changed from one version to another."""
    version: TemplateVersion = request.target
    other = version_before(version, since=request.GET.get("since", ""))
    values = {
        "version": version,
        "other": other,
        "template": version.template,
        "changes": compare(other.template, version.template) if other else (),
        "breadcrumb": [("Templates", "/templates"), ("Difference", "")],
    }
    return render(request, "reporting/difference.html", values)


@requires("read_templates", of=TemplateVersion)
def template_download(request: TargetRequest[TemplateVersion]) -> HttpResponse:
    """Give a version as a file: ours, or FHIR."""
    version: TemplateVersion = request.target
    wanted = request.GET.get("format", "toml")
    if wanted not in FORMATS:
        raise Http404
    shown = version.template
    _, ending, kind = FORMATS[wanted]
    if wanted == "toml":
        text = shown.to_toml()
    elif wanted == "json":
        text = shown.to_json()
    else:
        resource = questionnaire_to_fhir(shown, version="R4" if wanted == "fhir-r4" else "R5")
        text = json.dumps(resource, ensure_ascii=False, indent=2)
    name = f"{shown.id}-{version.number}.{ending}"
    return HttpResponse(
        text,
        content_type=f"{kind}; charset=utf-8",
        headers={"Content-Disposition": f'attachment; filename="{name}"'},
    )


@requires("edit_templates")
def template_new(request: ProjectRequest) -> HttpResponse:
    """Read an upload and show what it is; nothing is kept until it is accepted."""
    current = request.project.template_version
    compared = current.template if current else None
    if request.method == "POST" and "accept" in request.POST:
        return _accept(request, compared)
    form = TemplateUploadForm(request.POST or None, request.FILES or None)
    values: dict[str, object] = {
        "form": form,
        "current": current,
        "breadcrumb": [("Templates", "/templates"), ("New", "")],
    }
    if request.method == "POST" and form.is_valid():
        try:
            upload = read_upload(form.data_of_template(), version=form.cleaned_data["version"], current=compared)
        except TemplateError as error:
            form = form.with_text_of_file()
            for line in str(error).splitlines():
                form.add_error(None, line)
            values["form"] = form
        else:
            return render(request, "reporting/template_preview.html", values | _preview(upload, form))
    return render(request, "reporting/template_new.html", values, status=422 if form.is_bound else 200)


def _preview(upload: Upload, form: TemplateUploadForm) -> dict[str, object]:
    return _shown(upload.template) | {
        "upload": upload,
        "errors": [problem for problem in upload.problems if problem.severity == "error"],
        "definition": upload.template.to_json(),
        "note": form.cleaned_data["note"],
    }


def _accept(request: ProjectRequest, compared: Template | None) -> HttpResponse:
    """Take what was shown; it is read and checked again, whatever the page says."""
    try:
        upload = read_upload(request.POST["accept"].encode("utf-8", "replace"), current=compared)
        made = add_template(
            request.project, upload.template, actor=request.user, note=request.POST.get("note", "").replace("\0", "")
        )
    except TemplateError as error:
        form = TemplateUploadForm()
        return render(request, "reporting/template_new.html", {"form": form, "refused": str(error)}, status=422)
    messages.success(request, f"Version {upload.template.version} is in use for new reports from now on.")
    return redirect("template", key=made.key)


@requires("edit_templates", of=TemplateVersion)
@require_POST
def template_use(request: TargetRequest[TemplateVersion]) -> HttpResponse:
    """Use an older version for new reports again."""
    use_template(request.target, actor=request.user)
    messages.success(request, "New reports are written with this version from now on.")
    return redirect("template", key=request.target.key)
