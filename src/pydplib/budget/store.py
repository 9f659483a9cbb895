"""What a ledger stores, and the few operations that an adapter must offer inside one transaction."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import KW_ONLY, dataclass
from typing import Any, Literal, Protocol

from pydplib.budget.chain import Entry
from pydplib.budget.rules import Limit, State
from pydplib.guarantee import Relation


@dataclass(frozen=True, slots=True)
class Account:
    """What was spent of a budget. What may be spent is not here: the policy of the day says it at every debit.

    Args:
        lineage: The tables that it is about.
        recipient: Whose budget; none for the lineage's own, over all recipients.
        relation: The one neighbouring relation that it sums.
        state: What was spent.
        version: Counts the changes; a conditional update on it never loses one.
    """

    lineage: str
    recipient: str | None
    relation: Relation
    state: State
    _: KW_ONLY
    version: int = 0

    def is_of(self, lineage: str | None, recipient: str | None) -> bool:
        """Tell whether it is one of a lineage and of a recipient, where they are named."""
        return lineage in (None, self.lineage) and recipient in (None, self.recipient)

    def sums(self, limit: Limit) -> dict[str, Any]:
        """Return sums and version as plain values, and the limit they were within: the next debit compares."""
        return {"limit": limit.to_dict(), "spent": self.state.to_dict(), "version": self.version}


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredRelease:
    """A release in the cache.

    Args:
        digest: Its key.
        lineage: The tables that were asked.
        snapshot: Their published state.
        question: The canonical question.
        payload: The answer; none while it is only reserved.
        answer: The number of the entry that finished it; none while it is only reserved.
    """

    digest: str
    lineage: str
    snapshot: str
    question: str
    payload: bytes | None = None
    answer: int | None = None

    @property
    def state(self) -> Literal["reserved", "done"]:
        """``"reserved"`` (paid, not yet answered) or ``"done"``."""
        return "reserved" if self.payload is None else "done"


class Store(Protocol):
    """The rows of a ledger inside one transaction that holds the write lock.

    An adapter for another database offers these operations and nothing else; all rules
    live in ``pydplib.budget.workflow`` and ``pydplib.budget.rules``.
    """

    def get_account(self, lineage: str, recipient: str | None, relation: Relation) -> Account | None:
        """Return one account."""
        ...

    def add_account(self, account: Account) -> None:
        """Insert a new account."""
        ...

    def save_account(self, account: Account, *, expected: int) -> bool:
        """Write state and version where the stored version is still ``expected``; tell whether it was."""
        ...

    def get_release(self, digest: str) -> StoredRelease | None:
        """Return one release."""
        ...

    def add_release(self, release: StoredRelease) -> None:
        """Insert a reserved release."""
        ...

    def finish_release(self, digest: str, payload: bytes, answer: int) -> bool:
        """Write the answer where still reserved; tell whether it was."""
        ...

    def get_payment(self, digest: str, recipient: str) -> int | None:
        """Return the number of the entry by which ``recipient`` paid for the release."""
        ...

    def add_payment(self, digest: str, recipient: str, entry: int) -> None:
        """Remember who paid for the release."""
        ...

    def last_link(self) -> tuple[int, str]:
        """Return number and hash of the last entry; ``(0, GENESIS)`` if there is none."""
        ...

    def add_entry(self, entry: Entry) -> None:
        """Append a sealed entry."""
        ...

    def get_entry(self, number: int) -> Entry | None:
        """Return one entry."""
        ...

    def entries(self, *, lineage: str | None = None, recipient: str | None = None) -> Iterable[Entry]:
        """Return the entries in order, all of them or one lineage's or recipient's."""
        ...

    def newest(self, lineage: str, recipient: str | None = None) -> Iterable[Entry]:
        """Return the entries of a lineage, or of one recipient in it, the last one first; read as they are taken."""
        ...

    def accounts(self, *, lineage: str | None = None, recipient: str | None = None) -> Iterable[Account]:
        """Return the accounts, all of them or one lineage's or recipient's."""
        ...

    def releases(self) -> Iterable[StoredRelease]:
        """Return all releases."""
        ...

    def payments(self) -> Iterable[tuple[str, str, int]]:
        """Return all payments: release, recipient, entry."""
        ...
