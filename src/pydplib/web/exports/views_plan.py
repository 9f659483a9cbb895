"""Pages for owners: plan an export step by step, and make it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from pydplib.errors import DataError, HierarchyError, ParameterError
from pydplib.schema import Schema
from pydplib.web.analyses.question_form.offers import titles_of
from pydplib.web.exports import runs, trees
from pydplib.web.exports.forms import FieldsForm, ModelsForm, NewExportForm, TreeUploadForm
from pydplib.web.exports.models import Export
from pydplib.web.exports.plans import ExportPlan, check_plan
from pydplib.web.exports.releases import recipients_of
from pydplib.web.exports.runs import begin, store_plan
from pydplib.web.intake.models import group_title
from pydplib.web.intake.snapshots import groups_of, make_snapshot, published_snapshot, table_of_group
from pydplib.web.jobs import LostClaimError
from pydplib.web.projects.models import Project
from pydplib.web.projects.permissions import ProjectRequest, TargetRequest, door
from pydplib.web.projects.policy.fields import fields_of
from pydplib.web.tables.declared import tables_of

STEPS = ("Data", "Fields", "Protection", "Coarsening", "Check", "Release")
_State = Export.State


def crumbs(export: Export, here: str) -> list[tuple[str, str]]:
    """Return the way to a page of an export."""
    return [
        ("Anonymize", f"/anonymize?project={export.project.key}"),
        (export.title, f"/anonymize/{export.key}"),
        (here, ""),
    ]


@door("manage_data")
@require_http_methods(["GET", "HEAD", "POST"])
def export_new(request: ProjectRequest) -> HttpResponse:
    """Begin an export: which data, which rows."""
    current = published_snapshot(request.project)
    has_template = request.project.template_version is not None
    groups = _groups(request.project)
    form = NewExportForm(request.POST or None, published=current is not None, groups=groups)
    if request.method == "POST" and has_template and form.is_valid():
        rows, pinned = form.cleaned_data["rows"], current
        if form.cleaned_data["source"] == "current" or pinned is None:
            pinned = make_snapshot(request.project, actor=request.user)
        try:
            if rows in groups:  # what an attacker sees are the repetitions, each with its report: all of them count
                pinned, rows = table_of_group(pinned, rows), "all"
            return redirect(
                "export_fields", key=begin(request.user, request.project, pinned, form.cleaned_data["title"], rows).key
            )
        except DataError as problem:
            form.add_error("rows", str(problem))
    values = {
        "form": form,
        "steps": STEPS,
        "has_template": has_template,
        **_recipients(request.project, ()),
        "breadcrumb": [("Anonymize", f"/anonymize?project={request.project.key}"), ("New export", "")],
    }
    return render(request, "exports/new.html", values, status=422 if form.is_bound else 200)


def _recipients(project: Project, fields: Sequence[str]) -> dict[str, object]:
    """Return who may receive the table: said before the work, not after it."""
    recipients = recipients_of(project, fields)
    return {"recipients": recipients, "somebody": any(each.allowed for each in recipients)}


def _groups(project: Project) -> dict[str, str]:
    """Return the tables next to the reports -> their titles: repeating groups, and those that the owner added."""
    version = project.template_version
    if version is None:
        return {}
    groups = {group: group_title(version.template, group) for group in groups_of(version.template)}
    return groups | {table.name: table.title for table in tables_of(project)}


@door("manage_data", of=Export)
@require_http_methods(["GET", "HEAD", "POST"])
def export_fields(request: TargetRequest[Export]) -> HttpResponse:
    """Choose what becomes of every field; the template's labels propose."""
    export, plan, schema = _planned(request)
    form = FieldsForm(request.POST or None, schema=schema, plan=plan)
    if request.method == "POST" and form.is_valid():
        changed = plan.with_fields(form.treatments)
        try:
            if not changed.named("quasi"):
                raise ParameterError("Choose at least one field that is made coarser.")
            store_plan(request.user, export, changed)
            return redirect("export_models", key=export.key)
        except ParameterError as problem:
            form.add_error(None, str(problem))
    titles = titles_of(schema)
    kept = [field.title for field in fields_of(export.snapshot.template.template) if field.is_identifier]
    offered = [(form[name], schema.columns[name].label) for name in form.fields]
    values = {
        "export": export,
        "form": form,
        "offered": [(bound, "quasi_identifier" if label == "quasi" else label) for bound, label in offered],
        **_recipients(export.project, plan.columns),
        "never": list(dict.fromkeys([*(titles[name] for name in schema.columns if name not in form.fields), *kept])),
        "steps": STEPS,
        "breadcrumb": crumbs(export, "Fields"),
    }
    return render(request, "exports/fields.html", values, status=422 if form.is_bound else 200)


@door("manage_data", of=Export)
@require_http_methods(["GET", "HEAD", "POST"])
def export_models(request: TargetRequest[Export]) -> HttpResponse:
    """Choose the models and how much may be left out."""
    export, plan, schema = _planned(request)
    titles = titles_of(schema)
    form = (
        ModelsForm(request.POST, plan=plan, titles=titles) if request.method == "POST" else ModelsForm.of(plan, titles)
    )
    if form.is_bound and form.is_valid():
        changed = replace(
            plan,
            models=tuple(model.to_dict() for model in form.models),
            suppression=form.cleaned_data["suppression"] / 100,
            minutes=form.cleaned_data["minutes"],
            mixed=tuple(form.cleaned_data["mixed"]),
        )
        try:
            check_plan(changed, schema)
            store_plan(request.user, export, changed)
            return redirect("export_trees", key=export.key)
        except ParameterError as problem:
            form.add_error(None, str(problem))
    values = {
        "export": export,
        "form": form,
        "sensitive": [titles[name] for name in plan.named("sensitive")],
        "steps": STEPS,
        "breadcrumb": crumbs(export, "Protection"),
    }
    return render(request, "exports/models.html", values, status=422 if form.is_bound else 200)


@door("manage_data", of=Export)
@require_http_methods(["GET", "HEAD", "POST"])
def export_trees(request: TargetRequest[Export]) -> HttpResponse:
    """Show how fields are made coarser, and take edits and files."""
    export, plan, schema = _planned(request)
    problems: dict[str, str] = {}
    typed: dict[str, str] = {}
    names = [(name, schema.columns[name].title or name) for name in plan.named("quasi")]
    upload = TreeUploadForm(fields=names)
    if request.method == "POST":
        if "file" in request.FILES or request.POST.get("action") == "upload":
            upload = TreeUploadForm(request.POST, request.FILES, fields=names)
            if upload.is_valid():
                name = upload.cleaned_data["field"]
                try:
                    tree = trees.read_upload(upload.cleaned_data["file"].read(), schema.columns[name])
                    store_plan(
                        request.user, export, replace(plan, hierarchies={**plan.hierarchies, name: tree.to_dict()})
                    )
                    messages.success(request, f"{dict(names)[name]} is made coarser as in your file.")
                    return redirect("export_trees", key=export.key)
                except HierarchyError as problem:
                    upload.add_error("file", str(problem))
        else:
            changed, problems, typed = _edited(request.POST, plan, schema)
            if not problems:
                store_plan(request.user, export, changed)
                if request.POST.get("action") == "save":
                    messages.success(request, "Saved.")
                    return redirect("export_trees", key=export.key)
                return redirect("export", key=export.key)
    shown = [trees.show(plan, name, schema) for name, _ in names]
    values = {
        "export": export,
        "shown": [(each, problems.get(each.name, ""), typed.get(each.name, each.text)) for each in shown],
        "upload": upload,
        "units": trees.UNITS,
        "steps": STEPS,
        "breadcrumb": crumbs(export, "Coarsening"),
    }
    return render(request, "exports/trees.html", values, status=422 if problems or upload.errors else 200)


def _edited(given: Any, plan: ExportPlan, schema: Schema) -> tuple[ExportPlan, dict[str, str], dict[str, str]]:
    """Return the plan with the edits, what is wrong with them, and what was typed."""
    kept, problems, typed = dict(plan.hierarchies), {}, {}
    for name in plan.named("quasi"):
        shown, text = trees.show(plan, name, schema), given.get(f"tree-{name}", "")
        if given.get(f"automatic-{name}"):
            kept.pop(name, None)
            continue
        if not text.strip() or text.replace("\r\n", "\n").strip() == shown.text.strip():
            continue
        typed[name] = text
        try:
            kept[name] = trees.read_edit(shown.kind, text, schema.columns[name]).to_dict()
        except HierarchyError as problem:
            problems[name] = str(problem)
    return replace(plan, hierarchies=kept), problems, typed


@door("manage_data", of=Export)
@require_POST
def export_run(request: TargetRequest[Export]) -> HttpResponse:
    """Make the export, or go on after a break."""
    export: Export = request.target
    if export.state in (_State.DRAFT, _State.READY) or runs.is_stalled(export):
        check_plan(ExportPlan.from_dict(export.plan), Schema.from_json(export.snapshot.schema))
        runs.start(export)
    return redirect("export", key=export.key)


@door("manage_data", of=Export)
@require_safe
def export_progress(request: TargetRequest[Export]) -> HttpResponse:
    """Return the progress bar alone, for the page that waits; a step that ended sends the page on."""
    export: Export = request.target
    response = render(request, "exports/_progress.html", {"export": export})
    if export.state != _State.RUNNING or runs.is_stalled(export):
        response["HX-Refresh"] = "true"
    return response


@door("manage_data", of=Export)
@require_POST
def export_discard(request: TargetRequest[Export]) -> HttpResponse:
    """Throw away an export that nobody else has."""
    try:
        runs.discard(request.target, actor=request.user)
        messages.success(request, "The export is discarded, and its files are deleted.")
    except LostClaimError:
        messages.error(request, "It is being worked on, or was released. Look again.")
    return redirect(f"/anonymize?project={request.project.key}")


def _planned(request: TargetRequest[Export]) -> tuple[Export, ExportPlan, Schema]:
    export: Export = request.target
    return export, ExportPlan.from_dict(export.plan), Schema.from_json(export.snapshot.schema)
