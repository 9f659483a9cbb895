"""Pages of further tables: what a project has, a file on its way in, and the end of a table."""

from __future__ import annotations

from collections.abc import Iterator

from django.contrib import messages
from django.http import Http404, HttpResponse, StreamingHttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from pydplib._csv_text import csv_pieces
from pydplib.capture import Template
from pydplib.errors import PydplibError, SchemaError
from pydplib.schema import Schema
from pydplib.web import uploads
from pydplib.web.auditlog.log import record, recorded
from pydplib.web.intake.further_tables.files import (
    decimals_of,
    guessed_kinds,
    keep_upload,
    receive,
    remove_upload,
    rows_of,
    samples_of,
    uploads_of,
)
from pydplib.web.intake.further_tables.rows import Matched, Matcher, counts_of, remove_table, write_rows
from pydplib.web.intake.models import group_title
from pydplib.web.intake.snapshots import groups_of, published_tables, snapshot_schema
from pydplib.web.people.models import new_key
from pydplib.web.projects.models import Project
from pydplib.web.projects.permissions import ProjectRequest, TargetRequest, requires
from pydplib.web.tables.declared import check_table_names, computed_columns, joined_name, tables_of
from pydplib.web.tables.forms import TableColumnsForm, TableFileForm, plain_name
from pydplib.web.tables.models import PersonTable, TableUpload

STEPS = ("Upload", "Columns", "Check", "Done")
_PIECE = 500


@requires("manage_data")
@require_http_methods(["GET", "POST"])
def tables(request: ProjectRequest) -> HttpResponse:
    """List the tables of a project, and take a file for a further one."""
    project, current = request.project, request.project.template_version
    added = tables_of(project)
    form = TableFileForm(tables=added)
    status = 200
    if request.method == "POST" and current is not None and current.template.person:
        form = TableFileForm(request.POST, request.FILES, tables=added)
        status = 422
        if form.is_valid():
            try:
                return redirect("table_upload", key=_take(request, form).key)
            except PydplibError as error:
                form.add_error("file", str(error))
                status = error.http_status
    context = {
        "form": form,
        "template": None if current is None else current.template,
        "listed": [] if current is None else _listed(project, current.template, added),
        "uploads": uploads_of(project),
    }
    return render(request, "tables/tables.html", context, status=status)


def _listed(project: Project, template: Template, added: list[PersonTable]) -> list[dict[str, object]]:
    """Return what the project's tables are: reports, repeating groups, further ones."""
    published = {each.group for each in published_tables(project)}
    shown: list[dict[str, object]] = []
    for group in ("", *groups_of(template)):
        schema = snapshot_schema(template, lineage=project.key, group=group)
        title = group_title(template, group) if group else "Reports"
        shown.append({"title": title, "name": group, "schema": schema, "published": group in published})
    counts = counts_of(project)
    for table in added:
        total, people = counts[table.pk]
        shown.append(
            {
                "title": table.title,
                "name": table.name,
                "schema": table.schema,
                "published": table.name in published,
                "table": table,
                "rows": total,
                "people": people,
            }
        )
    return shown


def _take(request: ProjectRequest, form: TableFileForm) -> TableUpload:
    values, key = form.cleaned_data, new_key()
    table = form.tables.get(values.get("table") or "")
    found = receive(values["file"], key, sheet=values["sheet"] or None)
    declared: Schema | None = values["declared"] or (None if table is None else table.schema)
    try:
        with recorded(request.user, project=request.project) as log:
            upload = keep_upload(
                key=key,
                project=request.project,
                table=table,
                title=values["title"].strip() if table is None else table.title,
                columns=list(found.columns),
                comma=found.comma,
                rows=found.rows,
                said={} if declared is None else {"declared": declared.to_json()},
                by=request.user,
            )
            log.add("table.upload", upload.key, format=found.format, rows=found.rows)
    except BaseException:
        uploads.remove(key)  # nobody would ever find these rows again
        raise
    return upload


@requires("manage_data", of=TableUpload)
@require_http_methods(["GET", "POST"])
def table_upload(request: TargetRequest[TableUpload]) -> HttpResponse:
    """Say what the columns are; a POST tries it, or takes the rows in."""
    upload: TableUpload = request.target
    said = upload.said
    declared = Schema.from_json(said["declared"]) if "declared" in said else None
    sent = request.POST if request.method == "POST" else None
    form = TableColumnsForm(
        sent, columns=upload.columns, guessed=guessed_kinds(upload) if sent is None else {}, declared=declared
    )
    found: Matched | None = None
    if sent is not None and form.is_valid():
        try:
            table = _declared_table(request, upload, form)
            person = form.cleaned_data["person"]
            if sent.get("do") == "accept":
                again = table.pk is not None
                found = write_rows(
                    table, rows_of(upload, person, form.names), actor=request.user, decimals=decimals_of(upload),
                    again=again,
                )  # fmt: skip
                remove_upload(upload)
                left = f" {found.left_out} were left out." if found.left_out else ""
                messages.success(
                    request,
                    f"{found.known} rows of {found.patients} patients were imported.{left} Make and publish a snapshot "
                    "to let partners ask about them.",
                )
                return redirect(f"{reverse('tables')}?project={request.project.key}")
            found = _tried(upload, table.schema, form)
            record(request.user, "import.check", upload.key, project=request.project, rows=found.rows)
        except PydplibError as error:
            form.add_error(None, str(error))
    samples = samples_of(upload)
    context = {
        "upload": upload,
        "form": form,
        "columns": [{**row, "samples": samples[str(row["column"])]} for row in form.rows],
        "found": found,
        "unread": [] if found is None else [(form.made[name].title, count) for name, count in found.unread.items()],
        "step": 2 if found is None else 3,
        "steps": STEPS,
        "breadcrumb": [("Tables", f"{reverse('tables')}?project={request.project.key}"), (upload.title, "")],
    }
    return render(request, "tables/upload.html", context, status=422 if form.is_bound and form.errors else 200)


def _declared_table(request: ProjectRequest, upload: TableUpload, form: TableColumnsForm) -> PersonTable:
    """Return the table as it would be, new or with new columns; it is not saved yet."""
    project, version = request.project, request.project.template_version
    if version is None:
        raise Http404
    template = version.template
    table = upload.table
    others = [each for each in tables_of(project) if table is None or each.pk != table.pk]
    if table is None:
        name = plain_name(upload.title)
        taken = {*groups_of(template), *(each.name for each in others)}
        taken |= {joined_name(each) for each in taken} | {"reports"}
        if name in taken or name.startswith("reports_"):
            raise SchemaError(f"There is a table '{name}' already. Discard this file, and give it another title.")
        table = PersonTable(project=project, name=name, title=upload.title, by=request.user)
    check_table_names(list(form.made), template, others, computed_columns(project))
    if template.person in form.made:
        raise SchemaError(f"'{template.person}' is the name of the person column. Give the column another name.")
    table.declared = form.schema_for(table.name, template.person).to_json()
    return table


def _tried(upload: TableUpload, schema: Schema, form: TableColumnsForm) -> Matched:
    """Return what would happen to the rows; nothing is written."""
    matcher = Matcher(upload.project, schema, decimals_of(upload))
    for _ in matcher.match(rows_of(upload, form.cleaned_data["person"], form.names)):
        pass
    upload.said = {**upload.said, "unknown": matcher.unknown_rows[:_MOST_LISTED]}
    upload.save(update_fields=["said"])
    return matcher.found


_MOST_LISTED = 100_000


@requires("manage_data", of=TableUpload)
@require_GET
def table_left_out(request: TargetRequest[TableUpload]) -> StreamingHttpResponse:
    """Send the rows of people whom the project does not know, as the file has them."""
    upload: TableUpload = request.target
    wanted = set(upload.said.get("unknown") or ())
    record(request.user, "table.download", upload.key, project=request.project, rows=len(wanted))

    def cells() -> Iterator[list[object]]:
        if not uploads.path_of(upload.key).exists():
            return
        for number, row in enumerate(uploads.table_rows(upload.key), start=2):
            if number in wanted:
                yield [*row, number]

    text = csv_pieces([*upload.columns, "Row"], cells(), most=_PIECE)
    response = StreamingHttpResponse(text, content_type="text/csv; charset=utf-8")
    response["Content-Disposition"] = f'attachment; filename="left-out-{upload.key}.csv"'
    return response


@requires("manage_data", of=TableUpload)
@require_POST
def table_discard(request: TargetRequest[TableUpload]) -> HttpResponse:
    """Delete a file that was not taken in."""
    upload: TableUpload = request.target
    record(request.user, "table.discard", upload.key, project=request.project)
    remove_upload(upload)
    messages.success(request, "The file is deleted. Nothing of it was imported.")
    return redirect(f"{reverse('tables')}?project={request.project.key}")


@requires("manage_data", of=PersonTable, recent=True)
@require_POST
def table_remove(request: TargetRequest[PersonTable]) -> HttpResponse:
    """Delete a further table with its rows."""
    title = request.target.title
    remove_table(request.target, actor=request.user)
    messages.success(request, f"{title} is deleted. Publish a new snapshot, so that partners cannot ask about it.")
    return redirect(f"{reverse('tables')}?project={request.project.key}")
