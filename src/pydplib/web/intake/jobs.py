"""Steps of an import that may take a while: one worker at a time, progress in the database, taken up after a crash."""

from __future__ import annotations

import datetime as dt
import logging
import secrets
import threading
from collections.abc import Callable
from typing import Any

from django.db import connection
from django.db.models import Q
from django.utils import timezone

from pydplib.errors import PydplibError
from pydplib.web.intake.models import ImportBatch

INLINE_ROWS = 3000
"""Imports up to this size are done while the user waits; larger ones in the background."""

STALE = dt.timedelta(seconds=90)
"""A worker that was silent this long is gone."""

_log = logging.getLogger("pydplib.web")
_State: Any = ImportBatch.State


class LostClaimError(Exception):
    """Another worker took over, or the step was ended from elsewhere."""


class Worker:
    """A claim on an import: nobody else works on it while the claim lasts."""

    def __init__(self, batch: ImportBatch, state: str, *, among: tuple[str, ...]) -> None:
        self.token, self.pk, self.state = secrets.token_hex(8), batch.pk, state
        free = Q(worker="") | Q(heartbeat__isnull=True) | Q(heartbeat__lt=timezone.now() - STALE)
        claimed = ImportBatch.objects.filter(free, pk=batch.pk, state__in=among).update(
            worker=self.token, heartbeat=timezone.now(), state=state, problem=""
        )
        if not claimed:
            raise LostClaimError

    def save(self, **values: Any) -> None:
        """Write progress, if the claim still holds; inside a transaction this also keeps others from taking over."""
        kept = ImportBatch.objects.filter(pk=self.pk, worker=self.token, state=self.state)
        if not kept.update(heartbeat=timezone.now(), **values):
            raise LostClaimError

    def release(self, **values: Any) -> None:
        """End the claim."""
        ImportBatch.objects.filter(pk=self.pk, worker=self.token).update(worker="", **values)


def is_stalled(batch: ImportBatch) -> bool:
    """Return whether a step was begun and nobody works on it any more."""
    if batch.state not in (_State.CHECKING, _State.ACCEPTING, _State.DISCARDING):
        return False
    return not batch.worker or batch.heartbeat is None or batch.heartbeat < timezone.now() - STALE


def start(step: Callable[[ImportBatch], None], batch: ImportBatch) -> None:
    """Run a step: at once for small imports, else in a thread of its own."""
    if batch.rows <= INLINE_ROWS:
        _run(step, batch.pk)
        return
    threading.Thread(target=_run_and_close, args=(step, batch.pk), daemon=True, name=f"import-{batch.key}").start()


def _run_and_close(step: Callable[[ImportBatch], None], pk: int) -> None:
    try:
        _run(step, pk)
    finally:
        connection.close()


def _run(step: Callable[[ImportBatch], None], pk: int) -> None:
    batch = ImportBatch.objects.select_related("project__hospital", "template", "by").get(pk=pk)
    try:
        step(batch)
    except LostClaimError:
        return
    except Exception as error:
        # The text of a foreign error may quote a cell: only its kind is logged.
        _log.error("import %s: %s", batch.key, type(error).__name__)
        said = str(error)[:400] if isinstance(error, PydplibError) else "Something went wrong on our side. Try again."
        ImportBatch.objects.filter(pk=pk).update(worker="", heartbeat=None, problem=said)
