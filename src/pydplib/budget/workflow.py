"""Reserve and finish: the two transactions of every release, over any store.

First: find the key. Done and paid: the stored answer, free. Else debit the recipient's
account, and the lineage's if nobody has paid for this key before; enter the release as
reserved; commit. Then the answer is computed, outside. Second: write it where still
reserved (first writer wins), commit, read back, only then show it.

A crash in between wastes budget and never leaks: the debit stands, and the next ask of
the same key finishes the release without a new one. Nothing is ever refunded.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal, TypeAlias

from pydplib.budget.chain import Entry, Kind
from pydplib.budget.costs import Cost
from pydplib.budget.keys import ReleaseKey, sha256_hex
from pydplib.budget.limits import Limits
from pydplib.budget.rules import Limit, Refusal, can_pay, pay
from pydplib.budget.store import Account, Store, StoredRelease
from pydplib.budget.verify import check_sums, sums_of
from pydplib.errors import BudgetError, LedgerError, ParameterError

ReservationState: TypeAlias = Literal["new", "pending", "done"]


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownRelease:
    """A release that is in the ledger, as its key: what one more payment for it needs.

    Args:
        digest: Its key.
        lineage: The tables that were asked.
        snapshot: Their published state.
        question_json: The canonical question.
        cost: What whoever gets it pays.
    """

    digest: str
    lineage: str
    snapshot: str
    question_json: str
    cost: Cost

    @property
    def question_hash(self) -> str:
        """The SHA-256 of the canonical question."""
        return sha256_hex(self.question_json)


@dataclass(frozen=True, slots=True, kw_only=True)
class Reservation:
    """A paid right to one answer.

    Args:
        state: ``"new"``: debited just now, compute and finish. ``"pending"``: reserved before and never
            finished (or by somebody at this moment): compute and finish, the lineage pays no more.
            ``"done"``: the answer is there.
        digest: The release's key.
        recipient: For whom.
        role: In which role.
        entry: The number of the ledger entry by which this recipient paid.
        charged: Whether this ask debited the recipient; false for a repeated question.
        payload: The stored answer if ``state`` is ``"done"``.
    """

    state: ReservationState
    digest: str
    recipient: str
    role: str
    entry: int
    charged: bool
    payload: bytes | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Refused:
    """A refusal and whose account gave it; ``recipient`` none means the lineage's.

    ``today``: the limit that the ledger was told last could have paid, the policy of today cannot.
    """

    lineage: str
    recipient: str | None
    refusal: Refusal | None
    cost: Cost
    today: bool = False


def find(store: Store, key: ReleaseKey, *, recipient: str, role: str) -> Reservation | None:
    """Return the answer that ``recipient`` has paid for before, if it is there; reads only."""
    release = store.get_release(key.digest)
    paid = store.get_payment(key.digest, recipient) if release is not None else None
    if release is None or paid is None:
        return None
    payload = read_payload(store, release)
    return (
        None
        if payload is None
        else Reservation(
            state="done", digest=key.digest, recipient=recipient, role=role, entry=paid, charged=False, payload=payload
        )
    )


def reserve(
    store: Store, key: ReleaseKey | KnownRelease, *, recipient: str, role: str, time: str, limits: Limits | None = None
) -> Reservation | Refused:
    """Find or pay for a release; the caller commits, and raises ``to_error`` of a refusal after that."""
    digest = key.digest
    release = store.get_release(digest)
    paid = store.get_payment(digest, recipient) if release is not None else None
    charged = paid is None
    if paid is None:
        outcome = _charge(store, key, release, recipient=recipient, role=role, time=time, limits=limits or Limits())
        if isinstance(outcome, Refused):
            return outcome
        paid = outcome
    if release is None:
        return Reservation(state="new", digest=digest, recipient=recipient, role=role, entry=paid, charged=charged)
    payload = read_payload(store, release)
    state: ReservationState = "pending" if payload is None else "done"
    return Reservation(
        state=state, digest=digest, recipient=recipient, role=role, entry=paid, charged=charged, payload=payload
    )


def _charge(
    store: Store,
    key: ReleaseKey | KnownRelease,
    release: StoredRelease | None,
    *,
    recipient: str,
    role: str,
    time: str,
    limits: Limits,
) -> int | Refused:
    """Debit the recipient, and the lineage for a release that nobody has paid before; return the entry's number.

    Nobody is debited unless all can pay.
    """
    debited: list[tuple[Account, Limit]] = []
    for payer in [recipient] if release is not None else [recipient, None]:
        account = store.get_account(key.lineage, payer, key.cost.relation)
        if account is None:
            return _refuse(
                store,
                Refused(lineage=key.lineage, recipient=payer, refusal=None, cost=key.cost),
                key,
                recipient,
                role,
                time,
            )
        last = check_sums(store, account)
        limit = limits.for_payer(payer) or last
        if limit.relation != key.cost.relation:
            raise ParameterError(
                f"A limit of the '{limit.relation}' relation says nothing about a budget of the "
                f"'{key.cost.relation}' relation."
            )
        after = pay(account.state, key.cost, limit)
        if isinstance(after, Refusal):
            lowered = can_pay(account.state, key.cost, last)
            return _refuse(
                store,
                Refused(lineage=key.lineage, recipient=payer, refusal=after, cost=key.cost, today=lowered),
                key,
                recipient,
                role,
                time,
            )
        debited.append((replace(account, state=after, version=account.version + 1), limit))
    for account, _ in debited:
        save(store, account)
    kind: Kind = "share" if release is not None else "debit"
    told: dict[str, Any] = {"snapshot": key.snapshot, "sums": sums_of(debited)}
    number = append(store, kind, key.lineage, time, recipient=recipient, role=role, key=key, details=told)
    digest = key.digest
    if release is None:
        store.add_release(
            StoredRelease(digest=digest, lineage=key.lineage, snapshot=key.snapshot, question=key.question_json)
        )
    store.add_payment(digest, recipient, number)
    return number


def _refuse(
    store: Store, refused: Refused, key: ReleaseKey | KnownRelease, recipient: str, role: str, time: str
) -> Refused:
    """Write down that nothing was paid, and why."""
    details = {
        "account": "recipient" if refused.recipient else "lineage",
        "why": refused.refusal.why if refused.refusal else "no_account",
    }
    if refused.today:
        details["limit"] = "today"
    append(store, "refusal", key.lineage, time, recipient=recipient, role=role, key=key, details=details)
    return refused


def finish(store: Store, reservation: Reservation, payload: bytes, *, time: str) -> bytes:
    """Write the answer where still reserved and return what is stored: the first writer's bytes."""
    release = store.get_release(reservation.digest)
    if release is None or store.get_payment(reservation.digest, reservation.recipient) != reservation.entry:
        raise LedgerError("This reservation is not in this ledger: nothing was paid here, so nothing is shown.")
    stored = read_payload(store, release)
    if stored is not None:
        return stored
    number = append(
        store,
        "answer",
        release.lineage,
        time,
        recipient=reservation.recipient,
        role=reservation.role,
        release=release,
        details={"payload_hash": sha256_hex(payload)},
    )
    if not store.finish_release(reservation.digest, payload, number):
        raise LedgerError("The release was finished by another while the ledger was locked. Ask again; it is paid.")
    return payload


def read_payload(store: Store, release: StoredRelease) -> bytes | None:
    """Return the stored answer, checked against the hash that the chain keeps; none while only reserved."""
    if release.payload is None or release.answer is None:
        return None
    entry = store.get_entry(release.answer)
    if (
        entry is None
        or entry.kind != "answer"
        or entry.release != release.digest
        or entry.details.get("payload_hash") != sha256_hex(release.payload)
    ):
        raise LedgerError("A stored answer was changed after it was released. Run `pydplib ledger verify`.")
    return release.payload


def append(
    store: Store,
    kind: Kind,
    lineage: str,
    time: str,
    *,
    recipient: str | None = None,
    role: str | None = None,
    key: ReleaseKey | KnownRelease | None = None,
    release: StoredRelease | None = None,
    cost: Cost | None = None,
    details: Mapping[str, Any] | None = None,
) -> int:
    """Append one chained entry and return its number."""
    number, previous = store.last_link()
    question_hash, digest = None, None
    if key is not None:
        question_hash, digest, cost = key.question_hash, key.digest, key.cost
    elif release is not None:
        question_hash, digest = sha256_hex(release.question), release.digest
    entry = Entry(
        number=number + 1,
        kind=kind,
        time=time,
        lineage=lineage,
        recipient=recipient,
        role=role,
        cost=cost,
        question_hash=question_hash,
        release=digest,
        details=details or {},
        previous=previous,
    )
    store.add_entry(entry.sealed())
    return number + 1


_REASONS = {
    "no_dp": "it has no differential privacy, and no budget can pay for that",
    "relation": "the account sums another neighbouring relation",
    "not_pure": "a PureDP budget pays for pure epsilon only; Gaussian noise and unknown keys need ApproxDP",
    "epsilon": "it exceeds the budget",
    "delta": "its delta exceeds the budget's",
}


_GAUSSIAN = (
    " What is left counts for questions without a delta; next to them, Gaussian noise takes more of a budget. A "
    "recipient with a budget without a delta (PureDP, on the command line --budget) gets Laplace noise instead."
)


def to_error(refused: Refused, *, whose: str = "") -> BudgetError:
    """Return the error of a refusal: asked and left, but of the lineage's account never what is left.

    Args:
        refused: The refusal.
        whose: What readers call the recipient; its name if left out.
    """
    asked = str(refused.cost)
    whose = whose or f"'{refused.recipient}'"
    if refused.refusal is None:
        whose = "the data set" if refused.recipient is None else whose
        return BudgetError(
            f"No budget is open for {whose} under the '{refused.cost.relation}' relation: asked {asked}. "
            "Nothing was spent. The owner opens one with open_account().",
            asked=asked,
            left="no budget",
        )
    why = refused.refusal.why
    now = " under today's policy" if refused.today else ""
    if refused.recipient is None:
        # What is left of the data set depends on what others asked: it is the owner's knowledge alone.
        # Only the type of its account, which is public, is told.
        reason = "" if why in ("epsilon", "delta") else f" ({_REASONS[why]})"
        return BudgetError(
            f"The data set's own budget, shared by all recipients, cannot pay for this question{now}{reason}: "
            f"asked {asked}. Nothing was spent. Ask the owner; what you were answered before stays free.",
            asked=asked,
        )
    left = refused.refusal.left
    is_gaussian = refused.cost.nano_epsilon is None and refused.cost.nano_rho is not None
    hint = _GAUSSIAN if is_gaussian and why == "epsilon" else ""
    return BudgetError(
        f"The budget of {whose} cannot pay for this question{now} ({_REASONS[why]}): asked {asked}, "
        f"left {left}. Nothing was spent. Ask for less, repeat an earlier question (free), or ask the owner "
        f"for a larger budget.{hint}",
        asked=asked,
        left=left,
    )


def save(store: Store, account: Account) -> None:
    """Write an account whose version was raised by one; conditional, so that no change is ever lost."""
    if not store.save_account(account, expected=account.version - 1):
        raise LedgerError("The ledger changed under its lock: is its file on a network drive? Nothing was spent.")
