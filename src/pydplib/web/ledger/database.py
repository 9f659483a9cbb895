"""The ledger of the platform: ``pydplib.budget``'s own implementation over the platform's database."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Protocol, cast

from django.conf import settings
from django.db import DatabaseError, connection, transaction

from pydplib.budget import workflow
from pydplib.budget.chain import Head, check_chain, check_head
from pydplib.budget.costs import Cost
from pydplib.budget.keys import check_name
from pydplib.budget.limits import Limits
from pydplib.budget.store_ledger import StoreLedger
from pydplib.budget.verify import DamagedLedgerError
from pydplib.budget.workflow import KnownRelease, Refused, Reservation
from pydplib.errors import LedgerError
from pydplib.noise.tap import check_not_seeded
from pydplib.web.ledger import models as rows
from pydplib.web.ledger.pauses import PausedLedgerError, UnreadableLedgerError, UnsoundLedgerError
from pydplib.web.ledger.store import DatabaseStore
from pydplib.web.locks import locked
from pydplib.web.private_files import replace_whole


class DatabaseLedger(StoreLedger):
    """Every debit is committed before a row of data is read; many servers at once never overspend.

    The end of the chain is also kept in a file next to the keys, outside the database: a database
    that was rolled back or replaced is noticed before the next question is paid. Next to it stands what
    did not agree when the ledger was verified last, if anything: until it does, nothing is written.

    Args:
        head_file: That file; by default ``ledger.head.json`` in the server's home.
    """

    def __init__(self, head_file: Path | None = None) -> None:
        self.head_file = head_file or settings.CONFIGURATION.home / "ledger.head.json"
        self._unseeded = False
        self._view: DatabaseStore | None = None

    @property
    def damage_file(self) -> Path:
        """Where it stands that the ledger is not sound: outside the database, where who changed that cannot hide it."""
        return self.head_file.with_name("ledger.damage.txt")

    @property
    def damage(self) -> str:
        """What did not agree when the ledger was verified last; empty if all did."""
        try:
            return self.damage_file.read_text(encoding="utf-8") or "Something was changed."
        except FileNotFoundError:
            return ""

    def check_sound(self) -> None:
        """Raise while the ledger does not agree with itself: what it says is left may be wrong."""
        damage = self.damage
        if damage:
            raise UnsoundLedgerError(damage)

    def check_answers_stand(self) -> None:
        """Raise if the chain is broken, by which stored answers are checked; wrong sums alone do not touch these."""
        damage = self.damage
        if damage:
            try:
                check_chain(DatabaseStore().entries())
            except LedgerError:
                raise UnsoundLedgerError(damage) from None

    def pause(self, why: str) -> None:
        """Write nothing from now on, and answer no new question."""
        replace_whole(self.damage_file, why.encode())

    def go_on(self) -> None:
        """End a pause: the ledger was verified and agrees."""
        self.damage_file.unlink(missing_ok=True)

    @property
    def name(self) -> str:
        """The ledger's own random name, made with its tables."""
        name: str = rows.Head.objects.values_list("name", flat=True).get(id=1)
        return name

    @contextmanager
    def _transaction(self) -> Iterator[DatabaseStore]:
        if not self._unseeded:
            check_not_seeded()
            self._unseeded = True
        self.check_sound()
        try:
            # Durable: an outer transaction that rolled back would take the debit with it.
            with transaction.atomic(durable=True):
                head = rows.Head.objects.select_for_update().get(id=1)
                store = DatabaseStore(head)
                before = store.last_link()
                if before[0] == 0 and not self.head_file.exists():
                    # There from the first entry on: whoever sees an entry finds the file, crash or not.
                    self._write_head(Head(head.name, *before))
                self._check_head(store, head.name, self._known_head())
                yield store
                after, name = store.last_link(), head.name
        except DamagedLedgerError as fault:  # found by a debit: nobody is answered until somebody has looked
            self.pause(str(fault))
            raise UnsoundLedgerError(str(fault)) from None
        except DatabaseError:
            raise LedgerError(
                "The ledger could not be written, so nothing was spent and nothing is shown. Try again in a moment."
            ) from None
        if after != before:
            self._write_head(Head(name, *after))

    @contextmanager
    def reading(self) -> Iterator[None]:
        """Let what is read inside be one state of the ledger, checked once; one request, one thread."""
        with self._snapshot() as self._view:
            try:
                yield
            finally:
                self._view = None

    @contextmanager
    def _snapshot(self) -> Iterator[DatabaseStore]:
        if self._view is not None:
            yield self._view
            return
        try:
            for last_try in (False, True):
                # The file before the tables: others go on writing, and read later it would be ahead of what we see.
                known = self._known_head()
                with _reading():
                    head = rows.Head.objects.get(id=1)
                    store = DatabaseStore(seen=head)
                    if known is None and not last_try and store.last_link()[0]:
                        continue  # the very first entry may have come in between
                    self._check_head(store, head.name, known)
                    yield store
                    return
        except DatabaseError:
            raise UnreadableLedgerError("The ledger could not be read. Try again in a moment.") from None

    def _known_head(self) -> Head | None:
        return Head.read(self.head_file) if self.head_file.exists() else None

    def costs(self, digests: Iterable[str]) -> dict[str, Cost]:
        """Return what whoever gets a release pays for it, by its key: as the entry says that debited it first."""
        wanted = list(digests)
        with self._snapshot() as store:
            return {digest: _known(store, digest).cost for digest in wanted}

    def words_for(self, recipient: str | None) -> str:
        """Return what readers call a recipient: accounts are named by random keys, which mean nothing to them."""
        return "your organisation" if recipient and re.fullmatch("[0-9a-f]{16}", recipient) else ""

    def paid_by(self, recipient: str, digests: Iterable[str]) -> set[str]:
        """Return which of these releases a recipient has paid for."""
        found = rows.Payment.objects.filter(recipient=check_name("recipient", recipient), release__in=list(digests))
        return set(found.values_list("release_id", flat=True))

    def hand_on(self, digest: str, *, recipient: str, role: str, limits: Limits) -> Reservation:
        """Let one more recipient pay for a release that is there; the data set does not pay for it again.

        Args:
            digest: The release.
            recipient: Who gets it, and pays as if they had asked.
            role: The recipient's role, for the record.
            limits: What may be spent by the policy of today.

        Raises:
            BudgetError: The recipient's budget cannot pay. Nothing was spent.
        """
        recipient = check_name("recipient", recipient)
        with self._transaction() as store:
            key = _known(store, digest)
            outcome = workflow.reserve(store, key, recipient=recipient, role=role, time=self._now(), limits=limits)
        if isinstance(outcome, Refused):
            raise workflow.to_error(outcome, whose=self.words_for(outcome.recipient))
        return outcome

    def _check_head(self, store: DatabaseStore, name: str, known: Head | None) -> None:
        """Raise unless the ledger goes on where the remembered head ends."""
        if known is None:
            if store.last_link()[0]:
                raise PausedLedgerError(
                    f"The file '{self.head_file.name}', which shows whether the ledger was rolled back, is missing "
                    "from the server's home."
                )
            return
        if known == Head(name, *store.last_link()):
            return
        at = known.hash if known.entries == 0 else store.hash_of(known.entries)
        try:
            check_head(known, ledger=name, entries=store.last_link()[0], hash_at=at)
        except LedgerError as fault:
            raise PausedLedgerError(str(fault)) from None

    def accept(self) -> Head:
        """Take the ledger as it is now, by an act of the operator: after a restore, or on a new home."""
        with transaction.atomic():
            head = rows.Head.objects.select_for_update().get(id=1)
            now = Head(head.name, head.number, head.hash)
            replace_whole(self.head_file, now.to_json().encode())
        return now

    def _write_head(self, head: Head) -> None:
        """Keep the newest end of the chain; of two writers, the later entry stays."""
        try:
            with locked(self.head_file):
                known = self._known_head()
                if known is None or known.ledger != head.ledger or known.entries < head.entries:
                    replace_whole(self.head_file, head.to_json().encode())
        except OSError:
            raise LedgerError(
                f"The file '{self.head_file.name}' cannot be written. The debit stands; ask again once it can."
            ) from None


def _known(store: DatabaseStore, digest: str) -> KnownRelease:
    """Return a release with its price, as the chain has it."""
    release = store.get_release(digest)
    number = rows.Payment.objects.filter(release_id=digest).order_by("entry_id").values_list("entry_id", flat=True)
    entry = store.get_entry(number[0]) if release is not None and number else None
    if release is None or entry is None or entry.cost is None or entry.release != digest:
        raise LedgerError("This answer is not in the ledger.")
    return KnownRelease(
        digest=digest,
        lineage=release.lineage,
        snapshot=release.snapshot,
        question_json=release.question,
        cost=entry.cost,
    )


class _Lite(Protocol):
    """A connection to SQLite."""

    transaction_mode: str | None


@contextmanager
def _reading() -> Iterator[None]:
    """One consistent view of the tables, without the write lock."""
    if connection.in_atomic_block:
        yield
    elif connection.vendor == "sqlite":
        connection.ensure_connection()  # the mode is known from then on
        lite = cast("_Lite", connection)
        mode, lite.transaction_mode = lite.transaction_mode, "DEFERRED"
        try:
            with transaction.atomic():
                yield
        finally:
            lite.transaction_mode = mode
    else:
        with transaction.atomic():
            with connection.cursor() as cursor:
                cursor.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY")
            yield
