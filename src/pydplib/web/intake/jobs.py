"""Steps of an import that may take a while: one worker at a time, progress in the database, taken up after a crash."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pydplib.web import jobs
from pydplib.web.intake.models import ImportBatch
from pydplib.web.jobs import STALE, Claim, LostClaimError

__all__ = ["INLINE_ROWS", "STALE", "LostClaimError", "Worker", "is_stalled", "start"]

INLINE_ROWS = 3000
"""Imports up to this size are done while the user waits; larger ones in the background."""

_State: Any = ImportBatch.State


class Worker(Claim):
    """A claim on an import: nobody else works on it while the claim lasts."""

    def __init__(self, batch: ImportBatch, state: str, *, among: tuple[str, ...]) -> None:
        super().__init__(batch, state, among=among, stale=STALE)


def is_stalled(batch: ImportBatch) -> bool:
    """Return whether a step was begun and nobody works on it any more."""
    return jobs.is_stalled(batch, (_State.CHECKING, _State.ACCEPTING, _State.DISCARDING), stale=STALE)


def start(step: Callable[[ImportBatch], None], batch: ImportBatch) -> None:
    """Run a step: at once for small imports, else in a thread of its own."""
    related = ("project__hospital", "template", "by")
    jobs.start(step, batch, inline=batch.rows <= INLINE_ROWS, related=related)
