"""Pages for owners: make a dashboard, choose and order its figures, see the price, publish, withdraw, its budget."""

from __future__ import annotations

from django.contrib import messages
from django.http import Http404, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods, require_POST

from pydplib.errors import ParameterError, PolicyError
from pydplib.web.analyses.question_form.offers import titles_of
from pydplib.web.analyses.question_form.questions import title_of
from pydplib.web.analyses.visibility import question_of
from pydplib.web.dashboards import plans
from pydplib.web.dashboards.editions import count_records, publish
from pydplib.web.dashboards.forms import BudgetForm, DashboardForm, FigureQuestionForm, PickForm, PriceForm, WordsForm
from pydplib.web.dashboards.models import AUDIENCES, Dashboard, Figure
from pydplib.web.dashboards.panels import audience_title
from pydplib.web.dashboards.prices import bill_for, noise_words, title_for
from pydplib.web.design.forms import Posted, seen
from pydplib.web.intake.snapshots import published_snapshot
from pydplib.web.projects.changes import noting_refusals
from pydplib.web.projects.permissions import ProjectRequest, TargetRequest, door
from pydplib.web.projects.policy.rules import is_raise, lower_dashboard_budget
from pydplib.web.projects.requests.submissions import propose_budget
from pydplib.web.projects.words import DASHBOARD


@door("edit_policy")
@require_http_methods(["GET", "HEAD", "POST"])
def new_dashboard(request: ProjectRequest) -> HttpResponse:
    """Make a dashboard; the ready-made figures are put on it at once where the template has their fields."""
    project = request.project
    form = DashboardForm(request.POST or None)
    choices = plans.ready_made(plans.schema_of(project))
    if request.method == "POST" and form.is_valid():
        made = plans.make_dashboard(request.user, project, **form.cleaned_data)
        if request.POST.get("ready"):
            plans.add_ready_made(request.user, made, [choice.name for choice in choices if not choice.further])
        return redirect("dashboard_edit", key=made.key)
    values = {
        "form": form,
        "project": project,
        "choices": choices,
        "breadcrumb": [("Dashboards", f"/dashboards?project={project.key}"), ("New", "")],
    }
    return render(request, "dashboards/new.html", values, status=422 if form.is_bound else 200)


@door("edit_policy", of=Dashboard)
@require_http_methods(["GET", "HEAD", "POST"])
def edit(request: TargetRequest[Dashboard]) -> HttpResponse:
    """Show the plan with the price of every figure; a POST changes title and introduction."""
    item: Dashboard = request.target
    form = WordsForm(request.POST or None, initial={"title": item.title, "intro": item.intro})
    if request.method == "POST" and form.is_valid():
        plans.edit_dashboard(request.user, item, **form.cleaned_data)
        messages.success(request, "Saved. The audience sees it from the next edition on.")
        return redirect("dashboard_edit", key=item.key)
    return render(request, "dashboards/edit.html", _plan(request, words=form), status=422 if form.is_bound else 200)


@door("edit_policy", of=Dashboard)
@require_POST
def pick(request: TargetRequest[Dashboard]) -> HttpResponse:
    """Put ready-made or paper-mode figures, or an analysis, on the plan."""
    item: Dashboard = request.target
    form = _pick_form(item, request.POST)
    if not form.is_valid():
        return render(request, "dashboards/edit.html", _plan(request, picks=form), status=422)
    chosen = form.cleaned_data
    added = plans.add_ready_made(request.user, item, chosen.get("ready", ()))
    added += plans.add_paper_mode(request.user, item, chosen.get("paper", ()))
    if chosen.get("analysis"):
        added += plans.add_analysis(request.user, item, chosen["analysis"])
    messages.success(request, f"Added: {added}." if added else "Nothing was chosen.")
    return redirect("dashboard_edit", key=item.key)


@door("edit_policy", of=Dashboard)
@require_POST
def question(request: TargetRequest[Dashboard]) -> HttpResponse:
    """Put a question of the owner's own on the plan."""
    item: Dashboard = request.target
    schema = plans.schema_of(item.project)
    if schema is None:
        raise ParameterError("The project has no template yet: choose one first.")
    form = FigureQuestionForm(request.POST, schema=schema)
    if not form.is_valid():
        return render(request, "dashboards/edit.html", _plan(request, asks=form), status=422)
    plans.add_question(request.user, item, form.cleaned_data["question"], title=form.cleaned_data["title"])
    messages.success(request, "Added: 1.")
    return redirect("dashboard_edit", key=item.key)


@door("edit_policy", of=Figure)
@require_POST
def figure_move(request: TargetRequest[Figure], way: str) -> HttpResponse:
    """Move a figure up or down."""
    if way not in ("up", "down"):
        raise Http404
    plans.move_figure(request.user, request.target, up=way == "up")
    return redirect("dashboard_edit", key=request.target.dashboard.key)


@door("edit_policy", of=Figure)
@require_POST
def figure_price(request: TargetRequest[Figure]) -> HttpResponse:
    """Choose what each question of a figure costs; empty for the audience's noise factor."""
    form = PriceForm(request.POST)
    if not form.is_valid():
        raise ParameterError("The price of a question is a positive number of epsilon, or nothing.")
    plans.set_price(request.user, request.target, form.cleaned_data["epsilon"])
    return redirect("dashboard_edit", key=request.target.dashboard.key)


@door("edit_policy", of=Figure)
@require_POST
def figure_remove(request: TargetRequest[Figure]) -> HttpResponse:
    """Take a figure off the plan."""
    plans.remove_figure(request.user, request.target)
    return redirect("dashboard_edit", key=request.target.dashboard.key)


@door("edit_policy", of=Dashboard)
@require_POST
def count(request: TargetRequest[Dashboard]) -> HttpResponse:
    """Buy the noisy number of records for the audience: prices are made from it."""
    count_records(request.user, request.target)
    messages.success(request, "The records are counted: every figure has its price now.")
    return redirect("dashboard_edit", key=request.target.key)


@door("edit_policy", of=Dashboard)
@require_POST
def publish_now(request: TargetRequest[Dashboard]) -> HttpResponse:
    """Pay and publish, at the price that the page showed."""
    publish(request.user, request.target, agreed=seen(request, "agreed"), after=seen(request, "after"))
    messages.success(
        request, "Published. Each organisation of the audience pays once from its own budget when it opens it."
    )
    return redirect("dashboard", key=request.target.key)


@door("edit_policy", of=Dashboard)
@require_POST
def take_back(request: TargetRequest[Dashboard]) -> HttpResponse:
    """Withdraw it; a plan that was never published goes."""
    item: Dashboard = request.target
    if plans.withdraw(request.user, item):
        messages.success(request, "The plan is gone.")
        return redirect(f"/dashboards?project={item.project.key}")
    messages.success(request, "Withdrawn: its audience does not find it any more. What was paid stays paid.")
    return redirect("dashboard", key=item.key)


@door("edit_policy", recent=True)
@require_http_methods(["GET", "HEAD", "POST"])
def dashboard_budget(request: ProjectRequest, audience: str) -> HttpResponse:
    """Make the budget of an audience's dashboards smaller, or propose a larger one to the other owners."""
    project = request.project
    now = project.dashboard_budget(audience) if audience in dict(AUDIENCES) else None
    if now is None:
        raise Http404
    form = BudgetForm(request.POST or None, initial={"budget": now})
    if request.method == "POST" and form.is_valid():
        wanted = form.cleaned_data["budget"]
        try:
            with noting_refusals(request):
                if is_raise(now, wanted):
                    propose_budget(
                        request.user,
                        project,
                        audience=f"{DASHBOARD}{audience}",
                        budget=wanted,
                        reason=form.cleaned_data["reason"],
                    )
                    messages.success(request, "Proposed. It counts once a second owner agrees; see Requests.")
                else:
                    lower_dashboard_budget(request.user, project, audience, wanted)
                    messages.success(request, "Saved; it counts from the next edition on.")
        except ParameterError as error:
            form.add_error(None, str(error))
        else:
            return redirect(f"/dashboards?project={project.key}")
    values = {
        "form": form,
        "project": project,
        "now": now,
        "audience": dict(AUDIENCES)[audience],
        "breadcrumb": [("Dashboards", f"/dashboards?project={project.key}"), ("Budget", "")],
    }
    return render(request, "dashboards/budget.html", values, status=422 if form.is_bound else 200)


def _plan(
    request: TargetRequest[Dashboard],
    *,
    words: WordsForm | None = None,
    picks: PickForm | None = None,
    asks: FigureQuestionForm | None = None,
) -> dict[str, object]:
    item: Dashboard = request.target
    schema = plans.schema_of(item.project)
    figures = list(item.figures.all())
    values: dict[str, object] = {
        "project": item.project,
        "item": item,
        "edition": item.edition,
        "last_number": plans.last_number(item),
        "audience": audience_title(item),
        "noise": noise_words(item.audience),
        "words": words or WordsForm(initial={"title": item.title, "intro": item.intro}),
        "picks": picks or _pick_form(item),
        "asks": asks or (FigureQuestionForm(schema=schema) if schema is not None else None),
        "figures": figures,
        "breadcrumb": [
            ("Dashboards", f"/dashboards?project={item.project.key}"),
            (item.title, f"/dashboards/{item.key}"),
            ("Edit", ""),
        ],
    }
    try:
        values["bill"] = bill_for(item)
    except PolicyError as error:
        values["problem"] = str(error)
        values["names"] = [title_for(figure, schema) for figure in figures]
    return values


def _pick_form(item: Dashboard, data: Posted = None) -> PickForm:
    project = item.project
    schema = plans.schema_of(project)
    there = plans.ready_names(item)
    titles = {} if schema is None else titles_of(schema)
    own = plans.own_analyses(project, published_snapshot(project))
    return PickForm(
        data,
        ready=[choice for choice in plans.ready_made(schema) if choice.name not in there],
        paper=plans.paper_mode(project, item.audience, schema),
        analyses=[(a.key, a.title or title_of(question_of(a).to_dict(), titles)) for a in own],
    )
