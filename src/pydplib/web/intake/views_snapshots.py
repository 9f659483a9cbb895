"""Pages of the snapshots: make, publish, schedule."""

from __future__ import annotations

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from pydplib.errors import DataError, ParameterError
from pydplib.web.intake import jobs
from pydplib.web.intake.forms import ScheduleForm, SizeForm
from pydplib.web.intake.models import Snapshot, SnapshotJob
from pydplib.web.intake.schedules import schedule_of, set_schedule
from pydplib.web.intake.snapshots import (
    NOTHING_SAID,
    USUAL_SIZE,
    check_limits,
    check_newest,
    people_in,
    published_snapshot,
    said_before,
    snapshots_of,
)
from pydplib.web.projects.permissions import ProjectRequest, TargetRequest, requires


@requires("manage_data")
@require_http_methods(["GET", "POST"])
def snapshots(request: ProjectRequest) -> HttpResponse:
    """List snapshots; a POST makes one of the current data version."""
    if request.method == "POST":
        publishes = bool(request.POST.get("publish"))
        said = said_before(request.project) if publishes else NOTHING_SAID
        _say(request, jobs.start_snapshot(request.project, request.user, publishes=publishes, **said))
        return redirect("snapshots")
    schedule = schedule_of(request.project)
    current = published_snapshot(request.project)
    job = jobs.snapshot_job(request.project)
    context = {
        "snapshots": snapshots_of(request.project),
        "current": current,
        "newest": current.number if current else 0,
        "template": request.project.template_version,
        "schedule": schedule,
        "form": ScheduleForm(instance=schedule),
        "job": job,
        "stalled": job is not None and jobs.is_snapshot_stalled(job),
    }
    return render(request, "intake/snapshots.html", context)


@requires("manage_data")
@require_GET
def snapshot_progress(request: ProjectRequest) -> HttpResponse:
    """Return the progress bar alone, for the page that waits; a step that ended sends the page on."""
    job = jobs.snapshot_job(request.project)
    response = render(request, "intake/_snapshot_progress.html", {"job": job})
    if job is None or jobs.is_snapshot_stalled(job):
        response["HX-Refresh"] = "true"
    return response


def _say(request: HttpRequest, job: SnapshotJob) -> None:
    """Tell what came of a step that was done while the user waited; the page has the words for all others."""
    if job.state != SnapshotJob.State.DONE or job.snapshot is None:
        return
    number = job.snapshot.number
    if job.publishes:
        messages.success(request, f"Snapshot {number} is published.")
    else:
        messages.success(request, f"Snapshot {number} of data version {job.snapshot.data_version} is made.")
    if job.refused:
        messages.warning(
            request,
            f"{job.refused} budgets could not pay for the noisy number: their prices say 'at most' until they can.",
        )


@requires("manage_data", of=Snapshot)
@require_http_methods(["GET", "POST"])
def snapshot_publish(request: TargetRequest[Snapshot]) -> HttpResponse:
    """Let partners' analyses run on this snapshot; the owner says what prices may know of its size."""
    item: Snapshot = request.target
    before = said_before(item.project)
    looks = "look" in request.POST and bool(item.file)
    if request.method == "GET" or looks:
        first = "declared" if before["size"] else "noisy" if before["size_epsilon"] else "private"
        values: dict[str, object] = {
            "size": first,
            "people": before["size"],
            "epsilon": before["size_epsilon"] or USUAL_SIZE,
            "limit_epsilon": before["limit_epsilon"],
        }
        form = SizeForm(initial=values, counted=lambda: people_in(item))
        found = check_limits(item, actor=request.user) if looks else None
        return render(request, "intake/publish.html", {"form": form, "snapshot": item, "check": found})
    if item.published is not None:
        messages.info(request, f"Snapshot {item.number} was published before: nothing changes.")
        return redirect("snapshots")
    try:
        check_newest(item)
    except ParameterError as refusal:
        messages.error(request, str(refusal))
        return redirect("snapshots")
    if not item.file:
        raise DataError("This snapshot is gone: make a new one.")
    if "size" not in request.POST:  # nothing was said: as before
        _say(request, jobs.start_snapshot(item.project, request.user, snapshot=item, publishes=True, **before))
        return redirect("snapshots")
    form = SizeForm(request.POST, counted=lambda: people_in(item))
    if not form.is_valid():
        return render(request, "intake/publish.html", {"form": form, "snapshot": item}, status=422)
    _say(request, jobs.start_snapshot(item.project, request.user, snapshot=item, publishes=True, **form.said))
    return redirect("snapshots")


@requires("manage_data")
@require_POST
def snapshot_schedule(request: ProjectRequest) -> HttpResponse:
    """Set how often snapshots are published automatically."""
    form = ScheduleForm(request.POST, instance=schedule_of(request.project))
    if form.is_valid():
        set_schedule(request.project, form.cleaned_data["every"], actor=request.user)
        messages.success(request, "The schedule is saved.")
    return redirect("snapshots")
