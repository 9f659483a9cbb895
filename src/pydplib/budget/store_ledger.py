"""The one implementation of the ``Ledger`` protocol, over whatever store an adapter offers."""

from __future__ import annotations

import datetime as dt
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace
from typing import Any

from pydplib.budget import workflow
from pydplib.budget.chain import Entry, Head, Kind
from pydplib.budget.costs import Cost, check_relation
from pydplib.budget.keys import ReleaseKey, check_name
from pydplib.budget.ledger import Quote
from pydplib.budget.limits import Limits
from pydplib.budget.rules import Limit, Remaining, State, remaining
from pydplib.budget.store import Account, Store
from pydplib.budget.units import Amount
from pydplib.budget.verify import check_sums, check_unopened, last_limit, sums_of, verify_store
from pydplib.budget.workflow import Refused, Reservation
from pydplib.errors import BudgetError, ParameterError
from pydplib.guarantee import ApproxDP, LocalDP, PureDP, Relation

UNSPECIFIED = "unspecified"
"""What is entered where a recipient asks in no role."""


class StoreLedger(ABC):
    """A ledger over a store: the whole protocol, given transactions.

    A subclass offers ``_transaction`` (write lock held, committed at the end, rolled back on
    an exception), ``_snapshot`` (a consistent view for reading) and ``name``.
    """

    @property
    @abstractmethod
    def name(self) -> str:
        """The ledger's own random name, made with it."""

    @abstractmethod
    def _transaction(self) -> AbstractContextManager[Store]: ...

    @abstractmethod
    def _snapshot(self) -> AbstractContextManager[Store]: ...

    def _now(self) -> str:
        return dt.datetime.now(dt.UTC).isoformat(timespec="microseconds")

    def _signed(self, details: dict[str, Any]) -> dict[str, Any]:
        """Return an entry's details with the ledger's name, so that the chain knows whose it is."""
        return {**details, "ledger": self.name}

    @contextmanager
    def reading(self) -> Iterator[None]:
        """Let what is read inside be one state of the ledger, where reading costs something; nothing is written."""
        yield

    def open_account(
        self,
        *,
        lineage: str,
        limit: PureDP | ApproxDP | LocalDP,
        recipient: str | None = None,
        delta_conversion: Amount | None = None,
        role: str | None = None,
    ) -> Account:
        """Open a budget for a recipient, or without one the lineage's own over all recipients.

        Opening it again with the same limit changes nothing, so a notebook may run twice. The limit is written down; it
        binds whoever pays without limits of their own (``reserve``).

        Args:
            lineage: All tables that may share persons.
            limit: ``PureDP(epsilon)`` or ``ApproxDP(epsilon, delta)``; its relation is the account's.
            recipient: Whose budget; none for the lineage's own.
            delta_conversion: The part of delta for the zCDP conversion; by default one half.
            role: The recipient's role, for the record; a session without one takes it over (``role_of``).
        """
        if role is not None:
            check_name("role", role)
        wanted = Limit.of(limit, delta_conversion=delta_conversion)
        return self._open_all([(*_who(lineage, recipient), wanted, role)])[0]

    def open_accounts(
        self, *, lineage: str, limits: Mapping[str | None, PureDP | ApproxDP | LocalDP], role: str | None = None
    ) -> list[Account]:
        """Open several budgets in one transaction: recipient, or none for the lineage's own -> limit.

        Args:
            lineage: All tables that may share persons.
            limits: Whose budget -> its limit, in the order in which they are entered.
            role: The role of the recipients, for the record.
        """
        return self._open_all(self._wanted(lineage, limits, role))

    @staticmethod
    def _wanted(
        lineage: str, limits: Mapping[str | None, PureDP | ApproxDP | LocalDP], role: str | None
    ) -> list[tuple[str, str | None, Limit, str | None]]:
        if role is not None:
            check_name("role", role)
        return [(*_who(lineage, who), Limit.of(limit), role if who else None) for who, limit in limits.items()]

    def _open_all(self, wanted: Iterable[tuple[str, str | None, Limit, str | None]]) -> list[Account]:
        name = self.name
        with self._transaction() as store:
            return [self._open_one(store, name, *each) for each in wanted]

    def _open_one(
        self,
        store: Store,
        name: str,
        lineage: str,
        recipient: str | None,
        wanted: Limit,
        role: str | None,
        *,
        again: bool = False,
    ) -> Account:
        found = store.get_account(lineage, recipient, wanted.relation)
        if found is not None and again:
            return found
        if found is not None:
            last = last_limit(store, lineage, recipient, wanted.relation)
            if last == wanted:
                return found
            whose = f"for '{recipient}'" if recipient else "for the data set"
            raise BudgetError(
                f"A budget {whose} is open with another limit ({last}). Asked for {wanted}. "
                "Use the same limit, or let the owner change it with change_limit().",
                asked=str(wanted),
            )
        check_unopened(store, lineage, recipient, wanted.relation)
        account = Account(lineage=lineage, recipient=recipient, relation=wanted.relation, state=State())
        store.add_account(account)
        workflow.append(
            store,
            "open",
            lineage,
            self._now(),
            recipient=recipient,
            role=role,
            details={"limit": wanted.to_dict(), "sums": sums_of([(account, wanted)]), "ledger": name},
        )
        return account

    def change_limit(
        self, *, lineage: str, limit: PureDP | ApproxDP | LocalDP, by: str, recipient: str | None = None
    ) -> Account:
        """Write down another limit by an act of the owner, for those who pay without a policy; nothing is refunded.

        Its type and its delta stay. From then on the guarantee of all releases together is the new limit.

        Args:
            lineage: All tables that may share persons.
            limit: The new limit.
            by: Who decided it.
            recipient: Whose budget; none for the lineage's own.
        """
        check_name("name of who decided", by)
        lineage, recipient = _who(lineage, recipient)
        wanted = Limit.of(limit)
        with self._transaction() as store:
            found = store.get_account(lineage, recipient, wanted.relation)
            if found is None:
                raise BudgetError("This budget is not open, so its limit cannot be changed. Use open_account().")
            last = check_sums(store, found)
            if last.atto_delta != wanted.atto_delta:
                raise ParameterError("Type and delta of a budget are fixed when it is opened: change its epsilon only.")
            changed = replace(last, nano_epsilon=wanted.nano_epsilon)
            account = replace(found, version=found.version + 1)
            workflow.save(store, account)
            details = self._signed({"limit": changed.to_dict(), "by": by, "sums": sums_of([(account, changed)])})
            workflow.append(store, "limit", lineage, self._now(), recipient=recipient, details=details)
            return account

    def words_for(self, recipient: str | None) -> str:
        """Return what readers call a recipient; empty for its name."""
        return ""

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
        """Find or pay for a release: the debit is stored before a row is read.

        Args:
            key: The release.
            recipient: Who gets the answer and pays.
            role: The recipient's role, for the record.
            limits: What may be spent by the policy of the day. It is compared with the sums in the transaction of the
                debit, so that parallel debits never exceed it, and written into the entry. Without it, the limits
                that the ledger was told last.
            opens: Budgets that are opened with it, in the same transaction; as for ``open_accounts``.
            look_first: Whether to look for a stored answer before the write lock is taken; no need for a caller who
                has looked just now.

        Raises:
            BudgetError: With ``asked`` and ``left``; nothing was spent.
        """
        recipient = check_name("recipient", recipient)
        check_name("role", role)
        found: Reservation | None = None
        if look_first:
            with self._snapshot() as store:  # a repeated question need not wait for the write lock
                found = workflow.find(store, key, recipient=recipient, role=role)
        if found is not None:
            return found
        new = self._wanted(key.lineage, opens or {}, role)
        name = self.name if new else ""
        with self._transaction() as store:
            for each in new:
                self._open_one(store, name, *each, again=True)
            outcome = workflow.reserve(store, key, recipient=recipient, role=role, time=self._now(), limits=limits)
        if isinstance(outcome, Refused):
            raise workflow.to_error(outcome, whose=self.words_for(outcome.recipient))
        return outcome

    def finish(self, reservation: Reservation, payload: bytes) -> bytes:
        """Store the answer where still reserved and return the stored one: show only that.

        Args:
            reservation: What ``reserve`` returned.
            payload: The answer, as the bytes that everybody will get.
        """
        if not isinstance(payload, bytes):
            raise ParameterError(f"An answer is stored as bytes. Got {type(payload).__name__}.")
        with self._transaction() as store:
            return workflow.finish(store, reservation, payload, time=self._now())

    def role_of(self, *, lineage: str, recipient: str) -> str | None:
        """Return the role in which a recipient was entered last, if in any."""
        lineage, recipient = check_name("lineage", lineage), check_name("recipient", recipient)
        with self._snapshot() as store:
            for entry in store.newest(lineage, recipient):
                if entry.role is not None and entry.role != UNSPECIFIED:
                    return entry.role
        return None

    def quote(self, key: ReleaseKey, *, recipient: str) -> Quote:
        """Return what the question would cost its recipient, without spending and without touching data."""
        recipient = check_name("recipient", recipient)
        with self._snapshot() as store:
            state, limit = self._account(store, key.lineage, recipient, key.cost.relation)
            free = store.get_payment(key.digest, recipient) is not None
        return Quote.of(state, limit, *(() if free else (key.cost,)))

    def is_paid(self, key: ReleaseKey, *, recipient: str) -> bool:
        """Tell whether a recipient has paid for this release already: asking again is free."""
        recipient = check_name("recipient", recipient)
        with self._snapshot() as store:
            return store.get_payment(key.digest, recipient) is not None

    def stored(self, key: ReleaseKey, *, recipient: str) -> bytes | None:
        """Return the answer that a recipient has paid for before, if it is there; reads only."""
        recipient = check_name("recipient", recipient)
        with self._snapshot() as store:
            found = workflow.find(store, key, recipient=recipient, role=UNSPECIFIED)
        return None if found is None else found.payload

    def is_paid_by_data_set(self, key: ReleaseKey) -> bool:
        """Tell whether somebody has paid for this release already: the data set does not pay for it again."""
        with self._snapshot() as store:
            return store.get_release(key.digest) is not None

    def received(self, *, lineage: str, snapshot: str, recipient: str, mechanism: str) -> list[bytes]:
        """Return the stored answers of one mechanism that a recipient has paid for, oldest first.

        Args:
            lineage: The tables that were asked.
            snapshot: Their published state.
            recipient: Whose answers: nobody else's.
            mechanism: What added the noise, as the cost names it.
        """
        lineage, recipient = check_name("lineage", lineage), check_name("recipient", recipient)
        found: dict[str, bytes] = {}
        with self._snapshot() as store:
            for entry in store.entries(lineage=lineage, recipient=recipient):
                if entry.release is None or entry.cost is None or entry.cost.mechanism != mechanism:
                    continue
                if entry.release in found or store.get_payment(entry.release, recipient) is None:
                    continue
                release = store.get_release(entry.release)
                payload = None if release is None else workflow.read_payload(store, release)
                if release is not None and release.snapshot == snapshot and payload is not None:
                    found[entry.release] = payload
        return list(found.values())

    def enter_no_dp(self, *, lineage: str, recipient: str, role: str, mechanism: str, note: str = "") -> Entry:
        """Enter something without differential privacy that left: an anonymized table, paper-mode data."""
        return self._enter("no_dp", lineage, recipient, role, Cost.no_dp(mechanism=mechanism), note)

    def enter_look(self, *, lineage: str, recipient: str, role: str, note: str = "") -> Entry:
        """Enter the owner's look at raw data: logged, not debited."""
        return self._enter("look", lineage, recipient, role, None, note)

    def _enter(
        self,
        kind: Kind,
        lineage: str,
        recipient: str,
        role: str,
        cost: Cost | None,
        note: str,
    ) -> Entry:
        lineage, recipient = check_name("lineage", lineage), check_name("recipient", recipient)
        check_name("role", role)
        details = self._signed({"note": check_name("note", note)} if note else {})
        with self._transaction() as store:
            number = workflow.append(
                store, kind, lineage, self._now(), recipient=recipient, role=role, cost=cost, details=details
            )
            entry = store.get_entry(number)
            assert entry is not None
            return entry

    def remaining(self, *, lineage: str, recipient: str | None = None, relation: Relation = "add_remove") -> Remaining:
        """Return what is left of the limit that the ledger was told last; another policy may leave more or less.

        The lineage's own budget (no recipient) is for the owner's eyes only.
        """
        check_relation(relation)
        lineage, recipient = _who(lineage, recipient)
        with self._snapshot() as store:
            return remaining(*self._account(store, lineage, recipient, relation))

    def last_limit(
        self, *, lineage: str, recipient: str | None = None, relation: Relation = "add_remove"
    ) -> Limit | None:
        """Return the limit that the ledger was told last about a budget; none if it is not open."""
        check_relation(relation)
        lineage, recipient = _who(lineage, recipient)
        with self._snapshot() as store:
            return last_limit(store, lineage, recipient, relation)

    def accounts(self, *, lineage: str | None = None, recipient: str | None = None) -> list[Account]:
        """Return what was spent of the budgets, of all or of one lineage or recipient."""
        lineage, recipient = _spelled("lineage", lineage), _spelled("recipient", recipient)
        with self._snapshot() as store:
            return list(store.accounts(lineage=lineage, recipient=recipient))

    def entries(self, *, lineage: str | None = None, recipient: str | None = None) -> list[Entry]:
        """Return the entries in order, of all or of one lineage or recipient."""
        lineage, recipient = _spelled("lineage", lineage), _spelled("recipient", recipient)
        with self._snapshot() as store:
            return list(store.entries(lineage=lineage, recipient=recipient))

    def questions(self) -> dict[str, str]:
        """Return key -> canonical question of every release, for the owner's eyes."""
        with self._snapshot() as store:
            return {release.digest: release.question for release in store.releases()}

    def head(self) -> Head:
        """Return the end of the chain, to be kept in another place."""
        with self._snapshot() as store:
            return Head(self.name, *store.last_link())

    def verify(self, head: Head | None = None) -> Head:
        """Replay the chain, the sums and the stored answers; with ``head``, notice a roll-back or replacement.

        Raises:
            LedgerError: Names the first thing that does not fit.
        """
        with self._snapshot() as store:
            return verify_store(store, ledger=self.name, head=head)

    @staticmethod
    def _account(store: Store, lineage: str, recipient: str | None, relation: Relation) -> tuple[State, Limit]:
        """Return what was spent of a budget, and the limit that the ledger was told last."""
        account = store.get_account(lineage, recipient, relation)
        limit = None if account is None else last_limit(store, lineage, recipient, relation)
        if account is None or limit is None:
            whose = f"'{recipient}'" if recipient else "the data set"
            raise BudgetError(
                f"No budget is open for {whose} under the '{relation}' relation. The owner opens one with "
                "open_account().",
                left="no budget",
            )
        return account.state, limit


def _who(lineage: str, recipient: str | None) -> tuple[str, str | None]:
    """Return whose budget is meant, as the ledger spells them."""
    return check_name("lineage", lineage), _spelled("recipient", recipient)


def _spelled(what: str, name: str | None) -> str | None:
    """Return a name as the ledger spells it; one that cannot be in a ledger is an error."""
    return None if name is None else check_name(what, name)
