"""Replay a whole ledger: the chain, the sums, the payments and the stored answers must all agree."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from pydplib.budget.chain import Entry, Head, check_chain, check_head
from pydplib.budget.keys import sha256_hex
from pydplib.budget.rules import Limit, State, add, can_pay
from pydplib.budget.store import Account, Store
from pydplib.errors import LedgerError
from pydplib.guarantee import Relation

AccountName = tuple[str, str | None, Relation]


class DamagedLedgerError(LedgerError):
    """The ledger does not agree with itself: somebody changed it by other means than the ledger's own."""


def check_sums(store: Store, account: Account) -> Limit:
    """Raise unless an account is as the last entry about it left it; called in the transaction of every debit.

    Whoever sets the stored sums back, or raises the limit in the last entry, is found before the next answer, not only
    by ``verify``. Entries of version 0.1 carry no sums; there the lineage is replayed once.

    Returns:
        The limit that the entry tells.

    Raises:
        DamagedLedgerError: Nothing was spent.
    """
    entry = last_about(store, account.lineage, account.recipient, account.relation)
    told = None if entry is None else _told(entry, account.recipient)
    if entry is not None and told is not None:
        limit = _limit(entry, told)
        if told != account.sums(limit) or entry.sealed() != entry:
            raise _damaged("the stored sums are not those of the last entry about this budget")
        return limit
    replayed = _replay([*store.entries(lineage=account.lineage)])
    name = (account.lineage, account.recipient, account.relation)
    if replayed.versions.get(name) != account.version or not is_sum(account.state, replayed.states[name]):
        raise _damaged("the stored sums are not the sums of the entries")
    return replayed.limits[name]


def last_limit(store: Store, lineage: str, recipient: str | None, relation: Relation) -> Limit | None:
    """Return the limit that the last entry about an account tells; none if it was never opened."""
    for entry in _about(store, lineage, recipient, relation):
        told = _told(entry, recipient)
        if told is not None or entry.kind in ("open", "limit"):
            return _limit(entry, told)
    return None


def check_unopened(store: Store, lineage: str, recipient: str | None, relation: Relation) -> None:
    """Raise if an account that is not there was opened before: its row was deleted, and a new one would be empty.

    Raises:
        DamagedLedgerError: Nothing was opened.
    """
    if last_about(store, lineage, recipient, relation) is not None:
        raise _damaged("a budget that was opened is missing")


def limits_paid_under(entries: Iterable[Entry], recipient: str | None) -> Iterator[Limit]:
    """Return the limits that were in force when a recipient (without one: the data set) paid, of entries in order."""
    opened: dict[Relation, Limit] = {}
    for entry in entries:
        if entry.kind in ("open", "limit") and entry.recipient == recipient:
            limit = _limit(entry)
            opened[limit.relation] = limit
        elif entry.kind in (("debit", "share") if recipient else ("debit",)) and entry.cost is not None:
            told = _told(entry, recipient)
            yield opened[entry.cost.relation] if told is None else _limit(entry, told)


def last_about(store: Store, lineage: str, recipient: str | None, relation: Relation) -> Entry | None:
    """Return the last entry that opened, changed or debited an account."""
    return next(_about(store, lineage, recipient, relation), None)


def _about(store: Store, lineage: str, recipient: str | None, relation: Relation) -> Iterator[Entry]:
    """Return the entries that opened, changed or debited an account, the last one first."""
    debits = ("debit", "share") if recipient else ("debit",)  # a share debits no lineage
    for entry in store.newest(lineage, recipient):
        if entry.kind in ("open", "limit"):
            found = entry.recipient == recipient and _limit(entry).relation == relation
        else:
            found = entry.kind in debits and entry.cost is not None and entry.cost.relation == relation
        if found:
            yield entry


def sums_of(accounts: Iterable[tuple[Account, Limit]]) -> dict[str, Any]:
    """Return what an entry says about the budgets that it changed; the data set's is for the owner's eyes."""
    return {_side(account.recipient): account.sums(limit) for account, limit in accounts}


def _side(recipient: str | None) -> str:
    return "recipient" if recipient else "data_set"


def _told(entry: Entry, recipient: str | None) -> Mapping[str, Any] | None:
    """Return what an entry says about a budget that it changed; none in entries of version 0.1."""
    found: Mapping[str, Any] | None = entry.details.get("sums", {}).get(_side(recipient))
    return found


def is_sum(stored: State, told: State) -> bool:
    """Return whether stored sums are those that the entries add up to.

    Where something without a pure epsilon was paid, earlier versions kept no sum of the others: what is stored then
    says less and allows less.
    """
    if stored == told:
        return True
    older = State(None, told.nano_rho, told.atto_delta)
    return stored == older and told.nano_gaussian > 0


def verify_store(store: Store, *, ledger: str, head: Head | None = None) -> Head:
    """Return the head of a sound ledger; raise ``LedgerError`` that names the first thing wrong."""
    entries = list(store.entries())
    last = check_chain(entries)
    if head is not None:
        at = entries[head.entries - 1].hash if 0 < head.entries <= len(entries) else None
        check_head(head, ledger=ledger, entries=len(entries), hash_at=at)
    if any(entry.details.get("ledger", ledger) != ledger for entry in entries):
        raise _damaged("the ledger's name is not the one that its entries carry")
    _check_tables(store, _replay(entries))
    return Head(ledger, len(entries), last)


@dataclass(kw_only=True)
class _Replayed:
    """What the tables must hold, as the entries tell it."""

    limits: dict[AccountName, Limit] = field(default_factory=dict)
    states: dict[AccountName, State] = field(default_factory=dict)
    versions: dict[AccountName, int] = field(default_factory=dict)
    payments: set[tuple[str, str, int]] = field(default_factory=set)
    questions: dict[str, tuple[str | None, str, Any]] = field(default_factory=dict)
    answers: dict[str, tuple[int, str]] = field(default_factory=dict)

    def open_or_change(self, entry: Entry) -> None:
        """An account is opened once, and its limit changed only after that."""
        limit = _limit(entry)
        name = (entry.lineage, entry.recipient, limit.relation)
        if (name in self.limits) == (entry.kind == "open"):
            raise _damaged(f"entry {entry.number} opens or changes an account out of turn")
        self.limits[name] = limit
        self.states.setdefault(name, State())
        self.versions[name] = self.versions.get(name, -1) + 1
        self._check_sums(entry, [name])

    def pay(self, entry: Entry) -> None:
        """Whoever asks pays; the lineage pays for the first of them."""
        if entry.cost is None or entry.release is None or entry.recipient is None:
            raise _damaged(f"entry {entry.number} is a debit without cost, release or recipient")
        if (entry.release in self.questions) == (entry.kind == "debit"):
            raise _damaged(f"entry {entry.number} charges the wrong accounts")
        payers = (entry.recipient, None) if entry.kind == "debit" else (entry.recipient,)
        names: list[AccountName] = [(entry.lineage, payer, entry.cost.relation) for payer in payers]
        for name in names:
            told = _told(entry, name[1])
            if told is not None and name in self.limits:  # the policy of that day; entries of version 0.1 tell none
                self.limits[name] = _limit(entry, told)
            if name not in self.limits or not can_pay(self.states[name], entry.cost, self.limits[name]):
                raise _damaged(f"entry {entry.number} was granted against the rules")
            self.states[name] = add(self.states[name], entry.cost)
            self.versions[name] += 1
        self._check_sums(entry, names)
        asked = (entry.question_hash, entry.lineage, entry.details.get("snapshot"))
        if self.questions.setdefault(entry.release, asked) != asked:
            raise _damaged(f"entry {entry.number} is about another question than the one that was reserved")
        self.payments.add((entry.release, entry.recipient, entry.number))

    def _check_sums(self, entry: Entry, names: list[AccountName]) -> None:
        """What an entry says about the budgets that it changed is what all entries up to it add up to."""
        accounts = [(Account(*n, self.states[n], version=self.versions[n]), self.limits[n]) for n in names]
        told = entry.details.get("sums", sums_of(accounts))
        for account, limit in accounts:
            sums = told.get(_side(account.recipient), {})
            if sums == account.sums(limit):
                continue
            older = replace(account, state=replace(account.state, nano_epsilon=None, nano_gaussian=0))
            if account.state.nano_gaussian == 0 or sums != older.sums(limit):
                raise _damaged(f"entry {entry.number} tells other sums than the entries up to it")
        if len(told) != len(accounts):
            raise _damaged(f"entry {entry.number} tells other sums than the entries up to it")

    def answer(self, entry: Entry) -> None:
        """What was reserved is answered once."""
        if entry.release is None or entry.release not in self.questions or entry.release in self.answers:
            raise _damaged(f"entry {entry.number} answers what was not reserved")
        self.answers[entry.release] = (entry.number, str(entry.details.get("payload_hash")))


def _replay(entries: list[Entry]) -> _Replayed:
    replayed = _Replayed()
    for entry in entries:
        if entry.kind in ("open", "limit"):
            replayed.open_or_change(entry)
        elif entry.kind in ("debit", "share"):
            replayed.pay(entry)
        elif entry.kind == "answer":
            replayed.answer(entry)
    return replayed


def _check_tables(store: Store, told: _Replayed) -> None:
    stored = {(a.lineage, a.recipient, a.relation): a for a in store.accounts()}
    if {name: account.version for name, account in stored.items()} != told.versions or not all(
        is_sum(account.state, told.states[name]) for name, account in stored.items()
    ):
        raise _damaged("the stored sums are not the sums of the entries")
    if set(store.payments()) != told.payments:
        raise _damaged("the list of who paid for what does not fit the entries")
    seen: set[str] = set()
    for release in store.releases():
        seen.add(release.digest)
        if told.questions.get(release.digest) != (sha256_hex(release.question), release.lineage, release.snapshot):
            raise _damaged("a stored question, its data set or its snapshot was changed")
        answer = None if release.payload is None else (release.answer, sha256_hex(release.payload))
        if answer != told.answers.get(release.digest):
            raise _damaged("a stored answer was changed")
    if seen != set(told.questions):
        raise _damaged("a stored release is missing")


def _limit(entry: Entry, told: Mapping[str, Any] | None = None) -> Limit:
    """Return the limit that an entry tells: of one budget that it changed, or that it opens."""
    try:
        return Limit(**(entry.details if told is None else told).get("limit", {}))
    except TypeError:
        raise _damaged(f"entry {entry.number} has no limit") from None


def _damaged(what: str) -> DamagedLedgerError:
    return DamagedLedgerError(f"The ledger is damaged: {what}. Restore a backup and compare it with the exported head.")
