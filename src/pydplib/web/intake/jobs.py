"""How the steps of imports and snapshots are run: at once or in the background, and when nobody works on one."""

from __future__ import annotations

from pydplib.web import hooks, jobs
from pydplib.web.intake.models import ImportBatch, Snapshot, SnapshotJob
from pydplib.web.intake.snapshots import make_snapshot, publish
from pydplib.web.people.models import User
from pydplib.web.projects.models import Project
from pydplib.web.reporting.models import Report
from pydplib.web.room import check_room

INLINE_ROWS = 3000
"""Imports and snapshots up to this size are done while the user waits; larger ones in the background."""

_State = ImportBatch.State
_Step = SnapshotJob.State
_MOST_SECONDS = 1800.0


def is_stalled(batch: ImportBatch) -> bool:
    """Return whether a step was begun and nobody works on it any more."""
    return jobs.is_stalled(batch, (_State.CHECKING, _State.ACCEPTING, _State.DISCARDING))


def start(step: jobs.Step, batch: ImportBatch, *, take: jobs.Take) -> None:
    """Claim an import, then run a step: at once for small imports, else in a thread of its own."""
    related = ("project__hospital", "template", "by")
    jobs.start(step, batch, take=take, inline=batch.rows <= INLINE_ROWS, related=related)


def snapshot_job(project: Project) -> SnapshotJob | None:
    """Return the newest snapshot of a project that is on its way, or that stopped there; none if it ended well."""
    newest = SnapshotJob.objects.filter(project=project).select_related("snapshot").first()
    return None if newest is None or newest.state == _Step.DONE else newest


def is_snapshot_stalled(job: SnapshotJob) -> bool:
    """Return whether a snapshot should be worked on and nobody does."""
    return jobs.is_stalled(job, (_Step.WAITING, _Step.MAKING, _Step.PUBLISHING))


def start_snapshot(
    project: Project,
    actor: User,
    *,
    snapshot: Snapshot | None = None,
    publishes: bool = False,
    size: int | None = None,
    size_epsilon: float | None = None,
    limit_epsilon: float | None = None,
) -> SnapshotJob:
    """Begin to make a snapshot (``snapshot=None``), to publish one, or both; return the work as it stands.

    Args:
        project: The project.
        actor: The owner.
        snapshot: What is published; none to make a new one.
        publishes: Whether partners' analyses run on it afterwards.
        size: The number of people, if the owner declares it public.
        size_epsilon: What a noisy number of records costs every recipient once, if the owner sets it.
        limit_epsilon: What the noisy histogram of rows per person costs every recipient once, likewise.

    Raises:
        FullDiskError: The disk has no room.
    """
    check_room()
    going_on = snapshot_job(project)
    inline = Report.objects.filter(project=project).count() <= INLINE_ROWS
    if not inline and going_on is not None and not is_snapshot_stalled(going_on):
        return going_on  # clicked twice
    job = SnapshotJob.objects.create(
        project=project,
        by=actor,
        snapshot=snapshot,
        publishes=publishes,
        size=size,
        size_nano_epsilon=None if size_epsilon is None else round(size_epsilon * 10**9),
        limit_nano_epsilon=None if limit_epsilon is None else round(limit_epsilon * 10**9),
    )
    related = ("project__hospital", "snapshot__project", "by__hospital")
    jobs.start(_snapshot, job, take=_claim_snapshot, inline=inline, related=related)
    job.refresh_from_db()
    return job


def _claim_snapshot(job: SnapshotJob) -> jobs.Claim:
    state = _Step.MAKING if job.snapshot_id is None else _Step.PUBLISHING
    return jobs.Claim(job, state, among=(_Step.WAITING,))


def _snapshot(job: SnapshotJob, claim: jobs.Claim) -> None:
    """Make and publish. Each is one transaction of its own: killed anywhere, a snapshot is there or is not."""
    with claim.beating(most=_MOST_SECONDS):
        snapshot = job.snapshot or make_snapshot(job.project, actor=job.by)
        claim.save(snapshot=snapshot, progress_words="" if job.publishes else f"Snapshot {snapshot.number} is made")
        if job.publishes:
            claim.step(_Step.PUBLISHING)
            job.refused = _published(job, snapshot)
        claim.save(state=_Step.DONE, refused=job.refused)
    claim.release()


def _published(job: SnapshotJob, snapshot: Snapshot) -> int:
    """Publish, buy the noisy numbers that are for sale, and return how many budgets could not pay."""
    epsilon = None if job.size_nano_epsilon is None else job.size_nano_epsilon / 10**9
    limit = None if job.limit_nano_epsilon is None else job.limit_nano_epsilon / 10**9
    publish(snapshot, actor=job.by, size=job.size, size_epsilon=epsilon, limit_epsilon=limit)
    if epsilon is None and limit is None:
        return 0
    return sum(hooks.snapshot_published(job.project, snapshot, job.by))
