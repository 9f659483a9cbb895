"""A time limit that long attacks look at while they work."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

_deadline: ContextVar[float | None] = ContextVar("pydplib_attack_deadline", default=None)


class TimeUp(Exception):
    """The time limit has passed; caught where attacks are run, never seen by users."""


@contextmanager
def until(deadline: float | None) -> Iterator[None]:
    """End what works in this context soon after ``deadline``, a moment of ``time.monotonic``.

    Examples:
        >>> with until(time.monotonic() - 1):
        ...     try:
        ...         check_time()
        ...     except TimeUp:
        ...         print("too late")
        too late
    """
    token = _deadline.set(deadline)
    try:
        yield
    finally:
        _deadline.reset(token)


def check_time() -> None:
    """Stop here if the time is up: called between the steps of whatever can take long."""
    deadline = _deadline.get()
    if deadline is not None and time.monotonic() > deadline:
        raise TimeUp
