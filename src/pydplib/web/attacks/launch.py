"""Beginning a run of attacks, with its line in the log."""

from __future__ import annotations

from django.utils import timezone

from pydplib.errors import ParameterError
from pydplib.web.attacks import runs
from pydplib.web.attacks.models import AttackRun
from pydplib.web.attacks.recipients import subject_of
from pydplib.web.auditlog.log import recorded
from pydplib.web.jobs import STALE
from pydplib.web.people.models import User
from pydplib.web.projects.models import Project

MOST_AT_ONCE = 2
"""How many runs of a project may go on at once: each takes a core for minutes, and everybody else waits."""


def runs_of(project: Project, most: int = 30) -> list[AttackRun]:
    """Return the latest runs of a project."""
    return list(AttackRun.objects.filter(project=project).select_related("by")[:most])


def start_run(actor: User, project: Project, *, subject: str, data: str, minutes: int) -> AttackRun:
    """Make a run and begin it.

    Args:
        actor: The owner or data protection officer.
        project: The project.
        subject: An organisation's key, or ``"audience:role"``.
        data: ``"twin"`` or ``"real"``.
        minutes: How long it may take.

    Raises:
        PolicyError: There is no such recipient in the project.
        ParameterError: Others are running.
    """
    given = subject_of(project, subject)
    going_on = AttackRun.objects.filter(project=project).exclude(state=AttackRun.State.DONE)
    fresh = timezone.now() - STALE  # begun just now: nobody has taken it up yet
    if sum(run.made > fresh or not runs.is_stalled(run) for run in going_on) >= MOST_AT_ONCE:
        raise ParameterError(f"{MOST_AT_ONCE} runs of this project are going on. Wait until one of them has ended.")
    name = f"{given.name}, with its whole budget" if given.whole else given.name
    with recorded(actor, project=project) as log:
        run = AttackRun.objects.create(
            project=project, by=actor, subject=subject, name=name, data=data, minutes=minutes
        )
        log.add("attack.start", run.key, on_behalf_of=name, data=data)
    runs.start(run)
    run.refresh_from_db()
    return run
