"""The operations of ``pydplib.budget.Store`` on the platform's tables, inside one transaction."""

from __future__ import annotations

from collections.abc import Iterator
from typing import cast

from django.db import connection

from pydplib.budget.chain import Entry
from pydplib.budget.rules import State
from pydplib.budget.store import Account, StoredRelease
from pydplib.guarantee import Relation
from pydplib.web.ledger import models as rows


class DatabaseStore:
    """The ledger's rows; the caller holds the transaction and, for writing, the lock on the head.

    Args:
        head: The locked head row for writing; none for reading.
        seen: For reading: the head row as this transaction sees it, so that it is not read again.
        earlier: For reading: whether the tables may still be those of an earlier version, as after a restore.
    """

    def __init__(self, head: rows.Head | None = None, *, seen: rows.Head | None = None, earlier: bool = False) -> None:
        self._head, self._seen = head, seen
        self._accounts = rows.Account.objects.all()
        if earlier and not _has_gaussian_sums():
            self._accounts = self._accounts.defer("nano_gaussian")

    def get_account(self, lineage: str, recipient: str | None, relation: Relation) -> Account | None:
        """Return one account."""
        row = rows.Account.objects.filter(lineage=lineage, recipient=recipient or "", relation=relation).first()
        return None if row is None else _account(row)

    def add_account(self, account: Account) -> None:
        """Insert a new account."""
        rows.Account.objects.create(
            lineage=account.lineage,
            recipient=account.recipient or "",
            relation=account.relation,
            **_sums(account),
        )

    def save_account(self, account: Account, *, expected: int) -> bool:
        """Write an account where its version is still ``expected``."""
        where = rows.Account.objects.filter(
            lineage=account.lineage,
            recipient=account.recipient or "",
            relation=account.relation,
            version=expected,
        )
        return where.update(**_sums(account)) == 1

    def get_release(self, digest: str) -> StoredRelease | None:
        """Return one release."""
        row = rows.Release.objects.filter(digest=digest).first()
        return None if row is None else _release(row)

    def add_release(self, release: StoredRelease) -> None:
        """Insert a reserved release."""
        rows.Release.objects.create(
            digest=release.digest, lineage=release.lineage, snapshot=release.snapshot, question=release.question
        )

    def finish_release(self, digest: str, payload: bytes, answer: int) -> bool:
        """Write the answer where still reserved."""
        reserved = rows.Release.objects.filter(digest=digest, payload__isnull=True)
        return reserved.update(payload=payload, answer=answer) == 1

    def get_payment(self, digest: str, recipient: str) -> int | None:
        """Return the number of the entry by which ``recipient`` paid."""
        paid = rows.Payment.objects.filter(release_id=digest, recipient=recipient)
        number: int | None = paid.values_list("entry_id", flat=True).first()
        return number

    def add_payment(self, digest: str, recipient: str, entry: int) -> None:
        """Remember who paid."""
        rows.Payment.objects.create(release_id=digest, recipient=recipient, entry_id=entry)

    def last_link(self) -> tuple[int, str]:
        """Return number and hash of the last entry."""
        head = self._head or self._seen or rows.Head.objects.get(id=1)
        return head.number, head.hash

    def add_entry(self, entry: Entry) -> None:
        """Append a sealed entry and move the head."""
        assert self._head is not None, "a store for reading cannot append"
        rows.Entry.objects.create(
            number=entry.number,
            body=entry.body,
            hash=entry.hash,
            lineage=entry.lineage,
            recipient=entry.recipient or "",
        )
        self._head.number, self._head.hash = entry.number, entry.hash
        self._head.save(update_fields=["number", "hash"])

    def get_entry(self, number: int) -> Entry | None:
        """Return one entry."""
        row = rows.Entry.objects.filter(number=number).first()
        return None if row is None else Entry.from_body(row.body, row.hash)

    def hash_of(self, number: int) -> str | None:
        """Return the hash of one entry, by which the chain goes on."""
        found: str | None = rows.Entry.objects.filter(number=number).values_list("hash", flat=True).first()
        return found

    def entries(self, *, lineage: str | None = None, recipient: str | None = None) -> Iterator[Entry]:
        """Return the entries in order, all of them or one lineage's or recipient's."""
        found = rows.Entry.objects.order_by("number")
        if lineage is not None:
            found = found.filter(lineage=lineage)
        if recipient is not None:
            found = found.filter(recipient=recipient)
        for row in found.iterator(chunk_size=2000):
            yield Entry.from_body(row.body, row.hash)

    def newest(self, lineage: str, recipient: str | None = None) -> Iterator[Entry]:
        """Return the entries of a lineage or recipient, the last one first; read in small pieces."""
        found = rows.Entry.objects.filter(lineage=lineage).order_by("-number")
        if recipient is not None:
            found = found.filter(recipient=recipient)
        pieces, before = found, 8
        while piece := list(pieces[:before]):
            for row in piece:
                yield Entry.from_body(row.body, row.hash)
            pieces, before = found.filter(number__lt=piece[-1].number), 4 * before

    def accounts(self, *, lineage: str | None = None, recipient: str | None = None) -> Iterator[Account]:
        """Return the accounts, all of them or one lineage's or recipient's."""
        wanted = {"lineage": lineage, "recipient": recipient}
        named = {name: value for name, value in wanted.items() if value is not None}
        return map(_account, self._accounts.filter(**named).order_by("lineage", "recipient", "relation"))

    def releases(self) -> Iterator[StoredRelease]:
        """Return all releases."""
        return map(_release, rows.Release.objects.order_by("digest").iterator(chunk_size=200))

    def payments(self) -> Iterator[tuple[str, str, int]]:
        """Return all payments: release, recipient, entry."""
        return iter(rows.Payment.objects.order_by("id").values_list("release_id", "recipient", "entry_id"))


def _has_gaussian_sums() -> bool:
    with connection.cursor() as cursor:
        found = connection.introspection.get_table_description(cursor, rows.Account._meta.db_table)
    return "nano_gaussian" in {column.name for column in found}


def _sums(account: Account) -> dict[str, object]:
    return {
        "nano_epsilon": account.state.nano_epsilon,
        "nano_rho": account.state.nano_rho,
        "atto_delta": account.state.atto_delta,
        "nano_gaussian": account.state.nano_gaussian,
        "version": account.version,
    }


def _account(row: rows.Account) -> Account:
    gaussian = 0 if "nano_gaussian" in row.get_deferred_fields() else row.nano_gaussian or 0
    state = State(row.nano_epsilon, row.nano_rho, row.atto_delta, gaussian)
    return Account(
        lineage=row.lineage,
        recipient=row.recipient or None,
        relation=cast("Relation", row.relation),
        state=state,
        version=row.version,
    )


def _release(row: rows.Release) -> StoredRelease:
    payload = None if row.payload is None else bytes(row.payload)
    return StoredRelease(
        digest=row.digest,
        lineage=row.lineage,
        snapshot=row.snapshot,
        question=row.question,
        payload=payload,
        answer=row.answer,
    )
