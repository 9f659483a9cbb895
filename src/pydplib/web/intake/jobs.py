"""How the steps of an import are run: at once or in the background, and when nobody works on one any more."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pydplib.web import jobs
from pydplib.web.intake.models import ImportBatch

INLINE_ROWS = 3000
"""Imports up to this size are done while the user waits; larger ones in the background."""

_State: Any = ImportBatch.State


def is_stalled(batch: ImportBatch) -> bool:
    """Return whether a step was begun and nobody works on it any more."""
    return jobs.is_stalled(batch, (_State.CHECKING, _State.ACCEPTING, _State.DISCARDING))


def start(step: Callable[[ImportBatch], None], batch: ImportBatch) -> None:
    """Run a step: at once for small imports, else in a thread of its own."""
    related = ("project__hospital", "template", "by")
    jobs.start(step, batch, inline=batch.rows <= INLINE_ROWS, related=related)
