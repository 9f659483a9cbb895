"""Pages of the snapshots: make, publish, schedule."""

from __future__ import annotations

from typing import Any

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.views.decorators.http import require_http_methods, require_POST

from pydplib.errors import ParameterError
from pydplib.web.auditlog.writing import recorded
from pydplib.web.doors import door
from pydplib.web.intake.forms import ScheduleForm, SizeForm
from pydplib.web.intake.models import Snapshot, SnapshotSchedule
from pydplib.web.intake.schedules import next_day
from pydplib.web.intake.snapshots import (
    check_newest,
    make_snapshot,
    people_in,
    publish,
    published_snapshot,
    said_before,
)


@door("manage_data")
@require_http_methods(["GET", "POST"])
def snapshots(request: Any) -> HttpResponse:
    """List snapshots; a POST makes one of the current data version."""
    if request.method == "POST":
        made = make_snapshot(request.project, actor=request.user)
        messages.success(request, f"Snapshot {made.number} of data version {made.data_version} is made.")
        if request.POST.get("publish"):
            publish(made, actor=request.user, **said_before(request.project))
        return redirect("snapshots")
    schedule = SnapshotSchedule.objects.filter(project=request.project).first()
    current = published_snapshot(request.project)
    context = {
        "snapshots": Snapshot.objects.filter(project=request.project).select_related("template"),
        "current": current,
        "newest": current.number if current else 0,
        "template": request.project.template_version,
        "schedule": schedule,
        "form": ScheduleForm(instance=schedule),
    }
    return render(request, "intake/snapshots.html", context)


@door("manage_data", of=Snapshot)
@require_http_methods(["GET", "POST"])
def snapshot_publish(request: Any) -> HttpResponse:
    """Let partners' analyses run on this snapshot; the owner says what prices may know of its size."""
    item: Snapshot = request.target
    before = said_before(item.project)
    if request.method == "GET":
        first = "declared" if before["size"] else "noisy" if before["size_epsilon"] else "private"
        form = SizeForm(initial={"size": first, "people": before["size"]}, counted=lambda: people_in(item))
        return render(request, "intake/publish.html", {"form": form, "snapshot": item})
    if item.published is not None:
        messages.info(request, f"Snapshot {item.number} was published before: nothing changes.")
        return redirect("snapshots")
    try:
        check_newest(item)
    except ParameterError as refusal:
        messages.error(request, str(refusal))
        return redirect("snapshots")
    if not item.file or "size" not in request.POST:
        publish(item, actor=request.user, **before)  # nothing was said: as before
        messages.success(request, f"Snapshot {item.number} is published.")
        return redirect("snapshots")
    form = SizeForm(request.POST, counted=lambda: people_in(item))
    if not form.is_valid():
        return render(request, "intake/publish.html", {"form": form, "snapshot": item}, status=422)
    publish(item, actor=request.user, **form.said)
    messages.success(request, f"Snapshot {item.number} is published.")
    if item.size_epsilon is not None:
        from pydplib.web.analyses.sizing import buy_sizes

        bought = buy_sizes(item.project, item, actor=request.user)
        if bought.refused:
            messages.warning(
                request,
                f"{bought.refused} of {bought.all} budgets could not pay for the noisy number: their prices say "
                "'at most' until they can.",
            )
    return redirect("snapshots")


@door("manage_data")
@require_POST
def snapshot_schedule(request: Any) -> HttpResponse:
    """Set the rhythm in which snapshots are published by themselves."""
    schedule = SnapshotSchedule.objects.filter(project=request.project).first() or SnapshotSchedule(
        project=request.project
    )
    form = ScheduleForm(request.POST, instance=schedule)
    if form.is_valid():
        with recorded(request.user, project=request.project) as log:
            changed = form.save(commit=False)
            changed.next_day = next_day(changed.every, timezone.now().date())
            changed.save()
            log.add("snapshot.schedule", request.project.key, every=changed.every)
        messages.success(request, "The rhythm is set.")
    return redirect("snapshots")
