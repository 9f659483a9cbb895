"""What a synthetic table would cost and show, before it is paid: from public facts and noisy counts already paid."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, Literal, TypedDict

from django.conf import settings

from pydplib.budget.units import NANO
from pydplib.capture import Template
from pydplib.errors import BudgetError, ParameterError, PolicyError, QuestionError
from pydplib.release import Price, Session
from pydplib.synthesis import SyntheticTable
from pydplib.synthesis.purchase import ExpectedNoise, design
from pydplib.synthesis.table import MECHANISM
from pydplib.web.analyses.payments.sessions import open_session
from pydplib.web.design.values import epsilon_left
from pydplib.web.people.models import User
from pydplib.web.projects.models import Member, Project

Noise = Literal["auto", "gaussian", "laplace"]

WORDS = {"gaussian": "Gaussian noise", "laplace": "Laplace noise"}
"""The two kinds of noise for readers."""

_STEP = 1000  # an epsilon that the platform proposes has three decimals


class SynthesisOptions(TypedDict):
    """What ``Session.synthesize`` takes."""

    columns: list[str]
    relations: list[list[str]]
    of: str
    find: bool
    epsilon: float | None
    noise_factor: str | None
    delta: float | None
    impossible: Template


@dataclass(frozen=True, kw_only=True)
class Asked:
    """What somebody wants to buy.

    Attributes:
        columns: The columns.
        relations: Pairs or triples of columns that are always measured.
        find: Whether further relations are searched for.
        epsilon: The privacy loss; None where a noise factor says it.
        noise_factor: Low, medium or high.
        noise: Gaussian, Laplace, or whichever leaves the budget better off at equal fidelity.
    """

    columns: tuple[str, ...]
    relations: tuple[tuple[str, ...], ...] = ()
    find: bool = False
    epsilon: float | None = None
    noise_factor: str | None = None
    noise: Noise = "auto"

    def to_dict(self) -> dict[str, object]:
        """Return it as plain values."""
        return {
            "columns": list(self.columns),
            "relations": [list(relation) for relation in self.relations],
            "find": self.find,
            "epsilon": self.epsilon,
            "noise_factor": self.noise_factor,
            "noise": self.noise,
        }

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> Asked:
        """Build it from ``to_dict``'s values."""
        plain = {**values, "columns": tuple(values["columns"])}
        return cls(**plain | {"relations": tuple(tuple(relation) for relation in values["relations"])})

    def options(self, rules: Template) -> SynthesisOptions:
        """Return the same as ``Session.synthesize`` takes it; a kind of noise must be chosen by now.

        Args:
            rules: The template of the snapshot, published with it: combinations that it rules out are in no row.
        """
        return {
            "columns": list(self.columns),
            "relations": [list(relation) for relation in self.relations],
            "of": "persons",
            "find": self.find,
            "epsilon": self.epsilon,
            "noise_factor": self.noise_factor,
            "delta": 0 if self.noise == "laplace" else None,
            "impossible": rules,
        }


@dataclass(frozen=True, kw_only=True)
class Variant:
    """A synthetic table with one kind of noise.

    Attributes:
        asked: What would be bought.
        price: What it costs, and what it leaves.
        expected: How far noise moves counts and columns, as far as it is known.
    """

    asked: Asked
    price: Price
    expected: ExpectedNoise

    @property
    def noise(self) -> str:
        """The kind of noise."""
        return self.asked.noise

    @property
    def title(self) -> str:
        """The kind of noise for readers."""
        return WORDS[self.noise]

    @property
    def cost(self) -> str:
        """The price for readers."""
        return self.price.total_words

    @property
    def left(self) -> str:
        """What it leaves of the budget: the largest question that could still be paid; empty if it cannot be paid."""
        after = self.price.after
        return "" if after is None else epsilon_left(after.epsilon)

    @property
    def fidelity(self) -> str:
        """What to expect, for readers."""
        words, distance = self.expected.words, self.expected.distance_words
        return f"{words}, columns {distance} off" if distance else words

    @property
    def is_useful(self) -> str:
        """Useful, rough or poor: what the expected distance of the columns means."""
        distance = self.expected.distance
        if distance is None:
            return ""
        return "useful" if distance <= 0.05 else "rough" if distance <= 0.1 else "poor"


@dataclass(frozen=True, kw_only=True)
class SyntheticOffer:
    """What can be bought: the variant that would be taken, and the other kind of noise at equal fidelity.

    Attributes:
        chosen: What would be paid.
        other: The other kind of noise; None where the account allows one kind alone, or the role's cap the other.
        why: Why this one, in a sentence.
    """

    chosen: Variant
    other: Variant | None
    why: str

    @property
    def variants(self) -> list[Variant]:
        """Both, the chosen one first."""
        return [self.chosen, *([] if self.other is None else [self.other])]


def quote(project: Project, user: User, place: Member, asked: Asked) -> SyntheticOffer:
    """Return what a synthetic table would cost the user's organisation; no row is read, nothing is spent.

    Raises:
        ParameterError: Public facts say that it would be worthless; the message says what would help.
        PolicyError: The policy does not allow it.
    """
    session, snapshot = open_session(project, user, place, preview=True)
    return offer_of(session, asked, snapshot.template.template)


def offer_of(session: Session, asked: Asked, rules: Template) -> SyntheticOffer:
    """Return the variants of a purchase, the better one first; see ``quote``."""
    has_delta = bool(session.quote().left.limit.atto_conversion)
    if asked.noise == "gaussian" and not has_delta:
        raise ParameterError("Your budget has no delta, so that Gaussian noise cannot be paid. Choose Laplace noise.")
    kind: Noise = "gaussian" if has_delta and asked.noise != "laplace" else "laplace"
    first = _variant(session, replace(asked, noise=kind), rules)
    if not has_delta:
        return SyntheticOffer(chosen=first, other=None, why="Your budget has no delta: the noise is Laplace.")
    other = _equal(session, first, rules)
    if asked.noise != "auto" or other is None:
        why = "" if other is None else _compared(first, other)
        return SyntheticOffer(chosen=first, other=other, why=why)
    better, worse = sorted([first, other], key=_left_of, reverse=True)
    return SyntheticOffer(chosen=better, other=worse, why=_compared(better, worse))


def _left_of(variant: Variant) -> tuple[bool, int]:
    after = variant.price.after
    return variant.price.free, -1 if after is None else after.nano_epsilon


def _compared(one: Variant, other: Variant) -> str:
    if not one.left and not other.left:
        return "Your organisation's budget cannot pay for either kind of noise."
    if not other.left:
        return f"{other.title} as accurate as this cannot be paid from what is left."
    lines = (
        f"As accurate, {one.title} costs epsilon {one.cost} and leaves {one.left or 'nothing'}; {other.title} costs "
        f"{other.cost} and leaves {other.left}."
    )
    return f"{lines} “Leaves” is the largest single question without a delta that your organisation could still ask."


def _variant(session: Session, asked: Asked, rules: Template) -> Variant:
    made, _ = design(session, buy=False, **asked.options(rules))
    price = price_of(session, asked, rules)
    return Variant(asked=asked, price=price, expected=made.expect(known_size(session)))


def known_size(session: Session) -> float | None:
    """Return how many persons there are, as far as this recipient knows: declared, bought, or of an earlier table."""
    if session.size is not None:
        return session.size
    stored = session.ledger.received(
        lineage=session.lineage, snapshot=session.snapshot, recipient=session.recipient, mechanism=MECHANISM
    )
    return SyntheticTable.from_json(stored[-1]).total if stored else None


def price_of(session: Session, asked: Asked, rules: Template) -> Price:
    """Return the price of a purchase whose kind of noise is chosen.

    Raises:
        QuestionError: It costs less than the least that a question costs on this server.
    """
    price = session.price_synthesis(**asked.options(rules))
    least = settings.CONFIGURATION.least_epsilon
    if not price.free and price.total < round(least * NANO):
        raise QuestionError(f"A synthetic table costs at least epsilon {least:g} on this server.")
    return price


def _equal(session: Session, first: Variant, rules: Template) -> Variant | None:
    """Return the other kind of noise with the same noise in every table; None where the role may not buy that."""
    asked = replace(first.asked, noise="laplace" if first.noise == "gaussian" else "gaussian")
    try:
        if asked.noise_factor is not None:
            return _variant(session, asked, rules)
        made, _ = design(session, buy=False, **first.asked.options(rules))
        wanted = made.expect(None).cell
        delta = None if asked.noise == "laplace" else Fraction(session.quote().left.limit.atto_conversion, 10**18)
        low, high = 1, 200 * _STEP
        while low < high:  # the smallest epsilon, in thousandths, with at most that noise
            middle = (low + high) // 2
            if replace(made, epsilon=Fraction(middle, _STEP), delta=delta).expect(None).cell <= wanted:
                high = middle
            else:
                low = middle + 1
        return _variant(session, replace(asked, epsilon=low / _STEP), rules)
    except (PolicyError, ParameterError, QuestionError, BudgetError):
        return None  # beyond the role's cap, or nothing to spend: the first kind it is
