"""What the server looks at by itself once a day: whether the ledger is still the sum of its entries."""

from __future__ import annotations

import datetime as dt
import logging

from django.utils import timezone

from pydplib.errors import LedgerError
from pydplib.web.auditlog.models import Line
from pydplib.web.auditlog.writing import record
from pydplib.web.ledger.database import DatabaseLedger

_looked: dict[str, dt.date] = {}  # ledger -> the day; every server process looks for itself


def tidy(*, today: dt.date | None = None) -> bool:
    """Replay the ledger if that was not done today; write down and log what does not fit.

    Returns:
        Whether nothing wrong was found.
    """
    ledger, day = DatabaseLedger(), today or timezone.localdate()
    name = ledger.name
    if _looked.get(name) == day:
        return True
    try:
        ledger.verify()
    except LedgerError as fault:
        logging.getLogger("pydplib.web").error("the ledger: %s", fault)
        record("system", "ledger.verify", sound=False)
        return False
    if is_unsound():
        record("system", "ledger.verify", sound=True)
    _looked[name] = day
    return True


def is_unsound() -> bool:
    """Return whether the ledger did not agree with itself when it was verified last, by a person or by the server."""
    last = Line.objects.filter(action="ledger.verify").order_by("-number").first()
    return last is not None and last.facts.get("sound") is False
