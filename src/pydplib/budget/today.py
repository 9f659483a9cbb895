"""Terms that became stricter after a budget was opened: the smaller binds, in the debit's own transaction."""

from __future__ import annotations

from dataclasses import dataclass, replace

from pydplib.budget.rules import Limit
from pydplib.budget.store import Account
from pydplib.errors import ParameterError
from pydplib.guarantee import ApproxDP, LocalDP, PureDP


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
    if today.relation != opened.relation:
        raise ParameterError(
            f"Terms of the '{today.relation}' relation say nothing about a budget of the '{opened.relation}' relation."
        )
    found = replace(opened, nano_epsilon=min(opened.nano_epsilon, today.nano_epsilon))
    if opened.is_pure or today.is_pure or today.atto_delta >= opened.atto_delta:
        return found
    return replace(
        found, atto_delta=today.atto_delta, atto_conversion=min(opened.atto_conversion, today.atto_delta // 2)
    )


@dataclass(frozen=True, slots=True)
class Today:
    """What the terms of today give, which may be less than what was opened; it is never more.

    Args:
        recipient: What the recipient may spend in total; None for whatever was opened.
        data_set: What all recipients together may spend; None for whatever was opened.

    Examples:
        >>> from pydplib.budget.rules import State
        >>> opened = Account("reports", "acme", Limit.of(PureDP(2.0)), State())
        >>> print(Today(recipient=PureDP(0.5)).limit(opened), "-", Today().limit(opened))
        epsilon 0.5 - epsilon 2
    """

    recipient: PureDP | ApproxDP | LocalDP | None = None
    data_set: PureDP | ApproxDP | LocalDP | None = None

    def limit(self, account: Account) -> Limit:
        """Return what an account may spend: the smaller of what was opened and what is given today."""
        return stricter(account.limit, self.data_set if account.recipient is None else self.recipient)
