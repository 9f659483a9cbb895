"""Pages of the import: upload, match columns, dry run, accept."""

from __future__ import annotations

import re
from functools import partial
from itertools import islice
from typing import Any

from django.contrib import messages
from django.core.paginator import Paginator
from django.db import DatabaseError
from django.http import Http404, HttpRequest, HttpResponse, StreamingHttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from pydplib.errors import PolicyError, PydplibError
from pydplib.web import uploads
from pydplib.web.auditlog.log import record, recorded
from pydplib.web.design.forms import Posted
from pydplib.web.intake import jobs
from pydplib.web.intake.forms import MappingForm, UploadForm
from pydplib.web.intake.imports.acceptance import (
    accept_batch,
    can_undo,
    claim_accept,
    claim_discard,
    claim_undo,
    discard_batch,
)
from pydplib.web.intake.imports.columns import DEPARTMENT, missing_fields, targets_of
from pydplib.web.intake.imports.dry_run import (
    MOST_PROBLEM_ROWS,
    check_rows,
    claim_check,
    decide,
    imports_for,
    match_again,
    mend_row,
    new_import,
    problem_row,
    problem_rows,
    tally,
)
from pydplib.web.intake.imports.left_out import csv_text
from pydplib.web.intake.imports.mappings import remembered_columns, remembered_values
from pydplib.web.intake.imports.problem_groups import entries_of, read_replacements
from pydplib.web.intake.models import ImportBatch, ImportRow
from pydplib.web.intake.upkeep import discard_old_imports
from pydplib.web.people.models import new_key
from pydplib.web.people.permissions import SignedInRequest
from pydplib.web.projects.permissions import ProjectRequest, TargetRequest, requires

STEPS = ("Upload", "Match columns", "Dry run", "Done")
_State = ImportBatch.State
_PAGE = 25
_SAMPLES, _SAMPLED_ROWS, _SAMPLE_LETTERS = 3, 200, 40
_MOST_ENTRIES = 1000
MOST_LEFT_OUT = 0.01
"""Beyond this share of the rows, leaving them out is asked about first."""


@requires("import_records")
@require_http_methods(["GET", "POST"])
def imports(request: ProjectRequest) -> HttpResponse:
    """List imports, and take an upload."""
    own = _own_department(request)
    current = request.project.template_version
    form = UploadForm(own_department=own)
    status = 200
    if request.method == "POST" and current is not None:
        form = UploadForm(request.POST, request.FILES, own_department=own)
        status = 422
        if form.is_valid():
            try:
                batch = _take(request, form, current, own)
                return redirect("import_batch", key=batch.key)
            except PydplibError as error:
                form.add_error("file", str(error))
                status = error.http_status
    batches = imports_for(request.project, request.member, request.user)
    context = {"form": form, "batches": batches, "template": current, "steps": STEPS, "own_department": own}
    return render(request, "intake/imports.html", context, status=status)


def _take(request: ProjectRequest, form: UploadForm, current: Any, own: str | None) -> ImportBatch:
    discard_old_imports()
    key = new_key()
    found = uploads.receive(form.cleaned_data["file"], key, sheet=form.cleaned_data["sheet"] or None)
    template = current.template
    try:
        with recorded(request.user, project=request.project) as log:
            batch = new_import(
                key=key,
                project=request.project,
                template=current,
                by=request.user,
                department=form.cleaned_data["department"] if own is None else own,
                format=found.format,
                columns=list(found.columns),
                comma=found.comma,
                mapping=_allowed(remembered_columns(request.project, template, found.columns), own),
                replacements=remembered_values(request.project, template),
                rows=found.rows,
            )
            log.add("import.upload", batch.key, format=found.format, rows=found.rows)
    except DatabaseError:
        uploads.remove(key)  # nobody would ever find these rows again
        raise
    if found.ignored:
        messages.info(request, f"{found.ignored} entries of the file are no QuestionnaireResponse; they are ignored.")
    if found.format == "fhir":
        jobs.start(check_rows, batch, take=claim_check)  # its items say where they belong: nothing to match
    return batch


@requires("import_records", of=ImportBatch)
@require_GET
def import_batch(request: TargetRequest[ImportBatch]) -> HttpResponse:
    """Show an import where it stands."""
    batch = _mine(request)
    if batch.state == _State.UPLOADED:
        return _mapping_page(request, batch, _mapping_form(request, batch))
    context: dict[str, Any] = {"batch": batch, "steps": STEPS, "stalled": jobs.is_stalled(batch)}
    if batch.state == _State.CHECKED:
        shown = request.GET.get("show", "bad")
        page = Paginator(problem_rows(batch, undecided=shown == "open"), _PAGE).get_page(request.GET.get("page"))
        titles = {target.name: target for target in targets_of(batch.template.template)}
        context |= {
            "page": page,
            "rows": [_shown(row, titles) for row in page],
            "tally": tally(batch),
            "most": MOST_PROBLEM_ROWS,
            "entries": entries_of(batch, batch.template.template),
            "asks": _asks(batch, tally(batch)["left_out"]),
            "ignored": [c for c, name in zip(batch.columns, batch.mapping, strict=True) if not name]
            if batch.mapping
            else [],
            "step": 3,
        }
        if len(page) or context["entries"]:
            # Cells of the file are on this page: a look like any other.
            record(request.user, "import.look", batch.key, project=request.project, rows=[row.number for row in page])
        return render(request, "intake/import_check.html", context)
    context["step"] = 3 if batch.state == _State.CHECKING else 4
    context["can_undo"] = can_undo(batch)
    return render(request, "intake/import_state.html", context)


@requires("import_records", of=ImportBatch)
@require_GET
def import_progress(request: TargetRequest[ImportBatch]) -> HttpResponse:
    """Return the progress bar alone, for the page that waits; a step that ended sends the page on."""
    batch = _mine(request)
    response = render(request, "intake/_progress.html", {"batch": batch, "stalled": jobs.is_stalled(batch)})
    if batch.state not in (_State.CHECKING, _State.ACCEPTING, _State.DISCARDING) or jobs.is_stalled(batch):
        response["HX-Refresh"] = "true"
    return response


@requires("import_records", of=ImportBatch)
@require_POST
def import_mapping(request: TargetRequest[ImportBatch]) -> HttpResponse:
    """Take the mapping and begin the dry run."""
    batch = _mine(request)
    if batch.state not in (_State.UPLOADED, _State.CHECKED) or batch.format == "fhir":
        return redirect("import_batch", key=batch.key)
    form = _mapping_form(request, batch, request.POST)
    if not form.is_valid():
        return _mapping_page(request, batch, form, status=422)
    # Another window may have begun to take it in meanwhile: then its columns stay as they are.
    jobs.start(check_rows, batch, take=partial(claim_check, mapping=form.mapping))
    return redirect("import_batch", key=batch.key)


@requires("import_records", of=ImportBatch)
@require_POST
def import_rematch(request: TargetRequest[ImportBatch]) -> HttpResponse:
    """Go back to the matching of columns."""
    batch = _mine(request)
    if batch.format != "fhir":
        match_again(batch)
    return redirect("import_batch", key=batch.key)


@requires("import_records", of=ImportBatch)
@require_POST
def import_row(request: TargetRequest[ImportBatch], number: int) -> HttpResponse:
    """Correct one row, leave it out, or take it in all the same."""
    batch = _mine(request)
    row = problem_row(batch, number)
    if row is None or batch.state != _State.CHECKED:
        raise Http404
    action = request.POST.get("action", "")
    if action == "mend":
        prefix = "field:"
        fields = {name[len(prefix) :]: text for name, text in request.POST.dict().items() if name.startswith(prefix)}
        with recorded(request.user, project=request.project) as log:
            good = mend_row(row, fields)
            log.add("import.mend", batch.key, row=number, fields=sorted(fields), good=good)
        if good:
            messages.success(request, f"Row {number} is good now.")
        else:
            messages.warning(request, f"Row {number} still has problems.")
    elif action in (ImportRow.Decision.LEAVE_OUT, ImportRow.Decision.KEEP):
        with recorded(request.user, project=request.project) as log:
            decide(row, action)
            log.add("import.decide", batch.key, row=number, decision=action)
    back = request.POST.get("page", "")
    address = redirect("import_batch", key=batch.key).url
    return redirect(
        f"{address}?page={int(back)}#row-{number}" if re.fullmatch("[0-9]{1,9}", back) else f"{address}#row-{number}"
    )


@requires("import_records", of=ImportBatch)
@require_POST
def import_replace(request: TargetRequest[ImportBatch]) -> HttpResponse:
    """Take what values are replaced by, in the whole file, and try every row again."""
    batch = _mine(request)
    if batch.state != _State.CHECKED or batch.format == "fhir":
        return redirect("import_batch", key=batch.key)
    columns = (request.POST.getlist(name)[:_MOST_ENTRIES] for name in ("field", "old", "new"))
    found = read_replacements(batch.template.template, zip(*columns, strict=False))
    jobs.start(check_rows, batch, take=partial(claim_check, replacements=found))
    record(
        request.user,
        "import.replace",
        batch.key,
        project=request.project,
        fields=sorted(found),
        values=sum(map(len, found.values())),
    )
    return redirect("import_batch", key=batch.key)


@requires("import_records", of=ImportBatch)
@require_GET
def import_left_out(request: TargetRequest[ImportBatch]) -> StreamingHttpResponse:
    """Hand out the rows that are left out as things stand, to correct them and upload them again."""
    batch = _mine(request)
    if batch.state != _State.CHECKED or batch.format == "fhir" or not uploads.path_of(batch.key).exists():
        raise Http404
    record(request.user, "import.download", batch.key, project=request.project, rows=tally(batch)["left_out"])
    response = StreamingHttpResponse(csv_text(batch), content_type="text/csv; charset=utf-8")
    response["Content-Disposition"] = 'attachment; filename="rows-left-out.csv"'
    return response


@requires("import_records", of=ImportBatch)
@require_POST
def import_undo(request: TargetRequest[ImportBatch]) -> HttpResponse:
    """Take back an import that was taken in, as long as no snapshot holds it."""
    batch = _mine(request)
    jobs.start(discard_batch, batch, take=partial(claim_undo, actor=request.user))
    return redirect("import_batch", key=batch.key)


@requires("import_records", of=ImportBatch)
@require_POST
def import_accept(request: TargetRequest[ImportBatch]) -> HttpResponse:
    """Take the import in, or go on with taking it in."""
    batch = _mine(request)
    if batch.state == _State.CHECKING:
        jobs.start(check_rows, batch, take=claim_check)
    elif batch.state == _State.CHECKED and not _has_agreed(request, batch):
        messages.warning(request, "Nothing was imported: say first that these rows are to be left out.")
    elif batch.state in (_State.CHECKED, _State.ACCEPTING):
        jobs.start(accept_batch, batch, take=claim_accept)
    elif batch.state == _State.DISCARDING:
        jobs.start(discard_batch, batch, take=claim_discard)
    return redirect("import_batch", key=batch.key)


@requires("import_records", of=ImportBatch)
@require_POST
def import_discard(request: TargetRequest[ImportBatch]) -> HttpResponse:
    """Throw the import away."""
    batch = _mine(request)
    if batch.is_open:
        jobs.start(discard_batch, batch, take=claim_discard)
    return redirect("import_batch", key=batch.key)


def _asks(batch: ImportBatch, left_out: int) -> bool:
    """Return whether so many rows would be left out that people are asked first."""
    return left_out > MOST_LEFT_OUT * batch.rows


def _has_agreed(request: HttpRequest, batch: ImportBatch) -> bool:
    """Return whether the user has seen how many rows are left out: the number that they agreed to is sent along."""
    left_out = tally(batch)["left_out"]
    return not _asks(batch, left_out) or request.POST.get("left_out", "") == str(left_out)


def _mine(request: TargetRequest[ImportBatch]) -> ImportBatch:
    """Return the import of the address; a radiologist's own only."""
    batch: ImportBatch = request.target
    is_own = batch.by_id == request.user.pk and not request.member.preview
    if not request.member.can("manage_data") and not is_own:
        raise Http404
    return batch


def _own_department(request: ProjectRequest) -> str | None:
    """Return the department that a radiologist imports into; none for owners, who choose."""
    if request.member.can("manage_data"):
        return None
    if not request.member.department and not request.member.preview:
        raise PolicyError("Nobody has said which department is yours. Ask an owner of the project to set it.")
    return str(request.member.department)


def _allowed(mapping: list[str], own: str | None) -> list[str]:
    return mapping if own is None else ["" if name == DEPARTMENT else name for name in mapping]


def _mapping_form(request: ProjectRequest, batch: ImportBatch, data: Posted = None) -> MappingForm:
    return MappingForm(
        data,
        template=batch.template.template,
        columns=batch.columns,
        own_department=not request.member.can("manage_data"),
        initial={f"column{place}": name for place, name in enumerate(batch.mapping)},
    )


def _samples(batch: ImportBatch) -> list[list[str]]:
    """Return a few different cells of every column, from its first rows."""
    found: list[list[str]] = [[] for _ in batch.columns]
    if not uploads.path_of(batch.key).exists():
        return found
    for cells in islice(uploads.table_rows(batch.key), _SAMPLED_ROWS):
        for seen, cell in zip(found, cells, strict=True):
            text = " ".join(cell.split())
            text = text if len(text) <= _SAMPLE_LETTERS else text[: _SAMPLE_LETTERS - 1] + "…"
            if text and text not in seen and len(seen) < _SAMPLES:
                seen.append(text)
    return found


def _mapping_page(
    request: SignedInRequest, batch: ImportBatch, form: MappingForm, *, status: int = 200
) -> HttpResponse:
    template = batch.template.template
    mapping = [form[f"column{place}"].value() or "" for place in range(len(batch.columns))]
    bound = (form[f"column{place}"] for place in range(len(batch.columns)))
    pairs = list(zip(batch.columns, bound, mapping, _samples(batch), strict=True))
    record(request.user, "import.look", batch.key, project=batch.project, samples=_SAMPLES)
    context = {
        "batch": batch,
        "form": form,
        "pairs": pairs,
        "ignored": [column for column, _, name, _ in pairs if not name],
        "remembered": sum(map(len, batch.replacements.values())),
        "missing": missing_fields(template, mapping),
        "template": template,
        "steps": STEPS,
        "step": 2,
    }
    return render(request, "intake/import_mapping.html", context, status=status)


def _shown(row: ImportRow, titles: dict[str, Any]) -> dict[str, Any]:
    """Return a row for the page: its problems, and the fields that can be corrected, the wrong ones first."""
    wrong = {each["field"] for each in row.problems if each["field"]}
    inputs = []
    for name in sorted(wrong) + [name for name in row.fields if name in titles and name not in wrong]:
        question = titles[name].question
        if question is None or question.computed:
            continue
        inputs.append(
            {
                "name": name,
                "title": titles[name].title,
                "value": row.fields.get(name, ""),
                "wrong": name in wrong,
                "options": [(str(option.value), option.text) for option in question.options],
                "messages": [each["message"] for each in row.problems if each["field"] == name],
            }
        )
    return {
        "row": row,
        "inputs": inputs,
        "can_keep": not any(each["severity"] == "error" for each in row.problems),
        "is_warning": all(each["severity"] == "warning" for each in row.problems),
    }
