"""The price of a question as a page shows it: cost, margin and budget in words, from public facts alone."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from pydplib.budget.rules import Limit, State, add, spent
from pydplib.budget.units import NANO, show_nano
from pydplib.errors import CalibrationError, QuestionError
from pydplib.release import Price, Question
from pydplib.release.accounts import find_account
from pydplib.release.prices import Accuracy
from pydplib.release.session import Session
from pydplib.release.words import show_margin
from pydplib.web.analyses.asking import in_all, settle
from pydplib.web.analyses.questions import UNITS
from pydplib.web.analyses.sessions import open_session

_WEIGHS = (
    "After many small questions, which add up to less than their sum, a large one takes more of the budget than its "
    "own epsilon."
)
READABLE = 20
"""Noise in percent beyond which figures show little but noise; that of the noisiest role is 15."""


@dataclass(frozen=True, slots=True)
class Quoted:
    """A price for readers.

    Args:
        price: What the session said.
        cost: The most that it would cost in all, exact to 1e-9; ``"0"`` if it was paid before.
        nano_cost: The same in nano-epsilon: what the reader agrees to by pressing the button.
        extra: What buying the number of records costs once, within ``cost``; empty if it need not be bought.
        margin: The expected accuracy in words.
        noise: The expected noise in percent, in words; empty where nobody knows.
        bar: Spent, asked and total epsilon of the organisation's budget.
        affordable: Whether the organisation's budget can pay.
        notes: What else to know.
    """

    price: Price
    cost: str
    nano_cost: int
    extra: str
    margin: str
    noise: str
    bar: tuple[float, float, float]
    affordable: bool
    notes: tuple[str, ...]

    @property
    def free(self) -> bool:
        """Whether the organisation has paid for it before."""
        return self.price.free

    @property
    def too_noisy(self) -> bool:
        """Whether hardly anything can be read from the answer, so that it is money for nothing."""
        return self.price.noise_percent is not None and self.price.noise_percent > READABLE


def quote(project: Any, user: Any, place: Any, question: Question, noise: Accuracy) -> Quoted:
    """Return what a question would cost the user's organisation; no row is read, nothing is spent.

    Raises:
        QuestionError: The question does not fit, or the accuracy cannot be promised; in plain words.
        PolicyError: The policy does not allow it.
    """
    session, _ = open_session(project, user, place, preview=True)
    try:
        _, price = settle(session, question, noise)
    except CalibrationError:
        raise QuestionError(_unknown_size(session, noise)) from None
    whole = in_all(session, price)
    buys, nano = whole.size is not None, whole.nano
    nano_extra = whole.size or 0
    gone, asked, total = _bar(session, price, nano_extra)
    weighs = (_WEIGHS,) if asked > nano / NANO + 1e-9 else ()
    return Quoted(
        price=price,
        cost=("at most " if price.at_most and not price.free else "") + show_nano(nano),
        nano_cost=nano,
        extra=show_nano(nano_extra) if buys else "",
        margin=margin_words(price) if price.margin is not None else _unknown_margin(session, question),
        noise="" if price.noise_percent is None else f"about {price.noise_percent:.2g} %",
        bar=(gone, asked, total),
        affordable=price.affordable and (price.free or gone + asked <= total + 1e-12),
        notes=(*(note for note in price.notes if not buys or "bought with" not in note), *weighs),
    )


def margin_words(price: Price) -> str:
    """Return the accuracy to expect, as one sentence."""
    if price.margin is None:
        return "How far the noise moves the answer depends on how many records answer it, which is not public."
    # While the number of records is unknown, this is the margin at the highest price: a cheaper answer has a wider one.
    top = price.at_most and not price.free
    share = f"{100 * price.confidence:g} of 100"
    often = f"At the highest price, in {share}" if top else f"In {share}"
    if price.margin_unit == "ranks":
        words = (
            f"{often} such answers at most {show_margin(price.margin, whole=True)} records lie between the "
            "number shown and the exact one"
        )
    elif price.margin_unit == "rows":
        words = (
            f"{often} such answers at most {show_margin(price.margin, whole=True)} fewer records have the value "
            "shown than the most frequent one"
        )
    else:
        whole = price.unit in UNITS
        unit = UNITS.get(price.unit, price.unit)
        shown = f"{show_margin(price.margin, whole=whole)} {unit}".strip()
        words = f"{often} such answers the noise moves a number by at most {shown}"
    return f"{words}; if the answer costs less, by more." if top else f"{words}."


def _unknown_margin(session: Session, question: Question) -> str:
    """Return why nobody can tell the accuracy beforehand, and what to do about it."""
    why = "How far the noise moves the answer depends on how many records answer it, which is not public."
    if question.conditions:
        return f"{why} The answer comes with its margin. To see one beforehand, leave out the conditions."
    if session.cap is None:
        return f"{why} To see it beforehand, give the number of people, or have a noisy one bought, when you publish."
    return (
        f"{why} To see it beforehand, first ask something with your role's usual noise and without conditions: a noisy "
        "number of records is included in the price, once. The answer comes with its margin in any case."
    )


def budget_state(session: Session) -> tuple[State, Limit]:
    """Return what the organisation has spent, and what it may spend by the terms of today."""
    account = find_account(session.ledger, session.lineage, session.recipient)
    if account is not None:
        return account.state, session.terms_today.limit(account)
    own = session.terms_today.recipient or session.terms_today.data_set
    assert own is not None
    return State(), Limit.of(own)


def _bar(session: Session, price: Price, nano_extra: int) -> tuple[float, float, float]:
    state, limit = budget_state(session)
    before = spent(state, limit)
    if price.free:
        return before / NANO, 0.0, limit.nano_epsilon / NANO
    # Small questions add up by the better of two rules, so what one adds is the difference of two sums.
    after = spent(add(state, price.cost), limit) if price.cost.nano_epsilon is not None else limit.nano_epsilon
    return before / NANO, (after - before + nano_extra) / NANO, limit.nano_epsilon / NANO


def _unknown_size(session: Session, noise: Accuracy) -> str:
    if noise.margin is not None and session.cap is not None:
        return (
            "This margin cannot be promised: it depends on how many records there are (or meet the conditions), which "
            "is not public. Set a privacy loss instead, or first ask something with your role's usual noise and "
            "without conditions: a noisy number of records is included in the price, once."
        )
    if noise.margin is not None:
        return "This margin depends on how many records answer, which is not public. Set a privacy loss instead."
    return "The noise factor needs the number of records, which is not public. Set a privacy loss instead."
