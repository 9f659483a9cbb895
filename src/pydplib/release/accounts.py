"""What a session may spend: what was opened in the ledger, and never more than the terms of today."""

from __future__ import annotations

from dataclasses import dataclass

from pydplib.budget.costs import Cost
from pydplib.budget.ledger import Ledger, Quote
from pydplib.budget.rules import Limit, Remaining, State, remaining
from pydplib.budget.store import Account
from pydplib.budget.today import Today
from pydplib.guarantee import ApproxDP, PureDP, Relation


def find_account(
    ledger: Ledger, lineage: str, recipient: str | None, relation: Relation = "add_remove"
) -> Account | None:
    """Return an open budget; without a recipient, the data set's own."""
    for account in ledger.accounts(lineage=lineage, recipient=recipient):
        if (account.recipient is None) == (recipient is None) and account.limit.relation == relation:
            return account
    return None


@dataclass(frozen=True, slots=True)
class Purse:
    """One recipient's budget and the data set's, as they are opened and as today's terms have them.

    Args:
        ledger: Where they are written down.
        lineage: The tables that they are about.
        recipient: Whose budget.
        own: What today's terms give the recipient; None for whatever was opened.
        whole: What today's policy gives all recipients together.
    """

    ledger: Ledger
    lineage: str
    recipient: str
    own: PureDP | ApproxDP | None
    whole: PureDP | ApproxDP

    @property
    def today(self) -> Today:
        """What today's terms give: the ledger keeps to it in one transaction with the debit."""
        return Today(self.own, self.whole)

    def _state(self) -> tuple[State, Limit]:
        account = find_account(self.ledger, self.lineage, self.recipient)
        if account is not None:
            return account.state, self.today.limit(account)
        return State(), Limit.of(self.own or self.whole)

    @property
    def left(self) -> Remaining:
        """What the recipient can still spend; a budget that is not open yet is whole."""
        return remaining(*self._state())

    def quote(self, cost: Cost, *, free: bool) -> Quote:
        """Return what a question would cost now; nothing is spent."""
        state, limit = self._state()
        return Quote.of(state, cost, limit, free=free)
