"""Pages of computed columns: declare, check while typing, remove; and tables that are asked together."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from pydplib.errors import PydplibError, SchemaError
from pydplib.schema import Schema
from pydplib.schema.formulas import FUNCTIONS, STEPS
from pydplib.web.intake.models import group_title
from pydplib.web.intake.snapshots import groups_of, published_tables, snapshot_schema
from pydplib.web.projects.models import Project
from pydplib.web.projects.permissions import ProjectRequest, requires
from pydplib.web.projects.policy.fields import FIELD_LABEL_WORDS, project_fields
from pydplib.web.tables.declared import (
    ComputedColumn,
    PersonJoin,
    computed_columns,
    declare,
    joined_schema,
    joins_of,
    table_schema,
    tables_of,
    versions_of,
    with_computed,
)
from pydplib.web.tables.forms import ComputedForm, JoinsForm


@requires("manage_data")
@require_http_methods(["GET", "POST"])
def columns(request: ProjectRequest) -> HttpResponse:
    """List computed columns and declare one."""
    project = request.project
    offered = tables_offered(project)
    form = ComputedForm(request.POST if request.method == "POST" else None, tables=offered) if offered else None
    if request.method == "POST" and form is not None and form.is_valid():
        try:
            _add(request, form.computed, offered)
            messages.success(
                request,
                f"'{form.computed.name}' is declared. The next snapshot has it: make and publish one, so that partners "
                "can ask about it.",
            )
            return redirect(f"{reverse('columns')}?project={project.key}")
        except PydplibError as error:
            form.add_error("name", str(error))
    added, joins = tables_of(project), joins_of(project)
    context = {
        "form": form,
        "joins": JoinsForm(tables=added, joins=joins) if added else None,
        "listed": _listed(project, offered),
        "offered": [
            {"title": title, "schema": schema, "stored": [(n, c) for n, c in schema.stored.items() if c.can_be_asked]}
            for title, schema in offered.values()
        ],
        "versions": versions_of(project),
        "formulas": [*FUNCTIONS.values(), *STEPS.values()],
    }
    failed = form is not None and form.is_bound
    return render(request, "tables/columns.html", context, status=422 if failed else 200)


def tables_offered(project: Project) -> dict[str, tuple[str, Schema]]:
    """Return the tables that computed columns can belong to -> title and schema, as the next snapshot would have it."""
    version = project.template_version
    if version is None:
        return {}
    template = version.template
    found: dict[str, tuple[str, Schema]] = {}
    for group in ("", *groups_of(template)):
        title = group_title(template, group) if group else "Reports"
        found[group] = title, snapshot_schema(template, lineage=project.key, group=group)
    if not template.person:
        return found
    added = {table.name: table for table in tables_of(project)}
    for name, table in added.items():
        found[name] = table.title, table_schema(table, template)
    declared = computed_columns(project)
    for join in joins_of(project):
        if join.table not in added:
            continue
        title = f"Reports with {added[join.table].title}"
        left, right = (
            with_computed(found[name][1], [each for each in declared if each.table == name])[0]
            for name in ("", join.table)
        )
        found[join.name] = title, joined_schema(left, right, join, title).schema
    return found


def _listed(project: Project, offered: Mapping[str, tuple[str, Schema]]) -> list[dict[str, object]]:
    """Return the computed columns for the page: what they are, whether they fit, whether partners have them."""
    published = {each.group: Schema.from_json(each.schema) for each in published_tables(project)}
    shown: list[dict[str, object]] = []
    for each in computed_columns(project):
        title, schema = offered.get(each.table, (each.table, None))
        fits = schema is not None and not with_computed(schema, [each])[1]
        pinned = published.get(each.table)
        is_pinned = pinned is not None and pinned.columns.get(each.name) == each.column
        shown.append(
            {
                "name": each.name,
                "title": each.column.title or each.name,
                "table": title,
                "formula": str(each.column.formula),
                "facts": each.column.facts,
                "label": FIELD_LABEL_WORDS.get(each.column.label, each.column.label),
                "per_person": each.column.is_step,
                "fits": fits,
                "pinned": is_pinned,
            }
        )
    return shown


def _add(request: ProjectRequest, computed: ComputedColumn, offered: Mapping[str, tuple[str, Schema]]) -> None:
    """Keep a version with one more column.

    Raises:
        SchemaError: The name is taken, or the column does not fit its table.
    """
    project = request.project
    if computed.name in {field.name for field in project_fields(project)}:
        raise SchemaError(f"There is a field '{computed.name}' in this project already. Choose another name.")
    _, unfit = with_computed(offered[computed.table][1], [computed])
    if unfit:
        raise SchemaError("The column does not fit its table. Check the formula, its bounds and its name.")
    _keep(request, [*computed_columns(project), computed], joins_of(project))


def _keep(request: ProjectRequest, computed: Any, joins: Any) -> None:
    declare(request.project, columns=computed, joins=joins, actor=request.user, by=request.user.username)


@requires("manage_data")
@require_GET
def column_check(request: ProjectRequest) -> HttpResponse:
    """Say what a formula means while it is typed, from declarations alone; or what is wrong with it."""
    offered = tables_offered(request.project)
    if not offered:  # no template yet: there is nothing to compute from
        return render(request, "tables/_check.html", {"empty": True})
    form = ComputedForm(request.GET, tables=offered)
    form.is_valid()
    problem = [*form.errors.get("formula", ()), *form.errors.get("facts", ()), *form.errors.get("label", ())]
    context = {
        "empty": not request.GET.get("formula", "").strip(),
        "problem": problem[0] if problem else "",
        "proposal": form.proposal,
        "column": form.column,
        "label": "" if form.column is None else FIELD_LABEL_WORDS[form.column.label],
        "given": bool(request.GET.get("facts", "").strip()),
    }
    return render(request, "tables/_check.html", context)


@requires("manage_data")
@require_POST
def column_remove(request: ProjectRequest) -> HttpResponse:
    """Keep a version without one of the columns. Snapshots that have it keep it."""
    name = request.POST.get("name", "")
    before = computed_columns(request.project)
    left = [each for each in before if each.name != name]
    if len(left) < len(before):
        _keep(request, left, joins_of(request.project))
        messages.success(request, f"'{name}' is not in the next snapshot any more. Published ones keep it.")
    return redirect(f"{reverse('columns')}?project={request.project.key}")


@requires("manage_data")
@require_POST
def column_joins(request: ProjectRequest) -> HttpResponse:
    """Say which further tables are asked together with the reports."""
    project = request.project
    form = JoinsForm(request.POST, tables=tables_of(project), joins=joins_of(project))
    if form.is_valid():
        chosen: list[PersonJoin] = form.joins
        if chosen != list(joins_of(project)):
            _keep(request, computed_columns(project), chosen)
        messages.success(request, "Kept. The next snapshot has it.")
    return redirect(f"{reverse('columns')}?project={project.key}")
