"""Entries of a ledger, chained by hashes: a changed, deleted or reordered row is found."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal, TypeAlias

from pydplib.budget.costs import Cost
from pydplib.budget.keys import canonical_json, sha256_hex
from pydplib.errors import LedgerError

Kind: TypeAlias = Literal["open", "limit", "debit", "share", "answer", "refusal", "no_dp", "look"]
"""What an entry says.

open: an account was opened; limit: its limit was changed by the owner; debit: recipient and lineage paid;
share: another recipient paid for an answer that the lineage had paid already; answer: a reserved release was
finished; refusal: nothing was paid; no_dp: something without differential privacy left; look: the owner looked
at raw data.
"""

GENESIS = "0" * 64
"""What the first entry names as the hash before it."""

HEAD_FORMAT = "pydplib-ledger-head/1"


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One row of the ledger.

    Args:
        number: Its place, from 1 without gaps.
        kind: What it says.
        time: When, in UTC (ISO 8601).
        lineage: The tables that it is about.
        recipient: Who asked or got; none for the lineage's own account.
        role: The recipient's role at that time.
        cost: What was asked or paid; none where nothing has a price.
        question_hash: The SHA-256 of the canonical question.
        release: The key of the release.
        details: Further facts of this kind of entry.
        previous: The hash of the entry before.
        hash: The hash of this entry.
    """

    number: int
    kind: Kind
    time: str
    lineage: str
    recipient: str | None = None
    role: str | None = None
    cost: Cost | None = None
    question_hash: str | None = None
    release: str | None = None
    details: Mapping[str, Any] = field(default_factory=dict)
    previous: str = GENESIS
    hash: str = ""

    @property
    def body(self) -> str:
        """What is hashed: all but the hash itself, as canonical JSON."""
        values = self.to_dict()
        del values["hash"]
        return canonical_json(values)

    def sealed(self) -> Entry:
        """Return the entry with its hash."""
        return replace(self, hash=sha256_hex(self.body))

    def to_dict(self) -> dict[str, Any]:
        """Return the entry as plain values."""
        return {
            "number": self.number,
            "kind": self.kind,
            "time": self.time,
            "lineage": self.lineage,
            "recipient": self.recipient,
            "role": self.role,
            "cost": None if self.cost is None else self.cost.to_dict(),
            "question_hash": self.question_hash,
            "release": self.release,
            "details": dict(self.details),
            "previous": self.previous,
            "hash": self.hash,
        }

    @classmethod
    def from_body(cls, body: str, hash_: str) -> Entry:
        """Read an entry back; raises ``LedgerError`` if the text is not exactly what an entry is stored as."""
        try:
            values = json.loads(body)
            cost = values.pop("cost")
            entry = cls(**values, cost=None if cost is None else Cost.from_dict(cost), hash=hash_)
            # A key that stands twice, or a blank, would read differently here and in the database.
            if entry.body != body:
                raise ValueError
            return entry
        except (ValueError, TypeError, KeyError, AttributeError):
            raise LedgerError("A row of the ledger is not an entry: it was changed. Restore a backup.") from None


@dataclass(frozen=True, slots=True)
class Head:
    """The end of a chain: kept elsewhere, it shows later whether the ledger was replaced or rolled back.

    Args:
        ledger: The ledger's own random name.
        entries: How many entries it had.
        hash: The hash of the last one.

    Examples:
        >>> head = Head("0f" * 16, 0, GENESIS)
        >>> Head.from_json(head.to_json()) == head
        True
    """

    ledger: str
    entries: int
    hash: str

    def to_json(self) -> str:
        """Return the head as a small JSON text."""
        values = {"format": HEAD_FORMAT, "ledger": self.ledger, "entries": self.entries, "hash": self.hash}
        return json.dumps(values, indent=2) + "\n"

    @classmethod
    def from_json(cls, text: str) -> Head:
        """Read a head back."""
        try:
            values = json.loads(text)
            ledger, entries, hash_ = values["ledger"], values["entries"], values["hash"]
            if values["format"] != HEAD_FORMAT or not (
                isinstance(ledger, str) and isinstance(hash_, str) and type(entries) is int and entries >= 0
            ):
                raise ValueError
        except (ValueError, TypeError, KeyError, RecursionError):
            raise LedgerError("This is not the head of a pydplib ledger (see `pydplib ledger export`).") from None
        return cls(ledger, entries, hash_)

    @classmethod
    def read(cls, path: str | Path) -> Head:
        """Read a head from a file."""
        try:
            return cls.from_json(Path(path).read_text(encoding="utf-8"))
        except (OSError, UnicodeDecodeError):
            raise LedgerError(f"The exported head '{Path(path).name}' cannot be read.") from None


def check_chain(entries: Iterable[Entry]) -> str:
    """Walk the whole chain and return its last hash; raise ``LedgerError`` at the first broken link."""
    previous = GENESIS
    for number, entry in enumerate(entries, start=1):
        if entry.number != number:
            raise LedgerError(
                f"The ledger is damaged: entry {number} is missing or out of order (found {entry.number}). "
                "Restore a backup and compare it with the exported head."
            )
        if entry.previous != previous or entry.hash != sha256_hex(entry.body):
            raise LedgerError(
                f"The ledger is damaged: entry {number} does not fit the chain, so it or the one before was changed. "
                "Restore a backup and compare it with the exported head."
            )
        previous = entry.hash
    return previous


def check_head(head: Head, *, ledger: str, entries: int, hash_at: str | None) -> None:
    """Raise ``LedgerError`` unless the ledger still contains what ``head`` saw.

    Args:
        head: The exported head.
        ledger: The ledger's name.
        entries: How many entries it has.
        hash_at: The hash of its entry number ``head.entries``; none where there is no such entry.
    """
    if head.ledger != ledger:
        raise LedgerError("The ledger was replaced: it is not the one whose head was exported.")
    if entries < head.entries:
        raise LedgerError(
            f"The ledger was rolled back: it has {entries} entries, the exported head saw {head.entries}. "
            "What was spent in between is not in it."
        )
    if head.entries and hash_at != head.hash:
        raise LedgerError(
            f"The ledger was rewritten: its entry {head.entries} is not the one that the exported head saw."
        )
