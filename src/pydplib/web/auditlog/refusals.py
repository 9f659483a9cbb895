"""Refusals in the log: the first ones of a visitor line by line, a flood of them as one line that counts.

Without this, somebody who may enter nothing could fill the log, which is never shortened, as fast as they can click.
"""

from __future__ import annotations

import threading
import time
from dataclasses import KW_ONLY, dataclass

from pydplib.web.auditlog.log import HospitalProject, record

LINES = 20
"""Refusals of one user in one project that are lines of their own, per window."""
WINDOW = 600.0
"""Seconds after which the count begins again."""
_MOST = 10_000  # visitors that are remembered at once


@dataclass(slots=True)
class _Count:
    """How often somebody was refused in a window, and by what the line that counts the rest is written."""

    began: float
    actor: object
    project: HospitalProject | None
    _: KW_ONLY
    seen: int = 0
    further: int = 0


_counts: dict[tuple[str, str], _Count] = {}
_lock = threading.Lock()


def note(actor: object, action: str, subject: str, *, project: HospitalProject | None, reason: str) -> None:
    """Write a refusal down, or count it if this user was refused often in the last minutes.

    Args:
        actor: Who was refused.
        action: ``"door.refuse"`` and the like.
        subject: Which page.
        project: The project, if it is about one.
        reason: Why, in words.
    """
    name = (str(getattr(actor, "username", actor)), getattr(project, "key", ""))
    ended: list[_Count] = []
    with _lock:
        count = _counts.get(name)
        if count is None or time.monotonic() - count.began > WINDOW:
            ended = [count] if count is not None else []
            if len(_counts) >= _MOST:
                ended += _take(all_of_them=False)
            count = _counts[name] = _Count(time.monotonic(), actor, project)
        count.seen += 1
        is_line = count.seen <= LINES
        count.further += not is_line
    _tell(ended)
    if is_line:
        record(actor, action, subject, project=project, reason=reason)


def flush(*, all_of_them: bool = False) -> None:
    """Write one line for every flood that has ended; the server calls this every hour."""
    with _lock:
        ended = _take(all_of_them=all_of_them)
    _tell(ended)


def _take(*, all_of_them: bool) -> list[_Count]:
    now = time.monotonic()
    names = [name for name, count in _counts.items() if all_of_them or now - count.began > WINDOW]
    return [_counts.pop(name) for name in names]


def _tell(ended: list[_Count]) -> None:
    for count in ended:
        if count.further:
            record(count.actor, "door.refuse", "", project=count.project, further=count.further)
