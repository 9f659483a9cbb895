"""The noisy number of records, bought for everybody who may ask when the owner publishes: each of them learns it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from pydplib.errors import BudgetError, PolicyError
from pydplib.policy import can_use
from pydplib.web.analyses.sessions import open_session, recipient_of
from pydplib.web.auditlog.writing import record
from pydplib.web.doors import Place
from pydplib.web.intake.models import Snapshot


@dataclass(frozen=True, slots=True)
class Bought:
    """How many organisations have paid for the number, of how many."""

    paid: int
    all: int

    @property
    def refused(self) -> int:
        """How many could not pay."""
        return self.all - self.paid


def buy_sizes(project: Any, snapshot: Snapshot, *, actor: Any) -> Bought:
    """Let every organisation that may ask pay for the noisy number of records, at the owner's epsilon.

    All get the same number and the data set pays once. Whoever sees a price made from it has paid for it; who joins
    later pays with the first question. A budget that cannot pay is left as it is.
    """
    members = list(project.members.select_related("user__hospital").order_by("role", "pk"))
    first = {recipient_of(member.user): member for member in reversed(members) if can_use(member.role, "ask")}
    paid = 0
    for member in first.values():
        try:
            session, asked = open_session(project, member.user, Place.of(member))
            if asked.pk != snapshot.pk:  # another one was published meanwhile
                continue
            with session.table:
                session.buy_size()
            paid += 1
        except (BudgetError, PolicyError) as refusal:
            record(actor, "analysis.refuse", snapshot.key, project=project, reason=str(refusal), role=member.role)
    record(actor, "snapshot.count", snapshot.key, project=project, organisations=paid, epsilon=snapshot.size_epsilon)
    return Bought(paid, len(first))
