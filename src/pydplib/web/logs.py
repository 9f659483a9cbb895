"""What the server's log may hold: what happened and where in our code, never what was sent or stored."""

from __future__ import annotations

import logging
import re
import traceback
from types import TracebackType
from typing import TypeAlias

_TOKEN = re.compile(r"(/welcome/)[^\s/?'\"]+")

Fault: TypeAlias = tuple[type[BaseException], BaseException, TracebackType | None] | tuple[None, None, None]
"""What ``sys.exc_info`` returns."""


class QuietFormatter(logging.Formatter):
    """Writes faults as a chain of places in the code, without the exception's text, which may quote a cell.

    The tokens of one-time links are struck out of every line.
    """

    def format(self, record: logging.LogRecord) -> str:
        """Return the line."""
        return _TOKEN.sub(r"\1...", super().format(record))

    def formatException(self, ei: Fault) -> str:
        """Return the kind of the exception and where it came from."""
        kind: type[BaseException] | None
        place: TracebackType | None
        kind, _, place = ei
        frames = traceback.extract_tb(place)[-8:]
        way = " > ".join(f"{_short(frame.filename)}:{frame.lineno} {frame.name}" for frame in frames)
        return f"{kind.__name__ if kind else 'fault'} at {way}"


def _short(path: str) -> str:
    """Return the end of a path: enough to find the file, no folder of this machine."""
    return "/".join(path.replace("\\", "/").split("/")[-3:])
