"""One line of what ``pydplib doctor`` reports, and how a look that fails becomes one."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

State = Literal["ok", "missing", "unsafe", "broken"]


@dataclass(frozen=True, slots=True)
class DoctorFinding:
    """One line of the doctor's report.

    Args:
        part: ``"core"``, ``"extra"``, ``"noise"``, ``"engine"``, ``"picture"`` or ``"platform"``.
        name: What was looked at.
        state: ``"ok"``; ``"missing"`` (not installed, nothing wrong); ``"broken"``; ``"unsafe"``.
        words: What was found, and the next step.
    """

    part: str
    name: str
    state: State
    words: str


def looked(part: str, name: str, look: Callable[[], DoctorFinding]) -> DoctorFinding:
    """Return what a look finds; a file that cannot be looked at is a finding too, and never the end of the report."""
    try:
        return look()
    except OSError as error:
        return DoctorFinding(part, name, "broken", f"cannot be looked at: {error.strerror or type(error).__name__}")
