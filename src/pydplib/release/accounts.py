"""What a session may spend: what was opened in the ledger, and never more than the terms of today."""

from __future__ import annotations

from dataclasses import dataclass, replace

from pydplib.budget.costs import Cost
from pydplib.budget.ledger import Ledger, Quote
from pydplib.budget.rules import Limit, Refusal, Remaining, State, pay, remaining
from pydplib.budget.store import Account
from pydplib.errors import BudgetError
from pydplib.guarantee import ApproxDP, LocalDP, PureDP, Relation


def find_account(
    ledger: Ledger, lineage: str, recipient: str | None, relation: Relation = "add_remove"
) -> Account | None:
    """Return an open budget; without a recipient, the data set's own."""
    for account in ledger.accounts(lineage=lineage, recipient=recipient):
        if (account.recipient is None) == (recipient is None) and account.limit.relation == relation:
            return account
    return None


def stricter(opened: Limit, terms: PureDP | ApproxDP | LocalDP | None) -> Limit:
    """Return the smaller of what was opened and what the terms give today.

    A pure budget stays pure. Terms without a delta say nothing about one.

    Examples:
        >>> print(stricter(Limit.of(PureDP(2.0)), PureDP(0.5)), stricter(Limit.of(PureDP(0.5)), None), sep=", ")
        epsilon 0.5, epsilon 0.5
    """
    if terms is None:
        return opened
    today = Limit.of(terms)
    found = replace(opened, nano_epsilon=min(opened.nano_epsilon, today.nano_epsilon))
    if opened.is_pure or today.is_pure or today.atto_delta >= opened.atto_delta:
        return found
    return replace(
        found, atto_delta=today.atto_delta, atto_conversion=min(opened.atto_conversion, today.atto_delta // 2)
    )


@dataclass(frozen=True, slots=True)
class Purse:
    """One recipient's budget and the data set's, as they are opened and as today's terms have them.

    Args:
        ledger: Where they are written down.
        lineage: The tables that they are about.
        recipient: Whose budget.
        own: What today's terms give the recipient; None for whatever was opened.
        whole: What today's policy gives all recipients together.
        relation: Which of their budgets: that of statistics, or that of single records.
    """

    ledger: Ledger
    lineage: str
    recipient: str
    own: PureDP | ApproxDP | LocalDP | None
    whole: PureDP | ApproxDP | LocalDP
    relation: Relation = "add_remove"

    def _state(self) -> tuple[State, Limit]:
        account = find_account(self.ledger, self.lineage, self.recipient, self.relation)
        if account is not None:
            return account.state, stricter(account.limit, self.own)
        return State(), Limit.of(self.own or self.whole)

    @property
    def left(self) -> Remaining:
        """What the recipient can still spend; a budget that is not open yet is whole."""
        return remaining(*self._state())

    def quote(self, cost: Cost, *, free: bool) -> Quote:
        """Return what a question would cost now; nothing is spent."""
        state, limit = self._state()
        left = remaining(state, limit)
        if free:
            return Quote(True, cost, left, left)
        after = pay(state, cost, limit)
        return Quote(False, cost, left, None if isinstance(after, Refusal) else remaining(after, limit))

    def check(self, cost: Cost) -> None:
        """Raise ``BudgetError`` where today's terms are stricter than what was opened and cannot pay.

        The ledger itself keeps what was opened, in one transaction with the debit; this comes before it.
        """
        for whose, terms in ((self.recipient, self.own), (None, self.whole)):
            account = find_account(self.ledger, self.lineage, whose, self.relation)
            limit = None if account is None else stricter(account.limit, terms)
            if account is None or limit is None or limit == account.limit:
                continue  # the ledger's own check is the same, and enters its refusal
            found = pay(account.state, cost, limit)
            if isinstance(found, Refusal):
                # What is left of the data set's budget depends on what others asked.
                left = f", left {found.left}" if whose else ""
                name = f"budget of '{whose}'" if whose else "data set's own budget, shared by all recipients,"
                raise BudgetError(
                    f"The {name} cannot pay for this question under today's policy: asked {found.asked}{left}. Nothing "
                    "was spent. What you were answered before stays free.",
                    asked=found.asked,
                    left=found.left if whose else None,
                )
