"""What must happen by itself: old uploads, ended memberships and stray files go, snapshots come on their day."""

from __future__ import annotations

import datetime as dt

from django.utils import timezone

from pydplib.web import jobs, uploads
from pydplib.web.intake.further_tables.files import remove_uploads
from pydplib.web.intake.imports.acceptance import discard_batch
from pydplib.web.intake.models import ImportBatch, SnapshotSchedule
from pydplib.web.intake.schedules import next_day
from pydplib.web.intake.snapshots import make_snapshot, publish, remove_stray_files, said_before
from pydplib.web.projects.members.memberships import end_expired_memberships
from pydplib.web.tables.models import TableUpload


def tidy(today: dt.date | None = None) -> None:
    """Do all of it; the server calls this when it starts and every hour."""
    discard_old_imports()
    end_expired_memberships()
    remove_uploads(TableUpload.objects.filter(made__lt=timezone.now() - uploads.KEPT))
    remove_stray_files()
    publish_scheduled(today or timezone.now().date())


def discard_old_imports() -> int:
    """Discard imports that were left open for a day: their files and cells are not kept any longer."""
    old = timezone.now() - uploads.KEPT
    found = ImportBatch.objects.filter(jobs.is_free(), made__lt=old).exclude(state__in=ImportBatch.ENDED)
    gone = 0
    for batch in found.select_related("project__hospital", "by"):
        try:
            discard_batch(batch, actor="system")
            gone += 1
        except jobs.LostClaimError:
            continue
    busy = ImportBatch.objects.filter(heartbeat__gte=timezone.now() - jobs.STALE).values_list("key", flat=True)
    uploads.remove_old(keep=busy)
    return gone


def publish_scheduled(today: dt.date) -> int:
    """Make and publish the snapshots whose day has come."""
    made = 0
    for schedule in SnapshotSchedule.objects.filter(next_day__lte=today).select_related("project__hospital"):
        # Whoever moves the day on makes the snapshot: of two servers, one.
        upcoming = next_day(schedule.every, today)
        if not SnapshotSchedule.objects.filter(pk=schedule.pk, next_day=schedule.next_day).update(next_day=upcoming):
            continue
        if schedule.project.template_version is None:
            continue
        # What the owner said about the number of people goes on; nothing is bought without the owner.
        said = said_before(schedule.project)
        publish(make_snapshot(schedule.project, actor="system"), actor="system", **said)
        made += 1
    return made
