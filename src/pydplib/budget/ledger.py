"""The ``Ledger`` protocol: what a session, a platform or the command line may ask of any ledger."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from pydplib.budget.chain import Entry, Head
from pydplib.budget.costs import Cost
from pydplib.budget.keys import ReleaseKey
from pydplib.budget.rules import Limit, Refusal, Remaining, State, pay, remaining
from pydplib.budget.store import Account
from pydplib.budget.today import Today
from pydplib.budget.units import Amount
from pydplib.budget.workflow import Reservation
from pydplib.guarantee import ApproxDP, LocalDP, PureDP, Relation


@dataclass(frozen=True, slots=True)
class Quote:
    """What a question would cost its recipient now; nothing is spent.

    Args:
        free: Whether this recipient has paid for it before.
        cost: What would be debited if not free.
        left: What is left of the recipient's budget now.
        after: What would be left after; none if the budget cannot pay.
    """

    free: bool
    cost: Cost
    left: Remaining
    after: Remaining | None

    @classmethod
    def of(cls, state: State, cost: Cost, limit: Limit, *, free: bool) -> Quote:
        """Return what ``cost`` would mean for an account that has spent ``state`` of ``limit``."""
        left = remaining(state, limit)
        if free:
            return cls(True, cost, left, left)
        after = pay(state, cost, limit)
        return cls(False, cost, left, None if isinstance(after, Refusal) else remaining(after, limit))


@runtime_checkable
class Ledger(Protocol):
    """Who was told how much: budgets, debits, the cache of releases and the chain that proves it."""

    def open_account(
        self,
        *,
        lineage: str,
        limit: PureDP | ApproxDP | LocalDP,
        recipient: str | None = None,
        delta_conversion: Amount | None = None,
        role: str | None = None,
    ) -> Account:
        """Open a budget for a recipient, or without one the lineage's own; again with the same limit: no change."""
        ...

    def change_limit(
        self, *, lineage: str, limit: PureDP | ApproxDP | LocalDP, by: str, recipient: str | None = None
    ) -> Account:
        """Change the epsilon of a budget by an act of the owner; what was spent stays spent."""
        ...

    def reserve(self, key: ReleaseKey, *, recipient: str, role: str, today: Today | None = None) -> Reservation:
        """Find or pay for a release; raises ``BudgetError`` with asked and left.

        ``today`` are terms that may be stricter than what was opened; they bind in the same transaction.
        """
        ...

    def finish(self, reservation: Reservation, payload: bytes) -> bytes:
        """Store the answer where still reserved and return the stored one: show only that."""
        ...

    def role_of(self, *, lineage: str, recipient: str) -> str | None:
        """Return the role in which a recipient was entered last, if in any."""
        ...

    def quote(self, key: ReleaseKey, *, recipient: str) -> Quote:
        """Return what the question would cost, without spending."""
        ...

    def is_paid_by_data_set(self, key: ReleaseKey) -> bool:
        """Tell whether somebody has paid for this release already: the data set does not pay for it again."""
        ...

    def received(self, *, lineage: str, snapshot: str, recipient: str, mechanism: str) -> list[bytes]:
        """Return the stored answers of one mechanism that a recipient has paid for, oldest first."""
        ...

    def enter_no_dp(self, *, lineage: str, recipient: str, role: str, mechanism: str, note: str = "") -> Entry:
        """Enter something without differential privacy that left: an anonymized table, paper-mode data."""
        ...

    def enter_look(self, *, lineage: str, recipient: str, role: str, note: str = "") -> Entry:
        """Enter the owner's look at raw data: logged, not debited."""
        ...

    def remaining(self, *, lineage: str, recipient: str | None = None, relation: Relation = "add_remove") -> Remaining:
        """Return what is left of a budget. The lineage's own (no recipient) is for the owner's eyes only."""
        ...

    def accounts(self, *, lineage: str | None = None, recipient: str | None = None) -> list[Account]:
        """Return the budgets."""
        ...

    def entries(self, *, lineage: str | None = None, recipient: str | None = None) -> list[Entry]:
        """Return the entries in order."""
        ...

    def head(self) -> Head:
        """Return the end of the chain, to be kept in another place."""
        ...

    def verify(self, head: Head | None = None) -> Head:
        """Replay everything; raise ``LedgerError`` at the first thing that does not fit."""
        ...
