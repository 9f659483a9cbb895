"""What may be spent: the policy of the day, which whoever pays hands to the ledger with the debit."""

from __future__ import annotations

from dataclasses import dataclass

from pydplib.budget.rules import Limit
from pydplib.guarantee import ApproxDP, LocalDP, PureDP


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """What the policy of the day lets a recipient, and all recipients together, spend in total.

    The ledger compares its sums with them in the transaction of the debit and writes them into the entry. It stores no
    limit of its own: a limit that was lowered stops the next debit, and a raised one pays for it.

    Args:
        recipient: What the recipient may spend; None for the limit that the ledger was told last.
        data_set: What all recipients together may spend; None for the limit that the ledger was told last.

    Examples:
        >>> limits = Limits.of(recipient=PureDP(0.5))
        >>> print(limits.recipient, limits.data_set)
        epsilon 0.5 None
    """

    recipient: Limit | None = None
    data_set: Limit | None = None

    @classmethod
    def of(
        cls,
        *,
        recipient: PureDP | ApproxDP | LocalDP | None = None,
        data_set: PureDP | ApproxDP | LocalDP | None = None,
    ) -> Limits:
        """Return the limits that keep these guarantees as those of everything released together."""
        return cls(
            recipient=None if recipient is None else Limit.of(recipient),
            data_set=None if data_set is None else Limit.of(data_set),
        )

    def for_payer(self, recipient: str | None) -> Limit | None:
        """Return what a payer may spend; without a recipient, the data set."""
        return self.data_set if recipient is None else self.recipient
