"""Whether the ledger is still the sum of its entries: looked at daily, or by a person; if not, answers pause."""

from __future__ import annotations

import datetime as dt
import logging

from django.utils import timezone

from pydplib.budget.chain import Head
from pydplib.errors import LedgerError
from pydplib.web.auditlog.log import HospitalProject, record
from pydplib.web.ledger.database import DatabaseLedger
from pydplib.web.ledger.pauses import PausedLedgerError, UnreadableLedgerError

_looked: dict[str, dt.date] = {}  # ledger -> the day; every server process looks for itself


def tidy(*, today: dt.date | None = None) -> bool:
    """Replay the ledger if that was not done today, or if it was damaged then; log what does not fit.

    Returns:
        Whether nothing wrong was found.
    """
    ledger, day = DatabaseLedger(), today or timezone.localdate()
    name, damaged = ledger.name, bool(ledger.damage)
    if _looked.get(name) == day and not damaged:
        return True
    try:
        verify_ledger("system", quiet=not damaged)
    except LedgerError as fault:
        logging.getLogger("pydplib.web").error("the ledger: %s", fault)
        return False
    _looked[name] = day
    return True


def verify_ledger(actor: object, *, project: HospitalProject | None = None, quiet: bool = False) -> Head:
    """Replay chain, sums, payments and stored answers; answers pause from here on if they do not agree, or go on.

    Args:
        actor: Who looks: a user, or ``"system"``.
        project: On whose page.
        quiet: Leave no line in the audit log if all is well.

    Raises:
        LedgerError: What does not agree.
    """
    ledger = DatabaseLedger()
    try:
        head = ledger.verify()
    except UnreadableLedgerError:  # no word about the ledger, neither way
        raise
    except LedgerError as fault:
        if not isinstance(fault, PausedLedgerError):  # that one pauses by itself, until it is accepted
            ledger.pause(str(fault))
        record(actor, "ledger.verify", project=project, sound=False)
        raise
    if not quiet:
        record(actor, "ledger.verify", project=project, sound=True, entries=head.entries)
    ledger.go_on()
    return head
