"""Agreeing on an epsilon: by number, margin or noise factor; the number of rows is bought where a price needs it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

from pydplib.errors import BudgetError, ParameterError, PolicyError
from pydplib.policy import (
    NoiseFactor,
    OutputLabel,
    check_spend,
    label_of_noise_factor,
    parse_noise_factor,
    settle_epsilon,
)
from pydplib.release.calibration import band_epsilon, margin_epsilon, parse_margin
from pydplib.release.public import check_epsilon
from pydplib.release.resolved import Resolved

if TYPE_CHECKING:
    from pydplib.release.session import Session

_MATCHING = (
    "The noise factor is about the whole table. How many rows meet the conditions is not public: with fewer rows "
    "the noise weighs more."
)
_LEAST = 1e-6  # within any cap: asks what is open, not what it costs


@dataclass(frozen=True, slots=True)
class Asked:
    """How much a recipient says that an answer may cost: at most one of epsilon, margin and noise factor.

    Args:
        epsilon: The privacy loss.
        margin: The accuracy wanted.
        noise_factor: The noise wanted.
        delta: For unknown keys: the chance that a key of one person alone is shown.
    """

    epsilon: float | None
    margin: float | None
    noise_factor: str | int | None
    delta: float | None


@dataclass(frozen=True, slots=True)
class Settled:
    """An epsilon that was agreed: by number, margin or noise factor.

    Args:
        epsilon: The privacy loss.
        label: The label of the output.
        size: The number of rows as far as the recipient knows it.
        at_most: Whether the true price may be lower.
        notes: What else to know.
        remarks: What was bought along just now, in words.
    """

    epsilon: Fraction
    label: OutputLabel
    size: float | None
    at_most: bool = False
    notes: tuple[str, ...] = ()
    remarks: tuple[str, ...] = ()


def settle(session: Session, resolved: Resolved, asked: Asked, *, buy: bool) -> Settled:
    """Return the epsilon of a question, as far as public facts and what the recipient has bought tell.

    Args:
        session: Whose terms hold.
        resolved: The question against the schema.
        asked: What the recipient says.
        buy: Whether the number of rows may be bought now, where the price needs it.
    """
    said = {"epsilon": asked.epsilon, "margin": asked.margin, "noise_factor": asked.noise_factor}
    given = [name for name, value in said.items() if value is not None]
    if len(given) > 1:
        raise ParameterError(f"Give one of epsilon=, margin= and noise_factor=. Got {' and '.join(given)}.")
    if asked.epsilon is not None:
        loss = check_epsilon(asked.epsilon)
        check_spend(float(loss), session.cap)
        return Settled(loss, session.policy.label_of_epsilon(float(loss)), session.size)
    if asked.margin is not None:
        return _by_margin(session, resolved, asked.margin, delta_of(session, resolved, asked.delta), buy=buy)
    factor = session.noise_factor if asked.noise_factor is None else parse_noise_factor(asked.noise_factor)
    if factor is None:
        raise ParameterError(
            "Choose epsilon=, margin= or noise_factor=. There is no default "
            "(but a session with role= has the role's noise factor)."
        )
    delta_of(session, resolved, asked.delta)  # refused before anything is bought
    return _by_noise_factor(session, resolved, factor, buy=buy)


def delta_of(session: Session, resolved: Resolved, delta: float | None) -> float | None:
    """Return the delta of a question: what was given, or a tenth of the policy's; none without unknown keys."""
    if resolved.has_unknown_keys:
        return session.policy.delta_for(session.table.schema.size) / 10 if delta is None else delta
    if delta is not None:
        raise ParameterError("delta= belongs to unknown keys; this question has none and is pure.")
    return None


def _by_margin(session: Session, resolved: Resolved, margin: float, delta: float | None, *, buy: bool) -> Settled:
    wanted = parse_margin(margin)
    needs = resolved.question.ask in ("mean", "variance") and not resolved.question.conditions
    if buy and needs:
        _check_open(session, resolved, "dp_high")
    size, remarks = _known_size(session, buy=buy and needs)
    loss = margin_epsilon(resolved, wanted, size, delta)
    with telling(remarks):
        check_spend(float(loss), session.cap)
    return Settled(loss, session.policy.label_of_epsilon(float(loss)), size, remarks=remarks)


def _by_noise_factor(session: Session, resolved: Resolved, factor: NoiseFactor, *, buy: bool) -> Settled:
    label = label_of_noise_factor(factor)
    matching = (_MATCHING,) if resolved.question.conditions else ()
    if buy:
        _check_open(session, resolved, label)
    size, remarks = _known_size(session, buy=buy)
    if size is None and session.cap is not None:
        note = (
            f"The noise factor '{factor.name}' needs the number of rows, which is not declared. It is bought with "
            f"the release, once, for epsilon {float(session.size_epsilon or 0):g}; until then only the "
            "role's cap is known."
        )
        return Settled(Fraction(str(session.cap)), label, None, True, (note, *matching))
    band = band_epsilon(resolved, factor.target, size)
    used, lowered = settle_epsilon(float(band), session.cap, on_conflict=session.on_conflict)
    if not lowered:
        return Settled(max(band, Fraction(1, 10**6)), label, size, False, matching, remarks)
    note = (
        f"The noise factor '{factor.name}' would need epsilon {float(band):.4g}; the role's cap is {used:g}, so "
        "there is more noise than the band says."
    )
    return Settled(Fraction(str(used)), label, size, False, (note, *matching), remarks)


def _check_open(session: Session, resolved: Resolved, label: OutputLabel) -> None:
    """Raise if no answer of this label may speak of these fields: before a number of rows is bought for it."""
    session.check_fields(resolved.question.fields, label, _LEAST, resolved.question.filters)


def _known_size(session: Session, *, buy: bool) -> tuple[float | None, tuple[str, ...]]:
    """Return the number of rows as far as it is known, and what was said where it had to be bought."""
    size, cost = session.size, session.size_epsilon
    if size is not None or not buy or cost is None:
        return size, ()
    session.buy_size()
    told = f"The number of rows was bought as well, once, for epsilon {float(cost):g}: prices need it."
    return session.size, (told,)


@contextmanager
def telling(bought: tuple[str, ...]) -> Iterator[None]:
    """Let a refusal say what was paid before it came: the number of rows, where it was bought in the same breath."""
    try:
        yield
    except (BudgetError, PolicyError) as refusal:
        if not bought:
            raise
        words = f"{str(refusal).replace(' Nothing was spent.', ' Nothing else was spent.')} {' '.join(bought)}"
        if isinstance(refusal, BudgetError):
            raise BudgetError(words, asked=refusal.asked, left=refusal.left) from None
        raise PolicyError(words) from None
