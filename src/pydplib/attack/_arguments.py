"""Arguments of the attacks, checked, and the time limit that long ones look at; messages never show a value."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pydplib.errors import DataError, ParameterError, shown


def as_column(values: ArrayLike, *, least: int = 1) -> NDArray[np.float64]:
    """Return a column of numbers or yes/no as floats."""
    try:
        column = np.ascontiguousarray(np.asarray(values), dtype=np.float64)
    except (TypeError, ValueError):
        raise DataError("An attack needs a column of numbers, or of yes and no.") from None
    if column.ndim != 1 or len(column) < least or not np.isfinite(column).all():
        raise DataError(f"An attack needs one column of at least {least} finite numbers, without gaps.")
    return column


def as_flags(values: ArrayLike) -> NDArray[np.float64]:
    """Return a column of yes and no as 0 and 1."""
    column = as_column(values)
    if not np.isin(column, (0.0, 1.0)).all():
        raise DataError("This attack needs a column of yes and no (True/False or 1/0).")
    return column


def person_index(person: int, size: int) -> int:
    """Return the position of a person, or say what is possible."""
    if isinstance(person, bool) or not isinstance(person, int | np.integer) or not 0 <= person < size:
        raise ParameterError(f"person is a position from 0 to {size - 1}. Got {shown(person)}.")
    return int(person)


def at_least(name: str, value: int, least: int) -> int:
    """Return a whole number of at least ``least``."""
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < least:
        raise ParameterError(f"{name} must be a whole number of at least {least}. Got {shown(value)}.")
    return int(value)


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
