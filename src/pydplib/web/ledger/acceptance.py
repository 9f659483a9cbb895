"""The operator's act after a restore: go on with the ledger as it is, verified and written down."""

from __future__ import annotations

from pydplib.budget.chain import Head
from pydplib.budget.verify import verify_store
from pydplib.errors import LedgerError
from pydplib.web.auditlog.log import record
from pydplib.web.ledger import models as rows
from pydplib.web.ledger.database import DatabaseLedger
from pydplib.web.ledger.store import DatabaseStore


def entries_missing() -> int | None:
    """Return how many entries the remembered head has beyond the database; none if there is no such head."""
    ledger = DatabaseLedger()
    try:
        known = Head.read(ledger.head_file)
    except (LedgerError, OSError):
        return None
    return max(0, known.entries - rows.Head.objects.get(id=1).number) if known.ledger == ledger.name else None


def accept_ledger() -> Head:
    """Verify chain, sums and answers of the ledger in the database, then remember its end as the right one.

    Raises:
        LedgerError: The ledger is damaged in itself; nothing was accepted.
    """
    ledger = DatabaseLedger()
    verify_store(DatabaseStore(earlier=True), ledger=ledger.name)
    lost = entries_missing()
    head = ledger.accept()
    record("system", "ledger.accept", entries=head.entries, missing=lost)
    ledger.go_on()
    return head
