"""Pages: the policy matrix, one row, the data set's budget."""

from __future__ import annotations

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from pydplib.errors import ParameterError
from pydplib.policy import GROUP, LABEL_MEANINGS, LABEL_WORDS, LABELS, OWNER, ROLES, PolicyRule
from pydplib.web.projects.changes import noting_refusals
from pydplib.web.projects.members.memberships import membership_of
from pydplib.web.projects.models import Member, Project, Rule
from pydplib.web.projects.permissions import ProjectRequest, TargetRequest, requires
from pydplib.web.projects.policy.fields import titles_in
from pydplib.web.projects.policy.forms import DataSetBudgetForm, GroupForm, RuleForm
from pydplib.web.projects.policy.rules import (
    add_group,
    can_edit_rule,
    change_rule,
    check_edit_rule,
    lower_data_set_budget,
    remove_group,
)
from pydplib.web.projects.tabs import project_tabs
from pydplib.web.projects.words import audience_words, row_words


@requires("read_project")
@require_safe
def policy(request: ProjectRequest) -> HttpResponse:
    """Show who gets what: all rows to owners and officers, to others those that are about them."""
    project, place = request.project, request.member
    sees_all = place.can("edit_policy") or place.can("read_log")
    titles = titles_in(project)
    own = _own_place(request)
    rows = []
    for row in project.rules.all():
        rule = row.to_rule()
        if sees_all or rule.is_for(place.role, place.groups):
            rows.append(
                {
                    "row": row,
                    "words": row_words(rule, titles),
                    "dashboards": _dashboards(project, rule),
                    "can_edit": can_edit_rule(place.role, own, row),
                }
            )
    values = {
        "project": project,
        "tabs": project_tabs(request, "policy"),
        "rows": rows,
        "sees_all": sees_all,
        "can_edit": place.can("edit_policy"),
        "roles": [role for name, role in ROLES.items() if name != OWNER],
        "meanings": [(LABEL_WORDS[label].capitalize(), LABEL_MEANINGS[label]) for label in LABELS],
    }
    return render(request, "projects/policy.html", values)


def _dashboards(project: Project, rule: PolicyRule) -> float | None:
    """Return what dashboards may take of a row's budget, where that is less than all of it; else none."""
    reads = rule.audience in ROLES and "ask" in ROLES[rule.audience].powers and rule.budget is not None
    most = project.dashboard_budget(rule.audience) if reads else None
    return most if most is not None and rule.budget is not None and most < rule.budget else None


@requires("edit_policy", of=Rule, recent=True)
@require_http_methods(["GET", "HEAD", "POST"])
def rule(request: TargetRequest[Rule]) -> HttpResponse:
    """Edit a row."""
    row: Rule = request.target
    with noting_refusals(request):
        check_edit_rule(request.member.role, _own_place(request), row)
    form = RuleForm(request.POST or None, project=request.project, audience=row.audience, rule=row.to_rule())
    if request.method == "POST" and form.is_valid():
        with noting_refusals(request):
            changed = change_rule(request.user, row, form.cleaned_data["rule"])
        messages.success(request, "Saved; it counts from the next click on." if changed else "Nothing was changed.")
        return redirect(f"/policy?project={request.project.key}")
    values = {
        "form": form,
        "row": row,
        "who": audience_words(row.audience),
        "is_group": row.audience.startswith(GROUP),
        "breadcrumb": _way(request.project, audience_words(row.audience)),
    }
    return render(request, "projects/rule.html", values, status=422 if form.is_bound else 200)


@requires("edit_policy", recent=True)
@require_http_methods(["GET", "HEAD", "POST"])
def new_rule(request: ProjectRequest) -> HttpResponse:
    """Add a row for a group."""
    project: Project = request.project
    start = PolicyRule(GROUP + "new", "dp_high", epsilon_per_question=0.5, budget=1.0)
    form = GroupForm(request.POST or None, project=project, audience=GROUP + "new", rule=start)
    if request.method == "POST" and form.is_valid():
        try:
            with noting_refusals(request):
                row = add_group(request.user, project, form.cleaned_data["name"], form.cleaned_data["rule"])
        except ParameterError as error:
            form.add_error(None, str(error))
        else:
            messages.success(request, f"{audience_words(row.audience)} has a row now. Put members into it next.")
            return redirect(f"/policy?project={project.key}")
    values = {"form": form, "breadcrumb": _way(project, "New group")}
    return render(request, "projects/rule_new.html", values, status=422 if form.is_bound else 200)


@requires("edit_policy", of=Rule, recent=True)
@require_POST
def remove_rule(request: TargetRequest[Rule]) -> HttpResponse:
    """Take a group's row away."""
    with noting_refusals(request):
        remove_group(request.user, request.target)
    messages.success(request, "The row is gone.")
    return redirect(f"/policy?project={request.project.key}")


@requires("edit_policy", recent=True)
@require_http_methods(["GET", "HEAD", "POST"])
def data_set_budget(request: ProjectRequest) -> HttpResponse:
    """Make the budget of the whole data set smaller."""
    project: Project = request.project
    form = DataSetBudgetForm(request.POST or None, initial={"budget": project.data_set_budget})
    if request.method == "POST" and form.is_valid():
        with noting_refusals(request):
            lower_data_set_budget(request.user, project, form.cleaned_data["budget"])
        messages.success(request, "Saved; it counts from the next question on.")
        return redirect(f"/policy?project={project.key}")
    values: dict[str, object] = {"form": form, "project": project, "breadcrumb": _way(project, "Data set")}
    return render(request, "projects/data_set_budget.html", values, status=422 if form.is_bound else 200)


def _own_place(request: ProjectRequest) -> Member:
    return membership_of(request.project, request.user)


def _way(project: Project, here: str) -> list[tuple[str, str]]:
    return [(project.name, f"/projects/{project.key}"), ("Policy", f"/policy?project={project.key}"), (here, "")]
