"""What a session may spend by the policy of today, and what is left of it by the ledger."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

from pydplib.budget.costs import Cost
from pydplib.budget.ledger import Ledger, Quote
from pydplib.budget.limits import Limits
from pydplib.budget.rules import Limit, Remaining, State, remaining
from pydplib.budget.store import Account
from pydplib.guarantee import ApproxDP, PureDP, Relation


def find_account(
    ledger: Ledger, lineage: str, recipient: str | None, relation: Relation = "add_remove"
) -> Account | None:
    """Return an open budget; without a recipient, the data set's own."""
    for account in ledger.accounts(lineage=lineage, recipient=recipient):
        if (account.recipient is None) == (recipient is None) and account.relation == relation:
            return account
    return None


@dataclass(frozen=True, kw_only=True)
class SessionAccount:
    """One recipient's budget and the data set's: what was spent of them, and what today's policy gives.

    Args:
        ledger: Where it is written down what was spent.
        lineage: The tables that they are about.
        recipient: Whose budget.
        own: What today's policy gives the recipient; None for the limit that the ledger was told last.
        whole: What today's policy gives all recipients together.
        shows_whole: Whether what is left of the data set's own budget counts as well. It depends on what others asked:
            it is for owners, and for whoever runs the library.
    """

    ledger: Ledger
    lineage: str
    recipient: str
    own: PureDP | ApproxDP | None
    whole: PureDP | ApproxDP
    shows_whole: bool = True

    @cached_property
    def limits(self) -> Limits:
        """What today's policy gives: the ledger keeps to it in one transaction with the debit."""
        return Limits.of(recipient=self.own, data_set=self.whole)

    @property
    def has_spent(self) -> bool:
        """Whether the recipient has paid for anything yet."""
        account = find_account(self.ledger, self.lineage, self.recipient)
        return account is not None and account.state != State()

    def _state(self) -> tuple[State, Limit]:
        account = find_account(self.ledger, self.lineage, self.recipient)
        limit = self.limits.recipient or self.ledger.last_limit(lineage=self.lineage, recipient=self.recipient)
        return (State() if account is None else account.state), limit or Limit.of(self.whole)

    def _whole_state(self) -> tuple[State, Limit]:
        account = find_account(self.ledger, self.lineage, None)
        return (State() if account is None else account.state), Limit.of(self.whole)

    @property
    def left(self) -> Remaining:
        """What the recipient can still spend; a budget that is not open yet is whole."""
        own = remaining(*self._state())
        return _less(own, remaining(*self._whole_state())) if self.shows_whole else own

    def quote(self, *costs: Cost) -> Quote:
        """Return what paying would mean for the recipient's own budget; nothing is spent."""
        return Quote.of(*self._state(), *costs)

    def quote_whole(self, *costs: Cost) -> Quote:
        """Return what paying would mean for the data set's budget, for those to whom it is shown."""
        return Quote.of(*self._whole_state(), *costs)


def binding(own: Quote, whole: Quote) -> Quote:
    """Return what paying means where both budgets pay: what is left of the one that binds; the bar is the recipient's.

    Args:
        own: For the recipient.
        whole: For the data set, which does not pay for a release that another recipient has paid for.
    """
    after = None if own.after is None or whole.after is None else _less(own.after, whole.after)
    return replace(own, left=_less(own.left, whole.left), after=after)


def _less(own: Remaining, whole: Remaining) -> Remaining:
    """Return what is left of the budget that binds: the recipient's own, or the data set's, which then says so."""
    return replace(whole, is_shared=True) if whole.nano_epsilon < own.nano_epsilon else own
