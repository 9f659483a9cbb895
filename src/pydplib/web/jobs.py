"""Work that takes a while: one worker at a time, progress in the database, taken up again after a crash.

A row that is worked on has the columns ``state``, ``worker``, ``heartbeat`` and ``problem``; see ``Work``. The request
that begins a step makes its ``Claim``, so the very next page shows progress, however late the worker begins.
"""

from __future__ import annotations

import datetime as dt
import logging
import secrets
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any, Protocol

from django.db import DatabaseError, connection, models
from django.db.models import Model, Q
from django.utils import timezone

from pydplib.errors import PydplibError
from pydplib.web.room import reason_of

STALE = dt.timedelta(seconds=90)
"""A worker that was silent this long is gone."""

BEAT = 20.0
"""Seconds between two signs of life of a step that saves no progress by itself."""

TELL = 1.0
"""Seconds between two words about progress."""

_log = logging.getLogger("pydplib.web")


class LostClaimError(Exception):
    """Another worker took over, or the step was ended from elsewhere."""


class Work(models.Model):
    """The columns of a row that is worked on in the background."""

    worker = models.CharField(max_length=16, blank=True)  # who works on it; one at a time
    heartbeat = models.DateTimeField(null=True)
    progress = models.PositiveSmallIntegerField(null=True)  # in percent; none while the end is not known
    progress_words = models.CharField(max_length=200, blank=True)
    problem = models.CharField(max_length=600, blank=True)  # why a step ended early, in words without data

    class Meta:
        abstract = True


class Claim:
    """A claim on a row: nobody else works on it while the claim lasts.

    Args:
        row: The row.
        state: The state in which it is while it is worked on.
        among: The states from which work may begin.
        values: Other columns that change with it, such as progress that begins at 0.
    """

    def __init__(self, row: Model, state: str, *, among: Iterable[str], **values: object) -> None:
        self.token, self.pk, self.state = secrets.token_hex(8), row.pk, state
        self._told = float("-inf")  # when progress was told last
        self.rows = type(row)._default_manager
        claimed = self.rows.filter(is_free(), pk=row.pk, state__in=tuple(among)).update(
            worker=self.token, heartbeat=timezone.now(), state=state, problem="", **values
        )
        if not claimed:
            raise LostClaimError

    def save(self, **values: object) -> None:
        """Write progress, if the claim still holds; inside a transaction this also keeps others from taking over."""
        kept = self.rows.filter(pk=self.pk, worker=self.token, state=self.state)
        if not kept.update(heartbeat=timezone.now(), **values):
            raise LostClaimError

    def step(self, state: str, **values: object) -> None:
        """Go on to another state of the same work; progress begins at 0 again."""
        self.save(state=state, **values)
        self.state = state

    def tell(self, **values: object) -> None:
        """Write progress as ``save`` does, but once a second at most: for steps that tell it far more often."""
        if time.monotonic() - self._told >= TELL:
            self._told = time.monotonic()
            self.save(**values)

    def release(self, **values: object) -> None:
        """End the claim."""
        self.rows.filter(pk=self.pk, worker=self.token).update(worker="", **values)

    @contextmanager
    def beating(self, *, most: float) -> Iterator[None]:
        """Give signs of life from a thread of its own while something long runs.

        Args:
            most: Seconds after which no further sign is given: whatever still runs then has got stuck.
        """
        ended = threading.Event()

        def beat() -> None:
            begun = time.monotonic()
            try:
                while not ended.wait(BEAT) and time.monotonic() - begun < most:
                    try:
                        self.save()
                    except LostClaimError:
                        return
                    except DatabaseError:  # busy: the next sign will do
                        continue
            finally:
                connection.close()

        thread = threading.Thread(target=beat, daemon=True, name="heartbeat")
        thread.start()
        try:
            yield
        finally:
            ended.set()
            thread.join(timeout=5)


def is_free() -> Q:
    """Return the condition that nobody works on a row, or somebody who is gone."""
    return Q(worker="") | Q(heartbeat__isnull=True) | Q(heartbeat__lt=timezone.now() - STALE)


class JobRow(Protocol):
    """A row that somebody works on."""

    state: str
    worker: str
    heartbeat: dt.datetime | None


def is_stalled(row: JobRow, states: Iterable[str]) -> bool:
    """Return whether a step was begun and nobody works on it any more.

    Args:
        row: The row.
        states: The states in which it should be worked on.
    """
    if row.state not in tuple(states):
        return False
    return not row.worker or row.heartbeat is None or row.heartbeat < timezone.now() - STALE


Take = Callable[[Any], Claim]
Step = Callable[[Any, Claim], None]


def start(step: Step, row: Any, *, take: Take, inline: bool, related: Iterable[str] = ()) -> None:
    """Claim a row for a step, then run the step: at once, or in a thread of its own.

    When this returns, the row says that it is worked on: by this step, or by another one that came first. A process
    that dies before the thread begins leaves a claim that goes stale, and the row's page says that it stopped.

    Args:
        step: What is done.
        row: The row.
        take: Makes the claim, in the request.
        inline: Whether the user waits for it.
        related: What is read together with the row.
    """
    model, with_it = type(row), tuple(related)
    try:
        claim = take(row)
    except LostClaimError:
        return
    except PydplibError as refusal:
        model._default_manager.filter(pk=row.pk, worker="").update(problem=str(refusal)[:400])
        return
    if inline:
        _run(step, model, row.pk, with_it, claim)
        return
    name = f"{model._meta.model_name}-{row.pk}"
    try:
        threading.Thread(
            target=_run_and_close, args=(step, model, row.pk, with_it, claim), daemon=True, name=name
        ).start()
    except RuntimeError:  # the machine has no thread left
        claim.release(heartbeat=None, problem="The server has too much to do. Try again in a few minutes.")


def end_claims() -> int:
    """End all claims, and return how many: for the start of a server that has its database for itself.

    Whoever held one is gone, and its page says so at once, not after ``STALE``.
    """
    from django.apps import apps

    ended = 0
    for model in apps.get_models():
        if {"worker", "heartbeat", "problem"} <= {field.name for field in model._meta.get_fields()}:
            ended += model._default_manager.exclude(worker="").update(worker="", heartbeat=None)
    return ended


def _run_and_close(step: Step, model: object, pk: int, related: tuple[str, ...], claim: Claim) -> None:
    try:
        _run(step, model, pk, related, claim)
    finally:
        connection.close()


def _run(step: Step, model: Any, pk: int, related: tuple[str, ...], claim: Claim) -> None:
    row = model._default_manager.select_related(*related).get(pk=pk)
    try:
        step(row, claim)
    except LostClaimError:
        return
    except Exception as error:
        # The text of a foreign error may quote a cell: only its kind is logged.
        _log.error("%s %s: %s", model._meta.model_name, row.key, type(error).__name__)
        said = str(error)[:400] if isinstance(error, PydplibError) else "Something went wrong on our side. Try again."
        reason = reason_of(error)
        if reason is not None:
            said = reason[1]
        claim.release(heartbeat=None, problem=said)
