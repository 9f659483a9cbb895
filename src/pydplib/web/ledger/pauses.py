"""Answers pause while the ledger at hand is not known to be the right one: the errors, and their words per reader."""

from __future__ import annotations

from typing import ClassVar

from django.http import HttpRequest

from pydplib.errors import LedgerError

HEADING = "Answers are paused"
COMMAND = "pydplib ledger accept --home FOLDER"
FOR_OTHERS = (
    "No question is answered until whoever runs this server has looked at the ledger. "
    "Nothing was spent and nothing was lost: try again later."
)


class PausedLedgerError(LedgerError):
    """The ledger does not go on where the head that the server remembers ends: after a restore, or a loss."""

    http_status: ClassVar[int] = 503

    def __init__(self, why: str) -> None:
        super().__init__(
            f"{why}\n\nThis is so after a restore: the end of the ledger is not part of a backup. If you know why, "
            f"accept the ledger as it is, on the server: `{COMMAND}` (FOLDER is the server's own). "
            "It is verified first, and written in the audit log. If you do not know why, find out before."
        )


class UnsoundLedgerError(PausedLedgerError):
    """The ledger did not agree with itself when it was verified last: what it allows to spend may be wrong."""

    def __init__(self, why: str) -> None:
        # Not the words of the class above: nothing was restored here, and nothing damaged can be accepted.
        LedgerError.__init__(
            self,
            f"When the ledger was verified last, it did not agree with itself. {why}\n\n"
            "Find out who changed it. Answers go on as soon as it agrees again: whoever runs this server restores the "
            f"database as it was and accepts the ledger, on the server: `{COMMAND}` (FOLDER is the server's own). Or "
            "verify it again on the page of the budget, once it is repaired.",
        )


class UnreadableLedgerError(LedgerError):
    """The database did not answer: nobody can say whether the ledger is sound."""


def words_for(request: HttpRequest, error: PausedLedgerError) -> str:
    """Return the reason and the command for those who answer for the ledger, and that answers wait for all others."""
    place = getattr(request, "member", None)
    if place is None:  # a page of no project
        return str(error) if getattr(request.user, "is_hospital_owner", False) else FOR_OTHERS
    return str(error) if place.can("read_all_ledgers") else FOR_OTHERS
