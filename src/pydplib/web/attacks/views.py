"""Pages for owners and data protection officers: what recipients could learn, and runs of attacks."""

from __future__ import annotations

from typing import Any

from django.contrib import messages
from django.http import Http404, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_POST, require_safe

from pydplib.errors import MissingExtraError
from pydplib.web.attacks import figures, runs
from pydplib.web.attacks.assessment import assess, missing_part, to_pdf
from pydplib.web.attacks.forms import StartForm
from pydplib.web.attacks.launch import runs_of, start_run
from pydplib.web.attacks.models import AttackRun
from pydplib.web.attacks.recipients import given_to_all, if_all_is_spent
from pydplib.web.auditlog.log import record
from pydplib.web.jobs import LostClaimError
from pydplib.web.projects.permissions import ProjectRequest, TargetRequest, requires

_State = AttackRun.State


@requires("read_log")
@require_safe
def attacks(request: ProjectRequest) -> HttpResponse:
    """Show what every recipient could learn by the guarantees alone, and the runs so far."""
    given, whole = given_to_all(request.project), if_all_is_spent(request.project)
    values = {
        "project": request.project,
        "given": given,
        "whole": whole,
        "curve": figures.bound_curve([*given, *whole]),
        "form": StartForm(given=given, whole=whole),
        "runs": runs_of(request.project),
    }
    return render(request, "attacks/overview.html", values)


@requires("read_log")
@require_safe
def assessment(request: ProjectRequest) -> HttpResponse:
    """Show what the impact assessment of the project says, and where to get it."""
    made = assess(request.project)
    values = {
        "project": request.project,
        "facts": made.facts,
        "sha256": made.sha256,
        "missing": missing_part(),
        "breadcrumb": [("Attacks", f"/attacks?project={request.project.key}"), ("Impact assessment", "")],
    }
    return render(request, "attacks/assessment.html", values)


@requires("read_log")
@require_safe
def assessment_pdf(request: ProjectRequest) -> HttpResponse:
    """Hand out the impact assessment as PDF."""
    made = assess(request.project)
    try:
        data = to_pdf(made, made_by=str(request.user))
    except MissingExtraError as missing:
        messages.error(request, str(missing))
        return redirect(f"/attacks/assessment?project={request.project.key}")
    record(request.user, "assessment.make", request.project.key, project=request.project, sha256=made.sha256)
    response = HttpResponse(data, content_type="application/pdf")
    name = f"impact-assessment-{request.project.key}-{made.facts['day']}.pdf"
    response["Content-Disposition"] = f'attachment; filename="{name}"'
    return response


@requires("read_log")
@require_POST
def attack_start(request: ProjectRequest) -> HttpResponse:
    """Begin a run."""
    given, whole = given_to_all(request.project), if_all_is_spent(request.project)
    form = StartForm(request.POST, given=given, whole=whole)
    if not form.is_valid():
        messages.error(request, "Choose somebody from the list.")
        return redirect(f"/attacks?project={request.project.key}")
    run = start_run(request.user, request.project, **form.cleaned_data)
    return redirect("attack", key=run.key)


@requires("read_log", of=AttackRun)
@require_safe
def attack(request: TargetRequest[AttackRun]) -> HttpResponse:
    """Show a run: how far it is, or what it found."""
    run: AttackRun = request.target
    values: dict[str, object] = {
        "run": run,
        "project": run.project,
        "stalled": runs.is_stalled(run),
        "breadcrumb": [("Attacks", f"/attacks?project={run.project.key}"), (run.name, "")],
    }
    if run.state == _State.DONE:
        result = run.result
        simulated = figures.results_of(result["simulated"])
        values |= {
            "result": result,
            "heads": figures.HEADS,
            "loss": [(words, f"ε {number:.4g}") for words, number in figures.loss_rows(result["given"])],
            "bound": f"{100 * result['given']['bound']:.2f} %",
            "simulated": (figures.drawings_of(simulated, "statistics"), figures.rows_of(simulated)),
            "tables": [_table(place, table) for place, table in enumerate(result["tables"], start=1)],
        }
    return render(request, "attacks/run.html", values)


def _table(place: int, table: dict[str, Any]) -> dict[str, Any]:
    found = figures.results_of(table["attacks"])
    return {**table, "drawings": figures.drawings_of(found, f"table-{place}"), "rows": figures.rows_of(found)}


@requires("read_log", of=AttackRun)
@require_safe
def attack_progress(request: TargetRequest[AttackRun]) -> HttpResponse:
    """Return the progress bar alone, for the page that waits; a run that ended sends the page on."""
    run: AttackRun = request.target
    response = render(request, "attacks/_progress.html", {"run": run})
    if run.state == _State.DONE or runs.is_stalled(run):
        response["HX-Refresh"] = "true"
    return response


@requires("read_log", of=AttackRun)
@require_POST
def attack_run(request: TargetRequest[AttackRun]) -> HttpResponse:
    """Go on with a run that was broken off."""
    run: AttackRun = request.target
    if runs.is_stalled(run):
        runs.start(run)
    return redirect("attack", key=run.key)


@requires("read_log", of=AttackRun)
@require_POST
def attack_discard(request: TargetRequest[AttackRun]) -> HttpResponse:
    """Forget a run."""
    project = request.project
    try:
        runs.discard(request.target, actor=request.user)
        messages.success(request, "The run is discarded.")
    except LostClaimError:
        messages.error(request, "It is being worked on. Wait until it has ended.")
    return redirect(f"/attacks?project={project.key}")


@requires("read_log", of=AttackRun)
@require_safe
def attack_report(request: TargetRequest[AttackRun]) -> HttpResponse:
    """Hand out the leak report as one HTML file."""
    run: AttackRun = request.target
    if run.state != _State.DONE:
        raise Http404
    record(request.user, "attack.report", run.key, project=run.project)
    response = HttpResponse(figures.html_report(run), content_type="text/html; charset=utf-8")
    response["Content-Disposition"] = f'attachment; filename="leak-report-{run.key}.html"'
    return response
