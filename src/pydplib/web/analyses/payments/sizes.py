"""Noisy numbers of records and of rows per person, bought for everybody who may ask when the owner publishes."""

from __future__ import annotations

from dataclasses import dataclass

from pydplib.errors import BudgetError, PolicyError
from pydplib.policy import can_use
from pydplib.web import hooks
from pydplib.web.analyses.payments.sessions import open_session, recipient_of
from pydplib.web.auditlog.log import record
from pydplib.web.intake.models import Snapshot
from pydplib.web.people.models import User
from pydplib.web.projects.models import Project


@dataclass(frozen=True, slots=True)
class SizesBought:
    """How many organisations have paid for the number, of how many."""

    paid: int
    all: int

    @property
    def refused(self) -> int:
        """How many could not pay."""
        return self.all - self.paid


def buy_sizes(project: Project, snapshot: Snapshot, *, actor: User) -> SizesBought:
    """Let every organisation that may ask pay for the noisy numbers that the owner chose, at the owner's epsilon.

    The number of records makes prices; the histogram of rows per person lets answers say what the limit leaves out.
    All get the same numbers and the data set pays once. Whoever sees one has paid for it; who joins later pays for the
    number of records with the first question. A budget that cannot pay is left as it is.
    """
    members = list(project.members.select_related("user__hospital").order_by("role", "pk"))
    first = {recipient_of(member.user): member for member in reversed(members) if can_use(member.role, "ask")}
    paid = 0
    for member in first.values():
        try:
            session, asked = open_session(project, member.user, member)
            if asked.pk != snapshot.pk:  # another one was published meanwhile
                continue
            with session.table:
                if snapshot.size_epsilon is not None:
                    session.buy_size()
                if snapshot.limit_epsilon is not None:
                    session.buy_limit()
            paid += 1
        except (BudgetError, PolicyError) as refusal:
            record(actor, "analysis.refuse", snapshot.key, project=project, reason=str(refusal), role=member.role)
    epsilons = {"epsilon": snapshot.size_epsilon, "limit_epsilon": snapshot.limit_epsilon}
    said = {name: epsilon for name, epsilon in epsilons.items() if epsilon is not None}
    record(actor, "snapshot.count", snapshot.key, project=project, organisations=paid, **said)
    return SizesBought(paid, len(first))


@hooks.snapshot_published.register
def buy_for_everybody(project: Project, snapshot: Snapshot, actor: User) -> int:
    """Let the organisations pay for the numbers of a new snapshot; return how many could not."""
    return buy_sizes(project, snapshot, actor=actor).refused
