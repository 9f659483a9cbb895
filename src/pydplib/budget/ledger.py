"""The ``Ledger`` protocol: what a session, a platform or the command line may ask of any ledger."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from pydplib.budget.chain import Entry, Head
from pydplib.budget.costs import Cost
from pydplib.budget.keys import ReleaseKey
from pydplib.budget.limits import Limits
from pydplib.budget.rules import Bar, Limit, Refusal, Remaining, State, add, pay, remaining
from pydplib.budget.store import Account
from pydplib.budget.units import Amount
from pydplib.budget.workflow import Reservation
from pydplib.guarantee import ApproxDP, LocalDP, PureDP, Relation


@dataclass(frozen=True, slots=True)
class Quote:
    """What paying would mean for an account now; nothing is spent.

    Args:
        costs: What would be debited, one after the other; nothing where all of it was paid before.
        left: What is left of the budget now.
        after: What would be left after; none if the budget cannot pay for all of it.
        bar: What is spent and what is asked for, of the whole.
    """

    costs: tuple[Cost, ...]
    left: Remaining
    after: Remaining | None
    bar: Bar

    @classmethod
    def of(cls, state: State, limit: Limit, *costs: Cost) -> Quote:
        """Return what ``costs`` would mean for an account that has spent ``state`` of ``limit``."""
        paid: State | Refusal = state
        whole = state
        for cost in costs:
            whole = add(whole, cost)
            paid = paid if isinstance(paid, Refusal) else pay(paid, cost, limit)
        after = None if isinstance(paid, Refusal) else remaining(paid, limit)
        return cls(costs, remaining(state, limit), after, Bar.of(state, whole, limit))

    @property
    def free(self) -> bool:
        """Whether there is nothing to pay."""
        return not self.costs

    @property
    def nano(self) -> int:
        """The sum of epsilon, in nano-epsilon."""
        return sum(cost.nano_epsilon or 0 for cost in self.costs)

    @property
    def affordable(self) -> bool:
        """Whether the budget can pay for all of it."""
        return self.after is not None


@runtime_checkable
class Ledger(Protocol):
    """Who was told how much: budgets, debits, the cache of releases and the chain that proves it."""

    def reading(self) -> AbstractContextManager[None]:
        """Let what is read inside be one state of the ledger, where reading costs something; nothing is written."""
        ...

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

    def open_accounts(
        self, *, lineage: str, limits: Mapping[str | None, PureDP | ApproxDP | LocalDP], role: str | None = None
    ) -> list[Account]:
        """Open several budgets in one transaction: recipient, or none for the lineage's own -> limit."""
        ...

    def change_limit(
        self, *, lineage: str, limit: PureDP | ApproxDP | LocalDP, by: str, recipient: str | None = None
    ) -> Account:
        """Write down another limit by an act of the owner, for those who pay without a policy; nothing is refunded."""
        ...

    def reserve(
        self,
        key: ReleaseKey,
        *,
        recipient: str,
        role: str,
        limits: Limits | None = None,
        opens: Mapping[str | None, PureDP | ApproxDP | LocalDP] | None = None,
        look_first: bool = True,
    ) -> Reservation:
        """Find or pay for a release; raises ``BudgetError`` with asked and left.

        ``limits`` are those of the policy of the day; they bind in the same transaction, in which ``opens``
        opens budgets first. ``look_first`` looks for a stored answer before the write lock is taken.
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

    def is_paid(self, key: ReleaseKey, *, recipient: str) -> bool:
        """Tell whether a recipient has paid for this release already: asking again is free."""
        ...

    def stored(self, key: ReleaseKey, *, recipient: str) -> bytes | None:
        """Return the answer that a recipient has paid for before, if it is there; reads only."""
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
        """Return what is left of the limit told last. The lineage's own (no recipient) is for the owner's eyes only."""
        ...

    def last_limit(
        self, *, lineage: str, recipient: str | None = None, relation: Relation = "add_remove"
    ) -> Limit | None:
        """Return the limit that the ledger was told last about a budget; none if it is not open."""
        ...

    def accounts(self, *, lineage: str | None = None, recipient: str | None = None) -> list[Account]:
        """Return what was spent of the budgets."""
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
